package main

import (
	"strings"
	"testing"
	"time"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/doctor"
)

// diagnosis is the worst status of each check.
func diagnosis(t *testing.T, r result) map[string]string {
	t.Helper()
	severity := map[string]int{"ok": 0, "note": 1, "unknown": 2, "warning": 3, "error": 4}
	worst := make(map[string]string)
	for _, f := range r.list(t) {
		check, status := f["check"].(string), f["status"].(string)
		if before, there := worst[check]; !there || severity[status] > severity[before] {
			worst[check] = status
		}
	}
	return worst
}

func TestDoctorOfAHealthyInstallation(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	call(t, dsn, "agent-jobs", "install").want(t, 0)
	call(t, dsn, "recover").want(t, 0)
	r := call(t, dsn, "doctor", "--json").want(t, 0)
	for check, status := range diagnosis(t, r) {
		if want := map[string]string{"connection": "note", "rights": "note", "workers": "note"}[check]; status != want && !(want == "" && status == "ok") {
			t.Errorf("%s: %s in %s", check, status, r.stdout)
		}
	}
	text := call(t, dsn, "doctor").want(t, 0, "3 notes, 0 unknown, 0 warnings, 0 errors")
	for line := range strings.Lines(text.stdout) {
		if len([]rune(strings.TrimRight(line, "\n"))) > 80 {
			t.Errorf("wider than 80 columns: %s", line)
		}
	}
}

func TestDoctorFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	for _, c := range []struct {
		name, sql string
		status    int
		check     string
		want      string
		says      []string
	}{
		{"no Agent jobs", "SELECT 1", 6, "agent", "warning", []string{"agent-jobs install"}},
		{"recovery does not run", "UPDATE chokaq.SchemaObjects SET AppliedAt = DATEADD(HOUR, -1, AppliedAt)", 7, "recovery", "error", []string{"ResetFetchedJobs has not run for 5m0s", "chokaq-worker recover"}},
		{"nobody knows the type", "EXEC chokaq.EnqueueJob @Queue = N'mail', @JobType = N'unheard of'", 6, "job types", "warning", []string{"unheard of in queue mail"}},
		{"a paused queue with work", "EXEC chokaq.PauseQueue @Queue = N'mail'", 6, "queues", "warning", []string{"queue resume"}},
		{"a worker is gone", `INSERT INTO chokaq.Workers (WorkerId, HostName, ProcessId, Version, Queues, Handlers, Prefetch, State, LoginName, StartedAt, HeartbeatAt, StateAt)
SELECT NEWID(), N'h', 1, N'1', N'["q"]', 1, 1, 'running', N'x', t.At, t.At, t.At FROM (SELECT DATEADD(HOUR, -1, SYSUTCDATETIME()) AS At) AS t`, 6, "workers", "warning", []string{"stops --outcome gone"}},
		{"a worker that drains for an hour", `INSERT INTO chokaq.Workers (WorkerId, HostName, ProcessId, Version, Queues, Handlers, Prefetch, State, LoginName, StartedAt, HeartbeatAt, StateAt)
SELECT NEWID(), N'drainer', 17, N'1', N'["q"]', 1, 1, 'draining', N'x', t.At, SYSUTCDATETIME(), t.At FROM (SELECT DATEADD(HOUR, -1, SYSUTCDATETIME()) AS At) AS t`, 6, "workers", "warning",
			[]string{"drainer 17 (for 1h0m", "40s"}},
		{"a limit of 0", "EXEC chokaq.EnqueueJob @Queue = N'narrow', @JobType = N't'; EXEC chokaq.SetQueueLimit @Queue = N'narrow', @ConcurrencyLimit = 0", 6, "queues", "warning", []string{"held by a limit of 0", "narrow (1 job"}},
		{"recovery does not take a job", `EXEC chokaq.EnqueueJob @Queue = N'held', @JobType = N't';
EXEC chokaq.ClaimJobs @WorkerId = '11111111-0000-0000-0000-000000000000', @ClaimToken = '11111111-0000-0000-0000-000000000000', @Queues = N'["held"]', @MaxJobs = 1;
UPDATE chokaq.Jobs SET HeartbeatAt = DATEADD(HOUR, -1, HeartbeatAt) WHERE Queue = N'held'`, 7, "held jobs", "error", []string{"1 of 1 job that workers hold", "50m", "sys.dm_tran_locks"}},
		{"a stop was cut short", `INSERT INTO chokaq.WorkerStops (WorkerId, HostName, ProcessId, Version, Queues, DrainingAt) VALUES (NEWID(), N'h', 1, N'1', N'[]', DATEADD(HOUR, -1, SYSUTCDATETIME()))`, 6, "stops", "warning",
			[]string{"terminationGracePeriodSeconds", "above 40s"}},
		{"a recurring job that cannot be read", "EXEC chokaq.SetRecurringJob @Name = N'r', @Cron = N'99 * * * *', @Queue = N'q', @JobType = N't'", 7, "recurring jobs", "error", []string{"r cannot be read"}},
		{"a dropped procedure", "DROP PROCEDURE chokaq.PauseQueue", 7, "schema", "error", []string{"procedures/PauseQueue.sql", "migrate up"}},
		{"AUTO_CLOSE", "ALTER DATABASE CURRENT SET AUTO_CLOSE ON", 6, "database", "warning", []string{"AUTO_CLOSE OFF"}},
	} {
		exec1(t, dsn, c.sql)
		r := call(t, dsn, "doctor", "--json")
		if got := diagnosis(t, r)[c.check]; got != c.want || r.status < c.status {
			t.Errorf("%s: %s says %s, status %d\n%s", c.name, c.check, got, r.status, r.stdout)
		}
		for _, part := range c.says {
			if !strings.Contains(r.stdout, part) {
				t.Errorf("%s: no %q in\n%s", c.name, part, r.stdout)
			}
		}
	}
	// Agent's jobs, one after the other.
	call(t, dsn, "agent-jobs", "install").want(t, 0)
	if got := diagnosis(t, call(t, dsn, "doctor", "--json"))["agent"]; got != "ok" {
		t.Errorf("installed: %s", got)
	}
	exec1(t, dsn, "DECLARE @Name sysname = (SELECT MIN(j.name) FROM msdb.dbo.sysjobs AS j WHERE j.name LIKE N'ChokaQ rescue%'); EXEC msdb.dbo.sp_update_job @job_name = @Name, @enabled = 0")
	if r := call(t, dsn, "doctor", "--json"); diagnosis(t, r)["agent"] != "error" || !strings.Contains(r.stdout, "is disabled") {
		t.Errorf("a disabled job: %s", r.stdout)
	}
}

