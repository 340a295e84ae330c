package integration

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// found runs FindDeadJobs and returns the ids of its rows and its OUTPUT parameter.
func found(t *testing.T, d *database, args ...any) (rows []int64, ids string) {
	t.Helper()
	var all []row
	all, err := query(t.Context(), d.pool, "chokaq.FindDeadJobs", append(args, sql.Named("JobIds", sql.Out{Dest: &ids}))...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		rows = append(rows, r["JobId"].(int64))
	}
	return rows, ids
}

func TestAReviewFindsByFilter(t *testing.T) {
	d := newDatabase(t)
	fail := func(queue, jobType, reason, text string) int64 {
		enqueueType(t, d.pool, queue, jobType)
		h := claimAs(t, d.pool, uuid.New(), 1, queue)
		start(t, d.pool, h...)
		answers(t, d.pool, "FailJobs", claimsJSON(t, h, map[string]any{"final": true, "reason": reason, "error": text}))
		return h[0].ID
	}
	mail := fail("mail", "send", "Failed", "timeout after 100%_of 30s")
	rejected := fail("mail", "send", "Rejected", "no such address")
	other := fail("mail", "render", "Interrupted", "cut short [x]")
	report := fail("reports", "send", "Failed", "timeout after 30s")
	gone := fail("mail", "send", "Failed", "discarded")
	mustQuery(t, d.pool, "chokaq.DiscardDeadJobs", sql.Named("JobIds", fmt.Sprintf("[%d]", gone)), sql.Named("Note", "no"))

	for _, c := range []struct {
		args []any
		want []int64
	}{
		{nil, []int64{mail, rejected, other, report}},
		{[]any{sql.Named("Queue", "mail")}, []int64{mail, rejected, other}},
		{[]any{sql.Named("Queue", "Mail")}, nil},
		{[]any{sql.Named("JobType", "send")}, []int64{mail, rejected, report}},
		{[]any{sql.Named("Reason", "Failed"), sql.Named("Queue", "reports")}, []int64{report}},
		{[]any{sql.Named("ErrorText", "TIMEOUT after")}, []int64{mail, report}}, // as the database's collation compares
		{[]any{sql.Named("ErrorText", "100%_of")}, []int64{mail}},
		{[]any{sql.Named("ErrorText", "[x]")}, []int64{other}},
		{[]any{sql.Named("ErrorText", "%")}, []int64{mail}},
		{[]any{sql.Named("AfterJobId", rejected)}, []int64{other, report}},
		{[]any{sql.Named("MaxJobs", 2)}, []int64{mail, rejected}},
		{[]any{sql.Named("DeadBefore", time.Now().Add(-24*time.Hour))}, nil},
		{[]any{sql.Named("DeadFrom", time.Now().Add(-24*time.Hour))}, []int64{mail, rejected, other, report}},
	} {
		got, text := found(t, d, c.args...)
		if !slices.Equal(got, c.want) {
			t.Errorf("%v finds %v; want %v", c.args, got, c.want)
		}
		if want := "[" + strings.ReplaceAll(strings.Trim(fmt.Sprint(c.want), "[]"), " ", ",") + "]"; text != want {
			t.Errorf("%v: @JobIds is %s; want %s", c.args, text, want)
		}
	}
	for _, c := range []struct {
		arg    sql.NamedArg
		number int32
	}{{sql.Named("Reason", "failed"), 51001}, {sql.Named("ErrorText", ""), 51001}, {sql.Named("MaxJobs", 0), 51003}, {sql.Named("MaxJobs", 1001), 51003}} {
		_, err := query(t.Context(), d.pool, "chokaq.FindDeadJobs", c.arg)
		wantError(t, err, c.number, "@"+c.arg.Name)
	}

	// As a DBA would type it.
	mustExec(t, d.pool, `DECLARE @Ids nvarchar(max);
EXEC chokaq.FindDeadJobs @Queue = N'mail', @Reason = N'Failed', @JobIds = @Ids OUTPUT, @ReturnRows = 0;
EXEC chokaq.RequeueDeadJobs @JobIds = @Ids, @Note = N'mail server is back', @SpreadSeconds = 600;`)
	wantWhere(t, d, mail, "Pending")
	wantWhere(t, d, report, "Dead Failed")
}

