/*
chokaq.SetQueueLimit: how many jobs of a queue all workers together may hold.

Purpose:    a concurrency limit over all workers. It counts Fetched and Processing rows; rows held already stay. Claims of a
            limited queue take turns.
Parameters: @Queue  1 to 64 characters; the queue need not have jobs yet.
            @ConcurrencyLimit  0 or more; 0 holds the queue without pausing it; NULL: no limit.
            @Note   why; at most 1000 characters; kept in OperatorActions. Default NULL.
Result set: none.
Errors:     51001 @Queue or @Note; 51003 @ConcurrencyLimit.
Tables, in order: Queues, OperatorActions.
Locks:      one transaction. U and X on the queue's row, with the range around it while the row is being made (UPDLOCK, HOLDLOCK): two
            operators cannot make it twice. Claimers skip the queue meanwhile and do not wait.
Reads:      one seek.
Callers:    chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.SetQueueLimit
    @Queue nvarchar(400),
    @ConcurrencyLimit int,
    @Note  nvarchar(max) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXEC chokaq.CheckName N'SetQueueLimit', N'@Queue', @Queue, 64;
    IF DATALENGTH(@Note) > 2000
        THROW 51001, N'chokaq.SetQueueLimit: @Note must be at most 1000 characters. Nothing was changed.', 1;
    IF @ConcurrencyLimit < 0
        THROW 51003, N'chokaq.SetQueueLimit: @ConcurrencyLimit must be 0 or more, or NULL for no limit. Nothing was changed.', 1;

    DECLARE @OldValue nvarchar(100), @NewValue nvarchar(100);

    BEGIN TRANSACTION;

    EXEC chokaq.LockQueueRow @Queue;

    UPDATE q
    SET ConcurrencyLimit = @ConcurrencyLimit, UpdatedAt = SYSUTCDATETIME(), UpdatedBy = ORIGINAL_LOGIN(),
        @OldValue = COALESCE(CONVERT(nvarchar(20), q.ConcurrencyLimit), N'none'),
        @NewValue = COALESCE(CONVERT(nvarchar(20), @ConcurrencyLimit), N'none')
    FROM chokaq.Queues AS q WITH (ROWLOCK)
    WHERE q.Queue = @Queue;

    INSERT INTO chokaq.OperatorActions (ActionName, Queue, OldValue, NewValue, Note, LoginName, HostName, ProgramName, ActedAt)
    VALUES ('SetQueueLimit', @Queue, @OldValue, @NewValue, @Note, ORIGINAL_LOGIN(), HOST_NAME(), APP_NAME(), SYSUTCDATETIME());

    COMMIT TRANSACTION;
END;
