package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The first middleware is outermost; it sees the error of the handler, and a panic as one.
func TestMiddleware(t *testing.T) {
	w, _, _ := newTestWorker(t, WorkerConfig{})
	type key struct{}
	var calls []string
	layer := func(name string) func(HandlerFunc) HandlerFunc {
		return func(next HandlerFunc) HandlerFunc {
			return func(ctx context.Context, job JobInfo) error {
				calls = append(calls, fmt.Sprintf("%s %s %d", name, job.Type, job.Attempt))
				err := next(context.WithValue(ctx, key{}, name), job)
				calls = append(calls, fmt.Sprintf("%s %v", name, err != nil))
				return err
			}
		}
	}
	boom := errors.New("boom")
	w.Use(layer("outer"), layer("inner"))
	Handle(w, "fails", func(ctx context.Context, job *Job[int]) error {
		calls = append(calls, fmt.Sprint("handler under ", ctx.Value(key{})))
		return boom
	})
	Handle(w, "panics", func(context.Context, *Job[int]) error { panic("ouch") })
	HandleAny(w, func(context.Context, *Job[json.RawMessage]) error { return nil })
	w.Use(func(next HandlerFunc) HandlerFunc {
		return func(ctx context.Context, job JobInfo) error {
			if job.Type == "middleware panics" {
				panic("in the middleware")
			}
			return next(ctx, job)
		}
	})
	w.wrapHandlers()
	run := func(jobType, payload string) error {
		calls = nil
		info := JobInfo{Type: jobType, Attempt: 2, Payload: json.RawMessage(payload)}
		err, _ := w.processor.handle(t.Context(), &heldJob{info: info, handler: w.handler(jobType)})
		return err
	}
	if err := run("fails", "1"); !errors.Is(err, boom) {
		t.Error(err)
	}
	if want := []string{"outer fails 2", "inner fails 2", "handler under inner", "inner true", "outer true"}; !slices.Equal(calls, want) {
		t.Errorf("%q, want %q", calls, want)
	}
	if err := run("panics", "1"); !errors.Is(err, ErrPanic) || calls[2] != "inner true" || !strings.Contains(err.Error(), "middleware_test.go") {
		t.Errorf("%v: %q", err, calls)
	}
	if err := run("fails", `"text"`); !isRejected(err) || len(calls) != 4 || calls[3] != "outer true" {
		t.Errorf("%v: %q", err, calls)
	}
	if err := run("middleware panics", "1"); !errors.Is(err, ErrPanic) || calls[len(calls)-1] != "outer true" {
		t.Errorf("%v: %q", err, calls)
	}
	if err := run("another", "1"); err != nil || calls[len(calls)-1] != "outer false" {
		t.Errorf("%v: %q", err, calls)
	}
}
