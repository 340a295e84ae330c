/*
chokaq.DeadJobGroups: what died and why, grouped. One row a queue, type, reason and beginning of the error.

Columns: Queue; JobType; Reason (see DeadJobs); ErrorStart nvarchar(80): the first 80 characters of the error's first line, with digits shown
         as 0, so that the same fault with other numbers is one group (NULL: no error); DeadJobs bigint; FirstDeadAt, LastDeadAt datetime2(3) UTC; ExampleJobId bigint (the
         latest).
Locks:   none (NOLOCK); see QueueStatus.
Reads:   the rows of JobsDLQ that wait for review.
Callers: chokaq_monitor, chokaq_operator.
*/
CREATE OR ALTER VIEW chokaq.DeadJobGroups
AS
SELECT d.Queue, d.JobType, d.Reason, e.ErrorStart, COUNT_BIG(*) AS DeadJobs, MIN(d.DeadAt) AS FirstDeadAt, MAX(d.DeadAt) AS LastDeadAt, MAX(d.JobId) AS ExampleJobId
FROM chokaq.JobsDLQ AS d WITH (NOLOCK)
CROSS APPLY (SELECT LEFT(d.Error, CHARINDEX(NCHAR(10), d.Error + NCHAR(10)) - 1) AS FirstLine) AS l
CROSS APPLY (SELECT CONVERT(nvarchar(80), LEFT(TRANSLATE(l.FirstLine, N'123456789', N'000000000'), 80)) AS ErrorStart) AS e
WHERE d.DiscardedAt IS NULL
GROUP BY d.Queue, d.JobType, d.Reason, e.ErrorStart;
