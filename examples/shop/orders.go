// Package shop is a small application on ChokaQ: it takes orders and sends receipts.
package shop

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/chokaq/chokaq/driver"
)

// MailQueue is where the jobs of this application go.
const MailQueue = "mail"

// SendReceipt is the payload of jobs of type "send_receipt".
type SendReceipt struct {
	Order int    `json:"order"`
	Email string `json:"email"`
}

// Install creates the application's own tables.
func Install(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, `
CREATE TABLE dbo.Orders (OrderId int NOT NULL PRIMARY KEY, Email nvarchar(200) NOT NULL);
CREATE TABLE dbo.Receipts (JobId bigint NOT NULL PRIMARY KEY, OrderId int NOT NULL, SentAt datetime2(3) NOT NULL);`)
	return err
}

// PlaceOrder stores an order, and the job that sends its receipt, in one transaction: either both exist or neither. A worker sees the job once the transaction has
// committed, and not before.
func PlaceOrder(ctx context.Context, client *driver.Client, order int, email string) (err error) {
	tx, err := client.DB().BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if rollback := tx.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			err = errors.Join(err, rollback)
		}
	}()
	_, err = client.EnqueueTx(ctx, tx, driver.NewJob{
		Queue: MailQueue, Type: "send_receipt", Args: SendReceipt{Order: order, Email: email},
		IdempotencyKey: "order-" + strconv.Itoa(order), // however often this is called: one live job for an order
	})
	if err != nil {
		return fmt.Errorf("enqueueing the receipt of order %d: %w", order, err)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO dbo.Orders (OrderId, Email) VALUES (@p1, @p2)", order, email); err != nil {
		return fmt.Errorf("storing order %d: %w", order, err)
	}
	return tx.Commit()
}
