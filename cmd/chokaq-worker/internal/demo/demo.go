// Package demo shows the whole life of a queue on the files of a folder: workers are stopped and killed in the middle of work,
// recovery and an operator put things in order, and the books are balanced at the end.
package demo

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/chokaq/chokaq/driver"
)

// ErrNoFiles: the folder has nothing to work on.
var ErrNoFiles = errors.New("there are no files to work on")

// Options of a demo.
type Options struct {
	Dir     string
	Environ []string
	Out     io.Writer
	// Before is told what to do when the process must end at once.
	Before func(cleanup func())
	// Table prints the books.
	Table func(headings []string, rows [][]string) error
}

// demo is one demonstration under way.
type demo struct {
	Options
	began    time.Time
	files    listing
	jobs     []int64 // of files, in their order
	temp     string
	ledger   string
	handlers int
	prefetch int
	pause    time.Duration
	dsn      map[string]string // by login
	pool     *sql.DB           // of sa, to look at everything
	server   *child

	mu       sync.Mutex
	children []*child
	out      sync.Mutex
	giveUp   context.CancelCauseFunc
}

// Run shows the demo. It leaves no process and no file behind, also when ctx ends before it does.
func Run(ctx context.Context, o Options) (err error) {
	d := &demo{Options: o, began: time.Now()}
	if d.files, err = list(o.Dir); err != nil {
		return fmt.Errorf("%w: %w", ErrNoFiles, err)
	}
	if len(d.files.files) == 0 {
		return fmt.Errorf("%w: %s holds no regular file of at most %d MiB that can be read", ErrNoFiles, o.Dir, largestFile>>20)
	}
	if d.temp, err = os.MkdirTemp("", "chokaq-demo-"); err != nil {
		return err
	}
	d.ledger = filepath.Join(d.temp, "ledger.jsonl")
	d.pace(len(d.files.files))
	o.Before(func() { d.killAll(); _ = os.RemoveAll(d.temp) })
	// A reader that has gone away ends the demo, and not this process before it has cleaned up.
	ctx, d.giveUp = context.WithCancelCause(ctx)
	defer d.giveUp(nil)
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	defer func() { err = errors.Join(err, d.cleanUp()) }()
	if err := d.show(ctx); err != nil {
		if cause := context.Cause(ctx); errors.Is(err, context.Canceled) && errors.Is(cause, syscall.EPIPE) {
			return fmt.Errorf("nobody reads what the demo prints: %w", cause)
		}
		return d.blame(err)
	}
	return nil
}

// show is the story.
func (d *demo) show(ctx context.Context) error {
	d.introduce()
	for _, scene := range []func(context.Context) error{d.startServer, d.install, d.enqueue} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	a, err := d.startWorker("A")
	if err != nil {
		return err
	}
	b, err := d.startWorker("B")
	if err != nil {
		return err
	}
	d.say("Workers A (process %d) and B (%d) run: each works on up to %s at a time, and fetches up to %d more into its memory.", a.pid(), b.pid(), count(d.handlers, "job"), d.prefetch)
	if err := d.stopGracefully(ctx, a); err != nil {
		return err
	}
	killed, err := d.killInTheMiddle(ctx, b)
	if err != nil {
		return err
	}
	c, err := d.startWorker("C")
	if err != nil {
		return err
	}
	d.say("Worker C (process %d) starts and takes the jobs that are free.", c.pid())
	if err := d.awaitRecovery(ctx, b, killed); err != nil {
		return err
	}
	if err := d.decide(ctx); err != nil {
		return err
	}
	if err := d.finish(ctx, c); err != nil {
		return err
	}
	return d.balance(ctx)
}

// pace chooses how long a job takes, so that a small folder has a middle too and a large one does not take all day.
func (d *demo) pace(files int) {
	d.handlers = min(max(files/8, 1), 4)
	d.prefetch = min(max(files/6, 1), 8)
	whole := 10 * time.Second // for two workers
	d.pause = min(max(whole*time.Duration(2*d.handlers)/time.Duration(files), 10*time.Millisecond), time.Second)
}

