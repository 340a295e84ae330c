package driver

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
)

// maxOutcomes bounds the outcomes that wait to be stored. Handlers that return while more wait keep their slots, so
// nothing more is started meanwhile.
const maxOutcomes = 2 * maxBatch

// completer stores outcomes, many in one call: last part of the flow claim -> prefetch -> process -> complete. An
// outcome is never dropped: it is retried until it is stored, refused by its token, or the process ends. One that the database
// cannot take waits apart, so that it does not keep back the others.
type completer struct {
	w     *Worker
	added chan struct{}
	ended chan struct{} // closed when run has ended

	mu       sync.Mutex
	waiting  []outcome
	underway []outcome // the batch that take has given out last; none: it is stored, or put back
	closed   bool
}

func newCompleter(w *Worker) *completer {
	return &completer{w: w, added: make(chan struct{}, 1), ended: make(chan struct{})}
}

// add hands an outcome over. After close it only logs: the job stays Processing, and zombie rescue will move it.
func (c *completer) add(o outcome) {
	o.settled = make(chan struct{})
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.waiting = append(c.waiting, o)
	}
	crowded := len(c.waiting) > maxOutcomes
	c.mu.Unlock()
	if closed {
		c.w.log.Error("a handler returned after the worker had abandoned it; its outcome is not stored, and zombie rescue will move the job to the dead-letter queue",
			event("job.returned_late"), jobFields(o.job.info))
		return
	}
	signal(c.added)
	if crowded {
		select {
		case <-o.settled:
		case <-c.ended:
		}
	}
}

// close says that no outcome is expected any more: run ends when it has stored those there are.
func (c *completer) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	signal(c.added)
}

// run stores outcomes until it is closed and empty, or ctx ends.
func (c *completer) run(ctx context.Context) {
	defer close(c.ended)
	for ctx.Err() == nil {
		batch, postponed, closed := c.take()
		if len(batch) > 0 {
			c.store(ctx, batch)
			continue
		}
		if closed && postponed == 0 {
			return
		}
		if !c.await(ctx, postponed) {
			return
		}
		c.gather(ctx)
	}
}

// await waits for an outcome, or for one that is postponed (0: there is none) to come due. It reports whether ctx goes on.
func (c *completer) await(ctx context.Context, postponed time.Duration) bool {
	var due <-chan time.Time
	if postponed > 0 {
		timer := c.w.clock.NewTimer(postponed)
		defer timer.Stop()
		due = timer.C()
	}
	select {
	case <-c.added:
		return true
	case <-due:
		return true
	case <-ctx.Done():
		return false
	}
}

// gather waits a little for more outcomes to share the call.
func (c *completer) gather(ctx context.Context) {
	if c.w.config.CompletionDelay <= 0 {
		return
	}
	timer := c.w.clock.NewTimer(c.w.config.CompletionDelay)
	defer timer.Stop()
	for {
		c.mu.Lock()
		enough := c.closed || len(c.waiting) >= min(100, c.w.Handlers())
		c.mu.Unlock()
		if enough {
			return
		}
		select {
		case <-timer.C():
			return
		case <-c.added:
		case <-ctx.Done():
			return
		}
	}
}

// take removes a batch from those waiting, and tells how long it is until the first that is postponed comes due (0: none is). A job may
// be among them twice, under two claims; a call may name it once. One whose row somebody has locked comes alone, and when no other is due: its call may take a second.
func (c *completer) take() (batch []outcome, postponed time.Duration, closed bool) {
	now := c.w.clock.Monotonic()
	c.mu.Lock()
	defer c.mu.Unlock()
	named := make(map[int64]bool)
	var locked []outcome
	c.waiting = slices.DeleteFunc(c.waiting, func(o outcome) bool {
		if left := o.notBefore - now; left > 0 {
			if postponed == 0 || left < postponed {
				postponed = left
			}
			return false
		}
		if o.locked {
			locked = append(locked, o)
			return false
		}
		if len(batch) == maxBatch || named[o.job.JobID] {
			return false
		}
		named[o.job.JobID] = true
		batch = append(batch, o)
		return true
	})
	if len(batch) == 0 && len(locked) > 0 {
		batch = locked[:1]
		c.waiting = slices.DeleteFunc(c.waiting, func(o outcome) bool { return o.settled == batch[0].settled })
	}
	c.underway = batch
	return batch, postponed, c.closed
}

// store stores a batch. What ctx cuts off goes back to those waiting, for the last report.
func (c *completer) store(ctx context.Context, batch []outcome) {
	var done, failed []outcome
	for _, o := range batch {
		if o.failure == nil {
			done = append(done, o)
		} else {
			failed = append(failed, o)
		}
	}
	c.settle(ctx, done, new(attempted), func(ctx context.Context, batch []outcome) ([]answer, error) {
		claims := make([]claim, len(batch))
		for i, o := range batch {
			claims[i] = o.job.claim
		}
		return c.w.procedures.complete(ctx, claims)
	})
	c.settle(ctx, failed, new(attempted), func(ctx context.Context, batch []outcome) ([]answer, error) {
		failures := make([]failure, len(batch))
		for i, o := range batch {
			failures[i] = *o.failure
		}
		return c.w.procedures.fail(ctx, failures)
	})
}

