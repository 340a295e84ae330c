/*
ChokaQ for SQL Server: installation script, schema version 1 (chokaq-worker dev).

Creates, in the database that it is run in: schema chokaq with its tables, sequence, functions, procedures and views; the roles chokaq_producer,
chokaq_worker, chokaq_operator and chokaq_monitor with their grants; and SQL Server Agent jobs in msdb that run recovery.
Rights needed: db_owner in the database; for the Agent jobs, sysadmin. Compatibility level 130 or higher.
Run it in SSMS, or with  sqlcmd -S server -d database -I -i thisfile.sql  . It may be run again: what is there already is left or
brought up to date. It stops at the first error.

The editor or sqlcmd splits it at the lines that say GO.
*/
SET ANSI_NULLS, QUOTED_IDENTIFIER, ANSI_PADDING, ANSI_WARNINGS, ARITHABORT, CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT OFF;
SET NOEXEC OFF;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF DB_NAME() IN (N'master', N'msdb', N'model', N'tempdb')
BEGIN
    RAISERROR (N'Choose the queue''s database first (USE ...): this is a system database. Nothing was changed.', 16, 1);
    SET NOEXEC ON;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF SCHEMA_ID(N'chokaq') IS NULL EXEC (N'CREATE SCHEMA chokaq AUTHORIZATION dbo;');
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF OBJECT_ID(N'chokaq.SchemaVersion', N'U') IS NULL
    CREATE TABLE chokaq.SchemaVersion (version bigint NOT NULL PRIMARY KEY, dirty bit NOT NULL);
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
IF EXISTS (SELECT 1 FROM chokaq.SchemaVersion AS v WHERE v.version > 1 OR v.dirty = 1)
BEGIN
    RAISERROR (N'The database has a newer schema than this script, or a migration that failed half way. Nothing was changed.', 16, 1);
    SET NOEXEC ON;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO

PRINT N'Migration 000001_init.up.sql';
DECLARE @Run bit = CASE WHEN EXISTS (SELECT 1 FROM chokaq.SchemaVersion AS v WHERE v.version >= 1) THEN 0 ELSE 1 END;
EXEC sys.sp_set_session_context N'chokaq.Run', @Run;
IF @Run = 0 SET NOEXEC ON;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/*
ChokaQ, schema version 1: tables, indexes, sequence, settings and roles.

Run in the queue's database, with schema [chokaq] already there (chokaq-worker migrate up, and the
script printed by chokaq-worker migrate script, create it first). One batch, one transaction: it
happens whole or not at all. Procedures, functions, views and grants follow it; they are
repeatable and are applied after the migrations whenever their text has changed.

Why the tables look as they do is told in docs/sql-server.md. In short:
  - Jobs holds live jobs only, so the cost of a claim does not grow with history.
  - No CHECK, FOREIGN KEY or trigger on Jobs, JobsArchive and JobsDLQ: jobs move between them by
    DELETE ... OUTPUT deleted.* INTO, which SQL Server refuses for such targets (331, 332, 333).
    Every write goes through a procedure, and the procedures check what they write.
  - Names and keys that must be exact are Latin1_General_100_BIN2; the procedures refuse leading
    and trailing spaces, which even a binary collation ignores in comparisons.
  - All times are UTC, datetime2(3), by the database's clock.
*/
SET NOCOUNT ON;
SET XACT_ABORT ON;
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET ANSI_PADDING ON;
SET ANSI_WARNINGS ON;
SET ARITHABORT ON;
SET CONCAT_NULL_YIELDS_NULL ON;
SET NUMERIC_ROUNDABORT OFF;

IF (SELECT compatibility_level FROM sys.databases WHERE database_id = DB_ID()) < 130
    THROW 51016, N'ChokaQ needs database compatibility level 130 or higher, because its procedures read JSON with OPENJSON. Run ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = 130 (or higher), then run this migration again. Nothing was changed.', 1;

BEGIN TRANSACTION;

/* Job ids come from a sequence and not from IDENTITY, so that a job that is requeued from the
   dead-letter queue keeps its id without SET IDENTITY_INSERT, for which an operator would need
   ALTER on the table. Gaps are normal. */
CREATE SEQUENCE chokaq.JobIds AS bigint START WITH 1 INCREMENT BY 1 NO CYCLE CACHE 1000;

CREATE TABLE chokaq.Jobs
(
    JobId             bigint           NOT NULL,
    Queue             nvarchar(64)     COLLATE Latin1_General_100_BIN2 NOT NULL,
    JobType           nvarchar(128)    COLLATE Latin1_General_100_BIN2 NOT NULL,
    Priority          tinyint          NOT NULL,  -- 1 to 10, 10 first, as in Service Broker
    State             tinyint          NOT NULL,  -- 0 Pending, 1 Fetched, 2 Processing
    DueAt             datetime2(3)     NOT NULL,
    Attempt           int              NOT NULL,  -- attempts started so far
    MaxAttempts       int              NOT NULL,
    RequeueCount      int              NOT NULL,
    WorkerId          uniqueidentifier NULL,      -- owner while Fetched or Processing
    ClaimToken        uniqueidentifier NULL,      -- fences the owner's calls
    LastClaimToken    uniqueidentifier NULL,      -- the claim that was last released or failed: lets a repeated call be told so
    FetchedAt         datetime2(3)     NULL,
    StartedAt         datetime2(3)     NULL,
    HeartbeatAt       datetime2(3)     NULL,
    CancelRequestedAt datetime2(3)     NULL,
    EnqueuedAt        datetime2(3)     NOT NULL,
    EnqueuedBy        nvarchar(128)    NOT NULL,
    IdempotencyKey    nvarchar(200)    COLLATE Latin1_General_100_BIN2 NULL,
    LastError         nvarchar(4000)   NULL,
    LastErrorAt       datetime2(3)     NULL,
    LastWorkerId      uniqueidentifier NULL,
    Headers           nvarchar(4000)   NULL,      -- JSON object, opaque to the database (trace context and the like)
    Payload           nvarchar(max)    NOT NULL,  -- JSON text
    CONSTRAINT PK_Jobs PRIMARY KEY CLUSTERED (JobId) WITH (ALLOW_PAGE_LOCKS = OFF)
);

/* Claimers skip locked rows, but nothing can skip a table lock: never escalate. */
ALTER TABLE chokaq.Jobs SET (LOCK_ESCALATION = DISABLE);

/* Inserts meet on the last page of an ascending key. SQL Server 2019, Azure SQL Database and
   Managed Instance can ease that; SQL Server 2017 does not know the option. */
IF CONVERT(int, SERVERPROPERTY('ProductMajorVersion')) >= 15 OR CONVERT(int, SERVERPROPERTY('EngineEdition')) IN (5, 8)
    EXEC (N'ALTER INDEX PK_Jobs ON chokaq.Jobs SET (OPTIMIZE_FOR_SEQUENTIAL_KEY = ON);');

/* The order of claiming. Every equality of the claim leads, so a claim reads the rows that it takes and no others. */
CREATE NONCLUSTERED INDEX IX_Jobs_Pending ON chokaq.Jobs (Queue, Priority DESC, DueAt, JobId)
    WHERE State = 0 WITH (ALLOW_PAGE_LOCKS = OFF);

/* What recovery looks through, and what a queue's concurrency limit counts. */
CREATE NONCLUSTERED INDEX IX_Jobs_Fetched ON chokaq.Jobs (Queue, HeartbeatAt, JobId)
    WHERE State = 1 WITH (ALLOW_PAGE_LOCKS = OFF);
CREATE NONCLUSTERED INDEX IX_Jobs_Processing ON chokaq.Jobs (Queue, HeartbeatAt, JobId)
    WHERE State = 2 WITH (ALLOW_PAGE_LOCKS = OFF);

/* A worker's rows, and a claim's: for a repeated claim and for the release at shutdown. */
CREATE NONCLUSTERED INDEX IX_Jobs_Owner ON chokaq.Jobs (WorkerId, ClaimToken, JobId) INCLUDE (State)
    WHERE WorkerId IS NOT NULL WITH (ALLOW_PAGE_LOCKS = OFF);

/* One live job per type and idempotency key. */
CREATE UNIQUE NONCLUSTERED INDEX UX_Jobs_IdempotencyKey ON chokaq.Jobs (JobType, IdempotencyKey)
    WHERE IdempotencyKey IS NOT NULL WITH (ALLOW_PAGE_LOCKS = OFF);

CREATE TABLE chokaq.JobsArchive
(
    JobId             bigint           NOT NULL,
    Queue             nvarchar(64)     COLLATE Latin1_General_100_BIN2 NOT NULL,
    JobType           nvarchar(128)    COLLATE Latin1_General_100_BIN2 NOT NULL,
    Priority          tinyint          NOT NULL,
    DueAt             datetime2(3)     NOT NULL,
    Attempt           int              NOT NULL,
    MaxAttempts       int              NOT NULL,
    RequeueCount      int              NOT NULL,
    WorkerId          uniqueidentifier NULL,
    ClaimToken        uniqueidentifier NULL,
    FetchedAt         datetime2(3)     NULL,
    StartedAt         datetime2(3)     NULL,
    FinishedAt        datetime2(3)     NOT NULL,
    CancelRequestedAt datetime2(3)     NULL,
    EnqueuedAt        datetime2(3)     NOT NULL,
    EnqueuedBy        nvarchar(128)    NOT NULL,
    IdempotencyKey    nvarchar(200)    COLLATE Latin1_General_100_BIN2 NULL,
    LastError         nvarchar(4000)   NULL,      -- of the attempt before the one that succeeded
    LastErrorAt       datetime2(3)     NULL,
    Headers           nvarchar(4000)   NULL,
    Payload           nvarchar(max)    NOT NULL,
    CONSTRAINT PK_JobsArchive PRIMARY KEY CLUSTERED (JobId)
);
CREATE NONCLUSTERED INDEX IX_JobsArchive_FinishedAt ON chokaq.JobsArchive (FinishedAt, JobId);

CREATE TABLE chokaq.JobsDLQ
(
    JobId             bigint           NOT NULL,
    Queue             nvarchar(64)     COLLATE Latin1_General_100_BIN2 NOT NULL,
    JobType           nvarchar(128)    COLLATE Latin1_General_100_BIN2 NOT NULL,
    Priority          tinyint          NOT NULL,
    DueAt             datetime2(3)     NOT NULL,
    Attempt           int              NOT NULL,
    MaxAttempts       int              NOT NULL,
    RequeueCount      int              NOT NULL,
    Reason            varchar(20)      COLLATE Latin1_General_100_BIN2 NOT NULL,  -- Failed, Rejected, Interrupted, Zombie, Cancelled
    Error             nvarchar(4000)   NULL,
    DeadAt            datetime2(3)     NOT NULL,
    LastWorkerId      uniqueidentifier NULL,
    ClaimToken        uniqueidentifier NULL,      -- of the claim that reported the end; NULL when recovery or a cancellation ended it
    FetchedAt         datetime2(3)     NULL,
    StartedAt         datetime2(3)     NULL,
    HeartbeatAt       datetime2(3)     NULL,
    CancelRequestedAt datetime2(3)     NULL,
    EnqueuedAt        datetime2(3)     NOT NULL,
    EnqueuedBy        nvarchar(128)    NOT NULL,
    IdempotencyKey    nvarchar(200)    COLLATE Latin1_General_100_BIN2 NULL,
    EditedAt          datetime2(3)     NULL,
    EditedBy          nvarchar(128)    NULL,
    DiscardedAt       datetime2(3)     NULL,
    DiscardedBy       nvarchar(128)    NULL,
    DiscardNote       nvarchar(1000)   NULL,
    Headers           nvarchar(4000)   NULL,
    Payload           nvarchar(max)    NOT NULL,
    CONSTRAINT PK_JobsDLQ PRIMARY KEY CLUSTERED (JobId)
);
CREATE NONCLUSTERED INDEX IX_JobsDLQ_DeadAt ON chokaq.JobsDLQ (DeadAt, JobId);
/* What waits for review, by queue: counting it does not read payloads. */
CREATE NONCLUSTERED INDEX IX_JobsDLQ_Review ON chokaq.JobsDLQ (Queue, Reason, JobId) INCLUDE (JobType, DeadAt, DiscardedAt)
    WHERE DiscardedAt IS NULL;

/* Switches of a queue that somebody has set. A queue with no row here has none set. */
CREATE TABLE chokaq.Queues
(
    Queue                          nvarchar(64)  COLLATE Latin1_General_100_BIN2 NOT NULL,
    IsPaused                       bit           NOT NULL CONSTRAINT DF_Queues_IsPaused DEFAULT (0),
    ConcurrencyLimit               int           NULL,  -- rows Fetched or Processing over all workers; NULL: no limit
    FetchedJobTimeoutSeconds       int           NULL,  -- NULL: the setting Recovery.FetchedJobTimeout
    ProcessingZombieTimeoutSeconds int           NULL,  -- NULL: the setting Recovery.ProcessingZombieTimeout
    UpdatedAt                      datetime2(3)  NOT NULL,
    UpdatedBy                      nvarchar(128) NOT NULL,
    CONSTRAINT PK_Queues PRIMARY KEY CLUSTERED (Queue),
    CONSTRAINT CK_Queues_ConcurrencyLimit CHECK (ConcurrencyLimit >= 0),
    CONSTRAINT CK_Queues_FetchedJobTimeoutSeconds CHECK (FetchedJobTimeoutSeconds BETWEEN 1 AND 2592000),
    CONSTRAINT CK_Queues_ProcessingZombieTimeoutSeconds CHECK (ProcessingZombieTimeoutSeconds BETWEEN 1 AND 2592000)
);

CREATE TABLE chokaq.Workers
(
    WorkerId    uniqueidentifier NOT NULL,
    HostName    nvarchar(128)    NOT NULL,
    ProcessId   int              NOT NULL,
    Version     nvarchar(64)     NOT NULL,
    Queues      nvarchar(4000)   NOT NULL,  -- JSON array of queue names, in the order in which they are served
    Handlers    int              NOT NULL,  -- handler slots
    Prefetch    int              NOT NULL,  -- room of the prefetch channel
    State       varchar(10)      COLLATE Latin1_General_100_BIN2 NOT NULL,  -- running, draining, stopped
    LoginName   nvarchar(128)    NOT NULL,
    StartedAt   datetime2(3)     NOT NULL,
    HeartbeatAt datetime2(3)     NOT NULL,
    StateAt     datetime2(3)     NOT NULL,
    CONSTRAINT PK_Workers PRIMARY KEY CLUSTERED (WorkerId),
    CONSTRAINT CK_Workers_State CHECK (State IN ('running', 'draining', 'stopped'))
);

CREATE TABLE chokaq.Settings
(
    Name         nvarchar(64)  COLLATE Latin1_General_100_BIN2 NOT NULL,
    Value        int           NOT NULL,
    Unit         varchar(10)   NOT NULL,
    MinValue     int           NOT NULL,
    MaxValue     int           NOT NULL,
    DefaultValue int           NOT NULL,
    Description  nvarchar(400) NOT NULL,
    UpdatedAt    datetime2(3)  NOT NULL,
    UpdatedBy    nvarchar(128) NOT NULL,
    CONSTRAINT PK_Settings PRIMARY KEY CLUSTERED (Name),
    CONSTRAINT CK_Settings_Value CHECK (Value BETWEEN MinValue AND MaxValue)
);

INSERT INTO chokaq.Settings (Name, Value, Unit, MinValue, MaxValue, DefaultValue, Description, UpdatedAt, UpdatedBy)
SELECT s.Name, s.DefaultValue, s.Unit, s.MinValue, s.MaxValue, s.DefaultValue, s.Description, SYSUTCDATETIME(), ORIGINAL_LOGIN()
FROM (VALUES
    (N'Recovery.FetchedJobTimeout',       'seconds', 1, 2592000, 600,  N'A Fetched job without a heartbeat for this long goes back to Pending (ResetFetchedJobs). No user code has run for it.'),
    (N'Recovery.ProcessingZombieTimeout', 'seconds', 1, 2592000, 600,  N'A Processing job without a heartbeat for this long goes to the dead-letter queue as Zombie (RescueZombieJobs), for an operator to review.'),
    (N'Recovery.BatchSize',               'rows',    1, 2000,    500,  N'Rows that recovery and purging move in one transaction. Small transactions keep claims from waiting.'),
    (N'Retention.Archive',                'hours',   0, 876000,  168,  N'How long succeeded jobs are kept in JobsArchive. 0 keeps them for ever.'),
    (N'Retention.DeadJobs',               'hours',   0, 876000,  2160, N'How long dead jobs are kept in JobsDLQ, counted from their death. 0 keeps them for ever.'),
    (N'Retention.RecoveryRuns',           'hours',   0, 876000,  168,  N'How long the log of recovery runs is kept. 0 keeps it for ever.'),
    (N'Retention.Workers',                'hours',   0, 876000,  168,  N'How long rows of workers that no longer send heartbeats are kept. 0 keeps them for ever.'),
    (N'Retention.OperatorActions',        'hours',   0, 876000,  8760, N'How long the log of operator actions is kept. 0 keeps it for ever.')
) AS s (Name, Unit, MinValue, MaxValue, DefaultValue, Description);

CREATE TABLE chokaq.RecoveryRuns
(
    RunId         bigint        IDENTITY (1, 1) NOT NULL,
    ProcedureName varchar(40)   COLLATE Latin1_General_100_BIN2 NOT NULL,
    StartedAt     datetime2(3)  NOT NULL,
    FinishedAt    datetime2(3)  NOT NULL,
    RowsMoved     int           NOT NULL,
    LoginName     nvarchar(128) NOT NULL,
    ProgramName   nvarchar(128) NULL,  -- of the session: SQLAgent - TSQL JobStep ..., chokaq-worker, SSMS
    CONSTRAINT PK_RecoveryRuns PRIMARY KEY CLUSTERED (RunId)
);
CREATE NONCLUSTERED INDEX IX_RecoveryRuns_ProcedureName ON chokaq.RecoveryRuns (ProcedureName, StartedAt) INCLUDE (FinishedAt, RowsMoved);

CREATE TABLE chokaq.OperatorActions
(
    ActionId    bigint         IDENTITY (1, 1) NOT NULL,
    ActionName  varchar(30)    COLLATE Latin1_General_100_BIN2 NOT NULL,  -- the procedure
    JobId       bigint         NULL,
    Queue       nvarchar(64)   COLLATE Latin1_General_100_BIN2 NULL,
    Setting     nvarchar(64)   COLLATE Latin1_General_100_BIN2 NULL,
    OldValue    nvarchar(max)  NULL,
    NewValue    nvarchar(max)  NULL,
    Note        nvarchar(1000) NULL,
    LoginName   nvarchar(128)  NOT NULL,
    HostName    nvarchar(128)  NULL,
    ProgramName nvarchar(128)  NULL,
    ActedAt     datetime2(3)   NOT NULL,
    CONSTRAINT PK_OperatorActions PRIMARY KEY CLUSTERED (ActionId)
);
CREATE NONCLUSTERED INDEX IX_OperatorActions_JobId ON chokaq.OperatorActions (JobId, ActionId) WHERE JobId IS NOT NULL;

/* The text that each repeatable object (procedure, function, view, grants) was last applied from. */
CREATE TABLE chokaq.SchemaObjects
(
    ObjectName nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
    Checksum   char(64)      COLLATE Latin1_General_100_BIN2 NOT NULL,  -- SHA-256 of the file, hexadecimal
    AppliedAt  datetime2(3)  NOT NULL,
    AppliedBy  nvarchar(128) NOT NULL,
    CONSTRAINT PK_SchemaObjects PRIMARY KEY CLUSTERED (ObjectName)
);

