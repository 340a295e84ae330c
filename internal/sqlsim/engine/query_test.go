package engine

import "testing"

func TestQueries(t *testing.T) {
	srv := newTestServer(t)
	s := srv.connect("q")
	run(t, s, `CREATE TABLE dbo.E (Id int PRIMARY KEY, Boss int NULL, Dept varchar(10), Pay decimal(10,2), Hired date);
		INSERT dbo.E VALUES (1, NULL, 'top', 1000, '2020-01-01'), (2, 1, 'dev', 500.50, '2021-01-01'), (3, 1, 'dev', 400, '2022-01-01'), (4, 2, 'ops', 300, '2023-01-01'), (5, 2, NULL, NULL, '2024-01-01')`)
	tests := []struct {
		sql  string
		want []string
	}{
		{`SELECT Dept, COUNT(*), SUM(Pay), AVG(Pay), MIN(Id), MAX(Hired) FROM dbo.E WHERE Pay IS NOT NULL GROUP BY Dept ORDER BY Dept`, []string{`'dev', 2, 900.50, 450.250000, 2, 2022-01-01`, `'ops', 1, 300.00, 300.000000, 4, 2023-01-01`, `'top', 1, 1000.00, 1000.000000, 1, 2020-01-01`}},
		{`SELECT Dept, GROUPING(Dept), COUNT(*) FROM dbo.E WHERE Dept IS NOT NULL GROUP BY ROLLUP (Dept) ORDER BY 2, 1`, []string{`'dev', 0, 2`, `'ops', 0, 1`, `'top', 0, 1`, `NULL, 1, 4`}},
		{`SELECT Dept, YEAR(Hired), COUNT(*) FROM dbo.E WHERE Id < 4 GROUP BY GROUPING SETS ((Dept), (YEAR(Hired)), ()) ORDER BY GROUPING_ID(Dept, YEAR(Hired)), 1, 2`, []string{`'dev', NULL, 2`, `'top', NULL, 1`, `NULL, 2020, 1`, `NULL, 2021, 1`, `NULL, 2022, 1`, `NULL, NULL, 3`}},
		{`SELECT COUNT(DISTINCT Dept), COUNT(Dept), COUNT(*) FROM dbo.E`, []string{`3, 4, 5`, `msg 8153: Warning: Null value is eliminated by an aggregate or other SET operation.`}},
		{`SELECT STRING_AGG(Dept, ',') WITHIN GROUP (ORDER BY Id DESC) FROM dbo.E WHERE Dept IS NOT NULL`, []string{`'ops,dev,dev,top'`}},
		{`SELECT Id, RANK() OVER (ORDER BY Dept), DENSE_RANK() OVER (ORDER BY Dept), ROW_NUMBER() OVER (PARTITION BY Dept ORDER BY Id) FROM dbo.E WHERE Dept IS NOT NULL ORDER BY Id`, []string{`1, 4, 3, 1`, `2, 1, 1, 1`, `3, 1, 1, 2`, `4, 3, 2, 1`}},
		{`SELECT Id, SUM(Id) OVER (ORDER BY Id), SUM(Id) OVER (ORDER BY Id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING), LAG(Id) OVER (ORDER BY Id), LEAD(Id, 2, 0) OVER (ORDER BY Id) FROM dbo.E ORDER BY Id`, []string{`1, 1, 3, NULL, 3`, `2, 3, 6, 1, 4`, `3, 6, 9, 2, 5`, `4, 10, 12, 3, 0`, `5, 15, 9, 4, 0`}},
		{`SELECT Id, NTILE(2) OVER (ORDER BY Id), FIRST_VALUE(Id) OVER (ORDER BY Id), LAST_VALUE(Id) OVER (ORDER BY Id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM dbo.E ORDER BY Id`, []string{`1, 1, 1, 5`, `2, 1, 1, 5`, `3, 1, 1, 5`, `4, 2, 1, 5`, `5, 2, 1, 5`}},
		{`SELECT DISTINCT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY Id) OVER (), PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY Id) OVER () FROM dbo.E`, []string{`3, 3`}},
		{`WITH r AS (SELECT Id, Boss, 0 AS lvl FROM dbo.E WHERE Boss IS NULL UNION ALL SELECT e.Id, e.Boss, r.lvl + 1 FROM dbo.E e JOIN r ON e.Boss = r.Id) SELECT Id, lvl FROM r ORDER BY Id`, []string{`1, 0`, `2, 1`, `3, 1`, `4, 2`, `5, 2`}},
		{`SELECT e.Id, b.Id FROM dbo.E e LEFT JOIN dbo.E b ON e.Boss = b.Id AND b.Id > 1 ORDER BY e.Id`, []string{`1, NULL`, `2, NULL`, `3, NULL`, `4, 2`, `5, 2`}},
		{`SELECT e.Id, b.Id FROM dbo.E e RIGHT JOIN dbo.E b ON e.Boss = b.Id WHERE e.Id IS NULL ORDER BY b.Id`, []string{`NULL, 3`, `NULL, 4`, `NULL, 5`}},
		{`SELECT a.x, b.x FROM (VALUES (1), (2)) a (x) FULL JOIN (VALUES (2), (3)) b (x) ON a.x = b.x ORDER BY COALESCE(a.x, b.x)`, []string{`1, NULL`, `2, 2`, `NULL, 3`}},
		{`SELECT e.Id, x.n FROM dbo.E e OUTER APPLY (SELECT TOP (1) c.Id AS n FROM dbo.E c WHERE c.Boss = e.Id ORDER BY c.Id DESC) x ORDER BY e.Id`, []string{`1, 3`, `2, 5`, `3, NULL`, `4, NULL`, `5, NULL`}},
		{`SELECT Id FROM dbo.E WHERE Pay > ALL (SELECT Pay FROM dbo.E WHERE Dept = 'dev')`, []string{`1`}},
		{`SELECT Id, (SELECT COUNT(*) FROM dbo.E c WHERE c.Boss = e.Id) FROM dbo.E e WHERE Id IN (SELECT Boss FROM dbo.E) ORDER BY Id`, []string{`1, 2`, `2, 2`}},
		{`SELECT TOP (2) WITH TIES Dept FROM dbo.E WHERE Dept IS NOT NULL ORDER BY Dept`, []string{`'dev'`, `'dev'`}},
		{`SELECT TOP (50) PERCENT Id FROM dbo.E ORDER BY Id`, []string{`1`, `2`, `3`}},
		{`SELECT 1 UNION SELECT 1 UNION ALL SELECT 2 ORDER BY 1 DESC`, []string{`2`, `1`}},
		{`SELECT Id FROM dbo.E EXCEPT SELECT Boss FROM dbo.E ORDER BY Id`, []string{`3`, `4`, `5`}},
		{`SELECT Boss FROM dbo.E INTERSECT SELECT Id FROM dbo.E ORDER BY 1`, []string{`1`, `2`}},
		{`SELECT Id, Dept FROM dbo.E WHERE Id < 3 ORDER BY Id FOR JSON PATH`, []string{`'[{"Id":1,"Dept":"top"},{"Id":2,"Dept":"dev"}]'`}},
		{`SELECT Id AS [a.id], Pay AS [a.pay], (SELECT c.Id FROM dbo.E c WHERE c.Boss = e.Id FOR JSON PATH) AS kids FROM dbo.E e WHERE Id IN (2, 3) ORDER BY Id FOR JSON PATH, ROOT('r'), INCLUDE_NULL_VALUES`, []string{`'{"r":[{"a":{"id":2,"pay":500.50},"kids":[{"Id":4},{"Id":5}]},{"a":{"id":3,"pay":400.00},"kids":null}]}'`}},
		{`SELECT Id FROM dbo.E WHERE Id = 1 FOR JSON PATH, WITHOUT_ARRAY_WRAPPER`, []string{`'{"Id":1}'`}},
		{`SELECT b.Id, e.Id FROM dbo.E b JOIN dbo.E e ON e.Boss = b.Id ORDER BY b.Id, e.Id FOR JSON AUTO`, []string{`'[{"Id":1,"e":[{"Id":2},{"Id":3}]},{"Id":2,"e":[{"Id":4},{"Id":5}]}]'`}},
		{`SELECT value, ordinal FROM STRING_SPLIT('a,b,,c', ',', 1)`, []string{`'a', 1`, `'b', 2`, `'', 3`, `'c', 4`}},
		{`SELECT value FROM GENERATE_SERIES(10, 1, -4)`, []string{`10`, `6`, `2`}},
		{`DECLARE @a int, @b int; SELECT @a = Id, @b = Boss FROM dbo.E WHERE Id = 4; SELECT @a, @b, @@ROWCOUNT`, []string{`4, 2, 1`}},
		{`DECLARE @s nvarchar(max) = N''; SELECT @s += Dept + N';' FROM dbo.E WHERE Dept IS NOT NULL; SELECT @s`, []string{`'top;dev;dev;ops;'`}},
		{`SELECT CASE WHEN EXISTS (SELECT * FROM dbo.E WHERE Id = 9) THEN 1 ELSE 0 END`, []string{`0`}},
		{`SELECT x.a, y.b FROM (SELECT 1 a) x, (SELECT 2 b) y`, []string{`1, 2`}},
		{`SELECT Dept, n FROM (SELECT Dept, COUNT(*) n FROM dbo.E GROUP BY Dept) d WHERE n > 1`, []string{`'dev', 2`}},
		{`SELECT e.* FROM dbo.E AS e WHERE e.Id = 2`, []string{`2, 1, 'dev', 500.50, 2021-01-01`}},
		{`SELECT Id FROM dbo.E WHERE Dept = 'DEV ' AND Hired >= '20220101'`, []string{`3`}},
		{`SELECT Id FROM dbo.E WHERE Id IN (5, 1, 3) AND Id <> 3 ORDER BY Id DESC`, []string{`5`, `1`}},
		{`SELECT MAX(Id) FROM dbo.E WHERE 1 = 0`, []string{`NULL`}},
		{`SELECT COUNT(*) FROM dbo.E HAVING COUNT(*) > 100`, nil},
		{`SELECT Dept d, SUM(Id) FROM dbo.E GROUP BY Dept ORDER BY SUM(Id) DESC, d`, []string{`NULL, 5`, `'dev', 5`, `'ops', 4`, `'top', 1`}},
		{`SELECT UPPER(Dept), COUNT(*) FROM dbo.E GROUP BY UPPER(Dept) ORDER BY UPPER(Dept)`, []string{`NULL, 1`, `'DEV', 2`, `'OPS', 1`, `'TOP', 1`}},
		{`SELECT Dept, SUM(COUNT(*)) OVER () FROM dbo.E GROUP BY Dept ORDER BY Dept`, []string{`NULL, 5`, `'dev', 5`, `'ops', 5`, `'top', 5`}},
		{`SELECT j.id, j.tags, j.n FROM OPENJSON(N'[{"id":1,"tags":["a"],"o":{"n":"5"}},{"id":"2"}]') WITH (id int, tags nvarchar(max) AS JSON, n int '$.o.n') j`, []string{`1, '["a"]', 5`, `2, NULL, NULL`}},
		{`SELECT value FROM OPENJSON(N'{"a":{"b":[1,"x",true]}}', '$.a.b')`, []string{`'1'`, `'x'`, `'true'`}},
		{`SELECT s FROM OPENJSON(N'[{"s":"abcdef"}]') WITH (s nvarchar(3))`, []string{`NULL`}},
		{`SELECT a.value, b.value FROM STRING_SPLIT('1,2', ',') a CROSS JOIN STRING_SPLIT('x,y', ',') b`, []string{`'1', 'x'`, `'1', 'y'`, `'2', 'x'`, `'2', 'y'`}},
		{`SELECT e.Id, v.k, v.val FROM dbo.E e CROSS APPLY (VALUES ('d', e.Dept), ('i', CONVERT(varchar(10), e.Id))) v (k, val) WHERE e.Id = 4`, []string{`4, 'd', 'ops'`, `4, 'i', '4'`}},
		{`IF EXISTS (SELECT 1 FROM dbo.E WHERE Id = 1) SELECT 'yes' ELSE SELECT 'no'`, []string{`'yes'`}},
		{`SELECT SUM(x) OVER (PARTITION BY g ORDER BY x RANGE UNBOUNDED PRECEDING), x FROM (VALUES (1, 1), (1, 1), (1, 2)) v (g, x)`, []string{`2, 1`, `2, 1`, `4, 2`}},
		{`SELECT Id FROM dbo.E e WHERE EXISTS (SELECT 1 FROM dbo.E b WHERE b.Boss = e.Id AND EXISTS (SELECT 1 FROM dbo.E c WHERE c.Boss = b.Id AND c.Id > e.Id))`, []string{`1`}},
		{`SELECT STDEV(x), VAR(x), STDEVP(x) FROM (VALUES (2), (4), (4), (4), (5), (5), (7), (9)) v (x)`, []string{`2.138089935299395, 4.571428571428571, 2`}},
		{`SELECT (SELECT x FOR XML PATH('')) FROM (VALUES (1)) v (x)`, nil},
	}
	for _, tt := range tests[:len(tests)-1] {
		expect(t, s, tt.sql, tt.want...)
	}
	for number, sql := range map[int32]string{
		512:   `SELECT (SELECT Id FROM dbo.E)`,
		8120:  `SELECT Dept, Id FROM dbo.E GROUP BY Dept`,
		8121:  `SELECT Dept FROM dbo.E GROUP BY Dept HAVING Id > 1`,
		147:   `SELECT Id FROM dbo.E WHERE COUNT(*) > 1`,
		207:   `SELECT Nope FROM dbo.E`,
		209:   `SELECT Id FROM dbo.E a, dbo.E b`,
		4104:  `SELECT z.Id FROM dbo.E a`,
		205:   `SELECT 1 UNION SELECT 1, 2`,
		530:   `WITH r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r`,
		145:   `SELECT DISTINCT Dept FROM dbo.E ORDER BY Id`,
		1033:  `CREATE VIEW dbo.V AS SELECT Id FROM dbo.E ORDER BY Id`,
		8622:  `SELECT * FROM dbo.E WITH (FORCESEEK) WHERE Pay = 1`,
		308:   `SELECT * FROM dbo.E WITH (INDEX (Nope))`,
		13609: `SELECT * FROM OPENJSON(N'{bad')`,
		13608: `SELECT * FROM OPENJSON(N'{"a":1}') WITH (b int 'strict $.b')`,
		4112:  `SELECT ROW_NUMBER() OVER (PARTITION BY Id) FROM dbo.E`,
		4108:  `SELECT Id FROM dbo.E WHERE ROW_NUMBER() OVER (ORDER BY Id) = 1`,
		116:   `SELECT (SELECT 1, 2)`,
		8155:  `SELECT * FROM (SELECT 1) x`,
		1013:  `SELECT * FROM dbo.E, dbo.E`,
		108:   `SELECT Id FROM dbo.E ORDER BY 3`,
		107:   `SELECT z.* FROM dbo.E`,
	} {
		fails(t, s, number, sql)
	}
}

