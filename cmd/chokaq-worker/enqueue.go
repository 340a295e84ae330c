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
	"github.com/chokaq/chokaq/internal/clock"
	"github.com/chokaq/chokaq/internal/reply"
)

// enqueueFlags describe one job.
type enqueueFlags struct {
	jobType, queue, payload, delay, dueAt, key string
	priority, maxAttempts                      int
	headers                                    []string
	fromLine                                   int
}

func (a *app) enqueueCommand() *cobra.Command {
	var f enqueueFlags
	c := &cobra.Command{
		Use: "enqueue [FILE | -]", Short: "Enqueue one job by flags, or many from a file of JSON lines", Args: atMostArgs(1),
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
	flags.StringVar(&f.jobType, "type", "", "job type, exact: names the handler")
	flags.StringVar(&f.queue, "queue", "", "queue (default \"default\"); with a file, for lines that name none")
	flags.StringVar(&f.payload, "payload", "", "payload, JSON text (default {}); @FILE reads a file, @- standard input")
	flags.IntVar(&f.priority, "priority", 0, "1 to 10; 10 runs first (default 5)")
	flags.StringVar(&f.delay, "delay", "", "run no sooner than after this time, a Go duration up to 87600h (ten years); 0s: none")
	flags.StringVar(&f.dueAt, "due-at", "", "run no sooner than at this time, such as 2027-01-31T08:00:00Z")
	flags.IntVar(&f.maxAttempts, "max-attempts", 0, "1 to 1000 (default 10)")
	flags.StringVar(&f.key, "idempotency-key", "", "nothing is enqueued while a live job of the type has this key")
	flags.StringArrayVar(&f.headers, "header", nil, "NAME=VALUE, handed to the handler; repeatable")
	flags.IntVar(&f.fromLine, "from-line", 1, "with a file: begin at this line")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			for _, single := range []string{"type", "payload", "priority", "delay", "due-at", "max-attempts", "idempotency-key", "header"} {
				if flags.Changed(single) && !(single == "delay" && noDelay(f.delay)) {
					return usageError{fmt.Errorf("--%s describes one job and cannot be given together with a file; nothing was enqueued", single)}
				}
			}
			switch {
			case f.fromLine < 1:
				return usageError{fmt.Errorf("--from-line: must be 1 or more, and is %d; nothing was enqueued", f.fromLine)}
			case flags.Changed("queue"):
				if err := checkName("--queue", f.queue, 64); err != nil {
					return usageError{fmt.Errorf("%w; nothing was enqueued", err)}
				}
			}
			return a.enqueueFile(c, args[0], f)
		}
		if f.fromLine != 1 {
			return usageError{errors.New("--from-line goes with a file; nothing was enqueued")}
		}
		job, err := f.job(a.stdin, flags.Changed)
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
func (f enqueueFlags) job(stdin io.Reader, given func(flag string) bool) (driver.NewJob, error) {
	fail := func(format string, args ...any) (driver.NewJob, error) {
		return driver.NewJob{}, fmt.Errorf(format+"; nothing was enqueued", args...)
	}
	if !given("type") {
		return fail("name the job's type with --type, or a file of JSON lines (\"-\": standard input)")
	}
	line := jobLine{Type: f.jobType, byFlags: true}
	if given("queue") {
		line.Queue = &f.queue
	}
	if given("priority") {
		line.Priority = &f.priority
	}
	if given("max-attempts") {
		line.MaxAttempts = &f.maxAttempts
	}
	if given("delay") {
		line.Delay = &f.delay
	}
	if given("due-at") {
		line.DueAt = &f.dueAt
	}
	if given("idempotency-key") {
		line.IdempotencyKey = &f.key
	}
	if given("payload") {
		text, err := f.payloadText(stdin)
		if err != nil {
			return fail("--payload: %v", err)
		}
		if !json.Valid([]byte(text)) {
			return fail("--payload: %q is not JSON text (a string needs its quotes: '\"text\"'; nothing at all: leave the flag out)", shorten(text, 60))
		}
		line.Payload = json.RawMessage(text)
	}
	var err error
	if line.Headers, err = headerPairs(f.headers); err != nil {
		return fail("%v", err)
	}
	job, err := line.job()
	if err != nil {
		return fail("%v", err)
	}
	return job, nil
}

// noDelay reports whether a --delay is 0s: a script that always gives one says with it that there is none.
func noDelay(text string) bool {
	d, err := time.ParseDuration(text)
	return err == nil && d == 0
}

// headerPairs reads what --header was given.
func headerPairs(pairs []string) (map[string]string, error) {
	headers := make(map[string]string)
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--header: %q is not accepted; accepted: NAME=VALUE", pair)
		}
		if _, twice := headers[name]; twice {
			return nil, fmt.Errorf("--header: %s is given twice", name)
		}
		headers[name] = value
	}
	return headers, nil
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
	enqueued, err := reply.Await(ctx, clock.Real(), reply.Grace, func(ctx context.Context) (driver.Enqueued, error) { return client.Enqueue(ctx, job) })
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
