CREATE PROCEDURE dbo.sp_verify_job_identifiers
    @name_of_name_parameter varchar(60),
    @name_of_id_parameter   varchar(60),
    @job_name               sysname OUTPUT,
    @job_id                 uniqueidentifier OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET @job_name = LTRIM(RTRIM(@job_name));
    IF @job_name = N'' SET @job_name = NULL;
    IF (@job_name IS NULL AND @job_id IS NULL) OR (@job_name IS NOT NULL AND @job_id IS NOT NULL)
    BEGIN
        RAISERROR (14294, -1, -1, @name_of_id_parameter, @name_of_name_parameter);
        RETURN 1;
    END;
    DECLARE @given nvarchar(128) = COALESCE(@job_name, CONVERT(nvarchar(36), @job_id)), @parameter varchar(60) = CASE WHEN @job_name IS NULL THEN @name_of_id_parameter ELSE @name_of_name_parameter END, @found uniqueidentifier;
    SELECT @found = j.job_id, @job_name = j.name FROM dbo.sysjobs AS j WHERE j.name = @job_name OR j.job_id = @job_id;
    IF @found IS NULL
    BEGIN
        RAISERROR (14262, -1, -1, @parameter, @given);
        RETURN 1;
    END;
    SET @job_id = @found;
    RETURN 0;
END;
GO
CREATE PROCEDURE dbo.sp_verify_schedule_identifiers
    @name_of_name_parameter varchar(60),
    @name_of_id_parameter   varchar(60),
    @schedule_name          sysname OUTPUT,
    @schedule_id            int OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    IF (@schedule_name IS NULL AND @schedule_id IS NULL) OR (@schedule_name IS NOT NULL AND @schedule_id IS NOT NULL)
    BEGIN
        RAISERROR (14373, -1, -1, @name_of_id_parameter, @name_of_name_parameter);
        RETURN 1;
    END;
    DECLARE @given nvarchar(128) = COALESCE(@schedule_name, CONVERT(nvarchar(36), @schedule_id)), @parameter varchar(60) = CASE WHEN @schedule_name IS NULL THEN @name_of_id_parameter ELSE @name_of_name_parameter END, @count int, @found int;
    SELECT @count = COUNT(*), @found = MIN(s.schedule_id) FROM dbo.sysschedules AS s WHERE s.name = @schedule_name OR s.schedule_id = @schedule_id;
    IF @count = 0
    BEGIN
        RAISERROR (14262, -1, -1, @parameter, @given);
        RETURN 1;
    END;
    IF @count > 1
    BEGIN
        RAISERROR (14371, -1, -1, @schedule_name, @name_of_id_parameter);
        RETURN 1;
    END;
    SET @schedule_id = @found;
    RETURN 0;
END;
GO
CREATE PROCEDURE dbo.sp_verify_schedule
    @freq_type int, @freq_interval int, @freq_subday_type int, @freq_subday_interval int, @active_start_time int, @active_end_time int, @active_start_date int = NULL
AS
BEGIN
    SET NOCOUNT ON;
    IF @freq_type NOT IN (1, 4, 8, 16, 32, 64, 128)
    BEGIN
        RAISERROR (14266, -1, -1, '@freq_type', '1, 4, 8, 16, 32, 64, 128');
        RETURN 1;
    END;
    IF @freq_type IN (16, 32, 128)
        THROW 50000, N'sqlsim does not support monthly and idle schedules (@freq_type 16, 32, 128).', 1;
    IF @freq_type IN (4, 8) AND @freq_interval < 1
    BEGIN
        RAISERROR (14266, -1, -1, '@freq_interval', '1..');
        RETURN 1;
    END;
    IF @freq_type = 8 AND @freq_interval > 127
    BEGIN
        RAISERROR (14266, -1, -1, '@freq_interval', '1..127 [OR of 1=Sunday, 2=Monday, ...]');
        RETURN 1;
    END;
    IF @freq_type IN (4, 8) AND @freq_subday_type NOT IN (1, 2, 4, 8)
    BEGIN
        RAISERROR (14266, -1, -1, '@freq_subday_type', '0x1, 0x2, 0x4, 0x8');
        RETURN 1;
    END;
    IF @active_start_date < 19900101
    BEGIN
        RAISERROR (14266, -1, -1, '@active_start_date', '19900101..99991231');
        RETURN 1;
    END;
    IF @freq_type IN (4, 8) AND @freq_subday_type = 2 AND @freq_subday_interval < 10
    BEGIN
        RAISERROR (14266, -1, -1, '@freq_subday_interval', '10..');
        RETURN 1;
    END;
    IF @freq_type IN (4, 8) AND @freq_subday_type <> 1 AND @freq_subday_interval < 1
    BEGIN
        RAISERROR (14266, -1, -1, '@freq_subday_interval', '1..');
        RETURN 1;
    END;
    RETURN 0;
END;
