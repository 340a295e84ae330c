package engine

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// selectItem is an expanded item of a select list.
type selectItem struct {
	expr   tsql.Expr // nil for a column of *
	column int       // of the FROM row, for *
	name   string
	alias  bool
	s      *scalar
	assign *tsql.SelectItem
	// plain: it is a column of FROM, and read only if somebody wants it.
	plain bool
}

// orderItem is a resolved item of ORDER BY.
type orderItem struct {
	output int // position in the select list, or -1
	s      *scalar
	desc   bool
	coll   value.Collation
}

// bindSelect plans a query specification. q holds its ORDER BY, OFFSET and FETCH; nil
// inside a set operation.
func (b *binder) bindSelect(sel *tsql.Select, q *tsql.Query, parent *scope, env *bindEnv, wish *selectWish) (*boundQuery, error) {
	sb := &selectBinder{binder: b, env: env, parent: parent, used: map[int]int{}, wish: wish}
	sb.scope = b.newScope(parent, env)
	tree, err := sb.bindFrom(sel.From)
	if err != nil {
		return nil, err
	}
	if tree, err = sb.conditions(sel.Where, tree); err != nil {
		return nil, err
	}
	items, err := sb.expandItems(sel)
	if err != nil {
		return nil, err
	}
	var orderBy []*tsql.OrderItem
	if q != nil {
		orderBy = q.OrderBy
	}

	// The scope in which the select list is evaluated: that of FROM, or that of groups,
	// with the columns of window functions added.
	itemScope := sb.scope
	var group *grouping
	if sel.GroupBy != nil || sel.Having != nil || sb.hasAggregates(items, sel.Having, orderBy) {
		if group, err = sb.bindGroups(sel, items, orderBy); err != nil {
			return nil, err
		}
		itemScope = group.scope
	}
	windows, itemScope, err := sb.bindWindows(sel, items, orderBy, itemScope, group)
	if err != nil {
		return nil, err
	}

	bq := &boundQuery{rows: 1000}
	exists := wish != nil && wish.exists && len(windows) == 0 && group == nil
	assigning := false
	for i := range items {
		it := &items[i]
		if it.expr == nil {
			c := sb.scope.cols[it.column]
			if group != nil {
				ref := &tsql.ColumnRef{Pos: sel.Pos, Table: c.qualifier, Name: c.name}
				if it.s, err = compileScalar(itemScope, ref); err != nil {
					return nil, err
				}
			} else {
				it.s = colScalar(it.column, c.typ, c.nullable, c.name)
				it.plain = true
			}
		} else if it.s, err = compileScalar(itemScope, it.expr); err != nil {
			return nil, err
		} else {
			sb.outer = sb.outer || it.s.outerRefs
			if it.plain = group == nil && (it.s.column >= 0 || exists) && it.assign == nil; !it.plain && (itemScope == sb.scope || !sb.grouped) {
				sb.use(it.s.cols)
			}
		}
		if it.name == "" && it.s.name != "" && !it.alias {
			it.name = it.s.name
		}
		col := outCol{name: it.name, typ: typeForUnknown(it.s.typ), nullable: it.s.nullable, collate: it.s.coercible, unknown: it.s.typ.Kind == value.Unknown}
		if group == nil && it.s.column >= 0 {
			col.base = sb.baseOf(it.s.column)
			for _, src := range sb.list {
				if it.s.column >= src.start && it.s.column < src.end {
					col.from = src
					if src.query != nil {
						col.json = src.query.cols[it.s.column-src.start].json
					}
				}
			}
		}
		col.json = col.json || isJSONExpr(it.expr)
		if it.assign != nil {
			assigning = true
			slot, ok := b.vars.lookup(it.assign.Variable)
			if !ok || b.vars.decls[slot].table != nil {
				return nil, lineAt(sqlError(137, 15, 1, "Must declare the scalar variable \"%s\".", it.assign.Variable), it.assign.Pos)
			}
			to := b.vars.decls[slot].typ
			if it.s, err = b.assignmentValue(itemScope, it.assign.Variable, it.assign.AssignOp, it.expr, it.s, to, it.assign.Pos); err != nil {
				return nil, err
			}
			col.typ = to
			bq.assigns = append(bq.assigns, &assignment{slot: slot, column: i, op: it.assign.AssignOp, typ: to})
		}
		bq.cols = append(bq.cols, col)
	}
	if assigning && len(bq.assigns) != len(items) {
		return nil, lineAt(sqlError(141, 15, 1, "A SELECT statement that assigns a value to a variable must not be combined with data-retrieval operations."), sel.Pos)
	}
	if sel.Into != nil {
		bq.into = sel.Into
	}
	orders, err := sb.bindOrder(orderBy, items, itemScope, sel, group)
	if err != nil {
		return nil, err
	}
	limit, err := sb.bindLimit(sel, q, parent)
	if err != nil {
		return nil, err
	}

	// Locators of the rows that a caller wants to change.
	var locators []int
	if wish != nil && wish.locate {
		if group != nil || sel.Distinct {
			return nil, sqlError(4403, 16, 1, "Cannot update the view or function '%s' because it contains aggregates, or a DISTINCT or GROUP BY clause, or PIVOT or UNPIVOT operator.", wish.locateName)
		}
		for _, it := range sb.list {
			if it.t != nil && it.query == nil && it.locator >= 0 {
				locators = append(locators, it.start+it.locator)
				bq.locators = append(bq.locators, locatorCol{item: it, column: len(bq.cols)})
				bq.cols = append(bq.cols, outCol{name: "(locator)", typ: value.Type{Kind: value.BigInt}, hidden: true})
			}
			if it.query != nil {
				for _, l := range it.query.locators {
					locators = append(locators, it.start+l.column)
					bq.locators = append(bq.locators, locatorCol{item: l.item, column: len(bq.cols)})
					bq.cols = append(bq.cols, outCol{name: "(locator)", typ: value.Type{Kind: value.BigInt}, hidden: true})
				}
			}
		}
	}

	var startup []*conjunct
	var src sourceFn
	if exists {
		if !limit.hasTop {
			orders = nil
		}
		one := constScalar(intType, value.NewInt(value.Int, 1))
		for i := range items {
			items[i].s = one
		}
	}
	finish := func(conditions []pushed, wanted func(column int) bool) error {
		for i, it := range items {
			if it.plain && !exists && (wanted == nil || sel.Distinct || len(windows) > 0 || wanted(i)) {
				sb.use(it.s.cols)
			}
		}
		for _, o := range orders {
			if o.s != nil {
				sb.use(o.s.cols)
			} else if o.output >= 0 {
				sb.use(items[o.output].s.cols)
			}
		}
		jp := &joinPlanner{b: sb, width: len(sb.scope.cols), first: true}
		for _, c := range sb.scope.cols {
			jp.types = append(jp.types, c.typ)
		}
		if h := env.stmt.hint("FORCE ORDER"); h != nil {
			jp.keep = true
		}
		wantOrder := group == nil && len(windows) == 0 && len(orders) > 0
		if wantOrder {
			for _, o := range orders {
				if o.s == nil || o.s.column < 0 || o.coll != o.s.typ.Collation && o.s.typ.Kind.IsCharacter() {
					wantOrder = false
					break
				}
				jp.order = append(jp.order, orderColumn{o.s.column, o.desc})
			}
		}
		if !wantOrder {
			jp.order = nil
		}
		var pool []*conjunct
		for _, c := range conditions {
			sb.where = append(sb.where, sb.pushedIn(c, items))
		}
		for _, c := range sb.where {
			if c.pred.constant && c.sources == 0 {
				startup = append(startup, c)
			} else {
				pool = append(pool, c)
			}
		}
		if tree == nil {
			src = func(rs *runState, left []value.Value, each rowFn) error {
				for _, c := range pool {
					if ok, err := c.pred.eval(&rs.in); err != nil || ok != isTrue {
						return err
					}
				}
				_, err := each(nil)
				return err
			}
		} else if src, err = jp.planGroup(tree, 0, pool); err != nil {
			return err
		}
		if jp.ordered && wantOrder {
			orders = nil
		}
		return nil
	}
	bq.pushable = group == nil && len(windows) == 0 && !sel.Distinct && !limit.hasTop && limit.offset == nil && bq.assigns == nil && tree != nil
	if wish != nil && wish.deferred {
		bq.finish = finish
	} else if err := finish(nil, nil); err != nil {
		return nil, err
	}
	if tree == nil {
		bq.rows = 1
	}
	bq.outer = sb.outer
	visible := len(items)
	distinct := sel.Distinct
	run := func(rc *rowCtx, each rowFn) error {
		rs := &runState{in: innerContext(rc)}
		for _, c := range startup {
			ok, err := c.pred.eval(&rs.in)
			if err != nil {
				return err
			}
			if ok != isTrue {
				if group == nil || !group.scalarAggregate() {
					return nil
				}
				return sb.runGroupsOfNothing(rs, group, windows, items, limit, rc, each)
			}
		}
		lim, err := limit.start(rc)
		if err != nil {
			return err
		}
		feed := func(sink rowFn) error { return src(rs, nil, sink) }
		if group != nil {
			from := feed
			feed = func(sink rowFn) error { return group.run(rs, from, sink) }
		}
		if len(windows) > 0 {
			from := feed
			feed = func(sink rowFn) error { return runWindows(rs, windows, from, sink) }
		}
		return project(rs, feed, items, orders, locators, distinct, visible, lim, bq.assigns != nil, each)
	}
	bq.run = run
	return bq, nil
}

