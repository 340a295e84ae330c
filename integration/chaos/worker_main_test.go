package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/chokaq/chokaq/driver"
)

// behavior is a job's payload: what its handler does.
type behavior struct {
	Ms       int  `json:"ms"`       // how long an attempt takes
	Failures int  `json:"failures"` // attempts that fail before one succeeds
	Panics   bool `json:"panics"`   // they fail by panicking
	Blocks   bool `json:"blocks"`   // ignores its context and never returns
	Obeys    bool `json:"obeys"`    // returns when its context ends; otherwise it finishes what it began
}

// workerSettings are what a worker process gets in its environment.
type workerSettings struct {
	DSN    string
	Ledger string
	Grace  time.Duration
}

const settingsVariable = "CHOKAQ_CHAOS_SETTINGS"

// Exit statuses of a worker process, as those of chokaq-worker run.
const (
	exitClean       = 0
	exitError       = 1
	exitWorkRemains = 3
)

func workerMain() int {
	var settings workerSettings
	if err := json.Unmarshal([]byte(os.Getenv(settingsVariable)), &settings); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitError
	}
	encoder := zap.NewProductionEncoderConfig()
	encoder.EncodeTime = zapcore.ISO8601TimeEncoder
	log := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(encoder), zapcore.AddSync(os.Stderr), zap.DebugLevel))
	client, err := driver.Open(settings.DSN)
	if err != nil {
		log.Error("opening", zap.Error(err))
		return exitError
	}
	defer client.Close()
	worker, err := driver.NewWorker(client, driver.WorkerConfig{
		Queues: []string{"q"}, Handlers: 4, Prefetch: 8, PollIntervalMin: 5 * time.Millisecond, PollIntervalMax: 50 * time.Millisecond,
		HeartbeatInterval: 100 * time.Millisecond, CommandTimeout: 500 * time.Millisecond, CompletionDelay: time.Millisecond,
		WorkerShutdownGracePeriod: settings.Grace, PrefetchedJobReleaseTimeout: 300 * time.Millisecond, CancellationPeriod: 100 * time.Millisecond, FlushTimeout: 300 * time.Millisecond,
	}, log)
	if err != nil {
		log.Error("configuring", zap.Error(err))
		return exitError
	}
	book, err := os.OpenFile(settings.Ledger, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		log.Error("opening the ledger", zap.Error(err))
		return exitError
	}
	defer book.Close()
	driver.Handle(worker, "t", func(ctx context.Context, j *driver.Job[behavior]) error {
		write := func(what string) {
			if _, err := fmt.Fprintf(book, "%d %d %d %s\n", j.ID, j.RequeueCount, j.Attempt, what); err != nil {
				panic(err)
			}
		}
		write("began")
		return behave(ctx, j, write)
	}, driver.Backoff(func(int) time.Duration { return 20 * time.Millisecond }))

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	// The id goes to standard output, for the one who started this process: from now on it may be stopped.
	fmt.Println(worker.ID())
	err = worker.Run(ctx)
	switch {
	case err == nil:
		return exitClean
	case errors.Is(err, driver.ErrWorkRemains):
		log.Warn("work remains", zap.Error(err))
		return exitWorkRemains
	}
	log.Error("running", zap.Error(err))
	return exitError
}

// behave does what the job asks for, and writes how it ended.
func behave(ctx context.Context, j *driver.Job[behavior], write func(string)) error {
	if j.Args.Blocks {
		select {}
	}
	timer := time.NewTimer(time.Duration(j.Args.Ms) * time.Millisecond)
	defer timer.Stop()
	if j.Args.Obeys {
		select {
		case <-timer.C:
		case <-ctx.Done():
			write("interrupted")
			return context.Cause(ctx)
		}
	} else {
		<-timer.C
	}
	if j.Attempt <= j.Args.Failures {
		write("failed")
		if j.Args.Panics {
			panic("as told")
		}
		return errors.New("as told")
	}
	write("done")
	return nil
}
