package integration

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/chokaq/chokaq/driver"
)

// enqueueTyped enqueues n jobs of a type into queue q.
func enqueueTyped(t *testing.T, d *database, jobType string, n int) {
	t.Helper()
	batch := make([]driver.NewJob, n)
	for i := range batch {
		batch[i] = driver.NewJob{Type: jobType, Queue: "q", Args: job{i}}
	}
	if _, err := d.client(t).EnqueueMany(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
}

// once counts how often each job ran, and how many ran at a time.
type once struct {
	mu        sync.Mutex
	ran       map[int64]int
	now, peak int
}

func (o *once) enter(id int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ran == nil {
		o.ran = make(map[int64]int)
	}
	o.ran[id]++
	o.now++
	o.peak = max(o.peak, o.now)
}

func (o *once) exit() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now--
}

// check fails for a job that ran twice, and returns how many ran.
func (o *once) check(t *testing.T) int {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, n := range o.ran {
		if n != 1 {
			t.Errorf("job %d ran %d times", id, n)
		}
	}
	return len(o.ran)
}

// A type that a worker has no handler for costs no attempt: it waits for a worker that knows it.
func TestUnknownTypesAreLeftForWorkersThatKnowThem(t *testing.T) {
	d := newDatabase(t)
	enqueueTyped(t, d, "of another", 3)
	enqueueTyped(t, d, "t", 3)
	known := startWorker(t, d.dsn, quick(nil), func(context.Context, *driver.Job[job]) error { return nil })
	eventually(t, "the known ones are done", func() bool { return count(t, d, "chokaq.JobsArchive WHERE JobType = N't'") == 3 })
	calls := known.Stats().DatabaseCalls
	eventually(t, "it has claimed again and again", func() bool { return known.Stats().DatabaseCalls > calls+5 })
	if n := count(t, d, "chokaq.Jobs WHERE JobType = N'of another' AND State = 0 AND Attempt = 0 AND FetchedAt IS NULL"); n != 3 {
		t.Errorf("%d of 3 are untouched", n)
	}
	if r := mustQuery(t, d.pool, "SELECT JobTypes FROM chokaq.Workers"); len(r) != 1 || r[0]["JobTypes"] != `["t"]` {
		t.Errorf("the worker is registered as %v", r)
	}
	if err := known.stopAndWait(t); err != nil {
		t.Error(err)
	}

	var o once
	any := startWorkerWith(t, d.dsn, quick(nil), func(w *driver.Worker) {
		driver.Handle(w, "t", func(context.Context, *driver.Job[job]) error { return errors.New("not this one") })
		driver.HandleAny(w, func(_ context.Context, j *driver.Job[json.RawMessage]) error {
			if j.Type != "of another" || len(j.Args) == 0 {
				return driver.Reject(errors.New("got type " + j.Type))
			}
			o.enter(j.ID)
			return nil
		})
	})
	eventually(t, "all are done", func() bool { return count(t, d, "chokaq.JobsArchive") == 6 })
	if n := o.check(t); n != 3 {
		t.Errorf("%d ran", n)
	}
	if n := count(t, d, "chokaq.Workers WHERE State = 'running' AND JobTypes IS NULL"); n != 1 {
		t.Error("the worker for all types is not registered as such")
	}
	if err := any.stopAndWait(t); err != nil {
		t.Error(err)
	}
}

// limited is a worker with a type that is limited to two at a time, and that a gate holds.
func limited(t *testing.T, d *database, g *gate, o *once) *runningWorker {
	return startWorkerWith(t, d.dsn, quick(func(c *driver.WorkerConfig) { c.Handlers, c.Prefetch = 6, 12 }), func(w *driver.Worker) {
		driver.Handle(w, "slow", func(ctx context.Context, j *driver.Job[job]) error {
			o.enter(j.ID)
			defer o.exit()
			return g.handle(ctx, j)
		}, driver.Concurrency(2))
		driver.Handle(w, "t", func(context.Context, *driver.Job[job]) error { return nil })
	})
}

// However many jobs of a limited type are ahead, those of other types run.
func TestALimitedTypeKeepsBackNoOther(t *testing.T) {
	d := newDatabase(t)
	g, o := newGate(), &once{}
	const slow, quick = 40, 60
	enqueueTyped(t, d, "slow", slow)
	enqueueTyped(t, d, "t", quick)
	w := limited(t, d, g, o)
	g.await(t, 2)
	eventually(t, "the others are done", func() bool { return count(t, d, "chokaq.JobsArchive WHERE JobType = N't'") == quick })
	if held := count(t, d, "chokaq.Jobs WHERE State = 1"); held > 6 {
		t.Errorf("%d rows wait behind their limit, more than half of the prefetch of 12", held)
	}
	calls := w.Stats()
	enqueueTyped(t, d, "t", 20)
	eventually(t, "later ones are done too", func() bool { return count(t, d, "chokaq.JobsArchive WHERE JobType = N't'") == quick+20 })
	if now := w.Stats(); now.Started != calls.Started+20 {
		t.Errorf("%d started meanwhile", now.Started-calls.Started)
	}
	go func() {
		for range slow {
			g.end <- nil
		}
	}()
	eventually(t, "all are done", func() bool { return count(t, d, "chokaq.JobsArchive") == slow+quick+20 })
	if n := o.check(t); n != slow || o.peak != 2 {
		t.Errorf("%d of %d ran, %d at a time", n, slow, o.peak)
	}
	if err := w.stopAndWait(t); err != nil {
		t.Error(err)
	}
}

