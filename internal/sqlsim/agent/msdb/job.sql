CREATE PROCEDURE dbo.sp_add_job
    @job_name sysname, @enabled tinyint = 1, @description nvarchar(512) = NULL, @start_step_id int = 1, @category_name sysname = NULL, @category_id int = NULL,
    @owner_login_name sysname = NULL, @notify_level_eventlog int = 2, @notify_level_email int = 0, @notify_level_netsend int = 0, @notify_level_page int = 0,
    @notify_email_operator_name sysname = NULL, @notify_netsend_operator_name sysname = NULL, @notify_page_operator_name sysname = NULL, @delete_level int = 0,
    @job_id uniqueidentifier = NULL OUTPUT, @originating_server sysname = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET @job_name = LTRIM(RTRIM(@job_name));
    IF @notify_email_operator_name IS NOT NULL OR @notify_netsend_operator_name IS NOT NULL OR @notify_page_operator_name IS NOT NULL
        THROW 50000, N'sqlsim does not support operators (@notify_..._operator_name).', 1;
    IF @job_name LIKE N'%[%]%'
        THROW 50000, N'The name of a job cannot have a percent sign.', 1;
    IF EXISTS (SELECT 1 FROM dbo.sysjobs AS j WHERE j.name = @job_name)
    BEGIN
        RAISERROR (14261, -1, -1, '@job_name', @job_name);
        RETURN 1;
    END;
    IF @category_name IS NOT NULL
    BEGIN
        SET @category_id = (SELECT c.category_id FROM dbo.syscategories AS c WHERE c.category_class = 1 AND c.name = @category_name);
        IF @category_id IS NULL
        BEGIN
            RAISERROR (14234, -1, -1, '@category_name', 'sp_help_category');
            RETURN 1;
        END;
    END;
    DECLARE @owner_sid varbinary(85) = SUSER_SID(COALESCE(@owner_login_name, ORIGINAL_LOGIN()));
    IF @owner_sid IS NULL
    BEGIN
        RAISERROR (14234, -1, -1, '@owner_login_name', 'sp_helplogins');
        RETURN 1;
    END;
    IF @job_id IS NULL SET @job_id = NEWID();
    INSERT INTO dbo.sysjobs (job_id, originating_server_id, name, enabled, description, start_step_id, category_id, owner_sid, notify_level_eventlog, notify_level_email,
        notify_level_netsend, notify_level_page, notify_email_operator_id, notify_netsend_operator_id, notify_page_operator_id, delete_level, date_created, date_modified, version_number)
    VALUES (@job_id, 0, @job_name, CASE WHEN @enabled = 0 THEN 0 ELSE 1 END, COALESCE(@description, N'No description available.'), @start_step_id, COALESCE(@category_id, 0), @owner_sid, @notify_level_eventlog,
        @notify_level_email, @notify_level_netsend, @notify_level_page, 0, 0, 0, @delete_level, GETDATE(), GETDATE(), 1);
    RETURN 0;
