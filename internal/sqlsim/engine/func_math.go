package engine

import (
	"math"
	"math/big"
	"math/rand/v2"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

func init() {
	float1 := func(name string, f func(float64) float64, domain func(float64) bool) {
		define(name, 1, 1, func(c *callSite) (*scalar, error) {
			if err := c.to(0, floatType); err != nil {
				return nil, err
			}
			return c.result(floatType, func(rc *rowCtx, v []value.Value) (value.Value, error) {
				x := v[0].Float()
				if domain != nil && !domain(x) {
					return softenArith(rc, floatType, sqlError(3623, 16, 1, "An invalid floating point operation occurred."))
				}
				return floatResult(rc, f(x))
			}), nil
		})
	}
	positive := func(x float64) bool { return x > 0 }
	unit := func(x float64) bool { return x >= -1 && x <= 1 }
	float1("sqrt", math.Sqrt, func(x float64) bool { return x >= 0 })
	float1("square", func(x float64) float64 { return x * x }, nil)
	float1("exp", math.Exp, nil)
	float1("log10", math.Log10, positive)
	float1("sin", math.Sin, nil)
	float1("cos", math.Cos, nil)
	float1("tan", math.Tan, nil)
	float1("cot", func(x float64) float64 { return 1 / math.Tan(x) }, func(x float64) bool { return x != 0 })
	float1("asin", math.Asin, unit)
	float1("acos", math.Acos, unit)
	float1("atan", math.Atan, nil)
	define("log", 1, 2, func(c *callSite) (*scalar, error) {
		for n := range c.args {
			if err := c.to(n, floatType); err != nil {
				return nil, err
			}
		}
		return c.result(floatType, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			x := v[0].Float()
			if x <= 0 || len(v) == 2 && (v[1].Float() <= 0 || v[1].Float() == 1) {
				return softenArith(rc, floatType, sqlError(3623, 16, 1, "An invalid floating point operation occurred."))
			}
			if len(v) == 2 {
				return floatResult(rc, math.Log(x)/math.Log(v[1].Float()))
			}
			return floatResult(rc, math.Log(x))
		}), nil
	})
	define("atn2", 2, 2, func(c *callSite) (*scalar, error) {
		for n := range 2 {
			if err := c.to(n, floatType); err != nil {
				return nil, err
			}
		}
		return c.result(floatType, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			return floatResult(rc, math.Atan2(v[0].Float(), v[1].Float()))
		}), nil
	})
	define("pi", 0, 0, func(c *callSite) (*scalar, error) { return constScalar(floatType, value.NewFloat(math.Pi)), nil })
	define("rand", 0, 1, compileRand)
	define("abs", 1, 1, func(c *callSite) (*scalar, error) {
		return c.numeric(func(rc *rowCtx, v value.Value, typ value.Type) (value.Value, error) {
			if sign(v) < 0 {
				return negate(v, typ)
			}
			return v, nil
		})
	})
	define("sign", 1, 1, func(c *callSite) (*scalar, error) {
		return c.numeric(func(rc *rowCtx, v value.Value, typ value.Type) (value.Value, error) {
			s := int64(sign(v))
			switch k := typ.Kind; {
			case k == value.Decimal:
				return value.Convert(value.NewInt(value.Int, s), intType, typ, value.NoStyle, value.ConvertEnv{})
			case k.IsMoney():
				return value.NewInt(k, s*10000), nil
			case k == value.Float:
				return value.NewFloat(float64(s)), nil
			}
			return value.NewInt(typ.Kind, s), nil
		})
	})
	define("ceiling", 1, 1, func(c *callSite) (*scalar, error) { return c.whole(math.Ceil, 1) })
	define("floor", 1, 1, func(c *callSite) (*scalar, error) { return c.whole(math.Floor, -1) })
	define("round", 2, 3, compileRound)
	define("power", 2, 2, compilePower)
	define("degrees", 1, 1, func(c *callSite) (*scalar, error) { return c.angle(180 / math.Pi) })
	define("radians", 1, 1, func(c *callSite) (*scalar, error) { return c.angle(math.Pi / 180) })
	for _, name := range []string{"left_shift", "right_shift"} {
		op := map[string]string{"left_shift": "<<", "right_shift": ">>"}[name]
		define(name, 2, 2, func(c *callSite) (*scalar, error) { return shiftScalar(op, c.args[0], c.args[1]) })
	}
	define("bit_count", 1, 1, func(c *callSite) (*scalar, error) {
		if !c.args[0].typ.Kind.IsInteger() && !c.args[0].typ.Kind.IsBinary() {
			return nil, c.invalidArg(0)
		}
		mask := map[value.Kind]uint64{value.Bit: 1, value.TinyInt: 0xFF, value.SmallInt: 0xFFFF, value.Int: 0xFFFFFFFF, value.BigInt: math.MaxUint64}
		return c.result(bigintType, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			n := int64(0)
			if v[0].Kind().IsBinary() {
				for _, b := range v[0].Bytes() {
					n += int64(ones(uint64(b)))
				}
			} else {
				n = int64(ones(uint64(v[0].Int()) & mask[v[0].Kind()]))
			}
			return value.NewInt(value.BigInt, n), nil
		}), nil
	})
	define("get_bit", 2, 2, func(c *callSite) (*scalar, error) {
		if err := c.int(1); err != nil {
			return nil, err
		}
		return c.result(bitType, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			n := v[1].Int()
			if n < 0 || n >= int64(byteLength(value.Type{Kind: v[0].Kind()})*8) {
				return value.Value{}, sqlError(4199, 16, 1, "Argument value %d is invalid for argument 2 of get_bit function.", n)
			}
			return value.NewBit(v[0].Int()>>n&1 == 1), nil
		}), nil
	})
}

