/*
chokaq.CheckJobIds: refuses a JSON array of job ids that is not one.

Purpose:    one place for the checks that RequeueDeadJobs and DiscardDeadJobs share.
Parameters: @ProcedureName: the caller, for the message.
            @JobIds: JSON array of positive whole numbers, at most 1000, none twice: [17, 18].
Result set: none.
Errors:     51004 not a JSON array; 51005 an element that is not a job id, by its position;
            51006 more than 1000 elements; 51007 a job named twice.
Tables:     none.
Callers:    ChokaQ's own procedures.
*/
CREATE OR ALTER PROCEDURE chokaq.CheckJobIds
    @ProcedureName sysname,
    @JobIds        nvarchar(max)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;

    DECLARE @Message nvarchar(2000), @Count int, @BadOrdinal int, @Twice bigint;

    IF @JobIds IS NULL OR ISJSON(@JobIds) <> 1
       OR SUBSTRING(@JobIds, PATINDEX(N'%[^ ' + NCHAR(9) + NCHAR(10) + NCHAR(13) + N']%', @JobIds COLLATE Latin1_General_100_BIN2), 1) <> N'['
    BEGIN
        SET @Message = CONCAT(N'chokaq.', @ProcedureName, N': @JobIds is not a JSON array of job ids, such as [17, 18]. Nothing was changed.');
        THROW 51004, @Message, 1;
    END;

    SELECT @Count = COUNT(*) FROM OPENJSON(@JobIds) AS e;

    IF @Count > 1000
    BEGIN
        SET @Message = CONCAT(N'chokaq.', @ProcedureName, N': @JobIds has ', @Count, N' elements; at most 1000 are accepted in one call. Nothing was changed.');
        THROW 51006, @Message, 1;
    END;

    SELECT @BadOrdinal = MIN(CONVERT(int, e.[key]))
    FROM OPENJSON(@JobIds) AS e
    WHERE e.[type] <> 2 OR TRY_CONVERT(bigint, e.[value]) IS NULL OR TRY_CONVERT(bigint, e.[value]) < 1;

    IF @BadOrdinal IS NOT NULL
    BEGIN
        SET @Message = CONCAT(N'chokaq.', @ProcedureName, N': @JobIds[', @BadOrdinal, N'] is not a job id. Accepted: a positive whole number. Nothing was changed.');
        THROW 51005, @Message, 1;
    END;

    SELECT @Twice = MIN(d.JobId)
    FROM (SELECT CONVERT(bigint, e.[value]) AS JobId FROM OPENJSON(@JobIds) AS e GROUP BY CONVERT(bigint, e.[value]) HAVING COUNT(*) > 1) AS d;

    IF @Twice IS NOT NULL
    BEGIN
        SET @Message = CONCAT(N'chokaq.', @ProcedureName, N': @JobIds names job ', @Twice, N' more than once. Nothing was changed.');
        THROW 51007, @Message, 1;
    END;
END;