// Rows aside are renewed by heartbeats like those in the channel, and a stop gives them back.
func TestAStopGivesBackRowsAside(t *testing.T) {
	d := newDatabase(t)
	g, o := newGate(), &once{}
	const slow = 20
	enqueueTyped(t, d, "slow", slow)
	w := limited(t, d, g, o)
	g.await(t, 2)
	eventually(t, "rows are aside", func() bool { return count(t, d, "chokaq.Jobs WHERE State = 1") >= 2 })
	// A row of another type goes through the channel behind them, so they have been taken from it.
	enqueueTyped(t, d, "t", 1)
	eventually(t, "the other one is done", func() bool { return count(t, d, "chokaq.JobsArchive") == 1 })
	aside := count(t, d, "chokaq.Jobs WHERE State = 1")

	w.stop()
	eventually(t, "the rows are Pending again", func() bool { return count(t, d, "chokaq.Jobs WHERE State = 0") == slow-2 })
	if n := count(t, d, "chokaq.Jobs WHERE State = 2"); n != 2 {
		t.Errorf("%d run during the grace period", n)
	}
	for range 2 {
		g.end <- nil
	}
	if err := w.wait(t); err != nil {
		t.Fatal(err)
	}
	if s := w.Stats(); s.Released < aside || s.Claimed != s.Started+s.Released || s.Started != 3 {
		t.Errorf("%d were aside; stats are %+v", aside, s)
	}
	if n := o.check(t); n != 2 {
		t.Errorf("%d ran", n)
	}
	if n := count(t, d, "chokaq.Jobs WHERE State = 0 AND Attempt = 0 AND WorkerId IS NULL"); n != slow-2 {
		t.Errorf("%d of %d are as if they had never been claimed", n, slow-2)
	}
}

// With no way to the database at the stop, rows aside are named like any other prefetched row.
func TestAStopWithoutTheDatabaseNamesRowsAside(t *testing.T) {
	d := newDatabase(t)
	enqueueTyped(t, d, "slow", 10)
	p, dsn := newProxy(t, d.dsn)
	g := newGate()
	w := startWorkerWith(t, dsn, quick(func(c *driver.WorkerConfig) {
		c.Handlers, c.Prefetch = 4, 8
		c.PrefetchedJobReleaseTimeout, c.FlushTimeout = 200*time.Millisecond, 200*time.Millisecond
	}), func(w *driver.Worker) { driver.Handle(w, "slow", g.handle, driver.Concurrency(1)) })
	g.await(t, 1)
	eventually(t, "a row is aside", func() bool { return w.Stats().Claimed >= 2 })
	p.cut()
	w.stop()
	g.end <- nil
	err := w.wait(t)
	var left *driver.ShutdownError
	if !errors.As(err, &left) {
		t.Fatal(err)
	}
	if s := w.Stats(); int64(len(left.NotReleased)) != s.Claimed-s.Started || len(left.Unstored) != 1 {
		t.Errorf("%d not released, %d unstored, stats %+v", len(left.NotReleased), len(left.Unstored), s)
	}
}

func TestTheNumberOfHandlersChangesWhileAWorkerRuns(t *testing.T) {
	d := newDatabase(t)
	g, o := newGate(), &once{}
	const jobs = 30
	enqueueMany(t, d.pool, "q", jobs)
	w := startWorker(t, d.dsn, quick(func(c *driver.WorkerConfig) { c.Handlers, c.Prefetch = 2, 10 }), func(ctx context.Context, j *driver.Job[job]) error {
		o.enter(j.ID)
		defer o.exit()
		return g.handle(ctx, j)
	})
	g.await(t, 2)
	set := func(n int) {
		t.Helper()
		if err := w.SetHandlers(n); err != nil || w.Handlers() != n {
			t.Fatal(err, w.Handlers())
		}
	}
	set(6)
	g.await(t, 4) // at once

	set(2)
	for range 4 { // of six: two still run, so nothing starts
		g.end <- nil
	}
	eventually(t, "four are done", func() bool { return w.Stats().Completed == 4 })
	if s := w.Stats(); s.Started != 6 || len(g.began) != 0 {
		t.Errorf("%d have started with two of two running", s.Started)
	}
	g.end <- nil
	g.await(t, 1)
	if s := w.Stats(); s.Started != 7 {
		t.Errorf("%d have started", s.Started)
	}

	set(15)
	stop := make(chan struct{})
	go func() { // more and fewer, while everything runs
		for n := 1; ; n = n%9 + 1 {
			select {
			case <-stop:
				return
			default:
				_ = w.SetHandlers(n)
			}
		}
	}()
	for range jobs - 5 {
		g.end <- nil
	}
	eventually(t, "all are done", func() bool { return count(t, d, "chokaq.JobsArchive") == jobs })
	close(stop)
	if n := o.check(t); n != jobs || o.peak > 15 {
		t.Errorf("%d ran, %d at a time", n, o.peak)
	}
	if err := w.stopAndWait(t); err != nil {
		t.Error(err)
	}
	if n := w.logged("worker.handlers_changed"); n < 3 {
		t.Errorf("logged %d times", n)
	}
}
