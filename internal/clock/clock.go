// Package clock is time as the driver and sqlsim see it, so that tests can turn it by hand.
package clock

import (
	"context"
	"time"
)

// Clock tells the time and wakes those who wait for it. Timers, tickers and sleeps run
// on monotonic time: a step of the wall clock neither fires nor delays them.
type Clock interface {
	// Now is the wall clock, which may step.
	Now() time.Time
	// Monotonic is the time since some fixed moment; it never steps. Intervals are measured with it.
	Monotonic() time.Duration
	NewTimer(d time.Duration) Timer
	NewTicker(d time.Duration) Ticker
	// After is NewTimer(d).C() where the timer need not be stopped.
	After(d time.Duration) <-chan time.Time
	// Sleep returns nil after d, or the cause of the end of ctx if that is sooner.
	Sleep(ctx context.Context, d time.Duration) error
}

// Timer is a time.Timer. After Stop or Reset, no earlier time is received from C.
type Timer interface {
	C() <-chan time.Time
	// Stop and Reset report whether the timer was still running.
	Stop() bool
	Reset(d time.Duration) bool
}

// Ticker is a time.Ticker.
type Ticker interface {
	C() <-chan time.Time
	Stop()
	Reset(d time.Duration)
}

// sleep is Sleep for any clock.
func sleep(ctx context.Context, c Clock, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	t := c.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
