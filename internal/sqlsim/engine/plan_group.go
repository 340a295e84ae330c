package engine

import (
	"sort"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// grouping is the GROUP BY of a select. Its rows are the grouping expressions, then the
// aggregates, then the number of the grouping set.
type grouping struct {
	b      *selectBinder
	scope  *scope
	keys   []*scalar
	sets   [][]bool // by set: which keys it groups by
	aggs   []*aggregate
	byCall map[*tsql.FuncCall]int
	having *predicate
	byKey  map[string]int
	byCol  map[int]int
	phase  string
}

func (g *grouping) scalarAggregate() bool {
	for _, s := range g.sets {
		any := false
		for _, k := range s {
			any = any || k
		}
		if !any {
			return true
		}
	}
	return false
}

// bindGroups plans GROUP BY, HAVING and the aggregates of the select list.
func (b *selectBinder) bindGroups(sel *tsql.Select, items []selectItem, order []*tsql.OrderItem) (*grouping, error) {
	g := &grouping{b: b, byCall: map[*tsql.FuncCall]int{}, byKey: map[string]int{}, byCol: map[int]int{}}
	b.grouped = true
	if sel.GroupBy != nil {
		if sel.GroupBy.All {
			return nil, tsql.Unsupported(sel.GroupBy.Line, "GROUP BY ALL")
		}
		sets, err := g.bindSets(sel.GroupBy.Items)
		if err != nil {
			return nil, err
		}
		g.sets = sets
	} else {
		g.sets = [][]bool{nil}
	}
	for i := range g.sets {
		full := make([]bool, len(g.keys))
		copy(full, g.sets[i])
		g.sets[i] = full
	}

	sc := *b.scope
	sc.cols = nil
	g.scope = &sc
	for _, k := range g.keys {
		col := scopeCol{typ: k.typ, nullable: k.nullable || len(g.sets) > 1, hidden: true}
		if k.column >= 0 {
			col = b.scope.cols[k.column]
			col.nullable = col.nullable || len(g.sets) > 1
		}
		sc.cols = append(sc.cols, col)
	}
	var err error
	collect := func(n tsql.Node) bool {
		f, ok := isAggregateCall(n)
		if !ok || err != nil {
			return err == nil
		}
		if _, dup := g.byCall[f]; dup {
			return false
		}
		if err = noNestedAggregates(f); err != nil {
			return false
		}
		var a *aggregate
		if a, err = b.bindAggregate(f, b.scope); err == nil {
			g.byCall[f] = len(g.keys) + len(g.aggs)
			g.aggs = append(g.aggs, a)
			sc.cols = append(sc.cols, scopeCol{typ: a.typ, nullable: a.nullable, hidden: true})
		}
		return false
	}
	for _, it := range items {
		if it.expr != nil {
			walkExpr(it.expr, collect)
		}
	}
	if sel.Having != nil {
		walkExpr(sel.Having, collect)
	}
	for _, o := range order {
		walkExpr(o.X, collect)
	}
	if err != nil {
		return nil, err
	}
	sc.cols = append(sc.cols, scopeCol{typ: value.Type{Kind: value.Int}, hidden: true})
	sc.resolve = g.resolve
	if sel.Having != nil {
		g.phase = "having"
		if g.having, err = compilePredicate(g.scope, sel.Having); err != nil {
			return nil, err
		}
		b.outer = b.outer || g.having.outerRefs
		g.phase = ""
	}
	return g, nil
}

func noNestedAggregates(f *tsql.FuncCall) error {
	var err error
	for _, a := range f.Args {
		walkExpr(a, func(n tsql.Node) bool {
			if inner, ok := isAggregateCall(n); ok {
				err = lineAt(sqlError(130, 15, 1, "Cannot perform an aggregate function on an expression containing an aggregate or a subquery."), inner.Pos)
			}
			return err == nil
		})
	}
	return err
}

// key returns the position of a grouping expression, adding it if it is new.
func (g *grouping) key(e tsql.Expr) (int, error) {
	if err := noAggregates(e, 144, "Cannot use an aggregate or a subquery in an expression used for the group by list of a GROUP BY clause."); err != nil {
		return 0, err
	}
	s, err := g.b.scalar(g.b.scope, e)
	if err != nil {
		return 0, err
	}
	// The expressions of GROUP BY are evaluated over rows of FROM.
	g.b.use(s.cols)
	if len(s.cols) == 0 && !s.outerRefs {
		return 0, lineAt(sqlError(164, 15, 1, "Each GROUP BY expression must contain at least one column that is not an outer reference."), e.Position())
	}
	text := g.text(e)
	if at, ok := g.byKey[text]; ok {
		return at, nil
	}
	g.keys = append(g.keys, s)
	at := len(g.keys) - 1
	g.byKey[text] = at
	if s.column >= 0 {
		g.byCol[s.column] = at
	}
	return at, nil
}

// text is the key of an expression in which columns are ordinals of FROM.
func (g *grouping) text(e tsql.Expr) string { return boundKey(g.b.scope, e) }

// bindSets expands GROUP BY items to grouping sets: the cross product of what each
// item stands for.
func (g *grouping) bindSets(items []*tsql.GroupItem) ([][]bool, error) {
	sets := [][]int{nil}
	for _, it := range items {
		s, err := g.expand(it)
		if err != nil {
			return nil, err
		}
		var next [][]int
		for _, a := range sets {
			for _, c := range s {
				next = append(next, append(append([]int(nil), a...), c...))
			}
		}
		sets = next
	}
	out := make([][]bool, len(sets))
	for i, s := range sets {
		m := make([]bool, len(g.keys))
		for _, k := range s {
			m[k] = true
		}
		out[i] = m
	}
	return out, nil
}

func (g *grouping) composite(it *tsql.GroupItem) ([]int, error) {
	if it.Kind == tsql.GroupPlain {
		k, err := g.key(it.Expr)
		return []int{k}, err
	}
	var keys []int
	for _, c := range it.Items {
		k, err := g.composite(c)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k...)
	}
	return keys, nil
}

