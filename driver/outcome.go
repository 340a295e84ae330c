package driver

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"
)

// outcome is what has become of one attempt, on its way to the database.
type outcome struct {
	job      *heldJob
	failure  *failure // nil: the job is completed
	duration time.Duration

	settled   chan struct{} // closed when the database has answered
	refusals  int           // how often the database could not take it
	locked    bool          // the last time because somebody had locked the job's row
	notBefore time.Duration // monotonic; not sent sooner
}

// outcome decides what a handler's return means. cause is why its context had ended by then; nil if it had not.
func (p *processor) outcome(job *heldJob, err, cause error, duration time.Duration) outcome {
	if err == nil {
		return outcome{job: job, duration: duration}
	}
	h := job.handler
	f := &failure{claim: job.claim, Error: errorText(err)}
	if h != nil {
		f.MaxAttempts = h.maxAttempts
	}
	interrupted := cause != nil && (errors.Is(cause, ErrShutdown) || errors.Is(cause, ErrOwnershipLost))
	asked, isAsked := askedRetry(err, p.w.clock.Now())
	switch {
	case isRejected(err):
		f.Final, f.Reason = true, "Rejected"
	case errors.Is(cause, ErrCancelRequested):
		f.Final, f.Reason = true, "Cancelled"
	case interrupted && (isSafeToRetry(err) || h != nil && h.safeToRetry):
		f.Reason = "Interrupted"
	case interrupted:
		f.Final, f.Reason = true, "Interrupted"
		if !strings.Contains(f.Error, cause.Error()) { // handlers that return the context's cause say it themselves
			f.Error = cause.Error() + ": " + f.Error
		}
	case isAsked:
		f.RetryAfterMs = milliseconds(asked)
	case h == nil:
		f.RetryAfterMs = milliseconds(ExponentialBackoff(5*time.Second, time.Hour)(job.info.Attempt))
	default:
		f.RetryAfterMs = milliseconds(h.wait(job.info.Attempt))
	}
	return outcome{job: job, failure: f, duration: duration}
}

// maxErrorText bounds the text of an error, in bytes. The database keeps 4000 characters and marks the cut, which needs at most 3 bytes each: it still sees that there was more. Without a
// bound, one handler's error of some hundred megabytes would keep every other outcome waiting in each call that is tried with it.
const maxErrorText = 16 << 10

// errorText is err.Error(), cut, which may panic: a nil pointer in an error interface does.
func errorText(err error) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprintf("an error of type %T, whose Error method panics: %v", err, r)
		}
	}()
	text = err.Error()
	if len(text) <= maxErrorText {
		return text
	}
	end := maxErrorText
	for end > maxErrorText-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.Clone(text[:end]) // not a part that keeps the whole
}

// wait is the handler's backoff, or the default one where that panics.
func (h *registeredHandler) wait(attempt int) (d time.Duration) {
	defer func() {
		if recover() != nil {
			d = ExponentialBackoff(5*time.Second, time.Hour)(attempt)
		}
	}()
	return h.backoff(attempt)
}

// milliseconds is d within the bounds of chokaq.FailJobs (ten years).
func milliseconds(d time.Duration) int64 {
	return min(max(d.Milliseconds(), 0), 315_360_000_000)
}

// jobFields is what every log line about a job carries.
func jobFields(job JobInfo) zap.Field {
	return zap.Inline(jobLog(job))
}
