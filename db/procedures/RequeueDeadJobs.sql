/*
chokaq.RequeueDeadJobs: JobsDLQ -> Pending, by an operator's decision.

Purpose:    runs dead jobs again, with their ids, their payload (perhaps edited) and a fresh count of attempts. This is the one way
            in which a job that may have had side effects is run again.
Parameters: @JobIds         JSON array of at most 1000 job ids: [17, 18].
            @Note           why; at most 1000 characters; kept in OperatorActions. Default NULL.
            @DelaySeconds   0 to 315360000 from now, by the database's clock. Default 0.
            @SpreadSeconds  0 to 315360000: the jobs fall due evenly over this time, so that many do not run at once. Default 0.
Result set: JobId bigint, Result varchar, JobState varchar. One row a job:
              Requeued   Pending again
              KeyInUse   a live job of the same type has its idempotency key (or an earlier job of this call has); it stays dead
              Discarded  somebody has discarded it; it stays so
              NotDead    it is not in the DLQ; JobState says where it is (NULL: nowhere)
Errors:     51004 to 51007, see CheckJobIds; 51001 @Note; 51003 a number; 51014 a lock on an idempotency key was not granted.
Tables, in order: JobsDLQ, Jobs (keys), OperatorActions, JobFailures, Jobs (then, for jobs not requeued only, JobsArchive). FailJobs goes from Jobs to
            JobsDLQ: the two cannot meet, since a job is in one of them only.
Locks:      one transaction. U on PK_JobsDLQ in order of JobId; application locks on idempotency keys in order of (type, key);
            X on the new rows of Jobs.
Reads:      two or three seeks a row.
Callers:    chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.RequeueDeadJobs
    @JobIds        nvarchar(max),
    @Note          nvarchar(max) = NULL,
    @DelaySeconds  int           = 0,
    @SpreadSeconds int           = 0
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXEC chokaq.CheckJobIds N'RequeueDeadJobs', @JobIds;
    IF DATALENGTH(@Note) > 2000
        THROW 51001, N'chokaq.RequeueDeadJobs: @Note must be at most 1000 characters. Nothing was changed.', 1;
    IF @DelaySeconds IS NULL OR @DelaySeconds NOT BETWEEN 0 AND 315360000 OR @SpreadSeconds IS NULL OR @SpreadSeconds NOT BETWEEN 0 AND 315360000
        THROW 51003, N'chokaq.RequeueDeadJobs: @DelaySeconds and @SpreadSeconds must be 0 to 315360000 (ten years). Nothing was changed.', 1;

    DECLARE @Now datetime2(3) = SYSUTCDATETIME(), @Count int, @JobType nvarchar(128) = N'', @IdempotencyKey nvarchar(200) = N'';
    DECLARE @Asked TABLE (JobId bigint NOT NULL PRIMARY KEY);
    DECLARE @Dead TABLE
    (
        JobId          bigint NOT NULL PRIMARY KEY,
        Place          int NOT NULL,
        JobType        nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
        IdempotencyKey nvarchar(200) COLLATE Latin1_General_100_BIN2 NULL,
        IsDiscarded    bit NOT NULL,
        KeyInUse       bit NOT NULL
    );

    INSERT INTO @Asked (JobId)
    SELECT CONVERT(bigint, e.[value])
    FROM OPENJSON(@JobIds) AS e;

    BEGIN TRANSACTION;

    INSERT INTO @Dead (JobId, Place, JobType, IdempotencyKey, IsDiscarded, KeyInUse)
    SELECT d.JobId, ROW_NUMBER() OVER (ORDER BY d.JobId) - 1, d.JobType, d.IdempotencyKey, CASE WHEN d.DiscardedAt IS NULL THEN 0 ELSE 1 END, 0
    FROM @Asked AS a
    INNER JOIN chokaq.JobsDLQ AS d WITH (INDEX (PK_JobsDLQ), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON d.JobId = a.JobId
    OPTION (FORCE ORDER, LOOP JOIN);

    SET @Count = @@ROWCOUNT;

    WHILE 1 = 1
    BEGIN
        SELECT TOP (1) @JobType = d.JobType, @IdempotencyKey = d.IdempotencyKey
        FROM @Dead AS d
        WHERE d.IdempotencyKey IS NOT NULL
          AND (d.JobType > @JobType OR (d.JobType = @JobType AND d.IdempotencyKey > @IdempotencyKey))
        ORDER BY d.JobType, d.IdempotencyKey;
        IF @@ROWCOUNT = 0 BREAK;

        EXEC chokaq.LockIdempotencyKey @JobType, @IdempotencyKey;
    END;

    UPDATE d
    SET KeyInUse = 1
    FROM @Dead AS d
    WHERE d.IdempotencyKey IS NOT NULL
      AND (EXISTS (SELECT 1 FROM @Dead AS e
                   WHERE e.JobType = d.JobType AND e.IdempotencyKey = d.IdempotencyKey AND e.JobId < d.JobId AND e.IsDiscarded = 0)
           OR EXISTS (SELECT 1 FROM chokaq.Jobs AS j WITH (INDEX (UX_Jobs_IdempotencyKey), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
                      WHERE j.JobType = d.JobType AND j.IdempotencyKey = d.IdempotencyKey AND j.IdempotencyKey IS NOT NULL));

    /* The log is written first: afterwards the reason and the error are no longer anywhere. */
    INSERT INTO chokaq.OperatorActions (ActionName, JobId, Queue, OldValue, Note, LoginName, HostName, ProgramName, ActedAt)
    SELECT 'RequeueDeadJobs', d.JobId, d.Queue, CONCAT(d.Reason COLLATE DATABASE_DEFAULT, N': ', CONVERT(nvarchar(max), d.Error)), @Note, ORIGINAL_LOGIN(), HOST_NAME(), APP_NAME(), @Now
    FROM @Dead AS k
    INNER JOIN chokaq.JobsDLQ AS d WITH (INDEX (PK_JobsDLQ), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON d.JobId = k.JobId
    WHERE k.IsDiscarded = 0 AND k.KeyInUse = 0
    OPTION (FORCE ORDER, LOOP JOIN);

    INSERT INTO chokaq.JobFailures (JobId, RequeueCount, Attempt, Reason, Error, WorkerId, StartedAt, FailedAt)
    SELECT d.JobId, d.RequeueCount, d.Attempt, d.Reason, d.Error, d.LastWorkerId, d.StartedAt, d.DeadAt
    FROM @Dead AS k
    INNER JOIN chokaq.JobsDLQ AS d WITH (INDEX (PK_JobsDLQ), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON d.JobId = k.JobId
    WHERE k.IsDiscarded = 0 AND k.KeyInUse = 0
    OPTION (FORCE ORDER, LOOP JOIN);

    DELETE d
    OUTPUT deleted.JobId, deleted.Queue, deleted.JobType, deleted.Priority, 0,
           DATEADD(SECOND, @DelaySeconds + CONVERT(int, CONVERT(bigint, @SpreadSeconds) * k.Place / @Count), @Now),
           0, deleted.MaxAttempts, deleted.RequeueCount + 1, deleted.EnqueuedAt, deleted.EnqueuedBy, deleted.IdempotencyKey,
           deleted.Error, deleted.DeadAt, deleted.LastWorkerId, deleted.Headers, deleted.Payload
    INTO chokaq.Jobs
          (JobId, Queue, JobType, Priority, State,
           DueAt,
           Attempt, MaxAttempts, RequeueCount, EnqueuedAt, EnqueuedBy, IdempotencyKey,
           LastError, LastErrorAt, LastWorkerId, Headers, Payload)
    FROM @Dead AS k
    INNER JOIN chokaq.JobsDLQ AS d WITH (INDEX (PK_JobsDLQ), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON d.JobId = k.JobId
    WHERE k.IsDiscarded = 0 AND k.KeyInUse = 0
    OPTION (FORCE ORDER, LOOP JOIN);

    COMMIT TRANSACTION;

    SELECT a.JobId,
           CASE WHEN d.JobId IS NULL THEN 'NotDead'
                WHEN d.IsDiscarded = 1 THEN 'Discarded'
                WHEN d.KeyInUse = 1 THEN 'KeyInUse'
                ELSE 'Requeued'
           END AS Result,
           CASE WHEN d.JobId IS NULL THEN f.JobState WHEN d.IsDiscarded = 1 OR d.KeyInUse = 1 THEN 'Dead' ELSE 'Pending' END AS JobState
    FROM @Asked AS a
    LEFT JOIN @Dead AS d ON d.JobId = a.JobId
    OUTER APPLY chokaq.FindJob(CASE WHEN d.JobId IS NULL THEN a.JobId END) AS f
    ORDER BY a.JobId;
END;
