/*
ChokaQ: removes the SQL Server Agent jobs that install.sql made for this database, with their schedules and history, and category ChokaQ when no
job is left in it. Run it in the queue's database, as a member of sysadmin. Running it again changes nothing; what a procedure of msdb refuses ends it (51020), with the jobs as they were.

Without these jobs (and without recovery from a worker) nothing resets abandoned Fetched jobs and nothing rescues zombies.
*/
SET NOCOUNT ON;
SET XACT_ABORT ON;

IF CONVERT(int, SERVERPROPERTY('EngineEdition')) IN (4, 5, 6, 11)
    THROW 51017, N'This edition has no SQL Server Agent: there is nothing to uninstall. Nothing was changed.', 1;

DECLARE @Database sysname = DB_NAME(), @JobName sysname = N'', @Removed int = 0, @Failed int = 0;

BEGIN TRANSACTION;

WHILE 1 = 1
BEGIN
    SET @JobName = (SELECT MIN(j.name)
                    FROM msdb.dbo.sysjobs AS j
                    WHERE j.name IN (N'ChokaQ reset fetched jobs (' + @Database + N')',
                                     N'ChokaQ rescue zombie jobs (' + @Database + N')',
                                     N'ChokaQ purge history (' + @Database + N')'));
    IF @JobName IS NULL BREAK;

    EXEC @Failed = msdb.dbo.sp_delete_job @job_name = @JobName, @delete_unused_schedule = 1;
    /* It says what is wrong by RAISERROR and returns 1, and XACT_ABORT does not see that. */
    IF @Failed <> 0
        THROW 51020, N'msdb.dbo.sp_delete_job has refused to remove an Agent job of ChokaQ: the error before this one says why. Run this script as a member of sysadmin. Nothing was changed.', 1;
    SET @Removed = @Removed + 1;
    PRINT CONCAT(N'Agent job "', @JobName, N'" is removed.');
END;

IF EXISTS (SELECT 1 FROM msdb.dbo.syscategories AS c WHERE c.name = N'ChokaQ' AND c.category_class = 1)
   AND NOT EXISTS (SELECT 1
                   FROM msdb.dbo.sysjobs AS j
                   INNER JOIN msdb.dbo.syscategories AS c ON c.category_id = j.category_id
                   WHERE c.name = N'ChokaQ' AND c.category_class = 1)
    EXEC @Failed = msdb.dbo.sp_delete_category @class = 'JOB', @name = N'ChokaQ';
IF @Failed <> 0
    THROW 51020, N'msdb.dbo.sp_delete_category has refused to remove category ChokaQ: the error before this one says why. Run this script as a member of sysadmin. Nothing was changed.', 1;

COMMIT TRANSACTION;

IF @Removed = 0
    PRINT CONCAT(N'There are no Agent jobs of ChokaQ for database "', @Database, N'"; nothing was changed.');
