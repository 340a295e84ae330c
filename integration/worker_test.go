package integration

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/chokaq/chokaq/driver"
	"github.com/chokaq/chokaq/internal/sqlsim/fault"
)

// quick is a configuration for tests: everything soon.
func quick(change func(*driver.WorkerConfig)) driver.WorkerConfig {
	c := driver.WorkerConfig{
		Queues: []string{"q"}, PollIntervalMin: 5 * time.Millisecond, PollIntervalMax: 20 * time.Millisecond, CompletionDelay: time.Millisecond,
		WorkerShutdownGracePeriod: patience, PrefetchedJobReleaseTimeout: patience, FlushTimeout: patience, CancellationPeriod: patience,
	}
	if change != nil {
		change(&c)
	}
	return c
}

// runningWorker is a worker that a test has started.
type runningWorker struct {
	*driver.Worker
	stop   context.CancelFunc
	result chan error
	logs   *observer.ObservedLogs
}

// job is the payload of the tests.
type job struct {
	N int `json:"n"`
}

// startWorker runs a worker over a data source name with one handler for type "t".
func startWorker(t *testing.T, dsn string, config driver.WorkerConfig, handler func(context.Context, *driver.Job[job]) error, options ...driver.HandlerOption) *runningWorker {
	t.Helper()
	return startWorkerWith(t, dsn, config, func(w *driver.Worker) { driver.Handle(w, "t", handler, options...) })
}

// startWorkerWith runs a worker over a data source name with the handlers that register adds.
func startWorkerWith(t *testing.T, dsn string, config driver.WorkerConfig, register func(*driver.Worker)) *runningWorker {
	t.Helper()
	client, err := driver.Open(dsn)
	if err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zap.DebugLevel)
	worker, err := driver.NewWorker(client, config, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	register(worker)
	ctx, cancel := context.WithCancel(context.Background())
	w := &runningWorker{Worker: worker, stop: cancel, result: make(chan error, 1), logs: logs}
	go func() { w.result <- worker.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case <-w.result:
		case <-time.After(patience):
			t.Error("the worker did not stop")
		}
		client.Close()
		if t.Failed() {
			for _, e := range logs.All() {
				t.Log(e.Level, e.Message, e.ContextMap())
			}
		}
	})
	return w
}

// stopAndWait stops the worker and returns what Run returned.
func (w *runningWorker) stopAndWait(t *testing.T) error {
	t.Helper()
	w.stop()
	return w.wait(t)
}

func (w *runningWorker) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-w.result:
		w.result <- err
		return err
	case <-time.After(2 * patience):
		t.Fatal("Run did not return")
		return nil
	}
}

// logged reports how often an event was logged.
func (w *runningWorker) logged(event string) int {
	return w.logs.FilterField(zap.String("event", event)).Len()
}

// eventually polls a condition that must come.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(2 * time.Millisecond) // a pause between two looks, not a wait for the thing
	}
}

func count(t *testing.T, d *database, where string) int64 {
	t.Helper()
	return number(t, d.pool, "SELECT COUNT(*) AS n FROM "+where)
}

// gate is a handler that tells when it began, and returns what it is told to.
type gate struct {
	began chan int64
	end   chan error
}

func newGate() *gate { return &gate{make(chan int64, 1000), make(chan error)} }

// handle ignores its context.
func (g *gate) handle(_ context.Context, j *driver.Job[job]) error {
	g.began <- j.ID
	return <-g.end
}

