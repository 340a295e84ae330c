package storage

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/chokaq/chokaq/internal/clock"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

func ints(ns ...int64) []value.Value {
	vals := make([]value.Value, len(ns))
	for i, n := range ns {
		vals[i] = value.NewInt(value.BigInt, n)
	}
	return vals
}

// newTestTable has a clustered unique index on column 0 and a nonclustered one on column 1.
func newTestTable(s *Store) *Table {
	t := s.NewTable(1, 5, "dbo.T", 3, &Index{ID: 1, Name: "PK_T", Unique: true, Key: []KeyColumn{{Column: 0}}})
	tx := s.Begin(&Party{ID: 1})
	if err := tx.AddIndex(t, &Index{ID: 2, Name: "IX_T", Key: []KeyColumn{{Column: 1}}}, 3); err != nil {
		panic(err)
	}
	tx.Commit()
	return t
}

func rows(tb testing.TB, tx *Txn, ix *Index, read Read, ranges ...Range) []string {
	tb.Helper()
	if len(ranges) == 0 {
		ranges = []Range{{}}
	}
	c := tx.NewCursor(ix, read, ranges...)
	defer c.Close()
	var got []string
	for {
		ok, err := c.Next(context.Background())
		if err != nil {
			tb.Fatal(err)
		}
		if !ok {
			return got
		}
		if ok, err := c.Lookup(context.Background()); err != nil {
			tb.Fatal(err)
		} else if !ok {
			c.Reject()
			continue
		}
		c.Accept()
		got = append(got, fmt.Sprint(c.Values()))
	}
}

func waitUntilBlocked(s *Store, p *Party) {
	for !s.Locks.Waiting(p) {
		runtime.Gosched()
	}
}

