package engine

import (
	"strconv"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// bindSetOp plans UNION, EXCEPT and INTERSECT.
func (b *binder) bindSetOp(s *tsql.SetOp, parent *scope, env *bindEnv) (*boundQuery, error) {
	l, err := b.bindBody(s.L, parent, env)
	if err != nil {
		return nil, err
	}
	r, err := b.bindBody(s.R, parent, env)
	if err != nil {
		return nil, err
	}
	if len(l.cols) != len(r.cols) {
		return nil, lineAt(sqlError(205, 16, 1, "All queries combined using a UNION, INTERSECT or EXCEPT operator must have an equal number of expressions in their target lists."), s.Pos)
	}
	if l.assigns != nil || r.assigns != nil {
		return nil, lineAt(sqlError(10744, 15, 1, "A SELECT INTO or variable assignment is not allowed in a set operation."), s.Pos)
	}
	cols := make([]outCol, len(l.cols))
	convL, convR := make([]*scalar, len(cols)), make([]*scalar, len(cols))
	for i := range cols {
		lt := &scalar{typ: rawType(l, i), coercible: l.cols[i].collate}
		rt := &scalar{typ: rawType(r, i), coercible: r.cols[i].collate}
		raw, err := unifyTypes([]*scalar{lt, rt}, s.Op+" operator")
		if err != nil {
			return nil, lineIn(err, s.Pos)
		}
		t := typeForUnknown(raw)
		cols[i] = outCol{name: l.cols[i].name, typ: t, nullable: l.cols[i].nullable || r.cols[i].nullable, collate: strongest([]*scalar{lt, rt}), unknown: raw.Kind == value.Unknown}
		if convL[i], err = convertColumn(l.cols[i], i, t); err != nil {
			return nil, err
		}
		if convR[i], err = convertColumn(r.cols[i], i, t); err != nil {
			return nil, err
		}
	}
	key := func(row []value.Value) string {
		var k []byte
		for i, v := range row {
			k = value.SortKey(k, v, cols[i].typ.Collation)
		}
		return string(k)
	}
	side := func(q *boundQuery, conv []*scalar, rc *rowCtx, each rowFn) error {
		in := innerContext(rc)
		return q.run(rc, func(row []value.Value) (bool, error) {
			out := make([]value.Value, len(conv))
			in.row = row
			for i, c := range conv {
				if c == nil {
					out[i] = row[i]
					continue
				}
				v, err := c.eval(&in)
				if err != nil {
					return false, err
				}
				out[i] = v
			}
			return each(out)
		})
	}
	op, all := s.Op, s.All
	run := func(rc *rowCtx, each rowFn) error {
		more := true
		if op == "UNION" && all {
			pass := func(row []value.Value) (bool, error) {
				var err error
				more, err = each(row)
				return more, err
			}
			if err := side(l, convL, rc, pass); err != nil || !more {
				return err
			}
			return side(r, convR, rc, pass)
		}
		seen := map[string]bool{}
		if op != "UNION" {
			other := map[string]bool{}
			if err := side(r, convR, rc, func(row []value.Value) (bool, error) {
				other[key(row)] = true
				return true, nil
			}); err != nil {
				return err
			}
			return side(l, convL, rc, func(row []value.Value) (bool, error) {
				k := key(row)
				if seen[k] || other[k] != (op == "INTERSECT") {
					return true, nil
				}
				seen[k] = true
				return each(row)
			})
		}
		once := func(row []value.Value) (bool, error) {
			k := key(row)
			if seen[k] {
				return true, nil
			}
			seen[k] = true
			var err error
			more, err = each(row)
			return more, err
		}
		if err := side(l, convL, rc, once); err != nil || !more {
			return err
		}
		return side(r, convR, rc, once)
	}
	return &boundQuery{cols: cols, run: run, outer: l.outer || r.outer, rows: l.rows + r.rows, into: l.into}, nil
}

// rawType is the type of a column for finding a common one: NULL fits any.
func rawType(q *boundQuery, i int) value.Type {
	if q.cols[i].unknown {
		return value.Type{Kind: value.Unknown}
	}
	return q.cols[i].typ
}

// convertColumn converts column i of a row to a type; nil when it has it already.
func convertColumn(c outCol, i int, to value.Type) (*scalar, error) {
	if c.typ == to {
		return nil, nil
	}
	if c.unknown {
		null := value.NewNull(to.Kind)
		return &scalar{typ: to, nullable: true, column: -1, eval: func(*rowCtx) (value.Value, error) { return null, nil }}, nil
	}
	return coerceTo(colScalar(i, c.typ, c.nullable, c.name), to)
}

// bindOrdered plans a set operation, or a parenthesized query, with ORDER BY and OFFSET.
func (b *binder) bindOrdered(q *tsql.Query, body tsql.QueryBody, parent *scope, env *bindEnv) (*boundQuery, error) {
	inner, err := b.bindBody(body, parent, env)
	if err != nil {
		return nil, err
	}
	if len(q.OrderBy) == 0 && q.Offset == nil {
		return inner, nil
	}
	sb := &selectBinder{binder: b, env: env, parent: parent, used: map[int]int{}}
	sb.scope = b.newScope(parent, env)
	var items []selectItem
	for i, c := range inner.cols {
		sb.scope.cols = append(sb.scope.cols, scopeCol{name: c.name, typ: c.typ, nullable: c.nullable})
		items = append(items, selectItem{column: i, name: c.name, s: colScalar(i, c.typ, c.nullable, c.name)})
	}
	var orders []orderItem
	for _, o := range q.OrderBy {
		x := tsql.Unparen(o.X)
		item := orderItem{output: -1, desc: o.Desc}
		switch x := x.(type) {
		case *tsql.Literal:
			pos, err := strconv.Atoi(x.Text)
			if err != nil || pos < 1 || pos > len(items) {
				return nil, lineAt(sqlError(108, 16, 1, "The ORDER BY position number %s is out of range of the number of items in the select list.", x.Text), o.Pos)
			}
			item.output = pos - 1
		case *tsql.ColumnRef:
			for i, it := range items {
				if foldName(it.name) == foldName(x.Name) {
					item.output = i
					break
				}
			}
			if item.output < 0 {
				return nil, lineAt(sqlError(207, 16, 1, "Invalid column name '%s'.", x.Name), x.Pos)
			}
		}
		if item.output < 0 {
			return nil, lineAt(sqlError(104, 16, 1, "ORDER BY items must appear in the select list if the statement contains a UNION, INTERSECT or EXCEPT operator."), o.Pos)
		}
		item.s = items[item.output].s
		item.coll = item.s.typ.Collation
		orders = append(orders, item)
	}
	limit, err := sb.bindLimit(&tsql.Select{Pos: q.Pos}, q, parent)
	if err != nil {
		return nil, err
	}
	out := *inner
	out.run = func(rc *rowCtx, each rowFn) error {
		lim, err := limit.start(rc)
		if err != nil {
			return err
		}
		rs := &runState{in: innerContext(rc)}
		return project(rs, func(sink rowFn) error { return inner.run(rc, sink) }, items, orders, nil, false, len(items), lim, false, each)
	}
	out.outer = out.outer || sb.outer
	return &out, nil
}
