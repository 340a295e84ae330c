package engine

import (
	"strconv"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// sarg is a condition on one column that an index can seek: column op value.
type sarg struct {
	column int // ordinal in the select's row
	op     string
	vals   []keyExpr // one, or several for IN; none for IS NULL
	from   *conjunct
}

// keyExpr is a value to seek by, converted to the type of the column.
type keyExpr struct {
	src  *scalar
	to   value.Type
	need itemSet
}

// access is how a table is read.
type access struct {
	index    int // position in table.indexes
	eq       []sarg
	in       *sarg
	inAt     int
	low      *sarg
	high     *sarg
	backward bool
	ordered  bool
	point    bool
	lookup   bool // rows of the table are needed besides the index entry
	cost     int
	nullLow  bool // a range on a nullable column must skip NULL
}

// findSargs looks for seekable conditions in c.
func (b *selectBinder) findSargs(c *conjunct) error {
	if c.pred.constant && c.sources == 0 {
		return nil
	}
	add := func(col, val tsql.Expr, op string) error {
		ref, ok := tsql.Unparen(col).(*tsql.ColumnRef)
		if !ok {
			return nil
		}
		cs, err := compileScalar(b.scope, ref)
		if err != nil || cs.column < 0 {
			return nil
		}
		vs, err := compileScalar(b.scope, val)
		if err != nil || vs.subqueries {
			return nil
		}
		k, ok := seekable(cs, vs)
		if !ok {
			return nil
		}
		k.need = b.sources(vs.cols)
		if k.need&b.sources([]int{cs.column}) != 0 {
			return nil
		}
		c.sargs = append(c.sargs, sarg{column: cs.column, op: op, vals: []keyExpr{k}, from: c})
		return nil
	}
	switch e := tsql.Unparen(c.ast).(type) {
	case *tsql.Compare:
		flip := map[string]string{"=": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
		if flip[e.Op] == "" {
			return nil
		}
		if err := add(e.L, e.R, e.Op); err != nil {
			return err
		}
		return add(e.R, e.L, flip[e.Op])
	case *tsql.Between:
		if e.Not {
			return nil
		}
		if err := add(e.X, e.Lo, ">="); err != nil {
			return err
		}
		return add(e.X, e.Hi, "<=")
	case *tsql.IsNull:
		ref, ok := tsql.Unparen(e.X).(*tsql.ColumnRef)
		if !ok || e.Not {
			return nil
		}
		cs, err := compileScalar(b.scope, ref)
		if err != nil || cs.column < 0 {
			return nil
		}
		c.sargs = append(c.sargs, sarg{column: cs.column, op: "IS NULL", from: c})
	case *tsql.In:
		if e.Not || e.Query != nil {
			return nil
		}
		before := len(c.sargs)
		for _, v := range e.List {
			if err := add(e.X, v, "="); err != nil {
				return err
			}
		}
		if len(c.sargs)-before != len(e.List) {
			c.sargs = c.sargs[:before]
			return nil
		}
		all := sarg{column: 0, op: "IN", from: c}
		for _, s := range c.sargs[before:] {
			all.column = s.column
			all.vals = append(all.vals, s.vals...)
		}
		if len(all.vals) == 1 {
			all.op = "="
		}
		c.sargs = append(c.sargs[:before], all)
	case *tsql.Logical:
		// a = 1 OR a = 2 is an IN.
		var vals []sarg
		if !b.orSargs(e, c, &vals) {
			return nil
		}
		all := sarg{column: vals[0].column, op: "IN", from: c}
		for _, s := range vals {
			if s.column != all.column {
				return nil
			}
			all.vals = append(all.vals, s.vals...)
		}
		c.sargs = append(c.sargs, all)
	}
	return nil
}

func (b *selectBinder) orSargs(e *tsql.Logical, c *conjunct, out *[]sarg) bool {
	if e.Op != "OR" {
		return false
	}
	for _, side := range []tsql.Expr{e.L, e.R} {
		switch s := tsql.Unparen(side).(type) {
		case *tsql.Logical:
			if !b.orSargs(s, c, out) {
				return false
			}
		case *tsql.Compare:
			if s.Op != "=" {
				return false
			}
			probe := &conjunct{ast: s, pred: c.pred, sources: c.sources}
			if err := b.findSargs(probe); err != nil || len(probe.sargs) != 1 {
				return false
			}
			*out = append(*out, probe.sargs[0])
		default:
			return false
		}
	}
	return true
}

// seekable reports whether comparing the column with the value compares in the type
// and collation of the column.
func seekable(col, val *scalar) (keyExpr, bool) {
	ct, vt := col.typ, val.typ
	if ct.Kind.IsCharacter() != vt.Kind.IsCharacter() && vt.Kind != value.Unknown {
		// A string against another type is compared as the other type.
		if ct.Kind.IsCharacter() {
			return keyExpr{}, false
		}
	}
	if ct.Kind.IsCharacter() && vt.Kind.IsCharacter() {
		if (val.coercible == explicitCollation || val.coercible == implicitCollation) && val.typ.Collation != ct.Collation {
			return keyExpr{}, false
		}
	}
	if vt.Kind == value.Variant || ct.Kind == value.Variant {
		return keyExpr{}, false
	}
	if ct.Kind.IsTemporal() && vt.Kind.IsNumeric() || ct.Kind.IsNumeric() && vt.Kind.IsTemporal() || ct.Kind.IsBinary() != vt.Kind.IsBinary() && vt.Kind != value.Unknown {
		return keyExpr{}, false
	}
	// A comparison in another type than the column's would round the column.
	if vt.Kind.IsApproximate() && !ct.Kind.IsApproximate() {
		return keyExpr{}, false
	}
	return keyExpr{src: val, to: ct}, true
}

// chooser picks the access to one base table.
type chooser struct {
	b     *selectBinder
	it    *fromItem
	bound itemSet
	pool  []*conjunct
	order []orderColumn // wanted order, as ordinals of the select's row; nil: none
}

// orderColumn is one column of a sort order.
type orderColumn struct {
	ordinal int
	desc    bool
}

// choose returns the best access. The rule is simple, so that plans are predictable and
// do not depend on how many rows there are: more equality columns beat fewer, a range
// after them helps, a unique key found whole beats all; then an index that gives the
// wanted order, one that covers, and the clustered one.
func (c *chooser) choose() (*access, error) {
	it := c.it
	avail := c.available()
	var best *access
	bestScore := -1
	hinted, err := c.hinted()
	if err != nil {
		return nil, err
	}
	seekWanted := it.hints.forceSeek
	for pos, ix := range it.t.indexes {
		if ix.disabled || hinted != nil && !hinted[pos] {
			continue
		}
		if ix.filter != nil && !c.filterImplied(ix, avail) {
			if hinted != nil {
				return nil, errNoPlan()
			}
			continue
		}
		a := c.consider(pos, ix, avail)
		if it.hints.forceScan {
			a.eq, a.in, a.low, a.high, a.point = nil, nil, nil, nil, false
		}
		seeks := len(a.eq) > 0 || a.in != nil || a.low != nil || a.high != nil
		if seekWanted && !seeks {
			continue
		}
		if len(it.hints.seekColumns) > 0 {
			n := len(a.eq)
			if a.low != nil || a.high != nil || a.in != nil {
				n++
			}
			if n < len(it.hints.seekColumns) {
				continue
			}
		}
		score := c.score(a, ix, seeks)
		if score > bestScore {
			best, bestScore = a, score
		}
	}
	if best == nil {
		return nil, errNoPlan()
	}
	return best, nil
}

func errNoPlan() error {
	return sqlError(8622, 16, 1, "Query processor could not produce a query plan because of the hints defined in this query. Resubmit the query without specifying any hints and without using SET FORCEPLAN.")
}

// available are the sargs on the table whose values are known by the time it is read.
func (c *chooser) available() []sarg {
	var list []sarg
	for _, cj := range c.pool {
		for _, s := range cj.sargs {
			if s.column < c.it.start || s.column >= c.it.end {
				continue
			}
			ok := true
			for _, v := range s.vals {
				if v.need&^c.bound != 0 {
					ok = false
				}
			}
			if ok {
				list = append(list, s)
			}
		}
	}
	return list
}

// hinted are the positions that INDEX(...) allows; nil without such a hint.
func (c *chooser) hinted() (map[int]bool, error) {
	if len(c.it.hints.indexes) == 0 {
		return nil, nil
	}
	set := map[int]bool{}
	for _, name := range c.it.hints.indexes {
		found := false
		for pos, ix := range c.it.t.indexes {
			n, err := strconv.Atoi(name)
			if strings.EqualFold(ix.name, name) && !ix.heap || err == nil && (int(ix.id) == n || n == 0 && pos == 0) {
				set[pos] = true
				found = true
			}
		}
		if !found {
			return nil, sqlError(308, 16, 1, "Index '%s' on table '%s' (specified in the FROM clause) does not exist.", name, c.it.t.shortName())
		}
	}
	return set, nil
}

func (c *chooser) consider(pos int, ix *index, avail []sarg) *access {
	it := c.it
	a := &access{index: pos}
	find := func(col int, ops ...string) *sarg {
		for _, op := range ops {
			for i := range avail {
				if avail[i].column == it.start+col && avail[i].op == op {
					return &avail[i]
				}
			}
		}
		return nil
	}
	n := 0
	for _, k := range ix.keys {
		if s := find(k.column, "=", "IS NULL"); s != nil {
			a.eq = append(a.eq, *s)
			n++
			continue
		}
		if s := find(k.column, "IN"); s != nil && a.in == nil {
			a.in, a.inAt = s, n
			a.eq = append(a.eq, *s)
			n++
			continue
		}
		a.low, a.high = find(k.column, ">", ">="), find(k.column, "<", "<=")
		if a.high != nil && a.low == nil && it.t.columns[k.column].nullable {
			a.nullLow = true
		}
		break
	}
	a.point = ix.unique && n == len(ix.keys) && n > 0
	// Which order the rows come in, after columns that are fixed.
	if len(c.order) > 0 && a.in == nil {
		a.ordered, a.backward = c.gives(ix, a, n)
		if !a.ordered {
			a.backward = false
		}
	}
	if pos > 0 {
		a.lookup = it.locator >= 0 && c.b.wish.whole
		answered := c.answeredByFilter(ix, avail)
		for col := range it.t.columns {
			if c.b.used[it.start+col] > answered[it.start+col] && !ix.covers(it.t, col) {
				a.lookup = true
			}
		}
	}
	return a
}

// answeredByFilter counts, for each column, the conditions that say what the filter of
// the index says: they are true of every entry, so they do not need the row. SQL Server
// does not see that of IS NULL.
func (c *chooser) answeredByFilter(ix *index, avail []sarg) map[int]int {
	var answered map[int]int
	answer := func(cj *conjunct) {
		if answered == nil {
			answered = map[int]int{}
		}
		for _, col := range cj.pred.cols {
			answered[col]++
		}
	}
	for _, f := range ix.filterIn {
		if f.op == "IS NULL" {
			continue
		}
		for _, cj := range c.pool {
			if !cj.pushed && cj.sources == c.it.items() && plainKey(cj.ast) == f.key || c.says(cj, f, avail) {
				answer(cj)
			}
		}
	}
	return answered
}

// says reports whether a condition compares the column of a filter term with the same
// constant in the same way.
func (c *chooser) says(cj *conjunct, f filterTerm, avail []sarg) bool {
	if len(cj.sargs) != 1 || len(cj.pred.cols) != 1 || cj.sargs[0].op != f.op || len(f.vals) != 1 {
		return false
	}
	for _, s := range avail {
		if s.from != cj || s.column != c.it.start+f.column || len(s.vals) != 1 || !s.vals[0].src.literal {
			continue
		}
		v, err := constantValue(c.b.p, s.vals[0].src)
		if err != nil || v.IsNull() {
			return false
		}
		v, exact := keyValue(v, s.vals[0].src.typ, s.vals[0].to)
		return exact && value.Compare(v, f.vals[0], c.it.t.columns[f.column].typ.Collation) == 0
	}
	return false
}

// covers reports whether a nonclustered index stores the column.
func (ix *index) covers(t *table, col int) bool {
	for _, k := range ix.keys {
		if k.column == col {
			return true
		}
	}
	for _, c := range ix.include {
		if c == col {
			return true
		}
	}
	if !t.indexes[0].heap {
		for _, k := range t.indexes[0].keys {
			if k.column == col {
				return true
			}
		}
	}
	return false
}

// gives reports whether reading the index gives the wanted order, and in which direction.
func (c *chooser) gives(ix *index, a *access, fixed int) (ok, backward bool) {
	keys := append([]indexKey(nil), ix.keys...)
	if !ix.clustered && !ix.heap && !c.it.t.indexes[0].heap {
		if !ix.unique {
			for _, k := range c.it.t.indexes[0].keys {
				dup := false
				for _, have := range ix.keys {
					dup = dup || have.column == k.column
				}
				if !dup {
					keys = append(keys, k) // in the direction of the clustered key
				}
			}
		}
	}
	isFixed := map[int]bool{}
	for _, s := range a.eq {
		isFixed[s.column-c.it.start] = true
	}
	for _, s := range c.available() {
		if s.op == "=" || s.op == "IS NULL" {
			isFixed[s.column-c.it.start] = true
		}
	}
	at, dir := fixed, 0
	for _, o := range c.order {
		if o.ordinal < c.it.start || o.ordinal >= c.it.end {
			return false, false
		}
		col := o.ordinal - c.it.start
		if isFixed[col] {
			continue
		}
		for at < len(keys) && isFixed[keys[at].column] {
			at++
		}
		if at >= len(keys) {
			// A unique index has told all rows apart by now.
			return ix.unique && at >= len(ix.keys), dir < 0
		}
		if keys[at].column != col {
			return false, false
		}
		d := 1
		if keys[at].desc != o.desc {
			d = -1
		}
		if dir == 0 {
			dir = d
		}
		if dir != d {
			return false, false
		}
		at++
	}
	return true, dir < 0
}

func (c *chooser) score(a *access, ix *index, seeks bool) int {
	score := 100 * len(a.eq)
	if a.in != nil {
		score -= 5
	}
	if a.low != nil || a.high != nil {
		score += 50
	}
	if a.point {
		score += 1000
	}
	if a.ordered && len(c.order) > 0 {
		score += 75
	}
	if ix.filter != nil {
		score += 60
	}
	if !a.lookup {
		score += 20
		if a.index > 0 && !seeks && c.it.locator < 0 {
			score += 2 // the narrower index to scan
		}
	} else if !seeks && ix.filter == nil && !(a.ordered && len(c.order) > 0) {
		score = -1 + boolInt(len(c.it.hints.indexes) > 0)
	}
	if a.index == 0 {
		score++
	}
	a.cost = c.it.rows
	switch {
	case a.point:
		a.cost = 1
	case len(a.eq) > 0:
		a.cost = 10
	case a.low != nil || a.high != nil:
		a.cost = 100
	}
	return score
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// filterTerm is one condition of a filtered index: column op constants.
type filterTerm struct {
	column int
	op     string // =, <>, <, <=, >, >=, IN, IS NULL, IS NOT NULL
	vals   []value.Value
	key    string
}

// filterImplied reports whether the conditions of the query imply the index's filter.
func (c *chooser) filterImplied(ix *index, avail []sarg) bool {
	for _, f := range ix.filterIn {
		if !c.termImplied(f, avail) {
			return false
		}
	}
	return true
}

func (c *chooser) termImplied(f filterTerm, avail []sarg) bool {
	for _, cj := range c.pool {
		if !cj.pushed && cj.sources == c.it.items() && plainKey(cj.ast) == f.key {
			return true
		}
	}
	coll := c.it.t.columns[f.column].typ.Collation
	for _, s := range avail {
		if s.column != c.it.start+f.column {
			continue
		}
		if f.op == "IS NOT NULL" && s.op != "IS NULL" {
			return true
		}
		// Constants of the query that all meet the filter.
		all := len(s.vals) > 0
		for _, k := range s.vals {
			if !k.src.literal {
				all = false
				break
			}
			v, err := constantValue(c.b.p, k.src)
			if err != nil || v.IsNull() {
				all = false
				break
			}
			v, exact := keyValue(v, k.src.typ, k.to)
			if !exact || !f.meets(s.op, v, coll) {
				all = false
				break
			}
		}
		if all {
			return true
		}
	}
	return false
}

// meets reports whether every x with x op v meets the filter term.
func (f filterTerm) meets(op string, v value.Value, coll value.Collation) bool {
	cmp := func(w value.Value) int { return value.Compare(v, w, coll) }
	point := op == "=" || op == "IN"
	switch f.op {
	case "=", "IN":
		if !point {
			return false
		}
		for _, w := range f.vals {
			if cmp(w) == 0 {
				return true
			}
		}
		return false
	case "<>":
		return point && cmp(f.vals[0]) != 0
	case "<":
		return (point || op == "<=") && cmp(f.vals[0]) < 0 || op == "<" && cmp(f.vals[0]) <= 0
	case "<=":
		return (point || op == "<=" || op == "<") && cmp(f.vals[0]) <= 0
	case ">":
		return (point || op == ">=") && cmp(f.vals[0]) > 0 || op == ">" && cmp(f.vals[0]) >= 0
	case ">=":
		return (point || op == ">=" || op == ">") && cmp(f.vals[0]) >= 0
	}
	return false
}

// constantValue evaluates an expression without columns.
func constantValue(p *planner, s *scalar) (value.Value, error) {
	return s.eval(&rowCtx{ctx: p.ctx(), sess: p.sess, frame: p.innermost()})
}

// keyValue converts a value to the type of a column to seek by. exact is false if the
// conversion loses something, so that the seek would find the wrong rows.
func keyValue(v value.Value, from, to value.Type) (value.Value, bool) {
	if v.IsNull() {
		return value.NewNull(to.Kind), true
	}
	if v.Kind() == to.Kind && !to.Kind.HasScale() && to.Kind != value.Decimal {
		return v, true
	}
	if v.Kind().IsCharacter() && to.Kind.IsCharacter() {
		if to.Kind.IsUnicode() || !v.Kind().IsUnicode() {
			return v.WithKind(to.Kind), true
		}
	}
	if v.Kind().IsInteger() && to.Kind.IsInteger() {
		n := v.Int()
		switch to.Kind {
		case value.Bit:
			if n != 0 && n != 1 {
				return v, false
			}
		case value.TinyInt:
			if n < 0 || n > 255 {
				return v, false
			}
		case value.SmallInt:
			if n != int64(int16(n)) {
				return v, false
			}
		case value.Int:
			if n != int64(int32(n)) {
				return v, false
			}
		}
		return value.NewInt(to.Kind, n), true
	}
	wide := to
	if to.Kind.IsCharacter() || to.Kind.IsBinary() {
		wide.Length = value.Max
	}
	c, err := value.Convert(v, from, wide, 0, value.ConvertEnv{})
	if err != nil {
		return v, false
	}
	if from.Kind.IsCharacter() && !to.Kind.IsCharacter() {
		return c, true // compared in the type of the column
	}
	back, err := value.Convert(c, wide, from, 0, value.ConvertEnv{})
	if err != nil || value.Compare(v, back, from.Collation) != 0 {
		return c, false
	}
	return c, true
}

// ranges computes the key ranges of an access for the values of this moment. none is
// true when no row can match.
func (a *access) ranges(rc *rowCtx, ix *index, sx *storage.Index) (list []storage.Range, none bool, err error) {
	eval := func(k keyExpr) (v value.Value, exact bool, err error) {
		v, err = k.src.eval(rc)
		if err != nil {
			return v, false, err
		}
		v, exact = keyValue(v, k.src.typ, k.to)
		return v, exact, nil
	}
	prefixes := [][]byte{nil}
	for i, s := range a.eq {
		var vals []value.Value
		if s.op == "IS NULL" {
			vals = []value.Value{value.NewNull(value.Int)}
		}
		for _, k := range s.vals {
			v, exact, err := eval(k)
			if err != nil {
				return nil, false, err
			}
			if v.IsNull() || !exact {
				continue // equal to nothing
			}
			vals = append(vals, v)
		}
		if len(vals) == 0 {
			return nil, true, nil
		}
		var next [][]byte
		seen := map[string]bool{}
		for _, p := range prefixes {
			for _, v := range vals {
				key := sx.Key[i].AppendKey(append([]byte(nil), p...), v)
				if len(vals) > 1 {
					if seen[string(key)] {
						continue
					}
					seen[string(key)] = true
				}
				next = append(next, key)
			}
		}
		prefixes = next
	}
	if len(prefixes) > 1 {
		sortKeys(prefixes)
		if a.backward {
			for i, j := 0, len(prefixes)-1; i < j; i, j = i+1, j-1 {
				prefixes[i], prefixes[j] = prefixes[j], prefixes[i]
			}
		}
	}
	n := len(a.eq)
	for _, p := range prefixes {
		r := storage.Range{Low: string(p), Point: a.point}
		r.High, r.Bounded = storage.PrefixEnd(string(p))
		if n < len(ix.keys) && (a.low != nil || a.high != nil) {
			key := sx.Key[n]
			// In a descending column the ends change places.
			set := func(v value.Value, op string) {
				k := string(key.AppendKey(append([]byte(nil), p...), v))
				end, bounded := storage.PrefixEnd(k)
				lower := op == ">" || op == ">="
				if key.Desc {
					lower = !lower
				}
				switch strict := op == ">" || op == "<"; {
				case lower && strict:
					r.Low = end
					if !bounded {
						r.Low = k + "\xff"
					}
				case lower:
					r.Low = k
				case strict:
					r.High, r.Bounded = k, true
				default:
					r.High, r.Bounded = end, bounded
				}
			}
			for _, s := range []*sarg{a.low, a.high} {
				if s == nil {
					continue
				}
				v, exact, err := eval(s.vals[0])
				if err != nil {
					return nil, false, err
				}
				if v.IsNull() {
					return nil, true, nil
				}
				if exact {
					set(v, s.op)
				}
			}
			if a.nullLow {
				null := string(key.AppendKey(append([]byte(nil), p...), value.NewNull(value.Int)))
				if key.Desc {
					if !r.Bounded || null < r.High {
						r.High, r.Bounded = null, true
					}
				} else if end, ok := storage.PrefixEnd(null); ok && end > r.Low {
					r.Low = end
				}
			}
			if r.Bounded && r.Low >= r.High {
				continue
			}
		}
		list = append(list, r)
	}
	return list, len(list) == 0, nil
}
