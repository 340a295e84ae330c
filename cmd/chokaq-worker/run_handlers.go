package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"go.uber.org/zap"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/config"
	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/handlerfile"
	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/jobtype"
	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/program"
	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/webhook"
	"github.com/chokaq/chokaq/driver"
)

// readHandlers reads the handlers of flags and file, and settles how long canceled programs have.
func (a *app) readHandlers(settings *config.Worker) ([]handlerfile.Handler, []error) {
	var faults []error
	var handlers []handlerfile.Handler
	misread := false
	from := make(map[string]string) // where the handler of a type is
	for _, text := range settings.Programs {
		spec, more := program.ParseSpec(text)
		misread = misread || len(more) > 0
		if from[spec.JobType] != "" {
			more = append(more, fmt.Errorf("job type %q has a handler already", spec.JobType))
		}
		if spec.JobType != "" {
			from[spec.JobType] = "CHOKAQ_HANDLER (--handler)"
		}
		for _, fault := range more {
			faults = append(faults, fmt.Errorf("CHOKAQ_HANDLER (--handler): %w", fault))
		}
		if len(more) == 0 {
			handlers = append(handlers, handlerfile.Handler{JobType: spec.JobType, Settings: spec.Settings, Program: &spec})
		}
	}
	if misread {
		faults = append(faults, fmt.Errorf("CHOKAQ_HANDLER (--handler): accepted: %s", program.Form))
	}
	if settings.HandlersFile != "" {
		inFile, more := handlerfile.Read(settings.HandlersFile, a.lookup)
		for _, h := range inFile {
			if other := from[h.JobType]; other != "" {
				more = append(more, fmt.Errorf("%s: line %d: job type %q has a handler in %s too", settings.HandlersFile, h.Line, h.JobType, other))
			}
		}
		for _, fault := range more {
			faults = append(faults, fmt.Errorf("CHOKAQ_HANDLERS_FILE (--handlers-file): %w", fault))
		}
		handlers = append(handlers, inFile...)
	}
	if len(settings.Programs) == 0 && settings.HandlersFile == "" {
		faults = append(faults, fmt.Errorf("CHOKAQ_HANDLER (--handler): is not set, nor is CHOKAQ_HANDLERS_FILE (--handlers-file), and a worker needs a handler; accepted: %s", program.Form))
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
	return handlers, faults
}

// lookup finds a variable of the environment.
func (a *app) lookup(name string) (string, bool) {
	for _, entry := range a.environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// runners makes what runs jobs.
type runners struct {
	a         *app
	killAfter time.Duration
	log       *zap.Logger
	programs  *program.Running
	client    *http.Client
}

func (a *app) newRunners(settings config.Worker, logger *zap.Logger) *runners {
	r := &runners{a: a, killAfter: settings.ProgramKillAfter, log: logger, programs: &program.Running{}, client: webhook.NewClient()}
	a.signals.before(r.programs.Kill)
	return r
}

// close ends connections that are kept for later requests.
func (r *runners) close() { r.client.CloseIdleConnections() }

func (r *runners) register(worker *driver.Worker, h handlerfile.Handler) {
	var run driver.HandlerFunc
	if h.Program != nil {
		run = (&program.Runner{Spec: *h.Program, KillAfter: r.killAfter, Environ: r.a.environ, Log: r.log, Running: r.programs}).Run
	} else {
		run = (&webhook.Runner{Target: h.Target, Client: r.client, Version: version, Now: time.Now}).Run
	}
	handler := func(ctx context.Context, job *driver.Job[json.RawMessage]) error { return run(ctx, job.JobInfo) }
	if h.JobType == jobtype.Any {
		driver.HandleAny(worker, handler, h.Options()...)
		return
	}
	driver.Handle(worker, h.JobType, handler, h.Options()...)
}

// printHandlers says what a worker would run.
func (a *app) printHandlers(handlers []handlerfile.Handler) error {
	type row struct {
		Type     string   `json:"type"`
		Kind     string   `json:"kind"`
		Runs     string   `json:"runs"`
		Headers  []string `json:"headers,omitempty"`
		Settings string   `json:"settings"`
	}
	rows := make([]row, 0, len(handlers))
	for _, h := range handlers {
		r := row{Type: h.JobType, Settings: h.Settings.String()}
		if h.Program != nil {
			r.Kind, r.Runs = "program", shellquote.Join(h.Program.Args...)
			if h.Program.RejectStatus != 0 {
				r.Settings = strings.TrimPrefix(fmt.Sprintf("%s,reject=%d", r.Settings, h.Program.RejectStatus), ",")
			}
		} else {
			r.Kind, r.Runs, r.Headers = "http", "POST "+h.Target.Name(), h.Target.HeaderNames()
		}
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.Type, b.Type) })
	if a.json {
		return a.printJSON(rows)
	}
	var cells [][]string
	for _, r := range rows {
		runs := r.Runs
		if len(r.Headers) > 0 {
			runs += " (headers: " + strings.Join(r.Headers, ", ") + ")"
		}
		cells = append(cells, []string{r.Type, r.Kind, runs, strings.ReplaceAll(r.Settings, ",", ", ")})
	}
	if err := a.printTable(a.stdout, []string{"type", "kind", "runs", "settings"}, cells, "type", "runs", "settings"); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.stdout, "\nThe handlers are valid; nothing was run.")
	return err
}
