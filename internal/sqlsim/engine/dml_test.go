package engine

import "testing"

func TestChanges(t *testing.T) {
	srv := newTestServer(t)
	s := srv.connect("q")
	run(t, s, `CREATE TABLE dbo.P (Id int IDENTITY(10, 5) PRIMARY KEY, Name varchar(5) NOT NULL UNIQUE, V AS Id * 2 PERSISTED, N int NULL DEFAULT 7, R rowversion);`)
	run(t, s, `CREATE TABLE dbo.C (Id int PRIMARY KEY, P int NULL CONSTRAINT FK_C_P REFERENCES dbo.P (Id) ON DELETE CASCADE, Q int CONSTRAINT CK_Q CHECK (Q > 0))`)
	expect(t, s, `INSERT dbo.P (Name) OUTPUT inserted.Id, inserted.V, inserted.N VALUES ('a'), ('b')`, `10, 20, 7`, `15, 30, 7`)
	expect(t, s, `INSERT INTO dbo.P DEFAULT VALUES`, `msg 515: Cannot insert the value NULL into column 'Name', table 'q.dbo.P'; column does not allow nulls. INSERT fails.`, `msg 3621: The statement has been terminated.`)
	expect(t, s, `INSERT dbo.P (Name) VALUES ('toolong')`, `msg 2628: String or binary data would be truncated in table 'q.dbo.P', column 'Name'. Truncated value: 'toolo'.`, `msg 3621: The statement has been terminated.`)
	fails(t, s, 2627, `INSERT dbo.P (Name) VALUES ('A')`)
	expect(t, s, `INSERT dbo.P (Name, N) VALUES ('c', DEFAULT); SELECT SCOPE_IDENTITY(), @@IDENTITY, IDENT_CURRENT('dbo.P')`, `30, 30, 30`)
	run(t, s, `INSERT dbo.C VALUES (1, 10, 1), (2, 10, 1), (3, 15, 1), (4, NULL, NULL)`)
	expect(t, s, `INSERT dbo.C VALUES (5, 99, 1)`, `msg 547: The INSERT statement conflicted with the FOREIGN KEY constraint "FK_C_P". The conflict occurred in database "q", table "dbo.P", column 'Id'.`, `msg 3621: The statement has been terminated.`)
	expect(t, s, `UPDATE dbo.C SET Q = 0 WHERE Id = 1`, `msg 547: The UPDATE statement conflicted with the CHECK constraint "CK_Q". The conflict occurred in database "q", table "dbo.C", column 'Q'.`, `msg 3621: The statement has been terminated.`)
	expect(t, s, `DELETE dbo.P WHERE Id = 10; SELECT Id FROM dbo.C ORDER BY Id`, `3`, `4`)
	expect(t, s, `UPDATE c SET Q = p.N OUTPUT deleted.Q, inserted.Q, p.Name FROM dbo.C c JOIN dbo.P p ON p.Id = c.P WHERE p.Name = 'b'`, `1, 7, 'b'`)
	expect(t, s, `DELETE c FROM dbo.C AS c WHERE NOT EXISTS (SELECT 1 FROM dbo.P p WHERE p.Id = c.P); SELECT @@ROWCOUNT`, `1`)
	expect(t, s, `DECLARE @n int; UPDATE dbo.P SET @n = N = N + 1 WHERE Name = 'b'; SELECT @n`, `8`)
	expect(t, s, `DECLARE @o TABLE (Id int, Old int); UPDATE TOP (1) dbo.P SET N += 10 OUTPUT inserted.Id, deleted.N INTO @o WHERE Name = 'b'; SELECT * FROM @o`, `15, 8`)
	run(t, s, `CREATE TABLE dbo.Arch (Id int, Name varchar(5))`)
	expect(t, s, `DELETE dbo.P OUTPUT deleted.Id, deleted.Name INTO dbo.Arch OUTPUT deleted.Name WHERE Name = 'c'; SELECT * FROM dbo.Arch`, `'c'`, `30, 'c'`)
	fails(t, s, 332, `DELETE dbo.Arch OUTPUT deleted.Id, 1, 1 INTO dbo.C`)
	fails(t, s, 8102, `UPDATE dbo.P SET Id = 1`)
	fails(t, s, 271, `UPDATE dbo.P SET V = 1`)
	fails(t, s, 272, `UPDATE dbo.P SET R = 0x00`)
	fails(t, s, 264, `UPDATE dbo.P SET N = 1, N = 2`)
	fails(t, s, 213, `INSERT dbo.Arch VALUES (1)`)
	fails(t, s, 110, `INSERT dbo.Arch (Id) VALUES (1, 2)`)
	fails(t, s, 109, `INSERT dbo.Arch (Id, Name) VALUES (1)`)
	fails(t, s, 4712, `TRUNCATE TABLE dbo.P`)
	expect(t, s, `TRUNCATE TABLE dbo.Arch; SELECT COUNT(*) FROM dbo.Arch`, `0`)
	run(t, s, `CREATE PROCEDURE dbo.Two AS SELECT 1, 'x' UNION ALL SELECT 2, 'y'`)
	expect(t, s, `INSERT dbo.Arch EXEC dbo.Two; SELECT * FROM dbo.Arch`, `1, 'x'`, `2, 'y'`)
	expect(t, s, `SELECT Id * 10 AS Ten, Name INTO #x FROM dbo.Arch; SELECT * FROM #x ORDER BY Ten DESC`, `20, 'y'`, `10, 'x'`)
	run(t, s, `CREATE VIEW dbo.VA AS SELECT Id AS Key1, Name AS Label FROM dbo.Arch WHERE Id < 100`)
	expect(t, s, `UPDATE dbo.VA SET Label = 'z' OUTPUT inserted.Key1, inserted.Label WHERE Key1 = 2; INSERT dbo.VA (Key1, Label) VALUES (3, 'n'); DELETE dbo.VA WHERE Key1 = 1; SELECT * FROM dbo.VA ORDER BY Key1`, `2, 'z'`, `2, 'z'`, `3, 'n'`)
	expect(t, s, `MERGE dbo.Arch WITH (HOLDLOCK) AS t USING (SELECT 2 AS Id, 'm' AS Name UNION ALL SELECT 4, 'new') AS s ON s.Id = t.Id
		WHEN MATCHED AND s.Name <> t.Name THEN UPDATE SET Name = s.Name WHEN NOT MATCHED THEN INSERT VALUES (s.Id, s.Name)
		OUTPUT $action, inserted.Id, deleted.Name;`, `'UPDATE', 2, 'z'`, `'INSERT', 4, NULL`)
	fails(t, s, 8672, `MERGE dbo.Arch t USING (VALUES (2), (2)) s (Id) ON s.Id = t.Id WHEN MATCHED THEN UPDATE SET Name = 'q';`)
	expect(t, s, `SET IDENTITY_INSERT dbo.P ON; INSERT dbo.P (Id, Name) VALUES (100, 'z'); SET IDENTITY_INSERT dbo.P OFF; INSERT dbo.P (Name) VALUES ('zz'); SELECT MAX(Id) FROM dbo.P`, `105`)
	run(t, s, `CREATE TABLE dbo.D (Id int PRIMARY KEY WITH (IGNORE_DUP_KEY = ON))`)
	expect(t, s, `INSERT dbo.D VALUES (1), (1), (2); SELECT COUNT(*) FROM dbo.D`, `msg 3604: Duplicate key was ignored.`, `2`)
}

