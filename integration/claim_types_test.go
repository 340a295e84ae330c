package integration

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
)

// claimTypes claims jobs of some types only, and returns them in the order of the answer.
func claimTypes(t *testing.T, q querier, most int, types []string, queues ...string) []held {
	t.Helper()
	token := uuid.New()
	names, _ := json.Marshal(queues)
	known, _ := json.Marshal(types)
	var all []held
	for _, r := range mustQuery(t, q, "chokaq.ClaimJobs", workerArg(uuid.New()), sql.Named("ClaimToken", guid(token)), sql.Named("Queues", string(names)),
		sql.Named("MaxJobs", most), sql.Named("JobTypes", string(known))) {
		all = append(all, held{r["JobId"].(int64), token.String()})
	}
	return all
}

func enqueueType(t *testing.T, q querier, queue, jobType string, args ...any) int64 {
	t.Helper()
	return mustQuery(t, q, "chokaq.EnqueueJob", append([]any{sql.Named("Queue", queue), sql.Named("JobType", jobType)}, args...)...)[0]["JobId"].(int64)
}

func TestAClaimLeavesTypesThatItDoesNotKnow(t *testing.T) {
	d := newDatabase(t)
	foreign := enqueueType(t, d.pool, "q", "foreign")
	urgent := enqueueType(t, d.pool, "q", "foreign", sql.Named("Priority", 10))
	first := enqueueType(t, d.pool, "q", "a")
	second := enqueueType(t, d.pool, "q", "b")
	third := enqueueType(t, d.pool, "q", "a")
	later := enqueueType(t, d.pool, "q", "a", sql.Named("DelaySeconds", 3600))
	// First in, first out across the types that it knows, whatever stands in front.
	if got := ids(claimTypes(t, d.pool, 2, []string{"a", "b"}, "q")); !slices.Equal(got, []int64{first, second}) {
		t.Errorf("claimed %v; want %v", got, []int64{first, second})
	}
	if got := ids(claimTypes(t, d.pool, 10, []string{"a", "b", "a"}, "q")); !slices.Equal(got, []int64{third}) {
		t.Errorf("claimed %v; want %v", got, []int64{third})
	}
	for _, id := range []int64{foreign, urgent, later} {
		wantWhere(t, d, id, "Pending")
	}
	// Types are exact, and a worker that names none takes all.
	if got := claimTypes(t, d.pool, 10, []string{"Foreign"}, "q"); len(got) != 0 {
		t.Errorf("another case was claimed: %v", got)
	}
	if got := ids(claimAs(t, d.pool, uuid.New(), 10, "q")); !slices.Equal(got, []int64{urgent, foreign}) {
		t.Errorf("claimed %v; want %v", got, []int64{urgent, foreign})
	}
}

func TestJobTypesOfAClaimAreChecked(t *testing.T) {
	d := newDatabase(t)
	for _, types := range []string{"", "x", "{}", "[]", "[1]", `[""]`, `["` + string(slices.Repeat([]byte("x"), 129)) + `"]`} {
		_, err := query(t.Context(), d.pool, "chokaq.ClaimJobs", workerArg(uuid.New()), sql.Named("ClaimToken", guid(uuid.New())), sql.Named("Queues", `["q"]`), sql.Named("MaxJobs", 1),
			sql.Named("JobTypes", types))
		wantError(t, err, 51004, "@JobTypes", "1 to 1000 names")
	}
}

// However many jobs of other types stand in front, a claim reads about as much; and nothing of them is locked.
func TestReadsOfAClaimPastOtherTypesAreFlat(t *testing.T) {
	cost := func(foreign int) int64 {
		d := newDatabase(t)
		sim := d.requireSim(t)
		fill(t, d, 1_000_000, foreign, 0, 0, 0) // of type "t"
		for range 20 {
			enqueueType(t, d.pool, "q", "a")
			enqueueType(t, d.pool, "q", "b")
		}
		before, scansBefore := reads(t, sim, d)
		if got := claimTypes(t, d.pool, 30, []string{"a", "b", "c"}, "q"); len(got) != 30 {
			t.Fatalf("claimed %d past %d others", len(got), foreign)
		}
		after, scansAfter := reads(t, sim, d)
		if scansAfter != scansBefore {
			t.Errorf("a claim past %d others scanned an index", foreign)
		}
		return after - before
	}
	small, large := cost(100), cost(20_000)
	t.Logf("rows read by a claim of 30: %d past 100 jobs of other types, %d past 20,000", small, large)
	if large > small+10 {
		t.Errorf("a claim past 20,000 jobs of other types reads %d rows, past 100 it reads %d", large, small)
	}
}

// Rows in front that another session has locked are stepped over, in several windows if need be.
func TestAClaimByTypeStepsOverLockedRows(t *testing.T) {
	d := newDatabase(t)
	enqueueType(t, d.pool, "q", "foreign")
	var all []int64
	for range 25 {
		all = append(all, enqueueType(t, d.pool, "q", "a"))
	}
	holder := d.session(t)
	mustExec(t, holder, "BEGIN TRANSACTION")
	mustExec(t, holder, "UPDATE j SET Priority = Priority FROM chokaq.Jobs AS j WITH (ROWLOCK, INDEX (PK_Jobs)) WHERE j.JobId BETWEEN @From AND @To", sql.Named("From", all[0]), sql.Named("To", all[19]))
	claimer := d.session(t)
	mustExec(t, claimer, "SET LOCK_TIMEOUT 0")
	if got := ids(claimTypes(t, claimer, 3, []string{"a"}, "q")); !slices.Equal(got, all[20:23]) {
		t.Errorf("claimed %v; want %v", got, all[20:23])
	}
	mustExec(t, holder, "ROLLBACK")
}

// Workers that know different types, side by side on one queue: each job goes to one that knows it, none twice, none is left.
func TestClaimersOfDifferentTypes(t *testing.T) {
	d := newDatabase(t)
	const each = 300
	for n := 0; n < each; n += 100 {
		for _, jobType := range []string{"a", "b", "c"} {
			text := "["
			for i := range 100 {
				if i > 0 {
					text += ","
				}
				text += fmt.Sprintf(`{"queue":"q","type":%q}`, jobType)
			}
			mustQuery(t, d.pool, "chokaq.EnqueueJobs", sql.Named("Jobs", text+"]"))
		}
	}
	var mu sync.Mutex
	taken := make(map[int64]bool)
	var group sync.WaitGroup
	for n, types := range [][]string{{"a"}, {"a", "b"}, {"b", "c"}, {"c"}, {"a", "b", "c"}, {"b"}} {
		session := d.session(t)
		group.Go(func() {
			mustExec(t, session, "SET LOCK_TIMEOUT 0")
			for empty := 0; empty < 3; {
				got := claimTypes(t, session, 7+n, types, "q")
				if len(got) == 0 {
					empty++
					continue
				}
				mu.Lock()
				for _, h := range got {
					if taken[h.ID] {
						t.Errorf("job %d was claimed twice", h.ID)
					}
					taken[h.ID] = true
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if len(taken) != 3*each {
		t.Errorf("%d of %d jobs were claimed", len(taken), 3*each)
	}
	if n := number(t, d.pool, "SELECT COUNT(*) FROM chokaq.Jobs AS j INNER JOIN chokaq.Jobs AS k ON k.JobId = j.JobId WHERE j.State <> 1"); n != 0 {
		t.Errorf("%d are left", n)
	}
}
