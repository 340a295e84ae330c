package engine

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// background runs a batch in its own goroutine.
func background(s *Session, sql string) chan *recording {
	done := make(chan *recording, 1)
	go func() {
		r := &recording{}
		var e *value.Error
		if err := s.Batch(context.Background(), sql, r); errors.As(err, &e) {
			r.errors = append(r.errors, e)
		}
		done <- r
	}()
	return done
}

// untilBlocked waits until a session waits for a lock.
func untilBlocked(srv *testServer, s *Session) {
	for !srv.Blocked(s.SPID()) {
		runtime.Gosched()
	}
}

func TestReadersAndWriters(t *testing.T) {
	srv := newTestServer(t)
	a, b := srv.connect("q"), srv.connect("q")
	run(t, a, `CREATE TABLE dbo.T (Id int PRIMARY KEY, V int); INSERT dbo.T VALUES (1, 10), (2, 20), (3, 30)`)
	run(t, a, `BEGIN TRAN; UPDATE dbo.T SET V = 11 WHERE Id = 1`)
	expect(t, b, `SELECT V FROM dbo.T WHERE Id = 2`, `20`)
	expect(t, b, `SELECT V FROM dbo.T WITH (NOLOCK) WHERE Id = 1`, `11`)
	expect(t, b, `SELECT Id FROM dbo.T WITH (READPAST) ORDER BY Id`, `2`, `3`)
	fails(t, b, 1222, `SET LOCK_TIMEOUT 0; SELECT V FROM dbo.T WHERE Id = 1`)
	fails(t, b, 1222, `SET LOCK_TIMEOUT -1; SELECT V FROM dbo.T WITH (NOWAIT) WHERE Id = 1`)
	done := background(b, `SELECT V FROM dbo.T WHERE Id = 1`)
	untilBlocked(srv, b)
	run(t, a, `COMMIT`)
	if r := <-done; len(r.lines) != 2 || r.lines[1] != "11" {
		t.Errorf("got %v", r.lines)
	}
	// REPEATABLE READ keeps what it read; SERIALIZABLE keeps the gaps too.
	run(t, a, `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; BEGIN TRAN; SELECT * FROM dbo.T WHERE Id = 2`)
	fails(t, b, 1222, `SET LOCK_TIMEOUT 0; UPDATE dbo.T SET V = 0 WHERE Id = 2`)
	run(t, b, `INSERT dbo.T VALUES (4, 40)`)
	run(t, a, `COMMIT; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRAN; SELECT * FROM dbo.T WHERE Id BETWEEN 2 AND 8`)
	fails(t, b, 1222, `INSERT dbo.T VALUES (6, 60)`)
	run(t, a, `COMMIT`)
	run(t, b, `INSERT dbo.T VALUES (6, 60)`)
}

func TestClaimersSkipEachOther(t *testing.T) {
	srv := newTestServer(t)
	a, b := srv.connect("q"), srv.connect("q")
	run(t, a, `CREATE TABLE dbo.J (Id int PRIMARY KEY, S int NOT NULL, INDEX IX (S, Id)); INSERT dbo.J SELECT value, 0 FROM GENERATE_SERIES(1, 10)`)
	claim := `WITH c AS (SELECT TOP (3) * FROM dbo.J WITH (ROWLOCK, UPDLOCK, READPAST) WHERE S = 0 ORDER BY Id) UPDATE c SET S = 1 OUTPUT inserted.Id`
	run(t, a, `BEGIN TRAN`)
	expect(t, a, claim, `1`, `2`, `3`)
	expect(t, b, claim, `4`, `5`, `6`)
	run(t, a, `ROLLBACK`)
	expect(t, b, claim, `1`, `2`, `3`)
}

func TestDeadlock(t *testing.T) {
	srv := newTestServer(t)
	a, b := srv.connect("q"), srv.connect("q")
	run(t, a, `CREATE TABLE dbo.T (Id int PRIMARY KEY, V int); INSERT dbo.T VALUES (1, 10), (2, 20)`)
	run(t, a, `BEGIN TRAN; UPDATE dbo.T SET V = 0 WHERE Id = 1`)
	run(t, b, `SET DEADLOCK_PRIORITY LOW; BEGIN TRAN; UPDATE dbo.T SET V = 0 WHERE Id = 2`)
	done := background(a, `UPDATE dbo.T SET V = 1 WHERE Id = 2`)
	untilBlocked(srv, a)
	fails(t, b, 1205, `UPDATE dbo.T SET V = 1 WHERE Id = 1`)
	if r := <-done; len(r.errors) > 0 {
		t.Errorf("the other got %v", r.errors)
	}
	expect(t, b, `SELECT @@TRANCOUNT`, `0`)
	if d := srv.Deadlocks(); len(d) != 1 {
		t.Errorf("%d reports", len(d))
	} else {
		t.Log(d[0])
	}
	run(t, a, `COMMIT`)
}