func (g *grouping) expand(it *tsql.GroupItem) ([][]int, error) {
	switch it.Kind {
	case tsql.GroupPlain, tsql.GroupComposite:
		k, err := g.composite(it)
		return [][]int{k}, err
	case tsql.GroupSets:
		var sets [][]int
		for _, c := range it.Items {
			s, err := g.expand(c)
			if err != nil {
				return nil, err
			}
			sets = append(sets, s...)
		}
		return sets, nil
	}
	var parts [][]int
	for _, c := range it.Items {
		k, err := g.composite(c)
		if err != nil {
			return nil, err
		}
		parts = append(parts, k)
	}
	var sets [][]int
	if it.Kind == tsql.GroupRollup {
		for n := len(parts); n >= 0; n-- {
			var s []int
			for _, p := range parts[:n] {
				s = append(s, p...)
			}
			sets = append(sets, s)
		}
		return sets, nil
	}
	for mask := 1<<len(parts) - 1; mask >= 0; mask-- { // CUBE
		var s []int
		for i, p := range parts {
			if mask&(1<<i) != 0 {
				s = append(s, p...)
			}
		}
		sets = append(sets, s)
	}
	return sets, nil
}

// resolve maps what the select list says to the columns of a group.
func (g *grouping) resolve(e tsql.Expr) (*scalar, bool, error) {
	if f, ok := e.(*tsql.FuncCall); ok && f.Over == nil {
		if at, ok := g.byCall[f]; ok {
			a := g.aggs[at-len(g.keys)]
			s := colScalar(at, a.typ, a.nullable, "")
			return s, true, nil
		}
		switch foldName(f.Name.Name) {
		case "grouping", "grouping_id":
			if f.Name.Schema == "" {
				s, err := g.groupingID(f)
				return s, true, err
			}
		}
	}
	switch e.(type) {
	case *tsql.Literal, *tsql.Variable, *tsql.Paren:
		return nil, false, nil
	}
	if c, ok := e.(*tsql.ColumnRef); ok {
		s, err := compileScalar(g.b.scope, c)
		if err != nil || s.column < 0 {
			return nil, false, nil
		}
		at, ok := g.byCol[s.column]
		if !ok {
			name := qualified(g.b.scope.cols[s.column])
			switch g.phase {
			case "having":
				return nil, true, lineAt(sqlError(8121, 16, 1, "Column '%s' is invalid in the HAVING clause because it is not contained in either an aggregate function or the GROUP BY clause.", name), c.Pos)
			case "order":
				return nil, true, lineAt(sqlError(8127, 16, 1, "Column \"%s\" is invalid in the ORDER BY clause because it is not contained in either an aggregate function or the GROUP BY clause.", name), c.Pos)
			}
			return nil, true, lineAt(sqlError(8120, 16, 1, "Column '%s' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause.", name), c.Pos)
		}
		k := g.keys[at]
		return colScalar(at, k.typ, k.nullable || len(g.sets) > 1, k.name), true, nil
	}
	if len(g.byCol) == len(g.keys) {
		return nil, false, nil
	}
	if at, ok := g.byKey[g.text(e)]; ok {
		k := g.keys[at]
		return colScalar(at, k.typ, k.nullable || len(g.sets) > 1, ""), true, nil
	}
	return nil, false, nil
}

