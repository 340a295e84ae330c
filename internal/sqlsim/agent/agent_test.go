package agent

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chokaq/chokaq/internal/clock"
	"github.com/chokaq/chokaq/internal/sqlsim/engine"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

type rig struct {
	t     *testing.T
	clock *clock.Manual
	agent *Agent
	s     *engine.Session
}

func newRig(t *testing.T) *rig {
	c := clock.NewManual(time.Date(2026, 5, 6, 12, 0, 1, 0, time.UTC))
	e, err := engine.NewServer(engine.Options{Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(t.Context(), e, "sa", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.connect(t.Context(), "msdb", "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	t.Cleanup(a.Stop)
	r := &rig{t, c, a, s}
	r.run("CREATE DATABASE app")
	r.run("USE app; CREATE TABLE dbo.ran (n int IDENTITY, what nvarchar(200), qi int); USE msdb")
	return r
}

func (r *rig) run(text string) [][]value.Value {
	r.t.Helper()
	res, err := query(r.t.Context(), r.s, text)
	if err != nil {
		r.t.Fatalf("%s: %v", text, err)
	}
	return res.rows
}

func (r *rig) refuses(text string, number int32, says string) {
	r.t.Helper()
	res, _ := query(r.t.Context(), r.s, text)
	if e := res.failure(); e == nil || e.Number != number || !strings.Contains(e.Message, says) {
		r.t.Errorf("%s: %v, want error %d with %q", text, e, number, says)
	}
}

// until moves the clock second by second until a query returns a row.
func (r *rig) until(text string) [][]value.Value {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		if rows := r.run(text); len(rows) > 0 {
			return rows
		}
		r.clock.Advance(time.Second)
	}
	r.t.Fatalf("never a row: %s", text)
	return nil
}

func (r *rig) job(name string, steps ...string) {
	r.t.Helper()
	r.run("EXEC dbo.sp_add_job @job_name = " + literal(name) + ", @owner_login_name = N'sa'")
	for _, s := range steps {
		r.run("EXEC dbo.sp_add_jobstep @job_name = " + literal(name) + ", " + s)
	}
	r.run("EXEC dbo.sp_add_jobserver @job_name = " + literal(name))
}

func TestAScheduledJobRuns(t *testing.T) {
	r := newRig(t)
	r.job("j", `@step_name = N's', @database_name = N'app', @command = N'INSERT INTO dbo.ran (what, qi) VALUES (APP_NAME(), CONVERT(int, SESSIONPROPERTY(''QUOTED_IDENTIFIER'')))'`)
	r.run(`EXEC dbo.sp_add_jobschedule @job_name = N'j', @name = N'often', @freq_type = 4, @freq_interval = 1, @freq_subday_type = 2, @freq_subday_interval = 15`)
	r.agent.Start()
	rows := r.until("SELECT what, qi FROM app.dbo.ran WHERE n = 2")
	if !strings.HasPrefix(rows[0][0].Str(), "SQLAgent - TSQL JobStep (Job 0x") || rows[0][1].Int() != 0 {
		t.Errorf("the step ran as %q with QUOTED_IDENTIFIER %d", rows[0][0].Str(), rows[0][1].Int())
	}
	outcome := r.until("SELECT message, run_status FROM dbo.sysjobhistory WHERE step_id = 0")[0]
	if m := outcome[0].Str(); !strings.Contains(m, "The job succeeded") || !strings.Contains(m, "Schedule 1 (often)") || outcome[1].Int() != 1 {
		t.Errorf("outcome %d: %s", outcome[1].Int(), m)
	}
	r.run("EXEC dbo.sp_update_job @job_name = N'j', @enabled = 0")
}

func TestStepsFollowTheirActions(t *testing.T) {
	r := newRig(t)
	r.job("quits", `@step_name = N'a', @command = N'THROW 51015, N''not here'', 1', @on_success_action = 3, @on_fail_action = 1`,
		`@step_name = N'b', @database_name = N'app', @command = N'INSERT INTO dbo.ran (what) VALUES (N''never'')'`)
	r.job("fails", `@step_name = N'a', @command = N'SELECT 1', @on_success_action = 3`,
		`@step_name = N'b', @command = N'SELECT 1/0', @retry_attempts = 1, @retry_interval = 1`)
	r.agent.Start()
	for _, name := range []string{"quits", "fails"} {
		r.run("EXEC dbo.sp_start_job @job_name = N'" + name + "'")
	}
	outcome := func(name string) []value.Value {
		return r.until("SELECT h.run_status, h.message FROM dbo.sysjobhistory AS h INNER JOIN dbo.sysjobs AS j ON j.job_id = h.job_id WHERE h.step_id = 0 AND j.name = N'" + name + "'")[0]
	}
	if o := outcome("quits"); o[0].Int() != succeeded {
		t.Errorf("a step that quits with success: %d %s", o[0].Int(), o[1].Str())
	}
	if o := outcome("fails"); o[0].Int() != failed || !strings.Contains(o[1].Str(), "a user") || !strings.Contains(o[1].Str(), "step 2 (b)") {
		t.Errorf("a job that fails: %d %s", o[0].Int(), o[1].Str())
	}
	statuses := r.run("SELECT h.step_id, h.run_status, h.sql_message_id, h.retries_attempted FROM dbo.sysjobhistory AS h INNER JOIN dbo.sysjobs AS j ON j.job_id = h.job_id WHERE j.name = N'fails' ORDER BY h.instance_id")
	want := [][4]int64{{1, succeeded, 0, 0}, {2, retrying, 8134, 0}, {2, failed, 8134, 1}, {0, failed, 0, 0}}
	for i, w := range want {
		for k := range w {
			if i >= len(statuses) || statuses[i][k].Int() != w[k] {
				t.Fatalf("history row %d is %v, want %v", i, statuses[i], w)
			}
		}
	}
	if n := len(r.run("SELECT 1 FROM app.dbo.ran")); n != 0 {
		t.Error("the step after one that quit ran")
	}
}

func TestMsdbProceduresRefuse(t *testing.T) {
	r := newRig(t)
	r.job("j", `@step_name = N's', @command = N'SELECT 1'`)
	r.refuses("EXEC dbo.sp_add_job @job_name = N'j'", 14261, "'j'")
	r.refuses("EXEC dbo.sp_add_job @job_name = N'k', @category_name = N'none'", 14234, "@category_name")
	r.refuses("EXEC dbo.sp_add_job @job_name = N'k', @owner_login_name = N'nobody'", 14234, "@owner_login_name")
	r.refuses("EXEC dbo.sp_update_job @job_name = N'none', @enabled = 0", 14262, "'none'")
	r.refuses("EXEC dbo.sp_delete_job", 14294, "@job_id")
	r.refuses("EXEC dbo.sp_add_jobstep @job_name = N'j', @step_name = N'x', @subsystem = N'CmdExec', @command = N'dir'", 50000, "sqlsim supports")
	r.refuses("EXEC dbo.sp_add_jobserver @job_name = N'j'", 14269, "'j'")
	r.refuses("EXEC dbo.sp_add_jobschedule @job_name = N'j', @name = N'm', @freq_type = 16, @freq_interval = 1", 50000, "sqlsim does not support")
	r.refuses("EXEC dbo.sp_stop_job @job_name = N'j'", 50000, "sp_stop_job")
	r.refuses("EXEC dbo.sp_delete_category @class = 'JOB', @name = N'[Uncategorized (Local)]'", 14276, "permanent")
	r.run("EXEC dbo.sp_delete_job @job_name = N'j'")
	if n := len(r.run("SELECT 1 FROM dbo.sysjobsteps UNION ALL SELECT 1 FROM dbo.sysjobservers UNION ALL SELECT 1 FROM dbo.sysjobs")); n != 0 {
		t.Errorf("%d rows are left of a deleted job", n)
	}
}

// What the reference pages of the procedures say: those of
// https://learn.microsoft.com/sql/relational-databases/system-stored-procedures/.
func TestMsdbProceduresAsDocumented(t *testing.T) {
	r := newRig(t)
	r.refuses("EXEC dbo.sp_add_job @job_name = N'ten %'", 50000, "percent")
	r.job("j", `@step_name = N's', @command = N'SELECT 1'`)
	r.refuses("EXEC dbo.sp_add_jobstep @job_name = N'j', @step_name = N'x', @command = N'SELECT 1', @database_name = N'[app]'", 14262, "[app]")
	r.refuses("EXEC dbo.sp_add_jobstep @job_name = N'j', @step_name = N'x', @command = N'SELECT ''$(ESCAPE_SQUOTE(DATE))'''", 50000, "tokens")
	r.refuses("EXEC dbo.sp_add_jobstep @job_name = N'j', @step_name = N'x', @on_fail_action = 5", 14266, "@on_fail_action")
	r.refuses("EXEC dbo.sp_add_jobstep @job_name = N'j', @step_name = N'x', @step_id = 3", 14266, "@step_id")
	r.run("EXEC dbo.sp_add_jobstep @job_name = N'j', @step_name = N'first', @step_id = 1, @command = N'SELECT 1', @retry_attempts = 5, @retry_interval = 5")
	row := r.run("SELECT STRING_AGG(s.step_name, ',') WITHIN GROUP (ORDER BY s.step_id), MAX(s.on_success_action), MAX(s.on_fail_action) FROM dbo.sysjobsteps AS s")[0]
	if row[0].Str() != "first,s" || row[1].Int() != 1 || row[2].Int() != 2 {
		t.Errorf("the steps are %v", row)
	}

	const add = "EXEC dbo.sp_add_schedule @schedule_name = N'x', "
	r.run("EXEC dbo.sp_add_schedule @schedule_name = N'RunOnce', @freq_type = 1, @active_start_time = 233000")
	row = r.run("SELECT s.enabled, s.active_start_date, s.active_end_date, s.active_start_time, s.active_end_time FROM dbo.sysschedules AS s WHERE s.name = N'RunOnce'")[0]
	for i, want := range []int64{1, 20260506, 99991231, 233000, 235959} {
		if row[i].Int() != want {
			t.Errorf("the schedule is %v", row)
		}
	}
	r.refuses(add+"@freq_type = 2", 14266, "@freq_type")
	r.refuses(add+"@freq_type = 4, @freq_interval = 1, @freq_subday_type = 3, @freq_subday_interval = 10", 14266, "@freq_subday_type")
	r.refuses(add+"@freq_type = 4, @freq_interval = 1, @freq_subday_type = 2, @freq_subday_interval = 9", 14266, "@freq_subday_interval")
	r.refuses(add+"@freq_type = 8, @freq_interval = 128, @freq_recurrence_factor = 1", 14266, "@freq_interval")
	r.refuses(add+"@freq_type = 4, @freq_interval = 1, @active_start_date = 19891231", 14266, "@active_start_date")
	r.run(add + "@freq_type = 4, @freq_interval = 1, @freq_subday_type = 1, @freq_subday_interval = 0, @active_start_date = 19900101")
}
