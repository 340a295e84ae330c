/*
chokaq.GetDueRecurringJobs: the recurring jobs whose tick has come, comes soon, or has not been computed.

Purpose:    a worker asks for those of the queues that it serves, computes the ticks, and calls EnqueueRecurringJob for each that has come.
Parameters: @Queues         JSON array of 1 to 100 queue names.
            @WithinSeconds  0 to 3600: ticks that come within this time are listed too. Default 0.
Result set: Name, Cron, TimeZone, MissedTicks nvarchar; Revision int; NextTickAt, LastTickAt datetime2(3) UTC (NULL: never computed; never enqueued);
            DatabaseTimeUtc datetime2(3). Ordered by NextTickAt. Paused ones are not listed.
Errors:     51003 @WithinSeconds; 51004 @Queues.
Tables:     RecurringJobs (read).
Locks:      none is held; rows that others change just now are skipped (READPAST): whoever changes them enqueues the tick.
Reads:      all recurring jobs: there are few.
Callers:    chokaq_worker.
*/
CREATE OR ALTER PROCEDURE chokaq.GetDueRecurringJobs
    @Queues        nvarchar(max),
    @WithinSeconds int = 0
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXEC chokaq.CheckNameArray N'GetDueRecurringJobs', N'@Queues', @Queues, 100, 64;
    IF @WithinSeconds IS NULL OR @WithinSeconds NOT BETWEEN 0 AND 3600
        THROW 51003, N'chokaq.GetDueRecurringJobs: @WithinSeconds must be 0 to 3600.', 1;

    DECLARE @Now datetime2(3) = SYSUTCDATETIME();

    SELECT r.Name, r.Cron, r.TimeZone, r.MissedTicks, r.Revision, r.NextTickAt, r.LastTickAt, @Now AS DatabaseTimeUtc
    FROM chokaq.RecurringJobs AS r WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
    WHERE r.IsPaused = 0
      AND (r.NextTickAt IS NULL OR r.NextTickAt <= DATEADD(SECOND, @WithinSeconds, @Now))
      AND EXISTS (SELECT 1 FROM OPENJSON(@Queues) AS q WHERE q.[value] COLLATE Latin1_General_100_BIN2 = r.Queue)
    ORDER BY r.NextTickAt, r.Name;
END;
