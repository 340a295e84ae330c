// Command embedded-worker is an application that runs its own handlers, and stops gracefully.
//
//	SHOP_DSN='sqlserver://shop_worker:secret@db1:1433?database=shop' go run ./examples/embedded-worker
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/chokaq/chokaq/driver"
	"github.com/chokaq/chokaq/examples/shop"
)

func main() {
	logger, err := zap.NewProduction()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// The first signal ends ctx, which starts the graceful stop. From then on signals do again what they do by default, so that a second one ends the process.
	ctx, restore := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, restore)

	err = run(ctx, os.Getenv("SHOP_DSN"), logger)
	_ = logger.Sync()
	switch {
	case errors.Is(err, driver.ErrWorkRemains): // what was left to recovery is named in the log
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run works until ctx ends. Give the process longer than WorkerConfig.ShutdownBound before it is killed: TimeoutStopSec, terminationGracePeriodSeconds.
func run(ctx context.Context, dsn string, logger *zap.Logger) (err error) {
	client, err := driver.Open(dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()

	worker, err := driver.NewWorker(client, driver.WorkerConfig{
		Queues: []string{shop.MailQueue}, Handlers: 4, WorkerShutdownGracePeriod: 20 * time.Second,
	}, logger)
	if err != nil {
		return err
	}
	worker.Use(logged(logger))
	shop.RegisterHandlers(worker, client.DB(), slowMail)
	return worker.Run(ctx) // it returns when the stop is over: only then may the client be closed
}

// logged is middleware: it sees every attempt, of whatever type.
func logged(logger *zap.Logger) func(driver.HandlerFunc) driver.HandlerFunc {
	return func(next driver.HandlerFunc) driver.HandlerFunc {
		return func(ctx context.Context, job driver.JobInfo) error {
			err := next(ctx, job)
			logger.Info("attempt", zap.Int64("job", job.ID), zap.String("type", job.Type), zap.Int("attempt", job.Attempt), zap.Error(err))
			return err
		}
	}
}

// slowMail stands for a mail server, and obeys its context.
func slowMail(ctx context.Context, to, text string) error {
	select {
	case <-time.After(50 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
