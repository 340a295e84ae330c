package driver

import (
	"math"
	"slices"
	"sync"
)

// maxHandlers is the largest number of handler slots of a worker.
const maxHandlers = 10_000

// lane is what a handler with a concurrency limit has of this worker.
type lane struct {
	limit   int
	running int  // being started, or started and not returned
	waiting int  // claimed and not started: in the prefetch channel or aside
	leftOut bool // of the last claim
}

// slack is how many more rows could start at once, were there slots enough.
func (l *lane) slack() int { return max(0, l.limit-l.running-l.waiting) }

// excess is how many rows wait for another of the lane to return.
func (l *lane) excess() int { return min(l.waiting, max(0, l.running+l.waiting-l.limit)) }

// admission decides what may start, and what may be claimed. It counts the handler slots, the lanes of handlers that have a
// concurrency limit, and the rows that wait: those in the prefetch channel and those aside.
//
// A row that was taken from the channel and may not start, because its lane is full, is put aside: so it does not keep back the
// rows of other types behind it. It is still prefetched in every other respect: it counts in the bound, is renewed by
// heartbeats, and is released by a stop. Rows beyond their lane's limit may take at most half of the bound, and a
// lane that has enough of them is left out of claims, so that there is always room for other types.
type admission struct {
	// changed has a mark when something has become possible: a slot or a lane is free, or the number of slots was set.
	changed chan struct{}

	mu      sync.Mutex
	slots   int // handlers that may run at a time
	used    int // slots taken
	bound   int // of rows that wait
	waiting int // rows that wait, in the channel and aside
	aside   []*heldJob
	lanes   map[*registeredHandler]*lane // of handlers with a limit
}

func newAdmission(slots, bound int) *admission {
	return &admission{changed: make(chan struct{}, 1), slots: slots, bound: bound, lanes: make(map[*registeredHandler]*lane)}
}

// limit gives a handler a lane.
func (a *admission) limit(h *registeredHandler, n int) { a.lanes[h] = &lane{limit: n} }

func (a *admission) setSlots(n int) {
	a.mu.Lock()
	a.slots = n
	a.mu.Unlock()
	signal(a.changed)
}

func (a *admission) getSlots() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.slots
}

// slotFree reports whether a row may be taken from the channel at all.
func (a *admission) slotFree() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used < a.slots
}

// arrive counts a row that was claimed, before it is put into the channel.
func (a *admission) arrive(job *heldJob) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting++
	if l := a.lanes[job.handler]; l != nil {
		l.waiting++
	}
}

// admit takes a slot, and a place in its lane, for a row from the channel, or puts it aside.
func (a *admission) admit(job *heldJob) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.take(job) {
		return true
	}
	a.aside = append(a.aside, job)
	return false
}

// ready takes the first row that was put aside and may start now; nil: there is none.
func (a *admission) ready() *heldJob {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, job := range a.aside {
		if a.used >= a.slots {
			return nil
		}
		if a.take(job) {
			a.aside = slices.Delete(a.aside, i, i+1)
			return job
		}
	}
	return nil
}

func (a *admission) take(job *heldJob) bool {
	l := a.lanes[job.handler]
	if a.used >= a.slots || l != nil && l.running >= l.limit {
		return false
	}
	a.used++
	a.waiting--
	if l != nil {
		l.running++
		l.waiting--
	}
	return true
}

// leave gives back what a row took. It reports whether the claimer should look again, because the row's lane was left out and need not be any
// longer.
func (a *admission) leave(job *heldJob) (claimable bool) {
	a.mu.Lock()
	a.used--
	if l := a.lanes[job.handler]; l != nil {
		l.running--
		claimable = l.leftOut && l.excess() < a.enough(l)
	}
	a.mu.Unlock()
	signal(a.changed)
	return claimable
}

// enough is how many rows may wait for a lane without its being left out of claims: a row for each of its places, but not so many
// that a few lanes fill the bound.
func (a *admission) enough(l *lane) int { return min(l.limit, max(1, a.bound/4)) }

// room is how many rows may be claimed now, and the handlers whose types are to be left out of that claim. It is 0
// while less than half of the room that rows beyond their limits leave is free.
//
// A claim may return rows of one type only. So one that includes a lane asks for no more than the lane can start, and what rows beyond their limits may
// still take.
func (a *admission) room() (most int, leftOut map[*registeredHandler]bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	excess := 0
	for _, l := range a.lanes {
		excess += l.excess()
	}
	free := a.bound - a.waiting
	if free <= 0 || 2*free < a.bound-excess {
		return 0, nil
	}
	spare := max(0, a.bound/2-excess)
	leftOut = make(map[*registeredHandler]bool)
	slack := math.MaxInt
	for h, l := range a.lanes {
		l.leftOut = l.excess() >= a.enough(l) || l.slack() == 0 && spare == 0
		if l.leftOut {
			leftOut[h] = true
		} else {
			slack = min(slack, l.slack())
		}
	}
	if slack < free {
		free = min(free, spare+slack)
	}
	return free, leftOut
}
