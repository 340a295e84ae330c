/*
chokaq.StartJobs: Fetched -> Processing; counts the attempt.

Purpose:    the last question before user code runs. From here on the job may have had side effects, and nothing sets it
            back to Pending by itself.
Parameters: @Jobs  JSON array of claims: [{"id": 17, "token": "6F96..."}, ...], at most 1000.
            @WaitForLocks  0: at most a second for a row that somebody else has locked (an open transaction around CancelJob, say), then error 1222:
                           call again, in halves, so that one row keeps back no other. Default 1: as the session's LOCK_TIMEOUT says.
Result set: JobId bigint, Result varchar, Attempt int (this attempt, from 1), JobState varchar. One row a claim:
              Started         the caller may run it
              AlreadyStarted  started by this claim before: an answer was lost, and the caller may run it if it has not
              Lost            not this claim's any more; JobState says where it is (NULL: nowhere). Do not run it.
Errors:     51004 to 51007, see CheckClaims; 1222 with @WaitForLocks = 0.
Tables, in order: Jobs (then, for lost rows only, JobsArchive, JobsDLQ).
Locks:      U, then X, on PK_Jobs in order of JobId, so that calls which share rows cannot deadlock; then IX_Jobs_Fetched,
            IX_Jobs_Processing and IX_Jobs_Owner. One statement, committed by itself.
Reads:      one seek a row.
Callers:    chokaq_worker.
*/
CREATE OR ALTER PROCEDURE chokaq.StartJobs
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

    EXEC chokaq.CheckClaims N'StartJobs', @Jobs;

    DECLARE @Claims TABLE (JobId bigint NOT NULL PRIMARY KEY, ClaimToken uniqueidentifier NOT NULL);
    DECLARE @Started TABLE (JobId bigint NOT NULL PRIMARY KEY, Attempt int NOT NULL);
    DECLARE @Now datetime2(3) = SYSUTCDATETIME();

    INSERT INTO @Claims (JobId, ClaimToken)
    SELECT c.JobId, c.ClaimToken
    FROM chokaq.ParseClaims(@Jobs) AS c;

    UPDATE j
    SET State = 2, Attempt = j.Attempt + 1, StartedAt = @Now, HeartbeatAt = @Now
    OUTPUT inserted.JobId, inserted.Attempt INTO @Started (JobId, Attempt)
    FROM @Claims AS c
    INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON j.JobId = c.JobId
    WHERE j.ClaimToken = c.ClaimToken AND j.State = 1
    OPTION (FORCE ORDER, LOOP JOIN);

    SELECT c.JobId,
           CASE WHEN s.JobId IS NOT NULL THEN 'Started'
                WHEN o.JobId IS NOT NULL THEN 'AlreadyStarted'
                ELSE 'Lost'
           END AS Result,
           COALESCE(s.Attempt, o.Attempt) AS Attempt,
           CASE WHEN s.JobId IS NOT NULL THEN 'Processing' ELSE f.JobState END AS JobState
    FROM @Claims AS c
    LEFT JOIN @Started AS s ON s.JobId = c.JobId
    OUTER APPLY (SELECT j.JobId, j.Attempt
                 FROM chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
                 WHERE s.JobId IS NULL AND j.JobId = c.JobId AND j.ClaimToken = c.ClaimToken AND j.State = 2) AS o
    OUTER APPLY chokaq.FindJob(CASE WHEN s.JobId IS NULL THEN c.JobId END) AS f
    ORDER BY c.JobId;
END;
