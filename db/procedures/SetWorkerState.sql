/*
chokaq.SetWorkerState: a worker says what it is doing.

Purpose:    lets people see who is draining, and tell a worker that stopped from one that is gone. A worker that has said draining or
            stopped claims nothing any more (ClaimJobs).
Parameters: @WorkerId  the worker process.
            @State     running, draining or stopped.
Result set: none.
Errors:     51003 @State; 51013 the worker is not registered.
Tables:     Workers.
Locks:      X on the worker's own row; waits for that worker's claims under way.
Callers:    chokaq_worker.
*/
CREATE OR ALTER PROCEDURE chokaq.SetWorkerState
    @WorkerId uniqueidentifier,
    @State    nvarchar(40)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @State IS NULL OR @State COLLATE Latin1_General_100_BIN2 NOT IN (N'running', N'draining', N'stopped')
        THROW 51003, N'chokaq.SetWorkerState: @State must be running, draining or stopped. Nothing was changed.', 1;

    DECLARE @Now datetime2(3) = SYSUTCDATETIME();

    UPDATE w
    SET State = @State, StateAt = @Now, HeartbeatAt = @Now
    FROM chokaq.Workers AS w WITH (ROWLOCK)
    WHERE w.WorkerId = @WorkerId;

    IF @@ROWCOUNT = 0
        THROW 51013, N'chokaq.SetWorkerState: @WorkerId is not registered. Call chokaq.RegisterWorker first. Nothing was changed.', 1;
END;
