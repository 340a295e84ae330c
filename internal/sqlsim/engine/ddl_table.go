package engine

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"sync/atomic"

	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// tableBuilder makes the definition of a table from what CREATE TABLE, DECLARE or
// CREATE TYPE say.
type tableBuilder struct {
	p       *planner
	db      *database
	schema  *schema // nil for a table variable or type
	name    string
	t       *table
	foreign []*pendingKey
	kind    string // "table", "variable", "type"
	objects []*object
	settled bool // rows exist already: ALTER TABLE ADD
}

// pendingKey is a foreign key whose table has yet to be looked up.
type pendingKey struct {
	c *tsql.Constraint
}

// systemName is the kind of name that the server gives a constraint.
func (b *tableBuilder) systemName(prefix, column string, digits int) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s|%s|%s|%d", prefix, b.name, column, b.p.srv.nameSeq.Add(1))
	cut := func(s string, n int) string {
		r := []rune(s)
		if len(r) > n {
			r = r[:n]
		}
		return string(r)
	}
	name := prefix + "__" + cut(strings.TrimPrefix(b.name, "#"), 9) + "__"
	if column != "" {
		name += cut(column, 5) + "__"
	}
	return name + fmt.Sprintf("%016X", h.Sum64())[:digits]
}

// object makes the catalog object of a constraint.
func (b *tableBuilder) object(kind, name string) *object {
	if b.schema == nil {
		return &object{name: name, kind: kind, db: b.db}
	}
	now := b.p.srv.clock.Now().UTC()
	o := &object{db: b.db, schema: b.schema, name: name, kind: kind, parent: b.t.obj, created: now, modified: now}
	b.objects = append(b.objects, o)
	return o
}

// build fills in the definition.
func (b *tableBuilder) build(def *tsql.TableDef) error {
	if len(def.Columns) == 0 {
		return sqlError(1738, 16, 1, "The table '%s' must have at least one column that is not a computed column or a sparse column.", b.name)
	}
	if err := b.addColumns(def); err != nil {
		return err
	}
	return b.addConstraints(def)
}

func (b *tableBuilder) addColumns(def *tsql.TableDef) error {
	t := b.t
	for _, cd := range def.Columns {
		if t.columnOrdinal(cd.Name) >= 0 {
			return lineAt(sqlError(2705, 16, 3, "Column names in each table must be unique. Column name '%s' in table '%s' is specified more than once.", cd.Name, b.name), cd.Pos)
		}
		c := &column{name: cd.Name, nullable: true, rowGUID: cd.RowGUIDCol}
		if t.nextColumn == 0 {
			t.nextColumn = 1
		}
		c.id = t.nextColumn
		t.nextColumn++
		if cd.Computed != nil {
			if err := refuseNested(cd.Computed); err != nil {
				return err
			}
			c.computed, c.computedSrc, c.persisted = cd.Computed, parenthesized(cd.ComputedSrc), cd.Persisted
		} else {
			if err := b.columnType(c, cd.Type, cd.Collation); err != nil {
				return err
			}
			if cd.Null != nil {
				c.nullable = *cd.Null
			} else if c.user != nil {
				c.nullable = c.user.nullable
			} else if c.sysname {
				c.nullable = false
			}
			if c.typ.Kind == value.RowVersion {
				if t.rowversion >= 0 {
					return lineAt(sqlError(2738, 16, 2, "A table can only have one timestamp column. Because table '%s' already has one, the column '%s' cannot be added.", b.name, cd.Name), cd.Pos)
				}
				t.rowversion = len(t.columns)
				if cd.Null == nil {
					c.nullable = false
				}
			}
			if cd.Identity != nil {
				if t.identity != nil {
					return lineAt(sqlError(2744, 16, 2, "Multiple identity columns specified for table '%s'. Only one identity column per table is allowed.", b.name), cd.Pos)
				}
				if !identityType(c.typ) {
					return lineAt(errIdentityType(cd.Name), cd.Pos)
				}
				if cd.Null != nil && *cd.Null {
					return lineAt(sqlError(8147, 16, 1, "Could not create IDENTITY attribute on nullable column '%s', table '%s'.", cd.Name, b.name), cd.Pos)
				}
				c.identity, c.nullable = true, false
				t.identity = &identityColumn{ordinal: len(t.columns), seed: cd.Identity.Seed, inc: cd.Identity.Increment}
				t.identity.last.Store(cd.Identity.Seed - cd.Identity.Increment)
			}
		}
		if cd.Sparse {
			return tsql.Unsupported(cd.Line, "SPARSE columns")
		}
		t.columns = append(t.columns[:len(t.columns):len(t.columns)], c)
		if len(t.columns) > 1024 {
			return sqlError(1702, 16, 1, "CREATE TABLE failed because column '%s' in table '%s' exceeds the maximum of 1024 columns.", cd.Name, b.name)
		}
	}
	// Computed columns may use columns that come after them.
	for i, c := range t.columns {
		if c.computed == nil || c.typ.Kind != value.Unknown {
			continue
		}
		sc := b.p.tableScope(t)
		sc.cols[i].hidden = true
		s, err := compileScalar(sc, c.computed)
		if err != nil {
			return err
		}
		c.typ, c.nullable = typeForUnknown(s.typ), s.nullable
		for _, dep := range s.cols {
			if t.columns[dep].computed != nil {
				return sqlError(1759, 16, 0, "Computed column '%s' in table '%s' is not allowed to be used in another computed-column definition.", t.columns[dep].name, b.name)
			}
		}
		det := deterministic(c.computed)
		if c.persisted && !det {
			return sqlError(4936, 16, 1, "Computed column '%s' in table '%s' cannot be persisted because the column is non-deterministic.", c.name, b.name)
		}
		c.virtual = !det
		for _, cd := range def.Columns {
			if cd.Name == c.name && cd.Null != nil && !*cd.Null {
				if !c.persisted {
					return sqlError(8183, 16, 1, "Only UNIQUE or PRIMARY KEY constraints can be created on computed columns, while CHECK, FOREIGN KEY, and NOT NULL constraints require that computed columns be persisted.")
				}
				c.nullable = false
			}
		}
	}
	return nil
}

