/*
chokaq.CheckPayload: refuses a payload that is not one JSON value.

Purpose:    one rule for every payload.
Parameters: @ProcedureName: who asks, for the message.
            @Payload: JSON text, any JSON value, at most 1,000,000 characters.
Result set: none.
Errors:     51002 not JSON text, too long, NULL, or more than one value.
Tables:     none.
Callers:    ChokaQ's own procedures.
*/
CREATE OR ALTER PROCEDURE chokaq.CheckPayload
    @ProcedureName sysname,
    @Payload       nvarchar(max)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    DECLARE @Fault nvarchar(100), @Message nvarchar(2000);

    /* ISJSON accepts objects and arrays only; a lone value is one if it makes an array of exactly one element. */
    IF @Payload IS NULL OR DATALENGTH(@Payload) > 2000000
       OR (ISJSON(@Payload) <> 1 AND ISJSON(N'[' + @Payload + N']') <> 1)
        SET @Fault = N'JSON text of at most 1,000,000 characters';
    ELSE IF ISJSON(@Payload) <> 1
        IF (SELECT COUNT(*) FROM OPENJSON(N'[' + @Payload + N']')) <> 1
            SET @Fault = N'one JSON value';

    IF @Fault IS NOT NULL
    BEGIN
        SET @Message = CONCAT(N'chokaq.', @ProcedureName, N': @Payload must be ', @Fault, N'. Nothing was changed.');
        THROW 51002, @Message, 1;
    END;
END;
