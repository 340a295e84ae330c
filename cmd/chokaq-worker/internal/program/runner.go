package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/processgroup"
	"github.com/chokaq/chokaq/driver"
)

// TempFail is the exit status that asks for another attempt later (EX_TEMPFAIL).
const TempFail = 75

// drainTime is how long output is still read after the program has ended: something that it started may hold its pipes
// open for ever.
const drainTime = time.Second

// Runner runs a program for each job of a type.
type Runner struct {
	Spec
	// KillAfter is how long a canceled program has between SIGTERM and SIGKILL.
	KillAfter time.Duration
	// Environ is the worker's environment.
	Environ []string
	Log     *zap.Logger
	Running *Running
}

// Run is the handler: nil when the program exits with status 0.
func (r *Runner) Run(ctx context.Context, job driver.JobInfo) error {
	cmd := exec.Command(r.Args[0], r.Args[1:]...)
	cmd.Env = environment(r.Environ, job)
	processgroup.Lead(cmd)
	pipes, err := connect(cmd)
	if err != nil {
		return fmt.Errorf("program %s: %w", r.Args[0], err)
	}
	defer pipes.close()
	err = r.Running.start(cmd)
	pipes.closeTheirs()
	if err != nil {
		return fmt.Errorf("program %s cannot be started: %w", r.Args[0], err)
	}
	leader := cmd.Process.Pid
	defer r.Running.remove(leader)

	log := r.Log.With(zap.String("event", "program.output"), zap.Int64("job_id", job.ID), zap.String("job_type", job.Type),
		zap.String("queue", job.Queue), zap.Int("attempt", job.Attempt), zap.Int("program_pid", leader))
	var stderr tail
	var reading, writing sync.WaitGroup
	reading.Go(func() { logLines(pipes.out, log.With(zap.String("stream", "stdout"))) })
	reading.Go(func() { logLines(io.TeeReader(pipes.err, &stderr), log.With(zap.String("stream", "stderr"))) })
	writing.Go(func() {
		_, _ = pipes.in.Write(job.Payload) // a program need not read its input
		_ = pipes.in.Close()
	})

	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	status := r.wait(ctx, leader, ended)

	read := make(chan struct{})
	go func() { reading.Wait(); close(read) }()
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-read:
	case <-timer.C:
		log.Warn("the program has ended and something that it started holds its output open; the rest is not logged")
	}
	pipes.close() // ends what still reads or writes
	<-read
	writing.Wait()
	return r.outcome(ctx, status, stderr.String())
}

// wait waits for the program. When ctx ends first, its group gets SIGTERM, and SIGKILL if something of it is still there after
// KillAfter.
func (r *Runner) wait(ctx context.Context, leader int, ended <-chan error) error {
	select {
	case status := <-ended:
		return status
	case <-ctx.Done():
	}
	processgroup.Terminate(leader)
	deadline := time.NewTimer(r.KillAfter)
	defer deadline.Stop()
	var status error
	select {
	case status = <-ended:
		// What the program has started may need its time too.
		look := time.NewTicker(10 * time.Millisecond)
		defer look.Stop()
		for !processgroup.Empty(leader) {
			select {
			case <-look.C:
				continue
			case <-deadline.C:
				processgroup.Kill(leader)
			}
			break
		}
	case <-deadline.C:
		processgroup.Kill(leader)
		status = <-ended
	}
	return status
}

// outcome turns an exit status into what the driver understands.
func (r *Runner) outcome(ctx context.Context, status error, stderr string) error {
	if status == nil {
		return nil
	}
	var exit *exec.ExitError
	if !errors.As(status, &exit) {
		return fmt.Errorf("program %s: %w", r.Args[0], status)
	}
	text := fmt.Sprintf("program %s: %s", r.Args[0], exit.ProcessState)
	if cause := context.Cause(ctx); cause != nil {
		text += " (after it was canceled: " + cause.Error() + ")"
	}
	if stderr != "" {
		text += ": " + stderr
	}
	err := errors.New(text)
	switch {
	case exit.ExitCode() == TempFail:
		return driver.MarkSafeToRetry(err)
	case r.RejectStatus != 0 && exit.ExitCode() == r.RejectStatus:
		return driver.Reject(err)
	}
	return err
}

// pipes are the three streams: the ends that this process uses, and those that the program gets.
type pipes struct {
	in, out, err *os.File
	theirs       []*os.File
}

func connect(cmd *exec.Cmd) (_ *pipes, err error) {
	p := &pipes{}
	defer func() {
		if err != nil {
			p.closeTheirs()
			p.close()
		}
	}()
	open := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	stdin, in := open()
	p.in = in
	out, stdout := open()
	p.out = out
	stderrRead, stderr := open()
	p.err = stderrRead
	p.theirs = []*os.File{stdin, stdout, stderr}
	if err != nil {
		return nil, err
	}
	// Files and not readers or writers: Wait then waits for the program alone.
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	return p, nil
}

func (p *pipes) closeTheirs() {
	for _, f := range p.theirs {
		if f != nil {
			_ = f.Close()
		}
	}
}

func (p *pipes) close() {
	for _, f := range []*os.File{p.in, p.out, p.err} {
		if f != nil {
			_ = f.Close()
		}
	}
}
