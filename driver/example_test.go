package driver_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chokaq/chokaq/driver"
)

// SendEmail is the payload of the examples.
type SendEmail struct {
	To string `json:"to"`
}

// An idempotency key makes enqueueing twice enqueue once, as long as the first job is live.
func ExampleClient_Enqueue() {
	ctx := context.Background()
	client := openExample(ctx) // driver.Open("sqlserver://user:password@host:1433?database=shop")
	defer client.Close()

	welcome := driver.NewJob{Type: "send_email", Args: SendEmail{To: "ada@example.com"}, IdempotencyKey: "welcome-17"}
	first, err := client.Enqueue(ctx, welcome)
	if err != nil {
		panic(err)
	}
	again, err := client.Enqueue(ctx, welcome)
	if err != nil {
		panic(err)
	}
	fmt.Println(first.Created, again.Created, first.JobID == again.JobID)
	// Output: true false true
}

// The job and the order are one transaction: either both exist or neither.
func ExampleClient_EnqueueTx() {
	ctx := context.Background()
	client := openExample(ctx)
	defer client.Close()
	if _, err := client.DB().ExecContext(ctx, "CREATE TABLE dbo.Orders (OrderId int PRIMARY KEY, Email nvarchar(200) NOT NULL)"); err != nil {
		panic(err)
	}

	order := func(id int, email string) error {
		tx, err := client.DB().BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // changes nothing after Commit
		if _, err := client.EnqueueTx(ctx, tx, driver.NewJob{Type: "send_email", Args: SendEmail{To: email}}); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO dbo.Orders (OrderId, Email) VALUES (@p1, @p2)", id, email); err != nil {
			return err
		}
		return tx.Commit()
	}
	fmt.Println("first:", order(1, "ada@example.com") == nil)
	fmt.Println("the same order again:", order(1, "ada@example.com") == nil)

	var orders, jobs int
	if err := client.DB().QueryRowContext(ctx, "SELECT (SELECT COUNT(*) FROM dbo.Orders), (SELECT COUNT(*) FROM chokaq.Jobs)").Scan(&orders, &jobs); err != nil {
		panic(err)
	}
	fmt.Println("orders:", orders, "jobs:", jobs)
	// Output:
	// first: true
	// the same order again: false
	// orders: 1 jobs: 1
}

// A typed handler, and a worker that runs until its context ends and then stops gracefully.
func ExampleWorker_Run() {
	client := openExample(context.Background())
	defer client.Close()
	worker, err := driver.NewWorker(client, driver.WorkerConfig{Queues: []string{"mail"}}, nil)
	if err != nil {
		panic(err) // every fault of the configuration, at once
	}

	ctx, stop := context.WithCancel(context.Background()) // signal.NotifyContext, in a program of yours
	defer stop()
	driver.Handle(worker, "send_email", func(ctx context.Context, job *driver.Job[SendEmail]) error {
		fmt.Printf("attempt %d: sending to %s\n", job.Attempt, job.Args.To)
		if job.Attempt == 1 {
			return driver.RetryAfter(time.Millisecond, errors.New("the mail server is busy"))
		}
		stop() // for this example: one job is enough
		return nil
	}, driver.Timeout(time.Minute))

	if _, err := client.Enqueue(ctx, driver.NewJob{Queue: "mail", Type: "send_email", Args: SendEmail{To: "ada@example.com"}}); err != nil {
		panic(err)
	}
	fmt.Println("stopped:", worker.Run(ctx))
	fmt.Printf("completed %d, retried %d\n", worker.Stats().Completed, worker.Stats().Retried)
	// Output:
	// attempt 1: sending to ada@example.com
	// attempt 2: sending to ada@example.com
	// stopped: <nil>
	// completed 1, retried 1
}

// A job that has not started is dead at once; one that runs is told by its context, with the cause ErrCancelRequested.
func ExampleClient_Cancel() {
	ctx := context.Background()
	client := openExample(ctx)
	defer client.Close()

	later, err := client.Enqueue(ctx, driver.NewJob{Type: "send_email", Args: SendEmail{To: "ada@example.com"}, Delay: time.Hour})
	if err != nil {
		panic(err)
	}
	for range 2 {
		result, err := client.Cancel(ctx, later.JobID, "the customer has unsubscribed")
		fmt.Println(result, err)
	}
	_, err = client.Cancel(ctx, later.JobID+1000, "")
	fmt.Println("no such job:", errors.Is(err, driver.ErrJobNotFound))
	// Output:
	// Cancelled <nil>
	// AlreadyCancelled <nil>
	// no such job: true
}

// An application says at each start which recurring jobs there are: what is the same changes nothing.
func ExampleClient_SetRecurringJob() {
	ctx := context.Background()
	client := openExample(ctx)
	defer client.Close()

	report := driver.RecurringJob{
		Name: "nightly-report", Cron: "30 2 * * 1-5", TimeZone: "Europe/Berlin",
		Job: driver.NewJob{Type: "report", Args: map[string]string{"kind": "daily"}},
	}
	for range 2 {
		changed, err := client.SetRecurringJob(ctx, report)
		fmt.Println("changed:", changed, err)
	}
	ticks, err := driver.NextTicks(report.Cron, report.TimeZone, time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC), 2)
	fmt.Println(ticks, err)

	report.TimeZone = "Europe/Berln"
	_, err = client.SetRecurringJob(ctx, report)
	fmt.Println("bad time zone:", errors.Is(err, driver.ErrInvalidArgument))
	fmt.Println("removed:", client.RemoveRecurringJob(ctx, "nightly-report"))
	fmt.Println("none left:", errors.Is(client.RemoveRecurringJob(ctx, "nightly-report"), driver.ErrNoRecurringJob))
	// Output:
	// changed: true <nil>
	// changed: false <nil>
	// [2026-03-30 02:30:00 +0200 CEST 2026-03-31 02:30:00 +0200 CEST] <nil>
	// bad time zone: true
	// removed: <nil>
	// none left: true
}
