/*
chokaq.SetQueueTimeouts: recovery timeouts of one queue.

Purpose:    overrides Recovery.FetchedJobTimeout and Recovery.ProcessingZombieTimeout for a queue. Running workers read them
            when they start: keep their heartbeat interval well under both.
Parameters: @Queue  1 to 64 characters; the queue need not have jobs yet.
            @FetchedJobTimeoutSeconds, @ProcessingZombieTimeoutSeconds  1 to 2592000 (30 days); NULL: the setting applies.
            @Note   why; at most 1000 characters; kept in OperatorActions. Default NULL.
Result set: none.
Errors:     51001 @Queue or @Note; 51003 a timeout.
Tables, in order: Queues, OperatorActions.
Locks:      one transaction. U and X on the queue's row, with the range around it while the row is being made (UPDLOCK, HOLDLOCK): two
            operators cannot make it twice. Claimers skip the queue meanwhile and do not wait.
Reads:      one seek.
Callers:    chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.SetQueueTimeouts
    @Queue nvarchar(400),
    @FetchedJobTimeoutSeconds       int,
    @ProcessingZombieTimeoutSeconds int,
    @Note  nvarchar(max) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXEC chokaq.CheckName N'SetQueueTimeouts', N'@Queue', @Queue, 64;
    IF DATALENGTH(@Note) > 2000
        THROW 51001, N'chokaq.SetQueueTimeouts: @Note must be at most 1000 characters. Nothing was changed.', 1;
    IF @FetchedJobTimeoutSeconds NOT BETWEEN 1 AND 2592000 OR @ProcessingZombieTimeoutSeconds NOT BETWEEN 1 AND 2592000
        THROW 51003, N'chokaq.SetQueueTimeouts: @FetchedJobTimeoutSeconds and @ProcessingZombieTimeoutSeconds must be 1 to 2592000 (30 days), or NULL for the setting. Nothing was changed.', 1;

    DECLARE @OldValue nvarchar(100), @NewValue nvarchar(100);

    BEGIN TRANSACTION;

    EXEC chokaq.LockQueueRow @Queue;

    UPDATE q
    SET FetchedJobTimeoutSeconds = @FetchedJobTimeoutSeconds, ProcessingZombieTimeoutSeconds = @ProcessingZombieTimeoutSeconds, UpdatedAt = SYSUTCDATETIME(), UpdatedBy = ORIGINAL_LOGIN(),
        @OldValue = CONCAT(N'fetched ', COALESCE(CONVERT(nvarchar(20), q.FetchedJobTimeoutSeconds), N'default'), N', processing ', COALESCE(CONVERT(nvarchar(20), q.ProcessingZombieTimeoutSeconds), N'default')),
        @NewValue = CONCAT(N'fetched ', COALESCE(CONVERT(nvarchar(20), @FetchedJobTimeoutSeconds), N'default'), N', processing ', COALESCE(CONVERT(nvarchar(20), @ProcessingZombieTimeoutSeconds), N'default'))
    FROM chokaq.Queues AS q WITH (ROWLOCK)
    WHERE q.Queue = @Queue;

    INSERT INTO chokaq.OperatorActions (ActionName, Queue, OldValue, NewValue, Note, LoginName, HostName, ProgramName, ActedAt)
    VALUES ('SetQueueTimeouts', @Queue, @OldValue, @NewValue, @Note, ORIGINAL_LOGIN(), HOST_NAME(), APP_NAME(), SYSUTCDATETIME());

    COMMIT TRANSACTION;
END;
