package integration

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/chokaq/chokaq/db"
	"github.com/chokaq/chokaq/driver"
)

// docs/upgrading.md has a row and a column for each version, and says yes where GetInstallation does.
func TestTheMatrixOfVersions(t *testing.T) {
	d := newDatabase(t)
	text, err := os.ReadFile("../docs/upgrading.md")
	if err != nil {
		t.Fatal(err)
	}
	oldest := number(t, d.pool, "DECLARE @t TABLE (v bigint, d bit, o bigint, l int, r bit, w int, s nvarchar(128), e int, n nvarchar(128), g nvarchar(128), u datetime2(3)); INSERT INTO @t EXEC chokaq.GetInstallation; SELECT t.o FROM @t AS t")
	heading, rest, _ := strings.Cut(string(text), "\n| --- | --- | --- |\n")
	columns := strings.Count(heading[strings.LastIndex(heading, "\n"):], "workers built for")
	if columns != driver.SchemaVersion || int(db.LatestVersion()) != driver.SchemaVersion {
		t.Errorf("the matrix has %d columns; this is version %d, and the schema %d", columns, driver.SchemaVersion, db.LatestVersion())
	}
	for schema := 1; schema <= driver.SchemaVersion; schema++ {
		row := regexp.MustCompile(fmt.Sprintf(`(?m)^\| %d \|(.*)\|$`, schema)).FindStringSubmatch(rest)
		if row == nil {
			t.Fatalf("the matrix has no row of schema %d", schema)
		}
		for worker, cell := range strings.Split(row[1], "|") {
			worker++
			runs := worker <= schema && (schema < driver.SchemaVersion || int64(worker) >= oldest)
			if says := strings.HasPrefix(strings.TrimSpace(cell), "yes"); says != runs {
				t.Errorf("schema %d, workers built for %d: the matrix says %q, and it is %v", schema, worker, cell, runs)
			}
		}
	}
}

// Going back by hand leaves the jobs, and the schema can be brought forward again.
func TestGoingBackByHand(t *testing.T) {
	d := newDatabase(t)
	ids := enqueueMany(t, d.pool, "q", 3)
	down, err := db.Migrations.ReadFile("migrations/000002_operations.down.sql")
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, d.pool, string(down))
	blocks := sqlBlocks(t, "upgrading.md")
	if len(blocks) != 1 {
		t.Fatalf("%d blocks", len(blocks))
	}
	mustExec(t, d.pool, blocks[0].text)
	status, err := (db.Installer{DSN: d.dsn}).Status(t.Context())
	if err != nil || status.Version != 1 || status.Dirty {
		t.Errorf("%+v, %v", status, err)
	}
	if n := number(t, d.pool, "SELECT COUNT(*) AS n FROM sys.objects WHERE object_id IN (OBJECT_ID(N'chokaq.WorkerStops'), OBJECT_ID(N'chokaq.JobFailures'), OBJECT_ID(N'chokaq.RecurringJobs'))"); n != 0 {
		t.Errorf("%d tables of version 2 are left", n)
	}
	if got := changes(t, d); len(got) < 30 || got[0] != "migrated 000002_operations.up.sql" {
		t.Errorf("changed %v", got)
	}
	wantInstalled(t, d)
	for _, id := range ids {
		if got := where(t, d, id); got != "Pending" {
			t.Errorf("job %d is %s", id, got)
		}
	}
}