func (d *demo) introduce() {
	text := fmt.Sprintf("ChokaQ demo: one background job for each of %s under %q. Its handler computes the file's SHA-256 and writes a line to a ledger, a file outside the database. "+
		"That line is a side effect, which must not happen twice unless a person has decided so.", count(len(d.files.files), "file"), d.Dir)
	if d.files.more {
		text += fmt.Sprintf(" (There are more files; the first %d are taken.)", mostFiles)
	}
	if d.files.skipped > 0 {
		text += fmt.Sprintf(" (Left out: %s larger than %d MiB or not to be read.)", count(d.files.skipped, "file"), largestFile>>20)
	}
	d.print("%s\n", strings.Join(wrap(text, 80), "\n"))
}

// startServer starts the stand-in for SQL Server as a process of its own.
func (d *demo) startServer(ctx context.Context) error {
	server, err := d.start("the database server", nil, nil, "dev", "--json", "--addr", "127.0.0.1:0", "--agent-jobs=false", "--until-stdin-ends")
	if err != nil {
		return err
	}
	d.server = server
	type ready struct {
		Address string
		Logins  []struct{ Login, DSN string }
	}
	answer := make(chan ready, 1)
	go func() {
		var r ready
		if json.NewDecoder(server.stdout).Decode(&r) == nil {
			answer <- r
		}
		_, _ = io.Copy(io.Discard, server.stdout)
	}()
	select {
	case r := <-answer:
		d.dsn = make(map[string]string)
		for _, login := range r.Logins {
			d.dsn[strings.TrimSuffix(strings.TrimPrefix(login.Login, "chokaq_"), "_login")] = login.DSN
		}
		d.say("A stand-in for SQL Server (sqlsim: in memory, for development) runs as process %d on %s.", server.pid(), r.Address)
	case <-server.ended:
		return errors.New("the database server has ended")
	case <-ctx.Done():
		return ctx.Err()
	}
	d.pool, err = sql.Open("sqlserver", d.dsn["sa"])
	return err
}

// enqueue makes the jobs, as an application would.
func (d *demo) enqueue(ctx context.Context) error {
	client, err := driver.Open(d.dsn["producer"])
	if err != nil {
		return err
	}
	defer client.Close()
	jobs := make([]driver.NewJob, len(d.files.files))
	for i, f := range d.files.files {
		jobs[i] = driver.NewJob{Queue: queue, Type: jobType, Args: f}
	}
	enqueued, err := client.EnqueueMany(ctx, jobs)
	if err != nil {
		return err
	}
	for _, e := range enqueued {
		d.jobs = append(d.jobs, e.JobID)
	}
	d.say("%s enqueued, in one transaction.", count(len(d.jobs), "job"))
	return nil
}

// startWorker starts a worker process.
func (d *demo) startWorker(name string) (*child, error) {
	return d.start("worker "+name, []string{"CHOKAQ_DSN=" + d.dsn["worker"]}, func(line logLine) { d.tellShutdown(line) },
		"demo-worker", "--ledger", d.ledger, "--handlers", fmt.Sprint(d.handlers), "--prefetch", fmt.Sprint(d.prefetch), "--pause", d.pause.String())
}

// say prints a sentence with the time since the beginning, wrapped to the width of a screen.
func (d *demo) say(format string, args ...any) {
	d.print("%5.1fs  %s", time.Since(d.began).Seconds(), strings.Join(wrap(fmt.Sprintf(format, args...), 72), "\n        "))
}

func (d *demo) print(format string, args ...any) {
	d.out.Lock()
	defer d.out.Unlock()
	if _, err := fmt.Fprintf(d.Out, format+"\n", args...); err != nil {
		d.giveUp(err)
	}
}

// wrap breaks a text between words.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// count says a number of things.
func count[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
