package storage

import (
	"context"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// Range is the keys from Low to High; the bounds are encoded keys or prefixes of them.
type Range struct {
	Low  string // inclusive
	High string // exclusive; meaningful if Bounded
	// Bounded is false for a range without an upper end.
	Bounded bool
	// Point is a seek of one key of a unique index: under SERIALIZABLE the key itself
	// is locked, not the gap, if it is found.
	Point bool
}

// Read says how a cursor reads.
type Read struct {
	Lock     Mode      // ModeS, ModeU or ModeX; ModeNone reads dirty
	Snapshot *Snapshot // not nil: versions, without locks
	Hold     bool      // keep the lock of accepted rows to the end of the transaction
	HoldAll  bool      // of all rows read (REPEATABLE READ)
	Ranged   bool      // key-range locks (SERIALIZABLE)
	ReadPast bool      // skip rows that are locked
	Backward bool
	// Instant says that the reader will not look up the clustered row, so that a
	// shared lock that nobody opposes need not be registered.
	Instant bool
}

// Cursor reads ranges of one index, row by row: Next finds an entry and locks it, the
// caller evaluates what the index covers, Lookup goes to the row of a nonclustered
// entry, and Accept or Reject decides what becomes of the locks.
type Cursor struct {
	tx     *Txn
	ix     *Index
	read   Read
	ranges []Range

	at    int // current range
	begun bool
	pos   string // key of the last entry of the current range
	chunk []*Record
	next  int
	size  int // how many entries the next chunk takes
	ended bool

	rec    *Record
	img    *image
	lock   *grant // on the entry
	lookup *grant // on the row of a nonclustered entry
}

// NewCursor returns a cursor over ranges of ix, in their order.
func (tx *Txn) NewCursor(ix *Index, read Read, ranges ...Range) *Cursor {
	c := &Cursor{tx: tx, ix: ix, read: read, ranges: ranges}
	if read.Snapshot == nil && read.Lock != ModeNone && read.Ranged {
		c.read.HoldAll = true
	}
	return c
}

// Reset makes c read other ranges.
func (c *Cursor) Reset(ranges ...Range) {
	c.Close()
	c.ranges, c.at, c.begun, c.ended = ranges, 0, false, false
}

// Close releases the locks of the current row that need not be kept.
func (c *Cursor) Close() {
	c.letGo()
	c.chunk, c.next = nil, 0
}

// letGo releases the row-duration locks of the current row.
func (c *Cursor) letGo() {
	if c.lookup != nil {
		c.tx.rowGone(c.ix.table.indexes[0], c.lookup, ForRow)
		c.lookup = nil
	}
	if c.lock != nil {
		c.tx.rowGone(c.ix, c.lock, ForRow)
		c.lock = nil
	}
}

// Values are those of the current row. After Next on a nonclustered index only the
// columns that it covers may be used, until Lookup.
func (c *Cursor) Values() []value.Value { return c.img.vals }

// Row identifies the current row for Update and Delete.
func (c *Cursor) Row() *Record { return c.rec.base() }

// Accept keeps the locks of the current row, if its reader holds them.
func (c *Cursor) Accept() {
	if c.read.Hold || c.read.HoldAll {
		c.keep()
	}
}

// Reject lets go of the current row: it did not qualify.
func (c *Cursor) Reject() {
	if c.read.HoldAll {
		c.keep()
		return
	}
	c.letGo()
}

func (c *Cursor) keep() {
	if c.lock != nil {
		c.tx.store.Locks.promote(c.lock)
		c.lock = nil
	}
	if c.lookup != nil {
		c.tx.store.Locks.promote(c.lookup)
		c.lookup = nil
	}
}

// Next moves to the next row. It returns false at the end.
func (c *Cursor) Next(ctx context.Context) (bool, error) {
	if c.read.HoldAll {
		c.keep()
	}
	c.letGo()
	for {
		if c.at >= len(c.ranges) {
			return false, nil
		}
		if !c.begun {
			c.begin()
		}
		ok, err := c.advance(ctx)
		if ok || err != nil {
			return ok, err
		}
		c.at++
		c.begun = false
	}
}

func (c *Cursor) begin() {
	c.begun, c.ended = true, false
	c.chunk, c.next = c.chunk[:0], 0
	c.size = 4
	c.pos = ""
	if r := c.ranges[c.at]; r.Low == "" && !r.Bounded {
		c.ix.Counters.Scans.Add(1)
		if c.tx.Counters != nil {
			c.tx.Counters.Scans++
		}
	} else {
		c.ix.Counters.Seeks.Add(1)
		if c.tx.Counters != nil {
			c.tx.Counters.Seeks++
		}
	}
}

// fill reads the next entries of the range under the latch, which the caller holds.
func (c *Cursor) fill() {
	c.chunk, c.next = c.chunk[:0], 0
	r := &c.ranges[c.at]
	size := c.size
	if c.read.Ranged {
		size = 1
	} else if c.size < 64 {
		c.size *= 2
	}
	add := func(rec *Record) bool {
		if c.read.Snapshot != nil {
			for ; rec != nil; rec = rec.older {
				c.chunk = append(c.chunk, rec)
			}
		} else {
			c.chunk = append(c.chunk, rec)
		}
		return len(c.chunk) < size
	}
	first := c.pos == ""
	if c.read.Backward {
		visit := func(rec *Record) bool {
			if !first && rec.key >= c.pos || r.Bounded && rec.key >= r.High {
				return true
			}
			if rec.key < r.Low {
				return false
			}
			return add(rec)
		}
		switch {
		case !first:
			c.ix.tree.Descend(&Record{key: c.pos}, visit)
		case r.Bounded:
			c.ix.tree.Descend(&Record{key: r.High}, visit)
		default:
			c.ix.tree.Reverse(visit)
		}
	} else {
		from := r.Low
		if !first {
			from = c.pos
		}
		c.ix.tree.Ascend(&Record{key: from}, func(rec *Record) bool {
			if !first && rec.key <= c.pos {
				return true
			}
			if r.Bounded && rec.key >= r.High {
				return false
			}
			return add(rec)
		})
	}
	if len(c.chunk) == 0 {
		c.ended = true
	}
}

// advance moves to the next row of the current range.
func (c *Cursor) advance(ctx context.Context) (bool, error) {
	t := c.ix.table
	for n := 0; ; n++ {
		if n&255 == 255 {
			if err := ctx.Err(); err != nil {
				return false, err
			}
		}
		t.latch.RLock()
		if c.next >= len(c.chunk) {
			if !c.ended {
				c.fill()
			}
			if c.ended {
				t.latch.RUnlock()
				if c.read.Ranged && c.read.Snapshot == nil && c.read.Lock != ModeNone {
					return c.lockEnd(ctx)
				}
				return false, nil
			}
		}
		rec := c.chunk[c.next]
		if c.tx.Counters != nil {
			c.tx.Counters.RowsRead++
		}
		c.ix.Counters.RowsRead.Add(1)

		// Without locks: the version that the snapshot shows, or whatever is there.
		if c.read.Snapshot != nil || c.read.Lock == ModeNone || t.Private {
			img := c.unlocked(rec)
			t.latch.RUnlock()
			c.next++
			c.pos = rec.key
			if img != nil {
				c.rec, c.img = rec, img
				return true, nil
			}
			continue
		}
		if rec.dead {
			t.latch.RUnlock()
			c.next++
			c.pos = rec.key
			continue
		}
		if c.tx.Owner.tables[t].coversRows(c.read.Lock) ||
			c.read.Instant && !c.read.HoldAll && !c.read.Hold && c.read.Lock == ModeS && c.tx.store.Locks.free(c.tx.Owner.Party, c.ix.resource(rec.key), ModeS) {
			img := rec.img
			live := rec.ghost == nil
			t.latch.RUnlock()
			c.next++
			c.pos = rec.key
			if live {
				if c.tx.Counters != nil {
					c.tx.Counters.Locks++
				}
				c.rec, c.img = rec, img
				return true, nil
			}
			continue
		}
		t.latch.RUnlock()

		ok, err := c.lockEntry(ctx, rec)
		if err != nil {
			return false, err
		}
		if ok {
			return true, nil
		}
	}
}

// unlocked returns the image of rec that a reader without locks sees, nil for none.
// The caller holds the latch.
func (c *Cursor) unlocked(rec *Record) *image {
	if c.read.Snapshot == nil {
		if rec.ghost != nil || rec.dead {
			return nil
		}
		return rec.img
	}
	img := c.read.Snapshot.visible(rec.base().img, c.tx)
	if img == nil || rec.row == nil {
		return img
	}
	// An entry of a nonclustered index stands for the version only if it has its key.
	if img == rec.img && rec.ghost == nil {
		return img
	}
	if in, err := c.ix.includes(img.vals); err != nil || !in {
		return nil
	}
	if c.ix.entryKey(img.vals, rec.row) != rec.key {
		return nil
	}
	return img
}

// lockEntry locks rec and makes it the current row; false if it is gone, deleted or skipped.
func (c *Cursor) lockEntry(ctx context.Context, rec *Record) (bool, error) {
	t := c.ix.table
	mode := c.read.Lock
	if c.read.Ranged && !c.ranges[c.at].Point {
		mode = mode.ranged()
	}
	var g *grant
	var err error
	if c.read.ReadPast {
		var ok bool
		g, ok = c.tx.tryLockRow(c.ix, rec.key, mode, ForRow)
		if !ok {
			c.skip()
			c.next++
			c.pos = rec.key
			return false, nil
		}
	} else if g, err = c.tx.lockRow(ctx, c.ix, rec.key, mode, ForRow); err != nil {
		return false, err
	}
	t.latch.RLock()
	img, ghost, dead := rec.img, rec.ghost != nil, rec.dead
	if c.read.Ranged && !dead {
		// Between finding the entry and locking it, another one may have come
		// before it: then that is the next one.
		at := c.pos
		prev := c.chunk
		c.fill()
		if len(c.chunk) == 0 || c.chunk[0] != rec {
			dead = true
		}
		c.chunk, c.next, c.pos = prev, 0, at
	}
	t.latch.RUnlock()
	if dead {
		// Look for the place again.
		if c.read.Ranged {
			if g != nil {
				c.tx.store.Locks.release(g, ForRow)
			}
			c.chunk, c.next, c.ended = c.chunk[:0], 0, false
			return false, nil
		}
		c.tx.rowGone(c.ix, g, ForRow)
		c.next++
		c.pos = rec.key
		return false, nil
	}
	c.next++
	c.pos = rec.key
	if ghost {
		if c.read.Ranged {
			if g != nil {
				c.tx.store.Locks.promote(g)
			}
		} else {
			c.tx.rowGone(c.ix, g, ForRow)
		}
		return false, nil
	}
	c.rec, c.img, c.lock = rec, img, g
	return true, nil
}

func (c *Cursor) skip() {
	if c.tx.Counters != nil {
		c.tx.Counters.Skipped++
	}
	c.ix.table.Skipped.Add(1)
}

// lockEnd locks the gap after the last row of a range, which ends at the next key
// whatever it is. It returns true if a row has appeared in the range meanwhile.
func (c *Cursor) lockEnd(ctx context.Context) (bool, error) {
	t := c.ix.table
	r := c.ranges[c.at]
	if r.Point && c.pos != "" {
		return false, nil
	}
	if c.tx.Owner.tables[t].coversRows(c.read.Lock) {
		return false, nil
	}
	after := func() string {
		if !r.Bounded {
			return infinity
		}
		key := infinity
		c.ix.tree.Ascend(&Record{key: r.High}, func(rec *Record) bool {
			key = rec.key
			return false
		})
		return key
	}
	for {
		t.latch.RLock()
		key := after()
		t.latch.RUnlock()
		g, err := c.tx.lockRow(ctx, c.ix, key, c.read.Lock.ranged(), ForRow)
		if err != nil {
			return false, err
		}
		t.latch.RLock()
		same := after() == key
		c.ended = false
		c.fill()
		found := !c.ended
		t.latch.RUnlock()
		if found && !c.read.Backward {
			if g != nil {
				c.tx.store.Locks.release(g, ForRow)
			}
			return c.advance(ctx)
		}
		if same {
			if g != nil {
				c.tx.store.Locks.promote(g)
			}
			return false, nil
		}
		if g != nil {
			c.tx.store.Locks.release(g, ForRow)
		}
	}
}

// Lookup goes from an entry of a nonclustered index to its row, which it locks in the
// same mode. It returns false if READPAST skips the row, or it is gone.
func (c *Cursor) Lookup(ctx context.Context) (bool, error) {
	rec := c.rec
	if rec.row == nil {
		return true, nil
	}
	t := c.ix.table
	base := t.indexes[0]
	base.Counters.Lookups.Add(1)
	if c.tx.Counters != nil {
		c.tx.Counters.Lookups++
	}
	if c.read.Snapshot != nil {
		return true, nil // the version is the whole row
	}
	if c.read.Lock == ModeNone || t.Private {
		t.latch.RLock()
		defer t.latch.RUnlock()
		if rec.row.ghost != nil || rec.row.img == nil || rec.row.img.vals == nil {
			return false, nil
		}
		c.img = rec.row.img
		return true, nil
	}
	if c.read.ReadPast {
		g, ok := c.tx.tryLockRow(base, rec.row.key, c.read.Lock, ForRow)
		if !ok {
			c.skip()
			c.letGo()
			return false, nil
		}
		c.lookup = g
	} else {
		g, err := c.tx.lockRow(ctx, base, rec.row.key, c.read.Lock, ForRow)
		if err != nil {
			return false, err
		}
		c.lookup = g
	}
	t.latch.RLock()
	defer t.latch.RUnlock()
	if rec.row.ghost != nil || rec.row.dead || rec.row.img.vals == nil {
		return false, nil
	}
	c.img = rec.row.img
	return true, nil
}

// Current returns the values that a row has now.
func (r *Record) Current(t *Table) ([]value.Value, bool) {
	t.latch.RLock()
	defer t.latch.RUnlock()
	if r.ghost != nil || r.img == nil || r.img.vals == nil {
		return nil, false
	}
	return r.img.vals, true
}
