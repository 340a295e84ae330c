/*
chokaq.SetRecurringJob: defines a job that is enqueued again and again, by the clock.

Purpose:    an application calls it at its start, or an operator once: it makes the definition what is said here. Workers that serve the queue compute
            the ticks (chokaq.GetDueRecurringJobs, chokaq.EnqueueRecurringJob), and the database sees to it that each tick is enqueued once,
            however many workers there are.
Parameters: @Name           1 to 64 characters, exact: what this definition is called.
            @Cron           minute hour day-of-month month day-of-week, with one space between: 30 6 * * 1-5; or @hourly, @daily, @weekly, @monthly.
                            Workers read it (docs/recurring.md has the grammar); this procedure looks at its shape only.
            @TimeZone       IANA name of the time zone in which @Cron is read, such as Europe/Berlin. Default UTC.
            @Queue, @JobType, @Payload, @Priority, @MaxAttempts   of the jobs, as for EnqueueJob.
            @Headers        JSON object, at most 3500 characters. Each job's Headers get "chokaq-recurring" (@Name) and "chokaq-tick" (UTC) besides.
            @MissedTicks    what happens to ticks of a time in which no worker ran: one (default; the last of them is enqueued), all, none.
            @SkipWhileLive  1: a tick is skipped while the job of an earlier one has not finished. Default 0.
            @IsPaused       default NULL: as it is; a new one is not paused.
            @Note           why; at most 1000 characters; kept in OperatorActions. Default NULL.
Result set: one row: Result varchar: Created, Changed (ticks are computed anew from now if the expression or the time zone changed), Unchanged.
Errors:     51001 a name, @Cron, @TimeZone, @MissedTicks or @Note; 51002 @Payload or @Headers; 51003 a number.
Tables, in order: RecurringJobs, OperatorActions.
Locks:      one transaction. U on the row's key with the range around it (UPDLOCK, HOLDLOCK): two callers cannot make it twice.
Reads:      one seek.
Callers:    chokaq_producer, chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.SetRecurringJob
    @Name          nvarchar(400),
    @Cron          nvarchar(400),
    @Queue         nvarchar(400),
    @JobType       nvarchar(400),
    @TimeZone      nvarchar(400) = N'UTC',
    @Payload       nvarchar(max) = N'{}',
    @Priority      int           = 5,
    @MaxAttempts   int           = 10,
    @Headers       nvarchar(max) = NULL,
    @MissedTicks   nvarchar(40)  = N'one',
    @SkipWhileLive bit           = 0,
    @IsPaused      bit           = NULL,
    @Note          nvarchar(max) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXEC chokaq.CheckName N'SetRecurringJob', N'@Name', @Name, 64;
    EXEC chokaq.CheckName N'SetRecurringJob', N'@Cron', @Cron, 200;
    EXEC chokaq.CheckName N'SetRecurringJob', N'@TimeZone', @TimeZone, 64;
    EXEC chokaq.CheckName N'SetRecurringJob', N'@Queue', @Queue, 64;
    EXEC chokaq.CheckName N'SetRecurringJob', N'@JobType', @JobType, 128;

    IF LEFT(@Cron, 1) <> N'@' AND (LEN(@Cron) - LEN(REPLACE(@Cron, N' ', N'')) <> 4 OR CHARINDEX(N'  ', @Cron) > 0)
        THROW 51001, N'chokaq.SetRecurringJob: @Cron must have five fields with one space between (minute hour day-of-month month day-of-week), such as 30 6 * * 1-5, or be @hourly, @daily, @weekly or @monthly. Nothing was changed.', 1;
    IF @MissedTicks IS NULL OR @MissedTicks COLLATE Latin1_General_100_BIN2 NOT IN (N'one', N'all', N'none') OR RIGHT(@MissedTicks, 1) = N' '
        THROW 51001, N'chokaq.SetRecurringJob: @MissedTicks must be one, all or none. Nothing was changed.', 1;
    IF DATALENGTH(@Note) > 2000
        THROW 51001, N'chokaq.SetRecurringJob: @Note must be at most 1000 characters. Nothing was changed.', 1;

    EXEC chokaq.CheckPayload N'SetRecurringJob', @Payload;
    EXEC chokaq.CheckHeaders N'SetRecurringJob', @Headers, 3500;

    IF @Priority IS NULL OR @Priority NOT BETWEEN 1 AND 10
        THROW 51003, N'chokaq.SetRecurringJob: @Priority must be 1 to 10; 10 runs first. Nothing was changed.', 1;
    IF @MaxAttempts IS NULL OR @MaxAttempts NOT BETWEEN 1 AND 1000
        THROW 51003, N'chokaq.SetRecurringJob: @MaxAttempts must be 1 to 1000. Nothing was changed.', 1;
    IF @SkipWhileLive IS NULL
        THROW 51003, N'chokaq.SetRecurringJob: @SkipWhileLive must be 0 or 1. Nothing was changed.', 1;

    DECLARE @Now datetime2(3) = SYSUTCDATETIME(), @Result varchar(10) = 'Unchanged', @OldValue nvarchar(max), @NewValue nvarchar(max);

    BEGIN TRANSACTION;

    /* What is compared, and kept in the log. */
    SELECT @OldValue = (SELECT r.Cron, r.TimeZone, r.Queue, r.JobType, r.Priority, r.MaxAttempts, r.MissedTicks, r.SkipWhileLive, r.IsPaused, r.Headers, r.Payload
                        FROM chokaq.RecurringJobs AS r WITH (ROWLOCK, UPDLOCK, HOLDLOCK)
                        WHERE r.Name = @Name
                        FOR JSON PATH, INCLUDE_NULL_VALUES, WITHOUT_ARRAY_WRAPPER);

    IF @OldValue IS NULL
    BEGIN
        INSERT INTO chokaq.RecurringJobs WITH (ROWLOCK)
            (Name, Cron, TimeZone, MissedTicks, SkipWhileLive, IsPaused, Queue, JobType, Priority, MaxAttempts, Headers, Payload, Revision, UpdatedAt, UpdatedBy)
        VALUES
            (@Name, @Cron, @TimeZone, @MissedTicks, @SkipWhileLive, COALESCE(@IsPaused, 0), @Queue, @JobType, @Priority, @MaxAttempts, @Headers, @Payload, 1, @Now, ORIGINAL_LOGIN());
        SET @Result = 'Created';
    END
    ELSE
    BEGIN
        UPDATE r
        SET NextTickAt = CASE WHEN r.Cron = @Cron COLLATE Latin1_General_100_BIN2 AND r.TimeZone = @TimeZone THEN r.NextTickAt END,
            Cron = @Cron, TimeZone = @TimeZone, MissedTicks = @MissedTicks, SkipWhileLive = @SkipWhileLive, IsPaused = COALESCE(@IsPaused, r.IsPaused),
            Queue = @Queue, JobType = @JobType, Priority = @Priority, MaxAttempts = @MaxAttempts, Headers = @Headers, Payload = @Payload,
            Revision = r.Revision + 1, UpdatedAt = @Now, UpdatedBy = ORIGINAL_LOGIN()
        FROM chokaq.RecurringJobs AS r WITH (ROWLOCK)
        WHERE r.Name = @Name
          AND NOT EXISTS (SELECT r.Cron COLLATE Latin1_General_100_BIN2, r.TimeZone, r.MissedTicks, r.SkipWhileLive, r.IsPaused, r.Queue, r.JobType, r.Priority, r.MaxAttempts,
                                 r.Headers COLLATE Latin1_General_100_BIN2, r.Payload COLLATE Latin1_General_100_BIN2
                          INTERSECT
                          SELECT @Cron COLLATE Latin1_General_100_BIN2, @TimeZone, @MissedTicks, @SkipWhileLive, COALESCE(@IsPaused, r.IsPaused), @Queue, @JobType,
                                 @Priority, @MaxAttempts, @Headers COLLATE Latin1_General_100_BIN2, @Payload COLLATE Latin1_General_100_BIN2);
        IF @@ROWCOUNT = 1
            SET @Result = 'Changed';
    END;

    IF @Result <> 'Unchanged'
    BEGIN
        SELECT @NewValue = (SELECT r.Cron, r.TimeZone, r.Queue, r.JobType, r.Priority, r.MaxAttempts, r.MissedTicks, r.SkipWhileLive, r.IsPaused, r.Headers, r.Payload
                            FROM chokaq.RecurringJobs AS r WITH (ROWLOCK)
                            WHERE r.Name = @Name
                            FOR JSON PATH, INCLUDE_NULL_VALUES, WITHOUT_ARRAY_WRAPPER);

        INSERT INTO chokaq.OperatorActions (ActionName, Queue, Setting, OldValue, NewValue, Note, LoginName, HostName, ProgramName, ActedAt)
        VALUES ('SetRecurringJob', @Queue, @Name, @OldValue, @NewValue, @Note, ORIGINAL_LOGIN(), HOST_NAME(), APP_NAME(), @Now);
    END;

    COMMIT TRANSACTION;

    SELECT @Result AS Result;
END;
