package reply

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chokaq/chokaq/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errStop, errRefused = errors.New("stop"), errors.New("refused")

// call answers what it is sent, whatever becomes of its context.
type call chan error

func (c call) run(context.Context) (int, error) {
	err := <-c
	return 17, err
}

type answered struct {
	value int
	err   error
}

// await runs Await on a clock that stands still, and returns what sends what it returns.
func await(ctx context.Context, c clock.Clock, run func(context.Context) (int, error)) <-chan answered {
	done := make(chan answered, 1)
	go func() {
		value, err := Await(ctx, c, func(cause error) time.Duration {
			if cause == errStop {
				return 0
			}
			return Grace(cause)
		}, run)
		done <- answered{value, err}
	}()
	return done
}

func TestACallThatAnswers(t *testing.T) {
	for _, want := range []error{nil, errRefused} {
		c := make(call, 1)
		c <- want
		if got := <-await(t.Context(), clock.NewManual(time.Now()), c.run); got != (answered{17, want}) {
			t.Errorf("%+v", got)
		}
	}
}

// A call that ends in the time it has for it is not given up.
func TestACallThatEndsInTime(t *testing.T) {
	m, c := clock.NewManual(time.Now()), make(call)
	ctx, cancel := context.WithCancel(t.Context())
	done := await(ctx, m, c.run)
	cancel()
	if err := m.BlockUntil(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	m.Advance(249 * time.Millisecond)
	c <- errRefused
	if got := <-done; got != (answered{17, errRefused}) {
		t.Errorf("%+v", got)
	}
}

func TestACallThatDoesNotComeBack(t *testing.T) {
	m, c := clock.NewManual(time.Now()), make(call)
	defer close(c) // it goes on by itself
	ctx, cancel := context.WithCancel(t.Context())
	done := await(ctx, m, c.run)
	cancel()
	if err := m.BlockUntil(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-done:
		t.Fatalf("too soon: %+v", got)
	default:
	}
	m.Advance(250 * time.Millisecond)
	if got := <-done; got.value != 0 || !errors.Is(got.err, ErrNone) || !errors.Is(got.err, context.Canceled) || got.err.Error() != "no answer came: context canceled" {
		t.Errorf("%+v", got)
	}
}

// Where there is no time left, none is waited for: the clock stands still.
func TestACallThatHasNoTimeLeft(t *testing.T) {
	c := make(call)
	defer close(c)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := await(ctx, clock.NewManual(time.Now()), c.run)
	cancel(errStop)
	if got := <-done; !errors.Is(got.err, ErrNone) {
		t.Errorf("%+v", got)
	}
}

// A call is told of the end by its context.
func TestACallThatObeys(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	done := await(ctx, clock.NewManual(time.Now()), func(ctx context.Context) (int, error) {
		<-ctx.Done()
		return 0, context.Cause(ctx)
	})
	cancel(errRefused)
	if got := <-done; got.err != errRefused {
		t.Errorf("%+v", got)
	}
}
