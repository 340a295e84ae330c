/*
chokaq.ClaimJobs: Pending -> Fetched for up to @MaxJobs due jobs.

Purpose:    reserves jobs for a worker. No user code has run for a Fetched job: whatever happens to the worker, it goes
            back to Pending (ReleaseJobs by the worker, ResetFetchedJobs by recovery).
Parameters: @WorkerId    the worker process.
            @ClaimToken  a new UUID for each claim. Calling again with the same token, after a lost answer, returns the rows
                         that the token already holds and claims no more.
            @Queues      JSON array of 1 to 100 queue names, in the order in which they are served: ["critical", "default"].
            @MaxJobs     1 to 1000.
            @JobTypes    JSON array of 1 to 1000 job types, those that the worker has handlers for; others are left for workers
                         that know them. Default NULL: all types.
Result set: JobId bigint, Queue, JobType nvarchar, Priority tinyint, Attempt int (attempts started so far), MaxAttempts int,
            RequeueCount int, EnqueuedAt, DueAt, FetchedAt datetime2(3) UTC, IdempotencyKey, Headers, Payload nvarchar.
            In claim order: by queue as listed, then priority (10 first), then due time, then JobId.
            Empty when the worker is draining or stopped.
Errors:     51003 @MaxJobs; 51004 @Queues or @JobTypes is not an array of names; 51013 no @WorkerId or @ClaimToken.
Tables, in order: Queues (read), Workers, Queues, Jobs.
Locks:      One statement claims from one queue and priority. It takes U, then X, on IX_Jobs_Pending and then on PK_Jobs, and skips what
            others have locked in either (READPAST), so that claimers never wait for each other, nor for a cancellation. The
            predicate on ClaimToken is always true for a pending row. It is there because no column of IX_Jobs_Pending answers it: the
            clustered key is looked up, and skipped if locked, while the row is being found; in the update itself READPAST no longer
            counts, and a session that came by the clustered key (CancelJob) could deadlock with the claim.
            Each queue is one transaction. It holds S on the worker's own row in Workers, and a worker that is draining or stopped gets nothing:
            SetWorkerState waits for the claims that are under way, and once it has said draining no claim of that worker can be committed any more, however
            late its request arrives. So the ReleaseJobs that follows finds everything.
            Where rows of other types stand in front, those to claim are found in IX_Jobs_PendingByType without locks, and then locked by
            IX_Jobs_Pending like all others: two claims never come to a row by two ways, and rows of other types are not locked (but for one
            that comes to the front in that very moment).
            A paused queue is skipped, and so is one whose row in Queues is locked: somebody is changing it.
            Claims of a queue that has a concurrency limit take turns by a U lock on its row in Queues; others do not meet there.
Reads:      in the order of the rows returned, whatever is pending, scheduled, archived or dead: for each queue and priority
            that has pending rows, one seek to find it and one to claim; one seek in Workers a queue. With @JobTypes, @MaxJobs entries of IX_Jobs_Pending more; where rows
            of other types are among these, for each type one seek and at most @MaxJobs entries of IX_Jobs_PendingByType, however many rows stand in front.
Callers:    chokaq_worker.
*/
CREATE OR ALTER PROCEDURE chokaq.ClaimJobs
    @WorkerId   uniqueidentifier,
    @ClaimToken uniqueidentifier,
    @Queues     nvarchar(max),
    @MaxJobs    int,
    @JobTypes   nvarchar(max) = NULL
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET ROWCOUNT 0;
    SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;
    SET NUMERIC_ROUNDABORT OFF;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    IF @WorkerId IS NULL OR @ClaimToken IS NULL
        THROW 51013, N'chokaq.ClaimJobs: @WorkerId and @ClaimToken must be UUIDs. Nothing was changed.', 1;
    IF @MaxJobs IS NULL OR @MaxJobs NOT BETWEEN 1 AND 1000
        THROW 51003, N'chokaq.ClaimJobs: @MaxJobs must be 1 to 1000. Nothing was changed.', 1;
    EXEC chokaq.CheckNameArray N'ClaimJobs', N'@Queues', @Queues, 100, 64;
    IF @JobTypes IS NOT NULL
        EXEC chokaq.CheckNameArray N'ClaimJobs', N'@JobTypes', @JobTypes, 1000, 128;

    DECLARE @Serve TABLE
    (
        Ordinal int NOT NULL PRIMARY KEY,
        Queue   nvarchar(64) COLLATE Latin1_General_100_BIN2 NOT NULL
    );
    DECLARE @Known TABLE (JobType nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY);

    INSERT INTO @Serve (Ordinal, Queue)
    SELECT CONVERT(int, q.[key]), CONVERT(nvarchar(64), q.[value])
    FROM OPENJSON(@Queues) AS q;

    INSERT INTO @Known (JobType)
    SELECT DISTINCT CONVERT(nvarchar(128), t.[value]) COLLATE Latin1_General_100_BIN2
    FROM OPENJSON(@JobTypes) AS t;

    DECLARE @Candidates TABLE (DueAt datetime2(3) NOT NULL, JobId bigint NOT NULL);  /* no key: without locks a row can be read twice */
    DECLARE @Claimed TABLE (JobId bigint NOT NULL PRIMARY KEY);
    DECLARE @Now datetime2(3) = SYSUTCDATETIME();

    IF NOT EXISTS (SELECT 1
                   FROM chokaq.Jobs AS j WITH (INDEX (IX_Jobs_Owner), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
                   WHERE j.WorkerId = @WorkerId AND j.ClaimToken = @ClaimToken AND j.WorkerId IS NOT NULL)
    BEGIN
        DECLARE @Room int = @MaxJobs, @Ordinal int = -1, @Queue nvarchar(64), @Take int, @Got int,
                @Found int, @IsPaused bit, @ConcurrencyLimit int, @Active int, @Above tinyint, @Priority tinyint, @WorkerState varchar(10),
                @Window int, @AfterDueAt datetime2(3), @AfterJobId bigint;

        WHILE @Room > 0
        BEGIN
            SELECT TOP (1) @Ordinal = s.Ordinal, @Queue = s.Queue
            FROM @Serve AS s
            WHERE s.Ordinal > @Ordinal
            ORDER BY s.Ordinal;
            IF @@ROWCOUNT = 0 BREAK;

            SELECT @IsPaused = 0, @ConcurrencyLimit = NULL;
            SELECT @IsPaused = q.IsPaused, @ConcurrencyLimit = q.ConcurrencyLimit
            FROM chokaq.Queues AS q WITH (ROWLOCK, READPAST, READCOMMITTEDLOCK)
            WHERE q.Queue = @Queue;
            SET @Found = @@ROWCOUNT;

            /* No row that could be read: either the queue has no switches, or somebody is setting one just now. */
            IF @Found = 0 AND EXISTS (SELECT 1 FROM chokaq.Queues AS q WITH (NOLOCK) WHERE q.Queue = @Queue) CONTINUE;
            IF @IsPaused = 1 CONTINUE;

            SET @Take = @Room;

            BEGIN TRANSACTION;

            SET @WorkerState = NULL;
            SELECT @WorkerState = w.State
            FROM chokaq.Workers AS w WITH (ROWLOCK, REPEATABLEREAD)
            WHERE w.WorkerId = @WorkerId;

            IF @WorkerState IN ('draining', 'stopped')
            BEGIN
                COMMIT TRANSACTION;
                BREAK;
            END;

            IF @ConcurrencyLimit IS NOT NULL
            BEGIN
                SELECT @IsPaused = q.IsPaused, @ConcurrencyLimit = q.ConcurrencyLimit
                FROM chokaq.Queues AS q WITH (ROWLOCK, UPDLOCK, READCOMMITTEDLOCK)
                WHERE q.Queue = @Queue;

                IF @IsPaused = 1
                    SET @Take = 0;
                ELSE IF @ConcurrencyLimit IS NOT NULL  /* it may have been lifted meanwhile */
                BEGIN
                    /* Fetched before Processing: a row that moves on in between is counted twice, never missed. */
                    SELECT @Active = COUNT(*)
                    FROM (SELECT TOP (@ConcurrencyLimit) f.JobId
                          FROM chokaq.Jobs AS f WITH (INDEX (IX_Jobs_Fetched), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
                          WHERE f.State = 1 AND f.Queue = @Queue) AS c;
                    SELECT @Active = @Active + COUNT(*)
                    FROM (SELECT TOP (@ConcurrencyLimit) p.JobId
                          FROM chokaq.Jobs AS p WITH (INDEX (IX_Jobs_Processing), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
                          WHERE p.State = 2 AND p.Queue = @Queue) AS c;

                    IF @ConcurrencyLimit - @Active < @Take
                        SET @Take = @ConcurrencyLimit - @Active;
                END;
            END;

            SET @Above = 11;
            WHILE @Take > 0
            BEGIN
                /* A hint where to look, so it takes no locks: an S lock here would make the claimer that has the row wait. */
                SET @Priority = NULL;
                SELECT TOP (1) @Priority = j.Priority
                FROM chokaq.Jobs AS j WITH (INDEX (IX_Jobs_Pending), FORCESEEK, NOLOCK)
                WHERE j.State = 0 AND j.Queue = @Queue AND j.Priority < @Above
                ORDER BY j.Priority DESC;
                IF @Priority IS NULL BREAK;

                /* The next rows, again without locks: does one of another type stand among them? */
                IF @JobTypes IS NULL OR NOT EXISTS
                   (SELECT 1
                    FROM (SELECT TOP (@Take) j.JobType
                          FROM chokaq.Jobs AS j WITH (INDEX (IX_Jobs_Pending), FORCESEEK, NOLOCK)
                          WHERE j.State = 0 AND j.Queue = @Queue AND j.Priority = @Priority AND j.DueAt <= @Now
                          ORDER BY j.DueAt, j.JobId) AS n
                    WHERE NOT EXISTS (SELECT 1 FROM @Known AS k WHERE k.JobType = n.JobType))
                BEGIN
                    /* A row of another type can have come to the front since: it is locked for this transaction, and left. */
                    WITH NextJobs AS
                    (
                        SELECT TOP (@Take) j.JobId, j.JobType, j.State, j.WorkerId, j.ClaimToken, j.FetchedAt, j.HeartbeatAt
                        FROM chokaq.Jobs AS j WITH (INDEX (IX_Jobs_Pending), FORCESEEK, ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK)
                        WHERE j.State = 0 AND j.Queue = @Queue AND j.Priority = @Priority AND j.DueAt <= @Now
                          AND j.ClaimToken IS NULL
                        ORDER BY j.DueAt, j.JobId
                    )
                    UPDATE NextJobs
                    SET State = 1, WorkerId = @WorkerId, ClaimToken = @ClaimToken, FetchedAt = @Now, HeartbeatAt = @Now
                    OUTPUT inserted.JobId INTO @Claimed (JobId)
                    WHERE @JobTypes IS NULL OR EXISTS (SELECT 1 FROM @Known AS k WHERE k.JobType = NextJobs.JobType);

                    SET @Got = @@ROWCOUNT;
                    SET @Take = @Take - @Got;
                    SET @Room = @Room - @Got;
                END
                ELSE
                BEGIN
                    SELECT @AfterDueAt = '0001-01-01', @AfterJobId = 0;
                    WHILE @Take > 0
                    BEGIN
                        SET @Window = @Take;
                        DELETE FROM @Candidates;

                        INSERT INTO @Candidates (DueAt, JobId)
                        SELECT TOP (@Window) c.DueAt, c.JobId
                        FROM @Known AS k
                        CROSS APPLY (SELECT TOP (@Window) j.DueAt, j.JobId
                                     FROM chokaq.Jobs AS j WITH (INDEX (IX_Jobs_PendingByType), FORCESEEK, NOLOCK)
                                     WHERE j.State = 0 AND j.Queue = @Queue AND j.JobType = k.JobType AND j.Priority = @Priority
                                       AND j.DueAt <= @Now AND j.DueAt >= @AfterDueAt AND (j.DueAt > @AfterDueAt OR j.JobId > @AfterJobId)
                                     ORDER BY j.DueAt, j.JobId) AS c
                        ORDER BY c.DueAt, c.JobId;

                        SET @Found = @@ROWCOUNT;
                        IF @Found = 0 BREAK;

                        UPDATE j
                        SET State = 1, WorkerId = @WorkerId, ClaimToken = @ClaimToken, FetchedAt = @Now, HeartbeatAt = @Now
                        OUTPUT inserted.JobId INTO @Claimed (JobId)
                        FROM @Candidates AS c
                        INNER JOIN chokaq.Jobs AS j WITH (INDEX (IX_Jobs_Pending), FORCESEEK, ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK)
                            ON j.Queue = @Queue AND j.Priority = @Priority AND j.DueAt = c.DueAt AND j.JobId = c.JobId
                        WHERE j.State = 0 AND j.ClaimToken IS NULL
                        OPTION (FORCE ORDER, LOOP JOIN);

                        SET @Got = @@ROWCOUNT;
                        SET @Take = @Take - @Got;
                        SET @Room = @Room - @Got;
                        IF @Found < @Window BREAK;

                        /* The window was full, and others hold some of its rows: the next one. */
                        SELECT TOP (1) @AfterDueAt = c.DueAt, @AfterJobId = c.JobId
                        FROM @Candidates AS c
                        ORDER BY c.DueAt DESC, c.JobId DESC;
                    END;
                END;

                SET @Above = @Priority;
            END;

            COMMIT TRANSACTION;
        END;
    END
    ELSE
        INSERT INTO @Claimed (JobId)
        SELECT j.JobId
        FROM chokaq.Jobs AS j WITH (INDEX (IX_Jobs_Owner), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK)
        WHERE j.WorkerId = @WorkerId AND j.ClaimToken = @ClaimToken AND j.WorkerId IS NOT NULL AND j.State = 1;

    SELECT j.JobId, j.Queue, j.JobType, j.Priority, j.Attempt, j.MaxAttempts, j.RequeueCount, j.EnqueuedAt, j.DueAt, j.FetchedAt,
           j.IdempotencyKey, j.Headers, j.Payload
    FROM @Claimed AS c
    INNER JOIN chokaq.Jobs AS j WITH (INDEX (PK_Jobs), FORCESEEK, ROWLOCK, READCOMMITTEDLOCK) ON j.JobId = c.JobId
    CROSS APPLY (SELECT MIN(s.Ordinal) AS Ordinal FROM @Serve AS s WHERE s.Queue = j.Queue) AS s
    WHERE j.ClaimToken = @ClaimToken AND j.State = 1
    ORDER BY s.Ordinal, j.Priority DESC, j.DueAt, j.JobId
    OPTION (FORCE ORDER, LOOP JOIN);
END;
