package doctor

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// agent: are its jobs there, and do they run?
func agent(ctx context.Context, p *Patient) ([]Finding, error) {
	var engine int
	if err := p.DB.QueryRowContext(ctx, "SELECT CONVERT(int, SERVERPROPERTY('EngineEdition'))").Scan(&engine); err != nil {
		return nil, err
	}
	if engine == 4 || engine == 5 || engine == 6 || engine == 11 {
		return one(Note, "this edition has no SQL Server Agent", "workers run recovery: CHOKAQ_RECOVERY_ENABLED=true on at least two of them"), nil
	}
	jobs, err := p.Agent(ctx)
	if deniedNumbers[sqlNumber(err)] {
		return one(Unknown, "this login may not see the jobs of SQL Server Agent (msdb)", "whether recovery runs is told by the next check; for this one, run doctor as sysadmin, or as a user of msdb with SELECT on sysjobs, sysjobservers, sysjobschedules and sysschedules"), nil
	}
	if err != nil {
		return nil, err
	}
	if len(jobs) == 0 {
		return one(Warning, "ChokaQ's jobs are not installed in SQL Server Agent, or this login may not see them", "chokaq-worker agent-jobs install, as sysadmin; or CHOKAQ_RECOVERY_ENABLED=true on workers"), nil
	}
	var found []Finding
	add := func(s Severity, text, do string) { found = append(found, Finding{Severity: s, Found: text, Do: do}) }
	ran, never := 0, []string{}
	for _, j := range jobs {
		if j.LastRunOutcome == "Never ran" {
			never = append(never, j.Name)
		} else {
			ran++
		}
		switch {
		case !j.Enabled:
			add(Error, fmt.Sprintf("job %q is disabled", j.Name), "EXEC msdb.dbo.sp_update_job @job_name = N'"+strings.ReplaceAll(j.Name, "'", "''")+"', @enabled = 1")
		case j.Owner == "":
			add(Error, fmt.Sprintf("the owner of job %q has no login any more, so it cannot run", j.Name), "chokaq-worker agent-jobs install, again: it sets the owner")
		case j.Schedule == "" || strings.HasSuffix(j.Schedule, ", disabled"):
			add(Error, fmt.Sprintf("job %q has no enabled schedule", j.Name), "chokaq-worker agent-jobs install, again: it sets the schedule")
		case j.LastRunOutcome == "Canceled":
			add(Warning, fmt.Sprintf("job %q was canceled at %s: %s", j.Name, j.LastRunAt, j.LastMessage), "who stopped it? Look at its history in SSMS, or msdb.dbo.sysjobhistory")
		case j.LastRunOutcome == "Failed":
			add(Error, fmt.Sprintf("job %q failed at %s: %s", j.Name, j.LastRunAt, j.LastMessage), "look at the job's history in SSMS, or msdb.dbo.sysjobhistory")
		}
	}
	if len(jobs) < 3 {
		add(Warning, fmt.Sprintf("%d of 3 jobs are there", len(jobs)), "chokaq-worker agent-jobs install")
	}
	if len(found) == 0 {
		text := "its three jobs are enabled, owned and scheduled"
		switch {
		case ran == 0:
			text += "; none has run yet"
		case len(never) > 0:
			text += "; not yet run: " + strings.Join(never, ", ") + "; the others last succeeded"
		default:
			text += ", and last succeeded"
		}
		return one(OK, text, ""), nil
	}
	return found, nil
}

