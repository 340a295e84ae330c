package engine

import (
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// runState is one run of a select: its row context and what it has materialized.
type runState struct {
	in     rowCtx
	spools map[*joinStep]*spool
}

// spool is the rows of a source that does not change during a run.
type spool struct {
	rows [][]value.Value
	hash map[string][]int
}

// sourceFn produces rows of the select, given the part of the row that is known so far
// (nil at the beginning).
type sourceFn func(rs *runState, left []value.Value, each rowFn) error

// joinPlanner turns a FROM tree into a sourceFn.
type joinPlanner struct {
	b       *selectBinder
	width   int
	order   []orderColumn
	ordered bool // the rows come in the wanted order
	first   bool // no source has been planned yet
	keep    bool // keep the order in which sources are written
	types   []value.Type
}

// joinStep is one source within a join.
type joinStep struct {
	it       *fromItem
	residual []*conjunct
	// equalities by which a materialized source is hashed
	probe, build []*scalar
	coll         []value.Collation
}

// planGroup plans node, whose rows are joined to what is bound already. pool are the
// conditions that may be used; those that are used are marked done.
func (j *joinPlanner) planGroup(node fromNode, bound itemSet, pool []*conjunct) (sourceFn, error) {
	var nodes []fromNode
	pool = append([]*conjunct(nil), pool...)
	var flatten func(n fromNode)
	flatten = func(n fromNode) {
		if f, ok := n.(*fromJoin); ok {
			switch f.kind {
			case tsql.InnerJoin, tsql.CrossJoin, tsql.CrossApply:
				flatten(f.left)
				flatten(f.right)
				pool = append(pool, f.on...)
				return
			}
		}
		nodes = append(nodes, n)
	}
	flatten(node)
	for _, c := range pool {
		if c.sargs == nil {
			if err := j.b.findSargs(c); err != nil {
				return nil, err
			}
		}
	}
	var steps []sourceFn
	for len(nodes) > 0 {
		at, err := j.cheapest(nodes, bound, pool)
		if err != nil {
			return nil, err
		}
		n := nodes[at]
		nodes = append(nodes[:at:at], nodes[at+1:]...)
		step, err := j.planNode(n, bound, pool)
		if err != nil {
			return nil, err
		}
		bound |= n.items()
		steps = append(steps, step)
	}
	for _, c := range pool {
		if !c.done && c.sources&^bound == 0 {
			c.done = true
			steps = append(steps, filterStep(c))
		}
	}
	return chain(steps), nil
}

func filterStep(c *conjunct) sourceFn {
	return func(rs *runState, left []value.Value, each rowFn) error {
		rs.in.row = left
		ok, err := c.pred.eval(&rs.in)
		if err != nil || ok != isTrue {
			return err
		}
		_, err = each(left)
		return err
	}
}

// chain nests the steps: each runs once for every row of those before it.
func chain(steps []sourceFn) sourceFn {
	if len(steps) == 1 {
		return steps[0]
	}
	rest := chain(steps[1:])
	first := steps[0]
	return func(rs *runState, left []value.Value, each rowFn) error {
		return first(rs, left, func(row []value.Value) (bool, error) {
			more := true
			err := rest(rs, row, func(row []value.Value) (bool, error) {
				var err error
				more, err = each(row)
				return more, err
			})
			return more && err == nil, err
		})
	}
}

// cheapest picks the next source of an inner join.
func (j *joinPlanner) cheapest(nodes []fromNode, bound itemSet, pool []*conjunct) (int, error) {
	if j.keep || len(nodes) == 1 {
		return 0, nil
	}
	best, bestCost := -1, 0
	for i, n := range nodes {
		cost := 1 << 40
		switch n := n.(type) {
		case *fromItem:
			if n.depends&^bound != 0 {
				continue
			}
			cost = n.rows
			if n.query != nil && n.query.pushable && n.query.finish != nil {
				for _, c := range pool {
					if c.sources&n.items() != 0 && c.sources&^(bound|n.items()) == 0 && n.seeksBy(c) {
						cost = 20
					}
				}
			}
			if n.t != nil && n.query == nil {
				a, err := (&chooser{b: j.b, it: n, bound: bound, pool: pool}).choose()
				if err == nil {
					cost = a.cost
				}
			}
		case *fromJoin:
			if j.needs(n)&^(bound|n.set) != 0 {
				continue
			}
			cost = 1 << 20
		}
		if best < 0 || cost < bestCost {
			best, bestCost = i, cost
		}
	}
	if best < 0 {
		return 0, nil
	}
	return best, nil
}

// needs are the items that lateral sources inside n need.
func (j *joinPlanner) needs(n fromNode) itemSet {
	switch n := n.(type) {
	case *fromItem:
		return n.depends
	case *fromJoin:
		return j.needs(n.left) | j.needs(n.right)
	}
	return 0
}

func (j *joinPlanner) planNode(n fromNode, bound itemSet, pool []*conjunct) (sourceFn, error) {
	switch n := n.(type) {
	case *fromItem:
		return j.planItem(n, bound, pool)
	case *fromJoin:
		switch n.kind {
		case tsql.LeftJoin, tsql.OuterApply:
			return j.planOuter(n.left, n.right, n.on, bound, pool)
		case tsql.RightJoin:
			return j.planOuter(n.right, n.left, n.on, bound, pool)
		case tsql.FullJoin:
			return j.planFull(n, bound, pool)
		}
		return j.planGroup(n, bound, pool)
	}
	return nil, nil
}

// planOuter plans left LEFT JOIN right ON on.
func (j *joinPlanner) planOuter(left, right fromNode, on []*conjunct, bound itemSet, pool []*conjunct) (sourceFn, error) {
	// Conditions on the left side alone may go below the join.
	var below []*conjunct
	for _, c := range pool {
		if !c.done && c.sources&^(bound|left.items()) == 0 {
			below = append(below, c)
		}
	}
	l, err := j.planGroup(left, bound, below)
	if err != nil {
		return nil, err
	}
	first := j.first
	j.first = false
	inner := &joinPlanner{b: j.b, width: j.width, types: j.types, keep: j.keep}
	r, err := inner.planGroup(right, bound|left.items(), on)
	j.first = first
	if err != nil {
		return nil, err
	}
	j.first = false
	blank := j.blank(right)
	return func(rs *runState, row []value.Value, each rowFn) error {
		return l(rs, row, func(row []value.Value) (bool, error) {
			matched, more := false, true
			err := r(rs, row, func(row []value.Value) (bool, error) {
				matched = true
				var err error
				more, err = each(row)
				return more, err
			})
			if err != nil || matched {
				return more, err
			}
			return each(blank(row))
		})
	}, nil
}

// blank returns a function that fills the columns of the items under n with NULL.
func (j *joinPlanner) blank(n fromNode) func(row []value.Value) []value.Value {
	set := n.items()
	var cols []int
	for _, it := range j.b.list {
		if set&it.items() != 0 {
			for c := it.start; c < it.end; c++ {
				cols = append(cols, c)
			}
		}
	}
	return func(row []value.Value) []value.Value {
		full := make([]value.Value, j.width)
		copy(full, row)
		for _, c := range cols {
			full[c] = value.NewNull(j.types[c].Kind)
		}
		return full
	}
}

func (j *joinPlanner) planFull(n *fromJoin, bound itemSet, pool []*conjunct) (sourceFn, error) {
	l, err := j.planGroup(n.left, bound, nil)
	if err != nil {
		return nil, err
	}
	inner := &joinPlanner{b: j.b, width: j.width, types: j.types, keep: j.keep}
	r, err := inner.planGroup(n.right, bound, nil)
	if err != nil {
		return nil, err
	}
	j.first, j.ordered = false, false
	for _, c := range n.on {
		c.done = true
	}
	blankLeft, blankRight := j.blank(n.left), j.blank(n.right)
	var rightCols []int
	for _, it := range j.b.list {
		if n.right.items()&it.items() != 0 {
			for c := it.start; c < it.end; c++ {
				rightCols = append(rightCols, c)
			}
		}
	}
	return func(rs *runState, row []value.Value, each rowFn) error {
		var rows [][]value.Value
		if err := r(rs, j.wide(row), func(row []value.Value) (bool, error) {
			rows = append(rows, row)
			return true, nil
		}); err != nil {
			return err
		}
		matched := make([]bool, len(rows))
		more := true
		err := l(rs, j.wide(row), func(left []value.Value) (bool, error) {
			any := false
			for i, right := range rows {
				full := append([]value.Value(nil), left...)
				for _, c := range rightCols {
					full[c] = right[c]
				}
				ok := true
				for _, c := range n.on {
					rs.in.row = full
					t, err := c.pred.eval(&rs.in)
					if err != nil {
						return false, err
					}
					if t != isTrue {
						ok = false
						break
					}
				}
				if !ok {
					continue
				}
				any, matched[i] = true, true
				var err error
				if more, err = each(full); err != nil || !more {
					return false, err
				}
			}
			if any {
				return true, nil
			}
			var err error
			more, err = each(blankRight(left))
			return more, err
		})
		for i := 0; err == nil && more && i < len(rows); i++ {
			if !matched[i] {
				more, err = each(blankLeft(rows[i]))
			}
		}
		return err
	}, nil
}

func (j *joinPlanner) wide(row []value.Value) []value.Value {
	full := make([]value.Value, j.width)
	copy(full, row)
	return full
}

// planItem plans one source.
func (j *joinPlanner) planItem(it *fromItem, bound itemSet, pool []*conjunct) (sourceFn, error) {
	step := &joinStep{it: it}
	now := bound | it.items()
	for _, c := range pool {
		if !c.done && c.sources&^now == 0 && (c.sources&it.items() != 0 || bound == 0 && j.first) {
			c.done = true
			step.residual = append(step.residual, c)
		}
	}
	first := j.first
	j.first = false
	if it.t != nil && it.query == nil && it.work == nil {
		ch := &chooser{b: j.b, it: it, bound: bound, pool: step.residual}
		if first {
			ch.order = j.order
		}
		a, err := ch.choose()
		if err != nil {
			return nil, err
		}
		if first && a.ordered {
			j.ordered = true
		}
		if bound == 0 || a.follows(bound) {
			return j.scanStep(step, a), nil
		}
		// No way in by key: read it once, and look rows up by hash.
		j.hashable(step, bound)
		local := &joinStep{it: it, residual: step.local()}
		return j.spoolStep(step, j.scanStep(local, a)), nil
	}
	var err error
	perRow := false
	if it.query != nil {
		if perRow, err = j.push(step, bound); err != nil {
			return nil, err
		}
	}
	src := j.itemRows(it)
	if bound == 0 || it.lateral || perRow {
		return j.rowsStep(step, src), nil
	}
	j.hashable(step, bound)
	local := &joinStep{it: it, residual: step.local()}
	return j.spoolStep(step, j.rowsStep(local, src)), nil
}

// follows reports whether the access seeks by what the sources before it say, so that
// it is worth doing once for each of their rows.
func (a *access) follows(bound itemSet) bool {
	if a.point {
		return true
	}
	depends := func(s *sarg) bool {
		if s == nil {
			return false
		}
		for _, k := range s.vals {
			if k.need&bound != 0 {
				return true
			}
		}
		return false
	}
	for i := range a.eq {
		if depends(&a.eq[i]) {
			return true
		}
	}
	return depends(a.low) || depends(a.high)
}

// local are the conditions of a step that need nothing but its own source.
func (s *joinStep) local() []*conjunct {
	var local, rest []*conjunct
	for _, c := range s.residual {
		if c.sources == s.it.items() {
			local = append(local, c)
		} else {
			rest = append(rest, c)
		}
	}
	s.residual = rest
	return local
}

// hashable finds the equalities between the source and what is bound.
func (j *joinPlanner) hashable(s *joinStep, bound itemSet) {
	for _, c := range s.residual {
		if c.pushed {
			continue
		}
		l, r := c.equal[0], c.equal[1]
		if l == nil {
			e, ok := tsql.Unparen(c.ast).(*tsql.Compare)
			if !ok || e.Op != "=" || c.pred.subqueries {
				continue
			}
			var err error
			if l, err = compileScalar(j.b.scope, e.L); err != nil {
				continue
			}
			if r, err = compileScalar(j.b.scope, e.R); err != nil {
				continue
			}
		}
		ls, rs := j.b.sources(l.cols), j.b.sources(r.cols)
		if rs&s.it.items() == 0 {
			l, r, ls, rs = r, l, rs, ls
		}
		if rs != s.it.items() || ls&s.it.items() != 0 || ls == 0 {
			continue
		}
		// Both sides in one type, or no hash.
		if l.typ.Kind != r.typ.Kind && !(l.typ.Kind.IsInteger() && r.typ.Kind.IsInteger()) && !(l.typ.Kind.IsCharacter() && r.typ.Kind.IsCharacter()) ||
			l.typ.Kind == value.Decimal && l.typ.Scale != r.typ.Scale || l.typ.Kind == value.Variant {
			continue
		}
		if l.typ.Kind.IsCharacter() && l.typ.Collation != r.typ.Collation {
			continue
		}
		s.probe = append(s.probe, l)
		s.build = append(s.build, r)
		s.coll = append(s.coll, l.typ.Collation)
	}
}

// hashKey returns the key of a row by some expressions; null is true if one is NULL.
func hashKey(dst []byte, rc *rowCtx, exprs []*scalar, coll []value.Collation) (key []byte, null bool, err error) {
	for i, s := range exprs {
		v, err := s.eval(rc)
		if err != nil {
			return dst, false, err
		}
		if v.IsNull() {
			return dst, true, nil
		}
		switch {
		case v.Kind().IsInteger():
			v = v.WithKind(value.BigInt)
		case v.Kind().IsCharacter():
			v = v.WithKind(value.NVarChar)
		}
		dst = value.SortKey(dst, v, coll[i])
	}
	return dst, false, nil
}

// spoolStep reads a source once per run, and joins its rows to each left row.
func (j *joinPlanner) spoolStep(s *joinStep, src sourceFn) sourceFn {
	return func(rs *runState, left []value.Value, each rowFn) error {
		sp := rs.spools[s]
		if sp == nil {
			sp = &spool{}
			if err := src(rs, j.wide(nil), func(row []value.Value) (bool, error) {
				sp.rows = append(sp.rows, row)
				return true, nil
			}); err != nil {
				return err
			}
			if len(s.build) > 0 {
				sp.hash = make(map[string][]int, len(sp.rows))
				for i, row := range sp.rows {
					rs.in.row = row
					key, null, err := hashKey(nil, &rs.in, s.build, s.coll)
					if err != nil {
						return err
					}
					if !null {
						sp.hash[string(key)] = append(sp.hash[string(key)], i)
					}
				}
			}
			if rs.spools == nil {
				rs.spools = map[*joinStep]*spool{}
			}
			rs.spools[s] = sp
		}
		join := func(right []value.Value) (bool, error) {
			full := make([]value.Value, j.width)
			copy(full, left)
			copy(full[s.it.start:s.it.end], right[s.it.start:s.it.end])
			for _, c := range s.residual {
				rs.in.row = full
				ok, err := c.pred.eval(&rs.in)
				if err != nil {
					return false, err
				}
				if ok != isTrue {
					return true, nil
				}
			}
			return each(full)
		}
		if sp.hash == nil {
			for _, right := range sp.rows {
				if more, err := join(right); err != nil || !more {
					return err
				}
			}
			return nil
		}
		rs.in.row = left
		key, null, err := hashKey(nil, &rs.in, s.probe, s.coll)
		if err != nil || null {
			return err
		}
		for _, i := range sp.hash[string(key)] {
			if more, err := join(sp.rows[i]); err != nil || !more {
				return err
			}
		}
		return nil
	}
}

// rowsFn produces the rows of one source.
type rowsFn func(rs *runState, left []value.Value, each rowFn) error

// rowsStep places the rows of a source into the row of the select and filters them.
func (j *joinPlanner) rowsStep(s *joinStep, src rowsFn) sourceFn {
	it := s.it
	alone := it.start == 0 && j.width == it.end
	return func(rs *runState, left []value.Value, each rowFn) error {
		return src(rs, left, func(row []value.Value) (bool, error) {
			full := row
			if !alone {
				full = make([]value.Value, j.width)
				copy(full, left)
				copy(full[it.start:it.end], row)
			}
			for _, c := range s.residual {
				rs.in.row = full
				ok, err := c.pred.eval(&rs.in)
				if err != nil {
					return false, err
				}
				if ok != isTrue {
					return true, nil
				}
			}
			return each(full)
		})
	}
}

// itemRows returns what produces the rows of a source that is not a base table.
func (j *joinPlanner) itemRows(it *fromItem) rowsFn {
	switch {
	case it.query != nil:
		return func(rs *runState, left []value.Value, each rowFn) error {
			rc := rs.in
			rc.row = left
			return it.query.run(&rc, each)
		}
	case it.work != nil:
		return func(rs *runState, left []value.Value, each rowFn) error {
			for _, row := range execOf(&rs.in).working[it.work] {
				if more, err := each(row); err != nil || !more {
					return err
				}
			}
			return nil
		}
	case it.function != nil:
		return func(rs *runState, left []value.Value, each rowFn) error {
			rc := rs.in
			rc.row = left
			return it.function.run(&rc, each)
		}
	default:
		return func(rs *runState, left []value.Value, each rowFn) error {
			rc := rs.in
			rc.row = left
			for _, exprs := range it.literal {
				row := make([]value.Value, len(exprs))
				for i, e := range exprs {
					v, err := e.eval(&rc)
					if err != nil {
						return err
					}
					row[i] = v
				}
				if more, err := each(row); err != nil || !more {
					return err
				}
			}
			return nil
		}
	}
}
