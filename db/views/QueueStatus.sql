/*
chokaq.QueueStatus: what is waiting, running and dead, by queue. One row a queue that has jobs or switches.

Columns: Queue; IsPaused bit; ConcurrencyLimit int (NULL: none);
         Pending bigint (due now), Scheduled bigint (pending, due later), Fetched bigint, Processing bigint, Dead bigint (waiting for review);
         OldestDueAt datetime2(3) UTC, OldestDueAgeSeconds bigint (how long the longest-waiting due job has been due; NULL: none is due);
         DeadFailed, DeadRejected, DeadInterrupted, DeadZombie, DeadCancelled bigint: Dead by reason.
Locks:   none (NOLOCK), on purpose: a look at the queue never waits for the queue, nor makes it wait, in any isolation level. The counts
         are those of a moment that moves on while they are taken.
Reads:   narrow indexes only; JobsArchive is not read.
Callers: chokaq_monitor, chokaq_operator, chokaq_worker.
*/
CREATE OR ALTER VIEW chokaq.QueueStatus
AS
/* -1 and 9999-12-31 stand for NULL within, so that the aggregates give no warning about NULLs (8153). */
SELECT s.Queue,
       CONVERT(bit, MAX(s.IsPaused)) AS IsPaused,
       NULLIF(MAX(s.ConcurrencyLimit), -1) AS ConcurrencyLimit,
       SUM(s.Pending) AS Pending,
       SUM(s.Scheduled) AS Scheduled,
       SUM(s.Fetched) AS Fetched,
       SUM(s.Processing) AS Processing,
       SUM(s.Dead) AS Dead,
       NULLIF(MIN(s.DueAt), CONVERT(datetime2(3), '9999-12-31')) AS OldestDueAt,
       DATEDIFF_BIG(SECOND, NULLIF(MIN(s.DueAt), CONVERT(datetime2(3), '9999-12-31')), SYSUTCDATETIME()) AS OldestDueAgeSeconds,
       SUM(CONVERT(bigint, CASE WHEN s.Reason = 'Failed' THEN 1 ELSE 0 END)) AS DeadFailed,
       SUM(CONVERT(bigint, CASE WHEN s.Reason = 'Rejected' THEN 1 ELSE 0 END)) AS DeadRejected,
       SUM(CONVERT(bigint, CASE WHEN s.Reason = 'Interrupted' THEN 1 ELSE 0 END)) AS DeadInterrupted,
       SUM(CONVERT(bigint, CASE WHEN s.Reason = 'Zombie' THEN 1 ELSE 0 END)) AS DeadZombie,
       SUM(CONVERT(bigint, CASE WHEN s.Reason = 'Cancelled' THEN 1 ELSE 0 END)) AS DeadCancelled
FROM
(
    SELECT q.Queue, CONVERT(int, q.IsPaused) AS IsPaused, COALESCE(q.ConcurrencyLimit, -1) AS ConcurrencyLimit, CONVERT(bigint, 0) AS Pending, CONVERT(bigint, 0) AS Scheduled,
           CONVERT(bigint, 0) AS Fetched, CONVERT(bigint, 0) AS Processing, CONVERT(bigint, 0) AS Dead, CONVERT(datetime2(3), '9999-12-31') AS DueAt,
           CONVERT(varchar(20), '') COLLATE Latin1_General_100_BIN2 AS Reason
    FROM chokaq.Queues AS q WITH (NOLOCK)
    UNION ALL
    SELECT j.Queue, 0, -1, CASE WHEN j.DueAt <= SYSUTCDATETIME() THEN 1 ELSE 0 END, CASE WHEN j.DueAt <= SYSUTCDATETIME() THEN 0 ELSE 1 END,
           0, 0, 0, CASE WHEN j.DueAt <= SYSUTCDATETIME() THEN j.DueAt ELSE CONVERT(datetime2(3), '9999-12-31') END, ''
    FROM chokaq.Jobs AS j WITH (NOLOCK, INDEX (IX_Jobs_Pending))
    WHERE j.State = 0
    UNION ALL
    SELECT f.Queue, 0, -1, 0, 0, 1, 0, 0, CONVERT(datetime2(3), '9999-12-31'), ''
    FROM chokaq.Jobs AS f WITH (NOLOCK, INDEX (IX_Jobs_Fetched))
    WHERE f.State = 1
    UNION ALL
    SELECT p.Queue, 0, -1, 0, 0, 0, 1, 0, CONVERT(datetime2(3), '9999-12-31'), ''
    FROM chokaq.Jobs AS p WITH (NOLOCK, INDEX (IX_Jobs_Processing))
    WHERE p.State = 2
    UNION ALL
    SELECT d.Queue, 0, -1, 0, 0, 0, 0, 1, CONVERT(datetime2(3), '9999-12-31'), d.Reason
    FROM chokaq.JobsDLQ AS d WITH (NOLOCK, INDEX (IX_JobsDLQ_Review))
    WHERE d.DiscardedAt IS NULL
) AS s
GROUP BY s.Queue;
