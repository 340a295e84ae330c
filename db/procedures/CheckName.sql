/*
chokaq.CheckName: refuses a name (of a queue, job type, idempotency key, ...) that is not exact.

Purpose:    one rule for every name. SQL Server ignores trailing spaces in comparisons, even under a
            binary collation, so 'mail' and 'mail ' would be one queue: such names are refused.
Parameters: @ProcedureName, @ParameterName: who asks about what, for the message.
            @Value: the name. Pass it in a parameter wider than @MaxLength, or SQL Server cuts it before anybody looks.
            @MaxLength: in UTF-16 code units.
Result set: none.
Errors:     51001 NULL, empty, too long, with a leading or trailing space, or with a control character.
Tables:     none.
Callers:    ChokaQ's own procedures.
*/
CREATE OR ALTER PROCEDURE chokaq.CheckName
    @ProcedureName sysname,
    @ParameterName sysname,
    @Value         nvarchar(400),
    @MaxLength     int
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    DECLARE @Fault nvarchar(100) =
        CASE WHEN @Value IS NULL THEN N'is NULL'
             WHEN DATALENGTH(@Value) = 0 THEN N'is empty'
             WHEN DATALENGTH(@Value) / 2 > @MaxLength THEN N'is longer than that'
             /* The binary collation: under many others an emoji, or half of one, weighs nothing and so equals a space. */
             WHEN LEFT(@Value, 1) = N' ' COLLATE Latin1_General_100_BIN2 OR RIGHT(@Value, 1) = N' ' COLLATE Latin1_General_100_BIN2 THEN N'begins or ends with a space'
             WHEN PATINDEX(N'%[' + NCHAR(0) + N'-' + NCHAR(31) + NCHAR(127) + N']%', @Value COLLATE Latin1_General_100_BIN2) > 0
                 THEN N'contains a control character'
        END;

    IF @Fault IS NOT NULL
    BEGIN
        DECLARE @Message nvarchar(2000) = CONCAT(N'chokaq.', @ProcedureName, N': ', @ParameterName, N' must be 1 to ', @MaxLength,
            N' characters, with no leading or trailing space and no control character; the given one ', @Fault, N'. Nothing was changed.');
        THROW 51001, @Message, 1;
    END;
END;
