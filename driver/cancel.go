package driver

import (
	"context"
	"database/sql"
)

// CancelResult says what came of a cancellation.
type CancelResult string

const (
	// Cancelled: the job had not started; it is in the dead-letter queue as Cancelled.
	Cancelled CancelResult = "Cancelled"
	// CancelRequested: the job is running; its worker learns of it with the next heartbeat and cancels the handler's
	// context with ErrCancelRequested.
	CancelRequested CancelResult = "CancelRequested"
	// AlreadyCancelled: somebody has canceled it before.
	AlreadyCancelled CancelResult = "AlreadyCancelled"
	// AlreadyFinished: it has succeeded, or died of something else.
	AlreadyFinished CancelResult = "Finished"
)

// Cancel ends a job that has not finished (procedure chokaq.CancelJob). note, which may be empty, is kept in the operators' log.
// The error is ErrJobNotFound when there is no such job. It is safe to repeat.
func (c *Client) Cancel(ctx context.Context, jobID int64, note string) (CancelResult, error) {
	all, err := queryRows(ctx, c.db, "chokaq.CancelJob", scanAnswer,
		sql.Named("JobId", jobID), sql.Named("Note", sql.NullString{String: note, Valid: note != ""}))
	a, err := one("chokaq.CancelJob", all, procedureError("chokaq.CancelJob", err))
	return CancelResult(a.Result), err
}
