package integration

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/google/uuid"
)

func (d *database) set(t *testing.T, name string, value any) {
	t.Helper()
	mustExec(t, d.pool, "chokaq.SetSetting", sql.Named("Name", name), sql.Named("Value", value))
}

func TestResetFetchedJobs(t *testing.T) {
	d := newDatabase(t)
	d.set(t, "Recovery.FetchedJobTimeout", 60)
	d.set(t, "Recovery.BatchSize", 2) // more rows than one batch
	order := enqueueMany(t, d.pool, "q", 8)
	worker := registered(t, d, "q")
	all := claimAs(t, d.pool, worker, 8, "q")
	start(t, d.pool, all[0])
	age(t, d, 61, all[:7]...) // the last one is fresh

	reset := func() int64 { return number(t, d.pool, "chokaq.ResetFetchedJobs") }
	if n := reset(); n != 6 {
		t.Errorf("reset %d, want 6", n)
	}
	if n := reset(); n != 0 {
		t.Errorf("reset %d more", n)
	}
	wantWhere(t, d, all[0].ID, "Processing")
	wantWhere(t, d, all[7].ID, "Fetched")
	wantAnswers(t, "start by the old claim", start(t, d.pool, all[1]), each(all[1:2], "Lost Pending"))
	if got := ids(claimAs(t, d.pool, uuid.New(), 10, "q")); !slices.Equal(got, order[1:7]) {
		t.Errorf("claimed %v after the reset, want %v", got, order[1:7])
	}
	r := mustQuery(t, d.pool, "SELECT LastRowsMoved, RunsLastHour, RowsMovedLastHour FROM chokaq.RecoveryStatus WHERE ProcedureName = 'ResetFetchedJobs'")[0]
	if r["LastRowsMoved"] != int64(0) || r["RunsLastHour"] != int64(2) || r["RowsMovedLastHour"] != int64(6) {
		t.Errorf("RecoveryStatus says %v", r)
	}
}

func TestRescueZombieJobs(t *testing.T) {
	d := newDatabase(t)
	d.set(t, "Recovery.ProcessingZombieTimeout", 60)
	d.set(t, "Recovery.BatchSize", 2)
	worker := registered(t, d, "q")
	all := processing(t, d, worker, "q", 6)
	enqueueMany(t, d.pool, "q", 1)
	fetched := claimAs(t, d.pool, worker, 1, "q")
	age(t, d, 61, append(slices.Clone(all), fetched...)...)
	// A heartbeat that comes in time wins.
	answers(t, d.pool, "HeartbeatJobs", claimsJSON(t, all[:1]), sql.Named("WorkerId", guid(worker)))

	if n := number(t, d.pool, "chokaq.RescueZombieJobs"); n != 5 {
		t.Errorf("rescued %d, want 5", n)
	}
	wantWhere(t, d, all[0].ID, "Processing")
	wantWhere(t, d, fetched[0].ID, "Fetched")
	for _, h := range all[1:] {
		wantWhere(t, d, h.ID, "Dead Zombie")
	}
	// The worker wakes up: nothing of it counts any more.
	wantAnswers(t, "late completion", answers(t, d.pool, "CompleteJobs", claimsJSON(t, all[1:3])), each(all[1:3], "Lost Dead"))
	wantAnswers(t, "late failure", answers(t, d.pool, "FailJobs", claimsJSON(t, all[3:4])), each(all[3:4], "Lost Dead"))
	wantAnswers(t, "late heartbeat", answers(t, d.pool, "HeartbeatJobs", claimsJSON(t, all[1:2]), sql.Named("WorkerId", guid(worker))), each(all[1:2], "Lost Dead"))
	r := mustQuery(t, d.pool, "SELECT Reason, Attempt, LastWorkerId, LastHostName, Error FROM chokaq.DeadJobs WHERE JobId = @Id", sql.Named("Id", all[1].ID))[0]
	if r["Reason"] != "Zombie" || r["Attempt"] != int64(1) || r["LastHostName"] != "host" {
		t.Errorf("DeadJobs says %v", r)
	}
}

