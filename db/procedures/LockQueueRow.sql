/*
chokaq.LockQueueRow: makes sure that a queue has a row in Queues, and holds it for this transaction.

Purpose:    shared by the procedures that set a switch of a queue.
Parameters: @Queue: checked already.
Result set: none.
Errors:     none of its own.
Tables:     Queues. Needs an open transaction.
Locks:      range U on the row's key (UPDLOCK, HOLDLOCK) until the transaction ends, so that two operators cannot make the row twice.
Callers:    PauseQueue, ResumeQueue, SetQueueLimit, SetQueueTimeouts.
*/
CREATE OR ALTER PROCEDURE chokaq.LockQueueRow
    @Queue nvarchar(64)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    INSERT INTO chokaq.Queues (Queue, UpdatedAt, UpdatedBy)
    SELECT @Queue, SYSUTCDATETIME(), ORIGINAL_LOGIN()
    WHERE NOT EXISTS (SELECT 1 FROM chokaq.Queues AS q WITH (ROWLOCK, UPDLOCK, HOLDLOCK) WHERE q.Queue = @Queue);
END;
