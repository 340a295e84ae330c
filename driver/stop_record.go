package driver

import (
	"context"
	"time"
	"unicode/utf16"

	"github.com/google/uuid"
)

// stopReport is the record of a stop, as chokaq.RecordWorkerStop takes it. Times are in milliseconds.
type stopReport struct {
	Outcome     string `json:"outcome"` // clean, review or abandoned
	Reason      string `json:"reason,omitempty"`
	Running     int    `json:"running"`
	Released    int64  `json:"released"`
	LeftFetched int    `json:"leftFetched"`
	Completed   int64  `json:"completed"`
	Retried     int64  `json:"retried"`
	Dead        int64  `json:"dead"`
	Interrupted int64  `json:"interrupted"`
	Abandoned   int    `json:"abandoned"`
	Unstored    int    `json:"unstored"`

	ReleaseMs                     int64 `json:"releaseMs"`
	HandlersMs                    int64 `json:"handlersMs"`
	FlushMs                       int64 `json:"flushMs"`
	TotalMs                       int64 `json:"totalMs"`
	GracePeriodMs                 int64 `json:"gracePeriodMs"`
	PrefetchedJobReleaseTimeoutMs int64 `json:"prefetchedJobReleaseTimeoutMs"`
}

// record makes the report of a stop that has ended, from what the worker had counted when it began.
func (s *shutdown) record(e *ShutdownError) stopReport {
	now := s.w.Stats()
	r := stopReport{
		Outcome: "clean", Reason: reasonText(s.reason), Running: s.running,
		Released: now.Released, LeftFetched: len(e.NotReleased), Abandoned: len(e.Abandoned), Unstored: len(e.Unstored),
		Completed: now.Completed - s.before.Completed, Retried: now.Retried - s.before.Retried, Dead: now.Dead - s.before.Dead,
		Interrupted: now.Interrupted - s.before.Interrupted,
		ReleaseMs:   s.releaseTook.Milliseconds(), HandlersMs: s.handlersTook.Milliseconds(), FlushMs: s.flushTook.Milliseconds(), TotalMs: s.elapsed().Milliseconds(),
		GracePeriodMs: s.w.config.WorkerShutdownGracePeriod.Milliseconds(), PrefetchedJobReleaseTimeoutMs: s.w.config.PrefetchedJobReleaseTimeout.Milliseconds(),
	}
	switch {
	case !e.empty():
		r.Outcome = "abandoned"
	case r.Interrupted > 0, now.RefusedOutcomes > s.before.RefusedOutcomes: // recovery took jobs while they ran: they wait as zombies
		r.Outcome = "review"
	}
	return r
}

// empty reports whether nothing was left to recovery.
func (e *ShutdownError) empty() bool {
	return len(e.Abandoned)+len(e.Unstored)+len(e.NotReleased) == 0 && e.UnsettledClaim == uuid.Nil
}

// reasonText is why a worker stops, for chokaq.WorkerStops: at most 200 UTF-16 code units.
func reasonText(reason error) string {
	if reason == nil {
		return ""
	}
	units := utf16.Encode([]rune(errorText(reason)))
	if len(units) > 200 {
		units = units[:200]
		if utf16.IsSurrogate(rune(units[199])) { // half of a pair
			units = units[:199]
		}
	}
	return string(utf16.Decode(units))
}

// say stores the record, and with it that the worker has stopped.
func (s *shutdown) say(r stopReport, within time.Duration) error {
	ctx, stop := withTimeout(s.base, s.w.clock, within, errFlushTimeout)
	defer stop()
	return s.w.procedures.recordStop(ctx, s.w.id, r)
}

// draining says that the worker drains, and why.
func (s *shutdown) draining(ctx context.Context) error {
	return s.w.procedures.setWorkerState(ctx, s.w.id, "draining", reasonText(s.reason))
}
