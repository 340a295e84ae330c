package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/chokaq/chokaq/driver"
	"github.com/chokaq/chokaq/internal/clock"
	"github.com/chokaq/chokaq/internal/clockhook"
)

// behavior is a job's payload: what its handler does.
type behavior struct {
	Ms       int  `json:"ms"`       // how long an attempt takes
	Failures int  `json:"failures"` // attempts that fail before one succeeds
	Panics   bool `json:"panics"`   // they fail by panicking
	Blocks   bool `json:"blocks"`   // ignores its context and never returns
	Obeys    bool `json:"obeys"`    // returns when its context ends; otherwise it finishes what it began
	Kills    bool `json:"kills"`    // kills its worker process, each time
}

// workerSettings are what a worker process gets in its environment.
type workerSettings struct {
	DSN         string
	Ledger      string
	Grace       time.Duration
	SafeToRetry bool
}

const settingsVariable = "CHOKAQ_CHAOS_SETTINGS"

// Exit statuses of a worker process, as those of chokaq-worker run.
const (
	exitClean       = 0
	exitError       = 1
	exitWorkRemains = 3
	exitLeaks       = 70 // goroutines are left
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
	wall := clock.NewAdjustable()
	clockhook.Set(client, wall)
	go stepClock(wall)
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
	options := []driver.HandlerOption{driver.Backoff(func(int) time.Duration { return 20 * time.Millisecond })}
	if settings.SafeToRetry {
		options = append(options, driver.SafeToRetry())
	}
	driver.Handle(worker, "t", func(ctx context.Context, j *driver.Job[behavior]) error {
		write := func(what string) {
			if _, err := fmt.Fprintf(book, "%d %d %d %s\n", j.ID, j.RequeueCount, j.Attempt, what); err != nil {
				panic(err)
			}
		}
		write("began")
		return behave(ctx, j, write)
	}, options...)

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	// The id goes to standard output, for the one who started this process: from now on it may be stopped.
	fmt.Println(worker.ID())
	err = worker.Run(ctx)
	fmt.Println(stoppedLine)
	if closing := client.Close(); closing != nil {
		log.Error("closing", zap.Error(closing))
		return exitError
	}
	stop()
	signal.Reset(syscall.SIGTERM)
	switch {
	case err == nil:
		if left := leaks(); left != nil {
			log.Error("the worker has stopped and leaves goroutines", zap.Error(left))
			return exitLeaks
		}
		return exitClean
	case errors.Is(err, driver.ErrWorkRemains):
		log.Warn("work remains", zap.Error(err))
		return exitWorkRemains
	}
	log.Error("running", zap.Error(err))
	return exitError
}

// stoppedLine on standard output says that Run has returned.
const stoppedLine = "stopped"

// stepClock steps the wall clock that the worker sees by each duration on standard input.
func stepClock(wall *clock.Adjustable) {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if d, err := time.ParseDuration(lines.Text()); err == nil {
			wall.StepWall(d)
			fmt.Println("stepped", wall.Now().Format(time.RFC3339))
		}
	}
}

// leaks waits for the goroutines of a worker that has stopped to end: some of go-mssqldb's end with their connections.
func leaks() (err error) {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if err = goleak.Find(goleak.IgnoreAnyFunction("github.com/chokaq/chokaq/integration/chaos.stepClock"), goleak.IgnoreTopFunction("os/signal.signal_recv"), goleak.IgnoreAnyFunction("os/signal.loop")); err == nil {
			return nil
		}
	}
	return err
}

// behave does what the job asks for, and writes how it ended.
func behave(ctx context.Context, j *driver.Job[behavior], write func(string)) error {
	switch {
	case j.Args.Blocks:
		select {}
	case j.Args.Kills:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
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
