package integration

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	mssql "github.com/microsoft/go-mssqldb"
)

// contention is what many sessions have done to one database, as their answers tell it.
type contention struct {
	mu       sync.Mutex
	created  map[int64]bool
	started  map[int64]int
	again    map[int64]int // decisions that a job runs again: Retried, Requeued
	ended    map[int64]int // Completed
	deaths   int           // Cancelled, Dead, and rescued
	requeued int
	recent   []int64 // ids that others may strike at
	calls    map[string]int
	slowest  map[string]time.Duration
	failures []error
}

func (c *contention) add(id int64) {
	c.created[id] = true
	c.recent = append(c.recent, id)
	if len(c.recent) > 500 {
		c.recent = c.recent[250:]
	}
}

// some is up to n ids, in no order, each once.
func (c *contention) some(rng *rand.Rand, n int) (list []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range rng.Perm(len(c.recent))[:min(n, len(c.recent))] {
		list = append(list, c.recent[i])
	}
	return list
}

// actor is one session of the test.
type actor struct {
	*contention
	conn *sql.Conn
	rng  *rand.Rand
	id   uuid.UUID // of the worker, if it is one
	// heart is the worker's other session: heartbeats name the same jobs as starts and outcomes do, at the same time.
	heart *actor
}

// call calls a procedure; an error with one of the numbers allowed is an answer like any other. Everything else that goes wrong ends the test.
func (a *actor) call(procedure string, allowed []int32, args ...any) []row {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	begun := time.Now()
	rows, err := query(ctx, a.conn, procedure, args...)
	took := time.Since(begun)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[procedure]++
	a.slowest[procedure] = max(a.slowest[procedure], took)
	if err != nil {
		for _, n := range allowed {
			if sqlNumber(err) == n {
				return nil
			}
		}
		a.failures = append(a.failures, fmt.Errorf("%s after %v: %w", procedure, took.Round(time.Millisecond), err))
	}
	return rows
}

func (a *actor) failed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.failures) > 0
}

// Few keys, so that producers meet on them; a batch names several, in any order.
func (a *actor) key() string { return fmt.Sprint("key ", a.rng.IntN(12)) }

func (a *actor) jobType() string { return []string{"t", "t", "u"}[a.rng.IntN(3)] }

func (a *actor) queue() string { return []string{"a", "b", "limited"}[a.rng.IntN(3)] }

func (a *actor) produce() {
	if a.rng.IntN(2) == 0 {
		args := []any{sql.Named("Queue", a.queue()), sql.Named("JobType", a.jobType()), sql.Named("Priority", 1+a.rng.IntN(10)), sql.Named("MaxAttempts", 2)}
		if a.rng.IntN(2) == 0 {
			args = append(args, sql.Named("IdempotencyKey", a.key()))
		}
		a.noteCreated(a.call("chokaq.EnqueueJob", nil, args...))
		return
	}
	var batch []map[string]any
	for range 1 + a.rng.IntN(8) {
		e := map[string]any{"queue": a.queue(), "type": a.jobType(), "priority": 1 + a.rng.IntN(10), "maxAttempts": 2}
		if a.rng.IntN(2) == 0 {
			e["idempotencyKey"] = a.key()
		}
		batch = append(batch, e)
	}
	text, _ := json.Marshal(batch)
	a.noteCreated(a.call("chokaq.EnqueueJobs", nil, sql.Named("Jobs", string(text))))
}

func (a *actor) noteCreated(rows []row) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range rows {
		if r["Created"].(bool) {
			a.add(r["JobId"].(int64))
		}
	}
}

