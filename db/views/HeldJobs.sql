/*
chokaq.HeldJobs: who works on what, and since when. One row a job that a worker holds.

Columns: JobId; Queue; JobType; State varchar: Fetched (prefetched; no user code has run) or Processing; Attempt, MaxAttempts int; WorkerId;
         HostName, ProcessId, WorkerState (as in WorkerStatus, without gone; NULL: the worker's row is purged);
         FetchedAt, StartedAt, HeartbeatAt, CancelRequestedAt datetime2(3) UTC; HeldSeconds bigint (in this state);
         HeartbeatAgeSeconds bigint; SecondsUntilRecovery bigint: until the row counts as abandoned (Fetched: back to Pending) or as a zombie
         (Processing: to the dead-letter queue) if no heartbeat comes; negative: recovery will take it with its next run.
Locks:   none (NOLOCK); see QueueStatus.
Reads:   IX_Jobs_Owner, which holds the rows that somebody holds now; a look at each of them.
Callers: chokaq_monitor, chokaq_operator.
*/
CREATE OR ALTER VIEW chokaq.HeldJobs
AS
SELECT j.JobId,
       j.Queue,
       j.JobType,
       CASE j.State WHEN 1 THEN 'Fetched' ELSE 'Processing' END AS State,
       j.Attempt,
       j.MaxAttempts,
       j.WorkerId,
       w.HostName,
       w.ProcessId,
       w.State AS WorkerState,
       j.FetchedAt,
       j.StartedAt,
       j.HeartbeatAt,
       j.CancelRequestedAt,
       DATEDIFF_BIG(SECOND, CASE j.State WHEN 1 THEN j.FetchedAt ELSE j.StartedAt END, SYSUTCDATETIME()) AS HeldSeconds,
       DATEDIFF_BIG(SECOND, j.HeartbeatAt, SYSUTCDATETIME()) AS HeartbeatAgeSeconds,
       t.Seconds - DATEDIFF_BIG(SECOND, j.HeartbeatAt, SYSUTCDATETIME()) AS SecondsUntilRecovery
FROM chokaq.Jobs AS j WITH (NOLOCK, INDEX (IX_Jobs_Owner))
LEFT JOIN chokaq.Workers AS w WITH (NOLOCK) ON w.WorkerId = j.WorkerId
LEFT JOIN chokaq.Queues AS q WITH (NOLOCK) ON q.Queue = j.Queue
CROSS APPLY (SELECT COALESCE(CASE j.State WHEN 1 THEN q.FetchedJobTimeoutSeconds ELSE q.ProcessingZombieTimeoutSeconds END, s.Value) AS Seconds
             FROM chokaq.Settings AS s WITH (NOLOCK)
             WHERE s.Name = CASE j.State WHEN 1 THEN N'Recovery.FetchedJobTimeout' ELSE N'Recovery.ProcessingZombieTimeout' END) AS t
WHERE j.WorkerId IS NOT NULL;
