/*
chokaq.DiscardDeadJobs: an operator decides that dead jobs will not be run again.

Purpose:    marks them in JobsDLQ with who and why; they leave the view DeadJobs, and retention removes them in time. Nothing is deleted.
Parameters: @JobIds  JSON array of at most 1000 job ids: [17, 18].
            @Note    why; 1 to 1000 characters.
Result set: JobId bigint, Result varchar, JobState varchar. One row a job:
              Discarded         marked
              AlreadyDiscarded  somebody did before; the first note stays
              NotDead           it is not in the DLQ; JobState says where it is (NULL: nowhere)
Errors:     51004 to 51007, see CheckJobIds; 51001 @Note.
Tables, in order: JobsDLQ, OperatorActions (then, for jobs not dead only, Jobs and JobsArchive).
Locks:      one transaction. U and X on PK_JobsDLQ in order of JobId.
Reads:      one seek a row.
Callers:    chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.DiscardDeadJobs
    @JobIds nvarchar(max),
    @Note   nvarchar(max)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXEC chokaq.CheckJobIds N'DiscardDeadJobs', @JobIds;
    IF @Note IS NULL OR LEN(@Note) = 0 OR DATALENGTH(@Note) > 2000
        THROW 51001, N'chokaq.DiscardDeadJobs: @Note must say why, in 1 to 1000 characters. Nothing was changed.', 1;

    DECLARE @Now datetime2(3) = SYSUTCDATETIME();
    DECLARE @Asked TABLE (JobId bigint NOT NULL PRIMARY KEY);
    DECLARE @Discarded TABLE (JobId bigint NOT NULL PRIMARY KEY, Queue nvarchar(64) NOT NULL, Summary nvarchar(max) NULL);

    INSERT INTO @Asked (JobId)
    SELECT CONVERT(bigint, e.[value])
    FROM OPENJSON(@JobIds) AS e;

    BEGIN TRANSACTION;

    UPDATE d
    SET DiscardedAt = @Now, DiscardedBy = ORIGINAL_LOGIN(), DiscardNote = @Note
    OUTPUT inserted.JobId, inserted.Queue, CONCAT(inserted.Reason COLLATE DATABASE_DEFAULT, N': ', CONVERT(nvarchar(max), inserted.Error)) INTO @Discarded (JobId, Queue, Summary)
    FROM @Asked AS a
    INNER JOIN chokaq.JobsDLQ AS d WITH (INDEX (PK_JobsDLQ), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON d.JobId = a.JobId
    WHERE d.DiscardedAt IS NULL
    OPTION (FORCE ORDER, LOOP JOIN);

    INSERT INTO chokaq.OperatorActions (ActionName, JobId, Queue, OldValue, Note, LoginName, HostName, ProgramName, ActedAt)
    SELECT 'DiscardDeadJobs', d.JobId, d.Queue, d.Summary, @Note, ORIGINAL_LOGIN(), HOST_NAME(), APP_NAME(), @Now
    FROM @Discarded AS d;

    COMMIT TRANSACTION;

    SELECT a.JobId,
           CASE WHEN d.JobId IS NOT NULL THEN 'Discarded' WHEN f.JobState = 'Dead' THEN 'AlreadyDiscarded' ELSE 'NotDead' END AS Result,
           CASE WHEN d.JobId IS NOT NULL THEN 'Dead' ELSE f.JobState END AS JobState
    FROM @Asked AS a
    LEFT JOIN @Discarded AS d ON d.JobId = a.JobId
    OUTER APPLY chokaq.FindJob(CASE WHEN d.JobId IS NULL THEN a.JobId END) AS f
    ORDER BY a.JobId;
END;