func (a *actor) work() {
	token := uuid.New()
	queues := []string{`["a","b","limited"]`, `["limited","b","a"]`, `["b"]`}[a.rng.IntN(3)]
	var all []map[string]any
	types := []any{nil, `["t"]`, `["u"]`, `["u","unheard of"]`}[a.rng.IntN(4)]
	for _, r := range a.call("chokaq.ClaimJobs", nil, sql.Named("WorkerId", guid(a.id)), sql.Named("ClaimToken", guid(token)), sql.Named("Queues", queues), sql.Named("MaxJobs", 1+a.rng.IntN(12)),
		sql.Named("JobTypes", types)) {
		all = append(all, map[string]any{"id": r["JobId"], "token": token.String(), "final": a.rng.IntN(2) == 0})
	}
	// Some of them, in any order.
	partFor := func(rng *rand.Rand) sql.NamedArg {
		some := make([]map[string]any, 0, len(all))
		for _, i := range rng.Perm(len(all))[:rng.IntN(len(all)+1)] {
			some = append(some, all[i])
		}
		text, _ := json.Marshal(some)
		return sql.Named("Jobs", string(text))
	}
	part := func() sql.NamedArg { return partFor(a.rng) }
	worker := sql.Named("WorkerId", guid(a.id))
	var beating sync.WaitGroup
	defer beating.Wait()
	beating.Go(func() {
		for range 4 {
			a.heart.call("chokaq.HeartbeatJobs", nil, worker, partFor(a.heart.rng))
		}
	})
	a.noteResults(a.call("chokaq.StartJobs", nil, part()))
	// The two may name the same jobs: the first wins, and the other hears that it has lost.
	a.noteResults(a.call("chokaq.CompleteJobs", nil, part()))
	a.noteResults(a.call("chokaq.FailJobs", nil, part()))
	switch a.rng.IntN(4) {
	case 0:
		a.call("chokaq.ReleaseJobs", nil, worker, part())
	case 1:
		a.call("chokaq.ReleaseJobs", nil, worker, sql.Named("ClaimToken", guid(token)))
	case 2:
		a.call("chokaq.ReleaseJobs", nil, worker)
	default: // left to recovery
	}
	if a.rng.IntN(5) == 0 {
		for _, state := range []string{"draining", "running"} {
			a.call("chokaq.SetWorkerState", nil, worker, sql.Named("State", state))
		}
	}
}

func (a *actor) noteResults(rows []row) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range rows {
		switch id := r["JobId"].(int64); r["Result"] {
		case "Started":
			a.started[id]++
		case "Completed":
			a.ended[id]++
		case "Dead", "Cancelled":
			a.deaths++
		case "Retried":
			a.again[id]++
		case "Requeued":
			a.again[id]++
			a.requeued++
		}
	}
}

func (a *actor) operate() {
	ids, _ := json.Marshal(a.some(a.rng, 1+a.rng.IntN(6)))
	if string(ids) == "null" {
		return
	}
	one := a.some(a.rng, 1)[0]
	switch a.rng.IntN(8) {
	case 0, 1:
		a.noteResults(a.call("chokaq.CancelJob", []int32{51008}, sql.Named("JobId", one)))
	case 2, 3:
		a.noteResults(a.call("chokaq.RequeueDeadJobs", nil, sql.Named("JobIds", string(ids))))
	case 4:
		a.call("chokaq.DiscardDeadJobs", nil, sql.Named("JobIds", string(ids)), sql.Named("Note", "n"))
	case 5:
		a.call("chokaq.EditDeadJob", []int32{51008, 51009, 51010, 51011, 51012}, sql.Named("JobId", one), sql.Named("Priority", 1+a.rng.IntN(10)))
	case 6:
		queue := sql.Named("Queue", a.queue())
		a.call("chokaq.PauseQueue", nil, queue)
		a.call("chokaq.ResumeQueue", nil, queue)
	case 7:
		a.call("chokaq.SetQueueLimit", nil, sql.Named("Queue", "limited"), sql.Named("ConcurrencyLimit", 1+a.rng.IntN(20)))
		a.call("chokaq.SetQueueTimeouts", nil, sql.Named("Queue", "b"), sql.Named("FetchedJobTimeoutSeconds", 1), sql.Named("ProcessingZombieTimeoutSeconds", nil))
	}
}

