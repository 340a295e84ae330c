/*
chokaq.RescueZombieJobs: Processing rows whose heartbeat has expired -> JobsDLQ, reason Zombie.

Purpose:    recovery. The worker is gone, frozen or cut off. The handler may have had side effects, so the job is not run again: it waits in
            the dead-letter queue for an operator to review. A worker that wakes up later finds that its token no longer fits.
Parameters: none: the timeout is the setting Recovery.ProcessingZombieTimeout, or the queue's own (SetQueueTimeouts), and the
            batch is Recovery.BatchSize. All times are the database's.
Result set: RowsMoved int.
Errors:     none of its own.
Tables, in order: Settings, Queues (read), Jobs, JobsDLQ, RecoveryRuns.
Locks:      as ResetFetchedJobs, by IX_Jobs_Processing. One transaction a batch.
Reads:      IX_Jobs_Processing, which holds the rows that are Processing now and no others; one seek a row moved.
Callers:    SQL Server Agent; chokaq_worker and chokaq_operator where there is no Agent. Safe to run at any time and side by side.
*/
CREATE OR ALTER PROCEDURE chokaq.RescueZombieJobs
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @StartedAt datetime2(3) = SYSUTCDATETIME(), @Timeout int, @BatchSize int, @RowsMoved int = 0, @Moved int, @Candidates int;
    DECLARE @Zombies TABLE (JobId bigint NOT NULL PRIMARY KEY, Cutoff datetime2(3) NOT NULL);

    SET @Timeout = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Recovery.ProcessingZombieTimeout');
    SET @BatchSize = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Recovery.BatchSize');

    SET @Candidates = @BatchSize;
    WHILE @Candidates = @BatchSize
    BEGIN
        DELETE FROM @Zombies;

        INSERT INTO @Zombies (JobId, Cutoff)
        SELECT TOP (@BatchSize) j.JobId, t.Cutoff
        FROM chokaq.Jobs AS j WITH (INDEX (IX_Jobs_Processing), ROWLOCK, READPAST, READCOMMITTEDLOCK)
        LEFT JOIN chokaq.Queues AS q ON q.Queue = j.Queue
        CROSS APPLY (SELECT DATEADD(SECOND, -COALESCE(q.ProcessingZombieTimeoutSeconds, @Timeout), @StartedAt) AS Cutoff) AS t
        WHERE j.State = 2 AND j.HeartbeatAt <= t.Cutoff;

        SET @Candidates = @@ROWCOUNT;

        DELETE j
        OUTPUT deleted.JobId, deleted.Queue, deleted.JobType, deleted.Priority, deleted.DueAt, deleted.Attempt, deleted.MaxAttempts,
               deleted.RequeueCount, 'Zombie',
               CONCAT(N'No heartbeat since ', CONVERT(nvarchar(23), deleted.HeartbeatAt, 126),
                      N'Z: the worker is gone, frozen or cut off. The handler may have had side effects.'),
               @StartedAt, deleted.WorkerId, CONVERT(uniqueidentifier, NULL), deleted.FetchedAt, deleted.StartedAt, deleted.HeartbeatAt,
               deleted.CancelRequestedAt, deleted.EnqueuedAt, deleted.EnqueuedBy, deleted.IdempotencyKey, deleted.Headers, deleted.Payload
        INTO chokaq.JobsDLQ
              (JobId, Queue, JobType, Priority, DueAt, Attempt, MaxAttempts,
               RequeueCount, Reason, Error,
               DeadAt, LastWorkerId, ClaimToken, FetchedAt, StartedAt, HeartbeatAt,
               CancelRequestedAt, EnqueuedAt, EnqueuedBy, IdempotencyKey, Headers, Payload)
        FROM @Zombies AS z
        INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK) ON j.JobId = z.JobId
        WHERE j.State = 2 AND j.HeartbeatAt <= z.Cutoff
        OPTION (FORCE ORDER, LOOP JOIN);

        SET @Moved = @@ROWCOUNT;
        SET @RowsMoved = @RowsMoved + @Moved;

        /* A full batch of candidates of which none could be moved (all locked by others) would come again for ever. */
        IF @Moved = 0 BREAK;
    END;

    INSERT INTO chokaq.RecoveryRuns (ProcedureName, StartedAt, FinishedAt, RowsMoved, LoginName, ProgramName)
    VALUES ('RescueZombieJobs', @StartedAt, SYSUTCDATETIME(), @RowsMoved, ORIGINAL_LOGIN(), APP_NAME());

    SELECT @RowsMoved AS RowsMoved;
END;