// runGroupsOfNothing is an aggregate without GROUP BY over no rows: one row.
func (b *selectBinder) runGroupsOfNothing(rs *runState, g *grouping, windows []*windowFunc, items []selectItem, limit *limitPlan, rc *rowCtx, each rowFn) error {
	lim, err := limit.start(rc)
	if err != nil {
		return err
	}
	feed := func(sink rowFn) error { return g.run(rs, func(rowFn) error { return nil }, sink) }
	if len(windows) > 0 {
		from := feed
		feed = func(sink rowFn) error { return runWindows(rs, windows, from, sink) }
	}
	return project(rs, feed, items, nil, nil, false, len(items), lim, false, each)
}

// baseOf tells where a column of the FROM row comes from.
func (b *selectBinder) baseOf(col int) *baseColumn {
	for _, it := range b.list {
		if col >= it.start && col < it.end {
			switch {
			case it.query != nil:
				return it.query.cols[col-it.start].base
			case it.t != nil && col-it.start < len(it.t.columns):
				return &baseColumn{item: it, table: it.t, ordinal: col - it.start}
			}
		}
	}
	return nil
}

func (b *selectBinder) expandItems(sel *tsql.Select) ([]selectItem, error) {
	var items []selectItem
	for _, si := range sel.Items {
		if si.Star {
			cols, err := b.star(si.Qualifier, si.Pos)
			if err != nil {
				return nil, err
			}
			for _, c := range cols {
				items = append(items, selectItem{column: c, name: b.scope.cols[c].name})
			}
			continue
		}
		it := selectItem{expr: si.Expr, name: si.Alias, alias: si.Alias != ""}
		if si.Variable != "" {
			it.assign = si
		}
		items = append(items, it)
	}
	return items, nil
}

