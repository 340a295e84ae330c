package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// execAlterTable is ALTER TABLE.
func (p *planner) execAlterTable(ctx context.Context, fr *frame, st *tsql.AlterTable) error {
	o, err := p.resolveObject(st.Name)
	if err != nil {
		return err
	}
	if o == nil {
		return lineAt(sqlError(4902, 16, 1, "Cannot find the object \"%s\" because it does not exist or you do not have permissions.", st.Name), st.Pos)
	}
	if o.table == nil {
		return lineAt(sqlError(4909, 16, 1, "Cannot alter '%s' because it is not a table.", st.Name), st.Pos)
	}
	if err := p.checkAlter(o, 1088, "Cannot find the object \"%s\" because it does not exist or you do not have permissions."); err != nil {
		return err
	}
	if st.Action == tsql.AlterEnableTrg || st.Action == tsql.AlterDisableTrg {
		return p.switchTriggers(ctx, o, st.Names, st.All, st.Action == tsql.AlterDisableTrg, st.Pos)
	}
	if st.Action == tsql.AlterDrop || st.Action == tsql.AlterColumn {
		if by := p.boundTo(o); by != "" {
			return lineAt(sqlError(5074, 16, 1, "The object '%s' is dependent on table '%s'.", by, o.name), st.Pos)
		}
	}
	tx, err := p.lockSchema(ctx, o)
	if err != nil {
		return err
	}
	switch st.Action {
	case tsql.AlterAdd:
		return p.alterAdd(ctx, tx, o, st)
	case tsql.AlterDrop:
		return p.alterDrop(ctx, tx, o, st)
	case tsql.AlterColumn:
		return p.alterColumn(ctx, tx, o, st)
	case tsql.AlterSet:
		return p.alterSet(tx, o, st)
	case tsql.AlterRebuild:
		return nil
	case tsql.AlterCheck, tsql.AlterNoCheck:
		return p.alterCheck(ctx, tx, o, st)
	}
	return tsql.Unsupported(st.Line, "this form of ALTER TABLE")
}

func (p *planner) alterAdd(ctx context.Context, tx *storage.Txn, o *object, st *tsql.AlterTable) error {
	t := *o.table
	before := len(t.columns)
	sch := o.schema
	if t.temporary {
		sch = &schema{id: sch.id, name: sch.name, owner: sch.owner, objects: map[string]*object{}}
	}
	oldIndexes := len(t.indexes)
	heap := t.indexes[0].heap
	oldChecks := len(t.checks)
	b := &tableBuilder{p: p, db: o.db, schema: sch, name: o.name, t: &t, kind: "table", settled: true}
	if err := b.addColumns(st.Add); err != nil {
		return err
	}
	if err := b.addConstraints(st.Add); err != nil {
		return err
	}
	var keys []*foreignKey
	for _, f := range b.foreign {
		fk, err := b.addForeign(f.c)
		if err != nil {
			return err
		}
		if fk != nil {
			fk.from = o.table
			if fk.to == &t {
				fk.to = o.table
			}
			keys = append(keys, fk)
		}
	}
	if err := b.namesFree(); err != nil {
		return err
	}
	x := &exec{p: p, ctx: ctx, fr: p.frame, tx: tx}
	n := len(t.columns)
	indexesChanged := heap && !t.indexes[0].heap
	rows := t.data.Rows()
	if n > before {
		withValues := map[int]bool{}
		for _, cd := range st.Add.Columns {
			for _, c := range cd.Constraints {
				if c.WithValues {
					withValues[t.columnOrdinal(cd.Name)] = true
				}
			}
		}
		fill := make([]value.Value, n)
		for i := before; i < n; i++ {
			c := t.columns[i]
			fill[i] = value.NewNull(c.typ.Kind)
			if c.def != nil && (!c.nullable || withValues[i]) {
				v, err := x.defaultValue(&t, c)
				if err != nil {
					return err
				}
				fill[i] = v
			}
			if rows > 0 && !c.nullable && fill[i].IsNull() && !c.identity && c.computed == nil && c.typ.Kind != value.RowVersion {
				return lineAt(sqlError(4901, 16, 1, "ALTER TABLE only allows columns to be added that can contain nulls, or have a DEFAULT definition specified, or the column being added is an identity or timestamp column, or alternatively if none of the previous conditions are satisfied the table must be empty to allow addition of this column. Column '%s' cannot be added to non-empty table '%s' because it does not satisfy these conditions.", c.name, o.name), st.Pos)
			}
		}
		w, err := p.newWriter(&t, "ALTER TABLE")
		if err != nil {
			return err
		}
		w.checks = nil
		t.data.DatabaseName = o.db.name
		// New indexes are built with the new columns in place.
		if err := p.rebuild(tx, &t, false, func(old []value.Value) ([]value.Value, error) {
			vals := make([]value.Value, n)
			copy(vals, old)
			copy(vals[before:], fill[before:])
			for i := before; i < n; i++ {
				c := t.columns[i]
				if c.identity {
					v, err := identityValue(c.typ, t.identity.next())
					if err != nil {
						return nil, err
					}
					vals[i] = v
				}
				// NEWID() and its like differ from row to row.
				if c.def != nil && !fill[i].IsNull() && !deterministic(c.def.expr) && c.typ.Kind == value.UniqueIdentifier {
					v, err := x.defaultValue(&t, c)
					if err != nil {
						return nil, err
					}
					vals[i] = v
				}
			}
			return vals, w.finish(x, vals)
		}); err != nil {
			return p.addError(o, &t, err)
		}
	} else if indexesChanged {
		if err := p.rebuild(tx, &t, false, nil); err != nil {
			return p.addError(o, &t, err)
		}
	} else {
		for _, ix := range t.indexes[oldIndexes:] {
			ix.data = t.storageIndex(ix)
			if err := tx.AddIndex(t.data, ix.data, len(t.columns)); err != nil {
				return p.addError(o, &t, err)
			}
		}
	}
	noCheck := st.Check == "NOCHECK"
	for _, c := range t.checks[oldChecks:] {
		if noCheck {
			c.trusted = false
			continue
		}
		if err := p.verifyCheck(x, &t, o, c); err != nil {
			return err
		}
	}
	t.foreign = append(t.foreign[:len(t.foreign):len(t.foreign)], keys...)
	for _, fk := range keys {
		if fk.to != o.table {
			if err := tx.LockTable(ctx, fk.to.data, storage.ModeSchM, storage.ForTransaction); err != nil {
				return err
			}
		}
		if noCheck {
			fk.trusted = false
			continue
		}
		if err := p.verifyForeign(x, &t, fk); err != nil {
			return err
		}
	}
	p.redefine(tx, o, &t, b.objects, nil)
	for _, fk := range keys {
		p.srv.alter(tx, func() { fk.to.references = append(fk.to.references[:len(fk.to.references):len(fk.to.references)], fk) },
			func() { fk.to.references = without(fk.to.references, fk) })
	}
	return nil
}

