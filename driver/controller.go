package driver

import (
	"context"
	"database/sql"
	"sync"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"go.uber.org/zap"
)

// controller asks the database, once a heartbeat interval, what a running worker should know: how many handlers an operator wants it to have, and
// whether recovery runs. How much waits in its queues it asks only for somebody who collects metrics, and not more often than every four
// heartbeats: the database counts the queues' rows for it.
type controller struct {
	w     *Worker
	woken chan struct{} // somebody collects metrics, and the depths are old

	wanted     sql.NullInt64 // the number of handlers that was obeyed last
	complained bool          // that the database refuses

	mu       sync.Mutex
	latest   *control
	at       time.Duration // monotonic; when latest was asked for
	depths   []queueDepth
	depthsAt time.Duration // monotonic; when they were asked for; 0: never
}

// control is the answer of chokaq.GetWorkerControl.
type control struct {
	handlersWanted          sql.NullInt64
	recoveryLate            bool
	sinceReset, sinceRescue time.Duration
	lateAfter               time.Duration
}

// run asks until ctx ends. A call that fails is not repeated, and none is made while the database is away: claims and heartbeats find out when it is
// back, and the next answer will do.
func (c *controller) run(ctx context.Context) {
	ticker := c.w.clock.NewTicker(c.w.config.HeartbeatInterval)
	defer ticker.Stop()
	for {
		c.ask(ctx)
		for again := false; !again; {
			select {
			case <-ticker.C():
				again = true
			case <-c.woken:
				c.count(ctx)
			case <-ctx.Done():
				return
			}
		}
	}
}

// count asks how much waits in the queues.
func (c *controller) count(ctx context.Context) {
	if !c.w.health.up() {
		return
	}
	asked := c.w.clock.Monotonic()
	depths, err := attempt(ctx, c.w.clock, c.w.config.CommandTimeout, func(ctx context.Context) ([]queueDepth, error) {
		return c.w.procedures.depths(ctx, c.w.claimer.queues)
	})
	if err != nil {
		c.complain(ctx, err)
		return
	}
	c.mu.Lock()
	c.depths, c.depthsAt = depths, asked
	c.mu.Unlock()
}

// queues is how much waits in them, as far as it is known and not old. It has them counted anew when it is time.
func (c *controller) queues() []queueDepth {
	every := 4 * c.w.config.HeartbeatInterval
	c.mu.Lock()
	age, known := c.w.clock.Monotonic()-c.depthsAt, c.depthsAt > 0
	depths := c.depths
	c.mu.Unlock()
	if !known || age >= every {
		signal(c.woken)
	}
	if age > 4*every {
		return nil
	}
	return depths
}

// complain logs once that the database refuses.
func (c *controller) complain(ctx context.Context, err error) {
	if ctx.Err() == nil && !IsTransient(err) && sqlNumber(err) != NumberUnknownWorker && !c.complained { // a heartbeat registers a worker again whose row was purged
		c.complained = true
		c.w.log.Error("the database refuses to tell what the worker should know (handlers wanted, recovery, depth of queues); jobs are not affected", event("control.refused"), zap.Error(err))
	}
}

func (c *controller) ask(ctx context.Context) {
	if !c.w.health.up() {
		return
	}
	asked := c.w.clock.Monotonic()
	now, err := attempt(ctx, c.w.clock, c.w.config.CommandTimeout, func(ctx context.Context) (control, error) {
		return c.w.procedures.control(ctx, c.w)
	})
	if err != nil {
		c.complain(ctx, err)
		return
	}
	c.mu.Lock()
	was := c.latest
	c.latest, c.at = &now, asked
	c.mu.Unlock()
	c.obey(now)
	if now.recoveryLate != (was != nil && was.recoveryLate) {
		c.sayLate(now)
	}
}

// obey sets the number of handlers when an operator says something new; a number that the program has set itself stays until then. Without a
// wish it is the configured one again.
func (c *controller) obey(now control) {
	if now.handlersWanted == c.wanted {
		return
	}
	c.wanted = now.handlersWanted
	want := c.w.config.Handlers
	if now.handlersWanted.Valid {
		want = int(now.handlersWanted.Int64)
	}
	if err := c.w.SetHandlers(want); err != nil {
		c.w.log.Error("the number of handlers that an operator wants cannot be set", event("worker.handlers_refused"), zap.Int("handlers", want), zap.Error(err))
	}
}

func (c *controller) sayLate(now control) {
	fields := []zap.Field{zap.Duration("since_reset", now.sinceReset), zap.Duration("since_rescue", now.sinceRescue), zap.Duration("late_after", now.lateAfter)}
	if now.recoveryLate {
		c.w.log.Warn("recovery does not run: jobs of workers that crash stay where they are. Is SQL Server Agent running, and are its ChokaQ jobs enabled and succeeding? Without Agent, run a worker with CHOKAQ_RECOVERY_ENABLED=true",
			append(fields, event("recovery.late"))...)
		return
	}
	c.w.log.Info("recovery runs again", append(fields, event("recovery.in_time"))...)
}

// seen is the latest answer; nil when there is none that is recent.
func (c *controller) seen() *control {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest == nil || c.w.clock.Monotonic()-c.at > 4*c.w.config.HeartbeatInterval {
		return nil
	}
	return c.latest
}

func (p *procedures) control(ctx context.Context, w *Worker) (control, error) {
	const procedure = "chokaq.GetWorkerControl"
	all, err := query(ctx, p, procedure, func(rows row) (control, error) {
		var c control
		var reset, rescue, lateAfter int64
		err := rows.Scan(&c.handlersWanted, &c.recoveryLate, &reset, &rescue, &lateAfter)
		c.sinceReset, c.sinceRescue, c.lateAfter = time.Duration(reset)*time.Second, time.Duration(rescue)*time.Second, time.Duration(lateAfter)*time.Second
		return c, err
	}, sql.Named("WorkerId", mssql.UniqueIdentifier(w.id)))
	return one(procedure, all, err)
}

// depths counts what is in queues; see the view chokaq.QueueStatus.
func (p *procedures) depths(ctx context.Context, queues string) ([]queueDepth, error) {
	return queryAs(ctx, p, "chokaq.QueueStatus", queueDepths, func(rows row) (queueDepth, error) {
		var q queueDepth
		err := rows.Scan(&q.Queue, &q.Paused, &q.Pending, &q.Scheduled, &q.Fetched, &q.Processing, &q.OldestDueAge,
			&q.DeadFailed, &q.DeadRejected, &q.DeadInterrupted, &q.DeadZombie, &q.DeadCancelled)
		return q, err
	}, sql.Named("Queues", queues))
}

const queueDepths = `SELECT s.Queue, s.IsPaused, s.Pending, s.Scheduled, s.Fetched, s.Processing, s.OldestDueAgeSeconds,
       s.DeadFailed, s.DeadRejected, s.DeadInterrupted, s.DeadZombie, s.DeadCancelled
FROM chokaq.QueueStatus AS s
WHERE s.Queue IN (SELECT q.[value] COLLATE Latin1_General_100_BIN2 FROM OPENJSON(@Queues) AS q);`
