/*
ChokaQ: back to the tables of schema version 1. Recurring jobs, the record of stops and the log of failed attempts are removed with
all that is in them; jobs stay. Stop the workers first: those of version 2 cannot work without it.

The objects that need these tables go with them. Apply the version that fits (an older chokaq-worker migrate up) afterwards.
*/
SET NOCOUNT ON;
SET XACT_ABORT ON;

BEGIN TRANSACTION;

DECLARE @Drop nvarchar(max);

SELECT @Drop = STRING_AGG(CONVERT(nvarchar(max), N'DROP ')
                        + CASE o.type WHEN 'P' THEN N'PROCEDURE' WHEN 'V' THEN N'VIEW' ELSE N'FUNCTION' END
                        + N' chokaq.' + QUOTENAME(o.name) + N';', N' ')
FROM sys.objects AS o
WHERE o.schema_id = SCHEMA_ID(N'chokaq') AND o.type IN ('P', 'V', 'IF');

IF @Drop IS NOT NULL
    EXEC sys.sp_executesql @Drop;

/* Without these marks the older version applies its own objects again. */
DELETE FROM chokaq.SchemaObjects WHERE ObjectName NOT LIKE N'migrations/%' OR ObjectName = N'migrations/000002_operations.up.sql';
DELETE FROM chokaq.Settings WHERE Name IN (N'Recovery.LateAfter', N'Retention.JobFailures', N'Retention.WorkerStops');

DROP TABLE IF EXISTS chokaq.RecurringJobs;
DROP TABLE IF EXISTS chokaq.WorkerStops;
DROP TABLE IF EXISTS chokaq.JobFailures;

DROP INDEX IF EXISTS IX_Jobs_PendingByType ON chokaq.Jobs;
DROP INDEX IF EXISTS IX_Jobs_Pending ON chokaq.Jobs;
CREATE NONCLUSTERED INDEX IX_Jobs_Pending ON chokaq.Jobs (Queue, Priority DESC, DueAt, JobId)
    WHERE State = 0 WITH (ALLOW_PAGE_LOCKS = OFF);

IF COL_LENGTH(N'chokaq.Workers', N'JobTypes') IS NOT NULL
    ALTER TABLE chokaq.Workers DROP COLUMN JobTypes, HandlersWanted;

COMMIT TRANSACTION;
