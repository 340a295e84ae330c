/*
chokaq.WorkerStatus: who works, on how much, and who is draining or gone.

Columns: WorkerId; HostName; ProcessId; Version; Queues (JSON array); Handlers int, Prefetch int (its capacity);
         State varchar: running, draining, stopped (it said so), gone (it has not said so, and sent no heartbeat for Recovery.ProcessingZombieTimeout);
         Fetched bigint, Processing bigint (jobs that it holds); LoginName; StartedAt, StateAt, HeartbeatAt datetime2(3) UTC; HeartbeatAgeSeconds bigint;
         JobTypes (JSON array of those that it has handlers for; NULL: all); HandlersWanted int (SetWorkerHandlers; NULL: as started).
Locks:   none (NOLOCK); see QueueStatus.
Reads:   Workers, and IX_Jobs_Owner, which holds the rows that somebody holds now.
Callers: chokaq_monitor, chokaq_operator.
*/
CREATE OR ALTER VIEW chokaq.WorkerStatus
AS
SELECT w.WorkerId,
       w.HostName,
       w.ProcessId,
       w.Version,
       w.Queues,
       w.Handlers,
       w.Prefetch,
       CASE WHEN w.State <> 'stopped'
             AND w.HeartbeatAt <= DATEADD(SECOND, -(SELECT s.Value FROM chokaq.Settings AS s WITH (NOLOCK) WHERE s.Name = N'Recovery.ProcessingZombieTimeout'), SYSUTCDATETIME())
            THEN 'gone' ELSE w.State END AS State,
       COALESCE(h.Fetched, 0) AS Fetched,
       COALESCE(h.Processing, 0) AS Processing,
       w.LoginName,
       w.StartedAt,
       w.StateAt,
       w.HeartbeatAt,
       DATEDIFF_BIG(SECOND, w.HeartbeatAt, SYSUTCDATETIME()) AS HeartbeatAgeSeconds,
       w.JobTypes,
       w.HandlersWanted
FROM chokaq.Workers AS w WITH (NOLOCK)
LEFT JOIN
(
    SELECT j.WorkerId,
           SUM(CASE j.State WHEN 1 THEN CONVERT(bigint, 1) ELSE 0 END) AS Fetched,
           SUM(CASE j.State WHEN 2 THEN CONVERT(bigint, 1) ELSE 0 END) AS Processing
    FROM chokaq.Jobs AS j WITH (NOLOCK, INDEX (IX_Jobs_Owner))
    WHERE j.WorkerId IS NOT NULL
    GROUP BY j.WorkerId
) AS h ON h.WorkerId = w.WorkerId;
