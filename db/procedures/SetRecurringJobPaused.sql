/*
chokaq.SetRecurringJobPaused: stops a recurring job's ticks, or lets them go on.

Purpose:    an operator's switch. Jobs that were enqueued already are not touched. When it goes on, ticks of the pause are not made up for.
Parameters: @Name      the recurring job.
            @IsPaused  1 or 0.
            @Note      why; at most 1000 characters; kept in OperatorActions. Default NULL.
Result set: none.
Errors:     51001 @Note; 51003 @IsPaused; 51019 there is no such recurring job.
Tables, in order: RecurringJobs, OperatorActions.
Locks:      one transaction. X on the row's key.
Reads:      one seek.
Callers:    chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.SetRecurringJobPaused
    @Name     nvarchar(400),
    @IsPaused bit,
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
        THROW 51001, N'chokaq.SetRecurringJobPaused: @Note must be at most 1000 characters. Nothing was changed.', 1;
    IF @IsPaused IS NULL
        THROW 51003, N'chokaq.SetRecurringJobPaused: @IsPaused must be 0 or 1. Nothing was changed.', 1;

    DECLARE @Queue nvarchar(64), @WasPaused bit;

    BEGIN TRANSACTION;

    UPDATE r
    SET @Queue = r.Queue, @WasPaused = r.IsPaused,
        NextTickAt = CASE WHEN r.IsPaused = @IsPaused THEN r.NextTickAt END,
        Revision = r.Revision + 1, IsPaused = @IsPaused, UpdatedAt = SYSUTCDATETIME(), UpdatedBy = ORIGINAL_LOGIN()
    FROM chokaq.RecurringJobs AS r WITH (ROWLOCK)
    WHERE r.Name = @Name;

    IF @@ROWCOUNT = 0
        THROW 51019, N'chokaq.SetRecurringJobPaused: there is no recurring job of this name. The view chokaq.RecurringJobStatus lists them. Nothing was changed.', 1;

    INSERT INTO chokaq.OperatorActions (ActionName, Queue, Setting, OldValue, NewValue, Note, LoginName, HostName, ProgramName, ActedAt)
    VALUES ('SetRecurringJobPaused', @Queue, @Name, CASE @WasPaused WHEN 1 THEN N'paused' ELSE N'running' END, CASE @IsPaused WHEN 1 THEN N'paused' ELSE N'running' END,
            @Note, ORIGINAL_LOGIN(), HOST_NAME(), APP_NAME(), SYSUTCDATETIME());

    COMMIT TRANSACTION;
END;
