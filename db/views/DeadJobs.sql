/*
chokaq.DeadJobs: what waits in the dead-letter queue for an operator's review (discarded jobs are not shown).

Columns: JobId; Queue; JobType; Reason: Failed (attempts used up), Rejected (the handler said: do not retry), Interrupted (cut short by a shutdown),
         Zombie (its worker's heartbeat was lost), Cancelled; Error; DeadAt datetime2(3) UTC, DeadAgeSeconds bigint;
         Attempt, MaxAttempts, RequeueCount int; Priority; LastWorkerId, LastHostName (NULL: none, or its row is purged);
         EnqueuedAt, DueAt, FetchedAt, StartedAt, HeartbeatAt, CancelRequestedAt, EditedAt datetime2(3) UTC; EnqueuedBy, EditedBy (logins);
         IdempotencyKey; Headers; Payload.
Locks:   none (NOLOCK); see QueueStatus.
Callers: chokaq_monitor, chokaq_operator.
*/
CREATE OR ALTER VIEW chokaq.DeadJobs
AS
SELECT d.JobId,
       d.Queue,
       d.JobType,
       d.Reason,
       d.Error,
       d.DeadAt,
       DATEDIFF_BIG(SECOND, d.DeadAt, SYSUTCDATETIME()) AS DeadAgeSeconds,
       d.Attempt,
       d.MaxAttempts,
       d.RequeueCount,
       d.Priority,
       d.LastWorkerId,
       w.HostName AS LastHostName,
       d.EnqueuedAt,
       d.EnqueuedBy,
       d.DueAt,
       d.FetchedAt,
       d.StartedAt,
       d.HeartbeatAt,
       d.CancelRequestedAt,
       d.EditedAt,
       d.EditedBy,
       d.IdempotencyKey,
       d.Headers,
       d.Payload
FROM chokaq.JobsDLQ AS d WITH (NOLOCK)
LEFT JOIN chokaq.Workers AS w WITH (NOLOCK) ON w.WorkerId = d.LastWorkerId
WHERE d.DiscardedAt IS NULL;
