package shop

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/chokaq/chokaq/driver"
)

// Mailer sends a mail.
type Mailer func(ctx context.Context, to, text string) error

// ErrNoSuchAddress is a Mailer's error that no later attempt will mend.
var ErrNoSuchAddress = errors.New("there is no such address")

// RegisterHandlers registers the application's handlers.
func RegisterHandlers(worker *driver.Worker, db *sql.DB, mail Mailer) {
	driver.Handle(worker, "send_receipt", func(ctx context.Context, job *driver.Job[SendReceipt]) error {
		return sendReceipt(ctx, db, mail, job)
	}, driver.Timeout(time.Minute), driver.MaxAttempts(5), driver.Concurrency(4),
		driver.Backoff(func(attempt int) time.Duration { return time.Duration(attempt) * time.Minute }))
}

// sendReceipt may run more than once for a job: a worker may die after the mail was sent and before that was stored. So it remembers, by the job's id, what it has
// done.
func sendReceipt(ctx context.Context, db *sql.DB, mail Mailer, job *driver.Job[SendReceipt]) error {
	var sent int
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM dbo.Receipts WHERE JobId = @p1", job.ID).Scan(&sent); err != nil {
		return err
	}
	if sent > 0 {
		return nil
	}
	switch err := mail(ctx, job.Args.Email, "Thank you for your order."); {
	case errors.Is(err, ErrNoSuchAddress):
		return driver.Reject(err) // not again: to the dead-letter queue, for somebody to look at
	case err != nil:
		return err // later again
	}
	// Not ctx: the mail is sent, and a stop that cancels ctx just now must not keep that from being stored.
	_, err := db.ExecContext(context.WithoutCancel(ctx), "INSERT INTO dbo.Receipts (JobId, OrderId, SentAt) VALUES (@p1, @p2, SYSUTCDATETIME())", job.ID, job.Args.Order)
	return err
}
