package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// fits checks that what a command has printed fits a screen.
func fits(t *testing.T, r result) result {
	t.Helper()
	if width, line := widest(r.stdout); width > screenWidth {
		t.Errorf("%q: %d columns: %s", r.args, width, line)
	}
	return r
}

func TestStops(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	call(t, dsn, "stops").want(t, 0, "no worker has stopped")
	call(t, dsn, "stops", "--json").want(t, 0, "[]")
	exec1(t, dsn, `INSERT INTO chokaq.WorkerStops (WorkerId, HostName, ProcessId, Version, Queues, Reason, Outcome, DrainingAt, StoppedAt, Running, Released, Interrupted, Abandoned, LeftFetched, Unstored, HandlersMs, TotalMs, GracePeriodMs)
VALUES ('`+oneWorker+`', N'host-1', 1, N'1', N'["mail"]', N'SIGTERM', 'review', DATEADD(MINUTE, -10, SYSUTCDATETIME()), DATEADD(MINUTE, -9, SYSUTCDATETIME()), 9, 2, 3, 1, 0, 1, 12000, 13000, 10000),
       ('6f961111-8b86-d011-b42d-00cf4fc964ff', N'host-2', 2, N'1', N'["mail"]', N'SIGTERM', 'clean', DATEADD(HOUR, -30, SYSUTCDATETIME()), DATEADD(HOUR, -30, SYSUTCDATETIME()), 0, 0, 0, 0, 0, 0, 0, 40, 10000),
       ('`+otherWorker+`', N'host-2', 3, N'1', N'["mail"]', N'SIGTERM', NULL, DATEADD(HOUR, -3, SYSUTCDATETIME()), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)`)
	exec1(t, dsn, `INSERT INTO chokaq.Workers (WorkerId, HostName, ProcessId, Version, Queues, Handlers, Prefetch, State, LoginName, StartedAt, HeartbeatAt, StateAt)
SELECT '80000000-0000-0000-0000-000000000001', N'host-3', 1, N'1', N'["q"]', 1, 1, 'running', N'x', t.At, t.At, t.At FROM (SELECT DATEADD(HOUR, -1, SYSUTCDATETIME()) AS At) AS t`)

	names := func(args ...string) string {
		var all []string
		for _, row := range call(t, dsn, append([]string{"stops", "--json"}, args...)...).want(t, 0).list(t) {
			all = append(all, fmt.Sprintf("%s/%s", row["workerId"].(string)[:5], row["outcome"]))
		}
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "6f961/review 80000/gone 70000/cut short 6f961/clean"},
		{[]string{"--since", "24h"}, "6f961/review 80000/gone 70000/cut short"},
		{[]string{"--since", "2h", "--host", "host-3"}, "80000/gone"},
		{[]string{"--outcome", "Cut Short"}, "70000/cut short"},
		{[]string{"--limit", "1"}, "6f961/review"},
		{[]string{"--host", "host-9"}, ""},
	} {
		if got := names(c.args...); got != c.want {
			t.Errorf("%v: %s, want %s", c.args, got, c.want)
		}
	}
	fits(t, call(t, dsn, "stops").want(t, 0, "6f9619ff", "review", " 9 ", " 5 ", "13s", "cut short", "gone"))
	call(t, dsn, "stops", "--limit", "2").want(t, 0, "the first 2; --limit shows more")
	call(t, dsn, "stops", "--outcome", "fine").want(t, 2, "accepted: clean, review")
	call(t, dsn, "stops", "--since", "monday").want(t, 2, "accepted: a Go duration")
	call(t, dsn, "stops", "shw").want(t, 2, `did you mean "chokaq-worker stops show"?`)

	call(t, dsn, "stops", "show", "6F9619ff").want(t, 0, oneWorker, "GracePeriodMs      10000", "wait for review")
	call(t, dsn, "stops", "show", "7000", "--json").want(t, 0, `"outcome": "cut short"`, `"queues": [`)
	call(t, dsn, "stops", "show", "6f96").want(t, 2, "more than one")
	call(t, dsn, "stops", "show", "9999").want(t, 1, "no worker's id begins with")
	call(t, dsn, "stops", "show", "80%").want(t, 2, "is not a worker")
}

