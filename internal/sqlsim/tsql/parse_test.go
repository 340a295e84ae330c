package tsql

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// accepted are batches that SQL Server reads without a syntax error.
var accepted = []string{
	"",
	";;",
	"SELECT 1",
	"SELECT -100.0/-100.0*10, ~1, 1e5, $1.50, 0xFF, N'x''y', 'a' 'b', NULL",
	"SELECT a = 1, b AS [c d], 'x' AS 'y', t.*, dbo.t.*, @@ROWCOUNT FROM dbo.t AS t WHERE (a + b) * 2 > 3 AND NOT (a = 1 OR (b) IN (1, 2))",
	"SELECT TOP (10) PERCENT WITH TIES * FROM t ORDER BY a DESC, b",
	"SELECT TOP 5 a FROM t",
	"SELECT * FROM a JOIN b ON a.x = b.x LEFT OUTER HASH JOIN c ON c.y = b.y CROSS APPLY f(a.x) AS g OUTER APPLY (SELECT 1 AS z) h",
	"SELECT * FROM a JOIN b JOIN c ON b.x = c.x ON a.x = b.x",
	"SELECT * FROM (a CROSS JOIN b) FULL JOIN c ON 1 = 1, d",
	"SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(id, name)",
	"SELECT * FROM t WITH (NOLOCK, INDEX(ix_a), FORCESEEK(ix (a, b))) WHERE a = 1",
	"SELECT * FROM t (NOLOCK) x; SELECT * FROM t x (NOLOCK)",
	"SELECT * FROM OPENJSON(@j, '$.a') WITH (id int, name nvarchar(10) '$.n', raw nvarchar(max) '$.r' AS JSON) AS j",
	"SELECT * FROM STRING_SPLIT('a,b', ',', 1)",
	"WITH c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c WHERE n < 10) SELECT * FROM c OPTION (MAXRECURSION 100, RECOMPILE, USE HINT('X'), OPTIMIZE FOR (@a = 1, @b UNKNOWN), LOOP JOIN)",
	"SELECT 1 INTERSECT SELECT 2 EXCEPT (SELECT 3 UNION SELECT 4) ORDER BY 1 OFFSET 5 ROWS FETCH NEXT 5 ROWS ONLY",
	"SELECT a FROM t FOR JSON PATH, ROOT('x'), INCLUDE_NULL_VALUES, WITHOUT_ARRAY_WRAPPER",
	"SELECT a, COUNT(*) FROM t GROUP BY a HAVING COUNT(DISTINCT b) > 1",
	"SELECT a, b FROM t GROUP BY ROLLUP(a, (b, c)), CUBE(d), GROUPING SETS ((a), (a, b), ())",
	"SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY b DESC), SUM(x) OVER (ORDER BY y ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) FROM t",
	"SELECT STRING_AGG(a, ',') WITHIN GROUP (ORDER BY a), LAST_VALUE(a) IGNORE NULLS OVER (ORDER BY b) FROM t",
	"SELECT CASE a WHEN 1 THEN 'x' ELSE 'y' END, CASE WHEN a > 1 THEN 1 END, IIF(a = 1 AND b = 2, 1, 0)",
	"SELECT CAST(a AS decimal(10, 2)), TRY_CONVERT(datetime2(3), b, 121), CONVERT(varchar(max), c), PARSE('1' AS int USING 'en-US')",
	"SELECT a COLLATE Latin1_General_100_BIN2, b AT TIME ZONE 'UTC' AT TIME ZONE 'Central European Standard Time'",
	"SELECT DATEADD(DAY, 1, x), DATEDIFF_BIG(ms, a, b), DATEPART(ISO_WEEK, c)",
	"SELECT TRIM(BOTH ' ' FROM x), TRIM('a' FROM b), LEFT(a, 1), RIGHT(b, 2), COALESCE(a, b), NULLIF(a, b)",
	"SELECT JSON_OBJECT('a': 1, 'b': JSON_ARRAY(1, 2 NULL ON NULL) ABSENT ON NULL)",
	"SELECT {d '2020-01-01'}, {ts '2020-01-01 00:00:00'}, {fn NOW()}",
	"SELECT NEXT VALUE FOR dbo.s, $IDENTITY, $ROWGUID FROM t",
	"SELECT 1 WHERE a IS NOT DISTINCT FROM b AND c > ALL (SELECT 1) AND d LIKE 'a!%' ESCAPE '!' AND e NOT BETWEEN 1 AND 2 AND EXISTS (SELECT * FROM t) AND f NOT IN (SELECT 1)",
	"SELECT @a = 1, @b += 2",
	"SELECT 1 AS a INTO #t FROM x",
	"SELECT ((SELECT 1) + 2)",
	"(SELECT 1) UNION (SELECT 2)",
	"INSERT INTO t (a, b) OUTPUT inserted.id, inserted.* INTO @x (a) VALUES (1, DEFAULT), (2, NULL)",
	"INSERT t DEFAULT VALUES; INSERT t SELECT 1; INSERT INTO t EXEC dbo.p @a = 1; INSERT TOP (5) INTO t (a) SELECT b FROM u OPTION (MAXDOP 1)",
	"UPDATE TOP (5) t WITH (ROWLOCK) SET a = 1, t.b += 2, @v = c = 3, d = DEFAULT OUTPUT deleted.a, inserted.b FROM t JOIN u ON t.x = u.x WHERE u.y = 1",
	"DELETE t; DELETE FROM t WHERE a = 1; DELETE x FROM t AS x JOIN y ON 1 = 1; DELETE TOP (10) FROM t WITH (READPAST) OUTPUT deleted.* INTO u OUTPUT deleted.id WHERE a < 1",
	"WITH c AS (SELECT TOP (5) * FROM t WITH (ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK) ORDER BY a) UPDATE c SET s = 1 OUTPUT inserted.*",
	"MERGE INTO t WITH (HOLDLOCK) AS d USING (SELECT 1 AS a) AS s ON d.a = s.a WHEN MATCHED AND d.b = 1 THEN UPDATE SET b = 2 WHEN NOT MATCHED BY TARGET THEN INSERT (a) VALUES (s.a) WHEN NOT MATCHED BY SOURCE THEN DELETE OUTPUT $action, inserted.a;",
	"TRUNCATE TABLE dbo.t",
	"DECLARE @a int = 1, @b nvarchar(max), @t TABLE (id int PRIMARY KEY, x varchar(10) NOT NULL DEFAULT 'a', INDEX ix (x), UNIQUE (x, id))",
	"SET @a = 1; SET @a += (SELECT MAX(x) FROM t)",
	"IF @a = 1 SELECT 1 ELSE IF @a = 2 BEGIN SELECT 2; END ELSE PRINT 'x' + 'y'",
	"WHILE 1 = 1 BEGIN IF @x > 5 BREAK; SET @x += 1; CONTINUE END",
	"BEGIN TRY SELECT 1/0; END TRY BEGIN CATCH IF @@TRANCOUNT > 0 ROLLBACK; THROW; END CATCH",
	"BEGIN TRY SELECT 1 END TRY BEGIN CATCH END CATCH;",
	"THROW 50000, 'x', 1",
	"RAISERROR(N'a %s %d', 16, -1, 'x', @y) WITH NOWAIT, LOG",
	"RETURN; RETURN 1; RETURN -1; RETURN (SELECT 1)",
	"WAITFOR DELAY '00:00:01'; WAITFOR TIME @t",
	"EXEC dbo.p 1, 'x', @a OUTPUT, DEFAULT, NULL, word, -1.5",
	"EXEC @rc = dbo.p @a = 1, @b = @x OUT; EXECUTE (@sql + N'x'); EXEC sp_executesql N'SELECT 1'",
	"sp_who 'active'",
	"[dbo].[p] 1",
	"EXECUTE AS USER = 'x'; REVERT",
	"BEGIN TRAN x; SAVE TRANSACTION y; ROLLBACK TRAN y; COMMIT TRANSACTION; BEGIN TRANSACTION; COMMIT WORK; ROLLBACK",
	"SET NOCOUNT, XACT_ABORT ON; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCK_TIMEOUT -1; SET DEADLOCK_PRIORITY LOW; SET DATEFORMAT mdy; SET LANGUAGE N'us_english'; SET STATISTICS IO, TIME ON; SET IDENTITY_INSERT dbo.t ON; SET CONTEXT_INFO 0x01; SET TEXTSIZE 2147483647",
	"USE master; DBCC CHECKDB ('x') WITH NO_INFOMSGS; KILL 55; CHECKPOINT",
	"DECLARE c CURSOR LOCAL FAST_FORWARD FOR SELECT a FROM t ORDER BY a; OPEN c; FETCH NEXT FROM c INTO @a; CLOSE c; DEALLOCATE c",
	"CREATE TABLE dbo.t (id bigint IDENTITY(1,1) NOT NULL CONSTRAINT pk PRIMARY KEY CLUSTERED WITH (FILLFACTOR = 80, OPTIMIZE_FOR_SEQUENTIAL_KEY = ON), a nvarchar(10) COLLATE Latin1_General_100_BIN2 NULL DEFAULT (N'x'), b AS a + 'x' PERSISTED NOT NULL, c int REFERENCES u (id) ON DELETE CASCADE, CONSTRAINT ck CHECK (c > 0 OR c IS NULL), CONSTRAINT fk FOREIGN KEY (c, id) REFERENCES dbo.v (a, b), INDEX ix NONCLUSTERED (a DESC) INCLUDE (c) WHERE a IS NOT NULL WITH (DATA_COMPRESSION = PAGE), UNIQUE NONCLUSTERED (a)) ON [PRIMARY] WITH (DATA_COMPRESSION = ROW)",
	"ALTER TABLE t ADD a int NULL, b AS 1, CONSTRAINT d DEFAULT 1 FOR a WITH VALUES",
	"ALTER TABLE t DROP COLUMN IF EXISTS a, b, CONSTRAINT c",
	"ALTER TABLE t ALTER COLUMN a nvarchar(20) NOT NULL; ALTER TABLE t SET (LOCK_ESCALATION = DISABLE); ALTER TABLE t WITH NOCHECK ADD CHECK (a > 1); ALTER TABLE t CHECK CONSTRAINT ALL",
	"CREATE UNIQUE NONCLUSTERED INDEX ix ON dbo.t (a, b DESC) INCLUDE (c) WHERE a = 1 AND b IS NOT NULL WITH (ONLINE = ON, DROP_EXISTING = OFF, ALLOW_PAGE_LOCKS = OFF) ON [PRIMARY]",
	"DROP INDEX IF EXISTS ix ON t; ALTER INDEX ALL ON t REBUILD WITH (FILLFACTOR = 90); ALTER INDEX ix ON t REORGANIZE",
	"CREATE OR ALTER PROCEDURE dbo.p @a int, @b nvarchar(max) = N'x' OUTPUT, @t dbo.tt READONLY WITH EXECUTE AS OWNER, RECOMPILE AS SET NOCOUNT ON; SELECT 1; RETURN 0;",
	"CREATE PROC p (@a int = NULL) AS BEGIN SELECT @a END",
	"CREATE VIEW v (a, b) WITH SCHEMABINDING AS SELECT 1, 2 WITH CHECK OPTION",
	"CREATE FUNCTION dbo.f (@a int) RETURNS int WITH SCHEMABINDING AS BEGIN RETURN @a + 1 END",
	"CREATE FUNCTION dbo.f () RETURNS TABLE AS RETURN (SELECT 1 AS a)",
	"CREATE FUNCTION dbo.f () RETURNS @t TABLE (a int) AS BEGIN INSERT @t VALUES (1); RETURN END",
	"CREATE TRIGGER tr ON t AFTER INSERT, UPDATE AS IF UPDATE(a) SELECT 1",
	"CREATE SCHEMA s AUTHORIZATION dbo",
	"CREATE TYPE dbo.x FROM nvarchar(20) NOT NULL; CREATE TYPE y AS TABLE (a int PRIMARY KEY)",
	"CREATE SEQUENCE dbo.s AS bigint START WITH 1 INCREMENT BY 2 MINVALUE 1 NO MAXVALUE CYCLE CACHE 10; ALTER SEQUENCE s RESTART WITH 5",
	"CREATE ROLE r AUTHORIZATION dbo; CREATE USER u WITHOUT LOGIN; CREATE USER v FOR LOGIN l WITH DEFAULT_SCHEMA = dbo; CREATE LOGIN l WITH PASSWORD = 'x', CHECK_POLICY = OFF; ALTER ROLE r ADD MEMBER u; ALTER ROLE r DROP MEMBER u",
	"CREATE DATABASE d COLLATE Latin1_General_100_CI_AS; ALTER DATABASE CURRENT SET READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK IMMEDIATE; ALTER DATABASE d SET COMPATIBILITY_LEVEL = 150",
	"GRANT EXECUTE ON OBJECT::dbo.p TO r, public; DENY SELECT, INSERT ON SCHEMA::dbo TO [u]; REVOKE GRANT OPTION FOR VIEW DEFINITION ON t FROM r CASCADE; GRANT CREATE TABLE TO u WITH GRANT OPTION",
	"ALTER AUTHORIZATION ON SCHEMA::s TO dbo; ALTER SCHEMA s TRANSFER OBJECT::dbo.t; UPDATE STATISTICS t WITH FULLSCAN",
	"DROP TABLE IF EXISTS a, dbo.b; DROP PROC p; DROP DATABASE IF EXISTS d",
	"/* a /* nested */ b */ SELECT 1 -- end",
	"CREATE SYNONYM s FOR db.dbo.t",
	"DECLARE @x xml; SELECT 1 ORDER BY (SELECT NULL)",
}

