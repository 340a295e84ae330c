package engine

import (
	"sort"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// windowFunc is one function with OVER, planned.
type windowFunc struct {
	name      string
	typ       value.Type
	nullable  bool
	args      []*scalar
	agg       *aggregate
	partition []*scalar
	order     []sortExpr
	frame     *tsql.Frame
	startN    int64
	endN      int64
	ignore    bool             // IGNORE NULLS
	sequence  *tsql.ObjectName // of NEXT VALUE FOR
}

// bindWindows plans the window functions of the select list and ORDER BY. Their values
// become columns after those of the rows that they are computed over.
func (b *selectBinder) bindWindows(sel *tsql.Select, items []selectItem, order []*tsql.OrderItem, base *scope, group *grouping) ([]*windowFunc, *scope, error) {
	var calls []tsql.Expr
	collect := func(n tsql.Node) bool {
		if e, ok := n.(tsql.Expr); ok && hasOver(e) {
			calls = append(calls, e)
			return false
		}
		return true
	}
	for _, it := range items {
		if it.expr != nil {
			walkExpr(it.expr, collect)
		}
	}
	for _, o := range order {
		walkExpr(o.X, collect)
	}
	if len(calls) == 0 {
		return nil, base, nil
	}
	sc := *base
	sc.cols = append([]scopeCol(nil), base.cols...)
	byCall := map[tsql.Expr]int{}
	var list []*windowFunc
	for _, e := range calls {
		var w *windowFunc
		var err error
		if next, ok := e.(*tsql.NextValue); ok {
			w, err = b.bindNextValues(next, base)
		} else {
			w, err = b.bindWindow(e.(*tsql.FuncCall), sel, base)
		}
		if err != nil {
			return nil, nil, err
		}
		byCall[e] = len(sc.cols)
		sc.cols = append(sc.cols, scopeCol{typ: w.typ, nullable: w.nullable, hidden: true})
		list = append(list, w)
	}
	inner := base.resolve
	sc.resolve = func(e tsql.Expr) (*scalar, bool, error) {
		if hasOver(e) {
			if at, ok := byCall[e]; ok {
				return colScalar(at, sc.cols[at].typ, sc.cols[at].nullable, ""), true, nil
			}
		}
		if inner != nil {
			return inner(e)
		}
		return nil, false, nil
	}
	return list, &sc, nil
}

// hasOver reports whether an expression is computed over the rows of the result.
func hasOver(e tsql.Expr) bool {
	switch e := e.(type) {
	case *tsql.FuncCall:
		return e.Over != nil
	case *tsql.NextValue:
		return e.Over != nil
	}
	return false
}

// bindNextValues plans NEXT VALUE FOR ... OVER (ORDER BY ...): the rows draw their values in that order.
func (b *selectBinder) bindNextValues(e *tsql.NextValue, sc *scope) (*windowFunc, error) {
	if len(e.Over.PartitionBy) > 0 || e.Over.Frame != nil || e.Over.Name != "" || len(e.Over.OrderBy) == 0 {
		return nil, lineAt(sqlError(11716, 15, 1, "NEXT VALUE FOR function does not support the PARTITION BY clause."), e.Pos)
	}
	typ, err := b.p.sequenceType(e.Sequence)
	if err != nil {
		return nil, err
	}
	w := &windowFunc{typ: typ, sequence: &e.Sequence}
	for _, o := range e.Over.OrderBy {
		s, err := b.scalar(sc, o.X)
		if err != nil {
			return nil, err
		}
		w.order = append(w.order, sortExpr{s: s, desc: o.Desc})
	}
	return w, nil
}

func (b *selectBinder) bindWindow(f *tsql.FuncCall, sel *tsql.Select, sc *scope) (*windowFunc, error) {
	w := &windowFunc{name: strings.ToUpper(f.Name.Name), ignore: f.NullOption == "IGNORE NULLS"}
	over := f.Over
	for depth := 0; over.Name != "" && depth < 10; depth++ {
		var named *tsql.Window
		for _, n := range sel.Windows {
			if foldName(n.Name) == foldName(over.Name) {
				named = n.Def
			}
		}
		if named == nil {
			return nil, lineAt(sqlError(5362, 16, 1, "Window '%s' is undefined.", over.Name), f.Pos)
		}
		merged := *named
		if len(over.PartitionBy) > 0 {
			merged.PartitionBy = over.PartitionBy
		}
		if len(over.OrderBy) > 0 {
			merged.OrderBy = over.OrderBy
		}
		if over.Frame != nil {
			merged.Frame = over.Frame
		}
		over = &merged
	}
	scalarOf := func(e tsql.Expr) (*scalar, error) { return b.scalar(sc, e) }
	for _, e := range over.PartitionBy {
		s, err := scalarOf(e)
		if err != nil {
			return nil, err
		}
		w.partition = append(w.partition, s)
	}
	orderBy := over.OrderBy
	if w.name == "PERCENTILE_CONT" || w.name == "PERCENTILE_DISC" {
		orderBy = f.WithinGroup
	}
	for _, o := range orderBy {
		s, err := scalarOf(o.X)
		if err != nil {
			return nil, err
		}
		if s.literal && !s.subqueries && s.column < 0 {
			if l, ok := tsql.Unparen(o.X).(*tsql.Literal); ok && l.Kind == tsql.LitInt {
				return nil, lineAt(sqlError(5308, 16, 1, "Windowed functions, aggregates and NEXT VALUE FOR functions do not support integer indices as ORDER BY clause expressions."), f.Pos)
			}
			if _, ok := tsql.Unparen(o.X).(*tsql.Literal); ok {
				return nil, lineAt(sqlError(5309, 16, 1, "Windowed functions, aggregates and NEXT VALUE FOR functions do not support constants as ORDER BY clause expressions."), f.Pos)
			}
		}
		w.order = append(w.order, sortExpr{s, o.Desc})
	}
	w.frame = over.Frame
	if w.frame != nil {
		if len(w.order) == 0 {
			return nil, lineAt(sqlError(10756, 15, 1, "Window frame with ROWS or RANGE must have an ORDER BY clause."), f.Pos)
		}
		if !windowTakesFrame(w.name) {
			return nil, lineAt(sqlError(10752, 15, 1, "The function '%s' may not have a window frame.", f.Name.Name), f.Pos)
		}
		from, to := w.frame.Start.Kind, w.frame.End.Kind
		if from == tsql.UnboundedFollowing || to == tsql.UnboundedPreceding || from > to {
			return nil, lineAt(sqlError(4193, 16, 1, "'BETWEEN %s AND %s' is not a valid window frame and cannot be used with the OVER clause.", frameBoundText[from], frameBoundText[to]), f.Pos)
		}
		bound := func(fb tsql.FrameBound) (int64, error) {
			if fb.N == nil {
				return 0, nil
			}
			if !w.frame.Rows {
				return 0, lineAt(sqlError(4194, 16, 1, "RANGE is only supported with UNBOUNDED and CURRENT ROW window frame delimiters."), f.Pos)
			}
			s, err := compileScalar(b.newScope(nil, b.env), fb.N)
			if err != nil {
				return 0, err
			}
			v, err := constantValue(b.p, s)
			return v.Int(), err
		}
		var err error
		if w.startN, err = bound(w.frame.Start); err != nil {
			return nil, err
		}
		if w.endN, err = bound(w.frame.End); err != nil {
			return nil, err
		}
	}
	needOrder := func() error {
		if len(w.order) == 0 {
			return lineAt(sqlError(4112, 15, 1, "The function '%s' must have an OVER clause with ORDER BY.", f.Name.Name), f.Pos)
		}
		return nil
	}
	for _, e := range f.Args {
		if isAggregateName(f.Name.Name) {
			break
		}
		s, err := scalarOf(e)
		if err != nil {
			return nil, err
		}
		w.args = append(w.args, s)
	}
	argCount := func(lo, hi int) error {
		if len(w.args) < lo || len(w.args) > hi {
			return lineAt(sqlError(174, 15, 1, "The %s function requires %d argument(s).", f.Name.Name, lo), f.Pos)
		}
		return nil
	}
	big := value.Type{Kind: value.BigInt}
	switch w.name {
	case "ROW_NUMBER", "RANK", "DENSE_RANK":
		w.typ = big
		if err := argCount(0, 0); err != nil {
			return nil, err
		}
		return w, needOrder()
	case "NTILE":
		w.typ = big
		if err := argCount(1, 1); err != nil {
			return nil, err
		}
		s, err := coerceTo(w.args[0], big)
		if err != nil {
			return nil, err
		}
		w.args[0] = s
		return w, needOrder()
	case "PERCENT_RANK", "CUME_DIST":
		w.typ = value.Type{Kind: value.Float}
		return w, needOrder()
	case "LAG", "LEAD":
		if err := argCount(1, 3); err != nil {
			return nil, err
		}
		w.typ, w.nullable = w.args[0].typ, true
		if len(w.args) > 1 {
			s, err := coerceTo(w.args[1], big)
			if err != nil {
				return nil, err
			}
			w.args[1] = s
		}
		if len(w.args) > 2 {
			s, err := coerceTo(w.args[2], w.typ)
			if err != nil {
				return nil, err
			}
			w.args[2] = s
		}
		return w, needOrder()
	case "FIRST_VALUE", "LAST_VALUE":
		if err := argCount(1, 1); err != nil {
			return nil, err
		}
		w.typ, w.nullable = w.args[0].typ, true
		return w, needOrder()
	case "PERCENTILE_CONT", "PERCENTILE_DISC":
		if err := argCount(1, 1); err != nil {
			return nil, err
		}
		if len(w.order) != 1 {
			return nil, lineAt(sqlError(10754, 15, 1, "The function '%s' must have a WITHIN GROUP clause.", f.Name.Name), f.Pos)
		}
		s, err := coerceTo(w.args[0], value.Type{Kind: value.Float})
		if err != nil {
			return nil, err
		}
		w.args[0] = s
		w.typ, w.nullable = w.order[0].s.typ, true
		if w.name == "PERCENTILE_CONT" {
			w.typ = value.Type{Kind: value.Float}
		}
		return w, nil
	}
	if !isAggregateName(f.Name.Name) {
		return nil, lineAt(sqlError(4113, 16, 1, "The function '%s' is not a valid windowing function, and cannot be used with the OVER clause.", f.Name.Name), f.Pos)
	}
	if f.Distinct {
		return nil, lineAt(sqlError(10759, 15, 1, "Use of DISTINCT is not allowed with the OVER clause."), f.Pos)
	}
	a, err := b.bindAggregate(f, sc)
	if err != nil {
		return nil, err
	}
	w.agg, w.typ, w.nullable = a, a.typ, a.nullable
	return w, nil
}

// windowTakesFrame reports whether a function works on a frame: ranking functions and
// those that look at a certain row do not.
func windowTakesFrame(name string) bool {
	switch name {
	case "ROW_NUMBER", "RANK", "DENSE_RANK", "NTILE", "PERCENT_RANK", "CUME_DIST", "LAG", "LEAD", "PERCENTILE_CONT", "PERCENTILE_DISC":
		return false
	}
	return true
}

var frameBoundText = map[tsql.BoundKind]string{
	tsql.UnboundedPreceding: "UNBOUNDED PRECEDING", tsql.Preceding: "... PRECEDING", tsql.CurrentRow: "CURRENT ROW",
	tsql.Following: "... FOLLOWING", tsql.UnboundedFollowing: "UNBOUNDED FOLLOWING",
}

// runWindows computes window functions over all rows of from.
func runWindows(rs *runState, list []*windowFunc, from func(rowFn) error, each rowFn) error {
	var rows [][]value.Value
	if err := from(func(row []value.Value) (bool, error) {
		full := make([]value.Value, len(row), len(row)+len(list))
		copy(full, row)
		rows = append(rows, full)
		return true, nil
	}); err != nil {
		return err
	}
	for _, w := range list {
		vals := make([]value.Value, len(rows))
		if err := w.compute(rs, rows, vals); err != nil {
			return err
		}
		for i := range rows {
			rows[i] = append(rows[i], vals[i])
		}
	}
	// Without an ORDER BY of its own, SQL Server returns rows as the last window sorted them.
	if len(rows) > 1 {
		if order, err := list[len(list)-1].sorted(rs, rows); err == nil {
			for _, o := range order {
				if more, err := each(rows[o.at]); err != nil || !more {
					return err
				}
			}
			return nil
		}
	}
	for _, row := range rows {
		if more, err := each(row); err != nil || !more {
			return err
		}
	}
	return nil
}

type windowRow struct {
	at        int
	partition string
	order     string
}

// sorted sorts the rows by partition and order.
func (w *windowFunc) sorted(rs *runState, rows [][]value.Value) ([]windowRow, error) {
	out := make([]windowRow, len(rows))
	for i, row := range rows {
		rs.in.row = row
		var part, ord []byte
		for _, p := range w.partition {
			v, err := p.eval(&rs.in)
			if err != nil {
				return nil, err
			}
			part = value.SortKey(part, v, p.typ.Collation)
		}
		for _, o := range w.order {
			v, err := o.s.eval(&rs.in)
			if err != nil {
				return nil, err
			}
			start := len(ord)
			ord = value.SortKey(ord, v, o.s.typ.Collation)
			if o.desc {
				for j := start; j < len(ord); j++ {
					ord[j] = ^ord[j]
				}
			}
		}
		out[i] = windowRow{i, string(part), string(ord)}
	}
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].partition != out[j].partition {
			return out[i].partition < out[j].partition
		}
		return out[i].order < out[j].order
	})
	return out, nil
}