func TestQueueTimeoutsOverrideTheSettings(t *testing.T) {
	d := newDatabase(t)
	mustExec(t, d.pool, "chokaq.SetQueueTimeouts", sql.Named("Queue", "quick"), sql.Named("FetchedJobTimeoutSeconds", 5), sql.Named("ProcessingZombieTimeoutSeconds", 7))
	for _, queue := range []string{"quick", "slow"} {
		enqueueMany(t, d.pool, queue, 2)
		all := claimAs(t, d.pool, uuid.New(), 2, queue)
		start(t, d.pool, all[0])
		age(t, d, 8, all...)
	}
	if n := number(t, d.pool, "chokaq.ResetFetchedJobs"); n != 1 {
		t.Errorf("reset %d, want 1", n)
	}
	if n := number(t, d.pool, "chokaq.RescueZombieJobs"); n != 1 {
		t.Errorf("rescued %d, want 1", n)
	}
	timeouts := func(queues string) row {
		return mustQuery(t, d.pool, "chokaq.RegisterWorker", sql.Named("WorkerId", guid(uuid.New())), sql.Named("HostName", "h"), sql.Named("ProcessId", 1),
			sql.Named("Version", "v"), sql.Named("Queues", queues), sql.Named("Handlers", 1), sql.Named("Prefetch", 1))[0]
	}
	if r := timeouts(`["slow","quick"]`); r["FetchedJobTimeoutSeconds"] != int64(5) || r["ProcessingZombieTimeoutSeconds"] != int64(7) {
		t.Errorf("a worker of the queue is told %v", r)
	}
	if r := timeouts(`["slow"]`); r["FetchedJobTimeoutSeconds"] != int64(600) || r["ProcessingZombieTimeoutSeconds"] != int64(600) {
		t.Errorf("a worker of another queue is told %v", r)
	}
}

func TestPurgeHistory(t *testing.T) {
	d := newDatabase(t)
	d.set(t, "Recovery.BatchSize", 2)
	d.set(t, "Retention.Archive", 1)
	d.set(t, "Retention.DeadJobs", 0) // for ever
	worker := registered(t, d, "q")
	all := processing(t, d, worker, "q", 7)
	answers(t, d.pool, "CompleteJobs", claimsJSON(t, all[:6]))
	answers(t, d.pool, "FailJobs", claimsJSON(t, all[6:], map[string]any{"final": true}))
	mustExec(t, d.pool, "UPDATE chokaq.JobsArchive SET FinishedAt = DATEADD(MINUTE, -61, FinishedAt) WHERE JobId <> @Id", sql.Named("Id", all[0].ID))
	mustExec(t, d.pool, "UPDATE chokaq.JobsDLQ SET DeadAt = DATEADD(DAY, -4000, DeadAt)")
	if n := number(t, d.pool, "chokaq.PurgeHistory"); n != 5 {
		t.Errorf("purged %d, want 5", n)
	}
	wantWhere(t, d, all[0].ID, "Archived")
	wantWhere(t, d, all[1].ID, "nowhere")
	wantWhere(t, d, all[6].ID, "Dead Failed")

	d.set(t, "Retention.DeadJobs", nil) // the default
	mustExec(t, d.pool, "UPDATE chokaq.Workers SET HeartbeatAt = DATEADD(DAY, -30, HeartbeatAt)")
	mustExec(t, d.pool, "UPDATE chokaq.OperatorActions SET ActedAt = DATEADD(DAY, -3650, ActedAt)")
	actions := number(t, d.pool, "SELECT COUNT(*) AS n FROM chokaq.OperatorActions")
	if n := number(t, d.pool, "chokaq.PurgeHistory"); n != 2+actions {
		t.Errorf("purged %d, want a dead job, a worker and %d actions", n, actions)
	}
}
