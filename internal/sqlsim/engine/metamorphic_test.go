package engine

import (
	"fmt"
	"math/rand"
	"sort"
	"strings"
	"testing"
	"time"
)

// TestQueriesRewrittenGiveTheSameRows asks random questions in several ways that must
// agree: the rows of a table are those for which a condition holds, those for which it
// does not and those for which it is unknown; and a condition may be rewritten with CASE,
// NOT, EXISTS, IN, a derived table or a CTE, and be asked of a heap or of indexes.
func TestQueriesRewrittenGiveTheSameRows(t *testing.T) {
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewSource(seed))
	srv := newTestServer(t)
	s := srv.connect("q")
	cols := `(Id int NOT NULL, A int NULL, B varchar(5) NULL, C decimal(6,2) NULL, D datetime2(0) NOT NULL, E nvarchar(8) COLLATE Latin1_General_100_BIN2 NULL, F bit NULL)`
	run(t, s, `CREATE TABLE dbo.H `+cols+`; CREATE TABLE dbo.X `+cols)
	run(t, s, `ALTER TABLE dbo.X ADD CONSTRAINT PK_X PRIMARY KEY (Id); CREATE INDEX I1 ON dbo.X (A, B DESC) INCLUDE (C); CREATE INDEX I2 ON dbo.X (B) WHERE F = 1; CREATE INDEX I3 ON dbo.X (E, D); CREATE INDEX I4 ON dbo.X (A DESC) WHERE A IS NOT NULL; CREATE UNIQUE INDEX I5 ON dbo.X (D, Id)`)
	pick := func(list ...string) string { return list[rng.Intn(len(list))] }
	literal := map[string]func() string{
		"Id": func() string { return fmt.Sprint(rng.Intn(50)) },
		"A":  func() string { return pick("0", "1", "2", "3", "4", "5", "-1", "2147483647") },
		"B":  func() string { return pick("'a'", "'A'", "'b '", "''", "'cc'", "'á'") },
		"C":  func() string { return pick("0", "0.5", "1.25", "-3.10", "9999.99") },
		"D":  func() string { return fmt.Sprintf("'2026-01-0%d'", 1+rng.Intn(4)) },
		"E":  func() string { return pick("N'a'", "N'A'", "N'b'", "N''", "N'žz'") },
		"F":  func() string { return pick("0", "1") },
	}
	names := []string{"Id", "A", "B", "C", "D", "E", "F"}
	for i := range 50 {
		row := []string{fmt.Sprint(i)}
		for _, c := range names[1:] {
			if c != "D" && rng.Intn(4) == 0 {
				row = append(row, "NULL")
			} else {
				row = append(row, literal[c]())
			}
		}
		v := strings.Join(row, ", ")
		run(t, s, `INSERT dbo.H VALUES (`+v+`); INSERT dbo.X VALUES (`+v+`)`)
	}
	var condition func(depth int) string
	condition = func(depth int) string {
		c := names[rng.Intn(len(names))]
		lit := literal[c]
		n := 9
		if depth > 0 {
			n = 13
		}
		switch rng.Intn(n) {
		case 0:
			return c + pick(" IS NULL", " IS NOT NULL")
		case 1:
			return fmt.Sprintf("%s %sIN (%s, %s, NULL)", c, pick("", "NOT "), lit(), lit())
		case 2:
			return fmt.Sprintf("%s %sBETWEEN %s AND %s", c, pick("", "NOT "), lit(), lit())
		case 3:
			return fmt.Sprintf("ISNULL(%s, %s) = %s", c, lit(), lit())
		case 4:
			return fmt.Sprintf("%s %sLIKE %s", pick("B", "E"), pick("", "NOT "), pick("'a%'", "'%b%'", "'_'", "'[a-b]%'", "'%'"))
		case 5:
			return fmt.Sprintf("NULLIF(%s, %s) %s %s", c, lit(), pick("=", "<>", "<"), lit())
		case 9, 10:
			return fmt.Sprintf("(%s AND %s)", condition(depth-1), condition(depth-1))
		case 11:
			return fmt.Sprintf("(%s OR %s)", condition(depth-1), condition(depth-1))
		case 12:
			return fmt.Sprintf("NOT (%s)", condition(depth-1))
		}
		return fmt.Sprintf("%s %s %s", c, pick("=", "<>", "<", "<=", ">", ">=", "="), lit())
	}
	ids := func(sql string) string {
		r, err := attempt(s, sql)
		if err != nil || len(r.errors) > 0 {
			t.Fatalf("seed %d\n%s\n%v %v", seed, sql, err, r.errors)
		}
		var list []string
		for _, l := range r.rows {
			list = append(list, l[0].String())
		}
		sort.Strings(list)
		return strings.Join(list, " ")
	}
	all := ids(`SELECT Id FROM dbo.H`)
	for range 80 {
		p := condition(2)
		for _, table := range []string{"dbo.H", "dbo.X"} {
			unknown := fmt.Sprintf("CASE WHEN %s THEN 1 WHEN NOT (%s) THEN 0 END IS NULL", p, p)
			parts := fmt.Sprintf("SELECT Id FROM %[1]s WHERE %[2]s UNION ALL SELECT Id FROM %[1]s WHERE NOT (%[2]s) UNION ALL SELECT Id FROM %[1]s WHERE %[3]s", table, p, unknown)
			if got := ids(parts); got != all {
				t.Fatalf("seed %d: the parts are not the whole\n%s\ngot  %s\nwant %s", seed, parts, got, all)
			}
		}
		want := ids(`SELECT Id FROM dbo.H WHERE ` + p)
		for _, q := range []string{
			`SELECT Id FROM dbo.X WHERE ` + p,
			`SELECT Id FROM dbo.X WHERE CASE WHEN ` + p + ` THEN 1 ELSE 0 END = 1`,
			`SELECT Id FROM (SELECT * FROM dbo.X) AS x WHERE ` + p,
			`WITH x AS (SELECT Id FROM dbo.X WHERE ` + p + `) SELECT Id FROM x`,
			`SELECT Id FROM dbo.H AS h WHERE Id IN (SELECT Id FROM dbo.X WHERE ` + p + `)`,
			`SELECT Id FROM dbo.H AS h WHERE EXISTS (SELECT 1/0 FROM dbo.X WHERE Id = h.Id AND ` + p + `)`,
			`SELECT h.Id FROM dbo.H AS h JOIN (SELECT * FROM dbo.X WHERE ` + p + `) AS x ON x.Id = h.Id`,
			`SELECT h.Id FROM dbo.H AS h LEFT JOIN (SELECT Id FROM dbo.X WHERE ` + p + `) AS x ON x.Id = h.Id WHERE x.Id IS NOT NULL`,
			`SELECT Id FROM dbo.H EXCEPT (SELECT Id FROM dbo.H EXCEPT SELECT Id FROM dbo.X WHERE ` + p + `)`,
			`SELECT TOP (1000) Id FROM dbo.X WHERE ` + p + ` ORDER BY ` + pick("A, B DESC", "E, D", "D, Id", "C") + ``,
			`BEGIN TRAN; UPDATE dbo.X SET C = 0 OUTPUT deleted.Id WHERE ` + p + `; ROLLBACK`,
			`BEGIN TRAN; WITH x AS (SELECT * FROM dbo.X) DELETE x OUTPUT deleted.Id WHERE ` + p + `; ROLLBACK`,
		} {
			if got := ids(q); got != want {
				t.Fatalf("seed %d: %s\ngot  %s\nwant %s", seed, q, got, want)
			}
		}
	}
}
