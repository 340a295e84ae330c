package integration

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/chokaq/chokaq/driver"
	"github.com/chokaq/chokaq/internal/sqlsim/fault"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// withAppName is a data source name for a worker whose connections a fault can tell from others.
func withAppName(t *testing.T, dsn, app string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("app name", app)
	u.RawQuery = q.Encode()
	return u.String()
}

// faultKind is something that can go wrong with a call of a procedure.
type faultKind struct {
	name string
	rule fault.Rule   // what to do to the call
	then *value.Error // and to the next two logins
	// release lets go of an answer that is held once it is held; otherwise the caller gives up.
	release bool
	fatal   bool // not transient: at its start the worker refuses to run
}

// gaveUp reports that the call ends only when its caller gives it up.
func (k faultKind) gaveUp() bool { return k.rule.Silent || k.rule.Hold && !k.release }

// faultKinds are what a failover, an overload, a full disk and a bad network do.
func faultKinds() []faultKind {
	var all []faultKind
	for _, number := range []int32{1205, 1222, 40613, 40197, 49918, 10928, 983, 1105, 9002, 229} {
		all = append(all, faultKind{name: fmt.Sprintf("error %d", number), rule: fault.Refuse("", number, "injected"), fatal: number == 229})
	}
	drop := fault.Rule{Drop: true}
	return append(all,
		faultKind{name: "login error 4060", rule: drop, then: fault.CannotOpenDatabase},
		// The wire hides state 38: at the start it cannot be told from a wrong password.
		faultKind{name: "login error 18456", rule: drop, then: fault.LoginFailed, fatal: true},
		faultKind{name: "dropped before it ran", rule: drop},
		faultKind{name: "dropped after it committed", rule: fault.Rule{When: fault.After, Drop: true}},
		faultKind{name: "answer held for a while", rule: fault.Rule{When: fault.After, Hold: true}, release: true},
		faultKind{name: "answer held until the caller gives up", rule: fault.Rule{When: fault.After, Hold: true}},
		faultKind{name: "silent before it ran", rule: fault.Rule{Silent: true}},
		faultKind{name: "silent after it committed", rule: fault.Rule{When: fault.After, Silent: true}},
	)
}

// Whatever goes wrong with whichever call: every job is run once (or again because its handler asked for it), no outcome is lost, a
// stop gives back what has not started, and Run returns in time.
func TestFaults(t *testing.T) {
	newEmptyDatabase(t).requireSim(t)
	running := make(chan struct{}, 6) // all at once would only wait for each other
	var all sync.WaitGroup
	for p, procedure := range []struct {
		name string
		once bool // called once in a worker's life: its "later call" is the repeated one
		stop bool // called only by a stop
	}{
		{name: "GetInstallation", once: true}, {name: "RegisterWorker", once: true}, {name: "ClaimJobs"}, {name: "StartJobs"}, {name: "HeartbeatJobs"},
		{name: "CompleteJobs"}, {name: "FailJobs"}, {name: "ReleaseJobs", once: true, stop: true}, {name: "SetWorkerState", once: true, stop: true}, {name: "RecordWorkerStop", once: true, stop: true},
	} {
		d := newDatabase(t)
		for i, kind := range faultKinds() {
			for nth, call := range map[int]string{1: "first call", 2: "later call"} {
				// A fifth of all pairs, spread over procedures and kinds of fault; or all of them.
				if everything := os.Getenv("CHOKAQ_TEST_ALL_FAULTS") != ""; !everything && (i+p+nth)%5 != 0 {
					continue
				}
				rule := kind.rule
				rule.Nth, rule.Times = nth, 1
				if procedure.once {
					rule.Nth, rule.Times = 1, nth
				}
				rule.Procedure = "chokaq." + procedure.name
				name := procedure.name + "/" + kind.name + "/" + call
				running <- struct{}{}
				all.Go(func() {
					defer func() { <-running }()
					t.Run(name, func(t *testing.T) {
						refuses := kind.fatal && procedure.once && !procedure.stop
						runUnderFault(t, d, name, kind, rule, refuses, procedure.stop)
					})
				})
			}
		}
	}
	all.Wait()
}

// attempts records which attempts of a job have run.
type attempts struct {
	mu  sync.Mutex
	ran map[int64][]int
}

func (a *attempts) note(j *driver.Job[job]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ran[j.ID] = append(a.ran[j.ID], j.Attempt)
}

