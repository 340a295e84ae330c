/*
chokaq.CheckHeaders: refuses headers that are not a JSON object.

Purpose:    one rule for every job's headers.
Parameters: @ProcedureName: who asks, for the message.
            @Headers: JSON object, or NULL.
            @MaxLength: in UTF-16 code units.
Result set: none.
Errors:     51002 not a JSON object, or too long.
Tables:     none.
Callers:    ChokaQ's own procedures.
*/
CREATE OR ALTER PROCEDURE chokaq.CheckHeaders
    @ProcedureName sysname,
    @Headers       nvarchar(max),
    @MaxLength     int
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    IF DATALENGTH(@Headers) > 2 * @MaxLength OR ISJSON(@Headers) <> 1
       OR SUBSTRING(@Headers, PATINDEX(N'%[^ ' + NCHAR(9) + NCHAR(10) + NCHAR(13) + N']%', @Headers COLLATE Latin1_General_100_BIN2), 1) <> N'{'
    BEGIN
        DECLARE @Message nvarchar(2000) = CONCAT(N'chokaq.', @ProcedureName, N': @Headers must be a JSON object of at most ', @MaxLength,
            N' characters, or NULL. Nothing was changed.');
        THROW 51002, @Message, 1;
    END;
END;