func (b *selectBinder) hasAggregates(items []selectItem, having tsql.Expr, order []*tsql.OrderItem) bool {
	found := false
	look := func(n tsql.Node) bool {
		if _, ok := isAggregateCall(n); ok {
			found = true
		}
		return !found
	}
	for _, it := range items {
		if it.expr != nil {
			walkExpr(it.expr, look)
		}
	}
	for _, o := range order {
		walkExpr(o.X, look)
	}
	if having != nil {
		walkExpr(having, look)
	}
	return found
}

// noAggregates fails if e has an aggregate at its own level.
func noAggregates(e tsql.Expr, number int32, message string) error {
	var err error
	walkExpr(e, func(n tsql.Node) bool {
		if f, ok := isAggregateCall(n); ok {
			err = lineAt(sqlError(number, 15, 1, "%s", message), f.Pos)
		}
		if f, ok := n.(*tsql.FuncCall); ok && f.Over != nil {
			err = lineAt(sqlError(4108, 15, 1, "Windowed functions can only appear in the SELECT or ORDER BY clauses."), f.Pos)
		}
		return err == nil
	})
	return err
}

// bindOrder resolves ORDER BY: positions, aliases of the select list, and expressions.
func (b *selectBinder) bindOrder(list []*tsql.OrderItem, items []selectItem, sc *scope, sel *tsql.Select, group *grouping) ([]orderItem, error) {
	var orders []orderItem
	seen := map[int]bool{}
	for n, o := range list {
		item := orderItem{output: -1, desc: o.Desc}
		x := tsql.Unparen(o.X)
		collate := ""
		if c, ok := x.(*tsql.Collate); ok {
			collate = c.Collation
			if collate != "" {
				x = tsql.Unparen(c.X)
			}
		}
		if l, ok := x.(*tsql.Literal); ok && collate == "" {
			if l.Kind == tsql.LitInt {
				pos, err := strconv.Atoi(l.Text)
				if err != nil || pos < 1 || pos > len(items) {
					return nil, lineAt(sqlError(108, 16, 1, "The ORDER BY position number %s is out of range of the number of items in the select list.", l.Text), o.Pos)
				}
				item.output = pos - 1
			} else {
				return nil, lineAt(sqlError(408, 16, 1, "A constant expression was encountered in the ORDER BY list, position %d.", n+1), o.Pos)
			}
		}
		if _, ok := x.(*tsql.Variable); ok {
			return nil, lineAt(sqlError(1008, 16, 1, "The SELECT item identified by the ORDER BY number %d contains a variable as part of the expression identifying a column position. Variables are only allowed when ordering by an expression referencing a column name.", n+1), o.Pos)
		}
		if ref, ok := x.(*tsql.ColumnRef); ok && ref.Table == "" {
			for i, it := range items {
				if foldName(it.name) != foldName(ref.Name) || it.name == "" {
					continue
				}
				if item.output >= 0 {
					a, b := items[item.output], it
					if a.s.column >= 0 && a.s.column == b.s.column {
						continue
					}
					return nil, lineAt(sqlError(209, 16, 1, "Ambiguous column name '%s'.", ref.Name), ref.Pos)
				}
				item.output = i
			}
		}
		if item.output >= 0 {
			item.s = items[item.output].s
		} else {
			s, err := b.scalar(sc, x)
			if err != nil {
				return nil, err
			}
			item.s = s
			for i, it := range items {
				if it.s.column >= 0 && it.s.column == s.column || it.expr != nil && s.column < 0 && boundKey(sc, it.expr) == boundKey(sc, x) {
					item.output = i
					break
				}
			}
			if sel.Distinct && item.output < 0 {
				return nil, lineAt(sqlError(145, 15, 1, "ORDER BY items must appear in the select list if SELECT DISTINCT is specified."), o.Pos)
			}
		}
		item.coll = item.s.typ.Collation
		if collate != "" {
			c, err := b.p.collationNamed(collate)
			if err != nil {
				return nil, lineAt(err.(*value.Error), o.Pos)
			}
			item.coll = c
		}
		if item.output >= 0 {
			if seen[item.output] && collate == "" {
				return nil, lineAt(sqlError(169, 15, 1, "A column has been specified more than once in the order by list. Columns in the order by list must be unique."), o.Pos)
			}
			seen[item.output] = true
		}
		orders = append(orders, item)
	}
	return orders, nil
}

