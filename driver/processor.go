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
// slots are free, and runs their handlers. A job whose type is at its concurrency limit is put aside and started when it may be. A job whose start is
// refused was lost to recovery: it is dropped and counted, and its handler never runs.
type processor struct {
	w        *Worker
	handlers sync.WaitGroup
	locked   sync.WaitGroup // jobs whose rows somebody has locked, each waiting by itself to be started
	retrying sync.Mutex     // one of them asks at a time
}

func newProcessor(w *Worker) *processor {
	return &processor{w: w}
}

// run processes until stop ends. calls bounds the calls of StartJobs: it outlives stop, so that a start which is under way
// is settled.
func (p *processor) run(stop, calls context.Context) {
	defer p.locked.Wait()
	for stop.Err() == nil {
		batch := p.next(stop)
		if batch == nil {
			return
		}
		p.start(stop, calls, batch)
	}
}

// next waits for a job that may start, and takes more as far as there are any. nil: stop has ended.
func (p *processor) next(stop context.Context) []*heldJob {
	first := p.await(stop)
	if first == nil {
		return nil
	}
	batch := []*heldJob{first}
	for len(batch) < maxBatch {
		job := p.tryNext()
		if job == nil {
			break
		}
		batch = append(batch, job)
	}
	p.w.claimer.freeRoom()
	return batch
}

// await waits for a job that may start: one from the channel, or one that was put aside. While no slot is free nothing is taken from the channel.
func (p *processor) await(stop context.Context) *heldJob {
	a := p.w.admission
	for {
		if job := p.tryNext(); job != nil {
			return job
		}
		var prefetch <-chan *heldJob
		if a.slotFree() {
			prefetch = p.w.prefetch
		}
		select {
		case job, open := <-prefetch:
			if !open { // the claimer has ended, so stop has
				return nil
			}
			if a.admit(job) {
				return job
			}
		case <-a.changed:
		case <-stop.Done():
			return nil
		}
	}
}

// tryNext takes a job that may start without waiting.
func (p *processor) tryNext() *heldJob {
	a := p.w.admission
	if job := a.ready(); job != nil {
		return job
	}
	for a.slotFree() {
		select {
		case job, open := <-p.w.prefetch:
			if !open {
				return nil
			}
			if a.admit(job) {
				return job
			}
		default:
			return nil
		}
	}
	return nil
}

// leave gives back the slot of a job that was taken.
func (p *processor) leave(job *heldJob) {
	if p.w.admission.leave(job) {
		p.w.claimer.reconsider()
	}
}

// start asks the database whether the jobs may run, and runs those that may. A job whose row somebody has locked keeps back no other: it waits
// for its row, in its slot, by itself.
func (p *processor) start(stop, calls context.Context, batch []*heldJob) {
	locked := halves(p.stillOurs(batch), func(part []*heldJob) bool {
		if stop.Err() != nil {
			p.leaveAll(part) // the stop releases them with the prefetched ones
			return false
		}
		return p.ask(calls, part)
	})
	for _, job := range locked {
		p.w.log.Warn("a job cannot be started: somebody has locked its row; it is tried again and again", event("job.start_blocked"), jobFields(job.info))
		p.locked.Go(func() {
			for p.w.clock.Sleep(stop, lockedWait) == nil {
				if p.askAgain(stop, calls, job) {
					return
				}
			}
			p.leave(job)
		})
	}
}

// lockedWait is the time between two calls for a job whose row somebody has locked.
const lockedWait = time.Second

// stillOurs drops the jobs that were lost meanwhile.
func (p *processor) stillOurs(batch []*heldJob) []*heldJob {
	return slices.DeleteFunc(batch, func(job *heldJob) bool {
		if !p.w.owned.isLost(job) {
			return false
		}
		p.refused(job, "")
		return true
	})
}

func (p *processor) leaveAll(batch []*heldJob) {
	for _, job := range batch {
		p.leave(job)
	}
}

// askAgain asks for a job whose row was locked, for one at a time, so that many locked rows do not take many connections; no more when the stop
// has come while others asked. settled: it is started, or lost.
func (p *processor) askAgain(stop, calls context.Context, job *heldJob) (settled bool) {
	p.retrying.Lock()
	defer p.retrying.Unlock()
	if stop.Err() != nil {
		return false
	}
	ours := p.stillOurs([]*heldJob{job})
	return len(ours) == 0 || !p.ask(calls, ours)
}

// ask calls StartJobs, until there is an answer, and does what it says. locked: somebody has locked a row, and nothing is decided.
func (p *processor) ask(calls context.Context, batch []*heldJob) (locked bool) {
	claims := make([]claim, len(batch))
	for i, job := range batch {
		claims[i] = job.claim
	}
	var sentAt time.Duration
	answers, err := persistUnless(calls, p.w, isLocked, func(ctx context.Context) ([]answer, error) {
		sentAt = p.w.clock.Monotonic()
		return p.w.procedures.start(ctx, claims)
	})
	if err != nil && calls.Err() == nil {
		return true
	}
	if err != nil { // the shutdown gave up; the jobs count as prefetched, and it names them
		p.leaveAll(batch)
		return false
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
	return false
}

// refused drops a job that is not this worker's any more.
func (p *processor) refused(job *heldJob, state string) {
	p.w.owned.remove(job)
	p.w.stats.refusedStarts.Add(1)
	p.w.client.metrics.countAs(p.w.client.metrics.refused, job.info, "operation", "start")
	p.w.log.Warn("a prefetched job was lost before it started; its handler does not run", event("job.start_refused"), jobFields(job.info), zap.String("job_state", state))
	p.leave(job)
}

// launch runs the job's handler in a goroutine.
func (p *processor) launch(job *heldJob, attempt int, startedAt time.Duration) {
	ctx, cancel := context.WithCancelCause(p.w.handlerContext)
	p.w.owned.run(job, attempt, startedAt, cancel)
	if trust := p.w.trust(); trust > 0 && p.w.clock.Monotonic()-startedAt > trust { // the answer took so long, or this process was frozen meanwhile: do not wait for the watch
		p.w.distrust(trust)
	}
	p.handlers.Go(func() {
		defer p.leave(job)
		defer cancel(nil)
		p.w.log.Debug("job started", event("job.started"), jobFields(job.info))
		began := p.w.clock.Monotonic()
		p.w.client.metrics.began(job, began)
		ctx, span := p.w.client.tracing.attempting(ctx, job.info)
		err, cause := p.handle(ctx, job)
		endAttempt(span, err, cause)
		p.w.owned.finish(job)
		p.w.completer.add(p.outcome(job, err, cause, p.w.clock.Monotonic()-began))
	})
}

// handle runs the handler and returns its error, and the cause of the end of its context if that had ended by then.
func (p *processor) handle(ctx context.Context, job *heldJob) (err, cause error) {
	h := job.handler
	if h == nil {
		return fmt.Errorf("this worker has no handler for job type %q", job.info.Type), nil
	}
	if ctx.Err() != nil { // its start was settled after the end of the grace period, or when it was lost already: it has run no code, and runs none
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
