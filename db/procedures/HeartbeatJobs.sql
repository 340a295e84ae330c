/*
chokaq.HeartbeatJobs: renews the heartbeat of a worker and of the rows that it holds, prefetched ones too.

Purpose:    one call for everything that a worker holds. Recovery takes away what is no longer renewed.
Parameters: @WorkerId  the worker process.
            @Jobs      JSON array of claims, at most 1000; [] renews the worker alone.
            @WaitForLocks  0: at most a second for a row that somebody else has locked (an open transaction around CancelJob, say), then error 1222:
                           call again, in halves, so that one row keeps back no other. Default 1: as the session's LOCK_TIMEOUT says.
Result set: JobId bigint, Result varchar, JobState varchar; only rows that the worker must act on:
              Lost             not this claim's any more; JobState says where the job is (NULL: nowhere)
              CancelRequested  still this claim's; somebody asked for its cancellation
Errors:     51004 to 51007, see CheckClaims; 51013 the worker is not registered; 1222 with @WaitForLocks = 0.
Tables, in order: Workers, Jobs (then, for lost rows only, JobsArchive, JobsDLQ).
Locks:      X on the worker's own row in Workers, released before Jobs is touched. U, then X, on PK_Jobs in order of JobId, then
            IX_Jobs_Fetched or IX_Jobs_Processing. One statement each, committed by itself.
Reads:      one seek a row.
Callers:    chokaq_worker.
*/
CREATE OR ALTER PROCEDURE chokaq.HeartbeatJobs
    @WorkerId     uniqueidentifier,
    @Jobs         nvarchar(max),
    @WaitForLocks bit = 1
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    IF @WaitForLocks = 0
        SET LOCK_TIMEOUT 1000;  -- until this procedure returns

    EXEC chokaq.CheckClaims N'HeartbeatJobs', @Jobs;

    DECLARE @Claims TABLE (JobId bigint NOT NULL PRIMARY KEY, ClaimToken uniqueidentifier NOT NULL);
    DECLARE @Renewed TABLE (JobId bigint NOT NULL PRIMARY KEY, CancelRequestedAt datetime2(3) NULL);
    DECLARE @Now datetime2(3) = SYSUTCDATETIME();

    INSERT INTO @Claims (JobId, ClaimToken)
    SELECT c.JobId, c.ClaimToken
    FROM chokaq.ParseClaims(@Jobs) AS c;

    UPDATE w
    SET HeartbeatAt = @Now
    FROM chokaq.Workers AS w WITH (ROWLOCK)
    WHERE w.WorkerId = @WorkerId;

    IF @@ROWCOUNT = 0
        THROW 51013, N'chokaq.HeartbeatJobs: @WorkerId is not registered. Call chokaq.RegisterWorker first. Nothing was changed.', 1;

    UPDATE j
    SET HeartbeatAt = @Now
    OUTPUT inserted.JobId, inserted.CancelRequestedAt INTO @Renewed (JobId, CancelRequestedAt)
    FROM @Claims AS c
    INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON j.JobId = c.JobId
    WHERE j.ClaimToken = c.ClaimToken AND j.State IN (1, 2)
    OPTION (FORCE ORDER, LOOP JOIN);

    SELECT c.JobId,
           CASE WHEN r.JobId IS NULL THEN 'Lost' ELSE 'CancelRequested' END AS Result,
           CASE WHEN r.JobId IS NULL THEN f.JobState ELSE 'Processing' END AS JobState
    FROM @Claims AS c
    LEFT JOIN @Renewed AS r ON r.JobId = c.JobId
    OUTER APPLY chokaq.FindJob(CASE WHEN r.JobId IS NULL THEN c.JobId END) AS f
    WHERE r.JobId IS NULL OR r.CancelRequestedAt IS NOT NULL
    ORDER BY c.JobId;
END;
