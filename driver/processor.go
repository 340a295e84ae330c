package driver

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
)

// processor takes prefetched jobs when handler slots are free, starts them in the database, several in one call when several
// slots are free, and runs their handlers. A job whose start is refused was lost to recovery: it is dropped and
// counted, and its handler never runs.
type processor struct {
	w        *Worker
	slots    chan struct{} // a handler, or the start of one, holds a place
	handlers sync.WaitGroup
}

func newProcessor(w *Worker) *processor {
	return &processor{w: w, slots: make(chan struct{}, w.config.Handlers)}
}

// run processes until stop ends. calls bounds the calls of StartJobs: it outlives stop, so that a start which is under way
// is settled.
func (p *processor) run(stop, calls context.Context) {
	for stop.Err() == nil {
		batch := p.next(stop)
		if batch == nil {
			return
		}
		p.start(calls, batch)
	}
}

// next waits for a free slot, then for a job, and takes more of both as far as there are any. nil: stop has ended.
func (p *processor) next(stop context.Context) []*heldJob {
	select {
	case p.slots <- struct{}{}:
	case <-stop.Done():
		return nil
	}
	var batch []*heldJob
	select {
	case job, open := <-p.w.prefetch:
		if !open { // the claimer has ended, so stop has
			<-p.slots
			return nil
		}
		batch = append(batch, job)
	case <-stop.Done():
		<-p.slots
		return nil
	}
	for len(batch) < maxBatch && p.tryNext(&batch) {
	}
	p.w.claimer.freeRoom()
	return batch
}

// tryNext adds a job if there is a slot and a job without waiting.
func (p *processor) tryNext(batch *[]*heldJob) bool {
	select {
	case p.slots <- struct{}{}:
	default:
		return false
	}
	select {
	case job, open := <-p.w.prefetch:
		if open {
			*batch = append(*batch, job)
			return true
		}
	default:
	}
	<-p.slots
	return false
}

// start asks the database whether the jobs may run, and runs those that may.
func (p *processor) start(calls context.Context, batch []*heldJob) {
	batch = slices.DeleteFunc(batch, func(job *heldJob) bool {
		if !p.w.owned.isLost(job) {
			return false
		}
		p.refused(job, "")
		return true
	})
	if len(batch) == 0 {
		return
	}
	claims := make([]claim, len(batch))
	for i, job := range batch {
		claims[i] = job.claim
	}
	var sentAt time.Duration
	answers, err := persist(calls, p.w, func(ctx context.Context) ([]answer, error) {
		sentAt = p.w.clock.Monotonic()
		return p.w.procedures.start(ctx, claims)
	})
	if err != nil { // the shutdown gave up; the jobs count as prefetched, and it names them
		for range batch {
			<-p.slots
		}
		return
	}
	byID := make(map[int64]answer, len(answers))
	for _, a := range answers {
		byID[a.JobID] = a
	}
	for _, job := range batch {
		switch a := byID[job.JobID]; a.Result {
		case "Started", "AlreadyStarted":
			p.w.stats.started.Add(1)
			p.launch(job, a.Attempt, sentAt)
		default:
			p.refused(job, a.State)
		}
	}
}

// refused drops a job that is not this worker's any more.
func (p *processor) refused(job *heldJob, state string) {
	p.w.owned.remove(job)
	p.w.stats.refusedStarts.Add(1)
	p.w.log.Warn("a prefetched job was lost before it started; its handler does not run", event("job.start_refused"), jobFields(job.info), zap.String("job_state", state))
	<-p.slots
}

// launch runs the job's handler in a goroutine.
func (p *processor) launch(job *heldJob, attempt int, startedAt time.Duration) {
	ctx, cancel := context.WithCancelCause(p.w.handlerContext)
	p.w.owned.run(job, attempt, startedAt, cancel)
	p.handlers.Go(func() {
		defer func() { <-p.slots }()
		defer cancel(nil)
		p.w.log.Debug("job started", event("job.started"), jobFields(job.info))
		began := p.w.clock.Monotonic()
		err, cause := p.handle(ctx, job)
		p.w.owned.finish(job)
		p.w.completer.add(p.outcome(job, err, cause, p.w.clock.Monotonic()-began))
	})
}

// handle runs the handler and returns its error, and the cause of the end of its context if that had ended by then.
func (p *processor) handle(ctx context.Context, job *heldJob) (err, cause error) {
	h := p.w.handlers[job.info.Type]
	if h == nil {
		return fmt.Errorf("this worker has no handler for job type %q", job.info.Type), nil
	}
	if ctx.Err() != nil { // its start was settled after the end of the grace period: it has run no code, and runs none
		return MarkSafeToRetry(fmt.Errorf("the handler was not run: %w", context.Cause(ctx))), context.Cause(ctx)
	}
	if h.timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = withTimeout(ctx, p.w.clock, h.timeout, ErrHandlerTimeout)
		defer stop()
	}
	err = runGuarded(ctx, h.run, job.info)
	if ctx.Err() != nil {
		cause = context.Cause(ctx)
	}
	return err, cause
}
