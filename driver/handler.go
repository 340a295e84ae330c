package driver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf16"
)

// Handle registers the handler of a job type. Register before Run; a fault (a type twice, a bad option) is
// reported by Run, together with all others.
//
// The handler runs in a goroutine of its own, many at a time. Its context is canceled with a cause: ErrShutdown,
// ErrOwnershipLost, ErrCancelRequested or ErrHandlerTimeout. What it returns decides:
//
//   - nil completes the job, whatever has become of the context.
//   - An error retries it after a backoff until its attempts are used up, and then dead-letters it as Failed. See [RetryAfter],
//     [RetryAt] and [Reject] for other wishes.
//   - An error after ErrShutdown or ErrOwnershipLost dead-letters it as Interrupted, for an operator to review, unless it
//     is safe to retry ([SafeToRetry], [MarkSafeToRetry]); after ErrCancelRequested, as Cancelled.
//   - A panic is an error with its stack (ErrPanic); so is a call of runtime.Goexit.
//
// A payload that does not decode into T dead-letters the job as Rejected without running the handler.
func Handle[T any](w *Worker, jobType string, handler func(ctx context.Context, job *Job[T]) error, options ...HandlerOption) {
	w.register(jobType, func(ctx context.Context, info JobInfo) error {
		job := &Job[T]{JobInfo: info}
		if err := decodePayload(info.Payload, &job.Args); err != nil {
			return Reject(fmt.Errorf("the payload does not decode into %T: %w", job.Args, err))
		}
		return handler(ctx, job)
	}, options)
}

// decodePayload takes exactly one JSON value.
func decodePayload(payload json.RawMessage, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(payload))
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// HandlerOption is a setting of one job type.
type HandlerOption func(*registeredHandler)

// Timeout bounds one attempt: the handler's context is canceled with ErrHandlerTimeout. Default: none.
func Timeout(d time.Duration) HandlerOption {
	return func(h *registeredHandler) { h.timeout = d; h.check(d > 0, "Timeout must be positive, and is %v", d) }
}

// SafeToRetry says that repeating an attempt of this type does no harm: one that is cut short by a shutdown is
// retried instead of being dead-lettered as Interrupted. It does not touch zombies: nobody knows what they did.
func SafeToRetry() HandlerOption {
	return func(h *registeredHandler) { h.safeToRetry = true }
}

// Backoff decides how long to wait after attempt (from 1) has failed. Default: ExponentialBackoff(5*time.Second, time.Hour).
func Backoff(wait func(attempt int) time.Duration) HandlerOption {
	return func(h *registeredHandler) { h.backoff = wait; h.check(wait != nil, "Backoff must not be nil") }
}

// registeredHandler is a handler with its settings.
type registeredHandler struct {
	run         func(context.Context, JobInfo) error
	timeout     time.Duration
	safeToRetry bool
	backoff     func(attempt int) time.Duration
	faults      []error
}

func (h *registeredHandler) check(ok bool, format string, args ...any) {
	if !ok {
		h.faults = append(h.faults, fmt.Errorf(format, args...))
	}
}

func (w *Worker) register(jobType string, run func(context.Context, JobInfo) error, options []HandlerOption) {
	h := &registeredHandler{run: run, backoff: ExponentialBackoff(5*time.Second, time.Hour)}
	for _, option := range options {
		option(h)
	}
	for _, fault := range h.faults {
		w.faults = append(w.faults, fmt.Errorf("handler %q: %w", jobType, fault))
	}
	if w.state.started() {
		panic(fmt.Sprintf("chokaq: Handle(%q) after Run", jobType))
	}
	if units := len(utf16.Encode([]rune(jobType))); units < 1 || units > 128 {
		w.faults = append(w.faults, fmt.Errorf("handler %q: a job type has 1 to 128 characters", jobType))
	}
	if _, twice := w.handlers[jobType]; twice {
		w.faults = append(w.faults, fmt.Errorf("handler %q: registered twice", jobType))
	}
	w.handlers[jobType] = h
}
