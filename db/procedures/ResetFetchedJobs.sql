/*
chokaq.ResetFetchedJobs: abandoned Fetched rows -> Pending, at their old place in the order.

Purpose:    recovery. A worker that stopped without releasing what it had prefetched no longer renews it; no user code has run
            for it, so anybody may have it.
Parameters: none: the timeout is the setting Recovery.FetchedJobTimeout, or the queue's own (SetQueueTimeouts), and the
            batch is Recovery.BatchSize. All times are the database's.
Result set: RowsMoved int.
Errors:     none of its own.
Tables, in order: Settings, Queues (read), Jobs, RecoveryRuns.
Locks:      candidates are read from IX_Jobs_Fetched, which covers the question, with S locks that are released row by row; then U and X on
            PK_Jobs in order of JobId, where the condition is asked again: a heartbeat that came in between wins. Both skip locked rows
            (the next run finds them), so recovery waits for nobody. One transaction a batch.
Reads:      IX_Jobs_Fetched, which holds the rows that are Fetched now and no others; one seek a row moved.
Callers:    SQL Server Agent; chokaq_worker and chokaq_operator where there is no Agent. Safe to run at any time and side by side.
*/
CREATE OR ALTER PROCEDURE chokaq.ResetFetchedJobs
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @StartedAt datetime2(3) = SYSUTCDATETIME(), @Timeout int, @BatchSize int, @RowsMoved int = 0, @Moved int, @Candidates int;
    DECLARE @Stale TABLE (JobId bigint NOT NULL PRIMARY KEY, Cutoff datetime2(3) NOT NULL);

    SET @Timeout = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Recovery.FetchedJobTimeout');
    SET @BatchSize = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Recovery.BatchSize');

    SET @Candidates = @BatchSize;
    WHILE @Candidates = @BatchSize
    BEGIN
        DELETE FROM @Stale;

        INSERT INTO @Stale (JobId, Cutoff)
        SELECT TOP (@BatchSize) j.JobId, t.Cutoff
        FROM chokaq.Jobs AS j WITH (INDEX (IX_Jobs_Fetched), ROWLOCK, READPAST, READCOMMITTEDLOCK)
        LEFT JOIN chokaq.Queues AS q ON q.Queue = j.Queue
        CROSS APPLY (SELECT DATEADD(SECOND, -COALESCE(q.FetchedJobTimeoutSeconds, @Timeout), @StartedAt) AS Cutoff) AS t
        WHERE j.State = 1 AND j.HeartbeatAt <= t.Cutoff;

        SET @Candidates = @@ROWCOUNT;

        UPDATE j
        SET State = 0, LastClaimToken = j.ClaimToken, LastWorkerId = j.WorkerId,
            WorkerId = NULL, ClaimToken = NULL, FetchedAt = NULL, HeartbeatAt = NULL
        FROM @Stale AS s
        INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK) ON j.JobId = s.JobId
        WHERE j.State = 1 AND j.HeartbeatAt <= s.Cutoff
        OPTION (FORCE ORDER, LOOP JOIN);

        SET @Moved = @@ROWCOUNT;
        SET @RowsMoved = @RowsMoved + @Moved;

        /* A full batch of candidates of which none could be moved (all locked by others) would come again for ever. */
        IF @Moved = 0 BREAK;
    END;

    INSERT INTO chokaq.RecoveryRuns (ProcedureName, StartedAt, FinishedAt, RowsMoved, LoginName, ProgramName)
    VALUES ('ResetFetchedJobs', @StartedAt, SYSUTCDATETIME(), @RowsMoved, ORIGINAL_LOGIN(), APP_NAME());

    SELECT @RowsMoved AS RowsMoved;
END;
