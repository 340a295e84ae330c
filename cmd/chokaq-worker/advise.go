package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/advice"
	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/config"
	"github.com/chokaq/chokaq/driver"
)

const (
	enoughJobs   = 200            // fewer durations say nothing about a share of some percent
	fewJobs      = 30             // a type with fewer is marked
	longestGrace = 24 * time.Hour // what a target is looked for in
	spareToKill  = 5 * time.Second
)

var defaultGraces = []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute}

// adviseFlags are what advise is asked.
type adviseFlags struct {
	since             time.Duration
	graces            []time.Duration
	target            float64
	handlers, workers int
	queue, jobType    string
	explain           bool
}

func (a *app) adviseCommand() *cobra.Command {
	f := adviseFlags{since: 7 * 24 * time.Hour, target: 0.01}
	c := &cobra.Command{
		Use: "advise", Short: "Compute what a grace period does, from how long handlers have run", Args: noArgs,
		Long: `For each grace period (CHOKAQ_SQLSERVER_WORKER_SHUTDOWN_GRACE_PERIOD): the share of stops that cut work short, the jobs that a stop cuts short, and how long handlers keep
a stop waiting. Then the smallest that meets --target, what must go with it, and what stops really did. --explain shows how it was computed; docs/advise.md tells more.

It counts with the handlers that run in a worker on average; --handlers N counts with a worker that is full, which is the worst case. It reads the settings of a worker
from this environment (CHOKAQ_...), and changes nothing. Exit status 1 where too few jobs have run to say anything.`,
		Example: "  chokaq-worker advise --target 0.01 --explain\n  chokaq-worker advise --queue reports --handlers 10 --grace 30s,2m,10m",
	}
	flags := c.Flags()
	flags.DurationVar(&f.since, "since", f.since, "count jobs that succeeded within this time, in whole hours, 1h to 8760h")
	flags.DurationSliceVar(&f.graces, "grace", defaultGraces, "grace periods, comma-separated; that of this environment is added")
	flags.Float64Var(&f.target, "target", f.target, "share of stops that may leave work, above 0 and below 1")
	flags.IntVar(&f.handlers, "handlers", 0, "count with a worker of so many handlers, all of them busy, 1 to 10000")
	flags.IntVar(&f.workers, "workers", 0, "the work was spread over so many workers (default: those that run now)")
	flags.StringVar(&f.queue, "queue", "", "only this queue, and the workers that serve it")
	flags.StringVar(&f.jobType, "type", "", "only this job type")
	flags.BoolVar(&f.explain, "explain", false, "show how it was computed")
	c.RunE = func(c *cobra.Command, args []string) error {
		var settings config.Worker
		if err := config.Faults(config.Load(a.environ, c.Flags(), &settings)); err != nil {
			return err
		}
		if err := f.check(settings.WorkerConfig, flags.Changed); err != nil {
			return err
		}
		return a.withClient(func(ctx context.Context, client *driver.Client, _ []string) error {
			advised, err := advise(ctx, client, f, settings.WorkerConfig)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(advised)
			}
			return a.printAdvice(advised, f)
		})(c, args)
	}
	return c
}

// check refuses what cannot be asked, and completes the list of grace periods.
func (f *adviseFlags) check(worker driver.WorkerConfig, given func(string) bool) error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if f.since < time.Hour || f.since > 8760*time.Hour || f.since%time.Hour != 0 {
		fault("--since: %v is not accepted; accepted: whole hours, 1h to 8760h", f.since)
	}
	if !(f.target > 0 && f.target < 1) {
		fault("--target: %v is not accepted; accepted: a share above 0 and below 1, such as 0.01", f.target)
	}
	if given("handlers") && (f.handlers < 1 || f.handlers > 10000) {
		fault("--handlers: %d is not accepted; accepted: 1 to 10000", f.handlers)
	}
	if given("workers") && f.workers < 1 {
		fault("--workers: %d is not accepted; accepted: 1 or more", f.workers)
	}
	if f.handlers > 0 && f.workers > 0 {
		fault("--handlers and --workers exclude each other: a full worker is full, however many there are")
	}
	for _, g := range f.graces {
		if g <= 0 || g > longestGrace {
			fault("--grace: %v is not accepted; accepted: above 0, up to %v", g, longestGrace)
		}
	}
	if len(faults) > 0 {
		return usageError{errors.Join(faults...)}
	}
	f.graces = append(slices.Clone(f.graces), gracePeriod(worker))
	slices.Sort(f.graces)
	f.graces = slices.Compact(f.graces)
	return nil
}

