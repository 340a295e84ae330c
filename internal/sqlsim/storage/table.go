package storage

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// image is one version of the values of a row. Images are immutable but for the
// fields about versions, so index entries and readers share them.
type image struct {
	vals   []value.Value // nil: the row is deleted in this version
	writer *Txn          // nil: committed, and visible to every snapshot
	prev   *image
}

// Record is an entry of an index. The entry of a clustered index, or of a heap, is
// the row itself; that of a nonclustered one points to its row and carries the image
// that its key was made of.
type Record struct {
	key   string
	row   *Record // nil: it is the row
	img   *image
	ghost *Txn    // who deleted it; nil: live
	older *Record // a ghost of another row under the same key, kept for snapshots
	dead  bool    // removed from its tree
}

func (r *Record) base() *Record {
	if r.row != nil {
		return r.row
	}
	return r
}

// KeyColumn is a column of an index key.
type KeyColumn struct {
	Column    int
	Desc      bool
	Collation value.Collation
}

// Index is a B-tree over the rows of a table. Index 0 is a heap, 1 the clustered
// index, others are nonclustered.
type Index struct {
	ID       int32
	Name     string
	Key      []KeyColumn
	Include  []int
	Unique   bool
	Filter   func([]value.Value) (bool, error) // nil: all rows
	Counters IndexCounters

	table *Table
	tree  *btree.BTreeG[*Record]
	holds []bool // by column: stored in this index, as key or included
}

// Clustered reports whether the entries of ix are the rows.
func (ix *Index) Clustered() bool { return ix.ID <= 1 }

// Covers reports whether the index stores the column.
func (ix *Index) Covers(column int) bool {
	return ix.Clustered() || column < len(ix.holds) && ix.holds[column]
}

// Table is the rows of one table.
type Table struct {
	ID           int32
	Database     int32
	DatabaseName string
	// Private tables (temporary ones, table variables) belong to one session and
	// take no locks.
	Private      bool
	NoEscalation atomic.Bool
	Escalations  atomic.Int64
	Skipped      atomic.Int64 // rows that READPAST skipped

	store *Store
	name  atomic.Pointer[string]

	latch   sync.RWMutex
	indexes []*Index // [0] is the clustered index or the heap
	unique  uint64   // last row id of a heap, or uniquifier of a clustered index that is not unique
	rows    atomic.Int64
}

// NewTable returns an empty heap, or, with a definition, a table with that clustered index.
func (s *Store) NewTable(id, database int32, name string, columns int, clustered *Index) *Table {
	t := &Table{ID: id, Database: database, store: s}
	t.SetName(name)
	if clustered == nil {
		clustered = &Index{ID: 0}
	}
	t.indexes = []*Index{clustered}
	t.attach(clustered, columns)
	s.tablesMu.Lock()
	s.tables[[2]int32{database, id}] = t
	s.tablesMu.Unlock()
	return t
}

// Forget removes a dropped table from the names that deadlock reports use.
func (s *Store) Forget(t *Table) {
	s.tablesMu.Lock()
	delete(s.tables, [2]int32{t.Database, t.ID})
	s.tablesMu.Unlock()
}

// Remember is the reverse of Forget.
func (s *Store) Remember(t *Table) {
	s.tablesMu.Lock()
	s.tables[[2]int32{t.Database, t.ID}] = t
	s.tablesMu.Unlock()
}

// SetName sets the name that reports show.
func (t *Table) SetName(name string) { t.name.Store(&name) }

// Name returns it.
func (t *Table) Name() string { return *t.name.Load() }

// Rows returns the number of rows, with uncommitted changes.
func (t *Table) Rows() int64 { return t.rows.Load() }

// Indexes returns the indexes, the clustered one or the heap first.
func (t *Table) Indexes() []*Index {
	t.latch.RLock()
	defer t.latch.RUnlock()
	return t.indexes
}

// Base returns the clustered index or the heap.
func (t *Table) Base() *Index { return t.Indexes()[0] }

