package driver

import (
	"context"
	"slices"
	"sync"

	"go.uber.org/zap"
)

// maxOutcomes bounds the outcomes that wait to be stored. Handlers that return while so many wait keep their slots, so
// nothing more is started meanwhile.
const maxOutcomes = 2 * maxBatch

// completer stores outcomes, many in one call: last part of the flow claim -> prefetch -> process -> complete. An
// outcome is never dropped: it is retried until it is stored, refused by its token, or the process ends.
type completer struct {
	w     *Worker
	room  chan struct{} // an outcome holds a place until it is settled
	added chan struct{}

	mu      sync.Mutex
	waiting []outcome
	closed  bool
}

func newCompleter(w *Worker) *completer {
	return &completer{w: w, room: make(chan struct{}, maxOutcomes), added: make(chan struct{}, 1)}
}

// add hands an outcome over. After close it only logs: the job stays Processing, and zombie rescue will move it.
func (c *completer) add(o outcome) {
	c.room <- struct{}{}
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.waiting = append(c.waiting, o)
	}
	c.mu.Unlock()
	if closed {
		c.w.log.Error("a handler returned after the worker had abandoned it; its outcome is not stored, and zombie rescue will move the job to the dead-letter queue",
			event("job.returned_late"), jobFields(o.job.info))
		<-c.room
		return
	}
	signal(c.added)
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
	for ctx.Err() == nil {
		batch, closed := c.take()
		if len(batch) > 0 {
			c.store(ctx, batch)
			continue
		}
		if closed {
			return
		}
		select {
		case <-c.added:
		case <-ctx.Done():
			return
		}
		c.gather(ctx)
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
		enough := c.closed || len(c.waiting) >= min(100, c.w.config.Handlers)
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

// take removes a batch from those waiting. A job may be among them twice, under two claims; a call may name it once.
func (c *completer) take() (batch []outcome, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	named := make(map[int64]bool)
	c.waiting = slices.DeleteFunc(c.waiting, func(o outcome) bool {
		if len(batch) == maxBatch || named[o.job.JobID] {
			return false
		}
		named[o.job.JobID] = true
		batch = append(batch, o)
		return true
	})
	return batch, c.closed
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
	c.settle(ctx, done, func(ctx context.Context, batch []outcome) ([]answer, error) {
		claims := make([]claim, len(batch))
		for i, o := range batch {
			claims[i] = o.job.claim
		}
		return c.w.procedures.complete(ctx, claims)
	})
	c.settle(ctx, failed, func(ctx context.Context, batch []outcome) ([]answer, error) {
		failures := make([]failure, len(batch))
		for i, o := range batch {
			failures[i] = *o.failure
		}
		return c.w.procedures.fail(ctx, failures)
	})
}

// settle calls until every outcome of the batch is answered. A batch that the database refuses for another reason than a
// passing one is halved, so that one outcome which cannot be stored does not keep back the others.
func (c *completer) settle(ctx context.Context, batch []outcome, call func(context.Context, []outcome) ([]answer, error)) {
	if len(batch) == 0 {
		return
	}
	answers, err := persistUnless(ctx, c.w, func(err error) bool { return len(batch) > 1 && !IsTransient(err) }, func(ctx context.Context) ([]answer, error) {
		return call(ctx, batch)
	})
	if err != nil && ctx.Err() == nil {
		half := len(batch) / 2
		c.settle(ctx, batch[:half], call)
		c.settle(ctx, batch[half:], call)
		return
	}
	if err != nil {
		c.mu.Lock()
		c.waiting = append(c.waiting, batch...)
		c.mu.Unlock()
		return
	}
	byID := make(map[int64]answer, len(answers))
	for _, a := range answers {
		byID[a.JobID] = a
	}
	for _, o := range batch {
		c.w.owned.remove(o.job)
		c.record(o, byID[o.job.JobID])
		<-c.room
	}
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
	reason := ""
	if o.failure != nil {
		reason = o.failure.Reason
		log = log.With(zap.String("error", o.failure.Error))
	}
	switch a.Result {
	case "Completed", "AlreadyCompleted":
		c.w.stats.completed.Add(1)
		log.Info("job completed", event("job.completed"), jobFields(o.job.info))
	case "Retried", "AlreadyRetried":
		c.w.stats.retried.Add(1)
		log.Warn("job failed and will be tried again", event("job.retried"), jobFields(o.job.info), zap.Int64("retry_after_ms", o.failure.RetryAfterMs))
	case "Dead", "AlreadyDead":
		c.w.stats.dead.Add(1)
		if reason == "Interrupted" {
			c.w.stats.interrupted.Add(1)
		}
		log.Error("job is dead: it waits in the dead-letter queue for review", event("job.dead"), jobFields(o.job.info), zap.String("reason", reason))
	default:
		c.w.stats.refusedOutcomes.Add(1)
		log.Warn("an outcome was refused: the job no longer belongs to this worker", event("job.outcome_refused"), jobFields(o.job.info), zap.String("job_state", a.State))
	}
}
