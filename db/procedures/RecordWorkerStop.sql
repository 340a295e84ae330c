/*
chokaq.RecordWorkerStop: a worker that has stopped says what became of its work.

Purpose:    completes the row in WorkerStops that SetWorkerState began, and says stopped in Workers. Repeating it writes the same again. A worker
            that is killed never calls it: the view StopHistory shows that.
Parameters: @WorkerId  the worker process.
            @Report    JSON object; numbers are 0 or more, and each field may be missing:
                         outcome      clean: nothing was left to anybody; review: jobs went to the dead-letter queue as Interrupted,
                                      or recovery took them meanwhile;
                                      abandoned: something was left to recovery
                         reason       why it stopped, at most 200 characters; counts where SetWorkerState was given none
                         running      handlers that ran when it began to drain
                         released     prefetched rows given back          leftFetched  rows that could not be given back
                         completed, retried, dead   outcomes stored since then; interrupted: how many of the dead the stop cut short
                         abandoned    handlers that still ran at the end  unstored     outcomes that could not be stored
                         releaseMs, handlersMs, flushMs, totalMs          how long each step took, in milliseconds
                         gracePeriodMs, prefetchedJobReleaseTimeoutMs     the worker's settings, in milliseconds
Result set: none.
Errors:     51002 @Report; 51013 the worker is not registered.
Tables, in order: Workers, WorkerStops.
Locks:      one transaction. X on the worker's own row in each.
Reads:      one seek in each.
Callers:    chokaq_worker.
*/
CREATE OR ALTER PROCEDURE chokaq.RecordWorkerStop
    @WorkerId uniqueidentifier,
    @Report   nvarchar(max)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @Report IS NULL OR DATALENGTH(@Report) > 8000 OR ISJSON(@Report) <> 1
       OR SUBSTRING(@Report, PATINDEX(N'%[^ ' + NCHAR(9) + NCHAR(10) + NCHAR(13) + N']%', @Report COLLATE Latin1_General_100_BIN2), 1) <> N'{'
        THROW 51002, N'chokaq.RecordWorkerStop: @Report must be a JSON object of at most 4000 characters. Nothing was changed.', 1;

    DECLARE @Bad nvarchar(400), @Message nvarchar(2000);

    SELECT @Bad = MIN(e.[key])
    FROM OPENJSON(@Report) AS e
    WHERE (e.[key] COLLATE Latin1_General_100_BIN2 = N'outcome' AND (e.[type] <> 1 OR e.[value] COLLATE Latin1_General_100_BIN2 NOT IN (N'clean', N'review', N'abandoned') OR RIGHT(e.[value], 1) = N' '))
       OR (e.[key] COLLATE Latin1_General_100_BIN2 IN
               (N'running', N'released', N'leftFetched', N'completed', N'retried', N'dead', N'interrupted', N'abandoned', N'unstored',
                N'releaseMs', N'handlersMs', N'flushMs', N'totalMs', N'gracePeriodMs', N'prefetchedJobReleaseTimeoutMs')
           AND (e.[type] <> 2 OR TRY_CONVERT(int, e.[value]) IS NULL OR TRY_CONVERT(int, e.[value]) < 0));

    IF @Bad IS NOT NULL
    BEGIN
        SET @Message = CONCAT(N'chokaq.RecordWorkerStop: @Report.', @Bad, N' must be ', CASE @Bad WHEN N'outcome' THEN N'clean, review or abandoned' ELSE N'a whole number of 0 or more' END, N'. Nothing was changed.');
        THROW 51002, @Message, 1;
    END;

    DECLARE @Now datetime2(3) = SYSUTCDATETIME();

    BEGIN TRANSACTION;

    UPDATE w
    SET State = 'stopped', StateAt = @Now, HeartbeatAt = @Now
    FROM chokaq.Workers AS w WITH (ROWLOCK)
    WHERE w.WorkerId = @WorkerId;

    IF @@ROWCOUNT = 0
        THROW 51013, N'chokaq.RecordWorkerStop: @WorkerId is not registered. Call chokaq.RegisterWorker first. Nothing was changed.', 1;

    /* A worker that could not reach the database when it began to drain has no row yet. */
    INSERT INTO chokaq.WorkerStops (WorkerId, HostName, ProcessId, Version, Queues, DrainingAt)
    SELECT w.WorkerId, w.HostName, w.ProcessId, w.Version, w.Queues,
           DATEADD(MILLISECOND, -COALESCE((SELECT MAX(TRY_CONVERT(int, e.[value])) FROM OPENJSON(@Report) AS e WHERE e.[key] COLLATE Latin1_General_100_BIN2 = N'totalMs'), 0), @Now)
    FROM chokaq.Workers AS w WITH (ROWLOCK)
    WHERE w.WorkerId = @WorkerId
      AND NOT EXISTS (SELECT 1 FROM chokaq.WorkerStops AS s WITH (ROWLOCK) WHERE s.WorkerId = @WorkerId);

    UPDATE s
    SET StoppedAt = @Now, Outcome = r.Outcome, Reason = COALESCE(s.Reason, r.Reason), Running = r.Running, Released = r.Released,
        LeftFetched = r.LeftFetched, Completed = r.Completed, Retried = r.Retried, Dead = r.Dead, Interrupted = r.Interrupted,
        Abandoned = r.Abandoned, Unstored = r.Unstored, ReleaseMs = r.ReleaseMs, HandlersMs = r.HandlersMs, FlushMs = r.FlushMs,
        TotalMs = r.TotalMs, GracePeriodMs = r.GracePeriodMs, PrefetchedJobReleaseTimeoutMs = r.PrefetchedJobReleaseTimeoutMs
    FROM OPENJSON(@Report)
    WITH
    (
        Outcome                       varchar(20)   '$.outcome',
        Reason                        nvarchar(200) '$.reason',
        Running                       int           '$.running',
        Released                      int           '$.released',
        LeftFetched                   int           '$.leftFetched',
        Completed                     int           '$.completed',
        Retried                       int           '$.retried',
        Dead                          int           '$.dead',
        Interrupted                   int           '$.interrupted',
        Abandoned                     int           '$.abandoned',
        Unstored                      int           '$.unstored',
        ReleaseMs                     int           '$.releaseMs',
        HandlersMs                    int           '$.handlersMs',
        FlushMs                       int           '$.flushMs',
        TotalMs                       int           '$.totalMs',
        GracePeriodMs                 int           '$.gracePeriodMs',
        PrefetchedJobReleaseTimeoutMs int           '$.prefetchedJobReleaseTimeoutMs'
    ) AS r
    CROSS JOIN chokaq.WorkerStops AS s WITH (ROWLOCK)
    WHERE s.WorkerId = @WorkerId;

    COMMIT TRANSACTION;
END;
