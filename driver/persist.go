package driver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/chokaq/chokaq/internal/clock"
)

// persist calls until the call succeeds or ctx ends. Every call of a worker is safe to repeat, because of the claim tokens; so a database
// that is down for an hour is a worker that waits an hour and goes on. The attempts are bounded in time, spaced by a
// growing, jittered wait, and logged when the state changes, not each.
func persist[T any](ctx context.Context, w *Worker, call func(context.Context) (T, error)) (T, error) {
	return persistUnless(ctx, w, func(error) bool { return false }, call)
}

// persistUnless is persist that also ends with an error that giveUp accepts, which says nothing about the database's health.
func persistUnless[T any](ctx context.Context, w *Worker, giveUp func(error) bool, call func(context.Context) (T, error)) (T, error) {
	return repeat(ctx, w, giveUp, func(ctx context.Context) (T, error) {
		return attempt(ctx, w.clock, w.config.CommandTimeout, call)
	})
}

// repeat is persistUnless for attempts that bound themselves in time.
func repeat[T any](ctx context.Context, w *Worker, giveUp func(error) bool, attempt func(context.Context) (T, error)) (T, error) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 100*time.Millisecond, 10*time.Second
	for {
		result, err := attempt(ctx)
		if err == nil {
			w.health.record(nil)
			return result, nil
		}
		if ctx.Err() != nil || giveUp(err) {
			return result, err
		}
		w.health.record(err)
		if ended := w.clock.Sleep(ctx, wait.NextBackOff()); ended != nil {
			return result, err
		}
	}
}

// attempt is one call, bounded in time. The cause of a context that ended is in the error.
func attempt[T any](ctx context.Context, c clock.Clock, timeout time.Duration, call func(context.Context) (T, error)) (T, error) {
	ctx, stop := withTimeout(ctx, c, timeout, errCallTimeout)
	defer stop()
	result, err := call(ctx)
	if err != nil && ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		err = fmt.Errorf("%w (%w)", err, context.Cause(ctx))
	}
	return result, err
}

// withTimeout is context.WithTimeoutCause on an injected clock. The context's Err is context.Canceled when it passes. Its Deadline is for the network,
// which compares it with this computer's time, and not with the clock's, which may show another.
func withTimeout(parent context.Context, c clock.Clock, d time.Duration, cause error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	timer := c.NewTimer(d)
	go func() {
		defer timer.Stop()
		select {
		case <-timer.C():
			cancel(cause)
		case <-ctx.Done():
		}
	}()
	return deadlineContext{ctx, time.Now().Add(d)}, func() { cancel(context.Canceled) }
}

type deadlineContext struct {
	context.Context
	deadline time.Time
}

// Deadline is the sooner of this timeout's and the parent's.
func (c deadlineContext) Deadline() (time.Time, bool) {
	if parent, ok := c.Context.Deadline(); ok && parent.Before(c.deadline) {
		return parent, true
	}
	return c.deadline, true
}
