package storage

import (
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// The functions here change what a table consists of. The caller has a Sch-M lock on
// the table, so nobody else reads or writes it; each is undone with its transaction.

// AddIndex builds a nonclustered index from the rows. A duplicate key is a *DuplicateError.
func (tx *Txn) AddIndex(t *Table, ix *Index, columns int) error {
	t.latch.Lock()
	defer t.latch.Unlock()
	before := t.indexes
	t.attach(ix, columns)
	if err := t.build(ix); err != nil {
		return err
	}
	t.indexes = append(append([]*Index(nil), before...), ix)
	tx.log(undoRecord{op: undoFunc, fn: func() {
		t.latch.Lock()
		t.indexes = before
		t.latch.Unlock()
	}})
	return nil
}

// build fills a nonclustered index.
func (t *Table) build(ix *Index) error {
	var failed error
	t.indexes[0].tree.Scan(func(row *Record) bool {
		if row.ghost != nil || row.img.vals == nil {
			return true
		}
		in, err := ix.includes(row.img.vals)
		if err != nil {
			failed = err
			return false
		}
		if !in {
			return true
		}
		rec := &Record{key: ix.entryKey(row.img.vals, row), row: row, img: row.img}
		if _, dup := ix.tree.Set(rec); dup {
			failed = &DuplicateError{Table: t, Index: ix, Key: ix.describeKey(row.img.vals)}
			return false
		}
		return true
	})
	return failed
}

// DropIndex removes a nonclustered index.
func (tx *Txn) DropIndex(t *Table, ix *Index) {
	t.latch.Lock()
	defer t.latch.Unlock()
	before := t.indexes
	t.indexes = nil
	for _, x := range before {
		if x != ix {
			t.indexes = append(t.indexes, x)
		}
	}
	tx.log(undoRecord{op: undoFunc, fn: func() {
		t.latch.Lock()
		t.indexes = before
		t.latch.Unlock()
	}})
}

// Rebuild gives the table a new clustered index or heap (nil: like the old one), new
// columns, and builds all indexes anew. transform makes the values of the new rows
// from the old; nil keeps them, and drop leaves the table empty.
func (tx *Txn) Rebuild(t *Table, base *Index, others []*Index, columns int, drop bool, transform func([]value.Value) ([]value.Value, error)) error {
	t.latch.Lock()
	defer t.latch.Unlock()
	before, rows := t.indexes, t.rows.Load()
	fail := func(err error) error {
		t.indexes = before
		t.rows.Store(rows)
		return err
	}
	t.indexes = []*Index{base}
	t.attach(base, columns)
	if !drop {
		var failed error
		var key []byte
		before[0].tree.Scan(func(row *Record) bool {
			if row.ghost != nil || row.img.vals == nil {
				return true
			}
			vals := row.img.vals
			if transform != nil {
				if vals, failed = transform(vals); failed != nil {
					return false
				}
			}
			key = key[:0]
			if base.ID == 1 {
				key = base.columnsKey(key, vals)
			}
			if base.ID == 0 || !base.Unique {
				t.unique++
				key = appendRowID(key, t.unique)
			}
			rec := &Record{key: string(key), img: &image{vals: vals, writer: tx}}
			if _, dup := base.tree.Set(rec); dup {
				failed = &DuplicateError{Table: t, Index: base, Key: base.describeKey(vals)}
				return false
			}
			return true
		})
		if failed != nil {
			return fail(failed)
		}
	} else {
		t.rows.Store(0)
	}
	for _, ix := range others {
		t.attach(ix, columns)
		if err := t.build(ix); err != nil {
			return fail(err)
		}
		t.indexes = append(t.indexes, ix)
	}
	tx.log(undoRecord{op: undoFunc, fn: func() {
		t.latch.Lock()
		t.indexes = before
		t.rows.Store(rows)
		t.latch.Unlock()
	}})
	return nil
}

// Copy returns an index with the same definition and no entries.
func (ix *Index) Copy() *Index {
	return &Index{ID: ix.ID, Name: ix.Name, Key: ix.Key, Include: ix.Include, Unique: ix.Unique, Filter: ix.Filter}
}