// obey returns when its context ends, with its cause, or when it is told to.
func (g *gate) obey(ctx context.Context, j *driver.Job[job]) error {
	g.began <- j.ID
	select {
	case err := <-g.end:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *gate) await(t *testing.T, n int) []int64 {
	t.Helper()
	var all []int64
	for range n {
		select {
		case id := <-g.began:
			all = append(all, id)
		case <-time.After(patience):
			t.Fatalf("%d of %d handlers began", len(all), n)
		}
	}
	return all
}

func TestWorkersRunEveryJobOnce(t *testing.T) {
	versioning(t, func(t *testing.T, d *database) {
		const jobs = 600
		var mu sync.Mutex
		ran := make(map[int64]int)
		var workers []*runningWorker
		for range 3 {
			workers = append(workers, startWorker(t, d.dsn, quick(func(c *driver.WorkerConfig) { c.Handlers = 20 }), func(_ context.Context, j *driver.Job[job]) error {
				mu.Lock()
				defer mu.Unlock()
				ran[j.ID]++
				return nil
			}))
		}
		client := d.client(t)
		var batch []driver.NewJob
		for i := range jobs {
			batch = append(batch, driver.NewJob{Type: "t", Queue: "q", Args: job{i}})
		}
		enqueued, err := client.EnqueueMany(t.Context(), batch)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "every job is archived", func() bool { return count(t, d, "chokaq.JobsArchive") == jobs })
		for _, w := range workers {
			if err := w.stopAndWait(t); err != nil {
				t.Error(err)
			}
		}
		for _, e := range enqueued {
			if ran[e.JobID] != 1 {
				t.Errorf("job %d ran %d times", e.JobID, ran[e.JobID])
			}
		}
		if r := mustQuery(t, d.pool, "SELECT State FROM chokaq.WorkerStatus WHERE State <> 'stopped'"); len(r) > 0 {
			t.Errorf("workers did not say that they stopped: %v", r)
		}
	})
}

// The promise of the project: prefetched jobs go back in one call, running ones finish, nothing is left.
func TestAStopGivesBackWhatWasPrefetchedAndFinishesWhatRuns(t *testing.T) {
	d := newDatabase(t)
	enqueueMany(t, d.pool, "q", 8)
	g := newGate()
	w := startWorker(t, d.dsn, quick(func(c *driver.WorkerConfig) { c.Handlers, c.Prefetch = 8, 50 }), g.handle)
	running := g.await(t, 8)
	enqueueMany(t, d.pool, "q", 50)
	eventually(t, "50 jobs are prefetched", func() bool { return w.Stats().Claimed == 58 })

	w.stop()
	eventually(t, "the 50 are Pending again", func() bool { return count(t, d, "chokaq.Jobs WHERE State = 0") == 50 })
	if n := count(t, d, "chokaq.Jobs WHERE State = 2"); n != 8 {
		t.Errorf("%d jobs are Processing during the grace period, want 8", n)
	}
	if r := mustQuery(t, d.pool, "SELECT State FROM chokaq.WorkerStatus"); r[0]["State"] != "draining" {
		t.Errorf("the worker shows as %v", r[0]["State"])
	}
	if w.Ready() == nil {
		t.Error("a draining worker says it is ready")
	}
	for range running {
		g.end <- nil
	}
	if err := w.wait(t); err != nil {
		t.Fatal(err)
	}
	if n := count(t, d, "chokaq.JobsArchive"); n != 8 {
		t.Errorf("%d jobs completed, want 8", n)
	}
	if s := w.Stats(); s.Released != 50 || s.Started != 8 || s.Completed != 8 {
		t.Errorf("stats are %+v", s)
	}
	if n := w.logged("shutdown.released"); n != 1 {
		t.Errorf("released in %d calls, want 1", n)
	}
	wantStop(t, d, w, "clean", map[string]int64{"Running": 8, "Released": 50, "Completed": 8, "Interrupted": 0, "Abandoned": 0, "LeftFetched": 0, "Unstored": 0})
}

