package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/chokaq/chokaq/driver"
)

// A job that kills its worker process each time it runs ends in the dead-letter queue with the first, whatever its type says of retries: that nobody knows
// what it did is not changed by it. The other workers and jobs go on. An operator who requeues it loses one more worker.
func TestAPoisonedJobTakesOneWorkerOnly(t *testing.T) {
	t.Parallel()
	for _, safe := range []bool{false, true} {
		t.Run(fmt.Sprintf("safe to retry %v", safe), func(t *testing.T) {
			t.Parallel()
			r := one(t)
			r.safeToRetry = safe
			ctx, stop := context.WithCancel(t.Context())
			recovered := make(chan struct{})
			go func() { defer close(recovered); r.recover(ctx) }()
			for range 3 {
				r.startWorker()
			}
			poison := r.add(behavior{Kills: true})
			for range 30 {
				r.add(behavior{Ms: 10})
			}
			zombie := func() bool {
				return r.number("SELECT COUNT(*) FROM chokaq.JobsDLQ WHERE JobId = @id AND Reason = 'Zombie'", sql.Named("id", poison)) == 1
			}
			fallen := func() (n int) {
				for _, w := range r.workers {
					if !w.running() {
						w.killed = true
						n++
					}
				}
				return n
			}
			began := func(requeues int) int {
				all, err := readLedger(r.ledger)
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				if h := all[poison]; h != nil {
					for run, times := range h.began {
						if run.requeues == requeues {
							n += times
						}
					}
				}
				return n
			}
			settled := func(requeues int) {
				t.Helper()
				r.eventually("the job is a zombie", zombie)
				r.eventually("the others are archived", func() bool { return r.number("SELECT COUNT(*) FROM chokaq.Jobs WITH (NOLOCK)") == 0 })
				r.pause(500 * time.Millisecond) // in which it could be taken up again
				if n := began(requeues); n != 1 {
					t.Errorf("it ran %d times in its life %d", n, requeues)
				}
				if n := fallen(); n != requeues+1 {
					t.Errorf("%d of 3 workers have fallen after %d requeues", n, requeues)
				}
			}
			settled(0)
			rows, err := r.pool.Query("chokaq.RequeueDeadJobs", sql.Named("JobIds", fmt.Sprintf("[%d]", poison)), sql.Named("Note", "looks harmless"))
			if err != nil {
				t.Fatal(err)
			}
			if err := rows.Close(); err != nil {
				t.Fatal(err)
			}
			for range 30 {
				r.add(behavior{Ms: 10})
			}
			r.eventually("it has run again", func() bool { return began(1) > 0 })
			settled(1)

			for _, w := range r.workers {
				if w.running() {
					w.terminate()
					r.awaitEnd(w)
				}
			}
			stop()
			<-recovered
			r.check()
			r.leftovers()
			// What ran beside it in the same process, up to three jobs each time, has shared its fate.
			if archived, zombies := r.did["ended Archived"], r.did["ended Dead Zombie"]; archived+zombies != 61 || zombies > 7 {
				t.Errorf("the jobs: %v", r.did)
			}
		})
	}
}

// Due times are the database's: workers whose clocks are days off neither run a job early nor late, and keep what they hold.
func TestClocksOfWorkersDoNotMatter(t *testing.T) {
	t.Parallel()
	r := one(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go r.recover(ctx)
	for _, d := range []time.Duration{72 * time.Hour, -72 * time.Hour} {
		r.startWorker().stepClock(d)
	}
	r.add(behavior{Ms: 2500, Obeys: true}) // longer than the zombie timeout of a second
	e, err := r.client.Enqueue(t.Context(), driver.NewJob{Type: "t", Queue: "q", Args: behavior{}, Delay: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	soon, err := r.client.Enqueue(t.Context(), driver.NewJob{Type: "t", Queue: "q", Args: behavior{Failures: 1}, Delay: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	r.eventually("a handler runs", func() bool { return r.wrote("began") })
	steps := []time.Duration{24 * time.Hour, -1000 * time.Hour, 5000 * time.Hour, -time.Hour} // and they jump while they work
	for _, d := range steps {
		for _, w := range r.workers {
			w.stepClock(d)
		}
		r.pause(100 * time.Millisecond) // six looks at what is trusted
	}
	r.eventually("what was due has been done", func() bool { return r.number("SELECT COUNT(*) FROM chokaq.JobsArchive") == 2 })
	if n := r.number("SELECT COUNT(*) FROM chokaq.JobsArchive WHERE JobId = @id AND StartedAt < DueAt", sql.Named("id", soon.JobID)); n != 0 {
		t.Error("a job began before it was due")
	}
	if n := r.number("SELECT COUNT(*) FROM chokaq.Jobs WHERE JobId = @id AND State = 0 AND Attempt = 0", sql.Named("id", e.JobID)); n != 1 {
		t.Error("a job that is due in an hour has been touched")
	}
	if text, err := readLedger(r.ledger); err != nil || len(text) != 2 {
		t.Errorf("%d jobs ran, %v", len(text), err)
	}
	for _, w := range r.workers {
		w.terminate()
		r.awaitEnd(w)
		if w.steps != 1+len(steps) {
			t.Errorf("the clock of a worker was stepped %d times", w.steps)
		}
		if n := r.logged(w, "job.lost") + r.logged(w, "job.ownership_expired"); n != 0 {
			t.Error("a worker has let go of a job because its clock jumped")
		}
	}
}
