package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		piece  string
	}{
		{[]string{}, 2, "Available Commands"},
		{[]string{"--help"}, 0, "130  interrupted"},
		{[]string{"version"}, 0, "chokaq-worker dev, schema version"},
		{[]string{"version", "--json"}, 0, `"schemaVersion": 2`},
		{[]string{"stauts"}, 2, `did you mean "chokaq-worker status"?`},
		{[]string{"frobnicate"}, 2, `there is no command "chokaq-worker frobnicate"`},
		{[]string{"migrate"}, 2, "script"},
		{[]string{"migrate", "upp"}, 2, `did you mean "chokaq-worker migrate up"?`},
		{[]string{"run", "--flush-timeut", "3s"}, 2, "did you mean --flush-timeout?"},
		{[]string{"cancel"}, 2, "0 of 1 argument; accepted: chokaq-worker cancel ID"},
		{[]string{"dlq", "show", "1", "2"}, 2, `"2" is one too many; accepted: chokaq-worker dlq show ID`},
		{[]string{"migrate", "up", "now"}, 2, `chokaq-worker migrate up takes no argument, and is given "now"`},
		{[]string{"advise", "--grace", "x"}, 2, `--grace: "x" is not accepted; accepted: Go durations, comma-separated`},
		{[]string{"status", "--jsn"}, 2, "did you mean --json?"},
		{[]string{"--version"}, 0, "chokaq-worker dev, schema version"},
		{[]string{"cancel", "x"}, 2, `"x" is not a job id`},
		{[]string{"cancel", "0"}, 2, `"0" is not a job id`},
		{[]string{"status"}, 2, "CHOKAQ_DSN (--dsn): is not set"},
		{[]string{"status", "--dsn", "sqlserver://sa:Top-Secret-1@h"}, 2, "names no database"},
		{[]string{"enqueue"}, 2, "--type"},
		{[]string{"enqueue", "--type", "t", "--payload", "{"}, 2, "is not JSON text"},
		{[]string{"enqueue", "--type", " t"}, 2, "no leading or trailing space"},
		{[]string{"enqueue", "--type", "t", "file"}, 2, "cannot be given together with a file"},
		{[]string{"enqueue", "no-such-file"}, 2, "no-such-file"},
		{[]string{"enqueue", "--type", "t", "--idempotency-key", ""}, 2, "--idempotency-key: is given and empty"},
		{[]string{"enqueue", "--queue", "", "--delay", "", "-"}, 2, "--delay: is given and empty; give it a value, or leave it out; nothing was done\n--queue: is given and empty"},
		{[]string{"enqueue", "--type", "t", "--priority", "0"}, 2, "--priority: must be 1 to 10, and is 0"},
		{[]string{"enqueue", "--type", "t", "--max-attempts", "0"}, 2, "--max-attempts: must be 1 to 1000, and is 0"},
		{[]string{"enqueue", "--type", "t", "--delay=-1s"}, 2, "--delay: must be 0 to 87600h (ten years), and is -1s"},
		{[]string{"enqueue", "--type", "t", "--delay", "90000h"}, 2, "--delay: must be 0 to 87600h (ten years)"},
		{[]string{"enqueue", "--type", "t", "--due-at", "2927-01-31T08:00:00Z"}, 2, "--due-at: must be at most ten years from now"},
		{[]string{"enqueue", "--type", "t", "--header", "a=1", "--header", "a=2"}, 2, "--header: a is given twice"},
		{[]string{"enqueue", "--type", "t", "--from-line", "2"}, 2, "--from-line goes with a file"},
		{[]string{"enqueue", "--type", "t", "--delay", "1ms", "--due-at", "2027-01-31T08:00:00Z"}, 2, "--delay and --due-at exclude each other"},
		{[]string{"enqueue", "--delay", "1s", "-"}, 2, "--delay describes one job"},
		{[]string{"enqueue", "--delay", "0", "--priority", "5", "-"}, 2, "--priority describes one job"},
		{[]string{"agent-jobs", "install", "--purge-every", "0s"}, 2, "--purge-every: must be 1m0s to 24h0m0s"},
		{[]string{"dev", "--without-agent", "--agent", "stopped"}, 2, "exclude each other"},
		{[]string{"dev", "--agent", "none", "--agent-jobs"}, 2, "there is no Agent"},
		{[]string{"dlq", "requeue"}, 2, "which jobs?"},
		{[]string{"dlq", "requeue", "1", "--all"}, 2, "not both"},
		{[]string{"dlq", "requeue", "1", "--delay", "1500ms"}, 2, "whole seconds"},
		{[]string{"dlq", "discard", "1"}, 2, "--note is needed"},
		{[]string{"dlq", "list", "--reason", "Bored"}, 2, "accepted: Failed, Rejected"},
		{[]string{"dlq", "list", "--since", "yesterday"}, 2, "accepted: a Go duration such as 24h"},
		{[]string{"dlq", "edit", "1"}, 2, "what is to be changed?"},
		{[]string{"queue", "limit", "q", "-1"}, 2, ""},
		{[]string{"queue", "limit", "q", "many"}, 2, `"many" is not a limit`},
		{[]string{"queue", "timeouts", "q", "--fetched", "none"}, 2, "give both --fetched and --zombie"},
		{[]string{"demo", "--dir", "no-such-folder"}, 2, "no-such-folder"},
	} {
		callWith(t, "", nil, c.args...).want(t, c.status, c.piece)
	}
}