// The same with the database unreachable: the stop is bounded, everything is named, and recovery settles it.
func TestAStopWithoutTheDatabase(t *testing.T) {
	d := newDatabase(t)
	enqueueMany(t, d.pool, "q", 8)
	p, dsn := newProxy(t, d.dsn)
	g := newGate()
	w := startWorker(t, dsn, quick(func(c *driver.WorkerConfig) {
		c.Handlers, c.Prefetch = 8, 50
		c.PrefetchedJobReleaseTimeout, c.FlushTimeout = 200*time.Millisecond, 200*time.Millisecond
	}), g.handle)
	running := g.await(t, 8)
	enqueueMany(t, d.pool, "q", 50)
	eventually(t, "50 jobs are prefetched", func() bool { return w.Stats().Claimed == 58 })

	p.cut()
	w.stop()
	for range running {
		g.end <- nil
	}
	err := w.wait(t)
	var left *driver.ShutdownError
	if !errors.Is(err, driver.ErrWorkRemains) || !errors.As(err, &left) {
		t.Fatalf("Run returned %v", err)
	}
	if len(left.NotReleased) != 50 || len(left.Unstored) != 8 || len(left.Abandoned) != 0 {
		t.Errorf("left %d not released, %d unstored, %d abandoned", len(left.NotReleased), len(left.Unstored), len(left.Abandoned))
	}
	if n := w.logged("job.outcome_unstored"); n != 8 {
		t.Errorf("%d unstored outcomes are named in the log", n)
	}
	named := w.logs.FilterField(zap.String("event", "shutdown.release_failed")).All()
	if len(named) != 1 {
		t.Fatalf("%d lines name what was not released", len(named))
	}
	if list := fmt.Sprint(named[0].ContextMap()["jobs"]); len(strings.Fields(list)) != 50 {
		t.Errorf("the log names %s", list)
	}

	mustExec(t, d.pool, "UPDATE chokaq.Jobs SET HeartbeatAt = DATEADD(SECOND, -1000, HeartbeatAt)")
	if n := number(t, d.pool, "chokaq.ResetFetchedJobs"); n != 50 {
		t.Errorf("recovery reset %d, want 50", n)
	}
	if n := number(t, d.pool, "chokaq.RescueZombieJobs"); n != 8 {
		t.Errorf("recovery rescued %d, want 8", n)
	}
	if n := count(t, d, "chokaq.Jobs WHERE State = 0"); n != 50 {
		t.Errorf("%d are Pending after recovery", n)
	}
	if n := count(t, d, "chokaq.DeadJobs WHERE Reason = 'Zombie'"); n != 8 {
		t.Errorf("%d are in the dead-letter queue as Zombie", n)
	}
}

func TestWhatHandlersReturnDecides(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name    string
		handler func(context.Context, *driver.Job[job]) error
		options []driver.HandlerOption
		payload string
		most    int
		where   string // finally
		error   string
	}{
		{name: "nil completes", handler: func(context.Context, *driver.Job[job]) error { return nil }, where: "Archived"},
		{name: "reject", handler: func(context.Context, *driver.Job[job]) error { return driver.Reject(boom) }, where: "Dead Rejected", error: "boom"},
		{name: "attempts used up", most: 2, handler: func(context.Context, *driver.Job[job]) error { return boom },
			options: []driver.HandlerOption{driver.Backoff(func(int) time.Duration { return 0 })}, where: "Dead Failed", error: "boom"},
		{name: "panic", most: 1, handler: func(context.Context, *driver.Job[job]) error { panic("ouch") }, where: "Dead Failed", error: "worker_test.go"},
		{name: "payload does not decode", payload: `{"n":"text"}`, handler: func(context.Context, *driver.Job[job]) error { return nil }, where: "Dead Rejected", error: "decode"},
		{name: "timeout", most: 1, handler: func(ctx context.Context, _ *driver.Job[job]) error { <-ctx.Done(); return context.Cause(ctx) },
			options: []driver.HandlerOption{driver.Timeout(time.Millisecond)}, where: "Dead Failed", error: "timeout"},
		{name: "retry, then success", handler: func(_ context.Context, j *driver.Job[job]) error {
			if j.Attempt < 3 {
				return driver.RetryAfter(0, boom)
			}
			return nil
		}, where: "Archived"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDatabase(t)
			most, payload := c.most, c.payload
			if most == 0 {
				most = 10
			}
			if payload == "" {
				payload = `{"n":7}`
			}
			id := enqueue(t, d.pool, "q", sql.Named("MaxAttempts", most), sql.Named("Payload", payload))
			w := startWorker(t, d.dsn, quick(nil), c.handler, c.options...)
			eventually(t, c.where, func() bool { return where(t, d, id) == c.where })
			if err := w.stopAndWait(t); err != nil {
				t.Error(err)
			}
			if c.error != "" {
				if e := fmt.Sprint(mustQuery(t, d.pool, "SELECT Error FROM chokaq.JobsDLQ")[0]["Error"]); !strings.Contains(e, c.error) {
					t.Errorf("the error is %q, without %q", e, c.error)
				}
			}
		})
	}
}