// deterministic reports whether an expression always gives the same result for the same
// columns: no clock, no session, no randomness, no user-defined function.
func deterministic(e tsql.Expr) bool {
	ok := true
	walkDeep(e, func(n tsql.Node) bool {
		switch n := n.(type) {
		case *tsql.GlobalVariable, *tsql.NextValue, *tsql.Subquery:
			ok = false
		case *tsql.FuncCall:
			if n.Name.Schema != "" {
				ok = false
			}
			switch strings.ToUpper(n.Name.Name) {
			case "GETDATE", "GETUTCDATE", "SYSDATETIME", "SYSUTCDATETIME", "SYSDATETIMEOFFSET", "CURRENT_TIMESTAMP", "NEWID", "NEWSEQUENTIALID", "RAND",
				"SUSER_SNAME", "SUSER_NAME", "ORIGINAL_LOGIN", "USER_NAME", "CURRENT_USER", "SESSION_USER", "SYSTEM_USER", "USER", "APP_NAME", "HOST_NAME",
				"DB_NAME", "DB_ID", "OBJECT_ID", "OBJECT_NAME", "SESSION_CONTEXT", "CONTEXT_INFO", "CRYPT_GEN_RANDOM", "FORMAT":
				ok = false
			}
		}
		return ok
	})
	return ok
}

// columnType resolves the type of a column.
func (b *tableBuilder) columnType(c *column, d *tsql.DataType, collation string) error {
	typ, ok, err := builtinType(d)
	if err != nil {
		return err
	}
	if !ok {
		saved := b.p.db
		if b.db != nil && b.db.name != "tempdb" {
			b.p.db = b.db
		}
		t, table, err := b.p.resolveAlias(d)
		b.p.db = saved
		if err != nil {
			return err
		}
		if table != nil {
			return lineAt(sqlError(350, 16, 1, "The column \"%s\" does not have a valid data type. A column cannot be of a user-defined table type.", c.name), d.Pos)
		}
		typ = t
		c.user = b.p.findType(d)
	}
	if strings.EqualFold(d.Name, "sysname") {
		c.sysname = true
	}
	c.typ = typ
	if typ.Kind.IsCharacter() {
		c.typ.Collation = b.db.collation
		if b.db.name == "tempdb" && b.schema == nil {
			c.typ.Collation = b.p.db.collation // table variables take the database's
		}
		if collation != "" {
			if c.typ.Collation, err = b.p.collationNamed(collation); err != nil {
				return lineAt(err.(*value.Error), d.Pos)
			}
		}
	} else if collation != "" {
		return lineAt(sqlError(447, 16, 0, "Expression type %s is invalid for COLLATE clause.", typeName(typ.Kind)), d.Pos)
	}
	return nil
}