func TestWorkersHandlers(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	runningWorker(t, dsn, oneWorker, `["mail"]`)
	fits(t, call(t, dsn, "workers").want(t, 0, "6f9619ff", "host-1 4242", "0/10"))
	call(t, dsn, "workers", "handlers", "6f9619ff", "20", "--note", "backlog").want(t, 0, "will have 20 handlers")
	fits(t, call(t, dsn, "workers").want(t, 0, "0/10 want 20"))
	if row := call(t, dsn, "workers", "--json").list(t)[0]; row["handlersWanted"] != 20.0 {
		t.Errorf("%v", row)
	}
	call(t, dsn, "workers", "handlers", oneWorker, "default", "--json").want(t, 0, `"done"`)
	if row := call(t, dsn, "workers", "--json").list(t)[0]; row["handlersWanted"] != nil {
		t.Errorf("%v", row)
	}
	for _, n := range []string{"0", "10001", "many"} {
		call(t, dsn, "workers", "handlers", "6f9619ff", n).want(t, 2, "accepted: 1 to 10000, or default")
	}
	call(t, dsn, "workers", "handlers", "6f9619ff", "-3").want(t, 2, `"-3" is not accepted`, "no number below 0")
	call(t, dsn, "workers", "handlers", "7777", "3").want(t, 1, "no worker's id begins with")
	exec1(t, dsn, "UPDATE chokaq.Workers SET State = 'stopped'")
	call(t, dsn, "workers", "handlers", "6f9619ff", "3").want(t, 1, "51013")
}

func TestJobs(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	call(t, dsn, "jobs", "running").want(t, 0, "no worker holds")
	call(t, dsn, "jobs", "waiting", "--json").want(t, 0, "[]")
	for range 4 {
		call(t, dsn, "enqueue", "--type", "send", "--queue", "mail").want(t, 0)
	}
	call(t, dsn, "enqueue", "--type", "misspelt", "--queue", "mail", "--delay", "1h").want(t, 0)
	runningWorker(t, dsn, oneWorker, `["mail"]`)
	exec1(t, dsn, "UPDATE chokaq.Workers SET JobTypes = N'[\"send\"]'")
	const token = "11111111-1111-1111-1111-111111111111"
	exec1(t, dsn, `EXEC chokaq.ClaimJobs @WorkerId = '`+oneWorker+`', @ClaimToken = '`+token+`', @Queues = N'["mail"]', @MaxJobs = 3;
EXEC chokaq.StartJobs @Jobs = N'[{"id": 1, "token": "`+token+`"}, {"id": 2, "token": "`+token+`"}]';
EXEC chokaq.CompleteJobs @Jobs = N'[{"id": 2, "token": "`+token+`"}]'`)

	held := call(t, dsn, "jobs", "running", "--json").want(t, 0).list(t)
	if len(held) != 2 || held[0]["hostName"] != "host-1" {
		t.Errorf("%v", held)
	}
	if one := call(t, dsn, "jobs", "running", "--state", "processing", "--queue", "mail", "--type", "send", "--json").list(t); len(one) != 1 || one[0]["jobId"] != 1.0 {
		t.Errorf("%v", one)
	}
	fits(t, call(t, dsn, "jobs", "running", "--limit", "1").want(t, 0, "host-1 4242", "the first 1; --limit shows more"))
	call(t, dsn, "jobs", "running", "--state", "Dead").want(t, 2, "accepted: Fetched, Processing")
	call(t, dsn, "jobs", "running", "--limit", "-1").want(t, 2, "--limit")

	fits(t, call(t, dsn, "jobs", "waiting").want(t, 0, "misspelt", "none", "send"))
	if orphans := call(t, dsn, "jobs", "waiting", "--orphans", "--json").list(t); len(orphans) != 1 || orphans[0]["jobType"] != "misspelt" || orphans[0]["scheduled"] != 1.0 {
		t.Errorf("%v", orphans)
	}

	call(t, dsn, "cancel", "4").want(t, 0)
	for id, want := range map[string]string{"1": "Processing", "2": "Succeeded", "3": "Fetched", "4": "Dead", "5": "Pending"} {
		var shown struct {
			State   string
			Since   time.Time
			History []map[string]any
			HeldBy  map[string]any
		}
		r := call(t, dsn, "jobs", "show", id, "--json").want(t, 0)
		if err := json.Unmarshal([]byte(r.stdout), &shown); err != nil {
			t.Fatal(err)
		}
		if shown.State != want || time.Since(shown.Since).Abs() > time.Hour || shown.History[0]["event"] != "Enqueued" || (shown.HeldBy != nil) != (want == "Processing" || want == "Fetched") {
			t.Errorf("job %s: %+v", id, shown)
		}
		fits(t, call(t, dsn, "jobs", "show", id).want(t, 0, stateMeanings[want], "Enqueued, by sa"))
	}
	call(t, dsn, "dlq", "discard", "4", "--note", "enough").want(t, 0)
	call(t, dsn, "jobs", "show", "4").want(t, 0, stateMeanings["Discarded"], "enough")
	call(t, dsn, "jobs", "show", "99").want(t, 1, "there is no job 99")
	call(t, dsn, "jobs", "show", "x").want(t, 2, "is not a job id")
}