// addError is error 1505 followed by what it is about.
func (p *planner) addError(o *object, t *table, err error) error {
	var dup *storage.DuplicateError
	if errors.As(err, &dup) {
		return sqlError(1505, 16, 1, "The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for the object name '%s' and the index name '%s'. The duplicate key value is %s.", o.fullName(), dup.Index.Name, dup.Key)
	}
	return err
}

// eachRow reads all rows of a table under its schema lock.
func (x *exec) eachRow(t *table, f func(vals []value.Value, row *storage.Record) error) error {
	cur := x.tx.NewCursor(t.data.Base(), storage.Read{}, storage.Range{})
	defer cur.Close()
	for {
		ok, err := cur.Next(x.ctx)
		if err != nil || !ok {
			return err
		}
		if err := f(cur.Values(), cur.Row()); err != nil {
			return err
		}
	}
}

func (p *planner) verifyCheck(x *exec, t *table, o *object, c *checkConstraint) error {
	pred, err := compilePredicate(p.tableScope(t), c.expr)
	if err != nil {
		return err
	}
	return x.eachRow(t, func(vals []value.Value, _ *storage.Record) error {
		ok, err := pred.eval(&rowCtx{ctx: x.ctx, sess: p.sess, frame: x.fr, row: vals})
		if err != nil {
			return err
		}
		if ok == isFalse {
			column := "."
			if c.column != "" {
				column = ", column '" + c.column + "'."
			}
			return sqlError(547, 16, 0, "The ALTER TABLE statement conflicted with the CHECK constraint \"%s\". The conflict occurred in database \"%s\", table \"%s\"%s", c.obj.name, o.db.name, o.fullName(), column)
		}
		return nil
	})
}

func (p *planner) verifyForeign(x *exec, t *table, fk *foreignKey) error {
	w := &rowWriter{t: &table{foreign: []*foreignKey{fk}, columns: t.columns, obj: t.obj}, verb: "ALTER TABLE"}
	return x.eachRow(t, func(vals []value.Value, _ *storage.Record) error {
		return x.checkParents(w, [][]value.Value{vals}, nil)
	})
}

