package sqlsim

import (
	"database/sql"
	"errors"
	"net"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/chokaq/chokaq/internal/sqlsim/engine"
)

// What clients see of a server that is killed and comes back: refused connections, then refused logins, then everything that was committed and
// nothing else.
func TestRestart(t *testing.T) {
	s, master := start(t, Options{})
	must(t, master, "CREATE DATABASE d")
	pool, err := sql.Open("sqlserver", s.DSN("d"))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	must(t, pool, "CREATE TABLE dbo.T (id bigint IDENTITY PRIMARY KEY, n int NOT NULL)")
	must(t, pool, "INSERT dbo.T (n) VALUES (1)")
	must(t, pool, "CREATE TABLE tempdb.dbo.Scratch (n int)")
	tx, err := pool.Begin()
	if err != nil {
		t.Fatal(err)
	}
	must(t, tx, "INSERT dbo.T (n) VALUES (2)")
	must(t, tx, "EXEC sp_getapplock @Resource = 'mine', @LockMode = 'Exclusive', @LockOwner = 'Session'")
	must(t, tx, "CREATE TABLE ##shared (n int)")
	before := s.Counters()

	number := func(dsn, query string) (numbers []int32, err error) {
		once, err := sql.Open("sqlserver", dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer once.Close()
		_, err = once.Exec(query)
		if e, ok := errors.AsType[mssql.Error](err); ok {
			for _, one := range e.All {
				numbers = append(numbers, one.Number)
			}
		}
		return numbers, err
	}
	want := func(what string, dsn, query string, want ...int32) {
		t.Helper()
		got, err := number(dsn, query)
		if len(got) != len(want) {
			t.Errorf("%s: %v, want %v (%v)", what, got, want, err)
			return
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%s: %v, want %v (%v)", what, got, want, err)
			}
		}
	}
	var phases []Phase
	if err := s.Restart(func(p Phase) {
		phases = append(phases, p)
		switch p {
		case Down:
			if _, err := number(s.DSN("d"), "SELECT 1"); !errors.As(err, new(*net.OpError)) {
				t.Errorf("down: %v", err)
			}
		case Starting:
			want("starting", s.DSN("master"), "SELECT 1", 17187)
			want("starting", s.DSN("d"), "SELECT 1", 17187)
		case Recovering:
			want("recovering", s.DSN("d"), "SELECT 1", 4060, 18456)
			want("recovering, master", s.DSN("master"), "SELECT 1")
			want("recovering, USE", s.DSN("master"), "USE d", 922)
			want("recovering, a name", s.DSN("master"), "SELECT * FROM d.dbo.T", 922)
			want("recovering, what it shows as", s.DSN("master"), "IF EXISTS (SELECT * FROM sys.databases WHERE name = 'd' AND (state_desc <> 'RECOVERING' OR collation_name IS NOT NULL)) OR DATABASEPROPERTYEX('d', 'Collation') IS NOT NULL RAISERROR(50000, 16, 1, 'wrong')")
		}
	}); err != nil {
		t.Fatal(err)
	}
	if len(phases) != 3 {
		t.Errorf("phases %v", phases)
	}
	if err := tx.Commit(); err == nil {
		t.Error("a transaction has outlived the server")
	}
	pool.SetMaxIdleConns(0) // no connection of the time before
	for query, want := range map[string]string{
		"SELECT STRING_AGG(CONCAT(id, ':', n), ',') FROM dbo.T":                                   "1:1",
		"SELECT CONCAT(OBJECT_ID('tempdb..##shared'), OBJECT_ID('tempdb.dbo.Scratch'))":           "",
		"SELECT APPLOCK_MODE('public', 'mine', 'Session')":                                        "NoLock",
		"SELECT CONCAT(APPLOCK_TEST('public', 'mine', 'Exclusive', 'Session'), '')":               "1",
		"SELECT CONCAT(CONVERT(varchar(20), DATABASEPROPERTYEX('d', 'Status')), DB_ID('tempdb'))": "ONLINE2",
	} {
		var got string
		if err := pool.QueryRow(query).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", query, got, err, want)
		}
	}
	var id int64
	if err := pool.QueryRow("INSERT dbo.T (n) OUTPUT inserted.id VALUES (3)").Scan(&id); err != nil || id <= 1000 {
		t.Errorf("identity %d, %v: the cached values were not lost", id, err)
	}
	must(t, pool, "CREATE TABLE #t (n int); INSERT #t VALUES (1); CREATE TABLE ##shared (n int); DROP TABLE ##shared")
	if locks := s.Engine().Locks(); len(locks) > 2 { // of the connections' databases at most
		t.Errorf("locks are left: %v", locks)
	}
	if after := s.Counters(); after.Logins <= before.Logins || after.Batches <= before.Batches {
		t.Errorf("counters went back: %+v, %+v", before, after)
	}
}

// Agent comes back with the server.
func TestAgentIsRestarted(t *testing.T) {
	s, master := start(t, Options{})
	master.SetMaxIdleConns(0)
	started := func(times int) {
		for deadline := time.Now().Add(time.Minute); number(t, master, "SELECT COUNT(*) FROM msdb.dbo.syssessions") != times; {
			if time.Now().After(deadline) {
				t.Fatalf("Agent has not started %d times", times)
			}
		}
	}
	started(1)
	if err := s.Restart(func(Phase) {}); err != nil {
		t.Fatal(err)
	}
	started(2)
}

// A session that no connection holds would outlive the restart: that is refused, and said.
func TestARestartIsRefusedWhileSomebodyHoldsASessionOfTheEngine(t *testing.T) {
	s, _ := start(t, Options{NoAgent: true})
	session, err := s.Engine().Connect(t.Context(), engine.Login{User: "sa", Password: s.opts.Password})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if err := s.Restart(func(Phase) {}); err == nil {
		t.Error("it was not refused")
	}
}
