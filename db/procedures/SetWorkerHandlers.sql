/*
chokaq.SetWorkerHandlers: an operator changes how many handlers a running worker has.

Purpose:    more starts more at once; fewer lets those that run finish and starts none until there is room. The worker learns of it when it next
            calls GetWorkerControl. Its next start begins with its own configuration again.
Parameters: @WorkerId  the worker process, as in the view WorkerStatus.
            @Handlers  1 to 10000; NULL: as it was started.
            @Note      why; at most 1000 characters; kept in OperatorActions. Default NULL.
Result set: none.
Errors:     51001 @Note; 51003 @Handlers; 51013 there is no such worker, or it has stopped.
Tables, in order: Workers, OperatorActions.
Locks:      one transaction. X on the worker's row; waits for its claims under way.
Reads:      one seek.
Callers:    chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.SetWorkerHandlers
    @WorkerId uniqueidentifier,
    @Handlers int,
    @Note     nvarchar(max) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF DATALENGTH(@Note) > 2000
        THROW 51001, N'chokaq.SetWorkerHandlers: @Note must be at most 1000 characters. Nothing was changed.', 1;
    IF @Handlers NOT BETWEEN 1 AND 10000
        THROW 51003, N'chokaq.SetWorkerHandlers: @Handlers must be 1 to 10000, or NULL for the number that the worker was started with. To stop claiming, pause the queues. Nothing was changed.', 1;

    DECLARE @OldValue int, @Configured int, @Message nvarchar(400);

    BEGIN TRANSACTION;

    UPDATE w
    SET HandlersWanted = @Handlers, @OldValue = COALESCE(w.HandlersWanted, w.Handlers), @Configured = w.Handlers
    FROM chokaq.Workers AS w WITH (ROWLOCK)
    WHERE w.WorkerId = @WorkerId AND w.State <> 'stopped';

    IF @@ROWCOUNT = 0
    BEGIN
        SET @Message = CONCAT(N'chokaq.SetWorkerHandlers: there is no worker ', COALESCE(LOWER(CONVERT(nvarchar(36), @WorkerId)), N'NULL'), N', or it has stopped. The view chokaq.WorkerStatus lists them. Nothing was changed.');
        THROW 51013, @Message, 1;
    END;

    INSERT INTO chokaq.OperatorActions (ActionName, Setting, OldValue, NewValue, Note, LoginName, HostName, ProgramName, ActedAt)
    VALUES ('SetWorkerHandlers', CONVERT(nvarchar(36), @WorkerId), CONVERT(nvarchar(10), @OldValue), CONVERT(nvarchar(10), COALESCE(@Handlers, @Configured)),
            @Note, ORIGINAL_LOGIN(), HOST_NAME(), APP_NAME(), SYSUTCDATETIME());

    COMMIT TRANSACTION;
END;