func (p *planner) alterDrop(ctx context.Context, tx *storage.Txn, o *object, st *tsql.AlterTable) error {
	for _, d := range st.Drop {
		var err error
		if d.Column {
			err = p.dropColumn(tx, o, d)
		} else {
			err = p.dropConstraint(ctx, tx, o, d)
		}
		if err != nil {
			return lineIn(err, d.Pos)
		}
	}
	return nil
}

func lineIn(err error, pos tsql.Pos) error {
	var e *value.Error
	if errors.As(err, &e) {
		return lineAt(e, pos)
	}
	return err
}

func (p *planner) dropConstraint(ctx context.Context, tx *storage.Txn, o *object, d *tsql.DropItem) error {
	t := *o.table
	is := func(c *object) bool { return c != nil && strings.EqualFold(c.name, d.Name) }
	for i, ix := range t.indexes {
		if is(ix.constraint) {
			return p.removeIndex(tx, o, &t, i, []*object{ix.constraint})
		}
	}
	for _, c := range t.checks {
		if is(c.obj) {
			t.checks = without(t.checks, c)
			p.redefine(tx, o, &t, nil, []*object{c.obj})
			return nil
		}
	}
	for i, c := range t.columns {
		if c.def != nil && is(c.def.obj) {
			changed := *c
			dropped := c.def.obj
			changed.def = nil
			t.columns = append([]*column(nil), t.columns...)
			t.columns[i] = &changed
			p.redefine(tx, o, &t, nil, []*object{dropped})
			return nil
		}
	}
	for _, fk := range t.foreign {
		if is(fk.obj) {
			if fk.to != o.table {
				if err := tx.LockTable(ctx, fk.to.data, storage.ModeSchM, storage.ForTransaction); err != nil {
					return err
				}
			}
			t.foreign = without(t.foreign, fk)
			p.redefine(tx, o, &t, nil, []*object{fk.obj})
			p.srv.alter(tx, func() { fk.to.references = without(fk.to.references, fk) },
				func() { fk.to.references = append(fk.to.references[:len(fk.to.references):len(fk.to.references)], fk) })
			return nil
		}
	}
	if d.IfExists {
		return nil
	}
	return sqlError(3728, 16, 1, "'%s' is not a constraint.", d.Name)
}

// dependents names what keeps a column from being dropped or altered.
func (p *planner) dependents(t *table, ord int, altering bool) (kind, name string) {
	for _, ix := range t.indexes {
		if ix.heap {
			continue
		}
		for _, k := range ix.keys {
			if k.column == ord {
				return "index", ix.name
			}
		}
		for _, c := range ix.include {
			if c == ord {
				return "index", ix.name
			}
		}
		for _, f := range ix.filterIn {
			if f.column == ord {
				return "index", ix.name
			}
		}
	}
	uses := func(e tsql.Expr) bool {
		found := false
		walkExpr(e, func(n tsql.Node) bool {
			if c, ok := n.(*tsql.ColumnRef); ok && strings.EqualFold(c.Name, t.columns[ord].name) {
				found = true
			}
			return !found
		})
		return found
	}
	for _, c := range t.checks {
		if uses(c.expr) {
			return "object", c.obj.name
		}
	}
	if d := t.columns[ord].def; d != nil && !altering {
		return "object", d.obj.name
	}
	for _, fk := range t.foreign {
		for _, c := range fk.cols {
			if c == ord {
				return "object", fk.obj.name
			}
		}
	}
	for _, fk := range t.references {
		for _, c := range fk.refCols {
			if c == ord {
				return "object", fk.obj.name
			}
		}
	}
	for _, c := range t.columns {
		if c.computed != nil && uses(c.computed) {
			return "column", c.name
		}
	}
	return "", ""
}