func ones(n uint64) int {
	count := 0
	for ; n != 0; n &= n - 1 {
		count++
	}
	return count
}

func floatResult(rc *rowCtx, f float64) (value.Value, error) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return softenArith(rc, floatType, sqlError(8115, 16, 2, "Arithmetic overflow error converting expression to data type float."))
	}
	return value.NewFloat(f), nil
}

// sign is -1, 0 or 1.
func sign(v value.Value) int {
	if v.Kind().IsApproximate() {
		switch f := v.Float(); {
		case f < 0:
			return -1
		case f > 0:
			return 1
		}
		return 0
	}
	n, _ := v.Dec()
	return n.Sign()
}

// mathType is the type that ABS, ROUND and their kin compute in and answer.
func mathType(t value.Type) value.Type {
	switch t.Kind {
	case value.TinyInt, value.SmallInt, value.Int:
		return intType
	case value.Bit, value.Real, value.Unknown:
		return floatType
	case value.SmallMoney:
		return value.Type{Kind: value.Money}
	}
	if t.Kind.IsCharacter() {
		return floatType
	}
	return t
}

// numeric compiles a function of one number that answers the type it computes in.
func (c *callSite) numeric(f func(rc *rowCtx, v value.Value, typ value.Type) (value.Value, error)) (*scalar, error) {
	typ := mathType(c.args[0].typ)
	if !typ.Kind.IsNumeric() {
		return nil, c.invalidArg(0)
	}
	if err := c.to(0, typ); err != nil {
		return nil, err
	}
	return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		out, err := f(rc, v[0], typ)
		if err != nil {
			return softenArith(rc, typ, err)
		}
		return out, nil
	}), nil
}

// whole is CEILING and FLOOR.
func (c *callSite) whole(f func(float64) float64, away int) (*scalar, error) {
	typ := mathType(c.args[0].typ)
	result := typ
	if typ.Kind == value.Decimal {
		result.Scale = 0
	}
	s, err := c.numeric(func(rc *rowCtx, v value.Value, typ value.Type) (value.Value, error) {
		switch k := typ.Kind; {
		case k == value.Float:
			return value.NewFloat(f(v.Float())), nil
		case k == value.Decimal || k.IsMoney():
			n, scale := v.Dec()
			q, r := new(big.Int).QuoRem(n, pow10(int(scale)), new(big.Int))
			if r.Sign() == away {
				q.Add(q, big.NewInt(int64(away)))
			}
			if k.IsMoney() {
				return value.NewInt(k, q.Int64()*10000), nil
			}
			return value.NewDecimal(q, 0), nil
		}
		return v, nil
	})
	if err != nil {
		return nil, err
	}
	s.typ = result
	return s, nil
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

func compileRound(c *callSite) (*scalar, error) {
	typ := mathType(c.args[0].typ)
	if !typ.Kind.IsNumeric() {
		return nil, c.invalidArg(0)
	}
	if err := c.to(0, typ); err != nil {
		return nil, err
	}
	for n := 1; n < len(c.args); n++ {
		if err := c.int(n); err != nil {
			return nil, err
		}
	}
	return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		digits := int(max(min(v[1].Int(), 400), -400))
		cut := len(v) == 3 && v[2].Int() != 0
		switch k := typ.Kind; {
		case k == value.Float:
			return floatResult(rc, roundFloat(v[0].Float(), digits, cut))
		default:
			n, scale := v[0].Dec()
			drop := int(scale) - digits
			if drop <= 0 {
				return v[0], nil
			}
			if drop > 60 {
				n = new(big.Int)
			} else {
				unit := pow10(drop)
				q, r := new(big.Int).QuoRem(n, unit, new(big.Int))
				if !cut && r.Abs(r).Lsh(r, 1).Cmp(unit) >= 0 {
					q.Add(q, big.NewInt(int64(n.Sign())))
				}
				n = q.Mul(q, unit)
			}
			if k == value.Decimal {
				if new(big.Int).Abs(n).Cmp(pow10(int(typ.Precision))) >= 0 {
					return softenArith(rc, typ, sqlError(8115, 16, 2, "Arithmetic overflow error converting expression to data type numeric."))
				}
				return value.NewDecimal(n, scale), nil
			}
			if !n.IsInt64() || k == value.Int && n.Int64() != int64(int32(n.Int64())) {
				return softenArith(rc, typ, sqlError(8115, 16, 2, "Arithmetic overflow error converting expression to data type %s.", k))
			}
			return value.NewInt(k, n.Int64()), nil
		}
	}), nil
}

