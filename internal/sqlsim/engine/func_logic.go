package engine

import (
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

func init() {
	define("isnull", 2, 2, compileIsNull)
	define("coalesce", 2, -1, compileCoalesce)
	define("nullif", 2, 2, compileNullIf)
	define("iif", 3, 3, func(c *callSite) (*scalar, error) {
		cond, err := compilePredicate(c.sc, c.e.Args[0])
		if err != nil {
			return nil, err
		}
		var results []*scalar
		for _, a := range c.e.Args[1:] {
			s, err := compileScalar(c.sc, a)
			if err != nil {
				return nil, err
			}
			results = append(results, s)
		}
		if results[0].typ.Kind == value.Unknown && results[1].typ.Kind == value.Unknown {
			return nil, sqlError(8133, 16, 1, "At least one of the result expressions in a CASE specification must be an expression other than the NULL constant.")
		}
		return chooseScalar([]*predicate{cond}, results, "CASE")
	})
	define("choose", 2, -1, compileChoose)
	define("greatest", 1, 254, func(c *callSite) (*scalar, error) { return c.extreme(1) })
	define("least", 1, 254, func(c *callSite) (*scalar, error) { return c.extreme(-1) })
	define("isnumeric", 1, 1, func(c *callSite) (*scalar, error) {
		typ := c.args[0].typ
		return c.lax(intType, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			if !v[0].IsNull() && (v[0].Kind().IsNumeric() && v[0].Kind() != value.Bit || v[0].Kind() == value.Bit || typ.Kind.IsCharacter() && looksNumeric(v[0].Str())) {
				return intValue(1), nil
			}
			return intValue(0), nil
		}), nil
	})
	define("sql_variant_property", 2, 2, compileVariantProperty)
}

// compileIsNull: the result has the type of the first argument, even where that cuts.
func compileIsNull(c *callSite) (*scalar, error) {
	a, b := c.args[0], c.args[1]
	if a.typ.Kind == value.Unknown {
		if b.typ.Kind == value.Unknown {
			return constScalar(intType, value.NewNull(value.Int)), nil
		}
		return b, nil
	}
	other, err := coerceTo(b, a.typ)
	if err != nil {
		return nil, err
	}
	s := newScalar(a.typ, a.nullable && b.nullable, func(rc *rowCtx) (value.Value, error) {
		v, err := a.eval(rc)
		if err != nil || !v.IsNull() {
			return v, err
		}
		return other.eval(rc)
	}, a, other)
	s.coercible = a.coercible
	s.isJSON = a.isJSON
	return s, nil
}

func compileCoalesce(c *callSite) (*scalar, error) {
	allNull := true
	for _, a := range c.args {
		allNull = allNull && a.typ.Kind == value.Unknown
	}
	if allNull {
		return nil, sqlError(4127, 16, 1, "At least one of the arguments to COALESCE must be an expression that is not the NULL constant.")
	}
	typ, err := unifyTypes(c.args, "COALESCE")
	if err != nil {
		return nil, err
	}
	args := make([]*scalar, len(c.args))
	nullable := false // unless one of the arguments is, whichever it is
	for i, a := range c.args {
		if args[i], err = coerceTo(a, typ); err != nil {
			return nil, err
		}
		nullable = nullable || a.nullable
	}
	s := newScalar(typ, nullable, func(rc *rowCtx) (value.Value, error) {
		for _, a := range args {
			v, err := a.eval(rc)
			if err != nil || !v.IsNull() {
				return v, err
			}
		}
		return value.NewNull(typ.Kind), nil
	}, args...)
	s.coercible = strongest(c.args)
	return s, nil
}

func compileNullIf(c *callSite) (*scalar, error) {
	a := c.args[0]
	if a.typ.Kind == value.Unknown {
		return nil, sqlError(4151, 16, 1, "The type of the first argument to NULLIF cannot be the NULL constant because the type of the first argument has to be known.")
	}
	eq, err := compareScalars("=", a, c.args[1])
	if err != nil {
		return nil, err
	}
	s := newScalar(a.typ, true, func(rc *rowCtx) (value.Value, error) {
		t, err := eq.eval(rc)
		if err != nil || t == isTrue {
			return value.NewNull(a.typ.Kind), err
		}
		return a.eval(rc)
	}, c.args...)
	s.coercible = a.coercible
	return s, nil
}

func compileChoose(c *callSite) (*scalar, error) {
	if err := c.int(0); err != nil {
		return nil, err
	}
	typ, err := unifyTypes(c.args[1:], "CHOOSE")
	if err != nil {
		return nil, err
	}
	if typ.Kind == value.Unknown {
		typ = intType
	}
	args := append([]*scalar(nil), c.args...)
	for i := 1; i < len(args); i++ {
		if args[i], err = coerceTo(args[i], typ); err != nil {
			return nil, err
		}
	}
	s := newScalar(typ, true, func(rc *rowCtx) (value.Value, error) {
		n, err := args[0].eval(rc)
		if err != nil || n.IsNull() || n.Int() < 1 || n.Int() >= int64(len(args)) {
			return value.NewNull(typ.Kind), err
		}
		return args[n.Int()].eval(rc)
	}, args...)
	s.coercible = strongest(c.args[1:])
	return s, nil
}

