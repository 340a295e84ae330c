package chaos

import (
	"os"
)

// leftovers checks that the workers, which have all ended, have left nothing behind: in the server no session, transaction, lock, application lock or
// temporary table, on the disk no temporary file.
func (r *round) leftovers() {
	r.t.Helper()
	for what, query := range map[string]string{
		"sessions":          "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE program_name = '" + workerApp + "'",
		"open transactions": "SELECT COUNT(*) FROM sys.dm_tran_session_transactions WHERE session_id <> @@SPID",
		"locks":             "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE request_session_id <> @@SPID AND resource_type <> 'DATABASE'",
		"application locks": "SELECT COUNT(*) FROM sys.dm_tran_locks WHERE resource_type = 'APPLICATION'",
		"temporary tables":  "SELECT COUNT(*) FROM tempdb.sys.tables",
	} {
		// The server may need a moment to see that a connection has gone.
		r.eventually("no "+what+" are left", func() bool { return r.number(query) == 0 })
	}
	files, err := os.ReadDir(r.temporary)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range files {
		r.t.Errorf("a worker has left the file %s", f.Name())
	}
}
