package driver

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"
)

// heartbeater renews everything that the worker holds, prefetched jobs too, in one call (of up to 1000 jobs), and
// passes on what the answer says: jobs lost, cancellations asked for.
type heartbeater struct {
	w *Worker
}

// run beats until ctx ends. A beat that fails is repeated soon: ownership is at stake.
func (h *heartbeater) run(ctx context.Context) {
	for h.w.clock.Sleep(ctx, h.w.config.HeartbeatInterval) == nil {
		_, _ = repeat(ctx, h.w, func(error) bool { return false }, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, h.beat(ctx, h.renew)
		})
	}
}

// beat renews everything that is held, by a call for each 1000 jobs, each bounded in time by itself. A call that comes upon a row that somebody has locked (an open
// transaction around CancelJob), or gets no answer in time though the database answers otherwise, is tried in halves, and so on, so that the other jobs are renewed; those rows are left until the next
// beat. The error is that of a database which is away.
func (h *heartbeater) beat(ctx context.Context, renew func(context.Context, []claim) error) error {
	try := func(claims []claim) error {
		_, err := attempt(ctx, h.w.clock, h.w.config.CommandTimeout, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, renew(ctx, claims)
		})
		return err
	}
	held := h.w.owned.claims()
	if len(held) == 0 {
		return try(nil) // the worker alone
	}
	answers := false // the database does
	var away error
	var blocked []int64
	for chunk := range slices.Chunk(held, maxBatch) {
		for _, c := range halves(chunk, func(part []claim) bool {
			if away != nil {
				return false
			}
			err := try(part)
			if err != nil && (ctx.Err() != nil || !isLocked(err) && (!errors.Is(err, errCallTimeout) || !answers && try(nil) != nil)) {
				away = err
				return false
			}
			answers = true
			return err != nil
		}) {
			blocked = append(blocked, c.JobID)
		}
	}
	if away != nil {
		return away
	}
	if len(blocked) > 0 {
		h.w.log.Warn("heartbeats cannot be stored: somebody has locked the rows of these jobs; those of the others are", event("job.heartbeat_blocked"), zap.Int64s("jobs", blocked))
	}
	return nil
}

// renew is one call for at most 1000 jobs.
func (h *heartbeater) renew(ctx context.Context, claims []claim) error {
	sentAt := h.w.clock.Monotonic()
	answers, err := h.w.procedures.heartbeat(ctx, h.w.id, claims)
	if sqlNumber(err) == NumberUnknownWorker { // its row was purged while it could not send heartbeats
		_, err = h.w.procedures.register(ctx, h.w.registration())
		if err == nil && h.w.state.get() != stateRunning { // a stop has said draining, which keeps late claims from being committed: say it again
			err = h.w.procedures.setWorkerState(ctx, h.w.id, "draining", "")
		}
		if err == nil {
			answers, err = h.w.procedures.heartbeat(ctx, h.w.id, claims)
		}
	}
	if err != nil {
		return err
	}
	h.w.stats.heartbeats.Add(1)
	h.w.storedAt.Store(int64(sentAt))
	h.apply(claims, answers, sentAt)
	return nil
}

func (h *heartbeater) apply(chunk []claim, answers []answer, sentAt time.Duration) {
	for _, c := range chunk {
		i := slices.IndexFunc(answers, func(a answer) bool { return a.JobID == c.JobID })
		if i < 0 {
			h.w.owned.renew(c, sentAt)
			continue
		}
		switch answers[i].Result {
		case "CancelRequested":
			h.w.owned.renew(c, sentAt)
			if job, ok := h.w.owned.cancel(c, ErrCancelRequested); ok {
				h.w.log.Info("cancellation of a running job was requested", event("job.cancel_requested"), jobFields(job))
			}
		default:
			if job, ok := h.w.owned.cancel(c, ErrOwnershipLost); ok {
				h.w.countLost(job)
				h.w.log.Warn("a job no longer belongs to this worker", event("job.lost"), jobFields(job), zap.String("job_state", answers[i].State))
			}
		}
	}
}

// watch cancels handlers before the database may call their jobs zombies: when the last heartbeat that was surely stored is
// older than four fifths of the zombie timeout, by this process's monotonic clock. The age is counted from before that call was
// sent, so the database counts less.
func (h *heartbeater) watch(ctx context.Context) {
	trust := h.w.trust()
	ticker := h.w.clock.NewTicker(min(max(trust/50, 10*time.Millisecond), time.Second))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C():
		case <-ctx.Done():
			return
		}
		h.w.distrust(trust)
	}
}

// trust is how long after a heartbeat, or a start, was sent the database surely does not call the job a zombie.
func (w *Worker) trust() time.Duration { return w.timeouts.ProcessingZombie * 4 / 5 }

// distrust cancels the handlers of jobs whose last heartbeat is older than that.
func (w *Worker) distrust(trust time.Duration) {
	for _, job := range w.owned.distrust(w.clock.Monotonic() - trust) {
		w.countLost(job)
		w.log.Warn("no heartbeat could be stored for too long: the handler is canceled before the database may call its job a zombie",
			event("job.ownership_expired"), jobFields(job), zap.Duration("trust", trust))
	}
}

func (w *Worker) countLost(job JobInfo) {
	w.stats.lost.Add(1)
	w.client.metrics.count(w.client.metrics.lost, job)
}
