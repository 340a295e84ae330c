package integration

import (
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chokaq/chokaq/db"
)

func TestAgentJobsAreInstalledInPlaceAndRemoved(t *testing.T) {
	d := newDatabase(t)
	installer := db.Installer{DSN: d.dsn}
	t.Cleanup(func() { _ = installer.UninstallAgentJobs(t.Context()) })
	var first []row
	for _, schedule := range []db.AgentSchedule{{}, {ResetEvery: 20 * time.Second, PurgeEvery: 2 * time.Hour}} {
		if err := installer.InstallAgentJobs(t.Context(), schedule); err != nil {
			t.Fatal(err)
		}
		jobs := mustQuery(t, d.pool, "SELECT CONVERT(nvarchar(36), j.job_id) AS id, j.name AS name, SUSER_SNAME(j.owner_sid) AS owner, c.name AS category FROM msdb.dbo.sysjobs AS j INNER JOIN msdb.dbo.syscategories AS c ON c.category_id = j.category_id WHERE j.name LIKE N'%(' + DB_NAME() + N')' ORDER BY j.name")
		if len(jobs) != 3 {
			t.Fatalf("jobs: %v", jobs)
		}
		for i, j := range jobs {
			if j["category"] != "ChokaQ" || j["owner"] == nil {
				t.Errorf("job %v", j)
			}
			if first != nil && j["id"] != first[i]["id"] {
				t.Errorf("job %v was made anew; it was %v", j, first[i])
			}
		}
		first = jobs
	}
	steps := mustQuery(t, d.pool, "SELECT s.step_id AS id, s.database_name AS db, s.on_success_action AS good, s.on_fail_action AS bad FROM msdb.dbo.sysjobsteps AS s INNER JOIN msdb.dbo.sysjobs AS j ON j.job_id = s.job_id WHERE j.name = N'ChokaQ reset fetched jobs (' + DB_NAME() + N')' ORDER BY s.step_id")
	if len(steps) != 2 || steps[0]["db"] != "master" || steps[0]["good"] != int64(3) || steps[0]["bad"] != int64(1) || steps[1]["db"] != d.name {
		t.Errorf("steps: %v", steps)
	}
	status, err := installer.AgentStatus(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, s := range status {
		said = append(said, strings.TrimSuffix(s.Name, " ("+d.name+")")+": "+s.Schedule)
		if !s.Enabled || s.Owner == "" {
			t.Errorf("status of %s: %+v", s.Name, s)
		}
	}
	if want := []string{"ChokaQ purge history: every 120 minutes", "ChokaQ rescue zombie jobs: every 15 seconds", "ChokaQ reset fetched jobs: every 20 seconds"}; !slices.Equal(slices.Sorted(slices.Values(said)), want) {
		t.Errorf("status says %q, want %q", said, want)
	}
	if err := installer.InstallAgentJobs(t.Context(), db.AgentSchedule{ResetEvery: time.Second}); err == nil || !strings.Contains(err.Error(), "10 to 3600") {
		t.Errorf("a schedule of one second: %v", err)
	}
	for range 2 {
		if err := installer.UninstallAgentJobs(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if status, err = installer.AgentStatus(t.Context()); err != nil || len(status) != 0 {
		t.Errorf("after uninstalling: %v, %v", status, err)
	}
}

// By Agent's schedule alone: abandoned Fetched rows are Pending again, rows of a dead worker are in the dead-letter queue.
func TestAgentRecovers(t *testing.T) {
	d := newDatabase(t)
	installer := db.Installer{DSN: d.dsn}
	t.Cleanup(func() { _ = installer.UninstallAgentJobs(t.Context()) })
	d.set(t, "Recovery.FetchedJobTimeout", 1)
	d.set(t, "Recovery.ProcessingZombieTimeout", 1)
	zombies := processing(t, d, uuid.New(), "q", 2)
	fetched := enqueue(t, d.pool, "q")
	claimAs(t, d.pool, uuid.New(), 1, "q")
	mustExec(t, d.pool, "chokaq.PauseQueue", sql.Named("Queue", "q"))
	if err := installer.InstallAgentJobs(t.Context(), db.AgentSchedule{ResetEvery: 10 * time.Second, RescueEvery: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "Agent has reset and rescued", func() bool {
		return where(t, d, fetched) == "Pending" && where(t, d, zombies[0].ID) == "Dead Zombie" && where(t, d, zombies[1].ID) == "Dead Zombie"
	})
	eventually(t, "Agent's record of it", func() bool {
		return number(t, d.pool, "SELECT COUNT(*) AS n FROM chokaq.RecoveryStatus WHERE LastProgramName LIKE N'SQLAgent%' AND RowsMovedLastHour > 0") == 2
	})
	eventually(t, "the outcome of the jobs", func() bool {
		status, err := installer.AgentStatus(t.Context())
		return err == nil && len(status) == 3 && slices.ContainsFunc(status, func(j db.AgentJob) bool { return j.LastRunOutcome == "Succeeded" && j.LastRunAt != "" })
	})
}
