package integration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chokaq/chokaq/driver"
	"github.com/chokaq/chokaq/internal/sqlsim/fault"
)

// inject adds a rule for one worker, and ends it with the test.
func (d *database) inject(t *testing.T, app string, rule fault.Rule) *fault.Active {
	t.Helper()
	rule.App = app
	active := d.requireSim(t).Faults().Add(rule)
	t.Cleanup(active.Remove)
	return active
}

func awaitHeld(t *testing.T, active *fault.Active) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	if err := active.WaitHeld(ctx, 1); err != nil {
		t.Fatal(err)
	}
}

// A claim that is under way when the stop comes leaves nothing Fetched, whether it had been committed or not.
func TestAStopDuringAClaim(t *testing.T) {
	for name, when := range map[string]fault.When{"committed, its answer unheard": fault.After, "not carried out": fault.Before} {
		t.Run(name, func(t *testing.T) {
			d := newDatabase(t)
			app := "stop during a claim: " + name
			enqueueMany(t, d.pool, "q", 5)
			active := d.inject(t, app, fault.Rule{Procedure: "chokaq.ClaimJobs", When: when, Hold: true, Times: 1})
			w := startWorker(t, withAppName(t, d.dsn, app), quick(nil), func(context.Context, *driver.Job[job]) error { return errors.New("must not run") })
			awaitHeld(t, active)
			if err := w.stopAndWait(t); err != nil {
				t.Error(err)
			}
			active.Release()
			wantPlaces(t, d, "q", map[string]int64{"Pending": 5})
			if s := w.Stats(); s.Started != 0 {
				t.Errorf("stats are %+v", s)
			}
		})
	}
}

// A start that is under way when the stop comes is settled: what was started runs, also when the answer had been lost.
func TestAStopDuringAStart(t *testing.T) {
	for name, rule := range map[string]fault.Rule{
		"committed, its answer late": {When: fault.After, Hold: true},
		"committed, its answer lost": {When: fault.After, Hold: true, Drop: true},
		"refused at first":           {Hold: true, Error: fault.DatabaseUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDatabase(t)
			app := "stop during a start: " + name
			enqueueMany(t, d.pool, "q", 5)
			rule.Procedure, rule.Times = "chokaq.StartJobs", 1
			active := d.inject(t, app, rule)
			w := startWorker(t, withAppName(t, d.dsn, app), quick(func(c *driver.WorkerConfig) { c.Handlers, c.Prefetch = 2, 5 }), func(context.Context, *driver.Job[job]) error { return nil })
			awaitHeld(t, active)
			w.stop()
			eventually(t, "the stop has begun", func() bool { return w.logged("shutdown.draining") == 1 })
			active.Release()
			if err := w.wait(t); err != nil {
				t.Error(err)
			}
			s := w.Stats()
			wantPlaces(t, d, "q", map[string]int64{"Archived": s.Completed, "Pending": 5 - s.Completed})
			if s.Completed < 1 || s.Completed != s.Started || s.Released != s.Claimed-s.Started {
				t.Errorf("stats are %+v", s)
			}
		})
	}
}

// Whichever call the database leaves unanswered during the stop, Run returns within its bound, and names what was left.
func TestAStopIsBoundedWhateverTheDatabaseDoes(t *testing.T) {
	for _, procedure := range []string{"SetWorkerState", "ReleaseJobs", "CompleteJobs", "HeartbeatJobs", ""} {
		t.Run("silent "+procedure, func(t *testing.T) {
			d := newDatabase(t)
			app := "bounded stop: " + procedure
			enqueueMany(t, d.pool, "q", 2)
			g := newGate()
			config := quick(func(c *driver.WorkerConfig) {
				c.Handlers, c.Prefetch, c.HeartbeatInterval = 1, 5, 50*time.Millisecond
				c.WorkerShutdownGracePeriod, c.PrefetchedJobReleaseTimeout = 20*time.Second, 500*time.Millisecond
				c.CancellationPeriod, c.FlushTimeout = 300*time.Millisecond, 500*time.Millisecond
			})
			w := startWorker(t, withAppName(t, d.dsn, app), config, g.obey)
			g.await(t, 1)
			eventually(t, "one is prefetched", func() bool { return w.Stats().Claimed == 2 })
			rule := fault.Rule{Silent: true}
			if procedure != "" {
				rule.Procedure = "chokaq." + procedure
			}
			d.inject(t, app, rule)
			w.stop()
			eventually(t, "nothing more is started", func() bool { return w.logged("shutdown.releasing") == 1 })
			g.end <- nil // with which the grace period is over; what follows is bounded by the other three
			began := time.Now()
			err := w.wait(t)
			bound := max(config.PrefetchedJobReleaseTimeout, config.FlushTimeout) + config.CancellationPeriod + config.FlushTimeout
			if took := time.Since(began); took > bound+time.Second { // a second for a busy machine
				t.Errorf("took %v, above the bound of %v", took, bound)
			}
			left := err != nil
			if want := procedure != "HeartbeatJobs"; left != want || left && !errors.Is(err, driver.ErrWorkRemains) {
				t.Errorf("Run returned %v", err)
			}
		})
	}
}

