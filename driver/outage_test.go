package driver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/chokaq/chokaq/db"
	"github.com/chokaq/chokaq/internal/clock"
	"github.com/chokaq/chokaq/internal/sqlsim"
	"github.com/chokaq/chokaq/internal/sqlsim/fault"
)

// patience bounds, in real time, what must come.
const patience = 60 * time.Second

// outages is a server with ChokaQ whose time, like that of the workers, is turned by hand: an hour without the database takes no hour.
type outages struct {
	sim   *sqlsim.Server
	clock *clock.Manual
	dsn   string
	pool  *sql.DB // of somebody for whom the database is there
}

func newOutages(t *testing.T) *outages {
	t.Helper()
	// Long ago: nothing may compare this clock with the computer's.
	o := &outages{clock: clock.NewManual(time.Date(2019, 7, 1, 12, 0, 0, 0, time.UTC))}
	var err error
	if o.sim, err = sqlsim.Start(sqlsim.Options{NoAgent: true, Clock: o.clock}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.sim.Close(); err != nil {
			t.Error(err)
		}
	})
	master, err := sql.Open("sqlserver", o.sim.DSN("master"))
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	if _, err := master.Exec("CREATE DATABASE away"); err != nil {
		t.Fatal(err)
	}
	o.dsn = o.sim.DSN("away")
	if err := (db.Installer{DSN: o.dsn}).Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o.pool, err = sql.Open("sqlserver", o.dsn+"&app+name=observer"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.pool.Close() })
	return o
}

// subject is a worker that lives through an outage.
type subject struct {
	*outages
	t      *testing.T
	queue  string
	app    string
	client *Client
	worker *Worker
	logs   *observer.ObservedLogs
	stop   context.CancelFunc
	result chan error

	began   chan struct{}
	release chan error     // what the handler returns
	cause   chan error     // why its context ended
	lostAt  *time.Duration // monotonic; when it was told
	ran     int

	rules    []*fault.Active
	attempts []time.Duration // monotonic; of logins during the outage
	mu       sync.Mutex
	holding  atomic.Int64 // calls that a fault holds
}

func (o *outages) newSubject(t *testing.T, name string) *subject {
	t.Helper()
	s := &subject{
		outages: o, t: t, queue: fmt.Sprintf("q%d", time.Now().UnixNano()), app: name, result: make(chan error, 1),
		began: make(chan struct{}, 10), release: make(chan error, 10), cause: make(chan error, 10),
	}
	var err error
	if s.client, err = Open(o.dsn + "&app+name=" + url.QueryEscape(name)); err != nil {
		t.Fatal(err)
	}
	s.client.clock = o.clock
	core, logs := observer.New(zap.DebugLevel)
	s.logs = logs
	if s.worker, err = NewWorker(s.client, WorkerConfig{Queues: []string{s.queue}, Handlers: 2, Prefetch: 4}, zap.New(core)); err != nil {
		t.Fatal(err)
	}
	Handle(s.worker, "t", func(ctx context.Context, _ *Job[int]) error {
		s.mu.Lock()
		s.ran++
		s.mu.Unlock()
		s.began <- struct{}{}
		select {
		case err := <-s.release:
			return err
		case <-ctx.Done():
			s.mu.Lock()
			at := s.clock.Monotonic()
			s.lostAt = &at
			s.mu.Unlock()
			s.cause <- context.Cause(ctx)
			return context.Cause(ctx)
		}
	})
	return s
}

// run starts the worker.
func (s *subject) run() {
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() { s.result <- s.worker.Run(ctx) }()
	s.t.Cleanup(func() {
		for _, r := range s.rules {
			r.Remove()
		}
		stop()
		s.pass("the worker has ended", time.Second, func() bool {
			select {
			case err := <-s.result:
				s.result <- err
				return true
			default:
				return false
			}
		})
		s.client.Close()
		if s.t.Failed() {
			for _, e := range s.logs.All() {
				s.t.Log(e.Level, e.Message, e.ContextMap())
			}
		}
	})
}

func (s *subject) enqueue() int64 {
	s.t.Helper()
	var id int64
	var created bool
	if err := s.pool.QueryRow("chokaq.EnqueueJob", sql.Named("Queue", s.queue), sql.Named("JobType", "t"), sql.Named("Payload", "1")).Scan(&id, &created); err != nil {
		s.t.Fatal(err)
	}
	return id
}

