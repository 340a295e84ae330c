CREATE PROCEDURE dbo.sp_add_category
    @class varchar(8) = 'JOB', @type varchar(12) = 'LOCAL', @name sysname
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @category_class int = CASE UPPER(@class) WHEN 'JOB' THEN 1 WHEN 'ALERT' THEN 2 WHEN 'OPERATOR' THEN 3 END,
            @category_type int = CASE UPPER(@type) WHEN 'LOCAL' THEN 1 WHEN 'MULTI-SERVER' THEN 2 WHEN 'NONE' THEN 3 END;
    IF @category_class IS NULL
    BEGIN
        RAISERROR (14266, -1, -1, '@class', 'JOB, ALERT, OPERATOR');
        RETURN 1;
    END;
    IF @category_type IS NULL
    BEGIN
        RAISERROR (14266, -1, -1, '@type', 'LOCAL, MULTI-SERVER, NONE');
        RETURN 1;
    END;
    IF EXISTS (SELECT 1 FROM dbo.syscategories AS c WHERE c.category_class = @category_class AND c.name = @name)
    BEGIN
        RAISERROR (14261, -1, -1, '@name', @name);
        RETURN 1;
    END;
    INSERT INTO dbo.syscategories (category_class, category_type, name) VALUES (@category_class, @category_type, @name);
    RETURN 0;
END;
GO
CREATE PROCEDURE dbo.sp_delete_category
    @class varchar(8), @name sysname
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @category_class int = CASE UPPER(@class) WHEN 'JOB' THEN 1 WHEN 'ALERT' THEN 2 WHEN 'OPERATOR' THEN 3 END, @category_id int;
    SELECT @category_id = c.category_id FROM dbo.syscategories AS c WHERE c.category_class = @category_class AND c.name = @name;
    IF @category_id IS NULL
    BEGIN
        RAISERROR (14262, -1, -1, '@name', @name);
        RETURN 1;
    END;
    IF @category_id < 100
    BEGIN
        RAISERROR (14276, -1, -1, @name, @class);
        RETURN 1;
    END;
    UPDATE dbo.sysjobs SET category_id = 0 WHERE category_id = @category_id;
    DELETE FROM dbo.syscategories WHERE category_id = @category_id;
    RETURN 0;
END;
