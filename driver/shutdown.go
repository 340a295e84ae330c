package driver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
)

// shutdown is one graceful stop. Its steps, and what bounds each:
//
//  1. say draining, which also keeps every later claim from being committed
//  2. the claimer stops; a claim in flight is canceled
//  3. the prefetch channel is closed for writing (by the claimer)
//  4. the processor stops starting; every row not started is released in one call   PrefetchedJobReleaseTimeout
//  5. running handlers go on, heartbeats go on, outcomes are stored                 WorkerShutdownGracePeriod
//  6. handler contexts are canceled with ErrShutdown                                CancellationPeriod
//  7. what still runs is abandoned; the last outcomes are stored                    FlushTimeout
//
// Steps 4 and 5 run side by side. No step uses a context that the shutdown itself has canceled.
type shutdown struct {
	w      *Worker
	base   context.Context
	began  time.Duration // monotonic
	reason error

	// What the record of the stop needs: counts when it began, and how long the steps took.
	running                              int
	before                               Stats
	releaseTook, handlersTook, flushTook time.Duration

	stopClaiming, stopStarting, stopBeating, stopStoring context.CancelCauseFunc

	refused        bool      // what could not be stored was refused by a database that answers; set by flush
	blocked        bool      // what could not be given back is locked by somebody, in a database that answers; set by release
	unsettledClaim uuid.UUID // a claim that was cut off and could not be released; set by release

	claimed, processed, completed, beaten <-chan struct{} // closed when that part has ended
}

func (s *shutdown) run() error {
	w := s.w
	w.state.set(stateDraining)
	s.reach(1)
	s.running, s.before = len(w.owned.in(running)), w.Stats()
	w.log.Info("shutdown 1/7: draining", event("shutdown.draining"), zap.NamedError("reason", s.reason),
		zap.Int("prefetched", len(w.owned.in(prefetched))), zap.Int("running", s.running),
		zap.Duration("grace_period", w.config.WorkerShutdownGracePeriod), zap.Duration("bound", w.config.ShutdownBound()))
	s.stopClaiming(ErrShutdown)
	s.reach(2)
	released := make(chan []*heldJob, 1)
	go func() { released <- s.release() }()

	handlersDone := make(chan struct{})
	go func() {
		<-s.processed // it launches no more handlers
		w.processor.handlers.Wait()
		close(handlersDone)
	}()
	s.reach(5)
	s.step("shutdown 5/7: running handlers may go on", "shutdown.grace", zap.Int("running", s.running))
	if s.wait(handlersDone, w.config.WorkerShutdownGracePeriod-s.elapsed()) {
		s.step("shutdown 6/7: every handler has returned within the grace period", "shutdown.handlers_returned")
	} else {
		s.step("shutdown 6/7: the grace period is over; handlers are canceled", "shutdown.handlers_canceled", jobIDs("running", w.owned.in(running)))
		w.stopHandlers(ErrShutdown)
		s.wait(handlersDone, w.config.CancellationPeriod)
	}
	s.reach(6)
	canceled := s.elapsed()
	s.handlersTook = canceled
	notReleased := <-released
	if s.elapsed() > canceled { // a start that was settled only now has launched nothing that runs, but its outcome is on its way
		s.wait(handlersDone, min(w.config.CancellationPeriod, w.config.PrefetchedJobReleaseTimeout+w.config.CancellationPeriod-s.elapsed()))
	}

	abandoned := w.owned.in(running)
	for _, job := range abandoned {
		w.log.Error("a handler did not return; it is abandoned, and zombie rescue will move its job to the dead-letter queue",
			event("job.abandoned"), jobFields(job.info))
	}
	flushBegan := s.elapsed()
	flushBy := flushBegan + w.config.FlushTimeout
	s.reach(7)
	s.step("shutdown 7/7: storing the last outcomes", "shutdown.flush", zap.Int("outcomes", len(w.owned.in(finished))), zap.Int("abandoned", len(abandoned)))
	unstored := s.flush()
	s.flushTook = s.elapsed() - flushBegan

	w.stopHandlers(ErrShutdown)
	s.stopBeating(errStopped)
	<-s.beaten
	s.stopStoring(ErrShutdown)
	return s.report(abandoned, unstored, notReleased, flushBy)
}