// place is where a job is.
func (s *subject) place(id int64) (place string) {
	s.t.Helper()
	if err := s.pool.QueryRow(`SELECT COALESCE(
	(SELECT CASE State WHEN 0 THEN 'Pending' WHEN 1 THEN 'Fetched' ELSE 'Processing' END FROM chokaq.Jobs WHERE JobId = @id),
	(SELECT 'Archived' FROM chokaq.JobsArchive WHERE JobId = @id),
	(SELECT 'Dead ' + Reason COLLATE DATABASE_DEFAULT FROM chokaq.JobsDLQ WHERE JobId = @id), 'nowhere')`, sql.Named("id", id)).Scan(&place); err != nil {
		s.t.Fatal(err)
	}
	return place
}

// yield gives the worker the opportunity to do what it can do without time going by: until it does nothing, and no call is under way but one that a
// fault holds.
func (s *subject) yield() {
	s.t.Helper()
	look := func() [3]int64 {
		return [3]int64{s.worker.procedures.calls.Load(), int64(s.clock.Waiters()), int64(s.client.worker.Stats().InUse)}
	}
	for last, same, deadline := look(), 0, time.Now().Add(patience); same < 3; {
		if time.Now().After(deadline) {
			s.t.Fatalf("the worker does not come to rest though no time goes by: calls, timers and connections in use are %v", last)
		}
		time.Sleep(100 * time.Microsecond)
		now := look()
		if now == last && now[2] <= s.holding.Load() {
			same++
		} else {
			last, same = now, 0
		}
	}
}

// pass lets time go by in steps until something has happened.
func (s *subject) pass(what string, step time.Duration, happened func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); !happened(); {
		if time.Now().After(deadline) {
			s.t.Fatalf("never happened: %s", what)
		}
		s.clock.Advance(step)
		s.yield()
	}
}

func (s *subject) add(r fault.Rule) *fault.Active {
	r.App = s.app
	a := s.sim.Faults().Add(r)
	s.rules = append(s.rules, a)
	return a
}

// away begins the outage: every connection breaks when it is used, and none can be made.
func (s *subject) away() (restore func()) {
	requests := s.add(fault.Rule{Drop: true})
	logins := s.add(fault.Rule{Logins: true, Drop: true, Match: func(fault.Event) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.attempts = append(s.attempts, s.clock.Monotonic())
		return true
	}})
	return func() {
		logins.Remove()
		requests.Remove()
	}
}

// held begins the outage in the middle of a call, which the server carries out and nobody hears of.
func (s *subject) held(procedure string, arrive func()) (restore func()) {
	s.t.Helper()
	s.holding.Store(1)
	call := s.add(fault.Rule{Procedure: procedure, When: fault.After, Hold: true, Drop: true, Times: 1})
	arrive()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	struck := make(chan error, 1)
	go func() { struck <- call.WaitHeld(ctx, 1) }()
	s.pass(procedure+" is under way", 100*time.Millisecond, func() bool { return len(struck) == 1 })
	if err := <-struck; err != nil {
		s.t.Fatal(err)
	}
	restore = s.away()
	s.holding.Store(0)
	call.Release()
	s.yield()
	return restore
}

func (s *subject) logged(name string) int {
	return s.logs.FilterField(zap.String("event", name)).Len()
}

// point is a moment in a worker's life at which the database goes away.
type point struct {
	name  string
	begin func(s *subject) (job int64, restore func()) // job 0: there is none
	runs  bool                                         // a handler runs in the outage
	// where the job is at the end, when the database has come back after a while, or after longer than the worker trusts its claims
	after, afterLong string
}

func (s *subject) ready() {
	s.run()
	s.pass("the worker is ready", 100*time.Millisecond, func() bool { return s.worker.Ready() == nil })
}

func (s *subject) running() int64 {
	s.ready()
	id := s.enqueue()
	s.pass("the handler runs", 100*time.Millisecond, func() bool { return len(s.began) == 1 })
	return id
}

var points = []point{
	{name: "before the start", begin: func(s *subject) (int64, func()) {
		restore := s.away()
		s.run()
		s.yield()
		return 0, restore
	}},
	{name: "idle", begin: func(s *subject) (int64, func()) {
		s.ready()
		return 0, s.away()
	}},
	{name: "claiming", after: "Archived", afterLong: "Archived", begin: func(s *subject) (id int64, restore func()) {
		s.ready()
		restore = s.held("chokaq.ClaimJobs", func() { id = s.enqueue(); s.release <- nil })
		return id, restore
	}},
	{name: "starting", after: "Archived", afterLong: "Archived", begin: func(s *subject) (id int64, restore func()) {
		s.ready()
		restore = s.held("chokaq.StartJobs", func() { id = s.enqueue(); s.release <- nil })
		return id, restore
	}},
	{name: "running", runs: true, after: "Archived", afterLong: "Dead Interrupted", begin: func(s *subject) (int64, func()) {
		id := s.running()
		return id, s.away()
	}},
	{name: "with an outcome in memory", after: "Archived", afterLong: "Archived", begin: func(s *subject) (int64, func()) {
		id := s.running()
		restore := s.away()
		s.release <- nil
		return id, restore
	}},
	{name: "completing", after: "Archived", afterLong: "Archived", begin: func(s *subject) (int64, func()) {
		id := s.running()
		return id, s.held("chokaq.CompleteJobs", func() { s.release <- nil })
	}},
}

