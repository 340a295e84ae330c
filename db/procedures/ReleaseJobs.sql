/*
chokaq.ReleaseJobs: Fetched -> Pending, at their old place in the order.

Purpose:    gives back rows that were prefetched and not started: at shutdown, or after a claim that was canceled in flight. Never
            touches a Processing row: that one may have had side effects.
Parameters: @WorkerId    the worker process.
            @ClaimToken  everything still Fetched under this claim; or
            @Jobs        the claims named, a JSON array of at most 1000; or
            neither      everything still Fetched under the worker. Not both.
            @WaitForLocks  0: at most a second for a row that somebody else has locked (an open transaction around CancelJob, say), then error 1222:
                           call again, in halves, so that one row keeps back no other. Default 1: as the session's LOCK_TIMEOUT says.
Result set: JobId bigint, Result varchar, JobState varchar:
              Released         it is Pending again
              AlreadyReleased  (only with @Jobs) released by this claim before; JobState says where it is now
              Processing       (only with @Jobs) started by this claim: it stays
              Lost             (only with @Jobs) not this claim's any more; JobState says where it is (NULL: nowhere)
Errors:     51004 to 51007, see CheckClaims; 51013 no @WorkerId; 51003 both @ClaimToken and @Jobs; 1222 with @WaitForLocks = 0.
Tables, in order: Jobs (then, for rows not released only, JobsArchive, JobsDLQ).
Locks:      with no @Jobs, the worker's rows are found first by IX_Jobs_Owner, which covers the question, so that no lock on it is
            held while the clustered keys are taken (CompleteJobs comes the other way). Then U and X on PK_Jobs in order of
            JobId, then the indexes. One statement, committed by itself.
Reads:      one seek a row.
Callers:    chokaq_worker.
*/
CREATE OR ALTER PROCEDURE chokaq.ReleaseJobs
    @WorkerId     uniqueidentifier,
    @ClaimToken   uniqueidentifier = NULL,
    @Jobs         nvarchar(max)    = NULL,
    @WaitForLocks bit              = 1
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

    IF @WorkerId IS NULL
        THROW 51013, N'chokaq.ReleaseJobs: @WorkerId must be a UUID. Nothing was changed.', 1;
    IF @ClaimToken IS NOT NULL AND @Jobs IS NOT NULL
        THROW 51003, N'chokaq.ReleaseJobs: @ClaimToken and @Jobs exclude each other. Nothing was changed.', 1;

    DECLARE @Claims TABLE (JobId bigint NOT NULL PRIMARY KEY, ClaimToken uniqueidentifier NOT NULL);
    DECLARE @Released TABLE (JobId bigint NOT NULL PRIMARY KEY);

    IF @Jobs IS NOT NULL
    BEGIN
        EXEC chokaq.CheckClaims N'ReleaseJobs', @Jobs;

        INSERT INTO @Claims (JobId, ClaimToken)
        SELECT c.JobId, c.ClaimToken
        FROM chokaq.ParseClaims(@Jobs) AS c;
    END
    ELSE IF @ClaimToken IS NOT NULL
        INSERT INTO @Claims (JobId, ClaimToken)
        SELECT j.JobId, j.ClaimToken
        FROM chokaq.Jobs AS j WITH (INDEX (IX_Jobs_Owner), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
        WHERE j.WorkerId = @WorkerId AND j.ClaimToken = @ClaimToken AND j.WorkerId IS NOT NULL AND j.State = 1;
    ELSE
        INSERT INTO @Claims (JobId, ClaimToken)
        SELECT j.JobId, j.ClaimToken
        FROM chokaq.Jobs AS j WITH (INDEX (IX_Jobs_Owner), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
        WHERE j.WorkerId = @WorkerId AND j.WorkerId IS NOT NULL AND j.State = 1;

    UPDATE j
    SET State = 0, LastClaimToken = j.ClaimToken, LastWorkerId = j.WorkerId,
        WorkerId = NULL, ClaimToken = NULL, FetchedAt = NULL, HeartbeatAt = NULL
    OUTPUT inserted.JobId INTO @Released (JobId)
    FROM @Claims AS c
    INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON j.JobId = c.JobId
    WHERE j.ClaimToken = c.ClaimToken AND j.State = 1
    OPTION (FORCE ORDER, LOOP JOIN);

    SELECT c.JobId,
           CASE WHEN r.JobId IS NOT NULL THEN 'Released'
                WHEN f.JobState = 'Processing' AND f.ClaimToken = c.ClaimToken THEN 'Processing'
                WHEN f.LastClaimToken = c.ClaimToken THEN 'AlreadyReleased'
                ELSE 'Lost'
           END AS Result,
           CASE WHEN r.JobId IS NOT NULL THEN 'Pending' ELSE f.JobState END AS JobState
    FROM @Claims AS c
    LEFT JOIN @Released AS r ON r.JobId = c.JobId
    OUTER APPLY chokaq.FindJob(CASE WHEN r.JobId IS NULL THEN c.JobId END) AS f
    WHERE r.JobId IS NOT NULL OR @Jobs IS NOT NULL
    ORDER BY c.JobId;
END;