func TestDoctorOfSettings(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	r := callWith(t, "", []string{"CHOKAQ_DSN=" + dsn, "CHOKAQ_HEARTBEAT_INTERVAL=10m"}, "doctor", "--json")
	if r.status != 7 || diagnosis(t, r)["settings"] != "error" || !strings.Contains(r.stdout, "3m20s or less") {
		t.Errorf("status %d: %s", r.status, r.stdout)
	}
	// Handlers of ten minutes, and a grace period of 30 seconds.
	exec1(t, dsn, `INSERT INTO chokaq.JobsArchive (JobId, Queue, JobType, Priority, DueAt, Attempt, MaxAttempts, RequeueCount, StartedAt, FinishedAt, EnqueuedAt, EnqueuedBy, Payload)
SELECT n.[value], N'q', N'long', 5, SYSUTCDATETIME(), 1, 1, 0, DATEADD(SECOND, -600, SYSUTCDATETIME()), SYSUTCDATETIME(), SYSUTCDATETIME(), N'x', N'{}'
FROM (SELECT TOP (300) 900000 + ROW_NUMBER() OVER (ORDER BY a.object_id) AS [value] FROM sys.all_objects AS a CROSS JOIN sys.all_objects AS b) AS n`)
	if r := call(t, dsn, "doctor", "--json"); diagnosis(t, r)["grace period"] != "warning" || !strings.Contains(r.stdout, "chokaq-worker advise") {
		t.Errorf("%s", r.stdout)
	}
}

