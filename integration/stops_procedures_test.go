package integration

import (
	"database/sql"
	"testing"

	"github.com/google/uuid"
)

func outcomeOf(t *testing.T, d *database, worker uuid.UUID) any {
	t.Helper()
	all := mustQuery(t, d.pool, "SELECT Outcome FROM chokaq.StopHistory WHERE WorkerId = @WorkerId", workerArg(worker))
	if len(all) == 0 {
		return nil
	}
	return all[0]["Outcome"]
}

func TestTheRecordOfAStop(t *testing.T) {
	d := newDatabase(t)
	worker := registered(t, d, "q")
	if got := outcomeOf(t, d, worker); got != nil {
		t.Errorf("a running worker has a stop: %v", got)
	}
	say := func(state string, args ...any) {
		mustQuery(t, d.pool, "chokaq.SetWorkerState", append([]any{workerArg(worker), sql.Named("State", state)}, args...)...)
	}
	say("draining", sql.Named("Reason", "SIGTERM"))
	say("draining", sql.Named("Reason", "said again"))
	if got := outcomeOf(t, d, worker); got != "draining" {
		t.Errorf("while it drains: %v", got)
	}
	report := `{"outcome": "review", "running": 3, "released": 50, "completed": 2, "interrupted": 1, "dead": 1, "totalMs": 1500, "later": {"ignored": true}}`
	for range 2 { // an answer may be lost
		mustQuery(t, d.pool, "chokaq.RecordWorkerStop", workerArg(worker), sql.Named("Report", report))
	}
	r := mustQuery(t, d.pool, "SELECT Outcome, Reason, Running, Released, Interrupted, Unstored, TotalMs FROM chokaq.StopHistory WHERE WorkerId = @WorkerId", workerArg(worker))
	if len(r) != 1 || r[0]["Outcome"] != "review" || r[0]["Reason"] != "SIGTERM" || r[0]["Running"] != int64(3) || r[0]["Released"] != int64(50) || r[0]["Unstored"] != nil || r[0]["TotalMs"] != int64(1500) {
		t.Errorf("the record says %v", r)
	}
	if n := number(t, d.pool, "SELECT COUNT(*) FROM chokaq.WorkerStatus WHERE WorkerId = @WorkerId AND State = 'stopped'", workerArg(worker)); n != 1 {
		t.Error("the worker does not count as stopped")
	}
	for _, bad := range []string{"", "[]", "x", `{"outcome": "good"}`, `{"outcome": "clean "}`, `{"running": -1}`, `{"running": "3"}`, `{"totalMs": 1.5}`} {
		_, err := query(t.Context(), d.pool, "chokaq.RecordWorkerStop", workerArg(worker), sql.Named("Report", bad))
		wantError(t, err, 51002, "@Report")
	}
	_, err := query(t.Context(), d.pool, "chokaq.RecordWorkerStop", workerArg(uuid.New()), sql.Named("Report", `{}`))
	wantError(t, err, 51013, "not registered")
}

// A worker that could not say that it drains still leaves a whole record.
func TestAStopThatBeganWithoutTheDatabase(t *testing.T) {
	d := newDatabase(t)
	worker := registered(t, d, "q")
	mustQuery(t, d.pool, "chokaq.RecordWorkerStop", workerArg(worker), sql.Named("Report", `{"outcome": "clean", "reason": "SIGINT", "totalMs": 50000, "totalMs": 60000}`))
	r := mustQuery(t, d.pool, "SELECT Outcome, Reason, DATEDIFF(SECOND, DrainingAt, StoppedAt) AS Took FROM chokaq.StopHistory WHERE WorkerId = @WorkerId", workerArg(worker))
	if len(r) != 1 || r[0]["Outcome"] != "clean" || r[0]["Reason"] != "SIGINT" || r[0]["Took"] != int64(60) {
		t.Errorf("the record says %v", r)
	}
}

func TestWorkersThatEndWithoutAWord(t *testing.T) {
	d := newDatabase(t)
	killed, cutShort := registered(t, d, "q"), registered(t, d, "q")
	mustQuery(t, d.pool, "chokaq.SetWorkerState", workerArg(cutShort), sql.Named("State", "draining"))
	mustExec(t, d.pool, "UPDATE chokaq.Workers SET HeartbeatAt = DATEADD(HOUR, -1, HeartbeatAt)")
	if got := outcomeOf(t, d, killed); got != "gone" {
		t.Errorf("the killed worker: %v", got)
	}
	if got := outcomeOf(t, d, cutShort); got != "cut short" {
		t.Errorf("the worker that was killed while it drained: %v", got)
	}
}

