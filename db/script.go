package db

import (
	"fmt"
	"io"
	"strings"
)

// Script writes the whole installation as one T-SQL file, for a DBA to review and run by hand in SSMS or with sqlcmd: schema, migrations,
// objects, and (unless withoutAgent) the Agent jobs. It does what Up does, may be run again, and stops at the first error.
func Script(w io.Writer, programVersion string, withoutAgent bool) error {
	s := scriptWriter{w: w}
	jobs, right := "; and SQL Server Agent jobs in msdb that run recovery.", "; for the Agent jobs, sysadmin"
	if withoutAgent {
		jobs, right = ". Not the SQL Server Agent jobs that run recovery (agent-jobs/install.sql).", ""
	}
	s.printf(scriptHeader, LatestVersion(), programVersion, jobs, right)
	s.rawBatch("SET NOEXEC OFF;")
	s.batch("SET ANSI_NULLS, QUOTED_IDENTIFIER, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;\nSET NUMERIC_ROUNDABORT OFF;\nEXEC sys.sp_set_session_context N'chokaq.Stop', 0;")
	s.batch("IF DB_NAME() IN (N'master', N'msdb', N'model', N'tempdb')\nBEGIN\n    RAISERROR (N'Choose the queue''s database first (USE ...): this is a system database. Nothing was changed.', 16, 1);\n    " + stop + "\nEND;")
	s.batch(createSchema)
	s.batch(`IF OBJECT_ID(N'chokaq.SchemaVersion', N'U') IS NULL
    CREATE TABLE chokaq.SchemaVersion (version bigint NOT NULL PRIMARY KEY, dirty bit NOT NULL);`)
	s.batch(fmt.Sprintf(`IF EXISTS (SELECT 1 FROM chokaq.SchemaVersion AS v WHERE v.version > %d OR v.dirty = 1)
BEGIN
    RAISERROR (N'The database has a newer schema than this script, or a migration that failed half way. Nothing was changed.', 16, 1);
    %s
END;`, LatestVersion(), stop))
	for i, name := range migrations() {
		text, err := Migrations.ReadFile("migrations/" + name)
		if err != nil {
			return err
		}
		version := i + 1
		s.printf("\nPRINT N'Migration %s';\n", name)
		// The migration is one batch of its own; where it has run, NOEXEC steps over it.
		s.batch(fmt.Sprintf("DECLARE @Run bit = CASE WHEN EXISTS (SELECT 1 FROM chokaq.SchemaVersion AS v WHERE v.version >= %d) THEN 0 ELSE 1 END;\nEXEC sys.sp_set_session_context N'chokaq.Run', @Run;\nIF @Run = 0 SET NOEXEC ON;", version))
		s.rawBatch(string(text))
		s.batch("IF @@ERROR <> 0 EXEC sys.sp_set_session_context N'chokaq.Run', -1;")
		s.printf("SET NOEXEC OFF;\nGO\nIF CONVERT(int, SESSION_CONTEXT(N'chokaq.Stop')) = 1 SET NOEXEC ON;\nGO\n")
		s.rawBatch(fmt.Sprintf(`IF CONVERT(int, SESSION_CONTEXT(N'chokaq.Run')) = 1 AND EXISTS (SELECT 1 FROM chokaq.SchemaObjects AS o WHERE o.ObjectName = N'migrations/%s')
BEGIN
    DELETE FROM chokaq.SchemaVersion;
    INSERT INTO chokaq.SchemaVersion (version, dirty) VALUES (%d, 0);
END;
IF NOT EXISTS (SELECT 1 FROM chokaq.SchemaVersion AS v WHERE v.version >= %d)
BEGIN
    RAISERROR (N'Migration %s did not run: see the error above. The rest of this script is skipped.', 16, 1);
    %s
END;`, name, version, version, name, stop))
	}
	for _, o := range objects() {
		s.printf("\nPRINT N'%s';\nGO\n", o.name)
		s.batch(strings.TrimSpace(o.text))
		s.rawBatch(fmt.Sprintf("DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'%s';\nINSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'%s', '%s', SYSUTCDATETIME(), ORIGINAL_LOGIN());", o.name, o.name, o.checksum))
	}
	if !withoutAgent {
		text, err := AgentJobs.ReadFile("agent-jobs/install.sql")
		if err != nil {
			return err
		}
		s.printf("\nPRINT N'SQL Server Agent jobs';\nGO\n")
		s.rawBatch(string(text))
	}
	s.printf("\nSET NOEXEC OFF;\nGO\n")
	return s.err
}

// stop makes the server skip the rest of the script. Stepping over a migration turns NOEXEC off again, so the session context remembers what must stay a stop.
const stop = "EXEC sys.sp_set_session_context N'chokaq.Stop', 1; SET NOEXEC ON;"

const scriptHeader = `/*
ChokaQ for SQL Server: installation script, schema version %d (chokaq-worker %s).

Creates, in the database that it is run in: schema chokaq with its tables, sequence, functions, procedures and views; the roles chokaq_producer,
chokaq_worker, chokaq_operator and chokaq_monitor with their grants%s
Upgrades a database of an older schema version, with workers running; jobs stay. docs/upgrading.md tells which workers run on which version.
Rights needed: db_owner in the database%s. SQL Server 2017 or later, compatibility level 130 or higher.
Run it in SSMS, or with  sqlcmd -S server -d database -I -b -i thisfile.sql  . It may be run again: what is there already is left or
brought up to date. It stops at the first error, and says what it does by PRINT.

The editor or sqlcmd splits it at the lines that say GO.
*/
`

// scriptWriter keeps the first error.
type scriptWriter struct {
	w   io.Writer
	err error
}

func (s *scriptWriter) printf(format string, args ...any) {
	if s.err == nil {
		_, s.err = fmt.Fprintf(s.w, format, args...)
	}
}

// rawBatch ends a batch.
func (s *scriptWriter) rawBatch(text string) { s.printf("%s\nGO\n", strings.TrimRight(text, "\r\n ")) }

// batch ends a batch and skips what follows if it failed.
func (s *scriptWriter) batch(text string) {
	s.rawBatch(text)
	s.printf("IF @@ERROR <> 0 BEGIN %s END;\nGO\n", stop)
}
