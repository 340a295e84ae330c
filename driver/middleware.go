package driver

import (
	"context"
	"fmt"
	"slices"
)

// HandlerFunc is a handler as middleware sees it: with the job's facts and its payload as stored. It returns what the handler returned; see [Handle]
// for what errors mean.
type HandlerFunc func(ctx context.Context, job JobInfo) error

// Use wraps the handlers of every type, for logging, tracing, transactions and the like. The first one added is outermost: it is called first, and sees
// the error last. Use may be called before or after [Handle], but not after Run: that is a fault in the program, and panics.
//
// Middleware runs once an attempt, inside the type's [Timeout]. next returns the handler's error: a payload that does not decode (Rejected), a
// panic of what is inside (ErrPanic, with its stack), a call of runtime.Goexit. Middleware may replace the error, keeping its meaning by
// wrapping it, or return without calling next. It should call next at most once, and not after it has returned. A panic of middleware
// itself is the error of those outside it. What it puts into the context reaches the handler.
func (w *Worker) Use(middleware ...func(next HandlerFunc) HandlerFunc) {
	if w.state.started() {
		panic("chokaq: Use after Run")
	}
	for _, wrap := range middleware {
		if wrap == nil {
			w.faults = append(w.faults, fmt.Errorf("Use: the middleware is nil"))
			continue
		}
		w.middleware = append(w.middleware, wrap)
	}
}

// wrapHandlers applies the middleware.
func (w *Worker) wrapHandlers() {
	for _, h := range w.allHandlers() {
		for _, wrap := range slices.Backward(w.middleware) {
			inner := h.run
			h.run = wrap(func(ctx context.Context, job JobInfo) error { return runGuarded(ctx, inner, job) })
			if h.run == nil {
				h.run = func(context.Context, JobInfo) error {
					return fmt.Errorf("chokaq: a middleware has returned a nil handler")
				}
			}
		}
	}
}
