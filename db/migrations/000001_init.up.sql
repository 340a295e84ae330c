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

IF (SELECT compatibility_level FROM sys.databases WHERE name = DB_NAME()) < 130
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
    [Version]   nvarchar(64)     NOT NULL,  -- in brackets: FreeTDS' tsql takes a line that begins with version for a command of its own
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
