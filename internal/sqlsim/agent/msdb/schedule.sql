CREATE PROCEDURE dbo.sp_add_schedule
    @schedule_name sysname, @enabled tinyint = 1, @freq_type int = 0, @freq_interval int = 0, @freq_subday_type int = 0, @freq_subday_interval int = 0, @freq_relative_interval int = 0,
    @freq_recurrence_factor int = 0, @active_start_date int = NULL, @active_end_date int = 99991231, @active_start_time int = 0, @active_end_time int = 235959,
    @owner_login_name sysname = NULL, @schedule_uid uniqueidentifier = NULL OUTPUT, @schedule_id int = NULL OUTPUT, @originating_server sysname = NULL
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @retval int, @owner_sid varbinary(85) = SUSER_SID(COALESCE(@owner_login_name, ORIGINAL_LOGIN()));
    IF @owner_sid IS NULL
    BEGIN
        RAISERROR (14234, -1, -1, '@owner_login_name', 'sp_helplogins');
        RETURN 1;
    END;
    IF @freq_type IN (4, 8) AND @freq_subday_type = 0 SET @freq_subday_type = 1;
    EXEC @retval = dbo.sp_verify_schedule @freq_type, @freq_interval, @freq_subday_type, @freq_subday_interval, @active_start_time, @active_end_time, @active_start_date;
    IF @retval <> 0 RETURN 1;
    IF @active_start_date IS NULL SET @active_start_date = CONVERT(int, CONVERT(varchar(8), GETDATE(), 112));
    SET @schedule_uid = NEWID();
    INSERT INTO dbo.sysschedules (schedule_uid, originating_server_id, name, owner_sid, enabled, freq_type, freq_interval, freq_subday_type, freq_subday_interval, freq_relative_interval,
        freq_recurrence_factor, active_start_date, active_end_date, active_start_time, active_end_time, date_created, date_modified, version_number)
    VALUES (@schedule_uid, 0, @schedule_name, @owner_sid, @enabled, @freq_type, @freq_interval, @freq_subday_type, @freq_subday_interval, @freq_relative_interval,
        @freq_recurrence_factor, @active_start_date, @active_end_date, @active_start_time, @active_end_time, GETDATE(), GETDATE(), 1);
    SET @schedule_id = SCOPE_IDENTITY();
    RETURN 0;
END;
GO
CREATE PROCEDURE dbo.sp_update_schedule
    @schedule_id int = NULL, @name sysname = NULL, @new_name sysname = NULL, @enabled tinyint = NULL, @freq_type int = NULL, @freq_interval int = NULL, @freq_subday_type int = NULL,
    @freq_subday_interval int = NULL, @freq_relative_interval int = NULL, @freq_recurrence_factor int = NULL, @active_start_date int = NULL, @active_end_date int = NULL,
    @active_start_time int = NULL, @active_end_time int = NULL, @owner_login_name sysname = NULL, @automatic_post bit = 1
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @retval int, @t int, @i int, @st int, @si int, @from int, @to int, @owner_sid varbinary(85);
    EXEC @retval = dbo.sp_verify_schedule_identifiers '@name', '@schedule_id', @name OUTPUT, @schedule_id OUTPUT;
    IF @retval <> 0 RETURN 1;
    IF @owner_login_name IS NOT NULL
    BEGIN
        SET @owner_sid = SUSER_SID(@owner_login_name);
        IF @owner_sid IS NULL
        BEGIN
            RAISERROR (14234, -1, -1, '@owner_login_name', 'sp_helplogins');
            RETURN 1;
        END;
    END;
    SELECT @t = COALESCE(@freq_type, s.freq_type), @i = COALESCE(@freq_interval, s.freq_interval), @st = COALESCE(@freq_subday_type, s.freq_subday_type),
           @si = COALESCE(@freq_subday_interval, s.freq_subday_interval), @from = COALESCE(@active_start_time, s.active_start_time), @to = COALESCE(@active_end_time, s.active_end_time)
    FROM dbo.sysschedules AS s WHERE s.schedule_id = @schedule_id;
    EXEC @retval = dbo.sp_verify_schedule @t, @i, @st, @si, @from, @to, @active_start_date;
    IF @retval <> 0 RETURN 1;
    UPDATE dbo.sysschedules
    SET name = COALESCE(@new_name, name), enabled = COALESCE(@enabled, enabled), freq_type = @t, freq_interval = @i, freq_subday_type = @st, freq_subday_interval = @si,
        freq_relative_interval = COALESCE(@freq_relative_interval, freq_relative_interval), freq_recurrence_factor = COALESCE(@freq_recurrence_factor, freq_recurrence_factor),
        active_start_date = COALESCE(@active_start_date, active_start_date), active_end_date = COALESCE(@active_end_date, active_end_date), active_start_time = @from, active_end_time = @to,
        owner_sid = COALESCE(@owner_sid, owner_sid), date_modified = GETDATE(), version_number = version_number + 1
    WHERE schedule_id = @schedule_id;
    RETURN 0;
