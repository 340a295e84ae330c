//go:build linux

package main

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chokaq/chokaq/driver"
)

// systemd is the end of the socket that systemd has.
func systemd(t *testing.T) (socket *net.UnixConn, environ string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "notify") // t.TempDir is too long a name for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	socket, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	return socket, "NOTIFY_SOCKET=" + path
}

// told returns the messages up to the first that has a text in it.
func told(t *testing.T, socket *net.UnixConn, text string) []string {
	t.Helper()
	if err := socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	var all []string
	for buffer := make([]byte, 4096); ; {
		n, err := socket.Read(buffer)
		if err != nil {
			t.Fatalf("%q was not said; said: %q; %v", text, all, err)
		}
		all = append(all, string(buffer[:n]))
		if strings.Contains(all[len(all)-1], text) {
			return all
		}
	}
}

// systemd learns that the worker waits, is ready, and stops, and how long the stop may take.
func TestSystemdIsTold(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	socket, notify := systemd(t)
	file := filepath.Join(t.TempDir(), "dsn")
	if err := os.WriteFile(file, []byte(dsn+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := spawn(t, nil, []string{notify, "CHOKAQ_DSN_FILE=" + file, "CHOKAQ_HANDLER=t=/bin/true", "CHOKAQ_SQLSERVER_WORKER_SHUTDOWN_GRACE_PERIOD=300s", "CHOKAQ_HANDLERS=3"}, "run")
	if before := told(t, socket, "READY=1"); strings.Contains(strings.Join(before[:len(before)-1], ""), "handlers run") {
		t.Errorf("it ran before it said so: %q", before)
	}
	w.await(t, "worker.running")
	w.signal(t, syscall.SIGTERM)
	said := told(t, socket, "STOPPING=1")
	match := regexp.MustCompile(`EXTEND_TIMEOUT_USEC=(\d+)`).FindStringSubmatch(said[len(said)-1])
	if match == nil {
		t.Fatalf("said: %q", said)
	}
	bound := driver.WorkerConfig{WorkerShutdownGracePeriod: 300 * time.Second}.ShutdownBound()
	if us, err := strconv.Atoi(match[1]); err != nil || time.Duration(us)*time.Microsecond <= bound {
		t.Errorf("it asks for %s µs, and may need %v", match[1], bound)
	}
	w.end(t).want(t, 0)
}

func TestSystemdStatus(t *testing.T) {
	for want, s := range map[string]driver.Status{
		"Waiting for the database": {State: "starting"},
		"2 of 9 handlers run":      {State: "running", DatabaseUp: true, HandlersRunning: 2, Handlers: 9},
		"The database does not answer; 1 handlers run, 4 outcomes wait to be stored": {State: "running", HandlersRunning: 1, OutcomesWaiting: 4},
		"2 of 9 handlers run; RECOVERY DOES NOT RUN":                                 {State: "running", DatabaseUp: true, HandlersRunning: 2, Handlers: 9, RecoveryLate: true},
		"Stopping, step 5 of 7: 1 handlers still run, 0 outcomes wait to be stored":  {State: "draining", HandlersRunning: 1, ShutdownStep: 5},
	} {
		if got := systemdStatus(s); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTheFileOfTheDataSourceName(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	dir := t.TempDir()
	good, empty := filepath.Join(dir, "good"), filepath.Join(dir, "empty")
	for name, text := range map[string]string{good: dsn + "\n", empty: "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	callWith(t, "", []string{"CHOKAQ_DSN_FILE=" + good}, "status").want(t, 0)
	callWith(t, "", []string{"CHOKAQ_DSN_FILE=" + empty}, "status", "--dsn", dsn).want(t, 0) // a flag overrides
	callWith(t, "", []string{"CHOKAQ_DSN_FILE=" + empty}, "status").want(t, 2, "CHOKAQ_DSN_FILE", "is empty")
	callWith(t, "", []string{"CHOKAQ_DSN_FILE=" + good, "CHOKAQ_DSN=" + dsn}, "status").want(t, 2, "CHOKAQ_DSN_FILE", "one of the two")
	callWith(t, "", []string{"CHOKAQ_DSN_FILE=" + filepath.Join(dir, "none")}, "status").want(t, 2, "CHOKAQ_DSN_FILE", "no such file")
	for _, command := range []string{"status", "doctor", "run"} { // one fault is told once
		r := callWith(t, "", []string{"CHOKAQ_DSN_FILE=" + empty, "CHOKAQ_HANDLER=t=/bin/true"}, command).want(t, 2, "is empty")
		if strings.Contains(r.stderr, "is not set") {
			t.Errorf("%s: %s", command, r.stderr)
		}
	}
}