// release is step 4. It returns the rows that it could not give back.
func (s *shutdown) release() []*heldJob {
	w := s.w
	defer func() { s.releaseTook = s.elapsed() }()
	within, stop := withTimeout(s.base, w.clock, w.config.PrefetchedJobReleaseTimeout, errReleaseTimeout)
	defer stop()
	context.AfterFunc(within, func() { s.stopStarting(errReleaseTimeout) }) // a start under way may settle until then
	drained := make(chan error, 1)
	go func() { drained <- s.fence(within) }()
	<-s.claimed
	<-s.processed
	s.reach(4)
	s.step("shutdown 4/7: no more starts; releasing what has not started", "shutdown.releasing", zap.Int("prefetched", w.owned.release()))

	err := <-drained
	var answers []answer
	calls := 0
	if err == nil {
		all := func(ctx context.Context) ([]answer, error) {
			calls++
			return w.procedures.releaseAll(ctx, w.id)
		}
		if answers, err = persistUnless(within, w, isLocked, all); isLocked(err) {
			answers = s.releaseOthers(within, w.owned.in(releasing))
			if len(answers) == len(w.owned.in(releasing)) { // nobody has it locked any more
				var more []answer
				more, err = persistUnless(within, w, isLocked, all)
				answers = append(answers, more...)
			}
		}
		s.blocked = isLocked(err)
	}
	released := 0
	for _, a := range answers {
		switch a.Result {
		case "Released", "AlreadyReleased":
			released++
			w.owned.forget(a.JobID)
		case "Lost":
			w.owned.forget(a.JobID)
		}
	}
	w.client.metrics.released.Add(s.base, int64(released))
	if unsure := w.owned.in(releasing); err == nil && calls > 1 && len(unsure) > 0 {
		// An earlier call may have released them and its answer was lost: ask by name.
		claims := make([]claim, 0, maxBatch)
		for _, job := range unsure[:min(len(unsure), maxBatch)] {
			claims = append(claims, job.claim)
		}
		named, asked := persist(within, w, func(ctx context.Context) ([]answer, error) { return w.procedures.releaseNamed(ctx, w.id, claims) })
		for _, a := range named {
			if asked == nil && (a.Result == "Released" || a.Result == "AlreadyReleased") {
				released++
				w.client.metrics.released.Add(s.base, 1)
				w.owned.forget(a.JobID)
			}
		}
	}
	w.stats.released.Add(int64(released))
	left := w.owned.in(releasing)
	if err != nil {
		if token := w.claimer.unsettled.Load(); token != nil {
			s.unsettledClaim = *token
		}
		w.log.Error("prefetched jobs could not be given back in time; abandoned-fetch recovery will reset them", event("shutdown.release_failed"),
			zap.Error(err), jobIDs("jobs", left), zap.Stringer("unsettled_claim_token", s.unsettledClaim))
		return left
	}
	s.step("shutdown 4/7: prefetched jobs are Pending again", "shutdown.released", zap.Int("released", released), jobIDs("lost_before", left))
	for _, job := range left { // not Fetched under this worker any more: recovery or a cancellation had them
		w.owned.remove(job)
	}
	return nil
}

// releaseOthers gives back what it can by names, where somebody has locked a row, so that one keeps back no other. It returns what was answered.
func (s *shutdown) releaseOthers(within context.Context, jobs []*heldJob) (all []answer) {
	for chunk := range slices.Chunk(jobs, maxBatch) {
		halves(chunk, func(part []*heldJob) bool {
			claims := make([]claim, len(part))
			for i, job := range part {
				claims[i] = job.claim
			}
			answers, err := persistUnless(within, s.w, isLocked, func(ctx context.Context) ([]answer, error) {
				return s.w.procedures.releaseNamed(ctx, s.w.id, claims)
			})
			all = append(all, answers...)
			return isLocked(err) && within.Err() == nil
		})
	}
	return all
}

// flush is step 7: it returns the outcomes that could not be stored.
func (s *shutdown) flush() []outcome {
	w := s.w
	w.completer.close()
	reserve := min(time.Second, w.config.FlushTimeout/5) // for the record of the stop, where outcomes that are refused would use up the time
	if !s.wait(s.completed, w.config.FlushTimeout-reserve) {
		s.refused = w.completer.refused()
		if s.refused || !s.wait(s.completed, reserve) {
			s.stopStoring(errFlushTimeout)
			<-s.completed
		}
	}
	unstored := w.completer.unstored()
	for _, o := range unstored {
		w.log.Error("the outcome of a job could not be stored in time; zombie rescue will move the job to the dead-letter queue",
			event("job.outcome_unstored"), jobFields(o.job.info), zap.Bool("succeeded", o.failure == nil))
	}
	return unstored
}

