//go:build unix

package main

import (
	"bufio"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// number asks the database.
func number(t *testing.T, dsn, query string) int {
	t.Helper()
	pool, err := sql.Open("sqlserver", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var n int
	if err := pool.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// awaitNumber waits until the database answers with a number.
func awaitNumber(t *testing.T, dsn, query string, want int) {
	t.Helper()
	got := 0
	awaitThat(t, func() bool { got = number(t, dsn, query); return got == want }, func() string {
		return fmt.Sprintf("%s: %d, want %d", query, got, want)
	})
}

// fifo is where programs say that they have come so far, a line each.
func fifo(t *testing.T) (name string, wait func() string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "fifo")
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
		if err := f.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(line)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	server, dsn := newQueue(t)
	out := filepath.Join(t.TempDir(), "out")
	for _, args := range [][]string{
		{"--type", "copy", "--payload", `{"a": "b c"}`}, {"--type", "bad"}, {"--type", "later"}, {"--type", "unknown"},
	} {
		call(t, dsn, append([]string{"enqueue", "--queue", "mail"}, args...)...).want(t, 0)
	}
	exec1(t, dsn, "CREATE LOGIN w WITH PASSWORD = N'Work-1234'; CREATE USER w FOR LOGIN w; ALTER ROLE chokaq_worker ADD MEMBER w")
	worker := spawn(t, nil, []string{
		"CHOKAQ_DSN=" + server.DSNFor("shop", "w", "Work-1234"), "CHOKAQ_QUEUES=other", "CHOKAQ_POLL_INTERVAL_MAX=100ms",
		"CHOKAQ_HANDLER=copy=sh -c 'cat >" + out + "; echo \"$CHOKAQ_JOB_TYPE ${CHOKAQ_DSN:-none}\"'\nbad[reject=3]=sh -c 'echo no >&2; exit 3'\nlater=sh -c 'exit 75'",
	}, "run", "--queues", "mail", "--admin-addr", "127.0.0.1:0")
	awaitNumber(t, dsn, "SELECT COUNT(*) FROM chokaq.JobsArchive", 1)
	awaitNumber(t, dsn, "SELECT COUNT(*) FROM chokaq.DeadJobs", 1)
	awaitNumber(t, dsn, "SELECT COUNT(*) FROM chokaq.Jobs WHERE State = 0 AND Attempt = 1", 1)
	awaitNumber(t, dsn, "SELECT COUNT(*) FROM chokaq.Jobs WHERE State = 0 AND Attempt = 0 AND JobType = N'unknown'", 1) // left for a worker that knows it
	if got, err := os.ReadFile(out); err != nil || string(got) != `{"a": "b c"}` {
		t.Errorf("the program got %q, %v", got, err)
	}
	address := regexp.MustCompile(`"address":"([^"]+)"`).FindStringSubmatch(worker.all.String())
	response, err := http.Get("http://" + address[1] + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	response.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if response.StatusCode != http.StatusOK || !strings.Contains(string(body), `"state":"running"`) {
		t.Errorf("/readyz: %s: %s", response.Status, body)
	}
	response, err = http.Get("http://" + address[1] + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	body, _ = io.ReadAll(response.Body)
	response.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	for _, series := range []string{`chokaq_jobs_completed_total{job_type="copy",queue="mail"} 1`, `chokaq_jobs_dead_total{job_type="bad",queue="mail",reason="Rejected"} 1`, "chokaq_worker_ready 1", "go_goroutines ",
		`chokaq_handler_duration_seconds_count{job_type="copy",outcome="completed",queue="mail"} 1`, "chokaq_heartbeat_age_seconds "} {
		if !strings.Contains(string(body), series) {
			t.Errorf("/metrics has no %s:\n%s", series, body)
		}
	}
	worker.signal(t, syscall.SIGTERM)
	worker.end(t).want(t, 0, `"event":"worker.running"`, `"message":"copy none"`, `"event":"program.output"`, `"event":"shutdown.stopped"`, `"event":"admin.serving"`)
	if strings.Contains(worker.all.String(), "Work-1234") {
		t.Error("the log has the password")
	}
	dead := call(t, dsn, "dlq", "list", "--type", "bad", "--json").list(t)
	if len(dead) != 1 || dead[0]["reason"] != "Rejected" || dead[0]["error"] != "program /usr/bin/sh: exit status 3: no" && dead[0]["error"] != "program /bin/sh: exit status 3: no" {
		t.Errorf("%v", dead)
	}
	workers := call(t, dsn, "workers", "--all", "--json").list(t)
	if len(workers) != 1 || workers[0]["state"] != "stopped" || workers[0]["version"] != "dev" {
		t.Errorf("%v", workers)
	}
}

func TestGracePeriodEnds(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	stuck, wait := fifo(t)
	for _, jobType := range []string{"stuck", "safe", "again"} {
		call(t, dsn, "enqueue", "--type", jobType).want(t, 0)
	}
	script := `sh -c 'trap "" TERM; echo $$ >` + stuck + `; while :; do sleep 0.01; done'`
	worker := spawn(t, nil, []string{"CHOKAQ_DSN=" + dsn}, "run", "--handler", "stuck="+script, "--handler", "safe[safe-to-retry]="+script,
		"--handler", "again="+strings.Replace(script, `trap ""`, `trap "exit 75"`, 1),
		"--sqlserver-worker-shutdown-grace-period", "10ms", "--program-kill-after", "2s", "--cancellation-period", "1m")
	for range 3 {
		wait()
	}
	worker.signal(t, syscall.SIGINT)
	worker.end(t).want(t, 0, `"event":"shutdown.handlers_canceled"`)
	dead := call(t, dsn, "dlq", "list", "--json").list(t)
	if len(dead) != 1 || dead[0]["jobType"] != "stuck" || dead[0]["reason"] != "Interrupted" || !strings.Contains(fmt.Sprint(dead[0]["error"]), "signal: killed") {
		t.Errorf("%v", dead)
	}
	if n := number(t, dsn, "SELECT COUNT(*) FROM chokaq.Jobs WHERE State = 0 AND JobType IN (N'safe', N'again')"); n != 2 {
		t.Errorf("%d jobs that may be repeated are pending", n)
	}
}

func TestSecondSignal(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	call(t, dsn, "enqueue", "--type", "t").want(t, 0)
	up, wait := fifo(t)
	worker := spawn(t, nil, []string{"CHOKAQ_DSN=" + dsn}, "run", "--handler", `t=sh -c 'trap "" TERM; echo $$ >`+up+`; while :; do sleep 0.01; done'`)
	pid := wait()
	worker.signal(t, syscall.SIGTERM)
	worker.await(t, "shutdown.grace")
	// Within a second of the first it counts as the same one, so it is sent until it has been heard.
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		again := time.NewTicker(100 * time.Millisecond)
		defer again.Stop()
		for {
			select {
			case <-again.C:
				_ = worker.Process.Signal(syscall.SIGTERM)
			case <-ended:
				return
			}
		}
	}()
	worker.end(t).want(t, 130, "a second signal")
	awaitThat(t, func() bool {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, func() string { return "the program still runs" })
	if n := number(t, dsn, "SELECT COUNT(*) FROM chokaq.Jobs WHERE State = 2"); n != 1 {
		t.Errorf("%d jobs are Processing", n)
	}
}

func TestWorkLeftToRecovery(t *testing.T) {
	t.Parallel()
	server, dsn := newQueue(t)
	call(t, dsn, "enqueue", "--type", "t").want(t, 0)
	up, wait := fifo(t)
	worker := spawn(t, nil, []string{"CHOKAQ_DSN=" + dsn}, "run", "--handler", "t=sh -c 'echo up >"+up+"'", "--flush-timeout", "50ms",
		"--sqlserver-prefetched-job-release-timeout", "50ms", "--completion-delay", "1m")
	wait()
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	worker.signal(t, syscall.SIGTERM)
	worker.end(t).want(t, 3, "the shutdown left work to recovery")
}

func TestWorkerWaitsForADatabase(t *testing.T) {
	t.Parallel()
	worker := spawn(t, nil, []string{"CHOKAQ_DSN=sqlserver://sa:x@127.0.0.1:1?database=d&encrypt=disable"}, "run", "--handler", "t=sh")
	worker.await(t, "database.away")
	worker.signal(t, syscall.SIGTERM)
	worker.end(t).want(t, 0)
}

func TestInterruptedEnqueue(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	input, feed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	command := spawn(t, input, []string{"CHOKAQ_DSN=" + dsn}, "enqueue", "-")
	input.Close()
	if _, err := feed.WriteString(strings.Repeat(`{"type": "t"}`+"\n", 1003)); err != nil {
		t.Fatal(err)
	}
	awaitNumber(t, dsn, "SELECT COUNT(*) FROM chokaq.Jobs", 1003) // lines that come slowly do not wait for a batch
	command.signal(t, syscall.SIGINT)
	command.end(t).want(t, 130, "1003 jobs enqueued, 0 duplicates", "interrupted", "--from-line 1004")
}