END;
GO
CREATE PROCEDURE dbo.sp_update_job
    @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @new_name sysname = NULL, @enabled tinyint = NULL, @description nvarchar(512) = NULL, @start_step_id int = NULL,
    @category_name sysname = NULL, @owner_login_name sysname = NULL, @notify_level_eventlog int = NULL, @notify_level_email int = NULL, @notify_level_netsend int = NULL,
    @notify_level_page int = NULL, @notify_email_operator_name sysname = NULL, @notify_netsend_operator_name sysname = NULL, @notify_page_operator_name sysname = NULL,
    @delete_level int = NULL, @automatic_post bit = 1
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @retval int, @category_id int, @owner_sid varbinary(85);
    IF @notify_email_operator_name IS NOT NULL OR @notify_netsend_operator_name IS NOT NULL OR @notify_page_operator_name IS NOT NULL
        THROW 50000, N'sqlsim does not support operators (@notify_..._operator_name).', 1;
    EXEC @retval = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT;
    IF @retval <> 0 RETURN 1;
    IF @new_name IS NOT NULL AND EXISTS (SELECT 1 FROM dbo.sysjobs AS j WHERE j.name = @new_name AND j.job_id <> @job_id)
    BEGIN
        RAISERROR (14261, -1, -1, '@new_name', @new_name);
        RETURN 1;
    END;
    IF @category_name IS NOT NULL
    BEGIN
        SET @category_id = (SELECT c.category_id FROM dbo.syscategories AS c WHERE c.category_class = 1 AND c.name = @category_name);
        IF @category_id IS NULL
        BEGIN
            RAISERROR (14234, -1, -1, '@category_name', 'sp_help_category');
            RETURN 1;
        END;
    END;
    IF @owner_login_name IS NOT NULL
    BEGIN
        SET @owner_sid = SUSER_SID(@owner_login_name);
        IF @owner_sid IS NULL
        BEGIN
            RAISERROR (14234, -1, -1, '@owner_login_name', 'sp_helplogins');
            RETURN 1;
        END;
    END;
    UPDATE dbo.sysjobs
    SET name = COALESCE(@new_name, name), enabled = COALESCE(CASE WHEN @enabled > 0 THEN 1 ELSE @enabled END, enabled), description = COALESCE(@description, description),
        start_step_id = COALESCE(@start_step_id, start_step_id), category_id = COALESCE(@category_id, category_id), owner_sid = COALESCE(@owner_sid, owner_sid),
        notify_level_eventlog = COALESCE(@notify_level_eventlog, notify_level_eventlog), notify_level_email = COALESCE(@notify_level_email, notify_level_email),
        notify_level_netsend = COALESCE(@notify_level_netsend, notify_level_netsend), notify_level_page = COALESCE(@notify_level_page, notify_level_page),
        delete_level = COALESCE(@delete_level, delete_level), date_modified = GETDATE(), version_number = version_number + 1
    WHERE job_id = @job_id;
    RETURN 0;
END;
GO
CREATE PROCEDURE dbo.sp_delete_job
    @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @originating_server sysname = NULL, @delete_history bit = 1, @delete_unused_schedule bit = 1
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @retval int;
    DECLARE @schedules TABLE (schedule_id int NOT NULL PRIMARY KEY);
    EXEC @retval = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT;
    IF @retval <> 0 RETURN 1;
    INSERT INTO @schedules (schedule_id) SELECT s.schedule_id FROM dbo.sysjobschedules AS s WHERE s.job_id = @job_id;
    DELETE FROM dbo.sysjobschedules WHERE job_id = @job_id;
    IF @delete_unused_schedule = 1
        DELETE FROM dbo.sysschedules
        WHERE schedule_id IN (SELECT t.schedule_id FROM @schedules AS t) AND schedule_id NOT IN (SELECT s.schedule_id FROM dbo.sysjobschedules AS s);
    DELETE FROM dbo.sysjobservers WHERE job_id = @job_id;
    DELETE FROM dbo.sysjobactivity WHERE job_id = @job_id;
    DELETE FROM dbo.sysjobsteps WHERE job_id = @job_id;
    DELETE FROM dbo.sysjobs WHERE job_id = @job_id;
    IF @delete_history = 1 DELETE FROM dbo.sysjobhistory WHERE job_id = @job_id;
    RETURN 0;
END;
GO
CREATE PROCEDURE dbo.sp_add_jobserver
    @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @server_name sysname = NULL, @automatic_post bit = 1
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @retval int;
    EXEC @retval = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT;
    IF @retval <> 0 RETURN 1;
    IF UPPER(COALESCE(@server_name, N'(LOCAL)')) NOT IN (N'(LOCAL)', UPPER(@@SERVERNAME))
    BEGIN
        RAISERROR (14262, -1, -1, '@server_name', @server_name);
        RETURN 1;
    END;
    IF EXISTS (SELECT 1 FROM dbo.sysjobservers AS v WHERE v.job_id = @job_id)
    BEGIN
        RAISERROR (14269, -1, -1, @job_name, @server_name);
        RETURN 1;
    END;
    INSERT INTO dbo.sysjobservers (job_id, server_id, last_run_outcome, last_outcome_message, last_run_date, last_run_time, last_run_duration) VALUES (@job_id, 0, 5, NULL, 0, 0, 0);
    RETURN 0;
END;
GO
CREATE PROCEDURE dbo.sp_delete_jobserver
    @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @server_name sysname
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @retval int;
    EXEC @retval = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT;
    IF @retval <> 0 RETURN 1;
    DELETE FROM dbo.sysjobservers WHERE job_id = @job_id;
    RETURN 0;