// The database is away for a second, a minute, an hour, from every point of a worker's life on. The worker neither ends nor spins, says once that
// the database is away, is not ready, goes on by itself, and stores what it has in memory. Stopped meanwhile, it ends within its bound and names
// what it leaves.
func TestOutages(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup // each point has a server and a clock of its own, and mostly waits
	defer all.Wait()
	for _, p := range points {
		all.Go(func() { t.Run(p.name, func(t *testing.T) { outagesFrom(t, p) }) })
	}
}

func outagesFrom(t *testing.T, p point) {
	o := newOutages(t)
	for _, d := range []time.Duration{time.Second, time.Minute, time.Hour} {
		for _, stopped := range []bool{false, true} {
			if stopped && d == time.Minute { // nothing that the second and the hour have not
				continue
			}
			t.Run(fmt.Sprintf("%v, stopped %v", d, stopped), func(t *testing.T) { o.newSubject(t, t.Name()).live(p, d, stopped) })
		}
	}
}

func (s *subject) live(p point, d time.Duration, stopped bool) {
	t := s.t
	id, restore := p.begin(s)
	began := s.clock.Monotonic()
	calls, lines := s.worker.procedures.calls.Load(), len(s.logs.All())
	for step := min(max(d/100, 10*time.Millisecond), 30*time.Second); s.clock.Monotonic()-began < d; {
		s.clock.Advance(step)
		s.yield()
	}
	select {
	case err := <-s.result:
		t.Fatalf("the worker has ended: %v", err)
	default:
	}
	made := s.worker.procedures.calls.Load() - calls
	// At most four loops call: claims, heartbeats, and starts or outcomes; or the start, alone. Each waits longer and longer, up to 10 (15) seconds, less half.
	if most := 4 * (14 + int64(d/(5*time.Second))); made > most {
		t.Errorf("%d calls in %v, more than %d: it spins", made, d, most)
	}
	s.mu.Lock()
	attempts := slices.Clone(s.attempts)
	s.mu.Unlock()
	if len(attempts) == 0 {
		t.Error("nothing was tried in the outage")
	}
	s.pass("it is tried again", time.Second, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.attempts) > len(attempts)
	})
	if s.worker.Ready() == nil {
		t.Error("the worker says it is ready")
	}
	if n := s.logged("database.away"); n != 1 {
		t.Errorf("%d lines say that the database is away", n)
	}
	if n := len(s.logs.All()) - lines; n > 3 {
		t.Errorf("%d lines were logged in the outage", n)
	}
	trusted := s.worker.timeouts.ProcessingZombie
	if p.runs && d > trusted {
		if cause := <-s.cause; !errors.Is(cause, ErrOwnershipLost) {
			t.Errorf("the handler was canceled with %v", cause)
		}
		if told := *s.lostAt - began; told >= trusted {
			t.Errorf("the handler was told after %v; the zombie timeout is %v", told, trusted)
		}
	} else if p.runs {
		if len(s.cause) > 0 {
			t.Error("the handler was canceled")
		}
		s.release <- nil
	}
	if stopped {
		s.stopAway(p, id)
		return
	}
	restore()
	s.pass("the worker is ready again", 500*time.Millisecond, func() bool { return s.worker.Ready() == nil && s.logged("database.back") == 1 })
	if want := p.after; id != 0 {
		if d > trusted {
			want = p.afterLong
		}
		s.pass("the job is "+want, 500*time.Millisecond, func() bool { return s.place(id) == want })
	}
	// It goes on: a job that comes now is run.
	next := s.enqueue()
	s.release <- nil
	s.pass("the next job is archived", 500*time.Millisecond, func() bool { return s.place(next) == "Archived" })
	s.stop()
	s.ended(0, "")
	s.mu.Lock()
	defer s.mu.Unlock()
	want := 1
	if id != 0 {
		want = 2
	}
	if s.ran != want {
		t.Errorf("handlers ran %d times, want %d", s.ran, want)
	}
	if n := s.logged("database.away"); n != 1 {
		t.Errorf("%d lines say that the database was away", n)
	}
}