func TestTriggers(t *testing.T) {
	srv := newTestServer(t)
	s := srv.connect("q")
	run(t, s, `CREATE TABLE dbo.T (Id int PRIMARY KEY, V int); CREATE TABLE dbo.Log (What varchar(10), N int, Old int, New int)`)
	run(t, s, `CREATE TRIGGER dbo.TR_T ON dbo.T AFTER INSERT, UPDATE, DELETE AS
		SET NOCOUNT ON;
		INSERT dbo.Log SELECT CASE WHEN d.Id IS NULL THEN 'ins' WHEN i.Id IS NULL THEN 'del' ELSE 'upd' END, COALESCE(i.Id, d.Id), d.V, i.V FROM inserted i FULL JOIN deleted d ON d.Id = i.Id;
		IF EXISTS (SELECT 1 FROM inserted WHERE V < 0) THROW 50001, 'negative', 1;`)
	run(t, s, `INSERT dbo.T VALUES (1, 10), (2, 20); UPDATE dbo.T SET V = V + 1 WHERE Id = 1; DELETE dbo.T WHERE Id = 2`)
	expect(t, s, `SELECT * FROM dbo.Log ORDER BY What, N`, `'del', 2, 20, NULL`, `'ins', 1, NULL, 10`, `'ins', 2, NULL, 20`, `'upd', 1, 10, 11`)
	fails(t, s, 50001, `INSERT dbo.T VALUES (9, -1)`)
	expect(t, s, `SELECT COUNT(*) FROM dbo.T WHERE Id = 9`, `0`)
	fails(t, s, 334, `INSERT dbo.T OUTPUT inserted.Id VALUES (3, 1)`)
	run(t, s, `DISABLE TRIGGER dbo.TR_T ON dbo.T; INSERT dbo.T OUTPUT inserted.Id VALUES (3, 1)`)
	expect(t, s, `SELECT COUNT(*) FROM dbo.Log`, `4`)
}

