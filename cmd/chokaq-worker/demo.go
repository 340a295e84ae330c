package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/config"
	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/demo"
)

func (a *app) demoCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use: "demo", Short: "Show the whole life of the queue on files, without SQL Server", Args: noArgs,
		Long: `Enqueues a job for each file under a folder and runs worker processes on a stand-in for SQL Server. In the middle one worker is stopped with
SIGTERM and another killed with SIGKILL; recovery and an operator put things in order; and at the end the books are balanced: no job is
lost, and none ran twice unless the operator had decided that. Takes less than a minute and no network. Status 0: they balance.`,
		Example: "  chokaq-worker demo --dir /usr/share/doc",
	}
	c.Flags().StringVar(&dir, "dir", ".", "folder whose files are worked on; they are only read")
	c.RunE = func(c *cobra.Command, _ []string) error {
		err := demo.Run(c.Context(), demo.Options{
			Dir: dir, Environ: a.environ, Out: a.stdout, Before: a.signals.before,
			Table: func(headings []string, rows [][]string) error { return a.printTable(a.stdout, headings, rows) },
		})
		if errors.Is(err, demo.ErrNoFiles) {
			return usageError{err}
		}
		return interrupted(c.Context(), err)
	}
	return c
}

// demoWorkerCommand is the worker process of the demo.
func (a *app) demoWorkerCommand() *cobra.Command {
	var o demo.WorkerOptions
	c := &cobra.Command{Use: "demo-worker", Short: "A worker process of the demo", Hidden: true, Args: noArgs}
	c.Flags().StringVar(&o.Ledger, "ledger", "", "file to append to")
	c.Flags().IntVar(&o.Handlers, "handlers", 1, "handler slots")
	c.Flags().IntVar(&o.Prefetch, "prefetch", 1, "prefetch")
	c.Flags().DurationVar(&o.Pause, "pause", 10*time.Millisecond, "least time of a job")
	c.RunE = func(c *cobra.Command, _ []string) error {
		settings, err := a.connection(c)
		if err != nil {
			return err
		}
		o.DSN = settings.DSN
		logger, _ := a.newLogger(config.Logging{Format: "json"})
		a.exitWithParent()
		return demo.RunWorker(c.Context(), o, version, logger)
	}
	return c
}

// exitWithParent ends this process at once when the one that holds the other end of its standard input does.
func (a *app) exitWithParent() {
	go func() {
		_, _ = io.Copy(io.Discard, a.stdin)
		a.exit(statusInterrupted)
	}()
}

// untilStdinEnds is a context that ends with standard input.
func (a *app) untilStdinEnds(parent context.Context) context.Context {
	ctx, cancel := context.WithCancel(parent)
	go func() {
		_, _ = io.Copy(io.Discard, a.stdin)
		cancel()
	}()
	return ctx
}
