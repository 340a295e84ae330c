package integration

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/chokaq/chokaq/internal/sqlsim"
)

// fill inserts rows without going through EnqueueJobs: quickly, and any number in one statement. The queue's jobs number from first.
func fill(t testing.TB, d *database, first, pending, scheduled, archived, dead int) {
	t.Helper()
	for _, f := range []struct {
		n         int
		statement string
	}{
		{pending, `INSERT INTO chokaq.Jobs (JobId, Queue, JobType, Priority, State, DueAt, Attempt, MaxAttempts, RequeueCount, EnqueuedAt, EnqueuedBy, Payload)
SELECT n, N'q', N't', 5, 0, DATEADD(SECOND, -60, SYSUTCDATETIME()), 0, 10, 0, SYSUTCDATETIME(), N'x', N'{"n":1}' FROM (%s) AS s`},
		{scheduled, `INSERT INTO chokaq.Jobs (JobId, Queue, JobType, Priority, State, DueAt, Attempt, MaxAttempts, RequeueCount, EnqueuedAt, EnqueuedBy, Payload)
SELECT n, N'q', N't', 5, 0, DATEADD(DAY, 1, SYSUTCDATETIME()), 0, 10, 0, SYSUTCDATETIME(), N'x', N'{"n":1}' FROM (%s) AS s`},
		{archived, `INSERT INTO chokaq.JobsArchive (JobId, Queue, JobType, Priority, DueAt, Attempt, MaxAttempts, RequeueCount, FinishedAt, EnqueuedAt, EnqueuedBy, Payload)
SELECT n, N'q', N't', 5, SYSUTCDATETIME(), 1, 10, 0, SYSUTCDATETIME(), SYSUTCDATETIME(), N'x', N'{"n":1}' FROM (%s) AS s`},
		{dead, `INSERT INTO chokaq.JobsDLQ (JobId, Queue, JobType, Priority, DueAt, Attempt, MaxAttempts, RequeueCount, Reason, DeadAt, EnqueuedAt, EnqueuedBy, Payload)
SELECT n, N'q', N't', 5, SYSUTCDATETIME(), 1, 10, 0, 'Failed', SYSUTCDATETIME(), SYSUTCDATETIME(), N'x', N'{"n":1}' FROM (%s) AS s`},
	} {
		if f.n == 0 {
			continue
		}
		const digits = `(VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))`
		numbers := fmt.Sprintf(`SELECT TOP (%d) %d + a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d AS n FROM %s AS a (d) CROSS JOIN %s AS b (d) CROSS JOIN %s AS c (d) CROSS JOIN %s AS e (d) CROSS JOIN %s AS f (d)`,
			f.n, first, digits, digits, digits, digits, digits)
		if _, err := d.pool.Exec(fmt.Sprintf(f.statement, numbers)); err != nil {
			t.Fatal(err)
		}
		first += 100_000
	}
}

// reads is what the indexes of the job tables have been read by all sessions.
func reads(t testing.TB, sim *sqlsim.Server, d *database) (rows, scans int64) {
	t.Helper()
	for _, table := range []string{"chokaq.Jobs", "chokaq.JobsArchive", "chokaq.JobsDLQ"} {
		indexes, _, _, ok := sim.Engine().TableUse(d.name, table)
		if !ok {
			t.Fatalf("no table %s", table)
		}
		for _, x := range indexes {
			rows += x.RowsRead + x.Lookups
			scans += x.Scans
		}
	}
	return rows, scans
}

// What a claim reads does not depend on how much is pending, scheduled, archived or dead.
func TestReadsOfAClaimAreFlat(t *testing.T) {
	const most = 100
	cost := func(pending, scheduled, archived, dead int) int64 {
		d := newDatabase(t)
		sim := d.requireSim(t)
		fill(t, d, 1, pending, scheduled, archived, dead)
		before, scansBefore := reads(t, sim, d)
		if got := claimAs(t, d.pool, uuid.New(), most, "q"); len(got) != min(most, pending) {
			t.Fatalf("claimed %d", len(got))
		}
		after, scansAfter := reads(t, sim, d)
		if scansAfter != scansBefore {
			t.Errorf("a claim with %d pending and %d scheduled scanned an index", pending, scheduled)
		}
		return after - before
	}
	many := 100_000
	if raceEnabled {
		many = 20_000 // the detector makes filling slow, and the numbers are the same
	}
	small := cost(100, 0, 0, 0)
	large := cost(many, many, many, 1_000)
	empty := cost(0, 10_000, 0, 0)
	t.Logf("rows read by a claim of %d: %d with 100 pending, %d with %d pending, scheduled and archived, 1,000 dead; %d with nothing due and 10,000 scheduled", most, small, large, many, empty)
	if large > small+10 {
		t.Errorf("a claim of %d reads %d rows on the large queue and %d on the small one", most, large, small)
	}
	if small > 8*most {
		t.Errorf("a claim of %d reads %d rows", most, small)
	}
	if empty > 10 {
		t.Errorf("a claim that finds nothing due reads %d rows", empty)
	}
}

