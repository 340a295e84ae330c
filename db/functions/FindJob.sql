/*
chokaq.FindJob: where one job is now, and the tokens that it carries there.

Purpose:    tells a caller whose token no longer fits what has become of the job.
Parameters: @JobId: the job; NULL finds nothing and reads nothing.
Result set: at most one row: JobState (Pending, Fetched, Processing, Archived, Dead),
            ClaimToken (of the claim that holds it, or that reported its end),
            LastClaimToken (of the claim that was last released or failed; Jobs only).
Tables:     Jobs, JobsArchive, JobsDLQ, in that order; one seek on each clustered key.
Callers:    ChokaQ's own procedures.
*/
CREATE OR ALTER FUNCTION chokaq.FindJob (@JobId bigint)
RETURNS TABLE
AS
RETURN
(
    SELECT CASE j.State WHEN 0 THEN 'Pending' WHEN 1 THEN 'Fetched' ELSE 'Processing' END AS JobState,
           j.ClaimToken,
           j.LastClaimToken
    FROM chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
    WHERE j.JobId = @JobId
    UNION ALL
    SELECT 'Archived', a.ClaimToken, CONVERT(uniqueidentifier, NULL)
    FROM chokaq.JobsArchive AS a WITH (INDEX (PK_JobsArchive), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
    WHERE a.JobId = @JobId
    UNION ALL
    SELECT 'Dead', d.ClaimToken, CONVERT(uniqueidentifier, NULL)
    FROM chokaq.JobsDLQ AS d WITH (INDEX (PK_JobsDLQ), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
    WHERE d.JobId = @JobId
);
