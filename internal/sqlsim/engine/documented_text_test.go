package engine

import "testing"

func TestDocumentedText(t *testing.T) {
	checkDocumented(t, []documented{
		{"t-sql/functions/translate-transact-sql", []documentedCase{
			{`=TRANSLATE('2*[3+4]/{7-2}', '[]{}', '()()'), TRANSLATE('[137.4, 72.3]', '[,]', '( )'), TRANSLATE('(137.4 72.3)', '( )', '[,]')`, `'2*(3+4)/(7-2)', '(137.4  72.3)', '[137.4,72.3]'`},
			{`=TRANSLATE('abc', 'ab', 'x')`, `!9828`},
		}},
		{"t-sql/functions/concat-ws-transact-sql", []documentedCase{
			{`=CONCAT_WS(',', '1 Microsoft Way', NULL, NULL, 'Redmond', 'WA', 98052)`, `'1 Microsoft Way,Redmond,WA,98052'`},
			{`=CONCAT_WS(',', NULL, NULL)`, `''`},
			{`type CONCAT_WS(',', NULL, NULL)`, `varchar(1)`},
			{`=CONCAT_WS(',', 'a')`, `!189`},
		}},
		{"t-sql/functions/trim-transact-sql", []documentedCase{
			{`=TRIM('     test    '), TRIM('.,! ' FROM '     #     test    .'), TRIM(TRAILING '.,! ' FROM '     .#     test    .'), TRIM(BOTH '123' FROM '123abc123'), TRIM(CAST(NULL AS varchar(5)))`, `'test', '#     test', '     .#     test', 'abc', NULL`},
			{`=TRIM(CHAR(9) + 'a'), LEN(TRIM(CHAR(9) + 'a '))`, "'\ta', 2"},
		}},
		{"t-sql/functions/replicate-transact-sql", []documentedCase{
			{`=REPLICATE('0', -1), DATALENGTH(REPLICATE('x', 9000)), DATALENGTH(REPLICATE(CAST('x' AS varchar(max)), 9000)), DATALENGTH(REPLICATE(N'x', 9000))`, `NULL, 8000, 9000, 8000`},
			{`CREATE TABLE t1 (c1 varchar(3), c2 char(3)); INSERT INTO t1 VALUES ('2', '2'), ('37', '37'), ('597', '597'); SELECT REPLICATE('0', 3 - DATALENGTH(c1)) + c1, REPLICATE('0', 3 - DATALENGTH(c2)) + c2 FROM t1`, `'002', '2  ' | '037', '37 ' | '597', '597'`},
			{`=REPLICATE(0x41, 2)`, `'AA'`},
		}},
		{"t-sql/functions/stuff-transact-sql", []documentedCase{
			{`=STUFF('abcdef', 2, 3, 'ijklmn'), STUFF('abc', 0, 1, 'x'), STUFF('abc', -1, 1, 'x'), STUFF('abc', 4, 1, 'x'), STUFF('abc', 1, -1, 'x'), STUFF('abc', 2, 99, 'x'), STUFF('abc', 2, 0, 'x'), STUFF('abc', 1, 2, NULL)`, `'aijklmnef', NULL, NULL, NULL, NULL, 'ax', 'axbc', 'c'`},
			{`=STUFF(0x010203, 2, 1, 0xFF)`, `0x01FF03`},
		}},
		{"t-sql/functions/quotename-transact-sql", []documentedCase{
			{`=QUOTENAME('abc[]def'), QUOTENAME(REPLICATE('x', 129)), QUOTENAME('a', '?'), QUOTENAME('a', '('), QUOTENAME('a', '>'), QUOTENAME('a', '}'), QUOTENAME('a', '` + "`" + `'), QUOTENAME('a"b', '"')`, "'[abc[]]def]', NULL, NULL, '(a)', '<a>', '{a}', '`a`', '\"a\"\"b\"'"},
			{`type QUOTENAME('a')`, `nvarchar(258)`},
		}},
	})
}

