package engine

import (
	"testing"
	"time"
)

func TestLargeInsertAndClaim(t *testing.T) {
	srv := newTestServer(t)
	s := srv.connect("q")
	run(t, s, `CREATE TABLE dbo.Jobs (
		JobId bigint IDENTITY PRIMARY KEY, Queue nvarchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL, Priority tinyint NOT NULL,
		State tinyint NOT NULL, DueAt datetime2(3) NOT NULL, Token uniqueidentifier NULL, Payload nvarchar(max) NOT NULL);
		CREATE INDEX IX_Claim ON dbo.Jobs (Queue, Priority DESC, DueAt, JobId) WHERE State = 0;`)
	start := time.Now()
	run(t, s, `INSERT dbo.Jobs (Queue, Priority, State, DueAt, Payload)
		SELECT N'mail', 5, 0, '2026-01-01', N'{"n":' + CONVERT(nvarchar(20), value) + N'}' FROM GENERATE_SERIES(1, 100000)`)
	t.Logf("insert: %v", time.Since(start))
	run(t, s, `CREATE PROCEDURE dbo.Claim @n int AS SET NOCOUNT ON;
		WITH c AS (SELECT TOP (@n) * FROM dbo.Jobs WITH (ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK)
			WHERE Queue = N'mail' AND State = 0 AND DueAt <= SYSUTCDATETIME() ORDER BY Priority DESC, DueAt, JobId)
		UPDATE c SET State = 1, Token = NEWID() OUTPUT inserted.JobId, inserted.Payload;`)
	run(t, s, `EXEC dbo.Claim 100`)
	s.ResetCounters()
	start = time.Now()
	const calls = 20
	for i := 0; i < calls; i++ {
		if r := run(t, s, `EXEC dbo.Claim 100`); len(r.rows) != 100 {
			t.Fatalf("%d rows", len(r.rows))
		}
	}
	t.Logf("claim of 100: %v, %+v", time.Since(start)/calls, s.Counters())
	if c := s.Counters(); c.RowsRead > calls*110 {
		t.Errorf("a claim of 100 read %d rows", c.RowsRead/calls)
	}
}
