/*
chokaq.DeadJobGroups: what died and why, grouped. One row a queue, type, reason and beginning of the error.

Columns: Queue; JobType; Reason (see DeadJobs); ErrorStart nvarchar(80): the first 80 characters of the error's first line, with each digit shown
         as #, so that the same fault with other numbers is one group (NULL: no error); DeadJobs bigint; FirstDeadAt, LastDeadAt datetime2(3) UTC; ExampleJobId bigint (the
         latest).
Locks:   none (NOLOCK); see QueueStatus.
Reads:   the rows of JobsDLQ that wait for review.
Callers: chokaq_monitor, chokaq_operator.
*/
CREATE OR ALTER VIEW chokaq.DeadJobGroups
AS
SELECT d.Queue, d.JobType, d.Reason, e.ErrorStart, COUNT_BIG(*) AS DeadJobs, MIN(d.DeadAt) AS FirstDeadAt, MAX(d.DeadAt) AS LastDeadAt, MAX(d.JobId) AS ExampleJobId
FROM chokaq.JobsDLQ AS d WITH (NOLOCK)
/* Cut before the line feed is added: a string of 4000 characters has no room for another. Under a binary collation, in which every character counts and counts as one. */
CROSS APPLY (SELECT CONVERT(nvarchar(80), LEFT(d.Error COLLATE Latin1_General_100_BIN2, 80)) AS Beginning) AS b
CROSS APPLY (SELECT LEFT(b.Beginning, CHARINDEX(NCHAR(10), b.Beginning + NCHAR(10)) - 1) AS FirstLine) AS l
CROSS APPLY (SELECT CONVERT(nvarchar(80), TRANSLATE(l.FirstLine, N'0123456789', N'##########')) COLLATE DATABASE_DEFAULT AS ErrorStart) AS e
WHERE d.DiscardedAt IS NULL
GROUP BY d.Queue, d.JobType, d.Reason, e.ErrorStart;