func roundFloat(f float64, digits int, cut bool) float64 {
	p := math.Pow(10, float64(digits))
	if math.IsInf(p, 0) || math.IsInf(f*p, 0) {
		return f
	}
	if p == 0 {
		return 0
	}
	if cut {
		return math.Trunc(f*p) / p
	}
	return math.Round(f*p) / p
}

func compilePower(c *callSite) (*scalar, error) {
	typ := mathType(c.args[0].typ)
	if !typ.Kind.IsNumeric() {
		return nil, c.invalidArg(0)
	}
	if typ.Kind == value.Decimal {
		typ.Precision = 38
	}
	if err := c.to(0, typ); err != nil {
		return nil, err
	}
	if err := c.to(1, floatType); err != nil {
		return nil, err
	}
	return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		y := v[1].Float()
		base, err := value.Convert(v[0], typ, floatType, value.NoStyle, value.ConvertEnv{})
		if err != nil {
			return base, err
		}
		x := base.Float()
		if x == 0 && y < 0 {
			return softenArith(rc, typ, sqlError(8134, 16, 1, "Divide by zero error encountered."))
		}
		if x < 0 && y != math.Trunc(y) {
			return softenArith(rc, typ, sqlError(3623, 16, 1, "An invalid floating point operation occurred."))
		}
		if k := typ.Kind; k.IsInteger() && y >= 0 && y == math.Trunc(y) && y < 64 {
			n := new(big.Int).Exp(big.NewInt(v[0].Int()), big.NewInt(int64(y)), nil)
			if !n.IsInt64() || k == value.Int && n.Int64() != int64(int32(n.Int64())) {
				return softenArith(rc, typ, sqlError(232, 16, 3, "Arithmetic overflow error for type %s, value = %f.", k, math.Pow(x, y)))
			}
			return value.NewInt(k, n.Int64()), nil
		}
		f := math.Pow(x, y)
		if typ.Kind.IsInteger() {
			f = math.Trunc(f)
		}
		r, err := floatResult(rc, f)
		if err != nil || r.IsNull() {
			return r, err
		}
		out, err := value.Convert(r, floatType, typ, value.NoStyle, value.ConvertEnv{})
		if err != nil {
			return softenArith(rc, typ, err)
		}
		return out, nil
	}), nil
}

// angle is DEGREES and RADIANS, which answer the type of their argument.
func (c *callSite) angle(factor float64) (*scalar, error) {
	typ := mathType(c.args[0].typ)
	if !typ.Kind.IsNumeric() {
		return nil, c.invalidArg(0)
	}
	if typ.Kind == value.Decimal {
		typ = value.Type{Kind: value.Decimal, Precision: 38, Scale: max(typ.Scale, 18)}
	}
	if err := c.to(0, floatType); err != nil {
		return nil, err
	}
	return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		return value.Convert(value.NewFloat(v[0].Float()*factor), floatType, typ, value.NoStyle, value.ConvertEnv{})
	}), nil
}

// compileRand is RAND. A call has one value for a whole statement, and every call its own;
// a seed makes what follows in the session repeatable.
func compileRand(c *callSite) (*scalar, error) {
	if err := c.notInFunction(); err != nil {
		return nil, err
	}
	if len(c.args) == 1 {
		if err := c.int(0); err != nil {
			return nil, err
		}
		return perStatement(c.lax(floatType, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			seed := uint64(0)
			if !v[0].IsNull() {
				seed = uint64(v[0].Int())
			}
			rc.sess.dice = rand.New(rand.NewPCG(seed, 1))
			return value.NewFloat(rc.sess.dice.Float64()), nil
		})), nil
	}
	call := new(randomCall)
	return perStatement(newScalar(floatType, false, func(rc *rowCtx) (value.Value, error) {
		return value.NewFloat(rc.sess.random(call)), nil
	})), nil
}

// randomCall is one RAND() in a text.
type randomCall struct{ _ byte }

// random is the value of a RAND() in the running statement.
func (s *Session) random(call *randomCall) float64 {
	if s.rolledAt != s.statement {
		s.rolledAt, s.rolled = s.statement, map[*randomCall]float64{}
	}
	n, ok := s.rolled[call]
	if !ok {
		if s.dice == nil {
			s.dice = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
		}
		n = s.dice.Float64()
		s.rolled[call] = n
	}
	return n
}
