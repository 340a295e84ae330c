package engine

import (
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// compilePredicate compiles a condition.
func compilePredicate(sc *scope, e tsql.Expr) (*predicate, error) {
	p, err := compileCondition(sc, e)
	if err != nil {
		return nil, atLine(err, e.Position().Line)
	}
	return p, nil
}

func compileCondition(sc *scope, e tsql.Expr) (*predicate, error) {
	switch e := e.(type) {
	case *tsql.Paren:
		return compilePredicate(sc, e.X)
	case *tsql.Logical:
		return compileLogical(sc, e)
	case *tsql.Not:
		x, err := compilePredicate(sc, e.X)
		if err != nil {
			return nil, err
		}
		return negated(x, true), nil
	case *tsql.Compare:
		l, r, err := compilePair(sc, e.L, e.R)
		if err != nil {
			return nil, err
		}
		return compareScalarsIn(sc, e.Op, l, r)
	case *tsql.IsNull:
		x, err := compileScalar(sc, e.X)
		if err != nil {
			return nil, err
		}
		return newPredicate(func(rc *rowCtx) (tristate, error) {
			v, err := x.eval(rc)
			return truth(v.IsNull() != e.Not), err
		}, x), nil
	case *tsql.IsDistinct:
		return compileDistinct(sc, e)
	case *tsql.Between:
		return compileBetween(sc, e)
	case *tsql.In:
		return compileIn(sc, e)
	case *tsql.Like:
		return compileLike(sc, e)
	case *tsql.Exists:
		return compileExists(sc, e)
	case *tsql.Quantified:
		return compileQuantified(sc, e)
	case *tsql.UpdateCheck:
		return newVolatilePredicate(func(rc *rowCtx) (tristate, error) {
			for f := rc.frame; f != nil; f = f.parent {
				if t, ok := f.trigger.(updatedColumns); ok {
					return truth(t.updatedColumn(e.Column)), nil
				}
			}
			return isUnknown, sqlError(421, 16, 1, "UPDATE() can be used only inside a trigger.")
		}), nil
	}
	return nil, sqlError(4145, 15, 1, "An expression of non-boolean type specified in a context where a condition is expected.")
}

func truth(b bool) tristate {
	if b {
		return isTrue
	}
	return isFalse
}

func newPredicate(eval func(*rowCtx) (tristate, error), children ...*scalar) *predicate {
	p := &predicate{constant: true, eval: eval}
	for _, c := range children {
		p.absorb(c)
	}
	return p
}

// updatedColumns is what a trigger's state may tell UPDATE(column).
type updatedColumns interface{ updatedColumn(name string) bool }

// newVolatilePredicate makes a condition that depends on more than columns and variables.
func newVolatilePredicate(eval func(*rowCtx) (tristate, error)) *predicate {
	return &predicate{eval: eval}
}

func (p *predicate) absorb(c *scalar) {
	p.constant = p.constant && c.constant
	p.outerRefs = p.outerRefs || c.outerRefs
	p.subqueries = p.subqueries || c.subqueries
	p.cols = addCols(p.cols, c.cols)
}

func (p *predicate) absorbPredicate(c *predicate) {
	p.constant = p.constant && c.constant
	p.outerRefs = p.outerRefs || c.outerRefs
	p.subqueries = p.subqueries || c.subqueries
	p.cols = addCols(p.cols, c.cols)
}

func (p *predicate) absorbSub(s *subquery) {
	p.constant = false
	p.subqueries = true
	p.outerRefs = p.outerRefs || s.outerRefs
	p.cols = addCols(p.cols, s.outerCols)
}

// negated is NOT p when not is set.
func negated(p *predicate, not bool) *predicate {
	if !not {
		return p
	}
	out := *p
	inner := p.eval
	out.eval = func(rc *rowCtx) (tristate, error) {
		t, err := inner(rc)
		switch t {
		case isTrue:
			return isFalse, err
		case isFalse:
			return isTrue, err
		}
		return isUnknown, err
	}
	return &out
}

// compileLogical compiles AND and OR; long chains of one operator become one list.
func compileLogical(sc *scope, e *tsql.Logical) (*predicate, error) {
	var terms []tsql.Expr
	var left tsql.Expr = e
	for {
		l, ok := left.(*tsql.Logical)
		if !ok || l.Op != e.Op {
			break
		}
		terms = append(terms, l.R)
		left = l.L
	}
	terms = append(terms, left)
	out := newPredicate(nil)
	list := make([]*predicate, 0, len(terms))
	for i := len(terms) - 1; i >= 0; i-- {
		p, err := compilePredicate(sc, terms[i])
		if err != nil {
			return nil, err
		}
		out.absorbPredicate(p)
		list = append(list, p)
	}
	decisive := isFalse // AND stops at a false term, OR at a true one
	if e.Op == "OR" {
		decisive = isTrue
	}
	out.eval = func(rc *rowCtx) (tristate, error) {
		unknown := false
		for _, p := range list {
			t, err := p.eval(rc)
			if err != nil {
				return isUnknown, err
			}
			if t == decisive {
				return t, nil
			}
			unknown = unknown || t == isUnknown
		}
		if unknown {
			return isUnknown, nil
		}
		return isTrue - decisive, nil
	}
	return out, nil
}

func compilePair(sc *scope, a, b tsql.Expr) (l, r *scalar, err error) {
	if l, err = compileScalar(sc, a); err != nil {
		return nil, nil, err
	}
	r, err = compileScalar(sc, b)
	return l, r, err
}

var comparisonNames = map[string]string{
	"=": "equal to", "<>": "not equal to", "<": "less than", ">": "greater than",
	"<=": "less than or equal to", ">=": "greater than or equal to",
}

// compareTypes brings two operands to the type they compare in.
func compareTypes(op string, l, r *scalar) (*scalar, *scalar, value.Collation, error) {
	if l.typ.Kind == value.Unknown && r.typ.Kind == value.Unknown {
		return l, r, 0, nil
	}
	typ, err := commonType(l.typ, r.typ)
	if err != nil {
		return nil, nil, 0, err
	}
	var c value.Collation
	if typ.Kind.IsCharacter() {
		if c, _, err = mergeCollations(l, r, comparisonNames[op]); err != nil {
			return nil, nil, 0, err
		}
		typ.Collation = c
		// Text compares without regard to its length: no conversion cuts it.
		typ.Length = value.Max
		if typ.Kind == value.Char || typ.Kind == value.NChar {
			typ.Kind++ // the varying kind follows the fixed one
		}
	}
	if l, err = comparand(l, typ); err != nil {
		return nil, nil, 0, err
	}
	r, err = comparand(r, typ)
	return l, r, c, err
}

// comparand converts one side of a comparison, leaving alone what compares as it is.
func comparand(s *scalar, typ value.Type) (*scalar, error) {
	if s.typ.Kind.IsCharacter() && typ.Kind.IsCharacter() {
		if s.typ.Kind.IsUnicode() == typ.Kind.IsUnicode() || typ.Kind.IsUnicode() {
			return s, nil
		}
	}
	if s.typ.Kind == typ.Kind && (s.typ.Kind == value.Decimal || s.typ.Kind.IsTemporal() || s.typ.Kind.IsBinary()) {
		return s, nil
	}
	return coerceTo(s, typ)
}

// compareScalars compiles a comparison of two compiled operands.
func compareScalars(op string, l, r *scalar) (*predicate, error) {
	return comparison(op, l, r, true)
}

func compareScalarsIn(sc *scope, op string, l, r *scalar) (*predicate, error) {
	return comparison(op, l, r, sc.sess.settings.ansiNulls || l.cols != nil && r.cols != nil)
}

func comparison(op string, l, r *scalar, ansiNulls bool) (*predicate, error) {
	a, b, c, err := compareTypes(op, l, r)
	if err != nil {
		return nil, err
	}
	test := comparisonTest(op)
	ae, be := a.eval, b.eval
	return newPredicate(func(rc *rowCtx) (tristate, error) {
		x, err := ae(rc)
		if err != nil {
			return isUnknown, err
		}
		if x.IsNull() && ansiNulls {
			return isUnknown, nil
		}
		y, err := be(rc)
		if err != nil {
			return isUnknown, err
		}
		if x.IsNull() || y.IsNull() {
			if ansiNulls || op != "=" && op != "<>" {
				return isUnknown, nil
			}
			return truth((x.IsNull() && y.IsNull()) == (op == "=")), nil
		}
		return truth(test(value.Compare(x, y, c))), nil
	}, a, b), nil
}

func comparisonTest(op string) func(int) bool {
	switch op {
	case "=":
		return func(n int) bool { return n == 0 }
	case "<>":
		return func(n int) bool { return n != 0 }
	case "<":
		return func(n int) bool { return n < 0 }
	case "<=":
		return func(n int) bool { return n <= 0 }
	case ">":
		return func(n int) bool { return n > 0 }
	}
	return func(n int) bool { return n >= 0 }
}

func compileDistinct(sc *scope, e *tsql.IsDistinct) (*predicate, error) {
	l, r, err := compilePair(sc, e.L, e.R)
	if err != nil {
		return nil, err
	}
	a, b, c, err := compareTypes("=", l, r)
	if err != nil {
		return nil, err
	}
	return newPredicate(func(rc *rowCtx) (tristate, error) {
		x, err := a.eval(rc)
		if err != nil {
			return isUnknown, err
		}
		y, err := b.eval(rc)
		if err != nil {
			return isUnknown, err
		}
		same := x.IsNull() && y.IsNull() || !x.IsNull() && !y.IsNull() && value.Compare(x, y, c) == 0
		return truth(same == e.Not), nil
	}, a, b), nil
}

func compileBetween(sc *scope, e *tsql.Between) (*predicate, error) {
	x, err := compileScalar(sc, e.X)
	if err != nil {
		return nil, err
	}
	lo, hi, err := compilePair(sc, e.Lo, e.Hi)
	if err != nil {
		return nil, err
	}
	from, err := compareScalars(">=", x, lo)
	if err != nil {
		return nil, err
	}
	to, err := compareScalars("<=", x, hi)
	if err != nil {
		return nil, err
	}
	p := newPredicate(func(rc *rowCtx) (tristate, error) {
		a, err := from.eval(rc)
		if err != nil || a == isFalse {
			return a, err
		}
		b, err := to.eval(rc)
		if err != nil || b == isFalse {
			return b, err
		}
		if a == isUnknown || b == isUnknown {
			return isUnknown, nil
		}
		return isTrue, nil
	})
	p.absorbPredicate(from)
	p.absorbPredicate(to)
	return negated(p, e.Not), nil
}

func compileIn(sc *scope, e *tsql.In) (*predicate, error) {
	x, err := compileScalar(sc, e.X)
	if err != nil {
		return nil, err
	}
	if e.Query != nil {
		sub, err := compileSub(sc, e.Query)
		if err != nil {
			return nil, err
		}
		p, err := quantifiedPredicate(sc, "=", x, sub, false)
		if err != nil {
			return nil, err
		}
		return negated(p, e.Not), nil
	}
	out := newPredicate(nil)
	list := make([]*predicate, len(e.List))
	for i, item := range e.List {
		r, err := compileScalar(sc, item)
		if err != nil {
			return nil, err
		}
		if list[i], err = compareScalarsIn(sc, "=", x, r); err != nil {
			return nil, err
		}
		out.absorbPredicate(list[i])
	}
	out.eval = func(rc *rowCtx) (tristate, error) {
		result := isFalse
		for _, p := range list {
			t, err := p.eval(rc)
			if err != nil || t == isTrue {
				return t, err
			}
			if t == isUnknown {
				result = isUnknown
			}
		}
		return result, nil
	}
	return negated(out, e.Not), nil
}

// compileExists compiles EXISTS. The select list of its query is checked and never evaluated.
func compileExists(sc *scope, e *tsql.Exists) (*predicate, error) {
	sc.forExists = true
	sub, err := compileSub(sc, e.Query)
	sc.forExists = false
	if err != nil {
		return nil, err
	}
	p := newPredicate(func(rc *rowCtx) (tristate, error) {
		found := isFalse
		err := sub.run(rc, func([]value.Value) (bool, error) {
			found = isTrue
			return false, nil
		})
		return found, err
	})
	p.absorbSub(sub)
	return p, nil
}

func compileQuantified(sc *scope, e *tsql.Quantified) (*predicate, error) {
	x, err := compileScalar(sc, e.L)
	if err != nil {
		return nil, err
	}
	sub, err := compileSub(sc, e.Query)
	if err != nil {
		return nil, err
	}
	return quantifiedPredicate(sc, e.Op, x, sub, e.All)
}

// quantifiedPredicate compares x with every row of a subquery: ANY or ALL.
func quantifiedPredicate(sc *scope, op string, x *scalar, sub *subquery, all bool) (*predicate, error) {
	if len(sub.cols) != 1 {
		return nil, sqlError(116, 16, 1, "Only one expression can be specified in the select list when the subquery is not introduced with EXISTS.")
	}
	typ := sub.cols[0].Type
	// The row's value is handed to the comparison through a cell of its own rowCtx.
	type cell struct{ v value.Value }
	item := &scalar{typ: typ, nullable: true, column: -1, coercible: implicitCollation, eval: func(rc *rowCtx) (value.Value, error) {
		return rc.exec.(*cell).v, nil
	}}
	left := x
	if !x.folded { // evaluated once for all rows of the subquery
		left = &scalar{typ: x.typ, nullable: x.nullable, column: -1, coercible: x.coercible, eval: func(rc *rowCtx) (value.Value, error) {
			return rc.row[0], nil
		}}
	}
	cmp, err := comparison(op, left, item, true)
	if err != nil {
		return nil, err
	}
	decisive := isTrue // ANY stops at a true row, ALL at a false one
	if all {
		decisive = isFalse
	}
	p := newPredicate(func(rc *rowCtx) (tristate, error) {
		l, err := x.eval(rc)
		if err != nil {
			return isUnknown, err
		}
		c := &cell{}
		inner := &rowCtx{ctx: rc.ctx, sess: rc.sess, frame: rc.frame, row: []value.Value{l}, exec: c}
		result := isTrue - decisive
		err = sub.run(rc, func(row []value.Value) (bool, error) {
			c.v = row[0]
			t, err := cmp.eval(inner)
			if err != nil {
				return false, err
			}
			if t == decisive {
				result = t
				return false, nil
			}
			if t == isUnknown {
				result = isUnknown
			}
			return true, nil
		})
		return result, err
	}, x)
	p.absorbSub(sub)
	return p, nil
}

func compileLike(sc *scope, e *tsql.Like) (*predicate, error) {
	x, pattern, err := compilePair(sc, e.X, e.Pattern)
	if err != nil {
		return nil, err
	}
	var escape *scalar
	if e.Escape != nil {
		if escape, err = compileScalar(sc, e.Escape); err != nil {
			return nil, err
		}
	}
	if x, err = likeOperand(sc, x, 1); err != nil {
		return nil, err
	}
	if pattern, err = likeOperand(sc, pattern, 2); err != nil {
		return nil, err
	}
	c, _, err := mergeCollations(x, pattern, "like")
	if err != nil {
		return nil, err
	}
	p := newPredicate(func(rc *rowCtx) (tristate, error) {
		v, err := x.eval(rc)
		if err != nil || v.IsNull() {
			return isUnknown, err
		}
		w, err := pattern.eval(rc)
		if err != nil || w.IsNull() {
			return isUnknown, err
		}
		esc := ""
		if escape != nil {
			ev, err := escape.eval(rc)
			if err != nil || ev.IsNull() {
				return isUnknown, err
			}
			if esc = ev.Str(); value.UTF16Len(esc) != 1 {
				return isUnknown, sqlError(506, 16, 1, "The invalid escape character \"%s\" was specified in a LIKE predicate.", esc)
			}
		}
		ok, err := value.Like(v, w, esc, c)
		return truth(ok), err
	}, x, pattern)
	if escape != nil {
		p.absorb(escape)
	}
	return negated(p, e.Not), nil
}

// likeOperand converts an operand of LIKE to text.
func likeOperand(sc *scope, s *scalar, n int) (*scalar, error) {
	if s.typ.Kind.IsCharacter() {
		return s, nil
	}
	if s.typ.Kind == value.Variant || s.typ.Kind.IsBinary() {
		return nil, sqlError(8116, 16, 1, "Argument data type %s is invalid for argument %d of like function.", typeWord(s.typ), n)
	}
	return coerceTo(s, value.Type{Kind: value.VarChar, Length: 8000, Collation: sc.collation()})
}
