/*
chokaq.LockIdempotencyKey: makes everybody else who enqueues the same type and key wait until this transaction ends.

Purpose:    closes the race between looking for a live job with the key and inserting one. An application lock takes
            exactly this key. UPDLOCK with HOLDLOCK would lock the gap around it, so that on a nearly empty table all
            producers with keys would wait for each other's transactions; catching error 2601 would doom the
            caller's transaction, since XACT_ABORT is ON. The unique index stands behind it all the same.
Parameters: @JobType, @IdempotencyKey: checked already.
Result set: none.
Errors:     51014 the lock was not granted (timeout by the session's LOCK_TIMEOUT, deadlock victim, canceled): nothing was
            enqueued, the transaction is rolled back, and the call can be repeated.
Tables:     none. Needs an open transaction.
Callers:    EnqueueJob, EnqueueJobs (which locks its keys in order).
*/
CREATE OR ALTER PROCEDURE chokaq.LockIdempotencyKey
    @JobType        nvarchar(128),
    @IdempotencyKey nvarchar(200)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    /* A NUL cannot be in a name, so type and key cannot run into each other. */
    DECLARE @Resource nvarchar(255) = N'chokaq:key:' + CONVERT(nvarchar(64),
        HASHBYTES('SHA2_256', @JobType + NCHAR(0) + @IdempotencyKey), 2);
    DECLARE @Timeout int = @@LOCK_TIMEOUT, @Granted int;

    EXEC @Granted = sys.sp_getapplock @Resource = @Resource, @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = @Timeout;

    IF @Granted < 0
    BEGIN
        /* THROW takes %% for a percent sign. */
        DECLARE @Message nvarchar(2000) = CONCAT(N'chokaq: the lock on idempotency key "', REPLACE(@IdempotencyKey, N'%', N'%%'), N'" of job type "', REPLACE(@JobType, N'%', N'%%'),
            N'" was not granted (sp_getapplock returned ', @Granted,
            N'): another transaction that has enqueued this key is still open, or this one was the victim of a deadlock. Nothing was enqueued; the call can be repeated.');
        THROW 51014, @Message, 1;
    END;
END;
