package driver

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
)

// RecurringJob defines a job that is enqueued again and again, by the clock. Workers that serve its queue compute the ticks; the database sees to
// it that each is enqueued once, however many workers there are. docs/recurring.md tells more.
type RecurringJob struct {
	// Name: 1 to 64 characters, exact: what this definition is called. Setting the same name again changes the definition.
	Name string
	// Cron: minute hour day-of-month month day-of-week, such as "30 6 * * 1-5", or @hourly, @daily, @weekly, @monthly, @yearly, "@every 5m".
	Cron string
	// TimeZone: IANA name, such as Europe/Berlin. Default: UTC. An expression that names hours means what clocks on the wall show there: a time that does
	// not exist on the day summer time begins is taken later by what the clock jumps; one that comes twice is taken the first time.
	TimeZone string
	// Job is what each tick enqueues. DueAt, Delay and IdempotencyKey do not apply. Each job's Headers get "chokaq-recurring" (Name) and
	// "chokaq-tick" (the tick, RFC 3339, UTC) besides.
	Job NewJob
	// MissedTicks says what happens to ticks of a time in which no worker ran. Default: MissedOne.
	MissedTicks MissedTicks
	// SkipWhileLive skips a tick while the job of an earlier one has not finished.
	SkipWhileLive bool
}

// MissedTicks says what happens to ticks of a time in which no worker ran.
type MissedTicks string

const (
	MissedOne  MissedTicks = "one"  // the last of them is enqueued
	MissedAll  MissedTicks = "all"  // each is
	MissedNone MissedTicks = "none" // none is; one that is late by less than a minute is not missed
)

// SetRecurringJob makes the definition what is said here (procedure chokaq.SetRecurringJob). An application can call it at each start:
// an unchanged definition changes nothing, and one that an operator has paused stays paused. It reports whether anything was changed. The error
// is ErrInvalidArgument for an expression, time zone or field that is not one. It is safe to repeat.
func (c *Client) SetRecurringJob(ctx context.Context, r RecurringJob) (changed bool, err error) {
	if r.TimeZone == "" {
		r.TimeZone = "UTC"
	}
	if r.MissedTicks == "" {
		r.MissedTicks = MissedOne
	}
	if r.Job.Queue == "" {
		r.Job.Queue = DefaultQueue
	}
	if r.Job.Priority == 0 {
		r.Job.Priority = 5
	}
	if r.Job.MaxAttempts == 0 {
		r.Job.MaxAttempts = 10
	}
	if _, err := parseSchedule(r.Cron, r.TimeZone); err != nil {
		return false, fmt.Errorf("%w: recurring job %q: %w; nothing was changed", ErrInvalidArgument, r.Name, err)
	}
	if !r.Job.DueAt.IsZero() || r.Job.Delay != 0 || r.Job.IdempotencyKey != "" {
		return false, fmt.Errorf("%w: recurring job %q: DueAt, Delay and IdempotencyKey of its job must be empty: the tick decides; nothing was changed", ErrInvalidArgument, r.Name)
	}
	payload, err := r.Job.payload()
	if err != nil {
		return false, err
	}
	var headers sql.NullString
	if len(r.Job.Headers) > 0 {
		text, err := json.Marshal(r.Job.Headers)
		if err != nil {
			return false, err
		}
		headers = sql.NullString{String: string(text), Valid: true}
	}
	const procedure = "chokaq.SetRecurringJob"
	all, err := queryRows(ctx, c.db, procedure, func(rows row) (string, error) {
		var result string
		err := rows.Scan(&result)
		return result, err
	},
		sql.Named("Name", r.Name), sql.Named("Cron", r.Cron), sql.Named("TimeZone", r.TimeZone), sql.Named("Queue", r.Job.Queue), sql.Named("JobType", r.Job.Type),
		sql.Named("Payload", payload), sql.Named("Priority", r.Job.Priority), sql.Named("MaxAttempts", r.Job.MaxAttempts), sql.Named("Headers", headers),
		sql.Named("MissedTicks", string(r.MissedTicks)), sql.Named("SkipWhileLive", r.SkipWhileLive))
	result, err := one(procedure, all, procedureError(procedure, err))
	changed = result == "Created" || result == "Changed"
	if changed {
		c.Wake()
	}
	return changed, err
}

// RemoveRecurringJob ends a recurring job (procedure chokaq.RemoveRecurringJob); jobs that it has enqueued stay. The error is ErrNoRecurringJob when there is none.
func (c *Client) RemoveRecurringJob(ctx context.Context, name string) error {
	const procedure = "chokaq.RemoveRecurringJob"
	_, err := c.db.ExecContext(ctx, procedure, sql.Named("Name", name))
	return procedureError(procedure, err)
}

// ErrNoRecurringJob: there is no recurring job of that name.
var ErrNoRecurringJob = errors.New("chokaq: no such recurring job")