// assignmentValue is what @v = expr or @v += expr stores.
func (b *binder) assignmentValue(sc *scope, name, op string, e tsql.Expr, s *scalar, to value.Type, pos tsql.Pos) (*scalar, error) {
	if op != "=" && op != "" {
		var err error
		s, err = compileScalar(sc, &tsql.Binary{Pos: pos, Op: op[:len(op)-1], L: &tsql.Variable{Pos: pos, Name: name}, R: e})
		if err != nil {
			return nil, err
		}
	}
	return assignTo(s, to)
}

// --- limits ---

// limitPlan is TOP, OFFSET and FETCH.
type limitPlan struct {
	top, offset, fetch *scalar
	percent, ties      bool
	hasTop             bool
}

type limiter struct {
	skip, take int64 // take < 0: all
	percent    float64
	isPercent  bool
	ties       bool
}

func (b *selectBinder) bindLimit(sel *tsql.Select, q *tsql.Query, parent *scope) (*limitPlan, error) {
	l := &limitPlan{}
	sc := b.newScope(parent, b.env)
	compile := func(e tsql.Expr, to value.Type) (*scalar, error) {
		s, err := compileScalar(sc, e)
		if err != nil {
			return nil, err
		}
		b.outer = b.outer || s.outerRefs
		return coerceTo(s, to)
	}
	big := value.Type{Kind: value.BigInt}
	var err error
	if t := sel.Top; t != nil {
		l.hasTop, l.percent, l.ties = true, t.Percent, t.WithTies
		if t.WithTies && (q == nil || len(q.OrderBy) == 0) {
			return nil, lineAt(sqlError(1062, 15, 1, "The TOP N WITH TIES clause is not allowed without a corresponding ORDER BY clause."), t.Pos)
		}
		to := big
		if t.Percent {
			to = value.Type{Kind: value.Float}
		}
		if l.top, err = compile(t.N, to); err != nil {
			return nil, err
		}
	}
	if q != nil && q.Offset != nil {
		if l.hasTop {
			return nil, lineAt(sqlError(10741, 15, 2, "A TOP can not be used in the same query or sub-query as a OFFSET."), sel.Pos)
		}
		if l.offset, err = compile(q.Offset, big); err != nil {
			return nil, err
		}
		if q.Fetch != nil {
			if l.fetch, err = compile(q.Fetch, big); err != nil {
				return nil, err
			}
		}
	}
	return l, nil
}

