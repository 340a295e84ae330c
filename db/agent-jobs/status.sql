/*
ChokaQ: the SQL Server Agent jobs of this database, and how they last ran. Reads only. Run it in the queue's database.

Result set: JobName, IsEnabled, OwnerName (NULL: the owner's login is gone, and the job cannot run), Schedule, LastRunOutcome (Succeeded, Failed,
            Canceled, Never ran), LastRunAt (server's local time), LastMessage.
*/
SET NOCOUNT ON;

IF CONVERT(int, SERVERPROPERTY('EngineEdition')) IN (4, 5, 6, 11)
    THROW 51017, N'This edition has no SQL Server Agent: there are no jobs to look at.', 1;

SELECT j.name AS JobName,
       j.enabled AS IsEnabled,
       SUSER_SNAME(j.owner_sid) AS OwnerName,
       (SELECT MIN(CONCAT(N'every ', s.freq_subday_interval, CASE s.freq_subday_type WHEN 2 THEN N' seconds' WHEN 4 THEN N' minutes' WHEN 8 THEN N' hours' ELSE N' (other)' END,
                          CASE WHEN s.enabled = 1 THEN N'' ELSE N', disabled' END))
        FROM msdb.dbo.sysjobschedules AS js
        INNER JOIN msdb.dbo.sysschedules AS s ON s.schedule_id = js.schedule_id
        WHERE js.job_id = j.job_id) AS Schedule,
       CASE v.last_run_outcome WHEN 0 THEN 'Failed' WHEN 1 THEN 'Succeeded' WHEN 3 THEN 'Canceled' ELSE 'Never ran' END AS LastRunOutcome,
       CASE WHEN v.last_run_date > 0 THEN msdb.dbo.agent_datetime(v.last_run_date, v.last_run_time) END AS LastRunAt,
       v.last_outcome_message AS LastMessage
FROM msdb.dbo.sysjobs AS j
LEFT JOIN msdb.dbo.sysjobservers AS v ON v.job_id = j.job_id
WHERE j.name IN (N'ChokaQ reset fetched jobs (' + DB_NAME() + N')',
                 N'ChokaQ rescue zombie jobs (' + DB_NAME() + N')',
                 N'ChokaQ purge history (' + DB_NAME() + N')')
ORDER BY j.name;
