package engine

import "github.com/chokaq/chokaq/internal/sqlsim/value"

// pushed is a condition of a query that goes into one of its sources, a derived table,
// view or CTE, so that rows are tested where they are read and locked.
type pushed struct {
	c     *conjunct
	it    *fromItem // the source, in the query around it
	width int       // of the row of the query around it
}

// push moves conditions into a source that is a query. It reports whether the source
// then depends on the sources before it, and so is read once for each of their rows.
func (j *joinPlanner) push(s *joinStep, bound itemSet) (perRow bool, err error) {
	q := s.it.query
	if q.finish == nil {
		return false, nil
	}
	finish := q.finish
	q.finish = nil
	wanted := func(column int) bool { return j.b.used[s.it.start+column] > 0 }
	if !q.pushable {
		return false, finish(nil, wanted)
	}
	for _, c := range s.residual {
		if c.sources&bound != 0 && s.it.seeksBy(c) {
			perRow = true
		}
	}
	var list []pushed
	var rest []*conjunct
	for _, c := range s.residual {
		if c.pred.subqueries || c.sources&s.it.items() == 0 || c.sources != s.it.items() && !perRow {
			rest = append(rest, c)
			continue
		}
		list = append(list, pushed{c, s.it, j.width})
		for _, col := range c.pred.cols {
			j.b.used[col]-- // it is evaluated inside
		}
	}
	s.residual = rest
	return perRow, finish(list, wanted)
}

// seeksBy reports whether a condition compares, with =, a column that leads an index of
// the table that it comes from.
func (it *fromItem) seeksBy(c *conjunct) bool {
	for _, s := range c.sargs {
		if s.op != "=" && s.op != "IN" || s.column < it.start || s.column >= it.end {
			continue
		}
		base := it.query.cols[s.column-it.start].base
		if base == nil || base.table == nil {
			continue
		}
		for _, ix := range base.table.indexes {
			if len(ix.keys) > 0 && ix.keys[0].column == base.ordinal && ix.filter == nil && !ix.disabled {
				return true
			}
		}
	}
	return false
}

// pushedIn makes a condition of this select of one of the query around it: the columns
// that it names are items of this select list.
func (b *selectBinder) pushedIn(p pushed, items []selectItem) *conjunct {
	var at []int // items that the condition needs
	var cols []int
	for _, col := range p.c.pred.cols {
		if col >= p.it.start && col < p.it.end {
			i := col - p.it.start
			at = append(at, i)
			cols = addCols(cols, items[i].s.cols)
		}
	}
	b.use(cols)
	outer := p.c.pred
	start, width := p.it.start, p.width
	c := &conjunct{sources: b.sources(cols), pushed: true}
	c.pred = &predicate{cols: cols, outerRefs: true, eval: func(rc *rowCtx) (tristate, error) {
		row := make([]value.Value, width)
		copy(row, rc.outer.row)
		for _, i := range at {
			v, err := items[i].s.eval(rc)
			if err != nil {
				return isUnknown, err
			}
			row[start+i] = v
		}
		oc := *rc.outer
		oc.row = row
		return outer.eval(&oc)
	}}
	c.sargs = []sarg{}
	for _, s := range p.c.sargs {
		if s.column < p.it.start || s.column >= p.it.end {
			continue
		}
		inner := items[s.column-p.it.start].s
		if inner.column < 0 {
			continue
		}
		n := sarg{column: inner.column, op: s.op, from: c}
		for _, k := range s.vals {
			up := *k.src
			if !up.literal {
				eval := k.src.eval
				up.cols, up.column, up.constant = nil, -1, false
				up.eval = func(rc *rowCtx) (value.Value, error) { return eval(rc.outer) }
			}
			n.vals = append(n.vals, keyExpr{src: &up, to: k.to})
		}
		c.sargs = append(c.sargs, n)
	}
	return c
}
