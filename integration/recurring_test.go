package integration

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chokaq/chokaq/driver"
)

// Several workers, ticks of every second for a while, ticks that were missed: each is enqueued once.
func TestWorkersEnqueueEachTickOnce(t *testing.T) {
	d := newDatabase(t)
	client := d.client(t)
	define := func(name string, missed driver.MissedTicks) {
		changed, err := client.SetRecurringJob(t.Context(), driver.RecurringJob{Name: name, Cron: "0 * * * *", MissedTicks: missed, Job: driver.NewJob{Type: "t", Queue: "q", Headers: map[string]string{"a": "b"}}})
		if err != nil || !changed {
			t.Fatal(changed, err)
		}
	}
	define("one", driver.MissedOne)
	define("all", driver.MissedAll)
	define("none", driver.MissedNone)
	// Nobody was there for the last five hours.
	mustExec(t, d.pool, "UPDATE chokaq.RecurringJobs SET NextTickAt = DATEADD(HOUR, DATEDIFF(HOUR, 0, SYSUTCDATETIME()) - 5, CONVERT(datetime2(3), '1900-01-01'))")
	handle := func(context.Context, *driver.Job[job]) error { return nil }
	var all []*runningWorker
	for range 3 {
		all = append(all, startWorker(t, d.dsn, quick(nil), handle))
	}
	eventually(t, "the ticks have been enqueued and done", func() bool { return count(t, d, "chokaq.JobsArchive") == 7 })
	got := make(map[string]int)
	for _, r := range mustQuery(t, d.pool, `SELECT JSON_VALUE(a.Headers, '$."chokaq-recurring"') AS Name, JSON_VALUE(a.Headers, '$."chokaq-tick"') AS Tick, JSON_VALUE(a.Headers, '$.a') AS A FROM chokaq.JobsArchive AS a`) {
		got[fmt.Sprint(r["Name"])]++
		tick := fmt.Sprint(r["Name"], r["Tick"])
		if got[tick]++; got[tick] > 1 || r["A"] != "b" {
			t.Errorf("tick %s: %d jobs, header %v", tick, got[tick], r["A"])
		}
		if at, err := time.Parse(time.RFC3339, r["Tick"].(string)); err != nil || at.Minute() != 0 {
			t.Errorf("tick at %v: %v", r["Tick"], err)
		}
	}
	if got["one"] != 1 || got["all"] != 6 || got["none"] != 0 {
		t.Errorf("enqueued: %v", got)
	}
	var ticks int64
	for _, w := range all {
		ticks += w.Stats().Ticks
		if err := w.stopAndWait(t); err != nil {
			t.Error(err)
		}
	}
	if ticks != 7 {
		t.Errorf("the workers count %d ticks", ticks)
	}
	if n := count(t, d, "chokaq.RecurringJobStatus WHERE LateSeconds = 0 AND NextTickAt > SYSUTCDATETIME()"); n != 3 {
		t.Errorf("%d of 3 have a next tick", n)
	}
}

func TestDefinitionsAreCheckedBeforeTheyAreSent(t *testing.T) {
	d := newDatabase(t)
	client := d.client(t)
	for _, r := range []driver.RecurringJob{
		{Name: "r", Cron: "nonsense", Job: driver.NewJob{Type: "t"}},
		{Name: "r", Cron: "* * * * *", TimeZone: "Mars/Olympus", Job: driver.NewJob{Type: "t"}},
		{Name: "r", Cron: "* * * * *", Job: driver.NewJob{Type: "t", Delay: time.Second}},
		{Name: "r", Cron: "* * * * *", Job: driver.NewJob{Type: ""}},
		{Name: "", Cron: "* * * * *", Job: driver.NewJob{Type: "t"}},
		{Name: "r", Cron: "* * * * *", MissedTicks: "some", Job: driver.NewJob{Type: "t"}},
	} {
		if _, err := client.SetRecurringJob(t.Context(), r); !errors.Is(err, driver.ErrInvalidArgument) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	fine := driver.RecurringJob{Name: "r", Cron: "@daily", TimeZone: "Europe/Berlin", Job: driver.NewJob{Type: "t"}}
	for _, want := range []bool{true, false} {
		if changed, err := client.SetRecurringJob(t.Context(), fine); err != nil || changed != want {
			t.Errorf("changed %v, %v; want %v", changed, err, want)
		}
	}
	if err := client.RemoveRecurringJob(t.Context(), "r"); err != nil {
		t.Error(err)
	}
	if err := client.RemoveRecurringJob(t.Context(), "r"); !errors.Is(err, driver.ErrNoRecurringJob) {
		t.Errorf("removed twice: %v", err)
	}
}

// Somebody has defined by T-SQL what cannot be read: it is said once, and the others tick.
func TestADefinitionThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	d := newDatabase(t)
	recurring(t, d, "fine")
	mustQuery(t, d.pool, "chokaq.SetRecurringJob", sql.Named("Name", "broken"), sql.Named("Cron", "99 * * * *"), sql.Named("Queue", "q"), sql.Named("JobType", "t"))
	mustExec(t, d.pool, "UPDATE chokaq.RecurringJobs SET NextTickAt = DATEADD(MINUTE, -1, SYSUTCDATETIME())")
	w := startWorker(t, d.dsn, quick(nil), func(context.Context, *driver.Job[job]) error { return nil })
	eventually(t, "the other one ticks", func() bool { return count(t, d, "chokaq.JobsArchive") == 1 })
	if n := w.logged("recurring.broken"); n != 1 {
		t.Errorf("said %d times", n)
	}
}

// A tick is never asked for before it has come by the database's clock, however precisely it is met.
func TestTicksAreNotAskedForEarly(t *testing.T) {
	d := newDatabase(t)
	client := d.client(t)
	if _, err := client.SetRecurringJob(t.Context(), driver.RecurringJob{Name: "often", Cron: "@every 1s", Job: driver.NewJob{Type: "t", Queue: "q"}}); err != nil {
		t.Fatal(err)
	}
	var all []*runningWorker
	for range 3 {
		all = append(all, startWorker(t, d.dsn, quick(nil), func(context.Context, *driver.Job[job]) error { return nil }))
	}
	eventually(t, "three ticks have been enqueued and done", func() bool { return count(t, d, "chokaq.JobsArchive") >= 3 })
	for _, w := range all {
		if n := w.logged("recurring.refused"); n != 0 {
			t.Errorf("refused %d times", n)
		}
	}
}
