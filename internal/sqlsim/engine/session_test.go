package engine

import (
	"strings"
	"testing"
)

func TestManagementViewsShowSettings(t *testing.T) {
	srv := newTestServer(t)
	a, b := srv.connect("q"), srv.connect("q")
	run(t, a, `SET LOCK_TIMEOUT 1234; SET DEADLOCK_PRIORITY 3; SET QUOTED_IDENTIFIER OFF; SET DATEFORMAT ymd; SET DATEFIRST 3; SET TEXTSIZE 99; SET ARITHABORT ON; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRAN; BEGIN TRAN; SELECT 1 UNION ALL SELECT 2`)
	q := `SELECT lock_timeout, deadlock_priority, quoted_identifier, date_format, date_first, text_size, arithabort, transaction_isolation_level, open_transaction_count, row_count, language, status, prev_error FROM sys.dm_exec_sessions WHERE session_id <> @@SPID AND open_transaction_count > 0`
	expect(t, b, q, `1234, 3, 0, 'ymd', 3, 99, 1, 4, 2, 2, 'us_english', 'sleeping', 0`)
	expect(t, b, `SET LOCK_TIMEOUT 7; SET LANGUAGE Italian; SELECT lock_timeout, language, date_first, status FROM sys.dm_exec_requests r WHERE session_id = @@SPID`, `msg 5703: Changed language setting to Italiano.`, `7, 'Italiano', 1, 'running'`)
}

func TestLanguages(t *testing.T) {
	srv := newTestServer(t)
	s := srv.connect("q")
	for _, c := range []struct{ set, month, day, short, first string }{
		{"us_english", "August", "Monday", "03 Aug 2026", "7"},
		{"German", "August", "Montag", "03 Aug 2026", "1"},
		{"Français", "août", "lundi", "03 août 2026", "1"},
		{"Spanish", "Agosto", "Lunes", "03 Ago 2026", "1"},
		{"italiano", "agosto", "lunedì", "03 ago 2026", "1"},
		{"Brazilian", "Agosto", "Segunda-Feira", "03 Ago 2026", "7"},
		{"British English", "August", "Monday", "03 Aug 2026", "1"},
	} {
		run(t, s, `SET LANGUAGE N'`+c.set+`'`)
		expect(t, s, `DECLARE @d datetime2(0) = '2026-08-03'; SELECT DATENAME(month, @d), DATENAME(weekday, @d), CONVERT(nvarchar(30), @d, 106), @@DATEFIRST, CONVERT(char(10), CAST(CONVERT(nvarchar(30), @d, 106) AS date), 120)`,
			`'`+c.month+`', '`+c.day+`', '`+c.short+`', `+c.first+`, '2026-08-03'`)
	}
	expect(t, s, `SET LANGUAGE French; SELECT CAST('02/03/2026' AS date)`, `msg 5703: Changed language setting to Français.`, `2026-03-02`)
	fails(t, s, 241, `SELECT CAST('August 3 2026' AS date)`)
	fails(t, s, 40510, `SET LANGUAGE Klingon`)
	expect(t, s, `SELECT l.name, l.alias, l.dateformat, l.datefirst, l.lcid, l.months FROM sys.syslanguages l WHERE l.langid = @@LANGID`,
		`'Français', 'French', 'dmy', 1, 1036, 'janvier,février,mars,avril,mai,juin,juillet,août,septembre,octobre,novembre,décembre'`)
}

func TestExistsDoesNotEvaluateItsSelectList(t *testing.T) {
	srv := newTestServer(t)
	s := srv.connect("q")
	run(t, s, `CREATE TABLE dbo.T (Id int PRIMARY KEY, K int, V varchar(10), INDEX IX (K)); INSERT dbo.T SELECT value, value % 10, 'x' FROM GENERATE_SERIES(1, 100)`)
	expect(t, s, `IF EXISTS (SELECT 1/0 FROM dbo.T) PRINT 'yes'`, `msg 0: yes`)
	expect(t, s, `IF EXISTS (SELECT TOP (1) CAST(V AS int) FROM dbo.T ORDER BY K) PRINT 'yes'`, `msg 0: yes`)
	expect(t, s, `IF NOT EXISTS (SELECT TOP (0) 1/0 FROM dbo.T) PRINT 'none'`, `msg 0: none`)
	expect(t, s, `SELECT COUNT(*) FROM dbo.T t WHERE EXISTS (SELECT DISTINCT 1/0 FROM dbo.T u WHERE u.K = t.Id AND u.V = 'x')`, `9`)
	expect(t, s, `IF EXISTS (SELECT COUNT(*) FROM dbo.T WHERE 1 = 0) PRINT 'an aggregate has a row'`, `msg 0: an aggregate has a row`)
	fails(t, s, 207, `IF EXISTS (SELECT nosuch FROM dbo.T) PRINT 'yes'`)
	fails(t, s, 8120, `IF EXISTS (SELECT K, COUNT(*) FROM dbo.T) PRINT 'yes'`)
	// A correlated one seeks.
	before := srv.seeks(t, s)
	run(t, s, `SELECT COUNT(*) FROM dbo.T t WHERE EXISTS (SELECT * FROM dbo.T u WHERE u.K = t.Id)`)
	if n := srv.seeks(t, s) - before; n < 100 {
		t.Errorf("%d seeks", n)
	}
}

