package driver

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
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
	if jobType == anyType {
		w.faults = append(w.faults, errors.New("handler \"\": "+typeForm))
		return
	}
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

// HandleAny registers the handler of every type that has none of its own. The worker then claims jobs of all types, also of those
// that other workers have a handler for. Everything said of [Handle] holds for it too; Job.Type tells the type.
//
// Without it a worker claims only jobs of types that it has handlers for, and leaves the others to workers that know them.
func HandleAny(w *Worker, handler func(ctx context.Context, job *Job[json.RawMessage]) error, options ...HandlerOption) {
	w.register(anyType, func(ctx context.Context, info JobInfo) error {
		return handler(ctx, &Job[json.RawMessage]{JobInfo: info, Args: info.Payload})
	}, options)
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

// MaxAttempts is how many attempts jobs of this type get, 1 to 1000, whatever they were enqueued with: a job whose attempt fails is dead when it
// has had so many. Handlers see it as JobInfo.MaxAttempts. Default: what each job was enqueued with.
func MaxAttempts(n int) HandlerOption {
	return func(h *registeredHandler) {
		h.maxAttempts = n
		h.check(n >= 1 && n <= 1000, "MaxAttempts must be 1 to 1000, and is %d", n)
	}
}

// Concurrency bounds how many jobs of this type run at a time in this worker; with HandleAny, how many of all the types that have no handler of their
// own. Jobs beyond that do not keep back those of other types: a few wait in memory, at most half of WorkerConfig.Prefetch, and more are not claimed
// meanwhile. A type's limit cannot be combined with HandleAny, whose claims cannot leave a type out. Default: none.
//
// For a limit over all workers, give the type a queue of its own and that queue a limit (procedure chokaq.SetQueueLimit).
func Concurrency(n int) HandlerOption {
	return func(h *registeredHandler) {
		h.concurrency = n
		h.check(n >= 1 && n <= maxHandlers, "Concurrency must be 1 to %d, and is %d", maxHandlers, n)
	}
}

// registeredHandler is a handler with its settings.
type registeredHandler struct {
	run         HandlerFunc
	timeout     time.Duration
	safeToRetry bool
	backoff     func(attempt int) time.Duration
	maxAttempts int // 0: the job's own
	concurrency int // 0: no limit
	faults      []error
}

func (h *registeredHandler) check(ok bool, format string, args ...any) {
	if !ok {
		h.faults = append(h.faults, fmt.Errorf(format, args...))
	}
}

// anyType is where the handler of HandleAny is registered; no job type is empty.
const anyType = ""

const typeForm = "a job type has 1 to 128 characters, with no leading or trailing space and no control character"

// maxTypes is how many job types a claim can name.
const maxTypes = 1000

func (w *Worker) register(jobType string, run HandlerFunc, options []HandlerOption) {
	name := fmt.Sprintf("handler %q", jobType)
	if jobType == anyType {
		name = "HandleAny"
	}
	if w.state.started() {
		panic(fmt.Sprintf("chokaq: %s after Run", name))
	}
	h := &registeredHandler{run: run, backoff: ExponentialBackoff(5*time.Second, time.Hour)}
	for _, option := range options {
		option(h)
	}
	for _, fault := range h.faults {
		w.faults = append(w.faults, fmt.Errorf("%s: %w", name, fault))
	}
	if jobType != anyType && !isName(jobType, 128) {
		w.faults = append(w.faults, fmt.Errorf("%s: %s", name, typeForm))
	}
	if _, twice := w.handlers[jobType]; twice {
		w.faults = append(w.faults, fmt.Errorf("%s: registered twice", name))
	}
	w.handlers[jobType] = h
}

// handler finds the handler of a job type; nil: there is none.
func (w *Worker) handler(jobType string) *registeredHandler {
	if h := w.handlers[jobType]; h != nil {
		return h
	}
	return w.handlers[anyType]
}

// allHandlers lists the handlers in the order of their types.
func (w *Worker) allHandlers() []*registeredHandler {
	all := make([]*registeredHandler, 0, len(w.handlers))
	for _, jobType := range slices.Sorted(maps.Keys(w.handlers)) {
		all = append(all, w.handlers[jobType])
	}
	return all
}

// claimedTypes is the list of job types to claim, as JSON; not valid (NULL) for all. ok is false when nothing is left.
func (w *Worker) claimedTypes(leftOut map[*registeredHandler]bool) (types sql.NullString, ok bool) {
	if fallback := w.handlers[anyType]; fallback != nil && !leftOut[fallback] {
		return sql.NullString{}, true
	}
	var names []string
	for _, jobType := range slices.Sorted(maps.Keys(w.handlers)) {
		if jobType != anyType && !leftOut[w.handlers[jobType]] {
			names = append(names, jobType)
		}
	}
	return sql.NullString{String: jsonText(names), Valid: true}, len(names) > 0
}

// CheckHandlers reports the faults of all registrations so far, at once, as ErrConfig; nil: there is none. Run does so too. It is for programs that validate
// their handlers without running them.
func (w *Worker) CheckHandlers() error {
	faults := slices.Clone(w.faults)
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if len(w.handlers) == 0 {
		fault("no handler is registered")
	}
	fallback := w.handlers[anyType]
	named := len(w.handlers)
	if fallback != nil {
		named--
	}
	if named > maxTypes && (fallback == nil || fallback.concurrency > 0) {
		fault("%d job types have handlers, and a claim can name at most %d: handle some of them with HandleAny", named, maxTypes)
	}
	for _, jobType := range slices.Sorted(maps.Keys(w.handlers)) {
		if jobType != anyType && fallback != nil && w.handlers[jobType].concurrency > 0 {
			fault("handler %q: Concurrency cannot be combined with HandleAny, whose claims for all types cannot leave this one out when it is at its limit: handle it in a worker of its own", jobType)
		}
	}
	return configError(faults)
}