func (w *windowFunc) compute(rs *runState, rows [][]value.Value, vals []value.Value) error {
	order, err := w.sorted(rs, rows)
	if err != nil {
		return err
	}
	for start := 0; start < len(order); {
		end := start
		for end < len(order) && order[end].partition == order[start].partition {
			end++
		}
		if err := w.computePartition(rs, rows, order[start:end], vals); err != nil {
			return err
		}
		start = end
	}
	return nil
}

func (w *windowFunc) computePartition(rs *runState, rows [][]value.Value, part []windowRow, vals []value.Value) error {
	if w.sequence != nil {
		for i := range part {
			v, err := rs.in.sess.be.nextSequence(&rs.in, *w.sequence)
			if err != nil {
				return err
			}
			vals[part[i].at] = v
		}
		return nil
	}
	n := len(part)
	eval := func(s *scalar, i int) (value.Value, error) {
		rs.in.row = rows[part[i].at]
		return s.eval(&rs.in)
	}
	big := func(i int) value.Value { return value.NewInt(value.BigInt, int64(i)) }
	// peers of i: the rows with the same order, from first to last.
	firstPeer, lastPeer := make([]int, n), make([]int, n)
	for i := 0; i < n; {
		j := i
		for j < n && part[j].order == part[i].order {
			j++
		}
		for k := i; k < j; k++ {
			firstPeer[k], lastPeer[k] = i, j-1
		}
		i = j
	}
	switch w.name {
	case "ROW_NUMBER":
		for i := range part {
			vals[part[i].at] = big(i + 1)
		}
	case "RANK":
		for i := range part {
			vals[part[i].at] = big(firstPeer[i] + 1)
		}
	case "DENSE_RANK":
		rank := 0
		for i := range part {
			if firstPeer[i] == i {
				rank++
			}
			vals[part[i].at] = big(rank)
		}
	case "NTILE":
		for i := range part {
			v, err := eval(w.args[0], i)
			if err != nil {
				return err
			}
			k := int(v.Int())
			if v.IsNull() || k <= 0 {
				return sqlError(5330, 16, 1, "The NTILE function requires a positive bigint expression.")
			}
			size, extra := n/k, n%k
			if i < (size+1)*extra {
				vals[part[i].at] = big(i/(size+1) + 1)
			} else {
				vals[part[i].at] = big((i-(size+1)*extra)/max(size, 1) + extra + 1)
			}
		}
	case "PERCENT_RANK":
		for i := range part {
			f := 0.0
			if n > 1 {
				f = float64(firstPeer[i]) / float64(n-1)
			}
			vals[part[i].at] = value.NewFloat(f)
		}
	case "CUME_DIST":
		for i := range part {
			vals[part[i].at] = value.NewFloat(float64(lastPeer[i]+1) / float64(n))
		}
	case "LAG", "LEAD":
		for i := range part {
			off := int64(1)
			if len(w.args) > 1 {
				v, err := eval(w.args[1], i)
				if err != nil {
					return err
				}
				if v.IsNull() || v.Int() < 0 {
					return sqlError(8730, 16, 1, "Offset parameter for Lag and Lead functions cannot be a negative value.")
				}
				off = v.Int()
			}
			step := 1
			if w.name == "LAG" {
				step = -1
			}
			v := value.NewNull(w.typ.Kind)
			found := false
			at := i
			for left := off; ; {
				if left == 0 {
					var err error
					if v, err = eval(w.args[0], at); err != nil {
						return err
					}
					found = true
					break
				}
				at += step
				if at < 0 || at >= n {
					break
				}
				if w.ignore {
					c, err := eval(w.args[0], at)
					if err != nil {
						return err
					}
					if c.IsNull() {
						continue
					}
				}
				left--
			}
			if !found && len(w.args) > 2 {
				var err error
				if v, err = eval(w.args[2], i); err != nil {
					return err
				}
			}
			vals[part[i].at] = v
		}
	case "PERCENTILE_CONT", "PERCENTILE_DISC":
		var list []value.Value
		for i := range part {
			v, err := eval(w.order[0].s, i)
			if err != nil {
				return err
			}
			if !v.IsNull() {
				list = append(list, v)
			}
		}
		for i := range part {
			p, err := eval(w.args[0], i)
			if err != nil {
				return err
			}
			if p.IsNull() || p.Float() < 0 || p.Float() > 1 {
				return sqlError(10751, 15, 1, "The ORDER BY in WITHIN GROUP clause of '%s' function must have exactly one expression.", w.name)
			}
			v := value.NewNull(w.typ.Kind)
			if len(list) > 0 {
				if w.name == "PERCENTILE_DISC" {
					at := max(int(ceil(p.Float()*float64(len(list))))-1, 0)
					v = list[at]
				} else {
					pos := p.Float() * float64(len(list)-1)
					lo := int(pos)
					hi := min(lo+1, len(list)-1)
					a, b := numberOf(list[lo]), numberOf(list[hi])
					v = value.NewFloat(a + (b-a)*(pos-float64(lo)))
				}
			}
			vals[part[i].at] = v
		}
	default:
		return w.overFrames(rs, rows, part, vals, firstPeer, lastPeer)
	}
	return nil
}

