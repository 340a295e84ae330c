package engine

import (
	"strings"
	"testing"
)

func TestControl(t *testing.T) {
	cases := []struct{ name, script, want string }{
		{"flow", `
DECLARE @i int = 0, @s nvarchar(50) = N'';
WHILE 1 = 1
BEGIN
	SET @i += 1;
	IF @i = 2 CONTINUE;
	IF @i > 4 BREAK;
	SET @s += CAST(@i AS nvarchar(10)) + N',';
END
SELECT @s, @@ROWCOUNT;
PRINT @s`, "'1,3,4,', 0|print: 1,3,4,"},
		{"syntax error runs nothing", "PRINT 'a'; SELEC 1 FROM", "error 102,15,1 line 1: Incorrect syntax near 'SELEC'."},
		{"undeclared", "PRINT 'a';\nPRINT @x", "error 137,15,2 line 2: Must declare the scalar variable \"@x\"."},
		{"declared twice", "DECLARE @a int; DECLARE @A int", "error 134,15,2 line 1: The variable name '@A' has already been declared. Variable names must be unique within a query batch or stored procedure."},
		{"statement error goes on", "SELECT 1/0; SELECT @@ERROR; SELECT @@ERROR", "error 8134,16,1 line 1: Divide by zero error encountered.|8134|0"},
		{"conversion ends the batch", "SELECT CAST('x' AS int); SELECT 2", "error 245,16,1 line 1: Conversion failed when converting the varchar value 'x' to data type int."},
		{"missing table ends the batch", "SELECT 1; SELECT * FROM nope; SELECT 2", "1|error 208,16,1 line 1: Invalid object name 'nope'."},
		{"catch", `
BEGIN TRY
	SELECT 1;
	SELECT 1/0;
	SELECT 2;
END TRY
BEGIN CATCH
	SELECT ERROR_NUMBER(), ERROR_MESSAGE(), ERROR_SEVERITY(), ERROR_STATE(), ERROR_LINE(), ERROR_PROCEDURE(), XACT_STATE(), @@ERROR;
END CATCH
SELECT ERROR_NUMBER()`, "1|8134, 'Divide by zero error encountered.', 16, 1, 4, NULL, 0, 8134|NULL"},
		{"compile error is not caught at its own level", "BEGIN TRY SELECT * FROM nope END TRY BEGIN CATCH SELECT 'caught' END CATCH", "error 208,16,1 line 1: Invalid object name 'nope'."},
		{"compile error is caught one level up", "BEGIN TRY EXEC ('SELECT * FROM nope') END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH", "208"},
		{"syntax error in dynamic SQL is caught", "BEGIN TRY EXEC ('SELEC') END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH", "2812"},
		{"throw", "THROW 50001, N'no %d', 3; SELECT 1", "error 50001,16,3 line 1: no %d"},
		{"throw low", "THROW 49999, 'x', 1", "error 35100,16,10 line 1: Error number 49999 in the THROW statement is outside the valid range. Specify an error number in the valid range of 50000 to 2147483647."},
		{"rethrow", "BEGIN TRY\nSELECT 1/0\nEND TRY BEGIN CATCH\n\nTHROW\nEND CATCH; SELECT 5", "error 8134,16,1 line 2: Divide by zero error encountered."},
		{"throw outside catch", "THROW", "error 10704,16,1 line 1: To rethrow an error, a THROW statement must be used inside a CATCH block. Insert the THROW statement inside a CATCH block, or add error parameters to the THROW statement."},
		{"raiserror", "RAISERROR('a %s %d %5d|%-5s|%05d|%x', 16, 2, 'b', 3, 4, 'c', 5, 255); SELECT @@ERROR", "error 50000,16,2 line 1: a b 3     4|c    |00005|ff|50000"},
		{"raiserror informs", "RAISERROR('hello', 10, 1) WITH NOWAIT; SELECT @@ERROR", "print: hello|0"},
		{"raiserror does not honor XACT_ABORT", "SET XACT_ABORT ON; BEGIN TRAN; RAISERROR('x', 16, 1); SELECT @@TRANCOUNT; ROLLBACK", "begin|error 50000,16,1 line 1: x|1|rollback"},
		{"xact_abort", "SET XACT_ABORT ON; BEGIN TRAN; SELECT 1/0; SELECT 2\nGO\nSELECT @@TRANCOUNT", "begin|error 8134,16,1 line 1: Divide by zero error encountered.|rollback|0"},
		{"doomed", `SET XACT_ABORT ON;
BEGIN TRY BEGIN TRAN; INSERT INTO log VALUES ('a'); SELECT 1/0; END TRY
BEGIN CATCH
SELECT XACT_STATE(), @@TRANCOUNT;
BEGIN TRY INSERT INTO log VALUES ('b') END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH
BEGIN TRY COMMIT END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH
ROLLBACK; SELECT XACT_STATE(); END CATCH`, "begin|-1, 1|3930|3930|rollback|0"},
		{"doomed at the end of the batch", "BEGIN TRY BEGIN TRAN; SELECT CAST('x' AS int) END TRY BEGIN CATCH SELECT XACT_STATE() END CATCH", "begin|-1|rollback|error 3998,16,1 line 0: Uncommittable transaction is detected at the end of the batch. The transaction is rolled back."},
		{"nested transactions", "BEGIN TRAN a; BEGIN TRAN b; SELECT @@TRANCOUNT; COMMIT; SELECT @@TRANCOUNT; ROLLBACK; SELECT @@TRANCOUNT; COMMIT", "begin|2|1|rollback|0|error 3902,16,1 line 1: The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION."},
		{"rollback alone", "ROLLBACK", "error 3903,16,1 line 1: The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION."},
		{"rollback to nothing", "BEGIN TRAN; ROLLBACK TRAN nope; ROLLBACK", "begin|error 6401,16,1 line 1: Cannot roll back nope. No transaction or savepoint of that name was found.|rollback"},
		{"deadlock victim", "BEGIN TRAN; INSERT INTO log VALUES ('a'); INSERT INTO log VALUES ('victim'); SELECT 1\nGO\nSELECT @@TRANCOUNT", "begin|error 1205,13,51 line 1: Transaction was deadlocked on lock resources with another process and has been chosen as the deadlock victim. Rerun the transaction.|rollback|0"},
		{"implicit transactions", "SET IMPLICIT_TRANSACTIONS ON; INSERT INTO log VALUES ('a'); SELECT @@TRANCOUNT; ROLLBACK", "begin|1|rollback"},
		{"set reverts", "CREATE PROCEDURE p AS SET LOCK_TIMEOUT 5; SET NOCOUNT ON; SELECT @@LOCK_TIMEOUT\nGO\nEXEC p; SELECT @@LOCK_TIMEOUT, @@OPTIONS & 512", "5|-1, 0"},
		{"procedure", `CREATE PROCEDURE p @a int, @b nvarchar(10) = N'dflt', @c int = NULL OUTPUT AS
SET @c = @a * 2; SELECT @a, @b, @@NESTLEVEL; RETURN 7
GO
DECLARE @x int, @rc int; EXEC @rc = p 4, @c = @x OUTPUT; SELECT @x, @rc; EXEC p @b = 'z', @a = 1; EXEC p 1, DEFAULT`,
			"4, 'dflt', 1|8, 7|1, 'z', 1|1, 'dflt', 1"},
		{"procedure arguments", `CREATE PROCEDURE p @a int AS RETURN
GO
EXEC p
GO
EXEC p 1, 2
GO
EXEC p @z = 1
GO
EXEC p 'x'
GO
EXEC nope`, "error 201,16,4 line 1: Procedure or function 'p' expects parameter '@a', which was not supplied.|error 8144,16,2 line 1: Procedure or function p has too many arguments specified.|error 8145,16,2 line 1: @z is not a parameter for procedure p.|error 8114,16,5 line 1: Error converting data type varchar to int.|error 2812,16,62 line 1: Could not find stored procedure 'nope'."},
		{"error procedure", "CREATE PROCEDURE p AS\nSELECT 1/0\nGO\nBEGIN TRY EXEC p END TRY BEGIN CATCH SELECT ERROR_PROCEDURE(), ERROR_LINE() END CATCH", "'dbo.p', 2"},
		{"missing table ends the procedure only", "CREATE PROCEDURE p AS SELECT * FROM nope; SELECT 2\nGO\nEXEC p; SELECT 3", "error 208,16,1 line 1: Invalid object name 'nope'.|3"},
		{"recursion", "CREATE PROCEDURE p AS EXEC p\nGO\nEXEC p", "error 217,16,1 line 1: Maximum stored procedure, function, trigger, or view nesting level exceeded (limit 32)."},
		{"266", "CREATE PROCEDURE p AS BEGIN TRAN\nGO\nEXEC p; SELECT @@TRANCOUNT; ROLLBACK", "begin|error 266,16,2 line 1: Transaction count after EXECUTE indicates a mismatching number of BEGIN and COMMIT statements. Previous count = 0, current count = 1.|1|rollback"},
		{"sp_executesql", "DECLARE @o int; EXEC sp_executesql N'SET @r = @a + 1; SELECT @a', N'@a int, @r int OUTPUT', @a = 4, @r = @o OUTPUT; SELECT @o; EXEC sp_executesql 'SELECT 1'", "4|5|error 214,16,2 line 1: Procedure expects parameter '@statement' of type 'ntext/nchar/nvarchar'."},
		{"sp_executesql missing", "EXEC sp_executesql N'SELECT @a', N'@a int'", "error 8178,16,1 line 1: The parameterized query '(@a int)SELECT @a' expects the parameter '@a', which was not supplied."},
		{"dynamic", "DECLARE @s nvarchar(100) = N'SELECT '; EXEC (@s + N'''a''')", "'a'"},
		{"function", "CREATE FUNCTION f (@a int) RETURNS int AS BEGIN IF @a <= 1 RETURN 1; RETURN @a * dbo.f(@a - 1) END\nGO\nSELECT dbo.f(5)\nGO\nSELECT dbo.nope(1)", "120|error 4121,16,1 line 1: Cannot find either column \"dbo\" or the user-defined function or aggregate \"dbo.nope\", or the name is ambiguous."},
		{"cursor", `DECLARE @a int, @s varchar(20) = '';
DECLARE c CURSOR LOCAL FAST_FORWARD FOR SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3;
OPEN c; FETCH NEXT FROM c INTO @a;
WHILE @@FETCH_STATUS = 0 BEGIN SET @s += CAST(@a AS varchar(5)); FETCH NEXT FROM c INTO @a END
CLOSE c; DEALLOCATE c; SELECT @s`, "'123'"},
		{"applock", "DECLARE @r int; EXEC @r = sp_getapplock 'x', 'Exclusive', 'Session', 0; SELECT @r; EXEC sp_getapplock 'x', 'Shared'", "0|error 3623,16,1 line 1: Must be in a transaction to call sp_getapplock with @LockOwner = 'Transaction'."},
		{"session context", "EXEC sp_set_session_context N'k', 5, 1; SELECT SESSION_CONTEXT(N'k'); EXEC sp_set_session_context N'K', 6", "5|error 15664,16,1 line 1: Cannot set key 'K' in the session context. The key has been set as read_only for this session."},
		{"unknown function", "SELECT nofunc(1)", "error 195,15,10 line 1: 'nofunc' is not a recognized built-in function name."},
		{"argument count", "SELECT LEN()", "error 174,15,1 line 1: The len function requires 1 argument(s)."},
		{"subquery", "DECLARE @x int = (SELECT 5); SELECT (SELECT @x + 1), CASE WHEN EXISTS (SELECT 1 WHERE 1 = 0) THEN 1 ELSE 0 END; SELECT (SELECT 1 UNION ALL SELECT 2)", "6, 0|error 512,16,1 line 1: Subquery returned more than 1 value. This is not permitted when the subquery follows =, !=, <, <= , >, >= or when the subquery is used as an expression."},
		{"if exists", "IF EXISTS (SELECT 1) PRINT 'yes' ELSE PRINT 'no'; IF 2 IN (SELECT 1 UNION SELECT 2) PRINT 'in'; IF 5 > ALL (SELECT 1 UNION SELECT 2) PRINT 'all'; IF 0 = ANY (SELECT 1) PRINT 'any'", "print: yes|print: in|print: all"},
		{"waitfor", "WAITFOR DELAY '00:00:00'; PRINT 'x'; WAITFOR DELAY 'zz'", "print: x|error 148,15,1 line 1: Incorrect time syntax in time string 'zz' used with WAITFOR."},
		{"batch of one cannot see variables of another", "DECLARE @a int = 1\nGO\nSELECT @a", "error 137,15,2 line 1: Must declare the scalar variable \"@a\"."},
		{"return ends the batch", "SELECT 1; RETURN; SELECT 2", "1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, _ := newFakeSession()
			got := strings.Join(s.runScript(t, c.script), "|")
			if got != c.want {
				t.Errorf("%s\n got: %s\nwant: %s", c.script, got, c.want)
			}
		})
	}
}

func TestRollbackUndoes(t *testing.T) {
	s, b := newFakeSession()
	s.runScript(t, `
INSERT INTO log VALUES ('1');
BEGIN TRAN; INSERT INTO log VALUES ('2'); SAVE TRAN x; INSERT INTO log VALUES ('3'); ROLLBACK TRAN x; INSERT INTO log VALUES ('4'), ('dup'); INSERT INTO log VALUES ('5'); COMMIT;
BEGIN TRAN; INSERT INTO log VALUES ('6'); ROLLBACK`)
	if got := strings.Join(b.log, ""); got != "125" {
		t.Errorf("log is %s", got)
	}
}
