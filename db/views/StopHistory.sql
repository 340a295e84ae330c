/*
chokaq.StopHistory: how worker processes ended. One row a process that was asked to stop, or that is gone without a word.

Columns: WorkerId; HostName; ProcessId; Version; Queues (JSON array); Reason (such as SIGTERM);
         Outcome varchar: clean (nothing was left to anybody), review (jobs went to the dead-letter queue as Interrupted, or recovery took them meanwhile), abandoned (something
           was left to recovery), draining (under way), cut short (it began to drain and has not finished: killed, or cut off from the database),
           gone (it never began: killed, crashed, or cut off from the database);
         DrainingAt, StoppedAt datetime2(3) UTC; LastHeartbeatAt (NULL: its row in Workers is purged);
         Running (handlers when it began), Released, Completed, Retried, Dead, Interrupted, Abandoned, LeftFetched, Unstored int: see
           RecordWorkerStop; NULL: unknown;
         ReleaseMs, HandlersMs, FlushMs, TotalMs, GracePeriodMs, PrefetchedJobReleaseTimeoutMs int, milliseconds.
Locks:   none (NOLOCK); see QueueStatus.
Callers: chokaq_monitor, chokaq_operator.
*/
CREATE OR ALTER VIEW chokaq.StopHistory
AS
SELECT s.WorkerId, s.HostName, s.ProcessId, s.Version, s.Queues, s.Reason,
       CASE WHEN s.StoppedAt IS NOT NULL THEN s.Outcome
            WHEN COALESCE(w.HeartbeatAt, s.DrainingAt) > DATEADD(SECOND, -t.Value, SYSUTCDATETIME()) THEN 'draining'
            ELSE 'cut short'
       END AS Outcome,
       s.DrainingAt, s.StoppedAt, w.HeartbeatAt AS LastHeartbeatAt,
       s.Running, s.Released, s.Completed, s.Retried, s.Dead, s.Interrupted, s.Abandoned, s.LeftFetched, s.Unstored,
       s.ReleaseMs, s.HandlersMs, s.FlushMs, s.TotalMs, s.GracePeriodMs, s.PrefetchedJobReleaseTimeoutMs
FROM chokaq.WorkerStops AS s WITH (NOLOCK)
INNER JOIN chokaq.Settings AS t WITH (NOLOCK) ON t.Name = N'Recovery.ProcessingZombieTimeout'
LEFT JOIN chokaq.Workers AS w WITH (NOLOCK) ON w.WorkerId = s.WorkerId
UNION ALL
SELECT w.WorkerId, w.HostName, w.ProcessId, w.Version, w.Queues, NULL, 'gone', NULL, NULL, w.HeartbeatAt,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM chokaq.Workers AS w WITH (NOLOCK)
INNER JOIN chokaq.Settings AS t WITH (NOLOCK) ON t.Name = N'Recovery.ProcessingZombieTimeout'
WHERE w.State = 'running'
  AND w.HeartbeatAt <= DATEADD(SECOND, -t.Value, SYSUTCDATETIME());
