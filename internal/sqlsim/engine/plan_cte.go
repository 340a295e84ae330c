package engine

import (
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// declareCTEs adds the common table expressions of WITH to what a query sees.
func (b *binder) declareCTEs(list []*tsql.CTE, parent *scope, env *bindEnv) (*bindEnv, error) {
	seen := map[string]bool{}
	for _, c := range list {
		if seen[foldName(c.Name)] {
			return nil, lineAt(sqlError(239, 16, 1, "Duplicate common table expression name '%s' was specified.", c.Name), c.Pos)
		}
		seen[foldName(c.Name)] = true
		if err := checkUnordered(c.Query); err != nil {
			return nil, err
		}
		env = env.with(&cteScope{parent: env.ctes, cte: c, env: env})
	}
	return env, nil
}

// recursion is the state of a recursive CTE: where the rows of the last round are, in
// the exec of the running statement.
type recursion struct {
	cols []outCol
}

// bindCTERef plans a reference to a CTE.
func (b *selectBinder) bindCTERef(it *fromItem, s *tsql.TableRef, c *cteScope, qualifier string) ([]scopeCol, error) {
	if c.work != nil {
		it.work = c.work
		it.rows = 50
		q := &boundQuery{cols: c.work.cols}
		return queryColumns(q, qualifier, c.cte.Columns, "", s.Pos)
	}
	parent := b.parent
	var q *boundQuery
	var err error
	if refersTo(c.cte.Query, c.cte.Name) {
		q, err = b.bindRecursive(c, parent)
	} else {
		inner := *c.env
		inner.depth = b.env.depth + 1
		var hinted *bindEnv
		if hinted, err = b.env.hinted(s.Hints); err != nil {
			return nil, err
		}
		inner.inherit = hinted.inherit
		q, err = b.bindQueryFor(c.cte.Query, b.lateralScopeOf(parent), &inner, b.wishFor(it.alias))
	}
	if err != nil {
		return nil, err
	}
	it.query = q
	if q.rows > 0 {
		it.rows = q.rows
	}
	return queryColumns(q, qualifier, c.cte.Columns, "", s.Pos)
}

// lateralScopeOf puts an empty scope over parent, so that the nesting of scopes is the
// same as that of row contexts.
func (b *selectBinder) lateralScopeOf(parent *scope) *scope {
	return &scope{parent: parent, sess: b.p.sess, vars: b.vars, ctes: b.env, db: b.scope.db}
}

// refersTo reports whether a query names a table like the CTE anywhere.
func refersTo(q *tsql.Query, name string) bool {
	found := false
	walkDeep(q, func(n tsql.Node) bool {
		if t, ok := n.(*tsql.TableRef); ok && t.Name.Schema == "" && foldName(t.Name.Name) == foldName(name) {
			found = true
		}
		return !found
	})
	return found
}

// bindRecursive plans a recursive CTE: anchor members UNION ALL recursive members.
func (b *selectBinder) bindRecursive(c *cteScope, parent *scope) (*boundQuery, error) {
	name := c.cte.Name
	var members []tsql.QueryBody
	var split func(body tsql.QueryBody) error
	split = func(body tsql.QueryBody) error {
		if u, ok := body.(*tsql.SetOp); ok && u.Op == "UNION" && u.All {
			if err := split(u.L); err != nil {
				return err
			}
			return split(u.R)
		}
		members = append(members, body)
		return nil
	}
	if err := split(c.cte.Query.Body); err != nil {
		return nil, err
	}
	refers := func(body tsql.QueryBody) bool { return refersTo(&tsql.Query{Body: body}, name) }
	var anchors, steps []tsql.QueryBody
	for _, m := range members {
		if refers(m) {
			steps = append(steps, m)
		} else if len(steps) > 0 {
			return nil, lineAt(sqlError(247, 16, 1, "An anchor member was found in the recursive part of recursive query \"%s\".", name), c.cte.Pos)
		} else {
			anchors = append(anchors, m)
		}
	}
	if len(members) == 1 {
		return nil, lineAt(sqlError(252, 16, 1, "Recursive common table expression '%s' does not contain a top-level UNION ALL operator.", name), c.cte.Pos)
	}
	if len(anchors) == 0 {
		return nil, lineAt(sqlError(246, 16, 1, "No anchor member was specified for recursive query \"%s\".", name), c.cte.Pos)
	}
	for _, s := range steps {
		if err := checkRecursiveMember(s, name, c.cte.Pos); err != nil {
			return nil, err
		}
	}
	over := b.lateralScopeOf(parent)
	body := anchors[0]
	for _, a := range anchors[1:] {
		body = &tsql.SetOp{Pos: c.cte.Pos, Op: "UNION", All: true, L: body, R: a}
	}
	anchor, err := b.bindBody(body, over, c.env)
	if err != nil {
		return nil, err
	}
	cols := make([]outCol, 0, len(anchor.cols))
	for i, col := range anchor.cols {
		col.base, col.nullable = nil, true
		if i < len(c.cte.Columns) {
			col.name = c.cte.Columns[i]
		}
		cols = append(cols, col)
	}
	work := &recursion{cols: cols}
	inner := c.env.with(&cteScope{parent: c.env.ctes, cte: c.cte, env: c.env, work: work})
	outer := anchor.outer
	var recursive []*boundQuery
	for _, s := range steps {
		q, err := b.bindBody(s, over, inner)
		if err != nil {
			return nil, err
		}
		if len(q.cols) != len(cols) {
			return nil, lineAt(sqlError(205, 16, 1, "All queries combined using a UNION, INTERSECT or EXCEPT operator must have an equal number of expressions in their target lists."), c.cte.Pos)
		}
		for i, col := range q.cols {
			if !sameRecursiveType(cols[i].typ, col.typ) {
				return nil, lineAt(sqlError(240, 16, 1, "Types don't match between the anchor and the recursive part in column \"%s\" of recursive query \"%s\".", cols[i].name, name), c.cte.Pos)
			}
		}
		outer = outer || q.outer
		recursive = append(recursive, q)
	}
	stmt := b.env.stmt
	run := func(rc *rowCtx, each rowFn) error {
		limit := int64(100)
		if h := stmt.hint("MAXRECURSION"); h != nil {
			limit = h.Number
		}
		x := execOf(rc)
		var round [][]value.Value
		more := true
		err := anchor.run(rc, func(row []value.Value) (bool, error) {
			round = append(round, row)
			var err error
			more, err = each(row)
			return more, err
		})
		saved := x.working[work]
		defer func() { x.working[work] = saved }()
		for n := int64(0); err == nil && more && len(round) > 0; n++ {
			x.working[work] = round
			var next [][]value.Value
			for _, q := range recursive {
				err = q.run(rc, func(row []value.Value) (bool, error) {
					if limit > 0 && n >= limit {
						return false, sqlError(530, 16, 1, "The statement terminated. The maximum recursion %d has been exhausted before statement completion.", limit)
					}
					next = append(next, row)
					var err error
					more, err = each(row)
					return more, err
				})
				if err != nil || !more {
					break
				}
			}
			round = next
		}
		return err
	}
	return &boundQuery{cols: cols, run: run, outer: outer, rows: 1000}, nil
}

// checkRecursiveMember refuses what a recursive member may not contain, however deep.
func checkRecursiveMember(body tsql.QueryBody, name string, pos tsql.Pos) error {
	var err error
	refuse := func(number int32, format string, args ...any) {
		if err == nil {
			err = lineAt(sqlError(number, 16, 1, format, args...), pos)
		}
	}
	const part = "is not allowed in the recursive part of a recursive common table expression"
	grouped := func() {
		refuse(467, "GROUP BY, HAVING, or aggregate functions are not allowed in the recursive part of a recursive common table expression '%s'.", name)
	}
	inner := func(q *tsql.Query) {
		if q != nil && refersTo(q, name) {
			refuse(465, "Recursive references are not allowed in subqueries.")
		}
	}
	refs := 0
	walkDeep(body, func(n tsql.Node) bool {
		switch n := n.(type) {
		case *tsql.Select:
			if n.Distinct {
				refuse(460, "DISTINCT operator "+part+" '%s'.", name)
			}
			if n.Top != nil {
				refuse(461, "TOP operator "+part+" '%s'.", name)
			}
			if n.GroupBy != nil || n.Having != nil {
				grouped()
			}
		case *tsql.Query:
			if n.Offset != nil {
				refuse(461, "TOP operator "+part+" '%s'.", name)
			}
		case *tsql.Join:
			if n.Kind == tsql.LeftJoin || n.Kind == tsql.RightJoin || n.Kind == tsql.FullJoin {
				refuse(462, "Outer join "+part+" '%s'.", name)
			}
		case *tsql.TableRef:
			if n.Name.Schema == "" && foldName(n.Name.Name) == foldName(name) {
				refs++
			}
		case *tsql.Subquery:
			inner(n.Query)
		case *tsql.Exists:
			inner(n.Query)
		case *tsql.In:
			inner(n.Query)
		case *tsql.Quantified:
			inner(n.Query)
		default:
			if _, is := isAggregateCall(n); is {
				grouped()
			}
		}
		return err == nil
	})
	if refs > 1 {
		refuse(253, "Recursive member of a common table expression '%s' has multiple recursive references.", name)
	}
	return err
}

// sameRecursiveType is the strict rule for the columns of a recursive CTE.
func sameRecursiveType(a, b value.Type) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case value.Char, value.VarChar, value.NChar, value.NVarChar, value.Binary, value.VarBinary:
		return a.Length == b.Length
	case value.Decimal:
		return a.Precision == b.Precision && a.Scale == b.Scale
	case value.Time, value.DateTime2, value.DateTimeOffset:
		return a.Scale == b.Scale
	}
	return true
}