func TestDocumentedTextFunctions(t *testing.T) {
	checkDocumented(t, []documented{
		{"t-sql/functions/concat-transact-sql", []documentedCase{
			{`=CONCAT('Happy ', 'Birthday ', 11, '/', '25'), CONCAT(N'Name', NULL, 'Lastname'), CONCAT(14, 1234.56789e0)`, `'Happy Birthday 11/25', 'NameLastname', '141234.57'`},
			{`type CONCAT(NULL, NULL), CONCAT('a', CAST('b' AS varchar(max))), CONCAT(N'a', CAST('b' AS varchar(max)))`, `varchar(1), varchar(max), nvarchar(max)`},
			{`=CONCAT('a')`, `!189`},
		}},
		{"t-sql/functions/patindex-transact-sql", []documentedCase{
			{`=PATINDEX('%ter%', 'interesting data'), PATINDEX('%en_ure%', 'Please ensure the door is locked!'), PATINDEX('%[^ 0-9A-z]%', 'Please ensure the door is locked!'), PATINDEX('a%', 'abc'), PATINDEX('%a', 'cba'), PATINDEX('%ein%', 'Das ist ein Test' COLLATE Latin1_General_BIN), PATINDEX(NULL, 'a')`, `3, 8, 33, 1, 3, 9, NULL`},
			{`type PATINDEX('%a%', 'a'), PATINDEX('%a%', CAST('a' AS nvarchar(max)))`, `int, bigint`},
		}},
		{"t-sql/functions/charindex-transact-sql", []documentedCase{
			{`=CHARINDEX('bicycle', 'Reflectors are vital safety components of your bicycle.'), CHARINDEX('vital', 'Reflectors are vital', 5), CHARINDEX('bike', 'Reflectors'), CHARINDEX('is', 'This is a string'), CHARINDEX('is', 'This is a string', 4), CHARINDEX('is', 'This is', -7), CHARINDEX('is', 'This is', 0)`, `48, 16, 0, 3, 6, 3, 3`},
			{`=CHARINDEX('TEST', 'This is a Test' COLLATE Latin1_General_CS_AS), CHARINDEX('Test', 'This is a Test' COLLATE Latin1_General_CS_AS), CHARINDEX('TEST', 'This is a Test' COLLATE Latin1_General_CI_AS), CHARINDEX(NULL, 'a')`, `0, 11, 11, NULL`},
			{`type CHARINDEX('a', 'b'), CHARINDEX('a', CAST('b' AS varchar(max))), CHARINDEX(0x01, CAST(0x01 AS varbinary(max)))`, `int, bigint, bigint`},
		}},
		{"t-sql/functions/replace-transact-sql", []documentedCase{
			{`=REPLACE('abcdefghicde', 'cde', 'xxx'), REPLACE('This is a Test' COLLATE Latin1_General_BIN, 'Test', 'desk'), REPLACE('This is a Test' COLLATE Latin1_General_BIN, 'TEST', 'desk'), REPLACE('abc', '', 'x'), REPLACE('abc', NULL, 'x'), REPLACE('abc', 'b', NULL)`, `'abxxxfghixxx', 'This is a desk', 'This is a Test', 'abc', NULL, NULL`},
			{`=LEN(REPLACE(REPLICATE('a', 8000), 'a', 'bb')), LEN(REPLACE(CAST(REPLICATE('a', 8000) AS varchar(max)), 'a', 'bb'))`, `8000, 16000`},
			{`=SQL_VARIANT_PROPERTY(REPLACE('a', 'a', N'b'), 'BaseType'), SQL_VARIANT_PROPERTY(REPLACE('a', 'a', 'b'), 'BaseType')`, `'nvarchar', 'varchar'`},
		}},
		{"t-sql/functions/string-escape-transact-sql", []documentedCase{
			{"=STRING_ESCAPE('\\\t/\n\"' + CHAR(8) + CHAR(12) + CHAR(13) + CHAR(1) + CHAR(31), 'json')", `'\\\t\/\n\"\b\f\r\u0001\u001f'`},
			{`type STRING_ESCAPE('a', 'json')`, `nvarchar(max)`},
			{`=STRING_ESCAPE('a', 'xml')`, `!`},
		}},
		{"t-sql/functions/parsename-transact-sql", []documentedCase{
			{`=PARSENAME('AdventureWorksPDW2012.dbo.DimCustomer', 1), PARSENAME('AdventureWorksPDW2012.dbo.DimCustomer', 2), PARSENAME('AdventureWorksPDW2012.dbo.DimCustomer', 3), PARSENAME('AdventureWorksPDW2012.dbo.DimCustomer', 4), PARSENAME(NULL, 1), PARSENAME('a', NULL), PARSENAME('a.', 1), PARSENAME('a.b.c.d.e', 1), PARSENAME('[a.b].c', 2)`, `'DimCustomer', 'dbo', 'AdventureWorksPDW2012', NULL, NULL, NULL, NULL, NULL, 'a.b'`},
			{`type PARSENAME('a', 1)`, `nvarchar(128)`},
		}},
		{"t-sql/functions/substring-transact-sql", []documentedCase{
			{`=SUBSTRING('abcdef', 2, 3), SUBSTRING('abcdef', 0, 3), SUBSTRING('abcdef', -5, 3), SUBSTRING('abcdef', 9, 3), SUBSTRING('abcdef', 4, 99)`, `'bcd', 'ab', '', '', 'def'`},
			{`=SUBSTRING('abcdef', 1, -1)`, `!537`},
			{`=SQL_VARIANT_PROPERTY(SUBSTRING(CAST('a' AS char(5)), 1, 1), 'BaseType'), SQL_VARIANT_PROPERTY(SUBSTRING(CAST('a' AS nchar(5)), 1, 1), 'BaseType'), SQL_VARIANT_PROPERTY(SUBSTRING(CAST(0x01 AS binary(5)), 1, 1), 'BaseType')`, `'varchar', 'nvarchar', 'varbinary'`},
			{`=SUBSTRING('abc', 1, 3000000000)`, `!`},
		}},
		{"t-sql/language-elements/like-transact-sql", []documentedCase{
			{`CREATE TABLE t (a char(30), b nchar(30)); INSERT t VALUES ('Robert King', 'Robert King'); SELECT (SELECT COUNT(*) FROM t WHERE a LIKE '% King'), (SELECT COUNT(*) FROM t WHERE b LIKE '% King'), (SELECT COUNT(*) FROM t WHERE RTRIM(b) LIKE '% King')`, `1, 0, 1`},
			{`=IIF('abc' LIKE 'abc ', 1, 0), IIF('abc  ' LIKE 'abc', 1, 0)`, `0, 1`},
			{`=IIF('5%' LIKE '5[%]', 1, 0), IIF('_n' LIKE '[_]n', 1, 0), IIF('-' LIKE '[-acdf]', 1, 0), IIF('b' LIKE '[a-cdf]', 1, 0), IIF('e' LIKE '[a-cdf]', 1, 0), IIF('[' LIKE '[ [ ]', 1, 0), IIF(']' LIKE ']', 1, 0), IIF('abc_de' LIKE 'abc[_]d%', 1, 0), IIF('abce' LIKE 'abc[def]', 1, 0)`, `1, 1, 1, 1, 0, 1, 1, 1, 1`},
			{`=IIF('Discount is 10-15% off' LIKE '%10-15!% off%' ESCAPE '!', 1, 0), IIF('a!' LIKE 'a!' ESCAPE '!', 1, 0), IIF('ab' LIKE 'a!b' ESCAPE '!', 1, 0)`, `1, 0, 1`},
			{`CREATE PROCEDURE FindEmployee @n char(20) AS SELECT @n = RTRIM(@n) + '%'; SELECT IIF('Barber' LIKE @n, 1, 0)`, ``},
			{`EXEC FindEmployee 'Barb'`, `0`},
		}},
		{"t-sql/functions/string-split-transact-sql", []documentedCase{
			{`SELECT value FROM STRING_SPLIT('Lorem ipsum dolor', ' '); SELECT * FROM STRING_SPLIT('a,,b', ',', 1)`, `'Lorem' | 'ipsum' | 'dolor' | 'a', 1 | '', 2 | 'b', 3`},
			{`SELECT * FROM STRING_SPLIT(CAST(NULL AS varchar(5)), ',')`, ``},
			{`SELECT * FROM STRING_SPLIT('E-D-C', '-', 1) ORDER BY ordinal DESC`, `'C', 3 | 'D', 2 | 'E', 1`},
			{`type value, ordinal FROM STRING_SPLIT(CAST('a' AS varchar(10)), ',', 1)`, `varchar(10), bigint`},
			{`type value FROM STRING_SPLIT(CAST('a' AS varchar(10)), N',')`, `nvarchar(10)`},
			{`SELECT * FROM STRING_SPLIT('a', ',,')`, `!214`},
			{`DECLARE @o int = 1; SELECT * FROM STRING_SPLIT('a', ',', @o)`, `!`},
			{`SELECT * FROM STRING_SPLIT('a', ',', 2)`, `!`},
			{`SELECT * FROM STRING_SPLIT('a', ',', NULL); SELECT * FROM STRING_SPLIT('a', ',', 0)`, `'a' | 'a'`},
		}},
		{"t-sql/functions/string-agg-transact-sql", []documentedCase{
			{`SELECT STRING_AGG(x, ',') FROM (VALUES ('b'), (NULL), ('a')) v (x); SELECT STRING_AGG(ISNULL(x, 'N/A'), ',') FROM (VALUES ('John'), (NULL), ('Mike')) v (x)`, `'b,a' | 'John,N/A,Mike'`},
			{`SELECT STRING_AGG(x, ';') WITHIN GROUP (ORDER BY x ASC) FROM (VALUES ('b'), ('c'), ('a')) v (x)`, `'a;b;c'`},
			{`type STRING_AGG(CAST(x AS varchar(10)), ','), STRING_AGG(CAST(x AS nvarchar(10)), ','), STRING_AGG(CAST(x AS varchar(max)), ','), STRING_AGG(CAST(x AS nvarchar(max)), ','), STRING_AGG(1, ',') FROM (VALUES ('a')) v (x)`, `varchar(8000), nvarchar(4000), varchar(max), nvarchar(max), nvarchar(4000)`},
			{`SELECT STRING_AGG(x, ',') FROM (VALUES (CAST(NULL AS varchar(5)))) v (x)`, `NULL`},
			{`SELECT STRING_AGG(REPLICATE('x', 8000), ',') FROM (VALUES (1), (2)) v (x)`, `!9829`},
		}},
		{"t-sql/functions/format-transact-sql", []documentedCase{
			{`=FORMAT(CAST('11/22/2020' AS date), 'd', 'en-US'), FORMAT(CAST('2024-08-09' AS date), 'D', 'en-US'), FORMAT(CAST('2024-08-09' AS date), 'dd/MM/yyyy', 'en-US'), FORMAT(123456789, '###-##-####')`, `'11/22/2020', 'Friday, August 9, 2024', '09/08/2024', '123-45-6789'`},
			{`=FORMAT($1.0002, 'N', 'en-us'), FORMAT($1.55, 'G', 'en-us'), FORMAT($8.2784, 'C', 'en-us')`, `'1.00', '1.5500', '$8.28'`},
			{`=FORMAT(CAST('07:35' AS time), N'hh.mm'), FORMAT(CAST('07:35' AS time), N'hh:mm'), FORMAT(CAST('07:35' AS time), N'hh\.mm'), FORMAT(CAST('07:35' AS time), N'hh\:mm')`, `NULL, NULL, '07.35', '07:35'`},
			{`=FORMAT(CAST('2018-01-01 01:00' AS datetime2), N'hh:mm tt'), FORMAT(CAST('2018-01-01 14:00' AS datetime2), N'hh:mm t'), FORMAT(CAST('2018-01-01 14:00' AS datetime2), N'HH:mm')`, `'01:00 AM', '02:00 P', '14:00'`},
			{`=FORMAT(1, 'N', 'nonsense')`, `!`},
		}},
		{"t-sql/functions/isnull-transact-sql", []documentedCase{
			{`=ISNULL(CAST(NULL AS varchar(3)), 'abcdef'), ISNULL(NULL, 'abc')`, `'abc', 'abc'`},
			{`type ISNULL(CAST(NULL AS tinyint), 5), ISNULL(NULL, CAST(5 AS bigint))`, `tinyint, bigint`},
		}},
		{"t-sql/language-elements/coalesce-transact-sql", []documentedCase{
			{`=COALESCE(NULL, NULL, 'third_value', 'fourth_value')`, `'third_value'`},
			{`=COALESCE(NULL, NULL)`, `!`},
			{`type COALESCE(CAST(1 AS tinyint), CAST(2 AS bigint))`, `bigint`},
			{`CREATE TABLE #Demo (col1 integer NULL, col2 AS COALESCE(col1, 0) PRIMARY KEY, col3 AS ISNULL(col1, 0))`, `!`},
			{`CREATE TABLE #Demo (col1 integer NULL, col2 AS COALESCE(col1, 0), col3 AS ISNULL(col1, 0) PRIMARY KEY)`, ``},
		}},
	})
}
