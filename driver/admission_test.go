package driver

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
)

// Random claims, starts, returns and changes of the number of slots, against the rules.
func TestAdmissionKeepsItsBounds(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for round := range 400 {
		bound, slots := 1+random.IntN(24), 1+random.IntN(12)
		a := newAdmission(slots, bound)
		handlers := []*registeredHandler{{}} // the first has no limit
		for range random.IntN(6) {
			h := &registeredHandler{concurrency: 1 + random.IntN(4)}
			handlers = append(handlers, h)
			a.limit(h, h.concurrency)
		}
		claimed, ran := 0, 0
		var channel, running []*heldJob
		took := func(job *heldJob) {
			running = append(running, job)
			ran++
			of := 0
			for _, r := range running {
				if r.handler == job.handler {
					of++
				}
			}
			if job.handler.concurrency > 0 && of > job.handler.concurrency {
				t.Fatalf("round %d: %d of a type with a limit of %d run", round, of, job.handler.concurrency)
			}
			if len(running) > a.getSlots() {
				t.Fatalf("round %d: a job started in slot %d of %d", round, len(running), a.getSlots())
			}
		}
		for range 300 {
			switch random.IntN(4) {
			case 0: // the worst that a claim can return: rows of one type
				most, leftOut := a.room()
				var may []*registeredHandler
				for _, h := range handlers {
					if !leftOut[h] {
						may = append(may, h)
					}
				}
				h := may[random.IntN(len(may))]
				for range most {
					job := &heldJob{handler: h}
					a.arrive(job)
					channel = append(channel, job)
					claimed++
				}
			case 1:
				if len(channel) > 0 && a.slotFree() {
					if a.admit(channel[0]) {
						took(channel[0])
					}
					channel = channel[1:]
				}
			case 2:
				if job := a.ready(); job != nil {
					took(job)
				}
			case 3:
				if len(running) > 0 {
					i := random.IntN(len(running))
					a.leave(running[i])
					running = slices.Delete(running, i, i+1)
				} else {
					a.setSlots(1 + random.IntN(12))
				}
			}
			excess := 0
			for _, l := range a.lanes {
				excess += l.excess()
			}
			if held := len(channel) + len(a.aside); held > bound || held != a.waiting || excess > bound/2 {
				t.Fatalf("round %d: %d rows wait (counted as %d) in a bound of %d, %d of them beyond their limits", round, held, a.waiting, bound, excess)
			}
			if claimed != ran+a.waiting {
				t.Fatalf("round %d: %d claimed, %d started and %d waiting", round, claimed, ran, a.waiting)
			}
		}
		// When everything returns, everything that waits starts.
		for range 10_000 {
			if job := a.ready(); job != nil {
				took(job)
			} else if len(channel) > 0 && a.slotFree() {
				if a.admit(channel[0]) {
					took(channel[0])
				}
				channel = channel[1:]
			} else if len(running) > 0 {
				a.leave(running[0])
				running = running[1:]
			}
		}
		if ran != claimed || a.used != 0 || a.waiting != 0 {
			t.Fatalf("round %d: %d claimed, %d ran; %d slots are taken and %d rows wait in the end", round, claimed, ran, a.used, a.waiting)
		}
	}
}

// A type at its limit with enough waiting is left out of the next claim, and asked for again when fewer wait.
func TestASaturatedTypeIsLeftOutOfClaims(t *testing.T) {
	w, _, _ := newTestWorker(t, WorkerConfig{Handlers: 4, Prefetch: 8})
	nothing := func(context.Context, *Job[json.RawMessage]) error { return nil }
	Handle(w, "slow", nothing, Concurrency(1))
	Handle(w, "quick", nothing)
	slow := w.handlers["slow"]
	w.admission.limit(slow, 1)
	types := func() string {
		_, leftOut := w.admission.room()
		list, any := w.claimedTypes(leftOut)
		if !any || !list.Valid {
			t.Fatalf("claims %+v", list)
		}
		return list.String
	}
	var rows []*heldJob
	for i := range 2 {
		if got := types(); got != `["quick","slow"]` {
			t.Errorf("with %d held: %s", i, got)
		}
		job := &heldJob{handler: slow}
		w.admission.arrive(job)
		w.admission.admit(job)
		rows = append(rows, job)
	}
	if got := types(); got != `["quick"]` {
		t.Errorf("with one running and one aside: %s", got)
	}
	if !w.admission.leave(rows[0]) {
		t.Error("the claimer is not told that the type can be claimed again")
	}
	if got := w.admission.ready(); got != rows[1] {
		t.Errorf("ready is %v", got)
	}
	if got := types(); got != `["quick","slow"]` {
		t.Errorf("with one running and none aside: %s", got)
	}
}

