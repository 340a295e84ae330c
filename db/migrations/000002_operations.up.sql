/*
ChokaQ, schema version 2: job types of workers, stops, failed attempts, recurring jobs.

Run in the queue's database, after version 1. One batch, one transaction: it happens whole or not at all. Workers of version 1 go on
working before, during and after it (they wait for a moment while it holds the tables), and can be replaced at leisure.

Locks: Sch-M on Workers and Jobs until it commits. Building the two indexes on Jobs reads the pending rows once: about a second for a
million of them. Take a quiet moment if the backlog is larger.
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

BEGIN TRANSACTION;

/* Which job types a worker has handlers for, and how many handlers an operator wants it to have. */
ALTER TABLE chokaq.Workers ADD
    JobTypes       nvarchar(max) NULL,  -- JSON array; NULL: all types (and every worker of version 1)
    HandlersWanted int           NULL;  -- set by SetWorkerHandlers; NULL: as the worker was started

/* A claim looks at the types of the next rows before it locks any: the type is in the index that has the order. */
DROP INDEX IX_Jobs_Pending ON chokaq.Jobs;
CREATE NONCLUSTERED INDEX IX_Jobs_Pending ON chokaq.Jobs (Queue, Priority DESC, DueAt, JobId) INCLUDE (JobType)
    WHERE State = 0 WITH (ALLOW_PAGE_LOCKS = OFF);

/* Where rows of unknown types come first, a claim finds those that it knows here. Nobody takes a lock in it to find a row: every
   claim locks by IX_Jobs_Pending, so two claimers never come to a row by two ways. */
CREATE NONCLUSTERED INDEX IX_Jobs_PendingByType ON chokaq.Jobs (Queue, JobType, Priority DESC, DueAt, JobId)
    WHERE State = 0 WITH (ALLOW_PAGE_LOCKS = OFF);

/* Attempts that failed and were followed by another: what JobsDLQ and JobsArchive no longer show. */
CREATE TABLE chokaq.JobFailures
(
    JobId        bigint           NOT NULL,
    FailureId    bigint           IDENTITY (1, 1) NOT NULL,
    RequeueCount int              NOT NULL,
    Attempt      int              NOT NULL,
    Reason       varchar(20)      COLLATE Latin1_General_100_BIN2 NOT NULL,  -- Retried, or the DLQ's reason of a job that was requeued
    Error        nvarchar(4000)   NULL,
    WorkerId     uniqueidentifier NULL,
    StartedAt    datetime2(3)     NULL,
    FailedAt     datetime2(3)     NOT NULL,
    CONSTRAINT PK_JobFailures PRIMARY KEY CLUSTERED (JobId, FailureId)
);
CREATE NONCLUSTERED INDEX IX_JobFailures_FailedAt ON chokaq.JobFailures (FailedAt, JobId, FailureId);

/* One row a worker process that was asked to stop: written when it begins to drain, completed when it has stopped. */
CREATE TABLE chokaq.WorkerStops
(
    WorkerId                    uniqueidentifier NOT NULL,
    HostName                    nvarchar(128)    NOT NULL,
    ProcessId                   int              NOT NULL,
    [Version]                   nvarchar(64)     NOT NULL,  -- in brackets: see version 1
    Queues                      nvarchar(4000)   NOT NULL,
    Reason                      nvarchar(200)    NULL,  -- such as SIGTERM
    DrainingAt                  datetime2(3)     NOT NULL,
    StoppedAt                   datetime2(3)     NULL,  -- NULL: it has not said so
    Outcome                     varchar(20)      COLLATE Latin1_General_100_BIN2 NULL,  -- clean, review, abandoned
    Running                     int              NULL,  -- handlers that ran when it began
    Released                    int              NULL,
    Completed                   int              NULL,  -- counts of outcomes stored since it began
    Retried                     int              NULL,
    Dead                        int              NULL,
    Interrupted                 int              NULL,  -- of the dead: cut short by the stop
    Abandoned                   int              NULL,  -- handlers that still ran at the end; their rows are Processing
    LeftFetched                 int              NULL,  -- rows that it could not give back
    Unstored                    int              NULL,  -- outcomes that it could not store
    ReleaseMs                   int              NULL,
    HandlersMs                  int              NULL,  -- until the last handler had returned, or was given up
    FlushMs                     int              NULL,
    TotalMs                     int              NULL,
    GracePeriodMs               int              NULL,
    PrefetchedJobReleaseTimeoutMs int            NULL,
    CONSTRAINT PK_WorkerStops PRIMARY KEY CLUSTERED (WorkerId),
    CONSTRAINT CK_WorkerStops_Outcome CHECK (Outcome IN ('clean', 'review', 'abandoned'))
);
CREATE NONCLUSTERED INDEX IX_WorkerStops_DrainingAt ON chokaq.WorkerStops (DrainingAt);