// extreme is GREATEST (1) and LEAST (-1): NULLs are passed over.
func (c *callSite) extreme(sign int) (*scalar, error) {
	typ, err := unifyTypes(c.args, c.name)
	if err != nil {
		return nil, err
	}
	if typ.Kind == value.Unknown {
		typ = intType
	}
	for i, a := range c.args {
		if c.args[i], err = coerceTo(a, typ); err != nil {
			return nil, err
		}
	}
	return c.lax(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		best := value.NewNull(typ.Kind)
		for _, x := range v {
			if !x.IsNull() && (best.IsNull() || value.Compare(x, best, typ.Collation)*sign > 0) {
				best = x
			}
		}
		return best, nil
	}), nil
}

// looksNumeric is ISNUMERIC: whether a text converts to some numeric type, which
// includes a lone sign, point or currency sign.
func looksNumeric(s string) bool {
	s = strings.Trim(s, " \t\r\n")
	switch s {
	case "":
		return false
	case "+", "-", ".", "$", ",", "£", "€", "¥":
		return true
	}
	text := value.NewString(value.VarChar, s)
	from := value.Type{Kind: value.VarChar, Length: max(len(s), 1)}
	for _, to := range []value.Type{{Kind: value.Money}, {Kind: value.Float}, {Kind: value.Decimal, Precision: 38}} {
		if _, err := value.Convert(text, from, to, value.NoStyle, value.ConvertEnv{}); err == nil {
			return true
		}
	}
	return false
}

func compileVariantProperty(c *callSite) (*scalar, error) {
	if err := c.text(1); err != nil {
		return nil, err
	}
	typ := c.args[0].typ
	return c.nullable(c.result(value.Type{Kind: value.Variant}, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		t := typ
		if t.Kind == value.Variant || t.Kind == value.Unknown {
			t = wideType(v[0], value.Type{})
			if t.Kind == value.Decimal {
				n, _ := v[0].Dec()
				t.Precision = uint8(max(len(n.Abs(n).String()), int(t.Scale)))
			}
		}
		switch strings.ToLower(v[1].Str()) {
		case "basetype":
			name := t.Kind.String()
			if t.Kind == value.Decimal {
				name = "numeric"
			}
			return value.NewString(value.NVarChar, name), nil
		case "precision":
			return intValue(int64(precisionOf(t))), nil
		case "scale":
			return intValue(int64(scaleOf(t))), nil
		case "maxlength":
			return intValue(int64(byteLength(t))), nil
		case "totalbytes":
			return intValue(int64(value.DataLength(v[0], t.Collation) + 2)), nil
		case "collation":
			if t.Kind.IsCharacter() {
				return value.NewString(value.NVarChar, t.Collation.Name()), nil
			}
		}
		return value.NewNull(value.Variant), nil
	})), nil
}

// precisionOf, scaleOf and byteLength are the columns of sys.columns for a type.
func precisionOf(t value.Type) int {
	switch t.Kind {
	case value.Decimal:
		return int(t.Precision)
	case value.Bit:
		return 1
	case value.TinyInt:
		return 3
	case value.SmallInt:
		return 5
	case value.Int, value.SmallMoney:
		return 10
	case value.BigInt, value.Money:
		return 19
	case value.Real:
		return 24
	case value.Float:
		return 53
	case value.Date:
		return 10
	case value.SmallDateTime:
		return 16
	case value.DateTime:
		return 23
	case value.Time:
		return 8 + fraction(t.Scale)
	case value.DateTime2:
		return 19 + fraction(t.Scale)
	case value.DateTimeOffset:
		return 26 + fraction(t.Scale)
	}
	return 0
}

// fraction is the width of a point and the digits behind it.
func fraction(scale uint8) int {
	if scale == 0 {
		return 0
	}
	return int(scale) + 1
}

func scaleOf(t value.Type) int {
	switch t.Kind {
	case value.Decimal, value.Time, value.DateTime2, value.DateTimeOffset:
		return int(t.Scale)
	case value.Money, value.SmallMoney:
		return 4
	case value.DateTime:
		return 3
	}
	return 0
}

func byteLength(t value.Type) int {
	switch k := t.Kind; {
	case k.IsUnicode():
		if t.Length == value.Max {
			return -1
		}
		return t.Length * 2
	case k == value.RowVersion:
		return 8
	case k.IsCharacter() || k.IsBinary():
		return t.Length
	case k == value.Decimal:
		switch p := t.Precision; {
		case p <= 9:
			return 5
		case p <= 19:
			return 9
		case p <= 28:
			return 13
		}
		return 17
	case k == value.Time || k == value.DateTime2 || k == value.DateTimeOffset:
		n := 3
		if t.Scale > 2 {
			n = 4
		}
		if t.Scale > 4 {
			n = 5
		}
		switch k {
		case value.DateTime2:
			n += 3
		case value.DateTimeOffset:
			n += 5
		}
		return n
	}
	switch t.Kind {
	case value.Bit, value.TinyInt:
		return 1
	case value.SmallInt:
		return 2
	case value.Int, value.Real, value.SmallMoney, value.SmallDateTime:
		return 4
	case value.BigInt, value.Float, value.Money, value.DateTime:
		return 8
	case value.Date:
		return 3
	case value.UniqueIdentifier:
		return 16
	case value.Variant:
		return 8016
	}
	return 0
}
