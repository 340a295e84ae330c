/*
chokaq.RecoveryStatus: whether recovery runs. One row a recovery procedure, also when it has never run.

Columns: ProcedureName; LastStartedAt, LastFinishedAt datetime2(3) UTC (NULL: never, or purged); SecondsSinceLastRun bigint; LastRowsMoved int;
         LastLoginName, LastProgramName (SQLAgent ..., chokaq-worker, ...); RunsLastHour int; RowsMovedLastHour bigint.
Locks:   none (NOLOCK); see QueueStatus.
Callers: chokaq_monitor, chokaq_operator.
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
       h.RowsMoved AS RowsMovedLastHour
FROM (VALUES ('ResetFetchedJobs'), ('RescueZombieJobs'), ('PurgeHistory')) AS p (ProcedureName)
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
