package engine

import (
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// compileScalar compiles an expression that yields a value.
func compileScalar(sc *scope, e tsql.Expr) (*scalar, error) {
	if sc.resolve != nil {
		s, handled, err := sc.resolve(e)
		if err != nil {
			return nil, atLine(err, e.Position().Line)
		}
		if handled {
			return s, nil
		}
	}
	s, err := compileNode(sc, e)
	if err != nil {
		return nil, atLine(err, e.Position().Line)
	}
	s.fold(sc.sess)
	return s, nil
}

// atLine gives an error the line of the expression it comes from, unless it has one.
func atLine(err error, line int) error {
	if e, ok := err.(*value.Error); ok && e.Line == 0 {
		e.Line = int32(line)
	}
	return err
}

func compileNode(sc *scope, e tsql.Expr) (*scalar, error) {
	switch e := e.(type) {
	case *tsql.Literal:
		return compileLiteral(sc, e)
	case *tsql.Paren:
		return compileScalar(sc, e.X)
	case *tsql.Variable:
		return compileVariable(sc, e)
	case *tsql.GlobalVariable:
		return compileGlobal(sc, e)
	case *tsql.ColumnRef:
		return compileColumn(sc, e)
	case *tsql.Unary:
		return compileUnary(sc, e)
	case *tsql.Binary:
		return compileBinary(sc, e)
	case *tsql.Case:
		return compileCase(sc, e)
	case *tsql.Cast:
		return compileCast(sc, e.X, e.Type, nil, e.Try)
	case *tsql.Convert:
		return compileCast(sc, e.X, e.Type, e.Style, e.Try)
	case *tsql.ParseCall:
		return compileParse(sc, e)
	case *tsql.FuncCall:
		return compileCall(sc, e)
	case *tsql.JSONObject:
		return compileJSONObject(sc, e)
	case *tsql.JSONArray:
		return compileJSONArray(sc, e)
	case *tsql.Collate:
		return compileCollate(sc, e)
	case *tsql.AtTimeZone:
		return compileAtTimeZone(sc, e)
	case *tsql.NextValue:
		return compileNextValue(sc, e)
	case *tsql.Subquery:
		return compileScalarSubquery(sc, e)
	case *tsql.DefaultValue:
		return nil, sqlError(156, 15, 1, "Incorrect syntax near the keyword 'DEFAULT'.")
	}
	if tsql.IsPredicate(e) {
		return nil, sqlError(102, 15, 1, "Incorrect syntax near a condition where a value is expected.")
	}
	return nil, tsql.Unsupported(e.Position().Line, "this expression (%T)", e)
}

// newScalar makes a scalar whose dependencies are those of its children.
func newScalar(typ value.Type, nullable bool, eval func(*rowCtx) (value.Value, error), children ...*scalar) *scalar {
	s := &scalar{typ: typ, nullable: nullable, constant: true, literal: true, column: -1, eval: eval}
	if typ.Kind.IsCharacter() {
		s.coercible = coercibleDefault
	}
	for _, c := range children {
		s.absorb(c)
	}
	return s
}

// absorb adds the dependencies of a part.
func (s *scalar) absorb(c *scalar) {
	if c == nil {
		return
	}
	s.constant = s.constant && c.constant
	s.literal = s.literal && c.literal
	s.outerRefs = s.outerRefs || c.outerRefs
	s.subqueries = s.subqueries || c.subqueries
	s.cols = addCols(s.cols, c.cols)
}

func (s *scalar) absorbPredicate(p *predicate) {
	s.constant = s.constant && p.constant
	s.literal = false
	s.outerRefs = s.outerRefs || p.outerRefs
	s.subqueries = s.subqueries || p.subqueries
	s.cols = addCols(s.cols, p.cols)
}

func addCols(to, from []int) []int {
next:
	for _, c := range from {
		for _, have := range to {
			if have == c {
				continue next
			}
		}
		to = append(to[:len(to):len(to)], c)
	}
	return to
}

// fold evaluates a literal expression once. One that fails stays as it is, since the
// server raises such errors when the expression is evaluated.
func (s *scalar) fold(sess *Session) {
	if !s.literal || s.folded {
		return
	}
	v, err := s.eval(&rowCtx{ctx: sess.context(), sess: sess})
	if err != nil {
		s.literal = false
		return
	}
	s.setConst(v)
}

func (s *scalar) setConst(v value.Value) {
	s.folded, s.val = true, v
	s.nullable = v.IsNull()
	s.eval = func(*rowCtx) (value.Value, error) { return v, nil }
}

// constScalar is a known value.
func constScalar(typ value.Type, v value.Value) *scalar {
	s := newScalar(typ, v.IsNull(), nil)
	s.setConst(v)
	return s
}

// compileColumn resolves a column name in this scope, then in the outer ones.
func compileColumn(sc *scope, e *tsql.ColumnRef) (*scalar, error) {
	depth := 0
	var passed []*scope
	for at := sc; at != nil; at = at.parent {
		if at != sc && at.resolve != nil {
			s, handled, err := at.resolve(e)
			if err != nil {
				return nil, err
			}
			if handled {
				markOuter(at, passed, s.cols)
				return outerScalar(s, depth), nil
			}
		}
		ord, err := at.find(e)
		if err != nil {
			return nil, err
		}
		if ord >= 0 {
			return columnScalar(sc, at, ord, depth, passed), nil
		}
		passed = append(passed, at)
		depth++
	}
	if e.Pseudo {
		return nil, sqlError(207, 16, 1, "Invalid pseudocolumn \"%s\".", strings.ToLower(e.Name))
	}
	if e.Table != "" {
		return nil, sqlError(4104, 16, 1, "The multi-part identifier \"%s\" could not be bound.", columnText(e))
	}
	return nil, sqlError(207, 16, 1, "Invalid column name '%s'.", e.Name)
}

func columnText(e *tsql.ColumnRef) string {
	return tsql.ObjectName{Server: e.Database, Database: e.Schema, Schema: e.Table, Name: e.Name}.String()
}

// find looks for a column at one level; -1 when it is not there.
func (sc *scope) find(e *tsql.ColumnRef) (int, error) {
	found := -1
	tableSeen := false
	for i := range sc.cols {
		c := &sc.cols[i]
		if c.hidden {
			continue
		}
		if e.Table != "" {
			if !strings.EqualFold(c.qualifier, e.Table) ||
				e.Schema != "" && !strings.EqualFold(c.schema, e.Schema) ||
				e.Database != "" && !strings.EqualFold(c.database, e.Database) {
				continue
			}
			tableSeen = true
		}
		if !strings.EqualFold(c.name, e.Name) {
			continue
		}
		if found >= 0 {
			return -1, sqlError(209, 16, 1, "Ambiguous column name '%s'.", e.Name)
		}
		found = i
	}
	if found < 0 && tableSeen {
		return -1, sqlError(207, 16, 1, "Invalid column name '%s'.", e.Name)
	}
	return found, nil
}

func markOuter(at *scope, passed []*scope, ords []int) {
	for _, p := range passed {
		p.passed = true
	}
	if at.capture != nil {
		for _, o := range ords {
			at.capture[o] = true
		}
	}
}

func columnScalar(sc, at *scope, ord, depth int, passed []*scope) *scalar {
	c := at.cols[ord]
	s := &scalar{typ: c.typ, nullable: c.nullable, column: -1, name: c.name}
	if c.typ.Kind.IsCharacter() && !c.coercible {
		s.coercible = implicitCollation
	}
	if depth == 0 {
		s.column = ord
		s.cols = []int{ord}
		s.eval = func(rc *rowCtx) (value.Value, error) { return rc.row[ord], nil }
		return s
	}
	markOuter(at, passed, []int{ord})
	s.outerRefs = true
	s.eval = func(rc *rowCtx) (value.Value, error) {
		for range depth {
			rc = rc.outer
		}
		return rc.row[ord], nil
	}
	return s
}

// outerScalar makes an expression of an outer scope usable depth levels further in.
func outerScalar(s *scalar, depth int) *scalar {
	if depth == 0 {
		return s
	}
	out := *s
	out.cols, out.column, out.outerRefs = nil, -1, true
	out.constant, out.literal = false, false
	inner := s.eval
	out.eval = func(rc *rowCtx) (value.Value, error) {
		for range depth {
			rc = rc.outer
		}
		return inner(rc)
	}
	return &out
}

func compileVariable(sc *scope, e *tsql.Variable) (*scalar, error) {
	slot, ok := sc.vars.lookup(e.Name)
	if !ok {
		return nil, undeclared(e.Name)
	}
	d := sc.vars.decls[slot]
	if d.table != nil {
		return nil, undeclared(e.Name)
	}
	if d.cursor {
		return nil, sqlError(16950, 16, 2, "The variable '%s' does not currently have a cursor allocated to it.", e.Name)
	}
	s := newScalar(d.typ, true, func(rc *rowCtx) (value.Value, error) { return rc.frame.vals[slot], nil })
	s.literal = false
	return s, nil
}

func undeclared(name string) error {
	return sqlError(137, 15, 2, "Must declare the scalar variable \"%s\".", name)
}

// compileSub plans a subquery and works out what it needs from the scopes around it.
func compileSub(sc *scope, q *tsql.Query) (*subquery, error) {
	if sc.noSubquery != nil {
		return nil, sc.noSubquery
	}
	capture, passed := sc.capture, sc.passed
	sc.capture, sc.passed = map[int]bool{}, false
	sub, err := sc.sess.be.compileSubquery(sc, q)
	if err == nil {
		sub.outerRefs = sc.passed
		sub.outerCols = sub.outerCols[:0]
		for i := range sc.cols {
			if sc.capture[i] {
				sub.outerCols = append(sub.outerCols, i)
			}
		}
	}
	if capture != nil {
		for o := range sc.capture {
			capture[o] = true
		}
	}
	sc.capture, sc.passed = capture, passed || sc.passed
	return sub, err
}

// compileScalarSubquery compiles (SELECT ...) as a value.
func compileScalarSubquery(sc *scope, e *tsql.Subquery) (*scalar, error) {
	sub, err := compileSub(sc, e.Query)
	if err != nil {
		return nil, err
	}
	if len(sub.cols) != 1 {
		return nil, sqlError(116, 16, 1, "Only one expression can be specified in the select list when the subquery is not introduced with EXISTS.")
	}
	typ := sub.cols[0].Type
	s := &scalar{typ: typ, nullable: true, column: -1, cols: sub.outerCols, outerRefs: sub.outerRefs, subqueries: true}
	if typ.Kind.IsCharacter() {
		s.coercible = implicitCollation
	}
	s.eval = func(rc *rowCtx) (value.Value, error) {
		out := value.NewNull(typ.Kind)
		n := 0
		err := sub.run(rc, func(row []value.Value) (bool, error) {
			if n++; n > 1 {
				return false, sqlError(512, 16, 1, "Subquery returned more than 1 value. This is not permitted when the subquery follows =, !=, <, <= , >, >= or when the subquery is used as an expression.")
			}
			out = row[0]
			return true, nil
		})
		return out, err
	}
	return s, nil
}

func compileNextValue(sc *scope, e *tsql.NextValue) (*scalar, error) {
	if e.Over != nil {
		return nil, tsql.Unsupported(e.Line, "NEXT VALUE FOR ... OVER")
	}
	typ, err := sc.sess.be.sequenceType(e.Sequence)
	if err != nil {
		return nil, err
	}
	s := newScalar(typ, false, func(rc *rowCtx) (value.Value, error) {
		if x := execOf(rc); x != nil {
			return x.drawNext(rc, e)
		}
		return rc.sess.be.nextSequence(rc, e.Sequence)
	})
	s.constant, s.literal, s.subqueries = false, false, true
	return s, nil
}
