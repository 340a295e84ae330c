/*
chokaq.RecurringJobStatus: the recurring jobs, and whether they tick.

Columns: Name; Cron; TimeZone; IsPaused bit; MissedTicks, SkipWhileLive (see SetRecurringJob); Queue; JobType; Priority; MaxAttempts;
         NextTickAt datetime2(3) UTC (NULL: no worker has computed it yet); LateSeconds bigint: how long the next tick has been due (0: it is
         not; more than a minute: no worker that runs serves its queue, or the expression cannot be read: see the workers' logs);
         LastTickAt, LastEnqueuedAt datetime2(3) UTC; LastJobId; Headers; Payload; UpdatedAt datetime2(3) UTC; UpdatedBy (login).
Locks:   none (NOLOCK); see QueueStatus.
Callers: chokaq_monitor, chokaq_operator.
*/
CREATE OR ALTER VIEW chokaq.RecurringJobStatus
AS
SELECT r.Name, r.Cron, r.TimeZone, r.IsPaused, r.MissedTicks, r.SkipWhileLive, r.Queue, r.JobType, r.Priority, r.MaxAttempts, r.NextTickAt,
       CASE WHEN r.IsPaused = 1 OR r.NextTickAt >= SYSUTCDATETIME() THEN CONVERT(bigint, 0)
            ELSE DATEDIFF_BIG(SECOND, COALESCE(r.NextTickAt, r.UpdatedAt), SYSUTCDATETIME())
       END AS LateSeconds,
       r.LastTickAt, r.LastEnqueuedAt, r.LastJobId, r.Headers, r.Payload, r.UpdatedAt, r.UpdatedBy
FROM chokaq.RecurringJobs AS r WITH (NOLOCK);