func (l *limitPlan) start(rc *rowCtx) (limiter, error) {
	lim := limiter{take: -1, ties: l.ties}
	eval := func(s *scalar) (value.Value, error) {
		return s.eval(&rowCtx{ctx: rc.ctx, sess: rc.sess, frame: rc.frame, outer: rc, exec: rc.exec})
	}
	if l.top != nil {
		v, err := eval(l.top)
		if err != nil {
			return lim, err
		}
		if l.percent {
			if v.IsNull() || v.Float() < 0 || v.Float() > 100 {
				return lim, sqlError(1031, 15, 1, "Percent values must be between 0 and 100.")
			}
			lim.isPercent, lim.percent = true, v.Float()
		} else {
			if v.IsNull() || v.Int() < 0 {
				return lim, sqlError(1014, 15, 1, "A TOP or FETCH clause contains an invalid value.")
			}
			lim.take = v.Int()
		}
	}
	if l.offset != nil {
		v, err := eval(l.offset)
		if err != nil {
			return lim, err
		}
		if v.IsNull() || v.Int() < 0 {
			return lim, sqlError(10742, 15, 1, "The offset specified in a OFFSET clause may not be negative.")
		}
		lim.skip = v.Int()
		if l.fetch != nil {
			if v, err = eval(l.fetch); err != nil {
				return lim, err
			}
			if v.IsNull() || v.Int() <= 0 {
				return lim, sqlError(10744, 15, 1, "The number of rows provided for a FETCH clause must be greater then zero.")
			}
			lim.take = v.Int()
		}
	}
	return lim, nil
}

