package integration

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/google/uuid"
)

func TestClaimOrder(t *testing.T) {
	d := newDatabase(t)
	low1 := enqueue(t, d.pool, "a", sql.Named("Priority", 1))
	mid1 := enqueue(t, d.pool, "a")
	high := enqueue(t, d.pool, "a", sql.Named("Priority", 10))
	mid2 := enqueue(t, d.pool, "a")
	other := enqueue(t, d.pool, "b", sql.Named("Priority", 10))
	enqueue(t, d.pool, "c")

	worker := uuid.New()
	if got, want := ids(claimAs(t, d.pool, worker, 10, "a", "b")), []int64{high, mid1, mid2, low1, other}; !slices.Equal(got, want) {
		t.Errorf("claimed %v, want %v: queue as listed, priority, FIFO", got, want)
	}
	if got := claimAs(t, d.pool, worker, 10, "a", "b"); len(got) != 0 {
		t.Errorf("claimed again: %v", got)
	}
}

func TestClaimTakesNoMoreThanAsked(t *testing.T) {
	d := newDatabase(t)
	all := enqueueMany(t, d.pool, "q", 30)
	if got := ids(claimAs(t, d.pool, uuid.New(), 7, "q", "r")); !slices.Equal(got, all[:7]) {
		t.Errorf("claimed %v", got)
	}
	if got := ids(claimAs(t, d.pool, uuid.New(), 1000, "q", "r")); !slices.Equal(got, all[7:]) {
		t.Errorf("then claimed %v", got)
	}
}

func TestClaimAnswersWhatAHandlerNeeds(t *testing.T) {
	d := newDatabase(t)
	id := enqueue(t, d.pool, "q", sql.Named("Payload", `{"n":1}`), sql.Named("MaxAttempts", 3), sql.Named("IdempotencyKey", "k"), sql.Named("Headers", `{"h":"1"}`))
	rows := mustQuery(t, d.pool, "chokaq.ClaimJobs", sql.Named("WorkerId", guid(uuid.New())), sql.Named("ClaimToken", guid(uuid.New())), sql.Named("Queues", `["q"]`), sql.Named("MaxJobs", 5))
	if len(rows) != 1 {
		t.Fatalf("%d rows", len(rows))
	}
	for name, want := range map[string]any{"JobId": id, "Queue": "q", "JobType": "t", "Priority": int64(5), "Attempt": int64(0), "MaxAttempts": int64(3), "RequeueCount": int64(0),
		"IdempotencyKey": "k", "Headers": `{"h":"1"}`, "Payload": `{"n":1}`} {
		if rows[0][name] != want {
			t.Errorf("%s is %v, want %v", name, rows[0][name], want)
		}
	}
	wantWhere(t, d, id, "Fetched")
}

func TestAClaimMayBeRepeated(t *testing.T) {
	d := newDatabase(t)
	all := enqueueMany(t, d.pool, "q", 10)
	worker, token := uuid.New(), uuid.New()
	first := claimWith(t, d.pool, worker, token, 4, "q")
	again := claimWith(t, d.pool, worker, token, 4, "q")
	if !slices.Equal(ids(first), all[:4]) || !slices.Equal(ids(again), all[:4]) {
		t.Errorf("claimed %v, then with the same token %v", ids(first), ids(again))
	}
	// What has started since is not handed out as Fetched again, and no more is claimed.
	start(t, d.pool, first[0])
	if third := claimWith(t, d.pool, worker, token, 4, "q"); !slices.Equal(ids(third), all[1:4]) {
		t.Errorf("after a start, the token returns %v", ids(third))
	}
	for _, h := range first[1:] {
		start(t, d.pool, h)
	}
	if fourth := claimWith(t, d.pool, worker, token, 4, "q"); len(fourth) != 0 {
		t.Errorf("a token whose jobs all run returns %v", ids(fourth))
	}
}

func TestScheduledJobsWait(t *testing.T) {
	d := newDatabase(t)
	later := enqueue(t, d.pool, "q", sql.Named("DelaySeconds", 3600), sql.Named("Priority", 10))
	now := enqueue(t, d.pool, "q", sql.Named("Priority", 1))
	if got := ids(claimAs(t, d.pool, uuid.New(), 10, "q")); !slices.Equal(got, []int64{now}) {
		t.Errorf("claimed %v, want %d only", got, now)
	}
	mustExec(t, d.pool, "UPDATE chokaq.Jobs SET DueAt = DATEADD(SECOND, -1, SYSUTCDATETIME()) WHERE JobId = @Id", sql.Named("Id", later))
	if got := ids(claimAs(t, d.pool, uuid.New(), 10, "q")); !slices.Equal(got, []int64{later}) {
		t.Errorf("claimed %v, want %d once it is due", got, later)
	}
}

