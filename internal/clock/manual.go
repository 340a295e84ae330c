package clock

import (
	"context"
	"sync"
	"time"

	"github.com/tidwall/btree"
)

// Manual is a clock that stands still until a test moves it.
//
// Everything that waits on it (a timer, a ticker, a Sleep) is a waiter until it has
// fired or been stopped; a test that must not move time too early waits for the
// waiters with BlockUntil.
type Manual struct {
	mu      sync.Mutex
	wall    time.Time
	mono    time.Duration
	seq     uint64
	waiters *btree.BTreeG[*manualTimer]
	changed chan struct{} // closed and replaced whenever waiters changes
}

// NewManual makes a clock that shows now.
func NewManual(now time.Time) *Manual {
	return &Manual{
		wall: now.Round(0), // without a monotonic reading: differences of Now follow the manual wall clock
		waiters: btree.NewBTreeGOptions(func(a, b *manualTimer) bool {
			if a.due != b.due {
				return a.due < b.due
			}
			return a.seq < b.seq
		}, btree.Options{NoLocks: true}),
		changed: make(chan struct{}),
	}
}

// Now is the wall clock.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wall
}

// Monotonic is the sum of all Advances.
func (m *Manual) Monotonic() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mono
}

// Advance moves time on by d. Timers that fall due fire in the order of their due times,
// and each sees the clock at its own due time.
func (m *Manual) Advance(d time.Duration) {
	if d < 0 {
		panic("clock: Advance by a negative duration; StepWall steps the wall clock back")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	end := m.mono + d
	for {
		t, ok := m.waiters.Min()
		if !ok || t.due > end {
			break
		}
		m.moveTo(max(t.due, m.mono))
		t.fire()
	}
	m.moveTo(end)
}

func (m *Manual) moveTo(mono time.Duration) {
	m.wall = m.wall.Add(mono - m.mono)
	m.mono = mono
}

// Set advances the clock until the wall shows t.
func (m *Manual) Set(t time.Time) { m.Advance(t.Sub(m.Now())) }

// AdvanceToNext moves time on to the next timer that is due, fires it, and answers
// how far that was; without any timer it does nothing and answers false.
func (m *Manual) AdvanceToNext() (time.Duration, bool) {
	d, ok := m.untilNext()
	if ok {
		m.Advance(d)
	}
	return d, ok
}

// untilNext is how far off the next timer is.
func (m *Manual) untilNext() (time.Duration, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.waiters.Min()
	if !ok {
		return 0, false
	}
	return max(t.due-m.mono, 0), true
}

// StepWall changes what the wall clock shows, as an administrator or NTP does. Nothing fires.
func (m *Manual) StepWall(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wall = m.wall.Add(d)
}

// Waiters is the number of timers, tickers and sleeps that run.
func (m *Manual) Waiters() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiters.Len()
}

// BlockUntil returns when at least n waiters run, or with the cause of the end of ctx.
func (m *Manual) BlockUntil(ctx context.Context, n int) error {
	for {
		m.mu.Lock()
		enough, changed := m.waiters.Len() >= n, m.changed
		m.mu.Unlock()
		if enough {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// NewTimer makes a timer that fires d from now; at once if d is not positive.
func (m *Manual) NewTimer(d time.Duration) Timer {
	t := &manualTimer{clock: m, c: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

// NewTicker makes a ticker. A tick that nobody has received yet takes the place of the next.
func (m *Manual) NewTicker(d time.Duration) Ticker {
	if d <= 0 {
		panic("clock: NewTicker needs a positive interval")
	}
	t := &manualTimer{clock: m, c: make(chan time.Time, 1), every: d}
	t.Reset(d)
	return manualTicker{t}
}

// After is the channel of a new timer.
func (m *Manual) After(d time.Duration) <-chan time.Time { return m.NewTimer(d).C() }

// Sleep waits for d of this clock.
func (m *Manual) Sleep(ctx context.Context, d time.Duration) error { return sleep(ctx, m, d) }

type manualTimer struct {
	clock   *Manual
	c       chan time.Time
	due     time.Duration
	seq     uint64
	every   time.Duration // of a ticker
	running bool
}

func (t *manualTimer) C() <-chan time.Time { return t.c }

func (t *manualTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.stop()
}

func (t *manualTimer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	was := t.stop()
	if t.every > 0 {
		t.every = d
	}
	t.start(t.clock.mono + d)
	if d <= 0 {
		t.fire()
	}
	return was
}

func (t *manualTimer) start(due time.Duration) {
	m := t.clock
	m.seq++
	t.due, t.seq, t.running = due, m.seq, true
	m.waiters.Set(t)
	m.notify()
}

// stop also takes back a time that was sent but not received.
func (t *manualTimer) stop() bool {
	was := t.remove()
	select {
	case <-t.c:
	default:
	}
	return was
}

func (t *manualTimer) remove() bool {
	if !t.running {
		return false
	}
	t.running = false
	t.clock.waiters.Delete(t)
	t.clock.notify()
	return true
}

func (t *manualTimer) fire() {
	t.remove()
	select {
	case t.c <- t.clock.wall:
	default:
	}
	if t.every > 0 {
		t.start(t.due + t.every)
	}
}

func (m *Manual) notify() {
	close(m.changed)
	m.changed = make(chan struct{})
}

type manualTicker struct{ t *manualTimer }

func (t manualTicker) C() <-chan time.Time { return t.t.c }
func (t manualTicker) Stop()               { t.t.Stop() }

func (t manualTicker) Reset(d time.Duration) {
	if d <= 0 {
		panic("clock: Reset needs a positive interval")
	}
	t.t.Reset(d)
}