// groupingID is GROUPING and GROUPING_ID.
func (g *grouping) groupingID(f *tsql.FuncCall) (*scalar, error) {
	var keys []int
	for _, a := range f.Args {
		at, ok := g.byKey[g.text(tsql.Unparen(a))]
		if !ok {
			return nil, lineAt(sqlError(8161, 15, 1, "Argument 1 of the %s function does not match any of the expressions in the GROUP BY clause.", f.Name.Name), f.Pos)
		}
		keys = append(keys, at)
	}
	typ := value.Type{Kind: value.Int}
	if foldName(f.Name.Name) == "grouping" {
		typ.Kind = value.TinyInt
	}
	at := len(g.keys) + len(g.aggs)
	return &scalar{typ: typ, column: -1, cols: []int{at}, eval: func(rc *rowCtx) (value.Value, error) {
		set := g.sets[rc.row[at].Int()]
		n := int64(0)
		for _, k := range keys {
			n <<= 1
			if !set[k] {
				n |= 1
			}
		}
		return value.NewInt(typ.Kind, n), nil
	}}, nil
}

// run groups the rows of from.
func (g *grouping) run(rs *runState, from func(rowFn) error, each rowFn) error {
	type state struct {
		key  string
		vals []value.Value
		accs []accumulator
		set  int
	}
	groups := make([]map[string]*state, len(g.sets))
	var order []*state
	newState := func(set int, key string, vals []value.Value) *state {
		st := &state{key: key, vals: vals, set: set}
		for _, a := range g.aggs {
			st.accs = append(st.accs, a.start(rs))
		}
		groups[set][key] = st
		order = append(order, st)
		return st
	}
	for i := range g.sets {
		groups[i] = map[string]*state{}
	}
	keyVals := make([]value.Value, len(g.keys))
	if err := from(func(row []value.Value) (bool, error) {
		rs.in.row = row
		for i, k := range g.keys {
			v, err := k.eval(&rs.in)
			if err != nil {
				return false, err
			}
			keyVals[i] = v
		}
		for set, member := range g.sets {
			var buf [64]byte
			key := buf[:0]
			for i, k := range g.keys {
				if member[i] {
					key = value.SortKey(key, keyVals[i], k.typ.Collation)
				}
			}
			st := groups[set][string(key)]
			if st == nil {
				vals := make([]value.Value, len(g.keys))
				for i, k := range g.keys {
					if member[i] {
						vals[i] = keyVals[i]
					} else {
						vals[i] = value.NewNull(k.typ.Kind)
					}
				}
				st = newState(set, string(key), vals)
			}
			for i := range st.accs {
				rs.in.row = row
				if err := st.accs[i].add(&rs.in); err != nil {
					return false, err
				}
			}
		}
		return true, nil
	}); err != nil {
		return err
	}
	for set, member := range g.sets {
		any := false
		for _, m := range member {
			any = any || m
		}
		if !any && len(groups[set]) == 0 {
			newState(set, "", nulls(scalarTypes(g.keys)))
		}
	}
	sort.SliceStable(order, func(i, j int) bool {
		if order[i].set != order[j].set {
			return order[i].set < order[j].set
		}
		return order[i].key < order[j].key
	})
	for _, st := range order {
		row := make([]value.Value, 0, len(g.keys)+len(g.aggs)+1)
		row = append(row, st.vals...)
		for _, a := range st.accs {
			v, err := a.result()
			if err != nil {
				return err
			}
			row = append(row, v)
		}
		row = append(row, value.NewInt(value.Int, int64(st.set)))
		if g.having != nil {
			rs.in.row = row
			ok, err := g.having.eval(&rs.in)
			if err != nil {
				return err
			}
			if ok != isTrue {
				continue
			}
		}
		if more, err := each(row); err != nil || !more {
			return err
		}
	}
	return nil
}

func scalarTypes(list []*scalar) []value.Type {
	types := make([]value.Type, len(list))
	for i, s := range list {
		types[i] = s.typ
	}
	return types
}
