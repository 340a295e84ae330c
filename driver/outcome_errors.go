package driver

import (
	"errors"
	"time"
)

// What a handler can say about its error, besides returning it. Each wraps err, which
// errors.Is and errors.As still find; a nil err stays nil.

type rejectError struct{ error }

func (e rejectError) Unwrap() error { return e.error }

// Reject says: do not retry. The job goes to the dead-letter queue as Rejected, however many attempts are left.
func Reject(err error) error {
	if err == nil {
		return nil
	}
	return rejectError{err}
}

type retryError struct {
	error
	at    time.Time
	after time.Duration
}

func (e retryError) Unwrap() error { return e.error }

// RetryAfter says: try again after d, instead of the backoff. The wait is measured by
// the database's clock. Attempts are still counted and limited.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return retryError{error: err, after: max(d, 0)}
}

// RetryAt is RetryAfter for a moment. It is turned into a wait by this machine's clock,
// since the other side of the difference is this machine's time too.
func RetryAt(t time.Time, err error) error {
	if err == nil {
		return nil
	}
	return retryError{error: err, at: t}
}

type safeError struct{ error }

func (e safeError) Unwrap() error { return e.error }

// MarkSafeToRetry says that this attempt had no side effects, or that repeating them does
// no harm. It matters when the handler was cut short by a shutdown: the job is then
// retried instead of being dead-lettered as Interrupted. [SafeToRetry] says the same of
// every attempt of a job type.
func MarkSafeToRetry(err error) error {
	if err == nil {
		return nil
	}
	return safeError{err}
}

// says finds a mark in a handler's error. The error's own Unwrap, As or Is may panic (those of a nil pointer do): such an error says nothing.
func says[T error](err error) (mark T, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return errors.AsType[T](err)
}

func isRejected(err error) bool {
	_, ok := says[rejectError](err)
	return ok
}

func isSafeToRetry(err error) bool {
	_, ok := says[safeError](err)
	return ok
}

// askedRetry is the wait that the error asks for.
func askedRetry(err error, now time.Time) (time.Duration, bool) {
	retry, ok := says[retryError](err)
	if !ok {
		return 0, false
	}
	if !retry.at.IsZero() {
		return max(retry.at.Sub(now), 0), true
	}
	return retry.after, true
}
