package chaos

import (
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chokaq/chokaq/driver"
)

// one is a round with a server of its own, and nothing at random but the database's name.
func one(t *testing.T) *round {
	t.Helper()
	sim := startServer(t)
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	return newRound(t, sim, rand.Uint64()>>1, make(tally))
}

func (r *round) add(b behavior) int64 {
	r.t.Helper()
	e, err := r.client.Enqueue(r.t.Context(), driver.NewJob{Type: "t", Queue: "q", Args: b})
	if err != nil {
		r.t.Fatal(err)
	}
	r.enqueued[e.JobID] = b
	return e.JobID
}

// eventually polls for what must come.
func (r *round) eventually(what string, came func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); !came(); {
		if time.Now().After(deadline) {
			r.t.Fatalf("never happened: %s; live jobs: %s", what, r.dump())
		}
		r.pause(5 * time.Millisecond)
	}
}

func (r *round) wrote(what string) bool {
	text, err := os.ReadFile(r.ledger)
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Contains(string(text), what)
}

// A worker frozen past the zombie timeout and then continued: its handler is told, what it sends is refused, nothing runs twice.
func TestAFrozenWorkerWakesUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		behavior behavior
		says     string
	}{
		{"its handler obeys", behavior{Ms: 600_000, Obeys: true}, "interrupted"},
		{"its handler finishes all the same", behavior{Ms: 2500}, "done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := one(t)
			r.add(c.behavior)
			w := r.startWorker()
			r.eventually("the handler began", func() bool { return r.wrote("began") })
			w.signal(syscall.SIGSTOP)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			go r.recover(ctx)
			r.eventually("its job is a zombie", func() bool { return r.number("SELECT COUNT(*) FROM chokaq.JobsDLQ WHERE Reason = 'Zombie'") == 1 })
			other := r.startWorker() // who must not get it
			w.signal(syscall.SIGCONT)
			r.eventually("the handler ended", func() bool { return r.wrote(c.says) })
			for _, p := range []*process{w, other} {
				p.terminate()
				r.awaitEnd(p)
			}
			log, err := os.ReadFile(w.log)
			if err != nil {
				t.Fatal(err)
			}
			for _, event := range []string{"job.outcome_refused"} {
				if !strings.Contains(string(log), event) {
					t.Errorf("the worker did not log %s", event)
				}
			}
			if told := strings.Contains(string(log), "job.lost") || strings.Contains(string(log), "job.ownership_expired"); !told {
				t.Error("the worker did not learn that the job was lost")
			}
			if text, _ := os.ReadFile(r.ledger); strings.Count(string(text), "began") != 1 {
				t.Errorf("it ran twice:\n%s", text)
			}
			if n := r.number("SELECT COUNT(*) FROM chokaq.JobsDLQ WHERE Reason = 'Zombie'"); n != 1 {
				t.Error("the job did not stay a zombie")
			}
		})
	}
}

// A worker killed outright: what it had prefetched is Pending again, what it ran is in the dead-letter queue, by recovery alone.
func TestAKilledWorker(t *testing.T) {
	t.Parallel()
	r := one(t)
	var ids []int64
	for range 12 {
		ids = append(ids, r.add(behavior{Ms: 600_000, Obeys: true}))
	}
	w := r.startWorker()
	r.eventually("4 run and 8 are prefetched", func() bool {
		return r.number("SELECT COUNT(*) FROM chokaq.Jobs WITH (NOLOCK) WHERE State = 2") == 4 && r.number("SELECT COUNT(*) FROM chokaq.Jobs WITH (NOLOCK) WHERE State = 1") == 8
	})
	w.killed = true
	w.signal(syscall.SIGKILL)
	<-w.ended
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go r.recover(ctx)
	r.eventually("8 are Pending and 4 are zombies", func() bool {
		return r.number("SELECT COUNT(*) FROM chokaq.Jobs WITH (NOLOCK) WHERE State = 0") == 8 && r.number("SELECT COUNT(*) FROM chokaq.JobsDLQ WHERE Reason = 'Zombie'") == 4
	})
	if n := r.number("SELECT COUNT(*) FROM chokaq.Jobs"); int(n)+4 != len(ids) {
		t.Errorf("%d live jobs and 4 zombies of %d", n, len(ids))
	}
}
