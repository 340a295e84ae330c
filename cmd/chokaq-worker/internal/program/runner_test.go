//go:build unix

package program

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/chokaq/chokaq/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var job = driver.JobInfo{
	ID: 17, Type: "t", Queue: "q", Attempt: 2, MaxAttempts: 10, Priority: 5, IdempotencyKey: "key 1", Headers: []byte(`{"trace":"x"}`),
	Payload: []byte(`{"to": 17}`), EnqueuedAt: time.Date(2027, 1, 31, 8, 0, 0, 0, time.UTC),
}

// newRunner runs a shell script.
func newRunner(script string) (*Runner, *observer.ObservedLogs) {
	core, logs := observer.New(zap.DebugLevel)
	return &Runner{
		Spec: Spec{JobType: "t", Args: []string{"/bin/sh", "-c", script}}, KillAfter: 10 * time.Second, Running: &Running{}, Log: zap.New(core),
		Environ: []string{"PATH=" + os.Getenv("PATH"), "CHOKAQ_DSN=secret", "CHOKAQ_JOB_ID=another's", "OWN=kept"},
	}, logs
}

func messages(logs *observer.ObservedLogs, stream string) []string {
	var all []string
	for _, entry := range logs.All() {
		if entry.ContextMap()["stream"] == stream {
			all = append(all, entry.Message)
		}
	}
	return all
}

