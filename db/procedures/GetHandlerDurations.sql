/*
chokaq.GetHandlerDurations: how long handlers have run, as a histogram.

Purpose:    what chokaq-worker advise and doctor compute from: the share of stops that would cut work short, for a grace period.
Parameters: @SinceHours  1 to 8760: jobs that succeeded within this time; attempts that failed do not count. Default 168.
Result set: Queue, JobType nvarchar; Bucket int: b holds durations of 2^(b/4) to 2^((b+1)/4) milliseconds, so neighbors differ by 19 percent; -1: less
            than a millisecond; Jobs bigint; TotalMs bigint (the sum of their durations); MaxMs bigint.
            By Queue, JobType, Bucket.
Errors:     51003 @SinceHours.
Tables:     JobsArchive (read).
Locks:      none (NOLOCK).
Reads:      the archived rows of that time, payloads not among them unless they are stored in the row.
Callers:    chokaq_monitor, chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.GetHandlerDurations
    @SinceHours int = 168
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @SinceHours IS NULL OR @SinceHours NOT BETWEEN 1 AND 8760
        THROW 51003, N'chokaq.GetHandlerDurations: @SinceHours must be 1 to 8760.', 1;

    SELECT b.Queue, b.JobType, b.Bucket, COUNT_BIG(*) AS Jobs, SUM(b.Ms) AS TotalMs, MAX(b.Ms) AS MaxMs
    FROM
    (
        SELECT a.Queue, a.JobType, d.Ms, CASE WHEN d.Ms < 1 THEN -1 ELSE CONVERT(int, FLOOR(4 * LOG(d.Ms, 2) + 1E-9)) END AS Bucket
        FROM chokaq.JobsArchive AS a WITH (NOLOCK)
        CROSS APPLY (SELECT DATEDIFF_BIG(MILLISECOND, a.StartedAt, a.FinishedAt) AS Ms) AS d
        WHERE a.FinishedAt > DATEADD(HOUR, -@SinceHours, SYSUTCDATETIME()) AND a.StartedAt IS NOT NULL
    ) AS b
    GROUP BY b.Queue, b.JobType, b.Bucket
    ORDER BY b.Queue, b.JobType, b.Bucket;
END;
