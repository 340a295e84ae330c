package engine

import (
	"strings"
	"testing"
)

// An UPDATE or DELETE looks rows up while it finds them only if finding needs it; what
// is only set or shown by OUTPUT does not count.
func TestFindingLooksUpOnlyWhatItNeeds(t *testing.T) {
	for _, c := range []struct {
		name, change string
		looks        bool
	}{
		{"set alone", `UPDATE dbo.J WITH (READPAST) SET V = 9 WHERE K = 1`, false},
		{"set in a CTE", `WITH c AS (SELECT TOP (5) Id, K, V, W FROM dbo.J WITH (READPAST) WHERE K = 1 ORDER BY Id) UPDATE c SET V = 9`, false},
		{"star in a CTE", `WITH c AS (SELECT * FROM dbo.J WITH (READPAST) WHERE K = 1) UPDATE c SET V = 9`, false},
		{"a view", `UPDATE dbo.AllJ SET V = 9 WHERE K = 1`, false},
		{"output", `UPDATE dbo.J WITH (READPAST) SET V = 9 OUTPUT deleted.W, inserted.V WHERE K = 1`, false},
		{"delete with output", `DELETE dbo.J WITH (READPAST) OUTPUT deleted.* WHERE K = 1`, false},
		{"a predicate", `UPDATE dbo.J WITH (READPAST) SET V = 9 WHERE K = 1 AND W IS NULL`, true},
		{"a predicate of the query around", `WITH c AS (SELECT * FROM dbo.J WITH (READPAST) WHERE K = 1) UPDATE c SET V = 9 WHERE W IS NULL`, true},
		{"an expression of SET", `UPDATE dbo.J WITH (READPAST) SET V = V + 1 WHERE K = 1`, true},
		{"compound assignment", `UPDATE dbo.J WITH (READPAST) SET V += 1 WHERE K = 1`, true},
		{"a variable", `DECLARE @w int; UPDATE dbo.J WITH (READPAST) SET @w = W, V = 9 WHERE K = 1`, true},
		{"an order", `WITH c AS (SELECT TOP (5) Id, V FROM dbo.J WITH (READPAST) WHERE K = 1 ORDER BY W) UPDATE c SET V = 9`, true},
		{"a join", `UPDATE j SET V = 9 FROM dbo.J AS j WITH (READPAST, INDEX (IX)) JOIN (VALUES (0)) AS v (X) ON ISNULL(j.W, 0) = v.X WHERE j.K = 1`, true},
		{"included column", `UPDATE dbo.J WITH (READPAST) SET V = 9 WHERE K = 1 AND N = 0`, false},
		{"the condition of the filter", `UPDATE j SET V = 9 FROM dbo.J AS j WITH (READPAST, INDEX (IXF)) WHERE F = 0`, false},
		{"the condition of a filter by IS NULL", `UPDATE j SET V = 9 FROM dbo.J AS j WITH (READPAST, INDEX (IXN)) WHERE W IS NULL`, true},
		{"the clustered index", `UPDATE dbo.J WITH (READPAST) SET V = 9 WHERE Id IN (1, 2)`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := newTestServer(t)
			a, b := srv.connect("q"), srv.connect("q")
			run(t, a, `CREATE TABLE dbo.J (Id int PRIMARY KEY, K int NOT NULL, V int, W int, N int NOT NULL, F int NOT NULL, INDEX IX (K) INCLUDE (N));
				CREATE INDEX IXF ON dbo.J (Id) WHERE F = 0; CREATE INDEX IXN ON dbo.J (K) WHERE W IS NULL;
				INSERT dbo.J VALUES (1, 1, 0, NULL, 0, 0), (2, 1, 0, NULL, 0, 0)`)
			run(t, a, `CREATE VIEW dbo.AllJ AS SELECT * FROM dbo.J WITH (READPAST)`)
			run(t, a, `BEGIN TRAN; SELECT V FROM dbo.J WITH (INDEX (1), UPDLOCK) WHERE Id = 1`)
			if c.looks {
				run(t, b, `SET LOCK_TIMEOUT 0; `+c.change)
				expect(t, b, `SELECT Id FROM dbo.J WITH (NOLOCK) WHERE V > 0`, `2`)
				return
			}
			fails(t, b, 1222, `SET LOCK_TIMEOUT 0; `+c.change)
			done := background(b, `SET LOCK_TIMEOUT -1; `+c.change)
			untilBlocked(srv, b)
			run(t, a, `UPDATE dbo.J SET W = 7 WHERE Id = 1; COMMIT`)
			if r := <-done; len(r.errors) > 0 {
				t.Fatal(r.errors)
			}
			if strings.HasPrefix(c.change, "DELETE") {
				expect(t, b, `SELECT COUNT(*) FROM dbo.J`, `0`)
				return
			}
			// What the other changed meanwhile is kept.
			expect(t, b, `SELECT V, W FROM dbo.J ORDER BY Id`, `9, 7`, `9, NULL`)
		})
	}
}

// A row that is looked up by an index and changed by its clustered key: reader and writer
// take the two keys in opposite order.
func TestKeyLookupDeadlockReport(t *testing.T) {
	srv := newTestServer(t)
	a, b := srv.connect("q"), srv.connect("q")
	run(t, a, `CREATE TABLE dbo.Orders (Id int CONSTRAINT PK_Orders PRIMARY KEY, Customer int, Total int, INDEX IX_Customer (Customer)); INSERT dbo.Orders VALUES (1, 7, 10)`)
	run(t, a, `BEGIN TRAN; UPDATE dbo.Orders SET Total = 11 WHERE Id = 1`)
	reader := `SELECT Total FROM dbo.Orders WITH (INDEX (IX_Customer)) WHERE Customer = 7`
	writer := `UPDATE dbo.Orders SET Customer = 8 WHERE Id = 1`
	done := background(b, reader)
	untilBlocked(srv, b)
	run(t, a, writer)
	r := <-done
	if len(r.errors) != 1 || r.errors[0].Number != 1205 {
		t.Fatalf("the reader got %v", r.errors)
	}
	reports := srv.Deadlocks()
	if len(reports) != 1 || len(reports[0].Processes) != 2 {
		t.Fatalf("reports %v", reports)
	}
	text := reports[0].String()
	for _, want := range []string{reader, writer, "index PK_Orders", "index IX_Customer", "dbo.Orders"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not name %q:\n%s", want, text)
		}
	}
}