// project evaluates the select list, and applies DISTINCT, ORDER BY and the limit.
func project(rs *runState, feed func(rowFn) error, items []selectItem, orders []orderItem, locators []int, distinct bool, visible int, lim limiter, late bool, each rowFn) error {
	if lim.take == 0 && !lim.isPercent {
		return nil
	}
	width := visible + len(locators)
	straight := true // the row is the select list already
	for i := range items {
		if items[i].s.column != i {
			straight = false
			break
		}
	}
	make_ := func(row []value.Value, extra int) ([]value.Value, error) {
		rs.in.row = row
		if straight && len(locators) == 0 && extra == 0 && len(row) == visible {
			return row, nil
		}
		out := make([]value.Value, width+extra)
		for i := range items {
			if c := items[i].s.column; c >= 0 {
				out[i] = row[c]
				continue
			}
			v, err := items[i].s.eval(&rs.in)
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		for i, l := range locators {
			out[visible+i] = row[l]
		}
		return out, nil
	}
	var seen map[string]bool
	isNew := func(out []value.Value) bool {
		if !distinct {
			return true
		}
		var key []byte
		for i := 0; i < visible; i++ {
			key = value.SortKey(key, out[i], items[i].s.typ.Collation)
		}
		if seen == nil {
			seen = map[string]bool{}
		}
		if seen[string(key)] {
			return false
		}
		seen[string(key)] = true
		return true
	}

	if len(orders) == 0 && !lim.isPercent {
		n := int64(0)
		return feed(func(row []value.Value) (bool, error) {
			out, err := make_(row, 0)
			if err != nil {
				return false, err
			}
			if !isNew(out) {
				return true, nil
			}
			n++
			if n <= lim.skip {
				return true, nil
			}
			more, err := each(out)
			if err != nil || !more {
				return false, err
			}
			return lim.take < 0 || n < lim.skip+lim.take, nil
		})
	}

	type sorted struct {
		out []value.Value
		key string
	}
	var rows []sorted
	if err := feed(func(row []value.Value) (bool, error) {
		out := row
		var err error
		if !late {
			if out, err = make_(row, 0); err != nil {
				return false, err
			}
			if !isNew(out) {
				return true, nil
			}
		}
		var buf [64]byte
		key := buf[:0]
		for _, o := range orders {
			var v value.Value
			if o.output >= 0 && !late {
				v = out[o.output]
			} else {
				rs.in.row = row
				if v, err = o.s.eval(&rs.in); err != nil {
					return false, err
				}
			}
			start := len(key)
			key = value.SortKey(key, v, o.coll)
			if o.desc {
				for i := start; i < len(key); i++ {
					key[i] = ^key[i]
				}
			}
		}
		rows = append(rows, sorted{out, string(key)})
		return true, nil
	}); err != nil {
		return err
	}
	if len(orders) > 0 {
		sort.SliceStable(rows, func(i, j int) bool { return rows[i].key < rows[j].key })
	}
	take := int64(len(rows))
	if lim.isPercent {
		take = int64(ceil(lim.percent / 100 * float64(len(rows))))
	} else if lim.take >= 0 {
		take = min(take, lim.skip+lim.take)
	}
	for i := lim.skip; i < int64(len(rows)); i++ {
		if i >= take && !(lim.ties && take > 0 && rows[i].key == rows[take-1].key) {
			break
		}
		out := rows[i].out
		if late {
			// @v = @v + ... sees what the rows before it have assigned.
			var err error
			if out, err = make_(out, 0); err != nil {
				return err
			}
		}
		if more, err := each(out); err != nil || !more {
			return err
		}
	}
	return nil
}

func ceil(f float64) float64 {
	n := float64(int64(f))
	if f > n {
		n++
	}
	return n
}

// qualified is how messages name a column: dbo.t.c or alias.c.
func qualified(c scopeCol) string {
	if c.schema != "" {
		return fmt.Sprintf("%s.%s.%s", c.schema, c.qualifier, c.name)
	}
	if c.qualifier == "" {
		return c.name
	}
	return c.qualifier + "." + c.name
}

// isJSONExpr reports an expression whose text FOR JSON does not quote.
func isJSONExpr(e tsql.Expr) bool {
	switch e := tsql.Unparen(e).(type) {
	case *tsql.Subquery:
		return e.Query.For != nil && !e.Query.For.XML
	case *tsql.FuncCall:
		switch strings.ToUpper(e.Name.Name) {
		case "JSON_QUERY", "JSON_MODIFY":
			return true
		}
	case *tsql.JSONObject, *tsql.JSONArray:
		return true
	}
	return false
}

// boundKey is exprKey with columns by what they resolve to.
func boundKey(sc *scope, e tsql.Expr) string {
	return exprKey(e, func(c *tsql.ColumnRef) string {
		if s, err := compileScalar(sc, c); err == nil && s.column >= 0 {
			return "#" + strconv.Itoa(s.column)
		}
		return "?" + foldName(c.Table+"."+c.Name)
	})
}
