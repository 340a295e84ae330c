package engine

import (
	"bytes"
	"sort"

	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

func sortKeys(keys [][]byte) {
	sort.Slice(keys, func(i, j int) bool { return bytes.Compare(keys[i], keys[j]) < 0 })
}

// scanStep reads a base table by an access path. For each entry of the index it takes
// the entry's lock, evaluates what the index covers, goes to the row if that is needed,
// evaluates the rest, and only then decides whether the locks stay.
func (j *joinPlanner) scanStep(s *joinStep, a *access) sourceFn {
	it := s.it
	j.b.addVirtual(it)
	// Conditions that the entry of the index alone decides.
	var early, late []*conjunct
	ix := it.t.indexes[a.index]
	for _, c := range s.residual {
		covered := !c.pred.subqueries
		for _, col := range c.pred.cols {
			if col >= it.start && col < it.end {
				if o := col - it.start; o >= len(it.t.columns) || it.t.columns[o].virtual || a.index > 0 && !ix.covers(it.t, o) {
					covered = false
				}
			}
		}
		if covered || !a.lookup {
			early = append(early, c)
		} else {
			late = append(late, c)
		}
	}
	if !a.lookup {
		// Cheap conditions before those that may run queries.
		sort.SliceStable(early, func(x, y int) bool { return !early[x].pred.subqueries && early[y].pred.subqueries })
	}
	width := j.width
	alone := it.start == 0 && width == it.end && it.locator < 0 && len(it.virtual) == 0
	columns := len(it.t.columns)
	indexPos := a.index
	return func(rs *runState, left []value.Value, each rowFn) error {
		x := execOf(&rs.in)
		t := it.t
		if it.tableOf != nil {
			var err error
			if t, err = it.tableOf(&rs.in); err != nil {
				return err
			}
			if t == nil {
				return nil
			}
		}
		read, err := x.open(t, it.hints, it.write)
		if err != nil {
			return err
		}
		sx := t.indexes[indexPos].data
		rs.in.row = left
		ranges, none, err := a.ranges(&rs.in, t.indexes[indexPos], sx)
		if err != nil || none {
			return err
		}
		read.Backward = a.backward
		read.Instant = !a.lookup
		tx := x.txOf(t)
		wait := tx.Wait
		if it.hints.noWait {
			tx.Wait = 0
		}
		defer func() { tx.Wait = wait }()
		cur := tx.NewCursor(sx, read, ranges...)
		defer cur.Close()
		scratch := make([]value.Value, width)
		copy(scratch, left)
		test := func(list []*conjunct, row []value.Value) (bool, error) {
			for _, c := range list {
				rs.in.row = row
				ok, err := c.pred.eval(&rs.in)
				if err != nil {
					return false, err
				}
				if ok != isTrue {
					return false, nil
				}
			}
			return true, nil
		}
		place := func(row []value.Value, vals []value.Value) []value.Value {
			if alone {
				return vals
			}
			copy(row[it.start:], vals[:columns])
			return row
		}
		for {
			ok, err := cur.Next(x.ctx)
			if err != nil || !ok {
				return err
			}
			row := place(scratch, cur.Values())
			if len(it.virtual) > 0 && !a.lookup {
				if err := x.fillVirtual(it, row); err != nil {
					return err
				}
			}
			if ok, err = test(early, row); err != nil {
				return err
			} else if !ok {
				cur.Reject()
				continue
			}
			if a.lookup {
				if ok, err = cur.Lookup(x.ctx); err != nil {
					return err
				} else if !ok {
					cur.Reject()
					continue
				}
				row = place(scratch, cur.Values())
				if len(it.virtual) > 0 {
					if err := x.fillVirtual(it, row); err != nil {
						return err
					}
				}
				// The row may have changed while its lock was waited for.
				if ok, err = test(early, row); err != nil {
					return err
				}
				if ok {
					if ok, err = test(late, row); err != nil {
						return err
					}
				}
				if !ok {
					cur.Reject()
					continue
				}
			}
			cur.Accept()
			if !alone {
				full := make([]value.Value, width)
				copy(full, row)
				if it.locator >= 0 {
					full[it.start+it.locator] = x.locate(t, cur.Row(), cur.Values(), indexPos > 0 && !a.lookup)
				}
				row = full
			}
			more, err := each(row)
			if err != nil || !more {
				return err
			}
		}
	}
}

// addVirtual compiles the columns of a table that are computed when they are read.
func (b *selectBinder) addVirtual(it *fromItem) {
	if it.virtual != nil {
		return
	}
	for i, c := range it.t.columns {
		if c.virtual && b.used[it.start+i] > 0 {
			if s, err := b.p.compileComputed(it.t, c); err == nil {
				it.virtual = append(it.virtual, virtualColumn{ordinal: i, expr: s})
			}
		}
	}
}

func (x *exec) fillVirtual(it *fromItem, row []value.Value) error {
	rc := rowCtx{ctx: x.ctx, sess: x.p.sess, frame: x.fr, exec: x, row: row[it.start:it.end]}
	for _, v := range it.virtual {
		val, err := v.expr.eval(&rc)
		if err != nil {
			return err
		}
		row[it.start+v.ordinal] = val
	}
	return nil
}

// located is a row of a table that a statement has found and may change.
type located struct {
	t    *table
	row  *storage.Record
	vals []value.Value
	// unread: only an entry of a nonclustered index has been read. The row itself is
	// locked, and read, when it is about to be changed.
	unread bool
}

// locate remembers a row, and returns the value of the locator column for it.
func (x *exec) locate(t *table, row *storage.Record, vals []value.Value, unread bool) value.Value {
	x.located = append(x.located, located{t, row, vals, unread})
	return value.NewInt(value.BigInt, int64(len(x.located)-1))
}
