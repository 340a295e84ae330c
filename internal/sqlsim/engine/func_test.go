package engine

import (
	"strings"
	"testing"
)

// TestExpressions evaluates expressions; want is the value as value.String shows it, or
// an error number after "!".
func TestExpressions(t *testing.T) {
	cases := []struct{ expr, want string }{
		// operators
		{"1 + 2 * 3", "7"}, {"7 / 2", "3"}, {"7 % 3", "1"}, {"7.0 / 2", "3.500000"}, {"-100.0/-100.0*10", "0.100000000"},
		{"'a' + 'b'", "'ab'"}, {"N'a' + 'b'", "'ab'"}, {"'a' + NULL", "NULL"}, {"1 + '2'", "3"}, {"'1' + 2", "3"},
		{"5 & 3", "1"}, {"5 | 3", "7"}, {"5 ^ 3", "6"}, {"~5", "-6"}, {"1 << 4", "16"}, {"2147483647 + 1", "!8115"},
		{"1 / 0", "!8134"}, {"1.5e0 * 2", "3"}, {"$1.25 + 1", "2.2500"}, {"0x01 + 0x02", "0x0102"}, {"1 + 'x'", "!245"},
		{"CASE WHEN 1 = 1 THEN 'a' ELSE 'bb' END", "'a'"}, {"CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END", "'b'"},
		{"CASE WHEN 1 = 2 THEN 1 END", "NULL"}, {"CASE WHEN NULL = NULL THEN 1 ELSE 0 END", "0"},
		{"CASE WHEN 1 = 1 THEN 1 ELSE 2.5 END", "1.0"},
		{"IIF('a' = 'A ', 1, 0)", "1"}, {"IIF('a' = 'A' COLLATE Latin1_General_100_BIN2, 1, 0)", "0"},
		{"IIF(NULL IS NOT DISTINCT FROM NULL, 1, 0)", "1"}, {"IIF(1 IN (2, NULL), 1, 0)", "0"}, {"IIF(1 NOT IN (2, NULL), 1, 0)", "0"},
		{"IIF('abc' LIKE 'a%', 1, 0)", "1"}, {"IIF('a_c' LIKE 'a!_c' ESCAPE '!', 1, 0)", "1"}, {"IIF(2 BETWEEN 1 AND 3, 1, 0)", "1"},
		{"COALESCE(NULL, NULL, 3)", "3"}, {"COALESCE(NULL, NULL)", "!4127"}, {"NULLIF(1, 1)", "NULL"}, {"ISNULL(NULL, 5)", "5"},
		{"ISNULL(CAST(NULL AS varchar(2)), 'abc')", "'ab'"}, {"CHOOSE(2, 'a', 'b')", "'b'"}, {"CHOOSE(3, 'a', 'b')", "NULL"},
		{"GREATEST(1, 3, 2)", "3"}, {"LEAST('b', 'a')", "'a'"}, {"GREATEST(NULL, 3)", "3"},
		// conversion
		{"CAST('12' AS int)", "12"}, {"TRY_CAST('x' AS int)", "NULL"}, {"CAST(1.999 AS int)", "1"}, {"CAST('2024-01-02' AS date)", "2024-01-02"},
		{"CONVERT(varchar(10), CAST('2024-01-02' AS date), 112)", "'20240102'"}, {"TRY_CONVERT(date, 'nope')", "NULL"}, {"CAST('x' AS uniqueidentifier)", "!8169"},
		{"CAST('abc' AS varchar(2))", "'ab'"}, {"CAST(NULL AS int)", "NULL"}, {"CAST(123456 AS varchar(3))", "'*'"},
		// text
		{"LEN('ab  ')", "2"}, {"LEN(N'')", "0"}, {"DATALENGTH(N'ab')", "4"}, {"LEFT('hello', 2)", "'he'"}, {"RIGHT('hello', 3)", "'llo'"}, {"LEFT('x', -1)", "!536"},
		{"SUBSTRING('hello', 2, 3)", "'ell'"}, {"SUBSTRING('hello', 0, 3)", "'he'"}, {"SUBSTRING('hello', -1, 3)", "'h'"}, {"SUBSTRING('hello', 2, -1)", "!537"}, {"SUBSTRING(0x010203, 2, 1)", "0x02"},
		{"CHARINDEX('L', 'hello')", "3"}, {"CHARINDEX('l', 'hello', 4)", "4"}, {"CHARINDEX('z', 'hello')", "0"}, {"CHARINDEX(N'É', N'caféÉ')", "4"},
		{"PATINDEX('%l%', 'hello')", "3"}, {"REPLACE('aBcaBc', 'b', 'X')", "'aXcaXc'"}, {"REPLACE('abc', '', 'x')", "'abc'"}, {"STUFF('abcdef', 2, 3, 'XY')", "'aXYef'"}, {"STUFF('abc', 2, 1, NULL)", "'ac'"}, {"STUFF('abc', 4, 1, 'x')", "NULL"},
		{"REPLICATE('ab', 3)", "'ababab'"}, {"REPLICATE('ab', -1)", "NULL"}, {"LEN(REPLICATE('a', 9000))", "8000"}, {"LEN(REPLICATE(CAST('a' AS varchar(max)), 9000))", "9000"}, {"'[' + SPACE(2) + ']'", "'[  ]'"},
		{"TRIM('  a ')", "'a'"}, {"TRIM('xy' FROM 'xaby')", "'ab'"}, {"LTRIM('  a ')", "'a '"}, {"TRIM(LEADING 'x' FROM 'xax')", "'ax'"}, {"RTRIM('a..', '.')", "'a'"},
		{"UPPER(N'straße')", "'STRAßE'"}, {"REVERSE('abc')", "'cba'"}, {"CONCAT('a', NULL, 1)", "'a1'"}, {"CONCAT_WS(',', 'a', NULL, 'b')", "'a,b'"}, {"CONCAT('a')", "!189"},
		{"STRING_ESCAPE('a\"/', 'json')", "'a\\\"\\/'"}, {"TRANSLATE('2*[3+4]', '[]', '()')", "'2*(3+4)'"}, {"TRANSLATE('a', 'ab', 'a')", "!9828"}, {"QUOTENAME('a]b')", "'[a]]b]'"}, {"QUOTENAME('a', '''')", "'''a'''"}, {"PARSENAME('a.b.c', 2)", "'b'"},
		{"STR(123.456, 7, 2)", "' 123.46'"}, {"STR(123456, 3)", "'***'"}, {"CHAR(65)", "'A'"}, {"CHAR(256)", "NULL"}, {"NCHAR(8364)", "'€'"}, {"UNICODE(N'€')", "8364"}, {"ASCII('A')", "65"}, {"SOUNDEX('Robert')", "'R163'"}, {"DIFFERENCE('Smith', 'Smyth')", "4"},
		{"FORMATMESSAGE('%s-%d', 'a', 5)", "'a-5'"}, {"FORMAT(1234.5, 'N2')", "'1,234.50'"}, {"FORMAT(7, '000')", "'007'"}, {"FORMAT(CAST('2024-02-03' AS date), 'yyyy-MM-dd')", "'2024-02-03'"}, {"FORMAT(1, 'N', 'de-de')", "!40510"},
		{"ISNUMERIC('1e5')", "1"}, {"ISNUMERIC('x')", "0"}, {"ISNUMERIC('-')", "1"},
		// math
		{"ABS(-5)", "5"}, {"CEILING(1.2)", "2"}, {"FLOOR(-1.2)", "-2"}, {"ROUND(123.456, 1)", "123.500"}, {"ROUND(155, -1)", "160"}, {"ROUND(1.79, 1, 1)", "1.70"}, {"POWER(2, 10)", "1024"}, {"POWER(2, 31)", "!232"}, {"SQRT(16)", "4"}, {"SIGN(-2.5)", "-1.0"}, {"SQUARE(3)", "9"}, {"LOG(8, 2)", "3"}, {"PI()", "3.141592653589793"}, {"SQRT(-1)", "!3623"}, {"BIT_COUNT(255)", "8"},
		// dates
		{"SYSUTCDATETIME()", "2024-02-29 13:14:15.1234567"}, {"GETUTCDATE()", "2024-02-29 13:14:15.1233333"}, {"DATEADD(MONTH, 1, '20240131')", "2024-02-29 00:00:00"}, {"DATEADD(DAY, -1, CAST('2024-03-01' AS date))", "2024-02-29"}, {"DATEADD(ms, 1500, CAST('2024-01-01' AS datetime2(3)))", "2024-01-01 00:00:01.5"},
		{"DATEADD(YEAR, 8000, GETDATE())", "!517"}, {"DATEDIFF(DAY, '20240101', '20240301')", "60"}, {"DATEDIFF(YEAR, '20231231', '20240101')", "1"}, {"DATEDIFF(WEEK, '20240106', '20240107')", "1"}, {"DATEDIFF(ms, '19000101', '20240101')", "!535"}, {"DATEDIFF_BIG(ms, '19000101', '20240101')", "3913056000000"},
		{"DATEPART(WEEKDAY, '20240229')", "5"}, {"DATEPART(ISO_WEEK, '20240101')", "1"}, {"DATEPART(QUARTER, '20240601')", "2"}, {"DATEPART(ns, CAST('00:00:00.1234567' AS time))", "123456700"}, {"DATENAME(MONTH, '20240229')", "'February'"}, {"DATENAME(dw, '20240229')", "'Thursday'"}, {"YEAR('20240229')", "2024"}, {"EOMONTH('20240115')", "2024-01-31"}, {"EOMONTH('20240115', 1)", "2024-02-29"},
		{"DATEFROMPARTS(2024, 2, 30)", "!289"}, {"DATEFROMPARTS(2024, 2, 29)", "2024-02-29"}, {"TIMEFROMPARTS(1, 2, 3, 5, 1)", "01:02:03.5"}, {"DATETIME2FROMPARTS(2024, 1, 2, 3, 4, 5, 6, 3)", "2024-01-02 03:04:05.006"}, {"DATETRUNC(MONTH, CAST('2024-02-29 10:00' AS datetime2(0)))", "2024-02-01 00:00:00"}, {"DATE_BUCKET(WEEK, 1, CAST('2024-02-29' AS date))", "2024-02-26"}, {"DATE_BUCKET(MONTH, 2, CAST('2024-02-29' AS date))", "2024-01-01"},
		{"SWITCHOFFSET(CAST('2024-01-01 00:00 +00:00' AS datetimeoffset(0)), '+02:00')", "2024-01-01 02:00:00 +02:00"}, {"TODATETIMEOFFSET(CAST('2024-01-01' AS datetime2(0)), -60)", "2024-01-01 00:00:00 -01:00"}, {"ISDATE('20240230')", "0"}, {"ISDATE('20240229')", "1"}, {"CAST('2024-07-01' AS datetime2(0)) AT TIME ZONE 'Central European Standard Time'", "2024-07-01 00:00:00 +02:00"}, {"DATEPART(nope, GETDATE())", "!155"}, {"DATEPART(HOUR, CAST('20240101' AS date))", "!9810"},
		// JSON
		{`ISJSON('{"a":1}')`, "1"}, {"ISJSON('1')", "0"}, {"ISJSON('1', VALUE)", "1"}, {"ISJSON('{')", "0"}, {"ISJSON(NULL)", "NULL"},
		{`JSON_VALUE('{"a":{"b":[1,2]}}', '$.a.b[1]')`, "'2'"}, {`JSON_VALUE('{"a":1}', '$.b')`, "NULL"}, {`JSON_VALUE('{"a":1}', 'strict $.b')`, "!13608"}, {`JSON_VALUE('{"a":[1]}', '$.a')`, "NULL"}, {`JSON_VALUE('{"a":[1]}', 'strict $.a')`, "!13623"}, {`JSON_VALUE('{a', '$.a')`, "!13609"}, {`JSON_VALUE('{}', 'a')`, "!13607"}, {`JSON_VALUE('{"a b":"x\u00e9\ud83d\ude00"}', '$."a b"')`, "'xé😀'"},
		{`JSON_QUERY('{"a":[1, 2]}', '$.a')`, "'[1, 2]'"}, {`JSON_QUERY('{"a":1}', '$.a')`, "NULL"}, {`JSON_PATH_EXISTS('{"a":1}', '$.a')`, "1"},
		{`JSON_MODIFY('{"a":1,"b":2}', '$.a', 5)`, `'{"a":5,"b":2}'`}, {`JSON_MODIFY('{"a":1,"b":2}', '$.a', NULL)`, `'{"b":2}'`}, {`JSON_MODIFY('{"a":1}', '$.c', 'x')`, `'{"a":1,"c":"x"}'`}, {`JSON_MODIFY('{"a":[1]}', 'append $.a', 2)`, `'{"a":[1,2]}'`}, {`JSON_MODIFY('{"a":1}', '$.a', JSON_QUERY('{"x":[]}'))`, `'{"a":{"x":[]}}'`}, {`JSON_MODIFY('{"a":1}', 'strict $.z', 1)`, "!13608"},
		{"JSON_OBJECT('a': 1, 'b': NULL, 'c': JSON_ARRAY('x', NULL, CAST(1 AS bit)))", `'{"a":1,"b":null,"c":["x",true]}'`},
		// the rest
		{"HASHBYTES('MD5', 'abc')", "0x900150983CD24FB0D6963F7D28E17F72"}, {"HASHBYTES('SHA2_256', N'a')", "0xFFE9AAEAA2A2D5048174DF0B80599EF0197EC024C4B051BC9860CFF58EF7F9F3"}, {"CAST(DECOMPRESS(COMPRESS('abc')) AS varchar(10))", "'abc'"},
		{"IIF(CHECKSUM('a') = CHECKSUM('A'), 1, 0)", "1"}, {"IIF(BINARY_CHECKSUM('a') = BINARY_CHECKSUM('A'), 1, 0)", "0"}, {"LEN(CAST(NEWID() AS char(36)))", "36"}, {"DB_NAME()", "'master'"}, {"OBJECT_ID('nope')", "NULL"}, {"sys.fn_hadr_is_primary_replica('master')", "NULL"}, {"@@SPID", "51"}, {"@@TRANCOUNT", "0"}, {"CURRENT_USER", "'dbo'"}, {"SUSER_SNAME()", "'sa'"},
		{"SQL_VARIANT_PROPERTY(1.50, 'Precision')", "3"}, {"SQL_VARIANT_PROPERTY(0.5, 'Precision')", "1"}, {"SQL_VARIANT_PROPERTY(N'a', 'BaseType')", "'nvarchar'"}, {"SQL_VARIANT_PROPERTY(2147483648, 'BaseType')", "'numeric'"},
		{"ENCRYPTBYKEY(1)", "!40510"}, {"{fn LEFT('abc', 1)}", "'a'"}, {"{d '2024-01-02'}", "2024-01-02 00:00:00"},
	}
	s, _ := newFakeSession()
	for _, c := range cases {
		got := strings.Join(s.runScript(t, "SELECT "+c.expr), "|")
		if strings.HasPrefix(c.want, "!") {
			if !strings.HasPrefix(got, "error "+c.want[1:]+",") {
				t.Errorf("%s = %s, want error %s", c.expr, got, c.want[1:])
			}
			continue
		}
		if got != c.want {
			t.Errorf("%s = %s, want %s", c.expr, got, c.want)
		}
	}
}
