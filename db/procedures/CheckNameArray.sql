/*
chokaq.CheckNameArray: refuses a JSON array of names (queues, job types) that is not one.

Purpose:    one place for the checks that ClaimJobs and RegisterWorker share.
Parameters: @ProcedureName, @ParameterName: who asks about what, for the message.
            @Names: the array.
            @MaxNames, @MaxLength: how many names, and how long each may be in UTF-16 code units.
Result set: none.
Errors:     51004 not a JSON array of 1 to @MaxNames strings of 1 to @MaxLength characters.
Tables:     none.
Callers:    ChokaQ's own procedures.
*/
CREATE OR ALTER PROCEDURE chokaq.CheckNameArray
    @ProcedureName sysname,
    @ParameterName sysname,
    @Names         nvarchar(max),
    @MaxNames      int,
    @MaxLength     int
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    DECLARE @Fault nvarchar(100), @Count int, @BadOrdinal int;

    IF @Names IS NULL OR ISJSON(@Names) <> 1
       OR SUBSTRING(@Names, PATINDEX(N'%[^ ' + NCHAR(9) + NCHAR(10) + NCHAR(13) + N']%', @Names COLLATE Latin1_General_100_BIN2), 1) <> N'['
        SET @Fault = N'the given one is not a JSON array';
    ELSE
    BEGIN
        /* 9999 stands for NULL within, so that the aggregate gives no warning about NULLs (8153). */
        SELECT @Count = COUNT(*),
               @BadOrdinal = NULLIF(MIN(CASE WHEN n.[type] <> 1 OR DATALENGTH(n.[value]) NOT BETWEEN 2 AND 2 * @MaxLength
                                             THEN CONVERT(int, n.[key]) ELSE 9999 END), 9999)
        FROM OPENJSON(@Names) AS n;

        SET @Fault = CASE WHEN @Count = 0 THEN N'the given one is empty'
                          WHEN @Count > @MaxNames THEN CONCAT(N'the given one has ', @Count)
                          WHEN @BadOrdinal IS NOT NULL THEN CONCAT(N'element ', @BadOrdinal, N' of the given one is not such a name')
                     END;
    END;

    IF @Fault IS NOT NULL
    BEGIN
        DECLARE @Message nvarchar(2000) = CONCAT(N'chokaq.', @ProcedureName, N': ', @ParameterName, N' must be a JSON array of 1 to ', @MaxNames,
            N' names, each a string of 1 to ', @MaxLength, N' characters, such as ["critical", "default"]; ', @Fault, N'. Nothing was changed.');
        THROW 51004, @Message, 1;
    END;
END;
