package driver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// enqueueAttempts bounds how often Enqueue and EnqueueMany repeat a call that surely changed nothing.
const enqueueAttempts = 5

// Enqueue inserts one job (procedure chokaq.EnqueueJobs). After an error that surely changed nothing (a deadlock, throttling), and
// with an idempotency key after any transient one, it is tried again up to five times. Otherwise an error that is transient
// (see [IsTransient]) leaves open whether the job was inserted.
func (c *Client) Enqueue(ctx context.Context, job NewJob) (Enqueued, error) {
	all, err := c.EnqueueMany(ctx, []NewJob{job})
	if err != nil {
		return Enqueued{}, err
	}
	return all[0], nil
}

// EnqueueTx inserts one job in a transaction of the caller's: it is rolled back with it, and visible to workers only once it
// has committed. Nothing is tried again, since an error of SQL Server ends the transaction.
func (c *Client) EnqueueTx(ctx context.Context, tx *sql.Tx, job NewJob) (Enqueued, error) {
	all, err := c.EnqueueManyTx(ctx, tx, []NewJob{job})
	if err != nil {
		return Enqueued{}, err
	}
	return all[0], nil
}

// EnqueueMany inserts many jobs, all or none, and answers in their order; ids ascend in it, and claims take jobs of equal
// priority by it, except one that passes while this transaction ends: it steps over the rows still locked. It is repeated like Enqueue. More than 1000 jobs take several calls in one transaction.
func (c *Client) EnqueueMany(ctx context.Context, jobs []NewJob) (_ []Enqueued, err error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	elements, err := enqueueElements(jobs)
	if err != nil {
		return nil, err
	}
	ctx, traced := c.tracing.enqueueing(ctx, elements)
	defer func() { traced(err) }()
	repeatable := true // every job has a key: repeating cannot insert one twice
	queues := make(map[string]struct{})
	for _, e := range elements {
		repeatable = repeatable && e.IdempotencyKey != ""
		queues[e.Queue] = struct{}{}
	}

	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 20*time.Millisecond, time.Second
	for attempt := 1; ; attempt++ {
		var enqueued []Enqueued
		enqueued, err = c.enqueueOnce(ctx, elements)
		if err == nil {
			c.notify(queues)
			c.metrics.enqueuedAll(elements, enqueued)
			return enqueued, nil
		}
		if !mayEnqueueAgain(err, repeatable) || attempt == enqueueAttempts || ctx.Err() != nil {
			return nil, err
		}
		if c.clock.Sleep(ctx, wait.NextBackOff()) != nil {
			return nil, err
		}
	}
}

// EnqueueManyTx is EnqueueMany in a transaction of the caller's.
func (c *Client) EnqueueManyTx(ctx context.Context, tx *sql.Tx, jobs []NewJob) (_ []Enqueued, err error) {
	elements, err := enqueueElements(jobs)
	if err != nil {
		return nil, err
	}
	ctx, traced := c.tracing.enqueueing(ctx, elements)
	defer func() { traced(err) }()
	enqueued, err := enqueueChunks(ctx, tx, elements)
	c.metrics.enqueuedAll(elements, enqueued)
	return enqueued, err
}

func (c *Client) enqueueOnce(ctx context.Context, elements []enqueueElement) (_ []Enqueued, err error) {
	if len(elements) <= maxBatch {
		return enqueueChunks(ctx, c.db, elements)
	}
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, procedureError("chokaq.EnqueueJobs", err)
	}
	enqueued, err := enqueueChunks(ctx, tx, elements)
	if err != nil {
		// SQL Server has rolled back already (XACT_ABORT); this tells the pool.
		if rollback := tx.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) && !isConnectionError(rollback) && sqlNumber(rollback) != 3903 {
			err = errors.Join(err, rollback)
		}
		return nil, err
	}
	return enqueued, procedureError("chokaq.EnqueueJobs", tx.Commit())
}

func enqueueChunks(ctx context.Context, q queryer, elements []enqueueElement) ([]Enqueued, error) {
	all := make([]Enqueued, 0, len(elements))
	for len(elements) > 0 {
		chunk := elements[:min(maxBatch, len(elements))]
		elements = elements[len(chunk):]
		rows, err := queryRows(ctx, q, "chokaq.EnqueueJobs", func(rows row) (Enqueued, error) {
			var ordinal int
			var e Enqueued
			err := rows.Scan(&ordinal, &e.JobID, &e.Created)
			return e, err
		}, sql.Named("Jobs", jsonText(chunk)))
		if err != nil {
			return nil, procedureError("chokaq.EnqueueJobs", err)
		}
		if len(rows) != len(chunk) {
			return nil, &ProcedureError{Procedure: "chokaq.EnqueueJobs", Err: fmt.Errorf("%d jobs sent, %d answered", len(chunk), len(rows))}
		}
		all = append(all, rows...)
	}
	return all, nil
}

func enqueueElements(jobs []NewJob) ([]enqueueElement, error) {
	elements := make([]enqueueElement, len(jobs))
	for i, job := range jobs {
		e, err := job.element()
		if err != nil {
			return nil, err
		}
		elements[i] = e
	}
	return elements, nil
}