func (t *Table) indexByID(id int32) *Index {
	for _, ix := range t.indexes {
		if ix.ID == id {
			return ix
		}
	}
	return nil
}

func newTree() *btree.BTreeG[*Record] {
	return btree.NewBTreeGOptions(func(a, b *Record) bool { return a.key < b.key }, btree.Options{NoLocks: true, Degree: 64})
}

// attach prepares ix for t.
func (t *Table) attach(ix *Index, columns int) {
	ix.table = t
	ix.tree = newTree()
	ix.holds = make([]bool, columns)
	mark := func(c int) {
		for c >= len(ix.holds) {
			ix.holds = append(ix.holds, false)
		}
		ix.holds[c] = true
	}
	for _, k := range ix.Key {
		mark(k.Column)
	}
	for _, c := range ix.Include {
		mark(c)
	}
	if !ix.Clustered() && len(t.indexes) > 0 {
		// A nonclustered index carries the clustered key.
		for _, k := range t.indexes[0].Key {
			mark(k.Column)
		}
	}
}

func (t *Table) resource() Resource {
	return Resource{Kind: ResourceObject, Database: t.Database, Object: t.ID}
}

func (ix *Index) resource(key string) Resource {
	kind := ResourceKey
	if ix.ID == 0 {
		kind = ResourceRID
	}
	return Resource{Kind: kind, Database: ix.table.Database, Object: ix.table.ID, Index: ix.ID, Key: key}
}

// AppendKey appends the part of a key that one column makes.
func (k KeyColumn) AppendKey(dst []byte, v value.Value) []byte {
	start := len(dst)
	dst = value.SortKey(dst, v, k.Collation)
	if k.Desc {
		for i := start; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

// columnsKey returns the key columns of vals as bytes.
func (ix *Index) columnsKey(dst []byte, vals []value.Value) []byte {
	for _, k := range ix.Key {
		dst = k.AppendKey(dst, vals[k.Column])
	}
	return dst
}

// entryKey returns the key of the entry for the row.
func (ix *Index) entryKey(vals []value.Value, row *Record) string {
	var buf [128]byte
	dst := ix.columnsKey(buf[:0], vals)
	if !ix.Unique {
		dst = append(dst, row.key...)
	}
	return string(dst)
}

// includes reports whether the index has an entry for the values.
func (ix *Index) includes(vals []value.Value) (bool, error) {
	if ix.Filter == nil {
		return true, nil
	}
	return ix.Filter(vals)
}

// describeKey writes the key columns as SQL Server does in messages: (a, 1, <NULL>).
func (ix *Index) describeKey(vals []value.Value) string {
	var b strings.Builder
	b.WriteByte('(')
	for i, k := range ix.Key {
		if i > 0 {
			b.WriteString(", ")
		}
		if k.Column >= len(vals) {
			continue
		}
		if v := vals[k.Column]; v.IsNull() {
			b.WriteString("<NULL>")
		} else {
			fmt.Fprintf(&b, "%s", keyText(v))
		}
	}
	b.WriteByte(')')
	return b.String()
}

// DuplicateError is a violation of a unique index; the engine knows whether it is a
// constraint (2627) or an index (2601).
type DuplicateError struct {
	Table *Table
	Index *Index
	Key   string
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("duplicate key %s in index %s of %s", e.Key, e.Index.Name, e.Table.Name())
}

// PrefixEnd returns the smallest key that is greater than every key with this prefix;
// false if there is none.
func PrefixEnd(prefix string) (string, bool) {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			return prefix[:i] + string([]byte{prefix[i] + 1}), true
		}
	}
	return "", false
}

// Entries counts the live entries of an index.
func (t *Table) Entries(ix *Index) int64 {
	t.latch.RLock()
	defer t.latch.RUnlock()
	n := int64(0)
	ix.tree.Scan(func(r *Record) bool {
		if r.ghost == nil {
			n++
		}
		return true
	})
	return n
}
