package driver

import "time"

// Status is what a worker knows of itself, for readiness endpoints and people.
type Status struct {
	WorkerID   string `json:"workerId"`
	State      string `json:"state"` // new, starting, running, draining, stopped
	Ready      bool   `json:"ready"`
	Why        string `json:"why,omitempty"` // it is not ready
	DatabaseUp bool   `json:"databaseUp"`    // the last call succeeded

	Handlers        int `json:"handlers"` // slots
	HandlersRunning int `json:"handlersRunning"`
	Prefetched      int `json:"prefetched"`
	// OutcomesWaiting are jobs whose handler has returned and whose outcome is not stored yet.
	OutcomesWaiting int `json:"outcomesWaiting"`
	// HeartbeatAgeSeconds is the age of the last heartbeat that was surely stored.
	HeartbeatAgeSeconds float64 `json:"heartbeatAgeSeconds"`

	// RecoveryLate: recovery has not run for Recovery.LateAfter, so jobs of workers that crash stay where they are. It does not make a worker unready.
	// Unknown (false) while the database does not answer.
	RecoveryLate          bool    `json:"recoveryLate"`
	SecondsSinceRecovery  float64 `json:"secondsSinceRecovery"` // since the older of the last runs of ResetFetchedJobs and RescueZombieJobs
	ShutdownStep          int     `json:"shutdownStep"`         // 0: it has not begun; 1 to 7: docs/shutdown.md
	ShutdownBoundSeconds  float64 `json:"shutdownBoundSeconds"` // the longest that a stop takes
	GracePeriodSeconds    float64 `json:"gracePeriodSeconds"`
	ReleaseTimeoutSeconds float64 `json:"prefetchedJobReleaseTimeoutSeconds"`
}

// Status may be called at any time. It calls nothing and waits for nothing.
func (w *Worker) Status() Status {
	held := w.owned.counts()
	s := Status{
		WorkerID: w.id.String(), State: w.state.get().String(), DatabaseUp: w.health.up(),
		Handlers: w.Handlers(), HandlersRunning: held[running], Prefetched: held[prefetched], OutcomesWaiting: held[finished],
		ShutdownStep: int(w.shutdownStep.Load()), ShutdownBoundSeconds: w.config.ShutdownBound().Seconds(),
		GracePeriodSeconds: w.config.WorkerShutdownGracePeriod.Seconds(), ReleaseTimeoutSeconds: w.config.PrefetchedJobReleaseTimeout.Seconds(),
	}
	if err := w.Ready(); err != nil {
		s.Why = err.Error()
	} else {
		s.Ready = true
	}
	if stored := w.storedAt.Load(); stored > 0 {
		s.HeartbeatAgeSeconds = (w.clock.Monotonic() - time.Duration(stored)).Seconds()
	}
	if seen := w.controller.seen(); seen != nil {
		s.RecoveryLate = seen.recoveryLate
		s.SecondsSinceRecovery = max(seen.sinceReset, seen.sinceRescue).Seconds()
	}
	return s
}
