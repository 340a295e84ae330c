package storage

import "time"

// Clock is where lock timeouts take their time from; tests inject their own.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f in its own goroutine after d. The returned function stops it.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// SystemClock is the clock of the machine.
type SystemClock struct{}

// Now returns the current time.
func (SystemClock) Now() time.Time { return time.Now() }

// AfterFunc is time.AfterFunc.
func (SystemClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}
