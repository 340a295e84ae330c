package integration

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/chokaq/chokaq/driver"
)

// startOn runs a worker on a pool of the test's own.
func startOn(t *testing.T, pool *sql.DB, config driver.WorkerConfig, handler func(context.Context, *driver.Job[job]) error) *runningWorker {
	t.Helper()
	core, logs := observer.New(zap.DebugLevel)
	worker, err := driver.NewWorker(driver.NewClient(pool), config, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	driver.Handle(worker, "t", handler)
	ctx, cancel := context.WithCancel(context.Background())
	w := &runningWorker{Worker: worker, stop: cancel, result: make(chan error, 1), logs: logs}
	go func() { w.result <- worker.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		w.wait(t)
		if t.Failed() {
			for _, e := range logs.All() {
				t.Log(e.Level, e.Message, e.ContextMap())
			}
		}
	})
	return w
}

// exhaust takes every connection of a pool, as code that forgets to close rows does.
func exhaust(t *testing.T, pool *sql.DB, size int) (release func()) {
	t.Helper()
	var held []*sql.Conn
	for range size {
		conn, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
	}
	release = func() {
		for _, conn := range held {
			_ = conn.Close() // again, at the end of the test
		}
	}
	t.Cleanup(release)
	return release
}

// A worker whose pool somebody else has exhausted is one whose database is away: it says so once, does not spin, stops trusting its claims in time,
// and goes on when there are connections again.
func TestAnExhaustedPoolIsWaitedFor(t *testing.T) {
	d := newDatabase(t)
	d.set(t, "Recovery.FetchedJobTimeout", 3)
	d.set(t, "Recovery.ProcessingZombieTimeout", 3)
	pool := openPool(t, d.dsn)
	pool.SetMaxOpenConns(2)
	enqueueMany(t, d.pool, "q", 1)
	g := newGate()
	causes := make(chan error, 1)
	w := startOn(t, pool, quick(func(c *driver.WorkerConfig) {
		c.Handlers, c.HeartbeatInterval, c.CommandTimeout = 1, 100*time.Millisecond, 200*time.Millisecond
	}), func(ctx context.Context, j *driver.Job[job]) error {
		err := g.obey(ctx, j)
		if cause := context.Cause(ctx); cause != nil {
			causes <- cause
		}
		return err
	})
	g.await(t, 1)
	calls := w.Stats().DatabaseCalls
	release := exhaust(t, pool, 2)
	began := time.Now()
	eventually(t, "the worker says it is not ready", func() bool { return w.Ready() != nil })
	select {
	case cause := <-causes:
		if !errors.Is(cause, driver.ErrOwnershipLost) {
			t.Errorf("the handler was canceled with %v", cause)
		}
	case <-time.After(patience):
		t.Fatal("the handler was never canceled")
	}
	// Three seconds at most; a call takes 200ms to fail, and then waits: two loops, or three with the outcome.
	if made := w.Stats().DatabaseCalls - calls; made > 3*int64(time.Since(began)/(200*time.Millisecond)+1) {
		t.Errorf("%d calls in %v: it spins", made, time.Since(began))
	}
	if n := w.logged("database.away"); n > 2 { // a call that had a connection may have come in between
		t.Errorf("%d lines say that the database is away", n)
	}
	if n := number(t, d.pool, "SELECT COUNT(*) AS n FROM chokaq.Jobs WHERE State = 2"); n != 1 {
		t.Error("the job was taken for a zombie before its handler was told")
	}
	release()
	eventually(t, "the outcome is stored", func() bool { return count(t, d, "chokaq.JobsDLQ WHERE Reason = 'Interrupted'") == 1 })
	enqueueMany(t, d.pool, "q", 1)
	g.await(t, 1)
	g.end <- nil
	eventually(t, "the next job is archived", func() bool { return count(t, d, "chokaq.JobsArchive") == 1 })
	if err := w.stopAndWait(t); err != nil {
		t.Error(err)
	}
}

// A stop with the pool exhausted is bounded, and names what it leaves.
func TestAStopWithAnExhaustedPool(t *testing.T) {
	d := newDatabase(t)
	pool := openPool(t, d.dsn)
	pool.SetMaxOpenConns(2)
	enqueueMany(t, d.pool, "q", 3)
	g := newGate()
	config := quick(func(c *driver.WorkerConfig) {
		c.Handlers, c.Prefetch = 1, 4
		c.WorkerShutdownGracePeriod, c.CancellationPeriod = 300*time.Millisecond, 300*time.Millisecond
		c.PrefetchedJobReleaseTimeout, c.FlushTimeout = 300*time.Millisecond, 300*time.Millisecond
	})
	w := startOn(t, pool, config, g.obey)
	running := g.await(t, 1)
	eventually(t, "two are prefetched", func() bool { return w.Stats().Claimed == 3 })
	exhaust(t, pool, 2)
	began := time.Now()
	err := w.stopAndWait(t)
	if took := time.Since(began); took > config.ShutdownBound()+time.Second { // a second for a busy machine
		t.Errorf("took %v, above the bound of %v", took, config.ShutdownBound())
	}
	left, ok := errors.AsType[*driver.ShutdownError](err)
	if !ok || len(left.Unstored) != 1 || left.Unstored[0].ID != running[0] || len(left.NotReleased) != 2 {
		t.Fatalf("Run returned %v", err)
	}
	if !strings.Contains(err.Error(), "finished with no stored outcome") {
		t.Errorf("it does not say so: %v", err)
	}
}