// A text that is given and empty, as "$QUEUE" is where nobody has set it, widens no filter: it is refused, by every command.
func TestGivenAndEmpty(t *testing.T) {
	seen := 0
	var walk func(c *cobra.Command, path []string)
	walk = func(c *cobra.Command, path []string) {
		for _, sub := range c.Commands() {
			walk(sub, append(path[:len(path):len(path)], sub.Name()))
		}
		if !c.Runnable() || len(path) == 0 || path[0] == "completion" || path[0] == "help" {
			return
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() != "string" || f.Name == "note" {
				return
			}
			seen++
			args := append(path[:len(path):len(path)], "--"+f.Name, "")
			if c.Args(c, nil) != nil { // it wants one, or two
				args = append(args, "1")
				if c.Args(c, []string{"1"}) != nil {
					args = append(args, "2")
				}
			}
			callWith(t, "", nil, args...).want(t, 2, "--"+f.Name+": is given and empty; give it a value, or leave it out; nothing was done")
		})
	}
	walk((&app{}).rootCommand(), nil)
	if seen < 40 {
		t.Errorf("%d flags", seen)
	}
}

func TestEveryFaultAtOnce(t *testing.T) {
	callWith(t, "", []string{"CHOKAQ_HEARTBET_INTERVAL=3s", "CHOKAQ_LOG_LEVEL=loud", "CHOKAQ_HANDLERS=0", "CHOKAQ_PREFETCH=5000"},
		"run", "--log-format", "xml", "--handler", "a=no-such-program", "--handler", "b=sh", "--handler", "b=sh", "--program-kill-after", "1m").
		want(t, 2, "did you mean CHOKAQ_HEARTBEAT_INTERVAL?", "CHOKAQ_LOG_LEVEL", "CHOKAQ_HANDLERS (--handlers)", "CHOKAQ_LOG_FORMAT", "cannot be run",
			`"b" has a handler already`, "CHOKAQ_PROGRAM_KILL_AFTER", "CHOKAQ_DSN (--dsn): is not set", "CHOKAQ_PREFETCH (--prefetch): must be 1 to 1000, and is 5000")
	r := callWith(t, "", []string{"CHOKAQ_DSN=sqlserver://h?database=d"}, "run", "--handler", "a[timeout=x,retry=3,reject=0]=no-such-program", "--handler", " =sh 'x", "--handler", "a[concurrency=0]=sh").want(t, 2,
		"option timeout: ", `no option "retry"`, "option reject: ", "the program cannot be run", "the job type is empty", "quote or backslash", "option concurrency: ", `job type "a" has a handler already`)
	if n := strings.Count(r.stderr, "accepted: TYPE=PROGRAM"); n != 1 || strings.Count(r.stderr, "\n") != 10 {
		t.Errorf("the accepted form is told %d times in\n%s", n, r.stderr)
	}
	callWith(t, "", []string{"CHOKAQ_DNS=x"}, "status").want(t, 2, "did you mean CHOKAQ_DSN?", "CHOKAQ_DSN (--dsn): is not set")
}