func number(err error) int32 {
	var e *value.Error
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

func TestReaderWaitsForWriterAndReadPastSkips(t *testing.T) {
	s := NewStore(clock.Real())
	tab := newTestTable(s)
	ctx := context.Background()
	setup := s.Begin(&Party{ID: 1})
	for i := int64(1); i <= 3; i++ {
		if _, err := setup.Insert(ctx, tab, ints(i, i*10, 0)); err != nil {
			t.Fatal(err)
		}
	}
	setup.Commit()

	writer := s.Begin(&Party{ID: 2})
	c := writer.NewCursor(tab.Indexes()[0], Read{Lock: ModeU, Hold: true}, Range{})
	if ok, err := c.Next(ctx); !ok || err != nil {
		t.Fatal(ok, err)
	}
	c.Accept()
	if err := writer.Update(ctx, tab, []Change{{Row: c.Row(), Vals: ints(1, 99, 0)}}); err != nil {
		t.Fatal(err)
	}
	c.Close()

	p := &Party{ID: 3}
	reader := s.Begin(p)
	if got := rows(t, reader, tab.Indexes()[0], Read{Lock: ModeS, ReadPast: true}); len(got) != 2 {
		t.Errorf("READPAST got %v", got)
	}
	if got := rows(t, reader, tab.Indexes()[0], Read{}); len(got) != 3 || got[0] != "[1 99 0]" {
		t.Errorf("dirty read got %v", got)
	}
	n := s.OpenSnapshot()
	for _, ix := range tab.Indexes() {
		if got := rows(t, reader, ix, Read{Snapshot: n}); len(got) != 3 || got[0] != "[1 10 0]" {
			t.Errorf("snapshot by %s got %v", ix.Name, got)
		}
	}
	done := make(chan []string)
	go func() { done <- rows(t, reader, tab.Indexes()[0], Read{Lock: ModeS, Instant: true}) }()
	waitUntilBlocked(s, p)
	writer.Rollback()
	if got := <-done; len(got) != 3 || got[0] != "[1 10 0]" {
		t.Errorf("after rollback got %v", got)
	}
	n.Close()
	reader.Commit()
	if all := s.Locks.List(); len(all) != 0 {
		t.Errorf("locks left: %+v", all)
	}
}

func TestSerializableRangeKeepsInsertsOut(t *testing.T) {
	s := NewStore(clock.Real())
	tab := newTestTable(s)
	ctx := context.Background()
	setup := s.Begin(&Party{ID: 1})
	for _, i := range []int64{10, 20, 30} {
		setup.Insert(ctx, tab, ints(i, i, 0))
	}
	setup.Commit()
	reader := s.Begin(&Party{ID: 2})
	ix := tab.Indexes()[0]
	key := func(n int64) string { return string(KeyColumn{}.AppendKey(nil, ints(n)[0])) }
	if got := rows(t, reader, ix, Read{Lock: ModeS, Ranged: true}, Range{Low: key(12), High: key(22), Bounded: true}); len(got) != 1 {
		t.Fatal(got)
	}
	writer := s.Begin(&Party{ID: 3})
	writer.Wait = 0
	for n, blocked := range map[int64]bool{5: false, 15: true, 25: true, 35: false} {
		_, err := writer.Insert(ctx, tab, ints(n, n, 0))
		if got := number(err) == 1222; got != blocked {
			t.Errorf("insert of %d: %v, want blocked %v", n, err, blocked)
		}
	}
	writer.Rollback()
	reader.Rollback()
}

func TestDeadlockVictimAndReport(t *testing.T) {
	s := NewStore(clock.Real())
	tab := newTestTable(s)
	ctx := context.Background()
	setup := s.Begin(&Party{ID: 1})
	var recs []*Record
	for i := int64(0); i < 2; i++ {
		r, _ := setup.Insert(ctx, tab, ints(i, i, 0))
		recs = append(recs, r)
	}
	setup.Commit()
	a, b := &Party{ID: 51}, &Party{ID: 52}
	a.SetStatement("update a")
	b.SetStatement("update b")
	ta, tb := s.Begin(a), s.Begin(b)
	if err := ta.Update(ctx, tab, []Change{{recs[0], ints(0, 5, 1)}}); err != nil {
		t.Fatal(err)
	}
	if err := tb.Update(ctx, tab, []Change{{recs[1], ints(1, 5, 1)}, {recs[1], ints(1, 6, 1)}}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- ta.Update(ctx, tab, []Change{{recs[1], ints(1, 7, 1)}}) }()
	waitUntilBlocked(s, a)
	errB := make(chan error, 1)
	go func() { errB <- tb.Update(ctx, tab, []Change{{recs[0], ints(0, 7, 1)}}) }()
	// a has less to undo, so it is the victim although b closed the cycle.
	if err := <-done; number(err) != 1205 {
		t.Fatalf("a got %v", err)
	}
	ta.Rollback()
	if err := <-errB; err != nil {
		t.Fatal(err)
	}
	tb.Commit()
	reports := s.Locks.Deadlocks()
	if len(reports) != 1 || len(reports[0].Processes) != 2 {
		t.Fatalf("reports: %v", reports)
	}
	t.Log(reports[0])
}

func TestEscalation(t *testing.T) {
	s := NewStore(clock.Real())
	tab := newTestTable(s)
	ctx := context.Background()
	tx := s.Begin(&Party{ID: 1})
	tx.LockTable(ctx, tab, ModeIX, ForTransaction)
	for i := int64(0); i < 3000; i++ {
		tx.Insert(ctx, tab, ints(i, i, 0))
	}
	if n := tab.Escalations.Load(); n != 1 {
		t.Errorf("%d escalations", n)
	}
	if n := len(s.Locks.List()); n != 1 {
		t.Errorf("%d locks held after escalation", n)
	}
	tx.Rollback()
	if tab.Rows() != 0 {
		t.Errorf("%d rows", tab.Rows())
	}
}

// TestRandomTransactions moves amounts between rows in competing transactions, some of
// which roll back, and checks that nothing is lost and the indexes agree.
func TestRandomTransactions(t *testing.T) {
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	s := NewStore(clock.Real())
	tab := newTestTable(s)
	ctx := context.Background()
	const n = 12
	setup := s.Begin(&Party{ID: 1})
	for i := int64(0); i < n; i++ {
		setup.Insert(ctx, tab, ints(i, 0, 100))
	}
	setup.Commit()
	var wg sync.WaitGroup
	for w := 0; w < 6; w++ {
		wg.Add(1)
		rng := rand.New(rand.NewSource(seed + int64(w)))
		p := &Party{ID: 50 + w}
		go func() {
			defer wg.Done()
			for i := 0; i < 150; i++ {
				tx := s.Begin(p)
				err := transfer(ctx, tx, tab, rng, n)
				if err != nil && number(err) != 1205 {
					t.Errorf("%v", err)
				}
				if err != nil || rng.Intn(4) == 0 {
					tx.Rollback()
				} else {
					tx.Commit()
				}
				if rng.Intn(5) == 0 {
					snap := s.OpenSnapshot()
					q := s.Begin(p)
					sum := int64(0)
					for _, ix := range tab.Indexes() {
						c := q.NewCursor(ix, Read{Snapshot: snap}, Range{})
						sum = 0
						for {
							ok, _ := c.Next(ctx)
							if !ok {
								break
							}
							sum += c.Values()[2].Int()
						}
						if sum != n*100 {
							t.Errorf("snapshot sum by %s is %d", ix.Name, sum)
						}
					}
					q.Commit()
					snap.Close()
				}
			}
		}()
	}
	wg.Wait()
	check := s.Begin(&Party{ID: 2})
	for _, ix := range tab.Indexes() {
		sum := int64(0)
		c := check.NewCursor(ix, Read{Lock: ModeS}, Range{})
		count := 0
		for {
			ok, err := c.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			count++
			sum += c.Values()[2].Int()
		}
		c.Close()
		if sum != n*100 || count != n || ix.tree.Len() != n {
			t.Errorf("%s: sum %d of %d rows, %d entries", ix.Name, sum, count, ix.tree.Len())
		}
	}
	check.Commit()
	if all := s.Locks.List(); len(all) != 0 {
		t.Errorf("locks left: %+v", all)
	}
	t.Logf("%d deadlocks", len(s.Locks.Deadlocks()))
}

func transfer(ctx context.Context, tx *Txn, tab *Table, rng *rand.Rand, n int) error {
	if err := tx.LockTable(ctx, tab, ModeIX, ForTransaction); err != nil {
		return err
	}
	base := tab.Indexes()[0]
	for step := 0; step < 2; step++ {
		amount := int64(rng.Intn(10))
		ids := rng.Perm(n)[:2]
		for i, id := range ids {
			key := string(base.Key[0].AppendKey(nil, ints(int64(id))[0]))
			end, _ := PrefixEnd(key)
			c := tx.NewCursor(base, Read{Lock: ModeU, Hold: true}, Range{Low: key, High: end, Bounded: true, Point: true})
			ok, err := c.Next(ctx)
			if err != nil {
				return err
			}
			if !ok {
				return fmt.Errorf("row %d is lost", id)
			}
			c.Accept()
			old := c.Values()
			delta := amount
			if i == 1 {
				delta = -amount
			}
			vals := ints(old[0].Int(), int64(rng.Intn(5)), old[2].Int()+delta)
			row := c.Row()
			c.Close()
			if rng.Intn(5) == 0 { // as a delete and an insert
				if _, err := tx.Delete(ctx, tab, row); err != nil {
					return err
				}
				if _, err := tx.Insert(ctx, tab, vals); err != nil {
					return err
				}
			} else if err := tx.Update(ctx, tab, []Change{{row, vals}}); err != nil {
				return err
			}
		}
		if rng.Intn(3) == 0 {
			mark := tx.Mark()
			c := tx.NewCursor(base, Read{Lock: ModeU, Hold: true}, Range{})
			if ok, err := c.Next(ctx); err != nil {
				return err
			} else if ok {
				c.Accept()
				if _, err := tx.Delete(ctx, tab, c.Row()); err != nil {
					return err
				}
			}
			c.Close()
			tx.RollbackTo(mark)
		}
	}
	return nil
}