// addConstraints adds the constraints and indexes of a definition; foreign keys are
// kept for later.
func (b *tableBuilder) addConstraints(def *tsql.TableDef) error {
	t := b.t
	var all []*tsql.Constraint
	var indexes []*tsql.IndexDef
	for _, cd := range def.Columns {
		all = append(all, cd.Constraints...)
		indexes = append(indexes, cd.Indexes...)
	}
	all = append(all, def.Constraints...)
	indexes = append(indexes, def.Indexes...)
	if len(t.indexes) == 0 {
		t.indexes = []*index{{heap: true, rowLocks: true, pageLocks: true}}
		t.nextIndex = 2
	}
	// Whether a UNIQUE constraint is clustered depends on there being a primary key.
	for _, c := range all {
		if c.Kind == tsql.ConstraintPrimaryKey {
			if err := b.addKey(c, all, indexes); err != nil {
				return err
			}
		}
	}
	for _, c := range all {
		var err error
		switch c.Kind {
		case tsql.ConstraintUnique:
			err = b.addKey(c, all, indexes)
		case tsql.ConstraintDefault:
			err = b.addDefault(c)
		case tsql.ConstraintCheck:
			err = b.addCheck(c)
		case tsql.ConstraintForeignKey:
			if b.kind != "table" {
				err = lineAt(sqlError(1776, 16, 0, "A FOREIGN KEY constraint is not allowed on a table variable or table type."), c.Pos)
			}
			b.foreign = append(b.foreign, &pendingKey{c})
		}
		if err != nil {
			return err
		}
	}
	for _, ix := range indexes {
		if err := b.addIndex(ix); err != nil {
			return err
		}
	}
	return nil
}

// keyColumns resolves the columns of a key.
func (b *tableBuilder) keyColumns(list []*tsql.IndexColumn, what string, primary bool) ([]indexKey, error) {
	var keys []indexKey
	seen := map[int]bool{}
	for _, ic := range list {
		o := b.t.columnOrdinal(ic.Name)
		if o < 0 {
			return nil, lineAt(sqlError(1911, 16, 1, "Column name '%s' does not exist in the target table or view.", ic.Name), ic.Pos)
		}
		if seen[o] {
			return nil, lineAt(sqlError(1909, 16, 1, "Cannot use duplicate column names in %s. Column name '%s' listed more than once.", what, ic.Name), ic.Pos)
		}
		seen[o] = true
		c := b.t.columns[o]
		switch c.typ.Kind {
		case value.VarChar, value.NVarChar, value.VarBinary:
			if c.typ.Length == value.Max {
				return nil, lineAt(sqlError(1919, 16, 1, "Column '%s' in table '%s' is of a type that is invalid for use as a key column in an index.", c.name, b.name), ic.Pos)
			}
		}
		if c.virtual {
			return nil, lineAt(sqlError(2729, 16, 1, "Column '%s' in table '%s' cannot be used in an index or statistics or as a partition key because it is non-deterministic.", c.name, b.name), ic.Pos)
		}
		if primary && c.nullable {
			if c.computed == nil && !b.settled {
				c.nullable = false // NOT NULL follows from PRIMARY KEY
			} else {
				return nil, lineAt(sqlError(8111, 16, 1, "Cannot define PRIMARY KEY constraint on nullable column in table '%s'.", b.name), ic.Pos)
			}
		}
		keys = append(keys, indexKey{o, ic.Desc})
	}
	if len(keys) > 32 {
		return nil, sqlError(1904, 16, 1, "The %s on table '%s' has %d columns in the key list. The maximum limit for %s key column list is 32.", what, b.name, len(keys), what)
	}
	return keys, nil
}

// addKey adds a PRIMARY KEY or UNIQUE constraint and its index.
func (b *tableBuilder) addKey(c *tsql.Constraint, all []*tsql.Constraint, indexes []*tsql.IndexDef) error {
	t := b.t
	primary := c.Kind == tsql.ConstraintPrimaryKey
	prefix, kind := "UQ", "UQ"
	if primary {
		prefix, kind = "PK", "PK"
		for _, ix := range t.indexes {
			if ix.primary {
				return lineAt(sqlError(1779, 16, 0, "Table '%s' already has a primary key defined on it.", b.name), c.Pos)
			}
		}
	}
	cols := c.Columns
	if len(cols) == 0 {
		cols = []*tsql.IndexColumn{{Pos: c.Pos, Name: c.Column}}
	}
	keys, err := b.keyColumns(cols, "index", primary)
	if err != nil {
		return err
	}
	clustered := primary && t.indexes[0].heap
	if primary && c.Clustered == nil {
		// Another constraint or index may ask to be the clustered one.
		for _, o := range all {
			if o != c && o.Clustered != nil && *o.Clustered {
				clustered = false
			}
		}
		for _, o := range indexes {
			if o.Clustered != nil && *o.Clustered {
				clustered = false
			}
		}
	}
	if c.Clustered != nil {
		clustered = *c.Clustered
	}
	if clustered && !t.indexes[0].heap {
		return lineAt(sqlError(1902, 16, 3, "Cannot create more than one clustered index on table '%s'. Drop the existing clustered index '%s' before creating another.", b.name, t.indexes[0].name), c.Pos)
	}
	name := c.Name
	if name == "" {
		name = b.systemName(prefix, "", 16)
	}
	ix := &index{name: name, unique: true, primary: primary, clustered: clustered, keys: keys, rowLocks: true, pageLocks: true}
	ix.constraint = b.object(kind, name)
	if err := readIndexOptions(ix, c.Options); err != nil {
		return err
	}
	if err := checkFilegroup(c.Filegroup, c.Pos); err != nil {
		return err
	}
	return b.place(ix)
}

