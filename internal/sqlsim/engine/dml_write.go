package engine

import (
	"encoding/binary"
	"errors"

	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// rowWriter writes rows of one table: it computes what the server computes, checks the
// constraints, and maintains the indexes.
type rowWriter struct {
	t        *table
	computed []virtualColumn
	checks   []compiledCheck
	long     []longKey
	verb     string // INSERT, UPDATE, DELETE, MERGE: for messages
	action   string // what MERGE does at the moment
}

type compiledCheck struct {
	c    *checkConstraint
	pred *predicate
}

// newWriter compiles what writing to the table needs.
func (p *planner) newWriter(t *table, verb string) (*rowWriter, error) {
	w := &rowWriter{t: t, verb: verb}
	for i, c := range t.columns {
		if c.computed != nil && !c.virtual {
			s, err := p.compileComputed(t, c)
			if err != nil {
				return nil, err
			}
			w.computed = append(w.computed, virtualColumn{i, s})
		}
	}
	for _, c := range t.checks {
		if c.disabled {
			continue
		}
		pred, err := compilePredicate(p.tableScope(t), c.expr)
		if err != nil {
			return nil, err
		}
		w.checks = append(w.checks, compiledCheck{c, pred})
	}
	for _, ix := range t.indexes {
		if k, ok := t.longKey(ix); ok {
			w.long = append(w.long, k)
		}
	}
	return w, nil
}

// longKey is an index whose keys may be longer than a key can be.
type longKey struct {
	ix       *index
	limit    int
	kind     string
	includes func([]value.Value) (bool, error)
}

func (t *table) longKey(ix *index) (longKey, bool) {
	k := longKey{ix: ix, limit: 1700, kind: "nonclustered"}
	if ix.clustered {
		k.limit, k.kind = 900, "clustered"
	}
	size := 0
	for _, c := range ix.keys {
		size += maxBytes(t.columns[c.column].typ)
	}
	k.includes = ix.includes(t)
	return k, !ix.heap && size > k.limit
}

// check fails if the key of a row is too long.
func (k longKey) check(t *table, vals []value.Value) error {
	size := 0
	for _, c := range k.ix.keys {
		if v := vals[c.column]; !v.IsNull() {
			size += int(value.DataLength(v, t.columns[c.column].typ.Collation))
		}
	}
	if size <= k.limit {
		return nil
	}
	if k.includes != nil {
		if in, err := k.includes(vals); err != nil || !in {
			return err
		}
	}
	return sqlError(1946, 16, 3, "Operation failed. The index entry of length %d bytes for the index '%s' exceeds the maximum length of %d bytes for %s indexes.", size, k.ix.name, k.limit, k.kind)
}

// tableScope is the scope of an expression over the columns of one table.
func (p *planner) tableScope(t *table) *scope {
	sc := &scope{sess: p.sess, vars: &varTable{byName: map[string]int{}}, noSubquery: sqlError(1046, 15, 1, "Subqueries are not allowed in this context. Only scalar expressions are allowed.")}
	if t.obj != nil {
		sc.db = t.obj.db.name
	}
	for _, c := range t.columns {
		sc.cols = append(sc.cols, scopeCol{qualifier: t.plainName(), name: c.name, typ: c.typ, nullable: c.nullable})
	}
	return sc
}

func (t *table) plainName() string {
	if t.obj != nil {
		return t.obj.name
	}
	return t.name
}

// compileComputed compiles the expression of a computed column.
func (p *planner) compileComputed(t *table, c *column) (*scalar, error) {
	s, err := compileScalar(p.tableScope(t), c.computed)
	if err != nil {
		return nil, err
	}
	return coerceTo(s, c.typ)
}

// finish fills in the computed columns and the rowversion, and checks NOT NULL and CHECK.
func (w *rowWriter) finish(x *exec, vals []value.Value) error {
	rc := rowCtx{ctx: x.ctx, sess: x.p.sess, frame: x.fr, row: vals}
	for _, c := range w.computed {
		v, err := c.expr.eval(&rc)
		if err != nil {
			return err
		}
		vals[c.ordinal] = v
	}
	if w.t.rowversion >= 0 {
		db := x.p.db
		if w.t.obj != nil {
			db = w.t.obj.db
		}
		vals[w.t.rowversion] = value.NewBinary(value.RowVersion, binary.BigEndian.AppendUint64(nil, 2000+db.rowVersion.Add(1)))
	}
	verb := w.verb
	if w.action != "" {
		verb = w.action
	}
	for i, c := range w.t.columns {
		if !c.nullable && !c.virtual && vals[i].IsNull() {
			return sqlError(515, 16, 2, "Cannot insert the value NULL into column '%s', table '%s'; column does not allow nulls. %s fails.", c.name, w.t.displayName(), verb)
		}
	}
	for _, k := range w.long {
		if err := k.check(w.t, vals); err != nil {
			return err
		}
	}
	for _, c := range w.checks {
		ok, err := c.pred.eval(&rc)
		if err != nil {
			return err
		}
		if ok == isFalse {
			column := "."
			if c.c.column != "" {
				column = ", column '" + c.c.column + "'."
			}
			if w.t.obj == nil {
				return sqlError(547, 16, 0, "The %s statement conflicted with the CHECK constraint \"%s\". The conflict occurred in database \"tempdb\", table \"%s\"%s", w.verb, checkName(c.c), w.t.name, column)
			}
			return sqlError(547, 16, 0, "The %s statement conflicted with the CHECK constraint \"%s\". The conflict occurred in database \"%s\", table \"%s\"%s", w.verb, checkName(c.c), w.t.obj.db.name, w.t.obj.fullName(), column)
		}
	}
	return nil
}

func checkName(c *checkConstraint) string {
	if c.obj != nil {
		return c.obj.name
	}
	return "CK"
}

// assign converts a value for storage in a column.
func (x *exec) assign(t *table, c *column, v value.Value, from value.Type) (value.Value, error) {
	k := c.typ.Kind
	switch {
	case v.IsNull():
		return value.NewNull(k), nil
	case v.Kind() == k && (k.IsInteger() || k == value.Float || k == value.Date || k == value.UniqueIdentifier):
		return v, nil // it fits as it is
	}
	if x.named != t {
		x.named, x.name = t, t.displayName()
	}
	return value.AssignColumn(v, from, c.typ, x.p.sess.convertEnv(), x.name, c.name)
}

// writeError turns an error of the storage layer into what the server says.
func (t *table) writeError(err error) error {
	var dup *storage.DuplicateError
	if !errors.As(err, &dup) {
		return err
	}
	ix := t.indexOf(dup.Index)
	key := dup.Key
	if n := value.UTF16Len(key); n > 900 {
		key = value.UTF16Slice(key, 0, 900)
	}
	name := t.shortName()
	if ix == nil || ix.constraint == nil && !ix.primary {
		ixName := dup.Index.Name
		return sqlError(2601, 14, 1, "Cannot insert duplicate key row in object '%s' with unique index '%s'. The duplicate key value is %s.", name, ixName, key)
	}
	kind := "UNIQUE KEY"
	if ix.primary {
		kind = "PRIMARY KEY"
	}
	return sqlError(2627, 14, 1, "Violation of %s constraint '%s'. Cannot insert duplicate key in object '%s'. The duplicate key value is %s.", kind, ix.name, name, key)
}

func (t *table) indexOf(sx *storage.Index) *index {
	for _, ix := range t.indexes {
		if ix.data == sx || ix.data.ID == sx.ID {
			return ix
		}
	}
	return nil
}

// checkSettings is error 1934: a table with a filtered index, or an index on a computed
// column, can be changed only with the right SET options.
func (p *planner) checkSettings(t *table, verb string) error {
	if !t.anyFiltered {
		return nil
	}
	wrong := p.sess.settings.indexedWritesRefused()
	if len(wrong) == 0 {
		return nil
	}
	list := "'" + wrong[0]
	for _, s := range wrong[1:] {
		list += ", " + s
	}
	return sqlError(1934, 16, 1, "%s failed because the following SET options have incorrect settings: %s'. Verify that SET options are correct for use with indexed views and/or indexes on computed columns and/or filtered indexes and/or query notifications and/or XML data type methods and/or spatial index operations.", verb, list)
}

// insert writes new rows. It returns those that were inserted; with IGNORE_DUP_KEY some
// may be left out.
func (w *rowWriter) insert(x *exec, rows [][]value.Value) ([][]value.Value, error) {
	t := w.t
	tx := x.txOf(t)
	ignore := false
	for _, ix := range t.indexes {
		ignore = ignore || ix.ignoreDup
	}
	done := rows
	if ignore {
		done = nil
	}
	skipped := false
	for i, vals := range rows {
		if i&255 == 255 {
			if err := x.ctx.Err(); err != nil {
				return nil, err
			}
		}
		if err := w.finish(x, vals); err != nil {
			return nil, err
		}
		mark := tx.Mark()
		_, err := tx.Insert(x.ctx, t.data, vals)
		if err != nil {
			var dup *storage.DuplicateError
			if ignore && errors.As(err, &dup) {
				if ix := t.indexOf(dup.Index); ix != nil && ix.ignoreDup {
					tx.RollbackTo(mark)
					skipped = true
					continue
				}
			}
			return nil, t.writeError(err)
		}
		if ignore {
			done = append(done, vals)
		}
	}
	if skipped {
		x.notices = append(x.notices, sqlError(3604, 10, 1, "Duplicate key was ignored."))
	}
	return done, x.checkParents(w, done, nil)
}

// changedRow is a row before and after.
type changedRow struct {
	row      *storage.Record
	old, new []value.Value
}

// update writes changed rows.
func (w *rowWriter) update(x *exec, rows []changedRow) error {
	changes := make([]storage.Change, len(rows))
	for i, r := range rows {
		if err := w.finish(x, r.new); err != nil {
			return err
		}
		changes[i] = storage.Change{Row: r.row, Vals: r.new}
	}
	if err := x.txOf(w.t).Update(x.ctx, w.t.data, changes); err != nil {
		return w.t.writeError(err)
	}
	if len(w.t.foreign) > 0 {
		news, olds := make([][]value.Value, len(rows)), make([][]value.Value, len(rows))
		for i, r := range rows {
			news[i], olds[i] = r.new, r.old
		}
		if err := x.checkParents(w, news, olds); err != nil {
			return err
		}
	}
	return x.checkChildren(w, rows)
}

// delete removes rows.
func (w *rowWriter) delete(x *exec, rows []changedRow) error {
	tx := x.txOf(w.t)
	for i, r := range rows {
		if i&255 == 255 {
			if err := x.ctx.Err(); err != nil {
				return err
			}
		}
		if _, err := tx.Delete(x.ctx, w.t.data, r.row); err != nil {
			return err
		}
	}
	return x.checkChildren(w, rows)
}
