package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
)

// AgentSchedule says how often SQL Server Agent runs recovery. A zero field leaves the script's own value.
type AgentSchedule struct {
	ResetEvery  time.Duration // ResetFetchedJobs; whole seconds, 10s to 1h; the script's own is 15s
	RescueEvery time.Duration // RescueZombieJobs; likewise
	PurgeEvery  time.Duration // PurgeHistory; whole minutes, 1m to 24h; the script's own is 60m
}

// AgentJob is a row of agent-jobs/status.sql.
type AgentJob struct {
	Name           string `json:"name"`
	Enabled        bool   `json:"enabled"`
	Owner          string `json:"owner"` // empty: the owner's login is gone, and the job cannot run
	Schedule       string `json:"schedule"`
	LastRunOutcome string `json:"lastRunOutcome"`
	LastRunAt      string `json:"lastRunAt"` // the server's local time; empty: never
	LastMessage    string `json:"lastMessage"`
}

// InstallAgentJobs runs agent-jobs/install.sql. The messages that the script prints go to Progress.
func (i Installer) InstallAgentJobs(ctx context.Context, schedule AgentSchedule) error {
	return i.runAgentScript(ctx, "install.sql", func(ctx context.Context, conn *sql.Conn) error {
		for _, s := range []struct {
			name  string
			value time.Duration
			unit  time.Duration
		}{
			{"chokaq.ResetEverySeconds", schedule.ResetEvery, time.Second},
			{"chokaq.RescueEverySeconds", schedule.RescueEvery, time.Second},
			{"chokaq.PurgeEveryMinutes", schedule.PurgeEvery, time.Minute},
		} {
			if s.value == 0 {
				continue
			}
			if s.value%s.unit != 0 {
				return fmt.Errorf("chokaq: %s: a schedule is a whole number of %v, and not %v", s.name, s.unit, s.value)
			}
			if _, err := conn.ExecContext(ctx, "sys.sp_set_session_context", sql.Named("key", s.name), sql.Named("value", int32(s.value/s.unit))); err != nil {
				return err
			}
		}
		return nil
	})
}

// UninstallAgentJobs runs agent-jobs/uninstall.sql.
func (i Installer) UninstallAgentJobs(ctx context.Context) error {
	return i.runAgentScript(ctx, "uninstall.sql", func(context.Context, *sql.Conn) error { return nil })
}

func (i Installer) runAgentScript(ctx context.Context, name string, prepare func(context.Context, *sql.Conn) error) (err error) {
	text, err := AgentJobs.ReadFile("agent-jobs/" + name)
	if err != nil {
		return err
	}
	pool, err := i.open(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := prepare(ctx, conn); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, string(text)); err != nil {
		return fmt.Errorf("chokaq: agent-jobs/%s: %w", name, agentError(err))
	}
	i.tell("agent-jobs/"+name, "applied")
	return nil
}

// agentError adds what the bare number does not say.
func agentError(err error) error {
	if e, ok := errors.AsType[mssql.Error](err); ok {
		switch e.Number {
		case 229, 916, 15247:
			return fmt.Errorf("this login may not manage SQL Server Agent jobs; a member of sysadmin may: %w", err)
		case 51018:
			return fmt.Errorf("this login does not see the procedures that the jobs would run, or the database has no ChokaQ: a member of sysadmin sees them, and may install the jobs: %w", err)
		case 40515:
			// Azure SQL Database refuses the names in msdb before the script's own check of the edition has run.
			return fmt.Errorf("there is no SQL Server Agent in Azure SQL Database. Run recovery from the worker instead (CHOKAQ_RECOVERY_ENABLED=true), or chokaq-worker recover from a scheduler of your own; nothing was changed: %w", err)
		}
	}
	return err
}

// AgentStatus runs agent-jobs/status.sql. No rows: the jobs are not installed for this database.
func (i Installer) AgentStatus(ctx context.Context) (_ []AgentJob, err error) {
	text, err := AgentJobs.ReadFile("agent-jobs/status.sql")
	if err != nil {
		return nil, err
	}
	pool, err := i.open(ctx)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	rows, err := pool.QueryContext(ctx, string(text))
	if err != nil {
		return nil, fmt.Errorf("chokaq: agent-jobs/status.sql: %w", agentError(err))
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var jobs []AgentJob
	for rows.Next() {
		var job AgentJob
		var owner, schedule, message sql.NullString
		var lastRun sql.NullTime
		if err := rows.Scan(&job.Name, &job.Enabled, &owner, &schedule, &job.LastRunOutcome, &lastRun, &message); err != nil {
			return nil, err
		}
		job.Owner, job.Schedule, job.LastMessage = owner.String, schedule.String, message.String
		if lastRun.Valid {
			job.LastRunAt = lastRun.Time.Format("2006-01-02 15:04:05")
		}
		jobs = append(jobs, job)
	}
	return jobs, rows.Err()
}