func TestDatabaseThatRefuses(t *testing.T) {
	server, dsn := newServer(t)
	call(t, dsn, "status").want(t, 4, "migrate up")
	call(t, dsn, "run", "--handler", "t=sh").want(t, 4, "migrate up")
	call(t, server.DSNFor("shop", "sa", "wrong-password"), "status").want(t, 5, `database "shop" on 127.0.0.1:`, "check user and password")
	call(t, server.DSN("nowhere"), "status").want(t, 5, `database "nowhere"`, "does not exist")
	call(t, "sqlserver://sa:x@127.0.0.1:1?database=shop&encrypt=disable", "status").want(t, 5, `database "shop" on 127.0.0.1:1 cannot be reached`)
	call(t, "sqlserver://sa:x@127.0.0.1:1?database=shop&encrypt=disable", "migrate", "up").want(t, 5, "cannot be reached")
	call(t, server.DSNFor("shop", "sa", "wrong-password"), "run", "--handler", "t=sh").want(t, 5, "check user and password")
}

func TestMigrate(t *testing.T) {
	_, dsn := newServer(t)
	call(t, dsn, "migrate", "status").want(t, 4, "has no schema chokaq")
	call(t, dsn, "migrate", "down").want(t, 0, "nothing was changed")
	call(t, dsn, "migrate", "up").want(t, 0, "migrated  000001_init.up.sql", "applied   procedures/ClaimJobs.sql", "has schema version 2")
	again := call(t, dsn, "migrate", "up").want(t, 0, "has schema version 2")
	if again.stderr != "" {
		t.Errorf("the second run changed: %s", again.stderr)
	}
	call(t, dsn, "migrate", "status").want(t, 0, "is up to date")
	call(t, dsn, "migrate", "status", "--json").want(t, 0, `"version": 2`, `"installed": true`)
	call(t, dsn, "migrate", "down").want(t, 2, "add --yes", "Nothing was changed")
	call(t, dsn, "migrate", "down", "--yes").want(t, 0, "schema chokaq is removed")
	call(t, dsn, "migrate", "up").want(t, 0)

	name := filepath.Join(t.TempDir(), "script.sql")
	callWith(t, "", nil, "migrate", "script", "-o", name).want(t, 0)
	text, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(text), "sp_add_job") {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	short := callWith(t, "", nil, "migrate", "script", "--without-agent").want(t, 0, "CREATE OR ALTER PROCEDURE chokaq.ClaimJobs")
	if strings.Contains(short.stdout, "sp_add_job") {
		t.Error("the script has Agent jobs")
	}
	callWith(t, "", nil, "migrate", "script", "-o", filepath.Join(name, "x")).want(t, 1, "script.sql/x")
}

func TestAgentJobs(t *testing.T) {
	_, dsn := newQueue(t)
	call(t, dsn, "agent-jobs", "status").want(t, 0, "no Agent jobs are installed")
	call(t, dsn, "agent-jobs", "status", "--json").want(t, 0, "[]")
	call(t, dsn, "agent-jobs", "install", "--reset-every", "30s", "--purge-every", "2h").want(t, 0)
	jobs := call(t, dsn, "agent-jobs", "status", "--json").want(t, 0).list(t)
	if len(jobs) != 3 || fmt.Sprint(jobs[2]["schedule"]) != "every 30 seconds" {
		t.Errorf("%v", jobs)
	}
	call(t, dsn, "agent-jobs", "install", "--reset-every", "1500ms").want(t, 2, "--reset-every", "in steps of 1s")
	call(t, dsn, "agent-jobs", "uninstall").want(t, 0, "are removed")
	call(t, dsn, "agent-jobs", "status").want(t, 0, "no Agent jobs are installed")
	call(t, dsn, "migrate", "up", "--agent-jobs").want(t, 0)
	call(t, dsn, "agent-jobs", "status").want(t, 0, "every 15")
}

func TestEnqueueOne(t *testing.T) {
	_, dsn := newQueue(t)
	call(t, dsn, "enqueue", "--type", "send_email", "--queue", "mail", "--payload", `{"to": 17}`, "--priority", "7", "--delay", "1h", "--idempotency-key", "k",
		"--header", "trace=x=y").want(t, 0, "enqueued job 1")
	call(t, dsn, "enqueue", "--type", "send_email", "--idempotency-key", "k").want(t, 0, "job 1 has the idempotency key already")
	call(t, dsn, "enqueue", "--type", "send_email", "--idempotency-key", "k", "--json").want(t, 0, `"created": false`)
	callWith(t, `"from stdin"`, []string{"CHOKAQ_DSN=" + dsn}, "enqueue", "--type", "t", "--payload", "@-").want(t, 0, "enqueued job 2")
	queues := call(t, dsn, "queue", "list", "--json").want(t, 0).list(t)
	if len(queues) != 2 || queues[0]["queue"] != "default" || queues[0]["pending"] != 1.0 || queues[1]["scheduled"] != 1.0 || queues[1]["isPaused"] != false {
		t.Errorf("%v", queues)
	}
}