func TestPause(t *testing.T) {
	d := newDatabase(t)
	paused, running := enqueue(t, d.pool, "a"), enqueue(t, d.pool, "b")
	mustExec(t, d.pool, "chokaq.PauseQueue", sql.Named("Queue", "a"))
	mustExec(t, d.pool, "chokaq.PauseQueue", sql.Named("Queue", "a"))
	if got := ids(claimAs(t, d.pool, uuid.New(), 10, "a", "b")); !slices.Equal(got, []int64{running}) {
		t.Errorf("claimed %v, want %d", got, running)
	}
	mustExec(t, d.pool, "chokaq.ResumeQueue", sql.Named("Queue", "a"))
	if got := ids(claimAs(t, d.pool, uuid.New(), 10, "a", "b")); !slices.Equal(got, []int64{paused}) {
		t.Errorf("after resuming claimed %v, want %d", got, paused)
	}
}

func TestConcurrencyLimit(t *testing.T) {
	d := newDatabase(t)
	enqueueMany(t, d.pool, "q", 10)
	limit := func(n any) {
		mustExec(t, d.pool, "chokaq.SetQueueLimit", sql.Named("Queue", "q"), sql.Named("ConcurrencyLimit", n))
	}
	limit(3)
	worker := uuid.New()
	first := claimAs(t, d.pool, worker, 10, "q")
	if len(first) != 3 {
		t.Fatalf("claimed %d, want 3", len(first))
	}
	start(t, d.pool, first[0]) // Processing counts as Fetched does
	if got := claimAs(t, d.pool, uuid.New(), 10, "q"); len(got) != 0 {
		t.Errorf("claimed %d above the limit", len(got))
	}
	answers(t, d.pool, "CompleteJobs", claimsJSON(t, first[:1]))
	if got := claimAs(t, d.pool, uuid.New(), 10, "q"); len(got) != 1 {
		t.Errorf("claimed %d after one completed, want 1", len(got))
	}
	limit(0)
	if got := claimAs(t, d.pool, uuid.New(), 10, "q"); len(got) != 0 {
		t.Errorf("claimed %d with limit 0", len(got))
	}
	limit(nil)
	if got := claimAs(t, d.pool, uuid.New(), 10, "q"); len(got) != 6 {
		t.Errorf("claimed %d with no limit, want 6", len(got))
	}
}

func TestClaimRefusesBadInput(t *testing.T) {
	d := newDatabase(t)
	for _, c := range []struct {
		worker, token any
		queues        any
		most          any
		number        int32
		says          string
	}{
		{nil, guid(uuid.New()), `["q"]`, 1, 51013, "@WorkerId"},
		{guid(uuid.New()), nil, `["q"]`, 1, 51013, "@ClaimToken"},
		{guid(uuid.New()), guid(uuid.New()), nil, 1, 51004, "@Queues"},
		{guid(uuid.New()), guid(uuid.New()), `"q"`, 1, 51004, "@Queues"},
		{guid(uuid.New()), guid(uuid.New()), `[]`, 1, 51004, "@Queues"},
		{guid(uuid.New()), guid(uuid.New()), `[5]`, 1, 51004, "@Queues"},
		{guid(uuid.New()), guid(uuid.New()), `["q"]`, 0, 51003, "@MaxJobs"},
		{guid(uuid.New()), guid(uuid.New()), `["q"]`, 1001, 51003, "@MaxJobs"},
	} {
		_, err := query(t.Context(), d.pool, "chokaq.ClaimJobs", sql.Named("WorkerId", c.worker), sql.Named("ClaimToken", c.token), sql.Named("Queues", c.queues), sql.Named("MaxJobs", c.most))
		wantError(t, err, c.number, c.says)
	}
}

// A claim whose request arrives after the worker has said draining gets nothing, and draining waits for claims under way: so what a stop releases
// is everything.
func TestADrainingWorkerClaimsNothing(t *testing.T) {
	versioning(t, func(t *testing.T, d *database) {
		all := enqueueMany(t, d.pool, "q", 4)
		worker := registered(t, d, "q")
		claiming := begin(t, d)
		claimed := claimAs(t, claiming, worker, 2, "q")

		conn := d.session(t)
		spid := number(t, conn, "SELECT CONVERT(int, @@SPID) AS s")
		said := make(chan error, 1)
		go func() {
			_, err := conn.ExecContext(t.Context(), "chokaq.SetWorkerState", workerArg(worker), sql.Named("State", "draining"))
			said <- err
		}()
		waitBlocked(t, d, spid)
		if err := claiming.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-said; err != nil {
			t.Fatal(err)
		}
		if late := claimAs(t, d.pool, worker, 2, "q"); len(late) != 0 {
			t.Errorf("a draining worker claimed %v", late)
		}
		if r := mustQuery(t, d.pool, "chokaq.ReleaseJobs", workerArg(worker)); len(r) != len(claimed) {
			t.Errorf("released %v, want the %d that were claimed", r, len(claimed))
		}
		if got := ids(claimAs(t, d.pool, registered(t, d, "q"), 10, "q")); !slices.Equal(got, all) {
			t.Errorf("another worker claimed %v, want %v", got, all)
		}
	})
}
