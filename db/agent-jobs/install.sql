/*
ChokaQ: SQL Server Agent jobs for recovery. Run it in the queue's database, as a member of sysadmin (or of
SQLAgentOperatorRole in msdb, with an owner that you may assign). Running it again updates the jobs in place: their ids and their history stay.
What a procedure of msdb refuses ends it (51020), with the jobs as they were.

  ChokaQ reset fetched jobs (<database>)    EXEC chokaq.ResetFetchedJobs   every 15 seconds
  ChokaQ rescue zombie jobs (<database>)    EXEC chokaq.RescueZombieJobs   every 15 seconds
  ChokaQ purge history (<database>)         EXEC chokaq.PurgeHistory       every 60 minutes

How stale a row must be is not said here: that is in chokaq.Settings (EXEC chokaq.SetSetting).
To change how often they run, set any of these before running this script, in the same session:
    EXEC sys.sp_set_session_context N'chokaq.ResetEverySeconds', 30;    -- 10 to 3600
    EXEC sys.sp_set_session_context N'chokaq.RescueEverySeconds', 30;   -- 10 to 3600
    EXEC sys.sp_set_session_context N'chokaq.PurgeEveryMinutes', 120;   -- 1 to 1440

Each job has two steps. The first runs in master and quits the job with success where this server holds a
secondary replica of the database: in an availability group, install the jobs on every replica, and they work
on the one that is primary. The second step runs the procedure in the queue's database. A run that fails is not retried by Agent: the
next one comes soon enough; purging is tried twice more, 5 minutes apart.

Job history: the two frequent jobs write three rows a run to msdb.dbo.sysjobhistory, up to Agent's own limit (100 rows a job by
default). chokaq.RecoveryStatus keeps its own record of every run.
*/
SET NOCOUNT ON;
SET XACT_ABORT ON;
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;

IF CONVERT(int, SERVERPROPERTY('EngineEdition')) IN (4, 5, 6, 11)
    THROW 51017, N'This edition has no SQL Server Agent. Run recovery from the worker instead (CHOKAQ_RECOVERY_ENABLED=true), or chokaq-worker recover from a scheduler of your own. Nothing was changed.', 1;
IF OBJECT_ID(N'chokaq.ResetFetchedJobs', N'P') IS NULL
    THROW 51018, N'There is no procedure chokaq.ResetFetchedJobs in this database: run this script in the queue''s database, after chokaq-worker migrate up. Nothing was changed.', 1;

DECLARE @Database sysname = DB_NAME(),
        @Owner sysname = SUSER_SNAME(0x01),  -- sa, whatever its name here
        @ResetSeconds int = COALESCE(CONVERT(int, SESSION_CONTEXT(N'chokaq.ResetEverySeconds')), 15),
        @RescueSeconds int = COALESCE(CONVERT(int, SESSION_CONTEXT(N'chokaq.RescueEverySeconds')), 15),
        @PurgeMinutes int = COALESCE(CONVERT(int, SESSION_CONTEXT(N'chokaq.PurgeEveryMinutes')), 60);

IF @ResetSeconds NOT BETWEEN 10 AND 3600 OR @RescueSeconds NOT BETWEEN 10 AND 3600 OR @PurgeMinutes NOT BETWEEN 1 AND 1440
    THROW 51003, N'chokaq.ResetEverySeconds and chokaq.RescueEverySeconds must be 10 to 3600, chokaq.PurgeEveryMinutes 1 to 1440. Nothing was changed.', 1;

DECLARE @Wanted TABLE
(
    Place          int NOT NULL PRIMARY KEY,
    JobName        sysname NOT NULL,
    Description    nvarchar(512) NOT NULL,
    Command        nvarchar(400) NOT NULL,
    ScheduleName   sysname NOT NULL,
    SubdayType     int NOT NULL,  -- 2 seconds, 4 minutes
    SubdayInterval int NOT NULL,
    RetryAttempts  int NOT NULL,
    RetryInterval  int NOT NULL   -- minutes
);

