package integration

import (
	"database/sql"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// each gives every job the same answer.
func each(all []held, answer string) map[int64]string {
	m := make(map[int64]string)
	for _, h := range all {
		m[h.ID] = answer
	}
	return m
}

func wantAnswers(t *testing.T, what string, got, want map[int64]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s: answered %v, want %v", what, got, want)
	}
}

func stranger(h held) held { return held{h.ID, uuid.NewString()} }

func TestStart(t *testing.T) {
	d := newDatabase(t)
	enqueueMany(t, d.pool, "q", 3)
	all := claimAs(t, d.pool, uuid.New(), 3, "q")
	wantAnswers(t, "another's token", start(t, d.pool, stranger(all[0])), each(all[:1], "Lost Fetched"))
	wantAnswers(t, "start", start(t, d.pool, all[:2]...), each(all[:2], "Started Processing"))
	wantAnswers(t, "start again", start(t, d.pool, all[:2]...), each(all[:2], "AlreadyStarted Processing"))
	if n := number(t, d.pool, "SELECT MAX(Attempt) AS n FROM chokaq.Jobs"); n != 1 {
		t.Errorf("a repeated start counted %d attempts", n)
	}
	wantAnswers(t, "unknown job", start(t, d.pool, held{999999, all[0].Token}), map[int64]string{999999: "Lost nowhere"})
	mixed := start(t, d.pool, all[2], all[0])
	wantAnswers(t, "mixed", mixed, map[int64]string{all[2].ID: "Started Processing", all[0].ID: "AlreadyStarted Processing"})
}

func TestReleaseNeverTouchesProcessing(t *testing.T) {
	d := newDatabase(t)
	order := enqueueMany(t, d.pool, "q", 6)
	worker := uuid.New()
	first, second := claimAs(t, d.pool, worker, 3, "q"), claimAs(t, d.pool, worker, 3, "q")
	start(t, d.pool, first[0])
	release := func(args ...any) map[int64]string {
		byID := make(map[int64]string)
		for _, r := range mustQuery(t, d.pool, "chokaq.ReleaseJobs", append([]any{sql.Named("WorkerId", guid(worker))}, args...)...) {
			byID[r["JobId"].(int64)] = said(r)
		}
		return byID
	}
	jobs := func(all ...held) sql.NamedArg { return sql.Named("Jobs", claimsJSON(t, all)) }

	wantAnswers(t, "named", release(jobs(first[0], first[1])), map[int64]string{first[0].ID: "Processing Processing", first[1].ID: "Released Pending"})
	wantAnswers(t, "named again", release(jobs(first[1])), each(first[1:2], "AlreadyReleased Pending"))
	wantAnswers(t, "another's token", release(jobs(stranger(first[2]))), each(first[2:3], "Lost Fetched"))
	token, _ := uuid.Parse(second[0].Token)
	wantAnswers(t, "by claim", release(sql.Named("ClaimToken", guid(token))), each(second, "Released Pending"))
	wantAnswers(t, "everything", release(), each(first[2:3], "Released Pending"))
	wantAnswers(t, "everything again", release(), map[int64]string{})
	wantWhere(t, d, first[0].ID, "Processing")

	// Released jobs are back at their old places.
	if got := ids(claimAs(t, d.pool, uuid.New(), 10, "q")); !slices.Equal(got, order[1:]) {
		t.Errorf("claimed %v after the release, want %v", got, order[1:])
	}
	wantAnswers(t, "released and claimed by another", release(jobs(first[1])), each(first[1:2], "AlreadyReleased Fetched"))
}

func TestHeartbeat(t *testing.T) {
	d := newDatabase(t)
	worker := registered(t, d, "q")
	running := processing(t, d, worker, "q", 2)
	enqueueMany(t, d.pool, "q", 1)
	fetched := claimAs(t, d.pool, worker, 1, "q")
	all := append(slices.Clone(running), fetched...)
	age(t, d, 500, all...)
	beat := func(all ...held) map[int64]string {
		return answers(t, d.pool, "HeartbeatJobs", claimsJSON(t, all), sql.Named("WorkerId", guid(worker)))
	}

	wantAnswers(t, "all held", beat(all...), map[int64]string{})
	if n := number(t, d.pool, "SELECT COUNT(*) AS n FROM chokaq.Jobs WHERE HeartbeatAt < DATEADD(SECOND, -100, SYSUTCDATETIME())"); n != 0 {
		t.Errorf("%d heartbeats were not renewed", n)
	}
	age(t, d, 500, all...)
	wantAnswers(t, "another's token", beat(stranger(running[0]), running[1]), each(running[:1], "Lost Processing"))
	if n := number(t, d.pool, "SELECT COUNT(*) AS n FROM chokaq.Jobs WHERE HeartbeatAt < DATEADD(SECOND, -100, SYSUTCDATETIME())"); n != 2 {
		t.Errorf("%d heartbeats are old, want 2: a stranger's heartbeat renewed something", n)
	}
	mustQuery(t, d.pool, "chokaq.CancelJob", sql.Named("JobId", running[1].ID))
	mustQuery(t, d.pool, "chokaq.CancelJob", sql.Named("JobId", fetched[0].ID))
	wantAnswers(t, "after cancellations", beat(all...), map[int64]string{running[1].ID: "CancelRequested Processing", fetched[0].ID: "Lost Dead"})

	_, err := query(t.Context(), d.pool, "chokaq.HeartbeatJobs", sql.Named("WorkerId", guid(uuid.New())), sql.Named("Jobs", "[]"))
	wantError(t, err, 51013, "RegisterWorker")
}

