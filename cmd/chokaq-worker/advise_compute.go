package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/advice"
	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/doctor"
	"github.com/chokaq/chokaq/driver"
)

// advise reads what has run and computes.
func advise(ctx context.Context, client *driver.Client, f adviseFlags, worker driver.WorkerConfig) (*advised, error) {
	r := &advised{SinceHours: int(f.since / time.Hour), Target: f.target, Current: seconds(gracePeriod(worker)), CurrentTermination: termination(worker)}
	if err := r.readSettings(ctx, client, worker); err != nil {
		return nil, err
	}
	histograms, err := r.readDurations(ctx, client, f)
	if err != nil {
		return nil, err
	}
	if r.Jobs < enoughJobs {
		return nil, fmt.Errorf("%d jobs%s have succeeded within %d hours, and at least %d are needed to compute anything from how long they ran: --since a longer time (the setting Retention.Archive bounds it), or wait",
			r.Jobs, f.of(), r.SinceHours, enoughJobs)
	}
	loads, err := r.spread(ctx, client, f, histograms)
	if err != nil {
		return nil, err
	}
	for _, g := range f.graces {
		r.Effects = append(r.Effects, effectOf(loads, g))
	}
	g, ok := advice.Smallest(loads, f.target, longestGrace)
	if !ok {
		return nil, fmt.Errorf("no grace period up to %v leaves work in at most %v of the stops", longestGrace, percent(f.target))
	}
	r.Advice = effectOf(loads, g)
	worker.WorkerShutdownGracePeriod = g
	r.TerminationGracePeriod = termination(worker)
	for _, l := range loads {
		outlasts := l.Outlasts(g)
		r.LongerJobs += l.Longer(g)
		r.Running += l.Running
		r.Types = append(r.Types, typeEffect{
			Queue: l.Queue, JobType: l.JobType, Jobs: l.Jobs(), Mean: seconds(l.Total() / float64(l.Jobs()) * float64(time.Second)), Longest: seconds(l.Longest()),
			Running: l.Running, Outlasts: outlasts, StopsLeavingWork: -math.Expm1(-l.Running * outlasts), JobsLeftPerStop: l.Running * outlasts,
		})
	}
	slices.SortStableFunc(r.Types, func(x, y typeEffect) int { // what leaves most work first
		switch {
		case x.JobsLeftPerStop != y.JobsLeftPerStop:
			return compareDown(x.JobsLeftPerStop, y.JobsLeftPerStop)
		default:
			return compareDown(x.Running, y.Running)
		}
	})
	r.Stops, err = seenStops(ctx, client, f, loads)
	r.Stops = emptyNotNull(r.Stops)
	return r, err
}

func compareDown(x, y float64) int {
	switch {
	case x > y:
		return -1
	case x < y:
		return 1
	}
	return 0
}

// of says which jobs were asked about.
func (f adviseFlags) of() string {
	text := ""
	if f.queue != "" {
		text += fmt.Sprintf(" of queue %q", f.queue)
	}
	if f.jobType != "" {
		text += fmt.Sprintf(" of type %q", f.jobType)
	}
	return text
}

// termination is how long a process must have before it is killed.
func termination(worker driver.WorkerConfig) seconds {
	return seconds((worker.ShutdownBound() + spareToKill + time.Second - 1).Truncate(time.Second))
}

func (r *advised) readSettings(ctx context.Context, client *driver.Client, worker driver.WorkerConfig) error {
	settings, err := querySettings(ctx, client)
	if err != nil {
		return err
	}
	for _, s := range settings {
		value := s.number("Value")
		switch s.text("Name") {
		case "Recovery.ProcessingZombieTimeout":
			r.ZombieTimeout = seconds(time.Duration(value) * time.Second)
		case "Recovery.FetchedJobTimeout":
			r.FetchedJobTimeout = seconds(time.Duration(value) * time.Second)
		case "Retention.Archive": // hours; 0: for ever
			if r.WindowHours = r.SinceHours; value > 0 {
				r.WindowHours = min(r.SinceHours, int(value))
			}
		}
	}
	r.HeartbeatInterval = seconds(worker.HeartbeatInterval)
	if worker.HeartbeatInterval == 0 { // as a worker chooses it
		r.HeartbeatInterval = min(seconds(15*time.Second), min(r.ZombieTimeout, r.FetchedJobTimeout)/10)
	}
	return nil
}

