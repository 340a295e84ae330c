/*
chokaq.PurgeHistory: removes history that is older than its retention.

Purpose:    keeps JobsArchive, JobsDLQ, JobFailures, RecoveryRuns, Workers, WorkerStops and OperatorActions from growing for ever. Live jobs are never touched.
Parameters: none: the settings Retention.* say how long (0: for ever), Recovery.BatchSize how many rows at a time.
Result set: RowsMoved int (rows removed).
Errors:     none of its own.
Tables, in order: Settings (read), JobsArchive, JobsDLQ, JobFailures, Workers, WorkerStops, OperatorActions, RecoveryRuns; one at a time, never two in one transaction.
Locks:      for the two job tables, candidates are read from the index on the date, which covers the question; the rows are then deleted by the
            clustered key. Everything skips locked rows (READPAST), so purging waits for nobody. One small transaction a batch.
Reads:      in the order of the rows removed, and at most one batch of each table more; all of Workers.
Callers:    SQL Server Agent; chokaq_worker and chokaq_operator where there is no Agent. Safe to run at any time and side by side.
*/
CREATE OR ALTER PROCEDURE chokaq.PurgeHistory
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @StartedAt datetime2(3) = SYSUTCDATETIME(), @RowsMoved int = 0, @Moved int, @BatchSize int,
            @ArchiveHours int, @DeadHours int, @RunHours int, @WorkerHours int, @ActionHours int,
            @FailureHours int, @StopHours int, @Before datetime2(3);
    DECLARE @Old TABLE (JobId bigint NOT NULL PRIMARY KEY);

    SET @BatchSize = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Recovery.BatchSize');
    SET @ArchiveHours = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Retention.Archive');
    SET @DeadHours = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Retention.DeadJobs');
    SET @RunHours = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Retention.RecoveryRuns');
    SET @WorkerHours = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Retention.Workers');
    SET @ActionHours = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Retention.OperatorActions');
    SET @FailureHours = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Retention.JobFailures');
    SET @StopHours = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Retention.WorkerStops');

    SET @Before = DATEADD(HOUR, -@ArchiveHours, @StartedAt);
    WHILE @ArchiveHours > 0
    BEGIN
        DELETE FROM @Old;
        INSERT INTO @Old (JobId)
        SELECT TOP (@BatchSize) a.JobId
        FROM chokaq.JobsArchive AS a WITH (INDEX (IX_JobsArchive_FinishedAt), FORCESEEK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE a.FinishedAt < @Before
        ORDER BY a.FinishedAt
        OPTION (MAXDOP 1);

        DELETE a
        FROM @Old AS o
        INNER JOIN chokaq.JobsArchive AS a WITH (INDEX (PK_JobsArchive), FORCESEEK, ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK) ON a.JobId = o.JobId
        WHERE a.FinishedAt < @Before
        OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);

        SET @Moved = @@ROWCOUNT;
        SET @RowsMoved = @RowsMoved + @Moved;
        IF @Moved = 0 BREAK;
    END;

    SET @Before = DATEADD(HOUR, -@DeadHours, @StartedAt);
    WHILE @DeadHours > 0
    BEGIN
        DELETE FROM @Old;
        INSERT INTO @Old (JobId)
        SELECT TOP (@BatchSize) d.JobId
        FROM chokaq.JobsDLQ AS d WITH (INDEX (IX_JobsDLQ_DeadAt), FORCESEEK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE d.DeadAt < @Before
        ORDER BY d.DeadAt
        OPTION (MAXDOP 1);

        DELETE d
        FROM @Old AS o
        INNER JOIN chokaq.JobsDLQ AS d WITH (INDEX (PK_JobsDLQ), FORCESEEK, ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK) ON d.JobId = o.JobId
        WHERE d.DeadAt < @Before
        OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);

        SET @Moved = @@ROWCOUNT;
        SET @RowsMoved = @RowsMoved + @Moved;
        IF @Moved = 0 BREAK;
    END;

    SET @Before = DATEADD(HOUR, -@FailureHours, @StartedAt);
    WHILE @FailureHours > 0
    BEGIN
        DELETE TOP (@BatchSize) FROM f
        FROM chokaq.JobFailures AS f WITH (INDEX (IX_JobFailures_FailedAt), FORCESEEK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE f.FailedAt < @Before
        OPTION (MAXDOP 1);

        SET @Moved = @@ROWCOUNT;
        SET @RowsMoved = @RowsMoved + @Moved;
        IF @Moved = 0 BREAK;
    END;

    SET @Before = DATEADD(HOUR, -@StopHours, @StartedAt);
    WHILE @StopHours > 0
    BEGIN
        DELETE TOP (@BatchSize) FROM s
        FROM chokaq.WorkerStops AS s WITH (INDEX (IX_WorkerStops_DrainingAt), FORCESEEK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE s.DrainingAt < @Before
        OPTION (MAXDOP 1);

        SET @Moved = @@ROWCOUNT;
        SET @RowsMoved = @RowsMoved + @Moved;
        IF @Moved = 0 BREAK;
    END;

    SET @Before = DATEADD(HOUR, -@WorkerHours, @StartedAt);
    WHILE @WorkerHours > 0
    BEGIN
        DELETE TOP (@BatchSize) FROM w
        FROM chokaq.Workers AS w WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE w.HeartbeatAt < @Before
        OPTION (MAXDOP 1);

        SET @Moved = @@ROWCOUNT;
        SET @RowsMoved = @RowsMoved + @Moved;
        IF @Moved = 0 BREAK;
    END;

    SET @Before = DATEADD(HOUR, -@ActionHours, @StartedAt);
    WHILE @ActionHours > 0
    BEGIN
        /* The ids ascend with the time: the oldest rows come first, and what is behind the first batch need not be looked at. */
        WITH Oldest AS
        (
            SELECT TOP (@BatchSize) a.ActionId, a.ActedAt
            FROM chokaq.OperatorActions AS a WITH (INDEX (PK_OperatorActions), ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK)
            ORDER BY a.ActionId
        )
        DELETE FROM Oldest
        WHERE ActedAt < @Before
        OPTION (MAXDOP 1);

        SET @Moved = @@ROWCOUNT;
        SET @RowsMoved = @RowsMoved + @Moved;
        IF @Moved = 0 BREAK;
    END;

    SET @Before = DATEADD(HOUR, -@RunHours, @StartedAt);
    WHILE @RunHours > 0
    BEGIN
        WITH Oldest AS
        (
            SELECT TOP (@BatchSize) r.RunId, r.StartedAt
            FROM chokaq.RecoveryRuns AS r WITH (INDEX (PK_RecoveryRuns), ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK)
            ORDER BY r.RunId
        )
        DELETE FROM Oldest
        WHERE StartedAt < @Before
        OPTION (MAXDOP 1);

        SET @Moved = @@ROWCOUNT;
        SET @RowsMoved = @RowsMoved + @Moved;
        IF @Moved = 0 BREAK;
    END;

    INSERT INTO chokaq.RecoveryRuns (ProcedureName, StartedAt, FinishedAt, RowsMoved, LoginName, ProgramName)
    VALUES ('PurgeHistory', @StartedAt, SYSUTCDATETIME(), @RowsMoved, ORIGINAL_LOGIN(), APP_NAME());

    SELECT @RowsMoved AS RowsMoved;
END;