END;
GO
CREATE PROCEDURE dbo.sp_start_job
    @job_name sysname = NULL, @job_id uniqueidentifier = NULL, @error_flag int = 1, @server_name sysname = NULL, @step_name sysname = NULL, @output_flag int = 1
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @retval int;
    IF @step_name IS NOT NULL
        THROW 50000, N'sqlsim does not support sp_start_job with @step_name.', 1;
    EXEC @retval = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT;
    IF @retval <> 0 RETURN 1;
    IF NOT EXISTS (SELECT 1 FROM dbo.sysjobservers AS v WHERE v.job_id = @job_id)
    BEGIN
        RAISERROR (14256, -1, -1, @job_name);
        RETURN 1;
    END;
    IF EXISTS (SELECT 1 FROM dbo.sysjobactivity AS a WHERE a.job_id = @job_id AND a.run_requested_date IS NOT NULL AND a.stop_execution_date IS NULL)
    BEGIN
        DECLARE @who sysname = ORIGINAL_LOGIN();
        RAISERROR (22022, -1, -1, @job_name, @who);
        RETURN 1;
    END;
    DELETE FROM dbo.sysjobactivity WHERE job_id = @job_id;
    INSERT INTO dbo.sysjobactivity (session_id, job_id, run_requested_date, run_requested_source)
    SELECT COALESCE(MAX(s.session_id), 0), @job_id, GETDATE(), N'4' FROM dbo.syssessions AS s;
    IF @output_flag = 1 PRINT CONCAT(N'Job ''', @job_name, N''' started successfully.');
    RETURN 0;
END;
GO
CREATE PROCEDURE dbo.sp_stop_job
    @job_name sysname = NULL, @job_id uniqueidentifier = NULL, @originating_server sysname = NULL, @server_name sysname = NULL
AS
    THROW 50000, N'sqlsim does not support sp_stop_job.', 1;
GO
CREATE PROCEDURE dbo.sp_purge_jobhistory
    @job_name sysname = NULL, @job_id uniqueidentifier = NULL, @oldest_date datetime = NULL
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @retval int;
    IF @job_name IS NOT NULL OR @job_id IS NOT NULL
    BEGIN
        EXEC @retval = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT;
        IF @retval <> 0 RETURN 1;
    END;
    DELETE FROM dbo.sysjobhistory
    WHERE (@job_id IS NULL OR job_id = @job_id) AND (@oldest_date IS NULL OR dbo.agent_datetime(run_date, run_time) < @oldest_date);
    RETURN 0;
END;
GO
CREATE PROCEDURE dbo.sp_help_job
    @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @enabled tinyint = NULL
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @retval int;
    IF @job_name IS NOT NULL OR @job_id IS NOT NULL
    BEGIN
        EXEC @retval = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT;
        IF @retval <> 0 RETURN 1;
    END;
    SELECT j.job_id, @@SERVERNAME AS originating_server, j.name, j.enabled, j.description, j.start_step_id, c.name AS category, SUSER_SNAME(j.owner_sid) AS owner,
           j.notify_level_eventlog, j.notify_level_email, j.notify_level_netsend, j.notify_level_page, j.delete_level, j.date_created, j.date_modified, j.version_number,
           COALESCE(v.last_run_date, 0) AS last_run_date, COALESCE(v.last_run_time, 0) AS last_run_time, COALESCE(v.last_run_outcome, 5) AS last_run_outcome,
           COALESCE((SELECT MIN(s.next_run_date) FROM dbo.sysjobschedules AS s WHERE s.job_id = j.job_id), 0) AS next_run_date,
           COALESCE((SELECT MIN(s.next_run_time) FROM dbo.sysjobschedules AS s WHERE s.job_id = j.job_id), 0) AS next_run_time,
           CASE WHEN EXISTS (SELECT 1 FROM dbo.sysjobactivity AS a WHERE a.job_id = j.job_id AND a.start_execution_date IS NOT NULL AND a.stop_execution_date IS NULL) THEN 1 ELSE 4 END AS current_execution_status,
           (SELECT COUNT(*) FROM dbo.sysjobsteps AS p WHERE p.job_id = j.job_id) AS has_step,
           (SELECT COUNT(*) FROM dbo.sysjobschedules AS s WHERE s.job_id = j.job_id) AS has_schedule
    FROM dbo.sysjobs AS j
    LEFT JOIN dbo.syscategories AS c ON c.category_id = j.category_id
    LEFT JOIN dbo.sysjobservers AS v ON v.job_id = j.job_id
    WHERE (@job_id IS NULL OR j.job_id = @job_id) AND (@enabled IS NULL OR j.enabled = @enabled)
    ORDER BY j.name;
    RETURN 0;
END;
