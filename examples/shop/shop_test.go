package shop_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chokaq/chokaq/driver"
	"github.com/chokaq/chokaq/driver/chokaqtest"
	"github.com/chokaq/chokaq/examples/internal/exampledb"
	"github.com/chokaq/chokaq/examples/shop"
)

// The job is committed with the order's row; when the transaction is rolled back there is neither.
func TestTheJobExistsExactlyIfTheOrderDoes(t *testing.T) {
	dsn := exampledb.New(t)
	client, err := driver.Open(dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := shop.Install(t.Context(), client.DB()); err != nil {
		t.Fatal(err)
	}
	if err := shop.PlaceOrder(t.Context(), client, 42, "ada@example.com"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.DB().Exec("INSERT INTO dbo.Orders (OrderId, Email) VALUES (43, N'taken')"); err != nil {
		t.Fatal(err)
	}
	if err := shop.PlaceOrder(t.Context(), client, 43, "bob@example.com"); err == nil { // the job was enqueued, then the row was refused
		t.Fatal("an order was placed twice")
	}
	pool := exampledb.Open(t, dsn)
	if n := exampledb.Count(t, pool, "SELECT COUNT(*) FROM chokaq.Jobs WHERE JobType = N'send_receipt' AND IdempotencyKey = N'order-42'"); n != 1 {
		t.Errorf("%d jobs for the order that was placed", n)
	}
	if n := exampledb.Count(t, pool, "SELECT COUNT(*) FROM chokaq.Jobs"); n != 1 {
		t.Errorf("%d jobs for one order", n)
	}
}

// newShop is a shop on a queue of the test's own.
func newShop(t *testing.T, mail shop.Mailer) *chokaqtest.Queue {
	t.Helper()
	q := chokaqtest.New(t)
	if err := shop.Install(t.Context(), q.DB()); err != nil {
		t.Fatal(err)
	}
	worker := q.NewWorker(driver.WorkerConfig{Queues: []string{shop.MailQueue}})
	shop.RegisterHandlers(worker, q.DB(), mail)
	q.Start(worker)
	if err := shop.PlaceOrder(t.Context(), q.Client(), 42, "ada@example.com"); err != nil {
		t.Fatal(err)
	}
	return q
}

func TestAReceiptIsSent(t *testing.T) {
	var to string
	q := newShop(t, func(_ context.Context, address, _ string) error { to = address; return nil })
	job := q.RequireEnqueued("send_receipt", shop.SendReceipt{Order: 42, Email: "ada@example.com"})
	q.WaitIdle()
	q.RequireState(job.ID, chokaqtest.Completed)
	if to != "ada@example.com" {
		t.Errorf("sent to %q", to)
	}
}

// A mail server that is away is tried again, with delays, as often as the type says.
func TestAReceiptIsTriedAgain(t *testing.T) {
	q := newShop(t, func(context.Context, string, string) error { return errors.New("the mail server is away") })
	began := q.Now()
	q.WaitIdle()
	job := q.RequireEnqueued("send_receipt", nil)
	if job.State != chokaqtest.Pending || job.Attempt != 1 || job.DueAt.Sub(q.Now()) != time.Minute {
		t.Error(job)
	}
	q.Drain()
	job = q.RequireState(job.ID, chokaqtest.Dead)
	if job.Reason != "Failed" || job.Attempt != 5 || q.Now().Sub(began) != (1+2+3+4)*time.Minute {
		t.Errorf("%v, after %v", job, q.Now().Sub(began))
	}
}

func TestAWrongAddressIsForAPerson(t *testing.T) {
	q := newShop(t, func(context.Context, string, string) error { return shop.ErrNoSuchAddress })
	q.WaitIdle()
	if job := q.RequireEnqueued("send_receipt", nil); job.State != chokaqtest.Dead || job.Reason != "Rejected" || job.Attempt != 1 {
		t.Error(job)
	}
}
