package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// documented is one page of Microsoft's documentation and what it says, as T-SQL and
// the answer that follows from the page. The documented_*_test.go files hold nothing
// whose answer was not read there: sqlsim and these tests were written by the same
// people, who may misremember the same thing.
type documented struct {
	page  string // the address, after https://learn.microsoft.com/sql/
	cases []documentedCase
}

// documentedCase is a batch and its answer: rows (values joined by ", "), messages that
// PRINT or RAISERROR sends, and errors as "!number" ("!" where the page says that there
// is an error and not which), joined by " | ". A batch that
// begins with "=" is an expression to SELECT, with "type " an expression of which the
// type is asked. Cases of one page share a session, in order.
type documentedCase struct{ sql, want string }

// documentedSink writes down all that a batch answers.
type documentedSink struct {
	recording
	out   []string
	types []string
}

func (d *documentedSink) Columns(cols []Column) error {
	for _, c := range cols {
		d.types = append(d.types, c.Type.String())
	}
	return nil
}

func (d *documentedSink) Row(row []value.Value) error {
	var vals []string
	for _, v := range row {
		vals = append(vals, v.String())
	}
	d.out = append(d.out, strings.Join(vals, ", "))
	return nil
}

func (d *documentedSink) Message(e *value.Error) error {
	if e.Number == 3621 || e.Number == 8153 {
		return nil // the statement has been terminated; NULL was eliminated by an aggregate
	}
	if e.Class > 10 {
		d.out = append(d.out, fmt.Sprintf("!%d", e.Number))
	} else {
		d.out = append(d.out, e.Message)
	}
	return nil
}

func answer(s *Session, sql string) string {
	asksType := false
	if rest, ok := strings.CutPrefix(sql, "="); ok {
		sql = "SELECT " + rest
	} else if rest, ok := strings.CutPrefix(sql, "type "); ok {
		sql, asksType = "SELECT "+rest, true
	}
	d := &documentedSink{}
	err := s.Batch(context.Background(), sql, d)
	var e *value.Error
	switch {
	case errors.As(err, &e):
		d.out = append(d.out, fmt.Sprintf("!%d", e.Number))
	case err != nil:
		d.out = append(d.out, err.Error())
	}
	if asksType && len(d.types) > 0 {
		return strings.Join(d.types, ", ")
	}
	return strings.Join(d.out, " | ")
}

func checkDocumented(t *testing.T, pages []documented) {
	t.Helper()
	for _, p := range pages {
		t.Run(p.page[strings.LastIndex(p.page, "/")+1:], func(t *testing.T) {
			s := newTestServer(t).connect("q")
			for _, c := range p.cases {
				if got := answer(s, c.sql); got != c.want && !(c.want == "!" && strings.HasPrefix(got, "!")) {
					t.Errorf("%s\ngot:  %s\nwant: %s\nhttps://learn.microsoft.com/sql/%s", c.sql, got, c.want, p.page)
				}
			}
		})
	}
}