// gracePeriod is the one that a worker with these settings has.
func gracePeriod(worker driver.WorkerConfig) time.Duration {
	if worker.WorkerShutdownGracePeriod == 0 {
		return 30 * time.Second
	}
	return worker.WorkerShutdownGracePeriod
}

// advised is everything that advise has to say. Durations are in seconds.
type advised struct {
	SinceHours             int          `json:"sinceHours"`
	WindowHours            int          `json:"windowHours"`
	Jobs                   int64        `json:"jobs"`
	Workers                int          `json:"workers"`        // 0: a full worker was counted with
	Running                float64      `json:"running"`        // handlers in a worker at a moment
	Current                seconds      `json:"currentSeconds"` // the grace period of this environment
	Effects                []effect     `json:"effects"`
	Types                  []typeEffect `json:"types"`
	Stops                  []stopsSeen  `json:"stops"`
	Target                 float64      `json:"target"`
	Advice                 effect       `json:"advice"`
	LongerJobs             int64        `json:"longerJobs"`                    // durations beyond it
	TerminationGracePeriod seconds      `json:"terminationGracePeriodSeconds"` // of the process, for it
	CurrentTermination     seconds      `json:"currentTerminationSeconds"`     // and for the present one
	HeartbeatInterval      seconds      `json:"heartbeatIntervalSeconds"`
	ZombieTimeout          seconds      `json:"zombieTimeoutSeconds"`
	FetchedJobTimeout      seconds      `json:"fetchedJobTimeoutSeconds"`
}

// effect is what a grace period does.
type effect struct {
	GracePeriod      seconds `json:"gracePeriodSeconds"`
	StopsLeavingWork float64 `json:"stopsLeavingWork"`
	JobsLeftPerStop  float64 `json:"jobsLeftPerStop"`
	HandlersP50      seconds `json:"handlersP50Seconds"`
	HandlersP99      seconds `json:"handlersP99Seconds"`
}

func effectOf(loads []advice.Load, g time.Duration) effect {
	e := advice.Of(loads, g)
	return effect{seconds(g), e.StopsLeavingWork, e.LeftPerStop, seconds(e.P50), seconds(e.P99)}
}

// typeEffect is what the advised grace period does to the jobs of one queue and type.
type typeEffect struct {
	Queue            string  `json:"queue"`
	JobType          string  `json:"jobType"`
	Jobs             int64   `json:"jobs"`
	Mean             seconds `json:"meanSeconds"`    // the longest was shorter than that
	Longest          seconds `json:"longestSeconds"` // the longest was shorter than that
	Running          float64 `json:"running"`
	Outlasts         float64 `json:"outlasts"`         // share of its running handlers that are cut short by the advised grace period
	StopsLeavingWork float64 `json:"stopsLeavingWork"` // by it alone
	JobsLeftPerStop  float64 `json:"jobsLeftPerStop"`
}

// seconds is a duration that JSON shows as a number of seconds.
type seconds time.Duration

func (s seconds) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%g", time.Duration(s).Seconds()), nil
}

// String is the duration as a table shows it: three digits are enough.
func (s seconds) String() string {
	d := time.Duration(s)
	for _, step := range []struct{ from, to time.Duration }{{10 * time.Second, time.Second}, {time.Second, 100 * time.Millisecond}, {0, time.Millisecond}} {
		if d >= step.from {
			return short(d.Round(step.to))
		}
	}
	return d.String()
}