// Heartbeats go on until the last handler has returned: nothing that runs in the grace period becomes a zombie.
func TestHeartbeatsGoOnDuringTheGracePeriod(t *testing.T) {
	d := newDatabase(t)
	d.set(t, "Recovery.FetchedJobTimeout", 1)
	d.set(t, "Recovery.ProcessingZombieTimeout", 1)
	enqueueMany(t, d.pool, "q", 1)
	g := newGate()
	w := startWorker(t, d.dsn, quick(func(c *driver.WorkerConfig) { c.HeartbeatInterval = 50 * time.Millisecond }), g.obey)
	g.await(t, 1)
	w.stop()
	for began := time.Now(); time.Since(began) < 1500*time.Millisecond; { // longer than the zombie timeout
		if n := number(t, d.pool, "chokaq.RescueZombieJobs"); n != 0 {
			t.Fatal("a running job was taken for a zombie")
		}
	}
	g.end <- nil
	if err := w.wait(t); err != nil {
		t.Error(err)
	}
	wantPlaces(t, d, "q", map[string]int64{"Archived": 1})
}

// A handler that enqueues while its worker stops does enqueue; one that panics in the grace period has failed, not vanished.
func TestHandlersThatEnqueueOrPanicDuringTheStop(t *testing.T) {
	d := newDatabase(t)
	client := d.client(t)
	enqueueMany(t, d.pool, "q", 2)
	g := newGate()
	w := startWorker(t, d.dsn, quick(func(c *driver.WorkerConfig) { c.Handlers = 2 }), func(ctx context.Context, j *driver.Job[job]) error {
		_ = g.handle(ctx, j)
		if j.ID%2 == 0 {
			panic("ouch")
		}
		_, err := client.Enqueue(ctx, driver.NewJob{Type: "t", Queue: "q"})
		return err
	})
	g.await(t, 2)
	w.stop()
	eventually(t, "the claimer has ended", func() bool { return w.logged("shutdown.released") == 1 })
	g.end <- nil
	g.end <- nil
	if err := w.wait(t); err != nil {
		t.Error(err)
	}
	wantPlaces(t, d, "q", map[string]int64{"Archived": 1, "Pending": 2})
}

// A context that has ended before Run, or ends while the database is away, is a stop of a worker that holds nothing.
func TestAStopBeforeTheWorkHasBegun(t *testing.T) {
	d := newDatabase(t)
	enqueueMany(t, d.pool, "q", 1)
	worker, err := driver.NewWorker(d.client(t), quick(nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	driver.Handle(worker, "t", func(context.Context, *driver.Job[job]) error { return nil })
	ended, end := context.WithCancel(t.Context())
	end()
	if err := worker.Run(ended); err != nil {
		t.Error(err)
	}
	p, dsn := newProxy(t, d.dsn)
	p.cut()
	w := startWorker(t, dsn, quick(nil), func(context.Context, *driver.Job[job]) error { return nil })
	eventually(t, "it waits for the database", func() bool { return w.logged("database.away") == 1 })
	if err := w.stopAndWait(t); err != nil {
		t.Error(err)
	}
	wantPlaces(t, d, "q", map[string]int64{"Pending": 1})
}

// A worker that registers and is then refused does not show as running.
func TestARefusedWorkerShowsAsStopped(t *testing.T) {
	d := newDatabase(t)
	d.set(t, "Recovery.ProcessingZombieTimeout", 30)
	w := startWorker(t, d.dsn, quick(func(c *driver.WorkerConfig) { c.HeartbeatInterval = 15 * time.Second }), func(context.Context, *driver.Job[job]) error { return nil })
	if err := w.wait(t); !errors.Is(err, driver.ErrConfig) {
		t.Error(err)
	}
	if r := mustQuery(t, d.pool, "SELECT State FROM chokaq.Workers"); len(r) != 1 || r[0]["State"] != "stopped" {
		t.Errorf("the worker shows as %v", r)
	}
}
