package driver

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// RecoveryProcedure is one of the three procedures that SQL Server Agent runs.
type RecoveryProcedure string

const (
	ResetFetchedJobs RecoveryProcedure = "chokaq.ResetFetchedJobs" // stale Fetched -> Pending
	RescueZombieJobs RecoveryProcedure = "chokaq.RescueZombieJobs" // Processing with no heartbeat -> dead-letter queue
	PurgeHistory     RecoveryProcedure = "chokaq.PurgeHistory"     // retention
)

// Recover runs a recovery procedure once and returns the number of rows that it moved. The timeouts and retention times
// are the database's settings. It is safe at any time, and beside SQL Server Agent.
func (c *Client) Recover(ctx context.Context, procedure RecoveryProcedure) (int64, error) {
	return c.procedures(c.db).recovery(ctx, string(procedure))
}

// purgeTimeout is how many times CommandTimeout a worker waits for PurgeHistory, which removes all that is due in one call.
const purgeTimeout = 20

// recoverEvery is recovery by the worker, where there is no Agent.
func (w *Worker) recoverEvery(ctx context.Context, interval time.Duration, procedures ...RecoveryProcedure) {
	for w.clock.Sleep(ctx, interval) == nil {
		for _, procedure := range procedures {
			timeout := w.config.CommandTimeout
			if procedure == PurgeHistory { // batch after batch, each committed by itself: that it takes long says nothing of the database's health
				timeout *= purgeTimeout
			}
			moved, err := repeat(ctx, w, func(error) bool { return false }, func(ctx context.Context) (int64, error) {
				return attempt(ctx, w.clock, timeout, func(ctx context.Context) (int64, error) {
					return w.procedures.recovery(ctx, string(procedure))
				})
			})
			if err == nil && moved > 0 {
				w.log.Info("recovery has moved jobs", event("recovery.moved"), zap.String("procedure", string(procedure)), zap.Int64("rows", moved))
			}
		}
	}
}
