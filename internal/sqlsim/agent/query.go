package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/engine"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// result is what a batch has produced.
type result struct {
	rows     [][]value.Value // of its last result set
	messages []*value.Error  // errors and messages, in order
}

// failure is the first error of the batch; nil when there was none.
func (r *result) failure() *value.Error {
	for _, m := range r.messages {
		if m.Class > 10 {
			return m
		}
	}
	return nil
}

// texts joins everything that the batch said.
func (r *result) texts() string {
	var all []string
	for _, m := range r.messages {
		if m.Class > 10 {
			all = append(all, fmt.Sprintf("%s [SQLSTATE 42000] (Error %d).", m.Message, m.Number))
		} else {
			all = append(all, fmt.Sprintf("%s [SQLSTATE 01000] (Message %d)", m.Message, m.Number))
		}
	}
	return strings.Join(all, "  ")
}

// query runs a batch. The error is the first one that it raised.
func query(ctx context.Context, s *engine.Session, text string) (*result, error) {
	r := &result{}
	if err := s.Batch(ctx, text, &recorder{r}); err != nil {
		return r, err
	}
	if e := r.failure(); e != nil {
		return r, e
	}
	return r, nil
}

// recorder is the Sink of Agent's own sessions.
type recorder struct{ r *result }

func (w *recorder) Columns([]engine.Column) error {
	w.r.rows = nil
	return nil
}

func (w *recorder) Row(row []value.Value) error {
	w.r.rows = append(w.r.rows, append([]value.Value(nil), row...))
	return nil
}

func (w *recorder) Message(e *value.Error) error {
	w.r.messages = append(w.r.messages, e)
	return nil
}

func (*recorder) Done(engine.Command, int64, bool) error            { return nil }
func (*recorder) Return(int32) error                                { return nil }
func (*recorder) Output(int, string, value.Type, value.Value) error { return nil }
func (*recorder) DatabaseChanged(string, string) error              { return nil }
func (*recorder) LanguageChanged(string, string) error              { return nil }
func (*recorder) TransactionChanged(uint64, bool) error             { return nil }

// literal quotes a string for T-SQL.
func literal(s string) string { return "N'" + strings.ReplaceAll(s, "'", "''") + "'" }