func TestRecurring(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	call(t, dsn, "recurring", "list").want(t, 0, "there are no recurring jobs")
	call(t, dsn, "recurring", "list", "--json").want(t, 0, "[]")
	call(t, dsn, "recurring", "set", "nightly").want(t, 2, "needs --cron and --type")
	call(t, dsn, "recurring", "set", "nightly", "--cron", "61 2 * * *", "--type", "report").want(t, 2, "nothing was changed")
	call(t, dsn, "recurring", "set", "nightly", "--cron", "30 2 * * *", "--time-zone", "Europe/Berlin", "--type", "report", "--queue", "reports", "--payload", `{"n": 1}`, "--header", "a=b",
		"--priority", "7", "--note", "first").want(t, 0, `"nightly" is created`, "02:30:00 CE")
	call(t, dsn, "recurring", "set", "nightly", "--priority", "9").want(t, 0, "is changed")
	call(t, dsn, "recurring", "set", "nightly", "--priority", "9", "--json").want(t, 0, `"result": "unchanged"`)
	call(t, dsn, "recurring", "set", "nightly", "--priority", "11").want(t, 2, "51003")
	call(t, dsn, "recurring", "set", "nightly", "--header", "x").want(t, 2, "NAME=VALUE")
	call(t, dsn, "recurring", "set", "nightly", "--missed-ticks", "some").want(t, 2, "51001")
	row := call(t, dsn, "recurring", "list", "--json").list(t)[0]
	for column, want := range map[string]any{"cron": "30 2 * * *", "timeZone": "Europe/Berlin", "queue": "reports", "jobType": "report", "priority": 9.0, "isPaused": false, "missedTicks": "one"} {
		if row[column] != want {
			t.Errorf("%s is %v, want %v", column, row[column], want)
		}
	}
	if fmt.Sprint(row["payload"], row["headers"]) != "map[n:1] map[a:b]" {
		t.Errorf("%v %v", row["payload"], row["headers"])
	}
	call(t, dsn, "recurring", "pause", "nightly", "--note", "closing").want(t, 0, "is paused")
	fits(t, call(t, dsn, "recurring", "list").want(t, 0, "paused", "nightly"))
	call(t, dsn, "recurring", "next", "nightly", "-n", "2").want(t, 0, "is paused, and does not tick", "02:30:00 CE")
	call(t, dsn, "recurring", "resume", "nightly").want(t, 0, "is not paused")
	call(t, dsn, "recurring", "show", "nightly").want(t, 0, "TimeZone           Europe/Berlin")
	call(t, dsn, "recurring", "show", "weekly").want(t, 1, `there is no recurring job "weekly"`)
	call(t, dsn, "recurring", "pause", "weekly").want(t, 1, "51019")
	call(t, dsn, "recurring", "remove", "weekly", "--yes").want(t, 1, `there is no recurring job "weekly"`)
	call(t, dsn, "recurring", "remove", "nightly").want(t, 2, "add --yes")
	call(t, dsn, "recurring", "remove", "nightly", "--yes").want(t, 0, "is removed")
	call(t, dsn, "recurring", "list").want(t, 0, "there are no recurring jobs")

	// Without a database.
	ticks := callWith(t, "", nil, "recurring", "next", "--cron", "0 12 1 1 *", "--time-zone", "America/New_York", "-n", "3", "--json").want(t, 0).list(t)
	if len(ticks) != 3 || !strings.HasSuffix(ticks[0]["at"].(string), "-01-01T17:00:00Z") || !strings.HasSuffix(ticks[0]["local"].(string), "-01-01T12:00:00-05:00") {
		t.Errorf("%v", ticks)
	}
	for _, args := range [][]string{{}, {"a", "--cron", "@daily"}, {"a", "--time-zone", "UTC"}, {"--cron", "@daily", "-n", "0"}, {"--cron", "@sometimes"}, {"--cron", "@daily", "--time-zone", "Mars/Base"}} {
		callWith(t, "", nil, append([]string{"recurring", "next"}, args...)...).want(t, 2)
	}
}

