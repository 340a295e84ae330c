/*
chokaq.CheckClaims: refuses a JSON array of claims that is not one.

Purpose:    one place for the checks that StartJobs, HeartbeatJobs, ReleaseJobs, CompleteJobs and FailJobs share.
Parameters: @ProcedureName: the caller, for the message.
            @Jobs: JSON array of objects with id (a positive whole number) and token (a UUID); at most 1000.
Result set: none.
Errors:     51004 not a JSON array; 51005 an element that is not a claim, by its position;
            51006 more than 1000 elements; 51007 a job named twice.
Tables:     none.
Callers:    ChokaQ's own procedures.
*/
CREATE OR ALTER PROCEDURE chokaq.CheckClaims
    @ProcedureName sysname,
    @Jobs          nvarchar(max)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;

    DECLARE @Message nvarchar(2000);

    /* ISJSON also accepts an object, and OPENJSON would then list its members: look at the first character that is not white space. */
    IF @Jobs IS NULL OR ISJSON(@Jobs) <> 1
       OR SUBSTRING(@Jobs, PATINDEX(N'%[^ ' + NCHAR(9) + NCHAR(10) + NCHAR(13) + N']%', @Jobs COLLATE Latin1_General_100_BIN2), 1) <> N'['
    BEGIN
        SET @Message = CONCAT(N'chokaq.', @ProcedureName, N': @Jobs is not a JSON array. Accepted: [{"id": 17, "token": "6F9619FF-8B86-D011-B42D-00C04FC964FF"}, ...]. Nothing was changed.');
        THROW 51004, @Message, 1;
    END;

    DECLARE @Count int, @BadOrdinal int, @Twice bigint;
    DECLARE @Claims TABLE (Ordinal int NOT NULL, JobId bigint NULL, ClaimToken uniqueidentifier NULL);

    INSERT INTO @Claims (Ordinal, JobId, ClaimToken)
    SELECT c.Ordinal, c.JobId, c.ClaimToken
    FROM chokaq.ParseClaims(@Jobs) AS c;

    SET @Count = @@ROWCOUNT;

    IF @Count > 1000
    BEGIN
        SET @Message = CONCAT(N'chokaq.', @ProcedureName, N': @Jobs has ', @Count, N' elements; at most 1000 are accepted in one call. Nothing was changed.');
        THROW 51006, @Message, 1;
    END;

    SELECT @BadOrdinal = MIN(c.Ordinal)
    FROM @Claims AS c
    WHERE c.JobId IS NULL OR c.JobId < 1 OR c.ClaimToken IS NULL;

    IF @BadOrdinal IS NOT NULL
    BEGIN
        SET @Message = CONCAT(N'chokaq.', @ProcedureName, N': @Jobs[', @BadOrdinal, N'] is not a claim. Accepted: an object with "id", a positive whole number, and "token", a UUID of 36 characters. Nothing was changed.');
        THROW 51005, @Message, 1;
    END;

    SELECT @Twice = MIN(d.JobId)
    FROM (SELECT c.JobId FROM @Claims AS c GROUP BY c.JobId HAVING COUNT(*) > 1) AS d;

    IF @Twice IS NOT NULL
    BEGIN
        SET @Message = CONCAT(N'chokaq.', @ProcedureName, N': @Jobs names job ', @Twice, N' more than once. Nothing was changed.');
        THROW 51007, @Message, 1;
    END;
END;
