package integration

import (
	"errors"
	"testing"
	"time"

	"github.com/chokaq/chokaq/driver"
)

// A database that answers, and does not take the outcome of a job, is told how the stop came out: it is no stop that somebody has cut short.
func TestAStopWhoseOutcomesAreRefusedIsRecorded(t *testing.T) {
	d := newDatabase(t)
	enqueueMany(t, d.pool, "q", 5)
	g := newGate()
	w := startWorker(t, d.dsn, quick(func(c *driver.WorkerConfig) { c.Handlers, c.FlushTimeout = 5, 5*time.Second }), g.handle)
	running := g.await(t, 5)
	mustExec(t, d.pool, "DROP PROCEDURE chokaq.CompleteJobs")
	w.stop()
	eventually(t, "the stop has begun", func() bool { return w.logged("shutdown.grace") == 1 })
	for range running {
		g.end <- nil
	}
	err := w.wait(t)
	var left *driver.ShutdownError
	if !errors.Is(err, driver.ErrWorkRemains) || !errors.As(err, &left) || len(left.Unstored) != 5 {
		t.Fatalf("Run returned %v", err)
	}
	wantStop(t, d, w, "abandoned", map[string]int64{"Running": 5, "Completed": 0, "Abandoned": 0, "LeftFetched": 0, "Unstored": 5})
	if n := w.logged("shutdown.stopped_unsaid"); n != 0 {
		t.Errorf("%d times, the record is said to be missing", n)
	}
	if n := count(t, d, "chokaq.Jobs WHERE State = 2"); n != 5 {
		t.Errorf("%d jobs are left to zombie rescue, want 5", n)
	}
}