// Starting, renewing, completing and failing go by the clustered key, whatever else is there.
func TestReadsOfWorkerCallsAreFlat(t *testing.T) {
	cost := func(pending int) (all [4]int64) {
		d := newDatabase(t)
		sim := d.requireSim(t)
		worker := registered(t, d, "work")
		fill(t, d, 1_000_000, pending, pending, pending, 0)
		enqueueMany(t, d.pool, "work", 100)
		held := claimAs(t, d.pool, worker, 100, "work")
		for i, call := range []func(){
			func() { start(t, d.pool, held...) },
			func() {
				answers(t, d.pool, "HeartbeatJobs", claimsJSON(t, held), workerArg(worker))
			},
			func() { answers(t, d.pool, "FailJobs", claimsJSON(t, held[:50])) },
			func() { answers(t, d.pool, "CompleteJobs", claimsJSON(t, held[50:])) },
		} {
			before, scansBefore := reads(t, sim, d)
			call()
			after, scansAfter := reads(t, sim, d)
			if scansAfter != scansBefore {
				t.Errorf("call %d scanned an index with %d pending", i, pending)
			}
			all[i] = after - before
		}
		return all
	}
	small, large := cost(10), cost(20_000)
	t.Logf("rows read by start, heartbeat (100 rows), fail, complete (50 rows): %v on a small queue, %v on a large one", small, large)
	for i := range small {
		if large[i] > small[i]+10 {
			t.Errorf("call %d reads %d rows on a large queue and %d on a small one", i, large[i], small[i])
		}
	}
}

// What purging reads does not depend on how much is kept.
func TestReadsOfPurgingAreFlat(t *testing.T) {
	const batch = 20
	d := newDatabase(t)
	sim := d.requireSim(t)
	d.set(t, "Recovery.BatchSize", batch)
	fill(t, d, 1, 0, 0, 2_000, 2_000)
	const numbers = `FROM (SELECT TOP (2000) ROW_NUMBER() OVER (ORDER BY JobId) AS n FROM chokaq.JobsArchive) AS s`
	for _, statement := range []string{
		`INSERT INTO chokaq.RecoveryRuns (ProcedureName, StartedAt, FinishedAt, RowsMoved, LoginName) SELECT 'x', SYSUTCDATETIME(), SYSUTCDATETIME(), 0, N'x' ` + numbers,
		`INSERT INTO chokaq.OperatorActions (ActionName, LoginName, ActedAt) SELECT 'x', N'x', SYSUTCDATETIME() ` + numbers,
		`INSERT INTO chokaq.JobFailures (JobId, RequeueCount, Attempt, Reason, FailedAt) SELECT s.n, 0, 1, 'Retried', SYSUTCDATETIME() ` + numbers,
		`INSERT INTO chokaq.WorkerStops (WorkerId, HostName, ProcessId, Version, Queues, DrainingAt) SELECT NEWID(), N'x', 1, N'x', N'[]', SYSUTCDATETIME() ` + numbers,
	} {
		mustExec(t, d.pool, statement)
	}
	for _, old := range []bool{false, true} {
		if old { // three batches of each log are old
			mustExec(t, d.pool, `UPDATE chokaq.RecoveryRuns SET StartedAt = '2001-01-01' WHERE RunId <= (SELECT MIN(RunId) + 59 FROM chokaq.RecoveryRuns)`)
			mustExec(t, d.pool, `UPDATE chokaq.OperatorActions SET ActedAt = '2001-01-01' WHERE ActionId <= (SELECT MIN(ActionId) + 59 FROM chokaq.OperatorActions)`)
		}
		used := func() map[string]int64 {
			all := make(map[string]int64)
			for _, table := range []string{"JobsArchive", "JobsDLQ", "JobFailures", "WorkerStops", "OperatorActions", "RecoveryRuns"} {
				indexes, _, _, ok := sim.Engine().TableUse(d.name, "chokaq."+table)
				if !ok {
					t.Fatalf("no table %s", table)
				}
				for _, x := range indexes {
					all[table] += x.RowsRead + x.Lookups
				}
			}
			return all
		}
		before, want := used(), int64(0)
		if old {
			want = 120
		}
		if moved := number(t, d.pool, "chokaq.PurgeHistory"); moved != want {
			t.Errorf("%d rows were removed, want %d", moved, want)
		}
		for table, after := range used() {
			if n, most := after-before[table], 2*want+3*batch; n > most {
				t.Errorf("purging removed %d rows and read %d of %s, want at most %d", want, n, table, most)
			}
		}
	}
}
