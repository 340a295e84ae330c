package integration

import (
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/batch"

	"github.com/chokaq/chokaq/db"
)

// sqlBlock is a block of T-SQL in a document.
type sqlBlock struct {
	section string
	text    string
	not     string // why it is not run
	simOnly bool   // that is so on sqlsim alone
}

// sqlBlocks returns the blocks of T-SQL of a document, in order.
func sqlBlocks(t *testing.T, document string) []sqlBlock {
	t.Helper()
	text, err := os.ReadFile("../docs/" + document)
	if err != nil {
		t.Fatal(err)
	}
	var all []sqlBlock
	found := regexp.MustCompile("(?ms)^## ([^\n]+)$|(?:^<!-- not run( on sqlsim)?: ([^\n]+) -->\n)?^```sql\n(.*?)^```$").FindAllStringSubmatch(string(text), -1)
	section := ""
	for _, m := range found {
		if m[1] != "" {
			section = m[1]
			continue
		}
		all = append(all, sqlBlock{section, m[4], m[3], m[2] != ""})
	}
	if n := strings.Count(string(text), "```sql\n"); n != len(all) || n == 0 {
		t.Fatalf("docs/%s has %d blocks of T-SQL, and %d were read", document, n, len(all))
	}
	return all
}

// Every statement of docs/dba.md runs, in order, and each view of the day shows something to look at.
func TestTheDBAGuide(t *testing.T) {
	d := newDatabase(t)
	installer := db.Installer{DSN: d.dsn}
	if err := installer.InstallAgentJobs(t.Context(), db.AgentSchedule{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = installer.UninstallAgentJobs(t.Context()) })
	fillForTheDBA(t, d)

	// Logins belong to the server: this test's have names of their own, and go whatever happens.
	prefix := "shop_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:12] + "_"
	admin, _ := adminPool(t)
	t.Cleanup(func() {
		for _, login := range []string{"app", "worker", "oncall", "watch"} {
			if _, err := admin.Exec("IF EXISTS (SELECT 1 FROM sys.server_principals WHERE name = N'" + prefix + login + "') DROP LOGIN " + prefix + login); err != nil {
				t.Error(err)
			}
		}
	})
	ours := regexp.MustCompile(`\bshop_(app|worker|oncall|watch)\b`)
	conn := d.session(t)
	for _, b := range sqlBlocks(t, "dba.md") {
		t.Run(b.section, func(t *testing.T) {
			if b.not != "" && (!b.simOnly || d.sim != nil) {
				t.Skip(b.not)
			}
			if strings.Contains(b.text, "after the down migrations") {
				var refused mssql.Error // who forgets them loses nothing
				if _, err := resultSets(t, conn, b.text); !errors.As(err, &refused) || refused.Number != 3729 {
					t.Fatalf("before the down migrations: %v, want error 3729", err)
				}
				if n := number(t, conn, "SELECT @@TRANCOUNT + CASE WHEN OBJECT_ID(N'chokaq.SchemaVersion') IS NULL THEN 100 ELSE 0 END AS n"); n != 0 {
					t.Fatalf("before the down migrations, it left %d", n)
				}
				if err := installer.UninstallAgentJobs(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := installer.Down(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for _, part := range batch.Split(ours.ReplaceAllString(b.text, prefix+"$1"), "GO") {
				sets, err := resultSets(t, conn, part)
				if err != nil {
					t.Fatalf("%v in\n%s", err, part)
				}
				mustShow := strings.HasPrefix(b.section, "Views of the day") || strings.HasPrefix(b.section, "Dead jobs") && !strings.Contains(part, "PauseQueue")
				for i, rows := range sets {
					if mustShow && rows == 0 {
						t.Errorf("result set %d is empty:\n%s", i+1, part)
					}
				}
				if mustShow && len(sets) == 0 {
					t.Errorf("nothing is shown:\n%s", part)
				}
			}
		})
	}
	if n := number(t, d.pool, "SELECT COUNT(*) AS n FROM sys.schemas WHERE name = N'chokaq'"); n != 0 {
		t.Error("after the last block the schema is still there")
	}
}

// resultSets runs a batch and counts the rows of each result set.
func resultSets(t *testing.T, q querier, statement string) (sets []int, err error) {
	t.Helper()
	rows, err := q.QueryContext(t.Context(), statement)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for {
		if columns, err := rows.Columns(); err == nil && len(columns) > 0 {
			n := 0
			for rows.Next() {
				n++
			}
			sets = append(sets, n)
		}
		if !rows.NextResultSet() {
			return sets, rows.Err()
		}
	}
}

// fillForTheDBA makes a day's worth of things to look at.
func fillForTheDBA(t *testing.T, d *database) {
	t.Helper()
	enqueueMany(t, d.pool, "mail", 5)
	worker := uuid.New()
	mustQuery(t, d.pool, "chokaq.RegisterWorker", workerArg(worker), sql.Named("HostName", "app-1"), sql.Named("ProcessId", 4711), sql.Named("Version", "1"),
		sql.Named("Queues", `["mail"]`), sql.Named("Handlers", 10), sql.Named("Prefetch", 20))
	failed := processing(t, d, worker, "mail", 3)
	reasons := []map[string]any{
		{"error": "dial tcp 10.0.0.9:25: connection refused", "final": true},
		{"error": "no such recipient", "final": true, "reason": "Rejected"},
		{"error": "dial tcp 10.0.0.9:25: connection refused", "final": true},
	}
	var outcomes []map[string]any
	for i, h := range failed {
		o := map[string]any{"id": h.ID, "token": h.Token}
		for k, v := range reasons[i] {
			o[k] = v
		}
		outcomes = append(outcomes, o)
	}
	text, err := json.Marshal(outcomes)
	if err != nil {
		t.Fatal(err)
	}
	answers(t, d.pool, "FailJobs", string(text))
	// A worker that is gone, with one running job; then one that holds what it has.
	gone := uuid.New()
	mustQuery(t, d.pool, "chokaq.RegisterWorker", workerArg(gone), sql.Named("HostName", "app-2"), sql.Named("ProcessId", 4712), sql.Named("Version", "1"),
		sql.Named("Queues", `["mail"]`), sql.Named("Handlers", 10), sql.Named("Prefetch", 20))
	processing(t, d, gone, "mail", 1)
	mustExec(t, d.pool, "UPDATE chokaq.Jobs SET HeartbeatAt = DATEADD(HOUR, -1, HeartbeatAt) WHERE State = 2")
	mustExec(t, d.pool, "UPDATE chokaq.Workers SET HeartbeatAt = DATEADD(HOUR, -1, HeartbeatAt) WHERE HostName = N'app-2'")
	mustQuery(t, d.pool, "chokaq.RescueZombieJobs")
	processing(t, d, worker, "mail", 1)
	mustQuery(t, d.pool, "chokaq.SetRecurringJob", sql.Named("Name", "nightly"), sql.Named("Cron", "30 2 * * *"), sql.Named("TimeZone", "Europe/Berlin"), sql.Named("Queue", "mail"), sql.Named("JobType", "report"))
	mustExec(t, d.pool, "chokaq.PauseQueue", sql.Named("Queue", "reports"))
}
