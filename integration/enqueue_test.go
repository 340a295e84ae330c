package integration

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestEnqueueIsPartOfTheCallersTransaction(t *testing.T) {
	d := newDatabase(t)
	tx, err := d.pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	rolledBack := enqueue(t, tx, "q")
	if got := claimAs(t, d.pool, uuid.New(), 10, "q"); len(got) != 0 {
		t.Fatalf("claimed %v before its transaction committed", got)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	wantWhere(t, d, rolledBack, "nowhere")

	if tx, err = d.pool.BeginTx(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	committed := enqueue(t, tx, "q")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := ids(claimAs(t, d.pool, uuid.New(), 10, "q")); len(got) != 1 || got[0] != committed {
		t.Fatalf("claimed %v, want %d", got, committed)
	}
}

func TestEnqueueJobStoresWhatItIsGiven(t *testing.T) {
	d := newDatabase(t)
	payload := `{"a": "quote ' \" ]] -- ; DROP TABLE chokaq.Jobs", "emoji": "😀", "rtl": "שלום"}`
	id := enqueue(t, d.pool, "Queue Ünïcode", sql.Named("Payload", payload), sql.Named("Priority", 9), sql.Named("MaxAttempts", 3),
		sql.Named("IdempotencyKey", "Key'1"), sql.Named("Headers", `{"traceparent":"00-1"}`), sql.Named("DelaySeconds", 3600))
	r := mustQuery(t, d.pool, `SELECT Queue, JobType, Payload, Priority, MaxAttempts, IdempotencyKey, Headers, State, Attempt,
CASE WHEN DueAt BETWEEN DATEADD(SECOND, 3500, SYSUTCDATETIME()) AND DATEADD(SECOND, 3601, SYSUTCDATETIME()) THEN 1 ELSE 0 END AS DueInAnHour
FROM chokaq.Jobs WHERE JobId = @Id`, sql.Named("Id", id))[0]
	for name, want := range map[string]any{"Queue": "Queue Ünïcode", "JobType": "t", "Payload": payload, "Priority": int64(9), "MaxAttempts": int64(3),
		"IdempotencyKey": "Key'1", "Headers": `{"traceparent":"00-1"}`, "State": int64(0), "Attempt": int64(0), "DueInAnHour": int64(1)} {
		if r[name] != want {
			t.Errorf("%s is %v, want %v", name, r[name], want)
		}
	}
}

func TestEnqueueJobOutputParameters(t *testing.T) {
	d := newDatabase(t)
	var id int64
	var created bool
	if _, err := d.pool.ExecContext(t.Context(), "chokaq.EnqueueJob", sql.Named("Queue", "q"), sql.Named("JobType", "t"),
		sql.Named("JobId", sql.Out{Dest: &id}), sql.Named("Created", sql.Out{Dest: &created}), sql.Named("ReturnRow", false)); err != nil {
		t.Fatal(err)
	}
	wantWhere(t, d, id, "Pending")
	if !created {
		t.Error("@Created is 0 for a new job")
	}
}

func TestAnyJSONValueIsAPayload(t *testing.T) {
	d := newDatabase(t)
	for _, payload := range []string{`{}`, `[]`, `42`, `-1.5e3`, `"text"`, `true`, `null`, " \n{\"a\": 1}\t"} {
		enqueue(t, d.pool, "q", sql.Named("Payload", payload))
	}
	if n := number(t, d.pool, "SELECT COUNT(*) AS n FROM chokaq.Jobs"); n != 8 {
		t.Errorf("%d jobs, want 8", n)
	}
}

func TestEnqueueRefusesBadInput(t *testing.T) {
	d := newDatabase(t)
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		name   string
		args   []any
		number int32
		says   []string
	}{
		{"queue NULL", []any{sql.Named("Queue", nil)}, 51001, []string{"@Queue", "64"}},
		{"queue empty", []any{sql.Named("Queue", "")}, 51001, []string{"@Queue", "empty"}},
		{"queue too long", []any{sql.Named("Queue", long(65))}, 51001, []string{"@Queue", "64"}},
		{"queue far too long", []any{sql.Named("Queue", long(5000))}, 51001, []string{"@Queue"}},
		{"trailing space", []any{sql.Named("Queue", "mail ")}, 51001, []string{"@Queue", "space"}},
		{"leading space", []any{sql.Named("Queue", " mail")}, 51001, []string{"@Queue", "space"}},
		{"control character", []any{sql.Named("Queue", "ma\til")}, 51001, []string{"@Queue", "control"}},
		{"NUL", []any{sql.Named("Queue", "ma\x00il")}, 51001, []string{"@Queue", "control"}},
		{"type empty", []any{sql.Named("JobType", "")}, 51001, []string{"@JobType"}},
		{"type too long", []any{sql.Named("JobType", long(129))}, 51001, []string{"@JobType", "128"}},
		{"key too long", []any{sql.Named("IdempotencyKey", long(201))}, 51001, []string{"@IdempotencyKey", "200"}},
		{"key empty", []any{sql.Named("IdempotencyKey", "")}, 51001, []string{"@IdempotencyKey"}},
		{"payload not JSON", []any{sql.Named("Payload", "{nope")}, 51002, []string{"@Payload"}},
		{"payload two values", []any{sql.Named("Payload", "1,2")}, 51002, []string{"@Payload"}},
		{"payload empty", []any{sql.Named("Payload", "")}, 51002, []string{"@Payload"}},
		{"payload breaking out", []any{sql.Named("Payload", "1],[2")}, 51002, []string{"@Payload"}},
		{"payload too long", []any{sql.Named("Payload", `"`+long(1_000_000)+`"`)}, 51002, []string{"@Payload", "1,000,000"}},
		{"headers an array", []any{sql.Named("Headers", "[1]")}, 51002, []string{"@Headers"}},
		{"headers too long", []any{sql.Named("Headers", `{"a":"`+long(4000)+`"}`)}, 51002, []string{"@Headers", "4000"}},
		{"priority 0", []any{sql.Named("Priority", 0)}, 51003, []string{"@Priority", "1 to 10"}},
		{"priority 11", []any{sql.Named("Priority", 11)}, 51003, []string{"@Priority", "1 to 10"}},
		{"attempts 0", []any{sql.Named("MaxAttempts", 0)}, 51003, []string{"@MaxAttempts", "1000"}},
		{"delay negative", []any{sql.Named("DelaySeconds", -1)}, 51003, []string{"@DelaySeconds"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := []any{sql.Named("Queue", "q"), sql.Named("JobType", "t")}
			for _, a := range c.args {
				given := a.(sql.NamedArg)
				replaced := false
				for i := range args {
					if args[i].(sql.NamedArg).Name == given.Name {
						args[i], replaced = given, true
					}
				}
				if !replaced {
					args = append(args, given)
				}
			}
			_, err := query(t.Context(), d.pool, "chokaq.EnqueueJob", args...)
			wantError(t, err, c.number, append(c.says, "Nothing was changed")...)
		})
	}
	if n := number(t, d.pool, "SELECT COUNT(*) AS n FROM chokaq.Jobs"); n != 0 {
		t.Errorf("%d jobs were inserted", n)
	}
}

func TestEnqueueJobs(t *testing.T) {
	d := newDatabase(t)
	rows := mustQuery(t, d.pool, "chokaq.EnqueueJobs", sql.Named("Jobs", `[
		{"queue":"q","type":"t","payload":{"n":1},"priority":10,"maxAttempts":2,"idempotencyKey":"k","headers":{"a":"b"}},
		{"queue":"q","type":"t","payload":"[1,2]","unknownField":true},
		{"queue":"q","type":"t","idempotencyKey":"k"},
		{"queue":"q","type":"t","delayMs":86400123},
		{"queue":"q","type":"t","dueAt":"2100-01-01T00:00:00+01:00"},
		{"queue":"q","type":"t","dueAt":"2001-01-01T00:00:00Z","payload":7}]`))
	if len(rows) != 6 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, r := range rows {
		if r["Ordinal"] != int64(i) || r["Created"] != (i != 2) {
			t.Errorf("row %d: %v", i, r)
		}
		if i > 0 && i != 2 && r["JobId"].(int64) <= rows[0]["JobId"].(int64) {
			t.Errorf("ids do not ascend: %v", rows)
		}
	}
	if rows[2]["JobId"] != rows[0]["JobId"] {
		t.Errorf("the repeated key made a job of its own: %v", rows)
	}
	jobs := mustQuery(t, d.pool, `SELECT Payload, Priority, MaxAttempts, Headers, CONVERT(nvarchar(30), DueAt, 126) AS Due,
DATEDIFF_BIG(MILLISECOND, EnqueuedAt, DueAt) AS Wait FROM chokaq.Jobs ORDER BY JobId`)
	want := []row{
		{"Payload": `{"n":1}`, "Priority": int64(10), "MaxAttempts": int64(2), "Headers": `{"a":"b"}`, "Wait": int64(0)},
		{"Payload": `[1,2]`, "Priority": int64(5), "MaxAttempts": int64(10), "Headers": nil, "Wait": int64(0)},
		{"Payload": `{}`, "Wait": int64(86400123)},
		{"Payload": `{}`, "Due": "2099-12-31T23:00:00"},
		{"Payload": `7`, "Wait": int64(0)},
	}
	for i, w := range want {
		for name, v := range w {
			if jobs[i][name] != v {
				t.Errorf("job %d: %s is %v, want %v", i, name, jobs[i][name], v)
			}
		}
	}
}

func TestEnqueueJobsRefusesTheFirstFault(t *testing.T) {
	d := newDatabase(t)
	for _, c := range []struct {
		jobs   string
		number int32
		says   []string
	}{
		{``, 51004, []string{"@Jobs", "JSON array"}},
		{`{"queue":"q","type":"t"}`, 51004, []string{"JSON array"}},
		{`[{"queue":"q","type":"t"`, 51004, []string{"JSON array"}},
		{`[{"queue":"q","type":"t"},5]`, 51005, []string{"@Jobs[1]", "object"}},
		{`[{"type":"t"}]`, 51005, []string{"@Jobs[0].queue", "64"}},
		{`[{"queue":"q","type":"t"},{"queue":"q"}]`, 51005, []string{"@Jobs[1].type", "128"}},
		{`[{"queue":"q ","type":"t"}]`, 51005, []string{"@Jobs[0].queue", "space"}},
		{`[{"queue":"q","type":"t","payload":"not json"}]`, 51005, []string{"@Jobs[0].payload", "JSON"}},
		{`[{"queue":"q","type":"t","payload":"1,2"}]`, 51005, []string{"@Jobs[0].payload", "one JSON value"}},
		{`[{"queue":"q","type":"t","priority":11}]`, 51005, []string{"@Jobs[0].priority", "1 to 10"}},
		{`[{"queue":"q","type":"t","priority":"high"}]`, 51005, []string{"@Jobs[0].priority"}},
		{`[{"queue":"q","type":"t","maxAttempts":0}]`, 51005, []string{"@Jobs[0].maxAttempts"}},
		{`[{"queue":"q","type":"t","dueAt":"tomorrow"}]`, 51005, []string{"@Jobs[0].dueAt", "ISO 8601"}},
		{`[{"queue":"q","type":"t","delayMs":-1}]`, 51005, []string{"@Jobs[0].delayMs"}},
		{`[{"queue":"q","type":"t","delayMs":1,"dueAt":"2030-01-01T00:00:00Z"}]`, 51005, []string{"exclude"}},
		{`[{"queue":"q","type":"t","idempotencyKey":""}]`, 51005, []string{"@Jobs[0].idempotencyKey"}},
		{`[{"queue":"q","type":"t","headers":[1]}]`, 51005, []string{"@Jobs[0].headers"}},
		{`[{"queue":"q","type":"t","headers":"x"}]`, 51005, []string{"@Jobs[0].headers"}},
		{"[" + strings.Repeat(`{"queue":"q","type":"t"},`, 1000) + `{"queue":"q","type":"t"}]`, 51006, []string{"1001", "1000"}},
	} {
		_, err := query(t.Context(), d.pool, "chokaq.EnqueueJobs", sql.Named("Jobs", c.jobs))
		wantError(t, err, c.number, append(c.says, "Nothing was changed")...)
	}
	if n := number(t, d.pool, "SELECT COUNT(*) AS n FROM chokaq.Jobs"); n != 0 {
		t.Errorf("%d jobs were inserted", n)
	}
}

func TestNamesAreExact(t *testing.T) {
	d := newDatabase(t)
	upper, lower := enqueue(t, d.pool, "Mail", sql.Named("IdempotencyKey", "K")), enqueue(t, d.pool, "mail", sql.Named("IdempotencyKey", "k"))
	if upper == lower {
		t.Fatal("keys that differ in case are one")
	}
	if got := ids(claimAs(t, d.pool, uuid.New(), 10, "mail")); len(got) != 1 || got[0] != lower {
		t.Errorf("claimed %v from mail, want %d", got, lower)
	}
}

func TestIdempotencyKey(t *testing.T) {
	d := newDatabase(t)
	key := sql.Named("IdempotencyKey", "order-42")
	first := enqueue(t, d.pool, "q", key)
	if again := enqueue(t, d.pool, "elsewhere", key); again != first {
		t.Errorf("a live job has the key, and %d was made beside %d", again, first)
	}
	if other := mustQuery(t, d.pool, "chokaq.EnqueueJob", sql.Named("Queue", "q"), sql.Named("JobType", "other"), key)[0]; other["Created"] != true {
		t.Errorf("another type shares the key: %v", other)
	}
	// Fetched and Processing jobs are live too.
	worker := uuid.New()
	claimed := claimAs(t, d.pool, worker, 1, "q")
	if again := enqueue(t, d.pool, "q", key); again != first {
		t.Error("the key of a Fetched job was free")
	}
	start(t, d.pool, claimed...)
	if again := enqueue(t, d.pool, "q", key); again != first {
		t.Error("the key of a Processing job was free")
	}
	answers(t, d.pool, "CompleteJobs", claimsJSON(t, claimed))
	if again := enqueue(t, d.pool, "q", key); again == first {
		t.Error("the key of an archived job is still taken")
	}
}

// Two producers with one key: the second waits for the first's transaction and follows its end.
func TestIdempotencyKeyWaitsForTheOtherTransaction(t *testing.T) {
	for _, commit := range []bool{true, false} {
		t.Run(fmt.Sprintf("commit=%v", commit), func(t *testing.T) {
			d := newDatabase(t)
			tx, err := d.pool.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			first := enqueue(t, tx, "q", sql.Named("IdempotencyKey", "k"))

			conn := d.session(t)
			spid := number(t, conn, "SELECT CONVERT(int, @@SPID) AS s")
			type result struct {
				rows []row
				err  error
			}
			second := make(chan result, 1)
			go func() {
				rows, err := query(t.Context(), conn, "chokaq.EnqueueJob", sql.Named("Queue", "q"), sql.Named("JobType", "t"), sql.Named("IdempotencyKey", "k"))
				second <- result{rows, err}
			}()
			waitBlocked(t, d, spid)
			// Another key does not wait.
			if other := enqueue(t, d.pool, "q", sql.Named("IdempotencyKey", "j")); other == first {
				t.Error("another key got the same job")
			}
			if commit {
				err = tx.Commit()
			} else {
				err = tx.Rollback()
			}
			if err != nil {
				t.Fatal(err)
			}
			got := <-second
			if got.err != nil {
				t.Fatal(got.err)
			}
			if got.rows[0]["Created"] != !commit {
				t.Errorf("after the first's commit=%v: %v (first is %d)", commit, got.rows[0], first)
			}
		})
	}
}

// waitBlocked waits until a session waits for a lock of another.
func waitBlocked(t *testing.T, d *database, spid int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for ctx.Err() == nil {
		rows, err := query(ctx, d.pool, "SELECT blocking_session_id AS b FROM sys.dm_exec_requests WHERE session_id = @s AND blocking_session_id <> 0", sql.Named("s", spid))
		if err == nil && len(rows) > 0 {
			return
		}
	}
	t.Fatalf("session %d was never blocked", spid)
}