INSERT INTO @Wanted (Place, JobName, Description, Command, ScheduleName, SubdayType, SubdayInterval, RetryAttempts, RetryInterval)
VALUES
    (1, N'ChokaQ reset fetched jobs (' + @Database + N')',
     N'Puts jobs that a worker had prefetched and abandoned back to Pending. No user code has run for them. Timeout: setting Recovery.FetchedJobTimeout.',
     N'EXEC chokaq.ResetFetchedJobs;', N'ChokaQ reset fetched jobs (' + @Database + N')', 2, @ResetSeconds, 0, 0),
    (2, N'ChokaQ rescue zombie jobs (' + @Database + N')',
     N'Moves jobs whose worker lost its heartbeat while they ran to the dead-letter queue, for review. Timeout: setting Recovery.ProcessingZombieTimeout.',
     N'EXEC chokaq.RescueZombieJobs;', N'ChokaQ rescue zombie jobs (' + @Database + N')', 2, @RescueSeconds, 0, 0),
    (3, N'ChokaQ purge history (' + @Database + N')',
     N'Removes archived jobs, dead jobs and run logs that are older than the settings Retention.*, in small batches.',
     N'EXEC chokaq.PurgeHistory;', N'ChokaQ purge history (' + @Database + N')', 4, @PurgeMinutes, 2, 5);

DECLARE @QuitOnSecondary nvarchar(1000) = CONCAT(
    N'IF EXISTS (SELECT 1 FROM sys.databases WHERE name = N''', REPLACE(@Database, N'''', N''''''), N''' AND replica_id IS NOT NULL)',
    N' AND COALESCE(sys.fn_hadr_is_primary_replica(N''', REPLACE(@Database, N'''', N''''''), N'''), 0) = 0',
    N' THROW 51015, N''This server holds a secondary replica of the database: nothing to do here.'', 1;');

DECLARE @Place int = 0, @JobName sysname, @Description nvarchar(512), @Command nvarchar(400), @ScheduleName sysname, @SubdayType int,
        @SubdayInterval int, @RetryAttempts int, @RetryInterval int, @JobId uniqueidentifier, @ScheduleId int, @Failed int = 0;

BEGIN TRANSACTION;

IF NOT EXISTS (SELECT 1 FROM msdb.dbo.syscategories AS c WHERE c.name = N'ChokaQ' AND c.category_class = 1)
    EXEC @Failed = msdb.dbo.sp_add_category @class = 'JOB', @type = 'LOCAL', @name = N'ChokaQ';
/* The procedures of msdb say what is wrong by RAISERROR and return 1, and XACT_ABORT does not see that. */
IF @Failed <> 0
    THROW 51020, N'A procedure of msdb has refused to install an Agent job of ChokaQ: the error before this one says why. Run this script as a member of sysadmin. Nothing was changed.', 1;

