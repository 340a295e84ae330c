package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// recording is a Sink that writes what it gets as text: a line of column names, a line
// for each row, and messages.
type recording struct {
	lines  []string
	errors []*value.Error
	counts []int64
	rows   [][]value.Value
}

func (r *recording) Columns(cols []Column) error {
	var names []string
	for _, c := range cols {
		names = append(names, c.Name)
	}
	r.lines = append(r.lines, "-- "+strings.Join(names, ", "))
	return nil
}

func (r *recording) Row(row []value.Value) error {
	var vals []string
	for _, v := range row {
		vals = append(vals, v.String())
	}
	r.rows = append(r.rows, append([]value.Value(nil), row...))
	r.lines = append(r.lines, strings.Join(vals, ", "))
	return nil
}

func (r *recording) Done(command Command, count int64, counted bool) error {
	if counted {
		r.counts = append(r.counts, count)
	}
	return nil
}

func (r *recording) Message(e *value.Error) error {
	r.lines = append(r.lines, fmt.Sprintf("msg %d: %s", e.Number, e.Message))
	if e.Class > 10 {
		r.errors = append(r.errors, e)
	}
	return nil
}

func (r *recording) Return(int32) error                                { return nil }
func (r *recording) Output(int, string, value.Type, value.Value) error { return nil }
func (r *recording) DatabaseChanged(from, to string) error             { return nil }
func (r *recording) LanguageChanged(from, to string) error             { return nil }
func (r *recording) TransactionChanged(uint64, bool) error             { return nil }

// testServer is a server with a database q, and connects sessions to it.
type testServer struct {
	*Server
	t testing.TB
}

func newTestServer(t testing.TB) *testServer {
	t.Helper()
	srv, err := NewServer(Options{})
	if err != nil {
		t.Fatal(err)
	}
	ts := &testServer{srv, t}
	s := ts.connect("")
	run(t, s, "CREATE DATABASE q")
	s.Close()
	return ts
}

func (ts *testServer) connect(db string) *Session {
	ts.t.Helper()
	s, err := ts.Connect(context.Background(), Login{User: "sa", Database: db})
	if err != nil {
		ts.t.Fatal(err)
	}
	return s
}

// attempt runs a batch and returns what came of it.
func attempt(s *Session, sql string) (*recording, error) {
	r := &recording{}
	err := s.Batch(context.Background(), sql, r)
	return r, err
}

// run runs a batch that must not fail.
func run(t testing.TB, s *Session, sql string) *recording {
	t.Helper()
	r, err := attempt(s, sql)
	if err != nil {
		t.Fatalf("%s\n%v", sql, err)
	}
	for _, e := range r.errors {
		t.Fatalf("%s\n%v (line %d)", sql, e, e.Line)
	}
	return r
}

// expect runs a batch and compares its output, line by line.
func expect(t testing.TB, s *Session, sql string, want ...string) {
	t.Helper()
	r, err := attempt(s, sql)
	if err != nil {
		t.Errorf("%s\n%v", sql, err)
		return
	}
	var got []string
	for _, l := range r.lines {
		if !strings.HasPrefix(l, "-- ") {
			got = append(got, l)
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\ngot:\n  %s\nwant:\n  %s", sql, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// fails runs a batch that must fail with an error number, and returns the message.
func fails(t testing.TB, s *Session, number int32, sql string) string {
	t.Helper()
	r, err := attempt(s, sql)
	var e *value.Error
	if errors.As(err, &e) {
		r.errors = append(r.errors, e)
	}
	for _, e := range r.errors {
		if e.Number == number {
			return e.Message
		}
	}
	t.Errorf("%s\nwant error %d, got %v %v %v", sql, number, r.errors, err, r.lines)
	return ""
}