// dead makes dead jobs of one queue and type, with an error each, and returns their ids.
func dead(t *testing.T, dsn string, queue, jobType, reason string, errors ...string) {
	t.Helper()
	for _, text := range errors {
		exec1(t, dsn, fmt.Sprintf(`DECLARE @Id bigint, @Token uniqueidentifier = NEWID(), @Jobs nvarchar(max);
EXEC chokaq.EnqueueJob @Queue = N'%[1]s', @JobType = N'%[2]s', @JobId = @Id OUTPUT, @ReturnRow = 0;
EXEC chokaq.ClaimJobs @WorkerId = '%[3]s', @ClaimToken = @Token, @Queues = N'["%[1]s"]', @MaxJobs = 1000;
SET @Jobs = CONCAT(N'[{"id": ', @Id, N', "token": "', @Token, N'"}]');
EXEC chokaq.StartJobs @Jobs = @Jobs;
SET @Jobs = (SELECT @Id AS id, @Token AS token, CONVERT(bit, 1) AS final, N'%[4]s' AS reason, N'%[5]s' AS error FOR JSON PATH);
EXEC chokaq.FailJobs @Jobs = @Jobs;`, strings.ReplaceAll(queue, "'", "''"), jobType, oneWorker, reason, strings.ReplaceAll(text, "'", "''")))
	}
}

