package doctor

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/advice"
	"github.com/chokaq/chokaq/driver"
)

// most is how many queues, types or workers a finding names.
const most = 10

func names(all []string) string {
	if len(all) > most {
		return strings.Join(all[:most], ", ") + fmt.Sprintf(" and %d more", len(all)-most)
	}
	return strings.Join(all, ", ")
}

func text(r *sql.Rows) (string, error) {
	var s string
	err := r.Scan(&s)
	return s, err
}

func jobs(n int64) string {
	if n == 1 {
		return "1 job"
	}
	return fmt.Sprintf("%d jobs", n)
}

// stops: are workers killed before they are through?
func stops(ctx context.Context, p *Patient) ([]Finding, error) {
	var all, cutShort, abandoned, review int64
	if err := p.DB.QueryRowContext(ctx, `SELECT COUNT_BIG(*), COALESCE(SUM(CASE s.Outcome WHEN 'cut short' THEN 1 ELSE 0 END), 0), COALESCE(SUM(CASE s.Outcome WHEN 'abandoned' THEN 1 ELSE 0 END), 0),
       COALESCE(SUM(CASE s.Outcome WHEN 'review' THEN 1 ELSE 0 END), 0)
FROM chokaq.StopHistory AS s WHERE s.Outcome <> 'gone' AND s.DrainingAt > DATEADD(DAY, -7, SYSUTCDATETIME())`).Scan(&all, &cutShort, &abandoned, &review); err != nil {
		return nil, err
	}
	found := fmt.Sprintf("%d in the last week, %d left jobs for review, %d left something to recovery, %d were cut short", all, review, abandoned, cutShort)
	switch {
	case cutShort > 0:
		bound := p.Worker.ShutdownBound()
		return one(Warning, found, fmt.Sprintf("give the process more time before it is killed: terminationGracePeriodSeconds, TimeoutStopSec or stop_grace_period above %v for a worker with this environment", bound)), nil
	case abandoned > 0:
		return one(Warning, found, "chokaq-worker stops --outcome abandoned; handlers must return when their context ends"), nil
	case review*10 > all:
		return one(Warning, found, "chokaq-worker advise computes a grace period from how long your handlers run"), nil
	}
	return one(OK, found, ""), nil
}

// queues: does anything wait in a paused queue, or for long?
func queues(ctx context.Context, p *Patient) ([]Finding, error) {
	type queue struct {
		name    string
		paused  bool
		limit   sql.NullInt64
		pending int64
		oldest  sql.NullInt64
	}
	all, err := rows(ctx, p.DB, "SELECT q.Queue, q.IsPaused, q.ConcurrencyLimit, q.Pending, q.OldestDueAgeSeconds FROM chokaq.QueueStatus AS q ORDER BY q.Queue", func(r *sql.Rows) (queue, error) {
		var q queue
		err := r.Scan(&q.name, &q.paused, &q.limit, &q.pending, &q.oldest)
		return q, err
	})
	if err != nil {
		return nil, err
	}
	var paused, held, old []string
	for _, q := range all {
		waited := time.Duration(q.oldest.Int64) * time.Second
		line := fmt.Sprintf("%s (%s, the oldest due for %v)", q.name, jobs(q.pending), waited)
		switch {
		case q.paused && q.pending > 0:
			paused = append(paused, line)
		case q.limit.Valid && q.limit.Int64 == 0 && q.pending > 0:
			held = append(held, line)
		case waited > 15*time.Minute:
			old = append(old, line)
		}
	}
	var found []Finding
	if len(paused) > 0 {
		found = append(found, Finding{Severity: Warning, Found: "paused, with jobs that are due: " + names(paused), Do: "chokaq-worker queue resume QUEUE, when the reason is gone"})
	}
	if len(held) > 0 {
		found = append(found, Finding{Severity: Warning, Found: "held by a limit of 0, with jobs that are due: " + names(held), Do: "chokaq-worker queue limit QUEUE N, or none"})
	}
	if len(old) > 0 {
		found = append(found, Finding{Severity: Warning, Found: "jobs wait for long: " + names(old), Do: "more workers or handlers, or see the next check: nobody may know their types"})
	}
	if len(found) == 0 {
		return one(OK, fmt.Sprintf("%d with jobs or switches; none is paused with work, none waits for more than 15 minutes", len(all)), ""), nil
	}
	return found, nil
}

// jobTypes: does somebody know what waits?
func jobTypes(ctx context.Context, p *Patient) ([]Finding, error) {
	orphans, err := rows(ctx, p.DB, `SELECT CONCAT(t.JobType COLLATE DATABASE_DEFAULT, N' in queue ', t.Queue COLLATE DATABASE_DEFAULT, N' (', t.Pending, N' due, ', t.Scheduled, N' scheduled)')
FROM chokaq.JobTypeStatus AS t WHERE t.LiveWorkers = 0 ORDER BY t.Pending DESC, t.Queue, t.JobType`, text)
	if err != nil {
		return nil, err
	}
	if len(orphans) > 0 {
		return one(Warning, "no live worker serves the queue and knows the type of: "+names(orphans), "deploy a worker that handles them, or correct the producer and cancel them"), nil
	}
	return one(OK, "a live worker knows every type that waits", ""), nil
}

// deadJobs: how much waits for review?
func deadJobs(ctx context.Context, p *Patient) ([]Finding, error) {
	groups, err := rows(ctx, p.DB, `SELECT CONCAT(COUNT_BIG(*), N' ', d.Reason COLLATE DATABASE_DEFAULT) FROM chokaq.DeadJobs AS d GROUP BY d.Reason ORDER BY COUNT_BIG(*) DESC, d.Reason`, text)
	if err != nil {
		return nil, err
	}
	if len(groups) > 0 {
		return one(Note, "wait for review: "+names(groups), "chokaq-worker dlq groups"), nil
	}
	return one(OK, "none waits for review", ""), nil
}