func TestTheEndOfTheGracePeriod(t *testing.T) {
	short := func(c *driver.WorkerConfig) { c.WorkerShutdownGracePeriod = time.Millisecond }
	for _, c := range []struct {
		name    string
		handler func(context.Context, *driver.Job[job]) error
		options []driver.HandlerOption
		where   string
	}{
		{name: "an error is Interrupted", handler: func(ctx context.Context, _ *driver.Job[job]) error { <-ctx.Done(); return context.Cause(ctx) }, where: "Dead Interrupted"},
		{name: "nil completes", handler: func(ctx context.Context, _ *driver.Job[job]) error { <-ctx.Done(); return nil }, where: "Archived"},
		{name: "registration says safe to retry", handler: func(ctx context.Context, _ *driver.Job[job]) error { <-ctx.Done(); return context.Cause(ctx) },
			options: []driver.HandlerOption{driver.SafeToRetry()}, where: "Pending"},
		{name: "error says safe to retry", handler: func(ctx context.Context, _ *driver.Job[job]) error {
			<-ctx.Done()
			return driver.MarkSafeToRetry(context.Cause(ctx))
		}, where: "Pending"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDatabase(t)
			id := enqueue(t, d.pool, "q", sql.Named("Payload", `{"n":7}`))
			began := make(chan struct{}, 1)
			w := startWorker(t, d.dsn, quick(short), func(ctx context.Context, j *driver.Job[job]) error {
				began <- struct{}{}
				err := c.handler(ctx, j)
				if cause := context.Cause(ctx); !errors.Is(cause, driver.ErrShutdown) {
					t.Errorf("the cause is %v", cause)
				}
				return err
			}, c.options...)
			<-began
			if err := w.stopAndWait(t); err != nil {
				t.Error(err)
			}
			wantWhere(t, d, id, c.where)
			switch c.where {
			case "Dead Interrupted":
				wantStop(t, d, w, "review", map[string]int64{"Running": 1, "Dead": 1, "Interrupted": 1})
			case "Archived":
				wantStop(t, d, w, "clean", map[string]int64{"Running": 1, "Completed": 1, "Interrupted": 0})
			default:
				wantStop(t, d, w, "clean", map[string]int64{"Running": 1, "Retried": 1})
			}
		})
	}
}

func TestAHandlerThatIgnoresItsContextIsAbandonedAndNamed(t *testing.T) {
	d := newDatabase(t)
	id := enqueue(t, d.pool, "q", sql.Named("Payload", `{"n":7}`))
	g := newGate()
	w := startWorker(t, d.dsn, quick(func(c *driver.WorkerConfig) {
		c.WorkerShutdownGracePeriod, c.CancellationPeriod = 10*time.Millisecond, 10*time.Millisecond
	}), g.handle)
	g.await(t, 1)
	err := w.stopAndWait(t)
	var left *driver.ShutdownError
	if !errors.As(err, &left) || len(left.Abandoned) != 1 || left.Abandoned[0].ID != id || !strings.Contains(err.Error(), fmt.Sprint(id)) {
		t.Errorf("Run returned %v", err)
	}
	wantWhere(t, d, id, "Processing")
	wantStop(t, d, w, "abandoned", map[string]int64{"Running": 1, "Abandoned": 1})
	g.end <- nil // it returns at last: nothing is stored, and that is said
	eventually(t, "the late return is logged", func() bool { return w.logged("job.returned_late") == 1 })
	wantWhere(t, d, id, "Processing")
}