// TestLookupDeadlock is the deadlock between a reader that goes from an index to its
// table and a writer that goes the other way.
func TestLookupDeadlock(t *testing.T) {
	srv := newTestServer(t)
	a, b := srv.connect("q"), srv.connect("q")
	run(t, a, `CREATE TABLE dbo.T (Id int PRIMARY KEY, K int, V int, INDEX IX (K)); INSERT dbo.T VALUES (1, 1, 10)`)
	run(t, a, `BEGIN TRAN; UPDATE dbo.T SET V = 11 WHERE Id = 1`) // locks the row, not the index
	done := background(b, `SELECT V FROM dbo.T WITH (INDEX (IX)) WHERE K = 1`)
	untilBlocked(srv, b) // has the index key, wants the row
	r, _ := attempt(a, `UPDATE dbo.T SET K = 2 WHERE Id = 1`)
	other := <-done
	if len(r.errors)+len(other.errors) != 1 {
		t.Errorf("want one victim, got %v and %v", r.errors, other.errors)
	}
}

func TestVersions(t *testing.T) {
	srv := newTestServer(t)
	a := srv.connect("q")
	run(t, a, `ALTER DATABASE q SET READ_COMMITTED_SNAPSHOT ON; ALTER DATABASE q SET ALLOW_SNAPSHOT_ISOLATION ON`)
	b := srv.connect("q")
	run(t, a, `CREATE TABLE dbo.T (Id int PRIMARY KEY, V int, INDEX IX (V)); INSERT dbo.T VALUES (1, 10), (2, 20)`)
	run(t, b, `SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRAN; SELECT COUNT(*) FROM dbo.T`)
	run(t, a, `BEGIN TRAN; UPDATE dbo.T SET V = 11 WHERE Id = 1; DELETE dbo.T WHERE Id = 2; INSERT dbo.T VALUES (3, 30)`)
	c := srv.connect("q")
	expect(t, c, `SELECT Id, V FROM dbo.T ORDER BY Id`, `1, 10`, `2, 20`)
	fails(t, c, 1222, `SET LOCK_TIMEOUT 0; SELECT Id, V FROM dbo.T WITH (READCOMMITTEDLOCK) ORDER BY Id`)
	run(t, a, `COMMIT`)
	expect(t, c, `SELECT Id, V FROM dbo.T ORDER BY Id`, `1, 11`, `3, 30`)
	expect(t, b, `SELECT Id, V FROM dbo.T ORDER BY V`, `1, 10`, `2, 20`)
	expect(t, b, `SELECT Id FROM dbo.T WITH (INDEX (IX)) WHERE V = 10`, `1`)
	fails(t, b, 650, `SELECT * FROM dbo.T WITH (READPAST)`)
	fails(t, b, 3960, `UPDATE dbo.T SET V = 12 WHERE Id = 1`)
	expect(t, b, `SELECT @@TRANCOUNT`, `0`)
}

func TestEscalationAndItsSwitch(t *testing.T) {
	srv := newTestServer(t)
	a, b := srv.connect("q"), srv.connect("q")
	run(t, a, `CREATE TABLE dbo.T (Id int PRIMARY KEY, V int); INSERT dbo.T SELECT value, 0 FROM GENERATE_SERIES(1, 8000)`)
	run(t, a, `BEGIN TRAN; UPDATE dbo.T SET V = 1 WHERE Id <= 6000`)
	fails(t, b, 1222, `SET LOCK_TIMEOUT 0; SELECT V FROM dbo.T WHERE Id = 7000`)
	run(t, a, `ROLLBACK; ALTER TABLE dbo.T SET (LOCK_ESCALATION = DISABLE); BEGIN TRAN; UPDATE dbo.T SET V = 1 WHERE Id <= 6000`)
	expect(t, b, `SELECT V FROM dbo.T WHERE Id = 7000`, `0`)
	run(t, a, `ROLLBACK`)
}

// TestInsertIfMissing is the pattern with UPDLOCK and HOLDLOCK: the second waits for the
// first, and finds its row.
func TestInsertIfMissing(t *testing.T) {
	srv := newTestServer(t)
	a, b := srv.connect("q"), srv.connect("q")
	run(t, a, `CREATE TABLE dbo.T (K varchar(10) PRIMARY KEY, N int); INSERT dbo.T VALUES ('z', 1)`)
	sql := `INSERT dbo.T SELECT 'k', 1 WHERE NOT EXISTS (SELECT 1 FROM dbo.T WITH (UPDLOCK, HOLDLOCK) WHERE K = 'k')`
	run(t, a, `BEGIN TRAN; `+sql)
	done := background(b, sql+`; SELECT @@ROWCOUNT`)
	untilBlocked(srv, b)
	run(t, a, `COMMIT`)
	if r := <-done; len(r.errors) > 0 || r.lines[len(r.lines)-1] != "0" {
		t.Errorf("got %v", r.lines)
	}
	if d := srv.Deadlocks(); len(d) > 0 {
		t.Error(d[0])
	}
}

func TestHintsReachThroughViews(t *testing.T) {
	srv := newTestServer(t)
	a, b := srv.connect("q"), srv.connect("q")
	run(t, a, `CREATE TABLE dbo.T (Id int PRIMARY KEY); INSERT dbo.T VALUES (1), (2)`)
	run(t, a, `CREATE VIEW dbo.V AS SELECT Id FROM dbo.T`)
	run(t, a, `BEGIN TRAN; DELETE dbo.T WHERE Id = 1`)
	expect(t, b, `SELECT * FROM dbo.V WITH (NOLOCK)`, `2`)
	expect(t, b, `SELECT * FROM dbo.V WITH (READPAST)`, `2`)
	expect(t, b, `WITH c AS (SELECT Id FROM dbo.V) SELECT * FROM c WITH (NOLOCK)`, `2`)
	run(t, a, `ROLLBACK`)
}
