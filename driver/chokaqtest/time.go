package chokaqtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chokaq/chokaq/internal/clock"
)

// maxSteps bounds Drain: jobs that enqueue jobs for ever would keep it busy for ever.
const maxSteps = 10_000

// Now is the queue's time.
func (q *Queue) Now() time.Time { return q.server.Clock().Now().UTC() }

// Advance moves the queue's time on. Jobs that fall due on the way are due afterwards, and ticks of recurring jobs have come; see WaitIdle.
func (q *Queue) Advance(d time.Duration) {
	q.t.Helper()
	if d < 0 {
		q.t.Fatalf("chokaqtest: Advance by %v: time moves on only", d)
	}
	q.server.Clock().(*clock.Adjustable).Advance(d)
	q.client.Wake()
}

// WaitIdle returns when the started workers have nothing left to do now: no job is Fetched or Processing, and none that is due is of a queue
// that a started worker serves and of a type that it has a handler for; nor has a tick of a recurring job come that it has not enqueued. It does not move the queue's time, so jobs that wait for a retry stay Pending.
func (q *Queue) WaitIdle() {
	q.t.Helper()
	var busy []Job
	var ticks []string
	q.await("the workers have nothing to do", func() bool {
		ticks, busy = q.dueTicks(), nil
		if len(ticks) == 0 {
			busy = q.busy()
		}
		return len(ticks)+len(busy) == 0
	}, func() string {
		if len(ticks) > 0 {
			return "recurring jobs whose tick has come: " + strings.Join(ticks, ", ")
		}
		return describe(busy)
	})
}

// dueTicks are the recurring jobs that a started worker has yet to enqueue a tick of, or to look at for the first time.
func (q *Queue) dueTicks() (names []string) {
	q.t.Helper()
	q.query(`SELECT r.Name FROM chokaq.RecurringJobs AS r
WHERE r.IsPaused = 0 AND (r.NextTickAt IS NULL OR r.NextTickAt <= SYSUTCDATETIME())
  AND EXISTS (SELECT 1 FROM chokaq.Workers AS w CROSS APPLY OPENJSON(w.Queues) AS s
              WHERE w.State = 'running' AND s.[value] COLLATE Latin1_General_100_BIN2 = r.Queue)`, func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		names = append(names, name)
		return err
	})
	return names
}

// Drain waits until the started workers are idle, moves the queue's time on to when their next job is due, and so on, until none of their jobs is
// left: each is Completed or Dead.
func (q *Queue) Drain() {
	q.t.Helper()
	for range maxSteps {
		q.WaitIdle()
		next := q.nextDue()
		if next.IsZero() {
			return
		}
		q.Advance(next.Sub(q.Now()))
	}
	q.t.Fatalf("chokaqtest: Drain has moved on %d times and jobs are left; do handlers enqueue for ever?\n%s", maxSteps, describe(q.Jobs()))
}

// busy lists the jobs that workers run, hold, or would claim now.
func (q *Queue) busy() []Job {
	q.t.Helper()
	serve := q.served()
	now := q.Now()
	return slices.DeleteFunc(q.Jobs(), func(job Job) bool {
		switch job.State {
		case Fetched, Processing:
			return false
		case Pending:
			return job.DueAt.After(now) || !serve(job)
		}
		return true
	})
}

// nextDue is when the next pending job of the started workers is due; zero: there is none.
func (q *Queue) nextDue() (next time.Time) {
	q.t.Helper()
	serve := q.served()
	for _, job := range q.Jobs() {
		if job.State == Pending && serve(job) && (next.IsZero() || job.DueAt.Before(next)) {
			next = job.DueAt
		}
	}
	return next
}

// served tells whether a running worker claims a job.
func (q *Queue) served() func(Job) bool {
	q.t.Helper()
	type worker struct {
		queues, types []string
		all           bool
	}
	var workers []worker
	q.query("SELECT w.Queues, w.JobTypes FROM chokaq.Workers AS w WHERE w.State = 'running'", func(scan func(...any) error) error {
		var queues string
		var types *string
		if err := scan(&queues, &types); err != nil {
			return err
		}
		w := worker{all: types == nil}
		if err := json.Unmarshal([]byte(queues), &w.queues); err != nil {
			return fmt.Errorf("Workers.Queues: %w", err)
		}
		if types != nil {
			if err := json.Unmarshal([]byte(*types), &w.types); err != nil {
				return fmt.Errorf("Workers.JobTypes: %w", err)
			}
		}
		workers = append(workers, w)
		return nil
	})
	var paused []string
	q.query("SELECT q.Queue FROM chokaq.Queues AS q WHERE q.IsPaused = 1", func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		paused = append(paused, name)
		return err
	})
	return func(job Job) bool {
		return !slices.Contains(paused, job.Queue) && slices.ContainsFunc(workers, func(w worker) bool {
			return slices.Contains(w.queues, job.Queue) && (w.all || slices.Contains(w.types, job.Type))
		})
	}
}
