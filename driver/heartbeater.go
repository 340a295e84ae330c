package driver

import (
	"context"
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
		_, _ = persist(ctx, h.w, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, h.beat(ctx)
		})
	}
}

func (h *heartbeater) beat(ctx context.Context) error {
	claims := h.w.owned.claims()
	for {
		chunk := claims[:min(len(claims), maxBatch)]
		claims = claims[len(chunk):]
		sentAt := h.w.clock.Monotonic()
		answers, err := h.w.procedures.heartbeat(ctx, h.w.id, chunk)
		if sqlNumber(err) == NumberUnknownWorker { // its row was purged while it could not send heartbeats
			_, err = h.w.procedures.register(ctx, h.w.registration())
			if err == nil && h.w.state.get() != stateRunning { // a stop has said draining, which keeps late claims from being committed: say it again
				err = h.w.procedures.setWorkerState(ctx, h.w.id, "draining", "")
			}
			if err == nil {
				answers, err = h.w.procedures.heartbeat(ctx, h.w.id, chunk)
			}
		}
		if err != nil {
			return err
		}
		h.w.stats.heartbeats.Add(1)
		h.w.storedAt.Store(int64(sentAt))
		h.apply(chunk, answers, sentAt)
		if len(claims) == 0 {
			return nil
		}
	}
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
