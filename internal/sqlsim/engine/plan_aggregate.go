package engine

import (
	"math"
	"sort"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// aggregate is one aggregate call, planned.
type aggregate struct {
	name     string
	typ      value.Type
	nullable bool
	arg      *scalar // nil for COUNT(*)
	sep      *scalar // of STRING_AGG
	distinct bool
	order    []sortExpr // WITHIN GROUP
	line     tsql.Pos
	coll     value.Collation
}

type sortExpr struct {
	s    *scalar
	desc bool
}

// accumulator gathers the rows of one group.
type accumulator interface {
	add(rc *rowCtx) error
	result() (value.Value, error)
}

// bindAggregate plans an aggregate whose argument is over rows of sc.
func (b *selectBinder) bindAggregate(f *tsql.FuncCall, sc *scope) (*aggregate, error) {
	a := &aggregate{name: strings.ToUpper(f.Name.Name), distinct: f.Distinct, line: f.Pos, nullable: true}
	if f.Star {
		if a.name != "COUNT" && a.name != "COUNT_BIG" {
			return nil, lineAt(sqlError(102, 15, 1, "Incorrect syntax near '*'."), f.Pos)
		}
	} else {
		want := 1
		if a.name == "STRING_AGG" {
			want = 2
		}
		if len(f.Args) != want {
			return nil, lineAt(sqlError(174, 15, 1, "The %s function requires %d argument(s).", f.Name.Name, want), f.Pos)
		}
		s, err := compileScalar(sc, f.Args[0])
		if err != nil {
			return nil, err
		}
		b.outer = b.outer || s.outerRefs
		b.use(s.cols)
		if s.subqueries {
			sub := false
			walkExpr(f.Args[0], func(n tsql.Node) bool {
				switch n.(type) {
				case *tsql.Subquery, *tsql.Exists, *tsql.Quantified:
					sub = true
				}
				return true
			})
			if sub {
				return nil, lineAt(sqlError(130, 15, 1, "Cannot perform an aggregate function on an expression containing an aggregate or a subquery."), f.Pos)
			}
		}
		a.arg = s
		a.coll = s.typ.Collation
	}
	invalid := func() error {
		return lineAt(sqlError(8117, 16, 1, "Operand data type %s is invalid for %s operator.", typeName(a.arg.typ.Kind), strings.ToLower(a.name)), f.Pos)
	}
	switch a.name {
	case "COUNT", "APPROX_COUNT_DISTINCT", "COUNT_BIG":
		a.typ, a.nullable = value.Type{Kind: value.BigInt}, false
		if a.name == "COUNT" {
			a.typ.Kind = value.Int
		}
		if a.name == "APPROX_COUNT_DISTINCT" {
			a.distinct = true
		}
	case "MIN", "MAX":
		a.typ = a.arg.typ
		if a.typ.Kind == value.Bit {
			return nil, invalid()
		}
		if a.typ.Kind.IsCharacter() && a.arg.coercible == noCollation {
			return nil, lineAt(sqlError(446, 16, 9, "Cannot resolve collation conflict for %s operation.", strings.ToLower(a.name)), f.Pos)
		}
	case "SUM", "AVG":
		switch k := a.arg.typ.Kind; {
		case k == value.TinyInt || k == value.SmallInt || k == value.Int:
			a.typ.Kind = value.Int
		case k == value.BigInt:
			a.typ.Kind = value.BigInt
		case k.IsMoney():
			a.typ.Kind = value.Money
		case k.IsApproximate():
			a.typ = value.Type{Kind: value.Float}
		case k == value.Decimal:
			a.typ = value.Type{Kind: value.Decimal, Precision: 38, Scale: a.arg.typ.Scale}
			if a.name == "AVG" {
				a.typ.Scale = max(a.arg.typ.Scale, 6)
			}
		default:
			return nil, invalid()
		}
	case "STDEV", "STDEVP", "VAR", "VARP":
		if !a.arg.typ.Kind.IsNumeric() || a.arg.typ.Kind == value.Bit {
			return nil, invalid()
		}
		a.typ = value.Type{Kind: value.Float}
		s, err := coerceTo(a.arg, a.typ)
		if err != nil {
			return nil, err
		}
		a.arg = s
	case "CHECKSUM_AGG":
		a.typ = value.Type{Kind: value.Int}
	case "STRING_AGG":
		t := a.arg.typ
		switch {
		case t.Kind == value.VarChar || t.Kind == value.Char:
			a.typ = value.Type{Kind: value.VarChar, Length: 8000, Collation: t.Collation}
		default:
			a.typ = value.Type{Kind: value.NVarChar, Length: 4000, Collation: t.Collation}
			if !t.Kind.IsCharacter() {
				a.typ.Collation = b.p.context().collation
			}
		}
		if t.Length == value.Max {
			a.typ.Length = value.Max
		}
		wide := a.typ
		wide.Length = value.Max
		s, err := coerceTo(a.arg, wide)
		if err != nil {
			return nil, err
		}
		a.arg = s
		if a.sep, err = compileScalar(sc, f.Args[1]); err != nil {
			return nil, err
		}
		if a.sep, err = coerceTo(a.sep, wide); err != nil {
			return nil, err
		}
	default:
		return nil, tsql.Unsupported(f.Line, "the aggregate %s", a.name)
	}
	for _, o := range f.WithinGroup {
		s, err := compileScalar(sc, o.X)
		if err != nil {
			return nil, err
		}
		b.use(s.cols)
		a.order = append(a.order, sortExpr{s, o.Desc})
	}
	return a, nil
}

// start returns an accumulator for a new group.
func (a *aggregate) start(rs *runState) accumulator {
	acc := &valueAccumulator{a: a, x: execOf(&rs.in)}
	if a.distinct {
		acc.seen = map[string]bool{}
	}
	return acc
}

// valueAccumulator is the accumulator of all aggregates.
type valueAccumulator struct {
	a     *aggregate
	x     *exec
	seen  map[string]bool
	n     int64
	sum   int64
	f, f2 float64
	v     value.Value
	has   bool
	texts []aggText
	sep   string
}

type aggText struct {
	s   string
	key string
}

func (c *valueAccumulator) add(rc *rowCtx) error {
	a := c.a
	if a.arg == nil {
		c.n++
		return nil
	}
	v, err := a.arg.eval(rc)
	if err != nil {
		return err
	}
	if v.IsNull() {
		if c.x != nil {
			c.x.nullEliminated()
		}
		return nil
	}
	if c.seen != nil {
		k := string(value.SortKey(nil, v, a.coll))
		if c.seen[k] {
			return nil
		}
		c.seen[k] = true
	}
	c.n++
	switch a.name {
	case "MIN", "MAX":
		if !c.has {
			c.v, c.has = v, true
			return nil
		}
		d := value.Compare(v, c.v, a.coll)
		if a.name == "MIN" && d < 0 || a.name == "MAX" && d > 0 {
			c.v = v
		}
	case "SUM", "AVG":
		switch a.typ.Kind {
		case value.Int, value.BigInt, value.Money:
			s := c.sum + v.Int()
			if (s > c.sum) != (v.Int() > 0) && v.Int() != 0 || a.typ.Kind == value.Int && a.name == "SUM" && s != int64(int32(s)) {
				return errOverflow(a.typ)
			}
			if a.typ.Kind == value.Int && a.name == "AVG" && s != int64(int32(s)) {
				return errOverflow(a.typ)
			}
			c.sum = s
		case value.Float:
			c.f += v.Float()
		default:
			t := value.Type{Kind: value.Decimal, Precision: 38, Scale: a.arg.typ.Scale}
			if !c.has {
				c.v, c.has = v, true
				return nil
			}
			if c.v, err = value.Arith("+", c.v, v, t); err != nil {
				return errOverflow(a.typ)
			}
		}
	case "STDEV", "STDEVP", "VAR", "VARP":
		// Welford's method.
		d := v.Float() - c.f
		c.f += d / float64(c.n)
		c.f2 += d * (v.Float() - c.f)
	case "CHECKSUM_AGG":
		c.sum ^= v.Int()
	case "STRING_AGG":
		sep, err := a.sep.eval(rc)
		if err != nil {
			return err
		}
		if !sep.IsNull() {
			c.sep = sep.Str()
		}
		var key []byte
		for _, o := range a.order {
			k, err := o.s.eval(rc)
			if err != nil {
				return err
			}
			start := len(key)
			key = value.SortKey(key, k, o.s.typ.Collation)
			if o.desc {
				for i := start; i < len(key); i++ {
					key[i] = ^key[i]
				}
			}
		}
		c.texts = append(c.texts, aggText{v.Str(), string(key)})
	}
	return nil
}

func errOverflow(t value.Type) error {
	return sqlError(8115, 16, 2, "Arithmetic overflow error converting expression to data type %s.", typeNameForMessage(t))
}

func typeNameForMessage(t value.Type) string {
	if t.Kind == value.Decimal {
		return "numeric"
	}
	return typeName(t.Kind)
}

func (c *valueAccumulator) result() (value.Value, error) {
	a := c.a
	switch a.name {
	case "COUNT":
		if c.n > math.MaxInt32 {
			return value.Value{}, errOverflow(a.typ)
		}
		return value.NewInt(value.Int, c.n), nil
	case "COUNT_BIG", "APPROX_COUNT_DISTINCT":
		return value.NewInt(value.BigInt, c.n), nil
	}
	if c.n == 0 {
		return value.NewNull(a.typ.Kind), nil
	}
	switch a.name {
	case "MIN", "MAX":
		return c.v, nil
	case "SUM":
		switch a.typ.Kind {
		case value.Float:
			return value.NewFloat(c.f), nil
		case value.Decimal:
			return c.v, nil
		}
		return value.NewInt(a.typ.Kind, c.sum), nil
	case "AVG":
		switch a.typ.Kind {
		case value.Float:
			return value.NewFloat(c.f / float64(c.n)), nil
		case value.Decimal:
			return value.Arith("/", c.v, value.NewDecimalInt(c.n, 0), a.typ)
		}
		return value.NewInt(a.typ.Kind, c.sum/c.n), nil
	case "VARP":
		return value.NewFloat(c.f2 / float64(c.n)), nil
	case "STDEVP":
		return value.NewFloat(math.Sqrt(c.f2 / float64(c.n))), nil
	case "VAR", "STDEV":
		if c.n < 2 {
			return value.NewNull(value.Float), nil
		}
		v := c.f2 / float64(c.n-1)
		if a.name == "STDEV" {
			v = math.Sqrt(v)
		}
		return value.NewFloat(v), nil
	case "CHECKSUM_AGG":
		return value.NewInt(value.Int, c.sum), nil
	case "STRING_AGG":
		if len(a.order) > 0 {
			sort.SliceStable(c.texts, func(i, j int) bool { return c.texts[i].key < c.texts[j].key })
		}
		var sb strings.Builder
		for i, t := range c.texts {
			if i > 0 {
				sb.WriteString(c.sep)
			}
			sb.WriteString(t.s)
		}
		limit := 8000
		n := sb.Len()
		if a.typ.Kind == value.NVarChar {
			limit = 4000
			n = value.UTF16Len(sb.String())
		}
		if a.typ.Length != value.Max && n > limit {
			return value.Value{}, sqlError(9829, 16, 1, "STRING_AGG aggregation result exceeded the limit of 8000 bytes. Use LOB types to avoid result truncation.")
		}
		return value.NewString(a.typ.Kind, sb.String()), nil
	}
	return value.NewNull(a.typ.Kind), nil
}
