package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"database/sql"

	"github.com/google/uuid"
)

// held is a job with the token of its claim, as the procedures take them.
type held struct {
	ID    int64  `json:"id"`
	Token string `json:"token"`
}

func claimsJSON(t *testing.T, all []held, fields ...map[string]any) string {
	t.Helper()
	elements := make([]map[string]any, len(all))
	for i, h := range all {
		elements[i] = map[string]any{"id": h.ID, "token": h.Token}
		for _, f := range fields {
			for k, v := range f {
				elements[i][k] = v
			}
		}
	}
	text, err := json.Marshal(elements)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// enqueue inserts jobs of type "t" through EnqueueJob with further arguments, and returns the id.
func enqueue(t *testing.T, q querier, queue string, args ...any) int64 {
	t.Helper()
	rows := mustQuery(t, q, "chokaq.EnqueueJob", append([]any{sql.Named("Queue", queue), sql.Named("JobType", "t")}, args...)...)
	return rows[0]["JobId"].(int64)
}

// enqueueMany inserts n jobs of type "t".
func enqueueMany(t *testing.T, q querier, queue string, n int) []int64 {
	t.Helper()
	var ids []int64
	for n > 0 {
		chunk := min(n, 1000)
		n -= chunk
		elements := strings.Repeat(fmt.Sprintf(`{"queue":%q,"type":"t"},`, queue), chunk)
		for _, r := range mustQuery(t, q, "chokaq.EnqueueJobs", sql.Named("Jobs", "["+strings.TrimSuffix(elements, ",")+"]")) {
			ids = append(ids, r["JobId"].(int64))
		}
	}
	return ids
}

// claimAs claims for a worker with a new token.
func claimAs(t *testing.T, q querier, worker uuid.UUID, most int, queues ...string) []held {
	t.Helper()
	return claimWith(t, q, worker, uuid.New(), most, queues...)
}

func claimWith(t *testing.T, q querier, worker, token uuid.UUID, most int, queues ...string) []held {
	t.Helper()
	names, err := json.Marshal(queues)
	if err != nil {
		t.Fatal(err)
	}
	var all []held
	for _, r := range mustQuery(t, q, "chokaq.ClaimJobs", sql.Named("WorkerId", guid(worker)), sql.Named("ClaimToken", guid(token)),
		sql.Named("Queues", string(names)), sql.Named("MaxJobs", most)) {
		all = append(all, held{r["JobId"].(int64), token.String()})
	}
	return all
}

func ids(all []held) []int64 {
	var list []int64
	for _, h := range all {
		list = append(list, h.ID)
	}
	return list
}

// answers calls a procedure that takes claims, and returns "Result JobState" by job.
func answers(t *testing.T, q querier, procedure string, jobs string, args ...any) map[int64]string {
	t.Helper()
	byID := make(map[int64]string)
	for _, r := range mustQuery(t, q, "chokaq."+procedure, append([]any{sql.Named("Jobs", jobs)}, args...)...) {
		byID[r["JobId"].(int64)] = said(r)
	}
	return byID
}

// said is "Result JobState" of a row; a NULL state is "nowhere".
func said(r row) string {
	state, _ := r["JobState"].(string)
	if state == "" {
		state = "nowhere"
	}
	return fmt.Sprintf("%v %s", r["Result"], state)
}

func start(t *testing.T, q querier, all ...held) map[int64]string {
	t.Helper()
	return answers(t, q, "StartJobs", claimsJSON(t, all))
}

// processing enqueues, claims and starts n jobs.
func processing(t *testing.T, d *database, worker uuid.UUID, queue string, n int) []held {
	t.Helper()
	enqueueMany(t, d.pool, queue, n)
	all := claimAs(t, d.pool, worker, n, queue)
	if len(all) != n {
		t.Fatalf("claimed %d of %d", len(all), n)
	}
	for id, answer := range start(t, d.pool, all...) {
		if answer != "Started Processing" {
			t.Fatalf("job %d: %s", id, answer)
		}
	}
	return all
}

// registered makes a worker.
func registered(t *testing.T, d *database, queues ...string) uuid.UUID {
	t.Helper()
	worker := uuid.New()
	names, _ := json.Marshal(queues)
	mustQuery(t, d.pool, "chokaq.RegisterWorker", sql.Named("WorkerId", guid(worker)), sql.Named("HostName", "host"), sql.Named("ProcessId", 17),
		sql.Named("Version", "v1"), sql.Named("Queues", string(names)), sql.Named("Handlers", 5), sql.Named("Prefetch", 10))
	return worker
}

// where tells in which table a job is, and its state: "Pending", "Fetched", "Processing", "Archived", "Dead Reason". A job in two tables is an error.
func where(t *testing.T, d *database, id int64) string {
	t.Helper()
	// One that moves while it is being read may be seen in both places, but not again and again.
	var rows []row
	for range 3 {
		if rows = placesOf(t, d, id); len(rows) < 2 {
			break
		}
	}
	switch len(rows) {
	case 0:
		return "nowhere"
	case 1:
		return rows[0]["Place"].(string)
	}
	t.Fatalf("job %d is in %d tables: %v", id, len(rows), rows)
	return ""
}

func placesOf(t *testing.T, d *database, id int64) []row {
	t.Helper()
	return mustQuery(t, d.pool, `
SELECT CASE State WHEN 0 THEN 'Pending' WHEN 1 THEN 'Fetched' ELSE 'Processing' END AS Place FROM chokaq.Jobs WHERE JobId = @Id
UNION ALL SELECT 'Archived' FROM chokaq.JobsArchive WHERE JobId = @Id
UNION ALL SELECT 'Dead ' + Reason FROM chokaq.JobsDLQ WHERE JobId = @Id`, sql.Named("Id", id))
}

func wantWhere(t *testing.T, d *database, id int64, want string) {
	t.Helper()
	if got := where(t, d, id); got != want {
		t.Errorf("job %d is %s, want %s", id, got, want)
	}
}

// age makes the heartbeats of jobs older, as time would.
func age(t *testing.T, d *database, seconds int, all ...held) {
	t.Helper()
	for _, h := range all {
		mustExec(t, d.pool, `UPDATE chokaq.Jobs SET HeartbeatAt = DATEADD(SECOND, -@Seconds, HeartbeatAt) WHERE JobId = @Id`, sql.Named("Seconds", seconds), sql.Named("Id", h.ID))
	}
}

func workerArg(worker uuid.UUID) sql.NamedArg { return sql.Named("WorkerId", guid(worker)) }
