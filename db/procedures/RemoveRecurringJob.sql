/*
chokaq.RemoveRecurringJob: forgets a recurring job.

Purpose:    there are no further ticks. Jobs that were enqueued already are not touched.
Parameters: @Name  the recurring job.
            @Note  why; at most 1000 characters; kept in OperatorActions. Default NULL.
Result set: none.
Errors:     51001 @Note; 51019 there is no such recurring job.
Tables, in order: RecurringJobs, OperatorActions.
Locks:      one transaction. X on the row's key.
Reads:      one seek.
Callers:    chokaq_producer, chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.RemoveRecurringJob
    @Name nvarchar(400),
    @Note nvarchar(max) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF DATALENGTH(@Note) > 2000
        THROW 51001, N'chokaq.RemoveRecurringJob: @Note must be at most 1000 characters. Nothing was changed.', 1;

    DECLARE @Removed TABLE (Queue nvarchar(64) NOT NULL, OldValue nvarchar(max) NOT NULL);

    BEGIN TRANSACTION;

    DELETE r
    OUTPUT deleted.Queue, CONCAT(deleted.Cron, N' ', deleted.TimeZone COLLATE DATABASE_DEFAULT, N': ', deleted.JobType COLLATE DATABASE_DEFAULT, N' ', deleted.Payload)
    INTO @Removed (Queue, OldValue)
    FROM chokaq.RecurringJobs AS r WITH (ROWLOCK)
    WHERE r.Name = @Name;

    IF @@ROWCOUNT = 0
        THROW 51019, N'chokaq.RemoveRecurringJob: there is no recurring job of this name. The view chokaq.RecurringJobStatus lists them. Nothing was changed.', 1;

    INSERT INTO chokaq.OperatorActions (ActionName, Queue, Setting, OldValue, Note, LoginName, HostName, ProgramName, ActedAt)
    SELECT 'RemoveRecurringJob', d.Queue, @Name, d.OldValue, @Note, ORIGINAL_LOGIN(), HOST_NAME(), APP_NAME(), SYSUTCDATETIME()
    FROM @Removed AS d;

    COMMIT TRANSACTION;
END;