// checkFilegroup is error 1921: there is one filegroup.
func checkFilegroup(name string, pos tsql.Pos) error {
	if name == "" || strings.EqualFold(name, "PRIMARY") || strings.EqualFold(name, "default") {
		return nil
	}
	return lineAt(sqlError(1921, 16, 1, "Invalid filegroup '%s' specified.", name), pos)
}

// place enters an index into the definition.
func (b *tableBuilder) place(ix *index) error {
	t := b.t
	for _, x := range t.indexes {
		if strings.EqualFold(x.name, ix.name) && !x.heap {
			return sqlError(1913, 16, 1, "The operation failed because an index or statistics with name '%s' already exists on table '%s'.", ix.name, b.name)
		}
	}
	for _, k := range ix.keys {
		if t.columns[k.column].computed != nil {
			t.anyFiltered = true
		}
	}
	if ix.filter != nil {
		t.anyFiltered = true
	}
	if ix.clustered {
		ix.id = 1
		list := append([]*index(nil), t.indexes...)
		list[0] = ix
		t.indexes = list
		return nil
	}
	if t.nextIndex < 2 {
		t.nextIndex = 2
	}
	ix.id = t.nextIndex
	t.nextIndex++
	t.indexes = append(t.indexes[:len(t.indexes):len(t.indexes)], ix)
	return nil
}

// addIndex adds an inline index.
func (b *tableBuilder) addIndex(d *tsql.IndexDef) error {
	clustered := d.Clustered != nil && *d.Clustered
	if clustered && !b.t.indexes[0].heap {
		return lineAt(sqlError(1902, 16, 3, "Cannot create more than one clustered index on table '%s'. Drop the existing clustered index '%s' before creating another.", b.name, b.t.indexes[0].name), d.Pos)
	}
	keys, err := b.keyColumns(d.Columns, "index", false)
	if err != nil {
		return err
	}
	ix := &index{name: d.Name, unique: d.Unique, clustered: clustered, keys: keys, rowLocks: true, pageLocks: true}
	if ix.include, err = b.included(ix, d.Include, d.Pos); err != nil {
		return err
	}
	if d.Where != nil {
		if err := b.filter(ix, d.Where, d.WhereSrc, d.Pos); err != nil {
			return err
		}
	}
	if err := readIndexOptions(ix, d.Options); err != nil {
		return err
	}
	if err := checkFilegroup(d.Filegroup, d.Pos); err != nil {
		return err
	}
	return b.place(ix)
}

func (b *tableBuilder) included(ix *index, names []string, pos tsql.Pos) ([]int, error) {
	var list []int
	seen := map[int]bool{}
	for _, k := range ix.keys {
		seen[k.column] = true
	}
	for _, n := range names {
		o := b.t.columnOrdinal(n)
		if o < 0 {
			return nil, lineAt(sqlError(1911, 16, 1, "Column name '%s' does not exist in the target table or view.", n), pos)
		}
		if seen[o] {
			return nil, lineAt(sqlError(1909, 16, 2, "Cannot use duplicate column names in index. Column name '%s' listed more than once.", n), pos)
		}
		seen[o] = true
		list = append(list, o)
	}
	return list, nil
}

