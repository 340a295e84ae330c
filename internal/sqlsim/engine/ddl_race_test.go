package engine

import (
	"sync"
	"testing"
)

// TestChangesOfTablesUnderQueries alters a table while others use it: each statement sees
// the table before or after, and nothing in between.
func TestChangesOfTablesUnderQueries(t *testing.T) {
	srv := newTestServer(t)
	setup := srv.connect("q")
	run(t, setup, `CREATE TABLE dbo.T (Id int PRIMARY KEY, V int); INSERT dbo.T SELECT value, value FROM GENERATE_SERIES(1, 50)`)
	run(t, setup, `CREATE PROCEDURE dbo.P AS SELECT COUNT(*), SUM(V) FROM dbo.T; SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('dbo.T'); IF EXISTS (SELECT 1 FROM dbo.T WHERE V = 1) UPDATE dbo.T SET V = V WHERE Id = 7`)
	var wg sync.WaitGroup
	for w := 0; w < 3; w++ {
		s := srv.connect("q")
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := 0; i < 60; i++ {
				r, err := attempt(s, `EXEC dbo.P`)
				if err != nil {
					t.Error(err)
					return
				}
				for _, e := range r.errors {
					if e.Number != 1205 {
						t.Error(e)
					}
				}
				if len(r.errors) == 0 && r.lines[1] != "50, 1275" {
					t.Errorf("got %v", r.lines)
				}
			}
		}()
	}
	for i := 0; i < 25; i++ {
		for _, sql := range []string{`ALTER TABLE dbo.T ADD X int NOT NULL DEFAULT 1`, `CREATE INDEX IX ON dbo.T (V) INCLUDE (X)`, `DROP INDEX IX ON dbo.T`,
			`DECLARE @n sysname = (SELECT name FROM sys.default_constraints WHERE parent_object_id = OBJECT_ID('dbo.T')); EXEC ('ALTER TABLE dbo.T DROP CONSTRAINT ' + @n); ALTER TABLE dbo.T DROP COLUMN X`} {
			r, err := attempt(setup, sql)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range r.errors {
				if e.Number != 1205 {
					t.Error(e)
				}
			}
		}
	}
	wg.Wait()
}
