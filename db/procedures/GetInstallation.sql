/*
chokaq.GetInstallation: what a client must know of this database before it uses it.

Purpose:    a worker calls it at its start and refuses a database that it does not fit, saying what to run.
Parameters: none.
Result set: one row:
              SchemaVersion bigint              the last migration that ran; NULL: the version table is empty
              IsDirty bit                       1: a migration failed half way
              OldestClientSchemaVersion bigint  clients built for this schema version or a later one are served
              CompatibilityLevel int            of the database; 130 or higher is needed
              IsReadCommittedSnapshotOn bit
              AnsiOptionsWrong int              procedures that were created with QUOTED_IDENTIFIER or ANSI_NULLS OFF: they fail with error 1934
              ServerVersion nvarchar(128), EngineEdition int   as SERVERPROPERTY says
              DatabaseName nvarchar(128), LoginName nvarchar(128)
              DatabaseTimeUtc datetime2(3)
Errors:     none of its own.
Tables:     SchemaVersion (golang-migrate's version table), catalog views.
Callers:    chokaq_producer, chokaq_worker, chokaq_operator, chokaq_monitor.
*/
CREATE OR ALTER PROCEDURE chokaq.GetInstallation
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    SELECT (SELECT TOP (1) v.version FROM chokaq.SchemaVersion AS v ORDER BY v.version DESC) AS SchemaVersion,
           CONVERT(bit, COALESCE((SELECT TOP (1) v.dirty FROM chokaq.SchemaVersion AS v ORDER BY v.version DESC), 0)) AS IsDirty,
           CONVERT(bigint, 1) AS OldestClientSchemaVersion,
           CONVERT(int, d.compatibility_level) AS CompatibilityLevel,
           d.is_read_committed_snapshot_on AS IsReadCommittedSnapshotOn,
           (SELECT COUNT(*)
            FROM sys.procedures AS p
            WHERE p.schema_id = SCHEMA_ID(N'chokaq')
              AND (OBJECTPROPERTY(p.object_id, 'ExecIsQuotedIdentOn') = 0 OR OBJECTPROPERTY(p.object_id, 'ExecIsAnsiNullsOn') = 0)) AS AnsiOptionsWrong,
           CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion')) AS ServerVersion,
           CONVERT(int, SERVERPROPERTY('EngineEdition')) AS EngineEdition,
           DB_NAME() AS DatabaseName,
           ORIGINAL_LOGIN() AS LoginName,
           CONVERT(datetime2(3), SYSUTCDATETIME()) AS DatabaseTimeUtc
    FROM sys.databases AS d
    WHERE d.name = DB_NAME();  -- not by DB_ID(): in Azure SQL Database that is another number than sys.databases has
END;
