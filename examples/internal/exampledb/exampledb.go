// Package exampledb gives the tests of the examples a database with ChokaQ in it: on the server of CHOKAQ_TEST_DSN, or else on sqlsim.
package exampledb

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/chokaq/chokaq/db"
	"github.com/chokaq/chokaq/internal/sqlsim"
)

// New creates a database, installs ChokaQ, and drops it after the test. It returns the data source name.
func New(t *testing.T) string {
	t.Helper()
	server := os.Getenv("CHOKAQ_TEST_DSN")
	if server == "" {
		sim, err := sqlsim.Start(sqlsim.Options{NoAgent: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := sim.Close(); err != nil {
				t.Error(err)
			}
		})
		server = sim.DSN("master")
	}
	name := "chokaq_example_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	admin := Open(t, of(t, server, "master"))
	if _, err := admin.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := admin.Exec("ALTER DATABASE " + name + " SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE " + name); err != nil {
			t.Errorf("dropping database %s: %v", name, err)
		}
	})
	dsn := of(t, server, name)
	if err := (db.Installer{DSN: dsn}).Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dsn
}

// of is the data source name of another database of the server.
func of(t *testing.T, dsn, name string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme != "sqlserver" {
		t.Fatal("CHOKAQ_TEST_DSN is not a URL; accepted: sqlserver://user:password@host:1433")
	}
	q := u.Query()
	q.Set("database", name)
	u.RawQuery = q.Encode()
	return u.String()
}

// Open opens a pool, and closes it after the test.
func Open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	pool, err := sql.Open("sqlserver", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	return pool
}

// Count is the number that a query selects.
func Count(t *testing.T, pool *sql.DB, query string) int {
	t.Helper()
	var n int
	if err := pool.QueryRowContext(context.Background(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}
