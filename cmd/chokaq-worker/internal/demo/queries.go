package demo

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// held is what a worker has in its hands.
type held struct{ fetched, running int64 }

func (d *demo) exec(ctx context.Context, statement string, args ...any) error {
	_, err := d.pool.ExecContext(ctx, statement, args...)
	return err
}

func (d *demo) number(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = d.pool.QueryRowContext(ctx, query, args...).Scan(&n)
	return n, err
}

// done is the number of jobs that have succeeded.
func (d *demo) done(ctx context.Context) (int64, error) {
	return d.number(ctx, "SELECT COUNT_BIG(*) FROM chokaq.JobsArchive WITH (NOLOCK)")
}

// live is the number of jobs that have not ended.
func (d *demo) live(ctx context.Context) (int64, error) {
	return d.number(ctx, "SELECT COALESCE(SUM(q.Pending + q.Scheduled + q.Fetched + q.Processing), 0) FROM chokaq.QueueStatus AS q")
}

// heldBy asks what the worker of a process holds.
func (d *demo) heldBy(ctx context.Context, pid int) (h held, err error) {
	err = d.pool.QueryRowContext(ctx, "SELECT w.Fetched, w.Processing FROM chokaq.WorkerStatus AS w WHERE w.ProcessId = @p1", pid).Scan(&h.fetched, &h.running)
	if errors.Is(err, sql.ErrNoRows) { // it has not registered yet
		err = nil
	}
	return h, err
}

// betweenBooks reports whether a running job of a process has its line in the ledger already.
func (d *demo) betweenBooks(ctx context.Context, pid int) (bool, error) {
	entries, err := readEntries(d.ledger)
	if err != nil {
		return false, err
	}
	written := make(map[int64]bool)
	for _, e := range entries {
		written[e.JobID] = e.WorkerPID == pid
	}
	running, err := column(ctx, d.pool, "SELECT j.JobId FROM chokaq.Jobs AS j WITH (NOLOCK) WHERE j.State = 2")
	for _, id := range running {
		if written[id] {
			return true, err
		}
	}
	return false, err
}

// recovered is what a recovery procedure has moved so far, and the program that called it.
func (d *demo) recovered(ctx context.Context, procedure string) (moved int64, by string, err error) {
	err = d.pool.QueryRowContext(ctx, `SELECT COALESCE(r.RowsMovedLastHour, 0), COALESCE(r.LastProgramName, N'') FROM chokaq.RecoveryStatus AS r WHERE r.ProcedureName = @p1`, procedure).
		Scan(&moved, &by)
	if len(by) >= 8 && by[:8] == "SQLAgent" {
		by = "SQL Server Agent"
	}
	return moved, by, err
}

// dead lists the jobs in the dead-letter queue that died of a reason.
func (d *demo) dead(ctx context.Context, reason string) ([]int64, error) {
	return column(ctx, d.pool, "SELECT d.JobId FROM chokaq.DeadJobs AS d WHERE d.Reason = @p1 ORDER BY d.JobId", reason)
}

func column(ctx context.Context, pool *sql.DB, query string, args ...any) (_ []int64, err error) {
	rows, err := pool.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// requeueDead calls chokaq.RequeueDeadJobs and counts what it has requeued.
func requeueDead(ctx context.Context, pool *sql.DB, ids []int64) (requeued int, err error) {
	for some := range slices.Chunk(ids, 1000) {
		text, err := json.Marshal(some)
		if err != nil {
			return requeued, err
		}
		rows, err := pool.QueryContext(ctx, "chokaq.RequeueDeadJobs", sql.Named("JobIds", string(text)), sql.Named("Note", "demo: hashing again does no harm"))
		if err != nil {
			return requeued, err
		}
		for rows.Next() {
			var id int64
			var result string
			var state sql.NullString
			if err := rows.Scan(&id, &result, &state); err != nil {
				return requeued, errors.Join(err, rows.Close())
			}
			if result != "Requeued" {
				return requeued, errors.Join(fmt.Errorf("job %d was not requeued: %s", id, result), rows.Close())
			}
			requeued++
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return requeued, err
		}
	}
	return requeued, nil
}

func (d *demo) rest(ctx context.Context, t time.Duration) error {
	select {
	case <-time.After(t):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
