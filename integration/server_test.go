package integration

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/chokaq/chokaq/db"
	"github.com/chokaq/chokaq/driver"
	"github.com/chokaq/chokaq/internal/sqlsim"
)

// patience bounds every wait of a test for something that must come; it decides only how long a failing test takes.
const patience = 60 * time.Second

// database is a database with ChokaQ in it, of one test's own.
type database struct {
	name string
	dsn  string // of a member of db_owner
	pool *sql.DB
	sim  *sqlsim.Server // nil on a real server
}

// newDatabase creates a database, installs ChokaQ, and drops it after the test.
func newDatabase(t *testing.T) *database {
	t.Helper()
	d := newEmptyDatabase(t)
	if err := (db.Installer{DSN: d.dsn}).Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

// newEmptyDatabase creates a database with nothing in it.
func newEmptyDatabase(t *testing.T) *database {
	t.Helper()
	name := "chokaq_test_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	admin, sim := adminPool(t)
	mustExec(t, admin, "CREATE DATABASE "+name)
	// TestMain's server outlives the test; a database of a real server must not.
	t.Cleanup(func() {
		if _, err := admin.Exec("ALTER DATABASE " + name + " SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE " + name); err != nil {
			t.Errorf("dropping database %s: %v", name, err)
		}
		admin.Close()
	})
	d := &database{name: name, dsn: dsnFor(t, name, "", ""), sim: sim}
	d.pool = openPool(t, d.dsn)
	return d
}

// requireSim skips a test that needs what only sqlsim can do.
func (d *database) requireSim(t testing.TB) *sqlsim.Server {
	t.Helper()
	if d.sim == nil {
		t.Skip("needs fault injection, counters or the clock of sqlsim, and CHOKAQ_TEST_DSN names a real server")
	}
	return d.sim
}

func (d *database) client(t *testing.T) *driver.Client {
	t.Helper()
	client, err := driver.Open(d.dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// session is one connection, for tests in which it matters who holds what.
func (d *database) session(t *testing.T) *sql.Conn {
	t.Helper()
	conn, err := d.pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// loginAs makes a login that is a member of the database roles named, and returns a pool for it.
func (d *database) loginAs(t *testing.T, roles ...string) *sql.DB {
	t.Helper()
	admin, _ := adminPool(t)
	login := "chokaq_login_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	password := "Pa55-" + uuid.NewString()
	mustExec(t, admin, fmt.Sprintf("CREATE LOGIN %s WITH PASSWORD = N'%s'", login, password))
	mustExec(t, d.pool, fmt.Sprintf("CREATE USER %s FOR LOGIN %s", login, login))
	for _, role := range roles {
		mustExec(t, d.pool, fmt.Sprintf("ALTER ROLE %s ADD MEMBER %s", role, login))
	}
	pool := openPool(t, dsnFor(t, d.name, login, password))
	t.Cleanup(func() {
		pool.Close()
		// The server may not have seen yet that the pool's sessions have ended (15434).
		var err error
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
			if _, err = admin.Exec("DROP LOGIN " + login); sqlNumber(err) != 15434 {
				break
			}
		}
		if err != nil {
			t.Errorf("dropping login: %v", err)
		}
		admin.Close()
	})
	return pool
}

// theSim is started by the first test that needs it; TestMain ends it.
var theSim = sync.OnceValues(func() (*sqlsim.Server, error) {
	simStarted.Store(true)
	return sqlsim.Start(sqlsim.Options{})
})

var simStarted atomic.Bool

// adminPool connects to master as somebody who may create databases and logins.
func adminPool(t *testing.T) (*sql.DB, *sqlsim.Server) {
	t.Helper()
	if os.Getenv("CHOKAQ_TEST_DSN") != "" {
		return openPool(t, dsnFor(t, "master", "", "")), nil
	}
	sim, err := theSim()
	if err != nil {
		t.Fatal(err)
	}
	return openPool(t, sim.DSN("master")), sim
}

// dsnFor is the data source name of the test server for a database and, if given, another login.
func dsnFor(t *testing.T, name, login, password string) string {
	t.Helper()
	base := os.Getenv("CHOKAQ_TEST_DSN")
	if base == "" {
		sim, err := theSim()
		if err != nil {
			t.Fatal(err)
		}
		base = sim.DSN("master")
	}
	config, err := msdsn.Parse(base)
	if err != nil {
		t.Fatalf("CHOKAQ_TEST_DSN: %v", err)
	}
	config.Database = name
	u := config.URL()
	if login != "" {
		u.User = url.UserPassword(login, password)
	}
	q := u.Query()
	q.Set("database", name)
	// URL leaves out what Parse took from these.
	if original, err := url.Parse(base); err == nil {
		for _, key := range []string{"encrypt", "TrustServerCertificate", "certificate"} {
			for k, v := range original.Query() {
				if strings.EqualFold(k, key) {
					q.Set(key, v[0])
				}
			}
		}
	}
	u.RawQuery = q.Encode()
	return u.String()
}

func openPool(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	pool, err := sql.Open("sqlserver", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	return pool
}

// querier is a pool, connection or transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func mustExec(t *testing.T, q querier, statement string, args ...any) {
	t.Helper()
	if _, err := q.ExecContext(context.Background(), statement, args...); err != nil {
		t.Fatalf("%s: %v", firstLine(statement), err)
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// row is one row of a result set, by column name.
type row map[string]any

// query runs a statement or procedure and returns the rows of its first result set.
func query(ctx context.Context, q querier, statement string, args ...any) (all []row, err error) {
	rows, err := q.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		values := make([]any, len(names))
		pointers := make([]any, len(names))
		for i := range values {
			pointers[i] = &values[i]
		}
		if err := rows.Scan(pointers...); err != nil {
			return nil, err
		}
		r := make(row)
		for i, name := range names {
			r[name] = values[i]
		}
		all = append(all, r)
	}
	for rows.NextResultSet() {
		for rows.Next() {
		}
	}
	return all, rows.Err()
}

func mustQuery(t *testing.T, q querier, statement string, args ...any) []row {
	t.Helper()
	rows, err := query(context.Background(), q, statement, args...)
	if err != nil {
		t.Fatalf("%s: %v", firstLine(statement), err)
	}
	return rows
}

// number is the one number that a statement selects.
func number(t *testing.T, q querier, statement string, args ...any) int64 {
	t.Helper()
	rows := mustQuery(t, q, statement, args...)
	if len(rows) != 1 || len(rows[0]) != 1 {
		t.Fatalf("%s: want one value, got %v", firstLine(statement), rows)
	}
	for _, v := range rows[0] {
		if n, ok := v.(int64); ok {
			return n
		}
		t.Fatalf("%s: %T is not a number", firstLine(statement), v)
	}
	return 0
}

// wantError checks the number of a SQL Server error, and that its text has what must be in it.
func wantError(t *testing.T, err error, number int32, parts ...string) {
	t.Helper()
	e, ok := errors.AsType[mssql.Error](err)
	if !ok {
		t.Fatalf("want SQL Server error %d, got %v", number, err)
	}
	if e.Number != number {
		t.Fatalf("want SQL Server error %d, got %d: %s", number, e.Number, e.Message)
	}
	for _, part := range parts {
		if !strings.Contains(e.Message, part) {
			t.Errorf("error %d does not say %q: %s", number, part, e.Message)
		}
	}
}

// sqlNumber is the number of a SQL Server error, or 0.
func sqlNumber(err error) int32 {
	e, _ := errors.AsType[mssql.Error](err)
	return e.Number
}

func guid(u uuid.UUID) mssql.UniqueIdentifier { return mssql.UniqueIdentifier(u) }
