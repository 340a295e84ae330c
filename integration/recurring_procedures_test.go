package integration

import (
	"database/sql"
	"strings"
	"sync"
	"testing"
	"time"
)

func recurring(t *testing.T, d *database, name string, args ...any) string {
	t.Helper()
	return mustQuery(t, d.pool, "chokaq.SetRecurringJob", append([]any{sql.Named("Name", name), sql.Named("Cron", "*/5 * * * *"), sql.Named("Queue", "q"), sql.Named("JobType", "t")}, args...)...)[0]["Result"].(string)
}

func dueRecurring(t *testing.T, d *database) []row {
	t.Helper()
	return mustQuery(t, d.pool, "chokaq.GetDueRecurringJobs", sql.Named("Queues", `["q"]`))
}

// tick calls EnqueueRecurringJob by what r, a row of GetDueRecurringJobs, says.
func tick(t *testing.T, q querier, r row, at, next any) (string, any) {
	t.Helper()
	got := mustQuery(t, q, "chokaq.EnqueueRecurringJob", sql.Named("Name", r["Name"]), sql.Named("Revision", r["Revision"]), sql.Named("ExpectedTickAt", r["NextTickAt"]),
		sql.Named("TickAt", at), sql.Named("NextTickAt", next))[0]
	return got["Result"].(string), got["JobId"]
}

func TestATickIsEnqueuedOnce(t *testing.T) {
	d := newDatabase(t)
	if got := recurring(t, d, "nightly", sql.Named("Payload", `{"n":1}`), sql.Named("Headers", `{"a":"b"}`)); got != "Created" {
		t.Fatal(got)
	}
	now := mustQuery(t, d.pool, "SELECT CONVERT(datetime2(3), SYSUTCDATETIME()) AS Now")[0]["Now"].(time.Time)
	past, soon := now.Add(-time.Minute), now.Add(time.Hour)
	r := dueRecurring(t, d)[0]
	if r["NextTickAt"] != nil {
		t.Fatalf("a new one has a tick: %v", r)
	}
	if got, _ := tick(t, d.pool, r, nil, past); got != "Planned" {
		t.Fatalf("planning: %s", got)
	}
	r = dueRecurring(t, d)[0]
	// Many workers come for the same tick at once.
	var mu sync.Mutex
	results := make(map[string]int)
	var group sync.WaitGroup
	for range 8 {
		session := d.session(t)
		group.Go(func() {
			got, _ := tick(t, session, r, past, soon)
			mu.Lock()
			results[got]++
			mu.Unlock()
		})
	}
	group.Wait()
	if results["Enqueued"] != 1 || results["Taken"] != 7 {
		t.Errorf("eight workers got %v", results)
	}
	jobs := mustQuery(t, d.pool, "SELECT Headers, Payload FROM chokaq.Jobs")
	if len(jobs) != 1 || jobs[0]["Payload"] != `{"n":1}` {
		t.Fatalf("jobs: %v", jobs)
	}
	headers := jobs[0]["Headers"].(string)
	for _, part := range []string{`"a":"b"`, `"chokaq-recurring":"nightly"`, `"chokaq-tick":"` + past.UTC().Format("2006-01-02T15:04:05")} {
		if !strings.Contains(headers, part) {
			t.Errorf("headers %s have no %s", headers, part)
		}
	}
	if got := dueRecurring(t, d); len(got) != 0 {
		t.Errorf("still due: %v", got)
	}
}

