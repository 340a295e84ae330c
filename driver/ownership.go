package driver

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// phase is how far a claimed job has come in this process.
type phase int

const (
	prefetched phase = iota // in the prefetch channel, aside, or being started: no user code has run
	releasing               // a stop gives it back: no longer renewed, and no surprise when a heartbeat under way finds it gone
	running                 // its handler runs
	finished                // its handler has returned; the outcome is not stored yet
)

// heldJob is a job that this worker holds a claim on. Its fields below claimedAt are guarded by ownership.mu, and so is info.Attempt until the handler's goroutine has begun, which reads it without.
type heldJob struct {
	claim
	info    JobInfo
	handler *registeredHandler // nil: the worker has none for the job's type

	claimedAt time.Duration // monotonic time before the claim was sent

	phase     phase
	renewedAt time.Duration // monotonic time before the last call that surely renewed the heartbeat was sent
	lost      bool          // the database said so, or may say so by now
	cancel    context.CancelCauseFunc
}

// ownership is the set of jobs that this worker holds: what a heartbeat renews. A job is in it from the claim until its
// outcome is stored, it is released, or its token is refused.
type ownership struct {
	mu   sync.Mutex
	jobs map[int64]*heldJob
}

func newOwnership() *ownership { return &ownership{jobs: make(map[int64]*heldJob)} }

// add takes a freshly claimed job in. A job that is here already under another token has been lost without our knowing: only one claim
// holds.
func (o *ownership) add(info JobInfo, handler *registeredHandler, token uuid.UUID, renewedAt time.Duration) *heldJob {
	o.mu.Lock()
	defer o.mu.Unlock()
	if earlier := o.jobs[info.ID]; earlier != nil {
		earlier.lose(ErrOwnershipLost)
	}
	job := &heldJob{claim: claim{info.ID, token}, info: info, handler: handler, claimedAt: renewedAt, renewedAt: renewedAt}
	o.jobs[info.ID] = job
	return job
}

// lose marks the job and cancels its handler.
func (j *heldJob) lose(cause error) {
	j.lost = true
	if j.cancel != nil {
		j.cancel(cause)
	}
}

// run marks that the job's handler runs from now on, and can be canceled.
func (o *ownership) run(job *heldJob, attempt int, renewedAt time.Duration, cancel context.CancelCauseFunc) {
	o.mu.Lock()
	defer o.mu.Unlock()
	job.info.Attempt = attempt
	job.phase = running
	job.renewedAt = max(job.renewedAt, renewedAt)
	job.cancel = cancel
	if o.jobs[job.JobID] != job || job.lost { // claimed again meanwhile, or a heartbeat was told so while the answer was on its way: this claim is gone
		job.lose(ErrOwnershipLost)
	}
}

func (o *ownership) finish(job *heldJob) {
	o.mu.Lock()
	defer o.mu.Unlock()
	job.phase = finished
}

func (o *ownership) isLost(job *heldJob) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return job.lost
}

func (o *ownership) remove(job *heldJob) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.jobs[job.JobID] == job {
		delete(o.jobs, job.JobID)
	}
}

// claims lists everything held, in order of job id.
func (o *ownership) claims() []claim {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make([]claim, 0, len(o.jobs))
	for _, job := range o.jobs {
		if !job.lost && job.phase != releasing {
			all = append(all, job.claim)
		}
	}
	slices.SortFunc(all, func(a, b claim) int { return int(a.JobID - b.JobID) })
	return all
}

// in lists the jobs in a phase, in order of job id.
func (o *ownership) in(p phase) []*heldJob {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []*heldJob
	for _, job := range o.jobs {
		if job.phase == p {
			all = append(all, job)
		}
	}
	slices.SortFunc(all, func(a, b *heldJob) int { return int(a.JobID - b.JobID) })
	return all
}

// counts is how many jobs there are in each phase.
func (o *ownership) counts() map[phase]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := make(map[phase]int)
	for _, job := range o.jobs {
		n[job.phase]++
	}
	return n
}

// renew notes that a heartbeat sent at sentAt was stored for a claim.
func (o *ownership) renew(c claim, sentAt time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if job := o.jobs[c.JobID]; job != nil && job.Token == c.Token {
		job.renewedAt = max(job.renewedAt, sentAt)
	}
}

// cancel cancels the handler of a claim, if it still runs, and tells which job that is.
func (o *ownership) cancel(c claim, cause error) (info JobInfo, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	job := o.jobs[c.JobID]
	if job == nil || job.Token != c.Token || job.phase == finished || job.phase == releasing {
		return JobInfo{}, false
	}
	if cause == ErrOwnershipLost {
		job.lose(cause)
	} else if job.cancel != nil {
		job.cancel(cause)
	}
	return job.info, true
}

// distrust cancels the handlers of jobs whose heartbeat was last surely stored before the moment given, and tells which jobs these are.
func (o *ownership) distrust(before time.Duration) []JobInfo {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []JobInfo
	for _, job := range o.jobs {
		if job.phase == running && !job.lost && job.renewedAt < before {
			job.lose(ErrOwnershipLost)
			all = append(all, job.info)
		}
	}
	return all
}

// release marks everything prefetched as being given back, and returns how many that are.
func (o *ownership) release() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, job := range o.jobs {
		if job.phase == prefetched {
			job.phase = releasing
			n++
		}
	}
	return n
}

// forget drops a job that has been given back.
func (o *ownership) forget(jobID int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if job := o.jobs[jobID]; job != nil && job.phase == releasing {
		delete(o.jobs, jobID)
	}
}