WHILE 1 = 1
BEGIN
    SELECT TOP (1) @Place = w.Place, @JobName = w.JobName, @Description = w.Description, @Command = w.Command, @ScheduleName = w.ScheduleName,
           @SubdayType = w.SubdayType, @SubdayInterval = w.SubdayInterval, @RetryAttempts = w.RetryAttempts, @RetryInterval = w.RetryInterval
    FROM @Wanted AS w
    WHERE w.Place > @Place
    ORDER BY w.Place;
    IF @@ROWCOUNT = 0 BREAK;

    SET @JobId = (SELECT j.job_id FROM msdb.dbo.sysjobs AS j WHERE j.name = @JobName);

    IF @JobId IS NULL
        EXEC @Failed = msdb.dbo.sp_add_job @job_name = @JobName, @enabled = 1, @description = @Description, @category_name = N'ChokaQ',
             @owner_login_name = @Owner, @notify_level_eventlog = 2, @job_id = @JobId OUTPUT;
    ELSE
        EXEC @Failed = msdb.dbo.sp_update_job @job_id = @JobId, @enabled = 1, @description = @Description, @category_name = N'ChokaQ',
             @owner_login_name = @Owner, @notify_level_eventlog = 2;
    IF @Failed <> 0
        THROW 51020, N'A procedure of msdb has refused to install an Agent job of ChokaQ: the error before this one says why. Run this script as a member of sysadmin. Nothing was changed.', 1;

    /* on_fail_action 1: quit with success. on_success_action 3: go to the next step. */
    IF NOT EXISTS (SELECT 1 FROM msdb.dbo.sysjobsteps AS s WHERE s.job_id = @JobId AND s.step_id = 1)
        EXEC @Failed = msdb.dbo.sp_add_jobstep @job_id = @JobId, @step_id = 1, @step_name = N'Quit on a secondary replica', @subsystem = N'TSQL',
             @database_name = N'master', @command = @QuitOnSecondary, @on_success_action = 3, @on_fail_action = 1;
    ELSE
        EXEC @Failed = msdb.dbo.sp_update_jobstep @job_id = @JobId, @step_id = 1, @step_name = N'Quit on a secondary replica', @subsystem = N'TSQL',
             @database_name = N'master', @command = @QuitOnSecondary, @on_success_action = 3, @on_fail_action = 1;
    IF @Failed <> 0
        THROW 51020, N'A procedure of msdb has refused to install an Agent job of ChokaQ: the error before this one says why. Run this script as a member of sysadmin. Nothing was changed.', 1;

    IF NOT EXISTS (SELECT 1 FROM msdb.dbo.sysjobsteps AS s WHERE s.job_id = @JobId AND s.step_id = 2)
        EXEC @Failed = msdb.dbo.sp_add_jobstep @job_id = @JobId, @step_id = 2, @step_name = N'Run the procedure', @subsystem = N'TSQL',
             @database_name = @Database, @command = @Command, @on_success_action = 1, @on_fail_action = 2,
             @retry_attempts = @RetryAttempts, @retry_interval = @RetryInterval;
    ELSE
        EXEC @Failed = msdb.dbo.sp_update_jobstep @job_id = @JobId, @step_id = 2, @step_name = N'Run the procedure', @subsystem = N'TSQL',
             @database_name = @Database, @command = @Command, @on_success_action = 1, @on_fail_action = 2,
             @retry_attempts = @RetryAttempts, @retry_interval = @RetryInterval;
    IF @Failed <> 0
        THROW 51020, N'A procedure of msdb has refused to install an Agent job of ChokaQ: the error before this one says why. Run this script as a member of sysadmin. Nothing was changed.', 1;

    EXEC @Failed = msdb.dbo.sp_update_job @job_id = @JobId, @start_step_id = 1;
    IF @Failed <> 0
        THROW 51020, N'A procedure of msdb has refused to install an Agent job of ChokaQ: the error before this one says why. Run this script as a member of sysadmin. Nothing was changed.', 1;

    SET @ScheduleId = (SELECT MIN(s.schedule_id)
                       FROM msdb.dbo.sysschedules AS s
                       INNER JOIN msdb.dbo.sysjobschedules AS js ON js.schedule_id = s.schedule_id
                       WHERE js.job_id = @JobId AND s.name = @ScheduleName);

    IF @ScheduleId IS NULL
        EXEC @Failed = msdb.dbo.sp_add_jobschedule @job_id = @JobId, @name = @ScheduleName, @enabled = 1, @freq_type = 4, @freq_interval = 1,
             @freq_subday_type = @SubdayType, @freq_subday_interval = @SubdayInterval;
    ELSE
        EXEC @Failed = msdb.dbo.sp_update_schedule @schedule_id = @ScheduleId, @enabled = 1, @freq_type = 4, @freq_interval = 1,
             @freq_subday_type = @SubdayType, @freq_subday_interval = @SubdayInterval;
    IF @Failed <> 0
        THROW 51020, N'A procedure of msdb has refused to install an Agent job of ChokaQ: the error before this one says why. Run this script as a member of sysadmin. Nothing was changed.', 1;

    IF NOT EXISTS (SELECT 1 FROM msdb.dbo.sysjobservers AS v WHERE v.job_id = @JobId)
        EXEC @Failed = msdb.dbo.sp_add_jobserver @job_id = @JobId, @server_name = N'(local)';
    IF @Failed <> 0
        THROW 51020, N'A procedure of msdb has refused to install an Agent job of ChokaQ: the error before this one says why. Run this script as a member of sysadmin. Nothing was changed.', 1;

    PRINT CONCAT(N'Agent job "', @JobName, N'" is installed: every ', @SubdayInterval, CASE @SubdayType WHEN 2 THEN N' seconds.' ELSE N' minutes.' END);
END;

COMMIT TRANSACTION;