// TestConditionsReachTheTable: a condition on a view, CTE or derived table seeks and
// locks no more than one on the table itself.
func TestConditionsReachTheTable(t *testing.T) {
	srv := newTestServer(t)
	s := srv.connect("q")
	run(t, s, `CREATE TABLE dbo.T (Id int PRIMARY KEY, K int NOT NULL, V int, INDEX IX (K)); INSERT dbo.T SELECT value, value % 100, value FROM GENERATE_SERIES(1, 5000)`)
	run(t, s, `CREATE VIEW dbo.W AS SELECT Id AS TheId, K, V FROM dbo.T WHERE V > 0`)
	for _, sql := range []string{
		`DECLARE @i int = 7; SELECT V FROM dbo.W WHERE TheId = @i`,
		`WITH c AS (SELECT * FROM dbo.T) SELECT V FROM c WHERE Id = 7`,
		`WITH c AS (SELECT * FROM dbo.T) UPDATE c SET V = V OUTPUT inserted.V WHERE Id = 7`,
		`SELECT V FROM (SELECT x.* FROM (SELECT Id, V FROM dbo.T) x) y WHERE y.Id = 7`,
		`SELECT w.V FROM OPENJSON('[7]') WITH (i int '$') j JOIN dbo.W w ON w.TheId = j.i`,
		`SELECT V FROM dbo.T WHERE Id = 7 AND K IN (7, 8)`,
	} {
		s.ResetCounters()
		expect(t, s, sql, `7`)
		if c := s.Counters(); c.RowsRead > 10 {
			t.Errorf("%s read %d rows", sql, c.RowsRead)
		}
	}
	s.ResetCounters()
	expect(t, s, `SELECT COUNT(*) FROM dbo.T WHERE K IN (1, 2)`, `100`)
	expect(t, s, `SELECT TOP (3) Id FROM dbo.T ORDER BY Id DESC`, `5000`, `4999`, `4998`)
	expect(t, s, `SELECT MIN(Id) FROM dbo.T WHERE Id > 4990 AND Id <= 4995`, `4991`)
	if c := s.Counters(); c.RowsRead > 115 {
		t.Errorf("read %d rows", c.RowsRead)
	}
}