func TestFilteredIndexes(t *testing.T) {
	srv := newTestServer(t)
	s := srv.connect("q")
	run(t, s, `CREATE TABLE dbo.T (Id int PRIMARY KEY, K varchar(10) NULL, S int NOT NULL)`)
	run(t, s, `CREATE UNIQUE INDEX UX ON dbo.T (K) WHERE K IS NOT NULL; CREATE INDEX IX ON dbo.T (Id) WHERE S = 0`)
	run(t, s, `INSERT dbo.T VALUES (1, NULL, 0), (2, NULL, 0), (3, 'a', 1)`)
	fails(t, s, 2601, `INSERT dbo.T VALUES (4, 'A', 0)`)
	fails(t, s, 1934, `SET QUOTED_IDENTIFIER OFF; INSERT dbo.T VALUES (5, NULL, 0)`)
	run(t, s, `SET QUOTED_IDENTIFIER ON`)
	expect(t, s, `SELECT Id FROM dbo.T WITH (INDEX (IX)) WHERE S = 0 ORDER BY Id`, `1`, `2`)
	fails(t, s, 8622, `SELECT Id FROM dbo.T WITH (INDEX (IX)) WHERE S = 1`)
	run(t, s, `UPDATE dbo.T SET S = 1 - S`)
	expect(t, s, `SELECT Id FROM dbo.T WITH (INDEX (IX)) WHERE S = 0`, `3`)
	fails(t, s, 1505, `INSERT dbo.T VALUES (6, 'b', 0); CREATE UNIQUE INDEX UY ON dbo.T (S)`)
}

func TestUniqueIndexAndNull(t *testing.T) {
	srv := newTestServer(t)
	s := srv.connect("q")
	run(t, s, `CREATE TABLE dbo.T (A int NULL CONSTRAINT UQ_A UNIQUE)`)
	run(t, s, `INSERT dbo.T VALUES (NULL), (1)`)
	if m := fails(t, s, 2627, `INSERT dbo.T VALUES (NULL)`); m != `Violation of UNIQUE KEY constraint 'UQ_A'. Cannot insert duplicate key in object 'dbo.T'. The duplicate key value is (<NULL>).` {
		t.Error(m)
	}
}

func TestUpdateInTriggers(t *testing.T) {
	srv := newTestServer(t)
	s := srv.connect("q")
	run(t, s, `CREATE TABLE dbo.T (Id int, A int, B int); CREATE TABLE dbo.L (W varchar(5)); INSERT dbo.T VALUES (1, 1, 1)`)
	run(t, s, `CREATE TRIGGER dbo.TR ON dbo.T AFTER UPDATE AS IF UPDATE(A) INSERT dbo.L VALUES ('A'); IF UPDATE(B) INSERT dbo.L VALUES ('B')`)
	expect(t, s, `UPDATE dbo.T SET B = 2; SELECT * FROM dbo.L`, `'B'`)
}
