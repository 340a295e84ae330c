package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/chokaq/chokaq/internal/sqlsim/engine"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// Agent's default limits of sysjobhistory.
const (
	maxRows       = 1000
	maxRowsPerJob = 100
)

// history is a row of msdb.dbo.sysjobhistory; step 0 is the job's own.
type history struct {
	job                      string
	stepID                   int64
	stepName, message        string
	status, number, severity int
	began                    time.Time
	retries                  int64
}

func (a *Agent) record(ctx context.Context, s *engine.Session, h history) error {
	took := durationNumber(a.clock.Now().UTC().Sub(h.began))
	message := value.UTF16Slice(h.message, 0, min(value.UTF16Len(h.message), 4000))
	_, err := query(ctx, s, fmt.Sprintf(`INSERT INTO dbo.sysjobhistory (job_id, step_id, step_name, sql_message_id, sql_severity, message, run_status, run_date, run_time, run_duration,
    operator_id_emailed, operator_id_netsent, operator_id_paged, retries_attempted, server)
SELECT j.job_id, %[2]d, %[3]s, %[4]d, %[5]d, %[6]s, %[7]d, %[8]d, %[9]d, %[10]d, 0, 0, 0, %[11]d, @@SERVERNAME FROM dbo.sysjobs AS j WHERE j.job_id = '%[1]s';
UPDATE dbo.sysjobsteps SET last_run_outcome = %[7]d, last_run_duration = %[10]d, last_run_retries = %[11]d, last_run_date = %[8]d, last_run_time = %[9]d WHERE job_id = '%[1]s' AND step_id = %[2]d;
UPDATE dbo.sysjobactivity SET last_executed_step_id = %[2]d, last_executed_step_date = GETDATE() WHERE job_id = '%[1]s' AND %[2]d > 0;
DELETE FROM dbo.sysjobhistory WHERE job_id = '%[1]s' AND instance_id <= (SELECT MIN(t.instance_id) FROM (SELECT TOP (%[12]d) h.instance_id FROM dbo.sysjobhistory AS h WHERE h.job_id = '%[1]s' ORDER BY h.instance_id DESC) AS t) - 1;
DELETE FROM dbo.sysjobhistory WHERE instance_id <= (SELECT MIN(t.instance_id) FROM (SELECT TOP (%[13]d) h.instance_id FROM dbo.sysjobhistory AS h ORDER BY h.instance_id DESC) AS t) - 1;`,
		h.job, h.stepID, literal(h.stepName), h.number, h.severity, literal(message), h.status, dateNumber(h.began), timeNumber(h.began), took, h.retries, maxRowsPerJob, maxRows))
	return err
}

// finish writes the outcome of a job.
func (a *Agent) finish(ctx context.Context, s *engine.Session, job string, outcome int, message string, began time.Time) error {
	if err := a.record(ctx, s, history{job: job, stepName: "(Job outcome)", message: message, status: outcome, began: began}); err != nil {
		return err
	}
	_, err := query(ctx, s, fmt.Sprintf(`UPDATE dbo.sysjobservers SET last_run_outcome = %[2]d, last_outcome_message = %[3]s, last_run_date = %[4]d, last_run_time = %[5]d, last_run_duration = %[6]d WHERE job_id = '%[1]s';
UPDATE dbo.sysjobactivity SET stop_execution_date = GETDATE(), job_history_id = (SELECT MAX(h.instance_id) FROM dbo.sysjobhistory AS h WHERE h.job_id = '%[1]s') WHERE job_id = '%[1]s';`,
		job, outcome, literal(message), dateNumber(began), timeNumber(began), durationNumber(a.clock.Now().UTC().Sub(began))))
	return err
}
