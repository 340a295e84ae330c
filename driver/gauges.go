package driver

import (
	"context"
	"database/sql"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// queueDepth is a row of the view chokaq.QueueStatus.
type queueDepth struct {
	Queue                                                                string
	Paused                                                               bool
	Pending, Scheduled, Fetched, Processing                              int64
	DeadFailed, DeadRejected, DeadInterrupted, DeadZombie, DeadCancelled int64
	OldestDueAge                                                         sql.NullInt64 // seconds
}

func (q queueDepth) byState() map[string]int64 {
	dead := int64(0)
	for _, n := range q.deadByReason() {
		dead += n
	}
	return map[string]int64{"pending": q.Pending, "scheduled": q.Scheduled, "fetched": q.Fetched, "processing": q.Processing, "dead": dead}
}

func (q queueDepth) deadByReason() map[string]int64 {
	return map[string]int64{"Failed": q.DeadFailed, "Rejected": q.DeadRejected, "Interrupted": q.DeadInterrupted, "Zombie": q.DeadZombie, "Cancelled": q.DeadCancelled}
}

// observe registers what is observed when metrics are collected, for as long as the worker runs. Nothing here waits or calls the
// database: the controller has fetched what is needed.
func (w *Worker) observe() (stop func(), err error) {
	meter := w.client.metrics.meter
	var instruments []metric.Observable
	gauge := func(name, unit, description string) metric.Int64ObservableGauge {
		g, fault := meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
		if fault != nil {
			err = fault
		}
		instruments = append(instruments, g)
		return g
	}
	seconds := func(name, description string) metric.Float64ObservableGauge {
		g, fault := meter.Float64ObservableGauge(name, metric.WithUnit("s"), metric.WithDescription(description))
		if fault != nil {
			err = fault
		}
		instruments = append(instruments, g)
		return g
	}
	prefetchUsed := gauge("chokaq.prefetch.used", "{job}", "Prefetched jobs that wait in memory for a handler.")
	prefetchRoom := gauge("chokaq.prefetch.room", "{job}", "Room of the prefetch channel.")
	handlersRunning := gauge("chokaq.handlers.running", "{handler}", "Handlers that run now.")
	handlerSlots := gauge("chokaq.handlers.slots", "{handler}", "Handlers that may run at a time.")
	outcomes := gauge("chokaq.outcomes.waiting", "{job}", "Jobs whose handler has returned and whose outcome is not stored yet.")
	ready := gauge("chokaq.worker.ready", "", "1 while the worker claims jobs and the database answers, else 0.")
	shutdownStep := gauge("chokaq.shutdown.step", "", "0 while the worker runs, else the step of the shutdown, 1 to 7 (docs/shutdown.md).")
	recoveryLate := gauge("chokaq.recovery.late", "", "1 when recovery has not run for Recovery.LateAfter, else 0: abandoned jobs stay where they are.")
	depth := gauge("chokaq.queue.jobs", "{job}", "Jobs of a queue that this worker serves, over all workers, by state. Every worker reports it: take the maximum.")
	dead := gauge("chokaq.queue.dead", "{job}", "Dead jobs of a queue that wait for review, over all workers, by reason. Every worker reports it: take the maximum.")
	paused := gauge("chokaq.queue.paused", "", "1 while the queue is paused, else 0.")
	heartbeatAge := seconds("chokaq.heartbeat.age", "Time since the last heartbeat of this worker that was surely stored.")
	recoveryAge := seconds("chokaq.recovery.age", "Time since recovery ran last, by procedure.")
	oldest := seconds("chokaq.queue.oldest_due.age", "How long the longest-waiting due job of a queue has been due; 0: none is.")
	if err != nil {
		return nil, err
	}
	registration, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		held := w.owned.counts()
		o.ObserveInt64(prefetchUsed, int64(held[prefetched]))
		o.ObserveInt64(prefetchRoom, int64(w.config.Prefetch))
		o.ObserveInt64(handlersRunning, int64(held[running]))
		o.ObserveInt64(handlerSlots, int64(w.Handlers()))
		o.ObserveInt64(outcomes, int64(held[finished]))
		o.ObserveInt64(ready, oneIf(w.Ready() == nil))
		o.ObserveInt64(shutdownStep, w.shutdownStep.Load())
		o.ObserveFloat64(heartbeatAge, (w.clock.Monotonic() - time.Duration(w.storedAt.Load())).Seconds())
		if seen := w.controller.seen(); seen != nil {
			o.ObserveInt64(recoveryLate, oneIf(seen.recoveryLate))
			o.ObserveFloat64(recoveryAge, seen.sinceReset.Seconds(), metric.WithAttributes(attribute.String("procedure", "ResetFetchedJobs")))
			o.ObserveFloat64(recoveryAge, seen.sinceRescue.Seconds(), metric.WithAttributes(attribute.String("procedure", "RescueZombieJobs")))
		}
		for _, q := range w.controller.queues() {
			queue := attribute.String("queue", q.Queue)
			for state, n := range q.byState() {
				o.ObserveInt64(depth, n, metric.WithAttributes(queue, attribute.String("state", state)))
			}
			for reason, n := range q.deadByReason() {
				o.ObserveInt64(dead, n, metric.WithAttributes(queue, attribute.String("reason", reason)))
			}
			o.ObserveFloat64(oldest, float64(q.OldestDueAge.Int64), metric.WithAttributes(queue))
			o.ObserveInt64(paused, oneIf(q.Paused), metric.WithAttributes(queue))
		}
		return nil
	}, instruments...)
	if err != nil {
		return nil, err
	}
	return func() { _ = registration.Unregister() }, nil
}

func oneIf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
