package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/chokaq/chokaq/internal/sqlsim/engine"
)

// step is a row of msdb.dbo.sysjobsteps, as far as it says what to do.
type step struct {
	id                       int64
	name, command, database  string
	onSuccess, onSuccessStep int64
	onFail, onFailStep       int64
	retries, retryMinutes    int64
}

// Actions after a step, as documented for sp_add_jobstep.
const (
	quitWithSuccess = 1
	quitWithFailure = 2
	goToNext        = 3
	goToStep        = 4
)

// run_status in sysjobhistory, and last_run_outcome.
const (
	failed    = 0
	succeeded = 1
	retrying  = 2
	canceled  = 3
)

// runJob runs the steps of a job and writes the history.
func (a *Agent) runJob(ctx context.Context, job, by string) error {
	s, err := a.connect(ctx, "msdb", "SQLAgent - Job Manager")
	if err != nil {
		return err
	}
	defer s.Close()
	found, err := query(ctx, s, fmt.Sprintf(`SELECT j.name, j.start_step_id, SUSER_SNAME(j.owner_sid) FROM dbo.sysjobs AS j WHERE j.job_id = '%s'`, job))
	if err != nil || len(found.rows) == 0 {
		return err
	}
	name, at := found.rows[0][0].Str(), found.rows[0][1].Int()
	owner := ""
	if !found.rows[0][2].IsNull() {
		owner = found.rows[0][2].Str()
	}
	steps, err := readSteps(ctx, s, job)
	if err != nil {
		return err
	}
	began := a.clock.Now().UTC()
	if _, err := query(ctx, s, fmt.Sprintf(`IF EXISTS (SELECT 1 FROM dbo.sysjobactivity WHERE job_id = '%[1]s' AND run_requested_date IS NOT NULL AND start_execution_date IS NULL)
    UPDATE dbo.sysjobactivity SET start_execution_date = GETDATE() WHERE job_id = '%[1]s'
ELSE
BEGIN
    DELETE FROM dbo.sysjobactivity WHERE job_id = '%[1]s';
    INSERT INTO dbo.sysjobactivity (session_id, job_id, run_requested_date, run_requested_source, start_execution_date) SELECT COALESCE(MAX(session_id), 0), '%[1]s', GETDATE(), N'1', GETDATE() FROM dbo.syssessions;
END`, job)); err != nil {
		return err
	}

	outcome, last := failed, step{}
	message := fmt.Sprintf("The job failed. Unable to determine if the owner (%s) of job %s has server access.", owner, name)
	if owner != "" {
		outcome, last = a.runSteps(ctx, s, job, owner, steps, at)
		verb := map[int]string{succeeded: "The job succeeded", failed: "The job failed", canceled: "The job was stopped prior to completion"}[outcome]
		message = fmt.Sprintf("%s.  The Job was invoked by %s.  The last step to run was step %d (%s).", verb, by, last.id, last.name)
	}
	// What is written here must be written although Agent is being stopped.
	return a.finish(context.WithoutCancel(ctx), s, job, outcome, message, began)
}

func readSteps(ctx context.Context, s *engine.Session, job string) (map[int64]step, error) {
	found, err := query(ctx, s, fmt.Sprintf(`SELECT step_id, step_name, COALESCE(command, N''), COALESCE(database_name, N'master'), on_success_action, on_success_step_id, on_fail_action, on_fail_step_id, retry_attempts, retry_interval
FROM dbo.sysjobsteps WHERE job_id = '%s'`, job))
	if err != nil {
		return nil, err
	}
	steps := make(map[int64]step)
	for _, row := range found.rows {
		n := func(i int) int64 { return row[i].Int() }
		steps[n(0)] = step{id: n(0), name: row[1].Str(), command: row[2].Str(), database: row[3].Str(), onSuccess: n(4), onSuccessStep: n(5), onFail: n(6), onFailStep: n(7), retries: n(8), retryMinutes: n(9)}
	}
	return steps, nil
}

// runSteps follows the steps from the first one on, and returns the job's outcome and the last step that ran.
func (a *Agent) runSteps(ctx context.Context, s *engine.Session, job, owner string, steps map[int64]step, at int64) (outcome int, last step) {
	for ctx.Err() == nil {
		st, ok := steps[at]
		if !ok { // no such step: the job ends as the last one did, or fails if there was none
			return failed, last
		}
		last = st
		done := a.runStep(ctx, s, job, owner, st)
		action, target := st.onFail, st.onFailStep
		if done == succeeded {
			action, target = st.onSuccess, st.onSuccessStep
		}
		switch action {
		case quitWithSuccess:
			return succeeded, last
		case goToNext:
			at++
		case goToStep:
			at = target
		default:
			return failed, last
		}
	}
	return canceled, last
}

// runStep runs one step, with its retries.
func (a *Agent) runStep(ctx context.Context, s *engine.Session, job, owner string, st step) int {
	for attempt := int64(0); ; attempt++ {
		began := a.clock.Now().UTC()
		res, err := a.execute(ctx, job, owner, st)
		status := succeeded
		message := "Executed as user: " + owner + ". " + res.texts()
		var number, severity int
		if err != nil {
			status = failed
			if e := res.failure(); e != nil {
				number, severity = int(e.Number), int(e.Class)
			} else {
				message += err.Error()
			}
			if attempt < st.retries {
				status = retrying
			}
		}
		message = strings.TrimSpace(message) + map[int]string{succeeded: "  The step succeeded.", failed: "  The step failed.", retrying: "  The step failed."}[status]
		if err := a.record(context.WithoutCancel(ctx), s, history{job: job, stepID: st.id, stepName: st.name, message: message, status: status, number: number, severity: severity, began: began, retries: attempt}); err != nil {
			a.logger.Error("SQL Server Agent cannot write history", "job", job, "error", err)
		}
		if status != retrying {
			return status
		}
		if a.clock.Sleep(ctx, time.Duration(st.retryMinutes)*time.Minute) != nil {
			return canceled
		}
	}
}

// execute runs the step's command in a session of its own.
func (a *Agent) execute(ctx context.Context, job, owner string, st step) (*result, error) {
	s, err := a.connect(ctx, st.database, fmt.Sprintf("SQLAgent - TSQL JobStep (Job 0x%s : Step %d)", strings.ReplaceAll(job, "-", ""), st.id))
	if err != nil {
		return &result{}, err
	}
	defer s.Close()
	if _, err := query(ctx, s, "SET QUOTED_IDENTIFIER OFF"); err != nil {
		return &result{}, err
	}
	member, err := query(ctx, s, "SELECT IS_SRVROLEMEMBER(N'sysadmin', "+literal(owner)+")")
	if err != nil {
		return member, err
	}
	if len(member.rows) == 0 || member.rows[0][0].IsNull() || member.rows[0][0].Int() != 1 {
		if r, err := query(ctx, s, "EXECUTE AS LOGIN = "+literal(owner)+" WITH NO REVERT"); err != nil {
			return r, err
		}
	}
	return query(ctx, s, st.command)
}
