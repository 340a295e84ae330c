-- An application in any language: an order and its job, in one transaction. Nothing of ChokaQ is needed but the procedure; the login's user is a
-- member of chokaq_producer and may write to the application's own tables.
--
-- Text is nvarchar (N'...'); the payload is JSON text. With XACT_ABORT ON any error rolls everything back.
SET XACT_ABORT ON;

DECLARE @JobId bigint, @Created bit;

BEGIN TRANSACTION;

INSERT INTO dbo.Orders (OrderId, Email) VALUES (42, N'ada@example.com');

EXEC chokaq.EnqueueJob
    @Queue          = N'mail',
    @JobType        = N'send_receipt',
    @Payload        = N'{"order": 42, "email": "ada@example.com"}',
    @IdempotencyKey = N'order-42',  -- enqueueing it twice makes one job, as long as the first is live
    @JobId          = @JobId OUTPUT,
    @Created        = @Created OUTPUT,
    @ReturnRow      = 0;

COMMIT TRANSACTION;

SELECT @JobId AS JobId, @Created AS Created;