END;
GO
CREATE PROCEDURE dbo.sp_delete_schedule
    @schedule_id int = NULL, @schedule_name sysname = NULL, @force_delete bit = 0, @automatic_post bit = 1
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @retval int;
    EXEC @retval = dbo.sp_verify_schedule_identifiers '@schedule_name', '@schedule_id', @schedule_name OUTPUT, @schedule_id OUTPUT;
    IF @retval <> 0 RETURN 1;
    IF @force_delete = 0 AND EXISTS (SELECT 1 FROM dbo.sysjobschedules AS s WHERE s.schedule_id = @schedule_id)
    BEGIN
        RAISERROR (14372, -1, -1);
        RETURN 1;
    END;
    DELETE FROM dbo.sysjobschedules WHERE schedule_id = @schedule_id;
    DELETE FROM dbo.sysschedules WHERE schedule_id = @schedule_id;
    RETURN 0;
END;
GO
CREATE PROCEDURE dbo.sp_attach_schedule
    @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @schedule_id int = NULL, @schedule_name sysname = NULL, @automatic_post bit = 1
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @retval int;
    EXEC @retval = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT;
    IF @retval <> 0 RETURN 1;
    EXEC @retval = dbo.sp_verify_schedule_identifiers '@schedule_name', '@schedule_id', @schedule_name OUTPUT, @schedule_id OUTPUT;
    IF @retval <> 0 RETURN 1;
    INSERT INTO dbo.sysjobschedules (schedule_id, job_id, next_run_date, next_run_time)
    SELECT @schedule_id, @job_id, 0, 0
    WHERE NOT EXISTS (SELECT 1 FROM dbo.sysjobschedules AS s WHERE s.job_id = @job_id AND s.schedule_id = @schedule_id);
    RETURN 0;
END;
GO
CREATE PROCEDURE dbo.sp_detach_schedule
    @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @schedule_id int = NULL, @schedule_name sysname = NULL, @delete_unused_schedule bit = 0, @automatic_post bit = 1
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @retval int;
    EXEC @retval = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT;
    IF @retval <> 0 RETURN 1;
    EXEC @retval = dbo.sp_verify_schedule_identifiers '@schedule_name', '@schedule_id', @schedule_name OUTPUT, @schedule_id OUTPUT;
    IF @retval <> 0 RETURN 1;
    DELETE FROM dbo.sysjobschedules WHERE job_id = @job_id AND schedule_id = @schedule_id;
    IF @@ROWCOUNT = 0
    BEGIN
        RAISERROR (14374, -1, -1, @schedule_name, @job_name);
        RETURN 1;
    END;
    IF @delete_unused_schedule = 1 AND NOT EXISTS (SELECT 1 FROM dbo.sysjobschedules AS s WHERE s.schedule_id = @schedule_id)
        DELETE FROM dbo.sysschedules WHERE schedule_id = @schedule_id;
    RETURN 0;
END;
GO
CREATE PROCEDURE dbo.sp_add_jobschedule
    @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @name sysname, @enabled tinyint = 1, @freq_type int = 1, @freq_interval int = 0, @freq_subday_type int = 0,
    @freq_subday_interval int = 0, @freq_relative_interval int = 0, @freq_recurrence_factor int = 0, @active_start_date int = NULL, @active_end_date int = 99991231,
    @active_start_time int = 0, @active_end_time int = 235959, @schedule_id int = NULL OUTPUT, @automatic_post bit = 1, @schedule_uid uniqueidentifier = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @retval int;
    EXEC @retval = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT;
    IF @retval <> 0 RETURN 1;
    EXEC @retval = dbo.sp_add_schedule @schedule_name = @name, @enabled = @enabled, @freq_type = @freq_type, @freq_interval = @freq_interval, @freq_subday_type = @freq_subday_type,
         @freq_subday_interval = @freq_subday_interval, @freq_relative_interval = @freq_relative_interval, @freq_recurrence_factor = @freq_recurrence_factor,
         @active_start_date = @active_start_date, @active_end_date = @active_end_date, @active_start_time = @active_start_time, @active_end_time = @active_end_time,
         @schedule_uid = @schedule_uid OUTPUT, @schedule_id = @schedule_id OUTPUT;
    IF @retval <> 0 RETURN 1;
    EXEC @retval = dbo.sp_attach_schedule @job_id = @job_id, @schedule_id = @schedule_id;
    RETURN @retval;
END;
GO
CREATE PROCEDURE dbo.sp_delete_jobschedule
    @job_id uniqueidentifier = NULL, @job_name sysname = NULL, @name sysname
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @retval int, @schedule_id int;
    EXEC @retval = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name OUTPUT, @job_id OUTPUT;
    IF @retval <> 0 RETURN 1;
    SET @schedule_id = (SELECT MIN(s.schedule_id) FROM dbo.sysschedules AS s INNER JOIN dbo.sysjobschedules AS js ON js.schedule_id = s.schedule_id WHERE js.job_id = @job_id AND s.name = @name);
    IF @schedule_id IS NULL
    BEGIN
        RAISERROR (14262, -1, -1, '@name', @name);
        RETURN 1;
    END;
    EXEC @retval = dbo.sp_detach_schedule @job_id = @job_id, @schedule_id = @schedule_id, @delete_unused_schedule = 1;
    RETURN @retval;
END;