func TestDeadJobsAreGroupedByWhatTheyDiedOf(t *testing.T) {
	d := newDatabase(t)
	all := processing(t, d, uuid.New(), "q", 4)
	for i, text := range []string{"order 17 failed: timeout 30s\nstack 1", "order 4 failed: timeout 30s\nstack 2", "order 99 failed: timeout 30s", "refused"} {
		answers(t, d.pool, "FailJobs", claimsJSON(t, all[i:i+1], map[string]any{"final": true, "error": text}))
	}
	got := mustQuery(t, d.pool, "SELECT ErrorStart, DeadJobs, ExampleJobId FROM chokaq.DeadJobGroups ORDER BY DeadJobs DESC, ErrorStart")
	// Digits count one by one: 17 and 99 look alike, 4 does not.
	if len(got) != 3 || got[0]["ErrorStart"] != "order ## failed: timeout ##s" || got[0]["DeadJobs"] != int64(2) || got[0]["ExampleJobId"] != all[2].ID {
		t.Errorf("groups: %v", got)
	}
}

// The longest error there is has no line feed, nor room for one.
func TestTheLongestErrorsAreGrouped(t *testing.T) {
	d := newDatabase(t)
	all := processing(t, d, uuid.New(), "q", 2)
	for i, text := range []string{strings.Repeat("7", 4000), strings.Repeat("8", 9000)} {
		answers(t, d.pool, "FailJobs", claimsJSON(t, all[i:i+1], map[string]any{"final": true, "error": text}))
	}
	got := mustQuery(t, d.pool, "SELECT ErrorStart, DeadJobs FROM chokaq.DeadJobGroups")
	if len(got) != 1 || got[0]["ErrorStart"] != strings.Repeat("#", 80) || got[0]["DeadJobs"] != int64(2) {
		t.Errorf("groups: %v", got)
	}
	// What the log keeps of a job that is requeued or discarded is all of it, too.
	requeue(t, d, sql.Named("JobIds", fmt.Sprintf("[%d]", all[0].ID)))
	mustQuery(t, d.pool, "chokaq.DiscardDeadJobs", sql.Named("JobIds", fmt.Sprintf("[%d]", all[1].ID)), sql.Named("Note", "no"))
	if n := number(t, d.pool, "SELECT COUNT(*) FROM chokaq.OperatorLog WHERE LEN(OldValue) = 4000 + LEN(N'Failed: ') + 1"); n != 2 {
		t.Errorf("the log has %d whole errors: %v", n, mustQuery(t, d.pool, "SELECT ActionName, LEN(OldValue) AS Characters FROM chokaq.OperatorLog"))
	}
}

func TestTheHistoryOfAJob(t *testing.T) {
	d := newDatabase(t)
	worker := uuid.New()
	enqueue(t, d.pool, "q", sql.Named("MaxAttempts", 2))
	var id int64
	attempt := func(fields map[string]any) {
		h := claimAs(t, d.pool, worker, 1, "q")
		id = h[0].ID
		start(t, d.pool, h...)
		answers(t, d.pool, "FailJobs", claimsJSON(t, h, fields))
	}
	attempt(map[string]any{"error": "first"})
	attempt(map[string]any{"error": "second"})
	wantWhere(t, d, id, "Dead Failed")
	mustExec(t, d.pool, "EXEC chokaq.EditDeadJob @JobId = @Id, @Payload = N'{\"n\": 2}', @Note = N'typo'", sql.Named("Id", id))
	requeue(t, d, sql.Named("JobIds", fmt.Sprintf("[%d]", id)), sql.Named("Note", "again"))
	h := claimAs(t, d.pool, worker, 1, "q")
	start(t, d.pool, h...)
	answers(t, d.pool, "CompleteJobs", claimsJSON(t, h))

	var events []string
	for _, r := range mustQuery(t, d.pool, "chokaq.GetJobHistory", sql.Named("JobId", id)) {
		detail, _ := r["Detail"].(string)
		if i := strings.Index(detail, ", ran for"); i > 0 {
			detail = "ran"
		}
		events = append(events, fmt.Sprint(r["Event"], " ", r["Attempt"], " ", detail))
	}
	want := []string{"Enqueued <nil> queue q, type t", "Retried 1 first", "Failed 2 second", "EditDeadJob <nil> typo", "RequeueDeadJobs <nil> again", "Succeeded 1 ran"}
	if !slices.Equal(events, want) {
		t.Errorf("history:\n%s\nwant:\n%s", strings.Join(events, "\n"), strings.Join(want, "\n"))
	}
	_, err := query(t.Context(), d.pool, "chokaq.GetJobHistory", sql.Named("JobId", 777777))
	wantError(t, err, 51008, "777777")
}

