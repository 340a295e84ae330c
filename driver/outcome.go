package driver

import (
	"errors"
	"time"

	"go.uber.org/zap"
)

// outcome is what has become of one attempt, on its way to the database.
type outcome struct {
	job      *heldJob
	failure  *failure // nil: the job is completed
	duration time.Duration
}

// outcome decides what a handler's return means. cause is why its context had ended by then; nil if it had not.
func (p *processor) outcome(job *heldJob, err, cause error, duration time.Duration) outcome {
	if err == nil {
		return outcome{job: job, duration: duration}
	}
	h := p.w.handlers[job.info.Type]
	f := &failure{claim: job.claim, Error: err.Error()}
	interrupted := cause != nil && (errors.Is(cause, ErrShutdown) || errors.Is(cause, ErrOwnershipLost))
	asked, isAsked := askedRetry(err, p.w.clock.Now())
	switch {
	case isRejected(err):
		f.Final, f.Reason = true, "Rejected"
	case errors.Is(cause, ErrCancelRequested):
		f.Final, f.Reason = true, "Cancelled"
	case interrupted && (isSafeToRetry(err) || h.safeToRetry):
		f.Reason = "Interrupted"
	case interrupted:
		f.Final, f.Reason = true, "Interrupted"
		f.Error = cause.Error() + ": " + f.Error
	case isAsked:
		f.RetryAfterMs = milliseconds(asked)
	case h == nil:
		f.RetryAfterMs = milliseconds(ExponentialBackoff(5*time.Second, time.Hour)(job.info.Attempt))
	default:
		f.RetryAfterMs = milliseconds(h.backoff(job.info.Attempt))
	}
	return outcome{job: job, failure: f, duration: duration}
}

// milliseconds is d within the bounds of chokaq.FailJobs (ten years).
func milliseconds(d time.Duration) int64 {
	return min(max(d.Milliseconds(), 0), 315_360_000_000)
}

// jobFields is what every log line about a job carries.
func jobFields(job JobInfo) zap.Field {
	return zap.Inline(jobLog(job))
}