func (p *planner) dropColumn(tx *storage.Txn, o *object, d *tsql.DropItem) error {
	t := *o.table
	ord := t.columnOrdinal(d.Name)
	if ord < 0 {
		if d.IfExists {
			return nil
		}
		return sqlError(4924, 16, 1, "ALTER TABLE DROP COLUMN failed because column '%s' does not exist in table '%s'.", d.Name, o.name)
	}
	if kind, name := p.dependents(&t, ord, false); name != "" {
		return sqlError(5074, 16, 1, "The %s '%s' is dependent on column '%s'.", kind, name, d.Name)
	}
	if len(t.columns) == 1 {
		return sqlError(4923, 16, 1, "ALTER TABLE DROP COLUMN failed because '%s' is the only data column in table '%s'. A table must have at least one data column.", d.Name, o.name)
	}
	shift := func(c int) int {
		if c > ord {
			return c - 1
		}
		return c
	}
	t.columns = append(append([]*column(nil), t.columns[:ord]...), t.columns[ord+1:]...)
	indexes := make([]*index, len(t.indexes))
	for i, ix := range t.indexes {
		c := *ix
		c.keys = append([]indexKey(nil), ix.keys...)
		for k := range c.keys {
			c.keys[k].column = shift(c.keys[k].column)
		}
		c.include = append([]int(nil), ix.include...)
		for k := range c.include {
			c.include[k] = shift(c.include[k])
		}
		c.filterIn = append([]filterTerm(nil), ix.filterIn...)
		for k := range c.filterIn {
			c.filterIn[k].column = shift(c.filterIn[k].column)
		}
		indexes[i] = &c
	}
	old := t.indexes
	t.indexes = indexes
	shiftAll := func(list []int) []int {
		out := make([]int, len(list))
		for i, c := range list {
			out[i] = shift(c)
		}
		return out
	}
	for _, fk := range o.table.foreign {
		fk, before := fk, fk.cols
		p.srv.alter(tx, func() { fk.cols = shiftAll(before) }, func() { fk.cols = before })
	}
	for _, fk := range o.table.references {
		fk, before, ix := fk, fk.refCols, fk.refIndex
		p.srv.alter(tx, func() {
			fk.refCols = shiftAll(before)
			for i := range old {
				if old[i] == ix {
					fk.refIndex = indexes[i]
				}
			}
		}, func() { fk.refCols, fk.refIndex = before, ix })
	}
	if id := t.identity; id != nil {
		if id.ordinal == ord {
			t.identity = nil
		} else if id.ordinal > ord {
			n := &identityColumn{ordinal: id.ordinal - 1, seed: id.seed, inc: id.inc}
			n.last.Store(id.last.Load())
			n.used.Store(id.used.Load())
			t.identity = n
		}
	}
	if t.rowversion == ord {
		t.rowversion = -1
	} else if t.rowversion > ord {
		t.rowversion--
	}
	if err := p.rebuild(tx, &t, false, func(vals []value.Value) ([]value.Value, error) {
		return append(append(make([]value.Value, 0, len(vals)-1), vals[:ord]...), vals[ord+1:]...), nil
	}); err != nil {
		return err
	}
	p.redefine(tx, o, &t, nil, nil)
	return nil
}

func (p *planner) alterColumn(ctx context.Context, tx *storage.Txn, o *object, st *tsql.AlterTable) error {
	t := *o.table
	name := st.Column.Name
	ord := t.columnOrdinal(name)
	if ord < 0 {
		return lineAt(sqlError(4924, 16, 1, "ALTER TABLE ALTER COLUMN failed because column '%s' does not exist in table '%s'.", name, o.name), st.Pos)
	}
	old := t.columns[ord]
	c := *old
	if st.AddProperty != "" {
		switch st.AddProperty {
		case "ADD ROWGUIDCOL":
			c.rowGUID = true
		case "DROP ROWGUIDCOL":
			c.rowGUID = false
		default:
			return tsql.Unsupported(st.Line, "ALTER COLUMN ... %s", st.AddProperty)
		}
		t.columns = append([]*column(nil), t.columns...)
		t.columns[ord] = &c
		p.redefine(tx, o, &t, nil, nil)
		return nil
	}
	if old.computed != nil || old.typ.Kind == value.RowVersion {
		return lineAt(sqlError(4928, 16, 1, "Cannot alter column '%s' because it is '%s'.", name, map[bool]string{true: "COMPUTED", false: "timestamp"}[old.computed != nil]), st.Pos)
	}
	b := &tableBuilder{p: p, db: o.db, schema: o.schema, name: o.name, t: &t, kind: "table", settled: true}
	c.user, c.sysname = nil, false
	if err := b.columnType(&c, st.Column.Type, st.Column.Collation); err != nil {
		return err
	}
	c.nullable = true
	if st.Column.Null != nil {
		c.nullable = *st.Column.Null
	}
	grows := old.typ.Kind == c.typ.Kind && old.typ.Collation == c.typ.Collation && (c.typ.Length == value.Max && old.typ.Length == value.Max || c.typ.Length >= old.typ.Length && c.typ.Length != value.Max && old.typ.Length != value.Max) && old.typ.Precision == c.typ.Precision && old.typ.Scale == c.typ.Scale
	switch old.typ.Kind {
	case value.Char, value.NChar, value.Binary:
		grows = grows && c.typ.Length == old.typ.Length
	}
	kind, dep := p.dependents(&t, ord, old.typ.Kind == c.typ.Kind)
	if dep != "" && !(kind == "index" && grows && (c.nullable == old.nullable)) && !(kind == "object" && grows && c.nullable == old.nullable) {
		return lineAt(sqlError(5074, 16, 1, "The %s '%s' is dependent on column '%s'.", kind, dep, name), st.Pos)
	}
	if c.identity {
		if !identityType(c.typ) {
			return lineAt(errIdentityType(name), st.Pos)
		}
		c.nullable = false
	}
	t.columns = append([]*column(nil), t.columns...)
	t.columns[ord] = &c
	env := p.sess.convertEnv()
	if err := p.rebuild(tx, &t, false, func(vals []value.Value) ([]value.Value, error) {
		if vals[ord].IsNull() {
			if !c.nullable {
				return nil, sqlError(515, 16, 2, "Cannot insert the value NULL into column '%s', table '%s'; column does not allow nulls. UPDATE fails.", c.name, o.table.displayName())
			}
			out := append([]value.Value(nil), vals...)
			out[ord] = value.NewNull(c.typ.Kind)
			return out, nil
		}
		v, err := value.AssignColumn(vals[ord], old.typ, c.typ, env, o.table.displayName(), c.name)
		if err != nil {
			return nil, err
		}
		out := append([]value.Value(nil), vals...)
		out[ord] = v
		return out, nil
	}); err != nil {
		return p.addError(o, &t, err)
	}
	p.redefine(tx, o, &t, nil, nil)
	return nil
}