// TestInDrivesSeeks: a short list drives seeks into a long table.
func TestInDrivesSeeks(t *testing.T) {
	srv := newTestServer(t)
	s := srv.connect("q")
	run(t, s, `CREATE TABLE dbo.T (Id int PRIMARY KEY, V int); INSERT dbo.T SELECT value, value FROM GENERATE_SERIES(1, 5000)`)
	s.ResetCounters()
	expect(t, s, `DECLARE @i TABLE (Id int); INSERT @i VALUES (5), (7), (7), (NULL); SELECT V FROM dbo.T WHERE Id IN (SELECT Id FROM @i) ORDER BY V;
		DELETE dbo.T OUTPUT deleted.Id WHERE Id IN (SELECT TOP (1) Id FROM @i WHERE Id IS NOT NULL ORDER BY Id)`, `5`, `7`, `5`)
	if c := s.Counters(); c.RowsRead > 30 {
		t.Errorf("read %d rows", c.RowsRead)
	}
	expect(t, s, `SELECT COUNT(*) FROM dbo.T a WHERE a.Id IN (SELECT b.Id FROM dbo.T b WHERE b.Id = a.V AND b.Id < 10)`, `8`)
	expect(t, s, `SELECT COUNT(*) FROM dbo.T WHERE Id NOT IN (SELECT V FROM dbo.T WHERE V > 10)`, `9`)
	expect(t, s, `DECLARE @s varchar(100) = ''; SELECT @s = @s + CONVERT(varchar(5), Id) + ',' FROM dbo.T WHERE Id < 4 ORDER BY Id DESC; SELECT @s`, `'3,2,1,'`)
}
