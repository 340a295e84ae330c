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
