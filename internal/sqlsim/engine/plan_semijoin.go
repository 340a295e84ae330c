package engine

import (
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// semiJoin makes a source of the query in x IN (SELECT ...), when it does not depend on
// the rows around it: its distinct values are joined like a table, so that a short list
// can drive seeks into a long table. It returns nil for a condition of another kind.
func (b *selectBinder) semiJoin(e tsql.Expr) (*conjunct, *fromItem, error) {
	in, ok := e.(*tsql.In)
	if !ok || in.Query == nil || len(b.list) == 0 || len(b.list) >= 50 || checkUnordered(in.Query) != nil {
		return nil, nil, nil
	}
	sc := *b.scope
	sc.cols = append([]scopeCol(nil), b.scope.cols...)
	sc.resolve = nil
	sc.capture, sc.passed = map[int]bool{}, false
	checks, tables := len(b.env.stmt.checks), len(b.env.stmt.tables)
	undo := func() {
		b.env.stmt.checks, b.env.stmt.tables = b.env.stmt.checks[:checks], b.env.stmt.tables[:tables]
	}
	q, err := b.bindQuery(in.Query, &sc, b.env)
	if err != nil || len(q.cols) != 1 || len(sc.capture) > 0 || q.assigns != nil {
		undo() // compiled as a condition, it gives the error that belongs to it
		return nil, nil, nil
	}
	x, err := compileScalar(b.scope, in.X)
	if err != nil || x.subqueries || len(x.cols) == 0 {
		undo()
		return nil, nil, nil
	}
	col := q.cols[0]
	if col.typ.Kind.IsCharacter() && (!x.typ.Kind.IsCharacter() || x.typ.Collation != col.typ.Collation) || col.typ.Kind == value.Variant || col.unknown {
		undo()
		return nil, nil, nil
	}
	if in.Not {
		if sc.passed {
			undo()
			return nil, nil, nil
		}
		b.use(x.cols)
		b.outer = b.outer || x.outerRefs
		return b.antiJoin(e, x, q), nil, nil
	}
	it := &fromItem{n: len(b.list), start: len(b.scope.cols), end: len(b.scope.cols) + 1, locator: -1, rows: 1000, types: []value.Type{col.typ}, pos: in.Pos}
	y := colScalar(it.start, col.typ, true, "")
	y.coercible = col.collate
	pred, err := compareScalars("=", x, y)
	if err != nil {
		undo()
		return nil, nil, nil
	}
	b.outer = b.outer || sc.passed || x.outerRefs
	b.use(x.cols)
	inner := q.run
	it.query = &boundQuery{cols: q.cols, rows: q.rows, run: func(rc *rowCtx, each rowFn) error {
		seen := map[string]bool{}
		return inner(rc, func(row []value.Value) (bool, error) {
			if row[0].IsNull() {
				return true, nil
			}
			k := string(value.SortKey(nil, row[0], col.typ.Collation))
			if seen[k] {
				return true, nil
			}
			seen[k] = true
			return each(row[:1])
		})
	}}
	b.scope.cols = append(b.scope.cols, scopeCol{name: "(in)", typ: col.typ, nullable: true, hidden: true})
	b.list = append(b.list, it)
	c := &conjunct{ast: e, pred: pred, sources: b.sources(x.cols) | it.items(), equal: [2]*scalar{x, y}, sargs: []sarg{}}
	if x.column >= 0 {
		if k, ok := seekable(x, y); ok {
			k.need = it.items()
			c.sargs = append(c.sargs, sarg{column: x.column, op: "=", vals: []keyExpr{k}, from: c})
		}
	}
	return c, it, nil
}

// valueSet is the values of a query, for NOT IN.
type valueSet struct {
	keys map[string]bool
	null bool
}

// antiJoin is x NOT IN (SELECT y ...) by a set that is made once for each execution.
func (b *selectBinder) antiJoin(e tsql.Expr, x *scalar, q *boundQuery) *conjunct {
	y := colScalar(0, q.cols[0].typ, true, "")
	common, err := commonType(x.typ, y.typ)
	if err != nil {
		return nil
	}
	if common.Kind.IsCharacter() {
		common.Collation, common.Length = x.typ.Collation, value.Max
	}
	xs, err := coerceTo(x, common)
	if err != nil {
		return nil
	}
	ys, err := coerceTo(y, common)
	if err != nil {
		return nil
	}
	id := new(valueSet)
	pred := &predicate{cols: x.cols, outerRefs: x.outerRefs, subqueries: true}
	pred.eval = func(rc *rowCtx) (tristate, error) {
		ex := execOf(rc)
		set := ex.sets[id]
		if set == nil {
			set = &valueSet{keys: map[string]bool{}}
			in := innerContext(rc)
			if err := q.run(rc, func(row []value.Value) (bool, error) {
				in.row = row
				v, err := ys.eval(&in)
				if err != nil {
					return false, err
				}
				if v.IsNull() {
					set.null = true
				} else {
					set.keys[string(value.SortKey(nil, v, common.Collation))] = true
				}
				return true, nil
			}); err != nil {
				return isUnknown, err
			}
			if ex.sets == nil {
				ex.sets = map[*valueSet]*valueSet{}
			}
			ex.sets[id] = set
		}
		if len(set.keys) == 0 && !set.null {
			return isTrue, nil
		}
		v, err := xs.eval(rc)
		if err != nil || v.IsNull() {
			return isUnknown, err
		}
		switch {
		case set.keys[string(value.SortKey(nil, v, common.Collation))]:
			return isFalse, nil
		case set.null:
			return isUnknown, nil
		}
		return isTrue, nil
	}
	return &conjunct{ast: e, pred: pred, sources: b.sources(x.cols), sargs: []sarg{}}
}

// conditions compiles WHERE. Sources that come from it are joined to the tree.
func (b *selectBinder) conditions(where tsql.Expr, tree fromNode) (fromNode, error) {
	for _, e := range conjuncts(where) {
		if err := noAggregates(e, 147, "An aggregate may not appear in the WHERE clause unless it is in a subquery contained in a HAVING clause or a select list, and the column being aggregated is an outer reference."); err != nil {
			return nil, err
		}
		if tree != nil {
			c, it, err := b.semiJoin(e)
			if err != nil {
				return nil, err
			}
			if c != nil {
				b.where = append(b.where, c)
				if it == nil {
					continue
				}
				tree = &fromJoin{kind: tsql.CrossJoin, left: tree, right: it, set: tree.items() | it.items()}
				continue
			}
		}
		c, err := b.conjunct(e)
		if err != nil {
			return nil, err
		}
		b.where = append(b.where, c)
	}
	return tree, nil
}