func TestCancellationOfARunningJob(t *testing.T) {
	d := newDatabase(t)
	d.set(t, "Recovery.FetchedJobTimeout", 5)
	d.set(t, "Recovery.ProcessingZombieTimeout", 5)
	id := enqueue(t, d.pool, "q", sql.Named("Payload", `{"n":7}`))
	g := newGate()
	w := startWorker(t, d.dsn, quick(func(c *driver.WorkerConfig) { c.HeartbeatInterval = 20 * time.Millisecond }), g.obey)
	g.await(t, 1)
	if result, err := d.client(t).Cancel(t.Context(), id, "no longer wanted"); err != nil || result != driver.CancelRequested {
		t.Fatalf("cancel: %v, %v", result, err)
	}
	eventually(t, "the job is dead", func() bool { return where(t, d, id) == "Dead Cancelled" })
	if err := w.stopAndWait(t); err != nil {
		t.Error(err)
	}
}

// Cut off from the database, a worker stops trusting its claims before the database may call them zombies.
func TestOwnershipExpiresBeforeTheZombieTimeout(t *testing.T) {
	d := newDatabase(t)
	d.set(t, "Recovery.FetchedJobTimeout", 2)
	d.set(t, "Recovery.ProcessingZombieTimeout", 2)
	id := enqueue(t, d.pool, "q", sql.Named("Payload", `{"n":7}`))
	p, dsn := newProxy(t, d.dsn)
	began, ended := make(chan struct{}), make(chan error, 1)
	w := startWorker(t, dsn, quick(func(c *driver.WorkerConfig) { c.HeartbeatInterval = 50 * time.Millisecond }), func(ctx context.Context, _ *driver.Job[job]) error {
		close(began)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return context.Cause(ctx)
	})
	<-began
	p.cut()
	if cause := <-ended; !errors.Is(cause, driver.ErrOwnershipLost) {
		t.Errorf("the cause is %v", cause)
	}
	// At that moment the database must not have been able to call it a zombie.
	if n := number(t, d.pool, "SELECT COUNT(*) AS n FROM chokaq.Jobs WHERE State = 2 AND HeartbeatAt > DATEADD(MILLISECOND, -2000, SYSUTCDATETIME())"); n != 1 {
		t.Error("the zombie timeout passed before the handler was told")
	}
	if w.Ready() == nil {
		t.Error("a worker without its database says it is ready")
	}
	// The database comes back and the token still holds, so the outcome is stored: cut short, hence for review.
	p.restore()
	eventually(t, "the outcome is stored", func() bool { return where(t, d, id) == "Dead Interrupted" })
	if n := w.logged("job.ownership_expired"); n != 1 {
		t.Errorf("logged %d times", n)
	}
}

func TestARescuedJobIsToldByTheNextHeartbeatAndItsCompletionRefused(t *testing.T) {
	d := newDatabase(t)
	id := enqueue(t, d.pool, "q", sql.Named("Payload", `{"n":7}`))
	began := make(chan struct{})
	w := startWorker(t, d.dsn, quick(func(c *driver.WorkerConfig) { c.HeartbeatInterval = 20 * time.Millisecond }), func(ctx context.Context, _ *driver.Job[job]) error {
		close(began)
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, driver.ErrOwnershipLost) {
			t.Errorf("the cause is %v", cause)
		}
		return nil // too late: the token no longer fits
	})
	<-began
	eventually(t, "rescued", func() bool {
		mustExec(t, d.pool, "UPDATE chokaq.Jobs SET HeartbeatAt = DATEADD(SECOND, -1000, HeartbeatAt)")
		return number(t, d.pool, "chokaq.RescueZombieJobs") == 1
	})
	eventually(t, "the completion is refused", func() bool { return w.Stats().RefusedOutcomes == 1 })
	wantWhere(t, d, id, "Dead Zombie")
	if n := w.logged("job.lost"); n != 1 {
		t.Errorf("the loss was logged %d times", n)
	}
}

