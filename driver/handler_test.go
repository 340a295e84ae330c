package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestEveryFaultOfRegistrationsIsReportedAtOnce(t *testing.T) {
	w, _, _ := newTestWorker(t, WorkerConfig{})
	nothing := func(context.Context, *Job[json.RawMessage]) error { return nil }
	Handle(w, "a", nothing, MaxAttempts(1001), Concurrency(-1), Timeout(-1), Backoff(nil))
	Handle(w, "", nothing)
	Handle(w, "twice", nothing, Concurrency(2))
	Handle(w, "twice", nothing)
	Handle(w, "limited", nothing, Concurrency(2))
	Handle(w, strings.Repeat("x", 129), nothing)
	Handle(w, " y", nothing)
	HandleAny(w, nothing, MaxAttempts(-1), Concurrency(3))
	w.Use(nil)
	for i := range maxTypes {
		Handle(w, fmt.Sprint("t", i), nothing)
	}
	err := w.Run(t.Context())
	if !errors.Is(err, ErrConfig) {
		t.Fatal(err)
	}
	for _, want := range []string{`handler "a": MaxAttempts must be 1 to 1000, and is 1001`, `handler "a": Concurrency must be`, `handler "a": Timeout`, `handler "a": Backoff`, `handler "": a job type has`,
		`"twice": registered twice`, `xxx": a job type has 1 to 128`, `" y": a job type has`, "HandleAny: MaxAttempts must be", "the middleware is nil", `handler "limited": Concurrency cannot be combined with HandleAny`, "a claim can name at most 1000"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing about %q in: %v", want, err)
		}
	}
	for name, late := range map[string]func(){
		"Handle": func() { Handle(w, "late", nothing) }, "HandleAny": func() { HandleAny(w, nothing) }, "Use": func() { w.Use() },
	} {
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), "after Run") {
					t.Errorf("%s after Run: %v", name, r)
				}
			}()
			late()
		}()
	}
}
