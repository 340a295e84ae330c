package integration

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/chokaq/chokaq/driver"
)

// An application, or an operator, that cancels a job in a transaction of its own and leaves that open has locked the job's row. What a worker does with its other jobs
// goes on meanwhile, and the database does not count as away.

func cancelInAnOpenTransaction(t *testing.T, d *database, job int64) *sql.Tx {
	t.Helper()
	tx := begin(t, d)
	mustQuery(t, tx, "chokaq.CancelJob", sql.Named("JobId", job))
	return tx
}

func TestALockedRowKeepsBackNoOtherOutcome(t *testing.T) {
	t.Parallel() // it waits for locks most of the time
	versioning(t, func(t *testing.T, d *database) {
		const jobs = 6
		all := enqueueMany(t, d.pool, "q", jobs)
		g := newGate()
		w := startWorker(t, d.dsn, quick(func(c *driver.WorkerConfig) { c.Handlers, c.CompletionDelay = jobs, 100*time.Millisecond }), g.obey)
		g.await(t, jobs)
		canceler := cancelInAnOpenTransaction(t, d, all[2])
		for i := range jobs {
			if i%3 == 0 {
				g.end <- driver.Reject(errors.New("no"))
			} else {
				g.end <- nil
			}
		}
		eventually(t, "the outcomes of the other jobs are stored, and of that one it is told", func() bool {
			s := w.Stats()
			return s.Completed+s.Dead == jobs-1 && w.logged("job.outcome_blocked") == 1
		})
		if err := canceler.Rollback(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "so is that of the job", func() bool { s := w.Stats(); return s.Completed == 4 && s.Dead == 2 })
		if w.logged("job.outcome_blocked") != 1 || w.logged("database.away") != 0 {
			t.Errorf("job.outcome_blocked is logged %d times, database.away %d times", w.logged("job.outcome_blocked"), w.logged("database.away"))
		}
	})
}

func TestALockedRowKeepsBackNoOtherStart(t *testing.T) {
	t.Parallel() // it waits for locks most of the time
	versioning(t, func(t *testing.T, d *database) {
		g := newGate()
		w := startWorker(t, d.dsn, quick(func(c *driver.WorkerConfig) { c.Handlers, c.Prefetch = 2, 4 }), g.obey)
		first := enqueueMany(t, d.pool, "q", 2)
		running := g.await(t, 2)
		if len(running) != len(first) {
			t.Fatal(running)
		}
		next := enqueueMany(t, d.pool, "q", 4)
		eventually(t, "the next jobs are prefetched", func() bool { return w.Stats().Claimed == 6 })
		canceler := cancelInAnOpenTransaction(t, d, next[0])
		g.end <- nil
		g.end <- nil
		for range next[1:] {
			g.await(t, 1)
			g.end <- nil
		}
		eventually(t, "the other jobs are completed, and of that one it is told", func() bool { return w.Stats().Completed == 5 && w.logged("job.start_blocked") == 1 })
		if err := canceler.Rollback(); err != nil {
			t.Fatal(err)
		}
		g.await(t, 1)
		g.end <- nil
		eventually(t, "so is the job", func() bool { return w.Stats().Completed == 6 })
		if w.logged("job.start_blocked") != 1 || w.logged("database.away") != 0 {
			t.Errorf("job.start_blocked is logged %d times, database.away %d times", w.logged("job.start_blocked"), w.logged("database.away"))
		}
	})
}

// The stop gives back and stores all that it can; what it cannot is that one job, by name.
func TestAStopBesideALockedRow(t *testing.T) {
	t.Parallel() // it waits for locks most of the time
	names := func(jobs []driver.JobInfo) (ids []int64) {
		for _, j := range jobs {
			ids = append(ids, j.ID)
		}
		return ids
	}
	for _, c := range []struct {
		name   string
		locked int // of the jobs below, the first four of which run
	}{{"running", 1}, {"prefetched", 5}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			all := enqueueMany(t, d.pool, "q", 8)
			g := newGate()
			w := startWorker(t, d.dsn, quick(func(cfg *driver.WorkerConfig) {
				cfg.Handlers, cfg.Prefetch = 4, 4
				cfg.FlushTimeout = 10 * time.Second
			}), g.obey)
			g.await(t, 4)
			eventually(t, "the others are prefetched", func() bool { return w.Stats().Claimed == 8 })
			canceler := cancelInAnOpenTransaction(t, d, all[c.locked])
			defer func() { _ = canceler.Rollback() }()
			w.stop()
			eventually(t, "what was prefetched is given back", func() bool {
				return number(t, d.pool, "SELECT COUNT(*) AS n FROM chokaq.Jobs WITH (READPAST, READCOMMITTEDLOCK) WHERE State = 0") == map[bool]int64{true: 3, false: 4}[c.locked >= 4]
			})
			for range 4 {
				g.end <- nil
			}
			err := w.wait(t)
			var left *driver.ShutdownError
			if !errors.As(err, &left) {
				t.Fatalf("Run returned %v", err)
			}
			named, others := names(left.Unstored), names(left.NotReleased)
			if c.locked >= 4 {
				named, others = others, named
			}
			if len(named) != 1 || named[0] != all[c.locked] || len(others) != 0 || len(left.Abandoned) != 0 {
				t.Errorf("the stop leaves %v", err)
			}
			if w.logged("database.away") != 0 {
				t.Error("the database counts as away")
			}
			want := map[string]int64{"Running": 4, "Abandoned": 0, "Released": 4, "LeftFetched": 0, "Unstored": 1, "Completed": 3}
			if c.locked >= 4 {
				want = map[string]int64{"Running": 4, "Abandoned": 0, "Released": 3, "LeftFetched": 1, "Unstored": 0, "Completed": 4}
			}
			wantStop(t, d, w, "abandoned", want)
		})
	}
}

func TestImpatienceEndsWithTheCall(t *testing.T) {
	d := newDatabase(t)
	conn := d.session(t)
	for _, before := range []string{"-1", "70000"} {
		mustExec(t, conn, "SET LOCK_TIMEOUT "+before)
		for _, procedure := range []string{"StartJobs", "HeartbeatJobs", "CompleteJobs", "FailJobs", "ReleaseJobs"} {
			args := []any{sql.Named("Jobs", "[]"), sql.Named("WaitForLocks", false)}
			if procedure == "HeartbeatJobs" || procedure == "ReleaseJobs" {
				args = append(args, workerArg(registered(t, d, "q")))
			}
			mustQuery(t, conn, "chokaq."+procedure, args...)
			if r := mustQuery(t, conn, "SELECT CONVERT(varchar(10), @@LOCK_TIMEOUT) AS after"); r[0]["after"] != before {
				t.Errorf("after %s the session's LOCK_TIMEOUT is %v, want %s", procedure, r[0]["after"], before)
			}
		}
	}
}
