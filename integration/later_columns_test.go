package integration

import (
	"context"
	"strings"
	"testing"

	"github.com/chokaq/chokaq/db"
	"github.com/chokaq/chokaq/driver"
)

// addColumn makes a procedure answer one more column at the end, as one of a later schema version may.
func addColumn(t *testing.T, d *database, procedure, last string) {
	t.Helper()
	text, err := db.Objects.ReadFile("procedures/" + procedure + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	at := strings.LastIndex(string(text), last)
	if at < 0 {
		t.Fatalf("%s has no %q", procedure, last)
	}
	at += len(last)
	mustExec(t, d.pool, string(text[:at])+", N'later' AS Later"+string(text[at:]))
}

// An upgrade of the schema gives running workers result sets with more columns.
func TestMoreColumnsOfALaterSchemaDoNoHarm(t *testing.T) {
	d := newDatabase(t)
	for procedure, last := range map[string]string{
		"GetInstallation": "AS DatabaseTimeUtc", "RegisterWorker": "AS ProcessingZombieTimeoutSeconds", "EnqueueJobs": "SELECT g.Ordinal, g.JobId, g.Created",
		"ClaimJobs": "j.IdempotencyKey, j.Headers, j.Payload", "StartJobs": "AS JobState", "CompleteJobs": "AS JobState", "FailJobs": "AS JobState",
		"ReleaseJobs": "AS JobState", "HeartbeatJobs": "AS JobState", "GetWorkerControl": "AS RecoveryLateAfterSeconds",
		"GetDueRecurringJobs": "AS DatabaseTimeUtc", "EnqueueRecurringJob": "@JobId AS JobId", "SetRecurringJob": "SELECT @Result AS Result",
	} {
		addColumn(t, d, procedure, last)
	}
	client := d.client(t)
	if _, err := client.SetRecurringJob(t.Context(), driver.RecurringJob{Name: "r", Cron: "* * * * *", Job: driver.NewJob{Type: "t", Queue: "q"}}); err != nil {
		t.Error(err)
	}
	w := startWorker(t, d.dsn, quick(nil), func(context.Context, *driver.Job[job]) error { return nil })
	if _, err := client.Enqueue(t.Context(), driver.NewJob{Type: "t", Queue: "q"}); err != nil {
		t.Error(err)
	}
	eventually(t, "the job is archived", func() bool { return count(t, d, "chokaq.JobsArchive") >= 1 })
	eventually(t, "the recurring job is planned", func() bool {
		return count(t, d, "chokaq.RecurringJobs WHERE NextTickAt IS NOT NULL") == 1
	})
	if err := w.stopAndWait(t); err != nil {
		t.Error(err)
	}
}