// A login that may see little is told so, check by check, and the others go on.
func TestDoctorWithFewRights(t *testing.T) {
	t.Parallel()
	server, dsn := newQueue(t)
	exec1(t, dsn, "CREATE LOGIN few WITH PASSWORD = N'Work-1234'; CREATE USER few FOR LOGIN few")
	few := server.DSNFor("shop", "few", "Work-1234")
	if r := call(t, few, "doctor", "--json"); r.status != 7 || diagnosis(t, r)["rights"] != "error" || diagnosis(t, r)["clock"] != "ok" {
		t.Errorf("no role: %d %s", r.status, r.stdout)
	}
	exec1(t, dsn, "ALTER ROLE chokaq_monitor ADD MEMBER few")
	r := call(t, few, "doctor", "--json")
	if got := diagnosis(t, r); got["rights"] != "ok" || got["agent"] != "unknown" || got["workers"] != "note" || r.status == 7 {
		t.Errorf("a monitor: %d %s", r.status, r.stdout)
	}
}

// That nothing bad was seen is no health: who may not look at the queue is told so by the exit status, too. Only Agent, which a monitor may not see, may stay unseen.
func TestDoctorThatSeesNothing(t *testing.T) {
	t.Parallel()
	server, dsn := newQueue(t)
	call(t, dsn, "agent-jobs", "install").want(t, 0)
	call(t, dsn, "recover").want(t, 0)
	exec1(t, dsn, "CREATE LOGIN part WITH PASSWORD = N'Work-1234'; CREATE USER part FOR LOGIN part; ALTER ROLE chokaq_producer ADD MEMBER part")
	part := server.DSNFor("shop", "part", "Work-1234")
	r := call(t, part, "doctor").want(t, 5, "0 errors", "not known: this login may not look at recovery, settings, workers", "chokaq_monitor")
	if !strings.HasPrefix(r.stderr, "chokaq-worker: whether all is well is not known") || strings.Contains(r.stderr, "agent") {
		t.Errorf("%s", r.stderr)
	}
	if r := call(t, part, "doctor", "--json").want(t, 5, `"exit_status":5`); diagnosis(t, r)["recovery"] != "unknown" {
		t.Errorf("%s", r.stdout)
	}
	exec1(t, dsn, "ALTER ROLE chokaq_worker ADD MEMBER part")
	call(t, part, "doctor").want(t, 5, "may not look at workers, held jobs")
	exec1(t, dsn, "ALTER ROLE chokaq_monitor ADD MEMBER part")
	if r := call(t, part, "doctor", "--json").want(t, 0); diagnosis(t, r)["agent"] != "unknown" || r.stderr != "" {
		t.Errorf("a monitor: %s %s", r.stdout, r.stderr)
	}
	exec1(t, dsn, "EXEC chokaq.EnqueueJob @Queue = N'mail', @JobType = N'unheard of'")
	call(t, part, "doctor").want(t, 6, "1 warning, 0 errors")
}

// What is bad goes before what is not known, and what is not known before what is only a warning.
func TestJudge(t *testing.T) {
	for status, verdict := range map[int]doctor.Verdict{
		0: {Worst: doctor.Unknown}, 6: {Worst: doctor.Warning}, 7: {Worst: doctor.Error, Unseen: []string{"queues"}}, 5: {Worst: doctor.Warning, Unseen: []string{"queues"}},
	} {
		if got := statusOf(judge(verdict)); got != status {
			t.Errorf("%+v: %d, want %d", verdict, got, status)
		}
	}
	if got := statusOf(judge(doctor.Verdict{Worst: doctor.Error, Unreached: true})); got != 5 {
		t.Errorf("unreached: %d", got)
	}
}

func TestDoctorWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	began := time.Now()
	r := call(t, "sqlserver://x:y-secret@127.0.0.1:1?database=none", "doctor").want(t, 5, "cannot be reached")
	if strings.Contains(r.stdout+r.stderr, "y-secret") {
		t.Error("the password is shown")
	}
	if time.Since(began) > time.Minute {
		t.Error("it took more than a minute")
	}
}

