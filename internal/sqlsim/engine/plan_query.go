package engine

import (
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// rowFn receives rows; it returns false when it wants no more. Rows are not changed
// after they have been passed on, so they may be kept.
type rowFn func(row []value.Value) (more bool, err error)

// boundQuery is a planned query.
type boundQuery struct {
	cols []outCol
	// run produces the rows. rc is the context of the enclosing scope.
	run func(rc *rowCtx, each rowFn) error
	// outer: something in it refers to an enclosing scope.
	outer bool
	// rows is a guess of how many rows come out.
	rows     int
	locators []locatorCol
	assigns  []*assignment // SELECT @v = ...
	into     *tsql.ObjectName
	forJSON  *tsql.ForClause
	// finish plans how the query reads its sources, with conditions of the query around
	// it; nil when that is done. pushable: it takes such conditions.
	// wanted tells which output columns anybody reads; nil for all of them.
	finish   func(conditions []pushed, wanted func(column int) bool) error
	pushable bool
}

// done finishes a query that nobody pushes conditions into.
func (q *boundQuery) done() error {
	if q.finish == nil {
		return nil
	}
	f := q.finish
	q.finish = nil
	return f(nil, nil)
}

// assignment is one @v = expr of a select list; its value is the output column.
type assignment struct {
	slot   int
	column int
	op     string
	typ    value.Type
}

// outCol is an output column of a query.
type outCol struct {
	name     string
	typ      value.Type
	nullable bool
	// base is where a plain column comes from, through views and CTEs.
	base    *baseColumn
	hidden  bool
	collate coercibility
	unknown bool      // an untyped NULL
	json    bool      // text that is JSON by its origin
	from    *fromItem // the source of a plain column, for FOR JSON AUTO
}

// baseColumn is a column of a table reference.
type baseColumn struct {
	item    *fromItem
	table   *table
	ordinal int
}

// locatorCol is a hidden output column that identifies the row of a table reference.
type locatorCol struct {
	item   *fromItem
	column int
}

// column turns an output column into what a sink is told.
func (c outCol) column() Column {
	col := Column{Name: c.name, Type: c.typ, Nullable: c.nullable}
	if c.base != nil && c.base.table != nil {
		bc := c.base.table.columns[c.base.ordinal]
		col.Identity = bc.identity
		col.Computed = bc.computed != nil
	}
	return col
}

// binder plans the queries of one statement for one session.
type binder struct {
	p    *planner
	vars *varTable
}

// bindQuery plans a query expression with its WITH, ORDER BY, OFFSET and FOR.
func (b *binder) bindQuery(q *tsql.Query, parent *scope, env *bindEnv) (*boundQuery, error) {
	return b.bindQueryFor(q, parent, env, nil)
}

// selectWish is what a caller wants besides the rows.
type selectWish struct {
	// locate asks for a locator of the named source (an alias, folded) or, when empty,
	// of the only base table.
	locate     bool
	locateName string
	writing    bool // the located table is about to be changed
	exists     bool // whether there is a row is all that counts
	whole      bool // all of a located row is needed, not only its place
	// deferred: the caller calls finish.
	deferred bool
}

// checkUnordered refuses ORDER BY in a query that is part of another one or of a module,
// unless it decides which rows there are.
func checkUnordered(q *tsql.Query) error {
	if len(q.OrderBy) == 0 || q.Offset != nil || q.For != nil {
		return nil
	}
	if sel, ok := q.Body.(*tsql.Select); ok && sel.Top != nil {
		return nil
	}
	return lineAt(sqlError(1033, 15, 1, "The ORDER BY clause is invalid in views, inline functions, derived tables, subqueries, and common table expressions, unless TOP, OFFSET or FOR XML is also specified."), q.Pos)
}

func (b *binder) bindQueryFor(q *tsql.Query, parent *scope, env *bindEnv, wish *selectWish) (*boundQuery, error) {
	env, err := b.declareCTEs(q.With, parent, env)
	if err != nil {
		return nil, err
	}
	if len(q.Options) > 0 {
		env.stmt.hints = append(env.stmt.hints, q.Options...)
		if err := checkQueryHints(q.Options); err != nil {
			return nil, err
		}
	}
	var bq *boundQuery
	switch body := q.Body.(type) {
	case *tsql.Select:
		bq, err = b.bindSelect(body, q, parent, env, wish)
	case *tsql.Query:
		if len(q.OrderBy) == 0 && q.Offset == nil {
			bq, err = b.bindQueryFor(body, parent, env, wish)
		} else {
			bq, err = b.bindOrdered(q, body, parent, env)
		}
	case *tsql.SetOp:
		bq, err = b.bindOrdered(q, body, parent, env)
	}
	if err != nil {
		return nil, err
	}
	if q.For != nil {
		if err := bq.done(); err != nil {
			return nil, err
		}
		return b.bindFor(q.For, bq, env)
	}
	return bq, nil
}

// checkQueryHints refuses OPTION hints that would change results; the rest only steers
// an optimizer that does not exist here: RECOMPILE, MAXDOP, FAST, OPTIMIZE FOR, KEEP
// PLAN, KEEPFIXED PLAN, ROBUST PLAN, USE HINT, QUERYTRACEON, LABEL, MIN and
// MAX_GRANT_PERCENT, EXPAND VIEWS, and the join and grouping methods.
func checkQueryHints(hints []*tsql.QueryHint) error {
	for _, h := range hints {
		switch h.Name {
		case "USE PLAN", "TABLE HINT", "PARAMETERIZATION FORCED", "PARAMETERIZATION SIMPLE":
			return tsql.Unsupported(h.Line, "the query hint %s", h.Name)
		}
	}
	return nil
}

// bindBody plans an operand of a set operator.
func (b *binder) bindBody(body tsql.QueryBody, parent *scope, env *bindEnv) (*boundQuery, error) {
	switch body := body.(type) {
	case *tsql.Select:
		return b.bindSelect(body, nil, parent, env, nil)
	case *tsql.Query:
		return b.bindQuery(body, parent, env)
	case *tsql.SetOp:
		return b.bindSetOp(body, parent, env)
	}
	return nil, tsql.Unsupported(body.Position().Line, "this form of query")
}

// innerContext is the context in which a query's own rows are evaluated.
func innerContext(rc *rowCtx) rowCtx {
	return rowCtx{ctx: rc.ctx, sess: rc.sess, frame: rc.frame, outer: rc, exec: rc.exec}
}

// nulls returns a row of NULLs.
func nulls(types []value.Type) []value.Value {
	row := make([]value.Value, len(types))
	for i, t := range types {
		row[i] = value.NewNull(t.Kind)
	}
	return row
}