func TestDeadJobsByFilter(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	runningWorker(t, dsn, oneWorker, `["mail"]`)
	call(t, dsn, "dlq", "groups").want(t, 0, "no job is dead")
	dead(t, dsn, "mail", "send", "Failed", "dial 10.0.0.1: connection refused", "dial 10.0.0.2: connection refused", "dial 10.0.0.3: connection refused")
	dead(t, dsn, "it's mail", "send it", "Rejected", "no such 'user'\nstack", "no such 'user'\nstack")

	ids := func(args ...string) string {
		var all []string
		for _, row := range call(t, dsn, append([]string{"dlq", "list", "--json"}, args...)...).want(t, 0).list(t) {
			all = append(all, fmt.Sprint(row["jobId"]))
		}
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "5 4 3 2 1"},
		{[]string{"--error", "REFUSED"}, "3 2 1"},
		{[]string{"--error", "refused", "--after", "1"}, "2 3"},
		{[]string{"--after", "1", "--limit", "3"}, "2 3 4"},
		{[]string{"--after", "1", "--text", "user"}, "4 5"},
		{[]string{"--after", "1", "--since", "1h", "--until", "2099-01-01T00:00:00Z", "--type", "send it"}, "4 5"},
		{[]string{"--after", "1", "--until", "1h"}, ""},
		{[]string{"--until", "1h"}, ""},
		{[]string{"--until", "2099-01-01T00:00:00Z", "--reason", "rejected"}, "5 4"},
	} {
		if got := ids(c.args...); got != c.want {
			t.Errorf("dlq list %v: %s, want %s", c.args, got, c.want)
		}
	}
	call(t, dsn, "dlq", "list", "--after", "1", "--limit", "2").want(t, 0, "the first 2; --after 3 shows the next")
	call(t, dsn, "dlq", "list", "--until", "x").want(t, 2, "--until")
	call(t, dsn, "dlq", "list", "--after", "-1").want(t, 2, "--after")

	// The command below each group finds it, as a shell reads it, whatever the width.
	groups := fits(t, call(t, dsn, "dlq", "groups").want(t, 0, "dial ##.#.#.#: connection refused", "--error=': connection refused'"))
	if strings.Count(groups.stdout, "chokaq-worker dlq list") != 2 {
		t.Errorf("%s", groups.stdout)
	}
	list := call(t, dsn, "dlq", "groups", "--json").list(t)
	if len(list) != 2 || list[0]["deadJobs"] != 3.0 {
		t.Fatalf("%v", list)
	}
	for i, want := range []string{"3 2 1", "5 4"} {
		if got := ids(shellWords(t, list[i]["filter"].(string))...); got != want {
			t.Errorf("%v finds %s, want %s", list[i]["filter"], got, want)
		}
	}
	if got := call(t, dsn, "dlq", "groups", "--limit", "1", "--json").list(t); len(got) != 1 {
		t.Errorf("%v", got)
	}

	fits(t, call(t, dsn, "dlq", "show", "1").want(t, 0, "History", "Enqueued", "Failed", "connection refused"))
	call(t, dsn, "dlq", "requeue", "--error", "refused", "--rate", "0", "--yes").want(t, 2, "--rate")
	call(t, dsn, "dlq", "requeue", "--error", "refused", "--rate", "5", "--spread", "1m", "--yes").want(t, 2, "exclude each other")
	call(t, dsn, "dlq", "requeue", "--error", "refused", "--rate", "0.0000001", "--yes").want(t, 2, "ten years")
	preview := call(t, dsn, "dlq", "requeue", "--error", "refused", "--limit", "2", "--rate", "0.01", "--yes").want(t, 0, "Requeued: 2 of 2")
	if !strings.Contains(preview.stderr, " 1 ") || !strings.Contains(preview.stderr, " 2 ") || strings.Contains(preview.stderr, " 3   ") {
		t.Errorf("not the jobs that are requeued: %s", preview.stderr)
	}
	// Two jobs at one in a hundred minutes: one now, the other later.
	waiting := call(t, dsn, "jobs", "waiting", "--json").list(t)
	if len(waiting) != 1 || waiting[0]["pending"] != 1.0 || waiting[0]["scheduled"] != 1.0 {
		t.Errorf("%v", waiting)
	}
	call(t, dsn, "dlq", "discard", "--after", "3", "--note", "enough", "--yes").want(t, 0, "Discarded: 2 of 2")
	if got := ids(); got != "3" {
		t.Errorf("left: %s", got)
	}
}

// A filter that finds more than a procedure takes in a call is acted upon whole.
func TestManyDeadJobs(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	exec1(t, dsn, `INSERT INTO chokaq.JobsDLQ (JobId, Queue, JobType, Priority, DueAt, Attempt, MaxAttempts, RequeueCount, EnqueuedAt, EnqueuedBy, Payload, Reason, DeadAt)
SELECT n.[value], N'q', N't', 5, SYSUTCDATETIME(), 1, 1, 0, SYSUTCDATETIME(), N'x', N'{}', 'Failed', SYSUTCDATETIME()
FROM (SELECT TOP (2345) ROW_NUMBER() OVER (ORDER BY a.object_id) AS [value] FROM sys.all_objects AS a CROSS JOIN sys.all_objects AS b) AS n`)
	call(t, dsn, "dlq", "requeue", "--queue", "q", "--limit", "1500", "--yes").want(t, 0, "and 1480 more", "Requeued: 1500 of 1500")
	call(t, dsn, "dlq", "discard", "--queue", "q", "--note", "enough", "--yes").want(t, 0, "and 825 more", "Discarded: 845 of 845")
}

// shellWords lets a shell read words.
func shellWords(t *testing.T, text string) []string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `printf '%s\0' `+text).Output()
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