func (a *actor) recover() {
	a.call("chokaq.ResetFetchedJobs", nil)
	rows := a.call("chokaq.RescueZombieJobs", nil)
	a.mu.Lock()
	for _, r := range rows {
		a.deaths += int(r["RowsMoved"].(int64))
	}
	a.mu.Unlock()
	a.call("chokaq.PurgeHistory", nil)
}

func (a *actor) watch() {
	for _, view := range []string{"QueueStatus", "WorkerStatus", "DeadJobs", "RecoveryStatus", "OperatorLog"} {
		a.call("SELECT * FROM chokaq."+view, []int32{3951, 3952})
	}
}

// Two hundred sessions do everything at once: no deadlock among our own procedures, nobody waits for ever, no job is run without cause, and the books balance.
// A third of the sessions come from pools whose last user has left another isolation level behind: sp_reset_connection takes it back in some
// versions of SQL Server only. CHOKAQ_TEST_CONTENTION_TIME (2s) is how long it goes on, CHOKAQ_TEST_SEED repeats the choices.
func TestContention(t *testing.T) {
	duration := 2 * time.Second
	if text := os.Getenv("CHOKAQ_TEST_CONTENTION_TIME"); text != "" {
		var err error
		if duration, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	seed := rand.Uint64()
	if text := os.Getenv("CHOKAQ_TEST_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("CHOKAQ_TEST_SEED=%d", seed)
	versioning(t, func(t *testing.T, d *database) { contend(t, d, duration, seed) })
}

func contend(t *testing.T, d *database, duration time.Duration, seed uint64) {
	mustExec(t, d.pool, "ALTER DATABASE "+d.name+" SET ALLOW_SNAPSHOT_ISOLATION ON")
	d.set(t, "Recovery.FetchedJobTimeout", 1)
	d.set(t, "Recovery.ProcessingZombieTimeout", 1)
	d.set(t, "Recovery.BatchSize", 7)
	// History that retention has to remove meanwhile; its ids are out of the way of the others.
	const old = 500
	fill(t, d, 1_000_000_000, 0, 0, old, old)
	mustExec(t, d.pool, "UPDATE chokaq.JobsArchive SET FinishedAt = DATEADD(YEAR, -2, FinishedAt); UPDATE chokaq.JobsDLQ SET DeadAt = DATEADD(YEAR, -2, DeadAt)")
	deadlocks := 0
	if d.sim != nil {
		deadlocks = len(d.sim.Deadlocks())
	}

	c := &contention{created: make(map[int64]bool), started: make(map[int64]int), again: make(map[int64]int), ended: make(map[int64]int), calls: make(map[string]int), slowest: make(map[string]time.Duration)}
	var pools []*sql.DB
	for _, level := range []string{"READ COMMITTED", "SNAPSHOT", "SERIALIZABLE"} {
		connector, err := mssql.NewConnector(d.dsn)
		if err != nil {
			t.Fatal(err)
		}
		connector.SessionInitSQL = "SET TRANSACTION ISOLATION LEVEL " + level
		pool := sql.OpenDB(connector)
		t.Cleanup(func() { pool.Close() })
		pools = append(pools, pool)
	}
	var wg sync.WaitGroup
	begin, stop := make(chan struct{}), make(chan struct{})
	sessions := 0
	newActor := func() *actor {
		conn, err := pools[sessions%len(pools)].Conn(t.Context())
		if err != nil {
			close(stop)
			close(begin)
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		sessions++
		return &actor{contention: c, conn: conn, rng: rand.New(rand.NewPCG(seed, uint64(sessions)))}
	}
	for _, group := range []struct {
		n    int
		act  func(*actor)
		work bool
	}{{45, (*actor).produce, false}, {55, (*actor).work, true}, {33, (*actor).operate, false}, {6, (*actor).recover, false}, {6, (*actor).watch, false}} {
		for range group.n {
			a := newActor()
			if group.work {
				a.id, a.heart = registered(t, d, "a", "b", "limited"), newActor()
			}
			wg.Go(func() {
				<-begin
				for !a.failed() {
					select {
					case <-stop:
						return
					default:
						group.act(a)
					}
				}
			})
		}
	}
	close(begin)
	<-time.After(duration)
	eventually(t, "something has completed, died and been requeued, or has failed", func() bool { // on a slow machine that may take longer
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.ended) > 0 && c.deaths > 0 && c.requeued > 0 || len(c.failures) > 0
	})
	close(stop)
	wg.Wait()

	for _, err := range c.failures {
		t.Error(err)
	}
	if d.sim != nil {
		for _, report := range d.sim.Deadlocks()[deadlocks:] {
			t.Errorf("%v", report)
		}
	}
	if t.Failed() {
		return
	}
	total := 0
	for procedure, n := range c.calls {
		t.Logf("%7d calls of %s, the slowest %v", n, procedure, c.slowest[procedure].Round(time.Millisecond))
		total += n
	}
	t.Logf("%d sessions, %d calls, %d jobs", sessions, total, len(c.created))
	c.balance(t, d, old)
}

// balance compares the answers with the tables.
func (c *contention) balance(t *testing.T, d *database, old int) {
	places := make(map[int64]string)
	dead := 0
	for _, r := range mustQuery(t, d.pool, `SELECT JobId, 'live' AS Place FROM chokaq.Jobs UNION ALL SELECT JobId, 'archived' FROM chokaq.JobsArchive WHERE JobId < 1000000000
UNION ALL SELECT JobId, 'dead' FROM chokaq.JobsDLQ WHERE JobId < 1000000000`) {
		id, place := r["JobId"].(int64), r["Place"].(string)
		if places[id] != "" {
			t.Errorf("job %d is %s and %s", id, places[id], place)
		}
		if !c.created[id] {
			t.Errorf("job %d is %s, and nobody was told that it was created", id, place)
		}
		places[id] = place
		if place == "dead" {
			dead++
		}
	}
	for id := range c.created {
		switch {
		case places[id] == "":
			t.Errorf("job %d is nowhere", id)
		case c.started[id] > 1+c.again[id]:
			t.Errorf("job %d was started %d times, and to be run again it had %d reasons", id, c.started[id], c.again[id])
		case (places[id] == "archived") != (c.ended[id] == 1) || c.ended[id] > 1:
			t.Errorf("job %d is %s, and was completed %d times", id, places[id], c.ended[id])
		}
	}
	if dead != c.deaths-c.requeued {
		t.Errorf("%d jobs are dead; %d died and %d were requeued", dead, c.deaths, c.requeued)
	}
	if len(c.ended) == 0 || c.deaths == 0 || c.requeued == 0 {
		t.Errorf("%d completed, %d died, %d requeued: the test does not test", len(c.ended), c.deaths, c.requeued)
	}
	// Retention removes what is old whatever else goes on, if not in this run then in the next.
	mustQuery(t, d.pool, "chokaq.PurgeHistory")
	if n := number(t, d.pool, "SELECT (SELECT COUNT(*) FROM chokaq.JobsArchive WHERE JobId >= 1000000000) + (SELECT COUNT(*) FROM chokaq.JobsDLQ WHERE JobId >= 1000000000) AS n"); n != 0 {
		t.Errorf("%d of %d old jobs are still there", n, 2*old)
	}
	if n := number(t, d.pool, "SELECT COUNT(*) AS n FROM (SELECT JobType, IdempotencyKey FROM chokaq.Jobs WHERE IdempotencyKey IS NOT NULL GROUP BY JobType, IdempotencyKey HAVING COUNT(*) > 1) AS d"); n != 0 {
		t.Errorf("%d idempotency keys have more than one live job", n)
	}
}
