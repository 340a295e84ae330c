/*
chokaq.EnqueueRecurringJob: enqueues one tick of a recurring job, once.

Purpose:    of all workers that call it for a tick, one enqueues: the one that finds NextTickAt as it has read it. The job and the step to the next tick
            are one transaction, so a crash leaves both or neither.
Parameters: @Name        the recurring job.
            @Revision, @ExpectedTickAt   Revision and NextTickAt as GetDueRecurringJobs gave them (NULL: not computed yet).
            @TickAt      UTC; the tick to enqueue, not in the future. NULL: none; only NextTickAt is set (a first look, or ticks that were missed).
            @NextTickAt  UTC; when it is due next: later than @TickAt. NULL: never again.
Result set: one row: Result varchar, JobId bigint:
              Enqueued   JobId is the new job
              Skipped    SkipWhileLive: the job of an earlier tick, JobId, has not finished. NextTickAt is set
              Planned    no @TickAt: NextTickAt is set
              Taken      another worker has done it, or the definition has changed or is paused or gone. Nothing was changed
Errors:     51003 a time; 51014 see EnqueueJob.
Tables, in order: RecurringJobs, Jobs.
Locks:      one transaction. U and X on the row's key, then as EnqueueJob. A second worker waits for the first, and is then told Taken.
Reads:      one seek, and what EnqueueJob reads.
Callers:    chokaq_worker.
*/
CREATE OR ALTER PROCEDURE chokaq.EnqueueRecurringJob
    @Name           nvarchar(400),
    @Revision       int,
    @ExpectedTickAt datetime2(3),
    @TickAt         datetime2(3),
    @NextTickAt     datetime2(3)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @Now datetime2(3) = SYSUTCDATETIME();

    IF @TickAt > @Now
        THROW 51003, N'chokaq.EnqueueRecurringJob: @TickAt must not be in the future, by the database''s clock. Nothing was changed.', 1;
    IF @NextTickAt <= @TickAt
        THROW 51003, N'chokaq.EnqueueRecurringJob: @NextTickAt must be later than @TickAt. Nothing was changed.', 1;

    DECLARE @Queue nvarchar(64), @JobType nvarchar(128), @Priority int, @MaxAttempts int, @Headers nvarchar(4000), @Payload nvarchar(max),
            @SkipWhileLive bit, @Found int, @IdempotencyKey nvarchar(200), @JobId bigint, @Created bit = 0, @Result varchar(10);

    BEGIN TRANSACTION;

    SELECT @Queue = r.Queue, @JobType = r.JobType, @Priority = r.Priority, @MaxAttempts = r.MaxAttempts, @Headers = r.Headers, @Payload = r.Payload,
           @SkipWhileLive = r.SkipWhileLive
    FROM chokaq.RecurringJobs AS r WITH (ROWLOCK, UPDLOCK, READCOMMITTEDLOCK)
    WHERE r.Name = @Name AND r.Revision = @Revision AND r.IsPaused = 0
      AND (r.NextTickAt = @ExpectedTickAt OR (r.NextTickAt IS NULL AND @ExpectedTickAt IS NULL));

    SET @Found = @@ROWCOUNT;

    IF @Found = 1 AND @TickAt IS NOT NULL
    BEGIN
        SET @Headers = JSON_MODIFY(JSON_MODIFY(COALESCE(@Headers, N'{}'), '$."chokaq-recurring"', @Name), '$."chokaq-tick"', CONVERT(nvarchar(23), @TickAt, 126) + N'Z');
        IF @SkipWhileLive = 1
            SET @IdempotencyKey = N'chokaq-recurring/' + @Name;

        EXEC chokaq.EnqueueJob @Queue = @Queue, @JobType = @JobType, @Payload = @Payload, @Priority = @Priority, @DueAt = @TickAt, @MaxAttempts = @MaxAttempts,
             @IdempotencyKey = @IdempotencyKey, @Headers = @Headers, @JobId = @JobId OUTPUT, @Created = @Created OUTPUT, @ReturnRow = 0;
    END;

    IF @Found = 1
        UPDATE r
        SET NextTickAt = @NextTickAt,
            LastTickAt = CASE WHEN @Created = 1 THEN @TickAt ELSE r.LastTickAt END,
            LastJobId = CASE WHEN @Created = 1 THEN @JobId ELSE r.LastJobId END,
            LastEnqueuedAt = CASE WHEN @Created = 1 THEN @Now ELSE r.LastEnqueuedAt END
        FROM chokaq.RecurringJobs AS r WITH (ROWLOCK)
        WHERE r.Name = @Name;

    COMMIT TRANSACTION;

    SET @Result = CASE WHEN @Found = 0 THEN 'Taken' WHEN @TickAt IS NULL THEN 'Planned' WHEN @Created = 1 THEN 'Enqueued' ELSE 'Skipped' END;
    SELECT @Result AS Result, @JobId AS JobId;
END;
