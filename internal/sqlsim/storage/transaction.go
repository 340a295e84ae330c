package storage

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// Txn is a transaction: its locks, and what undoes it.
type Txn struct {
	ID    uint64
	Began time.Time
	Owner *Owner
	// Counters of whoever runs the current statement; may be nil.
	Counters *Counters
	// Wait is the LOCK_TIMEOUT of the session: negative for ever, 0 not at all.
	Wait time.Duration
	// Snapshot is that of the whole transaction under SNAPSHOT isolation.
	Snapshot *Snapshot

	store     *Store
	undo      []undoRecord
	committed atomic.Uint64
	onCommit  []func()
}

type undoOp uint8

const (
	undoInsert  undoOp = iota // rec was added to ix
	undoReplace               // rec took the place of rec.older in ix
	undoRevive                // the ghost rec was reused
	undoGhost                 // rec was made a ghost
	undoImage                 // rec got a new image
	undoFunc                  // anything else
)

type undoRecord struct {
	op  undoOp
	ix  *Index
	rec *Record
	img *image // what rec.img was before
	by  *Txn   // what rec.ghost was before
	fn  func()
}

// Begin starts a transaction of p.
func (s *Store) Begin(p *Party) *Txn {
	tx := &Txn{ID: s.nextTx.Add(1), Began: s.clock.Now(), Wait: -1, store: s}
	tx.Owner = NewOwner(p, tx.ID)
	p.work.Store(0)
	return tx
}

func (tx *Txn) log(r undoRecord) {
	tx.undo = append(tx.undo, r)
	tx.Owner.Party.work.Add(1)
}

// OnRollback registers f to run, in reverse order with everything else, when the
// transaction or the part of it since now is rolled back.
func (tx *Txn) OnRollback(f func()) { tx.log(undoRecord{op: undoFunc, fn: f}) }

// OnCommit registers f to run after the commit, before locks are released.
func (tx *Txn) OnCommit(f func()) { tx.onCommit = append(tx.onCommit, f) }

// Mark returns a savepoint.
func (tx *Txn) Mark() int { return len(tx.undo) }

// Dirty reports whether the transaction has anything to undo.
func (tx *Txn) Dirty() bool { return len(tx.undo) > 0 }

// RollbackTo undoes what was done since the mark. Locks stay.
func (tx *Txn) RollbackTo(mark int) {
	if mark > len(tx.undo) {
		return // the transaction has ended meanwhile
	}
	for i := len(tx.undo) - 1; i >= mark; i-- {
		r := tx.undo[i]
		if r.op == undoFunc {
			r.fn()
		} else {
			r.revert(tx.store)
		}
		tx.undo[i] = undoRecord{}
	}
	tx.undo = tx.undo[:mark]
}

func (r undoRecord) revert(s *Store) {
	t := r.ix.table
	t.latch.Lock()
	defer t.latch.Unlock()
	switch r.op {
	case undoInsert:
		if at, ok := r.ix.tree.Get(r.rec); ok && at == r.rec {
			r.ix.tree.Delete(r.rec)
		}
		r.rec.dead = true
		if r.ix.Clustered() {
			t.rows.Add(-1)
		}
	case undoReplace:
		r.rec.dead = true
		r.rec.older.dead = false
		r.ix.tree.Set(r.rec.older)
		s.leave([]leftGhost{{r.ix, r.rec.older, r.rec.older.ghost}}) // its deleter may have cleaned up meanwhile
	case undoRevive:
		r.rec.img = r.img
		r.rec.ghost = r.by
		s.leave([]leftGhost{{r.ix, r.rec, r.by}}) // likewise
		if r.ix.Clustered() {
			t.rows.Add(-1)
		}
	case undoGhost:
		r.rec.img = r.img
		r.rec.ghost = nil
		if r.ix.Clustered() {
			t.rows.Add(1)
		}
	case undoImage:
		r.rec.img = r.img
	}
}

// settled stands for the deleter of a ghost when that is long committed.
var settled = &Txn{}

// Rollback undoes everything and releases all locks.
func (tx *Txn) Rollback() {
	tx.RollbackTo(0)
	tx.end()
}

// Commit makes the transaction visible and releases all locks.
func (tx *Txn) Commit() {
	s := tx.store
	if len(tx.undo) > 0 {
		s.mu.Lock()
		s.seq++
		tx.committed.Store(s.seq)
		seen := len(s.snapshots) > 0
		if seen {
			s.deferred = append(s.deferred, tx)
		}
		s.mu.Unlock()
		if !seen {
			tx.cleanUp(false)
		}
	}
	for _, f := range tx.onCommit {
		f()
	}
	tx.end()
}

func (tx *Txn) end() {
	tx.Snapshot.Close()
	tx.Snapshot = nil
	tx.onCommit = nil
	tx.store.Locks.releaseAll(tx.Owner)
	tx.Owner.tables = nil
	tx.Owner.Party.work.Store(0)
	tx.store.sweep()
}