func TestAccepted(t *testing.T) {
	for _, src := range accepted {
		b, err := Parse(src, Options{QuotedIdentifier: true})
		if err != nil {
			t.Errorf("%s\n\t%v", src, err)
			continue
		}
		for _, st := range b.Statements {
			start, end := st.Range()
			if start < 0 || end > len(src) || start >= end {
				t.Errorf("%s\n\trange %d..%d", src, start, end)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	cases := []struct {
		src    string
		number int32
		line   int32
		text   string
	}{
		{"SELECT * FROM", 102, 1, "Incorrect syntax near 'FROM'."},
		{"SELECT *\nFROM WHERE", 156, 2, "Incorrect syntax near the keyword 'WHERE'."},
		{"SELECT 1\nGO\nSELECT 2", 102, 2, "Incorrect syntax near 'GO'."},
		{"CREATE TABLE t (a int)\nGO\n", 102, 2, "Incorrect syntax near 'GO'."},
		{"GO", 102, 1, "Incorrect syntax near 'GO'."},
		{"EXEC p\nGO", 102, 2, "Incorrect syntax near 'GO'."},
		{"SELECT 'abc", 105, 1, "Unclosed quotation mark after the character string 'abc'."},
		{"SELECT 1 /* x", 113, 1, "Missing end comment mark '*/'."},
		{"SELECT 1 WITH c AS (SELECT 1 AS a) SELECT * FROM c", 319, 1, "Incorrect syntax near the keyword 'WITH'. If this statement is a common table expression, an xmlnamespaces clause or a change tracking context clause, the previous statement must be terminated with a semicolon."},
		{"SELECT 1\nCREATE PROCEDURE p AS SELECT 1", 111, 2, "'CREATE/ALTER PROCEDURE' must be the first statement in a query batch."},
		{"SELECT 1; CREATE VIEW v AS SELECT 1 AS a", 111, 1, "'CREATE VIEW' must be the first statement in a query batch."},
		{"IF 1 = 1 CREATE PROCEDURE p AS SELECT 1", 156, 1, "Incorrect syntax near the keyword 'PROCEDURE'."},
		{"SELECT 1 WHERE a", 4145, 1, "An expression of non-boolean type specified in a context where a condition is expected, near 'a'."},
		{"IF @a SELECT 1", 4145, 1, "An expression of non-boolean type specified in a context where a condition is expected, near 'SELECT'."},
		{"SELECT (a = 1)", 102, 1, "Incorrect syntax near '='."},
		{"PRINT 'x' THROW 50000, 'x', 1", 102, 1, "Incorrect syntax near 'THROW'."},
		{"BEGIN TRY SELECT 1 END TRY", 102, 1, "Incorrect syntax near 'TRY'."},
		{"MERGE t USING s ON 1 = 1 WHEN MATCHED THEN DELETE", 10713, 1, "A MERGE statement must be terminated by a semi-colon (;)."},
		{"SELECT 1; foo", 102, 1, "Incorrect syntax near 'foo'."},
		{"EXEC p @a = 1, 2", 119, 1, "Must pass parameter number 2 and subsequent parameters as '@name = value'. After the form '@name = value' has been used, all subsequent parameters must be passed in the form '@name = value'."},
		{"EXEC p 1 OUTPUT", 179, 1, "Cannot use the OUTPUT option when passing a constant to a stored procedure."},
		{"SELECT * FROM t PIVOT (SUM(a) FOR b IN ([x])) p", UnsupportedNumber, 1, "sqlsim does not support PIVOT."},
		{"WITH XMLNAMESPACES ('a' AS b) SELECT 1", UnsupportedNumber, 1, "sqlsim does not support WITH XMLNAMESPACES."},
		{"GOTO x", UnsupportedNumber, 1, "sqlsim does not support GOTO."},
		{"SELECT * FROM t WITH (FOO)", 321, 1, "\"FOO\" is not a recognized table hints option. If it is intended as a parameter to a table-valued function or to the CHANGETABLE function, ensure that your database compatibility mode is set to 90."},
		{"SET FOO ON", 195, 1, "'FOO' is not a recognized SET option."},
		{"DATEADD(1, 2)", 102, 1, "Incorrect syntax near '('."},
		{"SELECT DATEADD('x', 1, 2)", 1023, 1, "Invalid parameter 1 specified for dateadd."},
		{"SELECT $", 0, 0, ""},
		{"IF 1 = 1 BREAK", 135, 1, "Cannot use a BREAK statement outside the scope of a WHILE statement."},
		{"CONTINUE", 136, 1, "Cannot use a CONTINUE statement outside the scope of a WHILE statement."},
		{"SELECT " + strings.Repeat("CASE WHEN 1=1 THEN ", 11) + "1" + strings.Repeat(" END", 11), 125, 1, "Case expressions may only be nested to level 10."},
		{"SELECT t.order FROM t", 156, 1, "Incorrect syntax near the keyword 'order'."},
		{"SELECT \\", 102, 1, "Incorrect syntax near '\\'."},
		{"INSERT t (a) VALUES (1), (2, 3)", 10709, 1, "The number of columns for each row in a table value constructor must be the same."},
	}
	for _, c := range cases {
		_, err := Parse(c.src, Options{QuotedIdentifier: true})
		if c.number == 0 {
			if err != nil {
				t.Errorf("%s: %v", c.src, err)
			}
			continue
		}
		var e *value.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: got %v, want %d", c.src, err, c.number)
			continue
		}
		if e.Number != c.number || e.Message != c.text || e.Line != c.line {
			t.Errorf("%s\n\tgot  %d line %d %s\n\twant %d line %d %s", c.src, e.Number, e.Line, e.Message, c.number, c.line, c.text)
		}
	}
}

func TestQuotedIdentifier(t *testing.T) {
	b, err := Parse(`SET QUOTED_IDENTIFIER OFF; SELECT "a"; SET QUOTED_IDENTIFIER ON; SELECT "a"`, Options{QuotedIdentifier: true})
	if err != nil {
		t.Fatal(err)
	}
	item := func(i int) Expr {
		return b.Statements[i].(*SelectStatement).Query.Body.(*Select).Items[0].Expr
	}
	if _, ok := item(1).(*Literal); !ok {
		t.Errorf("with OFF: %T", item(1))
	}
	if _, ok := item(3).(*ColumnRef); !ok {
		t.Errorf("with ON: %T", item(3))
	}
}

func TestPrecedence(t *testing.T) {
	e, err := ParseExpression("-100.0/-100.0*10", Options{})
	if err != nil {
		t.Fatal(err)
	}
	neg, ok := e.(*Unary)
	if !ok {
		t.Fatalf("%T", e)
	}
	div := neg.X.(*Binary)
	if div.Op != "/" || reflect.TypeOf(div.R) != reflect.TypeOf(&Unary{}) {
		t.Errorf("%s %T", div.Op, div.R)
	}
}

func TestDepthIsBounded(t *testing.T) {
	for _, src := range []string{
		"SELECT " + strings.Repeat("(", 1e5),
		"SELECT " + strings.Repeat("-", 1e5)[:1] + strings.Repeat(" -", 1e5) + "1",
		"SELECT * FROM " + strings.Repeat("(", 1e5),
		strings.Repeat("BEGIN ", 1e5),
		strings.Repeat("IF 1=1 ", 1e5),
		"SELECT 1 WHERE " + strings.Repeat("NOT ", 1e5) + "1=1",
		"SELECT 1" + strings.Repeat("+1", 1e5),
	} {
		_, err := Parse(src, Options{})
		var e *value.Error
		if !errors.As(err, &e) || e.Number != 191 {
			t.Errorf("%.30s...: %v", src, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, src := range accepted {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		for _, qi := range []bool{true, false} {
			_, err := Parse(src, Options{QuotedIdentifier: qi})
			var e *value.Error
			if err != nil && !errors.As(err, &e) {
				t.Fatal(err)
			}
		}
	})
}
