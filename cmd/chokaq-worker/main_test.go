package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chokaq/chokaq/internal/sqlsim"
)

// patience bounds every wait for something that must come.
const patience = 2 * time.Minute

// runAsWorker makes the test binary behave as chokaq-worker: for tests of processes, and for the demo, which starts itself.
const runAsWorker = "RUN_AS_CHOKAQ_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(runAsWorker) != "" {
		main()
		return
	}
	if os.Getenv(runAsTool) != "" {
		if err := tool(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// newServer starts a stand-in for SQL Server with an empty database, and returns the database's name.
func newServer(t *testing.T) (server *sqlsim.Server, dsn string) {
	t.Helper()
	server, err := sqlsim.Start(sqlsim.Options{Password: "Top-Secret-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	exec1(t, server.DSN("master"), "CREATE DATABASE shop")
	return server, server.DSN("shop")
}

// newQueue is newServer with ChokaQ installed.
func newQueue(t *testing.T) (*sqlsim.Server, string) {
	t.Helper()
	server, dsn := newServer(t)
	call(t, dsn, "migrate", "up").want(t, 0, "database \"shop\"")
	return server, dsn
}

func exec1(t *testing.T, dsn, statement string) {
	t.Helper()
	pool, err := sql.Open("sqlserver", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// result is what a command has done.
type result struct {
	args           []string
	status         int
	stdout, stderr string
}

// call runs a command line in this process.
func call(t *testing.T, dsn string, args ...string) result {
	t.Helper()
	return callWith(t, "", []string{"CHOKAQ_DSN=" + dsn}, args...)
}

func callWith(t *testing.T, stdin string, environ []string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := execute(args, process{
		stdin: strings.NewReader(stdin), stdout: &stdout, stderr: &stderr, environ: environ,
		exit: func(status int) { panic(fmt.Sprintf("exit %d", status)) },
	})
	return result{args, status, stdout.String(), stderr.String()}
}

// want checks the status, and pieces of what was printed.
func (r result) want(t *testing.T, status int, pieces ...string) result {
	t.Helper()
	if r.status != status {
		t.Errorf("%q: status %d, want %d\nstdout: %s\nstderr: %s", r.args, r.status, status, r.stdout, r.stderr)
	}
	for _, piece := range pieces {
		if !strings.Contains(r.stdout+r.stderr, piece) {
			t.Errorf("%q: %q is missing\nstdout: %s\nstderr: %s", r.args, piece, r.stdout, r.stderr)
		}
	}
	if strings.Contains(r.stdout+r.stderr, "Top-Secret-1") {
		t.Errorf("%q: prints the password\nstdout: %s\nstderr: %s", r.args, r.stdout, r.stderr)
	}
	return r
}

// list is the JSON array that a command has printed.
func (r result) list(t *testing.T) []map[string]any {
	t.Helper()
	var rows []map[string]any
	if err := json.Unmarshal([]byte(r.stdout), &rows); err != nil {
		t.Fatalf("%q: %v in %q, %s", r.args, err, r.stdout, r.stderr)
	}
	return rows
}

// spawned is chokaq-worker as a process.
type spawned struct {
	*exec.Cmd
	all *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// spawn starts a process; stdin may be nil.
func spawn(t *testing.T, stdin io.Reader, environ []string, args ...string) *spawned {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &spawned{Cmd: exec.Command(self, args...), all: &lockedBuffer{}}
	s.Stdin, s.Stdout, s.Stderr = stdin, s.all, s.all
	s.Env = append([]string{runAsWorker + "=1", "GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, environ...)
	s.WaitDelay = patience
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.ProcessState == nil {
			_ = s.Process.Kill()
			_ = s.Wait()
		}
	})
	return s
}

// await waits until the process has printed a text.
func (s *spawned) await(t *testing.T, text string) {
	t.Helper()
	awaitThat(t, func() bool { return strings.Contains(s.all.String(), text) }, func() string {
		return fmt.Sprintf("%q: %q was not printed:\n%s", s.Args[1:], text, s.all)
	})
}

// awaitThat waits until something is so.
func awaitThat(t *testing.T, so func() bool, otherwise func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !so() {
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatal(otherwise())
		}
	}
}

func (s *spawned) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := s.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// end waits for the process and returns what it did.
func (s *spawned) end(t *testing.T) result {
	t.Helper()
	timer := time.AfterFunc(patience, func() { _ = s.Process.Kill() })
	defer timer.Stop()
	_ = s.Wait()
	return result{s.Args[1:], s.ProcessState.ExitCode(), s.all.String(), ""}
}