// filter reads the WHERE of a filtered index: conditions of columns with constants.
func (b *tableBuilder) filter(ix *index, where tsql.Expr, src string, pos tsql.Pos) error {
	bad := func() error {
		return lineAt(sqlError(10735, 15, 1, "Incorrect WHERE clause for filtered index '%s' on table '%s'.", ix.name, b.name), pos)
	}
	if ix.clustered {
		return bad()
	}
	sc := b.p.tableScope(b.t)
	for _, e := range conjuncts(where) {
		term := filterTerm{key: plainKey(e)}
		var exprs []tsql.Expr
		var col tsql.Expr
		switch e := e.(type) {
		case *tsql.Compare:
			col, exprs, term.op = e.L, []tsql.Expr{e.R}, e.Op
		case *tsql.IsNull:
			col, term.op = e.X, "IS NULL"
			if e.Not {
				term.op = "IS NOT NULL"
			}
		case *tsql.In:
			if e.Not || e.Query != nil {
				return bad()
			}
			col, exprs, term.op = e.X, e.List, "IN"
		default:
			return bad()
		}
		s, err := compileScalar(sc, col)
		if err != nil {
			return err
		}
		if s.column < 0 || b.t.columns[s.column].computed != nil {
			return bad()
		}
		term.column = s.column
		for _, x := range exprs {
			v, err := compileScalar(sc, x)
			if err != nil {
				return err
			}
			if !v.literal || !plainConstant(x) {
				return bad()
			}
			val, err := constantValue(b.p, v)
			if err != nil {
				return err
			}
			if val.IsNull() {
				return bad()
			}
			to := b.t.columns[s.column].typ
			kv, exact := keyValue(val, v.typ, to)
			if !exact {
				return bad()
			}
			term.vals = append(term.vals, kv)
		}
		ix.filterIn = append(ix.filterIn, term)
	}
	ix.filter, ix.filterSrc = where, parenthesized(src)
	return nil
}

// plainConstant reports whether e is a constant, possibly signed or converted: a filter
// takes no other expressions.
func plainConstant(e tsql.Expr) bool {
	switch e := tsql.Unparen(e).(type) {
	case *tsql.Literal:
		return true
	case *tsql.Unary:
		return plainConstant(e.X)
	case *tsql.Cast:
		return plainConstant(e.X)
	case *tsql.Convert:
		return plainConstant(e.X)
	}
	return false
}

// includes evaluates the filter of an index for a row.
func (ix *index) includes(t *table) func([]value.Value) (bool, error) {
	if ix.filter == nil {
		return nil
	}
	terms := ix.filterIn
	colls := make([]value.Collation, len(terms))
	for i, f := range terms {
		colls[i] = t.columns[f.column].typ.Collation
	}
	return func(vals []value.Value) (bool, error) {
		for i := range terms {
			if !terms[i].holds(vals[terms[i].column], colls[i]) {
				return false, nil
			}
		}
		return true, nil
	}
}

// holds evaluates one term for the value of its column.
func (f *filterTerm) holds(v value.Value, coll value.Collation) bool {
	switch f.op {
	case "IS NULL":
		return v.IsNull()
	case "IS NOT NULL":
		return !v.IsNull()
	}
	if v.IsNull() {
		return false
	}
	if f.op == "IN" {
		for _, w := range f.vals {
			if value.Compare(v, w, coll) == 0 {
				return true
			}
		}
		return false
	}
	d := value.Compare(v, f.vals[0], coll)
	switch f.op {
	case "=":
		return d == 0
	case "<>":
		return d != 0
	case "<":
		return d < 0
	case "<=":
		return d <= 0
	case ">":
		return d > 0
	}
	return d >= 0
}

func (b *tableBuilder) addDefault(c *tsql.Constraint) error {
	o := b.t.columnOrdinal(c.Column)
	if o < 0 {
		return lineAt(sqlError(1752, 16, 0, "Column '%s' in table '%s' is invalid for creating a default constraint.", c.Column, b.name), c.Pos)
	}
	col := b.t.columns[o]
	switch {
	case col.def != nil:
		return lineAt(sqlError(1781, 16, 1, "Column already has a DEFAULT bound to it."), c.Pos)
	case col.identity:
		return lineAt(sqlError(1754, 16, 0, "Defaults cannot be created on columns with an IDENTITY attribute. Table '%s', column '%s'.", b.name, col.name), c.Pos)
	case col.computed != nil || col.typ.Kind == value.RowVersion:
		return lineAt(sqlError(1752, 16, 0, "Column '%s' in table '%s' is invalid for creating a default constraint.", c.Column, b.name), c.Pos)
	}
	if v := nextValueIn(c.Expr); v != nil && v.Over != nil {
		return errNextOver(v.Pos)
	} else if v != nil && v.Sequence.Database != "" {
		return lineAt(sqlError(11730, 16, 1, "Database name cannot be specified for the sequence object in default constraints."), v.Pos)
	}
	// A default sees no columns: 128.
	s, err := compileScalar(&scope{sess: b.p.sess, inDefault: isSequentialID(c.Expr) && col.typ.Kind == value.UniqueIdentifier, vars: &varTable{byName: map[string]int{}}, noSubquery: sqlError(1046, 15, 1, "Subqueries are not allowed in this context. Only scalar expressions are allowed.")}, c.Expr)
	if err != nil {
		if e, ok := err.(*value.Error); ok && (e.Number == 207 || e.Number == 4104) {
			return lineAt(sqlError(128, 15, 1, "The name \"%s\" is not permitted in this context. Valid expressions are constants, constant expressions, and (in some contexts) variables. Column names are not permitted.", columnNameIn(c.Expr)), c.Pos)
		}
		return err
	}
	if err := value.CheckImplicit(s.typ, col.typ); err != nil {
		return err
	}
	name := c.Name
	if name == "" {
		name = b.systemName("DF", col.name, 8)
	}
	d := &defaultConstraint{expr: c.Expr, src: defaultText(c.Expr, c.ExprSrc)}
	d.obj = b.object("D", name)
	changed := *col
	changed.def = d
	cols := append([]*column(nil), b.t.columns...)
	cols[o] = &changed
	b.t.columns = cols
	return nil
}

