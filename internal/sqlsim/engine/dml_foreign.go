package engine

import (
	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// checkParents makes sure that what new rows refer to is there. olds, if given, are the
// rows before an update: keys that did not change are not looked up again. The look-up
// takes shared locks whatever the isolation level, so that the parent stays.
func (x *exec) checkParents(w *rowWriter, rows, olds [][]value.Value) error {
	for _, fk := range w.t.foreign {
		if fk.disabled {
			continue
		}
		for i, vals := range rows {
			if olds != nil && sameColumns(vals, olds[i], fk.cols) {
				continue
			}
			ok, err := x.parentExists(fk, vals)
			if err != nil {
				return err
			}
			if !ok {
				column := "."
				if len(fk.refCols) == 1 {
					column = ", column '" + fk.to.columns[fk.refCols[0]].name + "'."
				}
				kind := "FOREIGN KEY"
				if fk.from == fk.to {
					kind = "FOREIGN KEY SAME TABLE"
				}
				return sqlError(547, 16, 0, "The %s statement conflicted with the %s constraint \"%s\". The conflict occurred in database \"%s\", table \"%s\"%s", w.verb, kind, fk.obj.name, fk.to.obj.db.name, fk.to.obj.fullName(), column)
			}
		}
	}
	return nil
}

func sameColumns(a, b []value.Value, cols []int) bool {
	for _, c := range cols {
		if a[c] != b[c] {
			return false
		}
	}
	return true
}

// parentExists looks for the row that a foreign key refers to.
func (x *exec) parentExists(fk *foreignKey, vals []value.Value) (bool, error) {
	for _, c := range fk.cols {
		if vals[c].IsNull() {
			return true, nil
		}
	}
	ix := fk.refIndex
	var key []byte
	for i, k := range ix.keys {
		for n, rc := range fk.refCols {
			if rc == k.column {
				v, _ := keyValue(vals[fk.cols[n]], fk.from.columns[fk.cols[n]].typ, fk.to.columns[rc].typ)
				key = ix.data.Key[i].AppendKey(key, v)
			}
		}
	}
	if !fk.to.temporary {
		if err := x.tx.LockTable(x.ctx, fk.to.data, storage.ModeIS, storage.ForStatement); err != nil {
			return false, err
		}
	}
	r := storage.Range{Low: string(key), Point: true}
	r.High, r.Bounded = storage.PrefixEnd(string(key))
	read := storage.Read{Lock: storage.ModeS, Instant: true, HoldAll: x.p.sess.isolation() == repeatableRead || x.p.sess.isolation() == serializable}
	cur := x.tx.NewCursor(ix.data, read, r)
	defer cur.Close()
	ok, err := cur.Next(x.ctx)
	if ok {
		cur.Accept()
	}
	return ok, err
}

// checkChildren handles rows of other tables that refer to rows which are deleted, or
// whose key changes: an error, or what ON DELETE and ON UPDATE say.
func (x *exec) checkChildren(w *rowWriter, rows []changedRow) error {
	for _, fk := range w.t.references {
		if fk.disabled {
			continue
		}
		for _, r := range rows {
			action := fk.onDelete
			if r.new != nil {
				if sameColumns(r.old, r.new, fk.refCols) {
					continue
				}
				action = fk.onUpdate
			}
			children, err := x.children(fk, r.old)
			if err != nil {
				return err
			}
			if len(children) == 0 {
				continue
			}
			if err := x.cascade(w, fk, action, r, children); err != nil {
				return err
			}
		}
	}
	return nil
}

// children finds the rows that refer to a row.
func (x *exec) children(fk *foreignKey, parent []value.Value) ([]changedRow, error) {
	t := fk.from
	want := make([]value.Value, len(fk.cols))
	for i, rc := range fk.refCols {
		if parent[rc].IsNull() {
			return nil, nil
		}
		v, exact := keyValue(parent[rc], fk.to.columns[rc].typ, t.columns[fk.cols[i]].typ)
		if !exact {
			return nil, nil
		}
		want[i] = v
	}
	acting := fk.onDelete != "" && fk.onDelete != "NO ACTION" || fk.onUpdate != "" && fk.onUpdate != "NO ACTION"
	mode, read := storage.ModeIS, storage.Read{Lock: storage.ModeS}
	if acting {
		mode, read = storage.ModeIX, storage.Read{Lock: storage.ModeU, Hold: true}
	}
	d := storage.ForStatement
	if acting {
		d = storage.ForTransaction
	}
	if !t.temporary {
		if err := x.tx.LockTable(x.ctx, t.data, mode, d); err != nil {
			return nil, err
		}
	}
	// An index that begins with the columns of the key, or a scan.
	best := t.indexes[0]
	r := storage.Range{}
	for _, ix := range t.indexes {
		if ix.filter != nil || ix.disabled || len(ix.keys) < len(fk.cols) {
			continue
		}
		var key []byte
		ok := true
		for i := range fk.cols {
			at := -1
			for n, c := range fk.cols {
				if c == ix.keys[i].column {
					at = n
				}
			}
			if at < 0 {
				ok = false
				break
			}
			key = ix.data.Key[i].AppendKey(key, want[at])
		}
		if ok {
			best = ix
			r.Low = string(key)
			r.High, r.Bounded = storage.PrefixEnd(string(key))
			break
		}
	}
	cur := x.tx.NewCursor(best.data, read, r)
	defer cur.Close()
	var list []changedRow
	for {
		ok, err := cur.Next(x.ctx)
		if err != nil || !ok {
			return list, err
		}
		match := true
		for i, c := range fk.cols {
			v := cur.Values()[c]
			if v.IsNull() || value.Compare(v, want[i], t.columns[c].typ.Collation) != 0 {
				match = false
			}
		}
		if !match {
			cur.Reject()
			continue
		}
		if ok, err = cur.Lookup(x.ctx); err != nil {
			return nil, err
		} else if !ok {
			cur.Reject()
			continue
		}
		cur.Accept()
		list = append(list, changedRow{row: cur.Row(), old: cur.Values()})
		if !acting {
			return list, nil
		}
	}
}

// cascade does what a foreign key says about the children of a row.
func (x *exec) cascade(w *rowWriter, fk *foreignKey, action string, parent changedRow, children []changedRow) error {
	t := fk.from
	switch action {
	case "CASCADE", "SET NULL", "SET DEFAULT":
	default:
		kind := "REFERENCE"
		if fk.from == fk.to {
			kind = "SAME TABLE REFERENCE"
		}
		column := "."
		if len(fk.cols) == 1 {
			column = ", column '" + t.columns[fk.cols[0]].name + "'."
		}
		return sqlError(547, 16, 0, "The %s statement conflicted with the %s constraint \"%s\". The conflict occurred in database \"%s\", table \"%s\"%s", w.verb, kind, fk.obj.name, t.obj.db.name, t.obj.fullName(), column)
	}
	cw, err := x.p.newWriter(t, w.verb)
	if err != nil {
		return err
	}
	if action == "CASCADE" && parent.new == nil {
		if err := cw.delete(x, children); err != nil {
			return err
		}
		return x.fireTriggers(t, "DELETE", nil, children, nil)
	}
	for i := range children {
		vals := append([]value.Value(nil), children[i].old...)
		for n, c := range fk.cols {
			switch action {
			case "CASCADE":
				v, err := x.assign(t, t.columns[c], parent.new[fk.refCols[n]], fk.to.columns[fk.refCols[n]].typ)
				if err != nil {
					return err
				}
				vals[c] = v
			case "SET NULL":
				vals[c] = value.NewNull(t.columns[c].typ.Kind)
			default:
				if vals[c], err = x.defaultValue(t, t.columns[c]); err != nil {
					return err
				}
			}
		}
		children[i].new = vals
	}
	if err := cw.update(x, children); err != nil {
		return err
	}
	return x.fireTriggers(t, "UPDATE", nil, children, fk.cols)
}

// defaultValue evaluates the default of a column; NULL if it has none.
func (x *exec) defaultValue(t *table, c *column) (value.Value, error) {
	if c.def == nil {
		return value.NewNull(c.typ.Kind), nil
	}
	s, err := compileScalar(&scope{sess: x.p.sess, inDefault: true, vars: &varTable{byName: map[string]int{}}}, c.def.expr)
	if err != nil {
		return value.Value{}, err
	}
	v, err := s.eval(&rowCtx{ctx: x.ctx, sess: x.p.sess, frame: x.fr})
	if err != nil {
		return v, err
	}
	return x.assign(t, c, v, s.typ)
}