// identityType reports whether an identity column can have a type.
func identityType(t value.Type) bool {
	return t.Kind.IsInteger() && t.Kind != value.Bit || t.Kind == value.Decimal && t.Scale == 0
}

func errIdentityType(column string) *value.Error {
	return sqlError(2749, 16, 2, "Identity column '%s' must be of data type int, bigint, smallint, tinyint, or decimal or numeric with a scale of 0, unencrypted, and constrained to be nonnullable.", column)
}

func (p *planner) alterSet(tx *storage.Txn, o *object, st *tsql.AlterTable) error {
	t := *o.table
	for _, opt := range st.Options {
		if opt.Name != "LOCK_ESCALATION" {
			return tsql.Unsupported(st.Line, "ALTER TABLE ... SET (%s)", opt.Name)
		}
		t.escalation = strings.ToUpper(opt.Value)
		disable := t.escalation == "DISABLE"
		was := t.data.NoEscalation.Load()
		t.data.NoEscalation.Store(disable)
		tx.OnRollback(func() { t.data.NoEscalation.Store(was) })
	}
	p.redefine(tx, o, &t, nil, nil)
	return nil
}

func (p *planner) alterCheck(ctx context.Context, tx *storage.Txn, o *object, st *tsql.AlterTable) error {
	t := *o.table
	enable := st.Action == tsql.AlterCheck
	x := &exec{p: p, ctx: ctx, fr: p.frame, tx: tx}
	found := map[string]bool{}
	wanted := func(c *object) bool {
		if st.All {
			return true
		}
		for _, n := range st.Names {
			if strings.EqualFold(n, c.name) {
				found[foldName(n)] = true
				return true
			}
		}
		return false
	}
	verify := st.Check == "CHECK"
	t.checks = append([]*checkConstraint(nil), t.checks...)
	for i, c := range t.checks {
		if !wanted(c.obj) {
			continue
		}
		n := *c
		n.disabled = !enable
		n.trusted = enable && verify || enable && c.trusted && !c.disabled
		if enable && verify {
			if err := p.verifyCheck(x, &t, o, &n); err != nil {
				return err
			}
		}
		t.checks[i] = &n
	}
	for _, fk := range t.foreign {
		if !wanted(fk.obj) {
			continue
		}
		if enable && verify {
			if err := p.verifyForeign(x, &t, fk); err != nil {
				return err
			}
		}
		was, trusted := fk.disabled, fk.trusted
		p.srv.alter(tx, func() { fk.disabled, fk.trusted = !enable, enable && verify }, func() { fk.disabled, fk.trusted = was, trusted })
	}
	for _, n := range st.Names {
		if !found[foldName(n)] {
			return lineAt(sqlError(4917, 16, 0, "Constraint '%s' does not exist.", n), st.Pos)
		}
	}
	p.redefine(tx, o, &t, nil, nil)
	return nil
}