func columnNameIn(e tsql.Expr) string {
	name := ""
	walkExpr(e, func(n tsql.Node) bool {
		if c, ok := n.(*tsql.ColumnRef); ok {
			name = c.Name
		}
		return name == ""
	})
	return name
}

func (b *tableBuilder) addCheck(c *tsql.Constraint) error {
	if err := refuseNested(c.Expr); err != nil {
		return err
	}
	pred, err := compilePredicate(b.p.tableScope(b.t), c.Expr)
	if err != nil {
		return err
	}
	ck := &checkConstraint{expr: c.Expr, src: parenthesized(c.ExprSrc), trusted: true}
	if len(pred.cols) == 1 {
		ck.column = b.t.columns[pred.cols[0]].name
	}
	name := c.Name
	if name == "" {
		name = b.systemName("CK", c.Column, 8)
	}
	ck.obj = b.object("C", name)
	b.t.checks = append(b.t.checks[:len(b.t.checks):len(b.t.checks)], ck)
	return nil
}

// addForeign resolves a foreign key. The referenced table must have a unique index on
// exactly the referenced columns.
func (b *tableBuilder) addForeign(c *tsql.Constraint) (*foreignKey, error) {
	t := b.t
	if strings.HasPrefix(b.name, "#") {
		return nil, nil // SQL Server skips foreign keys of temporary tables with a message
	}
	name := c.Name
	if name == "" {
		col := c.Column
		if col == "" && len(c.Columns) > 0 {
			col = c.Columns[0].Name
		}
		name = b.systemName("FK", col, 8)
	}
	ref := t.obj
	if !(foldName(c.RefTable.Name) == foldName(b.name) && (c.RefTable.Schema == "" || strings.EqualFold(c.RefTable.Schema, b.schema.name))) {
		n := c.RefTable
		if n.Schema == "" {
			n.Schema = b.schema.name
			if o, _ := b.p.resolveObject(n); o == nil {
				n.Schema = ""
			}
		}
		if n.Database == "" {
			n.Database = b.db.name
		}
		var err error
		if ref, err = b.p.resolveObject(n); err != nil {
			return nil, err
		}
		if ref == nil || ref.table == nil {
			return nil, lineAt(sqlError(1767, 16, 0, "Foreign key '%s' references invalid table '%s'.", name, c.RefTable), c.Pos)
		}
	}
	fk := &foreignKey{from: t, to: ref.table, onDelete: c.OnDelete, onUpdate: c.OnUpdate, trusted: true, systemName: c.Name == ""}
	cols := c.Columns
	if len(cols) == 0 {
		cols = []*tsql.IndexColumn{{Pos: c.Pos, Name: c.Column}}
	}
	for _, ic := range cols {
		o := t.columnOrdinal(ic.Name)
		if o < 0 {
			return nil, lineAt(sqlError(1769, 16, 1, "Foreign key '%s' references invalid column '%s' in referencing table '%s'.", name, ic.Name, b.name), c.Pos)
		}
		fk.cols = append(fk.cols, o)
	}
	if len(c.RefColumns) == 0 {
		for _, ix := range fk.to.indexes {
			if ix.primary {
				for _, k := range ix.keys {
					fk.refCols = append(fk.refCols, k.column)
				}
			}
		}
		if len(fk.refCols) == 0 {
			return nil, lineAt(sqlError(1773, 16, 0, "Foreign key '%s' has implicit reference to object '%s' which does not have a primary key defined on it.", name, c.RefTable), c.Pos)
		}
	}
	for _, n := range c.RefColumns {
		o := fk.to.columnOrdinal(n)
		if o < 0 {
			return nil, lineAt(sqlError(1770, 16, 0, "Foreign key '%s' references invalid column '%s' in referenced table '%s'.", name, n, c.RefTable), c.Pos)
		}
		fk.refCols = append(fk.refCols, o)
	}
	if len(fk.cols) != len(fk.refCols) {
		return nil, lineAt(sqlError(8139, 16, 0, "Number of referencing columns in foreign key differs from number of referenced columns, table '%s'.", b.name), c.Pos)
	}
	for i, o := range fk.cols {
		a, r := t.columns[o].typ, fk.to.columns[fk.refCols[i]].typ
		if a.Kind != r.Kind || (a.Kind == value.Decimal && (a.Precision != r.Precision || a.Scale != r.Scale)) {
			return nil, lineAt(sqlError(1778, 16, 0, "Column '%s.%s' is not the same data type as referencing column '%s.%s' in foreign key '%s'.", c.RefTable, fk.to.columns[fk.refCols[i]].name, b.name, t.columns[o].name, name), c.Pos)
		}
	}
	for _, ix := range fk.to.indexes {
		if !ix.unique || ix.filter != nil || ix.disabled || len(ix.keys) != len(fk.refCols) {
			continue
		}
		all := true
		for _, k := range ix.keys {
			has := false
			for _, rc := range fk.refCols {
				has = has || rc == k.column
			}
			all = all && has
		}
		if all {
			fk.refIndex = ix
			break
		}
	}
	if fk.refIndex == nil {
		return nil, lineAt(sqlError(1776, 16, 0, "There are no primary or candidate keys in the referenced table '%s' that match the referencing column list in the foreign key '%s'.", c.RefTable, name), c.Pos)
	}
	fk.obj = b.object("F", name)
	return fk, nil
}

