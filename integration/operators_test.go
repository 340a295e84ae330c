package integration

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// dead makes n dead jobs and returns them.
func dead(t *testing.T, d *database, n int) []held {
	t.Helper()
	all := processing(t, d, uuid.New(), "q", n)
	answers(t, d.pool, "FailJobs", claimsJSON(t, all, map[string]any{"final": true, "error": "broken"}))
	return all
}

func idsJSON(all ...held) string {
	var parts []string
	for _, h := range all {
		parts = append(parts, fmt.Sprint(h.ID))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func requeue(t *testing.T, d *database, args ...any) map[int64]string {
	t.Helper()
	byID := make(map[int64]string)
	for _, r := range mustQuery(t, d.pool, "chokaq.RequeueDeadJobs", args...) {
		byID[r["JobId"].(int64)] = said(r)
	}
	return byID
}

func TestRequeue(t *testing.T) {
	d := newDatabase(t)
	all := dead(t, d, 4)
	mustQuery(t, d.pool, "chokaq.DiscardDeadJobs", sql.Named("JobIds", idsJSON(all[3])), sql.Named("Note", "no use"))
	pending := enqueue(t, d.pool, "q")
	got := requeue(t, d, sql.Named("JobIds", fmt.Sprintf("[%d,%d,%d,%d,777777]", all[0].ID, all[1].ID, all[3].ID, pending)), sql.Named("Note", "fixed the bug"))
	wantAnswers(t, "requeue", got, map[int64]string{all[0].ID: "Requeued Pending", all[1].ID: "Requeued Pending", all[3].ID: "Discarded Dead",
		pending: "NotDead Pending", 777777: "NotDead nowhere"})
	r := mustQuery(t, d.pool, "SELECT Attempt, RequeueCount, LastError FROM chokaq.Jobs WHERE JobId = @Id", sql.Named("Id", all[0].ID))[0]
	if r["Attempt"] != int64(0) || r["RequeueCount"] != int64(1) || r["LastError"] != "broken" {
		t.Errorf("requeued as %v", r)
	}
	log := mustQuery(t, d.pool, "SELECT JobId, OldValue, Note, LoginName FROM chokaq.OperatorLog WHERE ActionName = 'RequeueDeadJobs' ORDER BY JobId")
	if len(log) != 2 || log[0]["JobId"] != all[0].ID || log[0]["OldValue"] != "Failed: broken" || log[0]["Note"] != "fixed the bug" || log[0]["LoginName"] == "" {
		t.Errorf("the log says %v", log)
	}
	// The requeued job runs with its own id.
	if got := ids(claimAs(t, d.pool, uuid.New(), 10, "q")); !slices.Contains(got, all[0].ID) {
		t.Errorf("claimed %v, without the requeued %d", got, all[0].ID)
	}
}

func TestRequeueSpreads(t *testing.T) {
	d := newDatabase(t)
	all := dead(t, d, 4)
	requeue(t, d, sql.Named("JobIds", idsJSON(all...)), sql.Named("DelaySeconds", 100), sql.Named("SpreadSeconds", 40))
	for i, r := range mustQuery(t, d.pool, "SELECT DATEDIFF_BIG(SECOND, (SELECT MIN(DueAt) FROM chokaq.Jobs), DueAt) AS s FROM chokaq.Jobs ORDER BY JobId") {
		if r["s"] != int64(10*i) {
			t.Errorf("job %d is due %v s after the first, want %d", i, r["s"], 10*i)
		}
	}
	if got := claimAs(t, d.pool, uuid.New(), 10, "q"); len(got) != 0 {
		t.Errorf("claimed %v before the delay", got)
	}
}

func TestRequeueRespectsIdempotencyKeys(t *testing.T) {
	d := newDatabase(t)
	var all []held
	for range 2 { // two dead jobs with one key
		enqueue(t, d.pool, "q", sql.Named("IdempotencyKey", "k"))
		claimed := claimAs(t, d.pool, uuid.New(), 1, "q")
		start(t, d.pool, claimed...)
		answers(t, d.pool, "FailJobs", claimsJSON(t, claimed, map[string]any{"final": true}))
		all = append(all, claimed...)
	}
	wantAnswers(t, "both", requeue(t, d, sql.Named("JobIds", idsJSON(all...))), map[int64]string{all[0].ID: "Requeued Pending", all[1].ID: "KeyInUse Dead"})
	wantAnswers(t, "the second again", requeue(t, d, sql.Named("JobIds", idsJSON(all[1]))), map[int64]string{all[1].ID: "KeyInUse Dead"})
}

func TestDiscard(t *testing.T) {
	d := newDatabase(t)
	all := dead(t, d, 2)
	discard := func(jobs string, note any) ([]row, error) {
		return query(t.Context(), d.pool, "chokaq.DiscardDeadJobs", sql.Named("JobIds", jobs), sql.Named("Note", note))
	}
	for want, jobs := range map[string]string{"Discarded Dead": idsJSON(all[0]), "NotDead nowhere": "[777777]"} {
		rows, err := discard(jobs, "useless")
		if err != nil || said(rows[0]) != want {
			t.Errorf("discard %s: %v, %v; want %s", jobs, rows, err, want)
		}
	}
	if rows, err := discard(idsJSON(all[0]), "again"); err != nil || said(rows[0]) != "AlreadyDiscarded Dead" {
		t.Errorf("discard again: %v, %v", rows, err)
	}
	if left := mustQuery(t, d.pool, "SELECT JobId FROM chokaq.DeadJobs"); len(left) != 1 || left[0]["JobId"] != all[1].ID {
		t.Errorf("DeadJobs shows %v", left)
	}
	r := mustQuery(t, d.pool, "SELECT DiscardNote, DiscardedBy FROM chokaq.JobsDLQ WHERE JobId = @Id", sql.Named("Id", all[0].ID))[0]
	if r["DiscardNote"] != "useless" || r["DiscardedBy"] == nil {
		t.Errorf("discarded as %v", r)
	}
	_, err := discard(idsJSON(all[1]), nil)
	wantError(t, err, 51001, "@Note")
	_, err = discard(`["x"]`, "n")
	wantError(t, err, 51005, "@JobIds[0]")
	_, err = discard(`[1,1]`, "n")
	wantError(t, err, 51007, "job 1")
	_, err = discard(`{}`, "n")
	wantError(t, err, 51004, "@JobIds")
}

func TestEdit(t *testing.T) {
	d := newDatabase(t)
	all := dead(t, d, 2)
	edit := func(id int64, args ...any) error {
		_, err := query(t.Context(), d.pool, "chokaq.EditDeadJob", append([]any{sql.Named("JobId", id)}, args...)...)
		return err
	}
	if err := edit(all[0].ID, sql.Named("Payload", `{"fixed":true}`), sql.Named("Priority", 9), sql.Named("Note", "typo")); err != nil {
		t.Fatal(err)
	}
	r := mustQuery(t, d.pool, "SELECT Payload, Priority, Queue, MaxAttempts, EditedBy FROM chokaq.DeadJobs WHERE JobId = @Id", sql.Named("Id", all[0].ID))[0]
	if r["Payload"] != `{"fixed":true}` || r["Priority"] != int64(9) || r["Queue"] != "q" || r["MaxAttempts"] != int64(10) || r["EditedBy"] == nil {
		t.Errorf("edited to %v", r)
	}
	log := mustQuery(t, d.pool, "SELECT OldValue, NewValue, Note FROM chokaq.OperatorLog WHERE ActionName = 'EditDeadJob'")[0]
	if log["OldValue"] != `{"payload":"{}","priority":5}` || log["NewValue"] != `{"payload":"{\"fixed\":true}","priority":9}` || log["Note"] != "typo" {
		t.Errorf("the log says %v", log)
	}
	wantError(t, edit(777777, sql.Named("Priority", 1)), 51008, "777777")
	wantError(t, edit(all[1].ID), 51003, "at least one")
	wantError(t, edit(all[1].ID, sql.Named("Payload", "{nope")), 51002, "@Payload")
	wantError(t, edit(all[1].ID, sql.Named("Priority", 11)), 51003, "@Priority")
	wantError(t, edit(all[1].ID, sql.Named("Queue", "q ")), 51001, "@Queue")
	mustQuery(t, d.pool, "chokaq.DiscardDeadJobs", sql.Named("JobIds", idsJSON(all[1])), sql.Named("Note", "x"))
	wantError(t, edit(all[1].ID, sql.Named("Priority", 1)), 51011, "discarded")
}

func TestSettings(t *testing.T) {
	d := newDatabase(t)
	set := func(name string, value any) error {
		_, err := d.pool.ExecContext(t.Context(), "chokaq.SetSetting", sql.Named("Name", name), sql.Named("Value", value))
		return err
	}
	if err := set("Recovery.FetchedJobTimeout", 30); err != nil {
		t.Fatal(err)
	}
	wantError(t, set("Recovery.FetchedJobTimeout", 0), 51003, "Recovery.FetchedJobTimeout", "1 to 2592000 seconds")
	wantError(t, set("recovery.fetchedjobtimeout", 5), 51010, "Recovery.FetchedJobTimeout")
	wantError(t, set("Recovery.Unknown", 5), 51010, "Recovery.Unknown", "Retention.Archive")
	r := mustQuery(t, d.pool, "SELECT Value, Unit, DefaultValue FROM chokaq.CurrentSettings WHERE Name = 'Recovery.FetchedJobTimeout'")[0]
	if r["Value"] != int64(30) || r["Unit"] != "seconds" || r["DefaultValue"] != int64(600) {
		t.Errorf("the setting is %v", r)
	}
	log := mustQuery(t, d.pool, "SELECT Setting, OldValue, NewValue FROM chokaq.OperatorLog")
	if len(log) != 1 || log[0]["OldValue"] != "600" || log[0]["NewValue"] != "30" {
		t.Errorf("the log says %v", log)
	}
}

func TestQueueSwitches(t *testing.T) {
	d := newDatabase(t)
	mustExec(t, d.pool, "chokaq.SetQueueLimit", sql.Named("Queue", "q"), sql.Named("ConcurrencyLimit", 5))
	mustExec(t, d.pool, "chokaq.PauseQueue", sql.Named("Queue", "q"), sql.Named("Note", "release"))
	mustExec(t, d.pool, "chokaq.SetQueueLimit", sql.Named("Queue", "q"), sql.Named("ConcurrencyLimit", nil))
	r := mustQuery(t, d.pool, "SELECT Queue, IsPaused, ConcurrencyLimit FROM chokaq.QueueStatus")
	if len(r) != 1 || r[0]["IsPaused"] != true || r[0]["ConcurrencyLimit"] != nil {
		t.Errorf("QueueStatus says %v", r)
	}
	var said []string
	for _, l := range mustQuery(t, d.pool, "SELECT ActionName, OldValue, NewValue FROM chokaq.OperatorLog ORDER BY ActionId") {
		said = append(said, fmt.Sprint(l["ActionName"], " ", l["OldValue"], " -> ", l["NewValue"]))
	}
	if want := []string{"SetQueueLimit none -> 5", "PauseQueue running -> paused", "SetQueueLimit 5 -> none"}; !slices.Equal(said, want) {
		t.Errorf("the log says %q, want %q", said, want)
	}
	_, err := d.pool.ExecContext(t.Context(), "chokaq.SetQueueLimit", sql.Named("Queue", "q"), sql.Named("ConcurrencyLimit", -1))
	wantError(t, err, 51003, "@ConcurrencyLimit")
	_, err = d.pool.ExecContext(t.Context(), "chokaq.PauseQueue", sql.Named("Queue", strings.Repeat("x", 65)))
	wantError(t, err, 51001, "@Queue")
	_, err = d.pool.ExecContext(t.Context(), "chokaq.SetQueueTimeouts", sql.Named("Queue", "q"), sql.Named("FetchedJobTimeoutSeconds", 0), sql.Named("ProcessingZombieTimeoutSeconds", nil))
	wantError(t, err, 51003, "@FetchedJobTimeoutSeconds")
}

func TestStatusViews(t *testing.T) {
	d := newDatabase(t)
	worker := registered(t, d, "q")
	running := processing(t, d, worker, "q", 3)
	answers(t, d.pool, "FailJobs", claimsJSON(t, running[:1], map[string]any{"final": true}))
	enqueueMany(t, d.pool, "q", 5)
	claimAs(t, d.pool, worker, 1, "q")
	enqueue(t, d.pool, "q", sql.Named("DelaySeconds", 1000))
	mustExec(t, d.pool, "UPDATE chokaq.Jobs SET DueAt = DATEADD(SECOND, -90, DueAt) WHERE State = 0 AND JobId = (SELECT MIN(JobId) FROM chokaq.Jobs WHERE State = 0)")

	q := mustQuery(t, d.pool, "SELECT Pending, Scheduled, Fetched, Processing, Dead, CASE WHEN OldestDueAgeSeconds BETWEEN 90 AND 150 THEN 1 ELSE 0 END AS OldEnough FROM chokaq.QueueStatus WHERE Queue = N'q'")[0]
	for name, want := range map[string]int64{"Pending": 4, "Scheduled": 1, "Fetched": 1, "Processing": 2, "Dead": 1, "OldEnough": 1} {
		if q[name] != want {
			t.Errorf("QueueStatus.%s is %v, want %d", name, q[name], want)
		}
	}
	w := mustQuery(t, d.pool, "SELECT State, Fetched, Processing, HostName, ProcessId, Version FROM chokaq.WorkerStatus")[0]
	if w["State"] != "running" || w["Fetched"] != int64(1) || w["Processing"] != int64(2) || w["HostName"] != "host" || w["ProcessId"] != int64(17) {
		t.Errorf("WorkerStatus says %v", w)
	}
	state := func() any { return mustQuery(t, d.pool, "SELECT State FROM chokaq.WorkerStatus")[0]["State"] }
	mustExec(t, d.pool, "chokaq.SetWorkerState", sql.Named("WorkerId", guid(worker)), sql.Named("State", "draining"))
	if s := state(); s != "draining" {
		t.Errorf("state %v", s)
	}
	mustExec(t, d.pool, "UPDATE chokaq.Workers SET HeartbeatAt = DATEADD(SECOND, -601, HeartbeatAt)")
	if s := state(); s != "gone" {
		t.Errorf("state %v of a worker with no heartbeat", s)
	}
	mustExec(t, d.pool, "chokaq.SetWorkerState", sql.Named("WorkerId", guid(worker)), sql.Named("State", "stopped"))
	if s := state(); s != "stopped" {
		t.Errorf("state %v", s)
	}
	_, err := d.pool.ExecContext(t.Context(), "chokaq.SetWorkerState", sql.Named("WorkerId", guid(worker)), sql.Named("State", "asleep"))
	wantError(t, err, 51003, "@State")
	_, err = d.pool.ExecContext(t.Context(), "chokaq.SetWorkerState", sql.Named("WorkerId", guid(worker)), sql.Named("State", "running "))
	wantError(t, err, 51003, "@State")
	_, err = d.pool.ExecContext(t.Context(), "chokaq.SetWorkerState", sql.Named("WorkerId", guid(uuid.New())), sql.Named("State", "running"))
	wantError(t, err, 51013, "@WorkerId")
	if r := mustQuery(t, d.pool, "SELECT ProcedureName, LastStartedAt FROM chokaq.RecoveryStatus"); len(r) != 3 || r[0]["LastStartedAt"] != nil {
		t.Errorf("RecoveryStatus before any run says %v", r)
	}
}