// numberOf is a numeric value as a float.
func numberOf(v value.Value) float64 {
	switch {
	case v.Kind().IsApproximate():
		return v.Float()
	case v.Kind() == value.Decimal || v.Kind().IsMoney():
		n, scale := v.Dec()
		f, _ := n.Float64()
		for ; scale > 0; scale-- {
			f /= 10
		}
		return f
	}
	return float64(v.Int())
}

// overFrames computes aggregates, FIRST_VALUE and LAST_VALUE.
func (w *windowFunc) overFrames(rs *runState, rows [][]value.Value, part []windowRow, vals []value.Value, firstPeer, lastPeer []int) error {
	n := len(part)
	bounds := func(i int) (lo, hi int) {
		lo, hi = 0, n-1
		if w.frame == nil {
			if len(w.order) > 0 {
				hi = lastPeer[i]
			}
			return
		}
		at := func(b tsql.FrameBound, k int64, start bool) int {
			switch b.Kind {
			case tsql.UnboundedPreceding:
				return 0
			case tsql.UnboundedFollowing:
				return n - 1
			case tsql.Preceding:
				return i - int(k)
			case tsql.Following:
				return i + int(k)
			}
			if w.frame.Rows {
				return i
			}
			if start {
				return firstPeer[i]
			}
			return lastPeer[i]
		}
		return max(at(w.frame.Start, w.startN, true), 0), min(at(w.frame.End, w.endN, false), n-1)
	}
	if w.agg == nil {
		for i := range part {
			lo, hi := bounds(i)
			v := value.NewNull(w.typ.Kind)
			for k := 0; lo+k <= hi; k++ {
				at := lo + k
				if w.name == "LAST_VALUE" {
					at = hi - k
				}
				rs.in.row = rows[part[at].at]
				c, err := w.args[0].eval(&rs.in)
				if err != nil {
					return err
				}
				if v = c; !w.ignore || !c.IsNull() {
					break
				}
			}
			vals[part[i].at] = v
		}
		return nil
	}
	// A frame that starts at the beginning grows: one accumulator serves all rows.
	grows := w.frame == nil || w.frame.Start.Kind == tsql.UnboundedPreceding
	var acc accumulator
	upTo := -1
	var last value.Value
	for i := range part {
		lo, hi := bounds(i)
		if !grows || acc == nil {
			acc, upTo = w.agg.start(rs), lo-1
		}
		fresh := false
		for upTo < hi {
			upTo++
			rs.in.row = rows[part[upTo].at]
			if err := acc.add(&rs.in); err != nil {
				return err
			}
			fresh = true
		}
		if fresh || i == 0 || !grows {
			v, err := acc.result()
			if err != nil {
				return err
			}
			last = v
		}
		vals[part[i].at] = last
	}
	return nil
}
