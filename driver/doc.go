// Package driver is the Go side of ChokaQ, a durable background-job queue that lives
// in SQL Server: a client that enqueues jobs, and a worker that runs typed handlers
// for them and stops gracefully.
//
// # Enqueue
//
// [Client.Enqueue] inserts a job; [Client.EnqueueTx] does so inside a transaction of
// yours, so that the job exists exactly if your data does:
//
//	client, err := driver.Open("sqlserver://chokaq_app:secret@db1?database=shop")
//	...
//	tx, err := db.BeginTx(ctx, nil)
//	... // your own statements
//	_, err = client.EnqueueTx(ctx, tx, driver.NewJob{Type: "send_email", Args: SendEmail{To: 17}})
//	err = tx.Commit()
//
// # Run
//
// A [Worker] claims jobs, prefetches them into a bounded channel, and runs their
// handlers in goroutines. Data flows one way: claim -> prefetch -> process -> complete,
// one file each. [Worker.Run] returns when its context ends and the graceful shutdown
// is over:
//
//	worker, err := driver.NewWorker(client, driver.WorkerConfig{Queues: []string{"mail"}}, logger)
//	driver.Handle(worker, "send_email", func(ctx context.Context, job *driver.Job[SendEmail]) error {
//		return mailer.Send(ctx, job.Args.To)
//	})
//	err = worker.Run(ctx)
//
// A worker claims only jobs of the types that it has handlers for; [HandleAny] is a handler for all others. [Worker.Use] wraps handlers in
// middleware, [Worker.SetHandlers] changes how many run at a time, [Worker.Status] tells how it stands. Package chokaqtest lets an application's own tests run its handlers with no SQL Server.
//
// [Client.SetRecurringJob] defines jobs that are enqueued by the clock: each tick once, by whichever worker is alive.
//
// Metrics and traces go to OpenTelemetry's global providers, or to those of [Client.SetTelemetry].
//
// # Delivery
//
// At least once. A job that has been fetched and not started has run no user code and
// goes back to the queue by itself. A job that was running when its worker died may
// have had side effects: it is never run again unless its error asks for that (a
// retry) or an operator does (a requeue from the dead-letter queue). Ownership is
// fenced: every claim has a token, and a worker that lost its claim cannot complete,
// fail, release or heartbeat the job, because the database refuses the token.
//
// All due times, heartbeats and timeouts are measured by the database's clock.
package driver
