/*
chokaq.GetJobHistory: everything that is known of one job, in the order in which it happened.

Purpose:    for the person who has to decide about it.
Parameters: @JobId  the job, wherever it is.
Result set: At datetime2(3) UTC; Event varchar; Attempt int; WorkerId; LoginName; Detail nvarchar(max) (an error, a note, what was changed).
            Events: Enqueued, Retried (an attempt failed and another followed), Failed, Rejected, Interrupted, Zombie, Cancelled (it died),
            Succeeded, Pending, Fetched, Processing (where it is now, and since when), and the names of operators' procedures: RequeueDeadJobs,
            EditDeadJob, DiscardDeadJobs, CancelJob. Prefetches that were released, and what retention has removed, are not known.
Errors:     51008 no such job.
Tables:     Jobs, JobsArchive, JobsDLQ, JobFailures, OperatorActions (read).
Locks:      none (NOLOCK).
Reads:      a few seeks.
Callers:    chokaq_monitor, chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.GetJobHistory
    @JobId bigint
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @History TABLE
    (
        At        datetime2(3)     NOT NULL,
        Place     int              NOT NULL,  -- order of what happened in one millisecond
        Event     varchar(30)      NOT NULL,
        Attempt   int              NULL,
        WorkerId  uniqueidentifier NULL,
        LoginName nvarchar(128)    NULL,
        Detail    nvarchar(max)    NULL
    );

    INSERT INTO @History (At, Place, Event, Attempt, WorkerId, LoginName, Detail)
    SELECT j.EnqueuedAt, 0, 'Enqueued', CONVERT(int, NULL), CONVERT(uniqueidentifier, NULL), j.EnqueuedBy, CONCAT(N'queue ', j.Queue COLLATE DATABASE_DEFAULT, N', type ', j.JobType COLLATE DATABASE_DEFAULT)
    FROM chokaq.Jobs AS j WITH (NOLOCK) WHERE j.JobId = @JobId
    UNION ALL
    SELECT COALESCE(CASE j.State WHEN 1 THEN j.FetchedAt WHEN 2 THEN j.StartedAt END, j.LastErrorAt, j.EnqueuedAt), 9,
           CASE j.State WHEN 0 THEN 'Pending' WHEN 1 THEN 'Fetched' ELSE 'Processing' END, j.Attempt, j.WorkerId, NULL,
           CASE j.State WHEN 0 THEN CONCAT(N'due at ', CONVERT(nvarchar(23), j.DueAt, 126), N'Z') ELSE CONCAT(N'heartbeat at ', CONVERT(nvarchar(23), j.HeartbeatAt, 126), N'Z') END
    FROM chokaq.Jobs AS j WITH (NOLOCK) WHERE j.JobId = @JobId
    UNION ALL
    SELECT a.EnqueuedAt, 0, 'Enqueued', NULL, NULL, a.EnqueuedBy, CONCAT(N'queue ', a.Queue COLLATE DATABASE_DEFAULT, N', type ', a.JobType COLLATE DATABASE_DEFAULT)
    FROM chokaq.JobsArchive AS a WITH (NOLOCK) WHERE a.JobId = @JobId
    UNION ALL
    SELECT a.FinishedAt, 9, 'Succeeded', a.Attempt, a.WorkerId, NULL,
           CONCAT(N'started at ', CONVERT(nvarchar(23), a.StartedAt, 126), N'Z, ran for ', DATEDIFF_BIG(MILLISECOND, a.StartedAt, a.FinishedAt), N' ms')
    FROM chokaq.JobsArchive AS a WITH (NOLOCK) WHERE a.JobId = @JobId
    UNION ALL
    SELECT d.EnqueuedAt, 0, 'Enqueued', NULL, NULL, d.EnqueuedBy, CONCAT(N'queue ', d.Queue COLLATE DATABASE_DEFAULT, N', type ', d.JobType COLLATE DATABASE_DEFAULT)
    FROM chokaq.JobsDLQ AS d WITH (NOLOCK) WHERE d.JobId = @JobId
    UNION ALL
    SELECT d.DeadAt, 2, d.Reason, d.Attempt, d.LastWorkerId, NULL, d.Error
    FROM chokaq.JobsDLQ AS d WITH (NOLOCK) WHERE d.JobId = @JobId
    UNION ALL
    SELECT f.FailedAt, 2, f.Reason, f.Attempt, f.WorkerId, NULL, f.Error
    FROM chokaq.JobFailures AS f WITH (NOLOCK) WHERE f.JobId = @JobId
    UNION ALL
    SELECT o.ActedAt, CASE o.ActionName WHEN 'CancelJob' THEN 1 ELSE 3 END, o.ActionName, NULL, NULL, o.LoginName,
           COALESCE(o.Note, CASE o.ActionName WHEN 'EditDeadJob' THEN o.NewValue END)
    FROM chokaq.OperatorActions AS o WITH (NOLOCK) WHERE o.JobId = @JobId;

    IF NOT EXISTS (SELECT 1 FROM @History AS h)
    BEGIN
        DECLARE @Message nvarchar(2000) = CONCAT(N'chokaq.GetJobHistory: there is no job ', COALESCE(CONVERT(nvarchar(20), @JobId), N'NULL'),
            N'. It never existed, or retention has removed it.');
        THROW 51008, @Message, 1;
    END;

    SELECT h.At, h.Event, h.Attempt, h.WorkerId, h.LoginName, h.Detail
    FROM @History AS h
    ORDER BY h.At, h.Place;
END;
