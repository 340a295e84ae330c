/*
chokaq.CancelJob: ends a job that has not finished.

Purpose:    a Pending or Fetched job has run no user code: it goes to the dead-letter queue as Cancelled. For a Processing job the
            cancellation is asked for: its worker learns of it with the next heartbeat and cancels the handler's context.
Parameters: @JobId  the job.
            @Note   why; at most 1000 characters; kept in OperatorActions. Default NULL.
Result set: one row: JobId bigint, Result varchar, JobState varchar:
              Cancelled         it is in the DLQ
              CancelRequested   it is Processing; its worker will be told
              AlreadyCancelled  it was in the DLQ as Cancelled, or its cancellation had been asked for
              Finished          it is in the archive, or in the DLQ for another reason
Errors:     51008 no such job; 51001 @Note is too long.
Tables, in order: Jobs, JobsDLQ, OperatorActions.
Locks:      one transaction. U and X on the job's key of PK_Jobs, then its index entries. A claim that has the job's entry of IX_Jobs_Pending
            is waited for; it never waits for this (see ClaimJobs).
            In a transaction of the caller's they are held to its end, and the worker that has the job cannot start, renew, release, complete or fail it: keep it short.
Reads:      a few seeks.
Callers:    chokaq_producer, chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.CancelJob
    @JobId bigint,
    @Note  nvarchar(max) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF DATALENGTH(@Note) > 2000
        THROW 51001, N'chokaq.CancelJob: @Note must be at most 1000 characters. Nothing was changed.', 1;

    DECLARE @Now datetime2(3) = SYSUTCDATETIME(), @State tinyint, @RequestedAt datetime2(3), @Queue nvarchar(64),
            @Result varchar(20), @JobState varchar(10), @Message nvarchar(2000);

    BEGIN TRANSACTION;

    SELECT @State = j.State, @RequestedAt = j.CancelRequestedAt, @Queue = j.Queue
    FROM chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK)
    WHERE j.JobId = @JobId;

    IF @State IN (0, 1)
    BEGIN
        DELETE j
        OUTPUT deleted.JobId, deleted.Queue, deleted.JobType, deleted.Priority, deleted.DueAt, deleted.Attempt, deleted.MaxAttempts,
               deleted.RequeueCount, 'Cancelled', deleted.LastError, @Now, COALESCE(deleted.WorkerId, deleted.LastWorkerId),
               CONVERT(uniqueidentifier, NULL), deleted.FetchedAt, deleted.StartedAt, deleted.HeartbeatAt, @Now, deleted.EnqueuedAt,
               deleted.EnqueuedBy, deleted.IdempotencyKey, deleted.Headers, deleted.Payload
        INTO chokaq.JobsDLQ
              (JobId, Queue, JobType, Priority, DueAt, Attempt, MaxAttempts,
               RequeueCount, Reason, Error, DeadAt, LastWorkerId,
               ClaimToken, FetchedAt, StartedAt, HeartbeatAt, CancelRequestedAt, EnqueuedAt,
               EnqueuedBy, IdempotencyKey, Headers, Payload)
        FROM chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK)
        WHERE j.JobId = @JobId;

        SELECT @Result = 'Cancelled', @JobState = 'Dead';
    END
    ELSE IF @State = 2 AND @RequestedAt IS NULL
    BEGIN
        UPDATE j
        SET CancelRequestedAt = @Now
        FROM chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK)
        WHERE j.JobId = @JobId;

        SELECT @Result = 'CancelRequested', @JobState = 'Processing';
    END
    ELSE IF @State = 2
        SELECT @Result = 'AlreadyCancelled', @JobState = 'Processing';
    ELSE
        SELECT @Result = CASE WHEN f.JobState = 'Dead' AND d.Reason = 'Cancelled' THEN 'AlreadyCancelled' ELSE 'Finished' END,
               @JobState = f.JobState
        FROM chokaq.FindJob(@JobId) AS f
        LEFT JOIN chokaq.JobsDLQ AS d WITH (INDEX (PK_JobsDLQ), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK) ON d.JobId = @JobId;

    IF @Result IN ('Cancelled', 'CancelRequested')
        INSERT INTO chokaq.OperatorActions (ActionName, JobId, Queue, NewValue, Note, LoginName, HostName, ProgramName, ActedAt)
        VALUES ('CancelJob', @JobId, @Queue, @Result, @Note, ORIGINAL_LOGIN(), HOST_NAME(), APP_NAME(), @Now);

    COMMIT TRANSACTION;

    IF @Result IS NULL
    BEGIN
        SET @Message = CONCAT(N'chokaq.CancelJob: there is no job ', COALESCE(CONVERT(nvarchar(20), @JobId), N'NULL'),
            N'. It never existed, or retention has removed it. Nothing was changed.');
        THROW 51008, @Message, 1;
    END;

    SELECT @JobId AS JobId, @Result AS Result, @JobState AS JobState;
END;