func TestHandlersOfARunningWorker(t *testing.T) {
	d := newDatabase(t)
	worker := registered(t, d, "q")
	wanted := func() any {
		return mustQuery(t, d.pool, "chokaq.GetWorkerControl", workerArg(worker))[0]["HandlersWanted"]
	}
	if got := wanted(); got != nil {
		t.Errorf("at first: %v", got)
	}
	mustQuery(t, d.pool, "chokaq.SetWorkerHandlers", workerArg(worker), sql.Named("Handlers", 3), sql.Named("Note", "the database is busy"))
	if got := wanted(); got != int64(3) {
		t.Errorf("wanted: %v", got)
	}
	mustQuery(t, d.pool, "chokaq.SetWorkerHandlers", workerArg(worker), sql.Named("Handlers", nil))
	if got := wanted(); got != nil {
		t.Errorf("taken back: %v", got)
	}
	log := mustQuery(t, d.pool, "SELECT Setting, NewValue, Note FROM chokaq.OperatorLog WHERE ActionName = 'SetWorkerHandlers' ORDER BY ActionId")
	if len(log) != 2 || log[0]["NewValue"] != "3" || log[0]["Note"] != "the database is busy" {
		t.Errorf("log: %v", log)
	}
	for _, n := range []any{0, -1, 10001} {
		_, err := query(t.Context(), d.pool, "chokaq.SetWorkerHandlers", workerArg(worker), sql.Named("Handlers", n))
		wantError(t, err, 51003, "@Handlers", "1 to 10000")
	}
	mustQuery(t, d.pool, "chokaq.SetWorkerState", workerArg(worker), sql.Named("State", "stopped"))
	_, err := query(t.Context(), d.pool, "chokaq.SetWorkerHandlers", workerArg(worker), sql.Named("Handlers", 1))
	wantError(t, err, 51013, "stopped")
}

func TestLateRecoveryIsNoticed(t *testing.T) {
	d := newDatabase(t)
	worker := registered(t, d, "q")
	late := func() any {
		return mustQuery(t, d.pool, "chokaq.GetWorkerControl", workerArg(worker))[0]["IsRecoveryLate"]
	}
	if got := late(); got != false {
		t.Errorf("just installed: %v", got)
	}
	mustExec(t, d.pool, "UPDATE chokaq.SchemaObjects SET AppliedAt = DATEADD(HOUR, -1, AppliedAt)")
	if got := late(); got != true {
		t.Errorf("an hour without any run: %v", got)
	}
	mustQuery(t, d.pool, "chokaq.ResetFetchedJobs")
	if got := late(); got != true {
		t.Errorf("zombies are not rescued: %v", got)
	}
	mustQuery(t, d.pool, "chokaq.RescueZombieJobs")
	if got := late(); got != false {
		t.Errorf("both have run: %v", got)
	}
	mustExec(t, d.pool, "UPDATE chokaq.RecoveryRuns SET StartedAt = DATEADD(SECOND, -301, StartedAt)")
	all := mustQuery(t, d.pool, "SELECT ProcedureName, LateAfterSeconds, IsLate FROM chokaq.RecoveryStatus ORDER BY ProcedureName")
	if len(all) != 3 || all[0]["IsLate"] != false || all[0]["LateAfterSeconds"] != int64(90000) || all[1]["IsLate"] != true || all[1]["LateAfterSeconds"] != int64(300) || all[2]["IsLate"] != true {
		t.Errorf("status: %v", all)
	}
}

func TestWhoWorksOnWhat(t *testing.T) {
	d := newDatabase(t)
	worker := registered(t, d, "q")
	h := processing(t, d, worker, "q", 1)
	enqueueMany(t, d.pool, "q", 2)
	claimAs(t, d.pool, worker, 1, "q")
	all := mustQuery(t, d.pool, "SELECT JobId, State, HostName, SecondsUntilRecovery FROM chokaq.HeldJobs ORDER BY State DESC")
	if len(all) != 2 || all[0]["JobId"] != h[0].ID || all[0]["State"] != "Processing" || all[0]["HostName"] == nil || all[0]["SecondsUntilRecovery"].(int64) < 590 || all[1]["State"] != "Fetched" {
		t.Errorf("held: %v", all)
	}
	// What waits, and whether anybody knows it.
	enqueueType(t, d.pool, "q", "unheard of")
	enqueueType(t, d.pool, "elsewhere", "t")
	known := registered(t, d, "other")
	mustExec(t, d.pool, `UPDATE chokaq.Workers SET JobTypes = N'["t"]', Queues = N'["q"]' WHERE WorkerId IN (@A, @B)`, sql.Named("A", guid(worker)), sql.Named("B", guid(known)))
	got := mustQuery(t, d.pool, "SELECT Queue, JobType, Pending, LiveWorkers FROM chokaq.JobTypeStatus ORDER BY Queue, JobType")
	if len(got) != 3 || got[0]["LiveWorkers"] != int64(0) || got[1]["JobType"] != "t" || got[1]["Pending"] != int64(1) || got[1]["LiveWorkers"] != int64(2) || got[2]["LiveWorkers"] != int64(0) {
		t.Errorf("types: %v", got)
	}
}

// wantStop checks the record of a worker's stop.
func wantStop(t *testing.T, d *database, w *runningWorker, outcome string, counts map[string]int64) {
	t.Helper()
	all := mustQuery(t, d.pool, "SELECT * FROM chokaq.StopHistory WHERE WorkerId = @WorkerId", workerArg(w.ID()))
	if len(all) != 1 {
		t.Fatalf("%d records of the stop", len(all))
	}
	r := all[0]
	if r["Outcome"] != outcome || r["Reason"] != "context canceled" || r["StoppedAt"] == nil || r["TotalMs"].(int64) < r["HandlersMs"].(int64) {
		t.Errorf("the record of the stop: %v; want outcome %s", r, outcome)
	}
	for name, want := range counts {
		if r[name] != want {
			t.Errorf("the record of the stop: %s is %v; want %d", name, r[name], want)
		}
	}
}
