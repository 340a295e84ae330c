package driver

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// hostile is an error all of whose methods panic.
type hostile struct{}

func (hostile) Error() string   { panic("Error") }
func (hostile) Is(error) bool   { panic("Is") }
func (hostile) As(any) bool     { panic("As") }
func (hostile) Unwrap() []error { panic("Unwrap") }

// A handler's error may be a nil pointer in an interface, whose methods panic when they look into it. That is an error like another: it takes neither the
// worker with it, nor what was said around it.
func TestErrorsWhoseMethodsPanic(t *testing.T) {
	w, _, _ := newTestWorker(t, WorkerConfig{})
	h := &registeredHandler{backoff: ExponentialBackoff(time.Second, time.Hour)}
	for name, err := range map[string]error{"nil pointer": (*fs.PathError)(nil), "hostile": hostile{}, "inside": fmt.Errorf("outside: %w", (*fs.PathError)(nil))} {
		for _, cause := range []error{nil, ErrShutdown, ErrOwnershipLost, ErrCancelRequested, ErrHandlerTimeout} {
			o := w.processor.outcome(&heldJob{info: JobInfo{Type: "t", Attempt: 1}, handler: h}, err, cause, 0)
			if o.failure == nil || o.failure.Error == "" {
				t.Errorf("%s, %v: %+v", name, cause, o.failure)
			}
		}
		if o := w.processor.outcome(&heldJob{handler: h}, Reject(err), nil, 0); !o.failure.Final || o.failure.Reason != "Rejected" {
			t.Errorf("%s, rejected: %+v", name, o.failure)
		}
		if o := w.processor.outcome(&heldJob{handler: h}, MarkSafeToRetry(err), ErrShutdown, 0); o.failure.Final {
			t.Errorf("%s, safe to retry: %+v", name, o.failure)
		}
		if o := w.processor.outcome(&heldJob{handler: h}, RetryAfter(time.Minute, err), nil, 0); o.failure.RetryAfterMs != 60_000 {
			t.Errorf("%s, retry after a minute: %+v", name, o.failure)
		}
	}
}

// What the database would cut anyhow is not sent to it, and what it keeps is.
func TestLongErrorsAreCut(t *testing.T) {
	for _, letter := range []string{"a", "ä", "€", "😀"} {
		for lead := range 4 {
			whole := strings.Repeat("a", lead) + strings.Repeat(letter, 1<<20)
			text := errorText(errors.New(whole))
			if len(text) > maxErrorText || !strings.HasPrefix(whole, text) || !utf8.ValidString(text) || utf8.RuneCountInString(text) <= 4000 {
				t.Errorf("%s after %d: %d bytes, %d characters", letter, lead, len(text), utf8.RuneCountInString(text))
			}
		}
	}
	if text := errorText(errors.New(strings.Repeat("x", maxErrorText))); len(text) != maxErrorText {
		t.Errorf("%d bytes", len(text))
	}
}

// What a log line, and whoever reviews the job, is told of a job's end.
func TestADeadJobIsLoggedWithItsReason(t *testing.T) {
	w, _, logs := newTestWorker(t, WorkerConfig{})
	h := &registeredHandler{backoff: ExponentialBackoff(time.Second, time.Hour)}
	for want, c := range map[string]struct{ err, cause error }{
		"Failed":      {errors.New("boom"), nil},
		"Rejected":    {Reject(errors.New("boom")), nil},
		"Interrupted": {errors.New("boom"), ErrShutdown},
		"Cancelled":   {errors.New("boom"), ErrCancelRequested},
	} {
		o := w.processor.outcome(&heldJob{info: JobInfo{Type: "t"}, handler: h}, c.err, c.cause, 0)
		w.completer.record(o, answer{Result: "Dead"})
		entries := logs.TakeAll()
		if len(entries) != 1 || entries[0].ContextMap()["event"] != "job.dead" || entries[0].ContextMap()["reason"] != want {
			t.Errorf("%s: logged %v", want, entries)
		}
	}
}

func TestWhatInterruptedAJobIsSaidOnce(t *testing.T) {
	w, _, _ := newTestWorker(t, WorkerConfig{})
	h := &registeredHandler{backoff: ExponentialBackoff(time.Second, time.Hour)}
	for _, cause := range []error{ErrShutdown, ErrOwnershipLost} {
		for _, err := range []error{errors.New("boom"), cause, fmt.Errorf("program p: signal: terminated (after it was canceled: %w)", cause)} {
			o := w.processor.outcome(&heldJob{info: JobInfo{Type: "t"}, handler: h}, err, cause, 0)
			if n := strings.Count(o.failure.Error, cause.Error()); n != 1 {
				t.Errorf("%d times in %q", n, o.failure.Error)
			}
		}
	}
}
