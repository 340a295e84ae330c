package chaos

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chokaq/chokaq/db"
	"github.com/chokaq/chokaq/driver"
	"github.com/chokaq/chokaq/internal/sqlsim"
	"github.com/chokaq/chokaq/internal/sqlsim/fault"
)

// patience bounds what must come; it decides only how long a failing round takes.
const patience = 60 * time.Second

// tally counts what the rounds did.
type tally map[string]int

func (t tally) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(t)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, t[name]))
	}
	return strings.Join(parts, ", ")
}

// round is one round.
type round struct {
	t           *testing.T
	rng         *rand.Rand
	sim         *sqlsim.Server
	dsn         string
	pool        *sql.DB
	client      *driver.Client
	dir         string
	ledger      string
	temporary   string // TMPDIR of the workers
	safeToRetry bool   // what they say of their handlers
	workers     []*process
	enqueued    map[int64]behavior
	did         tally
}

func newRound(t *testing.T, sim *sqlsim.Server, seed uint64, did tally) *round {
	t.Helper()
	r := &round{t: t, rng: rand.New(rand.NewPCG(seed, seed)), sim: sim, dir: t.TempDir(), enqueued: make(map[int64]behavior), did: did}
	r.ledger = filepath.Join(r.dir, "ledger")
	if err := os.WriteFile(r.ledger, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.temporary = filepath.Join(r.dir, "temporary")
	if err := os.Mkdir(r.temporary, 0o700); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("chaos_%d", seed)
	admin, err := sql.Open("sqlserver", sim.DSN("master"))
	if err != nil {
		t.Fatal(err)
	}
	admin.SetMaxIdleConns(0) // a restart of the server is not its concern
	if _, err := admin.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	r.dsn = sim.DSN(name)
	if err := (db.Installer{DSN: r.dsn}).Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.pool, err = sql.Open("sqlserver", r.dsn); err != nil {
		t.Fatal(err)
	}
	r.pool.SetMaxIdleConns(0)
	if r.client, err = driver.Open(r.dsn); err != nil {
		t.Fatal(err)
	}
	for _, setting := range []string{"Recovery.FetchedJobTimeout", "Recovery.ProcessingZombieTimeout"} {
		if _, err := r.pool.Exec("chokaq.SetSetting", sql.Named("Name", setting), sql.Named("Value", 1)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, w := range r.workers {
			w.signal(syscall.SIGKILL)
			<-w.ended
			w.proxy.close()
			if t.Failed() {
				if text, err := os.ReadFile(w.log); err == nil {
					t.Logf("worker %s (status %d):\n%s", w.id, w.status, text)
				}
			}
		}
		r.client.Close()
		r.pool.Close()
		if _, err := admin.Exec("ALTER DATABASE " + name + " SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE " + name); err != nil {
			t.Error(err)
		}
		admin.Close()
	})
	return r
}

// enqueue adds jobs that behave in all manners.
func (r *round) enqueue(n int) {
	r.t.Helper()
	jobs := make([]driver.NewJob, n)
	behaviors := make([]behavior, n)
	for i := range jobs {
		b := behavior{Ms: r.rng.IntN(120), Obeys: r.rng.IntN(2) == 0}
		switch r.rng.IntN(12) {
		case 0, 1:
			b.Failures = 1 + r.rng.IntN(3)
		case 2:
			b.Failures, b.Panics = 1, true
		case 3:
			b.Ms = 700
		case 4:
			if i%10 == 0 {
				b.Blocks = true
			}
		}
		behaviors[i] = b
		jobs[i] = driver.NewJob{Type: "t", Queue: "q", Args: b}
		if r.rng.IntN(8) == 0 {
			jobs[i].Delay = time.Duration(1+r.rng.IntN(1500)) * time.Millisecond
		}
	}
	all, err := r.client.EnqueueMany(r.t.Context(), jobs)
	if err != nil {
		r.t.Fatal(err)
	}
	for i, e := range all {
		r.enqueued[e.JobID] = behaviors[i]
	}
}

// play runs the round.
func (r *round) play() {
	r.enqueue(30 + r.rng.IntN(30))
	for range 2 + r.rng.IntN(2) {
		r.startWorker()
	}
	recovering, stopRecovering := context.WithCancel(context.Background())
	defer stopRecovering()
	recovered := make(chan struct{})
	go func() {
		defer close(recovered)
		r.recover(recovering)
	}()

	for range 3 + r.rng.IntN(4) {
		r.pause(time.Duration(r.rng.IntN(300)) * time.Millisecond)
		r.misfortune()
	}
	r.heal()
	r.settle()
	r.check()
	stopRecovering()
	<-recovered
	r.leftovers()
}

// pause lets time go by: between misfortunes there must be some, and how much is the seed's choice.
func (r *round) pause(d time.Duration) { time.Sleep(d) }

// misfortune is one fault, chosen by the seed.
func (r *round) misfortune() {
	var alive []*process
	for _, w := range r.workers {
		if w.running() && w.asked.IsZero() && !w.frozen {
			alive = append(alive, w)
		}
	}
	if len(alive) == 0 {
		r.startWorker()
		return
	}
	w := alive[r.rng.IntN(len(alive))]
	switch r.rng.IntN(14) {
	case 0:
		r.did["stops"]++
		w.terminate()
	case 1:
		r.did["kills"]++
		w.killed = true
		w.signal(syscall.SIGKILL)
	case 2:
		r.did["freezes"]++
		w.frozen = true
		w.signal(syscall.SIGSTOP)
		r.pause(time.Duration(500+r.rng.IntN(1500)) * time.Millisecond)
		w.signal(syscall.SIGCONT)
		w.frozen = false
	case 3:
		r.did["cuts"]++
		w.proxy.set(down)
		w.proxy.set(through)
	case 4:
		r.did["cuts after commit"]++
		w.proxy.set(cutAnswers)
		r.pause(100 * time.Millisecond)
		w.proxy.set(through)
	case 5:
		r.did["black holes"]++
		w.proxy.set(silent)
		r.pause(time.Duration(100+r.rng.IntN(1200)) * time.Millisecond)
		w.proxy.set(through)
	case 6:
		r.did["slow networks"]++
		w.proxy.set(slow)
	case 7:
		r.did["outages"]++
		for _, w := range r.workers {
			w.proxy.set(down)
		}
		if r.rng.IntN(2) == 0 { // a stop in the middle of it
			r.did["stops"]++
			w.terminate()
		}
		r.pause(time.Duration(100+r.rng.IntN(1500)) * time.Millisecond)
		for _, w := range r.workers {
			w.proxy.set(through)
		}
	case 8:
		r.did["restarts of the server"]++
		if r.rng.IntN(3) == 0 { // a stop in the middle of it
			r.did["stops"]++
			w.terminate()
		}
		if err := r.sim.Restart(func(sqlsim.Phase) { r.pause(time.Duration(r.rng.IntN(500)) * time.Millisecond) }); err != nil {
			r.t.Fatal(err)
		}
	case 9, 10:
		d := time.Duration(1+r.rng.IntN(48)) * time.Hour
		if r.rng.IntN(2) == 0 {
			d = -d
		}
		r.did["clock steps"]++
		w.stepClock(d)
	case 11, 12, 13:
		numbers := []int32{1205, 1222, 40613, 40197, 49918, 10928, 983, 1105, 9002}
		procedures := []string{"chokaq.ClaimJobs", "chokaq.StartJobs", "chokaq.HeartbeatJobs", "chokaq.CompleteJobs", "chokaq.FailJobs", "chokaq.ReleaseJobs"}
		rule := fault.Refuse(procedures[r.rng.IntN(len(procedures))], numbers[r.rng.IntN(len(numbers))], "injected")
		rule.Times = 1 + r.rng.IntN(4)
		rule.App = workerApp
		if r.rng.IntN(2) == 0 {
			rule.When = fault.After // it was carried out, and the client is told that it failed
		}
		r.did[fmt.Sprintf("errors %d", rule.Error.Number)]++
		r.sim.Faults().Add(rule)
	}
}

// heal ends every fault, stops all workers, and starts one that finishes.
func (r *round) heal() {
	r.sim.Faults().Clear()
	for _, w := range r.workers {
		w.proxy.set(through)
		w.signal(syscall.SIGCONT)
	}
	for _, w := range r.workers {
		w.terminate()
	}
	for _, w := range r.workers {
		r.awaitEnd(w)
	}
	r.startWorker()
}

// awaitEnd waits for a worker and checks how it stopped.
func (r *round) awaitEnd(w *process) {
	r.t.Helper()
	select {
	case <-w.ended:
	case <-time.After(patience):
		r.t.Fatalf("worker %s does not end", w.id)
	}
	if w.killed {
		return
	}
	if took := w.stopped.Sub(w.asked); w.stopped.IsZero() {
		r.t.Errorf("worker %s ended and had not stopped", w.id)
	} else if took > w.bound() {
		r.t.Errorf("worker %s took %v to stop; its bound is %v", w.id, took, w.bound())
	}
	switch w.status {
	case exitClean:
		if n := r.number("SELECT COUNT(*) FROM chokaq.Jobs WHERE WorkerId = CONVERT(uniqueidentifier, @w)", sql.Named("w", w.id)); n != 0 {
			r.t.Errorf("worker %s ended with status 0 and left %d jobs", w.id, n)
		}
		r.did["workers checked for goroutines left"]++
	case exitWorkRemains:
	case exitLeaks:
		r.t.Errorf("worker %s has stopped and left goroutines", w.id)
	default:
		r.t.Errorf("worker %s ended with status %d", w.id, w.status)
	}
}

// recover runs recovery, as Agent would.
func (r *round) recover(ctx context.Context) {
	for ctx.Err() == nil {
		for _, procedure := range []driver.RecoveryProcedure{driver.ResetFetchedJobs, driver.RescueZombieJobs} {
			if _, err := r.client.Recover(ctx, procedure); err != nil && ctx.Err() == nil && !driver.IsTransient(err) { // the server may be restarted
				r.t.Errorf("%s: %v", procedure, err)
			}
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// settle waits until no job is live that can still end by itself, stops the last worker, and lets recovery have what it abandons.
func (r *round) settle() {
	last := r.workers[len(r.workers)-1]
	blocking := 0
	deadline := time.Now().Add(patience)
	for {
		blocking = int(r.number(`SELECT COUNT(*) FROM chokaq.Jobs WITH (NOLOCK) WHERE JSON_VALUE(Payload, '$.blocks') = 'true' AND State = 2`))
		if live := r.number("SELECT COUNT(*) FROM chokaq.Jobs WITH (NOLOCK)"); int(live) == blocking {
			break
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("jobs stay live: %s", r.dump())
		}
		// Jobs that block for ever fill the slots of the worker: it must be replaced, as an operator would.
		if blocking >= 4 && last.asked.IsZero() {
			last.terminate()
			r.awaitEnd(last)
			last = r.startWorker()
		}
		r.pause(10 * time.Millisecond)
	}
	last.terminate()
	r.awaitEnd(last)
	for r.number("SELECT COUNT(*) FROM chokaq.Jobs") != 0 {
		if time.Now().After(deadline.Add(patience)) {
			r.t.Fatalf("recovery does not settle: %s", r.dump())
		}
		r.pause(10 * time.Millisecond)
	}
}

// check reconciles.
func (r *round) check() {
	ledger, err := readLedger(r.ledger)
	if err != nil {
		r.t.Fatal(err)
	}
	states := make(map[int64]finalState)
	rows, err := r.pool.Query(`
SELECT JobId, 'Live', '', Attempt, RequeueCount FROM chokaq.Jobs
UNION ALL SELECT JobId, 'Archived', '', Attempt, RequeueCount FROM chokaq.JobsArchive
UNION ALL SELECT JobId, 'Dead', Reason COLLATE DATABASE_DEFAULT, Attempt, RequeueCount FROM chokaq.JobsDLQ`)
	if err != nil {
		r.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var s finalState
		if err := rows.Scan(&id, &s.place, &s.reason, &s.attempt, &s.requeues); err != nil {
			r.t.Fatal(err)
		}
		s.tables = states[id].tables + 1
		states[id] = s
	}
	if err := rows.Err(); err != nil {
		r.t.Fatal(err)
	}
	for _, v := range violations(r.enqueued, ledger, states) {
		r.t.Error(v)
	}
	r.did["jobs"] += len(r.enqueued)
	for _, s := range states {
		r.did["ended "+strings.TrimSpace(s.place+" "+s.reason)]++
	}
}

func (r *round) number(query string, args ...any) (n int64) {
	r.t.Helper()
	if err := r.pool.QueryRow(query, args...).Scan(&n); err != nil {
		r.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// dump shows the live jobs.
func (r *round) dump() string {
	var text sql.NullString
	if err := r.pool.QueryRow(`SELECT (SELECT JobId, State, Attempt, CONVERT(nvarchar(36), WorkerId) AS WorkerId, HeartbeatAt, DueAt, Payload FROM chokaq.Jobs FOR JSON PATH)`).Scan(&text); err != nil {
		return err.Error()
	}
	var pretty json.RawMessage = []byte(text.String)
	return string(pretty)
}
