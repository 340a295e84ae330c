package driver

import (
	"context"
	"database/sql"
	"time"

	"go.uber.org/zap"
)

const (
	// recurringLookout is how often a worker asks for recurring jobs: how soon it learns of a new definition.
	recurringLookout = 15 * time.Second
	// recurringAhead is how far it looks ahead, so that it meets ticks on time.
	recurringAhead = 60 * time.Second
	// missedAfter is how late a tick is missed, for MissedNone.
	missedAfter = time.Minute
)

// ticker enqueues the ticks of recurring jobs of the queues that the worker serves. Every worker does; the database lets one of them enqueue each tick.
type ticker struct {
	w      *Worker
	woken  chan struct{}
	broken map[string]int // by name: the revision whose fault has been logged
}

// dueRecurring is a row of chokaq.GetDueRecurringJobs.
type dueRecurring struct {
	Name, Cron, TimeZone string
	MissedTicks          MissedTicks
	Revision             int
	NextTickAt           sql.NullTime
	DatabaseTime         time.Time
}

// step is what to do about a recurring job now. A zero Tick: only plan. A zero Next: there is no further tick.
type step struct {
	Tick, Next time.Time
}

// run ticks until ctx ends.
func (t *ticker) run(ctx context.Context) {
	t.broken = make(map[string]int)
	for t.w.sleepUnless(ctx, t.look(ctx), t.woken) {
	}
}

// look does what is due, and returns how long it is until the next look. A call that fails is not repeated before that, and none is made while
// the database is away: claims and heartbeats find out when it is back.
func (t *ticker) look(ctx context.Context) time.Duration {
	wait := recurringLookout/2 + time.Duration(t.w.id[0])*recurringLookout/512 // workers do not ask all at once
	if !t.w.health.up() {
		return wait
	}
	due, err := attempt(ctx, t.w.clock, t.w.config.CommandTimeout, func(ctx context.Context) ([]dueRecurring, error) {
		return t.w.procedures.dueRecurring(ctx, t.w.claimer.queues, recurringAhead)
	})
	if err != nil {
		return wait
	}
	answered := t.w.clock.Monotonic()
	for _, d := range due {
		wait = min(wait, t.tick(ctx, d, t.w.clock.Monotonic()-answered))
	}
	return wait
}

// tick does what is due for one recurring job, and returns how long it is until it has to be looked at again. since is the time since
// the database has answered: what its clock showed then is older, so now is never ahead of it.
func (t *ticker) tick(ctx context.Context, d dueRecurring, since time.Duration) time.Duration {
	s, err := parseSchedule(d.Cron, d.TimeZone)
	if err != nil {
		t.complain(d, "a recurring job cannot be read and does not tick; correct it with chokaq.SetRecurringJob", "recurring.broken", err)
		return recurringLookout
	}
	now := d.DatabaseTime.Add(max(since-time.Millisecond, 0)) // its rounding may have taken it ahead by half a millisecond
	if d.NextTickAt.Valid && d.NextTickAt.Time.After(now) {
		return d.NextTickAt.Time.Sub(now)
	}
	do := s.due(d, now)
	type result struct {
		Result string
		JobID  sql.NullInt64
	}
	got, err := attempt(ctx, t.w.clock, t.w.config.CommandTimeout, func(ctx context.Context) (result, error) {
		r, id, err := t.w.procedures.enqueueRecurring(ctx, d, do)
		return result{r, id}, err
	})
	if err != nil { // if it was carried out unheard, the next look does not find the tick any more
		if ctx.Err() == nil && !IsTransient(err) {
			t.complain(d, "a tick of a recurring job is refused by the database; it is tried again", "recurring.refused", err)
		}
		return recurringLookout
	}
	switch got.Result {
	case "Enqueued":
		t.w.stats.ticks.Add(1)
		t.w.client.metrics.ticks.Add(ctx, 1)
		t.w.log.Info("a tick of a recurring job was enqueued", event("recurring.enqueued"), zap.String("name", d.Name), zap.Time("tick", do.Tick), zap.Int64("job_id", got.JobID.Int64), zap.Time("next_tick", do.Next))
		t.w.claimer.wake()
	case "Skipped":
		t.w.log.Info("a tick of a recurring job was skipped: the job of an earlier one has not finished", event("recurring.skipped"), zap.String("name", d.Name), zap.Time("tick", do.Tick), zap.Int64("job_id", got.JobID.Int64))
	}
	if got.Result == "Taken" || do.Next.IsZero() {
		return recurringLookout
	}
	return max(do.Next.Sub(now), 0)
}

// complain logs a fault once for each definition.
func (t *ticker) complain(d dueRecurring, message, name string, err error) {
	if t.broken[d.Name] != d.Revision {
		t.broken[d.Name] = d.Revision
		t.w.log.Error(message, event(name), zap.String("name", d.Name), zap.Error(err))
	}
}

// due decides about a recurring job whose tick has come, or was never computed.
func (s schedule) due(d dueRecurring, now time.Time) step {
	if !d.NextTickAt.Valid {
		return step{Next: s.next(now)}
	}
	tick := d.NextTickAt.Time
	switch d.MissedTicks {
	case MissedAll:
	case MissedNone:
		if now.Sub(tick) >= missedAfter {
			return step{Next: s.next(now)}
		}
	default:
		tick = s.last(tick, now)
	}
	return step{Tick: tick, Next: s.next(tick)}
}

func (p *procedures) dueRecurring(ctx context.Context, queues string, ahead time.Duration) ([]dueRecurring, error) {
	return query(ctx, p, "chokaq.GetDueRecurringJobs", func(rows row) (dueRecurring, error) {
		var d dueRecurring
		var lastTickAt sql.NullTime
		err := rows.Scan(&d.Name, &d.Cron, &d.TimeZone, &d.MissedTicks, &d.Revision, &d.NextTickAt, &lastTickAt, &d.DatabaseTime)
		return d, err
	}, sql.Named("Queues", queues), sql.Named("WithinSeconds", int64(ahead/time.Second)))
}

func (p *procedures) enqueueRecurring(ctx context.Context, d dueRecurring, do step) (string, sql.NullInt64, error) {
	const procedure = "chokaq.EnqueueRecurringJob"
	type result struct {
		result string
		jobID  sql.NullInt64
	}
	all, err := query(ctx, p, procedure, func(rows row) (result, error) {
		var r result
		err := rows.Scan(&r.result, &r.jobID)
		return r, err
	}, sql.Named("Name", d.Name), sql.Named("Revision", d.Revision), sql.Named("ExpectedTickAt", utcTime(d.NextTickAt.Time)), sql.Named("TickAt", utcTime(do.Tick)),
		sql.Named("NextTickAt", utcTime(do.Next)))
	r, err := one(procedure, all, err)
	return r.result, r.jobID, err
}

// utcTime is t for a parameter of type datetime2, whose conversion drops the offset. Zero: NULL.
func utcTime(t time.Time) sql.NullTime { return sql.NullTime{Time: t.UTC(), Valid: !t.IsZero()} }
