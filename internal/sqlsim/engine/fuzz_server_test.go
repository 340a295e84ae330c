package engine

import (
	"context"
	"strings"
	"testing"
	"time"
)

// FuzzServer runs arbitrary batches against tables: they end in messages, not panics.
func FuzzServer(f *testing.F) {
	for _, sql := range []string{
		"SELECT a, COUNT(*) FROM t WHERE b > 1 GROUP BY a HAVING COUNT(*) > 0 ORDER BY a",
		"SELECT * FROM t x JOIN u y ON x.id = y.id LEFT JOIN t z ON z.a = y.a WHERE x.b IS NULL",
		"INSERT t (a, b) OUTPUT inserted.id VALUES ('x', 1), ('y', NULL)",
		"UPDATE t SET b += 1, a = DEFAULT OUTPUT deleted.b, inserted.b FROM t JOIN u ON t.id = u.id",
		"DELETE TOP (1) t OUTPUT deleted.* WHERE a LIKE 'x%'",
		"WITH c AS (SELECT TOP (2) * FROM t WITH (ROWLOCK, READPAST, UPDLOCK) ORDER BY b) UPDATE c SET b = 3",
		"MERGE t AS d USING u AS s ON d.id = s.id WHEN MATCHED THEN UPDATE SET b = s.b WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a) OUTPUT $action;",
		"SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY b), SUM(b) OVER (ORDER BY id ROWS 1 PRECEDING) FROM t",
		"SELECT * FROM OPENJSON('[{\"a\":1}]') WITH (a int, b nvarchar(max) '$' AS JSON)",
		"SELECT a FROM t UNION SELECT a FROM u EXCEPT SELECT 'x' ORDER BY 1 OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY",
		"SELECT id, (SELECT MAX(b) FROM u WHERE u.id = t.id) m FROM t WHERE EXISTS (SELECT * FROM u WHERE u.a = t.a) AND b IN (1, 2) FOR JSON PATH",
		"CREATE TABLE #x (a int PRIMARY KEY, b varchar(5) DEFAULT 'q', CHECK (a > 0)); INSERT #x (a) VALUES (1); ALTER TABLE #x ADD c int NULL; SELECT * FROM #x",
		"CREATE TABLE z (a int); CREATE INDEX i ON z (a) INCLUDE (b) WHERE a = 1; DROP TABLE z",
		"DECLARE @t TABLE (x int IDENTITY, y nvarchar(5)); INSERT @t (y) SELECT a FROM t; SELECT * FROM @t CROSS APPLY (SELECT TOP 1 * FROM u WHERE u.a = y) q",
		"WITH r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT STRING_AGG(n, ',') WITHIN GROUP (ORDER BY n) FROM r",
		"SELECT a, b, GROUPING(a) FROM t GROUP BY ROLLUP (a, b)",
		"SELECT * FROM sys.tables; SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('t'); EXEC sp_helptext 'p'",
		"SELECT value FROM STRING_SPLIT('a,b', ',', 1) ORDER BY ordinal; SELECT * FROM GENERATE_SERIES(1, 3)",
		"GRANT SELECT ON t TO public; DENY INSERT ON SCHEMA::dbo TO public; CREATE USER x WITHOUT LOGIN; EXECUTE AS USER = 'x'; REVERT",
	} {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		upper := strings.ToUpper(sql)
		for _, slow := range []string{"WAITFOR", "REPLICATE", "SERIES"} {
			if strings.Contains(upper, slow) {
				return
			}
		}
		ts := newTestServer(t)
		s := ts.connect("q")
		defer s.Close()
		run(t, s, "CREATE TABLE t (id int IDENTITY PRIMARY KEY, a nvarchar(10) NULL DEFAULT 'd', b int); CREATE TABLE u (id int PRIMARY KEY, a nvarchar(10), b int); INSERT t (a, b) VALUES ('x', 1), ('y', 2); INSERT u VALUES (1, 'x', 5), (2, 'q', NULL)")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = s.Batch(ctx, sql, &recording{})
	})
}