/* Jobs that are enqueued again and again, by the clock. Workers compute the ticks; the database decides who enqueues each. */
CREATE TABLE chokaq.RecurringJobs
(
    Name           nvarchar(64)   COLLATE Latin1_General_100_BIN2 NOT NULL,
    Cron           nvarchar(200)  NOT NULL,  -- minute hour day-of-month month day-of-week
    TimeZone       nvarchar(64)   COLLATE Latin1_General_100_BIN2 NOT NULL,  -- IANA name, such as Europe/Berlin
    MissedTicks    varchar(10)    COLLATE Latin1_General_100_BIN2 NOT NULL,  -- one, all, none
    SkipWhileLive  bit            NOT NULL,  -- 1: no new job while the last one has not finished
    IsPaused       bit            NOT NULL,
    Queue          nvarchar(64)   COLLATE Latin1_General_100_BIN2 NOT NULL,
    JobType        nvarchar(128)  COLLATE Latin1_General_100_BIN2 NOT NULL,
    Priority       tinyint        NOT NULL,
    MaxAttempts    int            NOT NULL,
    Headers        nvarchar(3500) NULL,
    Payload        nvarchar(max)  NOT NULL,
    Revision       int            NOT NULL,  -- counts definitions: a worker that has read an older one enqueues nothing by it
    NextTickAt     datetime2(3)   NULL,      -- NULL: no worker has computed it yet
    LastTickAt     datetime2(3)   NULL,
    LastJobId      bigint         NULL,
    LastEnqueuedAt datetime2(3)   NULL,
    UpdatedAt      datetime2(3)   NOT NULL,
    UpdatedBy      nvarchar(128)  NOT NULL,
    CONSTRAINT PK_RecurringJobs PRIMARY KEY CLUSTERED (Name),
    CONSTRAINT CK_RecurringJobs_MissedTicks CHECK (MissedTicks IN ('one', 'all', 'none'))
);

INSERT INTO chokaq.Settings (Name, Value, Unit, MinValue, MaxValue, DefaultValue, Description, UpdatedAt, UpdatedBy)
SELECT s.Name, s.DefaultValue, s.Unit, s.MinValue, s.MaxValue, s.DefaultValue, s.Description, SYSUTCDATETIME(), ORIGINAL_LOGIN()
FROM (VALUES
    (N'Recovery.LateAfter',     'seconds', 10, 2592000, 300, N'Recovery counts as late when ResetFetchedJobs or RescueZombieJobs has not run for this long: Agent is stopped, its jobs are disabled, or they fail.'),
    (N'Retention.JobFailures',  'hours',   0, 876000, 2160,  N'How long the log of failed attempts is kept. 0 keeps it for ever.'),
    (N'Retention.WorkerStops',  'hours',   0, 876000, 2160,  N'How long the record of stops is kept. 0 keeps it for ever.')
) AS s (Name, Unit, MinValue, MaxValue, DefaultValue, Description);

/* Committed with everything above: tells, after a crash, whether this migration has happened. */
INSERT INTO chokaq.SchemaObjects (ObjectName, Checksum, AppliedAt, AppliedBy)
VALUES (N'migrations/000002_operations.up.sql', '', SYSUTCDATETIME(), ORIGINAL_LOGIN());

COMMIT TRANSACTION;