// cleanUp removes the ghosts that tx left and the versions that it replaced. Later,
// when other transactions may have been there since, a ghost goes only if it is still
// the same and nobody has a lock on its key.
func (tx *Txn) cleanUp(later bool) {
	var left []leftGhost
	var latched *Table
	for i := range tx.undo {
		r := &tx.undo[i]
		if r.op == undoFunc {
			continue
		}
		if t := r.ix.table; t != latched {
			if latched != nil {
				latched.latch.Unlock()
			}
			t.latch.Lock()
			latched = t
		}
		rec := r.rec
		switch {
		case r.op == undoGhost && rec.ghost == tx && !rec.dead:
			if later && !latched.Private && !tx.store.Locks.unlocked(r.ix.resource(rec.key)) {
				// Whoever holds or wants the key finds a ghost; it goes when nobody does
				// any more, or with the next writer of the key.
				rec.ghost = settled
				left = append(left, leftGhost{r.ix, rec, settled})
				break
			}
			if at, ok := r.ix.tree.Get(rec); ok && at == rec {
				r.ix.tree.Delete(rec)
			}
			rec.dead = true
		case r.op == undoReplace:
			rec.older = nil
		}
		if !later {
			if rec.img != nil && rec.img.writer == tx {
				rec.img.writer, rec.img.prev = nil, nil
			}
			continue
		}
		for img := rec.img; img != nil; img = img.prev {
			if img.writer == nil || img.writer == tx {
				img.prev = nil
			}
		}
	}
	if latched != nil {
		latched.latch.Unlock()
	}
	tx.undo = nil
	tx.store.leave(left)
}

// EndStatement releases the locks that were taken for one statement.
func (tx *Txn) EndStatement() {
	tx.store.Locks.endStatement(tx.Owner)
	for t, h := range tx.Owner.tables {
		h.count = 0
		h.next = escalateAt
		if h.grant.mode() == 0 {
			delete(tx.Owner.tables, t)
		}
	}
}

// LockTable takes a lock on the whole table.
func (tx *Txn) LockTable(ctx context.Context, t *Table, mode Mode, d Duration) error {
	if t.Private {
		return nil
	}
	o := tx.Owner
	if h := o.tables[t]; h != nil && h.grant.modes[d].Covers(mode) {
		return nil
	}
	g, _, err := tx.store.Locks.acquire(ctx, o, t.resource(), mode, d, tx.Wait, tx.Counters)
	if err != nil {
		return err
	}
	if o.tables == nil {
		o.tables = map[*Table]*tableHold{}
	}
	if h := o.tables[t]; h == nil {
		o.tables[t] = &tableHold{grant: g, next: escalateAt}
	} else {
		h.grant = g
	}
	return nil
}

// TryLockTable is LockTable without a wait.
func (tx *Txn) TryLockTable(t *Table, mode Mode, d Duration) bool {
	wait := tx.Wait
	tx.Wait = 0
	err := tx.LockTable(context.Background(), t, mode, d)
	tx.Wait = wait
	return err == nil
}

// LockApplication takes an application lock for o, which may be the transaction's
// owner or the session's.
func (s *Store) LockApplication(ctx context.Context, o *Owner, database int32, name string, mode Mode, wait time.Duration) (immediately bool, err error) {
	var c Counters
	g, _, err := s.Locks.acquire(ctx, o, Resource{Kind: ResourceApplication, Database: database, Key: name}, mode, ForTransaction, wait, &c)
	if err == nil {
		s.Locks.mu.Lock()
		g.taken++
		s.Locks.mu.Unlock()
	}
	return c.LockWaits == 0, err
}

// UnlockApplication undoes one LockApplication, and releases the lock with the last; false
// if o does not hold it. Until then the lock keeps the strongest mode that was asked for.
func (s *Store) UnlockApplication(o *Owner, database int32, name string) bool {
	m := s.Locks
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.locks[Resource{Kind: ResourceApplication, Database: database, Key: name}]; l != nil {
		if g := l.grantOf(o); g != nil {
			if g.taken--; g.taken < 1 {
				m.releaseLocked(g, ForTransaction)
			}
			return true
		}
	}
	return false
}

// ApplicationMode returns the mode in which o holds an application lock.
func (s *Store) ApplicationMode(o *Owner, database int32, name string) Mode {
	m := s.Locks
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.locks[Resource{Kind: ResourceApplication, Database: database, Key: name}]; l != nil {
		if g := l.grantOf(o); g != nil {
			return g.mode()
		}
	}
	return ModeNone
}

// ApplicationFree reports whether p could have the application lock at once.
func (s *Store) ApplicationFree(p *Party, database int32, name string, mode Mode) bool {
	return s.Locks.free(p, Resource{Kind: ResourceApplication, Database: database, Key: name}, mode)
}

// PinTable keeps a table as it is (Sch-S) for as long as o plans with it; UnpinTables ends that.
func (s *Store) PinTable(ctx context.Context, o *Owner, t *Table, wait time.Duration) error {
	_, _, err := s.Locks.acquire(ctx, o, t.resource(), ModeSchS, ForStatement, wait, nil)
	return err
}

// UnpinTables releases what PinTable took.
func (s *Store) UnpinTables(o *Owner) { s.Locks.endStatement(o) }

// ReleaseOwner releases all locks of an owner that is not a transaction.
func (s *Store) ReleaseOwner(o *Owner) { s.Locks.releaseAll(o) }

// LockDatabase takes a lock on a database for a session.
func (s *Store) LockDatabase(ctx context.Context, o *Owner, database int32, mode Mode, wait time.Duration) error {
	_, _, err := s.Locks.acquire(ctx, o, Resource{Kind: ResourceDatabase, Database: database}, mode, ForTransaction, wait, nil)
	return err
}

// UnlockDatabase releases it.
func (s *Store) UnlockDatabase(o *Owner, database int32) {
	m := s.Locks
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.locks[Resource{Kind: ResourceDatabase, Database: database}]; l != nil {
		if g := l.grantOf(o); g != nil {
			m.releaseLocked(g, ForTransaction)
		}
	}
}

// errUpdateConflict returns error 3960.
func errUpdateConflict(t *Table) error {
	return value.NewError(3960, 16, 2, "Snapshot isolation transaction aborted due to update conflict. You cannot use snapshot isolation to access table '%s' directly or indirectly in database '%s' to update, delete, or insert the row that has been modified or deleted by another transaction. Retry the transaction or change the isolation level for the update/delete statement.", t.Name(), t.DatabaseName)
}
