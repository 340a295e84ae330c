package engine

import "testing"

func TestTablesAndQueries(t *testing.T) {
	srv := newTestServer(t)
	s := srv.connect("q")
	run(t, s, `CREATE TABLE dbo.Jobs (
		Id bigint IDENTITY(1,1) NOT NULL CONSTRAINT PK_Jobs PRIMARY KEY,
		Queue nvarchar(100) NOT NULL,
		State tinyint NOT NULL CONSTRAINT DF_Jobs_State DEFAULT (0),
		Payload nvarchar(max) NULL,
		CHECK (State <= 3),
		INDEX IX_Jobs_Claim (Queue, State, Id) INCLUDE (Payload))`)
	run(t, s, `INSERT INTO dbo.Jobs (Queue, Payload) VALUES (N'mail', N'a'), (N'mail', N'b'), (N'sms', N'c')`)
	expect(t, s, `SELECT Id, Queue, State FROM dbo.Jobs ORDER BY Id`, `1, 'mail', 0`, `2, 'mail', 0`, `3, 'sms', 0`)
	expect(t, s, `SELECT Queue, COUNT(*) AS n FROM dbo.Jobs GROUP BY Queue HAVING COUNT(*) > 1`, `'mail', 2`)
	expect(t, s, `WITH c AS (SELECT TOP (1) * FROM dbo.Jobs WITH (ROWLOCK, UPDLOCK, READPAST) WHERE Queue = N'mail' AND State = 0 ORDER BY Id)
		UPDATE c SET State = 1 OUTPUT inserted.Id, deleted.State, inserted.State`, `1, 0, 1`)
	expect(t, s, `DELETE FROM dbo.Jobs OUTPUT deleted.Id, deleted.Payload WHERE Queue = 'sms'`, `3, 'c'`)
	expect(t, s, `SELECT j.Id, x.b FROM OPENJSON(N'[{"id":1,"b":"x"},{"id":2,"b":"y"}]') WITH (id bigint '$.id', b nvarchar(10)) x JOIN dbo.Jobs j ON j.Id = x.id ORDER BY j.Id DESC`, `2, 'y'`, `1, 'x'`)
	expect(t, s, `SELECT [key], value, type FROM OPENJSON(N'{"a":1,"b":[1,2],"c":null}')`, `'a', '1', 2`, `'b', '[1,2]', 4`, `'c', NULL, 0`)
	run(t, s, `CREATE PROCEDURE dbo.AddJob @Queue nvarchar(100), @Id bigint OUTPUT AS
		SET NOCOUNT ON;
		INSERT dbo.Jobs (Queue) VALUES (@Queue);
		SET @Id = SCOPE_IDENTITY();`)
	expect(t, s, `DECLARE @i bigint; EXEC dbo.AddJob @Queue = N'new', @Id = @i OUTPUT; SELECT @i`, `4`)
	fails(t, s, 547, `INSERT dbo.Jobs (Queue, State) VALUES (N'x', 9)`)
	fails(t, s, 515, `INSERT dbo.Jobs (Queue) VALUES (NULL)`)
	fails(t, s, 544, `INSERT dbo.Jobs (Id, Queue) VALUES (1, N'x')`)
	fails(t, s, 208, `SELECT * FROM dbo.Nothing`)
	fails(t, s, 2627, `SET IDENTITY_INSERT dbo.Jobs ON; INSERT dbo.Jobs (Id, Queue) VALUES (1, N'x')`)
	expect(t, s, `DECLARE @t TABLE (a int PRIMARY KEY, b int); INSERT @t SELECT value, value * 2 FROM GENERATE_SERIES(1, 3); SELECT SUM(b), MAX(a) FROM @t`, `12, 3`)
	expect(t, s, `SELECT a.Id, b.Id FROM dbo.Jobs a LEFT JOIN dbo.Jobs b ON b.Id = a.Id + 1 ORDER BY a.Id`, `1, 2`, `2, NULL`, `4, NULL`)
	expect(t, s, `SELECT Id FROM dbo.Jobs j WHERE NOT EXISTS (SELECT 1 FROM dbo.Jobs k WHERE k.Id = j.Id - 1) ORDER BY Id DESC`, `4`, `1`)
	expect(t, s, `CREATE TABLE #t (x int); INSERT #t VALUES (1), (2); SELECT x, ROW_NUMBER() OVER (ORDER BY x DESC) FROM #t ORDER BY x; DROP TABLE #t`, `1, 2`, `2, 1`)
	expect(t, s, `WITH r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 4) SELECT n FROM r`, `1`, `2`, `3`, `4`)
	expect(t, s, `SELECT x FROM (VALUES (3), (1), (2)) v (x) ORDER BY x OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY`, `2`)
	expect(t, s, `SELECT a.x, b.y FROM (VALUES (1), (2)) a (x) CROSS APPLY (SELECT a.x * 10 AS y) b`, `1, 10`, `2, 20`)
}

func TestRollback(t *testing.T) {
	srv := newTestServer(t)
	s := srv.connect("q")
	run(t, s, `CREATE TABLE dbo.T (Id int PRIMARY KEY, V int)`)
	run(t, s, `BEGIN TRAN; INSERT dbo.T VALUES (1, 1); CREATE TABLE dbo.U (Id int); ROLLBACK`)
	expect(t, s, `SELECT COUNT(*) FROM dbo.T; SELECT OBJECT_ID('dbo.U')`, `0`, `NULL`)
	run(t, s, `INSERT dbo.T VALUES (1, 1), (2, 2), (3, 3)`)
	run(t, s, `UPDATE dbo.T SET Id = Id + 1`)
	expect(t, s, `SELECT Id, V FROM dbo.T`, `2, 1`, `3, 2`, `4, 3`)
	fails(t, s, 2627, `INSERT dbo.T VALUES (9, 1), (9, 2)`)
	expect(t, s, `SELECT COUNT(*) FROM dbo.T`, `3`)
	run(t, s, `MERGE dbo.T AS t USING (VALUES (2, 20), (7, 70)) AS s (Id, V) ON t.Id = s.Id
		WHEN MATCHED THEN UPDATE SET V = s.V WHEN NOT MATCHED THEN INSERT (Id, V) VALUES (s.Id, s.V) WHEN NOT MATCHED BY SOURCE THEN DELETE;`)
	expect(t, s, `SELECT Id, V FROM dbo.T`, `2, 20`, `7, 70`)
}
