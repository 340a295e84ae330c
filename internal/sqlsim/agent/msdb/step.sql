CREATE PROCEDURE dbo.sp_add_jobstep
    @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @step_id int = NULL, @step_name sysname, @subsystem nvarchar(40) = N'TSQL', @command nvarchar(max) = NULL,
    @additional_parameters nvarchar(max) = NULL, @cmdexec_success_code int = 0, @on_success_action tinyint = 1, @on_success_step_id int = 0, @on_fail_action tinyint = 2,
    @on_fail_step_id int = 0, @server sysname = NULL, @database_name sysname = NULL, @database_user_name sysname = NULL, @retry_attempts int = 0, @retry_interval int = 0,
    @os_run_priority int = 0, @output_file_name nvarchar(200) = NULL, @flags int = 0, @proxy_id int = NULL, @proxy_name sysname = NULL, @step_uid uniqueidentifier = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @retval int, @last_step int;
    EXEC @retval = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT;
    IF @retval <> 0 RETURN 1;
    IF UPPER(@subsystem) <> N'TSQL' OR @database_user_name IS NOT NULL OR @output_file_name IS NOT NULL OR @proxy_id IS NOT NULL OR @proxy_name IS NOT NULL
        THROW 50000, N'sqlsim supports job steps of subsystem TSQL only, with no @database_user_name, @output_file_name or proxy.', 1;
    IF @command LIKE N'%$(%'
        THROW 50000, N'sqlsim does not support tokens in job steps, $(...).', 1;
    IF @database_name LIKE N'[[]%]'
    BEGIN
        RAISERROR (14262, -1, -1, '@database_name', @database_name);
        RETURN 1;
    END;
    IF @on_success_action NOT BETWEEN 1 AND 4
    BEGIN
        RAISERROR (14266, -1, -1, '@on_success_action', '1, 2, 3, 4');
        RETURN 1;
    END;
    IF @on_fail_action NOT BETWEEN 1 AND 4
    BEGIN
        RAISERROR (14266, -1, -1, '@on_fail_action', '1, 2, 3, 4');
        RETURN 1;
    END;
    SET @last_step = COALESCE((SELECT MAX(s.step_id) FROM dbo.sysjobsteps AS s WHERE s.job_id = @job_id), 0);
    IF @step_id IS NULL SET @step_id = @last_step + 1;
    IF @step_id < 1 OR @step_id > @last_step + 1
    BEGIN
        DECLARE @valid varchar(40) = CONCAT('1..', @last_step + 1);
        RAISERROR (14266, -1, -1, '@step_id', @valid);
        RETURN 1;
    END;
    IF EXISTS (SELECT 1 FROM dbo.sysjobsteps AS s WHERE s.job_id = @job_id AND s.step_name = @step_name)
    BEGIN
        RAISERROR (14261, -1, -1, '@step_name', @step_name);
        RETURN 1;
    END;
    UPDATE dbo.sysjobsteps SET step_id = step_id + 1 WHERE job_id = @job_id AND step_id >= @step_id;
    SET @step_uid = NEWID();
    INSERT INTO dbo.sysjobsteps (job_id, step_id, step_name, subsystem, command, flags, additional_parameters, cmdexec_success_code, on_success_action, on_success_step_id,
        on_fail_action, on_fail_step_id, server, database_name, database_user_name, retry_attempts, retry_interval, os_run_priority, output_file_name,
        last_run_outcome, last_run_duration, last_run_retries, last_run_date, last_run_time, proxy_id, step_uid)
    VALUES (@job_id, @step_id, @step_name, UPPER(@subsystem), @command, @flags, @additional_parameters, @cmdexec_success_code, @on_success_action, @on_success_step_id,
        @on_fail_action, @on_fail_step_id, @server, COALESCE(@database_name, N'master'), NULL, @retry_attempts, @retry_interval, @os_run_priority, NULL, 0, 0, 0, 0, 0, NULL, @step_uid);
    UPDATE dbo.sysjobs SET date_modified = GETDATE(), version_number = version_number + 1 WHERE job_id = @job_id;
    RETURN 0;
END;
GO
CREATE PROCEDURE dbo.sp_update_jobstep
    @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @step_id int, @step_name sysname = NULL, @subsystem nvarchar(40) = NULL, @command nvarchar(max) = NULL,
    @additional_parameters nvarchar(max) = NULL, @cmdexec_success_code int = NULL, @on_success_action tinyint = NULL, @on_success_step_id int = NULL, @on_fail_action tinyint = NULL,
    @on_fail_step_id int = NULL, @server sysname = NULL, @database_name sysname = NULL, @database_user_name sysname = NULL, @retry_attempts int = NULL, @retry_interval int = NULL,
    @os_run_priority int = NULL, @output_file_name nvarchar(200) = NULL, @flags int = NULL, @proxy_id int = NULL, @proxy_name sysname = NULL
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @retval int;
    EXEC @retval = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT;
    IF @retval <> 0 RETURN 1;
    IF UPPER(@subsystem) <> N'TSQL' OR @database_user_name IS NOT NULL OR @output_file_name IS NOT NULL OR @proxy_id IS NOT NULL OR @proxy_name IS NOT NULL
        THROW 50000, N'sqlsim supports job steps of subsystem TSQL only, with no @database_user_name, @output_file_name or proxy.', 1;
    IF @command LIKE N'%$(%'
        THROW 50000, N'sqlsim does not support tokens in job steps, $(...).', 1;
    IF @database_name LIKE N'[[]%]'
    BEGIN
        RAISERROR (14262, -1, -1, '@database_name', @database_name);
        RETURN 1;
    END;
    IF NOT EXISTS (SELECT 1 FROM dbo.sysjobsteps AS s WHERE s.job_id = @job_id AND s.step_id = @step_id)
    BEGIN
        DECLARE @given nvarchar(20) = CONVERT(nvarchar(20), @step_id);
        RAISERROR (14262, -1, -1, '@step_id', @given);
        RETURN 1;
    END;
    UPDATE dbo.sysjobsteps
    SET step_name = COALESCE(@step_name, step_name), command = COALESCE(@command, command), flags = COALESCE(@flags, flags), on_success_action = COALESCE(@on_success_action, on_success_action),
        on_success_step_id = COALESCE(@on_success_step_id, on_success_step_id), on_fail_action = COALESCE(@on_fail_action, on_fail_action), on_fail_step_id = COALESCE(@on_fail_step_id, on_fail_step_id),
        database_name = COALESCE(@database_name, database_name), retry_attempts = COALESCE(@retry_attempts, retry_attempts), retry_interval = COALESCE(@retry_interval, retry_interval)
    WHERE job_id = @job_id AND step_id = @step_id;
    UPDATE dbo.sysjobs SET date_modified = GETDATE(), version_number = version_number + 1 WHERE job_id = @job_id;
    RETURN 0;
END;
GO
CREATE PROCEDURE dbo.sp_delete_jobstep
    @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @step_id int
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @retval int;
    EXEC @retval = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT;
    IF @retval <> 0 RETURN 1;
    /* Step 0 stands for all steps. */
    DELETE FROM dbo.sysjobsteps WHERE job_id = @job_id AND (@step_id = 0 OR step_id = @step_id);
    IF @step_id > 0 UPDATE dbo.sysjobsteps SET step_id = step_id - 1 WHERE job_id = @job_id AND step_id > @step_id;
    UPDATE dbo.sysjobs SET date_modified = GETDATE(), version_number = version_number + 1 WHERE job_id = @job_id;
    RETURN 0;
END;
