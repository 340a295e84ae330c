package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/driver"
	"github.com/chokaq/chokaq/internal/clock"
	"github.com/chokaq/chokaq/internal/reply"
)

const (
	enqueueBatch = 1000
	// longestLine is well above a payload of 1,000,000 characters with every one escaped.
	longestLine = 16 << 20
	// idleFlush is how long lines wait for more to share a batch, when the input comes slowly.
	idleFlush = 500 * time.Millisecond
)

// readLine is a line of the input, or the end of it.
type readLine struct {
	number int
	job    driver.NewJob
	err    error // io.EOF at the end
}

// errBeyondEnd refuses to do nothing with success.
var errBeyondEnd = errors.New("--from-line is beyond the end")

// enqueueFile enqueues the lines of a file.
func (a *app) enqueueFile(c *cobra.Command, name string, f enqueueFlags) error {
	input := a.stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return usageError{fmt.Errorf("%w; nothing was enqueued", err)}
		}
		defer file.Close()
		if info, err := file.Stat(); err == nil && info.IsDir() {
			return usageError{fmt.Errorf("%s is a folder; name a file of JSON lines, or \"-\" for standard input; nothing was enqueued", name)}
		}
		input = file
	}
	return a.withClient(func(ctx context.Context, client *driver.Client, _ []string) error {
		e := &fileEnqueuer{client: client, progress: a.newProgress(), nextLine: f.fromLine}
		err := e.run(ctx, readLines(ctx, input, f))
		e.progress.end()
		if a.json {
			err = errors.Join(err, a.printJSON(map[string]any{"enqueued": e.created, "duplicates": e.duplicates, "nextLine": e.nextLine}))
		} else {
			fmt.Fprintln(a.stdout, e.summary())
		}
		return err
	})(c, nil)
}

// readLines parses the lines in a goroutine, which ends with the input, a fault, or ctx.
func readLines(ctx context.Context, input io.Reader, f enqueueFlags) <-chan readLine {
	lines := make(chan readLine, enqueueBatch)
	send := func(l readLine) bool {
		select {
		case lines <- l:
			return l.err == nil
		case <-ctx.Done():
			return false
		}
	}
	go func() {
		reader := bufio.NewReaderSize(input, 64<<10)
		for number := 1; ; number++ {
			text, err := wholeLine(reader)
			if errors.Is(err, io.EOF) && len(text) == 0 {
				if f.fromLine > number { // the line after the last is where a finished command would go on
					send(readLine{number: number, err: usageError{fmt.Errorf("%w: the input has %d lines, and it is %d", errBeyondEnd, number-1, f.fromLine)}})
					return
				}
				send(readLine{number: number, err: io.EOF})
				return
			}
			if err != nil && !errors.Is(err, io.EOF) {
				send(readLine{number: number, err: fmt.Errorf("line %d: %w", number, err)})
				return
			}
			if text = bytes.TrimSpace(text); number < f.fromLine || len(text) == 0 {
				continue
			}
			job, err := parseJobLine(text, f.queue)
			if err != nil {
				send(readLine{number: number, err: usageError{fmt.Errorf("line %d: %w; accepted: %s", number, err, lineForm)}})
				return
			}
			if !send(readLine{number: number, job: job}) {
				return
			}
		}
	}()
	return lines
}

// wholeLine reads up to a line end, within bounds.
func wholeLine(reader *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := reader.ReadSlice('\n')
		line = append(line, piece...)
		if len(line) > longestLine {
			return nil, usageError{fmt.Errorf("it is longer than %d MiB", longestLine>>20)}
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// fileEnqueuer sends lines in batches, and knows how far it has come.
type fileEnqueuer struct {
	client              *driver.Client
	progress            *progress
	created, duplicates int
	nextLine            int // everything before it is in the database
}

func (e *fileEnqueuer) run(ctx context.Context, lines <-chan readLine) error {
	var batch []driver.NewJob
	idle := time.NewTimer(idleFlush)
	defer idle.Stop()
	last := e.nextLine - 1
	flush := func() error {
		err := e.send(ctx, batch, last)
		batch = batch[:0]
		return err
	}
	for {
		select {
		case line := <-lines:
			switch {
			case errors.Is(line.err, io.EOF):
				return flush()
			case errors.Is(line.err, errBeyondEnd):
				return line.err
			case line.err != nil:
				return fmt.Errorf("%w\nNothing of its batch was enqueued: repair it and go on with --from-line %d", line.err, e.nextLine)
			}
			batch, last = append(batch, line.job), line.number
			if len(batch) < enqueueBatch {
				idle.Reset(idleFlush)
				continue
			}
		case <-idle.C:
		case <-ctx.Done():
			return fmt.Errorf("%w; go on with --from-line %d", errInterrupted, e.nextLine)
		}
		if err := flush(); err != nil {
			return err
		}
	}
}

// send enqueues a batch. A signal leaves it finishBatch to end, so that what was enqueued is known.
func (e *fileEnqueuer) send(ctx context.Context, batch []driver.NewJob, last int) error {
	if len(batch) == 0 {
		return nil
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), enqueueTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { // a server that does not answer must not hold up the end
		timer := time.NewTimer(finishBatch)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-within.Done():
		}
	})
	defer stop()
	answers, err := reply.Await(within, clock.Real(), reply.Grace, func(ctx context.Context) ([]driver.Enqueued, error) { return e.client.EnqueueMany(ctx, batch) })
	if err != nil {
		doubt := "Nothing of this batch was enqueued"
		if driver.IsTransient(err) || within.Err() != nil {
			doubt = "It is not known whether this batch was enqueued (lines with an idempotency key can be sent again without harm)"
		}
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", errInterrupted, err)
		}
		return fmt.Errorf("lines %d to %d: %w\n%s: go on with --from-line %d", e.nextLine, last, err, doubt, e.nextLine)
	}
	for _, answer := range answers {
		if answer.Created {
			e.created++
		} else {
			e.duplicates++
		}
	}
	e.nextLine = last + 1
	e.progress.tell(e.summary())
	return nil
}

func (e *fileEnqueuer) summary() string {
	return fmt.Sprintf("%s enqueued, %s (their idempotency key has a live job)", counted(e.created, "job"), counted(e.duplicates, "duplicate"))
}