func TestAPrefetchedJobLostToRecoveryNeverRuns(t *testing.T) {
	d := newDatabase(t)
	enqueueMany(t, d.pool, "q", 2)
	g := newGate()
	w := startWorker(t, d.dsn, quick(func(c *driver.WorkerConfig) { c.Handlers, c.Prefetch, c.HeartbeatInterval = 1, 1, time.Minute }), g.handle)
	first := g.await(t, 1)
	eventually(t, "the second is prefetched", func() bool { return count(t, d, "chokaq.Jobs WHERE State = 1") == 1 })
	mustExec(t, d.pool, "chokaq.PauseQueue", sql.Named("Queue", "q")) // nobody claims it again
	mustExec(t, d.pool, "UPDATE chokaq.Jobs SET HeartbeatAt = DATEADD(SECOND, -1000, HeartbeatAt) WHERE State = 1")
	if n := number(t, d.pool, "chokaq.ResetFetchedJobs"); n != 1 {
		t.Fatalf("reset %d", n)
	}
	g.end <- nil
	eventually(t, "the start is refused", func() bool { return w.Stats().RefusedStarts == 1 })
	if err := w.stopAndWait(t); err != nil {
		t.Error(err)
	}
	select {
	case id := <-g.began:
		t.Errorf("job %d ran although it was lost (the first was %v)", id, first)
	default:
	}
}

func TestAnOutageIsWaitedFor(t *testing.T) {
	d := newDatabase(t)
	p, dsn := newProxy(t, d.dsn)
	p.cut() // away at the start, too
	g := newGate()
	w := startWorker(t, dsn, quick(func(c *driver.WorkerConfig) { c.HeartbeatInterval = 20 * time.Millisecond }), g.obey)
	eventually(t, "the outage is logged", func() bool { return w.logged("database.away") == 1 })
	p.restore()
	eventually(t, "the worker is ready", func() bool { return w.Ready() == nil })
	enqueueMany(t, d.pool, "q", 1)
	g.await(t, 1)

	p.cut() // while a job runs and while idle
	g.end <- nil
	eventually(t, "the worker says it is not ready", func() bool { return w.Ready() != nil })
	p.restore()
	eventually(t, "the outcome is stored", func() bool { return count(t, d, "chokaq.JobsArchive") == 1 })
	enqueueMany(t, d.pool, "q", 1)
	g.await(t, 1)
	g.end <- nil
	if err := w.stopAndWait(t); err != nil {
		t.Error(err)
	}
	if n := w.logged("database.away"); n > 8 {
		t.Errorf("%d lines about two outages", n)
	}
}

