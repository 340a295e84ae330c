package integration

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chokaq/chokaq/db"
	"github.com/chokaq/chokaq/internal/sqlsim"
)

// The procedures of msdb refuse by RAISERROR and a return code of 1, which ends neither the batch nor the transaction: whatever they refuse, the scripts end there, say so, and leave
// the jobs as they were. On a server of its own, since it puts refusals into msdb.
func TestAgentScriptsEndWhereMsdbRefuses(t *testing.T) {
	if os.Getenv("CHOKAQ_TEST_DSN") != "" {
		t.Skip("puts procedures of its own into msdb; needs sqlsim")
	}
	for _, refused := range []struct {
		procedure string
		installed bool // before
		uninstall bool
	}{
		{procedure: "sp_add_category"}, {procedure: "sp_add_job"}, {procedure: "sp_add_jobstep"}, {procedure: "sp_update_job"}, {procedure: "sp_add_jobschedule"}, {procedure: "sp_add_jobserver"},
		{procedure: "sp_update_job", installed: true}, {procedure: "sp_update_jobstep", installed: true}, {procedure: "sp_update_schedule", installed: true},
		{procedure: "sp_delete_job", installed: true, uninstall: true}, {procedure: "sp_delete_category", installed: true, uninstall: true},
	} {
		t.Run(fmt.Sprintf("%s/%t", refused.procedure, refused.installed), func(t *testing.T) {
			sim, err := sqlsim.Start(sqlsim.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = sim.Close() })
			mustExec(t, openPool(t, sim.DSN("master")), "CREATE DATABASE shop")
			var said []string
			installer := db.Installer{DSN: sim.DSN("shop"), Progress: func(c db.Change) { said = append(said, fmt.Sprint(c)) }}
			if err := installer.Up(t.Context()); err != nil {
				t.Fatal(err)
			}
			if refused.installed {
				if err := installer.InstallAgentJobs(t.Context(), db.AgentSchedule{}); err != nil {
					t.Fatal(err)
				}
			}
			msdb := openPool(t, sim.DSN("msdb"))
			before := agentState(t, msdb)
			parameters := mustQuery(t, msdb, "SELECT p.name AS name FROM sys.parameters AS p WHERE p.object_id = OBJECT_ID(N'dbo."+refused.procedure+"') ORDER BY p.parameter_id")
			text := "ALTER PROCEDURE dbo." + refused.procedure + " "
			for i, p := range parameters {
				if i > 0 {
					text += ", "
				}
				text += fmt.Sprintf("%s sql_variant = NULL", p["name"])
				if p["name"] == "@job_id" && refused.procedure == "sp_add_job" {
					text += " OUTPUT"
				}
			}
			mustExec(t, msdb, text+" AS BEGIN RAISERROR (N'It is refused.', 16, 1); RETURN 1; END")

			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			said = nil
			if refused.uninstall {
				err = installer.UninstallAgentJobs(ctx)
			} else {
				err = installer.InstallAgentJobs(ctx, db.AgentSchedule{})
			}
			if err == nil || !strings.Contains(err.Error(), "It is refused.") {
				t.Errorf("%v", err)
			}
			if len(said) > 0 {
				t.Errorf("it says %q", said)
			}
			if after := agentState(t, msdb); !slices.Equal(after, before) {
				t.Errorf("before: %v\nafter: %v", before, after)
			}
		})
	}
}

func agentState(t *testing.T, msdb *sql.DB) []string {
	t.Helper()
	var all []string
	for _, table := range []string{"sysjobs", "sysjobsteps", "sysschedules", "sysjobschedules", "sysjobservers", "syscategories"} {
		all = append(all, fmt.Sprint(table, " ", number(t, msdb, "SELECT COUNT(*) AS n FROM dbo."+table)))
	}
	return all
}
