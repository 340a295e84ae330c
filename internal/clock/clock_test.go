package clock

import (
	"context"
	"errors"
	"testing"
	"time"
)

var noon = time.Date(2024, 5, 6, 12, 0, 0, 0, time.UTC)

func TestManualFiresInOrderAndOnTime(t *testing.T) {
	m := NewManual(noon)
	late, soon := m.NewTimer(3*time.Second), m.NewTimer(time.Second)
	m.Advance(999 * time.Millisecond)
	select {
	case <-soon.C():
		t.Fatal("fired early")
	default:
	}
	m.Advance(10 * time.Second)
	if at := <-soon.C(); !at.Equal(noon.Add(time.Second)) {
		t.Errorf("first timer saw %v", at)
	}
	if at := <-late.C(); !at.Equal(noon.Add(3 * time.Second)) {
		t.Errorf("second timer saw %v", at)
	}
	if m.Waiters() != 0 {
		t.Errorf("%d waiters left", m.Waiters())
	}
}

func TestStoppedTimerIsSilent(t *testing.T) {
	m := NewManual(noon)
	timer := m.NewTimer(time.Second)
	m.Advance(time.Second)
	if timer.Stop() {
		t.Error("a timer that has fired says it was running")
	}
	select {
	case <-timer.C():
		t.Error("a time is received after Stop")
	default:
	}
	if timer.Reset(time.Second) {
		t.Error("Reset of a stopped timer says it was running")
	}
	m.Advance(time.Second)
	<-timer.C()
}

func TestTicker(t *testing.T) {
	m := NewManual(noon)
	ticker := m.NewTicker(time.Second)
	for i := 1; i <= 3; i++ {
		m.Advance(time.Second)
		if at := <-ticker.C(); !at.Equal(noon.Add(time.Duration(i) * time.Second)) {
			t.Errorf("tick %d at %v", i, at)
		}
	}
	m.Advance(5 * time.Second) // ticks nobody receives are dropped
	<-ticker.C()
	select {
	case <-ticker.C():
		t.Error("a dropped tick came late")
	default:
	}
	ticker.Stop()
	if m.Waiters() != 0 {
		t.Error("a stopped ticker waits")
	}
}

func TestWallStepsLeaveTimersAlone(t *testing.T) {
	m := NewManual(noon)
	timer := m.NewTimer(time.Minute)
	m.StepWall(-time.Hour)
	m.Advance(time.Minute)
	<-timer.C()
	if m.Monotonic() != time.Minute {
		t.Errorf("monotonic time is %v", m.Monotonic())
	}
	if !m.Now().Equal(noon.Add(-59 * time.Minute)) {
		t.Errorf("wall shows %v", m.Now())
	}
}

func TestSleepAndBlockUntil(t *testing.T) {
	ctx := t.Context()
	m := NewManual(noon)
	done := make(chan error)
	for range 3 {
		go func() { done <- m.Sleep(ctx, time.Second) }()
	}
	if err := m.BlockUntil(ctx, 3); err != nil {
		t.Fatal(err)
	}
	m.Advance(time.Second)
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}

	boom := errors.New("boom")
	canceled, cancel := context.WithCancelCause(ctx)
	go func() { done <- m.Sleep(canceled, time.Hour) }()
	if err := m.BlockUntil(ctx, 1); err != nil {
		t.Fatal(err)
	}
	cancel(boom)
	if err := <-done; !errors.Is(err, boom) {
		t.Errorf("sleep ended with %v", err)
	}
	if err := m.BlockUntil(canceled, 1); !errors.Is(err, boom) {
		t.Errorf("BlockUntil ended with %v", err)
	}
	if d, ok := m.AdvanceToNext(); ok {
		t.Errorf("something was due in %v", d)
	}
}

func TestAdjustable(t *testing.T) {
	a := NewAdjustable()
	if d := time.Since(a.Now()); d < 0 || d > time.Minute {
		t.Errorf("off by %v from the start", d)
	}
	<-a.After(time.Millisecond) // passes by itself

	far := a.NewTimer(time.Hour)
	ticker := a.NewTicker(time.Minute)
	a.Advance(time.Hour)
	<-far.C()
	<-ticker.C()
	ticker.Stop()
	if d := time.Until(a.Now()); d < 59*time.Minute {
		t.Errorf("put forward by %v only", d)
	}
	far.Reset(time.Millisecond)
	<-far.C()

	a.Pause()
	stands := a.Now()
	soon := a.NewTimer(time.Nanosecond)
	<-time.After(5 * time.Millisecond)
	select {
	case <-soon.C():
		t.Error("a timer fired while the clock stood still")
	default:
	}
	if !a.Now().Equal(stands) {
		t.Error("the clock moves though it is paused")
	}
	a.Advance(time.Second)
	<-soon.C()
	soon.Reset(time.Millisecond)
	a.Resume()
	<-soon.C()
	a.StepWall(-24 * time.Hour)
	if a.Now().After(stands) || a.Monotonic() < time.Hour {
		t.Error("the wall clock was not stepped back, or more than it was")
	}
}

func TestRealClock(t *testing.T) {
	c := Real()
	before := c.Monotonic()
	if err := c.Sleep(t.Context(), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if c.Monotonic()-before < time.Millisecond {
		t.Error("slept too short")
	}
	ticker := c.NewTicker(time.Millisecond)
	<-ticker.C()
	ticker.Stop()
	<-c.After(time.Millisecond)
}
