CREATE FUNCTION dbo.agent_datetime (@date int, @time int)
RETURNS datetime
AS
BEGIN
    RETURN CONVERT(datetime,
        CONVERT(nvarchar(4), @date / 10000) + N'-' + RIGHT(N'0' + CONVERT(nvarchar(2), @date % 10000 / 100), 2) + N'-' + RIGHT(N'0' + CONVERT(nvarchar(2), @date % 100), 2) + N'T'
        + RIGHT(N'0' + CONVERT(nvarchar(2), @time / 10000), 2) + N':' + RIGHT(N'0' + CONVERT(nvarchar(2), @time % 10000 / 100), 2) + N':' + RIGHT(N'0' + CONVERT(nvarchar(2), @time % 100), 2), 126);
END;