// attempted is what has come of the calls for one batch so far.
type attempted struct {
	stored  bool
	refused int // outcomes that were refused alone
}

// hopeless reports that the fault is in the calls, not in single outcomes: several were refused alone and none was stored.
func (a *attempted) hopeless() bool { return !a.stored && a.refused >= 3 }

// settle calls until every outcome of the batch is answered. A batch that the database refuses for another reason than a
// passing one, or in which somebody has locked a row, is halved, down to the outcomes that it cannot take; these are postponed.
func (c *completer) settle(ctx context.Context, batch []outcome, so *attempted, call func(context.Context, []outcome) ([]answer, error)) {
	halves(batch, func(part []outcome) bool {
		if so.hopeless() {
			c.postpone(part)
			return false
		}
		answers, err := persistUnless(ctx, c.w, func(err error) bool { return !IsTransient(err) || isLocked(err) }, func(ctx context.Context) ([]answer, error) {
			return call(ctx, part)
		})
		switch {
		case err == nil:
			so.stored = true
			c.stored(part, answers)
			return false
		case ctx.Err() != nil:
			c.putBack(part)
			return false
		case len(part) == 1:
			so.refused++
			c.refuse(part[0], err)
		}
		return true
	})
}

// stored takes note of what the database has answered.
func (c *completer) stored(batch []outcome, answers []answer) {
	byID := make(map[int64]answer, len(answers))
	for _, a := range answers {
		byID[a.JobID] = a
	}
	for _, o := range batch {
		c.w.owned.remove(o.job)
		c.record(o, byID[o.job.JobID])
		close(o.settled)
	}
}

var (
	refusalBackoff = ExponentialBackoff(100*time.Millisecond, 10*time.Second)
	othersWait     = 100 * time.Millisecond
)

// refuse postpones an outcome that the database cannot take, longer each time.
func (c *completer) refuse(o outcome, err error) {
	o.refusals++
	o.locked = isLocked(err)
	switch {
	case o.refusals > 1:
	case o.locked:
		c.w.log.Warn("the outcome of a job cannot be stored: somebody has locked its row; it is tried again and again", event("job.outcome_blocked"), jobFields(o.job.info))
	default:
		c.w.log.Error("the database cannot take the outcome of a job; it is tried again and again", event("job.outcome_not_taken"), jobFields(o.job.info), zap.Error(err))
	}
	wait := lockedWait
	if !o.locked {
		wait = refusalBackoff(o.refusals)
	}
	o.notBefore = c.w.clock.Monotonic() + wait
	c.putBack([]outcome{o})
}

// postpone puts back outcomes that were not tried.
func (c *completer) postpone(batch []outcome) {
	for i := range batch {
		batch[i].notBefore = c.w.clock.Monotonic() + othersWait
	}
	c.putBack(batch)
}

func (c *completer) putBack(batch []outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, batch...)
}

// refused reports that all that is left are outcomes that the database answers and does not take (or that wait behind such): there is nothing to wait for
// but that somebody repairs it.
func (c *completer) refused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)+len(c.underway) > 0 && !slices.ContainsFunc(c.waiting, func(o outcome) bool { return o.notBefore == 0 }) &&
		!slices.ContainsFunc(c.underway, func(o outcome) bool { return o.refusals == 0 })
}

// unstored are the outcomes that run has left.
func (c *completer) unstored() []outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.waiting)
}

// record counts and logs what the database made of an outcome.
func (c *completer) record(o outcome, a answer) {
	log := c.w.log.With(zap.Duration("duration", o.duration))
	if o.failure != nil {
		log = log.With(zap.String("error", o.failure.Error))
	}
	c.w.client.metrics.ended(o, a.Result)
	switch a.Result {
	case "Completed", "AlreadyCompleted":
		c.w.stats.completed.Add(1)
		log.Info("job completed", event("job.completed"), jobFields(o.job.info))
	case "Retried", "AlreadyRetried":
		c.w.stats.retried.Add(1)
		log.Warn("job failed and will be tried again", event("job.retried"), jobFields(o.job.info), zap.Int64("retry_after_ms", o.failure.RetryAfterMs))
	case "Dead", "AlreadyDead":
		c.w.stats.dead.Add(1)
		reason := deadReason(o)
		if reason == "Interrupted" {
			c.w.stats.interrupted.Add(1)
		}
		log.Error("job is dead: it waits in the dead-letter queue for review", event("job.dead"), jobFields(o.job.info), zap.String("reason", reason))
	default:
		c.w.stats.refusedOutcomes.Add(1)
		log.Warn("an outcome was refused: the job no longer belongs to this worker", event("job.outcome_refused"), jobFields(o.job.info), zap.String("job_state", a.State))
	}
}
