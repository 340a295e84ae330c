package engine

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// bindEnv is what a query sees besides columns and variables: the common table
// expressions in force, and the statement that is being planned.
type bindEnv struct {
	ctes *cteScope
	stmt *stmtPlan
	// chain is the module or view whose owner's rights apply to what the query names.
	chain *object
	// inherit are the locking hints of the views and CTEs that the query stands in: they
	// go for every table in it.
	inherit []*tsql.TableHint
	// depth guards against views that contain themselves.
	depth int
}

type cteScope struct {
	parent *cteScope
	cte    *tsql.CTE
	// env is where the CTE was declared: what it sees itself.
	env *bindEnv
	// work is set while the recursive members of the CTE are planned.
	work *recursion
}

func (e *bindEnv) with(c *cteScope) *bindEnv {
	n := *e
	n.ctes = c
	return &n
}

// hinted returns e for what is inside a source with hints.
func (e *bindEnv) hinted(list []*tsql.TableHint) (*bindEnv, error) {
	if len(list) == 0 {
		return e, nil
	}
	n := *e
	n.inherit = append([]*tsql.TableHint(nil), e.inherit...)
	for _, h := range list {
		switch strings.ToUpper(h.Name) {
		case "INDEX", "FORCESEEK", "FORCESCAN":
			return nil, tsql.Unsupported(h.Line, "the hint %s on a view or common table expression", strings.ToUpper(h.Name))
		}
		n.inherit = append(n.inherit, h)
	}
	return &n, nil
}

func (e *bindEnv) findCTE(name string) *cteScope {
	f := foldName(name)
	for c := e.ctes; c != nil; c = c.parent {
		if foldName(c.cte.Name) == f {
			return c
		}
	}
	return nil
}

// stmtPlan collects what a statement touches while it is planned.
type stmtPlan struct {
	version     uint64
	tables      []*tableUse
	checks      []permissionCheck
	uncacheable bool
	hints       []*tsql.QueryHint
}

// tableUse is one access to a table, for the locks that it needs.
type tableUse struct {
	t     *table
	hints tableHints
	write bool
}

type permissionCheck struct {
	obj        *object
	permission string
}

func (s *stmtPlan) hint(name string) *tsql.QueryHint {
	for _, h := range s.hints {
		if h.Name == name {
			return h
		}
	}
	return nil
}

// envOf returns the environment that a scope carries, or a new one.
func envOf(sc *scope) *bindEnv {
	for s := sc; s != nil; s = s.parent {
		if env, ok := s.ctes.(*bindEnv); ok {
			return env
		}
	}
	return nil
}

// columnScalar is the value of a column of the current row.
func colScalar(ordinal int, typ value.Type, nullable bool, name string) *scalar {
	return &scalar{typ: typ, nullable: nullable, cols: []int{ordinal}, column: ordinal, name: name, coercible: implicitCollation,
		eval: func(rc *rowCtx) (value.Value, error) { return rc.row[ordinal], nil }}
}

// walkExpr calls f for e and everything in it, but not for what is inside subqueries.
// f returns false to leave out the children.
func walkExpr(e any, f func(n tsql.Node) bool) { walkValue(reflect.ValueOf(e), f, false) }

// walkDeep also goes into subqueries.
func walkDeep(e any, f func(n tsql.Node) bool) { walkValue(reflect.ValueOf(e), f, true) }

var (
	nodeType  = reflect.TypeOf((*tsql.Node)(nil)).Elem()
	queryType = reflect.TypeOf((*tsql.Query)(nil))
)

func walkValue(v reflect.Value, f func(tsql.Node) bool, deep bool) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			walkValue(v.Elem(), f, deep)
		}
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		if !deep && v.Type() == queryType {
			return
		}
		if v.Type().Implements(nodeType) {
			if !f(v.Interface().(tsql.Node)) {
				return
			}
		}
		walkValue(v.Elem(), f, deep)
	case reflect.Struct:
		for i := 0; i < v.NumField(); i++ {
			switch v.Field(i).Kind() {
			case reflect.Interface, reflect.Pointer, reflect.Slice, reflect.Struct:
				walkValue(v.Field(i), f, deep)
			}
		}
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.Interface, reflect.Pointer, reflect.Slice, reflect.Struct:
			for i := 0; i < v.Len(); i++ {
				walkValue(v.Index(i), f, deep)
			}
		}
	}
}

// exprKey writes an expression so that equal expressions have equal keys: positions and
// parentheses do not count, and column names become what column makes of them.
func exprKey(e tsql.Expr, column func(*tsql.ColumnRef) string) string {
	var b strings.Builder
	keyValueOf(&b, reflect.ValueOf(e), column)
	return b.String()
}

var posType = reflect.TypeOf(tsql.Pos{})

func keyValueOf(b *strings.Builder, v reflect.Value, column func(*tsql.ColumnRef) string) {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		keyValueOf(b, v.Elem(), column)
	case reflect.Pointer:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		switch e := v.Interface().(type) {
		case *tsql.Paren:
			keyValueOf(b, reflect.ValueOf(e.X), column)
			return
		case *tsql.ColumnRef:
			b.WriteString(column(e))
			return
		case *tsql.FuncCall:
			b.WriteString("call ")
			b.WriteString(foldName(e.Name.String()))
		}
		keyValueOf(b, v.Elem(), column)
	case reflect.Struct:
		if v.Type() == posType {
			return
		}
		b.WriteString(v.Type().Name())
		b.WriteByte('{')
		for i := 0; i < v.NumField(); i++ {
			keyValueOf(b, v.Field(i), column)
			b.WriteByte(',')
		}
		b.WriteByte('}')
	case reflect.Slice:
		b.WriteByte('[')
		for i := 0; i < v.Len(); i++ {
			keyValueOf(b, v.Index(i), column)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case reflect.String:
		b.WriteString(strconv.Quote(v.String()))
	case reflect.Bool:
		b.WriteString(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Int8, reflect.Int16:
		b.WriteString(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		b.WriteString(strconv.FormatUint(v.Uint(), 10))
	}
}

// plainKey is exprKey by folded column name alone.
func plainKey(e tsql.Expr) string {
	return exprKey(e, func(c *tsql.ColumnRef) string { return "col " + foldName(c.Name) })
}

// conjuncts splits a condition at its ANDs.
func conjuncts(e tsql.Expr) []tsql.Expr {
	if e == nil {
		return nil
	}
	e = tsql.Unparen(e)
	if l, ok := e.(*tsql.Logical); ok && l.Op == "AND" {
		return append(conjuncts(l.L), conjuncts(l.R)...)
	}
	return []tsql.Expr{e}
}

// isAggregateCall reports a call of an aggregate without OVER.
func isAggregateCall(n tsql.Node) (*tsql.FuncCall, bool) {
	f, ok := n.(*tsql.FuncCall)
	if !ok || f.Over != nil || f.Name.Schema != "" || f.ODBC {
		return nil, false
	}
	switch foldName(f.Name.Name) {
	case "grouping", "grouping_id":
		return nil, false
	}
	return f, isAggregateName(f.Name.Name)
}
