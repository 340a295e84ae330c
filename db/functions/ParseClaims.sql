/*
chokaq.ParseClaims: the JSON array of claims that worker procedures take, as rows.

Purpose:    [{"id": 17, "token": "6F96..."}, ...], with the further fields of FailJobs. A field that is
            missing is NULL; an unknown one is ignored, so that older and newer workers can call.
            chokaq.CheckClaims has refused everything else before this is read.
Parameters: @Jobs: JSON array.
Result set: Ordinal (position in the array, from 0), JobId, ClaimToken (NULL where the field is not one),
            IsFinal, Reason, Error, RetryAfterMs, MaxAttempts (FailJobs only).
Tables:     none.
Callers:    ChokaQ's own procedures.
*/
CREATE OR ALTER FUNCTION chokaq.ParseClaims (@Jobs nvarchar(max))
RETURNS TABLE
AS
RETURN
(
    SELECT CONVERT(int, e.[key]) AS Ordinal,
           CASE WHEN f.JobId <> N'' THEN TRY_CONVERT(bigint, f.JobId) END AS JobId,
           /* A conversion to uniqueidentifier ignores what follows 36 characters: look at the length first. */
           CASE WHEN LEN(f.ClaimToken) = 36 THEN TRY_CONVERT(uniqueidentifier, f.ClaimToken) END AS ClaimToken,
           LEFT(f.Reason COLLATE Latin1_General_100_BIN2, 40) AS Reason,
           f.Error COLLATE Latin1_General_100_BIN2 AS Error,
           /* -1 is refused here and below: what is not a number (a space would be 0) is not the same as a missing one, nor is what is too long for its type, which would arrive as NULL. */
           CASE WHEN f.IsFinal COLLATE Latin1_General_100_BIN2 IN (N'true', N'1') THEN 1 WHEN f.IsFinal COLLATE Latin1_General_100_BIN2 IN (N'false', N'0') THEN 0 WHEN f.IsFinal IS NOT NULL THEN -1 END AS IsFinal,
           CASE WHEN f.RetryAfterMs IS NOT NULL THEN COALESCE(TRY_CONVERT(bigint, NULLIF(LEFT(f.RetryAfterMs COLLATE Latin1_General_100_BIN2, 40), N'')), -1) END AS RetryAfterMs,
           CASE WHEN f.MaxAttempts IS NOT NULL THEN COALESCE(TRY_CONVERT(int, NULLIF(LEFT(f.MaxAttempts COLLATE Latin1_General_100_BIN2, 40), N'')), -1) END AS MaxAttempts
    FROM OPENJSON(@Jobs) AS e
    CROSS APPLY OPENJSON(CASE WHEN e.[type] = 5 THEN e.[value] ELSE N'{}' END)
    WITH
    (
        JobId        nvarchar(40)  '$.id',
        ClaimToken   nvarchar(40)  '$.token',
        IsFinal      nvarchar(max) '$.final',
        Reason       nvarchar(max) '$.reason',
        Error        nvarchar(max) '$.error',
        RetryAfterMs nvarchar(max) '$.retryAfterMs',
        MaxAttempts  nvarchar(max) '$.maxAttempts'
    ) AS f
);