// A worker may say how many attempts a type gets, in the place of what the producer has said.
func TestFailJobsTakesTheNumberOfAttempts(t *testing.T) {
	d := newDatabase(t)
	for _, c := range []struct {
		enqueued, said int
		want           string
	}{{10, 1, "Dead Dead"}, {1, 2, "Retried Pending"}, {1, 1, "Dead Dead"}} {
		enqueue(t, d.pool, "q", sql.Named("MaxAttempts", c.enqueued))
		h := claimAs(t, d.pool, uuid.New(), 1, "q")
		start(t, d.pool, h...)
		got := answers(t, d.pool, "FailJobs", claimsJSON(t, h, map[string]any{"maxAttempts": c.said, "retryAfterMs": 3600000}))
		wantAnswers(t, fmt.Sprint(c), got, map[int64]string{h[0].ID: c.want})
		if n := number(t, d.pool, "SELECT MaxAttempts FROM chokaq.Jobs WHERE JobId = @Id UNION ALL SELECT MaxAttempts FROM chokaq.JobsDLQ WHERE JobId = @Id", sql.Named("Id", h[0].ID)); n != int64(c.said) {
			t.Errorf("%v: MaxAttempts is %d", c, n)
		}
	}
	h := processing(t, d, uuid.New(), "q", 1)
	for _, bad := range []any{0, 1001, -1} {
		_, err := query(t.Context(), d.pool, "chokaq.FailJobs", sql.Named("Jobs", claimsJSON(t, h, map[string]any{"maxAttempts": bad})))
		wantError(t, err, 51005, "@Jobs[0]", "maxAttempts")
	}
	for _, bad := range []any{"yes", 2, "", "TRUE"} {
		_, err := query(t.Context(), d.pool, "chokaq.FailJobs", sql.Named("Jobs", claimsJSON(t, h, map[string]any{"final": bad})))
		wantError(t, err, 51005, "@Jobs[0]", "final")
	}
}

func TestDurationsOfHandlers(t *testing.T) {
	d := newDatabase(t)
	h := processing(t, d, uuid.New(), "q", 4)
	for i, ms := range []int{0, 1, 1000, 1100} {
		mustExec(t, d.pool, "UPDATE j SET StartedAt = DATEADD(MILLISECOND, @Ms, SYSUTCDATETIME()) FROM chokaq.Jobs AS j WHERE j.JobId = @Id", sql.Named("Ms", -ms), sql.Named("Id", h[i].ID))
	}
	mustExec(t, d.pool, `INSERT INTO chokaq.JobsArchive (JobId, Queue, JobType, Priority, DueAt, Attempt, MaxAttempts, RequeueCount, StartedAt, FinishedAt, EnqueuedAt, EnqueuedBy, Payload)
SELECT v.Id, N'q', N't', 5, SYSUTCDATETIME(), 1, 1, 0, DATEADD(MILLISECOND, -v.Ms, s.At), s.At, s.At, N'x', N'{}'
FROM (VALUES (9000001, 0), (9000002, 1), (9000003, 16), (9000004, 1000), (9000005, 1024), (9000006, 1100)) AS v (Id, Ms)
CROSS JOIN (SELECT CONVERT(datetime2(3), DATEADD(MINUTE, -1, SYSUTCDATETIME())) AS At) AS s`)
	var got []string
	for _, r := range mustQuery(t, d.pool, "chokaq.GetHandlerDurations", sql.Named("SinceHours", 1)) {
		got = append(got, fmt.Sprint(r["Queue"], r["JobType"], " ", r["Bucket"], ":", r["Jobs"], " ", r["TotalMs"], " ", r["MaxMs"]))
	}
	want := []string{"qt -1:1 0 0", "qt 0:1 1 1", "qt 16:1 16 16", "qt 39:1 1000 1000", "qt 40:2 2124 1100"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
