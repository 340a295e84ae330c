/*
chokaq.EnqueueJob: inserts one job.

Purpose:    for any application in any language. It runs inside the caller's transaction if there is one:
            rolled back with it, and visible to workers only once it has committed.
Parameters: @Queue           1 to 64 characters, exact (case counts).
            @JobType         1 to 128 characters, exact; names the handler.
            @Payload         JSON text (any JSON value), at most 1,000,000 characters. Default {}.
            @Priority        1 to 10; 10 runs first, as in Service Broker. Default 5.
            @DueAt           UTC; not run before. Default: now. A time in the past counts as now.
            @DelaySeconds    the same as a delay, by the database's clock; not together with @DueAt.
            @MaxAttempts     1 to 1000 attempts before the job is dead. Default 10.
            @IdempotencyKey  1 to 200 characters, exact. While a live job (pending, fetched, processing) of
                             the same type has the key, nothing is inserted and that job is answered.
            @Headers         JSON object, at most 4000 characters, handed to the handler as it is. Default NULL.
            @JobId           OUTPUT: the new job, or the live one that already has the key.
            @Created         OUTPUT: 1 when a job was inserted, 0 when the key had one.
            @ReturnRow       1 (default) returns the result set; 0 only sets the OUTPUT parameters.
Result set: JobId bigint, Created bit. One row.
Errors:     51001 a name; 51002 @Payload or @Headers; 51003 a number or time out of range; 51014 the lock on an
            idempotency key was not granted. XACT_ABORT is ON: an error ends the caller's transaction.
Tables, in order: Jobs.
Locks:      X on the new row's keys until the transaction ends. With @IdempotencyKey, first an exclusive application lock
            on exactly that key (and no other: a range lock would make neighbors wait) until the transaction ends.
Reads:      none without a key; one seek on UX_Jobs_IdempotencyKey with one.
Callers:    chokaq_producer, chokaq_worker (handlers enqueue too), chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.EnqueueJob
    @Queue          nvarchar(400),
    @JobType        nvarchar(400),
    @Payload        nvarchar(max)  = N'{}',
    @Priority       int            = 5,
    @DueAt          datetime2(3)   = NULL,
    @DelaySeconds   int            = NULL,
    @MaxAttempts    int            = 10,
    @IdempotencyKey nvarchar(400)  = NULL,
    @Headers        nvarchar(max)  = NULL,
    @JobId          bigint         = NULL OUTPUT,
    @Created        bit            = NULL OUTPUT,
    @ReturnRow      bit            = 1
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXEC chokaq.CheckName N'EnqueueJob', N'@Queue', @Queue, 64;
    EXEC chokaq.CheckName N'EnqueueJob', N'@JobType', @JobType, 128;
    IF @IdempotencyKey IS NOT NULL
        EXEC chokaq.CheckName N'EnqueueJob', N'@IdempotencyKey', @IdempotencyKey, 200;

    EXEC chokaq.CheckPayload N'EnqueueJob', @Payload;
    EXEC chokaq.CheckHeaders N'EnqueueJob', @Headers, 4000;

    IF @Priority IS NULL OR @Priority NOT BETWEEN 1 AND 10
        THROW 51003, N'chokaq.EnqueueJob: @Priority must be 1 to 10; 10 runs first. Nothing was changed.', 1;
    IF @MaxAttempts IS NULL OR @MaxAttempts NOT BETWEEN 1 AND 1000
        THROW 51003, N'chokaq.EnqueueJob: @MaxAttempts must be 1 to 1000. Nothing was changed.', 1;
    IF @DelaySeconds NOT BETWEEN 0 AND 315360000
        THROW 51003, N'chokaq.EnqueueJob: @DelaySeconds must be 0 to 315360000 (ten years). Nothing was changed.', 1;
    IF @DelaySeconds IS NOT NULL AND @DueAt IS NOT NULL
        THROW 51003, N'chokaq.EnqueueJob: @DueAt and @DelaySeconds exclude each other. Nothing was changed.', 1;

    DECLARE @Now datetime2(3) = SYSUTCDATETIME();

    IF @DelaySeconds IS NOT NULL
        SET @DueAt = DATEADD(SECOND, @DelaySeconds, @Now);
    IF @DueAt IS NULL OR @DueAt < @Now
        SET @DueAt = @Now;

    SET @JobId = NULL;
    SET @Created = 0;

    BEGIN TRANSACTION;

    IF @IdempotencyKey IS NOT NULL
    BEGIN
        EXEC chokaq.LockIdempotencyKey @JobType, @IdempotencyKey;

        SELECT @JobId = j.JobId
        FROM chokaq.Jobs AS j WITH (INDEX (UX_Jobs_IdempotencyKey), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
        WHERE j.JobType = @JobType AND j.IdempotencyKey = @IdempotencyKey AND j.IdempotencyKey IS NOT NULL;
    END;

    IF @JobId IS NULL
    BEGIN
        SET @JobId = NEXT VALUE FOR chokaq.JobIds;

        INSERT INTO chokaq.Jobs WITH (ROWLOCK)
            (JobId, Queue, JobType, Priority, State, DueAt, Attempt, MaxAttempts, RequeueCount,
             EnqueuedAt, EnqueuedBy, IdempotencyKey, Headers, Payload)
        VALUES
            (@JobId, @Queue, @JobType, @Priority, 0, @DueAt, 0, @MaxAttempts, 0,
             @Now, ORIGINAL_LOGIN(), @IdempotencyKey, @Headers, @Payload);

        SET @Created = 1;
    END;

    COMMIT TRANSACTION;

    IF @ReturnRow = 1
        SELECT @JobId AS JobId, @Created AS Created;
END;
