package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/driver"
)

// enqueueFlags describe one job.
type enqueueFlags struct {
	line     jobLine
	payload  string
	headers  []string
	fromLine int
}

func (a *app) enqueueCommand() *cobra.Command {
	var f enqueueFlags
	c := &cobra.Command{
		Use: "enqueue [FILE | -]", Short: "Enqueue one job by flags, or many from a file of JSON lines", Args: cobra.MaximumNArgs(1),
		Long: `With --type: enqueues one job and prints its id.

With a file, or "-" for standard input: one job a line, as JSON:
  ` + lineForm + `
Only "type" is required. A line may have 16 MiB. Lines are enqueued in batches of 1000, each whole or not at all. A line that is not of that form stops the command
before anything of its batch is enqueued; the message says which line, and how to go on. Lines with an idempotency key can be sent again without harm.`,
		Example: `  chokaq-worker enqueue --type send_email --queue mail --payload '{"to": 17}' --delay 5m
  chokaq-worker enqueue jobs.jsonl
  jq -c '{type: "resize", payload: .}' images.json | chokaq-worker enqueue -`,
	}
	flags := c.Flags()
	flags.StringVar(&f.line.Type, "type", "", "job type, exact: names the handler")
	flags.StringVar(&f.line.Queue, "queue", "", "queue (default \"default\"); with a file, for lines that name none")
	flags.StringVar(&f.payload, "payload", "", "payload, JSON text (default {}); @FILE reads a file, @- standard input")
	flags.IntVar(&f.line.Priority, "priority", 0, "1 to 10; 10 runs first (default 5)")
	flags.StringVar(&f.line.Delay, "delay", "", "run no sooner than after this time, a Go duration")
	flags.StringVar(&f.line.DueAt, "due-at", "", "run no sooner than at this time, such as 2027-01-31T08:00:00Z")
	flags.IntVar(&f.line.MaxAttempts, "max-attempts", 0, "1 to 1000 (default 10)")
	flags.StringVar(&f.line.IdempotencyKey, "idempotency-key", "", "nothing is enqueued while a live job of the type has this key")
	flags.StringArrayVar(&f.headers, "header", nil, "NAME=VALUE, handed to the handler; repeatable")
	flags.IntVar(&f.fromLine, "from-line", 1, "with a file: begin at this line")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			for _, single := range []string{"type", "payload", "priority", "delay", "due-at", "max-attempts", "idempotency-key", "header"} {
				if flags.Changed(single) {
					return usageError{fmt.Errorf("--%s describes one job and cannot be given together with a file; nothing was enqueued", single)}
				}
			}
			return a.enqueueFile(c, args[0], f)
		}
		job, err := f.job(a.stdin)
		if err != nil {
			return usageError{err}
		}
		return a.withClient(func(ctx context.Context, client *driver.Client, _ []string) error {
			return a.enqueueOne(ctx, client, job)
		})(c, args)
	}
	return c
}

// job is the one that the flags describe.
func (f enqueueFlags) job(stdin io.Reader) (driver.NewJob, error) {
	fail := func(format string, args ...any) (driver.NewJob, error) {
		return driver.NewJob{}, fmt.Errorf(format+"; nothing was enqueued", args...)
	}
	if f.line.Type == "" {
		return fail("name the job's type with --type, or a file of JSON lines (\"-\": standard input)")
	}
	text, err := f.payloadText(stdin)
	if err != nil {
		return fail("--payload: %v", err)
	}
	if text != "" {
		if !json.Valid([]byte(text)) {
			return fail("--payload: %q is not JSON text (a string needs its quotes: '\"text\"')", shorten(text, 60))
		}
		f.line.Payload = json.RawMessage(text)
	}
	for _, header := range f.headers {
		name, value, ok := strings.Cut(header, "=")
		if !ok || name == "" {
			return fail("--header: %q is not NAME=VALUE", header)
		}
		if f.line.Headers == nil {
			f.line.Headers = make(map[string]string)
		}
		f.line.Headers[name] = value
	}
	job, err := f.line.job()
	if err != nil {
		return fail("%v", err)
	}
	return job, nil
}

func (f enqueueFlags) payloadText(stdin io.Reader) (string, error) {
	name, isFile := strings.CutPrefix(f.payload, "@")
	if !isFile {
		return f.payload, nil
	}
	var text []byte
	var err error
	if name == "-" {
		text, err = io.ReadAll(stdin)
	} else {
		text, err = os.ReadFile(name)
	}
	if err == nil && len(text) == 0 {
		err = errors.New(name + " is empty")
	}
	return string(text), err
}

func (a *app) enqueueOne(ctx context.Context, client *driver.Client, job driver.NewJob) error {
	enqueued, err := answered(ctx, func(ctx context.Context) (driver.Enqueued, error) { return client.Enqueue(ctx, job) })
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%w; it is not known whether the job was enqueued (with --idempotency-key it can be tried again without harm)", errInterrupted)
		}
		if driver.IsTransient(err) && job.IdempotencyKey == "" {
			return fmt.Errorf("it is not known whether the job was enqueued (with --idempotency-key it could be tried again without harm): %w", err)
		}
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"jobId": enqueued.JobID, "created": enqueued.Created})
	}
	if !enqueued.Created {
		fmt.Fprintf(a.stdout, "job %d has the idempotency key already and has not finished; nothing was enqueued\n", enqueued.JobID)
		return nil
	}
	fmt.Fprintf(a.stdout, "enqueued job %d\n", enqueued.JobID)
	return nil
}

const (
	// enqueueTimeout bounds one batch of lines.
	enqueueTimeout = time.Minute
	// finishBatch is how long a batch under way may go on after a signal.
	finishBatch = 5 * time.Second
)
