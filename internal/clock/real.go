package clock

import (
	"context"
	"time"
)

// Real is the computer's clock.
func Real() Clock { return realClock{} }

type realClock struct{}

var start = time.Now()

func (realClock) Now() time.Time           { return time.Now() }
func (realClock) Monotonic() time.Duration { return time.Since(start) }

func (realClock) NewTimer(d time.Duration) Timer   { return realTimer{time.NewTimer(d)} }
func (realClock) NewTicker(d time.Duration) Ticker { return realTicker{time.NewTicker(d)} }

func (realClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

func (c realClock) Sleep(ctx context.Context, d time.Duration) error { return sleep(ctx, c, d) }

type realTimer struct{ *time.Timer }

func (t realTimer) C() <-chan time.Time { return t.Timer.C }

type realTicker struct{ *time.Ticker }

func (t realTicker) C() <-chan time.Time { return t.Ticker.C }
