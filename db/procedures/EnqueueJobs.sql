/*
chokaq.EnqueueJobs: inserts many jobs, all or none.

Purpose:    one call for up to 1000 jobs, inside the caller's transaction if there is one.
Parameters: @Jobs  JSON array of objects:
              queue, type                  required, as in EnqueueJob
              payload                      a JSON object or array as it is, or a string that holds JSON text; default {}
              priority, maxAttempts        as in EnqueueJob; defaults 5 and 10
              dueAt                        ISO 8601, UTC ("2027-01-31T08:00:00Z"; an offset is honored), or
              delayMs                      milliseconds from now, by the database's clock
              idempotencyKey               as in EnqueueJob; of two equal ones in the array the first is inserted
              headers                      a JSON object
Result set: Ordinal int (position in @Jobs, from 0), JobId bigint, Created bit; one row an element, in order.
            Ids ascend in the order of the array, and claims go by them; one that passes while this transaction ends may take later jobs first.
Errors:     51004 not an array; 51005 an element, by position, field and accepted form; 51006 more than 1000; 51014 a lock on an
            idempotency key was not granted. XACT_ABORT is ON: an error ends the caller's transaction.
Tables, in order: Jobs.
Locks:      X on the new rows' keys; for idempotency keys an exclusive application lock each, taken in the order of
            (type, key) so that two calls with the same keys cannot deadlock. Until the transaction ends.
Reads:      one seek on UX_Jobs_IdempotencyKey an element that has a key.
Callers:    chokaq_producer, chokaq_worker (handlers enqueue too), chokaq_operator.
*/
CREATE OR ALTER PROCEDURE chokaq.EnqueueJobs
    @Jobs nvarchar(max)
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @Message nvarchar(2000);

    IF @Jobs IS NULL OR ISJSON(@Jobs) <> 1
       OR SUBSTRING(@Jobs, PATINDEX(N'%[^ ' + NCHAR(9) + NCHAR(10) + NCHAR(13) + N']%', @Jobs COLLATE Latin1_General_100_BIN2), 1) <> N'['
        THROW 51004, N'chokaq.EnqueueJobs: @Jobs is not a JSON array. Accepted: [{"queue": "mail", "type": "send_email", "payload": {"to": 17}}, ...]. Nothing was changed.', 1;

    DECLARE @Now datetime2(3) = SYSUTCDATETIME();

    DECLARE @Given TABLE
    (
        Ordinal        int NOT NULL PRIMARY KEY,
        ElementType    int NOT NULL,
        Queue          nvarchar(400)  COLLATE Latin1_General_100_BIN2 NULL,
        JobType        nvarchar(400)  COLLATE Latin1_General_100_BIN2 NULL,
        Payload        nvarchar(max)  NULL,
        PriorityText   nvarchar(400)  NULL,
        AttemptsText   nvarchar(400)  NULL,
        DueText        nvarchar(400)  NULL,
        DelayText      nvarchar(400)  NULL,
        IdempotencyKey nvarchar(400)  COLLATE Latin1_General_100_BIN2 NULL,
        HeadersJson    nvarchar(max)  NULL,
        HeadersText    nvarchar(400)  NULL,
        JobId          bigint NULL,
        Created        bit NOT NULL
    );

    /* What does not fit its type arrives as NULL: a key that is too long would be no key. So the fields that may be missing are read at full length, and cut;
       under a binary collation, since others may count a pair of surrogates as one. */
    INSERT INTO @Given (Ordinal, ElementType, Queue, JobType, Payload, PriorityText, AttemptsText, DueText, DelayText, IdempotencyKey, HeadersJson, HeadersText, Created)
    SELECT CONVERT(int, e.[key]), e.[type], f.Queue, f.JobType, COALESCE(f.PayloadJson, f.PayloadText, N'{}'),
           COALESCE(LEFT(f.Priority COLLATE Latin1_General_100_BIN2, 400), N'5'), COALESCE(LEFT(f.MaxAttempts COLLATE Latin1_General_100_BIN2, 400), N'10'),
           LEFT(f.DueAt COLLATE Latin1_General_100_BIN2, 400), LEFT(f.DelayMs COLLATE Latin1_General_100_BIN2, 400), LEFT(f.IdempotencyKey COLLATE Latin1_General_100_BIN2, 400),
           f.HeadersJson, LEFT(f.HeadersText COLLATE Latin1_General_100_BIN2, 400), 0
    FROM OPENJSON(@Jobs) AS e
    CROSS APPLY OPENJSON(CASE WHEN e.[type] = 5 THEN e.[value] ELSE N'{}' END)
    WITH
    (
        Queue          nvarchar(400) '$.queue',
        JobType        nvarchar(400) '$.type',
        PayloadJson    nvarchar(max) '$.payload' AS JSON,
        PayloadText    nvarchar(max) '$.payload',
        Priority       nvarchar(max) '$.priority',
        MaxAttempts    nvarchar(max) '$.maxAttempts',
        DueAt          nvarchar(max) '$.dueAt',
        DelayMs        nvarchar(max) '$.delayMs',
        IdempotencyKey nvarchar(max) '$.idempotencyKey',
        HeadersJson    nvarchar(max) '$.headers' AS JSON,
        HeadersText    nvarchar(max) '$.headers'
    ) AS f;

    DECLARE @Count int = @@ROWCOUNT;

    IF @Count > 1000
    BEGIN
        SET @Message = CONCAT(N'chokaq.EnqueueJobs: @Jobs has ', @Count, N' elements; at most 1000 are accepted in one call. Nothing was changed.');
        THROW 51006, @Message, 1;
    END;

    /* The first fault of the first element that has one. A name longer than 400 characters arrives as NULL, hence "missing or too long". */
    SELECT TOP (1) @Message = CONCAT(N'chokaq.EnqueueJobs: @Jobs[', v.Ordinal, N']', v.Fault, N' Nothing was changed.')
    FROM
    (
        SELECT g.Ordinal,
               CASE
                   WHEN g.ElementType <> 5 THEN N' must be an object.'
                   WHEN g.Queue IS NULL OR DATALENGTH(g.Queue) NOT BETWEEN 2 AND 128 OR LEFT(g.Queue, 1) = N' ' OR RIGHT(g.Queue, 1) = N' '
                        OR PATINDEX(N'%[' + NCHAR(0) + N'-' + NCHAR(31) + NCHAR(127) + N']%', g.Queue) > 0
                       THEN N'.queue must be 1 to 64 characters, with no leading or trailing space and no control character.'
                   WHEN g.JobType IS NULL OR DATALENGTH(g.JobType) NOT BETWEEN 2 AND 256 OR LEFT(g.JobType, 1) = N' ' OR RIGHT(g.JobType, 1) = N' '
                        OR PATINDEX(N'%[' + NCHAR(0) + N'-' + NCHAR(31) + NCHAR(127) + N']%', g.JobType) > 0
                       THEN N'.type must be 1 to 128 characters, with no leading or trailing space and no control character.'
                   WHEN DATALENGTH(g.Payload) > 2000000
                        OR (ISJSON(g.Payload) <> 1 AND ISJSON(N'[' + g.Payload + N']') <> 1)
                       THEN N'.payload must be a JSON object or array, or a string that holds JSON text, of at most 1,000,000 characters.'
                   WHEN ISJSON(g.Payload) <> 1 AND (SELECT COUNT(*) FROM OPENJSON(N'[' + g.Payload + N']')) <> 1
                       THEN N'.payload must be one JSON value.'
                   WHEN TRY_CONVERT(int, g.PriorityText) IS NULL OR TRY_CONVERT(int, g.PriorityText) NOT BETWEEN 1 AND 10
                       THEN N'.priority must be 1 to 10; 10 runs first.'
                   WHEN TRY_CONVERT(int, g.AttemptsText) IS NULL OR TRY_CONVERT(int, g.AttemptsText) NOT BETWEEN 1 AND 1000
                       THEN N'.maxAttempts must be 1 to 1000.'
                   WHEN g.DueText IS NOT NULL AND (g.DueText NOT LIKE N'____-__-__T%' OR TRY_CONVERT(datetimeoffset(3), g.DueText, 127) IS NULL)
                       THEN N'.dueAt must be an ISO 8601 time, such as 2027-01-31T08:00:00Z.'
                   WHEN g.DelayText IS NOT NULL AND (g.DelayText = N'' OR TRY_CONVERT(bigint, g.DelayText) IS NULL OR TRY_CONVERT(bigint, g.DelayText) NOT BETWEEN 0 AND 315360000000)
                       THEN N'.delayMs must be 0 to 315360000000 (ten years).'
                   WHEN g.DueText IS NOT NULL AND g.DelayText IS NOT NULL
                       THEN N'.dueAt and .delayMs exclude each other.'
                   WHEN DATALENGTH(g.IdempotencyKey) NOT BETWEEN 2 AND 400 OR LEFT(g.IdempotencyKey, 1) = N' ' OR RIGHT(g.IdempotencyKey, 1) = N' '
                        OR PATINDEX(N'%[' + NCHAR(0) + N'-' + NCHAR(31) + NCHAR(127) + N']%', g.IdempotencyKey) > 0
                       THEN N'.idempotencyKey must be 1 to 200 characters, with no leading or trailing space and no control character.'
                   WHEN g.HeadersText IS NOT NULL OR DATALENGTH(g.HeadersJson) > 8000 OR LEFT(g.HeadersJson, 1) <> N'{'
                       THEN N'.headers must be a JSON object of at most 4000 characters.'
               END AS Fault
        FROM @Given AS g
    ) AS v
    WHERE v.Fault IS NOT NULL
    ORDER BY v.Ordinal;

    IF @Message IS NOT NULL
        THROW 51005, @Message, 1;

    BEGIN TRANSACTION;

    IF EXISTS (SELECT 1 FROM @Given AS g WHERE g.IdempotencyKey IS NOT NULL)
    BEGIN
        DECLARE @Keys TABLE
        (
            JobType        nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL,
            IdempotencyKey nvarchar(200) COLLATE Latin1_General_100_BIN2 NOT NULL,
            FirstOrdinal   int NOT NULL,
            PRIMARY KEY (JobType, IdempotencyKey)
        );
        DECLARE @JobType nvarchar(128) = N'', @IdempotencyKey nvarchar(200) = N'';

        INSERT INTO @Keys (JobType, IdempotencyKey, FirstOrdinal)
        SELECT g.JobType, g.IdempotencyKey, MIN(g.Ordinal)
        FROM @Given AS g
        WHERE g.IdempotencyKey IS NOT NULL
        GROUP BY g.JobType, g.IdempotencyKey;

        WHILE 1 = 1
        BEGIN
            SELECT TOP (1) @JobType = k.JobType, @IdempotencyKey = k.IdempotencyKey
            FROM @Keys AS k
            WHERE k.JobType > @JobType OR (k.JobType = @JobType AND k.IdempotencyKey > @IdempotencyKey)
            ORDER BY k.JobType, k.IdempotencyKey;
            IF @@ROWCOUNT = 0 BREAK;

            EXEC chokaq.LockIdempotencyKey @JobType, @IdempotencyKey;
        END;

        UPDATE g
        SET g.JobId = j.JobId
        FROM @Given AS g
        INNER JOIN chokaq.Jobs AS j WITH (INDEX (UX_Jobs_IdempotencyKey), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
            ON j.JobType = g.JobType AND j.IdempotencyKey = g.IdempotencyKey
        WHERE j.IdempotencyKey IS NOT NULL
        OPTION (FORCE ORDER, LOOP JOIN);
    END;

    /* Ids are drawn before the insert: OUTPUT of an INSERT cannot name the element that a row came from. */
    DECLARE @New TABLE (Ordinal int NOT NULL PRIMARY KEY, JobId bigint NOT NULL);

    INSERT INTO @New (Ordinal, JobId)
    SELECT g.Ordinal, NEXT VALUE FOR chokaq.JobIds OVER (ORDER BY g.Ordinal)
    FROM @Given AS g
    WHERE g.JobId IS NULL
      AND (g.IdempotencyKey IS NULL
           OR g.Ordinal = (SELECT MIN(f.Ordinal) FROM @Given AS f WHERE f.JobType = g.JobType AND f.IdempotencyKey = g.IdempotencyKey));

    UPDATE g
    SET g.JobId = n.JobId, g.Created = 1
    FROM @Given AS g
    INNER JOIN @New AS n ON n.Ordinal = g.Ordinal;

    INSERT INTO chokaq.Jobs WITH (ROWLOCK)
        (JobId, Queue, JobType, Priority, State, DueAt, Attempt, MaxAttempts, RequeueCount,
         EnqueuedAt, EnqueuedBy, IdempotencyKey, Headers, Payload)
    SELECT g.JobId, g.Queue, g.JobType, CONVERT(tinyint, g.PriorityText), 0,
           CASE WHEN d.DueAt > @Now THEN d.DueAt ELSE @Now END,
           0, CONVERT(int, g.AttemptsText), 0,
           @Now, ORIGINAL_LOGIN(), g.IdempotencyKey, g.HeadersJson, g.Payload
    FROM @Given AS g
    CROSS APPLY
    (
        /* DATEADD takes an int: whole seconds and the rest apart. */
        SELECT CASE WHEN g.DueText IS NOT NULL
                    THEN CONVERT(datetime2(3), SWITCHOFFSET(CONVERT(datetimeoffset(3), g.DueText, 127), '+00:00'))
                    WHEN g.DelayText IS NOT NULL
                    THEN DATEADD(MILLISECOND, CONVERT(int, CONVERT(bigint, g.DelayText) % 1000), DATEADD(SECOND, CONVERT(int, CONVERT(bigint, g.DelayText) / 1000), @Now))
               END AS DueAt
    ) AS d
    WHERE g.Created = 1
    ORDER BY g.JobId;

    /* An element that repeats a key of an earlier one is answered with that one's job. */
    UPDATE g
    SET g.JobId = f.JobId
    FROM @Given AS g
    INNER JOIN @Given AS f ON f.JobType = g.JobType AND f.IdempotencyKey = g.IdempotencyKey AND f.JobId IS NOT NULL
    WHERE g.JobId IS NULL;

    COMMIT TRANSACTION;

    SELECT g.Ordinal, g.JobId, g.Created
    FROM @Given AS g
    ORDER BY g.Ordinal;
END;