// attach makes the storage of a table and its indexes.
func (p *planner) attach(t *table, id, dbID int32, name string) error {
	types := len(t.columns)
	base := t.indexes[0]
	if base.heap {
		base.data = &storage.Index{ID: 0}
	} else {
		base.data = t.storageIndex(base)
	}
	t.data = p.srv.store.NewTable(id, dbID, name, types, base.data)
	tx := p.srv.store.Begin(&storage.Party{ID: p.party.ID})
	for _, ix := range t.indexes[1:] {
		ix.data = t.storageIndex(ix)
		if err := tx.AddIndex(t.data, ix.data, types); err != nil {
			return err
		}
	}
	tx.Commit()
	t.wholeLocks = new(atomic.Bool)
	t.noteLocks()
	return nil
}

// storageIndex is the definition of an index for the storage layer.
func (t *table) storageIndex(ix *index) *storage.Index {
	sx := &storage.Index{ID: ix.id, Name: ix.name, Include: ix.include, Unique: ix.unique, Filter: ix.includes(t)}
	if ix.heap {
		sx.ID = 0
	}
	for _, k := range ix.keys {
		sx.Key = append(sx.Key, storage.KeyColumn{Column: k.column, Desc: k.desc, Collation: t.columns[k.column].typ.Collation})
	}
	return sx
}

// createTable enters a new table into the catalog. build is nil for SELECT INTO.
func (p *planner) createTable(ctx context.Context, fr *frame, name tsql.ObjectName, t *table, def *tsql.TableDef) error {
	if name.IsTemp() {
		return p.createTemp(ctx, fr, name, t, def)
	}
	db, sch, err := p.schemaFor(name, "CREATE TABLE")
	if err != nil {
		return err
	}
	tx, err := p.txn(ctx)
	if err != nil {
		return err
	}
	if err := p.nameFree(ctx, tx, sch, name); err != nil {
		return err
	}
	now := p.srv.clock.Now().UTC()
	o := &object{db: db, schema: sch, name: name.Name, kind: "U", created: now, modified: now, table: t}
	t.obj = o
	b := &tableBuilder{p: p, db: db, schema: sch, name: name.Name, t: t, kind: "table"}
	if def != nil {
		if err := b.build(def); err != nil {
			return err
		}
	} else {
		t.indexes = []*index{{heap: true, rowLocks: true, pageLocks: true}}
		t.nextIndex = 2
	}
	p.srv.mu.Lock()
	o.id = db.newObjectID()
	p.srv.mu.Unlock()
	var keys []*foreignKey
	for _, f := range b.foreign {
		fk, err := b.addForeign(f.c)
		if err != nil {
			return err
		}
		keys = append(keys, fk)
	}
	t.foreign = keys
	if err := b.namesFree(); err != nil {
		return err
	}
	if err := p.attach(t, o.id, db.id, o.fullName()); err != nil {
		return err
	}
	t.data.DatabaseName = db.name
	if err := tx.LockTable(ctx, t.data, storage.ModeSchM, storage.ForTransaction); err != nil {
		return err
	}
	for _, fk := range keys {
		if fk.to != t {
			if err := tx.LockTable(ctx, fk.to.data, storage.ModeSchM, storage.ForTransaction); err != nil {
				return err
			}
		}
	}
	p.srv.alter(tx, func() {
		db.addObject(o)
		for _, c := range b.objects {
			c.id = db.newObjectID()
			c.parent = o
			db.addObject(c)
		}
		for _, fk := range keys {
			fk.to.references = append(fk.to.references[:len(fk.to.references):len(fk.to.references)], fk)
		}
	}, func() {
		for _, fk := range keys {
			fk.to.references = without(fk.to.references, fk)
		}
		for _, c := range b.objects {
			db.removeObject(c)
		}
		db.removeObject(o)
		p.srv.store.Forget(t.data)
	})
	return nil
}

