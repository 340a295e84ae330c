package engine

import (
	"context"
	"strings"
	"testing"
	"time"
)

// FuzzBatch runs arbitrary batches: whatever they are, they end in messages, not panics.
func FuzzBatch(f *testing.F) {
	for _, sql := range []string{
		"SELECT 1/0; BEGIN TRY THROW 50000, 'x', 1 END TRY BEGIN CATCH SELECT ERROR_MESSAGE() END CATCH",
		"DECLARE @i int = 0; WHILE @i < 3 SET @i += 1; SELECT @i",
		"SELECT SUBSTRING('abc', 2, 9), STUFF('abc', 1, 2, 'x'), REPLACE('a', 'a', 'b'), TRIM('x' FROM 'xax'), FORMAT(1.5, '#,##0.00'), STR(1, 5, 2)",
		"SELECT JSON_VALUE('{\"a\":[1,{\"b\":null}]}', '$.a[1].b'), JSON_MODIFY('{\"a\":1}', 'append $.b', 'x'), ISJSON('[')",
		"SELECT DATEADD(MONTH, 13, '20240131'), DATEDIFF(WEEK, '19000101', '20240101'), DATE_BUCKET(DAY, 3, GETDATE()), EOMONTH(GETDATE(), -1)",
		"SELECT ROUND(-1.55, 1), POWER(2.5, 3), CEILING(-0.5), 1 % 3, ~5, 7 & 3, CAST(1.5 AS decimal(3, 1)) * 2",
		"EXEC sp_executesql N'SELECT @a', N'@a int', @a = 1; EXEC ('PRINT 1')",
		"BEGIN TRAN; SAVE TRAN a; ROLLBACK TRAN a; COMMIT; RAISERROR('%s %5.2d', 16, 1, 'x', 5)",
		"SELECT N'ÅÄ' COLLATE Latin1_General_100_CI_AI, CHARINDEX(N'ä', N'xÄ'), NCHAR(55357), UPPER(NCHAR(55357)), REVERSE(N'a😀')",
		"SELECT CASE WHEN 'a' LIKE '[a-c]%' THEN 1 END, CHOOSE(1, 'a'), GREATEST(1, 2.5), COALESCE(NULL, 'x'), QUOTENAME('a')",
	} {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		upper := strings.ToUpper(sql)
		if strings.Contains(upper, "WAITFOR") || strings.Contains(upper, "REPLICATE") {
			return
		}
		s, _ := newFakeSession()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = s.Batch(ctx, sql, &recorder{})
	})
}
