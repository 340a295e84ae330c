//go:build unix

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

func handlersFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "handlers.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A worker of a file and of flags: programs and requests beside each other, and the settings of each type.
func TestRunWithAHandlersFile(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	var tried atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Header.Get("Authorization") != "Bearer Very-Secret-2":
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/echo":
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, "got "+r.Header.Get("Authorization"))
		case tried.Add(1) < 3:
			w.WriteHeader(http.StatusServiceUnavailable)
		case string(body) != `{"n": 1}` || r.Header.Get("Chokaq-Attempt") != "3":
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer server.Close()
	file := handlersFile(t, `
handlers:
  request:
    http: {url: "`+server.URL+`/ok", headers: {Authorization: "Bearer ${TOKEN}"}}
    backoff: {fixed: 1ms}
  echo:
    http: {url: "`+server.URL+`/echo", headers: {Authorization: "Bearer ${TOKEN}"}}
  fails:
    program: [sh, -c, 'echo "$CHOKAQ_JOB_ATTEMPT of $CHOKAQ_JOB_MAX_ATTEMPTS" >&2; exit 1']
    max-attempts: 2
    backoff: {initial: 1ms, max: 2ms}
`)
	for _, args := range [][]string{{"--type", "request", "--payload", `{"n": 1}`}, {"--type", "echo"}, {"--type", "fails"}, {"--type", "flag"}} {
		call(t, dsn, append([]string{"enqueue"}, args...)...).want(t, 0)
	}
	worker := spawn(t, nil, []string{"CHOKAQ_DSN=" + dsn, "CHOKAQ_HANDLERS_FILE=" + file, "CHOKAQ_POLL_INTERVAL_MAX=100ms", "TOKEN=Very-Secret-2"}, "run", "--handler", "flag=sh -c 'exit 0'")
	worker.await(t, "worker.running")
	awaitNumber(t, dsn, "SELECT COUNT(*) FROM chokaq.JobsArchive", 2)
	awaitNumber(t, dsn, "SELECT COUNT(*) FROM chokaq.DeadJobs", 2)
	worker.signal(t, syscall.SIGTERM)
	worker.end(t).want(t, 0)
	all := worker.all.String()
	for _, job := range call(t, dsn, "dlq", "list", "--json").list(t) {
		text, err := json.Marshal(job)
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
		want := "exit status 1: 2 of 2"
		if job["jobType"] == "echo" {
			want = "status 418 I'm a teapot: got Bearer [secret]"
		}
		if got, _ := job["error"].(string); !strings.Contains(got, want) {
			t.Errorf("%v: %q, want %q", job["jobType"], got, want)
		}
	}
	if strings.Contains(all, "Very-Secret-2") {
		t.Error("the secret is in the log or in the database")
	}
}

func TestCheckPrintsWhatWouldBeRun(t *testing.T) {
	file := handlersFile(t, `
handlers:
  "*": {program: sh -c 'exit 0'}
  search:
    http: {url: "https://search.example/jobs?key=Top-Secret-1", headers: {X-Key: "${KEY}"}}
    backoff: {initial: 5s, max: 1h}
    max-attempts: 7
`)
	environ := []string{"KEY=Top-Secret-1", "CHOKAQ_HANDLERS_FILE=" + file}
	callWith(t, "", environ, "run", "--check", "--handler", "mail[safe-to-retry,reject=65]=sh -c 'a b'").
		want(t, 0, "POST", "https://search.example/jobs", "X-Key", "max-attempts=7", "backoff=5s..1h", "timeout=1m", "safe-to-retry", "reject=65", "nothing was run")
	rows := callWith(t, "", environ, "run", "--check", "--json").want(t, 0).list(t)
	if len(rows) != 2 || rows[0]["type"] != "*" || rows[1]["kind"] != "http" || rows[1]["settings"] != "timeout=1m,max-attempts=7,backoff=5s..1h" {
		t.Errorf("%v", rows)
	}
}

func TestFaultsOfHandlers(t *testing.T) {
	file := handlersFile(t, `
handlers:
  twice: {program: sh}
  limited: {program: sh, concurrency: 2}
  web: {http: {url: "https://h/", headers: {A: "${NO_SUCH}"}}}
  wrong: {programm: sh}
`)
	for _, extra := range [][]string{nil, {"--check"}} {
		args := append([]string{"run", "--handlers-file", file, "--handler", "twice=sh", "--handler", "*=sh", "--handlers", "0"}, extra...)
		r := callWith(t, "", []string{"CHOKAQ_FLUSH_TIMEOUT=x"}, args...)
		r.want(t, 2, "nothing was started",
			`CHOKAQ_HANDLERS_FILE (--handlers-file): `+file+`: line 5: web.http.headers: header "A": the environment variable NO_SUCH is not set, or empty`,
			`line 6: there is no field "wrong.programm"; did you mean "program"?`,
			`line 3: job type "twice" has a handler in CHOKAQ_HANDLER (--handler) too`,
			"CHOKAQ_FLUSH_TIMEOUT", "CHOKAQ_HANDLERS (--handlers)")
		if (len(extra) == 0) != strings.Contains(r.stderr, "CHOKAQ_DSN") {
			t.Errorf("%q: a missing data source name is a fault of a run alone: %s", args, r.stderr)
		}
	}
	callWith(t, "", nil, "run", "--check").want(t, 2, "CHOKAQ_HANDLER (--handler): is not set, nor is CHOKAQ_HANDLERS_FILE")
	limits := handlersFile(t, "handlers: {a: {program: sh, concurrency: 2}, '*': {program: sh}}")
	callWith(t, "", nil, "run", "--check", "--handlers-file", limits).want(t, 2, `handler "a": Concurrency cannot be combined with HandleAny`)
}