// recovery: does it run, whoever runs it?
func recovery(ctx context.Context, p *Patient) ([]Finding, error) {
	type status struct {
		procedure string
		since     sql.NullInt64
		late      bool
		lateAfter int64
		by        sql.NullString
	}
	all, err := rows(ctx, p.DB, "SELECT r.ProcedureName, r.SecondsSinceLastRun, r.IsLate, r.LateAfterSeconds, r.LastProgramName FROM chokaq.RecoveryStatus AS r ORDER BY r.ProcedureName DESC", func(r *sql.Rows) (status, error) {
		var s status
		err := r.Scan(&s.procedure, &s.since, &s.late, &s.lateAfter, &s.by)
		return s, err
	})
	if err != nil {
		return nil, err
	}
	var found []Finding
	var last []string
	for _, s := range all {
		ago := "never"
		if s.since.Valid {
			ago = (time.Duration(s.since.Int64) * time.Second).String() + " ago"
		}
		last = append(last, s.procedure+" "+ago)
		if !s.late {
			continue
		}
		severity, consequence := Error, "jobs of workers that crash stay where they are"
		if s.procedure == "PurgeHistory" {
			severity, consequence = Warning, "history grows"
		}
		found = append(found, Finding{Severity: severity, Found: fmt.Sprintf("%s has not run for %v (last: %s): %s", s.procedure, time.Duration(s.lateAfter)*time.Second, ago, consequence),
			Do: "is SQL Server Agent running, are its ChokaQ jobs enabled, do they succeed? Without Agent: CHOKAQ_RECOVERY_ENABLED=true on workers. At once: chokaq-worker recover"})
	}
	if len(found) == 0 {
		return one(OK, strings.Join(last, ", "), ""), nil
	}
	return found, nil
}

// settings: do those of the database and those of a worker with this environment go together?
func settings(ctx context.Context, p *Patient) ([]Finding, error) {
	values := make(map[string]int64)
	type setting struct {
		name  string
		value int64
	}
	all, err := rows(ctx, p.DB, "SELECT s.Name, s.Value FROM chokaq.CurrentSettings AS s", func(r *sql.Rows) (setting, error) {
		var s setting
		err := r.Scan(&s.name, &s.value)
		return s, err
	})
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		values[s.name] = s.value
	}
	seconds := func(name string) time.Duration { return time.Duration(values[name]) * time.Second }
	zombie, fetched, late := seconds("Recovery.ProcessingZombieTimeout"), seconds("Recovery.FetchedJobTimeout"), seconds("Recovery.LateAfter")
	var found []Finding
	add := func(s Severity, text, do string) { found = append(found, Finding{Severity: s, Found: text, Do: do}) }
	w := p.Worker
	if w.HeartbeatInterval > 0 {
		for _, t := range []struct {
			name  string
			value time.Duration
		}{{"Recovery.ProcessingZombieTimeout", zombie}, {"Recovery.FetchedJobTimeout", fetched}} {
			if w.HeartbeatInterval > t.value/3 {
				add(Error, fmt.Sprintf("CHOKAQ_HEARTBEAT_INTERVAL is %v and %s is %v: a worker will refuse to run", w.HeartbeatInterval, t.name, t.value),
					fmt.Sprintf("lower the interval to %v or less, or raise the timeout (chokaq-worker settings set %s)", t.value/3, t.name))
			}
		}
	}
	if zombie < 30*time.Second {
		add(Warning, fmt.Sprintf("Recovery.ProcessingZombieTimeout is %v: a failover or a pause of a worker that long sends running jobs to the dead-letter queue", zombie), "raise it to what the longest usual interruption takes, a minute or more")
	}
	if late > zombie && late > 10*time.Minute {
		add(Note, fmt.Sprintf("Recovery.LateAfter is %v, longer than Recovery.ProcessingZombieTimeout (%v): that recovery does not run is noticed later than it matters", late, zombie), "chokaq-worker settings set Recovery.LateAfter 5m")
	}
	if values["Retention.Archive"] == 0 {
		add(Note, "Retention.Archive is 0: succeeded jobs are kept for ever", "chokaq-worker settings set Retention.Archive 168h, unless something else removes them")
	}
	if h := values["Retention.DeadJobs"]; h > 0 && h < 24 {
		add(Warning, fmt.Sprintf("Retention.DeadJobs is %d hours: dead jobs are removed before anybody has looked at them over a weekend", h), "raise it to a week or more")
	}
	if len(found) == 0 {
		return one(OK, fmt.Sprintf("zombie timeout %v, fetched timeout %v; heartbeat, grace period and retention fit", zombie, fetched), ""), nil
	}
	return found, nil
}
