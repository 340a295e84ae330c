/*
chokaq.JobTypeStatus: what is waiting, by queue and job type, and whether anybody is there to do it. One row a queue and type with pending jobs.

Columns: Queue; JobType; Pending bigint (due now), Scheduled bigint (pending, due later); OldestDueAt datetime2(3) UTC, OldestDueAgeSeconds bigint (NULL: none is due);
         LiveWorkers int: running workers that serve the queue and know the type, with a heartbeat within Recovery.ProcessingZombieTimeout.
         0 means that nobody will do these jobs: no such worker is deployed, or the type is misspelled.
Locks:   none (NOLOCK); see QueueStatus.
Reads:   IX_Jobs_PendingByType, and Workers for each row.
Callers: chokaq_monitor, chokaq_operator.
*/
CREATE OR ALTER VIEW chokaq.JobTypeStatus
AS
/* 9999-12-31 stands for NULL within, so that the aggregates give no warning about NULLs (8153). */
SELECT p.Queue,
       p.JobType,
       p.Pending,
       p.Scheduled,
       NULLIF(p.DueAt, CONVERT(datetime2(3), '9999-12-31')) AS OldestDueAt,
       DATEDIFF_BIG(SECOND, NULLIF(p.DueAt, CONVERT(datetime2(3), '9999-12-31')), SYSUTCDATETIME()) AS OldestDueAgeSeconds,
       w.LiveWorkers
FROM
(
    SELECT j.Queue,
           j.JobType,
           SUM(CASE WHEN j.DueAt <= SYSUTCDATETIME() THEN CONVERT(bigint, 1) ELSE 0 END) AS Pending,
           SUM(CASE WHEN j.DueAt <= SYSUTCDATETIME() THEN CONVERT(bigint, 0) ELSE 1 END) AS Scheduled,
           MIN(CASE WHEN j.DueAt <= SYSUTCDATETIME() THEN j.DueAt ELSE CONVERT(datetime2(3), '9999-12-31') END) AS DueAt
    FROM chokaq.Jobs AS j WITH (NOLOCK, INDEX (IX_Jobs_PendingByType))
    WHERE j.State = 0
    GROUP BY j.Queue, j.JobType
) AS p
CROSS APPLY
(
    SELECT COUNT(*) AS LiveWorkers
    FROM chokaq.Workers AS k WITH (NOLOCK)
    WHERE k.State = 'running'
      AND k.HeartbeatAt > DATEADD(SECOND, -(SELECT s.Value FROM chokaq.Settings AS s WITH (NOLOCK) WHERE s.Name = N'Recovery.ProcessingZombieTimeout'), SYSUTCDATETIME())
      AND EXISTS (SELECT 1 FROM OPENJSON(k.Queues) AS q WHERE q.[value] COLLATE Latin1_General_100_BIN2 = p.Queue)
      AND (k.JobTypes IS NULL OR EXISTS (SELECT 1 FROM OPENJSON(k.JobTypes) AS t WHERE t.[value] COLLATE Latin1_General_100_BIN2 = p.JobType))
) AS w;