// runUnderFault lets a worker run 40 jobs, then stops it while 10 handlers run and more jobs are prefetched. The queue of the jobs has the name of the case.
func runUnderFault(t *testing.T, d *database, name string, kind faultKind, rule fault.Rule, refuses, atStop bool) {
	const jobs, more, handlers = 40, 16, 10
	client := d.client(t)
	queue := fmt.Sprintf("%.64s", fmt.Sprintf("%x", name[:4])+name[max(0, len(name)-50):])
	app := "worker under fault: " + name
	rule.App = app

	faults := d.sim.Faults()
	active := faults.Add(rule)
	t.Cleanup(active.Remove)
	if kind.then != nil {
		// In force from the start, but of no effect before the connections that exist are broken.
		go func() {
			if active.WaitStruck(t.Context(), 1) == nil {
				logins := faults.Add(fault.Rule{Logins: true, App: app, Error: kind.then, Times: 2})
				t.Cleanup(logins.Remove)
			}
		}()
	}
	if kind.release {
		go func() {
			if active.WaitHeld(t.Context(), 1) == nil {
				active.Release()
			}
		}()
	}

	ran := attempts{ran: make(map[int64][]int)}
	var began sync.WaitGroup
	began.Add(handlers)
	goOn := make(chan struct{})
	letGo := sync.OnceFunc(func() { close(goOn) })
	again := errors.New("again")
	w := startWorker(t, withAppName(t, d.dsn, app), quick(func(c *driver.WorkerConfig) {
		c.Queues, c.Handlers, c.Prefetch = []string{queue}, handlers, 20
		c.HeartbeatInterval, c.PollIntervalMin, c.PollIntervalMax = 100*time.Millisecond, 20*time.Millisecond, 100*time.Millisecond
		c.CompletionDelay = 5 * time.Millisecond
		if kind.gaveUp() {
			c.CommandTimeout = 700 * time.Millisecond
		}
	}), func(_ context.Context, j *driver.Job[job]) error {
		ran.note(j)
		switch {
		case j.Args.N >= jobs:
			began.Done()
			<-goOn
		case j.Args.N%4 == 0 && j.Attempt == 1:
			return driver.RetryAfter(0, again)
		}
		return nil
	})

	defer letGo()

	batch := make([]driver.NewJob, jobs+more)
	for i := range batch {
		batch[i] = driver.NewJob{Type: "t", Queue: queue, Args: job{i}}
	}
	first, err := client.EnqueueMany(t.Context(), batch[:jobs])
	if err != nil {
		t.Fatal(err)
	}
	if refuses {
		if err := w.wait(t); err == nil {
			t.Error("Run returned nil though the database refuses the worker")
		}
		wantPlaces(t, d, queue, map[string]int64{"Pending": jobs})
		return
	}
	eventually(t, "the first jobs are completed", func() bool { return w.Stats().Completed == jobs })
	second, err := client.EnqueueMany(t.Context(), batch[jobs:])
	if err != nil {
		t.Fatal(err)
	}
	began.Wait()
	eventually(t, "the rest is prefetched", func() bool { return w.Stats().Claimed == jobs+jobs/4+more })
	struck, giveUp := context.WithTimeout(t.Context(), patience)
	defer giveUp()
	if !atStop {
		times := rule.Times
		if kind.release { // it was answered in the end, and not called again
			times = 1
		}
		if err := active.WaitStruck(struck, times); err != nil {
			t.Fatalf("the fault never struck: %v", err)
		}
	}
	stopped := time.Now()
	w.stop()
	eventually(t, "the prefetched jobs are given back", func() bool { return w.logged("shutdown.released") == 1 })
	letGo()
	if err := w.wait(t); err != nil {
		t.Errorf("Run returned %v", err)
	}
	if took := time.Since(stopped); took > 10*time.Second {
		t.Errorf("the stop took %v", took)
	}
	if active.Count() == 0 {
		t.Error("the fault never struck")
	}

	wantPlaces(t, d, queue, map[string]int64{"Archived": jobs + handlers, "Pending": more - handlers})
	ran.mu.Lock()
	defer ran.mu.Unlock()
	done := make(map[int64]bool)
	for _, r := range mustQuery(t, d.pool, "SELECT JobId FROM chokaq.JobsArchive WHERE Queue = @Queue", sql.Named("Queue", queue)) {
		done[r["JobId"].(int64)] = true
	}
	for i, e := range append(first, second...) {
		// Which of the second batch run is not said: a claim that meets the end of their transaction steps over the rows still locked.
		want := "[1]"
		switch {
		case i < jobs && i%4 == 0:
			want = "[1 2]"
		case i >= jobs && !done[e.JobID]:
			want = "[]"
		}
		if got := fmt.Sprint(ran.ran[e.JobID]); got != want {
			t.Errorf("job %d: attempts %s ran, want %s", i, got, want)
		}
	}
	if s := w.Stats(); s.Completed != jobs+handlers || s.Retried != jobs/4 || s.Dead+s.Lost+s.RefusedStarts+s.RefusedOutcomes != 0 {
		t.Errorf("stats are %+v", s)
	}
}

// wantPlaces checks how many jobs of a queue are where; what is not named must be nowhere.
func wantPlaces(t *testing.T, d *database, queue string, want map[string]int64) {
	t.Helper()
	got := make(map[string]int64)
	for _, r := range mustQuery(t, d.pool, `
SELECT p.Place, COUNT(*) AS n
FROM (SELECT CASE State WHEN 0 THEN 'Pending' WHEN 1 THEN 'Fetched' ELSE 'Processing' END AS Place FROM chokaq.Jobs WHERE Queue = @Queue
      UNION ALL SELECT 'Archived' FROM chokaq.JobsArchive WHERE Queue = @Queue
      UNION ALL SELECT 'Dead ' + Reason FROM chokaq.JobsDLQ WHERE Queue = @Queue) AS p
GROUP BY p.Place`, sql.Named("Queue", queue)) {
		got[r["Place"].(string)] = r["n"].(int64)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the jobs are %v, want %v", got, want)
	}
}
