package driver

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
)

// errGoexit: the handler ended its goroutine with runtime.Goexit, as a test's FailNow does.
var errGoexit = errors.New("chokaq: the handler called runtime.Goexit")

// runGuarded runs a handler in a goroutine of its own, so that neither a panic nor runtime.Goexit takes the worker's
// bookkeeping with it.
func runGuarded(ctx context.Context, run func(context.Context, JobInfo) error, info JobInfo) error {
	done := make(chan error, 1)
	go func() {
		err := errGoexit
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("%w: %v\n%s", ErrPanic, r, debug.Stack())
			}
			done <- err
		}()
		err = run(ctx, info)
	}()
	return <-done
}