func TestEnqueueFile(t *testing.T) {
	_, dsn := newQueue(t)
	var lines strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&lines, `{"type": "t", "queue": "bulk", "payload": %d, "idempotencyKey": "k%d", "priority": %d}`+"\n", i, i%2400, i%10+1)
	}
	name := filepath.Join(t.TempDir(), "jobs.jsonl")
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(lines.String())
	call(t, dsn, "enqueue", name).want(t, 0, "2400 jobs enqueued, 100 duplicates")
	call(t, dsn, "enqueue", name, "--from-line", "2401", "--json").want(t, 0, `"duplicates": 100`, `"nextLine": 2501`)

	// A fault in the second batch: the first is enqueued, and nothing of the second.
	broken := strings.Repeat(`{"type": "u"}`+"\n", 1500) + `{"type": "u", "prioritty": 3}` + "\n" + strings.Repeat(`{"type": "u"}`+"\n", 10)
	write(broken)
	call(t, dsn, "enqueue", name, "--queue", "other").want(t, 2, "line 1501", "prioritty", lineForm[:30], "go on with --from-line 1001", "1000 jobs enqueued")
	write(strings.Replace(broken, "prioritty", "priority", 1))
	call(t, dsn, "enqueue", name, "--queue", "other", "--from-line", "1001").want(t, 0, "511 jobs enqueued")
	for line, want := range map[string]string{
		`{"type": "u"`:                  "is not ended",
		`{"type": "u"} {}`:              "something after the JSON object",
		`["u"]`:                         "it is no JSON object",
		`{"queue": "q"}`:                "type",
		`{"type": "u", "priority": 11}`: "priority: must be 1 to 10",
		`{"type": "u", "delay": "5"}`:   "is not a Go duration",
		`{"type": "u", "delay": "5s", "dueAt": "2027"}`:  "exclude each other",
		`{"type": "u", "dueAt": "tomorrow"}`:             "is not a time",
		`{"type": "u", "maxAttempts": 1001}`:             "maxAttempts: must be 1 to 1000, and is 1001",
		`{"type": "u", "idempotencyKey": "x "}`:          `idempotencyKey: "x "`,
		`{"type": "u", "idempotencyKey": ""}`:            `idempotencyKey: "": 1 to 200 characters`,
		`{"type": "u", "idempotencyKey": 7}`:             "idempotencyKey: 7 is not a JSON string",
		`{"type": "u", "queue": ""}`:                     `queue: "": 1 to 64 characters`,
		`{"type": "u", "priority": 0}`:                   "priority: must be 1 to 10, and is 0",
		`{"type": "u", "priority": "5"}`:                 `priority: "5" is not a whole number`,
		`{"type": "u", "priority": 5.5}`:                 "priority: 5.5 is not a whole number",
		`{"type": "u", "maxAttempts": 0}`:                "maxAttempts: must be 1 to 1000, and is 0",
		`{"type": "u", "delay": ""}`:                     "delay: \"\" is not a Go duration",
		`{"type": "u", "delay": "-5s"}`:                  "delay: must be 0 to 87600h (ten years), and is -5s",
		`{"type": "u", "delay": "87601h"}`:               "delay: must be 0 to 87600h (ten years)",
		`{"type": "u", "dueAt": "2927-01-31T08:00:00Z"}`: "dueAt: must be at most ten years from now",
		`{"TYPE": "u"}`:                                  `unknown field "TYPE"; names are exact`,
		`{"type": "u", "type": "v"}`:                     "type: is given twice",
		`{"type": "u", "headers": {"a": "1", "a": "2"}}`: "headers: a: is given twice",
		`{"type": "u", "headers": ["a"]}`:                "headers: it is no JSON object; accepted: an object of strings",
		`{"type": "u", "headers": {"a": 1}}`:             "headers",
	} {
		callWith(t, "{\"type\": \"u\"}\n\n"+line, []string{"CHOKAQ_DSN=" + dsn}, "enqueue", "-").want(t, 2, "line 3", want, "0 jobs enqueued", "--from-line 1")
	}
	callWith(t, "", []string{"CHOKAQ_DSN=" + dsn}, "enqueue", "-").want(t, 0, "0 jobs enqueued")
	for _, c := range []struct{ from, says string }{{"4", ""}, {"5", "--from-line is beyond the end: the input has 3 lines, and it is 5"}, {"0", "--from-line: must be 1 or more"}} {
		status := 2
		if c.says == "" {
			status = 0
		}
		callWith(t, "{\"type\": \"u\"}\n\n{\"type\": \"u\"}", []string{"CHOKAQ_DSN=" + dsn}, "enqueue", "-", "--from-line", c.from).want(t, status, c.says)
	}
	queues := call(t, dsn, "queue", "list", "--json").list(t)
	if len(queues) != 2 || queues[0]["pending"] != 2400.0 || queues[1]["pending"] != 1511.0 {
		t.Errorf("%v", queues)
	}
	// No delay is none, whatever else is given; and line 1 is where a file begins.
	callWith(t, `{"type": "u", "delay": "0s", "dueAt": "2027-01-31T08:00:00Z"}`, []string{"CHOKAQ_DSN=" + dsn}, "enqueue", "--delay", "0s", "-").want(t, 0, "1 job enqueued, 0 duplicates")
	call(t, dsn, "enqueue", "--type", "u", "--delay", "0", "--due-at", "2027-01-31T08:00:00Z", "--from-line", "1").want(t, 0, "enqueued job")
}

