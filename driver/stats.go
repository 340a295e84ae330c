package driver

import "sync/atomic"

// Stats counts what a worker has done since Run began.
type Stats struct {
	Claimed         int64 // rows that claims returned
	Started         int64 // attempts started
	RefusedStarts   int64 // prefetched jobs lost before they started
	Completed       int64
	Retried         int64 // attempts that failed and will be tried again
	Dead            int64 // attempts that ended in the dead-letter queue
	Interrupted     int64 // of these, cut short by a shutdown or a lost ownership
	RefusedOutcomes int64 // outcomes whose job no longer belonged to this worker
	Lost            int64 // running or prefetched jobs found lost by a heartbeat, or distrusted
	Released        int64 // prefetched jobs given back by the shutdown
	Heartbeats      int64 // calls of HeartbeatJobs that were stored
	DatabaseCalls   int64 // calls of procedures, repeated ones too
	Ticks           int64 // ticks of recurring jobs that this worker has enqueued
}

type counters struct {
	claimed, started, refusedStarts, completed, retried, dead, interrupted, refusedOutcomes, lost, released, heartbeats, ticks atomic.Int64
}

// Stats may be called at any time.
func (w *Worker) Stats() Stats {
	c := &w.stats
	return Stats{
		Claimed: c.claimed.Load(), Started: c.started.Load(), RefusedStarts: c.refusedStarts.Load(), Completed: c.completed.Load(),
		Retried: c.retried.Load(), Dead: c.dead.Load(), Interrupted: c.interrupted.Load(), RefusedOutcomes: c.refusedOutcomes.Load(),
		Lost: c.lost.Load(), Released: c.released.Load(), Heartbeats: c.heartbeats.Load(), DatabaseCalls: w.procedures.calls.Load(), Ticks: c.ticks.Load(),
	}
}
