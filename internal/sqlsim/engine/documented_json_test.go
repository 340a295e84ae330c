package engine

import "testing"

const documentedInfo = `DECLARE @j nvarchar(max) = N'{"info":{"type":1,"address":{"town":"Bristol","county":"Avon","country":"England"},"tags":["Sport", "Water polo"]},"type":"Basic"}'; SELECT `

func TestDocumentedJSON(t *testing.T) {
	checkDocumented(t, []documented{
		{"t-sql/functions/json-value-transact-sql", []documentedCase{
			{documentedInfo + `JSON_VALUE(@j, '$'), JSON_VALUE(@j, '$.info.type'), JSON_VALUE(@j, '$.info.address.town'), JSON_VALUE(@j, '$.info."address"'), JSON_VALUE(@j, '$.info.tags'), JSON_VALUE(@j, '$.info.type[0]'), JSON_VALUE(@j, '$.info.none')`, `NULL, '1', 'Bristol', NULL, NULL, NULL, NULL`},
			{documentedInfo + `JSON_VALUE(@j, 'strict $')`, `!`},
			{documentedInfo + `JSON_VALUE(@j, 'strict $.info.type'), JSON_VALUE(@j, 'strict $.info.address.town')`, `'1', 'Bristol'`},
			{documentedInfo + `JSON_VALUE(@j, 'strict $.info."address"')`, `!`},
			{documentedInfo + `JSON_VALUE(@j, 'strict $.info.tags')`, `!`},
			{documentedInfo + `JSON_VALUE(@j, 'strict $.info.type[0]')`, `!`},
			{documentedInfo + `JSON_VALUE(@j, 'strict $.info.none')`, `!`},
			{`type JSON_VALUE('{}', '$.a')`, `nvarchar(4000)`},
			{`DECLARE @j nvarchar(max) = '{"a":"' + REPLICATE(CAST('x' AS varchar(max)), 4000) + '"}'; SELECT LEN(JSON_VALUE(@j, '$.a'))`, `4000`},
			{`DECLARE @j nvarchar(max) = '{"a":"' + REPLICATE(CAST('x' AS varchar(max)), 4001) + '"}'; SELECT JSON_VALUE(@j, '$.a')`, `NULL`},
			{`DECLARE @j nvarchar(max) = '{"a":"' + REPLICATE(CAST('x' AS varchar(max)), 4001) + '"}'; SELECT JSON_VALUE(@j, 'strict $.a')`, `!`},
			{`=JSON_VALUE('{"info":{"address":[{"town":"Paris"},{"town":"London"}]}}', '$.info.address[1].town')`, `'London'`},
			{`=JSON_VALUE('{"a":1', '$.b')`, `!`},
			{`=JSON_VALUE('{"a":"x", oops', '$.a'), JSON_QUERY('{"a":[1], oops', '$.a')`, `'x', '[1]'`},
			{`=JSON_VALUE('{"a":1}', '.a')`, `!`},
		}},
		{"t-sql/functions/json-query-transact-sql", []documentedCase{
			{documentedInfo + `JSON_QUERY(@j, '$.info.type'), JSON_QUERY(@j, '$.info.address.town'), JSON_QUERY(@j, '$.info."address"'), JSON_QUERY(@j, '$.info.tags'), JSON_QUERY(@j, '$.info.type[0]'), JSON_QUERY(@j, '$.info.none')`, `NULL, NULL, '{"town":"Bristol","county":"Avon","country":"England"}', '["Sport", "Water polo"]', NULL, NULL`},
			{documentedInfo + `IIF(JSON_QUERY(@j) = @j AND JSON_QUERY(@j, '$') = @j AND JSON_QUERY(@j, 'strict $') = @j, 1, 0)`, `1`},
			{documentedInfo + `JSON_QUERY(@j, 'strict $.info.type')`, `!`},
			{documentedInfo + `JSON_QUERY(@j, 'strict $.info.none')`, `!`},
			{documentedInfo + `JSON_QUERY(@j, 'strict $.info.type[0]')`, `!`},
			{`type JSON_QUERY('{}')`, `nvarchar(max)`},
			{`SELECT JSON_QUERY('[1,2]') AS a, '[1,2]' AS b FOR JSON PATH`, `'[{"a":[1,2],"b":"[1,2]"}]'`},
		}},
		{"t-sql/functions/json-modify-transact-sql", []documentedCase{
			{`DECLARE @i nvarchar(100) = '{"name":"John","skills":["C#","SQL"]}'; SET @i = JSON_MODIFY(@i, '$.name', 'Mike'); PRINT @i; SET @i = JSON_MODIFY(@i, '$.surname', 'Smith'); PRINT @i; SET @i = JSON_MODIFY(@i, '$.name', NULL); PRINT @i; SET @i = JSON_MODIFY(@i, 'append $.skills', 'Azure'); PRINT @i`,
				`{"name":"Mike","skills":["C#","SQL"]} | {"name":"Mike","skills":["C#","SQL"],"surname":"Smith"} | {"skills":["C#","SQL"],"surname":"Smith"} | {"skills":["C#","SQL","Azure"],"surname":"Smith"}`},
			{`=JSON_MODIFY('{"a":1}', 'strict $.a', NULL), JSON_MODIFY('{"a":1}', '$.b', NULL), JSON_MODIFY('{"user":1}', '$.x.y', 1)`, `'{"a":null}', '{"a":1}', '{"user":1}'`},
			{`=JSON_MODIFY('{"a":1}', 'strict $.b', 1)`, `!`},
			{`=JSON_MODIFY('{"a":1}', 'strict $.b', NULL)`, `!`},
			{`=JSON_MODIFY('{"a":1', '$.b', 1)`, `!`},
			{`DECLARE @p nvarchar(100) = '{"price":49.99}'; SELECT JSON_MODIFY(JSON_MODIFY(@p, '$.Price', CAST(JSON_VALUE(@p, '$.price') AS numeric(4,2))), '$.price', NULL)`, `'{"Price":49.99}'`},
			{`DECLARE @s nvarchar(100) = '{"click_count": 173}'; SELECT JSON_MODIFY(@s, '$.click_count', CAST(JSON_VALUE(@s, '$.click_count') AS int) + 1)`, `'{"click_count": 174}'`},
			{`=JSON_MODIFY('{"skills":[1]}', '$.skills', '["C#"]'), JSON_MODIFY('{"skills":[1]}', '$.skills', JSON_QUERY('["C#"]')), JSON_MODIFY('{"skills":[1]}', '$.skills', JSON_MODIFY('{"a":1}', '$.a', 2))`, `'{"skills":"[\"C#\"]"}', '{"skills":["C#"]}', '{"skills":{"a":2}}'`},
		}},
		{"t-sql/functions/isjson-transact-sql", []documentedCase{
			{`=ISJSON('{"a":1,"a":2}'), ISJSON('x'), ISJSON(NULL), ISJSON('')`, `1, 0, NULL, 0`},
			{`type ISJSON('x')`, `int`},
		}},
		{"t-sql/functions/openjson-transact-sql", []documentedCase{
			{`SELECT * FROM OPENJSON(N'{"StringValue":"John","IntValue":45,"TrueValue":true,"FalseValue":false,"NullValue":null,"ArrayValue":["a","r"],"ObjectValue":{"obj":"ect"}}')`,
				`'StringValue', 'John', 1 | 'IntValue', '45', 2 | 'TrueValue', 'true', 3 | 'FalseValue', 'false', 3 | 'NullValue', NULL, 0 | 'ArrayValue', '["a","r"]', 4 | 'ObjectValue', '{"obj":"ect"}', 5`},
			{`SELECT [key], value FROM OPENJSON(N'{"path": {"to":{"sub-object":["en-GB", "en-UK"]}}}', '$.path.to."sub-object"')`, `'0', 'en-GB' | '1', 'en-UK'`},
			{`SELECT [key] FROM OPENJSON(N'{"Path": [1]}', '$.path')`, ``},
			{`SELECT [key] FROM OPENJSON(N'{"Path": [1]}', 'strict $.path')`, `!`},
			{`SELECT * FROM OPENJSON(N'[{"Order": {"Number":"SO1","Date":"2011-05-31T00:00:00"},"AccountNumber":"AW29825","Item": {"Price":2024.9940,"Quantity":1}}]') WITH (Number varchar(200) '$.Order.Number', Date datetime '$.Order.Date', Customer varchar(200) '$.AccountNumber', Quantity int '$.Item.Quantity', [Order] nvarchar(max) AS JSON)`,
				`'SO1', 2011-05-31 00:00:00, 'AW29825', 1, '{"Number":"SO1","Date":"2011-05-31T00:00:00"}'`},
			{`SELECT * FROM OPENJSON(N'{"a":{"b":1},"c":2}') WITH (a nvarchar(max), c nvarchar(max) AS JSON, A int)`, `NULL, NULL, NULL`},
			{`SELECT * FROM OPENJSON(N'{"a":{"b":1}}') WITH (a nvarchar(max) 'strict $.a')`, `!`},
			{`SELECT * FROM OPENJSON(N'{"a":1}') WITH (a nvarchar(max) 'strict $.a' AS JSON)`, `!`},
			{`SELECT * FROM OPENJSON(N'{"a":1}') WITH (a nvarchar(100) AS JSON)`, `!`},
			{`SELECT * FROM OPENJSON(N'[1,2') `, `!`},
			{`DECLARE @p nvarchar(20) = '$.a'; SELECT value FROM OPENJSON(N'{"a":[7]}', @p)`, `'7'`},
			{`SELECT value FROM OPENJSON(N'["x","y"]') WITH (value nvarchar(100) '$')`, `'x' | 'y'`},
			{`type [key], value, type FROM OPENJSON(N'{}')`, `nvarchar(4000), nvarchar(max), int`},
			{`SELECT 1 FROM OPENJSON(N'{"a":1,"A":2}') WHERE [key] = 'a'`, `1`},
		}},
	})
}
