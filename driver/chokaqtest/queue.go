// Package chokaqtest gives an application's own tests a queue: the real T-SQL procedures, in this process and in memory, with no SQL Server.
//
//	func TestReceipts(t *testing.T) {
//		q := chokaqtest.New(t)
//		worker := q.NewWorker(driver.WorkerConfig{Queues: []string{"mail"}})
//		shop.RegisterHandlers(worker)
//		q.Start(worker)
//
//		shop.PlaceOrder(t.Context(), q.Client(), 42)
//
//		q.RequireEnqueued("send_receipt", shop.SendReceipt{Order: 42})
//		q.WaitIdle()
//		...
//	}
//
// Jobs go through the same states, by the same procedures and the same driver, as in production; the server behind them is a stand-in
// for SQL Server that is for tests only. Starting one takes some tens of milliseconds. It ends with the test.
//
// # Time
//
// The queue's clock stands still until the test moves it ([Queue.Advance], [Queue.Drain]). Due times, delays and retry delays are measured by it, so a
// retry in an hour is due after Advance(time.Hour), and not before. Timeouts of handlers and of shutdowns run in real time.
package chokaqtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/chokaq/chokaq/db"
	"github.com/chokaq/chokaq/driver"
	"github.com/chokaq/chokaq/internal/clock"
	"github.com/chokaq/chokaq/internal/clockhook"
	"github.com/chokaq/chokaq/internal/sqlsim"
)

// patience bounds what waits for a handler or the server.
const patience = 30 * time.Second

const database = "chokaq"

// Queue is a queue of one test's own. Its methods fail the test when they cannot do what they say; those that do so must be
// called from the test's goroutine.
type Queue struct {
	t      testing.TB
	server *sqlsim.Server
	client *driver.Client

	mu      sync.Mutex
	workers map[*driver.Worker]*started
}

// started is a worker that runs.
type started struct {
	stop context.CancelFunc
	done chan struct{}
	err  error // valid once done is closed
}

// Option is a setting of New.
type Option func(*options)

type options struct{ now time.Time }

// At sets what the queue's clock shows at first. Default: the time of the call, to the second.
func At(now time.Time) Option { return func(o *options) { o.now = now } }

// New starts a queue. When the test ends, its workers are stopped, and so is everything else.
func New(t testing.TB, settings ...Option) *Queue {
	t.Helper()
	o := options{now: time.Now()}
	for _, set := range settings {
		set(&o)
	}
	time := clock.NewAdjustable()
	time.Pause()
	time.StepWall(o.now.Truncate(1e9).Sub(time.Now()))
	server, err := sqlsim.Start(sqlsim.Options{Clock: time, NoAgent: true})
	if err != nil {
		t.Fatalf("chokaqtest: %v", err)
	}
	q := &Queue{t: t, server: server, workers: make(map[*driver.Worker]*started)}
	t.Cleanup(q.close)
	if err := install(t.Context(), server); err != nil {
		t.Fatalf("chokaqtest: the queue cannot be installed: %v", err)
	}
	q.client = q.newClient()
	return q
}

func install(ctx context.Context, server *sqlsim.Server) (err error) {
	master, err := sql.Open("sqlserver", server.DSN("master"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, master.Close()) }()
	if _, err := master.ExecContext(ctx, "CREATE DATABASE "+database); err != nil {
		return err
	}
	return db.Installer{DSN: server.DSN(database)}.Up(ctx)
}

func (q *Queue) newClient() *driver.Client {
	client, err := driver.Open(q.DSN())
	if err != nil {
		q.t.Fatalf("chokaqtest: %v", err)
	}
	clockhook.Set(client, queueClock{clock.Real(), q.server.Clock()})
	return client
}

// queueClock shows the queue's time, and waits in real time: so that no worker thinks it has been frozen when a test moves on by an hour.
type queueClock struct {
	clock.Clock
	queue clock.Clock
}

func (c queueClock) Now() time.Time { return c.queue.Now() }

// close stops the workers, then the server.
func (q *Queue) close() {
	q.mu.Lock()
	var running []*started
	for _, s := range q.workers {
		s.stop()
		running = append(running, s)
	}
	q.mu.Unlock()
	for _, s := range running {
		if <-s.done; s.err != nil {
			q.t.Errorf("chokaqtest: a worker ended with: %v", s.err)
		}
	}
	if q.client != nil {
		if err := q.client.Close(); err != nil {
			q.t.Errorf("chokaqtest: %v", err)
		}
	}
	if err := q.server.Close(); err != nil {
		q.t.Errorf("chokaqtest: %v", err)
	}
}

// Client enqueues into the queue, and is what workers are made from.
func (q *Queue) Client() *driver.Client { return q.client }

// DB is the client's pool, for tables of the application's own beside the queue. See the limits of the stand-in: what it cannot do fails by name.
func (q *Queue) DB() *sql.DB { return q.client.DB() }

// DSN is the queue's data source name, for code that opens its own connections.
func (q *Queue) DSN() string { return q.server.DSN(database) }

// NewWorker makes a worker of this queue that looks for jobs often and logs nothing; fields of the config that are set count. Register handlers with
// driver.Handle, then Start it. A worker that the application makes itself from [Queue.Client] can be started as well.
func (q *Queue) NewWorker(config driver.WorkerConfig) *driver.Worker {
	q.t.Helper()
	orDefault := func(d *time.Duration, otherwise time.Duration) {
		if *d == 0 {
			*d = otherwise
		}
	}
	orDefault(&config.PollIntervalMin, time.Millisecond)
	orDefault(&config.PollIntervalMax, max(5*time.Millisecond, config.PollIntervalMin))
	orDefault(&config.CompletionDelay, time.Millisecond)
	orDefault(&config.WorkerShutdownGracePeriod, 5*time.Second)
	worker, err := driver.NewWorker(q.client, config, nil)
	if err != nil {
		q.t.Fatalf("chokaqtest: %v", err)
	}
	return worker
}

// Start runs the worker until the test ends or it is stopped, and returns when it claims jobs.
func (q *Queue) Start(worker *driver.Worker) {
	q.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	s := &started{stop: stop, done: make(chan struct{})}
	q.mu.Lock()
	_, twice := q.workers[worker]
	if !twice {
		q.workers[worker] = s
	}
	q.mu.Unlock()
	if twice {
		stop()
		q.t.Fatalf("chokaqtest: the worker was started before; Run can be called once")
	}
	go func() {
		defer close(s.done)
		s.err = worker.Run(ctx)
	}()
	q.await("the worker claims jobs", func() bool {
		select {
		case <-s.done:
			q.forget(worker)
			q.t.Fatalf("chokaqtest: the worker did not start: %v", s.err)
		default:
		}
		return worker.Ready() == nil
	}, func() string { return fmt.Sprint(worker.Ready()) })
}

// Stop stops the worker gracefully and returns what its Run returned.
func (q *Queue) Stop(worker *driver.Worker) error {
	q.t.Helper()
	s := q.forget(worker)
	if s == nil {
		q.t.Fatalf("chokaqtest: the worker does not run")
	}
	s.stop()
	<-s.done
	return s.err
}

func (q *Queue) forget(worker *driver.Worker) *started {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.workers[worker]
	delete(q.workers, worker)
	return s
}

// await looks until something is so.
func (q *Queue) await(what string, so func() bool, otherwise func() string) {
	q.t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	deadline := time.Now().Add(patience)
	for !so() {
		if time.Now().After(deadline) {
			q.t.Fatalf("chokaqtest: after %v it is not so that %s: %s", patience, what, otherwise())
		}
		<-look.C
	}
}