func TestComplete(t *testing.T) {
	d := newDatabase(t)
	all := processing(t, d, uuid.New(), "q", 3)
	enqueueMany(t, d.pool, "q", 1)
	fetched := claimAs(t, d.pool, uuid.New(), 1, "q")
	complete := func(all ...held) map[int64]string { return answers(t, d.pool, "CompleteJobs", claimsJSON(t, all)) }

	wantAnswers(t, "another's token", complete(stranger(all[0])), each(all[:1], "Lost Processing"))
	wantAnswers(t, "not started", complete(fetched...), each(fetched, "Lost Fetched"))
	wantAnswers(t, "complete", complete(all[:2]...), each(all[:2], "Completed Archived"))
	wantAnswers(t, "again, with a new one", complete(all...), map[int64]string{all[0].ID: "AlreadyCompleted Archived", all[1].ID: "AlreadyCompleted Archived", all[2].ID: "Completed Archived"})
	wantAnswers(t, "another's token, archived", complete(stranger(all[0])), each(all[:1], "Lost Archived"))
	for _, h := range all {
		wantWhere(t, d, h.ID, "Archived")
	}
	r := mustQuery(t, d.pool, "SELECT Attempt, Payload, JobType, CASE WHEN FinishedAt >= StartedAt AND StartedAt >= FetchedAt THEN 1 ELSE 0 END AS InOrder FROM chokaq.JobsArchive WHERE JobId = @Id", sql.Named("Id", all[0].ID))[0]
	if r["Attempt"] != int64(1) || r["Payload"] != "{}" || r["JobType"] != "t" || r["InOrder"] != int64(1) {
		t.Errorf("archived as %v", r)
	}
}

func TestFail(t *testing.T) {
	d := newDatabase(t)
	worker := uuid.New()
	all := processing(t, d, worker, "q", 5)
	fail := func(fields map[string]any, all ...held) map[int64]string {
		return answers(t, d.pool, "FailJobs", claimsJSON(t, all, fields))
	}
	wantAnswers(t, "another's token", fail(nil, stranger(all[0])), each(all[:1], "Lost Processing"))
	wantAnswers(t, "retry", fail(map[string]any{"error": "no luck", "retryAfterMs": 3_600_500}, all[0]), each(all[:1], "Retried Pending"))
	wantAnswers(t, "retry again", fail(map[string]any{"error": "no luck"}, all[0]), each(all[:1], "AlreadyRetried Pending"))
	r := mustQuery(t, d.pool, "SELECT LastError, Attempt, DATEDIFF_BIG(MILLISECOND, LastErrorAt, DueAt) AS Wait FROM chokaq.Jobs WHERE JobId = @Id", sql.Named("Id", all[0].ID))[0]
	if r["LastError"] != "no luck" || r["Attempt"] != int64(1) || r["Wait"] != int64(3_600_500) {
		t.Errorf("retried as %v", r)
	}
	wantAnswers(t, "final", fail(map[string]any{"error": "bad", "final": true, "reason": "Rejected"}, all[1]), each(all[1:2], "Dead Dead"))
	wantAnswers(t, "final again", fail(map[string]any{"error": "bad", "final": true}, all[1]), each(all[1:2], "AlreadyDead Dead"))
	wantWhere(t, d, all[1].ID, "Dead Rejected")

	mustExec(t, d.pool, "UPDATE chokaq.Jobs SET MaxAttempts = 1 WHERE JobId = @Id", sql.Named("Id", all[2].ID))
	wantAnswers(t, "attempts used up", fail(map[string]any{"error": "bad"}, all[2], all[3]), map[int64]string{all[2].ID: "Dead Dead", all[3].ID: "Retried Pending"})
	wantWhere(t, d, all[2].ID, "Dead Failed")

	mustQuery(t, d.pool, "chokaq.CancelJob", sql.Named("JobId", all[4].ID))
	wantAnswers(t, "cancellation requested", fail(map[string]any{"error": strings.Repeat("ü", 9000)}, all[4]), each(all[4:5], "Dead Dead"))
	wantWhere(t, d, all[4].ID, "Dead Cancelled")
	e := mustQuery(t, d.pool, "SELECT Error FROM chokaq.JobsDLQ WHERE JobId = @Id", sql.Named("Id", all[4].ID))[0]["Error"].(string)
	if len([]rune(e)) > 4000 || !strings.HasSuffix(e, "(truncated)") {
		t.Errorf("a long error is kept as %d characters, ending %q", len([]rune(e)), e[len(e)-20:])
	}

	_, err := query(t.Context(), d.pool, "chokaq.FailJobs", sql.Named("Jobs", claimsJSON(t, all[:1], map[string]any{"reason": "Zombie"})))
	wantError(t, err, 51005, "@Jobs[0]", "reason")
	_, err = query(t.Context(), d.pool, "chokaq.FailJobs", sql.Named("Jobs", claimsJSON(t, all[:1], map[string]any{"reason": "Failed "})))
	wantError(t, err, 51005, "@Jobs[0]", "reason")
}