func TestDeadLetters(t *testing.T) {
	_, dsn := newQueue(t)
	for i := 1; i <= 25; i++ {
		call(t, dsn, "enqueue", "--type", fmt.Sprintf("type%d", i%2), "--queue", "q", "--payload", fmt.Sprintf(`{"n": "needle-%d-"}`, i)).want(t, 0)
		call(t, dsn, "cancel", fmt.Sprint(i), "--note", "not wanted").want(t, 0, "had not started")
	}
	call(t, dsn, "cancel", "1").want(t, 0, "has been canceled before")
	call(t, dsn, "cancel", "999").want(t, 1, "there is no job 999")

	call(t, dsn, "dlq", "list", "--limit", "3").want(t, 0, "Cancelled", "the last 3")
	if got := call(t, dsn, "dlq", "list", "--type", "type1", "--json").want(t, 0).list(t); len(got) != 13 {
		t.Errorf("%d dead jobs of type1", len(got))
	}
	if got := call(t, dsn, "dlq", "list", "--text", "needle-7-", "--json").list(t); len(got) != 1 || got[0]["jobId"] != 7.0 || got[0]["payload"].(map[string]any)["n"] != "needle-7-" {
		t.Errorf("%v", got)
	}
	call(t, dsn, "dlq", "list", "--queue", "Q", "--json").want(t, 0, "[]") // names are exact
	call(t, dsn, "dlq", "list", "--reason", "zombie").want(t, 0, "no such dead job")
	call(t, dsn, "dlq", "list", "--since", "1h", "--reason", "canceled", "--limit", "1").want(t, 0, "Cancelled")
	call(t, dsn, "dlq", "list", "--since", "2999-01-01T00:00:00Z").want(t, 0, "no such dead job")

	call(t, dsn, "dlq", "edit", "7", "--payload", `{"n": 8}`, "--priority", "9", "--note", "wrong number").want(t, 0, "job 7 is changed")
	call(t, dsn, "dlq", "edit", "7", "--payload", `{`).want(t, 2, "51002")
	call(t, dsn, "dlq", "edit", "999", "--priority", "1").want(t, 1, "999")
	call(t, dsn, "dlq", "show", "7").want(t, 0, "needle-7-", "EditDeadJob", "wrong number", "CancelJob")
	call(t, dsn, "dlq", "show", "7", "--json").want(t, 0, `"priority": 9`, `"operatorLog"`, `"n": 8`)
	call(t, dsn, "dlq", "show", "999").want(t, 1, "does not wait in the dead-letter queue")

	call(t, dsn, "dlq", "requeue", "--type", "type1").want(t, 2, "and no others?"[:0], "add --yes", "Nothing was changed")
	call(t, dsn, "dlq", "requeue", "--type", "type1", "--limit", "10", "--yes", "--spread", "1h", "--note", "again").want(t, 0, "Requeued: 10 of 10")
	call(t, dsn, "dlq", "requeue", "1", "2", "--yes").want(t, 1, "Requeued: 1 of 2", "NotDead")
	call(t, dsn, "dlq", "discard", "--text", "needle-2", "--note", "enough", "--yes", "--json").want(t, 0, `"result": "Discarded"`)
	call(t, dsn, "dlq", "requeue", "24").want(t, 1, "somebody has discarded it")
	call(t, dsn, "dlq", "discard", "24", "--note", "again").want(t, 0, "AlreadyDiscarded")
	call(t, dsn, "dlq", "requeue", "--all", "--yes").want(t, 0, "and no others"[:0], "Requeued")
	call(t, dsn, "dlq", "requeue", "--all", "--yes").want(t, 0, "nothing was changed")
	call(t, dsn, "dlq", "requeue", "--all", "--yes", "--json").want(t, 0, "[]")
}