// gracePeriod: would a stop cut much short?
func gracePeriod(ctx context.Context, p *Patient) ([]Finding, error) {
	const window, enough = 168, 200
	histograms, err := Durations(ctx, p.DB, window)
	if err != nil {
		return nil, err
	}
	var seen int64
	for _, h := range histograms {
		seen += h.Jobs()
	}
	grace := p.Worker.WorkerShutdownGracePeriod
	if grace == 0 {
		grace = 30 * time.Second
	}
	if seen < enough {
		return one(OK, fmt.Sprintf("%v; %s succeeded in the last week, too few to compare it with", grace, jobs(seen)), ""), nil
	}
	handlers := p.Worker.Handlers
	if handlers == 0 {
		handlers = 10
	}
	effect := advice.Of(advice.Full(histograms, handlers), grace)
	found := fmt.Sprintf("%v; by how long handlers ran in the last week, a stop of a busy worker with %d handlers cuts %.2g jobs short", grace, handlers, effect.LeftPerStop)
	if effect.StopsLeavingWork > 0.2 {
		return one(Warning, fmt.Sprintf("%s: %.0f%% of such stops leave work for review", found, 100*effect.StopsLeavingWork), "chokaq-worker advise; or make handlers return when their context ends, and mark those safe-to-retry that are"), nil
	}
	return one(OK, found, ""), nil
}

// Durations reads chokaq.GetHandlerDurations.
func Durations(ctx context.Context, db *sql.DB, sinceHours int) ([]advice.Histogram, error) {
	type row struct {
		queue, jobType string
		bucket         advice.Bucket
	}
	all, err := rows(ctx, db, "EXEC chokaq.GetHandlerDurations @SinceHours = @Hours", func(r *sql.Rows) (row, error) {
		var one row
		var number int
		var jobs, total, longest int64
		err := scanFirst(r, &one.queue, &one.jobType, &number, &jobs, &total, &longest)
		one.bucket = advice.BucketOf(number, jobs, total)
		return one, err
	}, sql.Named("Hours", sinceHours))
	if err != nil {
		return nil, err
	}
	var histograms []advice.Histogram
	for _, r := range all { // ordered by queue and type
		if n := len(histograms); n == 0 || histograms[n-1].Queue != r.queue || histograms[n-1].JobType != r.jobType {
			histograms = append(histograms, advice.Histogram{Queue: r.queue, JobType: r.jobType})
		}
		h := &histograms[len(histograms)-1]
		h.Buckets = append(h.Buckets, r.bucket)
	}
	return histograms, nil
}

// recurringJobs: do they tick?
func recurringJobs(ctx context.Context, p *Patient) ([]Finding, error) {
	type job struct {
		name, cron, zone string
		queue            string
		paused           bool
		computed, served bool // its next tick, by a worker; its queue, by a live one
		late             int64
	}
	all, err := rows(ctx, p.DB, `SELECT r.Name, r.Cron, r.TimeZone, r.Queue, r.IsPaused, CONVERT(bit, CASE WHEN r.NextTickAt IS NULL THEN 0 ELSE 1 END), r.LateSeconds,
       CONVERT(bit, CASE WHEN EXISTS (SELECT 1 FROM chokaq.WorkerStatus AS w CROSS APPLY OPENJSON(w.Queues) AS q
                                      WHERE w.State = 'running' AND q.[value] COLLATE Latin1_General_100_BIN2 = r.Queue) THEN 1 ELSE 0 END)
FROM chokaq.RecurringJobStatus AS r ORDER BY r.Name`, func(r *sql.Rows) (job, error) {
		var j job
		err := r.Scan(&j.name, &j.cron, &j.zone, &j.queue, &j.paused, &j.computed, &j.late, &j.served)
		return j, err
	})
	if err != nil {
		return nil, err
	}
	var found []Finding
	var late, unserved, unseen []string
	paused := 0
	for _, j := range all {
		if _, err := driver.NextTicks(j.cron, j.zone, time.Now(), 1); err != nil {
			found = append(found, Finding{Severity: Error, Found: fmt.Sprintf("%s cannot be read, so it never ticks: %v", j.name, err), Do: "chokaq-worker recurring set, or EXEC chokaq.SetRecurringJob"})
			continue
		}
		switch {
		case j.paused:
			paused++
		case !j.served:
			unserved = append(unserved, fmt.Sprintf("%s (queue %s)", j.name, j.queue))
		case !j.computed:
			unseen = append(unseen, j.name)
		case j.late > 120:
			late = append(late, fmt.Sprintf("%s (%v)", j.name, time.Duration(j.late)*time.Second))
		}
	}
	if len(late) > 0 {
		found = append(found, Finding{Severity: Error, Found: "ticks are overdue: " + names(late), Do: "workers serve their queues and do not make the ticks: look for their log events recurring.*"})
	}
	if len(unserved) > 0 {
		found = append(found, Finding{Severity: Error, Found: "no worker that runs serves their queues, so they do not tick: " + names(unserved), Do: "start a worker that serves these queues, or chokaq-worker recurring set NAME --queue QUEUE"})
	}
	if len(unseen) > 0 {
		found = append(found, Finding{Severity: Note, Found: "no worker has computed the next tick yet: " + names(unseen), Do: "a worker that serves their queues does within a minute; if not, look for its log events recurring.*"})
	}
	if len(found) == 0 {
		return one(OK, fmt.Sprintf("%d are defined, %d of them paused; none is overdue", len(all), paused), ""), nil
	}
	return found, nil
}