// Rows beyond their limits do not make claims wait for more room than there can be.
func TestRowsAsideDoNotDelayClaims(t *testing.T) {
	a := newAdmission(4, 8)
	slow, quick := &registeredHandler{concurrency: 1}, &registeredHandler{}
	a.limit(slow, 1)
	for range 5 { // one runs, four are aside
		job := &heldJob{handler: slow}
		a.arrive(job)
		a.admit(job)
	}
	a.arrive(&heldJob{handler: quick})
	a.arrive(&heldJob{handler: quick})
	if most, leftOut := a.room(); most != 2 || !leftOut[slow] {
		t.Errorf("with half of what is left free: %d, left out %v", most, leftOut)
	}
	a.arrive(&heldJob{handler: quick})
	if most, _ := a.room(); most != 0 {
		t.Errorf("with less than half of what is left free: %d", most)
	}
}

// While no slot is free nothing is taken from the prefetch channel.
func TestNothingIsTakenWithoutASlot(t *testing.T) {
	w, _, _ := newTestWorker(t, WorkerConfig{Handlers: 1, Prefetch: 4})
	h := &registeredHandler{}
	running, waiting := &heldJob{handler: h}, &heldJob{handler: h}
	for _, job := range []*heldJob{running, waiting} {
		w.admission.arrive(job)
	}
	w.admission.admit(running)
	w.prefetch <- waiting
	got := make(chan *heldJob, 1)
	go func() { got <- w.processor.await(t.Context()) }()
	for range 3 { // it looks, and looks again
		w.admission.changed <- struct{}{}
	}
	if len(w.prefetch) != 1 {
		t.Error("a row was taken with no slot free")
	}
	w.admission.leave(running)
	if job := <-got; job != waiting {
		t.Errorf("got %v", job)
	}
}

// When everything is left out, the claimer waits without asking the database, until something has returned.
func TestNothingToClaimIsNoBusyLoop(t *testing.T) {
	w, manual, _ := newTestWorker(t, WorkerConfig{Handlers: 4, Prefetch: 8})
	Handle(w, "slow", func(context.Context, *Job[json.RawMessage]) error { return nil }, Concurrency(1))
	w.admission.limit(w.handlers["slow"], 1)
	var rows []*heldJob
	for range 3 {
		job := w.owned.add(JobInfo{ID: int64(len(rows))}, w.handlers["slow"], uuid.New(), 0)
		w.admission.arrive(job)
		w.admission.admit(job)
		rows = append(rows, job)
	}
	type answer struct {
		most  int
		types sql.NullString
	}
	answers := make(chan answer, 1)
	go func() {
		most, types := w.claimer.room(t.Context())
		answers <- answer{most, types}
	}()
	w.claimer.freeRoom() // a row taken frees no type
	w.processor.leave(rows[0])
	w.admission.ready()
	select {
	case a := <-answers:
		t.Fatalf("claims %+v with one running and one aside", a)
	default:
	}
	w.processor.leave(rows[1])
	select {
	case a := <-answers:
		if a.types.String != `["slow"]` || a.most < 1 {
			t.Errorf("claims %+v", a)
		}
	case <-time.After(time.Minute):
		t.Fatal("the claimer was not told")
	}
	if n := manual.Waiters(); n != 0 {
		t.Errorf("%d timers run", n)
	}
}

func TestSetHandlersRefusesWhatIsOutOfRange(t *testing.T) {
	w, _, logs := newTestWorker(t, WorkerConfig{Handlers: 3})
	for _, n := range []int{-1, 0, 10_001} {
		if err := w.SetHandlers(n); !errors.Is(err, ErrConfig) || w.Handlers() != 3 {
			t.Errorf("%d: %v, %d handlers", n, err, w.Handlers())
		}
	}
	for _, n := range []int{10_000, 1, 1} {
		if err := w.SetHandlers(n); err != nil || w.Handlers() != n {
			t.Errorf("%d: %v, %d handlers", n, err, w.Handlers())
		}
	}
	if n := logged(logs, "worker.handlers_changed"); n != 2 {
		t.Errorf("logged %d times", n)
	}
}