func TestPayloadAndEnvironment(t *testing.T) {
	r, logs := newRunner("cat; echo; env; echo oops >&2")
	if err := r.Run(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	out := strings.Join(messages(logs, "stdout"), "\n")
	for _, want := range []string{
		`{"to": 17}`, "OWN=kept", "CHOKAQ_JOB_ID=17", "CHOKAQ_JOB_TYPE=t", "CHOKAQ_JOB_QUEUE=q", "CHOKAQ_JOB_ATTEMPT=2", "CHOKAQ_JOB_MAX_ATTEMPTS=10",
		"CHOKAQ_JOB_PRIORITY=5", "CHOKAQ_JOB_ENQUEUED_AT=2027-01-31T08:00:00Z", "CHOKAQ_JOB_IDEMPOTENCY_KEY=key 1", `CHOKAQ_JOB_HEADERS={"trace":"x"}`,
	} {
		if !strings.Contains("\n"+out+"\n", "\n"+want+"\n") {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
	if strings.Contains(out, "secret") || strings.Contains(out, "another's") {
		t.Errorf("a setting of the worker was passed on:\n%s", out)
	}
	if got := messages(logs, "stderr"); len(got) != 1 || got[0] != "oops" {
		t.Errorf("standard error: %q", got)
	}
	if id := logs.All()[0].ContextMap()["job_id"]; id != int64(17) {
		t.Errorf("a line of output has job_id %v", id)
	}
}

func TestExitStatuses(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   string // of the error; empty: none
	}{
		"0":                       {"exit 0", ""},
		"75":                      {"echo not now >&2; exit 75", "exit status 75: not now"},
		"another":                 {"echo ignored; echo broken >&2; exit 3", "exit status 3: broken"},
		"another, silent":         {"exit 1", "exit status 1"},
		"by signal":               {"kill -KILL $$", "signal: killed"},
		"does not read its input": {"exec <&-; exit 0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := newRunner(c.script)
			big := job
			big.Payload = []byte(`"` + strings.Repeat("x", 1<<20) + `"`) // more than a pipe holds
			err := r.Run(t.Context(), big)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasSuffix(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestWhatTheDriverIsTold(t *testing.T) {
	// The driver's marks are its own; what they change is that the error is wrapped.
	r, _ := newRunner("exit 75")
	if err := r.Run(t.Context(), job); err == nil || err.Error() != "program /bin/sh: exit status 75" || errors.Unwrap(err) == nil {
		t.Errorf("75 is not marked as safe to retry: %v", err)
	}
	r, _ = newRunner("exit 65")
	if err := r.Run(t.Context(), job); err == nil || errors.Unwrap(err) != nil {
		t.Errorf("65 is marked though no option says so: %v", err)
	}
	r.RejectStatus = 65
	if err := r.Run(t.Context(), job); err == nil || errors.Unwrap(err) == nil {
		t.Errorf("65 is not rejected: %v", err)
	}
}

func TestProgramThatCannotStart(t *testing.T) {
	r, _ := newRunner("")
	r.Args[0] = filepath.Join(t.TempDir(), "none")
	if err := r.Run(t.Context(), job); err == nil || !strings.Contains(err.Error(), "cannot be started") {
		t.Error(err)
	}
}

func TestHugeOutput(t *testing.T) {
	r, logs := newRunner(`head -c 3000000 /dev/zero | tr '\0' 'x'; echo; seq 1 5000; seq 1 200000 >&2; printf 'é%.0s' $(seq 1 2000) >&2; exit 1`)
	err := r.Run(t.Context(), job)
	if err == nil {
		t.Fatal("no error")
	}
	if n := len(err.Error()); n > maxTail+100 || n < maxTail-10 || !strings.HasSuffix(err.Error(), "éé") || strings.ContainsRune(err.Error(), '\uFFFD') {
		t.Errorf("the error has %d bytes and ends in %q", n, err.Error()[n-20:])
	}
	out := messages(logs, "stdout")
	if len(out) != maxLines+1 {
		t.Errorf("%d lines of standard output are logged", len(out))
	}
	if len(out[0]) > maxLine+100 || !strings.HasSuffix(out[0], "is not logged)") || out[1] != "1" {
		t.Errorf("the first line has %d bytes, the second is %q", len(out[0]), out[1])
	}
	if last := out[len(out)-1]; last != "the program's further output is not logged" {
		t.Errorf("the last line is %q", last)
	}
}

func TestOutputThatIsNotText(t *testing.T) {
	r, logs := newRunner(`printf 'a\377b\n\0c' >&2; exit 1`)
	err := r.Run(t.Context(), job)
	if err == nil || strings.ContainsRune(err.Error(), 0) || !strings.Contains(err.Error(), "a\uFFFDb") {
		t.Errorf("%q", err)
	}
	if got := messages(logs, "stderr"); len(got) != 2 || got[0] != "a\uFFFDb" {
		t.Errorf("%q", got)
	}
}

// ready is where programs say that they have come so far, a line each.
func ready(t *testing.T) (name string, wait func() string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "ready")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR|syscall.O_NONBLOCK, 0) // open at both ends: neither side waits for the other
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	lines := bufio.NewReader(f)
	return name, func() string {
		t.Helper()
		if err := f.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(line)
	}
}

// runCanceled runs a script and cancels it when it is ready. It returns what the script has said and the outcome.
func runCanceled(t *testing.T, r *Runner, wait func() string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	result := make(chan error, 1)
	go func() { result <- r.Run(ctx, job) }()
	said := wait()
	cancel(driver.ErrShutdown)
	return said, <-result
}

func TestCancellationAsksFirst(t *testing.T) {
	fifo, wait := ready(t)
	r, logs := newRunner(fmt.Sprintf("trap 'echo stopping; exit 75' TERM; echo up >%s; while :; do sleep 0.01; done", fifo))
	r.KillAfter = time.Hour
	_, err := runCanceled(t, r, wait)
	if err == nil || !strings.Contains(err.Error(), "exit status 75 (after it was canceled: "+driver.ErrShutdown.Error()) {
		t.Error(err)
	}
	if got := messages(logs, "stdout"); len(got) != 1 || got[0] != "stopping" {
		t.Errorf("%q", got)
	}
}

func TestCancellationThatEndsWell(t *testing.T) {
	fifo, wait := ready(t)
	r, _ := newRunner(fmt.Sprintf("trap 'exit 0' TERM; echo up >%s; while :; do sleep 0.01; done", fifo))
	if _, err := runCanceled(t, r, wait); err != nil {
		t.Error(err)
	}
}

func TestCancellationKillsWhoDoesNotListen(t *testing.T) {
	fifo, wait := ready(t)
	r, _ := newRunner(fmt.Sprintf("trap '' TERM; echo up >%s; while :; do sleep 0.01; done", fifo))
	r.KillAfter = 50 * time.Millisecond
	if _, err := runCanceled(t, r, wait); err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Error(err)
	}
}

func TestCancellationReachesGrandchildren(t *testing.T) {
	for name, c := range map[string]struct {
		script    string
		killAfter time.Duration
	}{
		"that listen":       {"sleep 1000 & echo $! >%s; wait", time.Hour},
		"that do not":       {"(trap '' TERM; exec sleep 1000) & echo $! >%s; wait", 50 * time.Millisecond},
		"in the foreground": {"sh -c 'echo $$ >%s; exec sleep 1000'; true", time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			fifo, wait := ready(t)
			r, _ := newRunner(fmt.Sprintf(c.script, fifo))
			r.KillAfter = c.killAfter
			said, err := runCanceled(t, r, wait)
			if err == nil {
				t.Error("no error")
			}
			pid, err := strconv.Atoi(said)
			if err != nil {
				t.Fatal(err)
			}
			awaitGone(t, pid)
		})
	}
}

// awaitGone waits until a process has ended; its parent may still have to collect it.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("process %d still runs", pid)
}

func TestHeldPipesDoNotHoldTheWorker(t *testing.T) {
	r, logs := newRunner("sleep 1000 & echo $!")
	began := time.Now()
	err := r.Run(t.Context(), job)
	if err != nil || time.Since(began) > 20*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	pid, err := strconv.Atoi(messages(logs, "stdout")[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil { // its program has succeeded: what it leaves is its own affair
		t.Error(err)
	}
}

func TestKillAtOnce(t *testing.T) {
	fifo, wait := ready(t)
	r, _ := newRunner(fmt.Sprintf("trap '' TERM; echo up >%s; while :; do sleep 0.01; done", fifo))
	result := make(chan error, 1)
	go func() { result <- r.Run(t.Context(), job) }()
	wait()
	r.Running.Kill()
	if err := <-result; err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Error(err)
	}
	if err := r.Run(t.Context(), job); err == nil || !strings.Contains(err.Error(), "the worker is exiting") {
		t.Errorf("a program was started after all were killed: %v", err)
	}
}