// seeks counts the seeks in all indexes.
func (ts *testServer) seeks(t *testing.T, s *Session) int64 {
	r := run(t, s, `SELECT SUM(user_seeks) FROM sys.dm_db_index_usage_stats`)
	return r.rows[0][0].Int()
}

func TestRandomAndSequentialValues(t *testing.T) {
	srv := newTestServer(t)
	s := srv.connect("q")
	expect(t, s, `SELECT COUNT(DISTINCT a), COUNT(DISTINCT b), SUM(IIF(a = b, 1, 0)) FROM (SELECT RAND() AS a, RAND() AS b FROM GENERATE_SERIES(1, 10)) AS x`, `1, 1, 0`)
	expect(t, s, `DECLARE @a float, @b float; SELECT @a = RAND(5); SELECT @a = RAND(); SELECT @b = RAND(5); SELECT @b = RAND(); SELECT IIF(@a = @b, 'repeats', 'differs')`, `'repeats'`)
	run(t, s, `CREATE TABLE dbo.N (Id uniqueidentifier NOT NULL DEFAULT NEWSEQUENTIALID(), V int IDENTITY); INSERT dbo.N DEFAULT VALUES; INSERT dbo.N DEFAULT VALUES; INSERT dbo.N (Id) VALUES (DEFAULT)`)
	expect(t, s, `SELECT V FROM dbo.N ORDER BY Id`, `1`, `2`, `3`)
	fails(t, s, 302, `SELECT NEWSEQUENTIALID()`)
	fails(t, s, 302, `CREATE TABLE dbo.N2 (Id varchar(50) DEFAULT NEWSEQUENTIALID())`)
}

func TestTerminatedStatements(t *testing.T) {
	srv := newTestServer(t)
	s := srv.connect("q")
	run(t, s, `CREATE TABLE dbo.T (Id int PRIMARY KEY, V varchar(3))`)
	terminated := func(sql string) bool {
		r, _ := attempt(s, sql)
		return strings.Contains(strings.Join(r.lines, "|"), "msg 3621: The statement has been terminated.")
	}
	for sql, want := range map[string]bool{
		`INSERT dbo.T VALUES (1, 'abcd')`:                                         true,
		`INSERT dbo.T VALUES (NULL, 'a')`:                                         true,
		`INSERT dbo.T SELECT 1/0, 'a'`:                                            true,
		`INSERT dbo.T VALUES (1, 'a'), (1, 'b')`:                                  true,
		`SELECT 1/0`:                                                              false,
		`SET XACT_ABORT ON; INSERT dbo.T VALUES (1, 'abcd')`:                      false,
		`BEGIN TRY INSERT dbo.T VALUES (1, 'abcd') END TRY BEGIN CATCH END CATCH`: false,
		`INSERT dbo.T VALUES ('x', 'a')`:                                          false, // ends the batch
		`INSERT dbo.Nowhere VALUES (1)`:                                           false,
		`RAISERROR ('x', 16, 1)`:                                                  false,
	} {
		run(t, s, `SET XACT_ABORT OFF`)
		if got := terminated(sql); got != want {
			t.Errorf("%s: terminated %v", sql, got)
		}
	}
	expect(t, s, `SET XACT_ABORT OFF; INSERT dbo.T VALUES (1, 'abcd'); SELECT @@ERROR`,
		`msg 2628: String or binary data would be truncated in table 'q.dbo.T', column 'V'. Truncated value: 'abc'.`, `msg 3621: The statement has been terminated.`, `2628`)
}

func TestReadpastWithRowVersions(t *testing.T) {
	srv := newTestServer(t)
	s := srv.connect("q")
	run(t, s, `CREATE TABLE dbo.T (Id int PRIMARY KEY); INSERT dbo.T VALUES (1)`)
	run(t, s, `SELECT * FROM dbo.T WITH (READPAST)`)
	run(t, s, `ALTER DATABASE q SET READ_COMMITTED_SNAPSHOT ON`)
	fails(t, s, 650, `SELECT * FROM dbo.T WITH (READPAST)`)
	fails(t, s, 650, `SELECT * FROM dbo.T WITH (READPAST, READCOMMITTED)`)
	run(t, s, `SELECT * FROM dbo.T WITH (READPAST, READCOMMITTEDLOCK)`)
	fails(t, s, 650, `SELECT * FROM dbo.T WITH (READPAST, UPDLOCK)`)
	run(t, s, `SELECT * FROM dbo.T WITH (READPAST, UPDLOCK, READCOMMITTEDLOCK); DELETE TOP (1) dbo.T WITH (READPAST, READCOMMITTEDLOCK)`)
	run(t, s, `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT * FROM dbo.T WITH (READPAST)`)
}
