package engine

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"
)

// TestIndexesChangeNoAnswer asks a table with indexes and one without the same random
// questions.
func TestIndexesChangeNoAnswer(t *testing.T) {
	seed := time.Now().UnixNano()
	rng := rand.New(rand.NewSource(seed))
	srv := newTestServer(t)
	s := srv.connect("q")
	cols := `(Id int NOT NULL, A int NULL, B varchar(5) NULL, C decimal(6,2) NULL, D datetime2(0) NOT NULL, S tinyint NOT NULL)`
	run(t, s, `CREATE TABLE dbo.H `+cols)
	run(t, s, `CREATE TABLE dbo.X `+cols+`; ALTER TABLE dbo.X ADD CONSTRAINT PK_X PRIMARY KEY (Id DESC);
		CREATE INDEX I1 ON dbo.X (A, B DESC) INCLUDE (C); CREATE INDEX I2 ON dbo.X (B, C) WHERE S = 1; CREATE UNIQUE INDEX I3 ON dbo.X (D, A, Id);
		CREATE INDEX I4 ON dbo.X (A DESC, D) WHERE A IS NOT NULL; CREATE INDEX I5 ON dbo.X (S, Id)`)
	lit := func(col string) string {
		switch col {
		case "Id":
			return fmt.Sprint(rng.Intn(60))
		case "A":
			return fmt.Sprint(rng.Intn(8))
		case "B":
			return "'" + string(rune('a'+rng.Intn(4))) + "'"
		case "C":
			return fmt.Sprintf("%d.5", rng.Intn(5))
		case "D":
			return fmt.Sprintf("'2026-01-0%d'", 1+rng.Intn(5))
		}
		return fmt.Sprint(rng.Intn(3))
	}
	names := []string{"Id", "A", "B", "C", "D", "S"}
	for i := 0; i < 60; i++ {
		row := []string{fmt.Sprint(i)}
		for _, c := range names[1:] {
			if (c == "A" || c == "B" || c == "C") && rng.Intn(4) == 0 {
				row = append(row, "NULL")
			} else {
				row = append(row, lit(c))
			}
		}
		v := strings.Join(row, ", ")
		run(t, s, `INSERT dbo.H VALUES (`+v+`); INSERT dbo.X VALUES (`+v+`)`)
	}
	condition := func() string {
		c := names[rng.Intn(len(names))]
		switch rng.Intn(8) {
		case 0:
			return c + " IS NULL"
		case 1:
			return c + " IS NOT NULL"
		case 2:
			return fmt.Sprintf("%s IN (%s, %s, %s)", c, lit(c), lit(c), lit(c))
		case 3:
			return fmt.Sprintf("%s BETWEEN %s AND %s", c, lit(c), lit(c))
		case 4:
			return fmt.Sprintf("(%s = %s OR %s = %s)", c, lit(c), c, lit(c))
		}
		return c + " " + []string{"=", "<", "<=", ">", ">=", "<>", "="}[rng.Intn(7)] + " " + lit(c)
	}
	for n := 0; n < 400; n++ {
		var where []string
		for i := rng.Intn(4); i >= 0; i-- {
			where = append(where, condition())
		}
		w := strings.Join(where, " AND ")
		order := names[1+rng.Intn(5)] + []string{"", " DESC"}[rng.Intn(2)] + ", Id" + []string{"", " DESC"}[rng.Intn(2)]
		var sql string
		switch rng.Intn(6) {
		case 0:
			sql = `SELECT COUNT(*), MIN(Id), SUM(A) FROM dbo.%s WHERE ` + w
		case 1:
			sql = fmt.Sprintf(`SELECT TOP (%d) Id, A, B, C FROM dbo.%%s WHERE %s ORDER BY %s`, 1+rng.Intn(6), w, order)
		case 2:
			c := names[1+rng.Intn(5)]
			sql = fmt.Sprintf(`SELECT l.Id, r.Id FROM dbo.%%[1]s l LEFT JOIN dbo.%%[1]s r ON r.%s = l.%s AND r.Id > l.Id WHERE l.S = 1 ORDER BY l.Id, r.Id`, c, c)
		case 3:
			c := names[1+rng.Intn(5)]
			sql = fmt.Sprintf(`SELECT Id FROM dbo.%%[1]s o WHERE %s AND EXISTS (SELECT 1 FROM dbo.%%[1]s i WHERE i.%s = o.%s AND i.Id <> o.Id) ORDER BY Id`, w, c, c)
		case 4:
			c := names[1+rng.Intn(5)]
			sql = []string{
				`BEGIN TRAN; UPDATE dbo.%s SET ` + c + ` = ` + lit(c) + ` WHERE ` + w + `; SELECT @@ROWCOUNT; SELECT * FROM dbo.%s ORDER BY Id; ROLLBACK; SELECT * FROM dbo.%s ORDER BY Id`,
				`UPDATE dbo.%s SET ` + c + ` = ` + lit(c) + `, Id = 59 - Id WHERE S < 9; UPDATE dbo.%s SET A = A + 1, S = (S + 1) % 3 WHERE ` + w + `; SELECT * FROM dbo.%s ORDER BY Id`,
				`BEGIN TRAN; DELETE dbo.%s WHERE ` + w + `; SELECT COUNT(*) FROM dbo.%s; SELECT * FROM dbo.%s WHERE S = 1 AND B > 'a' ORDER BY Id; ROLLBACK; SELECT COUNT(*) FROM dbo.%s WHERE S = 1 AND B > 'a'`,
			}[rng.Intn(3)]
			sql = strings.ReplaceAll(sql, "% 3", "%% 3")
		default:
			sql = `SELECT Id, A, B, C, D, S FROM dbo.%s WHERE ` + w + ` ORDER BY ` + order
		}
		h, err := attempt(s, fmt.Sprintf(strings.ReplaceAll(sql, "%s", "%[1]s"), "H"))
		x, err2 := attempt(s, fmt.Sprintf(strings.ReplaceAll(sql, "%s", "%[1]s"), "X"))
		if err != nil || err2 != nil {
			t.Fatalf("%s: %v %v", sql, err, err2)
		}
		if a, b := strings.Join(h.lines, "\n"), strings.Join(x.lines, "\n"); a != b {
			t.Fatalf("seed %d\n%s\nwithout indexes:\n%s\nwith:\n%s", seed, sql, a, b)
		}
	}
}
