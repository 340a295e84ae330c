package storage

import (
	"sync"
	"sync/atomic"

	"github.com/chokaq/chokaq/internal/clock"
)

// Store is all the data of one server.
type Store struct {
	Locks *Locks

	clock  clock.Clock
	nextTx atomic.Uint64

	// mu guards the order of commits and the snapshots that look at it.
	mu        sync.Mutex
	seq       uint64
	snapshots map[uint64]int // how many open snapshots see the commits up to this one
	deferred  []*Txn         // committed, but a snapshot may still see what they replaced
	ghosts    []leftGhost    // what cleaning up had to leave, because somebody held a lock on the key
	haunted   atomic.Bool    // there are ghosts

	tablesMu sync.RWMutex
	tables   map[[2]int32]*Table
}

// NewStore returns an empty store.
func NewStore(clock clock.Clock) *Store {
	s := &Store{clock: clock, Locks: newLocks(clock), snapshots: map[uint64]int{}, tables: map[[2]int32]*Table{}}
	s.seq = 1
	s.Locks.describe = s.describe
	return s
}

// describe names a resource for a deadlock report. It runs under the mutex of the
// lock manager, so it must not wait for a latch.
func (s *Store) describe(r Resource) (table, index, key string) {
	s.tablesMu.RLock()
	t := s.tables[[2]int32{r.Database, r.Object}]
	s.tablesMu.RUnlock()
	if t == nil {
		return "?", "", ""
	}
	if r.Kind != ResourceKey {
		return t.Name(), "", ""
	}
	if !t.latch.TryRLock() {
		return t.Name(), "?", ""
	}
	defer t.latch.RUnlock()
	ix := t.indexByID(r.Index)
	if ix == nil {
		return t.Name(), "?", ""
	}
	if r.Key == infinity {
		return t.Name(), ix.Name, "(end)"
	}
	if rec, ok := ix.tree.Get(&Record{key: r.Key}); ok && rec.img != nil {
		return t.Name(), ix.Name, ix.describeKey(rec.img.vals)
	}
	return t.Name(), ix.Name, ""
}
