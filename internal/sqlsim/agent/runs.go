package agent

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/chokaq/chokaq/internal/sqlsim/engine"
)

// runs knows which jobs are due and which run.
type runs struct {
	agent *Agent
	jobs  sync.WaitGroup
	due   map[dueKey]time.Time // of the one goroutine that looks

	mu      sync.Mutex
	running map[string]bool // by job id
}

// dueKey is a schedule of a job, in the version that its due time was reckoned from.
type dueKey struct {
	job               string
	schedule, version int64
}

// look starts what is due: schedules that have come, requests of sp_start_job, and at Agent's start what is scheduled for that.
func (r *runs) look(ctx context.Context, s *engine.Session, first bool) error {
	now := r.agent.clock.Now().UTC()
	found, err := query(ctx, s, `
SELECT CONVERT(nvarchar(36), j.job_id), s.schedule_id, s.version_number, s.name, s.freq_type, s.freq_interval, s.freq_subday_type, s.freq_subday_interval,
       s.freq_recurrence_factor, s.active_start_date, s.active_end_date, s.active_start_time, s.active_end_time
FROM dbo.sysjobs AS j
INNER JOIN dbo.sysjobservers AS v ON v.job_id = j.job_id
INNER JOIN dbo.sysjobschedules AS js ON js.job_id = j.job_id
INNER JOIN dbo.sysschedules AS s ON s.schedule_id = js.schedule_id
WHERE j.enabled = 1 AND s.enabled = 1`)
	if err != nil {
		return err
	}
	known := make(map[dueKey]bool)
	for _, row := range found.rows {
		n := func(i int) int64 { return row[i].Int() }
		sch := schedule{id: n(1), version: n(2), name: row[3].Str(), freqType: n(4), freqInterval: n(5), subdayType: n(6), subdayInterval: n(7),
			recurrence: n(8), startDate: n(9), endDate: n(10), startTime: n(11), endTime: n(12)}
		job := row[0].Str()
		key := dueKey{job, sch.id, sch.version}
		known[key] = true
		due, reckoned := r.due[key]
		start := first && sch.freqType == atAgentStart || reckoned && !due.IsZero() && !due.After(now)
		if start {
			r.start(ctx, job, fmt.Sprintf("Schedule %d (%s)", sch.id, sch.name))
		}
		if start || !reckoned {
			next := sch.next(now)
			r.due[key] = next
			if err := r.noteNext(ctx, s, job, sch.id, next); err != nil {
				return err
			}
		}
	}
	for key := range r.due {
		if !known[key] {
			delete(r.due, key)
		}
	}
	asked, err := query(ctx, s, `SELECT CONVERT(nvarchar(36), a.job_id) FROM dbo.sysjobactivity AS a WHERE a.run_requested_date IS NOT NULL AND a.start_execution_date IS NULL AND a.stop_execution_date IS NULL`)
	if err != nil {
		return err
	}
	for _, row := range asked.rows {
		r.start(ctx, row[0].Str(), "a user")
	}
	return nil
}

func (r *runs) noteNext(ctx context.Context, s *engine.Session, job string, scheduleID int64, next time.Time) error {
	day, hour := 0, 0
	if !next.IsZero() {
		day, hour = dateNumber(next), timeNumber(next)
	}
	_, err := query(ctx, s, fmt.Sprintf("UPDATE dbo.sysjobschedules SET next_run_date = %d, next_run_time = %d WHERE job_id = '%s' AND schedule_id = %d", day, hour, job, scheduleID))
	return err
}

// start runs a job in a goroutine, unless it runs already.
func (r *runs) start(ctx context.Context, job, by string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[job] {
		return
	}
	r.running[job] = true
	r.jobs.Go(func() {
		defer func() {
			r.mu.Lock()
			delete(r.running, job)
			r.mu.Unlock()
		}()
		if err := r.agent.runJob(ctx, job, by); err != nil && ctx.Err() == nil {
			r.agent.logger.Error("SQL Server Agent could not run a job", "job", job, "error", err)
		}
	})
}