/* Committed with everything above: tells, after a crash, whether this migration has happened. */
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy)
VALUES (N'migrations/000001_init.up.sql', '', SYSUTCDATETIME(), ORIGINAL_LOGIN());

/* Least privilege: members of these roles execute procedures and read views; they have no right on a
   table. A role that is there already (from a script that ran before) is kept. */
IF DATABASE_PRINCIPAL_ID(N'chokaq_producer') IS NULL CREATE ROLE chokaq_producer;
IF DATABASE_PRINCIPAL_ID(N'chokaq_worker') IS NULL CREATE ROLE chokaq_worker;
IF DATABASE_PRINCIPAL_ID(N'chokaq_operator') IS NULL CREATE ROLE chokaq_operator;
IF DATABASE_PRINCIPAL_ID(N'chokaq_monitor') IS NULL CREATE ROLE chokaq_monitor;

COMMIT TRANSACTION;
GO
IF @@ERROR <> 0 EXEC sys.sp_set_session_context N'chokaq.Run', -1;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
SET NOEXEC OFF;
GO
IF CONVERT(int, SESSION_CONTEXT(N'chokaq.Run')) = 1 AND EXISTS (SELECT 1 FROM chokaq.SchemaObjects AS o WHERE o.ObjectName = N'migrations/000001_init.up.sql')
BEGIN
    DELETE FROM chokaq.SchemaVersion;
    INSERT INTO chokaq.SchemaVersion (version, dirty) VALUES (1, 0);
END;
IF NOT EXISTS (SELECT 1 FROM chokaq.SchemaVersion AS v WHERE v.version >= 1)
BEGIN
    RAISERROR (N'Migration 000001_init.up.sql did not run: see the error above. The rest of this script is skipped.', 16, 1);
    SET NOEXEC ON;
END;
GO

PRINT N'functions/FindJob.sql';
GO
/*
chokaq.FindJob: where one job is now, and the tokens that it carries there.

Purpose:    tells a caller whose token no longer fits what has become of the job.
Parameters: @JobId: the job; NULL finds nothing and reads nothing.
Result set: at most one row: JobState (Pending, Fetched, Processing, Archived, Dead),
            ClaimToken (of the claim that holds it, or that reported its end),
            LastClaimToken (of the claim that was last released or failed; Jobs only).
Tables:     Jobs, JobsArchive, JobsDLQ, in that order; one seek on each clustered key.
Callers:    ChokaQ's own procedures.
*/
CREATE OR ALTER FUNCTION chokaq.FindJob (@JobId bigint)
RETURNS TABLE
AS
RETURN
(
    SELECT CASE j.State WHEN 0 THEN 'Pending' WHEN 1 THEN 'Fetched' ELSE 'Processing' END AS JobState,
           j.ClaimToken,
           j.LastClaimToken
    FROM chokaq.Jobs AS j WITH (INDEX (PK_Jobs), ROWLOCK, READCOMMITTEDLOCK)
    WHERE j.JobId = @JobId
    UNION ALL
    SELECT 'Archived', a.ClaimToken, CONVERT(uniqueidentifier, NULL)
    FROM chokaq.JobsArchive AS a WITH (INDEX (PK_JobsArchive), ROWLOCK, READCOMMITTEDLOCK)
    WHERE a.JobId = @JobId
    UNION ALL
    SELECT 'Dead', d.ClaimToken, CONVERT(uniqueidentifier, NULL)
    FROM chokaq.JobsDLQ AS d WITH (INDEX (PK_JobsDLQ), ROWLOCK, READCOMMITTEDLOCK)
    WHERE d.JobId = @JobId
);
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'functions/FindJob.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'functions/FindJob.sql', 'a0ae388634458f35707115a25adc56c0a88e2ac181f543b28aafbdd3bcbd0ff7', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'functions/ParseClaims.sql';
GO
/*
chokaq.ParseClaims: the JSON array of claims that worker procedures take, as rows.

Purpose:    [{"id": 17, "token": "6F96..."}, ...], with the further fields of FailJobs. A field that is
            missing is NULL; an unknown one is ignored, so that older and newer workers can call.
            chokaq.CheckClaims has refused everything else before this is read.
Parameters: @Jobs: JSON array.
Result set: Ordinal (position in the array, from 0), JobId, ClaimToken (NULL where the field is not one),
            IsFinal, Reason, Error, RetryAfterMs (FailJobs only).
Tables:     none.
Callers:    ChokaQ's own procedures.
*/
CREATE OR ALTER FUNCTION chokaq.ParseClaims (@Jobs nvarchar(max))
RETURNS TABLE
AS
RETURN
(
    SELECT CONVERT(int, e.[key]) AS Ordinal,
           CASE WHEN f.JobId <> N'' THEN TRY_CONVERT(bigint, f.JobId) END AS JobId,
           /* A conversion to uniqueidentifier ignores what follows 36 characters: look at the length first. */
           CASE WHEN LEN(f.ClaimToken) = 36 THEN TRY_CONVERT(uniqueidentifier, f.ClaimToken) END AS ClaimToken,
           CASE f.IsFinal WHEN N'true' THEN CONVERT(bit, 1) WHEN N'false' THEN CONVERT(bit, 0) END AS IsFinal,
           f.Reason,
           f.Error,
           TRY_CONVERT(bigint, f.RetryAfterMs) AS RetryAfterMs
    FROM OPENJSON(@Jobs) AS e
    CROSS APPLY OPENJSON(CASE WHEN e.[type] = 5 THEN e.[value] ELSE N'{}' END)
    WITH
    (
        JobId        nvarchar(40)  '$.id',
        ClaimToken   nvarchar(40)  '$.token',
        IsFinal      nvarchar(10)  '$.final',
        Reason       nvarchar(40)  '$.reason',
        Error        nvarchar(max) '$.error',
        RetryAfterMs nvarchar(40)  '$.retryAfterMs'
    ) AS f
);
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'functions/ParseClaims.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'functions/ParseClaims.sql', 'e2f3ecef441e56edba0bc18ffa9346bd0ad3e025666e40fa0714f3ad2f9c28e2', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/CancelJob.sql';
GO
/*
chokaq.CancelJob: ends a job that has not finished.

Purpose:    a Pending or Fetched job has run no user code: it goes to the dead-letter queue as Cancelled. For a Processing job the
            cancellation is asked for: its worker learns of it with the next heartbeat and cancels the handler's context.
Parameters: @JobId  the job.
            @Note   why; at most 1000 characters; kept in OperatorActions. Default NULL.
Result set: one row: JobId bigint, Result varchar, JobState varchar:
              Cancelled         it is in the DLQ
              CancelRequested   it is Processing; its worker will be told
              AlreadyCancelled  it was in the DLQ as Cancelled, or its cancellation had been asked for
              Finished          it is in the archive, or in the DLQ for another reason
Errors:     51008 no such job; 51001 @Note is too long.
Tables, in order: Jobs, JobsDLQ, OperatorActions.
Locks:      one transaction. U and X on the job's key of PK_Jobs, then its index entries. A claim that has the job's entry of IX_Jobs_Pending
            is waited for; it never waits for this (see ClaimJobs).
Reads:      a few seeks.
Callers:    chokaq_producer, chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.CancelJob
    @JobId bigint,
    @Note  nvarchar(max) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF DATALENGTH(@Note) > 2000
        THROW 51001, N'chokaq.CancelJob: @Note must be at most 1000 characters. Nothing was changed.', 1;

    DECLARE @Now datetime2(3) = SYSUTCDATETIME(), @State tinyint, @RequestedAt datetime2(3), @Queue nvarchar(64),
            @Result varchar(20), @JobState varchar(10), @Message nvarchar(2000);

    BEGIN TRANSACTION;

    SELECT @State = j.State, @RequestedAt = j.CancelRequestedAt, @Queue = j.Queue
    FROM chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK)
    WHERE j.JobId = @JobId;

    IF @State IN (0, 1)
    BEGIN
        DELETE j
        OUTPUT deleted.JobId, deleted.Queue, deleted.JobType, deleted.Priority, deleted.DueAt, deleted.Attempt, deleted.MaxAttempts,
               deleted.RequeueCount, 'Cancelled', deleted.LastError, @Now, COALESCE(deleted.WorkerId, deleted.LastWorkerId),
               CONVERT(uniqueidentifier, NULL), deleted.FetchedAt, deleted.StartedAt, deleted.HeartbeatAt, @Now, deleted.EnqueuedAt,
               deleted.EnqueuedBy, deleted.IdempotencyKey, deleted.Headers, deleted.Payload
        INTO chokaq.JobsDLQ
              (JobId, Queue, JobType, Priority, DueAt, Attempt, MaxAttempts,
               RequeueCount, Reason, Error, DeadAt, LastWorkerId,
               ClaimToken, FetchedAt, StartedAt, HeartbeatAt, CancelRequestedAt, EnqueuedAt,
               EnqueuedBy, IdempotencyKey, Headers, Payload)
        FROM chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK)
        WHERE j.JobId = @JobId;

        SELECT @Result = 'Cancelled', @JobState = 'Dead';
    END
    ELSE IF @State = 2 AND @RequestedAt IS NULL
    BEGIN
        UPDATE j
        SET CancelRequestedAt = @Now
        FROM chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK)
        WHERE j.JobId = @JobId;

        SELECT @Result = 'CancelRequested', @JobState = 'Processing';
    END
    ELSE IF @State = 2
        SELECT @Result = 'AlreadyCancelled', @JobState = 'Processing';
    ELSE
        SELECT @Result = CASE WHEN f.JobState = 'Dead' AND d.Reason = 'Cancelled' THEN 'AlreadyCancelled' ELSE 'Finished' END,
               @JobState = f.JobState
        FROM chokaq.FindJob(@JobId) AS f
        LEFT JOIN chokaq.JobsDLQ AS d ON d.JobId = @JobId;

    IF @Result IN ('Cancelled', 'CancelRequested')
        INSERT INTO chokaq.OperatorActions (ActionName, JobId, Queue, NewValue, Note, LoginName, HostName, ProgramName, ActedAt)
        VALUES ('CancelJob', @JobId, @Queue, @Result, @Note, ORIGINAL_LOGIN(), HOST_NAME(), APP_NAME(), @Now);

    COMMIT TRANSACTION;

    IF @Result IS NULL
    BEGIN
        SET @Message = CONCAT(N'chokaq.CancelJob: there is no job ', COALESCE(CONVERT(nvarchar(20), @JobId), N'NULL'),
            N'. It never existed, or retention has removed it. Nothing was changed.');
        THROW 51008, @Message, 1;
    END;

    SELECT @JobId AS JobId, @Result AS Result, @JobState AS JobState;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/CancelJob.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/CancelJob.sql', 'a0f75ebbf27d06fd820e3d83bdc195f8ee0f0d554aad4d5c815d07057758f96c', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/CheckClaims.sql';
GO
/*
chokaq.CheckClaims: refuses a JSON array of claims that is not one.

Purpose:    one place for the checks that StartJobs, HeartbeatJobs, ReleaseJobs, CompleteJobs and FailJobs share.
Parameters: @ProcedureName: the caller, for the message.
            @Jobs: JSON array of objects with id (a positive whole number) and token (a UUID); at most 1000.
Result set: none.
Errors:     51004 not a JSON array; 51005 an element that is not a claim, by its position;
            51006 more than 1000 elements; 51007 a job named twice.
Tables:     none.
Callers:    ChokaQ's own procedures.
*/
CREATE OR ALTER PROCEDURE chokaq.CheckClaims
    @ProcedureName sysname,
    @Jobs          nvarchar(max)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;

    DECLARE @Message nvarchar(2000);

    /* ISJSON also accepts an object, and OPENJSON would then list its members: look at the first character that is not white space. */
    IF @Jobs IS NULL OR ISJSON(@Jobs) <> 1
       OR SUBSTRING(@Jobs, PATINDEX(N'%[^ ' + NCHAR(9) + NCHAR(10) + NCHAR(13) + N']%', @Jobs COLLATE Latin1_General_100_BIN2), 1) <> N'['
    BEGIN
        SET @Message = CONCAT(N'chokaq.', @ProcedureName, N': @Jobs is not a JSON array. Accepted: [{"id": 17, "token": "6F9619FF-8B86-D011-B42D-00C04FC964FF"}, ...]. Nothing was changed.');
        THROW 51004, @Message, 1;
    END;

    DECLARE @Count int, @BadOrdinal int, @Twice bigint;
    DECLARE @Claims TABLE (Ordinal int NOT NULL, JobId bigint NULL, ClaimToken uniqueidentifier NULL);

    INSERT INTO @Claims (Ordinal, JobId, ClaimToken)
    SELECT c.Ordinal, c.JobId, c.ClaimToken
    FROM chokaq.ParseClaims(@Jobs) AS c;

    SET @Count = @@ROWCOUNT;

    IF @Count > 1000
    BEGIN
        SET @Message = CONCAT(N'chokaq.', @ProcedureName, N': @Jobs has ', @Count, N' elements; at most 1000 are accepted in one call. Nothing was changed.');
        THROW 51006, @Message, 1;
    END;

    SELECT @BadOrdinal = MIN(c.Ordinal)
    FROM @Claims AS c
    WHERE c.JobId IS NULL OR c.JobId < 1 OR c.ClaimToken IS NULL;

    IF @BadOrdinal IS NOT NULL
    BEGIN
        SET @Message = CONCAT(N'chokaq.', @ProcedureName, N': @Jobs[', @BadOrdinal, N'] is not a claim. Accepted: an object with "id", a positive whole number, and "token", a UUID of 36 characters. Nothing was changed.');
        THROW 51005, @Message, 1;
    END;

    SELECT @Twice = MIN(d.JobId)
    FROM (SELECT c.JobId FROM @Claims AS c GROUP BY c.JobId HAVING COUNT(*) > 1) AS d;

    IF @Twice IS NOT NULL
    BEGIN
        SET @Message = CONCAT(N'chokaq.', @ProcedureName, N': @Jobs names job ', @Twice, N' more than once. Nothing was changed.');
        THROW 51007, @Message, 1;
    END;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/CheckClaims.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/CheckClaims.sql', 'ced3792a2ef3d07f364f2cd9a0da941cd08a5b8fe28341c095ead2485b57099f', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/CheckJobIds.sql';
GO
/*
chokaq.CheckJobIds: refuses a JSON array of job ids that is not one.

Purpose:    one place for the checks that RequeueDeadJobs and DiscardDeadJobs share.
Parameters: @ProcedureName: the caller, for the message.
            @JobIds: JSON array of positive whole numbers, at most 1000, none twice: [17, 18].
Result set: none.
Errors:     51004 not a JSON array; 51005 an element that is not a job id, by its position;
            51006 more than 1000 elements; 51007 a job named twice.
Tables:     none.
Callers:    ChokaQ's own procedures.
*/
CREATE OR ALTER PROCEDURE chokaq.CheckJobIds
    @ProcedureName sysname,
    @JobIds        nvarchar(max)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;

    DECLARE @Message nvarchar(2000), @Count int, @BadOrdinal int, @Twice bigint;

    IF @JobIds IS NULL OR ISJSON(@JobIds) <> 1
       OR SUBSTRING(@JobIds, PATINDEX(N'%[^ ' + NCHAR(9) + NCHAR(10) + NCHAR(13) + N']%', @JobIds COLLATE Latin1_General_100_BIN2), 1) <> N'['
    BEGIN
        SET @Message = CONCAT(N'chokaq.', @ProcedureName, N': @JobIds is not a JSON array of job ids, such as [17, 18]. Nothing was changed.');
        THROW 51004, @Message, 1;
    END;

    SELECT @Count = COUNT(*) FROM OPENJSON(@JobIds) AS e;

    IF @Count > 1000
    BEGIN
        SET @Message = CONCAT(N'chokaq.', @ProcedureName, N': @JobIds has ', @Count, N' elements; at most 1000 are accepted in one call. Nothing was changed.');
        THROW 51006, @Message, 1;
    END;

    SELECT @BadOrdinal = MIN(CONVERT(int, e.[key]))
    FROM OPENJSON(@JobIds) AS e
    WHERE e.[type] <> 2 OR TRY_CONVERT(bigint, e.[value]) IS NULL OR TRY_CONVERT(bigint, e.[value]) < 1;

    IF @BadOrdinal IS NOT NULL
    BEGIN
        SET @Message = CONCAT(N'chokaq.', @ProcedureName, N': @JobIds[', @BadOrdinal, N'] is not a job id. Accepted: a positive whole number. Nothing was changed.');
        THROW 51005, @Message, 1;
    END;

    SELECT @Twice = MIN(d.JobId)
    FROM (SELECT CONVERT(bigint, e.[value]) AS JobId FROM OPENJSON(@JobIds) AS e GROUP BY CONVERT(bigint, e.[value]) HAVING COUNT(*) > 1) AS d;

    IF @Twice IS NOT NULL
    BEGIN
        SET @Message = CONCAT(N'chokaq.', @ProcedureName, N': @JobIds names job ', @Twice, N' more than once. Nothing was changed.');
        THROW 51007, @Message, 1;
    END;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/CheckJobIds.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/CheckJobIds.sql', '5c95d9d2418c5fdf0735b55f96d8a391cbd3ecd8fd1d6903404473d00220b6a3', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/CheckName.sql';
GO
/*
chokaq.CheckName: refuses a name (of a queue, job type, idempotency key, ...) that is not exact.

Purpose:    one rule for every name. SQL Server ignores trailing spaces in comparisons, even under a
            binary collation, so 'mail' and 'mail ' would be one queue: such names are refused.
Parameters: @ProcedureName, @ParameterName: who asks about what, for the message.
            @Value: the name. Pass it in a parameter wider than @MaxLength, or SQL Server cuts it before anybody looks.
            @MaxLength: in UTF-16 code units.
Result set: none.
Errors:     51001 NULL, empty, too long, with a leading or trailing space, or with a control character.
Tables:     none.
Callers:    ChokaQ's own procedures.
*/
CREATE OR ALTER PROCEDURE chokaq.CheckName
    @ProcedureName sysname,
    @ParameterName sysname,
    @Value         nvarchar(400),
    @MaxLength     int
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    DECLARE @Fault nvarchar(100) =
        CASE WHEN @Value IS NULL THEN N'is NULL'
             WHEN DATALENGTH(@Value) = 0 THEN N'is empty'
             WHEN DATALENGTH(@Value) / 2 > @MaxLength THEN N'is longer than that'
             WHEN LEFT(@Value, 1) = N' ' OR RIGHT(@Value, 1) = N' ' THEN N'begins or ends with a space'
             WHEN PATINDEX(N'%[' + NCHAR(0) + N'-' + NCHAR(31) + NCHAR(127) + N']%', @Value COLLATE Latin1_General_100_BIN2) > 0
                 THEN N'contains a control character'
        END;

    IF @Fault IS NOT NULL
    BEGIN
        DECLARE @Message nvarchar(2000) = CONCAT(N'chokaq.', @ProcedureName, N': ', @ParameterName, N' must be 1 to ', @MaxLength,
            N' characters, with no leading or trailing space and no control character; the given one ', @Fault, N'. Nothing was changed.');
        THROW 51001, @Message, 1;
    END;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/CheckName.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/CheckName.sql', '65156145c92ad218ebdec706a298db9c631b466de666890a78b53748d3aa6465', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/ClaimJobs.sql';
