/*
chokaq.RegisterWorker: a worker process announces itself.

Purpose:    its row in Workers, and the timeouts that recovery will hold it to. Repeating it updates the row.
Parameters: @WorkerId   UUID that the process has chosen at its start.
            @HostName   1 to 128 characters.     @ProcessId  of the operating system.
            @Version    1 to 64 characters.      @Queues     JSON array of queue names, in the order in which they are served.
            @Handlers   handler slots.           @Prefetch   room of the prefetch channel, in jobs.
            @JobTypes   JSON array of the job types that it has handlers for. Default NULL: all types.
Result set: one row: DatabaseTimeUtc datetime2(3); FetchedJobTimeoutSeconds int, ProcessingZombieTimeoutSeconds int: the shortest of those
            that apply to the queues named.
Errors:     51001 a name; 51003 a number; 51004 @Queues or @JobTypes; 51013 no @WorkerId.
Tables, in order: Queues, Settings (read), Workers.
Locks:      X on the worker's own row.
Reads:      a few seeks.
Callers:    chokaq_worker.
*/
CREATE OR ALTER PROCEDURE chokaq.RegisterWorker
    @WorkerId  uniqueidentifier,
    @HostName  nvarchar(400),
    @ProcessId int,
    @Version   nvarchar(400),
    @Queues    nvarchar(max),
    @Handlers  int,
    @Prefetch  int,
    @JobTypes  nvarchar(max) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @WorkerId IS NULL
        THROW 51013, N'chokaq.RegisterWorker: @WorkerId must be a UUID. Nothing was changed.', 1;
    EXEC chokaq.CheckName N'RegisterWorker', N'@HostName', @HostName, 128;
    EXEC chokaq.CheckName N'RegisterWorker', N'@Version', @Version, 64;
    IF @ProcessId IS NULL OR @ProcessId < 0 OR @Handlers IS NULL OR @Handlers < 1 OR @Prefetch IS NULL OR @Prefetch < 0
        THROW 51003, N'chokaq.RegisterWorker: @ProcessId and @Prefetch must be 0 or more, and @Handlers 1 or more. Nothing was changed.', 1;
    IF DATALENGTH(@Queues) > 8000
        THROW 51004, N'chokaq.RegisterWorker: @Queues must be a JSON array of queue names, of at most 4000 characters. Nothing was changed.', 1;
    EXEC chokaq.CheckNameArray N'RegisterWorker', N'@Queues', @Queues, 100, 64;
    IF @JobTypes IS NOT NULL
        EXEC chokaq.CheckNameArray N'RegisterWorker', N'@JobTypes', @JobTypes, 1000, 128;

    DECLARE @Now datetime2(3) = SYSUTCDATETIME(), @FetchedTimeout int, @ZombieTimeout int, @QueueFetchedTimeout int, @QueueZombieTimeout int;

    SET @FetchedTimeout = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Recovery.FetchedJobTimeout');
    SET @ZombieTimeout = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Recovery.ProcessingZombieTimeout');

    SELECT @QueueFetchedTimeout = MIN(COALESCE(q.FetchedJobTimeoutSeconds, @FetchedTimeout)),
           @QueueZombieTimeout = MIN(COALESCE(q.ProcessingZombieTimeoutSeconds, @ZombieTimeout))
    FROM OPENJSON(@Queues) AS n
    LEFT JOIN chokaq.Queues AS q ON q.Queue = n.[value] COLLATE Latin1_General_100_BIN2;

    /* Only this process knows its id, so nobody else inserts it meanwhile. */
    UPDATE w
    SET HostName = @HostName, ProcessId = @ProcessId, Version = @Version, Queues = @Queues, Handlers = @Handlers, Prefetch = @Prefetch, JobTypes = @JobTypes,
        State = 'running', LoginName = ORIGINAL_LOGIN(), HeartbeatAt = @Now, StateAt = @Now
    FROM chokaq.Workers AS w WITH (ROWLOCK)
    WHERE w.WorkerId = @WorkerId;

    IF @@ROWCOUNT = 0
        INSERT INTO chokaq.Workers WITH (ROWLOCK)
            (WorkerId, HostName, ProcessId, Version, Queues, Handlers, Prefetch, JobTypes, State, LoginName, StartedAt, HeartbeatAt, StateAt)
        VALUES
            (@WorkerId, @HostName, @ProcessId, @Version, @Queues, @Handlers, @Prefetch, @JobTypes, 'running', ORIGINAL_LOGIN(), @Now, @Now, @Now);

    SELECT @Now AS DatabaseTimeUtc,
           COALESCE(@QueueFetchedTimeout, @FetchedTimeout) AS FetchedJobTimeoutSeconds,
           COALESCE(@QueueZombieTimeout, @ZombieTimeout) AS ProcessingZombieTimeoutSeconds;
END;
