package sqlsim

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"go.uber.org/goleak"

	"github.com/chokaq/chokaq/internal/sqlsim/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, opts Options) (*Server, *sql.DB) {
	t.Helper()
	s, err := Start(opts)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlserver", s.DSN("master"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		db.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil { // harmless
			t.Error(err)
		}
	})
	return s, db
}

func must(t *testing.T, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, statement string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func number(t *testing.T, db *sql.DB, query string, args ...any) (n int) {
	t.Helper()
	if err := db.QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func TestTablesAndProcedures(t *testing.T) {
	_, db := start(t, Options{TLS: true})
	must(t, db, "CREATE TABLE dbo.T (id int IDENTITY PRIMARY KEY, name nvarchar(20) NOT NULL)")
	must(t, db, "CREATE PROCEDURE dbo.AddName @name nvarchar(20), @id int OUTPUT AS SET NOCOUNT ON; INSERT dbo.T (name) VALUES (@name); SET @id = SCOPE_IDENTITY(); RETURN 7")
	var id int
	var status mssql.ReturnStatus
	if _, err := db.Exec("dbo.AddName", sql.Named("name", "é😀"), sql.Named("id", sql.Out{Dest: &id}), &status); err != nil {
		t.Fatal(err)
	}
	if id != 1 || status != 7 {
		t.Errorf("id %d, status %d", id, status)
	}
	var name string
	if err := db.QueryRow("SELECT name FROM dbo.T WHERE id = @p1", id).Scan(&name); err != nil || name != "é😀" {
		t.Errorf("%q, %v", name, err)
	}
	var doubled int
	if _, err := db.Exec("SET @out = @in * 2", sql.Named("in", 21), sql.Named("out", sql.Out{Dest: &doubled})); err != nil || doubled != 42 {
		t.Errorf("output of a batch: %d, %v", doubled, err)
	}
	res, err := db.Exec("INSERT dbo.T (name) VALUES (N'a'), (N'b')")
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := res.RowsAffected(); n != 2 {
		t.Errorf("%d rows affected", n)
	}
}

func TestTransactionsOverTheWire(t *testing.T) {
	_, db := start(t, Options{})
	must(t, db, "CREATE TABLE dbo.T (id int PRIMARY KEY)")
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable})
	if err != nil {
		t.Fatal(err)
	}
	must(t, tx, "INSERT dbo.T VALUES (1)")
	tx.Rollback()
	if n := number(t, db, "SELECT COUNT(*) FROM dbo.T"); n != 0 {
		t.Errorf("%d rows after a rollback", n)
	}
	tx, err = db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	must(t, tx, "INSERT dbo.T VALUES (1)")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	tx, err = db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	var e mssql.Error
	if _, err := tx.Exec("SET XACT_ABORT ON; INSERT dbo.T VALUES (2); INSERT dbo.T VALUES (1)"); !errors.As(err, &e) || e.Number != 2627 {
		t.Errorf("%v", err)
	}
	if err := tx.Commit(); err == nil {
		t.Error("committed what the server had rolled back")
	}
	if n := number(t, db, "SELECT COUNT(*) FROM dbo.T"); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// TestCanceledWaitReleasesNothingElse cancels a request that waits for a lock.
func TestCanceledWait(t *testing.T) {
	s, db := start(t, Options{})
	must(t, db, "CREATE TABLE dbo.T (id int PRIMARY KEY)")
	must(t, db, "INSERT dbo.T VALUES (1)")
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	must(t, tx, "UPDATE dbo.T SET id = 2")
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var spid int
	if err := conn.QueryRowContext(t.Context(), "SELECT @@SPID").Scan(&spid); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() {
		_, err := conn.ExecContext(ctx, "UPDATE dbo.T SET id = 3")
		result <- err
	}()
	for !s.Engine().Blocked(spid) {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := conn.PingContext(t.Context()); err != nil {
		t.Errorf("after the cancellation: %v", err)
	}
}

func TestKill(t *testing.T) {
	_, db := start(t, Options{})
	must(t, db, "CREATE TABLE dbo.T (id int PRIMARY KEY)")
	victim, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer victim.Close()
	var spid string
	if err := victim.QueryRowContext(t.Context(), "SELECT CAST(@@SPID AS varchar(10))").Scan(&spid); err != nil {
		t.Fatal(err)
	}
	must(t, victim, "BEGIN TRAN; INSERT dbo.T VALUES (1)")
	must(t, db, "KILL "+spid)
	// The idle session's transaction is rolled back: this waits for its lock.
	if n := number(t, db, "SELECT COUNT(*) FROM dbo.T"); n != 0 {
		t.Errorf("%d rows of a killed session", n)
	}
	if _, err := victim.ExecContext(t.Context(), "SELECT 1"); err == nil {
		t.Error("a killed session goes on")
	}
}

func TestDatabaseIsTakenFromItsUsers(t *testing.T) {
	s, db := start(t, Options{})
	must(t, db, "CREATE DATABASE busy")
	users, err := sql.Open("sqlserver", s.DSN("busy"))
	if err != nil {
		t.Fatal(err)
	}
	defer users.Close()
	must(t, users, "CREATE TABLE dbo.T (id int)")
	tx, err := users.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	must(t, tx, "INSERT dbo.T VALUES (1)")
	var e mssql.Error
	if _, err := db.Exec("DROP DATABASE busy"); !errors.As(err, &e) || e.Number != 3702 {
		t.Errorf("%v, want error 3702", err)
	}
	must(t, db, "ALTER DATABASE busy SET SINGLE_USER WITH ROLLBACK IMMEDIATE")
	must(t, db, "DROP DATABASE busy")
}

func TestClockCanBePutForward(t *testing.T) {
	s, db := start(t, Options{})
	s.AdjustableClock().Advance(48 * time.Hour)
	var now time.Time
	if err := db.QueryRow("SELECT SYSUTCDATETIME()").Scan(&now); err != nil {
		t.Fatal(err)
	}
	if d := time.Until(now); d < 47*time.Hour || d > 49*time.Hour {
		t.Errorf("the database's clock is off by %v", d)
	}
}

func TestLostAnswerOfACommit(t *testing.T) {
	s, db := start(t, Options{})
	must(t, db, "CREATE TABLE dbo.T (id int)")
	s.Faults().Add(fault.Rule{Text: "COMMIT", When: fault.After, Times: 1, Drop: true})
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	must(t, tx, "INSERT dbo.T VALUES (1)")
	if err := tx.Commit(); err == nil {
		t.Error("the answer was not lost")
	}
	if n := number(t, db, "SELECT COUNT(*) FROM dbo.T"); n != 1 {
		t.Errorf("%d rows: it was committed before the answer was lost", n)
	}
}

func TestLogins(t *testing.T) {
	s, _ := start(t, Options{})
	for dsn, want := range map[string]int32{
		s.DSNFor("master", "sa", "wrong"): 18456,
		s.DSNFor("master", "nobody", "x"): 18456,
		s.DSN("no_such_database"):         4060,
	} {
		db, err := sql.Open("sqlserver", dsn)
		if err != nil {
			t.Fatal(err)
		}
		var e mssql.Error
		if err := db.Ping(); !errors.As(err, &e) || e.All[0].Number != want || e.Number != 18456 { // which a login that fails always ends with
			t.Errorf("%v, want error %d", err, want)
		}
		db.Close()
	}
}
