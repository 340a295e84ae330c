package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/config"
	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/program"
	"github.com/chokaq/chokaq/driver"
)

func (a *app) runCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "run", Short: "Run a worker: a program for each job", Args: cobra.NoArgs,
		Long: `Claims jobs and runs a program for each. A handler names the program of a job type:

  --handler 'TYPE=PROGRAM ARGUMENTS'
  --handler 'TYPE[timeout=1m,safe-to-retry,reject=65]=PROGRAM ARGUMENTS'

It is split into words as a shell would, quotes and backslashes honored; no shell runs. Repeat the flag for more types, or set CHOKAQ_HANDLER with
one handler a line. Options:
  timeout=DURATION   one attempt may take this long; then the program is canceled
  safe-to-retry      repeating an attempt does no harm: one that a shutdown cuts short is tried again instead of dead-lettered
  reject=STATUS      this exit status dead-letters the job at once

The program gets the payload on standard input and the job's facts in CHOKAQ_JOB_ID, _TYPE, _QUEUE, _ATTEMPT, _MAX_ATTEMPTS, _REQUEUE_COUNT,
_PRIORITY, _ENQUEUED_AT, _DUE_AT, _IDEMPOTENCY_KEY and _HEADERS (JSON). It gets no other CHOKAQ_ variable. Its output goes to the log, line by line.

Its exit status decides:
  0           the job is done
  75          not now: tried again later; also after a shutdown cut it short (EX_TEMPFAIL)
  another     an error: tried again later until its attempts are used up, then dead; the last 2 KiB of standard error are kept
  by signal   an error too

A canceled program (shutdown, timeout, cancellation, lost ownership) gets SIGTERM, and SIGKILL after --program-kill-after; so does everything that it
has started in its process group. The first SIGTERM, SIGINT or SIGHUP to the worker stops it gracefully, a second one ends it at once (status 130) and kills
its programs. See docs/shutdown.md.

` + statusHelp,
		Example: `  export CHOKAQ_DSN='sqlserver://shop_worker:secret@db1:1433?database=shop'
  chokaq-worker run --queues mail,default --handler 'send_email[timeout=1m]=/usr/bin/mailer --to-stdin'`,
	}
	config.Bind(c.Flags(), &config.Worker{}, "dsn") // every command has that one
	c.RunE = func(c *cobra.Command, _ []string) error { return a.run(c) }
	return c
}

func (a *app) run(c *cobra.Command) (err error) {
	var settings config.Worker
	faults := config.Load(a.environ, c.Flags(), &settings)
	logger, more := a.newLogger(settings.Logging)
	faults = append(faults, more...)
	specs, more := handlerSpecs(&settings)
	faults = append(faults, more...)
	if settings.WorkerConfig.Version == "" {
		settings.WorkerConfig.Version = version
	}
	worker, client, more := newWorker(settings, logger)
	faults = append(faults, more...)
	if len(faults) > 0 {
		if client != nil {
			_ = client.Close()
		}
		return config.Faults(faults)
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	defer func() { _ = logger.Sync() }() // a terminal cannot be synced

	running := &program.Running{}
	a.signals.before(running.Kill)
	for _, spec := range specs {
		register(worker, &program.Runner{Spec: spec, KillAfter: settings.ProgramKillAfter, Environ: a.environ, Log: logger, Running: running})
	}
	if settings.HealthAddr != "" {
		stop, err := serveHealth(settings.HealthAddr, worker, logger)
		if err != nil {
			return err
		}
		defer stop()
	}
	err = worker.Run(c.Context())
	if errors.Is(err, driver.ErrConfig) {
		return config.Faults(config.Translate(err))
	}
	return explain(settings.Connection, err)
}

// newWorker makes the worker, or lists what is wrong with its settings.
func newWorker(settings config.Worker, logger *zap.Logger) (*driver.Worker, *driver.Client, []error) {
	var faults []error
	if err := settings.CheckDSN(); err != nil {
		faults = append(faults, err)
		settings.DSN = "sqlserver://localhost?database=none" // to check the rest; it is not connected to
	}
	client, err := driver.Open(settings.DSN)
	if err != nil {
		return nil, nil, append(faults, err)
	}
	worker, err := driver.NewWorker(client, settings.WorkerConfig, logger)
	if err != nil {
		faults = append(faults, config.Translate(err)...)
	}
	return worker, client, faults
}

// handlerSpecs reads the handlers, and settles how long canceled programs have.
func handlerSpecs(settings *config.Worker) ([]program.Spec, []error) {
	var faults []error
	if len(settings.Programs) == 0 {
		faults = append(faults, fmt.Errorf("CHOKAQ_HANDLER (--handler): is not set, and a worker needs one; accepted: %s", program.Form))
	}
	var specs []program.Spec
	types := make(map[string]bool)
	for _, text := range settings.Programs {
		spec, err := program.ParseSpec(text)
		if err == nil {
			err = checkName("job type", spec.JobType, 128)
		}
		if err == nil && types[spec.JobType] {
			err = fmt.Errorf("job type %q has a handler already", spec.JobType)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("CHOKAQ_HANDLER (--handler): %w", err))
			continue
		}
		types[spec.JobType] = true
		specs = append(specs, spec)
	}
	cancellation := settings.CancellationPeriod
	if cancellation <= 0 {
		cancellation = 5 * time.Second
	}
	switch {
	case settings.ProgramKillAfter == 0:
		settings.ProgramKillAfter = cancellation * 3 / 5
	case settings.ProgramKillAfter < 0 || settings.ProgramKillAfter >= cancellation:
		faults = append(faults, fmt.Errorf("CHOKAQ_PROGRAM_KILL_AFTER (--program-kill-after): %v is not above zero and below the cancellation period (%v, CHOKAQ_CANCELLATION_PERIOD): programs must be gone before the worker abandons them",
			settings.ProgramKillAfter, cancellation))
	}
	return specs, faults
}

func register(worker *driver.Worker, runner *program.Runner) {
	var options []driver.HandlerOption
	if runner.Timeout > 0 {
		options = append(options, driver.Timeout(runner.Timeout))
	}
	if runner.SafeToRetry {
		options = append(options, driver.SafeToRetry())
	}
	driver.Handle(worker, runner.JobType, func(ctx context.Context, job *driver.Job[json.RawMessage]) error {
		return runner.Run(ctx, job.JobInfo)
	}, options...)
}
