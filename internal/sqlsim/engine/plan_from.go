package engine

import (
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// fromItem is one source of a FROM clause. Its columns are the ordinals from start to
// end of the select's row, which all sources share.
type fromItem struct {
	n          int // position among the items, for sets
	start, end int
	alias      string // folded
	pos        tsql.Pos

	// One of these:
	t        *table // a base table
	tableOf  func(rc *rowCtx) (*table, error)
	pseudo   bool        // inserted or deleted of a trigger
	query    *boundQuery // derived table, view, CTE
	function *tableFunction
	work     *recursion
	literal  [][]*scalar
	lateral  bool // sees the columns of the sources before it

	hints   tableHints
	locator int // ordinal of the hidden locator column, -1
	write   bool
	use     *tableUse
	types   []value.Type
	rows    int
	virtual []virtualColumn
	isView  bool
	shown   string // the alias as written
	refName string
	// derived locators: output column of query -> flat ordinal
	depends itemSet // items that a lateral source needs
}

type virtualColumn struct {
	ordinal int
	expr    *scalar
}

type fromNode interface{ items() itemSet }

type fromJoin struct {
	kind        tsql.JoinKind
	hint        string
	left, right fromNode
	on          []*conjunct
	set         itemSet
}

type itemSet uint64

func (i *fromItem) items() itemSet { return 1 << i.n }
func (j *fromJoin) items() itemSet { return j.set }

// conjunct is one condition that rows have to meet.
type conjunct struct {
	ast     tsql.Expr
	pred    *predicate
	sources itemSet
	sargs   []sarg
	done    bool
	equal   [2]*scalar // for x IN (SELECT y ...): x and y
	pushed  bool       // from the query around this one: it has no expression of its own here
}

// selectBinder plans one query specification.
type selectBinder struct {
	*binder
	env    *bindEnv
	parent *scope
	scope  *scope
	list   []*fromItem
	used   map[int]int // how many expressions use each column
	where  []*conjunct
	outer  bool
	wish   *selectWish
	apply  bool // binding the right side of an APPLY
	// grouped: the select list is evaluated over groups, not rows of FROM.
	grouped bool
}

func (b *binder) newScope(parent *scope, env *bindEnv) *scope {
	return &scope{parent: parent, sess: b.p.sess, vars: b.vars, ctes: env, db: b.p.context().name}
}

// scalar compiles an expression of the select and notes which columns it uses.
func (b *selectBinder) scalar(sc *scope, e tsql.Expr) (*scalar, error) {
	s, err := compileScalar(sc, e)
	if err != nil {
		return nil, err
	}
	b.outer = b.outer || s.outerRefs
	if sc == b.scope || !b.grouped {
		b.use(s.cols)
	}
	return s, nil
}

func (b *selectBinder) predicate(sc *scope, e tsql.Expr) (*predicate, error) {
	p, err := compilePredicate(sc, e)
	if err != nil {
		return nil, err
	}
	b.outer = b.outer || p.outerRefs
	if sc == b.scope {
		b.use(p.cols)
	}
	return p, nil
}

func (b *selectBinder) use(cols []int) {
	for _, c := range cols {
		b.used[c]++
	}
}

func (b *selectBinder) sources(cols []int) itemSet {
	var set itemSet
	for _, c := range cols {
		for _, it := range b.list {
			if c >= it.start && c < it.end {
				set |= it.items()
			}
		}
	}
	return set
}

func (b *selectBinder) conjunct(e tsql.Expr) (*conjunct, error) {
	p, err := b.predicate(b.scope, e)
	if err != nil {
		return nil, err
	}
	return &conjunct{ast: e, pred: p, sources: b.sources(p.cols)}, nil
}

// bindFrom plans the sources of a FROM clause, which are joined by commas.
func (b *selectBinder) bindFrom(list []tsql.TableSource) (fromNode, error) {
	var node fromNode
	for _, src := range list {
		n, err := b.bindSource(src)
		if err != nil {
			return nil, err
		}
		if node == nil {
			node = n
		} else {
			node = &fromJoin{kind: tsql.CrossJoin, left: node, right: n, set: node.items() | n.items()}
		}
	}
	return node, nil
}

func (b *selectBinder) bindSource(src tsql.TableSource) (fromNode, error) {
	if j, ok := src.(*tsql.Join); ok {
		return b.bindJoin(j)
	}
	return b.bindItem(src)
}

func (b *selectBinder) bindJoin(j *tsql.Join) (fromNode, error) {
	left, err := b.bindSource(j.Left)
	if err != nil {
		return nil, err
	}
	apply := b.apply
	b.apply = apply || j.Kind == tsql.CrossApply || j.Kind == tsql.OuterApply
	right, err := b.bindSource(j.Right)
	b.apply = apply
	if err != nil {
		return nil, err
	}
	node := &fromJoin{kind: j.Kind, hint: j.Hint, left: left, right: right, set: left.items() | right.items()}
	if j.On != nil {
		for _, e := range conjuncts(j.On) {
			c, err := b.conjunct(e)
			if err != nil {
				return nil, err
			}
			node.on = append(node.on, c)
		}
	}
	return node, nil
}

// bindItem plans one source and adds its columns to the scope.
func (b *selectBinder) bindItem(src tsql.TableSource) (*fromItem, error) {
	if len(b.list) >= 60 {
		return nil, tsql.Unsupported(src.Position().Line, "more than 60 table sources in one FROM clause")
	}
	it := &fromItem{n: len(b.list), start: len(b.scope.cols), locator: -1, rows: 1000}
	it.pos = src.Position()
	var cols []scopeCol
	var err error
	switch s := src.(type) {
	case *tsql.TableRef:
		cols, err = b.bindTableRef(it, s)
	case *tsql.TableVar:
		cols, err = b.bindTableVar(it, s)
	case *tsql.DerivedTable:
		it.alias = foldName(s.Alias)
		if err := checkUnordered(s.Query); err != nil {
			return nil, err
		}
		sc := b.lateralScope()
		it.query, err = b.bindQueryFor(s.Query, sc, b.env, b.wishFor(it.alias))
		if err == nil {
			b.lateralUses(it, sc)
			cols, err = queryColumns(it.query, s.Alias, s.Columns, "", it.pos)
		}
	case *tsql.TableFunc:
		cols, err = b.bindTableFunc(it, s)
	case *tsql.ValuesTable:
		cols, err = b.bindValues(it, s)
	default:
		err = tsql.Unsupported(src.Position().Line, "this table source")
	}
	if err != nil {
		return nil, err
	}
	for _, other := range b.list {
		if other.alias == it.alias && it.alias != "" && other.refName == it.refName {
			return nil, sqlError(1013, 16, 1, "The objects \"%s\" and \"%s\" in the FROM clause have the same exposed names. Use correlation names to distinguish them.", it.exposed(cols), it.exposed(cols))
		}
	}
	it.end = it.start + len(cols)
	it.shown = it.exposed(cols)
	for _, c := range cols {
		it.types = append(it.types, c.typ)
	}
	b.scope.cols = append(b.scope.cols, cols...)
	b.list = append(b.list, it)
	if it.lateral {
		it.depends = 0
		for _, other := range b.list[:it.n] {
			it.depends |= other.items()
		}
	}
	return it, nil
}

func (it *fromItem) exposed(cols []scopeCol) string {
	if len(cols) > 0 {
		return cols[0].qualifier
	}
	return it.alias
}

// lateralScope is the scope that encloses a source: in APPLY it has the columns of the
// sources before it.
func (b *selectBinder) lateralScope() *scope {
	sc := *b.scope
	sc.cols, sc.resolve = nil, nil
	sc.capture, sc.passed = map[int]bool{}, false
	if b.apply {
		sc.cols = append([]scopeCol(nil), b.scope.cols...)
	}
	return &sc
}

// lateralUses notes what a source took from the scope that lateralScope gave it.
func (b *selectBinder) lateralUses(it *fromItem, sc *scope) {
	for col := range sc.capture {
		b.used[col]++
		it.lateral = true
	}
	b.outer = b.outer || sc.passed
}

func (b *selectBinder) wishFor(alias string) *selectWish {
	if b.wish != nil && b.wish.locate && (b.wish.locateName == "" || b.wish.locateName == alias) {
		return &selectWish{locate: true, writing: b.wish.writing, whole: b.wish.whole, deferred: true}
	}
	return &selectWish{deferred: true}
}

// queryColumns are the columns of a derived table.
func queryColumns(q *boundQuery, alias string, names []string, schema string, pos tsql.Pos) ([]scopeCol, error) {
	visible := 0
	for _, c := range q.cols {
		if !c.hidden {
			visible++
		}
	}
	if len(names) > 0 && len(names) != visible {
		if len(names) < visible {
			return nil, lineAt(sqlError(8158, 16, 1, "'%s' has more columns than were specified in the column list.", alias), pos)
		}
		return nil, lineAt(sqlError(8159, 16, 1, "'%s' has fewer columns than were specified in the column list.", alias), pos)
	}
	cols := make([]scopeCol, len(q.cols))
	seen := map[string]bool{}
	for i, c := range q.cols {
		name := c.name
		if i < len(names) {
			name = names[i]
		}
		if name == "" && !c.hidden {
			return nil, lineAt(sqlError(8155, 16, 2, "No column name was specified for column %d of '%s'.", i+1, alias), pos)
		}
		if seen[foldName(name)] && !c.hidden {
			return nil, lineAt(sqlError(8156, 16, 1, "The column '%s' was specified multiple times for '%s'.", name, alias), pos)
		}
		seen[foldName(name)] = !c.hidden || seen[foldName(name)]
		cols[i] = scopeCol{qualifier: alias, name: name, typ: c.typ, nullable: c.nullable, hidden: c.hidden, schema: schema, coercible: c.collate == coercibleDefault && c.base == nil}
	}
	return cols, nil
}

func (b *selectBinder) bindTableRef(it *fromItem, s *tsql.TableRef) ([]scopeCol, error) {
	it.alias = foldName(s.Alias)
	qualifier := s.Alias
	if qualifier == "" {
		qualifier = s.Name.Name
		it.alias = foldName(s.Name.Name)
		it.refName = foldName(s.Name.String())
	}
	var err error
	if it.hints, err = readHints(append(append([]*tsql.TableHint(nil), s.Hints...), b.env.inherit...)); err != nil {
		return nil, lineAt(err.(*value.Error), s.Pos)
	}
	if s.Name.Schema == "" && s.Name.Database == "" {
		if pseudo := b.p.triggerTable(s.Name.Name); pseudo != nil {
			it.tableOf, it.pseudo = pseudo, true
			it.t, err = pseudo(nil)
			if err != nil {
				return nil, err
			}
			b.env.stmt.uncacheable = true
			return b.tableColumns(it, qualifier, "", ""), nil
		}
		if c := b.env.findCTE(s.Name.Name); c != nil {
			return b.bindCTERef(it, s, c, qualifier)
		}
	}
	if cols, ok, err := b.bindSystemView(it, s, qualifier); ok || err != nil {
		return cols, err
	}
	o, err := b.p.resolveObject(s.Name)
	if err != nil {
		return nil, err
	}
	if o == nil {
		if foldName(s.Name.Schema) == "sys" && missingSystemViews[foldName(s.Name.Name)] {
			return nil, tsql.Unsupported(s.Line, "sys.%s", s.Name.Name)
		}
		return nil, errInvalidObject(s.Name)
	}
	switch o.kind {
	case "U":
		return b.bindBaseTable(it, o, s, qualifier), nil
	case "V":
		return b.bindView(it, o, s, qualifier)
	}
	return nil, errInvalidObject(s.Name)
}

func (b *selectBinder) bindBaseTable(it *fromItem, o *object, s *tsql.TableRef, qualifier string) []scopeCol {
	it.t = o.table
	schema, db := "", ""
	if s.Alias == "" {
		schema, db = o.schema.name, o.db.name
	}
	if o.table.temporary {
		b.env.stmt.uncacheable = true
	}
	if b.wish != nil && b.wish.locate && (b.wish.locateName == "" || b.wish.locateName == it.alias) {
		it.write = b.wish.writing
	} else {
		b.env.check(o, "SELECT")
	}
	it.use = &tableUse{t: o.table, hints: it.hints, write: it.write}
	b.env.stmt.tables = append(b.env.stmt.tables, it.use)
	return b.tableColumns(it, qualifier, schema, db)
}

// check notes a permission that the statement needs, unless the owner of the module or
// view that names the object owns the object too.
func (e *bindEnv) check(o *object, permission string) {
	if e.chain != nil && e.chain.ownerID() == o.ownerID() && e.chain.db == o.db {
		return
	}
	if o.table != nil && o.table.temporary {
		return
	}
	e.stmt.checks = append(e.stmt.checks, permissionCheck{o, permission})
}

// tableColumns are the columns of a base table, and a locator if one is wanted.
func (b *selectBinder) tableColumns(it *fromItem, qualifier, schema, db string) []scopeCol {
	var cols []scopeCol
	for _, c := range it.t.columns {
		cols = append(cols, scopeCol{qualifier: qualifier, name: c.name, typ: c.typ, nullable: c.nullable, schema: schema, database: db})
	}
	if b.wish != nil && b.wish.locate && (b.wish.locateName == "" || b.wish.locateName == it.alias) {
		it.locator = len(cols)
		cols = append(cols, scopeCol{name: "(locator)", typ: value.Type{Kind: value.BigInt}, hidden: true})
	}
	switch {
	case it.t.variable:
		it.rows = 80
	case it.t.temporary:
		it.rows = 90
	default:
		it.rows = 100000
	}
	return cols
}

func (b *selectBinder) bindTableVar(it *fromItem, s *tsql.TableVar) ([]scopeCol, error) {
	qualifier := s.Alias
	if qualifier == "" {
		qualifier = s.Name
	}
	it.alias = foldName(qualifier)
	var err error
	if it.hints, err = readHints(s.Hints); err != nil {
		return nil, lineAt(err.(*value.Error), s.Pos)
	}
	def, of, err := b.tableVariable(s.Name, s.Pos)
	if err != nil {
		return nil, err
	}
	it.t, it.tableOf = def, of
	return b.tableColumns(it, qualifier, "", ""), nil
}

// tableVariable finds a table variable: its definition for planning, and how to get
// the table of the running frame.
func (b *binder) tableVariable(name string, pos tsql.Pos) (*table, func(rc *rowCtx) (*table, error), error) {
	slot, ok := b.vars.lookup(name)
	if !ok || b.vars.decls[slot].table == nil {
		return nil, nil, lineAt(sqlError(1087, 15, 2, "Must declare the table variable \"%s\".", name), pos)
	}
	decl := &b.vars.decls[slot]
	def, err := b.p.variablePrototype(decl)
	if err != nil {
		return nil, nil, err
	}
	of := func(rc *rowCtx) (*table, error) { return rc.sess.planner().tableOfFrame(rc.frame, slot, decl) }
	return def, of, nil
}

// bindView plans a view as the query that it stands for.
func (b *selectBinder) bindView(it *fromItem, o *object, s *tsql.TableRef, qualifier string) ([]scopeCol, error) {
	if b.env.depth > 30 {
		return nil, sqlError(4429, 16, 1, "View or function '%s' contains a self-reference. Views or functions cannot reference themselves directly or indirectly.", s.Name)
	}
	wish := b.wishFor(it.alias)
	if !wish.locate {
		b.env.check(o, "SELECT")
	}
	env, err := b.env.hinted(s.Hints)
	if err != nil {
		return nil, err
	}
	if wish.writing && o.module.ast.CheckOption {
		return nil, tsql.Unsupported(s.Line, "changing data through a view WITH CHECK OPTION")
	}
	q, cols, err := b.p.expandView(b.binder, o, env, wish)
	if err != nil {
		return nil, err
	}
	it.query = q
	it.isView = true
	schema := ""
	if s.Alias == "" {
		schema = o.schema.name
	}
	return queryColumns(q, qualifier, cols, schema, s.Pos)
}

// expandView plans the query of a view in the view's own context: its database, its
// settings, and no variables or CTEs of the caller.
func (p *planner) expandView(b *binder, o *object, env *bindEnv, wish *selectWish) (*boundQuery, []string, error) {
	inner := &bindEnv{stmt: env.stmt, chain: o, depth: env.depth + 1, inherit: env.inherit}
	vb := &binder{p: p, vars: &varTable{byName: map[string]int{}}}
	db, viewing := p.db, p.viewing
	p.db, p.viewing = o.db, o
	defer func() { p.db, p.viewing = db, viewing }()
	q, err := vb.bindQueryFor(o.module.ast.Query, nil, inner, wish)
	if err != nil {
		return nil, nil, err
	}
	return q, o.module.ast.Columns, nil
}

func (b *selectBinder) bindValues(it *fromItem, s *tsql.ValuesTable) ([]scopeCol, error) {
	it.alias = foldName(s.Alias)
	it.rows = len(s.Rows)
	sc := b.lateralScope()
	var types []value.Type
	var nullable []bool
	var columns [][]*scalar
	for r, exprs := range s.Rows {
		if r > 0 && len(exprs) != len(columns) {
			return nil, lineAt(sqlError(10709, 16, 1, "The number of columns for each row in a table value constructor must be the same."), s.Pos)
		}
		var row []*scalar
		for i, e := range exprs {
			v, err := compileScalar(sc, e)
			if err != nil {
				return nil, err
			}
			if len(v.cols) > 0 {
				it.lateral = true
				b.use(v.cols)
			}
			b.outer = b.outer || v.outerRefs
			row = append(row, v)
			if r == 0 {
				columns = append(columns, nil)
				nullable = append(nullable, false)
			}
			columns[i] = append(columns[i], v)
			nullable[i] = nullable[i] || v.nullable
		}
		it.literal = append(it.literal, row)
	}
	for _, list := range columns {
		t, err := unifyTypes(list, "VALUES operator")
		if err != nil {
			return nil, lineIn(err, s.Pos)
		}
		types = append(types, typeForUnknown(t))
	}
	b.lateralUses(it, sc)
	for _, row := range it.literal {
		for i := range row {
			v, err := coerceTo(row[i], types[i])
			if err != nil {
				return nil, err
			}
			row[i] = v
		}
	}
	if len(s.Columns) != len(types) {
		if len(s.Columns) < len(types) {
			return nil, lineAt(sqlError(8158, 16, 1, "'%s' has more columns than were specified in the column list.", s.Alias), s.Pos)
		}
		return nil, lineAt(sqlError(8159, 16, 1, "'%s' has fewer columns than were specified in the column list.", s.Alias), s.Pos)
	}
	var cols []scopeCol
	for i, name := range s.Columns {
		cols = append(cols, scopeCol{qualifier: s.Alias, name: name, typ: types[i], nullable: nullable[i], coercible: strongest(columns[i]) == coercibleDefault})
	}
	return cols, nil
}

// typeForUnknown is the type of a column that only NULL literals made.
func typeForUnknown(t value.Type) value.Type {
	if t.Kind == value.Unknown {
		return value.Type{Kind: value.Int}
	}
	return t
}

// star expands * or t.*: the ordinals of the columns.
func (b *selectBinder) star(q tsql.ObjectName, pos tsql.Pos) ([]int, error) {
	var cols []int
	for i, c := range b.scope.cols {
		if c.hidden {
			continue
		}
		if q.Name != "" && (foldName(c.qualifier) != foldName(q.Name) || q.Schema != "" && !strings.EqualFold(c.schema, q.Schema)) {
			continue
		}
		cols = append(cols, i)
	}
	if len(cols) == 0 {
		if q.Name != "" {
			return nil, lineAt(sqlError(107, 15, 1, "The column prefix '%s' does not match with a table name or alias name used in the query.", q), pos)
		}
		return nil, lineAt(sqlError(263, 16, 1, "Must specify table to select from."), pos)
	}
	return cols, nil
}
