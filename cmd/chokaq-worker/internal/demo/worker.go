package demo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/chokaq/chokaq/driver"
)

const (
	queue   = "demo"
	jobType = "hash_file"
)

// WorkerOptions are what the demo tells a worker process.
type WorkerOptions struct {
	DSN      string
	Ledger   string
	Handlers int
	Prefetch int
	Pause    time.Duration // how long a job takes at least
}

// RunWorker is a worker process of the demo: it hashes files until ctx ends.
func RunWorker(ctx context.Context, o WorkerOptions, version string, log *zap.Logger) (err error) {
	ledger, err := os.OpenFile(o.Ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()
	client, err := driver.Open(o.DSN)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	worker, err := driver.NewWorker(client, driver.WorkerConfig{
		Queues: []string{queue}, Handlers: o.Handlers, Prefetch: o.Prefetch, Version: version,
		PollIntervalMin: 50 * time.Millisecond, PollIntervalMax: 200 * time.Millisecond, HeartbeatInterval: 500 * time.Millisecond,
		WorkerShutdownGracePeriod: 10 * time.Second,
	}, log)
	if err != nil {
		return err
	}
	driver.Handle(worker, jobType, func(ctx context.Context, job *driver.Job[file]) error {
		sum, err := hash(job.Args.path())
		if err != nil {
			return driver.Reject(err) // the file has gone since it was listed
		}
		// The pause lies before the side effect in one job and after it in the next, so that a worker which is killed has jobs on
		// either side of it.
		early := o.Pause / 8
		if job.ID%2 == 0 {
			early = o.Pause - early
		}
		time.Sleep(early)
		err = entry{JobID: job.ID, Attempt: job.Attempt, File: job.Args.Name, SHA256: sum, WorkerPID: os.Getpid()}.write(ledger)
		time.Sleep(o.Pause - early)
		return err
	})
	return worker.Run(ctx)
}

func hash(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, 2*largestFile)); err != nil {
		return "", fmt.Errorf("reading %q: %w", name, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
