/*
ChokaQ: removes everything that the schema's version 1 and the repeatable objects created, with every job in
it. The roles stay when they still have members, since they may be in use elsewhere; drop them by
hand then. Schema [chokaq] and the version table stay: golang-migrate keeps its own record in it.
*/
SET NOCOUNT ON;
SET XACT_ABORT ON;

BEGIN TRANSACTION;

DECLARE @Drop nvarchar(max);

SELECT @Drop = STRING_AGG(CONVERT(nvarchar(max), N'DROP ')
                        + CASE o.type WHEN 'P' THEN N'PROCEDURE' WHEN 'V' THEN N'VIEW' ELSE N'FUNCTION' END
                        + N' chokaq.' + QUOTENAME(o.name) + N';', N' ')
FROM sys.objects AS o
WHERE o.schema_id = SCHEMA_ID(N'chokaq') AND o.type IN ('P', 'V', 'IF');

IF @Drop IS NOT NULL
    EXEC sys.sp_executesql @Drop;

DROP TABLE IF EXISTS chokaq.SchemaObjects;
DROP TABLE IF EXISTS chokaq.OperatorActions;
DROP TABLE IF EXISTS chokaq.RecoveryRuns;
DROP TABLE IF EXISTS chokaq.Settings;
DROP TABLE IF EXISTS chokaq.Workers;
DROP TABLE IF EXISTS chokaq.Queues;
DROP TABLE IF EXISTS chokaq.JobsDLQ;
DROP TABLE IF EXISTS chokaq.JobsArchive;
DROP TABLE IF EXISTS chokaq.Jobs;
DROP SEQUENCE IF EXISTS chokaq.JobIds;

DECLARE @Role sysname = N'';
WHILE @Role IS NOT NULL
BEGIN
    SET @Role = (SELECT MIN(p.name)
                 FROM sys.database_principals AS p
                 WHERE p.type = 'R'
                   AND p.name IN (N'chokaq_producer', N'chokaq_worker', N'chokaq_operator', N'chokaq_monitor')
                   AND p.name > @Role
                   AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m WHERE m.role_principal_id = p.principal_id));
    IF @Role IS NOT NULL
    BEGIN
        SET @Drop = N'DROP ROLE ' + QUOTENAME(@Role) + N';';
        EXEC sys.sp_executesql @Drop;
    END;
END;

COMMIT TRANSACTION;