func TestOperatorsSwitches(t *testing.T) {
	server, dsn := newQueue(t)
	call(t, dsn, "queue", "list").want(t, 0, "no queue has jobs or switches")
	call(t, dsn, "queue", "pause", "mail", "--note", "server is down").want(t, 0, "is paused")
	call(t, dsn, "queue", "limit", "mail", "3").want(t, 0, "has limit 3")
	call(t, dsn, "queue", "timeouts", "mail", "--fetched", "none", "--zombie", "90s").want(t, 0, "90s (zombie)")
	call(t, dsn, "queue", "list").want(t, 0, "mail (paused)")
	call(t, dsn, "queue", "resume", "mail", "--json").want(t, 0, "not paused")
	call(t, dsn, "queue", "limit", "mail", "none").want(t, 0)
	call(t, dsn, "queue", "pause", " mail").want(t, 2, "51001")

	call(t, dsn, "settings", "set", "Recovery.FetchedJobTimeout", "5m", "--note", "short").want(t, 0, "is 300 seconds")
	call(t, dsn, "settings", "set", "Retention.Archive", "48h").want(t, 0, "is 48 hours")
	call(t, dsn, "settings", "set", "Recovery.BatchSize", "5m").want(t, 2, "accepted: a whole number of rows")
	call(t, dsn, "settings", "set", "Recovery.FetchedJobTimeout", "1500ms").want(t, 2, "is not accepted")
	call(t, dsn, "settings", "set", "Recovery.FetchedTimeout", "5").want(t, 2, "there is no setting", "Recovery.FetchedJobTimeout")
	call(t, dsn, "settings", "set", "Recovery.BatchSize", "100000").want(t, 2, "51003")
	call(t, dsn, "settings", "list").want(t, 0, "300")
	call(t, dsn, "settings", "set", "Recovery.FetchedJobTimeout", "default").want(t, 0, "has its default again")

	call(t, dsn, "recover").want(t, 0, "chokaq.RescueZombieJobs", "0 zombies")
	call(t, dsn, "recover", "--json").want(t, 0, `"chokaq.PurgeHistory": 0`)
	call(t, dsn, "status").want(t, 0, "no worker runs", "mail", "ResetFetchedJobs", "chokaq")
	var status map[string][]map[string]any
	if err := json.Unmarshal([]byte(call(t, dsn, "status", "--json").stdout), &status); err != nil || len(status["recovery"]) != 3 || len(status["workers"]) != 0 {
		t.Errorf("%v, %v", status, err)
	}
	call(t, dsn, "workers").want(t, 0, "no worker runs; --all")
	call(t, dsn, "workers", "--all").want(t, 0, "no worker has run")
	call(t, dsn, "workers", "--json").want(t, 0, "[]")

	exec1(t, dsn, "UPDATE chokaq.RecoveryRuns SET StartedAt = DATEADD(HOUR, -3, StartedAt), FinishedAt = DATEADD(HOUR, -3, FinishedAt); UPDATE chokaq.SchemaObjects SET AppliedAt = DATEADD(HOUR, -4, AppliedAt)")
	call(t, dsn, "status").want(t, 0, "(late)")

	// A login that may only look.
	exec1(t, dsn, "CREATE LOGIN looker WITH PASSWORD = N'Look-1234'; CREATE USER looker FOR LOGIN looker; ALTER ROLE chokaq_monitor ADD MEMBER looker")
	looker := server.DSNFor("shop", "looker", "Look-1234")
	call(t, looker, "status").want(t, 0)
	call(t, looker, "queue", "pause", "mail").want(t, 5, "chokaq_operator")
	call(t, looker, "enqueue", "--type", "t").want(t, 5, "chokaq_producer")
}