func TestShellLines(t *testing.T) {
	long := strings.Repeat("it's a \\ \"long\" $value; ", 12) + strings.Repeat("wörd'", 30)
	flags := []flag{{"queue", "mail"}, {"type", long}, {"reason", "Failed"}, {"error", "'"}, {"error", strings.Repeat("x", 77)}}
	for _, width := range []int{30, 80, 200} {
		lines := shellLines("cmd", flags, width)
		if most, line := widest(lines); most > width {
			t.Errorf("%d columns of %d: %s", most, width, line)
		}
		got := shellWords(t, lines)
		want := []string{"cmd"}
		for _, f := range flags {
			want = append(want, "--"+f.name+"="+f.value)
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("a shell reads\n%q of\n%s\nwant\n%q", got, lines, want)
		}
	}
}

func TestAQueueThatNobodyKnows(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	const warning = `no job, worker or setting knows queue "mial"; it is paused from now on`
	r := call(t, dsn, "queue", "pause", "mial").want(t, 0, `queue "mial" is paused`)
	if !strings.Contains(r.stderr, warning) || strings.Contains(r.stdout, "knows") {
		t.Errorf("stdout %s, stderr %s", r.stdout, r.stderr)
	}
	call(t, dsn, "enqueue", "--type", "t", "--queue", "has-jobs").want(t, 0)
	runningWorker(t, dsn, oneWorker, `["other", "has-worker"]`)
	call(t, dsn, "recurring", "set", "r", "--cron", "@daily", "--type", "t", "--queue", "has-ticks").want(t, 0)
	for _, known := range []string{"mial", "has-jobs", "has-worker", "has-ticks"} {
		if r := call(t, dsn, "queue", "pause", known).want(t, 0); r.stderr != "" {
			t.Errorf("%s: %s", known, r.stderr)
		}
	}
	r = call(t, dsn, "queue", "pause", "Has-Worker", "--json").want(t, 0)
	var warned map[string]string
	if err := json.Unmarshal([]byte(r.stderr), &warned); err != nil || warned["event"] != "command.warning" || warned["level"] != "warn" {
		t.Errorf("%v: %s", err, r.stderr)
	}
	call(t, dsn, "queue", "limit", "has-jobs", "-1").want(t, 2, `"-1" is not accepted`, "no number below 0", "nothing was changed")
}

// The reason of a failure is JSON where JSON was asked for, and a sentence elsewhere.
func TestFailuresInJSON(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	for _, c := range []struct {
		environ []string
		args    []string
		status  int
		piece   string
		json    bool
	}{
		{nil, []string{"status", "--json"}, 2, "CHOKAQ_DSN", true},
		{nil, []string{"status", "--jsn"}, 2, "unknown flag", false},
		{nil, []string{"status", "--nonsense", "--json"}, 2, "unknown flag", true},
		{nil, []string{"stauts", "--json"}, 2, "did you mean", true},
		{[]string{"CHOKAQ_DSN=" + dsn}, []string{"cancel", "999", "--json"}, 1, "there is no job 999", true},
		{[]string{"CHOKAQ_DSN=" + dsn}, []string{"cancel", "999"}, 1, "there is no job 999", false},
		{nil, []string{"run", "--log-format", "json"}, 2, "CHOKAQ_DSN", true},
		{[]string{"CHOKAQ_LOG_FORMAT=json"}, []string{"run"}, 2, "CHOKAQ_DSN", true},
		{[]string{"CHOKAQ_LOG_FORMAT=json"}, []string{"run", "--log-format", "console"}, 2, "CHOKAQ_DSN", false},
		{[]string{"CHOKAQ_LOG_FORMAT=json"}, []string{"status"}, 2, "CHOKAQ_DSN", false},
	} {
		r := callWith(t, "", c.environ, c.args...).want(t, c.status)
		lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
		var failure struct {
			Level, Message, Event, Command, Time string
			ExitStatus                           int `json:"exit_status"`
		}
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &failure); (err == nil) != c.json {
			t.Errorf("%q: %s", c.args, r.stderr)
			continue
		}
		if c.json && (failure.ExitStatus != c.status || failure.Level != "error" || failure.Event != "command.failed" || failure.Time == "" || !strings.Contains(failure.Message, c.piece)) {
			t.Errorf("%q: %+v", c.args, failure)
		}
		if !c.json && !strings.Contains(r.stderr, c.piece) {
			t.Errorf("%q: %s", c.args, r.stderr)
		}
	}
}
