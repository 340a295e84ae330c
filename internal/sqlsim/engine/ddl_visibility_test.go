package engine

import (
	"fmt"
	"strings"
	"testing"
)

// TestUncommittedObjectsAreWaitedFor makes, changes and drops things in a transaction
// while another session names them.
func TestUncommittedObjectsAreWaitedFor(t *testing.T) {
	for _, c := range []struct{ name, before, change, use, committed, rolledBack string }{
		{"a new procedure", ``, `CREATE PROCEDURE dbo.P AS SELECT 1`, `EXEC dbo.P`, `1`, `msg 2812`},
		{"a changed procedure", `CREATE PROCEDURE dbo.P AS SELECT 1`, `ALTER PROCEDURE dbo.P AS SELECT 2`, `EXEC dbo.P`, `2`, `1`},
		{"a dropped procedure", `CREATE PROCEDURE dbo.P AS SELECT 1`, `DROP PROCEDURE dbo.P`, `EXEC dbo.P`, `msg 2812`, `1`},
		{"a new view", ``, `CREATE VIEW dbo.V AS SELECT 1 AS A`, `SELECT A FROM dbo.V`, `1`, `msg 208`},
		{"a changed view", `CREATE VIEW dbo.V AS SELECT 1 AS A`, `CREATE OR ALTER VIEW dbo.V AS SELECT 2 AS A`, `SELECT A FROM dbo.V`, `2`, `1`},
		{"a new function", ``, `CREATE FUNCTION dbo.F() RETURNS int AS BEGIN RETURN 1 END`, `SELECT dbo.F()`, `1`, `msg 4121`},
		{"a new sequence", ``, `CREATE SEQUENCE dbo.S AS int START WITH 1`, `SELECT NEXT VALUE FOR dbo.S`, `1`, `msg 208`},
		{"a dropped synonym", `CREATE VIEW dbo.V AS SELECT 1 AS A; CREATE SYNONYM dbo.N FOR dbo.V`, `DROP SYNONYM dbo.N`, `SELECT A FROM dbo.N`, `msg 208`, `1`},
		{"a new table", ``, `CREATE TABLE dbo.T (A int)`, `SELECT COUNT(*) FROM dbo.T`, `0`, `msg 208`},
	} {
		for _, end := range []string{"COMMIT", "ROLLBACK"} {
			t.Run(fmt.Sprint(c.name, " ", end), func(t *testing.T) {
				srv := newTestServer(t)
				a, b := srv.connect("q"), srv.connect("q")
				if c.before != "" {
					for batch := range strings.SplitSeq(c.before, "; ") {
						run(t, a, batch)
					}
				}
				run(t, a, `BEGIN TRAN`)
				run(t, a, c.change)
				run(t, b, `SET LOCK_TIMEOUT 0`)
				fails(t, b, 1222, c.use)
				run(t, b, `SET LOCK_TIMEOUT -1`)
				done := background(b, c.use)
				untilBlocked(srv, b)
				run(t, a, end)
				want := c.committed
				if end == "ROLLBACK" {
					want = c.rolledBack
				}
				r := <-done
				if got := r.lines[len(r.lines)-1]; got != want && !(len(want) > 4 && len(got) > len(want) && got[:len(want)] == want) {
					t.Errorf("got %v, want %s", r.lines, want)
				}
			})
		}
	}
}