// readDurations reads the histograms, and finds the time that they cover: where ChokaQ was installed lately, or work began lately, that is less than
// was asked for, and a mean over the whole time would be too low.
func (r *advised) readDurations(ctx context.Context, client *driver.Client, f adviseFlags) ([]advice.Histogram, error) {
	read := func(hours int) (kept []advice.Histogram, jobs int64, err error) {
		all, err := doctor.Durations(ctx, client.DB(), hours)
		for _, h := range all {
			if (f.queue == "" || h.Queue == f.queue) && (f.jobType == "" || h.JobType == f.jobType) {
				kept = append(kept, h)
				jobs += h.Jobs()
			}
		}
		return kept, jobs, procedureError("chokaq.GetHandlerDurations", err)
	}
	histograms, jobs, err := read(r.WindowHours)
	if err != nil {
		return nil, err
	}
	r.Jobs = jobs
	for r.WindowHours > 1 && jobs > 0 {
		half := (r.WindowHours + 1) / 2
		_, later, err := read(half)
		if err != nil {
			return nil, err
		}
		if later < jobs {
			break
		}
		r.WindowHours = half
	}
	return histograms, nil
}

// spread says how many handlers of each type run in a worker at a moment.
func (r *advised) spread(ctx context.Context, client *driver.Client, f adviseFlags, histograms []advice.Histogram) ([]advice.Load, error) {
	if f.handlers > 0 {
		return advice.Full(histograms, f.handlers), nil
	}
	if r.Workers = f.workers; r.Workers == 0 {
		workers, err := queryWorkers(ctx, client, false)
		if err != nil {
			return nil, err
		}
		for _, w := range workers {
			if w.text("State") == "running" && (f.queue == "" || slices.Contains(strings.Split(queueNames(w.text("Queues")), ", "), f.queue)) {
				r.Workers++
			}
		}
	}
	if r.Workers == 0 {
		return nil, errors.New("no worker runs now, so it is not known over how many the work was spread; say so with --workers N, or count with a full worker by --handlers N")
	}
	return advice.Spread(histograms, time.Duration(r.WindowHours)*time.Hour, float64(r.Workers)), nil
}

// stopsSeen is what stops with one grace period did, and what is computed for it.
type stopsSeen struct {
	GracePeriod     seconds `json:"gracePeriodSeconds"`
	Stops           int     `json:"stops"`
	LeavingWork     float64 `json:"leavingWork"` // share of them
	JobsLeftPerStop float64 `json:"jobsLeftPerStop"`
	Running         float64 `json:"running"` // handlers when it began
	HandlersP50     seconds `json:"handlersP50Seconds"`
	HandlersP99     seconds `json:"handlersP99Seconds"`
	Computed        effect  `json:"computed"`
}

// seenStops is the record of stops that have ended, by grace period, the most frequent first.
func seenStops(ctx context.Context, client *driver.Client, f adviseFlags, loads []advice.Load) ([]stopsSeen, error) {
	const most = 20_000
	query := fmt.Sprintf(`SELECT TOP (%d) s.GracePeriodMs, s.Running, s.HandlersMs, COALESCE(s.Interrupted, 0) + COALESCE(s.Abandoned, 0) AS CutShort, s.Queues
FROM chokaq.StopHistory AS s WHERE s.StoppedAt > DATEADD(HOUR, -@Hours, SYSUTCDATETIME()) AND s.GracePeriodMs IS NOT NULL AND s.Running IS NOT NULL
ORDER BY s.StoppedAt DESC`, most)
	rows, err := queryRecords(ctx, client.DB(), query, sql.Named("Hours", int(f.since/time.Hour)))
	if err != nil {
		return nil, err
	}
	byGrace := make(map[int64][]record)
	for _, row := range rows {
		if f.queue == "" || slices.Contains(strings.Split(queueNames(row.text("Queues")), ", "), f.queue) {
			byGrace[row.number("GracePeriodMs")] = append(byGrace[row.number("GracePeriodMs")], row)
		}
	}
	var all []stopsSeen
	for ms, stops := range byGrace {
		seen := stopsSeen{GracePeriod: seconds(time.Duration(ms) * time.Millisecond), Stops: len(stops)}
		seen.Computed = effectOf(loads, time.Duration(seen.GracePeriod))
		var lasted []int64
		for _, s := range stops {
			if s.number("CutShort") > 0 {
				seen.LeavingWork++
			}
			seen.JobsLeftPerStop += float64(s.number("CutShort"))
			seen.Running += float64(s.number("Running"))
			lasted = append(lasted, s.number("HandlersMs"))
		}
		n := float64(len(stops))
		seen.LeavingWork, seen.JobsLeftPerStop, seen.Running = seen.LeavingWork/n, seen.JobsLeftPerStop/n, seen.Running/n
		slices.Sort(lasted)
		seen.HandlersP50, seen.HandlersP99 = quantile(lasted, 0.5), quantile(lasted, 0.99)
		all = append(all, seen)
	}
	slices.SortFunc(all, func(x, y stopsSeen) int {
		if x.Stops != y.Stops {
			return y.Stops - x.Stops
		}
		return int(x.GracePeriod/1e6) - int(y.GracePeriod/1e6)
	})
	return all, nil
}

// quantile of sorted milliseconds: the smallest within which that share lies.
func quantile(sorted []int64, share float64) seconds {
	n := max(int(math.Ceil(share*float64(len(sorted))))-1, 0)
	return seconds(time.Duration(sorted[n]) * time.Millisecond)
}
