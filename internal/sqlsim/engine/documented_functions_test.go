package engine

import "testing"

func TestDocumentedFunctions(t *testing.T) {
	checkDocumented(t, []documented{
		{"t-sql/functions/eomonth-transact-sql", []documentedCase{
			{`DECLARE @d datetime = '12/1/2011', @s varchar(255) = '12/1/2011'; SELECT EOMONTH(@d), EOMONTH(@s), EOMONTH(@d, 1), EOMONTH(@d, -1)`, `2011-12-31, 2011-12-31, 2012-01-31, 2011-11-30`},
			{`type EOMONTH(GETDATE())`, `date`},
			{`=EOMONTH('9999-12-01', 1)`, `!517`},
		}},
		{"t-sql/functions/datetimefromparts-transact-sql", []documentedCase{
			{`=DATETIMEFROMPARTS(2010, 12, 31, 23, 59, 59, 0), DATETIMEFROMPARTS(2010, 12, NULL, 23, 59, 59, 0)`, `2010-12-31 23:59:59, NULL`},
			{`=DATETIMEFROMPARTS(2010, 13, 31, 23, 59, 59, 0)`, `!289`},
		}},
		{"t-sql/functions/datetimeoffsetfromparts-transact-sql", []documentedCase{
			{`=DATETIMEOFFSETFROMPARTS(2010, 12, 31, 14, 23, 23, 0, 12, 0, 7), DATETIMEOFFSETFROMPARTS(2011, 8, 15, 14, 30, 00, 5, 12, 30, 1), DATETIMEOFFSETFROMPARTS(2011, 8, 15, 14, 30, 00, 500, 12, 30, 3)`, `2010-12-31 14:23:23 +12:00, 2011-08-15 14:30:00.5 +12:30, 2011-08-15 14:30:00.5 +12:30`},
			{`=DATETIMEOFFSETFROMPARTS(2011, 8, 15, 14, 30, 00, 5, 12, 30, NULL)`, `!`},
			{`=DATETIMEOFFSETFROMPARTS(2011, 8, 15, 14, 30, 00, 5, 12, 30, 0)`, `!`},
			{`=DATETIMEOFFSETFROMPARTS(2011, 8, 15, 14, 30, 00, 0, 12, -30, 0)`, `!`},
			{`=DATETIMEOFFSETFROMPARTS(2011, 8, NULL, 14, 30, 00, 0, 12, 30, 0)`, `NULL`},
		}},
		{"t-sql/functions/logical-functions-greatest-transact-sql", []documentedCase{
			{`=GREATEST('6.62', 3.1415, N'7'), GREATEST('Glacier', N'Joshua Tree', 'Mount Rainier'), GREATEST(NULL, 2, NULL)`, `7.0000, 'Mount Rainier', 2`},
			{`DECLARE @a decimal(2,1) = 0.7, @b decimal(3,1) = 0.65; SELECT GREATEST(@a, @b)`, `0.7`},
			{`CREATE TABLE dbo.studies (VarX varchar(10) NOT NULL, Correlation decimal(4, 3) NULL); INSERT INTO dbo.studies VALUES ('Var1', 0.2), ('Var2', 0.825), ('Var3', 0.61); DECLARE @VarX decimal(4, 3) = 0.59; SELECT Correlation, GREATEST(Correlation, 0, @VarX) FROM dbo.studies`, `0.200, 0.590 | 0.825, 0.825 | 0.610, 0.610`},
		}},
		{"t-sql/functions/logical-functions-choose-transact-sql", []documentedCase{
			{`=CHOOSE(3, 'Manager', 'Director', 'Developer', 'Tester'), CHOOSE(5, 'a', 'b'), CHOOSE(0, 'a', 'b'), CHOOSE(2.9, 'a', 'b', 'c')`, `'Developer', NULL, NULL, 'b'`},
			{`type CHOOSE(1, 1, CAST(2 AS bigint))`, `bigint`},
		}},
		{"t-sql/functions/logical-functions-iif-transact-sql", []documentedCase{
			{`DECLARE @a int = 45, @b int = 40, @n int; SELECT IIF(@a > @b, 'TRUE', 'FALSE'), IIF(@n > 1, 'TRUE', 'FALSE'), IIF(45 > 30, @n, @n)`, `'TRUE', 'FALSE', NULL`},
			{`=IIF(45 > 30, NULL, NULL)`, `!8133`},
		}},
		{"t-sql/functions/sum-transact-sql", []documentedCase{
			{`type SUM(CAST(1 AS tinyint)), SUM(CAST(1 AS smallint)), SUM(CAST(1 AS bigint)), SUM(CAST(1 AS decimal(9,4))), SUM(CAST(1 AS smallmoney)), SUM(CAST(1 AS real))`, `int, int, bigint, decimal(38,4), money, float`},
			{`SELECT SUM(x), SUM(DISTINCT x) FROM (VALUES (1), (1), (NULL), (2)) v (x)`, `4, 3`},
			{`SELECT SUM(CAST(1 AS bit))`, `!8117`},
			{`SELECT x, SUM(y) OVER (ORDER BY x) FROM (VALUES (1, 10), (1, 20), (2, 30)) v (x, y)`, `1, 30 | 1, 30 | 2, 60`},
		}},
		{"t-sql/functions/avg-transact-sql", []documentedCase{
			{`type AVG(CAST(1 AS tinyint)), AVG(CAST(1 AS bigint)), AVG(CAST(1 AS decimal(9,4))), AVG(CAST(1 AS decimal(9,8))), AVG(CAST(1 AS smallmoney)), AVG(CAST(1 AS real))`, `int, bigint, decimal(38,6), decimal(38,8), money, float`},
			{`SELECT AVG(x) FROM (VALUES (1), (2), (NULL)) v (x)`, `1`},
			{`SELECT AVG(x) FROM (VALUES (2147483647), (1)) v (x)`, `!8115`},
		}},
		{"t-sql/functions/lag-transact-sql", []documentedCase{
			{`CREATE TABLE T (a int, b int, c int); INSERT INTO T VALUES (1, 1, -3), (2, 2, 4), (3, 1, NULL), (4, 3, 1), (5, 2, NULL), (6, 1, 5); SELECT b, c, LAG(2*c, b*(SELECT MIN(b) FROM T), -c/2.0) OVER (ORDER BY a) FROM T`, `1, -3, 1 | 2, 4, -2 | 1, NULL, 8 | 3, 1, -6 | 2, NULL, NULL | 1, 5, NULL`},
			{`SELECT LAG(a) OVER (PARTITION BY b) FROM T`, `!4112`},
			{`SELECT LAG(a, -1) OVER (ORDER BY a) FROM T`, `!8730`},
		}},
		{"t-sql/functions/session-context-transact-sql", []documentedCase{
			{`EXEC sp_set_session_context 'user_id', 4; SELECT SESSION_CONTEXT(N'user_id'), SESSION_CONTEXT(N'other')`, `4, NULL`},
			{`type SESSION_CONTEXT(N'user_id')`, `sql_variant`},
		}},
		{"relational-databases/system-stored-procedures/sp-set-session-context-transact-sql", []documentedCase{
			{`EXEC sp_set_session_context 'language', 'English'; SELECT SESSION_CONTEXT(N'language')`, `'English'`},
			{`EXEC sp_set_session_context 'user_id', 4, @read_only = 1; EXEC sp_set_session_context 'user_id', 5`, `!15664`},
			{`EXEC sp_set_session_context 'language', NULL; SELECT SESSION_CONTEXT(N'language')`, `NULL`},
		}},
		{"t-sql/functions/scope-identity-transact-sql", []documentedCase{
			{`CREATE TABLE TZ (Z_id int IDENTITY(1,1) PRIMARY KEY, Z_name varchar(20) NOT NULL); INSERT TZ VALUES ('Lisa'), ('Mike'), ('Carla'); CREATE TABLE TY (Y_id int IDENTITY(100,5) PRIMARY KEY, Y_name varchar(20) NULL); INSERT TY (Y_name) VALUES ('boathouse'), ('rocks'), ('elevator'); SELECT Y_id FROM TY`, `100 | 105 | 110`},
			{`CREATE TRIGGER Ztrig ON TZ FOR INSERT AS BEGIN INSERT TY VALUES ('') END`, ``},
			{`INSERT TZ VALUES ('Rosalie'); SELECT SCOPE_IDENTITY(), @@IDENTITY`, `4, 115`},
			{`type SCOPE_IDENTITY(), @@IDENTITY, IDENT_CURRENT('TZ')`, `decimal(38,0), decimal(38,0), decimal(38,0)`},
			{`BEGIN TRAN; INSERT TY VALUES ('x'); ROLLBACK; INSERT TY VALUES ('y'); SELECT SCOPE_IDENTITY()`, `125`},
			{`CREATE PROCEDURE p AS SELECT SCOPE_IDENTITY()`, ``},
			{`INSERT TY VALUES ('z'); EXEC p; SELECT SCOPE_IDENTITY()`, `NULL | 130`},
		}},
		{"t-sql/functions/identity-transact-sql", []documentedCase{
			{`CREATE TABLE a (i int IDENTITY, x int UNIQUE); CREATE TABLE b (x int); INSERT a VALUES (1), (2); SELECT @@IDENTITY; INSERT b VALUES (1); SELECT @@IDENTITY`, `2 | NULL`},
			{`INSERT a VALUES (3); INSERT a VALUES (3)`, `!2627`},
			{`SELECT @@IDENTITY; INSERT a VALUES (4); SELECT @@IDENTITY`, `3 | 5`},
			{`CREATE TRIGGER tra ON a AFTER INSERT AS INSERT b VALUES (9)`, ``},
			{`INSERT a VALUES (5); SELECT @@IDENTITY`, `6`},
		}},
		{"t-sql/functions/ident-current-transact-sql", []documentedCase{
			{`CREATE TABLE t6 (id int IDENTITY); CREATE TABLE t7 (id int IDENTITY(100,1)); SELECT IDENT_CURRENT('t6'), IDENT_CURRENT('t7'), IDENT_CURRENT('none')`, `1, 100, NULL`},
			{`CREATE TRIGGER t6ins ON t6 FOR INSERT AS BEGIN INSERT t7 DEFAULT VALUES END`, ``},
			{`INSERT t6 DEFAULT VALUES; SELECT @@IDENTITY, SCOPE_IDENTITY(), IDENT_CURRENT('t7'), IDENT_CURRENT('t6')`, `100, 1, 100, 1`},
			{`INSERT t7 DEFAULT VALUES; TRUNCATE TABLE t7; SELECT IDENT_CURRENT('t7')`, `100`},
		}},
		{"t-sql/functions/generate-series-transact-sql", []documentedCase{
			{`SELECT value FROM GENERATE_SERIES(1, 50, 20); SELECT value FROM GENERATE_SERIES(3, 1); SELECT value FROM GENERATE_SERIES(1, 3, -1); SELECT value FROM GENERATE_SERIES(3, 1, 1)`, `1 | 21 | 41 | 3 | 2 | 1`},
			{`DECLARE @a decimal(2,1) = 0.0, @b decimal(2,1) = 0.3, @c decimal(2,1) = 0.1; SELECT value FROM GENERATE_SERIES(@a, @b, @c)`, `0.0 | 0.1 | 0.2 | 0.3`},
			{`SELECT value FROM GENERATE_SERIES(1, 3, 0)`, `!`},
			{`SELECT value FROM GENERATE_SERIES(1, CAST(3 AS bigint))`, `!5373`},
		}},
		{"t-sql/functions/applock-test-transact-sql", []documentedCase{
			{`BEGIN TRAN; EXEC sp_getapplock @DbPrincipal = 'public', @Resource = 'Form1', @LockMode = 'Shared', @LockOwner = 'Transaction'; SELECT APPLOCK_MODE('public', 'Form1', 'Transaction'), APPLOCK_TEST('public', 'Form1', 'Exclusive', 'Transaction'); COMMIT`, `'Shared', 1`},
			{`type APPLOCK_TEST('public', 'x', 'Shared', 'Session')`, `smallint`},
		}},
	})
}
