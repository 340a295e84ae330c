package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// signals turns SIGTERM, SIGINT and SIGHUP (the terminal is gone) into the end of a context, and a second one into the end of the process.
type signals struct {
	atOnce chan func() // holds what is to be done before the process ends at once
}

// errSignal is why the context of a command ended.
type errSignal struct{ os.Signal }

// Error names the signal as those do who send it: SIGTERM.
func (e errSignal) Error() string {
	switch e.Signal {
	case syscall.SIGTERM:
		return "SIGTERM"
	case os.Interrupt:
		return "SIGINT"
	case syscall.SIGHUP:
		return "SIGHUP"
	}
	return "signal: " + e.String()
}

// oneStop is how close together two signals are one: senders such as timeout(1) signal the process and then its process group.
const oneStop = time.Second

// watchSignals returns a context that the first signal ends.
func (a *app) watchSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	a.signals = &signals{atOnce: make(chan func(), 1)}
	a.signals.atOnce <- func() {}
	received := make(chan os.Signal, 2)
	signal.Notify(received, syscall.SIGTERM, os.Interrupt)
	if !signal.Ignored(syscall.SIGHUP) { // nohup wants it ignored
		signal.Notify(received, syscall.SIGHUP)
	}
	done := make(chan struct{})
	go func() {
		var first time.Time
		for {
			select {
			case s := <-received:
				if first.IsZero() {
					first = time.Now()
					cancel(errSignal{s})
					continue
				}
				if time.Since(first) < oneStop {
					continue
				}
				before := <-a.signals.atOnce
				before()
				fmt.Fprintf(a.stderr, "chokaq-worker: a second signal (%v): exiting at once; what was held is left to recovery\n", s)
				a.exit(statusInterrupted)
				return
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(received)
		close(done)
		cancel(errors.New("the command has ended"))
	}
}

// before names what a second signal does before it ends the process.
func (s *signals) before(do func()) {
	<-s.atOnce
	s.atOnce <- do
}

// outliveReaders keeps a log or output that nobody reads any more from ending the process, as SIGPIPE does where it is not asked for: a worker must not die
// of the tee behind it, least of all in the middle of its stop. It is for the rest of the process. Programs that it starts have SIGPIPE as usual.
func outliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
