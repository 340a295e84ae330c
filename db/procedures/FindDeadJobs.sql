/*
chokaq.FindDeadJobs: dead jobs by a filter, to look at or to act upon.

Purpose:    the preview of a review: shows what a filter finds, and hands exactly those ids to RequeueDeadJobs or DiscardDeadJobs:
              DECLARE @Ids nvarchar(max);
              EXEC chokaq.FindDeadJobs @Queue = N'mail', @Reason = N'Interrupted', @JobIds = @Ids OUTPUT;
              EXEC chokaq.RequeueDeadJobs @JobIds = @Ids, @Note = N'mail server is back', @SpreadSeconds = 600;
            What dies in between is not touched. Discarded jobs are not found.
Parameters: @Queue, @JobType  exact. Default NULL: any.
            @Reason       Failed, Rejected, Interrupted, Zombie or Cancelled. Default NULL: any.
            @DeadFrom, @DeadBefore   UTC; died at or after, died before. Default NULL: any time.
            @ErrorText    text that the error contains, as the database's collation compares; % and _ stand for themselves. Default NULL: any.
            @AfterJobId   only jobs with a higher id: the next page. Default 0.
            @MaxJobs      1 to 1000. Default 100.
            @JobIds       OUTPUT: JSON array of the ids in the result set; [] when there are none.
            @ReturnRows   1 (default) returns the result set; 0 only sets @JobIds.
Result set: JobId bigint, Queue, JobType, Reason, Error, DeadAt datetime2(3) UTC, Attempt, MaxAttempts, RequeueCount int, LastWorkerId, Payload.
            By JobId.
Errors:     51001 @Reason or @ErrorText; 51003 @MaxJobs or a time.
Tables:     JobsDLQ (read).
Locks:      none (NOLOCK): a review waits for nobody and makes nobody wait; what is then done goes by locks of its own.
Reads:      the rows of JobsDLQ with higher ids, until @MaxJobs are found.
Callers:    chokaq_monitor, chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.FindDeadJobs
    @Queue      nvarchar(400)  = NULL,
    @JobType    nvarchar(400)  = NULL,
    @Reason     nvarchar(400)  = NULL,
    @DeadFrom   datetime2(3)   = NULL,
    @DeadBefore datetime2(3)   = NULL,
    @ErrorText  nvarchar(max)  = NULL,
    @AfterJobId bigint         = 0,
    @MaxJobs    int            = 100,
    @JobIds     nvarchar(max)  = NULL OUTPUT,
    @ReturnRows bit            = 1
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @Reason COLLATE Latin1_General_100_BIN2 NOT IN (N'Failed', N'Rejected', N'Interrupted', N'Zombie', N'Cancelled')
        THROW 51001, N'chokaq.FindDeadJobs: @Reason must be Failed, Rejected, Interrupted, Zombie or Cancelled, or NULL.', 1;
    /* A filter that is cut finds more than was meant, and what it finds may be run again: the parameters are wider than what they take. */
    IF DATALENGTH(@ErrorText) NOT BETWEEN 2 AND 2000
        THROW 51001, N'chokaq.FindDeadJobs: @ErrorText must be 1 to 1000 characters, or NULL.', 1;
    IF @MaxJobs IS NULL OR @MaxJobs NOT BETWEEN 1 AND 1000
        THROW 51003, N'chokaq.FindDeadJobs: @MaxJobs must be 1 to 1000.', 1;
    IF @DeadBefore <= @DeadFrom
        THROW 51003, N'chokaq.FindDeadJobs: @DeadBefore must be later than @DeadFrom.', 1;

    DECLARE @Seen TABLE (JobId bigint NOT NULL);
    DECLARE @Found TABLE (JobId bigint NOT NULL PRIMARY KEY);

    /* NOLOCK can see a row twice while its page splits. A DISTINCT here would not help: by the primary key the optimizer knows it for needless. */
    INSERT INTO @Seen (JobId)
    SELECT TOP (@MaxJobs) d.JobId
    FROM chokaq.JobsDLQ AS d WITH (NOLOCK)
    WHERE d.DiscardedAt IS NULL
      AND d.JobId > COALESCE(@AfterJobId, 0)
      AND (@Queue IS NULL OR d.Queue = @Queue)
      AND (@JobType IS NULL OR d.JobType = @JobType)
      AND (@Reason IS NULL OR d.Reason = CONVERT(varchar(20), @Reason))
      AND (@DeadFrom IS NULL OR d.DeadAt >= @DeadFrom)
      AND (@DeadBefore IS NULL OR d.DeadAt < @DeadBefore)
      AND (@ErrorText IS NULL OR CHARINDEX(@ErrorText, d.Error) > 0)
    ORDER BY d.JobId
    OPTION (RECOMPILE, MAXDOP 1);

    INSERT INTO @Found (JobId)
    SELECT DISTINCT s.JobId FROM @Seen AS s;

    SELECT @JobIds = CONCAT(N'[', STRING_AGG(CONVERT(nvarchar(max), f.JobId), N',') WITHIN GROUP (ORDER BY f.JobId), N']')
    FROM @Found AS f;

    IF @ReturnRows = 1
        SELECT d.JobId, d.Queue, d.JobType, d.Reason, d.Error, d.DeadAt, d.Attempt, d.MaxAttempts, d.RequeueCount, d.LastWorkerId, d.Payload
        FROM @Found AS f
        INNER JOIN chokaq.JobsDLQ AS d WITH (NOLOCK) ON d.JobId = f.JobId
        ORDER BY d.JobId;
END;