// stopAway stops the worker while the database is away.
func (s *subject) stopAway(p point, id int64) {
	asked := s.clock.Monotonic()
	s.stop()
	if p.name == "before the start" {
		s.ended(asked, "")
		return
	}
	names := fmt.Sprintf("%d (t)", id)
	switch p.name {
	case "idle", "claiming": // what the claim that was cut off has got, nobody knows here
		names = s.claimToken().String()
	}
	s.ended(asked, names)
}

func (s *subject) claimToken() uuid.UUID {
	s.t.Helper()
	var token *uuid.UUID
	s.pass("a claim is unsettled", 0, func() bool { token = s.worker.claimer.unsettled.Load(); return token != nil })
	return *token
}

// ended waits for the end of Run, which must come within the bound, counted from asked (0: from now), and name what it leaves.
func (s *subject) ended(asked time.Duration, names string) {
	s.t.Helper()
	if asked == 0 {
		asked = s.clock.Monotonic()
	}
	const step = 500 * time.Millisecond
	s.pass("the worker has ended", step, func() bool { return len(s.result) == 1 })
	took := s.clock.Monotonic() - asked
	err := <-s.result
	s.result <- err
	if bound := s.worker.config.ShutdownBound(); took > bound+step {
		s.t.Errorf("the stop took %v; its bound is %v", took, bound)
	}
	switch {
	case names == "" && err != nil:
		s.t.Errorf("Run returned %v", err)
	case names != "" && (!errors.Is(err, ErrWorkRemains) || !strings.Contains(err.Error(), names)):
		s.t.Errorf("Run returned %v, which does not name %s", err, names)
	}
	if names != "" {
		said := s.logs.Filter(func(e observer.LoggedEntry) bool { return e.Level >= zapcore.ErrorLevel })
		if said.Len() == 0 {
			s.t.Error("the log does not name what was left")
		}
	}
}

// The database goes away in the grace period. If it is back in time, what the handler returned is stored; otherwise the stop ends within its bound,
// and names the job.
func TestOutagesDuringAStop(t *testing.T) {
	t.Parallel()
	o := newOutages(t)
	for _, d := range []time.Duration{time.Second, time.Minute, time.Hour} {
		t.Run(d.String(), func(t *testing.T) {
			s := o.newSubject(t, t.Name())
			id := s.running()
			asked := s.clock.Monotonic()
			s.stop()
			s.pass("it has given back what it had prefetched: nothing", 10*time.Millisecond, func() bool { return s.logged("shutdown.released") == 1 })
			restore := s.away()
			s.release <- nil
			began := s.clock.Monotonic()
			for s.clock.Monotonic()-began < d && len(s.result) == 0 {
				s.clock.Advance(500 * time.Millisecond)
				s.yield()
			}
			if s.clock.Monotonic()-began >= d {
				restore()
			}
			names, want := "", "Archived"
			if d > s.worker.config.FlushTimeout {
				names, want = fmt.Sprintf("%d (t)", id), "Processing"
			}
			s.ended(asked, names)
			if place := s.place(id); place != want {
				t.Errorf("the job is %s, want %s", place, want)
			}
		})
	}
}

// Recovery takes the job away while its worker is cut off for an hour: what the worker has in memory is refused when the database is back.
func TestAnOutageInWhichRecoveryTakesTheJob(t *testing.T) {
	t.Parallel()
	for name, returns := range map[string]bool{"the handler returns before it is told": true, "the handler returns when it is told": false} {
		t.Run(name, func(t *testing.T) {
			s := newOutages(t).newSubject(t, t.Name())
			id := s.running()
			restore := s.away()
			if returns {
				s.release <- nil
			}
			for began := s.clock.Monotonic(); s.clock.Monotonic()-began < time.Hour; {
				s.clock.Advance(30 * time.Second)
				s.yield()
				var moved int64
				if err := s.pool.QueryRow("chokaq.RescueZombieJobs").Scan(&moved); err != nil {
					t.Fatal(err)
				}
				if moved > 0 && !returns && len(s.cause) == 0 {
					t.Error("the job was rescued before its handler was told")
				}
			}
			restore()
			s.pass("the outcome is refused", 500*time.Millisecond, func() bool { return s.worker.Stats().RefusedOutcomes == 1 })
			if place := s.place(id); place != "Dead Zombie" {
				t.Errorf("the job is %s", place)
			}
			s.stop()
			s.ended(0, "")
		})
	}
}
