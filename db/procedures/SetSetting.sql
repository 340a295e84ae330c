/*
chokaq.SetSetting: changes a setting that the database owns.

Purpose:    the recovery and retention settings of table Settings (docs/configuration.md lists them).
Parameters: @Name   such as N'Recovery.ProcessingZombieTimeout', exact.
            @Value  in the setting's unit; NULL: its default.
            @Note   why; at most 1000 characters; kept in OperatorActions. Default NULL.
Result set: none.
Errors:     51010 no such setting, with the list of those there are; 51003 @Value is out of the setting's range; 51001 @Note.
Tables, in order: Settings, OperatorActions.
Locks:      one transaction. U and X on the setting's row.
Reads:      one seek.
Callers:    chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.SetSetting
    @Name  nvarchar(400),
    @Value int,
    @Note  nvarchar(max) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF DATALENGTH(@Note) > 2000
        THROW 51001, N'chokaq.SetSetting: @Note must be at most 1000 characters. Nothing was changed.', 1;

    DECLARE @OldValue int, @MinValue int, @MaxValue int, @DefaultValue int, @Unit varchar(10), @Names nvarchar(1000), @Message nvarchar(2000);

    BEGIN TRANSACTION;

    SELECT @OldValue = s.Value, @MinValue = s.MinValue, @MaxValue = s.MaxValue, @DefaultValue = s.DefaultValue, @Unit = s.Unit
    FROM chokaq.Settings AS s WITH (ROWLOCK, UPDLOCK, READCOMMITTEDLOCK)
    WHERE s.Name = @Name;

    IF @OldValue IS NULL
    BEGIN
        SELECT @Names = STRING_AGG(s.Name, N', ') WITHIN GROUP (ORDER BY s.Name) FROM chokaq.Settings AS s;
        /* THROW takes %% for a percent sign. */
        SET @Message = CONCAT(N'chokaq.SetSetting: there is no setting "', REPLACE(@Name, N'%', N'%%'), N'". The settings are ', @Names, N'. Nothing was changed.');
        THROW 51010, @Message, 1;
    END;

    SET @Value = COALESCE(@Value, @DefaultValue);
    IF @Value NOT BETWEEN @MinValue AND @MaxValue
    BEGIN
        SET @Message = CONCAT(N'chokaq.SetSetting: ', @Name, N' must be ', @MinValue, N' to ', @MaxValue, N' ', @Unit, N'; given: ', @Value, N'. Nothing was changed.');
        THROW 51003, @Message, 1;
    END;

    UPDATE s
    SET Value = @Value, UpdatedAt = SYSUTCDATETIME(), UpdatedBy = ORIGINAL_LOGIN()
    FROM chokaq.Settings AS s WITH (ROWLOCK)
    WHERE s.Name = @Name;

    INSERT INTO chokaq.OperatorActions (ActionName, Setting, OldValue, NewValue, Note, LoginName, HostName, ProgramName, ActedAt)
    VALUES ('SetSetting', @Name, CONVERT(nvarchar(20), @OldValue), CONVERT(nvarchar(20), @Value), @Note, ORIGINAL_LOGIN(), HOST_NAME(), APP_NAME(), SYSUTCDATETIME());

    COMMIT TRANSACTION;
END;
