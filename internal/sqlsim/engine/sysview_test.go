package engine

import (
	"sort"
	"strings"
	"testing"
)

// TestSystemViewsCanBeRead reads every system view there is.
func TestSystemViewsCanBeRead(t *testing.T) {
	srv := newTestServer(t)
	s := srv.connect("q")
	run(t, s, `CREATE TABLE dbo.P (Id int IDENTITY PRIMARY KEY, C AS Id + 1, D datetime2 DEFAULT SYSUTCDATETIME(), CHECK (Id > 0), UNIQUE (D))`)
	run(t, s, `CREATE TABLE dbo.C (P int REFERENCES dbo.P)`)
	run(t, s, `CREATE VIEW dbo.V AS SELECT Id FROM dbo.P`)
	run(t, s, `CREATE PROCEDURE dbo.Proc1 @x int = 1, @y nvarchar(10) OUTPUT AS SELECT @x FROM dbo.V`)
	run(t, s, `CREATE TRIGGER dbo.Trg ON dbo.P AFTER INSERT AS RETURN`)
	run(t, s, `CREATE SEQUENCE dbo.Seq; CREATE SYNONYM dbo.Syn FOR dbo.P; CREATE TYPE dbo.Ty AS TABLE (a int); CREATE TYPE dbo.Al FROM int NOT NULL; CREATE USER u WITHOUT LOGIN; GRANT SELECT ON dbo.P TO u; EXEC sp_addextendedproperty 'a', 'b'`)
	var names []string
	for n := range systemViews {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		run(t, s, "SELECT * FROM "+n)
	}
	expect(t, s, `SELECT referenced_entity_name FROM sys.sql_expression_dependencies WHERE referencing_id = OBJECT_ID('dbo.Proc1')`, `'V'`)
	expect(t, s, `SELECT p.name, TYPE_NAME(p.user_type_id), p.is_output FROM sys.parameters p WHERE object_id = OBJECT_ID('dbo.Proc1') ORDER BY parameter_id`, `'@x', 'int', 0`, `'@y', 'nvarchar', 1`)
	expect(t, s, `SELECT dp.permission_name, dp.state_desc, pr.name FROM sys.database_permissions dp JOIN sys.database_principals pr ON pr.principal_id = dp.grantee_principal_id WHERE dp.major_id = OBJECT_ID('dbo.P')`, `'SELECT', 'GRANT', 'u'`)
	expect(t, s, `SELECT COUNT(*) FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'P'`, `3`)
}

func TestBlockingIsVisible(t *testing.T) {
	srv := newTestServer(t)
	a, b, c := srv.connect("q"), srv.connect("q"), srv.connect("q")
	run(t, a, `CREATE TABLE dbo.T (Id int PRIMARY KEY); INSERT dbo.T VALUES (1); BEGIN TRAN; DELETE dbo.T`)
	done := background(b, `SELECT * FROM dbo.T`)
	untilBlocked(srv, b)
	r := run(t, c, `SELECT r.blocking_session_id, r.status, r.wait_type, t.text FROM sys.dm_exec_requests r CROSS APPLY sys.dm_exec_sql_text(r.sql_handle) t WHERE r.blocking_session_id <> 0`)
	if len(r.rows) != 1 || int(r.rows[0][0].Int()) != a.SPID() || r.rows[0][3].Str() != `SELECT * FROM dbo.T` {
		t.Errorf("got %v", r.lines)
	}
	r = run(t, c, `SELECT resource_type, request_mode, request_status FROM sys.dm_tran_locks WHERE resource_type = 'KEY' ORDER BY request_status`)
	if got := strings.Join(r.lines[1:], "; "); got != `'KEY', 'X', 'GRANT'; 'KEY', 'S', 'WAIT'` {
		t.Errorf("got %s", got)
	}
	run(t, a, `ROLLBACK`)
	<-done
}
