package engine

import (
	"strings"
	"testing"
)

// TestErrorsOverTables shows how far errors reach: statement, scope, batch, transaction.
func TestErrorsOverTables(t *testing.T) {
	ts := newTestServer(t)
	setup := func(t *testing.T) *Session {
		s := ts.connect("q")
		run(t, s, "DROP TABLE IF EXISTS t; CREATE TABLE t (id int IDENTITY PRIMARY KEY, a nvarchar(10) NOT NULL UNIQUE, b int NULL CHECK (b > 0)); INSERT t (a) VALUES ('x')")
		for _, sql := range []string{
			"CREATE OR ALTER PROCEDURE bad AS SELECT 1 AS a; SELECT 1/0; RETURN 4",
			"CREATE OR ALTER PROCEDURE opens AS BEGIN TRAN",
			"CREATE OR ALTER PROCEDURE adds AS INSERT t (a) VALUES ('implicit')",
			"CREATE OR ALTER PROCEDURE rolls AS SELECT 1; ROLLBACK",
			"CREATE OR ALTER FUNCTION div (@a int) RETURNS int AS\nBEGIN\n\tRETURN 10 / @a\nEND",
			"CREATE OR ALTER FUNCTION three (@a int = 3) RETURNS int AS BEGIN RETURN @a END",
		} {
			run(t, s, sql)
		}
		return s
	}
	cases := []struct{ name, sql, want string }{
		{"a constraint ends the statement", "INSERT t (a) VALUES ('x'); PRINT 'after'", "msg 2627|msg 3621|msg 0 after"},
		{"a wrong column keeps the batch from starting", "PRINT 'never'; SELECT nocol FROM t", "msg 207"},
		{"a missing table is found when it is reached", "PRINT 'runs'; SELECT * FROM missing; PRINT 'never'", "msg 0 runs|msg 208"},
		{"the rest of a transaction is committed", "BEGIN TRAN; INSERT t (a) VALUES ('y'); INSERT t (a, b) VALUES ('z', -1); COMMIT; SELECT COUNT(*) FROM t", "msg 547|msg 3621|2"},
		{"XACT_ABORT ends the batch", "SET XACT_ABORT ON; BEGIN TRAN; INSERT t (a) VALUES ('y'); INSERT t (a) VALUES ('y'); PRINT 'never'", "msg 2627"},
		{"a caught constraint leaves the transaction usable", "BEGIN TRY BEGIN TRAN; INSERT t (a) VALUES ('y'); INSERT t (a) VALUES ('y') END TRY BEGIN CATCH SELECT XACT_STATE(); COMMIT END CATCH; SELECT COUNT(*) FROM t", "1|2"},
		{"a caught conversion dooms it", "BEGIN TRAN; BEGIN TRY INSERT t (a, b) VALUES ('y', 'z') END TRY BEGIN CATCH SELECT XACT_STATE(); BEGIN TRY SELECT 1; INSERT t (a) VALUES ('w') END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH; ROLLBACK END CATCH", "-1|1|3930"},
		{"INSERT EXEC goes on behind a statement's error", "CREATE TABLE #r (a int); DECLARE @rc int; INSERT #r EXEC @rc = bad; SELECT @@ROWCOUNT, @rc", "msg 8134|1, 4"},
		{"ROLLBACK within INSERT EXEC", "CREATE TABLE #r (a int); BEGIN TRAN; INSERT #r EXEC rolls\nGO\nIF @@TRANCOUNT > 0 ROLLBACK", "msg 3915"},
		{"266", "EXEC opens; SELECT @@TRANCOUNT; ROLLBACK", "msg 266|1"},
		{"an implicit transaction is the caller's", "SET IMPLICIT_TRANSACTIONS ON; EXEC adds; SELECT @@TRANCOUNT; ROLLBACK; EXEC opens; SELECT @@TRANCOUNT; ROLLBACK; ROLLBACK", "1|msg 266|2|msg 3903"},
		{"an error inside a function is its statement's", "SELECT dbo.div(0); PRINT 'after'", "msg 8134|msg 0 after"},
		{"where it was", "BEGIN TRY SELECT dbo.div(0) END TRY BEGIN CATCH SELECT ERROR_PROCEDURE(), ERROR_LINE() END CATCH", "'dbo.div', 3"},
		{"EXEC of a function", "DECLARE @v int; EXEC @v = dbo.three 8; SELECT @v, dbo.three(DEFAULT)", "8, 3"},
		{"table variables keep their rows", "DECLARE @t TABLE (a int); BEGIN TRAN; INSERT @t VALUES (1); ROLLBACK; SELECT COUNT(*) FROM @t", "1"},
		{"RETURN with a value in a batch", "PRINT 'never'; RETURN 1", "msg 178"},
		{"SELECT assigns row by row", "DECLARE @x int = 1; SELECT @x += v FROM (VALUES (1), (2), (3)) q(v); SELECT @x, @@ROWCOUNT", "7, 3"},
		{"no row leaves the variable", "DECLARE @x int = 5; SELECT @x = b FROM t WHERE a = 'nope'; SELECT @x, @@ROWCOUNT", "5, 0"},
		{"a text that conflicts in its collation", "CREATE TABLE #c (g nvarchar(5) COLLATE Latin1_General_CI_AS, l nvarchar(5) COLLATE Latin1_General_100_BIN2); SELECT * FROM #c WHERE g = l\nGO\nSELECT CASE WHEN 1 = 1 THEN g ELSE l END FROM #c\nGO\nSELECT CASE WHEN 1 = 1 THEN g ELSE l END COLLATE Latin1_General_CI_AS FROM #c", "msg 468|msg 451"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := setup(t)
			defer s.Close()
			var got []string
			for _, sql := range strings.Split(c.sql, "\nGO\n") {
				r, err := attempt(s, sql)
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range r.lines {
					switch head, rest, _ := strings.Cut(l, ":"); {
					case strings.HasPrefix(l, "-- "):
					case head == "msg 0":
						got = append(got, head+rest)
					case strings.HasPrefix(head, "msg "):
						got = append(got, head)
					default:
						got = append(got, l)
					}
				}
			}
			if joined := strings.Join(got, "|"); joined != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.sql, joined, c.want)
			}
		})
	}
}