func TestTheDefinitionDecides(t *testing.T) {
	d := newDatabase(t)
	recurring(t, d, "r")
	now := mustQuery(t, d.pool, "SELECT CONVERT(datetime2(3), SYSUTCDATETIME()) AS Now")[0]["Now"].(time.Time)
	past, soon := now.Add(-time.Minute), now.Add(time.Hour)
	read := dueRecurring(t, d)[0]
	if got := recurring(t, d, "r"); got != "Unchanged" {
		t.Errorf("the same again: %s", got)
	}
	if got := recurring(t, d, "r", sql.Named("Priority", 7)); got != "Changed" {
		t.Errorf("another priority: %s", got)
	}
	if got, _ := tick(t, d.pool, read, past, soon); got != "Taken" {
		t.Errorf("by an older definition: %s", got)
	}
	tick(t, d.pool, dueRecurring(t, d)[0], nil, past)
	if got := recurring(t, d, "r", sql.Named("Priority", 8)); got != "Changed" || dueRecurring(t, d)[0]["NextTickAt"] == nil {
		t.Errorf("a change that is not of the time computes the ticks anew")
	}
	if got := recurring(t, d, "r", sql.Named("Priority", 8), sql.Named("TimeZone", "Europe/Berlin")); got != "Changed" || dueRecurring(t, d)[0]["NextTickAt"] != nil {
		t.Errorf("another time zone does not compute the ticks anew")
	}
	read = dueRecurring(t, d)[0]
	mustQuery(t, d.pool, "chokaq.SetRecurringJobPaused", sql.Named("Name", "r"), sql.Named("IsPaused", true), sql.Named("Note", "holiday"))
	if len(dueRecurring(t, d)) != 0 {
		t.Error("a paused one is due")
	}
	if got, _ := tick(t, d.pool, read, past, soon); got != "Taken" {
		t.Errorf("while paused: %s", got)
	}
	// An application that starts again defines it as before: it stays paused.
	recurring(t, d, "r", sql.Named("Priority", 9))
	if len(dueRecurring(t, d)) != 0 {
		t.Error("defining it again has ended the pause")
	}
	mustQuery(t, d.pool, "chokaq.SetRecurringJobPaused", sql.Named("Name", "r"), sql.Named("IsPaused", false))
	if len(dueRecurring(t, d)) != 1 {
		t.Error("it does not go on")
	}
	mustQuery(t, d.pool, "chokaq.RemoveRecurringJob", sql.Named("Name", "r"))
	for _, procedure := range []string{"chokaq.RemoveRecurringJob", "chokaq.SetRecurringJobPaused"} {
		args := []any{sql.Named("Name", "r")}
		if procedure == "chokaq.SetRecurringJobPaused" {
			args = append(args, sql.Named("IsPaused", 1))
		}
		_, err := query(t.Context(), d.pool, procedure, args...)
		wantError(t, err, 51019, "no recurring job")
	}
	if n := number(t, d.pool, "SELECT COUNT(*) FROM chokaq.OperatorLog WHERE Setting = N'r'"); n != 8 {
		t.Errorf("%d actions are logged", n)
	}
}

func TestATickIsSkippedWhileTheLastJobLives(t *testing.T) {
	d := newDatabase(t)
	recurring(t, d, "r", sql.Named("SkipWhileLive", true))
	now := mustQuery(t, d.pool, "SELECT CONVERT(datetime2(3), SYSUTCDATETIME()) AS Now")[0]["Now"].(time.Time)
	_, first := tick(t, d.pool, dueRecurring(t, d)[0], now.Add(-2*time.Minute), now.Add(-time.Minute))
	got, second := tick(t, d.pool, dueRecurring(t, d)[0], now.Add(-time.Minute), now.Add(time.Hour))
	if got != "Skipped" || first != second {
		t.Errorf("second tick: %s %v, first job %v", got, second, first)
	}
	if n := number(t, d.pool, "SELECT COUNT(*) FROM chokaq.Jobs AS j"); n != 1 {
		t.Errorf("%d jobs", n)
	}
}

func TestRecurringJobsAreChecked(t *testing.T) {
	d := newDatabase(t)
	for _, c := range []struct {
		name   string
		value  any
		number int32
	}{
		{"Cron", "* * * *", 51001}, {"Cron", "* * * *  *", 51001}, {"Cron", "", 51001}, {"Cron", "* * * * * *", 51001}, {"TimeZone", "", 51001}, {"Name", strings.Repeat("x", 65), 51001},
		{"MissedTicks", "some", 51001}, {"MissedTicks", "one ", 51001}, {"Payload", "{", 51002}, {"Payload", "1,2", 51002}, {"Headers", "[]", 51002}, {"Priority", 0, 51003}, {"MaxAttempts", 1001, 51003},
	} {
		args := map[string]any{"Name": "r", "Cron": "* * * * *", "Queue": "q", "JobType": "t"}
		args[c.name] = c.value
		var named []any
		for name, value := range args {
			named = append(named, sql.Named(name, value))
		}
		_, err := query(t.Context(), d.pool, "chokaq.SetRecurringJob", named...)
		wantError(t, err, c.number, "@"+c.name, "Nothing was changed")
	}
	recurring(t, d, "r")
	r := dueRecurring(t, d)[0]
	_, err := query(t.Context(), d.pool, "chokaq.EnqueueRecurringJob", sql.Named("Name", "r"), sql.Named("Revision", r["Revision"]), sql.Named("ExpectedTickAt", nil),
		sql.Named("TickAt", time.Now().Add(time.Hour)), sql.Named("NextTickAt", nil))
	wantError(t, err, 51003, "future")
}