GO
/*
chokaq.ClaimJobs: Pending -> Fetched for up to @MaxJobs due jobs.

Purpose:    reserves jobs for a worker. No user code has run for a Fetched job: whatever happens to the worker, it goes
            back to Pending (ReleaseJobs by the worker, ResetFetchedJobs by recovery).
Parameters: @WorkerId    the worker process.
            @ClaimToken  a new UUID for each claim. Calling again with the same token, after a lost answer, returns the rows
                         that the token already holds and claims no more.
            @Queues      JSON array of 1 to 100 queue names, in the order in which they are served: ["critical", "default"].
            @MaxJobs     1 to 1000.
Result set: JobId bigint, Queue, JobType nvarchar, Priority tinyint, Attempt int (attempts started so far), MaxAttempts int,
            RequeueCount int, EnqueuedAt, DueAt, FetchedAt datetime2(3) UTC, IdempotencyKey, Headers, Payload nvarchar.
            In claim order: by queue as listed, then priority (10 first), then due time, then JobId.
            Empty when the worker is draining or stopped.
Errors:     51003 @MaxJobs; 51004 @Queues is not an array of names; 51013 no @WorkerId or @ClaimToken.
Tables, in order: Queues (read), Workers, Queues, Jobs.
Locks:      One statement claims from one queue and priority. It takes U, then X, on IX_Jobs_Pending and then on PK_Jobs, and skips what
            others have locked in either (READPAST), so that claimers never wait for each other, nor for a cancellation. The
            predicate on ClaimToken is always true for a pending row. It is there because no column of IX_Jobs_Pending answers it: the
            clustered key is looked up, and skipped if locked, while the row is being found; in the update itself READPAST no longer
            counts, and a session that came by the clustered key (CancelJob) could deadlock with the claim.
            Each queue is one transaction. It holds S on the worker's own row in Workers, and a worker that is draining or stopped gets nothing:
            SetWorkerState waits for the claims that are under way, and once it has said draining no claim of that worker can be committed any more, however
            late its request arrives. So the ReleaseJobs that follows finds everything.
            A paused queue is skipped, and so is one whose row in Queues is locked: somebody is changing it.
            Claims of a queue that has a concurrency limit take turns by a U lock on its row in Queues; others do not meet there.
Reads:      in the order of the rows returned, whatever is pending, scheduled, archived or dead: for each queue and priority
            that has pending rows, one seek to find it and one to claim; one seek in Workers a queue.
Callers:    chokaq_worker.
*/
CREATE OR ALTER PROCEDURE chokaq.ClaimJobs
    @WorkerId   uniqueidentifier,
    @ClaimToken uniqueidentifier,
    @Queues     nvarchar(max),
    @MaxJobs    int
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @WorkerId IS NULL OR @ClaimToken IS NULL
        THROW 51013, N'chokaq.ClaimJobs: @WorkerId and @ClaimToken must be UUIDs. Nothing was changed.', 1;
    IF @MaxJobs IS NULL OR @MaxJobs NOT BETWEEN 1 AND 1000
        THROW 51003, N'chokaq.ClaimJobs: @MaxJobs must be 1 to 1000. Nothing was changed.', 1;
    IF @Queues IS NULL OR ISJSON(@Queues) <> 1
       OR SUBSTRING(@Queues, PATINDEX(N'%[^ ' + NCHAR(9) + NCHAR(10) + NCHAR(13) + N']%', @Queues COLLATE Latin1_General_100_BIN2), 1) <> N'['
        THROW 51004, N'chokaq.ClaimJobs: @Queues is not a JSON array of queue names, such as ["critical", "default"]. Nothing was changed.', 1;

    DECLARE @Serve TABLE
    (
        Ordinal int NOT NULL PRIMARY KEY,
        Queue   nvarchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL
    );

    IF EXISTS (SELECT 1 FROM OPENJSON(@Queues) AS q WHERE q.[type] <> 1 OR DATALENGTH(q.[value]) NOT BETWEEN 2 AND 128)
       OR (SELECT COUNT(*) FROM OPENJSON(@Queues) AS q) NOT BETWEEN 1 AND 100
        THROW 51004, N'chokaq.ClaimJobs: @Queues must name 1 to 100 queues, each a string of 1 to 64 characters. Nothing was changed.', 1;

    INSERT INTO @Serve (Ordinal, Queue)
    SELECT CONVERT(int, q.[key]), CONVERT(nvarchar(64), q.[value])
    FROM OPENJSON(@Queues) AS q;

    DECLARE @Claimed TABLE (JobId bigint NOT NULL PRIMARY KEY);
    DECLARE @Now datetime2(3) = SYSUTCDATETIME();

    IF NOT EXISTS (SELECT 1
                   FROM chokaq.Jobs AS j WITH (INDEX (IX_Jobs_Owner), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
                   WHERE j.WorkerId = @WorkerId AND j.ClaimToken = @ClaimToken AND j.WorkerId IS NOT NULL)
    BEGIN
        DECLARE @Room int = @MaxJobs, @Ordinal int = -1, @Queue nvarchar(64), @Take int, @Got int,
                @Found int, @IsPaused bit, @ConcurrencyLimit int, @Active int, @Above int, @Priority int, @WorkerState varchar(10);

        WHILE @Room > 0
        BEGIN
            SELECT TOP (1) @Ordinal = s.Ordinal, @Queue = s.Queue
            FROM @Serve AS s
            WHERE s.Ordinal > @Ordinal
            ORDER BY s.Ordinal;
            IF @@ROWCOUNT = 0 BREAK;

            SELECT @IsPaused = 0, @ConcurrencyLimit = NULL;
            SELECT @IsPaused = q.IsPaused, @ConcurrencyLimit = q.ConcurrencyLimit
            FROM chokaq.Queues AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
            WHERE q.Queue = @Queue;
            SET @Found = @@ROWCOUNT;

            /* No row that could be read: either the queue has no switches, or somebody is setting one just now. */
            IF @Found = 0 AND EXISTS (SELECT 1 FROM chokaq.Queues AS q WITH (NOLOCK) WHERE q.Queue = @Queue) CONTINUE;
            IF @IsPaused = 1 CONTINUE;

            SET @Take = @Room;

            BEGIN TRANSACTION;

            SET @WorkerState = NULL;
            SELECT @WorkerState = w.State
            FROM chokaq.Workers AS w WITH (ROWLOCK, REPEATABLEREAD)
            WHERE w.WorkerId = @WorkerId;

            IF @WorkerState IN ('draining', 'stopped')
            BEGIN
                COMMIT TRANSACTION;
                BREAK;
            END;

            IF @ConcurrencyLimit IS NOT NULL
            BEGIN
                SELECT @IsPaused = q.IsPaused, @ConcurrencyLimit = q.ConcurrencyLimit
                FROM chokaq.Queues AS q WITH (ROWLOCK, UPDLOCK, READCOMMITTEDLOCK)
                WHERE q.Queue = @Queue;

                IF @IsPaused = 1
                    SET @Take = 0;
                ELSE IF @ConcurrencyLimit IS NOT NULL  /* it may have been lifted meanwhile */
                BEGIN
                    /* Fetched before Processing: a row that moves on in between is counted twice, never missed. */
                    SELECT @Active = COUNT(*)
                    FROM (SELECT TOP (@ConcurrencyLimit) f.JobId
                          FROM chokaq.Jobs AS f WITH (INDEX (IX_Jobs_Fetched), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
                          WHERE f.State = 1 AND f.Queue = @Queue) AS c;
                    SELECT @Active = @Active + COUNT(*)
                    FROM (SELECT TOP (@ConcurrencyLimit) p.JobId
                          FROM chokaq.Jobs AS p WITH (INDEX (IX_Jobs_Processing), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
                          WHERE p.State = 2 AND p.Queue = @Queue) AS c;

                    IF @ConcurrencyLimit - @Active < @Take
                        SET @Take = @ConcurrencyLimit - @Active;
                END;
            END;

            SET @Above = 11;
            WHILE @Take > 0
            BEGIN
                /* A hint where to look, so it takes no locks: an S lock here would make the claimer that has the row wait. */
                SET @Priority = NULL;
                SELECT TOP (1) @Priority = j.Priority
                FROM chokaq.Jobs AS j WITH (INDEX (IX_Jobs_Pending), FORCESEEK, NOLOCK)
                WHERE j.State = 0 AND j.Queue = @Queue AND j.Priority < @Above
                ORDER BY j.Priority DESC;
                IF @Priority IS NULL BREAK;

                WITH NextJobs AS
                (
                    SELECT TOP (@Take) j.JobId, j.State, j.WorkerId, j.ClaimToken, j.FetchedAt, j.HeartbeatAt
                    FROM chokaq.Jobs AS j WITH (INDEX (IX_Jobs_Pending), FORCESEEK, ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK)
                    WHERE j.State = 0 AND j.Queue = @Queue AND j.Priority = @Priority AND j.DueAt <= @Now
                      AND j.ClaimToken IS NULL
                    ORDER BY j.DueAt, j.JobId
                )
                UPDATE NextJobs
                SET State = 1, WorkerId = @WorkerId, ClaimToken = @ClaimToken, FetchedAt = @Now, HeartbeatAt = @Now
                OUTPUT inserted.JobId INTO @Claimed (JobId);

                SET @Got = @@ROWCOUNT;
                SET @Take = @Take - @Got;
                SET @Room = @Room - @Got;
                SET @Above = @Priority;
            END;

            COMMIT TRANSACTION;
        END;
    END
    ELSE
        INSERT INTO @Claimed (JobId)
        SELECT j.JobId
        FROM chokaq.Jobs AS j WITH (INDEX (IX_Jobs_Owner), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
        WHERE j.WorkerId = @WorkerId AND j.ClaimToken = @ClaimToken AND j.WorkerId IS NOT NULL AND j.State = 1;

    SELECT j.JobId, j.Queue, j.JobType, j.Priority, j.Attempt, j.MaxAttempts, j.RequeueCount, j.EnqueuedAt, j.DueAt, j.FetchedAt,
           j.IdempotencyKey, j.Headers, j.Payload
    FROM @Claimed AS c
    INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK) ON j.JobId = c.JobId
    CROSS APPLY (SELECT MIN(s.Ordinal) AS Ordinal FROM @Serve AS s WHERE s.Queue = j.Queue) AS s
    WHERE j.ClaimToken = @ClaimToken AND j.State = 1
    ORDER BY s.Ordinal, j.Priority DESC, j.DueAt, j.JobId
    OPTION (FORCE ORDER, LOOP JOIN);
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/ClaimJobs.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/ClaimJobs.sql', '9f3163cdc45382e5ad5f14de1675eadc6602820724fd999d1d88505a6dffb4b5', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/CompleteJobs.sql';
GO
/*
chokaq.CompleteJobs: Processing -> JobsArchive.

Purpose:    stores that handlers have succeeded.
Parameters: @Jobs  JSON array of claims, at most 1000.
Result set: JobId bigint, Result varchar, JobState varchar. One row a claim:
              Completed         it is in the archive
              AlreadyCompleted  completed by this claim before: an answer was lost
              Lost              not this claim's any more; JobState says where it is (NULL: nowhere). Nothing was changed for it.
Errors:     51004 to 51007, see CheckClaims.
Tables, in order: Jobs, JobsArchive (then, for lost rows only, JobsDLQ).
Locks:      one transaction. U on PK_Jobs in order of JobId for the claims that hold; then X on these, their index entries, and the new
            rows of JobsArchive.
Reads:      two seeks a row.
Callers:    chokaq_worker.
*/
CREATE OR ALTER PROCEDURE chokaq.CompleteJobs
    @Jobs nvarchar(max)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXEC chokaq.CheckClaims N'CompleteJobs', @Jobs;

    DECLARE @Claims TABLE (JobId bigint NOT NULL PRIMARY KEY, ClaimToken uniqueidentifier NOT NULL);
    DECLARE @Held TABLE (JobId bigint NOT NULL PRIMARY KEY);
    DECLARE @Now datetime2(3) = SYSUTCDATETIME();

    INSERT INTO @Claims (JobId, ClaimToken)
    SELECT c.JobId, c.ClaimToken
    FROM chokaq.ParseClaims(@Jobs) AS c;

    BEGIN TRANSACTION;

    INSERT INTO @Held (JobId)
    SELECT j.JobId
    FROM @Claims AS c
    INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON j.JobId = c.JobId
    WHERE j.ClaimToken = c.ClaimToken AND j.State = 2
    OPTION (FORCE ORDER, LOOP JOIN);

    DELETE j
    OUTPUT deleted.JobId, deleted.Queue, deleted.JobType, deleted.Priority, deleted.DueAt, deleted.Attempt, deleted.MaxAttempts,
           deleted.RequeueCount, deleted.WorkerId, deleted.ClaimToken, deleted.FetchedAt, deleted.StartedAt, @Now,
           deleted.CancelRequestedAt, deleted.EnqueuedAt, deleted.EnqueuedBy, deleted.IdempotencyKey, deleted.LastError,
           deleted.LastErrorAt, deleted.Headers, deleted.Payload
    INTO chokaq.JobsArchive
          (JobId, Queue, JobType, Priority, DueAt, Attempt, MaxAttempts,
           RequeueCount, WorkerId, ClaimToken, FetchedAt, StartedAt, FinishedAt,
           CancelRequestedAt, EnqueuedAt, EnqueuedBy, IdempotencyKey, LastError,
           LastErrorAt, Headers, Payload)
    FROM @Held AS h
    INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON j.JobId = h.JobId
    OPTION (FORCE ORDER, LOOP JOIN);

    COMMIT TRANSACTION;

    SELECT c.JobId,
           CASE WHEN h.JobId IS NOT NULL THEN 'Completed'
                WHEN f.JobState = 'Archived' AND f.ClaimToken = c.ClaimToken THEN 'AlreadyCompleted'
                ELSE 'Lost'
           END AS Result,
           CASE WHEN h.JobId IS NOT NULL THEN 'Archived' ELSE f.JobState END AS JobState
    FROM @Claims AS c
    LEFT JOIN @Held AS h ON h.JobId = c.JobId
    OUTER APPLY chokaq.FindJob(CASE WHEN h.JobId IS NULL THEN c.JobId END) AS f
    ORDER BY c.JobId;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/CompleteJobs.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/CompleteJobs.sql', 'cf9d9e3f229986c97fae3327c2d6f76724e15cde353208233f71eb7c08124da8', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/DiscardDeadJobs.sql';
GO
/*
chokaq.DiscardDeadJobs: an operator decides that dead jobs will not be run again.

Purpose:    marks them in JobsDLQ with who and why; they leave the view DeadJobs, and retention removes them in time. Nothing is deleted.
Parameters: @JobIds  JSON array of at most 1000 job ids: [17, 18].
            @Note    why; 1 to 1000 characters.
Result set: JobId bigint, Result varchar, JobState varchar. One row a job:
              Discarded         marked
              AlreadyDiscarded  somebody did before; the first note stays
              NotDead           it is not in the DLQ; JobState says where it is (NULL: nowhere)
Errors:     51004 to 51007, see CheckJobIds; 51001 @Note.
Tables, in order: JobsDLQ, OperatorActions (then, for jobs not dead only, Jobs and JobsArchive).
Locks:      one transaction. U and X on PK_JobsDLQ in order of JobId.
Reads:      one seek a row.
Callers:    chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.DiscardDeadJobs
    @JobIds nvarchar(max),
    @Note   nvarchar(max)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXEC chokaq.CheckJobIds N'DiscardDeadJobs', @JobIds;
    IF @Note IS NULL OR LEN(@Note) = 0 OR DATALENGTH(@Note) > 2000
        THROW 51001, N'chokaq.DiscardDeadJobs: @Note must say why, in 1 to 1000 characters. Nothing was changed.', 1;

    DECLARE @Now datetime2(3) = SYSUTCDATETIME();
    DECLARE @Asked TABLE (JobId bigint NOT NULL PRIMARY KEY);
    DECLARE @Discarded TABLE (JobId bigint NOT NULL PRIMARY KEY, Queue nvarchar(64) NOT NULL, Summary nvarchar(max) NULL);

    INSERT INTO @Asked (JobId)
    SELECT CONVERT(bigint, e.[value])
    FROM OPENJSON(@JobIds) AS e;

    BEGIN TRANSACTION;

    UPDATE d
    SET DiscardedAt = @Now, DiscardedBy = ORIGINAL_LOGIN(), DiscardNote = @Note
    OUTPUT inserted.JobId, inserted.Queue, CONCAT(inserted.Reason COLLATE DATABASE_DEFAULT, N': ', inserted.Error) INTO @Discarded (JobId, Queue, Summary)
    FROM @Asked AS a
    INNER JOIN chokaq.JobsDLQ AS d WITH (INDEX (PK_JobsDLQ), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON d.JobId = a.JobId
    WHERE d.DiscardedAt IS NULL
    OPTION (FORCE ORDER, LOOP JOIN);

    INSERT INTO chokaq.OperatorActions (ActionName, JobId, Queue, OldValue, Note, LoginName, HostName, ProgramName, ActedAt)
    SELECT 'DiscardDeadJobs', d.JobId, d.Queue, d.Summary, @Note, ORIGINAL_LOGIN(), HOST_NAME(), APP_NAME(), @Now
    FROM @Discarded AS d;

    COMMIT TRANSACTION;

    SELECT a.JobId,
           CASE WHEN d.JobId IS NOT NULL THEN 'Discarded' WHEN f.JobState = 'Dead' THEN 'AlreadyDiscarded' ELSE 'NotDead' END AS Result,
           CASE WHEN d.JobId IS NOT NULL THEN 'Dead' ELSE f.JobState END AS JobState
    FROM @Asked AS a
    LEFT JOIN @Discarded AS d ON d.JobId = a.JobId
    OUTER APPLY chokaq.FindJob(CASE WHEN d.JobId IS NULL THEN a.JobId END) AS f
    ORDER BY a.JobId;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/DiscardDeadJobs.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/DiscardDeadJobs.sql', 'a3147e0f15e7d1e8280cc32f40bbecf34f52e69253f8a52013d526d58e053cfc', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/EditDeadJob.sql';
GO
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
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @Payload IS NULL AND @Queue IS NULL AND @Priority IS NULL AND @MaxAttempts IS NULL
        THROW 51003, N'chokaq.EditDeadJob: give at least one of @Payload, @Queue, @Priority, @MaxAttempts. Nothing was changed.', 1;
    IF @Queue IS NOT NULL
        EXEC chokaq.CheckName N'EditDeadJob', N'@Queue', @Queue, 64;
    IF @Payload IS NOT NULL
    BEGIN
        IF DATALENGTH(@Payload) > 2000000 OR (ISJSON(@Payload) <> 1 AND ISJSON(N'[' + @Payload + N']') <> 1)
            THROW 51002, N'chokaq.EditDeadJob: @Payload must be JSON text of at most 1,000,000 characters. Nothing was changed.', 1;
        IF ISJSON(@Payload) <> 1
            IF (SELECT COUNT(*) FROM OPENJSON(N'[' + @Payload + N']')) <> 1
                THROW 51002, N'chokaq.EditDeadJob: @Payload must be one JSON value. Nothing was changed.', 1;
    END;
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
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/EditDeadJob.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/EditDeadJob.sql', '6f18a590883073125be73e09216a61cf17abec3628aa996e755fd415dfd64be6', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/EnqueueJob.sql';
GO
/*
chokaq.EnqueueJob: inserts one job.

Purpose:    for any application in any language. It runs inside the caller's transaction if there is one:
            rolled back with it, and visible to workers only once it has committed.
Parameters: @Queue           1 to 64 characters, exact (case counts).
            @JobType         1 to 128 characters, exact; names the handler.
            @Payload         JSON text (any JSON value), at most 1,000,000 characters. Default {}.
            @Priority        1 to 10; 10 runs first, as in Service Broker. Default 5.
            @DueAt           UTC; not run before. Default: now. A time in the past counts as now.
            @DelaySeconds    the same as a delay, by the database's clock; not together with @DueAt.
            @MaxAttempts     1 to 1000 attempts before the job is dead. Default 10.
            @IdempotencyKey  1 to 200 characters, exact. While a live job (pending, fetched, processing) of
                             the same type has the key, nothing is inserted and that job is answered.
            @Headers         JSON object, at most 4000 characters, handed to the handler as it is. Default NULL.
            @JobId           OUTPUT: the new job, or the live one that already has the key.
            @Created         OUTPUT: 1 when a job was inserted, 0 when the key had one.
            @ReturnRow       1 (default) returns the result set; 0 only sets the OUTPUT parameters.
Result set: JobId bigint, Created bit. One row.
Errors:     51001 a name; 51002 @Payload or @Headers; 51003 a number or time out of range; 51014 the lock on an
            idempotency key was not granted. XACT_ABORT is ON: an error ends the caller's transaction.
Tables, in order: Jobs.
Locks:      X on the new row's keys until the transaction ends. With @IdempotencyKey, first an exclusive application lock
            on exactly that key (and no other: a range lock would make neighbors wait) until the transaction ends.
Reads:      none without a key; one seek on UX_Jobs_IdempotencyKey with one.
Callers:    chokaq_producer, chokaq_worker (handlers enqueue too), chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.EnqueueJob
    @Queue          nvarchar(400),
    @JobType        nvarchar(400),
    @Payload        nvarchar(max)  = N'{}',
    @Priority       int            = 5,
    @DueAt          datetime2(3)   = NULL,
    @DelaySeconds   int            = NULL,
    @MaxAttempts    int            = 10,
    @IdempotencyKey nvarchar(400)  = NULL,
    @Headers        nvarchar(max)  = NULL,
    @JobId          bigint         = NULL OUTPUT,
    @Created        bit            = NULL OUTPUT,
    @ReturnRow      bit            = 1
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXEC chokaq.CheckName N'EnqueueJob', N'@Queue', @Queue, 64;
    EXEC chokaq.CheckName N'EnqueueJob', N'@JobType', @JobType, 128;
    IF @IdempotencyKey IS NOT NULL
        EXEC chokaq.CheckName N'EnqueueJob', N'@IdempotencyKey', @IdempotencyKey, 200;

    /* ISJSON accepts objects and arrays only; a lone value is one if it makes an array of exactly one element. */
    IF @Payload IS NULL OR DATALENGTH(@Payload) > 2000000
       OR (ISJSON(@Payload) <> 1 AND ISJSON(N'[' + @Payload + N']') <> 1)
        THROW 51002, N'chokaq.EnqueueJob: @Payload must be JSON text of at most 1,000,000 characters. Nothing was changed.', 1;
    IF ISJSON(@Payload) <> 1
        IF (SELECT COUNT(*) FROM OPENJSON(N'[' + @Payload + N']')) <> 1
            THROW 51002, N'chokaq.EnqueueJob: @Payload must be one JSON value. Nothing was changed.', 1;

    IF @Headers IS NOT NULL
       IF DATALENGTH(@Headers) > 8000 OR ISJSON(@Headers) <> 1
          OR SUBSTRING(@Headers, PATINDEX(N'%[^ ' + NCHAR(9) + NCHAR(10) + NCHAR(13) + N']%', @Headers COLLATE Latin1_General_100_BIN2), 1) <> N'{'
        THROW 51002, N'chokaq.EnqueueJob: @Headers must be a JSON object of at most 4000 characters, or NULL. Nothing was changed.', 1;

    IF @Priority IS NULL OR @Priority NOT BETWEEN 1 AND 10
        THROW 51003, N'chokaq.EnqueueJob: @Priority must be 1 to 10; 10 runs first. Nothing was changed.', 1;
    IF @MaxAttempts IS NULL OR @MaxAttempts NOT BETWEEN 1 AND 1000
        THROW 51003, N'chokaq.EnqueueJob: @MaxAttempts must be 1 to 1000. Nothing was changed.', 1;
    IF @DelaySeconds NOT BETWEEN 0 AND 315360000
        THROW 51003, N'chokaq.EnqueueJob: @DelaySeconds must be 0 to 315360000 (ten years). Nothing was changed.', 1;
    IF @DelaySeconds IS NOT NULL AND @DueAt IS NOT NULL
        THROW 51003, N'chokaq.EnqueueJob: @DueAt and @DelaySeconds exclude each other. Nothing was changed.', 1;

    DECLARE @Now datetime2(3) = SYSUTCDATETIME();

    IF @DelaySeconds IS NOT NULL
        SET @DueAt = DATEADD(SECOND, @DelaySeconds, @Now);
    IF @DueAt IS NULL OR @DueAt < @Now
        SET @DueAt = @Now;

    SET @JobId = NULL;
    SET @Created = 0;

    BEGIN TRANSACTION;

    IF @IdempotencyKey IS NOT NULL
    BEGIN
        EXEC chokaq.LockIdempotencyKey @JobType, @IdempotencyKey;

        SELECT @JobId = j.JobId
        FROM chokaq.Jobs AS j WITH (INDEX (UX_Jobs_IdempotencyKey), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
        WHERE j.JobType = @JobType AND j.IdempotencyKey = @IdempotencyKey AND j.IdempotencyKey IS NOT NULL;
    END;

    IF @JobId IS NULL
    BEGIN
        SET @JobId = NEXT VALUE FOR chokaq.JobIds;

        INSERT INTO chokaq.Jobs WITH (ROWLOCK)
            (JobId, Queue, JobType, Priority, State, DueAt, Attempt, MaxAttempts, RequeueCount,
             EnqueuedAt, EnqueuedBy, IdempotencyKey, Headers, Payload)
        VALUES
            (@JobId, @Queue, @JobType, @Priority, 0, @DueAt, 0, @MaxAttempts, 0,
             @Now, ORIGINAL_LOGIN(), @IdempotencyKey, @Headers, @Payload);

        SET @Created = 1;
    END;

    COMMIT TRANSACTION;

    IF @ReturnRow = 1
        SELECT @JobId AS JobId, @Created AS Created;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/EnqueueJob.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/EnqueueJob.sql', '5c837844c5a71cfcaa700917369896423fe79eaefb0ffa0debdf1e3eb92a37f7', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/EnqueueJobs.sql';
GO
/*
chokaq.EnqueueJobs: inserts many jobs, all or none.

Purpose:    one call for up to 1000 jobs, inside the caller's transaction if there is one.
Parameters: @Jobs  JSON array of objects:
              queue, type                  required, as in EnqueueJob
              payload                      a JSON object or array as it is, or a string that holds JSON text; default {}
              priority, maxAttempts        as in EnqueueJob; defaults 5 and 10
              dueAt                        ISO 8601, UTC ("2027-01-31T08:00:00Z"; an offset is honored), or
              delayMs                      milliseconds from now, by the database's clock
              idempotencyKey               as in EnqueueJob; of two equal ones in the array the first is inserted
              headers                      a JSON object
Result set: Ordinal int (position in @Jobs, from 0), JobId bigint, Created bit; one row an element, in order.
            Ids ascend in the order of the array, and so jobs run in it.
Errors:     51004 not an array; 51005 an element, by position, field and accepted form; 51006 more than 1000; 51014 a lock on an
            idempotency key was not granted. XACT_ABORT is ON: an error ends the caller's transaction.
Tables, in order: Jobs.
Locks:      X on the new rows' keys; for idempotency keys an exclusive application lock each, taken in the order of
            (type, key) so that two calls with the same keys cannot deadlock. Until the transaction ends.
Reads:      one seek on UX_Jobs_IdempotencyKey an element that has a key.
Callers:    chokaq_producer, chokaq_worker (handlers enqueue too), chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.EnqueueJobs
    @Jobs nvarchar(max)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @Message nvarchar(2000);

    IF @Jobs IS NULL OR ISJSON(@Jobs) <> 1
       OR SUBSTRING(@Jobs, PATINDEX(N'%[^ ' + NCHAR(9) + NCHAR(10) + NCHAR(13) + N']%', @Jobs COLLATE Latin1_General_100_BIN2), 1) <> N'['
        THROW 51004, N'chokaq.EnqueueJobs: @Jobs is not a JSON array. Accepted: [{"queue": "mail", "type": "send_email", "payload": {"to": 17}}, ...]. Nothing was changed.', 1;

    DECLARE @Now datetime2(3) = SYSUTCDATETIME();

    DECLARE @Given TABLE
    (
        Ordinal        int NOT NULL PRIMARY KEY,
        ElementType    int NOT NULL,
        Queue          nvarchar(400)  COLLATE Latin1_General_100_BIN2 NULL,
        JobType        nvarchar(400)  COLLATE Latin1_General_100_BIN2 NULL,
        Payload        nvarchar(max)  NULL,
        PriorityText   nvarchar(400)  NULL,
        AttemptsText   nvarchar(400)  NULL,
        DueText        nvarchar(400)  NULL,
        DelayText      nvarchar(400)  NULL,
        IdempotencyKey nvarchar(400)  COLLATE Latin1_General_100_BIN2 NULL,
        HeadersJson    nvarchar(max)  NULL,
        HeadersText    nvarchar(400)  NULL,
        JobId          bigint NULL,
        Created        bit NOT NULL
    );

    INSERT INTO @Given (Ordinal, ElementType, Queue, JobType, Payload, PriorityText, AttemptsText, DueText, DelayText, IdempotencyKey, HeadersJson, HeadersText, Created)
    SELECT CONVERT(int, e.[key]), e.[type], f.Queue, f.JobType, COALESCE(f.PayloadJson, f.PayloadText, N'{}'),
           COALESCE(f.Priority, N'5'), COALESCE(f.MaxAttempts, N'10'), f.DueAt, f.DelayMs, f.IdempotencyKey, f.HeadersJson, f.HeadersText, 0
    FROM OPENJSON(@Jobs) AS e
    CROSS APPLY OPENJSON(CASE WHEN e.[type] = 5 THEN e.[value] ELSE N'{}' END)
    WITH
    (
        Queue          nvarchar(400) '$.queue',
        JobType        nvarchar(400) '$.type',
        PayloadJson    nvarchar(max) '$.payload' AS JSON,
        PayloadText    nvarchar(max) '$.payload',
        Priority       nvarchar(400) '$.priority',
        MaxAttempts    nvarchar(400) '$.maxAttempts',
        DueAt          nvarchar(400) '$.dueAt',
        DelayMs        nvarchar(400) '$.delayMs',
        IdempotencyKey nvarchar(400) '$.idempotencyKey',
        HeadersJson    nvarchar(max) '$.headers' AS JSON,
        HeadersText    nvarchar(400) '$.headers'
    ) AS f;

    DECLARE @Count int = @@ROWCOUNT;

    IF @Count > 1000
    BEGIN
        SET @Message = CONCAT(N'chokaq.EnqueueJobs: @Jobs has ', @Count, N' elements; at most 1000 are accepted in one call. Nothing was changed.');
        THROW 51006, @Message, 1;
    END;

    /* The first fault of the first element that has one. A name longer than 400 characters arrives as NULL, hence "missing or too long". */
    SELECT TOP (1) @Message = CONCAT(N'chokaq.EnqueueJobs: @Jobs[', v.Ordinal, N']', v.Fault, N' Nothing was changed.')
    FROM
    (
        SELECT g.Ordinal,
               CASE
                   WHEN g.ElementType <> 5 THEN N' must be an object.'
                   WHEN g.Queue IS NULL OR DATALENGTH(g.Queue) NOT BETWEEN 2 AND 128 OR LEFT(g.Queue, 1) = N' ' OR RIGHT(g.Queue, 1) = N' '
                        OR PATINDEX(N'%[' + NCHAR(0) + N'-' + NCHAR(31) + NCHAR(127) + N']%', g.Queue) > 0
                       THEN N'.queue must be 1 to 64 characters, with no leading or trailing space and no control character.'
                   WHEN g.JobType IS NULL OR DATALENGTH(g.JobType) NOT BETWEEN 2 AND 256 OR LEFT(g.JobType, 1) = N' ' OR RIGHT(g.JobType, 1) = N' '
                        OR PATINDEX(N'%[' + NCHAR(0) + N'-' + NCHAR(31) + NCHAR(127) + N']%', g.JobType) > 0
                       THEN N'.type must be 1 to 128 characters, with no leading or trailing space and no control character.'
                   WHEN DATALENGTH(g.Payload) > 2000000
                        OR (ISJSON(g.Payload) <> 1 AND ISJSON(N'[' + g.Payload + N']') <> 1)
                       THEN N'.payload must be a JSON object or array, or a string that holds JSON text, of at most 1,000,000 characters.'
                   WHEN ISJSON(g.Payload) <> 1 AND (SELECT COUNT(*) FROM OPENJSON(N'[' + g.Payload + N']')) <> 1
                       THEN N'.payload must be one JSON value.'
                   WHEN TRY_CONVERT(int, g.PriorityText) IS NULL OR TRY_CONVERT(int, g.PriorityText) NOT BETWEEN 1 AND 10
                       THEN N'.priority must be 1 to 10; 10 runs first.'
                   WHEN TRY_CONVERT(int, g.AttemptsText) IS NULL OR TRY_CONVERT(int, g.AttemptsText) NOT BETWEEN 1 AND 1000
                       THEN N'.maxAttempts must be 1 to 1000.'
                   WHEN g.DueText IS NOT NULL AND (g.DueText NOT LIKE N'____-__-__T%' OR TRY_CONVERT(datetimeoffset(3), g.DueText, 127) IS NULL)
                       THEN N'.dueAt must be an ISO 8601 time, such as 2027-01-31T08:00:00Z.'
                   WHEN g.DelayText IS NOT NULL AND (TRY_CONVERT(bigint, g.DelayText) IS NULL OR TRY_CONVERT(bigint, g.DelayText) NOT BETWEEN 0 AND 315360000000)
                       THEN N'.delayMs must be 0 to 315360000000 (ten years).'
                   WHEN g.DueText IS NOT NULL AND g.DelayText IS NOT NULL
                       THEN N'.dueAt and .delayMs exclude each other.'
                   WHEN DATALENGTH(g.IdempotencyKey) NOT BETWEEN 2 AND 400 OR LEFT(g.IdempotencyKey, 1) = N' ' OR RIGHT(g.IdempotencyKey, 1) = N' '
                        OR PATINDEX(N'%[' + NCHAR(0) + N'-' + NCHAR(31) + NCHAR(127) + N']%', g.IdempotencyKey) > 0
                       THEN N'.idempotencyKey must be 1 to 200 characters, with no leading or trailing space and no control character.'
                   WHEN g.HeadersText IS NOT NULL OR DATALENGTH(g.HeadersJson) > 8000 OR LEFT(g.HeadersJson, 1) <> N'{'
                       THEN N'.headers must be a JSON object of at most 4000 characters.'
               END AS Fault
        FROM @Given AS g
    ) AS v
    WHERE v.Fault IS NOT NULL
    ORDER BY v.Ordinal;

    IF @Message IS NOT NULL
        THROW 51005, @Message, 1;

    BEGIN TRANSACTION;

    IF EXISTS (SELECT 1 FROM @Given AS g WHERE g.IdempotencyKey IS NOT NULL)
    BEGIN
        DECLARE @Keys TABLE
        (
            JobType        nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
            IdempotencyKey nvarchar(200) COLLATE Latin1_General_100_BIN2 NOT NULL,
            FirstOrdinal   int NOT NULL,
            PRIMARY KEY (JobType, IdempotencyKey)
        );
        DECLARE @JobType nvarchar(128) = N'', @IdempotencyKey nvarchar(200) = N'';

        INSERT INTO @Keys (JobType, IdempotencyKey, FirstOrdinal)
        SELECT g.JobType, g.IdempotencyKey, MIN(g.Ordinal)
        FROM @Given AS g
        WHERE g.IdempotencyKey IS NOT NULL
        GROUP BY g.JobType, g.IdempotencyKey;

        WHILE 1 = 1
        BEGIN
            SELECT TOP (1) @JobType = k.JobType, @IdempotencyKey = k.IdempotencyKey
            FROM @Keys AS k
            WHERE k.JobType > @JobType OR (k.JobType = @JobType AND k.IdempotencyKey > @IdempotencyKey)
            ORDER BY k.JobType, k.IdempotencyKey;
            IF @@ROWCOUNT = 0 BREAK;

            EXEC chokaq.LockIdempotencyKey @JobType, @IdempotencyKey;
        END;

        UPDATE g
        SET g.JobId = j.JobId
        FROM @Given AS g
        INNER JOIN chokaq.Jobs AS j WITH (INDEX (UX_Jobs_IdempotencyKey), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
            ON j.JobType = g.JobType AND j.IdempotencyKey = g.IdempotencyKey
        WHERE j.IdempotencyKey IS NOT NULL
        OPTION (FORCE ORDER, LOOP JOIN);
    END;

    /* Ids are drawn before the insert: OUTPUT of an INSERT cannot name the element that a row came from. */
    DECLARE @New TABLE (Ordinal int NOT NULL PRIMARY KEY, JobId bigint NOT NULL);

    INSERT INTO @New (Ordinal, JobId)
    SELECT g.Ordinal, NEXT VALUE FOR chokaq.JobIds OVER (ORDER BY g.Ordinal)
    FROM @Given AS g
    WHERE g.JobId IS NULL
      AND (g.IdempotencyKey IS NULL
           OR g.Ordinal = (SELECT MIN(f.Ordinal) FROM @Given AS f WHERE f.JobType = g.JobType AND f.IdempotencyKey = g.IdempotencyKey));

    UPDATE g
    SET g.JobId = n.JobId, g.Created = 1
    FROM @Given AS g
    INNER JOIN @New AS n ON n.Ordinal = g.Ordinal;

    INSERT INTO chokaq.Jobs WITH (ROWLOCK)
        (JobId, Queue, JobType, Priority, State, DueAt, Attempt, MaxAttempts, RequeueCount,
         EnqueuedAt, EnqueuedBy, IdempotencyKey, Headers, Payload)
    SELECT g.JobId, g.Queue, g.JobType, CONVERT(tinyint, g.PriorityText), 0,
           CASE WHEN d.DueAt > @Now THEN d.DueAt ELSE @Now END,
           0, CONVERT(int, g.AttemptsText), 0,
           @Now, ORIGINAL_LOGIN(), g.IdempotencyKey, g.HeadersJson, g.Payload
    FROM @Given AS g
    CROSS APPLY
    (
        /* DATEADD takes an int: whole seconds and the rest apart. */
        SELECT CASE WHEN g.DueText IS NOT NULL
                    THEN CONVERT(datetime2(3), SWITCHOFFSET(CONVERT(datetimeoffset(3), g.DueText, 127), '+00:00'))
                    WHEN g.DelayText IS NOT NULL
                    THEN DATEADD(MILLISECOND, CONVERT(int, CONVERT(bigint, g.DelayText) % 1000), DATEADD(SECOND, CONVERT(int, CONVERT(bigint, g.DelayText) / 1000), @Now))
               END AS DueAt
    ) AS d
    WHERE g.Created = 1
    ORDER BY g.JobId;

    /* An element that repeats a key of an earlier one is answered with that one's job. */
    UPDATE g
    SET g.JobId = f.JobId
    FROM @Given AS g
    INNER JOIN @Given AS f ON f.JobType = g.JobType AND f.IdempotencyKey = g.IdempotencyKey AND f.JobId IS NOT NULL
    WHERE g.JobId IS NULL;

    COMMIT TRANSACTION;

    SELECT g.Ordinal, g.JobId, g.Created
    FROM @Given AS g
    ORDER BY g.Ordinal;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/EnqueueJobs.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/EnqueueJobs.sql', '0b4e7714506a8937053dbff30e868c6fc16bc482af311caaf246c93b2325273f', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/FailJobs.sql';
GO
/*
chokaq.FailJobs: Processing -> Pending at a later time while attempts are left, else -> JobsDLQ.

Purpose:    stores that handlers have failed. The worker knows how long to wait and whether the error is final; the attempt limit is
            decided here, where the attempts are counted.
Parameters: @Jobs  JSON array of claims, at most 1000, each with:
              error         text; cut to 4000 characters, with a mark at the cut
              retryAfterMs  milliseconds until the next attempt, by the database's clock; default 0; 0 to ten years
              final         true: to the DLQ, however many attempts are left; default false
              reason        the DLQ's reason if it goes there: Failed (default), Rejected (the handler said: do not retry),
                            Interrupted (cut short by a shutdown), Cancelled; a job whose cancellation was asked for is
                            final, and Cancelled, in any case
Result set: JobId bigint, Result varchar, JobState varchar. One row a claim:
              Retried         Pending again
              Dead            in the DLQ
              AlreadyRetried, AlreadyDead   by this claim before: an answer was lost
              Lost            not this claim's any more; JobState says where it is (NULL: nowhere). Nothing was changed for it.
Errors:     51004 to 51007, see CheckClaims; 51005 also for a reason or retryAfterMs that is not one.
Tables, in order: Jobs, JobsDLQ (then, for lost rows only, JobsArchive).
Locks:      one transaction. U on PK_Jobs in order of JobId for all the claims that hold, before any is changed; then X on these, their index
            entries, and the new rows of JobsDLQ.
Reads:      two seeks a row.
Callers:    chokaq_worker.
*/
CREATE OR ALTER PROCEDURE chokaq.FailJobs
    @Jobs nvarchar(max)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXEC chokaq.CheckClaims N'FailJobs', @Jobs;

    DECLARE @Claims TABLE
    (
        JobId        bigint NOT NULL PRIMARY KEY,
        ClaimToken   uniqueidentifier NOT NULL,
        Ordinal      int NOT NULL,
        IsFinal      bit NOT NULL,
        Reason       nvarchar(40) COLLATE Latin1_General_100_BIN2 NOT NULL,
        Error        nvarchar(4000) NULL,
        RetryAfterMs bigint NOT NULL
    );
    DECLARE @Held TABLE (JobId bigint NOT NULL PRIMARY KEY, IsFinal bit NOT NULL, Reason nvarchar(40) NOT NULL);
    DECLARE @Now datetime2(3) = SYSUTCDATETIME(), @BadOrdinal int, @Message nvarchar(2000);

    INSERT INTO @Claims (JobId, ClaimToken, Ordinal, IsFinal, Reason, Error, RetryAfterMs)
    SELECT c.JobId, c.ClaimToken, c.Ordinal, COALESCE(c.IsFinal, 0), COALESCE(c.Reason, N'Failed'),
           CASE WHEN DATALENGTH(c.Error) > 8000 THEN LEFT(c.Error, 3984) + N' ... (truncated)' ELSE c.Error END,
           COALESCE(c.RetryAfterMs, 0)
    FROM chokaq.ParseClaims(@Jobs) AS c;

    SELECT @BadOrdinal = MIN(c.Ordinal)
    FROM @Claims AS c
    WHERE c.Reason NOT IN (N'Failed', N'Rejected', N'Interrupted', N'Cancelled')
       OR c.RetryAfterMs NOT BETWEEN 0 AND 315360000000;

    IF @BadOrdinal IS NOT NULL
    BEGIN
        SET @Message = CONCAT(N'chokaq.FailJobs: @Jobs[', @BadOrdinal, N'] must have a reason of Failed, Rejected, Interrupted or Cancelled (or none), and retryAfterMs of 0 to 315360000000 (or none). Nothing was changed.');
        THROW 51005, @Message, 1;
    END;

    BEGIN TRANSACTION;

    /* A job whose cancellation was asked for is not run again, whatever its handler made of it. */
    INSERT INTO @Held (JobId, IsFinal, Reason)
    SELECT j.JobId,
           CASE WHEN c.IsFinal = 1 OR j.Attempt >= j.MaxAttempts OR j.CancelRequestedAt IS NOT NULL THEN 1 ELSE 0 END,
           CASE WHEN j.CancelRequestedAt IS NOT NULL THEN N'Cancelled' ELSE c.Reason END
    FROM @Claims AS c
    INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON j.JobId = c.JobId
    WHERE j.ClaimToken = c.ClaimToken AND j.State = 2
    OPTION (FORCE ORDER, LOOP JOIN);

    DELETE j
    OUTPUT deleted.JobId, deleted.Queue, deleted.JobType, deleted.Priority, deleted.DueAt, deleted.Attempt, deleted.MaxAttempts,
           deleted.RequeueCount, h.Reason, c.Error, @Now, deleted.WorkerId, deleted.ClaimToken, deleted.FetchedAt,
           deleted.StartedAt, deleted.HeartbeatAt, deleted.CancelRequestedAt, deleted.EnqueuedAt, deleted.EnqueuedBy,
           deleted.IdempotencyKey, deleted.Headers, deleted.Payload
    INTO chokaq.JobsDLQ
          (JobId, Queue, JobType, Priority, DueAt, Attempt, MaxAttempts,
           RequeueCount, Reason, Error, DeadAt, LastWorkerId, ClaimToken, FetchedAt,
           StartedAt, HeartbeatAt, CancelRequestedAt, EnqueuedAt, EnqueuedBy,
           IdempotencyKey, Headers, Payload)
    FROM @Held AS h
    INNER JOIN @Claims AS c ON c.JobId = h.JobId
    INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON j.JobId = h.JobId
    WHERE h.IsFinal = 1
    OPTION (FORCE ORDER, LOOP JOIN);

    UPDATE j
    SET State = 0,
        /* DATEADD takes an int: whole seconds and the rest apart. */
        DueAt = DATEADD(MILLISECOND, CONVERT(int, c.RetryAfterMs % 1000), DATEADD(SECOND, CONVERT(int, c.RetryAfterMs / 1000), @Now)),
        LastClaimToken = j.ClaimToken, LastWorkerId = j.WorkerId, LastError = c.Error, LastErrorAt = @Now,
        WorkerId = NULL, ClaimToken = NULL, FetchedAt = NULL, StartedAt = NULL, HeartbeatAt = NULL
    FROM @Held AS h
    INNER JOIN @Claims AS c ON c.JobId = h.JobId
    INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON j.JobId = h.JobId
    WHERE h.IsFinal = 0
    OPTION (FORCE ORDER, LOOP JOIN);

    COMMIT TRANSACTION;

    SELECT c.JobId,
           CASE WHEN h.IsFinal = 1 THEN 'Dead'
                WHEN h.IsFinal = 0 THEN 'Retried'
                WHEN f.JobState = 'Dead' AND f.ClaimToken = c.ClaimToken THEN 'AlreadyDead'
                WHEN f.LastClaimToken = c.ClaimToken THEN 'AlreadyRetried'
                ELSE 'Lost'
           END AS Result,
           CASE WHEN h.IsFinal = 1 THEN 'Dead' WHEN h.IsFinal = 0 THEN 'Pending' ELSE f.JobState END AS JobState
    FROM @Claims AS c
    LEFT JOIN @Held AS h ON h.JobId = c.JobId
    OUTER APPLY chokaq.FindJob(CASE WHEN h.JobId IS NULL THEN c.JobId END) AS f
    ORDER BY c.JobId;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/FailJobs.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/FailJobs.sql', '4339d1da7d008689b6aefca6cf3e111666da28dd1ef1d7990126377066546075', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/GetInstallation.sql';
GO
/*
chokaq.GetInstallation: what a client must know of this database before it uses it.

Purpose:    a worker calls it at its start and refuses a database that it does not fit, saying what to run.
Parameters: none.
Result set: one row:
              SchemaVersion bigint              the last migration that ran; NULL: the version table is empty
              IsDirty bit                       1: a migration failed half way
              OldestClientSchemaVersion bigint  clients built for this schema version or a later one are served
              CompatibilityLevel int            of the database; 130 or higher is needed
              IsReadCommittedSnapshotOn bit
              AnsiOptionsWrong int              procedures that were created with QUOTED_IDENTIFIER or ANSI_NULLS OFF: they fail with error 1934
              ServerVersion nvarchar(128), EngineEdition int   as SERVERPROPERTY says
              DatabaseName nvarchar(128), LoginName nvarchar(128)
              DatabaseTimeUtc datetime2(3)
Errors:     none of its own.
Tables:     SchemaVersion (golang-migrate's version table), catalog views.
Callers:    chokaq_producer, chokaq_worker, chokaq_operator, chokaq_monitor.
*/
CREATE OR ALTER PROCEDURE chokaq.GetInstallation
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    SELECT (SELECT TOP (1) v.version FROM chokaq.SchemaVersion AS v ORDER BY v.version DESC) AS SchemaVersion,
           COALESCE((SELECT TOP (1) v.dirty FROM chokaq.SchemaVersion AS v ORDER BY v.version DESC), 0) AS IsDirty,
           CONVERT(bigint, 1) AS OldestClientSchemaVersion,
           CONVERT(int, d.compatibility_level) AS CompatibilityLevel,
           d.is_read_committed_snapshot_on AS IsReadCommittedSnapshotOn,
           (SELECT COUNT(*)
            FROM sys.procedures AS p
            WHERE p.schema_id = SCHEMA_ID(N'chokaq')
              AND (OBJECTPROPERTY(p.object_id, 'ExecIsQuotedIdentOn') = 0 OR OBJECTPROPERTY(p.object_id, 'ExecIsAnsiNullsOn') = 0)) AS AnsiOptionsWrong,
           CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion')) AS ServerVersion,
           CONVERT(int, SERVERPROPERTY('EngineEdition')) AS EngineEdition,
           DB_NAME() AS DatabaseName,
           ORIGINAL_LOGIN() AS LoginName,
           CONVERT(datetime2(3), SYSUTCDATETIME()) AS DatabaseTimeUtc
    FROM sys.databases AS d
    WHERE d.database_id = DB_ID();
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/GetInstallation.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/GetInstallation.sql', 'e604cb16d5bba67d0cabe71884be10c32274e74e9f77960766a3c7c848828e09', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/HeartbeatJobs.sql';
GO
/*
chokaq.HeartbeatJobs: renews the heartbeat of a worker and of the rows that it holds, prefetched ones too.

Purpose:    one call for everything that a worker holds. Recovery takes away what is no longer renewed.
Parameters: @WorkerId  the worker process.
            @Jobs      JSON array of claims, at most 1000; [] renews the worker alone.
Result set: JobId bigint, Result varchar, JobState varchar; only rows that the worker must act on:
              Lost             not this claim's any more; JobState says where the job is (NULL: nowhere)
              CancelRequested  still this claim's; somebody asked for its cancellation
Errors:     51004 to 51007, see CheckClaims; 51013 the worker is not registered.
Tables, in order: Workers, Jobs (then, for lost rows only, JobsArchive, JobsDLQ).
Locks:      X on the worker's own row in Workers, released before Jobs is touched. U, then X, on PK_Jobs in order of JobId, then
            IX_Jobs_Fetched or IX_Jobs_Processing. One statement each, committed by itself.
Reads:      one seek a row.
Callers:    chokaq_worker.
*/
CREATE OR ALTER PROCEDURE chokaq.HeartbeatJobs
    @WorkerId uniqueidentifier,
    @Jobs     nvarchar(max)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXEC chokaq.CheckClaims N'HeartbeatJobs', @Jobs;

    DECLARE @Claims TABLE (JobId bigint NOT NULL PRIMARY KEY, ClaimToken uniqueidentifier NOT NULL);
    DECLARE @Renewed TABLE (JobId bigint NOT NULL PRIMARY KEY, CancelRequestedAt datetime2(3) NULL);
    DECLARE @Now datetime2(3) = SYSUTCDATETIME();

    INSERT INTO @Claims (JobId, ClaimToken)
    SELECT c.JobId, c.ClaimToken
    FROM chokaq.ParseClaims(@Jobs) AS c;

    UPDATE w
    SET HeartbeatAt = @Now
    FROM chokaq.Workers AS w WITH (ROWLOCK)
    WHERE w.WorkerId = @WorkerId;

    IF @@ROWCOUNT = 0
        THROW 51013, N'chokaq.HeartbeatJobs: @WorkerId is not registered. Call chokaq.RegisterWorker first. Nothing was changed.', 1;

    UPDATE j
    SET HeartbeatAt = @Now
    OUTPUT inserted.JobId, inserted.CancelRequestedAt INTO @Renewed (JobId, CancelRequestedAt)
    FROM @Claims AS c
    INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON j.JobId = c.JobId
    WHERE j.ClaimToken = c.ClaimToken AND j.State IN (1, 2)
    OPTION (FORCE ORDER, LOOP JOIN);

    SELECT c.JobId,
           CASE WHEN r.JobId IS NULL THEN 'Lost' ELSE 'CancelRequested' END AS Result,
           CASE WHEN r.JobId IS NULL THEN f.JobState ELSE 'Processing' END AS JobState
    FROM @Claims AS c
    LEFT JOIN @Renewed AS r ON r.JobId = c.JobId
    OUTER APPLY chokaq.FindJob(CASE WHEN r.JobId IS NULL THEN c.JobId END) AS f
    WHERE r.JobId IS NULL OR r.CancelRequestedAt IS NOT NULL
    ORDER BY c.JobId;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/HeartbeatJobs.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/HeartbeatJobs.sql', '27e8bcd44120650a71981b282ace960774974c09075a8ed44b519b5a7fad2066', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/LockIdempotencyKey.sql';
GO
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
        DECLARE @Message nvarchar(2000) = CONCAT(N'chokaq: the lock on idempotency key "', @IdempotencyKey, N'" of job type "', @JobType,
            N'" was not granted (sp_getapplock returned ', @Granted,
            N'): another transaction that has enqueued this key is still open, or this one was the victim of a deadlock. Nothing was enqueued; the call can be repeated.');
        THROW 51014, @Message, 1;
    END;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/LockIdempotencyKey.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/LockIdempotencyKey.sql', '5afb9ba693636e95891e41549d1ff6f3bc2f4afd8537284b5c9de79cb2aeff69', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/LockQueueRow.sql';
GO
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
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/LockQueueRow.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/LockQueueRow.sql', 'f6ed6bdbeec2d8dec85c8c1d8b2e84a29b1d80c6157c59271470e9839a1a92a3', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/PauseQueue.sql';
GO
/*
chokaq.PauseQueue: no more claims from a queue.

Purpose:    stops claiming; rows that are Fetched or Processing go on. Pausing twice is one pause.
Parameters: @Queue  1 to 64 characters; the queue need not have jobs yet.
            @Note   why; at most 1000 characters; kept in OperatorActions. Default NULL.
Result set: none.
Errors:     51001 @Queue or @Note.
Tables, in order: Queues, OperatorActions.
Locks:      one transaction. U and X on the queue's row, with the range around it while the row is being made (UPDLOCK, HOLDLOCK): two
            operators cannot make it twice. Claimers skip the queue meanwhile and do not wait.
Reads:      one seek.
Callers:    chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.PauseQueue
    @Queue nvarchar(400),
    @Note  nvarchar(max) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXEC chokaq.CheckName N'PauseQueue', N'@Queue', @Queue, 64;
    IF DATALENGTH(@Note) > 2000
        THROW 51001, N'chokaq.PauseQueue: @Note must be at most 1000 characters. Nothing was changed.', 1;

    DECLARE @OldValue nvarchar(100), @NewValue nvarchar(100);

    BEGIN TRANSACTION;

    EXEC chokaq.LockQueueRow @Queue;

    UPDATE q
    SET IsPaused = 1, UpdatedAt = SYSUTCDATETIME(), UpdatedBy = ORIGINAL_LOGIN(),
        @OldValue = CASE q.IsPaused WHEN 1 THEN N'paused' ELSE N'running' END,
        @NewValue = N'paused'
    FROM chokaq.Queues AS q WITH (ROWLOCK)
    WHERE q.Queue = @Queue;

    INSERT INTO chokaq.OperatorActions (ActionName, Queue, OldValue, NewValue, Note, LoginName, HostName, ProgramName, ActedAt)
    VALUES ('PauseQueue', @Queue, @OldValue, @NewValue, @Note, ORIGINAL_LOGIN(), HOST_NAME(), APP_NAME(), SYSUTCDATETIME());

    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/PauseQueue.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/PauseQueue.sql', '7e047ecaeec214ba347f7347d7eb370af0da2c641bc373cac1c4fd352d86abe6', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/PurgeHistory.sql';
GO
/*
chokaq.PurgeHistory: removes history that is older than its retention.

Purpose:    keeps JobsArchive, JobsDLQ, RecoveryRuns, Workers and OperatorActions from growing for ever. Live jobs are never touched.
Parameters: none: the settings Retention.* say how long (0: for ever), Recovery.BatchSize how many rows at a time.
Result set: RowsMoved int (rows removed).
Errors:     none of its own.
Tables, in order: Settings (read), JobsArchive, JobsDLQ, Workers, OperatorActions, RecoveryRuns; one at a time, never two in one transaction.
Locks:      for the two job tables, candidates are read from the index on the date, which covers the question; the rows are then deleted by the
            clustered key. Everything skips locked rows (READPAST), so purging waits for nobody. One small transaction a batch.
Reads:      in the order of the rows removed.
Callers:    SQL Server Agent; chokaq_worker and chokaq_operator where there is no Agent. Safe to run at any time and side by side.
*/
CREATE OR ALTER PROCEDURE chokaq.PurgeHistory
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @StartedAt datetime2(3) = SYSUTCDATETIME(), @RowsMoved int = 0, @Moved int, @BatchSize int,
            @ArchiveHours int, @DeadHours int, @RunHours int, @WorkerHours int, @ActionHours int, @Before datetime2(3);
    DECLARE @Old TABLE (JobId bigint NOT NULL PRIMARY KEY);

    SET @BatchSize = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Recovery.BatchSize');
    SET @ArchiveHours = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Retention.Archive');
    SET @DeadHours = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Retention.DeadJobs');
    SET @RunHours = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Retention.RecoveryRuns');
    SET @WorkerHours = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Retention.Workers');
    SET @ActionHours = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Retention.OperatorActions');

    SET @Before = DATEADD(HOUR, -@ArchiveHours, @StartedAt);
    WHILE @ArchiveHours > 0
    BEGIN
        DELETE FROM @Old;
        INSERT INTO @Old (JobId)
        SELECT TOP (@BatchSize) a.JobId
        FROM chokaq.JobsArchive AS a WITH (INDEX (IX_JobsArchive_FinishedAt), FORCESEEK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE a.FinishedAt < @Before
        ORDER BY a.FinishedAt
        OPTION (MAXDOP 1);

        DELETE a
        FROM @Old AS o
        INNER JOIN chokaq.JobsArchive AS a WITH (INDEX (PK_JobsArchive), FORCESEEK, ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK) ON a.JobId = o.JobId
        WHERE a.FinishedAt < @Before
        OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);

        SET @Moved = @@ROWCOUNT;
        SET @RowsMoved = @RowsMoved + @Moved;
        IF @Moved = 0 BREAK;
    END;

    SET @Before = DATEADD(HOUR, -@DeadHours, @StartedAt);
    WHILE @DeadHours > 0
    BEGIN
        DELETE FROM @Old;
        INSERT INTO @Old (JobId)
        SELECT TOP (@BatchSize) d.JobId
        FROM chokaq.JobsDLQ AS d WITH (INDEX (IX_JobsDLQ_DeadAt), FORCESEEK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE d.DeadAt < @Before
        ORDER BY d.DeadAt
        OPTION (MAXDOP 1);

        DELETE d
        FROM @Old AS o
        INNER JOIN chokaq.JobsDLQ AS d WITH (INDEX (PK_JobsDLQ), FORCESEEK, ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK) ON d.JobId = o.JobId
        WHERE d.DeadAt < @Before
        OPTION (FORCE ORDER, LOOP JOIN, MAXDOP 1);

        SET @Moved = @@ROWCOUNT;
        SET @RowsMoved = @RowsMoved + @Moved;
        IF @Moved = 0 BREAK;
    END;

    SET @Before = DATEADD(HOUR, -@WorkerHours, @StartedAt);
    WHILE @WorkerHours > 0
    BEGIN
        DELETE TOP (@BatchSize) FROM w
        FROM chokaq.Workers AS w WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE w.HeartbeatAt < @Before
        OPTION (MAXDOP 1);

        SET @Moved = @@ROWCOUNT;
        SET @RowsMoved = @RowsMoved + @Moved;
        IF @Moved = 0 BREAK;
    END;

    SET @Before = DATEADD(HOUR, -@ActionHours, @StartedAt);
    WHILE @ActionHours > 0
    BEGIN
        DELETE TOP (@BatchSize) FROM a
        FROM chokaq.OperatorActions AS a WITH (INDEX (PK_OperatorActions), ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE a.ActedAt < @Before
        OPTION (MAXDOP 1);

        SET @Moved = @@ROWCOUNT;
        SET @RowsMoved = @RowsMoved + @Moved;
        IF @Moved = 0 BREAK;
    END;

    SET @Before = DATEADD(HOUR, -@RunHours, @StartedAt);
    WHILE @RunHours > 0
    BEGIN
        DELETE TOP (@BatchSize) FROM r
        FROM chokaq.RecoveryRuns AS r WITH (INDEX (PK_RecoveryRuns), ROWLOCK, READPAST, READCOMMITTEDLOCK)
        WHERE r.StartedAt < @Before
        OPTION (MAXDOP 1);

        SET @Moved = @@ROWCOUNT;
        SET @RowsMoved = @RowsMoved + @Moved;
        IF @Moved = 0 BREAK;
    END;

    INSERT INTO chokaq.RecoveryRuns (ProcedureName, StartedAt, FinishedAt, RowsMoved, LoginName, ProgramName)
    VALUES ('PurgeHistory', @StartedAt, SYSUTCDATETIME(), @RowsMoved, ORIGINAL_LOGIN(), APP_NAME());

    SELECT @RowsMoved AS RowsMoved;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/PurgeHistory.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/PurgeHistory.sql', 'c329db33e76331915fda489a957c7e82d3b1f174e772c73a3ee0d4fb458d7d00', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/RegisterWorker.sql';
GO
/*
chokaq.RegisterWorker: a worker process announces itself.

Purpose:    its row in Workers, and the timeouts that recovery will hold it to. Repeating it updates the row.
Parameters: @WorkerId   UUID that the process has chosen at its start.
            @HostName   1 to 128 characters.     @ProcessId  of the operating system.
            @Version    1 to 64 characters.      @Queues     JSON array of queue names, in the order in which they are served.
            @Handlers   handler slots.           @Prefetch   room of the prefetch channel, in jobs.
Result set: one row: DatabaseTimeUtc datetime2(3); FetchedJobTimeoutSeconds int, ProcessingZombieTimeoutSeconds int: the shortest of those
            that apply to the queues named.
Errors:     51001 a name; 51003 a number; 51004 @Queues; 51013 no @WorkerId.
Tables, in order: Queues, Settings (read), Workers.
Locks:      X on the worker's own row.
Reads:      a few seeks.
Callers:    chokaq_worker.
*/
CREATE OR ALTER PROCEDURE chokaq.RegisterWorker
    @WorkerId  uniqueidentifier,
    @HostName  nvarchar(400),
    @ProcessId int,
    @Version   nvarchar(400),
    @Queues    nvarchar(max),
    @Handlers  int,
    @Prefetch  int
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @WorkerId IS NULL
        THROW 51013, N'chokaq.RegisterWorker: @WorkerId must be a UUID. Nothing was changed.', 1;
    EXEC chokaq.CheckName N'RegisterWorker', N'@HostName', @HostName, 128;
    EXEC chokaq.CheckName N'RegisterWorker', N'@Version', @Version, 64;
    IF @ProcessId IS NULL OR @ProcessId < 0 OR @Handlers IS NULL OR @Handlers < 1 OR @Prefetch IS NULL OR @Prefetch < 0
        THROW 51003, N'chokaq.RegisterWorker: @ProcessId and @Prefetch must be 0 or more, and @Handlers 1 or more. Nothing was changed.', 1;
    IF @Queues IS NULL OR DATALENGTH(@Queues) > 8000 OR ISJSON(@Queues) <> 1
       OR SUBSTRING(@Queues, PATINDEX(N'%[^ ' + NCHAR(9) + NCHAR(10) + NCHAR(13) + N']%', @Queues COLLATE Latin1_General_100_BIN2), 1) <> N'['
        THROW 51004, N'chokaq.RegisterWorker: @Queues must be a JSON array of queue names, of at most 4000 characters. Nothing was changed.', 1;

    DECLARE @Now datetime2(3) = SYSUTCDATETIME(), @FetchedTimeout int, @ZombieTimeout int, @QueueFetchedTimeout int, @QueueZombieTimeout int;

    SET @FetchedTimeout = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Recovery.FetchedJobTimeout');
    SET @ZombieTimeout = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Recovery.ProcessingZombieTimeout');

    SELECT @QueueFetchedTimeout = MIN(COALESCE(q.FetchedJobTimeoutSeconds, @FetchedTimeout)),
           @QueueZombieTimeout = MIN(COALESCE(q.ProcessingZombieTimeoutSeconds, @ZombieTimeout))
    FROM OPENJSON(@Queues) AS n
    LEFT JOIN chokaq.Queues AS q ON q.Queue = n.[value] COLLATE Latin1_General_100_BIN2;

    /* Only this process knows its id, so nobody else inserts it meanwhile. */
    UPDATE w
    SET HostName = @HostName, ProcessId = @ProcessId, Version = @Version, Queues = @Queues, Handlers = @Handlers, Prefetch = @Prefetch,
        State = 'running', LoginName = ORIGINAL_LOGIN(), HeartbeatAt = @Now, StateAt = @Now
    FROM chokaq.Workers AS w WITH (ROWLOCK)
    WHERE w.WorkerId = @WorkerId;

    IF @@ROWCOUNT = 0
        INSERT INTO chokaq.Workers WITH (ROWLOCK)
            (WorkerId, HostName, ProcessId, Version, Queues, Handlers, Prefetch, State, LoginName, StartedAt, HeartbeatAt, StateAt)
        VALUES
            (@WorkerId, @HostName, @ProcessId, @Version, @Queues, @Handlers, @Prefetch, 'running', ORIGINAL_LOGIN(), @Now, @Now, @Now);

    SELECT @Now AS DatabaseTimeUtc,
           COALESCE(@QueueFetchedTimeout, @FetchedTimeout) AS FetchedJobTimeoutSeconds,
           COALESCE(@QueueZombieTimeout, @ZombieTimeout) AS ProcessingZombieTimeoutSeconds;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/RegisterWorker.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/RegisterWorker.sql', '2b1dfa5e17179ed22d820f6f5cb86ad0d3cb7d56f2afd121b67f74ee1212e8cb', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/ReleaseJobs.sql';
GO
/*
chokaq.ReleaseJobs: Fetched -> Pending, at their old place in the order.

Purpose:    gives back rows that were prefetched and not started: at shutdown, or after a claim that was canceled in flight. Never
            touches a Processing row: that one may have had side effects.
Parameters: @WorkerId    the worker process.
            @ClaimToken  everything still Fetched under this claim; or
            @Jobs        the claims named, a JSON array of at most 1000; or
            neither      everything still Fetched under the worker. Not both.
Result set: JobId bigint, Result varchar, JobState varchar:
              Released         it is Pending again
              AlreadyReleased  (only with @Jobs) released by this claim before; JobState says where it is now
              Processing       (only with @Jobs) started by this claim: it stays
              Lost             (only with @Jobs) not this claim's any more; JobState says where it is (NULL: nowhere)
Errors:     51004 to 51007, see CheckClaims; 51013 no @WorkerId; 51003 both @ClaimToken and @Jobs.
Tables, in order: Jobs (then, for rows not released only, JobsArchive, JobsDLQ).
Locks:      with no @Jobs, the worker's rows are found first by IX_Jobs_Owner, which covers the question, so that no lock on it is
            held while the clustered keys are taken (CompleteJobs comes the other way). Then U and X on PK_Jobs in order of
            JobId, then the indexes. One statement, committed by itself.
Reads:      one seek a row.
Callers:    chokaq_worker.
*/
CREATE OR ALTER PROCEDURE chokaq.ReleaseJobs
    @WorkerId   uniqueidentifier,
    @ClaimToken uniqueidentifier = NULL,
    @Jobs       nvarchar(max)    = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @WorkerId IS NULL
        THROW 51013, N'chokaq.ReleaseJobs: @WorkerId must be a UUID. Nothing was changed.', 1;
    IF @ClaimToken IS NOT NULL AND @Jobs IS NOT NULL
        THROW 51003, N'chokaq.ReleaseJobs: @ClaimToken and @Jobs exclude each other. Nothing was changed.', 1;

    DECLARE @Claims TABLE (JobId bigint NOT NULL PRIMARY KEY, ClaimToken uniqueidentifier NOT NULL);
    DECLARE @Released TABLE (JobId bigint NOT NULL PRIMARY KEY);

    IF @Jobs IS NOT NULL
    BEGIN
        EXEC chokaq.CheckClaims N'ReleaseJobs', @Jobs;

        INSERT INTO @Claims (JobId, ClaimToken)
        SELECT c.JobId, c.ClaimToken
        FROM chokaq.ParseClaims(@Jobs) AS c;
    END
    ELSE IF @ClaimToken IS NOT NULL
        INSERT INTO @Claims (JobId, ClaimToken)
        SELECT j.JobId, j.ClaimToken
        FROM chokaq.Jobs AS j WITH (INDEX (IX_Jobs_Owner), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
        WHERE j.WorkerId = @WorkerId AND j.ClaimToken = @ClaimToken AND j.WorkerId IS NOT NULL AND j.State = 1;
    ELSE
        INSERT INTO @Claims (JobId, ClaimToken)
        SELECT j.JobId, j.ClaimToken
        FROM chokaq.Jobs AS j WITH (INDEX (IX_Jobs_Owner), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
        WHERE j.WorkerId = @WorkerId AND j.WorkerId IS NOT NULL AND j.State = 1;

    UPDATE j
    SET State = 0, LastClaimToken = j.ClaimToken, LastWorkerId = j.WorkerId,
        WorkerId = NULL, ClaimToken = NULL, FetchedAt = NULL, HeartbeatAt = NULL
    OUTPUT inserted.JobId INTO @Released (JobId)
    FROM @Claims AS c
    INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON j.JobId = c.JobId
    WHERE j.ClaimToken = c.ClaimToken AND j.State = 1
    OPTION (FORCE ORDER, LOOP JOIN);

    SELECT c.JobId,
           CASE WHEN r.JobId IS NOT NULL THEN 'Released'
                WHEN f.JobState = 'Processing' AND f.ClaimToken = c.ClaimToken THEN 'Processing'
                WHEN f.LastClaimToken = c.ClaimToken THEN 'AlreadyReleased'
                ELSE 'Lost'
           END AS Result,
           CASE WHEN r.JobId IS NOT NULL THEN 'Pending' ELSE f.JobState END AS JobState
    FROM @Claims AS c
    LEFT JOIN @Released AS r ON r.JobId = c.JobId
    OUTER APPLY chokaq.FindJob(CASE WHEN r.JobId IS NULL THEN c.JobId END) AS f
    WHERE r.JobId IS NOT NULL OR @Jobs IS NOT NULL
    ORDER BY c.JobId;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/ReleaseJobs.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/ReleaseJobs.sql', '30927e62d3c2a63db91468f0ece700c149ed37d46cd53e861bdfaa0f354ab7be', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/RequeueDeadJobs.sql';
GO
/*
chokaq.RequeueDeadJobs: JobsDLQ -> Pending, by an operator's decision.

Purpose:    runs dead jobs again, with their ids, their payload (perhaps edited) and a fresh count of attempts. This is the one way
            in which a job that may have had side effects is run again.
Parameters: @JobIds         JSON array of at most 1000 job ids: [17, 18].
            @Note           why; at most 1000 characters; kept in OperatorActions. Default NULL.
            @DelaySeconds   0 to 315360000 from now, by the database's clock. Default 0.
            @SpreadSeconds  0 to 315360000: the jobs fall due evenly over this time, so that many do not run at once. Default 0.
Result set: JobId bigint, Result varchar, JobState varchar. One row a job:
              Requeued   Pending again
              KeyInUse   a live job of the same type has its idempotency key (or an earlier job of this call has); it stays dead
              Discarded  somebody has discarded it; it stays so
              NotDead    it is not in the DLQ; JobState says where it is (NULL: nowhere)
Errors:     51004 to 51007, see CheckJobIds; 51001 @Note; 51003 a number; 51014 a lock on an idempotency key was not granted.
Tables, in order: JobsDLQ, Jobs, OperatorActions (then, for jobs not requeued only, JobsArchive). FailJobs goes from Jobs to
            JobsDLQ: the two cannot meet, since a job is in one of them only.
Locks:      one transaction. U on PK_JobsDLQ in order of JobId; application locks on idempotency keys in order of (type, key);
            X on the new rows of Jobs.
Reads:      two or three seeks a row.
Callers:    chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.RequeueDeadJobs
    @JobIds        nvarchar(max),
    @Note          nvarchar(max) = NULL,
    @DelaySeconds  int           = 0,
    @SpreadSeconds int           = 0
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXEC chokaq.CheckJobIds N'RequeueDeadJobs', @JobIds;
    IF DATALENGTH(@Note) > 2000
        THROW 51001, N'chokaq.RequeueDeadJobs: @Note must be at most 1000 characters. Nothing was changed.', 1;
    IF @DelaySeconds IS NULL OR @DelaySeconds NOT BETWEEN 0 AND 315360000 OR @SpreadSeconds IS NULL OR @SpreadSeconds NOT BETWEEN 0 AND 315360000
        THROW 51003, N'chokaq.RequeueDeadJobs: @DelaySeconds and @SpreadSeconds must be 0 to 315360000 (ten years). Nothing was changed.', 1;

    DECLARE @Now datetime2(3) = SYSUTCDATETIME(), @Count int, @JobType nvarchar(128) = N'', @IdempotencyKey nvarchar(200) = N'';
    DECLARE @Asked TABLE (JobId bigint NOT NULL PRIMARY KEY);
    DECLARE @Dead TABLE
    (
        JobId          bigint NOT NULL PRIMARY KEY,
        Place          int NOT NULL,
        JobType        nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
        IdempotencyKey nvarchar(200) COLLATE Latin1_General_100_BIN2 NULL,
        IsDiscarded    bit NOT NULL,
        KeyInUse       bit NOT NULL
    );

    INSERT INTO @Asked (JobId)
    SELECT CONVERT(bigint, e.[value])
    FROM OPENJSON(@JobIds) AS e;

    BEGIN TRANSACTION;

    INSERT INTO @Dead (JobId, Place, JobType, IdempotencyKey, IsDiscarded, KeyInUse)
    SELECT d.JobId, ROW_NUMBER() OVER (ORDER BY d.JobId) - 1, d.JobType, d.IdempotencyKey, CASE WHEN d.DiscardedAt IS NULL THEN 0 ELSE 1 END, 0
    FROM @Asked AS a
    INNER JOIN chokaq.JobsDLQ AS d WITH (INDEX (PK_JobsDLQ), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON d.JobId = a.JobId
    OPTION (FORCE ORDER, LOOP JOIN);

    SET @Count = @@ROWCOUNT;

    WHILE 1 = 1
    BEGIN
        SELECT TOP (1) @JobType = d.JobType, @IdempotencyKey = d.IdempotencyKey
        FROM @Dead AS d
        WHERE d.IdempotencyKey IS NOT NULL
          AND (d.JobType > @JobType OR (d.JobType = @JobType AND d.IdempotencyKey > @IdempotencyKey))
        ORDER BY d.JobType, d.IdempotencyKey;
        IF @@ROWCOUNT = 0 BREAK;

        EXEC chokaq.LockIdempotencyKey @JobType, @IdempotencyKey;
    END;

    UPDATE d
    SET KeyInUse = 1
    FROM @Dead AS d
    WHERE d.IdempotencyKey IS NOT NULL
      AND (EXISTS (SELECT 1 FROM @Dead AS e
                   WHERE e.JobType = d.JobType AND e.IdempotencyKey = d.IdempotencyKey AND e.JobId < d.JobId AND e.IsDiscarded = 0)
           OR EXISTS (SELECT 1 FROM chokaq.Jobs AS j WITH (INDEX (UX_Jobs_IdempotencyKey), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
                      WHERE j.JobType = d.JobType AND j.IdempotencyKey = d.IdempotencyKey AND j.IdempotencyKey IS NOT NULL));

    /* The log is written first: afterwards the reason and the error are no longer anywhere. */
    INSERT INTO chokaq.OperatorActions (ActionName, JobId, Queue, OldValue, Note, LoginName, HostName, ProgramName, ActedAt)
    SELECT 'RequeueDeadJobs', d.JobId, d.Queue, CONCAT(d.Reason COLLATE DATABASE_DEFAULT, N': ', d.Error), @Note, ORIGINAL_LOGIN(), HOST_NAME(), APP_NAME(), @Now
    FROM @Dead AS k
    INNER JOIN chokaq.JobsDLQ AS d WITH (INDEX (PK_JobsDLQ), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON d.JobId = k.JobId
    WHERE k.IsDiscarded = 0 AND k.KeyInUse = 0
    OPTION (FORCE ORDER, LOOP JOIN);

    DELETE d
    OUTPUT deleted.JobId, deleted.Queue, deleted.JobType, deleted.Priority, 0,
           DATEADD(SECOND, @DelaySeconds + CONVERT(int, CONVERT(bigint, @SpreadSeconds) * k.Place / @Count), @Now),
           0, deleted.MaxAttempts, deleted.RequeueCount + 1, deleted.EnqueuedAt, deleted.EnqueuedBy, deleted.IdempotencyKey,
           deleted.Error, deleted.DeadAt, deleted.LastWorkerId, deleted.Headers, deleted.Payload
    INTO chokaq.Jobs
          (JobId, Queue, JobType, Priority, State,
           DueAt,
           Attempt, MaxAttempts, RequeueCount, EnqueuedAt, EnqueuedBy, IdempotencyKey,
           LastError, LastErrorAt, LastWorkerId, Headers, Payload)
    FROM @Dead AS k
    INNER JOIN chokaq.JobsDLQ AS d WITH (INDEX (PK_JobsDLQ), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON d.JobId = k.JobId
    WHERE k.IsDiscarded = 0 AND k.KeyInUse = 0
    OPTION (FORCE ORDER, LOOP JOIN);

    COMMIT TRANSACTION;

    SELECT a.JobId,
           CASE WHEN d.JobId IS NULL THEN 'NotDead'
                WHEN d.IsDiscarded = 1 THEN 'Discarded'
                WHEN d.KeyInUse = 1 THEN 'KeyInUse'
                ELSE 'Requeued'
           END AS Result,
           CASE WHEN d.JobId IS NULL THEN f.JobState WHEN d.IsDiscarded = 1 OR d.KeyInUse = 1 THEN 'Dead' ELSE 'Pending' END AS JobState
    FROM @Asked AS a
    LEFT JOIN @Dead AS d ON d.JobId = a.JobId
    OUTER APPLY chokaq.FindJob(CASE WHEN d.JobId IS NULL THEN a.JobId END) AS f
    ORDER BY a.JobId;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/RequeueDeadJobs.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/RequeueDeadJobs.sql', '4bd2af92e847c5cb1c3707f1bc729348d2deb73d744f59be2fe7854c2e8efc54', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/RescueZombieJobs.sql';
GO
/*
chokaq.RescueZombieJobs: Processing rows whose heartbeat has expired -> JobsDLQ, reason Zombie.

Purpose:    recovery. The worker is gone, frozen or cut off. The handler may have had side effects, so the job is not run again: it waits in
            the dead-letter queue for an operator to review. A worker that wakes up later finds that its token no longer fits.
Parameters: none: the timeout is the setting Recovery.ProcessingZombieTimeout, or the queue's own (SetQueueTimeouts), and the
            batch is Recovery.BatchSize. All times are the database's.
Result set: RowsMoved int.
Errors:     none of its own.
Tables, in order: Settings, Queues (read), Jobs, JobsDLQ, RecoveryRuns.
Locks:      as ResetFetchedJobs, by IX_Jobs_Processing. One transaction a batch.
Reads:      IX_Jobs_Processing, which holds the rows that are Processing now and no others; one seek a row moved.
Callers:    SQL Server Agent; chokaq_worker and chokaq_operator where there is no Agent. Safe to run at any time and side by side.
*/
CREATE OR ALTER PROCEDURE chokaq.RescueZombieJobs
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @StartedAt datetime2(3) = SYSUTCDATETIME(), @Timeout int, @BatchSize int, @RowsMoved int = 0, @Moved int, @Candidates int;
    DECLARE @Zombies TABLE (JobId bigint NOT NULL PRIMARY KEY, Cutoff datetime2(3) NOT NULL);

    SET @Timeout = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Recovery.ProcessingZombieTimeout');
    SET @BatchSize = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Recovery.BatchSize');

    SET @Candidates = @BatchSize;
    WHILE @Candidates = @BatchSize
    BEGIN
        DELETE FROM @Zombies;

        INSERT INTO @Zombies (JobId, Cutoff)
        SELECT TOP (@BatchSize) j.JobId, t.Cutoff
        FROM chokaq.Jobs AS j WITH (INDEX (IX_Jobs_Processing), ROWLOCK, READPAST, READCOMMITTEDLOCK)
        LEFT JOIN chokaq.Queues AS q ON q.Queue = j.Queue
        CROSS APPLY (SELECT DATEADD(SECOND, -COALESCE(q.ProcessingZombieTimeoutSeconds, @Timeout), @StartedAt) AS Cutoff) AS t
        WHERE j.State = 2 AND j.HeartbeatAt <= t.Cutoff;

        SET @Candidates = @@ROWCOUNT;

        DELETE j
        OUTPUT deleted.JobId, deleted.Queue, deleted.JobType, deleted.Priority, deleted.DueAt, deleted.Attempt, deleted.MaxAttempts,
               deleted.RequeueCount, 'Zombie',
               CONCAT(N'No heartbeat since ', CONVERT(nvarchar(23), deleted.HeartbeatAt, 126),
                      N'Z: the worker is gone, frozen or cut off. The handler may have had side effects.'),
               @StartedAt, deleted.WorkerId, CONVERT(uniqueidentifier, NULL), deleted.FetchedAt, deleted.StartedAt, deleted.HeartbeatAt,
               deleted.CancelRequestedAt, deleted.EnqueuedAt, deleted.EnqueuedBy, deleted.IdempotencyKey, deleted.Headers, deleted.Payload
        INTO chokaq.JobsDLQ
              (JobId, Queue, JobType, Priority, DueAt, Attempt, MaxAttempts,
               RequeueCount, Reason, Error,
               DeadAt, LastWorkerId, ClaimToken, FetchedAt, StartedAt, HeartbeatAt,
               CancelRequestedAt, EnqueuedAt, EnqueuedBy, IdempotencyKey, Headers, Payload)
        FROM @Zombies AS z
        INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK) ON j.JobId = z.JobId
        WHERE j.State = 2 AND j.HeartbeatAt <= z.Cutoff
        OPTION (FORCE ORDER, LOOP JOIN);

        SET @Moved = @@ROWCOUNT;
        SET @RowsMoved = @RowsMoved + @Moved;

        /* A full batch of candidates of which none could be moved (all locked by others) would come again for ever. */
        IF @Moved = 0 BREAK;
    END;

    INSERT INTO chokaq.RecoveryRuns (ProcedureName, StartedAt, FinishedAt, RowsMoved, LoginName, ProgramName)
    VALUES ('RescueZombieJobs', @StartedAt, SYSUTCDATETIME(), @RowsMoved, ORIGINAL_LOGIN(), APP_NAME());

    SELECT @RowsMoved AS RowsMoved;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/RescueZombieJobs.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/RescueZombieJobs.sql', '1573826a5e024fa5068fbcdda2fe829fc0ff7d0b1372bda1af21c08d665a7e64', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/ResetFetchedJobs.sql';
GO
/*
chokaq.ResetFetchedJobs: abandoned Fetched rows -> Pending, at their old place in the order.

Purpose:    recovery. A worker that stopped without releasing what it had prefetched no longer renews it; no user code has run
            for it, so anybody may have it.
Parameters: none: the timeout is the setting Recovery.FetchedJobTimeout, or the queue's own (SetQueueTimeouts), and the
            batch is Recovery.BatchSize. All times are the database's.
Result set: RowsMoved int.
Errors:     none of its own.
Tables, in order: Settings, Queues (read), Jobs, RecoveryRuns.
Locks:      candidates are read from IX_Jobs_Fetched, which covers the question, with S locks that are released row by row; then U and X on
            PK_Jobs in order of JobId, where the condition is asked again: a heartbeat that came in between wins. Both skip locked rows
            (the next run finds them), so recovery waits for nobody. One transaction a batch.
Reads:      IX_Jobs_Fetched, which holds the rows that are Fetched now and no others; one seek a row moved.
Callers:    SQL Server Agent; chokaq_worker and chokaq_operator where there is no Agent. Safe to run at any time and side by side.
*/
CREATE OR ALTER PROCEDURE chokaq.ResetFetchedJobs
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @StartedAt datetime2(3) = SYSUTCDATETIME(), @Timeout int, @BatchSize int, @RowsMoved int = 0, @Moved int, @Candidates int;
    DECLARE @Stale TABLE (JobId bigint NOT NULL PRIMARY KEY, Cutoff datetime2(3) NOT NULL);

    SET @Timeout = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Recovery.FetchedJobTimeout');
    SET @BatchSize = (SELECT s.Value FROM chokaq.Settings AS s WHERE s.Name = N'Recovery.BatchSize');

    SET @Candidates = @BatchSize;
    WHILE @Candidates = @BatchSize
    BEGIN
        DELETE FROM @Stale;

        INSERT INTO @Stale (JobId, Cutoff)
        SELECT TOP (@BatchSize) j.JobId, t.Cutoff
        FROM chokaq.Jobs AS j WITH (INDEX (IX_Jobs_Fetched), ROWLOCK, READPAST, READCOMMITTEDLOCK)
        LEFT JOIN chokaq.Queues AS q ON q.Queue = j.Queue
        CROSS APPLY (SELECT DATEADD(SECOND, -COALESCE(q.FetchedJobTimeoutSeconds, @Timeout), @StartedAt) AS Cutoff) AS t
        WHERE j.State = 1 AND j.HeartbeatAt <= t.Cutoff;

        SET @Candidates = @@ROWCOUNT;

        UPDATE j
        SET State = 0, LastClaimToken = j.ClaimToken, LastWorkerId = j.WorkerId,
            WorkerId = NULL, ClaimToken = NULL, FetchedAt = NULL, HeartbeatAt = NULL
        FROM @Stale AS s
        INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK) ON j.JobId = s.JobId
        WHERE j.State = 1 AND j.HeartbeatAt <= s.Cutoff
        OPTION (FORCE ORDER, LOOP JOIN);

        SET @Moved = @@ROWCOUNT;
        SET @RowsMoved = @RowsMoved + @Moved;

        /* A full batch of candidates of which none could be moved (all locked by others) would come again for ever. */
        IF @Moved = 0 BREAK;
    END;

    INSERT INTO chokaq.RecoveryRuns (ProcedureName, StartedAt, FinishedAt, RowsMoved, LoginName, ProgramName)
    VALUES ('ResetFetchedJobs', @StartedAt, SYSUTCDATETIME(), @RowsMoved, ORIGINAL_LOGIN(), APP_NAME());

    SELECT @RowsMoved AS RowsMoved;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/ResetFetchedJobs.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/ResetFetchedJobs.sql', 'd127aaceb93dbe2c3aab71a53fcef3d17f126193906b7d78658f4d9faefc62ea', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/ResumeQueue.sql';
GO
/*
chokaq.ResumeQueue: claims from a queue again.

Purpose:    ends a pause. Resuming a queue that is not paused changes nothing.
Parameters: @Queue  1 to 64 characters; the queue need not have jobs yet.
            @Note   why; at most 1000 characters; kept in OperatorActions. Default NULL.
Result set: none.
Errors:     51001 @Queue or @Note.
Tables, in order: Queues, OperatorActions.
Locks:      one transaction. U and X on the queue's row, with the range around it while the row is being made (UPDLOCK, HOLDLOCK): two
            operators cannot make it twice. Claimers skip the queue meanwhile and do not wait.
Reads:      one seek.
Callers:    chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.ResumeQueue
    @Queue nvarchar(400),
    @Note  nvarchar(max) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXEC chokaq.CheckName N'ResumeQueue', N'@Queue', @Queue, 64;
    IF DATALENGTH(@Note) > 2000
        THROW 51001, N'chokaq.ResumeQueue: @Note must be at most 1000 characters. Nothing was changed.', 1;

    DECLARE @OldValue nvarchar(100), @NewValue nvarchar(100);

    BEGIN TRANSACTION;

    EXEC chokaq.LockQueueRow @Queue;

    UPDATE q
    SET IsPaused = 0, UpdatedAt = SYSUTCDATETIME(), UpdatedBy = ORIGINAL_LOGIN(),
        @OldValue = CASE q.IsPaused WHEN 1 THEN N'paused' ELSE N'running' END,
        @NewValue = N'running'
    FROM chokaq.Queues AS q WITH (ROWLOCK)
    WHERE q.Queue = @Queue;

    INSERT INTO chokaq.OperatorActions (ActionName, Queue, OldValue, NewValue, Note, LoginName, HostName, ProgramName, ActedAt)
    VALUES ('ResumeQueue', @Queue, @OldValue, @NewValue, @Note, ORIGINAL_LOGIN(), HOST_NAME(), APP_NAME(), SYSUTCDATETIME());

    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/ResumeQueue.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/ResumeQueue.sql', '7e46103e7559a0c9e9ece3f07bb1e73cc909bc146c411864c36aa98888468be3', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/SetQueueLimit.sql';
GO
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
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/SetQueueLimit.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/SetQueueLimit.sql', '0e978b017c40d406e360a97df028d9605010b4ab1e3f703f45f0b86b13e2b663', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/SetQueueTimeouts.sql';
GO
/*
chokaq.SetQueueTimeouts: recovery timeouts of one queue.

Purpose:    overrides Recovery.FetchedJobTimeout and Recovery.ProcessingZombieTimeout for a queue. Running workers read them
            when they start: keep their heartbeat interval well under both.
Parameters: @Queue  1 to 64 characters; the queue need not have jobs yet.
            @FetchedJobTimeoutSeconds, @ProcessingZombieTimeoutSeconds  1 to 2592000 (30 days); NULL: the setting applies.
            @Note   why; at most 1000 characters; kept in OperatorActions. Default NULL.
Result set: none.
Errors:     51001 @Queue or @Note; 51003 a timeout.
Tables, in order: Queues, OperatorActions.
Locks:      one transaction. U and X on the queue's row, with the range around it while the row is being made (UPDLOCK, HOLDLOCK): two
            operators cannot make it twice. Claimers skip the queue meanwhile and do not wait.
Reads:      one seek.
Callers:    chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.SetQueueTimeouts
    @Queue nvarchar(400),
    @FetchedJobTimeoutSeconds       int,
    @ProcessingZombieTimeoutSeconds int,
    @Note  nvarchar(max) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXEC chokaq.CheckName N'SetQueueTimeouts', N'@Queue', @Queue, 64;
    IF DATALENGTH(@Note) > 2000
        THROW 51001, N'chokaq.SetQueueTimeouts: @Note must be at most 1000 characters. Nothing was changed.', 1;
    IF @FetchedJobTimeoutSeconds NOT BETWEEN 1 AND 2592000 OR @ProcessingZombieTimeoutSeconds NOT BETWEEN 1 AND 2592000
        THROW 51003, N'chokaq.SetQueueTimeouts: @FetchedJobTimeoutSeconds and @ProcessingZombieTimeoutSeconds must be 1 to 2592000 (30 days), or NULL for the setting. Nothing was changed.', 1;

    DECLARE @OldValue nvarchar(100), @NewValue nvarchar(100);

    BEGIN TRANSACTION;

    EXEC chokaq.LockQueueRow @Queue;

    UPDATE q
    SET FetchedJobTimeoutSeconds = @FetchedJobTimeoutSeconds, ProcessingZombieTimeoutSeconds = @ProcessingZombieTimeoutSeconds, UpdatedAt = SYSUTCDATETIME(), UpdatedBy = ORIGINAL_LOGIN(),
        @OldValue = CONCAT(N'fetched ', COALESCE(CONVERT(nvarchar(20), q.FetchedJobTimeoutSeconds), N'default'), N', processing ', COALESCE(CONVERT(nvarchar(20), q.ProcessingZombieTimeoutSeconds), N'default')),
        @NewValue = CONCAT(N'fetched ', COALESCE(CONVERT(nvarchar(20), @FetchedJobTimeoutSeconds), N'default'), N', processing ', COALESCE(CONVERT(nvarchar(20), @ProcessingZombieTimeoutSeconds), N'default'))
    FROM chokaq.Queues AS q WITH (ROWLOCK)
    WHERE q.Queue = @Queue;

    INSERT INTO chokaq.OperatorActions (ActionName, Queue, OldValue, NewValue, Note, LoginName, HostName, ProgramName, ActedAt)
    VALUES ('SetQueueTimeouts', @Queue, @OldValue, @NewValue, @Note, ORIGINAL_LOGIN(), HOST_NAME(), APP_NAME(), SYSUTCDATETIME());

    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/SetQueueTimeouts.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/SetQueueTimeouts.sql', '42c78ad068162efe3e4fb26fb9a74749cf16e7fd8be1ce0259277dae5d2b90f7', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/SetSetting.sql';
GO
/*
chokaq.SetSetting: changes a setting that the database owns.

Purpose:    the recovery and retention settings of table Settings (docs/configuration.md lists them).
Parameters: @Name   such as N'Recovery.ProcessingZombieTimeout', exact.
            @Value  in the setting's unit; NULL: its default.
            @Note   why; at most 1000 characters; kept in OperatorActions. Default NULL.
Result set: none.
Errors:     51010 no such setting, with the list of those there are; 51003 @Value is out of the setting's range; 51001 @Note.
Tables, in order: Settings, OperatorActions.
Locks:      one transaction. U and X on the setting's row.
Reads:      one seek.
Callers:    chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.SetSetting
    @Name  nvarchar(400),
    @Value int,
    @Note  nvarchar(max) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF DATALENGTH(@Note) > 2000
        THROW 51001, N'chokaq.SetSetting: @Note must be at most 1000 characters. Nothing was changed.', 1;

    DECLARE @OldValue int, @MinValue int, @MaxValue int, @DefaultValue int, @Unit varchar(10), @Names nvarchar(1000), @Message nvarchar(2000);

    BEGIN TRANSACTION;

    SELECT @OldValue = s.Value, @MinValue = s.MinValue, @MaxValue = s.MaxValue, @DefaultValue = s.DefaultValue, @Unit = s.Unit
    FROM chokaq.Settings AS s WITH (ROWLOCK, UPDLOCK, READCOMMITTEDLOCK)
    WHERE s.Name = @Name;

    IF @OldValue IS NULL
    BEGIN
        SELECT @Names = STRING_AGG(s.Name, N', ') WITHIN GROUP (ORDER BY s.Name) FROM chokaq.Settings AS s;
        SET @Message = CONCAT(N'chokaq.SetSetting: there is no setting "', @Name, N'". The settings are ', @Names, N'. Nothing was changed.');
        THROW 51010, @Message, 1;
    END;

    SET @Value = COALESCE(@Value, @DefaultValue);
    IF @Value NOT BETWEEN @MinValue AND @MaxValue
    BEGIN
        SET @Message = CONCAT(N'chokaq.SetSetting: ', @Name, N' must be ', @MinValue, N' to ', @MaxValue, N' ', @Unit, N'; given: ', @Value, N'. Nothing was changed.');
        THROW 51003, @Message, 1;
    END;

    UPDATE s
    SET Value = @Value, UpdatedAt = SYSUTCDATETIME(), UpdatedBy = ORIGINAL_LOGIN()
    FROM chokaq.Settings AS s WITH (ROWLOCK)
    WHERE s.Name = @Name;

    INSERT INTO chokaq.OperatorActions (ActionName, Setting, OldValue, NewValue, Note, LoginName, HostName, ProgramName, ActedAt)
    VALUES ('SetSetting', @Name, CONVERT(nvarchar(20), @OldValue), CONVERT(nvarchar(20), @Value), @Note, ORIGINAL_LOGIN(), HOST_NAME(), APP_NAME(), SYSUTCDATETIME());

    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/SetSetting.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/SetSetting.sql', '898c4577353b2c676ba40053b90c836187034710fe667d756a1617e331feb9df', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/SetWorkerState.sql';
GO
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
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/SetWorkerState.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/SetWorkerState.sql', 'd8a66f76ef3ca5837c57fe895514a0820ffe832d17c23f74060b65f785db64e7', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'procedures/StartJobs.sql';
GO
/*
chokaq.StartJobs: Fetched -> Processing; counts the attempt.

Purpose:    the last question before user code runs. From here on the job may have had side effects, and nothing sets it
            back to Pending by itself.
Parameters: @Jobs  JSON array of claims: [{"id": 17, "token": "6F96..."}, ...], at most 1000.
Result set: JobId bigint, Result varchar, Attempt int (this attempt, from 1), JobState varchar. One row a claim:
              Started         the caller may run it
              AlreadyStarted  started by this claim before: an answer was lost, and the caller may run it if it has not
              Lost            not this claim's any more; JobState says where it is (NULL: nowhere). Do not run it.
Errors:     51004 to 51007, see CheckClaims.
Tables, in order: Jobs (then, for lost rows only, JobsArchive, JobsDLQ).
Locks:      U, then X, on PK_Jobs in order of JobId, so that calls which share rows cannot deadlock; then IX_Jobs_Fetched,
            IX_Jobs_Processing and IX_Jobs_Owner. One statement, committed by itself.
Reads:      one seek a row.
Callers:    chokaq_worker.
*/
CREATE OR ALTER PROCEDURE chokaq.StartJobs
    @Jobs nvarchar(max)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    EXEC chokaq.CheckClaims N'StartJobs', @Jobs;

    DECLARE @Claims TABLE (JobId bigint NOT NULL PRIMARY KEY, ClaimToken uniqueidentifier NOT NULL);
    DECLARE @Started TABLE (JobId bigint NOT NULL PRIMARY KEY, Attempt int NOT NULL);
    DECLARE @Now datetime2(3) = SYSUTCDATETIME();

    INSERT INTO @Claims (JobId, ClaimToken)
    SELECT c.JobId, c.ClaimToken
    FROM chokaq.ParseClaims(@Jobs) AS c;

    UPDATE j
    SET State = 2, Attempt = j.Attempt + 1, StartedAt = @Now, HeartbeatAt = @Now
    OUTPUT inserted.JobId, inserted.Attempt INTO @Started (JobId, Attempt)
    FROM @Claims AS c
    INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, UPDLOCK, READCOMMITTEDLOCK) ON j.JobId = c.JobId
    WHERE j.ClaimToken = c.ClaimToken AND j.State = 1
    OPTION (FORCE ORDER, LOOP JOIN);

    SELECT c.JobId,
           CASE WHEN s.JobId IS NOT NULL THEN 'Started'
                WHEN o.JobId IS NOT NULL THEN 'AlreadyStarted'
                ELSE 'Lost'
           END AS Result,
           COALESCE(s.Attempt, o.Attempt) AS Attempt,
           CASE WHEN s.JobId IS NOT NULL THEN 'Processing' ELSE f.JobState END AS JobState
    FROM @Claims AS c
    LEFT JOIN @Started AS s ON s.JobId = c.JobId
    OUTER APPLY (SELECT j.JobId, j.Attempt
                 FROM chokaq.Jobs AS j WITH (INDEX (PK_Jobs), ROWLOCK, READCOMMITTEDLOCK)
                 WHERE s.JobId IS NULL AND j.JobId = c.JobId AND j.ClaimToken = c.ClaimToken AND j.State = 2) AS o
    OUTER APPLY chokaq.FindJob(CASE WHEN s.JobId IS NULL THEN c.JobId END) AS f
    ORDER BY c.JobId;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'procedures/StartJobs.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'procedures/StartJobs.sql', 'bab146c6ce77b82e0d3ae599a6c59a2fe0cfa9b6a2b2ab3d35d932fec5f339d4', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'views/CurrentSettings.sql';
GO
/*
chokaq.CurrentSettings: the settings that the database owns; chokaq.SetSetting changes them.

Columns: Name; Value int; Unit (seconds, hours, rows); DefaultValue, MinValue, MaxValue int; Description; UpdatedAt datetime2(3) UTC; UpdatedBy (login).
Callers: chokaq_monitor, chokaq_operator, chokaq_worker.
*/
CREATE OR ALTER VIEW chokaq.CurrentSettings
AS
SELECT s.Name, s.Value, s.Unit, s.DefaultValue, s.MinValue, s.MaxValue, s.Description, s.UpdatedAt, s.UpdatedBy
FROM chokaq.Settings AS s WITH (NOLOCK);
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'views/CurrentSettings.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'views/CurrentSettings.sql', '191287d256007433ab6a1377839221519b412328695388ff706bd8a4ab9c66c8', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'views/DeadJobs.sql';
GO
/*
chokaq.DeadJobs: what waits in the dead-letter queue for an operator's review (discarded jobs are not shown).

Columns: JobId; Queue; JobType; Reason: Failed (attempts used up), Rejected (the handler said: do not retry), Interrupted (cut short by a shutdown),
         Zombie (its worker's heartbeat was lost), Cancelled; Error; DeadAt datetime2(3) UTC, DeadAgeSeconds bigint;
         Attempt, MaxAttempts, RequeueCount int; Priority; LastWorkerId, LastHostName (NULL: none, or its row is purged);
         EnqueuedAt, DueAt, FetchedAt, StartedAt, HeartbeatAt, CancelRequestedAt, EditedAt datetime2(3) UTC; EnqueuedBy, EditedBy (logins);
         IdempotencyKey; Headers; Payload.
Locks:   none (NOLOCK); see QueueStatus.
Callers: chokaq_monitor, chokaq_operator.
*/
CREATE OR ALTER VIEW chokaq.DeadJobs
AS
SELECT d.JobId,
       d.Queue,
       d.JobType,
       d.Reason,
       d.Error,
       d.DeadAt,
       DATEDIFF_BIG(SECOND, d.DeadAt, SYSUTCDATETIME()) AS DeadAgeSeconds,
       d.Attempt,
       d.MaxAttempts,
       d.RequeueCount,
       d.Priority,
       d.LastWorkerId,
       w.HostName AS LastHostName,
       d.EnqueuedAt,
       d.EnqueuedBy,
       d.DueAt,
       d.FetchedAt,
       d.StartedAt,
       d.HeartbeatAt,
       d.CancelRequestedAt,
       d.EditedAt,
       d.EditedBy,
       d.IdempotencyKey,
       d.Headers,
       d.Payload
FROM chokaq.JobsDLQ AS d WITH (NOLOCK)
LEFT JOIN chokaq.Workers AS w WITH (NOLOCK) ON w.WorkerId = d.LastWorkerId
WHERE d.DiscardedAt IS NULL;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'views/DeadJobs.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'views/DeadJobs.sql', 'b6ddc304e318dcd11164df0f11b8ef9a20ad8309990e99cd68e3909cb1d8479f', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'views/OperatorLog.sql';
GO
/*
chokaq.OperatorLog: who did what, and when.

Columns: ActionId; ActionName (the procedure); JobId, Queue, Setting (what it was about; NULL where it does not apply); OldValue, NewValue; Note;
         LoginName, HostName, ProgramName; ActedAt datetime2(3) UTC.
Callers: chokaq_monitor, chokaq_operator.
*/
CREATE OR ALTER VIEW chokaq.OperatorLog
AS
SELECT a.ActionId, a.ActionName, a.JobId, a.Queue, a.Setting, a.OldValue, a.NewValue, a.Note, a.LoginName, a.HostName, a.ProgramName, a.ActedAt
FROM chokaq.OperatorActions AS a WITH (NOLOCK);
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'views/OperatorLog.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'views/OperatorLog.sql', 'bbab88f390417d4e5d3daecd0a5775eb70b8aa8cb94897048255f150ff08d493', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'views/QueueStatus.sql';
GO
/*
chokaq.QueueStatus: what is waiting, running and dead, by queue. One row a queue that has jobs or switches.

Columns: Queue; IsPaused bit; ConcurrencyLimit int (NULL: none);
         Pending bigint (due now), Scheduled bigint (pending, due later), Fetched bigint, Processing bigint, Dead bigint (waiting for review);
         OldestDueAt datetime2(3) UTC, OldestDueAgeSeconds bigint (how long the longest-waiting due job has been due; NULL: none is due).
Locks:   none (NOLOCK), on purpose: a look at the queue never waits for the queue, nor makes it wait, in any isolation level. The counts
         are those of a moment that moves on while they are taken.
Reads:   narrow indexes only; JobsArchive is not read.
Callers: chokaq_monitor, chokaq_operator.
*/
CREATE OR ALTER VIEW chokaq.QueueStatus
AS
/* -1 and 9999-12-31 stand for NULL within, so that the aggregates give no warning about NULLs (8153). */
SELECT s.Queue,
       CONVERT(bit, MAX(s.IsPaused)) AS IsPaused,
       NULLIF(MAX(s.ConcurrencyLimit), -1) AS ConcurrencyLimit,
       SUM(s.Pending) AS Pending,
       SUM(s.Scheduled) AS Scheduled,
       SUM(s.Fetched) AS Fetched,
       SUM(s.Processing) AS Processing,
       SUM(s.Dead) AS Dead,
       NULLIF(MIN(s.DueAt), CONVERT(datetime2(3), '9999-12-31')) AS OldestDueAt,
       DATEDIFF_BIG(SECOND, NULLIF(MIN(s.DueAt), CONVERT(datetime2(3), '9999-12-31')), SYSUTCDATETIME()) AS OldestDueAgeSeconds
FROM
(
    SELECT q.Queue, CONVERT(int, q.IsPaused) AS IsPaused, COALESCE(q.ConcurrencyLimit, -1) AS ConcurrencyLimit, CONVERT(bigint, 0) AS Pending, CONVERT(bigint, 0) AS Scheduled,
           CONVERT(bigint, 0) AS Fetched, CONVERT(bigint, 0) AS Processing, CONVERT(bigint, 0) AS Dead, CONVERT(datetime2(3), '9999-12-31') AS DueAt
    FROM chokaq.Queues AS q WITH (NOLOCK)
    UNION ALL
    SELECT j.Queue, 0, -1, CASE WHEN j.DueAt <= SYSUTCDATETIME() THEN 1 ELSE 0 END, CASE WHEN j.DueAt <= SYSUTCDATETIME() THEN 0 ELSE 1 END,
           0, 0, 0, CASE WHEN j.DueAt <= SYSUTCDATETIME() THEN j.DueAt ELSE CONVERT(datetime2(3), '9999-12-31') END
    FROM chokaq.Jobs AS j WITH (NOLOCK, INDEX (IX_Jobs_Pending))
    WHERE j.State = 0
    UNION ALL
    SELECT f.Queue, 0, -1, 0, 0, 1, 0, 0, CONVERT(datetime2(3), '9999-12-31')
    FROM chokaq.Jobs AS f WITH (NOLOCK, INDEX (IX_Jobs_Fetched))
    WHERE f.State = 1
    UNION ALL
    SELECT p.Queue, 0, -1, 0, 0, 0, 1, 0, CONVERT(datetime2(3), '9999-12-31')
    FROM chokaq.Jobs AS p WITH (NOLOCK, INDEX (IX_Jobs_Processing))
    WHERE p.State = 2
    UNION ALL
    SELECT d.Queue, 0, -1, 0, 0, 0, 0, 1, CONVERT(datetime2(3), '9999-12-31')
    FROM chokaq.JobsDLQ AS d WITH (NOLOCK, INDEX (IX_JobsDLQ_Review))
    WHERE d.DiscardedAt IS NULL
) AS s
GROUP BY s.Queue;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'views/QueueStatus.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'views/QueueStatus.sql', '5e501914651034eeeefd6d571ae1608bec6d78a2e1b75786fbea5b946ca7d37d', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'views/RecoveryStatus.sql';
GO
/*
chokaq.RecoveryStatus: whether recovery runs. One row a recovery procedure, also when it has never run.

Columns: ProcedureName; LastStartedAt, LastFinishedAt datetime2(3) UTC (NULL: never, or purged); SecondsSinceLastRun bigint; LastRowsMoved int;
         LastLoginName, LastProgramName (SQLAgent ..., chokaq-worker, ...); RunsLastHour int; RowsMovedLastHour bigint.
Locks:   none (NOLOCK); see QueueStatus.
Callers: chokaq_monitor, chokaq_operator.
*/
CREATE OR ALTER VIEW chokaq.RecoveryStatus
AS
SELECT p.ProcedureName,
       l.StartedAt AS LastStartedAt,
       l.FinishedAt AS LastFinishedAt,
       DATEDIFF_BIG(SECOND, l.StartedAt, SYSUTCDATETIME()) AS SecondsSinceLastRun,
       l.RowsMoved AS LastRowsMoved,
       l.LoginName AS LastLoginName,
       l.ProgramName AS LastProgramName,
       h.Runs AS RunsLastHour,
       h.RowsMoved AS RowsMovedLastHour
FROM (VALUES ('ResetFetchedJobs'), ('RescueZombieJobs'), ('PurgeHistory')) AS p (ProcedureName)
OUTER APPLY
(
    SELECT TOP (1) r.StartedAt, r.FinishedAt, r.RowsMoved, r.LoginName, r.ProgramName
    FROM chokaq.RecoveryRuns AS r WITH (NOLOCK)
    WHERE r.ProcedureName = p.ProcedureName COLLATE Latin1_General_100_BIN2
    ORDER BY r.StartedAt DESC, r.RunId DESC
) AS l
OUTER APPLY
(
    SELECT COUNT(*) AS Runs, COALESCE(SUM(CONVERT(bigint, r.RowsMoved)), 0) AS RowsMoved
    FROM chokaq.RecoveryRuns AS r WITH (NOLOCK)
    WHERE r.ProcedureName = p.ProcedureName COLLATE Latin1_General_100_BIN2 AND r.StartedAt > DATEADD(HOUR, -1, SYSUTCDATETIME())
) AS h;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'views/RecoveryStatus.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'views/RecoveryStatus.sql', '2f9441e73e5b9617ebffa2bcbc46d7d738d7145e8501f4f66569d237a684aa8e', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'views/WorkerStatus.sql';
GO
/*
chokaq.WorkerStatus: who works, on how much, and who is draining or gone.

Columns: WorkerId; HostName; ProcessId; Version; Queues (JSON array); Handlers int, Prefetch int (its capacity);
         State varchar: running, draining, stopped (it said so), gone (it has not said so, and sent no heartbeat for Recovery.ProcessingZombieTimeout);
         Fetched bigint, Processing bigint (jobs that it holds); LoginName; StartedAt, StateAt, HeartbeatAt datetime2(3) UTC; HeartbeatAgeSeconds bigint.
Locks:   none (NOLOCK); see QueueStatus.
Reads:   Workers, and IX_Jobs_Owner, which holds the rows that somebody holds now.
Callers: chokaq_monitor, chokaq_operator.
*/
CREATE OR ALTER VIEW chokaq.WorkerStatus
AS
SELECT w.WorkerId,
       w.HostName,
       w.ProcessId,
       w.Version,
       w.Queues,
       w.Handlers,
       w.Prefetch,
       CASE WHEN w.State <> 'stopped'
             AND w.HeartbeatAt <= DATEADD(SECOND, -(SELECT s.Value FROM chokaq.Settings AS s WITH (NOLOCK) WHERE s.Name = N'Recovery.ProcessingZombieTimeout'), SYSUTCDATETIME())
            THEN 'gone' ELSE w.State END AS State,
       COALESCE(h.Fetched, 0) AS Fetched,
       COALESCE(h.Processing, 0) AS Processing,
       w.LoginName,
       w.StartedAt,
       w.StateAt,
       w.HeartbeatAt,
       DATEDIFF_BIG(SECOND, w.HeartbeatAt, SYSUTCDATETIME()) AS HeartbeatAgeSeconds
FROM chokaq.Workers AS w WITH (NOLOCK)
LEFT JOIN
(
    SELECT j.WorkerId,
           SUM(CASE j.State WHEN 1 THEN CONVERT(bigint, 1) ELSE 0 END) AS Fetched,
           SUM(CASE j.State WHEN 2 THEN CONVERT(bigint, 1) ELSE 0 END) AS Processing
    FROM chokaq.Jobs AS j WITH (NOLOCK, INDEX (IX_Jobs_Owner))
    WHERE j.WorkerId IS NOT NULL
    GROUP BY j.WorkerId
) AS h ON h.WorkerId = w.WorkerId;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'views/WorkerStatus.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'views/WorkerStatus.sql', '5f8938216774eb0fcb4c24d262665bb407f83fb0af21eb6234abb20f387b6949', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

PRINT N'grants/grants.sql';
GO
/*
What each role may do: execute procedures and read views, and nothing else. No role has a right on a table:
the procedures reach the tables through ownership chaining (everything in schema chokaq has one owner).

The three recovery procedures are granted to chokaq_worker too, for editions without SQL Server Agent: they
take no parameters and can do no more than enforce the timeouts that the DBA has set.
*/
SET NOCOUNT ON;

GRANT EXECUTE ON OBJECT::chokaq.EnqueueJob        TO chokaq_producer, chokaq_worker, chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.EnqueueJobs       TO chokaq_producer, chokaq_worker, chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.CancelJob         TO chokaq_producer, chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.GetInstallation   TO chokaq_producer, chokaq_worker, chokaq_operator, chokaq_monitor;

GRANT EXECUTE ON OBJECT::chokaq.RegisterWorker    TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.SetWorkerState    TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.ClaimJobs         TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.StartJobs         TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.HeartbeatJobs     TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.ReleaseJobs       TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.CompleteJobs      TO chokaq_worker;
GRANT EXECUTE ON OBJECT::chokaq.FailJobs          TO chokaq_worker;

GRANT EXECUTE ON OBJECT::chokaq.ResetFetchedJobs  TO chokaq_worker, chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.RescueZombieJobs  TO chokaq_worker, chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.PurgeHistory      TO chokaq_worker, chokaq_operator;

GRANT EXECUTE ON OBJECT::chokaq.RequeueDeadJobs   TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.DiscardDeadJobs   TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.EditDeadJob       TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.PauseQueue        TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.ResumeQueue       TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.SetQueueLimit     TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.SetQueueTimeouts  TO chokaq_operator;
GRANT EXECUTE ON OBJECT::chokaq.SetSetting        TO chokaq_operator;

GRANT SELECT ON OBJECT::chokaq.QueueStatus        TO chokaq_monitor, chokaq_operator;
GRANT SELECT ON OBJECT::chokaq.WorkerStatus       TO chokaq_monitor, chokaq_operator;
GRANT SELECT ON OBJECT::chokaq.DeadJobs           TO chokaq_monitor, chokaq_operator;
GRANT SELECT ON OBJECT::chokaq.RecoveryStatus     TO chokaq_monitor, chokaq_operator;
GRANT SELECT ON OBJECT::chokaq.CurrentSettings    TO chokaq_monitor, chokaq_operator, chokaq_worker;
GRANT SELECT ON OBJECT::chokaq.OperatorLog        TO chokaq_monitor, chokaq_operator;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
DELETE FROM chokaq.SchemaObjects WHERE ObjectName = N'grants/grants.sql';
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy) VALUES (N'grants/grants.sql', '47426fca1ea37120788ad28faa9294a8df5d17c051295bcfa81652fe09d53287', SYSUTCDATETIME(), ORIGINAL_LOGIN());
GO

SET NOEXEC OFF;
GO