func TestCancel(t *testing.T) {
	d := newDatabase(t)
	cancel := func(id int64) string {
		return said(mustQuery(t, d.pool, "chokaq.CancelJob", sql.Named("JobId", id), sql.Named("Note", "because"))[0])
	}
	worker := uuid.New()
	running := processing(t, d, worker, "q", 2)
	fetched := enqueue(t, d.pool, "q")
	claimed := claimAs(t, d.pool, worker, 1, "q")
	pending := enqueue(t, d.pool, "q")

	for _, c := range []struct {
		id    int64
		says  string
		where string
	}{
		{pending, "Cancelled Dead", "Dead Cancelled"},
		{pending, "AlreadyCancelled Dead", "Dead Cancelled"},
		{fetched, "Cancelled Dead", "Dead Cancelled"},
		{running[0].ID, "CancelRequested Processing", "Processing"},
		{running[0].ID, "AlreadyCancelled Processing", "Processing"},
	} {
		if got := cancel(c.id); got != c.says {
			t.Errorf("cancel %d: %s, want %s", c.id, got, c.says)
		}
		wantWhere(t, d, c.id, c.where)
	}
	wantAnswers(t, "start of a canceled job", start(t, d.pool, claimed...), each(claimed, "Lost Dead"))
	answers(t, d.pool, "CompleteJobs", claimsJSON(t, running))
	if got := cancel(running[1].ID); got != "Finished Archived" {
		t.Errorf("cancel of an archived job: %s", got)
	}
	wantWhere(t, d, running[0].ID, "Archived") // it succeeded all the same
	_, err := query(t.Context(), d.pool, "chokaq.CancelJob", sql.Named("JobId", 999999))
	wantError(t, err, 51008, "999999")
	if n := number(t, d.pool, "SELECT COUNT(*) AS n FROM chokaq.OperatorLog WHERE ActionName = 'CancelJob' AND Note = 'because' AND LoginName = ORIGINAL_LOGIN()"); n != 3 {
		t.Errorf("%d cancellations are in the log, want 3", n)
	}
}

func TestClaimArraysAreChecked(t *testing.T) {
	d := newDatabase(t)
	worker := registered(t, d, "q")
	token := uuid.NewString()
	for _, c := range []struct {
		jobs   any
		number int32
		says   string
	}{
		{nil, 51004, "JSON array"},
		{"", 51004, "JSON array"},
		{`{"id":1,"token":"` + token + `"}`, 51004, "JSON array"},
		{`[1]`, 51005, "@Jobs[0]"},
		{`[{"id":1,"token":"` + token + `"},{"id":"x","token":"` + token + `"}]`, 51005, "@Jobs[1]"},
		{`[{"id":1}]`, 51005, "token"},
		{`[{"id":1,"token":"` + token + `garbage"}]`, 51005, "token"},
		{`[{"id":0,"token":"` + token + `"}]`, 51005, "positive"},
		{`[{"id":1,"token":"` + token + `"},{"id":1,"token":"` + token + `"}]`, 51007, "job 1"},
		{"[" + strings.Repeat(`{"id":1,"token":"`+token+`"},`, 1000) + `{"id":2,"token":"` + token + `"}]`, 51006, "1001"},
	} {
		for _, procedure := range []string{"StartJobs", "HeartbeatJobs", "CompleteJobs", "FailJobs"} {
			args := []any{sql.Named("Jobs", c.jobs)}
			if procedure == "HeartbeatJobs" {
				args = append(args, sql.Named("WorkerId", guid(worker)))
			}
			_, err := query(t.Context(), d.pool, "chokaq."+procedure, args...)
			wantError(t, err, c.number, "chokaq."+procedure, c.says)
		}
	}
	// White space, unknown fields and an empty array are fine.
	start(t, d.pool)
	mustQuery(t, d.pool, "chokaq.StartJobs", sql.Named("Jobs", " \r\n\t[ {\"id\": 5, \"token\": \""+strings.ToUpper(token)+"\", \"new\": {}} ]"))
}
