/*
chokaq.CompleteJobs: Processing -> JobsArchive.

Purpose:    stores that handlers have succeeded.
Parameters: @Jobs  JSON array of claims, at most 1000.
            @WaitForLocks  0: at most a second for a row that somebody else has locked (an open transaction around CancelJob, say), then error 1222:
                           call again, in halves, so that one row keeps back no other. Default 1: as the session's LOCK_TIMEOUT says.
Result set: JobId bigint, Result varchar, JobState varchar. One row a claim:
              Completed         it is in the archive
              AlreadyCompleted  completed by this claim before: an answer was lost
              Lost              not this claim's any more; JobState says where it is (NULL: nowhere). Nothing was changed for it.
Errors:     51004 to 51007, see CheckClaims; 1222 with @WaitForLocks = 0.
Tables, in order: Jobs, JobsArchive (then, for lost rows only, JobsDLQ).
Locks:      one transaction. U on PK_Jobs in order of JobId for the claims that hold; then X on these, their index entries, and the new
            rows of JobsArchive.
Reads:      two seeks a row.
Callers:    chokaq_worker.
*/
CREATE OR ALTER PROCEDURE chokaq.CompleteJobs
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

    EXEC chokaq.CheckClaims N'CompleteJobs', @Jobs;

    DECLARE @Claims TABLE (JobId bigint NOT NULL PRIMARY KEY, ClaimToken uniqueidentifier NOT NULL);
    DECLARE @Held TABLE (JobId bigint NOT NULL PRIMARY KEY);
    DECLARE @Now datetime2(3) = SYSUTCDATETIME();

    INSERT INTO @Claims (JobId, ClaimToken)
    SELECT c.JobId, c.ClaimToken
    FROM chokaq.ParseClaims(@Jobs) AS c;

    BEGIN TRANSACTION;

    INSERT INTO @Held (JobId)
    SELECT j.JobId
    FROM @Claims AS c
    INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON j.JobId = c.JobId
    WHERE j.ClaimToken = c.ClaimToken AND j.State = 2
    OPTION (FORCE ORDER, LOOP JOIN);

    DELETE j
    OUTPUT deleted.JobId, deleted.Queue, deleted.JobType, deleted.Priority, deleted.DueAt, deleted.Attempt, deleted.MaxAttempts,
           deleted.RequeueCount, deleted.WorkerId, deleted.ClaimToken, deleted.FetchedAt, deleted.StartedAt, @Now,
           deleted.CancelRequestedAt, deleted.EnqueuedAt, deleted.EnqueuedBy, deleted.IdempotencyKey, deleted.LastError,
           deleted.LastErrorAt, deleted.Headers, deleted.Payload
    INTO chokaq.JobsArchive
          (JobId, Queue, JobType, Priority, DueAt, Attempt, MaxAttempts,
           RequeueCount, WorkerId, ClaimToken, FetchedAt, StartedAt, FinishedAt,
           CancelRequestedAt, EnqueuedAt, EnqueuedBy, IdempotencyKey, LastError,
           LastErrorAt, Headers, Payload)
    FROM @Held AS h
    INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON j.JobId = h.JobId
    OPTION (FORCE ORDER, LOOP JOIN);

    COMMIT TRANSACTION;

    SELECT c.JobId,
           CASE WHEN h.JobId IS NOT NULL THEN 'Completed'
                WHEN f.JobState = 'Archived' AND f.ClaimToken = c.ClaimToken THEN 'AlreadyCompleted'
                ELSE 'Lost'
           END AS Result,
           CASE WHEN h.JobId IS NOT NULL THEN 'Archived' ELSE f.JobState END AS JobState
    FROM @Claims AS c
    LEFT JOIN @Held AS h ON h.JobId = c.JobId
    OUTER APPLY chokaq.FindJob(CASE WHEN h.JobId IS NULL THEN c.JobId END) AS f
    ORDER BY c.JobId;
END;
