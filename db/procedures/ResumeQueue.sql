/*
chokaq.ResumeQueue: claims from a queue again.

Purpose:    ends a pause. Resuming a queue that is not paused changes nothing.
Parameters: @Queue  1 to 64 characters; the queue need not have jobs yet.
            @Note   why; at most 1000 characters; kept in OperatorActions. Default NULL.
Result set: none.
Errors:     51001 @Queue or @Note.
Tables, in order: Queues, OperatorActions.
Locks:      one transaction. U and X on the queue's row, with the range around it while the row is being made (UPDLOCK, HOLDLOCK): two
            operators cannot make it twice. Claimers skip the queue meanwhile and do not wait.
Reads:      one seek.
Callers:    chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.ResumeQueue
    @Queue nvarchar(400),
    @Note  nvarchar(max) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXEC chokaq.CheckName N'ResumeQueue', N'@Queue', @Queue, 64;
    IF DATALENGTH(@Note) > 2000
        THROW 51001, N'chokaq.ResumeQueue: @Note must be at most 1000 characters. Nothing was changed.', 1;

    DECLARE @OldValue nvarchar(100), @NewValue nvarchar(100);

    BEGIN TRANSACTION;

    EXEC chokaq.LockQueueRow @Queue;

    UPDATE q
    SET IsPaused = 0, UpdatedAt = SYSUTCDATETIME(), UpdatedBy = ORIGINAL_LOGIN(),
        @OldValue = CASE q.IsPaused WHEN 1 THEN N'paused' ELSE N'running' END,
        @NewValue = N'running'
    FROM chokaq.Queues AS q WITH (ROWLOCK)
    WHERE q.Queue = @Queue;

    INSERT INTO chokaq.OperatorActions (ActionName, Queue, OldValue, NewValue, Note, LoginName, HostName, ProgramName, ActedAt)
    VALUES ('ResumeQueue', @Queue, @OldValue, @NewValue, @Note, ORIGINAL_LOGIN(), HOST_NAME(), APP_NAME(), SYSUTCDATETIME());

    COMMIT TRANSACTION;
END;
