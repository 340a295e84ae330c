/*
chokaq.EditDeadJob: changes a dead job before it is requeued.

Purpose:    repairs what killed it. What is not given stays as it is.
Parameters: @JobId        the dead job.
            @Payload      JSON text (any JSON value), at most 1,000,000 characters.
            @Queue        1 to 64 characters.
            @Priority     1 to 10.
            @MaxAttempts  1 to 1000.
            @Note         why; at most 1000 characters; kept in OperatorActions with the old and the new values.
Result set: none.
Errors:     51001 a name or @Note; 51002 @Payload; 51003 a number, or nothing to change; 51008 there is no such dead job; 51011 it has been discarded.
Tables, in order: JobsDLQ, OperatorActions.
Locks:      one transaction. U and X on the job's key of PK_JobsDLQ.
Reads:      one seek.
Callers:    chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.EditDeadJob
    @JobId       bigint,
    @Payload     nvarchar(max) = NULL,
    @Queue       nvarchar(400) = NULL,
    @Priority    int           = NULL,
    @MaxAttempts int           = NULL,
    @Note        nvarchar(max) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @Payload IS NULL AND @Queue IS NULL AND @Priority IS NULL AND @MaxAttempts IS NULL
        THROW 51003, N'chokaq.EditDeadJob: give at least one of @Payload, @Queue, @Priority, @MaxAttempts. Nothing was changed.', 1;
    IF @Queue IS NOT NULL
        EXEC chokaq.CheckName N'EditDeadJob', N'@Queue', @Queue, 64;
    IF @Payload IS NOT NULL
        EXEC chokaq.CheckPayload N'EditDeadJob', @Payload;
    IF @Priority NOT BETWEEN 1 AND 10
        THROW 51003, N'chokaq.EditDeadJob: @Priority must be 1 to 10; 10 runs first. Nothing was changed.', 1;
    IF @MaxAttempts NOT BETWEEN 1 AND 1000
        THROW 51003, N'chokaq.EditDeadJob: @MaxAttempts must be 1 to 1000. Nothing was changed.', 1;
    IF DATALENGTH(@Note) > 2000
        THROW 51001, N'chokaq.EditDeadJob: @Note must be at most 1000 characters. Nothing was changed.', 1;

    DECLARE @Now datetime2(3) = SYSUTCDATETIME(), @DiscardedAt datetime2(3), @OldQueue nvarchar(64), @OldPayload nvarchar(max),
            @OldPriority int, @OldMaxAttempts int, @Message nvarchar(2000);

    BEGIN TRANSACTION;

    SELECT @DiscardedAt = d.DiscardedAt, @OldQueue = d.Queue, @OldPayload = d.Payload, @OldPriority = d.Priority, @OldMaxAttempts = d.MaxAttempts
    FROM chokaq.JobsDLQ AS d WITH (INDEX (PK_JobsDLQ), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK)
    WHERE d.JobId = @JobId;

    IF @OldQueue IS NULL
    BEGIN
        SET @Message = CONCAT(N'chokaq.EditDeadJob: there is no dead job ', COALESCE(CONVERT(nvarchar(20), @JobId), N'NULL'), N'. Only dead jobs can be edited. Nothing was changed.');
        THROW 51008, @Message, 1;
    END;
    IF @DiscardedAt IS NOT NULL
    BEGIN
        SET @Message = CONCAT(N'chokaq.EditDeadJob: dead job ', @JobId, N' has been discarded. Nothing was changed.');
        THROW 51011, @Message, 1;
    END;

    UPDATE d
    SET Payload = COALESCE(@Payload, d.Payload), Queue = COALESCE(@Queue, d.Queue), Priority = COALESCE(@Priority, d.Priority),
        MaxAttempts = COALESCE(@MaxAttempts, d.MaxAttempts), EditedAt = @Now, EditedBy = ORIGINAL_LOGIN()
    FROM chokaq.JobsDLQ AS d WITH (INDEX (PK_JobsDLQ), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK)
    WHERE d.JobId = @JobId;

    INSERT INTO chokaq.OperatorActions (ActionName, JobId, Queue, OldValue, NewValue, Note, LoginName, HostName, ProgramName, ActedAt)
    SELECT 'EditDeadJob', @JobId, @OldQueue,
           (SELECT CASE WHEN @Payload IS NOT NULL THEN @OldPayload END AS payload, CASE WHEN @Queue IS NOT NULL THEN @OldQueue END AS queue,
                   CASE WHEN @Priority IS NOT NULL THEN @OldPriority END AS priority, CASE WHEN @MaxAttempts IS NOT NULL THEN @OldMaxAttempts END AS maxAttempts
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER),
           (SELECT @Payload AS payload, @Queue AS queue, @Priority AS priority, @MaxAttempts AS maxAttempts
            FOR JSON PATH, WITHOUT_ARRAY_WRAPPER),
           @Note, ORIGINAL_LOGIN(), HOST_NAME(), APP_NAME(), @Now;

    COMMIT TRANSACTION;
END;