func TestDoctorNotesWhatIsUnusual(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	runningWorker(t, dsn, oneWorker, `["mail"]`)
	runningWorker(t, dsn, otherWorker, `["mail"]`)
	if got := diagnosis(t, call(t, dsn, "doctor", "--json"))["workers"]; got != "ok" {
		t.Errorf("two workers: %s", got)
	}
	exec1(t, dsn, "UPDATE chokaq.Workers SET Version = N'2' WHERE WorkerId = '"+otherWorker+"'")
	call(t, dsn, "workers", "handlers", "6f9619ff", "3").want(t, 0)
	r := call(t, dsn, "doctor", "--json")
	if got := diagnosis(t, r)["workers"]; got != "note" || !strings.Contains(r.stdout, "side by side: 1, 2") || !strings.Contains(r.stdout, "operator: host-1 4242 (3)") {
		t.Errorf("%s: %s", got, r.stdout)
	}
}

func TestDoctorWithoutChokaQ(t *testing.T) {
	t.Parallel()
	_, dsn := newServer(t)
	r := call(t, dsn, "doctor", "--json").want(t, 7, "ChokaQ is not installed in this database", "migrate up")
	if got := r.list(t); got[len(got)-1]["check"] != "schema" || strings.Contains(r.stdout, "could not look") {
		t.Errorf("%s", r.stdout)
	}
}

// What has not run yet, and what no worker has seen yet, is called that.
func TestDoctorOfWhatIsNew(t *testing.T) {
	t.Parallel()
	server, dsn := newQueue(t)
	server.Agent().Stop()
	call(t, dsn, "agent-jobs", "install").want(t, 0)
	call(t, dsn, "doctor", "--json").want(t, 0, "none has run yet")
	exec1(t, dsn, "UPDATE v SET last_run_outcome = 1, last_run_date = 20260131, last_run_time = 120000 FROM msdb.dbo.sysjobservers AS v INNER JOIN msdb.dbo.sysjobs AS j ON j.job_id = v.job_id WHERE j.name LIKE N'ChokaQ res%'")
	if r := call(t, dsn, "doctor", "--json"); !strings.Contains(r.stdout, "not yet run: ChokaQ purge history (shop); the others last succeeded") {
		t.Errorf("%s", r.stdout)
	}

	call(t, dsn, "recurring", "set", "nightly", "--cron", "@daily", "--type", "t", "--queue", "mail").want(t, 0)
	exec1(t, dsn, "UPDATE chokaq.RecurringJobs SET UpdatedAt = DATEADD(HOUR, -1, UpdatedAt)")
	r := call(t, dsn, "doctor", "--json")
	if got := diagnosis(t, r)["recurring jobs"]; got != "error" || !strings.Contains(r.stdout, "do not tick: nightly (queue mail)") || strings.Contains(r.stdout, "ticks are overdue") {
		t.Errorf("nobody serves it: %s", r.stdout)
	}
	runningWorker(t, dsn, oneWorker, `["mail"]`)
	r = call(t, dsn, "doctor", "--json")
	if got := diagnosis(t, r)["recurring jobs"]; got != "note" || !strings.Contains(r.stdout, "computed the next tick yet: nightly") {
		t.Errorf("nobody has seen it: %s", r.stdout)
	}
	exec1(t, dsn, "UPDATE chokaq.RecurringJobs SET NextTickAt = DATEADD(HOUR, -1, SYSUTCDATETIME())")
	if r := call(t, dsn, "doctor", "--json"); diagnosis(t, r)["recurring jobs"] != "error" || !strings.Contains(r.stdout, "ticks are overdue: nightly") {
		t.Errorf("overdue: %s", r.stdout)
	}
}

// An upgrade that was not finished has the version and not the procedures.
func TestDoctorOfAnUnfinishedUpgrade(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	exec1(t, dsn, "UPDATE chokaq.SchemaObjects SET Checksum = REPLICATE('0', 64) WHERE ObjectName = N'procedures/ClaimJobs.sql'")
	r := call(t, dsn, "doctor", "--json")
	if r.status != 7 || diagnosis(t, r)["schema"] != "error" || !strings.Contains(r.stdout, "procedures/ClaimJobs.sql") || !strings.Contains(r.stdout, "migrate up") {
		t.Errorf("status %d: %s", r.status, r.stdout)
	}
}
