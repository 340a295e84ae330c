package engine

import (
	"fmt"
	"math/rand"
	"sync"
	"testing"
	"time"
)

// TestManySessions runs competing claimers, producers, movers and readers, with row
// versions and without, and counts every job once at the end.
func TestManySessions(t *testing.T) {
	for _, rcsi := range []bool{false, true} {
		t.Run(fmt.Sprintf("rcsi=%v", rcsi), func(t *testing.T) {
			seed := time.Now().UnixNano()
			t.Logf("seed %d", seed)
			srv := newTestServer(t)
			setup := srv.connect("q")
			if rcsi {
				run(t, setup, `ALTER DATABASE q SET READ_COMMITTED_SNAPSHOT ON`)
			}
			run(t, setup, `CREATE TABLE dbo.J (Id int IDENTITY PRIMARY KEY, S int NOT NULL, W int NULL, K int NOT NULL);
				CREATE INDEX IX_P ON dbo.J (K, Id) WHERE S = 0; CREATE INDEX IX_W ON dbo.J (W, Id) INCLUDE (S);
				CREATE TABLE dbo.A (Id int PRIMARY KEY, W int)`)
			var wg sync.WaitGroup
			const workers, rounds = 6, 40
			inserted := make([]int, workers)
			for w := 0; w < workers; w++ {
				wg.Add(1)
				s := srv.connect("q")
				rng := rand.New(rand.NewSource(seed + int64(w)))
				go func() {
					defer wg.Done()
					defer s.Close()
					for i := 0; i < rounds; i++ {
						var sql string
						n := 1 + rng.Intn(5)
						switch rng.Intn(6) {
						case 0, 1:
							sql = fmt.Sprintf(`INSERT dbo.J (S, K) SELECT 0, value %% 3 FROM GENERATE_SERIES(1, %d)`, n)
						case 2, 3:
							sql = fmt.Sprintf(`WITH c AS (SELECT TOP (%d) * FROM dbo.J WITH (ROWLOCK, UPDLOCK, READPAST, READCOMMITTEDLOCK) WHERE S = 0 AND K = %d ORDER BY Id) UPDATE c SET S = 1, W = %d OUTPUT inserted.Id`, n, rng.Intn(3), w)
						case 4:
							sql = fmt.Sprintf(`BEGIN TRAN; DELETE TOP (%d) dbo.J OUTPUT deleted.Id, deleted.W INTO dbo.A WHERE W = %d; IF %d = 0 ROLLBACK ELSE COMMIT`, n, w, rng.Intn(3))
						case 5:
							sql = `SELECT S, COUNT(*) FROM dbo.J GROUP BY S; UPDATE dbo.J SET K = (K + 1) % 3 WHERE Id = (SELECT MIN(Id) FROM dbo.J)`
						}
						r, err := attempt(s, sql)
						if err != nil {
							t.Errorf("%s: %v", sql, err)
							return
						}
						deadlock := false
						for _, e := range r.errors {
							if e.Number == 1205 {
								deadlock = true
								continue
							}
							t.Errorf("%s: %v", sql, e)
						}
						if !deadlock && sql[:8] == "INSERT d" {
							inserted[w] += n
						}
					}
				}()
			}
			wg.Wait()
			total := 0
			for _, n := range inserted {
				total += n
			}
			expect(t, setup, `SELECT (SELECT COUNT(*) FROM dbo.J) + (SELECT COUNT(*) FROM dbo.A)`, fmt.Sprint(total))
			expect(t, setup, `SELECT COUNT(*) FROM dbo.J WITH (INDEX (PK_X)) WHERE 1 = 0`, `msg 308: Index 'PK_X' on table 'dbo.J' (specified in the FROM clause) does not exist.`)
			expect(t, setup, `SELECT (SELECT COUNT(*) FROM dbo.J WHERE S = 0) - (SELECT COUNT(*) FROM dbo.J WITH (INDEX (IX_P)) WHERE S = 0), (SELECT COUNT(*) FROM dbo.J WITH (INDEX (1))) - (SELECT COUNT(*) FROM dbo.J WITH (INDEX (IX_W)))`, `0, 0`)
			for _, l := range srv.Locks() {
				t.Errorf("lock left: %+v", l)
			}
			t.Logf("%d jobs, %d deadlocks", total, len(srv.Deadlocks()))
		})
	}
}