func TestAHandlerEnqueuesMore(t *testing.T) {
	d := newDatabase(t)
	client := d.client(t)
	startWorker(t, d.dsn, quick(nil), func(ctx context.Context, j *driver.Job[job]) error {
		if j.Args.N == 0 {
			return nil
		}
		_, err := client.Enqueue(ctx, driver.NewJob{Type: "t", Queue: "q", Args: job{j.Args.N - 1}})
		return err
	})
	if _, err := client.Enqueue(t.Context(), driver.NewJob{Type: "t", Queue: "q", Args: job{9}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "ten jobs have run", func() bool { return count(t, d, "chokaq.JobsArchive") == 10 })
}

func TestEnqueueTx(t *testing.T) {
	d := newDatabase(t)
	client := d.client(t)
	tx := begin(t, d)
	first, err := client.EnqueueTx(t.Context(), tx, driver.NewJob{Type: "t", Args: json.RawMessage(`[1]`), Headers: map[string]string{"a": "b"}, IdempotencyKey: "k"})
	if err != nil || !first.Created {
		t.Fatal(first, err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	wantWhere(t, d, first.JobID, "nowhere")
	for _, created := range []bool{true, false} {
		if e, err := client.Enqueue(t.Context(), driver.NewJob{Type: "t", IdempotencyKey: "k"}); err != nil || e.Created != created {
			t.Errorf("enqueue: %v, %v; want Created=%v", e, err, created)
		}
	}
	for name, bad := range map[string]driver.NewJob{
		"51005":             {Type: ""},
		"cannot be marshal": {Type: "t", Args: func() {}},
		"not JSON":          {Type: "t", Args: json.RawMessage("{")},
		"priority":          {Type: "t", Priority: 11},
		"exclude":           {Type: "t", DueAt: time.Now(), Delay: time.Second},
	} {
		if _, err := client.Enqueue(t.Context(), bad); !errors.Is(err, driver.ErrInvalidArgument) || name != "51005" && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := client.Cancel(t.Context(), 777777, ""); !errors.Is(err, driver.ErrJobNotFound) {
		t.Errorf("cancel of nothing: %v", err)
	}
}

func TestManyJobsInOneTransaction(t *testing.T) {
	d := newDatabase(t)
	client := d.client(t)
	jobs := make([]driver.NewJob, 2500)
	for i := range jobs {
		jobs[i] = driver.NewJob{Type: "t", Args: job{i}}
	}
	all, err := client.EnqueueMany(t.Context(), jobs)
	if err != nil || len(all) != 2500 {
		t.Fatal(len(all), err)
	}
	for i := range all[1:] {
		if all[i+1].JobID <= all[i].JobID {
			t.Fatalf("ids do not ascend at %d", i)
		}
	}
	jobs[2400].Priority = 99
	if _, err := client.EnqueueMany(t.Context(), jobs); !errors.Is(err, driver.ErrInvalidArgument) {
		t.Fatal(err)
	}
	if n := count(t, d, "chokaq.Jobs"); n != 2500 {
		t.Errorf("%d jobs: a refused batch left some behind", n)
	}
}

func TestContradictoryTimeoutsAreRefused(t *testing.T) {
	d := newDatabase(t)
	d.set(t, "Recovery.ProcessingZombieTimeout", 30)
	w := startWorker(t, d.dsn, quick(func(c *driver.WorkerConfig) { c.HeartbeatInterval = 15 * time.Second }), func(context.Context, *driver.Job[job]) error { return nil })
	err := w.wait(t)
	if !errors.Is(err, driver.ErrConfig) || !strings.Contains(err.Error(), "15s") || !strings.Contains(err.Error(), "30s") || !strings.Contains(err.Error(), "Recovery.ProcessingZombieTimeout") {
		t.Errorf("Run returned %v", err)
	}
}

func TestAWorkerRunsRecoveryWhereThereIsNoAgent(t *testing.T) {
	d := newDatabase(t)
	zombies := processing(t, d, uuid.New(), "q", 1)
	age(t, d, 1000, zombies...)
	startWorker(t, d.dsn, quick(func(c *driver.WorkerConfig) { c.RecoveryEnabled, c.RecoveryInterval = true, 10*time.Millisecond }), func(context.Context, *driver.Job[job]) error { return nil })
	eventually(t, "the zombie is rescued", func() bool { return where(t, d, zombies[0].ID) == "Dead Zombie" })
}

// After years without purging, the first PurgeHistory takes longer than any other call: that is no outage.
func TestALongPurgeIsNoOutage(t *testing.T) {
	d := newDatabase(t)
	d.requireSim(t)
	slow := d.sim.Faults().Add(fault.Rule{Procedure: "chokaq.PurgeHistory", Hold: true, Nth: 1, Times: 1})
	t.Cleanup(slow.Remove)
	w := startWorker(t, d.dsn, quick(func(c *driver.WorkerConfig) {
		c.RecoveryEnabled, c.PurgeInterval, c.HeartbeatInterval, c.CommandTimeout = true, 10*time.Millisecond, 100*time.Millisecond, time.Second
	}), func(context.Context, *driver.Job[job]) error { return nil })
	if err := slow.WaitHeld(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	beats := w.Stats().Heartbeats
	eventually(t, "more time than a call may take has passed", func() bool { return w.Stats().Heartbeats >= beats+20 })
	slow.Release()
	eventually(t, "the purge is recorded", func() bool {
		return number(t, d.pool, "SELECT COUNT(*) AS n FROM chokaq.RecoveryRuns WHERE ProcedureName = 'PurgeHistory'") > 0
	})
	if n := w.logged("database.away"); n != 0 || !w.Status().Ready {
		t.Errorf("%d times database.away, status %+v", n, w.Status())
	}
}
