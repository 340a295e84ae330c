package integration

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	mssql "github.com/microsoft/go-mssqldb"

	"github.com/chokaq/chokaq/db"
)

// impatient is a session in which any wait for a lock is error 1222: a claim that succeeds in it has waited for nobody.
func impatient(t *testing.T, d *database) *sql.Conn {
	t.Helper()
	conn := d.session(t)
	mustExec(t, conn, "SET LOCK_TIMEOUT 0")
	return conn
}

func begin(t *testing.T, d *database) *sql.Tx {
	t.Helper()
	// Not the test's context: it ends before the clean-up, and database/sql would roll back at the same time.
	tx, err := d.pool.Begin()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// versioning runs a test with READ_COMMITTED_SNAPSHOT off and on: Azure SQL Database has it on, SQL Server off.
func versioning(t *testing.T, run func(t *testing.T, d *database)) {
	for _, state := range []string{"OFF", "ON"} {
		t.Run("READ_COMMITTED_SNAPSHOT_"+state, func(t *testing.T) {
			d := newEmptyDatabase(t)
			mustExec(t, d.pool, "ALTER DATABASE "+d.name+" SET READ_COMMITTED_SNAPSHOT "+state+" WITH ROLLBACK IMMEDIATE")
			if err := (db.Installer{DSN: d.dsn}).Up(t.Context()); err != nil {
				t.Fatal(err)
			}
			run(t, d)
		})
	}
}

func TestClaimersDoNotWaitForEachOther(t *testing.T) {
	versioning(t, func(t *testing.T, d *database) {
		all := enqueueMany(t, d.pool, "q", 10)
		first := claimAs(t, begin(t, d), uuid.New(), 4, "q") // its transaction stays open
		second := claimAs(t, impatient(t, d), uuid.New(), 4, "q")
		if !slices.Equal(ids(first), all[:4]) || !slices.Equal(ids(second), all[4:8]) {
			t.Errorf("claimed %v and %v", ids(first), ids(second))
		}
	})
}

func TestAClaimStepsOverAThousandLockedRows(t *testing.T) {
	versioning(t, func(t *testing.T, d *database) {
		all := enqueueMany(t, d.pool, "q", 1010)
		locker := begin(t, d)
		mustExec(t, locker, "UPDATE j SET LastError = N'x' FROM chokaq.Jobs AS j WITH (ROWLOCK) WHERE j.JobId <= @Last", sql.Named("Last", all[999]))
		if got := ids(claimAs(t, impatient(t, d), uuid.New(), 5, "q")); !slices.Equal(got, all[1000:1005]) {
			t.Errorf("claimed %v, want %v", got, all[1000:1005])
		}
	})
}

// A session that came by the clustered key (an operator's cancellation) holds it and will want the entry of IX_Jobs_Pending. The claim
// holds that entry: if it waited for the clustered key, the two would deadlock.
func TestAClaimSkipsARowWhoseClusteredKeyIsLocked(t *testing.T) {
	versioning(t, func(t *testing.T, d *database) {
		all := enqueueMany(t, d.pool, "q", 3)
		canceler := begin(t, d)
		mustQuery(t, canceler, "SELECT JobId FROM chokaq.Jobs WITH (INDEX (PK_Jobs), ROWLOCK, UPDLOCK) WHERE JobId = @Id", sql.Named("Id", all[0]))
		if got := ids(claimAs(t, impatient(t, d), uuid.New(), 5, "q")); !slices.Equal(got, all[1:]) {
			t.Errorf("claimed %v, want %v", got, all[1:])
		}
		mustQuery(t, canceler, "chokaq.CancelJob", sql.Named("JobId", all[0]))
		if err := canceler.Commit(); err != nil {
			t.Fatal(err)
		}
		wantWhere(t, d, all[0], "Dead Cancelled")
	})
}

func TestAClaimSkipsAQueueWhoseSwitchIsBeingSet(t *testing.T) {
	versioning(t, func(t *testing.T, d *database) {
		a, b := enqueue(t, d.pool, "a"), enqueue(t, d.pool, "b")
		operator := begin(t, d)
		mustExec(t, operator, "chokaq.PauseQueue", sql.Named("Queue", "a"))
		if got := ids(claimAs(t, impatient(t, d), uuid.New(), 5, "a", "b")); !slices.Equal(got, []int64{b}) {
			t.Errorf("claimed %v, want %d", got, b)
		}
		if err := operator.Rollback(); err != nil {
			t.Fatal(err)
		}
		if got := ids(claimAs(t, impatient(t, d), uuid.New(), 5, "a", "b")); !slices.Equal(got, []int64{a}) {
			t.Errorf("after the rollback claimed %v, want %d", got, a)
		}
	})
}

// Ten claimers and 10,000 jobs, with no patience for locks at all: no job twice, none left, nobody waited.
func TestTenClaimers(t *testing.T) {
	versioning(t, func(t *testing.T, d *database) {
		const jobs = 10_000
		enqueueMany(t, d.pool, "q", jobs)
		var mu sync.Mutex
		claimed := make(map[int64]int)
		var wg sync.WaitGroup
		for range 10 {
			conn := impatient(t, d)
			wg.Go(func() {
				worker := uuid.New()
				for {
					rows, err := query(t.Context(), conn, "chokaq.ClaimJobs", sql.Named("WorkerId", guid(worker)), sql.Named("ClaimToken", guid(uuid.New())),
						sql.Named("Queues", `["q"]`), sql.Named("MaxJobs", 50))
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					for _, r := range rows {
						claimed[r["JobId"].(int64)]++
					}
					mu.Unlock()
					if len(rows) == 0 && number(t, d.pool, "SELECT COUNT(*) AS n FROM chokaq.Jobs WITH (NOLOCK) WHERE State = 0") == 0 {
						return
					}
				}
			})
		}
		wg.Wait()
		if len(claimed) != jobs {
			t.Errorf("%d jobs were claimed, want %d", len(claimed), jobs)
		}
		for id, n := range claimed {
			if n != 1 {
				t.Errorf("job %d was claimed %d times", id, n)
			}
		}
	})
}

func TestALimitHoldsAgainstManyClaimers(t *testing.T) {
	versioning(t, func(t *testing.T, d *database) {
		enqueueMany(t, d.pool, "q", 200)
		mustExec(t, d.pool, "chokaq.SetQueueLimit", sql.Named("Queue", "q"), sql.Named("ConcurrencyLimit", 7))
		var wg sync.WaitGroup
		for range 8 {
			conn := d.session(t)
			wg.Go(func() {
				if _, err := query(t.Context(), conn, "chokaq.ClaimJobs", sql.Named("WorkerId", guid(uuid.New())), sql.Named("ClaimToken", guid(uuid.New())),
					sql.Named("Queues", `["q"]`), sql.Named("MaxJobs", 5)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := number(t, d.pool, "SELECT COUNT(*) AS n FROM chokaq.Jobs WHERE State = 1"); n != 7 {
			t.Errorf("%d jobs are Fetched, want 7", n)
		}
	})
}

// Whatever the last user of a pooled session has left behind, the procedures do their work.
func TestLeftOverSessionSettings(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{
		"SET TRANSACTION ISOLATION LEVEL SNAPSHOT", "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
		"SET ROWCOUNT 1", "SET LANGUAGE British", "SET DATEFORMAT dmy", "SET DATEFIRST 3", "SET QUOTED_IDENTIFIER OFF", "SET XACT_ABORT OFF", "SET NOCOUNT OFF",
		"SET IMPLICIT_TRANSACTIONS OFF", "SET ANSI_NULL_DFLT_ON OFF",
		// What DB-Library and FreeTDS's heirs of it begin with.
		"SET ANSI_DEFAULTS OFF", "SET ANSI_WARNINGS OFF", "SET ANSI_WARNINGS, ARITHABORT OFF", "SET ANSI_PADDING OFF", "SET CONCAT_NULL_YIELDS_NULL OFF", "SET NUMERIC_ROUNDABORT ON",
		"SET ANSI_NULLS, QUOTED_IDENTIFIER, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL OFF; SET NUMERIC_ROUNDABORT ON",
	} {
		t.Run(setting, func(t *testing.T) {
			d := newDatabase(t)
			mustExec(t, d.pool, "ALTER DATABASE "+d.name+" SET ALLOW_SNAPSHOT_ISOLATION ON")
			conn := d.session(t)
			mustExec(t, conn, setting)
			wholeLife(t, d, conn)
		})
	}
}

// wholeLife takes jobs through every procedure of producers, workers and recovery over one session.
func wholeLife(t *testing.T, d *database, q querier) {
	t.Helper()
	worker := registered(t, d, "q")
	enqueueMany(t, q, "q", 4)
	mustQuery(t, q, "chokaq.EnqueueJobs", sql.Named("Jobs", `[{"queue":"later","type":"t","dueAt":"2100-02-28T00:00:00Z","idempotencyKey":"k"},{"queue":"later","type":"t","idempotencyKey":"k"}]`))
	all := claimAs(t, q, worker, 4, "q")
	if len(all) != 4 {
		t.Fatalf("claimed %d, want 4", len(all))
	}
	wantAnswers(t, "start", start(t, q, all[:3]...), each(all[:3], "Started Processing"))
	wantAnswers(t, "heartbeat", answers(t, q, "HeartbeatJobs", claimsJSON(t, all), sql.Named("WorkerId", guid(worker))), map[int64]string{})
	wantAnswers(t, "complete", answers(t, q, "CompleteJobs", claimsJSON(t, all[:1])), each(all[:1], "Completed Archived"))
	wantAnswers(t, "fail", answers(t, q, "FailJobs", claimsJSON(t, all[1:2], map[string]any{"final": true})), each(all[1:2], "Dead Dead"))
	if r := mustQuery(t, q, "chokaq.ReleaseJobs", sql.Named("WorkerId", guid(worker))); len(r) != 1 || said(r[0]) != "Released Pending" {
		t.Errorf("release answered %v", r)
	}
	age(t, d, 1000, all[2])
	for procedure, want := range map[string]int64{"ResetFetchedJobs": 0, "RescueZombieJobs": 1, "PurgeHistory": 0} {
		if n := number(t, q, "chokaq."+procedure); n != want {
			t.Errorf("%s moved %d, want %d", procedure, n, want)
		}
	}
	if r := mustQuery(t, q, "chokaq.RequeueDeadJobs", sql.Named("JobIds", idsJSON(all[1:3]...))); len(r) != 2 || r[0]["Result"] != "Requeued" || r[1]["Result"] != "Requeued" {
		t.Errorf("requeue answered %v", r)
	}
	if r := mustQuery(t, q, "chokaq.CancelJob", sql.Named("JobId", all[3].ID)); said(r[0]) != "Cancelled Dead" {
		t.Errorf("cancel answered %v", r)
	}
	if n := number(t, d.pool, "SELECT COUNT(*) AS n FROM chokaq.Jobs"); n != 3 {
		t.Errorf("%d live jobs at the end, want 3", n)
	}
}

func TestDatabaseCollations(t *testing.T) {
	t.Parallel()
	for _, collation := range []string{"Latin1_General_100_CS_AS", "Latin1_General_BIN2", "Latin1_General_100_CI_AI", "SQL_Latin1_General_CP1_CI_AS",
		"Latin1_General_100_CI_AS_SC_UTF8"} {
		t.Run(collation, func(t *testing.T) {
			d := newEmptyDatabase(t)
			mustExec(t, d.pool, "ALTER DATABASE "+d.name+" COLLATE "+collation)
			if err := (db.Installer{DSN: d.dsn}).Up(t.Context()); err != nil {
				t.Fatal(err)
			}
			wholeLife(t, d, d.session(t))
			for _, view := range []string{"QueueStatus", "WorkerStatus", "DeadJobs", "RecoveryStatus", "CurrentSettings", "OperatorLog", "JobTypeStatus", "HeldJobs", "DeadJobGroups",
				"StopHistory", "RecurringJobStatus"} {
				mustQuery(t, d.pool, "SELECT * FROM chokaq."+view)
			}
			all := processing(t, d, registered(t, d, "odd"), "odd", 1)
			answers(t, d.pool, "FailJobs", claimsJSON(t, all, map[string]any{"final": true, "error": "line\nother"}))
			if ids, _ := found(t, d, sql.Named("ErrorText", "line"), sql.Named("Reason", "Failed"), sql.Named("Queue", "odd")); len(ids) != 1 {
				t.Errorf("FindDeadJobs finds %v", ids)
			}
			mustQuery(t, d.pool, "chokaq.GetJobHistory", sql.Named("JobId", all[0].ID))
			for _, want := range []string{"Created", "Unchanged", "Changed"} {
				cron := "0 * * * *"
				if want == "Changed" {
					cron = "1 * * * *"
				}
				got := mustQuery(t, d.pool, "chokaq.SetRecurringJob", sql.Named("Name", "r"), sql.Named("Cron", cron), sql.Named("Queue", "odd"), sql.Named("JobType", "t"))
				if len(got) != 1 || got[0]["Result"] != want {
					t.Errorf("SetRecurringJob answers %v; want %s", got, want)
				}
			}
			if groups := mustQuery(t, d.pool, "SELECT ErrorStart FROM chokaq.DeadJobGroups WHERE Queue = N'odd'"); len(groups) != 1 || groups[0]["ErrorStart"] != "line" {
				t.Errorf("groups: %v", groups)
			}
		})
	}
}

// Every procedure works inside a caller's transaction, and is undone with it.
func TestEverythingRollsBackWithTheCaller(t *testing.T) {
	d := newDatabase(t)
	worker := registered(t, d, "q")
	running := processing(t, d, worker, "q", 2)
	deadJobs := dead(t, d, 1)
	pending := enqueue(t, d.pool, "q")
	tx := begin(t, d)
	claimAs(t, tx, worker, 5, "q")
	answers(t, tx, "CompleteJobs", claimsJSON(t, running[:1]))
	answers(t, tx, "FailJobs", claimsJSON(t, running[1:]))
	mustQuery(t, tx, "chokaq.RequeueDeadJobs", sql.Named("JobIds", idsJSON(deadJobs...)))
	mustExec(t, tx, "chokaq.PauseQueue", sql.Named("Queue", "q"))
	if n := number(t, tx, "SELECT @@TRANCOUNT AS n"); n != 1 {
		t.Fatalf("@@TRANCOUNT is %d", n)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	wantWhere(t, d, pending, "Pending")
	wantWhere(t, d, running[0].ID, "Processing")
	wantWhere(t, d, running[1].ID, "Processing")
	wantWhere(t, d, deadJobs[0].ID, "Dead Failed")
	if n := number(t, d.pool, "SELECT COUNT(*) AS n FROM chokaq.Queues"); n != 0 {
		t.Error("the pause was not rolled back")
	}
}

// Clients in manual-commit mode (ODBC's and JDBC's autocommit off, pyodbc's default) let the first statement of a procedure begin the transaction: what a procedure
// does is kept when they commit, and undone when they roll back.
func TestImplicitTransactions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		call string
		args []any
	}{
		{"chokaq.EnqueueJob", []any{sql.Named("Queue", "new"), sql.Named("JobType", "t"), sql.Named("IdempotencyKey", "k")}},
		{"chokaq.EnqueueJobs", []any{sql.Named("Jobs", `[{"queue":"new","type":"t"},{"queue":"new","type":"t","idempotencyKey":"k"}]`)}},
		{"chokaq.CancelJob", []any{sql.Named("JobId", int64(1))}},
		{"chokaq.PauseQueue", []any{sql.Named("Queue", "q")}},
		{"chokaq.RequeueDeadJobs", []any{sql.Named("JobIds", "[2]")}},
		{"chokaq.DiscardDeadJobs", []any{sql.Named("JobIds", "[2]"), sql.Named("Note", "n")}},
		{"chokaq.EditDeadJob", []any{sql.Named("JobId", int64(2)), sql.Named("Priority", 7)}},
		{"chokaq.SetSetting", []any{sql.Named("Name", "Recovery.BatchSize"), sql.Named("Value", 77)}},
		{"chokaq.SetRecurringJob", []any{sql.Named("Name", "r"), sql.Named("Cron", "0 * * * *"), sql.Named("Queue", "q"), sql.Named("JobType", "t")}},
	} {
		t.Run(c.call, func(t *testing.T) {
			d := newDatabase(t)
			if id := enqueue(t, d.pool, "q"); id != 1 {
				t.Fatalf("the first job is %d", id)
			}
			all := processing(t, d, registered(t, d, "dead"), "dead", 1)
			wantAnswers(t, "fail", answers(t, d.pool, "FailJobs", claimsJSON(t, all, map[string]any{"final": true})), map[int64]string{2: "Dead Dead"})
			state := func() string {
				return fmt.Sprint(mustQuery(t, d.pool, `
SELECT (SELECT COUNT(*) FROM chokaq.Jobs) AS Jobs, (SELECT MAX(Priority) FROM chokaq.JobsDLQ) AS Priority, (SELECT COUNT(*) FROM chokaq.JobsDLQ) AS Dead, (SELECT COUNT(*) FROM chokaq.Queues) AS Queues,
       (SELECT COUNT(*) FROM chokaq.OperatorActions) AS Actions, (SELECT COUNT(*) FROM chokaq.RecurringJobs) AS Recurring`))
			}
			before := state()
			conn := d.session(t)
			mustExec(t, conn, "SET IMPLICIT_TRANSACTIONS ON")
			for _, end := range []string{"ROLLBACK", "COMMIT"} {
				mustQuery(t, conn, c.call, c.args...)
				if n := number(t, conn, "SELECT @@TRANCOUNT AS n"); n != 1 {
					t.Errorf("@@TRANCOUNT is %d after the call, want 1", n)
				}
				mustExec(t, conn, end)
				if n := number(t, conn, "SELECT @@TRANCOUNT AS n"); n != 0 {
					t.Errorf("@@TRANCOUNT is %d after %s, want 0", n, end)
				}
				if after := state(); (after != before) != (end == "COMMIT") {
					t.Errorf("after %s: %s, before: %s", end, after, before)
				}
			}
		})
	}
}

func TestARefusedCallEndsTheCallersTransaction(t *testing.T) {
	d := newDatabase(t)
	tx := begin(t, d)
	before := enqueue(t, tx, "q")
	_, err := query(t.Context(), tx, "chokaq.EnqueueJob", sql.Named("Queue", ""), sql.Named("JobType", "t"))
	wantError(t, err, 51001)
	_ = tx.Rollback()
	wantWhere(t, d, before, "nowhere")
}

func TestTheHotTableNeverEscalates(t *testing.T) {
	versioning(t, func(t *testing.T, d *database) {
		if r := mustQuery(t, d.pool, "SELECT lock_escalation_desc FROM sys.tables WHERE object_id = OBJECT_ID(N'chokaq.Jobs')")[0]; r["lock_escalation_desc"] != "DISABLE" {
			t.Errorf("lock escalation is %v", r)
		}
		all := enqueueMany(t, d.pool, "q", 7000)
		tx := begin(t, d)
		for range 6 { // far more than 5,000 locks in one transaction
			claimAs(t, tx, uuid.New(), 1000, "q")
		}
		if got := ids(claimAs(t, impatient(t, d), uuid.New(), 5, "q")); !slices.Equal(got, all[6000:6005]) {
			t.Errorf("claimed %v beside a transaction that holds 6,000 rows", got)
		}
	})
}

func TestProceduresAreCreatedWithTheRightSettings(t *testing.T) {
	d := newDatabase(t)
	wrong := mustQuery(t, d.pool, `SELECT p.name AS name FROM sys.procedures AS p INNER JOIN sys.sql_modules AS m ON m.object_id = p.object_id
WHERE p.schema_id = SCHEMA_ID(N'chokaq') AND (m.uses_quoted_identifier = 0 OR m.uses_ansi_nulls = 0)`)
	if len(wrong) > 0 {
		t.Errorf("created with the wrong settings: %v", wrong)
	}
}

// Recovery, heartbeats, starts, completions, cancellations and purging at once: no deadlock among our own procedures.
func TestNoDeadlockAmongOurOwnProcedures(t *testing.T) {
	versioning(t, func(t *testing.T, d *database) {
		d.set(t, "Recovery.FetchedJobTimeout", 1)
		d.set(t, "Recovery.ProcessingZombieTimeout", 1)
		const rounds = 25
		var wg sync.WaitGroup
		run := func(body func(conn *sql.Conn) error) {
			conn := d.session(t)
			wg.Go(func() {
				for range rounds {
					if err := body(conn); err != nil {
						if e, ok := errors.AsType[mssql.Error](err); ok && e.Number == 1205 {
							t.Errorf("deadlock: %v", err)
						} else {
							t.Error(err)
						}
						return
					}
				}
			})
		}
		ctx := t.Context()
		for range 2 {
			run(func(conn *sql.Conn) error {
				_, err := query(ctx, conn, "chokaq.EnqueueJobs", sql.Named("Jobs", `[{"queue":"q","type":"t","idempotencyKey":"b"},{"queue":"q","type":"t"},{"queue":"q","type":"t","idempotencyKey":"a"},{"queue":"q","type":"t","priority":7}]`))
				return err
			})
		}
		for range 4 {
			worker := registered(t, d, "q")
			run(func(conn *sql.Conn) error {
				token := uuid.New()
				rows, err := query(ctx, conn, "chokaq.ClaimJobs", sql.Named("WorkerId", guid(worker)), sql.Named("ClaimToken", guid(token)), sql.Named("Queues", `["q"]`), sql.Named("MaxJobs", 6))
				var all []held
				for _, r := range rows {
					all = append(all, held{r["JobId"].(int64), token.String()})
				}
				calls := []struct {
					procedure string
					args      []any
				}{
					{"StartJobs", []any{sql.Named("Jobs", claimsJSON(t, all[:len(all)/2]))}},
					{"HeartbeatJobs", []any{sql.Named("Jobs", claimsJSON(t, all)), sql.Named("WorkerId", guid(worker))}},
					{"CompleteJobs", []any{sql.Named("Jobs", claimsJSON(t, all[:len(all)/4]))}},
					{"FailJobs", []any{sql.Named("Jobs", claimsJSON(t, all[:len(all)/2]))}},
					{"ReleaseJobs", []any{sql.Named("WorkerId", guid(worker))}},
				}
				for _, c := range calls {
					if err == nil {
						_, err = query(ctx, conn, "chokaq."+c.procedure, c.args...)
					}
				}
				return err
			})
		}
		run(func(conn *sql.Conn) error {
			rows, err := query(ctx, conn, "SELECT TOP (3) JobId FROM chokaq.Jobs WITH (NOLOCK) ORDER BY JobId")
			for _, r := range rows {
				if err == nil {
					if _, err = query(ctx, conn, "chokaq.CancelJob", sql.Named("JobId", r["JobId"])); err != nil {
						if e, ok := errors.AsType[mssql.Error](err); ok && e.Number == 51008 {
							err = nil
						}
					}
				}
			}
			return err
		})
		for _, procedure := range []string{"ResetFetchedJobs", "RescueZombieJobs", "PurgeHistory"} {
			run(func(conn *sql.Conn) error { _, err := query(ctx, conn, "chokaq."+procedure); return err })
		}
		run(func(conn *sql.Conn) error {
			_, err := query(ctx, conn, "SELECT * FROM chokaq.QueueStatus; SELECT * FROM chokaq.WorkerStatus")
			return err
		})
		wg.Wait()
	})
}
