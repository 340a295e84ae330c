package integration

import (
	"database/sql"
	"testing"
	"time"

	"github.com/chokaq/chokaq/driver"
)

// An application that cancels a running job in a transaction of its own, and leaves that open, holds up the heartbeat of that job. The worker's other jobs are renewed.
func TestAnOpenCancellationHoldsUpOneHeartbeat(t *testing.T) {
	versioning(t, func(t *testing.T, d *database) {
		const jobs = 8
		all := enqueueMany(t, d.pool, "q", jobs)
		g := newGate()
		startWorker(t, d.dsn, quick(func(c *driver.WorkerConfig) {
			c.Handlers, c.HeartbeatInterval, c.CommandTimeout = jobs, 50*time.Millisecond, 250*time.Millisecond
		}), g.obey)
		g.await(t, jobs)
		canceler := begin(t, d)
		mustQuery(t, canceler, "chokaq.CancelJob", sql.Named("JobId", all[2]))

		// From now on: a heartbeat that was stored before counts for none of them.
		now := mustQuery(t, d.pool, "SELECT SYSUTCDATETIME() AS now")[0]["now"]
		eventually(t, "the other jobs are renewed", func() bool {
			return number(t, d.pool, "SELECT COUNT(*) AS n FROM chokaq.Jobs WITH (READPAST, READCOMMITTEDLOCK) WHERE State = 2 AND HeartbeatAt > @Now", sql.Named("Now", now)) == jobs-1
		})
		if err := canceler.Rollback(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "that job is renewed", func() bool {
			return number(t, d.pool, "SELECT COUNT(*) AS n FROM chokaq.Jobs WITH (READPAST, READCOMMITTEDLOCK) WHERE JobId = @Id AND HeartbeatAt > @Now", sql.Named("Id", all[2]), sql.Named("Now", now)) == 1
		})
		for range jobs {
			g.end <- nil
		}
		eventually(t, "all are archived", func() bool { return count(t, d, "chokaq.JobsArchive") == jobs })
	})
}
