package storage

import (
	"context"
	"encoding/binary"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// Insert adds a row: to the clustered index or heap first, then to the nonclustered
// indexes. A duplicate key is a *DuplicateError, and leaves what was inserted so far
// to the caller's statement rollback.
func (tx *Txn) Insert(ctx context.Context, t *Table, vals []value.Value) (*Record, error) {
	indexes := t.Indexes()
	row, err := tx.insertRow(ctx, indexes[0], vals)
	if err != nil {
		return nil, err
	}
	for _, ix := range indexes[1:] {
		if err := tx.insertEntry(ctx, ix, row, row.img); err != nil {
			return nil, err
		}
	}
	return row, nil
}

// newRowKey returns the key of a new row of a clustered index or heap.
func (t *Table) newRowKey(ix *Index, vals []value.Value) string {
	var buf [128]byte
	dst := buf[:0]
	if ix.ID == 1 {
		dst = ix.columnsKey(dst, vals)
		if ix.Unique {
			return string(dst)
		}
	}
	t.latch.Lock()
	t.unique++
	n := t.unique
	t.latch.Unlock()
	return string(appendRowID(dst, n))
}

func appendRowID(dst []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(dst, n) }

func (tx *Txn) insertRow(ctx context.Context, ix *Index, vals []value.Value) (*Record, error) {
	t := ix.table
	key := t.newRowKey(ix, vals)
	img := &image{vals: vals, writer: tx}
	rec, err := tx.place(ctx, ix, key, img, nil)
	if err != nil {
		return nil, err
	}
	t.rows.Add(1)
	return rec, nil
}

func (tx *Txn) insertEntry(ctx context.Context, ix *Index, row *Record, img *image) error {
	in, err := ix.includes(img.vals)
	if err != nil || !in {
		return err
	}
	_, err = tx.place(ctx, ix, ix.entryKey(img.vals, row), img, row)
	return err
}

// place puts an entry into an index, with an X lock on its key, after a test that no
// other transaction has a range lock on the gap.
func (tx *Txn) place(ctx context.Context, ix *Index, key string, img *image, row *Record) (*Record, error) {
	t := ix.table
	mode := ModeX
	if !t.Private {
		if _, err := tx.lockRow(ctx, ix, key, mode, ForTransaction); err != nil {
			return nil, err
		}
	}
	probe := &Record{key: key}
	for {
		t.latch.Lock()
		if at, ok := ix.tree.Get(probe); ok {
			rec, err := tx.reuse(ix, at, img, row)
			t.latch.Unlock()
			return rec, err
		}
		var blocked string
		if !t.Private && tx.store.Locks.ranges.Load() > 0 {
			next := infinity
			ix.tree.Ascend(probe, func(rec *Record) bool {
				next = rec.key
				return false
			})
			g, fresh, ok := tx.store.Locks.try(tx.Owner, ix.resource(next), ModeRangeIN, ForRow)
			if ok {
				own := g.modes[ForTransaction]&(rangeS|rangeX) != 0
				tx.store.Locks.release(g, ForRow)
				if own && !fresh {
					// The gap that this transaction protects now ends here.
					tx.store.Locks.try(tx.Owner, ix.resource(key), ModeRangeXX, ForTransaction)
				}
			} else {
				blocked = next
			}
		}
		if blocked == "" {
			rec := &Record{key: key, row: row, img: img}
			ix.tree.Set(rec)
			tx.log(undoRecord{op: undoInsert, ix: ix, rec: rec})
			tx.wrote(ix)
			t.latch.Unlock()
			return rec, nil
		}
		t.latch.Unlock()
		g, _, err := tx.store.Locks.acquire(ctx, tx.Owner, ix.resource(blocked), ModeRangeIN, ForRow, tx.Wait, tx.Counters)
		if err != nil {
			return nil, err
		}
		tx.store.Locks.release(g, ForRow)
	}
}

func (tx *Txn) wrote(ix *Index) {
	if tx.Counters != nil {
		tx.Counters.Writes++
	}
	ix.Counters.Updates.Add(1)
}

// reuse puts an entry where a record with its key is already. The caller holds the
// latch and an X lock on the key.
func (tx *Txn) reuse(ix *Index, at *Record, img *image, row *Record) (*Record, error) {
	if at.ghost == nil {
		return nil, &DuplicateError{Table: ix.table, Index: ix, Key: ix.describeKey(img.vals)}
	}
	tx.wrote(ix)
	if at.row == row { // a row again where one was, or the same row back under an old key
		tx.log(undoRecord{op: undoRevive, ix: ix, rec: at, img: at.img, by: at.ghost})
		if row == nil {
			img.prev = at.img
			if img.prev.vals != nil {
				// The ghost kept the image of the row for readers of the index.
				img.prev = &image{writer: at.ghost, prev: at.img}
			}
		}
		at.img = img
		at.ghost = nil
		return at, nil
	}
	rec := &Record{key: at.key, row: row, img: img, older: at}
	ix.tree.Set(rec)
	tx.log(undoRecord{op: undoReplace, ix: ix, rec: rec})
	return rec, nil
}

// Change is one row of an UPDATE.
type Change struct {
	Row  *Record
	Vals []value.Value
}

// Delete removes a row: from the clustered index or heap first, then from the others.
// It returns false if the row is not there any more.
func (tx *Txn) Delete(ctx context.Context, t *Table, row *Record) (bool, error) {
	indexes := t.Indexes()
	if _, err := tx.lockRow(ctx, indexes[0], row.key, ModeX, ForTransaction); err != nil {
		return false, err
	}
	t.latch.Lock()
	if row.ghost != nil || row.dead {
		t.latch.Unlock()
		if tx.Snapshot != nil && row.ghost != nil && row.ghost != tx && !t.Private {
			return false, errUpdateConflict(t)
		}
		return false, nil
	}
	if err := tx.conflict(t, row); err != nil {
		t.latch.Unlock()
		return false, err
	}
	old := row.img
	tx.bury(indexes[0], row, &image{writer: tx, prev: old})
	t.latch.Unlock()
	for _, ix := range indexes[1:] {
		if err := tx.removeEntry(ctx, ix, row, old.vals); err != nil {
			return false, err
		}
	}
	return true, nil
}

// bury makes rec a ghost. The caller holds the latch.
func (tx *Txn) bury(ix *Index, rec *Record, img *image) {
	tx.log(undoRecord{op: undoGhost, ix: ix, rec: rec, img: rec.img})
	rec.ghost = tx
	rec.img = img
	tx.wrote(ix)
	if ix.Clustered() {
		ix.table.rows.Add(-1)
	}
}

// conflict is error 3960: under SNAPSHOT isolation the row changed since the snapshot.
func (tx *Txn) conflict(t *Table, row *Record) error {
	if tx.Snapshot == nil || t.Private || tx.Snapshot.sees(row.img.writer, tx) {
		return nil
	}
	return errUpdateConflict(t)
}

func (tx *Txn) removeEntry(ctx context.Context, ix *Index, row *Record, vals []value.Value) error {
	in, err := ix.includes(vals)
	if err != nil || !in {
		return err
	}
	key := ix.entryKey(vals, row)
	if _, err := tx.lockRow(ctx, ix, key, ModeX, ForTransaction); err != nil {
		return err
	}
	t := ix.table
	t.latch.Lock()
	defer t.latch.Unlock()
	if rec, ok := ix.tree.Get(&Record{key: key}); ok && rec.row == row && rec.ghost == nil {
		tx.bury(ix, rec, rec.img)
	}
	return nil
}

// Update changes rows. Rows whose clustered key changes are deleted and inserted.
// When keys of unique indexes change in several rows, all old entries go before the
// new ones come, so that rows may exchange keys.
func (tx *Txn) Update(ctx context.Context, t *Table, changes []Change) error {
	indexes := t.Indexes()
	base := indexes[0]
	if len(changes) > 1 {
		for _, ix := range indexes {
			if ix.Unique && tx.changesKey(t, ix, changes) {
				return tx.updateInPhases(ctx, t, indexes, changes)
			}
		}
	}
	for _, c := range changes {
		old, err := tx.updateRow(ctx, base, c)
		if err != nil {
			return err
		}
		if old == nil {
			if err := tx.moveRow(ctx, t, c); err != nil {
				return err
			}
			continue
		}
		for _, ix := range indexes[1:] {
			if err := tx.updateEntry(ctx, ix, c.Row, old.vals); err != nil {
				return err
			}
		}
	}
	return nil
}

func (tx *Txn) changesKey(t *Table, ix *Index, changes []Change) bool {
	t.latch.RLock()
	defer t.latch.RUnlock()
	for _, c := range changes {
		for _, k := range ix.Key {
			if !same(c.Row.img.vals, c.Vals, k.Column) {
				return true
			}
		}
	}
	return false
}

// same reports whether a column has the identical value in both.
func same(a, b []value.Value, column int) bool {
	if a == nil || column >= len(a) || column >= len(b) {
		return false
	}
	return a[column] == b[column]
}

// updateRow gives the row its new image. It returns the old image, or nil if the key
// of the clustered index changes.
func (tx *Txn) updateRow(ctx context.Context, base *Index, c Change) (*image, error) {
	t := base.table
	if _, err := tx.lockRow(ctx, base, c.Row.key, ModeX, ForTransaction); err != nil {
		return nil, err
	}
	t.latch.Lock()
	defer t.latch.Unlock()
	if c.Row.ghost != nil || c.Row.dead {
		if tx.Snapshot != nil && !t.Private {
			return nil, errUpdateConflict(t)
		}
		return nil, nil
	}
	if err := tx.conflict(t, c.Row); err != nil {
		return nil, err
	}
	old := c.Row.img
	if base.ID == 1 && base.keyDiffers(old.vals, c.Vals) {
		return nil, nil
	}
	tx.log(undoRecord{op: undoImage, ix: base, rec: c.Row, img: old})
	c.Row.img = &image{vals: c.Vals, writer: tx, prev: old}
	tx.wrote(base)
	return old, nil
}

func (ix *Index) keyDiffers(a, b []value.Value) bool {
	for _, k := range ix.Key {
		if !same(a, b, k.Column) {
			// Values may differ and still make one key ('a' and 'A').
			var x, y [128]byte
			return string(ix.columnsKey(x[:0], a)) != string(ix.columnsKey(y[:0], b))
		}
	}
	return false
}

// moveRow is an update of the clustered key.
func (tx *Txn) moveRow(ctx context.Context, t *Table, c Change) error {
	if ok, err := tx.Delete(ctx, t, c.Row); err != nil || !ok {
		return err
	}
	_, err := tx.Insert(ctx, t, c.Vals)
	return err
}

// updateEntry maintains one nonclustered index for a row that has its new image.
func (tx *Txn) updateEntry(ctx context.Context, ix *Index, row *Record, old []value.Value) error {
	t := ix.table
	img := row.img
	if ix.Filter == nil && !ix.touched(old, img.vals) {
		// Nothing that the index stores has changed: no lock, only let go of the old image.
		t.latch.Lock()
		if rec, ok := ix.tree.Get(&Record{key: ix.entryKey(img.vals, row)}); ok && rec.row == row && rec.ghost == nil {
			tx.log(undoRecord{op: undoImage, ix: ix, rec: rec, img: rec.img})
			rec.img = img
		}
		t.latch.Unlock()
		return nil
	}
	was, err := ix.includes(old)
	if err != nil {
		return err
	}
	is, err := ix.includes(img.vals)
	if err != nil {
		return err
	}
	if was && is && !ix.keyDiffers(old, img.vals) {
		key := ix.entryKey(img.vals, row)
		if ix.touched(old, img.vals) {
			if _, err := tx.lockRow(ctx, ix, key, ModeX, ForTransaction); err != nil {
				return err
			}
			tx.wrote(ix)
		}
		t.latch.Lock()
		if rec, ok := ix.tree.Get(&Record{key: key}); ok && rec.row == row && rec.ghost == nil {
			tx.log(undoRecord{op: undoImage, ix: ix, rec: rec, img: rec.img})
			rec.img = img
		}
		t.latch.Unlock()
		return nil
	}
	if was {
		if err := tx.removeEntry(ctx, ix, row, old); err != nil {
			return err
		}
	}
	if is {
		return tx.insertEntry(ctx, ix, row, img)
	}
	return nil
}

// touched reports whether a column that the index stores differs.
func (ix *Index) touched(a, b []value.Value) bool {
	for c, held := range ix.holds {
		if held && !same(a, b, c) {
			return true
		}
	}
	return false
}

// updateInPhases removes all old entries first, then adds the new ones.
func (tx *Txn) updateInPhases(ctx context.Context, t *Table, indexes []*Index, changes []Change) error {
	type step struct {
		row *Record
		old []value.Value
		new []value.Value
	}
	var moved []step // rows that get a new clustered key
	var kept []step
	for _, c := range changes {
		old, err := tx.updateRow(ctx, indexes[0], c)
		if err != nil {
			return err
		}
		if old == nil {
			if ok, err := tx.Delete(ctx, t, c.Row); err != nil {
				return err
			} else if ok {
				moved = append(moved, step{new: c.Vals})
			}
			continue
		}
		kept = append(kept, step{row: c.Row, old: old.vals, new: c.Vals})
	}
	for _, ix := range indexes[1:] {
		var again []step
		for _, s := range kept {
			if ix.Unique && ix.keyDiffers(s.old, s.new) {
				if err := tx.removeEntry(ctx, ix, s.row, s.old); err != nil {
					return err
				}
				again = append(again, s)
			} else if err := tx.updateEntry(ctx, ix, s.row, s.old); err != nil {
				return err
			}
		}
		for _, s := range again {
			if err := tx.insertEntry(ctx, ix, s.row, s.row.img); err != nil {
				return err
			}
		}
	}
	for _, s := range moved {
		if _, err := tx.Insert(ctx, t, s.new); err != nil {
			return err
		}
	}
	return nil
}

// LockForWrite locks a row that is about to be changed and returns what it holds now;
// false if it is not there any more.
func (tx *Txn) LockForWrite(ctx context.Context, t *Table, row *Record) ([]value.Value, bool, error) {
	if _, err := tx.lockRow(ctx, t.Indexes()[0], row.key, ModeX, ForTransaction); err != nil {
		return nil, false, err
	}
	vals, ok := row.Current(t)
	if !ok && tx.Snapshot != nil && !t.Private {
		return nil, false, errUpdateConflict(t)
	}
	return vals, ok, nil
}
