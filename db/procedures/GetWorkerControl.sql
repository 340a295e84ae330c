/*
chokaq.GetWorkerControl: what a running worker should know now.

Purpose:    a worker asks every few seconds: how many handlers an operator wants it to have, and whether recovery runs. A worker whose
            crash nobody would notice says so, in its log, its metrics and its readiness.
Parameters: @WorkerId  the worker process.
Result set: one row:
              HandlersWanted int         NULL: as it was started
              IsRecoveryLate bit         ResetFetchedJobs or RescueZombieJobs has not run for Recovery.LateAfter
              SecondsSinceReset, SecondsSinceRescue bigint   since the last run of each, or since ChokaQ was installed if there was none
              RecoveryLateAfterSeconds int
Errors:     51013 the worker is not registered.
Tables:     Workers, RecoveryRuns, Settings, SchemaObjects (read).
Locks:      none is held.
Reads:      a few seeks.
Callers:    chokaq_worker.
*/
CREATE OR ALTER PROCEDURE chokaq.GetWorkerControl
    @WorkerId uniqueidentifier
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @HandlersWanted int, @Reset bigint, @Rescue bigint, @LateAfter int;

    SELECT @HandlersWanted = w.HandlersWanted
    FROM chokaq.Workers AS w WITH (ROWLOCK)
    WHERE w.WorkerId = @WorkerId;

    IF @@ROWCOUNT = 0
        THROW 51013, N'chokaq.GetWorkerControl: @WorkerId is not registered. Call chokaq.RegisterWorker first.', 1;

    SELECT @Reset = r.SecondsSinceLastRunOrInstall, @LateAfter = r.LateAfterSeconds
    FROM chokaq.RecoveryStatus AS r
    WHERE r.ProcedureName = 'ResetFetchedJobs';

    SELECT @Rescue = r.SecondsSinceLastRunOrInstall
    FROM chokaq.RecoveryStatus AS r
    WHERE r.ProcedureName = 'RescueZombieJobs';

    SELECT @HandlersWanted AS HandlersWanted,
           CONVERT(bit, CASE WHEN @Reset > @LateAfter OR @Rescue > @LateAfter THEN 1 ELSE 0 END) AS IsRecoveryLate,
           @Reset AS SecondsSinceReset,
           @Rescue AS SecondsSinceRescue,
           @LateAfter AS RecoveryLateAfterSeconds;
END;
