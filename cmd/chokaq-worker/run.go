package main

import (
	"errors"
	"fmt"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/config"
	"github.com/chokaq/chokaq/driver"
)

func (a *app) runCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "run", Short: "Run a worker: a program or an HTTP request for each job", Args: noArgs,
		Long: `Claims jobs and runs a program for each, or sends it to an HTTP endpoint. Only jobs of the types that have a handler are claimed.
A handler names the program of a job type; type * is every type that has no other handler:

  --handler 'TYPE=PROGRAM ARGUMENTS'
  --handler 'TYPE[timeout=1m,safe-to-retry,reject=65]=PROGRAM ARGUMENTS'

It is split into words as a shell would, quotes and backslashes honored; no shell runs. Repeat the flag for more types, or set CHOKAQ_HANDLER with
one handler a line. Options:
  timeout=DURATION   one attempt may take this long; then the program is canceled
  max-attempts=N     attempts of a job, whatever it was enqueued with
  backoff=WAIT       wait after a failed attempt: 30s, or 5s..1h, doubled with every attempt (default 5s..1h)
  concurrency=N      at most so many jobs of the type at a time in this worker
  safe-to-retry      repeating an attempt does no harm: one that a shutdown cuts short is tried again instead of dead-lettered
  reject=STATUS      this exit status dead-letters the job at once

--handlers-file names a YAML file of handlers, with the same settings, programs and HTTP endpoints (POST: 2xx is done; 408, 425, 429, 5xx and no
answer are tried again; another status is dead at once). docs/handlers.md has both; --check validates them and prints what would be run.

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
	config.Bind(c.Flags(), &config.Worker{}, "dsn", "dsn-file") // every command has these
	check := c.Flags().Bool("check", false, "validate the settings and handlers, print what would be run, and run nothing")
	c.RunE = func(c *cobra.Command, _ []string) error { return a.run(c, *check) }
	return c
}

// run runs a worker; with check it only says what it would run.
func (a *app) run(c *cobra.Command, check bool) (err error) {
	var settings config.Worker
	faults := config.Load(a.environ, c.Flags(), &settings)
	logger, more := a.newLogger(settings.Logging)
	faults = append(faults, more...)
	if err := settings.CheckAdmin(); err != nil {
		faults = append(faults, err)
	}
	handlers, more := a.readHandlers(&settings)
	faults = append(faults, more...)
	if check && settings.DSN == "" {
		settings.DSN = "sqlserver://localhost?database=none" // a check connects to none
	}
	if settings.WorkerConfig.Version == "" {
		settings.WorkerConfig.Version = version
	}
	reports, err := a.newTelemetry(c.Context(), logger)
	if err != nil {
		return usageError{err}
	}
	defer func() {
		if err := reports.stop(); err != nil {
			logger.Warn("the last traces could not be sent", zap.String("event", "telemetry.unsent"), zap.Error(err))
		}
	}()
	worker, client, more := newWorker(settings, reports.forDriver(), logger)
	faults = append(faults, more...)
	r := a.newRunners(settings, logger)
	defer r.close()
	if worker != nil {
		for _, h := range handlers {
			r.register(worker, h)
		}
		if err := worker.CheckHandlers(); err != nil && len(handlers) > 0 {
			faults = append(faults, config.Translate(err)...)
		}
	}
	if len(faults) > 0 {
		if client != nil {
			_ = client.Close()
		}
		return config.Faults(faults)
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	defer func() { _ = logger.Sync() }() // a terminal cannot be synced

	if check {
		return a.printHandlers(handlers)
	}
	outliveReaders()
	if settings.AdminAddr != "" {
		port, err := serveAdmin(settings.AdminAddr, settings.AdminPprof, worker, reports.registry, logger)
		if err != nil {
			return err
		}
		defer port.stop()
	}
	stopTelling := a.tellSystemd(c.Context(), worker, logger)
	err = worker.Run(c.Context())
	stopTelling()
	if errors.Is(err, driver.ErrConfig) {
		return config.Faults(config.Translate(err))
	}
	if e, ok := errors.AsType[mssql.Error](err); ok && (e.Number == 229 || e.Number == 230) && !errors.Is(err, driver.ErrSchema) {
		return fmt.Errorf("this login may not run a worker, and nothing was claimed; make its user a member of chokaq_worker: %w", err)
	}
	return explain(settings.Connection, err)
}

// newWorker makes the worker, or lists what is wrong with its settings.
func newWorker(settings config.Worker, reports driver.Telemetry, logger *zap.Logger) (*driver.Worker, *driver.Client, []error) {
	var faults []error
	if err := settings.CheckDSN(); err != nil {
		faults = append(faults, err)
		settings.DSN = "sqlserver://localhost?database=none" // to check the rest; it is not connected to
	}
	client, err := driver.Open(settings.DSN)
	if err != nil {
		return nil, nil, append(faults, err)
	}
	if err := client.SetTelemetry(reports); err != nil {
		return nil, client, append(faults, err)
	}
	worker, err := driver.NewWorker(client, settings.WorkerConfig, logger)
	if err != nil {
		faults = append(faults, config.Translate(err)...)
	}
	return worker, client, faults
}
