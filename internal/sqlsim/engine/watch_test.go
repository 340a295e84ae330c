package engine

import (
	"fmt"
	"strings"
	"testing"
)

// What a DBA types while one session blocks another.
func TestWatchingABlockedSession(t *testing.T) {
	srv := newTestServer(t)
	a, b, c := srv.connect("q"), srv.connect("q"), srv.connect("q")
	run(t, a, `CREATE TABLE dbo.T (Id int CONSTRAINT PK_T PRIMARY KEY, V nvarchar(10), INDEX IX (V)); INSERT dbo.T VALUES (1, N'a'), (2, N'b')`)
	run(t, a, `BEGIN TRAN; UPDATE dbo.T SET V = N'z' WHERE Id = 1`)
	done := background(b, `SELECT V FROM dbo.T WHERE Id = 1`)
	untilBlocked(srv, b)
	shows := func(sql string, want ...string) {
		t.Helper()
		text := strings.Join(run(t, c, sql).lines, "\n")
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s\nshows no %q:\n%s", sql, w, text)
			}
		}
	}
	blocker, waiter := a.SPID(), b.SPID()
	shows(`EXEC sp_who`, fmt.Sprintf("%d, 0, 'suspended', 'sa', '', '%d', 'q', 'SELECT', 0", waiter, blocker), fmt.Sprintf("%d, 0, 'sleeping'", blocker))
	shows(`EXEC sp_who2 'active'`, fmt.Sprintf("'%-5d', 'suspended', 'sa', '  .', '%d', 'q', 'SELECT'", waiter, blocker))
	shows(`EXEC sp_lock`, fmt.Sprintf("%d, 5, ", blocker), "'KEY '", "'X', 'GRANT'", "'S', 'WAIT'", "'TAB '")
	shows(fmt.Sprintf(`EXEC sp_lock %d`, waiter), "'WAIT'")
	shows(`DBCC OPENTRAN`, fmt.Sprintf("SPID (server process ID): %d", blocker), "Transaction information for database 'q'.")
	shows(fmt.Sprintf(`DBCC INPUTBUFFER (%d) WITH NO_INFOMSGS`, waiter), `'Language Event', 0, 'SELECT V FROM dbo.T WHERE Id = 1'`)
	shows(`SELECT l.request_session_id, OBJECT_NAME(p.object_id), i.name, l.request_mode, l.request_status FROM sys.dm_tran_locks l JOIN sys.partitions p ON p.hobt_id = l.resource_associated_entity_id JOIN sys.indexes i ON i.object_id = p.object_id AND i.index_id = p.index_id`,
		fmt.Sprintf("%d, 'T', 'PK_T', 'X', 'GRANT'", blocker), fmt.Sprintf("%d, 'T', 'PK_T', 'S', 'WAIT'", waiter), fmt.Sprintf("%d, 'T', 'IX', 'X', 'GRANT'", blocker))
	run(t, a, `ROLLBACK`)
	<-done
	shows(`DBCC OPENTRAN`, "No active open transactions.")
	shows(`EXEC sp_spaceused 'dbo.T'`, "'T', '2 ")
	shows(`EXEC sp_spaceused`, "-- database_name, database_size, unallocated space", "-- reserved, data, index_size, unused")
	shows(`EXEC sp_help`, "'T', 'dbo', 'user table'")
	shows(`EXEC sp_help 'dbo.T'`, "'V', 'nvarchar', 'no', 20, 'yes'", "'PK_T', 'clustered, unique, primary key located on PRIMARY', 'Id'")
	shows(`SELECT * FROM sys.dm_os_wait_stats`, "LCK_M_X")
	for sql, named := range map[string]string{
		`SELECT * FROM sys.dm_os_performance_counters`: "dm_os_performance_counters", `SELECT * FROM sys.dm_exec_query_stats`: "dm_exec_query_stats",
		`EXEC sp_helpdb`: "sp_helpdb", `SET SHOWPLAN_ALL ON`: "SHOWPLAN_ALL", `SET STATISTICS XML ON`: "STATISTICS XML", `DBCC CHECKDB`: "DBCC CHECKDB",
	} {
		if m := fails(t, c, 40510, sql); !strings.Contains(m, named) {
			t.Errorf("%s: %s", sql, m)
		}
	}
	fails(t, c, 208, `SELECT * FROM sys.nonsense`)
}
