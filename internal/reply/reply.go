// Package reply waits for what calls return, and gives up those that do not come back. go-mssqldb tells the server of the end of a context, and waits for
// its confirmation: a server that is frozen, or a network that swallows everything, does not give it, and the call goes on for as long as it likes.
package reply

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chokaq/chokaq/internal/clock"
)

// ErrNone is in the error of a call that was given up; what it was doing may have been done or not.
var ErrNone = errors.New("no answer came")

// Grace is how long a call that is told to end usually has for it: time for the way to a server and back.
func Grace(error) time.Duration { return 250 * time.Millisecond }

// Await makes a call and returns what it returns. When ctx has ended and the call has not, Await waits for it as long as grace says, which is asked with the
// cause of the end (not above 0: no longer), and then gives it up: the error is ErrNone with that of ctx. The call goes on by itself, and what it returns is lost.
func Await[T any](ctx context.Context, c clock.Clock, grace func(cause error) time.Duration, call func(context.Context) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := call(ctx)
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	timer := c.NewTimer(grace(context.Cause(ctx)))
	defer timer.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-timer.C():
		var none T
		return none, fmt.Errorf("%w: %w", ErrNone, ctx.Err())
	}
}
