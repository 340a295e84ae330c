package integration

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/microsoft/go-mssqldb/batch"

	"github.com/chokaq/chokaq/db"
	"github.com/chokaq/chokaq/driver"
)

// changes installs and lists what that changed.
func changes(t *testing.T, d *database) []string {
	t.Helper()
	var all []string
	installer := db.Installer{DSN: d.dsn, Progress: func(c db.Change) { all = append(all, c.Action+" "+c.Name) }}
	if err := installer.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestUpIsRepeatableAndAppliesWhatChanged(t *testing.T) {
	d := newEmptyDatabase(t)
	first := changes(t, d)
	if len(first) < 30 || first[0] != "migrated 000001_init.up.sql" {
		t.Fatalf("the first run changed %v", first)
	}
	if again := changes(t, d); len(again) != 0 {
		t.Errorf("the second run changed %v", again)
	}
	// An object whose recorded text differs is applied again, the grants after it; one that is no longer shipped is dropped.
	mustExec(t, d.pool, "UPDATE chokaq.SchemaObjects SET Checksum = REPLICATE('0', 64) WHERE ObjectName = N'procedures/ClaimJobs.sql'")
	mustExec(t, d.pool, "CREATE PROCEDURE chokaq.Old AS RETURN 0")
	mustExec(t, d.pool, "INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/Old.sql', 'x', SYSUTCDATETIME(), N'x')")
	if got, want := changes(t, d), []string{"applied procedures/ClaimJobs.sql", "applied grants/grants.sql", "dropped procedures/Old.sql"}; !slices.Equal(got, want) {
		t.Errorf("changed %v, want %v", got, want)
	}
}

// What was applied once and is no longer so is found by looking, since the record of it says otherwise: the message of a worker that finds it promises that.
func TestUpRepairsObjectsThatSomebodyBroke(t *testing.T) {
	d := newDatabase(t)
	conn := d.session(t)
	mustExec(t, conn, "DROP PROCEDURE chokaq.CompleteJobs")
	mustExec(t, conn, "DROP VIEW chokaq.QueueStatus")
	mustExec(t, conn, "DROP FUNCTION chokaq.FindJob")
	mustExec(t, conn, "DROP PROCEDURE chokaq.FailJobs")
	mustExec(t, conn, "SET QUOTED_IDENTIFIER OFF")
	mustExec(t, conn, "CREATE PROCEDURE chokaq.FailJobs AS RETURN 0")
	if err := d.client(t).Check(t.Context()); !errors.Is(err, driver.ErrSchema) || !strings.Contains(err.Error(), "migrate up") {
		t.Errorf("a worker says %v", err)
	}

	broken := []string{"functions/FindJob.sql", "views/QueueStatus.sql", "procedures/CompleteJobs.sql", "procedures/FailJobs.sql"}
	status, err := (db.Installer{DSN: d.dsn}).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(status.Objects, broken) {
		t.Errorf("status finds %v, want %v", status.Objects, broken)
	}
	want := []string{"applied grants/grants.sql"}
	for _, name := range slices.Backward(broken) {
		want = slices.Insert(want, 0, "applied "+name)
	}
	if got := changes(t, d); !slices.Equal(got, want) {
		t.Errorf("changed %v, want %v", got, want)
	}
	wantInstalled(t, d)
	if n := number(t, d.pool, "SELECT COUNT(*) AS n FROM sys.database_permissions AS p WHERE p.major_id IN (OBJECT_ID(N'chokaq.CompleteJobs'), OBJECT_ID(N'chokaq.FailJobs'), OBJECT_ID(N'chokaq.QueueStatus'))"); n < 3 {
		t.Errorf("%d grants on what was made again", n)
	}
}

func TestSeveralInstallersAtOnce(t *testing.T) {
	d := newEmptyDatabase(t)
	errs := make(chan error)
	for range 4 {
		go func() { errs <- (db.Installer{DSN: d.dsn}).Up(t.Context()) }()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	wantInstalled(t, d)
}

func wantInstalled(t *testing.T, d *database) {
	t.Helper()
	status, err := (db.Installer{DSN: d.dsn}).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !status.Installed || status.Dirty || status.Version != db.LatestVersion() || len(status.Migrations)+len(status.Objects) > 0 {
		t.Errorf("status is %+v", status)
	}
	if err := d.client(t).Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDownRemovesEverything(t *testing.T) {
	d := newDatabase(t)
	enqueueMany(t, d.pool, "q", 3)
	installer := db.Installer{DSN: d.dsn}
	for range 2 {
		if err := installer.Down(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	left := mustQuery(t, d.pool, "SELECT o.name AS name FROM sys.objects AS o WHERE o.schema_id = SCHEMA_ID(N'chokaq') AND o.type IN ('U', 'P', 'V', 'IF', 'SO') AND o.name <> N'SchemaVersion'")
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if n := number(t, d.pool, "SELECT COUNT(*) AS n FROM sys.database_principals WHERE name LIKE N'chokaq[_]%' AND type = 'R'"); n != 0 {
		t.Errorf("%d roles are left", n)
	}
	if err := installer.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantInstalled(t, d)
}

func TestTheScriptInstallsWhatUpInstalls(t *testing.T) {
	d := newEmptyDatabase(t)
	var script bytes.Buffer
	if err := db.Script(&script, "test", true); err != nil {
		t.Fatal(err)
	}
	conn := d.session(t)
	for range 2 { // it may be run again
		for _, b := range batch.Split(script.String(), "GO") {
			mustExec(t, conn, b)
		}
		wantInstalled(t, d)
	}
	if got := changes(t, d); len(got) != 0 {
		t.Errorf("after the script, Up still changed %v", got)
	}
}

// What the script refuses, it leaves alone to its end: SSMS goes on after an error.
func TestTheScriptStopsAtADatabaseThatIsNotForIt(t *testing.T) {
	var script bytes.Buffer
	if err := db.Script(&script, "test", true); err != nil {
		t.Fatal(err)
	}
	for _, change := range []string{"UPDATE chokaq.SchemaVersion SET version = 9999", "UPDATE chokaq.SchemaVersion SET dirty = 1"} {
		d := newEmptyDatabase(t)
		changes(t, d)
		mustExec(t, d.pool, change)
		mustExec(t, d.pool, "DROP VIEW chokaq.CurrentSettings")
		conn := d.session(t)
		var refused error
		for _, b := range batch.Split(script.String(), "GO") {
			if _, err := conn.ExecContext(t.Context(), b); err != nil {
				refused = errors.Join(refused, err)
			}
		}
		if refused == nil || strings.Count(refused.Error(), "\n") != 0 || !strings.Contains(refused.Error(), "newer schema") {
			t.Errorf("after %q the script answers %v", change, refused)
		}
		if n := number(t, d.pool, "SELECT COUNT(*) FROM sys.views WHERE name = N'CurrentSettings'"); n != 0 {
			t.Errorf("after %q the script went on", change)
		}
	}
}

func TestAMigrationLeftInDoubtIsSettled(t *testing.T) {
	for _, happened := range []bool{true, false} {
		d := newEmptyDatabase(t)
		if happened {
			changes(t, d)
		} else {
			mustExec(t, d.pool, "CREATE SCHEMA chokaq")
			mustExec(t, d.pool, "CREATE TABLE chokaq.SchemaVersion (version bigint NOT NULL PRIMARY KEY, dirty bit NOT NULL)")
			mustExec(t, d.pool, "INSERT INTO chokaq.SchemaVersion VALUES (1, 0)")
		}
		mustExec(t, d.pool, "UPDATE chokaq.SchemaVersion SET dirty = 1")
		got := changes(t, d)
		doubtful := "000002_operations.up.sql" // the last one that is said to have run
		if !happened {
			doubtful = "000001_init.up.sql"
		}
		if len(got) == 0 || got[0] != "repaired migrations/"+doubtful || slices.Contains(got, "migrated "+doubtful) == happened {
			t.Errorf("happened=%v: changed %v", happened, got)
		}
		wantInstalled(t, d)
	}
}

func TestAnotherSchemaVersionIsRefused(t *testing.T) {
	d := newEmptyDatabase(t)
	check := func() error { return d.client(t).Check(t.Context()) }
	if err := check(); !errors.Is(err, driver.ErrSchema) || !strings.Contains(err.Error(), "migrate up") {
		t.Errorf("with no schema: %v", err)
	}
	changes(t, d)
	mustExec(t, d.pool, "UPDATE chokaq.SchemaVersion SET version = 0")
	if err := check(); !errors.Is(err, driver.ErrSchema) || !strings.Contains(err.Error(), "version 0") {
		t.Errorf("with an older schema: %v", err)
	}
	mustExec(t, d.pool, "UPDATE chokaq.SchemaVersion SET version = 9999")
	if err := check(); err != nil {
		t.Errorf("a newer schema that still serves this client is refused: %v", err)
	}
	if err := (db.Installer{DSN: d.dsn}).Up(t.Context()); !errors.Is(err, db.ErrNewer) {
		t.Errorf("Up on a newer schema: %v", err)
	}
	// A newer schema that has left this client behind.
	text, err := db.Objects.ReadFile("procedures/GetInstallation.sql")
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, d.pool, strings.Replace(string(text), "CONVERT(bigint, 1) AS OldestClientSchemaVersion", "CONVERT(bigint, 9000) AS OldestClientSchemaVersion", 1))
	if err := check(); !errors.Is(err, driver.ErrSchema) || !strings.Contains(err.Error(), "Upgrade this program") {
		t.Errorf("with a newer schema: %v", err)
	}
}

func TestCompatibilityLevelIsChecked(t *testing.T) {
	d := newEmptyDatabase(t)
	mustExec(t, d.pool, "ALTER DATABASE "+d.name+" SET COMPATIBILITY_LEVEL = 120")
	err := (db.Installer{DSN: d.dsn}).Up(t.Context())
	wantError(t, err, 51016, "130", "Nothing was changed")
	mustExec(t, d.pool, "ALTER DATABASE "+d.name+" SET COMPATIBILITY_LEVEL = 130")
	if err := (db.Installer{DSN: d.dsn}).Up(t.Context()); err != nil {
		t.Errorf("after raising the level: %v", err)
	}
}

// A database of version 1, as its own script installed it, procedures and views too, is upgraded in place with jobs in it, by the installer and by the
// script, and what workers of version 1 call goes on working.
func TestUpgradeFromVersion1(t *testing.T) {
	for name, upgrade := range map[string]func(*testing.T, *database){
		"the installer": func(t *testing.T, d *database) {
			if got := changes(t, d); len(got) == 0 || got[0] != "migrated 000002_operations.up.sql" {
				t.Fatalf("changed %v", got)
			}
		},
		"the script": func(t *testing.T, d *database) {
			var script bytes.Buffer
			if err := db.Script(&script, "test", true); err != nil {
				t.Fatal(err)
			}
			runScript(t, d, script.String())
		},
	} {
		t.Run(name, func(t *testing.T) { upgradeFromVersion1(t, upgrade) })
	}
}

// runScript runs a script as SSMS does.
func runScript(t *testing.T, d *database, script string) {
	t.Helper()
	conn := d.session(t)
	for _, b := range batch.Split(script, "GO") {
		mustExec(t, conn, b)
	}
}

func upgradeFromVersion1(t *testing.T, upgrade func(*testing.T, *database)) {
	d := newEmptyDatabase(t)
	first, err := os.ReadFile("testdata/version1.sql") // what migrate script --without-agent of that version printed
	if err != nil {
		t.Fatal(err)
	}
	runScript(t, d, string(first))
	fill(t, d, 1_000_000, 50, 10, 5, 3)
	mustExec(t, d.pool, `INSERT INTO chokaq.Workers (WorkerId, HostName, ProcessId, Version, Queues, Handlers, Prefetch, State, LoginName, StartedAt, HeartbeatAt, StateAt)
VALUES (NEWID(), N'old', 1, N'1', N'["q"]', 1, 1, 'running', N'x', SYSUTCDATETIME(), SYSUTCDATETIME(), SYSUTCDATETIME())`)
	upgrade(t, d)
	wantInstalled(t, d)
	// A call as version 1 makes it: no job types, no attempts.
	h := claimAs(t, d.pool, uuid.New(), 100, "q")
	if len(h) != 50 {
		t.Errorf("claimed %d", len(h))
	}
	start(t, d.pool, h...)
	answers(t, d.pool, "CompleteJobs", claimsJSON(t, h))
	if n := number(t, d.pool, "SELECT LiveWorkers FROM chokaq.JobTypeStatus WHERE Queue = N'q' AND JobType = N't'"); n != 1 {
		t.Errorf("the worker of version 1 does not count as one that takes every type: %d", n)
	}
}

// An upgrade that was not finished: the version is there, the procedures are those of before. A worker says what to run.
func TestAnUpgradeThatWasNotFinished(t *testing.T) {
	d := newDatabase(t)
	mustExec(t, d.pool, "DROP PROCEDURE chokaq.RegisterWorker")
	mustExec(t, d.pool, "CREATE PROCEDURE chokaq.RegisterWorker @WorkerId uniqueidentifier AS SELECT 1 AS One")
	w := startWorker(t, d.dsn, quick(nil), func(context.Context, *driver.Job[job]) error { return nil })
	if err := w.wait(t); !errors.Is(err, driver.ErrSchema) || !strings.Contains(err.Error(), "migrate up") {
		t.Errorf("Run returned %v", err)
	}
}
