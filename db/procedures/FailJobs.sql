/*
chokaq.FailJobs: Processing -> Pending at a later time while attempts are left, else -> JobsDLQ.

Purpose:    stores that handlers have failed. The worker knows how long to wait and whether the error is final; the attempt limit is
            decided here, where the attempts are counted.
Parameters: @Jobs  JSON array of claims, at most 1000, each with:
              error         text; cut to 4000 characters, with a mark at the cut
              retryAfterMs  milliseconds until the next attempt, by the database's clock; default 0; 0 to ten years
              maxAttempts   1 to 1000: how many attempts a job of this type gets, in the place of the number that it was enqueued with;
                            default: that number stays
              final         true: to the DLQ, however many attempts are left; default false
              reason        the DLQ's reason if it goes there: Failed (default), Rejected (the handler said: do not retry),
                            Interrupted (cut short by a shutdown), Cancelled; a job whose cancellation was asked for is
                            final, and Cancelled, in any case
            @WaitForLocks  0: at most a second for a row that somebody else has locked (an open transaction around CancelJob, say), then error 1222:
                           call again, in halves, so that one row keeps back no other. Default 1: as the session's LOCK_TIMEOUT says.
Result set: JobId bigint, Result varchar, JobState varchar. One row a claim:
              Retried         Pending again
              Dead            in the DLQ
              AlreadyRetried, AlreadyDead   by this claim before: an answer was lost
              Lost            not this claim's any more; JobState says where it is (NULL: nowhere). Nothing was changed for it.
Errors:     51004 to 51007, see CheckClaims; 51005 also for a reason, retryAfterMs, maxAttempts or final that is not one; 1222 with @WaitForLocks = 0.
Tables, in order: Jobs, JobsDLQ, JobFailures (then, for lost rows only, JobsArchive).
Locks:      one transaction. U on PK_Jobs in order of JobId for all the claims that hold, before any is changed; then X on these, their index
            entries, and the new rows of JobsDLQ and JobFailures (a row there for
            each job that goes back to Pending).
Reads:      two seeks a row.
Callers:    chokaq_worker.
*/
CREATE OR ALTER PROCEDURE chokaq.FailJobs
    @Jobs         nvarchar(max),
    @WaitForLocks bit = 1
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    IF @WaitForLocks = 0
        SET LOCK_TIMEOUT 1000;  -- until this procedure returns

    EXEC chokaq.CheckClaims N'FailJobs', @Jobs;

    DECLARE @Claims TABLE
    (
        JobId        bigint NOT NULL PRIMARY KEY,
        ClaimToken   uniqueidentifier NOT NULL,
        Ordinal      int NOT NULL,
        IsFinal      smallint NOT NULL,
        Reason       nvarchar(40) COLLATE Latin1_General_100_BIN2 NOT NULL,
        Error        nvarchar(4000) NULL,
        RetryAfterMs bigint NOT NULL,
        MaxAttempts  int NULL
    );
    DECLARE @Held TABLE (JobId bigint NOT NULL PRIMARY KEY, IsFinal bit NOT NULL, Reason nvarchar(40) NOT NULL);
    DECLARE @Now datetime2(3) = SYSUTCDATETIME(), @BadOrdinal int, @Message nvarchar(2000);

    INSERT INTO @Claims (JobId, ClaimToken, Ordinal, IsFinal, Reason, Error, RetryAfterMs, MaxAttempts)
    SELECT c.JobId, c.ClaimToken, c.Ordinal, COALESCE(c.IsFinal, 0), COALESCE(c.Reason, N'Failed'),
           CASE WHEN DATALENGTH(c.Error) > 8000 THEN LEFT(c.Error, 3984) + N' ... (truncated)' ELSE c.Error END,
           COALESCE(c.RetryAfterMs, 0), c.MaxAttempts
    FROM chokaq.ParseClaims(@Jobs) AS c;

    SELECT @BadOrdinal = MIN(c.Ordinal)
    FROM @Claims AS c
    WHERE c.Reason NOT IN (N'Failed', N'Rejected', N'Interrupted', N'Cancelled') OR RIGHT(c.Reason, 1) = N' '  -- which a comparison does not see
       OR c.RetryAfterMs NOT BETWEEN 0 AND 315360000000
       OR c.MaxAttempts NOT BETWEEN 1 AND 1000
       OR c.IsFinal < 0;

    IF @BadOrdinal IS NOT NULL
    BEGIN
        SET @Message = CONCAT(N'chokaq.FailJobs: @Jobs[', @BadOrdinal, N'] must have a reason of Failed, Rejected, Interrupted or Cancelled (or none), retryAfterMs of 0 to 315360000000 (or none), maxAttempts of 1 to 1000 (or none), and final of true or false (or none). Nothing was changed.');
        THROW 51005, @Message, 1;
    END;

    BEGIN TRANSACTION;

    /* A job whose cancellation was asked for is not run again, whatever its handler made of it. */
    INSERT INTO @Held (JobId, IsFinal, Reason)
    SELECT j.JobId,
           CASE WHEN c.IsFinal = 1 OR j.Attempt >= COALESCE(c.MaxAttempts, j.MaxAttempts) OR j.CancelRequestedAt IS NOT NULL THEN 1 ELSE 0 END,
           CASE WHEN j.CancelRequestedAt IS NOT NULL THEN N'Cancelled' ELSE c.Reason END
    FROM @Claims AS c
    INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON j.JobId = c.JobId
    WHERE j.ClaimToken = c.ClaimToken AND j.State = 2
    OPTION (FORCE ORDER, LOOP JOIN);

    DELETE j
    OUTPUT deleted.JobId, deleted.Queue, deleted.JobType, deleted.Priority, deleted.DueAt, deleted.Attempt, COALESCE(c.MaxAttempts, deleted.MaxAttempts),
           deleted.RequeueCount, h.Reason, c.Error, @Now, deleted.WorkerId, deleted.ClaimToken, deleted.FetchedAt,
           deleted.StartedAt, deleted.HeartbeatAt, deleted.CancelRequestedAt, deleted.EnqueuedAt, deleted.EnqueuedBy,
           deleted.IdempotencyKey, deleted.Headers, deleted.Payload
    INTO chokaq.JobsDLQ
          (JobId, Queue, JobType, Priority, DueAt, Attempt, MaxAttempts,
           RequeueCount, Reason, Error, DeadAt, LastWorkerId, ClaimToken, FetchedAt,
           StartedAt, HeartbeatAt, CancelRequestedAt, EnqueuedAt, EnqueuedBy,
           IdempotencyKey, Headers, Payload)
    FROM @Held AS h
    INNER JOIN @Claims AS c ON c.JobId = h.JobId
    INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON j.JobId = h.JobId
    WHERE h.IsFinal = 1
    OPTION (FORCE ORDER, LOOP JOIN);

    UPDATE j
    SET State = 0,
        /* DATEADD takes an int: whole seconds and the rest apart. */
        DueAt = DATEADD(MILLISECOND, CONVERT(int, c.RetryAfterMs % 1000), DATEADD(SECOND, CONVERT(int, c.RetryAfterMs / 1000), @Now)),
        LastClaimToken = j.ClaimToken, LastWorkerId = j.WorkerId, LastError = c.Error, LastErrorAt = @Now,
        MaxAttempts = COALESCE(c.MaxAttempts, j.MaxAttempts),
        WorkerId = NULL, ClaimToken = NULL, FetchedAt = NULL, StartedAt = NULL, HeartbeatAt = NULL
    OUTPUT deleted.JobId, deleted.RequeueCount, deleted.Attempt, 'Retried', c.Error, deleted.WorkerId, deleted.StartedAt, @Now
    INTO chokaq.JobFailures (JobId, RequeueCount, Attempt, Reason, Error, WorkerId, StartedAt, FailedAt)
    FROM @Held AS h
    INNER JOIN @Claims AS c ON c.JobId = h.JobId
    INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON j.JobId = h.JobId
    WHERE h.IsFinal = 0
    OPTION (FORCE ORDER, LOOP JOIN);

    COMMIT TRANSACTION;

    SELECT c.JobId,
           CASE WHEN h.IsFinal = 1 THEN 'Dead'
                WHEN h.IsFinal = 0 THEN 'Retried'
                WHEN f.JobState = 'Dead' AND f.ClaimToken = c.ClaimToken THEN 'AlreadyDead'
                WHEN f.LastClaimToken = c.ClaimToken THEN 'AlreadyRetried'
                ELSE 'Lost'
           END AS Result,
           CASE WHEN h.IsFinal = 1 THEN 'Dead' WHEN h.IsFinal = 0 THEN 'Pending' ELSE f.JobState END AS JobState
    FROM @Claims AS c
    LEFT JOIN @Held AS h ON h.JobId = c.JobId
    OUTER APPLY chokaq.FindJob(CASE WHEN h.JobId IS NULL THEN c.JobId END) AS f
    ORDER BY c.JobId;
END;
