/*
chokaq.RecoveryStatus: whether recovery runs. One row a recovery procedure, also when it has never run.

Columns: ProcedureName; LastStartedAt, LastFinishedAt datetime2(3) UTC (NULL: never, or purged); SecondsSinceLastRun bigint; LastRowsMoved int;
         LastLoginName, LastProgramName (SQLAgent ..., chokaq-worker, ...); RunsLastHour int; RowsMovedLastHour bigint;
         SecondsSinceLastRunOrInstall bigint (since ChokaQ was installed where there was no run); LateAfterSeconds int (the setting
         Recovery.LateAfter; for PurgeHistory, a day and an hour); IsLate bit: nobody runs it. Is SQL Server Agent running, are its jobs enabled,
         do they fail? Without Agent: does a worker run with CHOKAQ_RECOVERY_ENABLED?
Locks:   none (NOLOCK); see QueueStatus.
Callers: chokaq_monitor, chokaq_operator, chokaq_worker.
*/
CREATE OR ALTER VIEW chokaq.RecoveryStatus
AS
SELECT p.ProcedureName,
       l.StartedAt AS LastStartedAt,
       l.FinishedAt AS LastFinishedAt,
       DATEDIFF_BIG(SECOND, l.StartedAt, SYSUTCDATETIME()) AS SecondsSinceLastRun,
       l.RowsMoved AS LastRowsMoved,
       l.LoginName AS LastLoginName,
       l.ProgramName AS LastProgramName,
       h.Runs AS RunsLastHour,
       h.RowsMoved AS RowsMovedLastHour,
       DATEDIFF_BIG(SECOND, COALESCE(l.StartedAt, i.AppliedAt), SYSUTCDATETIME()) AS SecondsSinceLastRunOrInstall,
       t.Seconds AS LateAfterSeconds,
       CONVERT(bit, CASE WHEN DATEDIFF_BIG(SECOND, COALESCE(l.StartedAt, i.AppliedAt), SYSUTCDATETIME()) > t.Seconds THEN 1 ELSE 0 END) AS IsLate
FROM (VALUES ('ResetFetchedJobs', 0), ('RescueZombieJobs', 0), ('PurgeHistory', 90000)) AS p (ProcedureName, LateAfter)
CROSS APPLY (SELECT CASE p.LateAfter WHEN 0 THEN s.Value ELSE p.LateAfter END AS Seconds
             FROM chokaq.Settings AS s WITH (NOLOCK)
             WHERE s.Name = N'Recovery.LateAfter') AS t
CROSS APPLY (SELECT o.AppliedAt
             FROM chokaq.SchemaObjects AS o WITH (NOLOCK)
             WHERE o.ObjectName = N'migrations/000002_operations.up.sql') AS i
OUTER APPLY
(
    SELECT TOP (1) r.StartedAt, r.FinishedAt, r.RowsMoved, r.LoginName, r.ProgramName
    FROM chokaq.RecoveryRuns AS r WITH (NOLOCK)
    WHERE r.ProcedureName = p.ProcedureName COLLATE Latin1_General_100_BIN2
    ORDER BY r.StartedAt DESC, r.RunId DESC
) AS l
OUTER APPLY
(
    SELECT COUNT(*) AS Runs, COALESCE(SUM(CONVERT(bigint, r.RowsMoved)), 0) AS RowsMoved
    FROM chokaq.RecoveryRuns AS r WITH (NOLOCK)
    WHERE r.ProcedureName = p.ProcedureName COLLATE Latin1_General_100_BIN2 AND r.StartedAt > DATEADD(HOUR, -1, SYSUTCDATETIME())
) AS h;