// fence says draining in chokaq.Workers. Once that is stored, no claim of this worker can be committed any more, however late
// the request of one that was cut off arrives: so what is released afterwards is everything.
func (s *shutdown) fence(within context.Context) error {
	_, err := persist(within, s.w, func(ctx context.Context) (struct{}, error) {
		err := s.draining(ctx)
		if sqlNumber(err) == NumberUnknownWorker { // its row was purged while it could not send heartbeats
			err = nil
		}
		return struct{}{}, err
	})
	return err
}

func (s *shutdown) report(abandoned []*heldJob, unstored []outcome, notReleased []*heldJob, flushBy time.Duration) error {
	w := s.w
	report := &ShutdownError{UnsettledClaim: s.unsettledClaim}
	for _, job := range abandoned {
		report.Abandoned = append(report.Abandoned, job.info)
	}
	for _, o := range unstored {
		report.Unstored = append(report.Unstored, o.job.info)
	}
	for _, job := range notReleased {
		report.NotReleased = append(report.NotReleased, job.info)
	}
	if (len(unstored) == 0 || s.refused) && (len(notReleased) == 0 || s.blocked) && s.unsettledClaim == uuid.Nil { // otherwise the database is away: do not wait for it once more
		if err := s.say(s.record(report), min(time.Second, flushBy-s.elapsed())); err != nil {
			w.log.Warn("the worker could not say that it has stopped; its stop will show as cut short", event("shutdown.stopped_unsaid"), zap.Error(err))
		}
	}
	s.step("the worker has stopped", "shutdown.stopped", zap.Int("abandoned", len(abandoned)), zap.Int("unstored", len(unstored)),
		zap.Int("not_released", len(notReleased)), zap.Any("stats", w.Stats()))
	if report.empty() {
		return nil
	}
	return report
}

// step logs a step with the time since the stop was asked for.
func (s *shutdown) step(message, name string, fields ...zap.Field) {
	s.w.log.Info(message, append([]zap.Field{event(name), zap.Duration("after", s.elapsed())}, fields...)...)
}

// reach notes the furthest step, for the gauge.
func (s *shutdown) reach(step int64) {
	for {
		now := s.w.shutdownStep.Load()
		if step <= now || s.w.shutdownStep.CompareAndSwap(now, step) {
			return
		}
	}
}

func (s *shutdown) elapsed() time.Duration { return s.w.clock.Monotonic() - s.began }

// wait waits for done, at most d, and reports whether it came.
func (s *shutdown) wait(done <-chan struct{}, d time.Duration) bool {
	timer := s.w.clock.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C():
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
}

// ShutdownError says what a stop has left to recovery. errors.Is finds ErrWorkRemains.
type ShutdownError struct {
	// Abandoned handlers had not returned. Their jobs stay Processing; zombie rescue moves them to the dead-letter queue.
	Abandoned []JobInfo
	// Unstored jobs had finished, but the database did not take the outcome. They stay Processing, likewise.
	Unstored []JobInfo
	// NotReleased jobs had not started, and could not be given back. Abandoned-fetch recovery resets those that are Fetched; one whose start
	// had been committed unheard is Processing, and zombie rescue moves it to the dead-letter queue.
	NotReleased []JobInfo
	// UnsettledClaim is the token of a claim whose answer was never heard and that could not be released: jobs that it may
	// have fetched are unknown here. Abandoned-fetch recovery resets them. uuid.Nil: there is none.
	UnsettledClaim uuid.UUID
}

func (e *ShutdownError) Error() string {
	var parts []string
	for _, p := range []struct {
		what string
		jobs []JobInfo
	}{
		{"still running, for zombie rescue", e.Abandoned},
		{"finished with no stored outcome, for zombie rescue", e.Unstored},
		{"prefetched and not given back, for abandoned-fetch recovery", e.NotReleased},
	} {
		if len(p.jobs) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s: %s", len(p.jobs), p.what, jobNames(p.jobs)))
		}
	}
	if e.UnsettledClaim != uuid.Nil {
		parts = append(parts, fmt.Sprintf("whatever the claim %s has fetched unheard, for abandoned-fetch recovery", e.UnsettledClaim))
	}
	return ErrWorkRemains.Error() + ": " + strings.Join(parts, "; ")
}

// Is finds ErrWorkRemains.
func (e *ShutdownError) Is(target error) bool { return target == ErrWorkRemains }

// jobNames lists at most twenty jobs.
func jobNames(jobs []JobInfo) string {
	var names []string
	for _, job := range jobs[:min(len(jobs), 20)] {
		names = append(names, fmt.Sprintf("%d (%s)", job.ID, job.Type))
	}
	if len(jobs) > 20 {
		names = append(names, fmt.Sprintf("and %d more", len(jobs)-20))
	}
	return strings.Join(names, ", ")
}
