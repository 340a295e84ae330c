package clock

import (
	"context"
	"sync"
	"time"
)

// Adjustable is a clock that runs with real time, and that a test can put forward,
// stop and let go on: for a server whose timeouts are minutes, in a test of seconds.
type Adjustable struct {
	mu      sync.Mutex
	m       *Manual   // the time that was reached when last looked at
	since   time.Time // real time then
	stopped bool
	alarm   *time.Timer // for the next timer that falls due
}

// NewAdjustable makes a clock that shows real time.
func NewAdjustable() *Adjustable {
	now := time.Now()
	return &Adjustable{m: NewManual(now), since: now}
}

// catchUp lets pass what passed in real time, then extra.
func (a *Adjustable) catchUp(extra time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.stopped {
		now := time.Now()
		extra += now.Sub(a.since)
		a.since = now
	}
	if extra > 0 {
		a.m.Advance(extra)
	}
	a.setAlarm()
}

// setAlarm wakes the clock when its next timer falls due; a.mu is held.
func (a *Adjustable) setAlarm() {
	if a.alarm != nil {
		a.alarm.Stop()
		a.alarm = nil
	}
	if d, ok := a.m.untilNext(); ok && !a.stopped {
		a.alarm = time.AfterFunc(d, func() { a.catchUp(0) })
	}
}

// Advance puts the clock forward. What falls due on the way fires now.
func (a *Adjustable) Advance(d time.Duration) {
	if d < 0 {
		panic("clock: Advance by a negative duration; StepWall steps the wall clock back")
	}
	a.catchUp(d)
}

// StepWall changes what the wall clock shows; nothing fires.
func (a *Adjustable) StepWall(d time.Duration) {
	a.catchUp(0)
	a.m.StepWall(d)
}

// Pause stops the clock, and Resume lets it go on from where it stopped.
func (a *Adjustable) Pause() {
	a.catchUp(0)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	a.setAlarm()
}

// Resume lets a paused clock go on.
func (a *Adjustable) Resume() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		a.stopped = false
		a.since = time.Now()
	}
	a.setAlarm()
}

// Now is the wall clock.
func (a *Adjustable) Now() time.Time {
	a.catchUp(0)
	return a.m.Now()
}

// Monotonic is the time since the clock was made, with everything it was put forward.
func (a *Adjustable) Monotonic() time.Duration {
	a.catchUp(0)
	return a.m.Monotonic()
}

// BlockUntil returns when at least n timers, tickers and sleeps run.
func (a *Adjustable) BlockUntil(ctx context.Context, n int) error { return a.m.BlockUntil(ctx, n) }

// NewTimer makes a timer that fires d from now.
func (a *Adjustable) NewTimer(d time.Duration) Timer {
	a.catchUp(0)
	t := adjustableTimer{a.m.NewTimer(d), a}
	a.catchUp(0)
	return t
}

// NewTicker makes a ticker.
func (a *Adjustable) NewTicker(d time.Duration) Ticker {
	a.catchUp(0)
	t := adjustableTicker{a.m.NewTicker(d), a}
	a.catchUp(0)
	return t
}

// After is the channel of a new timer.
func (a *Adjustable) After(d time.Duration) <-chan time.Time { return a.NewTimer(d).C() }

// Sleep waits for d of this clock.
func (a *Adjustable) Sleep(ctx context.Context, d time.Duration) error { return sleep(ctx, a, d) }

type adjustableTimer struct {
	Timer
	a *Adjustable
}

func (t adjustableTimer) Reset(d time.Duration) bool {
	t.a.catchUp(0)
	was := t.Timer.Reset(d)
	t.a.catchUp(0)
	return was
}

type adjustableTicker struct {
	Ticker
	a *Adjustable
}

func (t adjustableTicker) Reset(d time.Duration) {
	t.a.catchUp(0)
	t.Ticker.Reset(d)
	t.a.catchUp(0)
}
