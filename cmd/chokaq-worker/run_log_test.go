//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Ctrl-C in "chokaq-worker run 2>&1 | tee log" ends tee at once: the worker's next log line meets a pipe that nobody reads, just as its stop begins. The stop goes on.
func TestAWorkerOutlivesTheReaderOfItsLog(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	begun, wait := fifo(t)
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	call(t, dsn, "enqueue", "--type", "slow").want(t, 0)

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	worker := &spawned{Cmd: exec.Command(self, "run", "--handler", "slow=sh -c 'echo begun >"+begun+"; cat "+gate+"'"), all: &lockedBuffer{}}
	worker.Stdout, worker.Stderr = theirs, theirs
	worker.Env = []string{runAsWorker + "=1", "GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "CHOKAQ_DSN=" + dsn}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if worker.ProcessState == nil {
			_ = worker.Process.Kill()
			_ = worker.Wait()
		}
	})
	_ = theirs.Close()
	wait()
	_ = log.Close()
	worker.signal(t, syscall.SIGTERM)
	awaitNumber(t, dsn, "SELECT COUNT(*) FROM chokaq.Workers WHERE State = 'draining'", 1)
	if err := os.WriteFile(gate, nil, 0o600); err != nil { // opened and closed: the program comes to its end
		t.Fatal(err)
	}
	worker.end(t).want(t, 0)
	awaitNumber(t, dsn, "SELECT COUNT(*) FROM chokaq.JobsArchive", 1)
	awaitNumber(t, dsn, "SELECT COUNT(*) FROM chokaq.WorkerStops WHERE Outcome = 'clean'", 1)
}
