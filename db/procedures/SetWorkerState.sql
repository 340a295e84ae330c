/*
chokaq.SetWorkerState: a worker says what it is doing.

Purpose:    lets people see who is draining, begins the record of a stop (WorkerStops; RecordWorkerStop completes it), and tell a worker that stopped from one that is gone. A worker that has said draining or
            stopped claims nothing any more (ClaimJobs).
Parameters: @WorkerId  the worker process.
            @State     running, draining or stopped.
            @Reason    why it drains, such as SIGTERM; at most 200 characters. Default NULL.
Result set: none.
Errors:     51001 @Reason; 51003 @State; 51013 the worker is not registered.
Tables, in order: Workers, WorkerStops.
Locks:      one transaction. X on the worker's own row, and on its row in WorkerStops; waits for that worker's claims under way.
Callers:    chokaq_worker.
*/
CREATE OR ALTER PROCEDURE chokaq.SetWorkerState
    @WorkerId uniqueidentifier,
    @State    nvarchar(40),
    @Reason   nvarchar(max) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @State IS NULL OR @State COLLATE Latin1_General_100_BIN2 NOT IN (N'running', N'draining', N'stopped') OR RIGHT(@State, 1) = N' '
        THROW 51003, N'chokaq.SetWorkerState: @State must be running, draining or stopped. Nothing was changed.', 1;

    IF DATALENGTH(@Reason) > 400
        THROW 51001, N'chokaq.SetWorkerState: @Reason must be at most 200 characters. Nothing was changed.', 1;

    DECLARE @Now datetime2(3) = SYSUTCDATETIME();

    BEGIN TRANSACTION;

    UPDATE w
    SET State = @State, StateAt = @Now, HeartbeatAt = @Now
    FROM chokaq.Workers AS w WITH (ROWLOCK)
    WHERE w.WorkerId = @WorkerId;

    IF @@ROWCOUNT = 0
        THROW 51013, N'chokaq.SetWorkerState: @WorkerId is not registered. Call chokaq.RegisterWorker first. Nothing was changed.', 1;

    IF @State = N'draining'
        INSERT INTO chokaq.WorkerStops (WorkerId, HostName, ProcessId, Version, Queues, Reason, DrainingAt)
        SELECT w.WorkerId, w.HostName, w.ProcessId, w.Version, w.Queues, @Reason, @Now
        FROM chokaq.Workers AS w WITH (ROWLOCK)
        WHERE w.WorkerId = @WorkerId
          AND NOT EXISTS (SELECT 1 FROM chokaq.WorkerStops AS s WITH (ROWLOCK) WHERE s.WorkerId = @WorkerId);

    COMMIT TRANSACTION;
END;