func without[T comparable](list []T, x T) []T {
	var out []T
	for _, y := range list {
		if y != x {
			out = append(out, y)
		}
	}
	return out
}

// namesFree checks the names of constraints: error 2714.
func (b *tableBuilder) namesFree() error {
	b.p.srv.mu.RLock()
	defer b.p.srv.mu.RUnlock()
	seen := map[string]bool{}
	for _, o := range b.objects {
		if b.schema.objects[foldName(o.name)] != nil || seen[foldName(o.name)] {
			return sqlError(2714, 16, 5, "There is already an object named '%s' in the database.", o.name)
		}
		seen[foldName(o.name)] = true
	}
	return nil
}

// schemaFor finds the schema in which a new object goes, and checks the permission.
func (p *planner) schemaFor(name tsql.ObjectName, permission string) (*database, *schema, error) {
	db := p.context()
	if name.Database != "" {
		if db = p.srv.findDatabase(name.Database); db == nil {
			return nil, nil, lineAt(sqlError(911, 16, 1, "Database '%s' does not exist. Make sure that the name is entered correctly.", name.Database), name.Pos)
		}
	}
	schemaName := name.Schema
	if schemaName == "" {
		schemaName = p.defaultSchema(db)
	}
	p.srv.mu.RLock()
	s := db.schemaNamed(schemaName)
	p.srv.mu.RUnlock()
	if s == nil || s.id == 4 || s.id == 3 {
		return nil, nil, lineAt(sqlError(2760, 16, 1, "The specified schema name \"%s\" either does not exist or you do not have permission to use it.", schemaName), name.Pos)
	}
	if err := p.checkCreate(db, s, permission); err != nil {
		return nil, nil, err
	}
	return db, s, nil
}

// nameFree makes sure that a name is not taken. A name that another transaction has
// taken or given up, but not committed, is waited for.
func (p *planner) nameFree(ctx context.Context, tx *storage.Txn, s *schema, name tsql.ObjectName) error {
	for {
		o, err := p.settled(s, foldName(name.Name))
		if o == nil || err != nil {
			return err
		}
		if o.table != nil && o.table.data != nil && !tx.TryLockTable(o.table.data, storage.ModeSchS, storage.ForStatement) {
			if err := tx.LockTable(ctx, o.table.data, storage.ModeSchS, storage.ForStatement); err != nil {
				return err
			}
			continue
		}
		return lineAt(sqlError(2714, 16, 6, "There is already an object named '%s' in the database.", name.Name), name.Pos)
	}
}

func (p *planner) execCreateTable(ctx context.Context, fr *frame, st *tsql.CreateTable) error {
	if err := checkTableOptions(st.Options, st.Pos); err != nil {
		return err
	}
	if err := checkFilegroup(st.OnGroup, st.Pos); err != nil {
		return err
	}
	return p.createTable(ctx, fr, st.Name, &table{rowversion: -1, escalation: "TABLE"}, st.Def)
}

// checkTableOptions refuses WITH options of CREATE TABLE that would mean something;
// compression does not.
func checkTableOptions(list []tsql.Option, pos tsql.Pos) error {
	for _, o := range list {
		switch o.Name {
		case "DATA_COMPRESSION", "XML_COMPRESSION":
		default:
			return tsql.Unsupported(pos.Line, "the table option %s", o.Name)
		}
	}
	return nil
}
