package value

import (
	"math"
	"math/big"
	"math/bits"
)

// Arith computes "a op b" for + - * / % & | ^. t is what ResultType answered for the types
// of a and b; the operands come as they are, since the scale of a decimal result
// depends on theirs. NULL makes NULL. + of two strings concatenates.
func Arith(op string, a, b Value, t Type) (Value, error) {
	if a.null || b.null {
		return NewNull(t.Kind), nil
	}
	switch k := t.Kind; {
	case k.IsCharacter():
		return concat(a, b, t)
	case k.IsBinary():
		return fit(NewBinary(k, []byte(a.s+b.s)), t), nil
	case k == DateTime || k == SmallDateTime:
		return dateArith(op, a, b, t)
	case k == Decimal:
		return decimalArith(op, a, b, t)
	}
	x, err := operand(a, t)
	if err != nil {
		return Value{}, err
	}
	y, err := operand(b, t)
	if err != nil {
		return Value{}, err
	}
	switch k := t.Kind; {
	case k.IsInteger():
		return integerArith(op, x.n, y.n, k)
	case k.IsMoney():
		return moneyArith(op, x.n, y.n, k)
	case k.IsApproximate():
		return floatArith(op, x.Float(), y.Float(), k)
	}
	return Value{}, NewError(8117, 16, 1, "Operand data type %s is invalid for %s operator.", messageName(t), operatorNames[op])
}

func divideByZero() error { return NewError(8134, 16, 1, "Divide by zero error encountered.") }

// operand converts v to the type of the result, if it is not of it already.
func operand(v Value, t Type) (Value, error) {
	if v.kind == t.Kind {
		return v, nil
	}
	return convert(v, Type{Kind: v.kind}, t, NoStyle, ConvertEnv{})
}

func concat(a, b Value, t Type) (Value, error) {
	text := func(v Value) (string, error) {
		if v.kind.IsCharacter() {
			return v.s, nil
		}
		out, err := toText(v, Type{Kind: v.kind}, Type{Kind: t.Kind, Length: Max, Collation: t.Collation}, NoStyle, ConvertEnv{})
		return out.s, err
	}
	x, err := text(a)
	if err != nil {
		return Value{}, err
	}
	y, err := text(b)
	if err != nil {
		return Value{}, err
	}
	out := varying(t)
	out.Length = t.Length
	return fit(NewString(t.Kind, JoinSurrogates(x, y)), out).WithKind(t.Kind), nil
}

func integerArith(op string, x, y int64, k Kind) (Value, error) {
	var n int64
	switch op {
	case "+":
		n = x + y
		if (n > x) != (y > 0) && y != 0 {
			return Value{}, overflow(k)
		}
	case "-":
		n = x - y
		if (n < x) != (y > 0) && y != 0 {
			return Value{}, overflow(k)
		}
	case "*":
		hi, lo := bits.Mul64(magnitude(x), magnitude(y))
		neg := (x < 0) != (y < 0)
		if hi != 0 || lo > 1<<63 || lo == 1<<63 && !neg {
			return Value{}, overflow(k)
		}
		n = int64(lo)
		if neg {
			n = -n
		}
	case "/", "%":
		if y == 0 {
			return Value{}, divideByZero()
		}
		if y == -1 {
			if op == "%" {
				return NewInt(k, 0), nil
			}
			if x == math.MinInt64 {
				return Value{}, overflow(k)
			}
		}
		if n = x / y; op == "%" {
			n = x % y
		}
	case "&":
		n = x & y
	case "|":
		n = x | y
	case "^":
		n = x ^ y
	}
	if lo, hi := integerRange(k); n < lo || n > hi {
		return Value{}, overflow(k)
	}
	return NewInt(k, n), nil
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func moneyArith(op string, x, y int64, k Kind) (Value, error) {
	a, b := big.NewInt(x), big.NewInt(y)
	switch op {
	case "+":
		a.Add(a, b)
	case "-":
		a.Sub(a, b)
	case "*":
		a = roundQuo(a.Mul(a, b), pow10(4))
	case "/", "%":
		if y == 0 {
			return Value{}, divideByZero()
		}
		if op == "/" {
			a.Quo(a.Mul(a, pow10(4)), b)
		} else {
			a.Rem(a, b)
		}
	default:
		return Value{}, NewError(8117, 16, 1, "Operand data type %s is invalid for %s operator.", k, operatorNames[op])
	}
	if lo, hi := moneyRange(k); !a.IsInt64() || a.Int64() < lo || a.Int64() > hi {
		return Value{}, overflow(k)
	}
	return NewInt(k, a.Int64()), nil
}

func floatArith(op string, x, y float64, k Kind) (Value, error) {
	var f float64
	switch op {
	case "+":
		f = x + y
	case "-":
		f = x - y
	case "*":
		f = x * y
	case "/":
		if y == 0 {
			return Value{}, divideByZero()
		}
		f = x / y
	default:
		return Value{}, NewError(402, 16, 1, "The data types %s and %s are incompatible in the %s operator.", k, k, operatorNames[op])
	}
	if math.IsInf(f, 0) || math.IsNaN(f) || k == Real && math.Abs(f) > math.MaxFloat32 {
		return Value{}, overflow(k)
	}
	if k == Real {
		return NewReal(float32(f)), nil
	}
	return NewFloat(f), nil
}

func decimalArith(op string, a, b Value, t Type) (Value, error) {
	exact := func(v Value) (*big.Int, uint8, error) {
		if !v.kind.IsNumeric() || v.kind.IsApproximate() {
			out, err := operand(v, t)
			if err != nil {
				return nil, 0, err
			}
			v = out
		}
		n, s := v.Dec()
		return n, s, nil
	}
	x, sx, err := exact(a)
	if err != nil {
		return Value{}, err
	}
	y, sy, err := exact(b)
	if err != nil {
		return Value{}, err
	}
	var n *big.Int
	switch op {
	case "*":
		n = new(big.Int).Mul(x, y)
		if int(sx)+int(sy) > int(t.Scale) {
			n = roundQuo(n, pow10(sx+sy-t.Scale))
		} else {
			n.Mul(n, pow10(t.Scale-sx-sy))
		}
	case "/":
		if y.Sign() == 0 {
			return Value{}, divideByZero()
		}
		// x/10^sx / (y/10^sy), in units of 10^-scale, cut and not rounded.
		num := new(big.Int).Mul(x, pow10(t.Scale))
		num.Mul(num, pow10(sy))
		den := new(big.Int).Mul(y, pow10(sx))
		n = num.Quo(num, den)
	default:
		s := max(sx, sy)
		x, y = rescale(x, sx, s), rescale(y, sy, s)
		switch op {
		case "+":
			n = x.Add(x, y)
		case "-":
			n = x.Sub(x, y)
		case "%":
			if y.Sign() == 0 {
				return Value{}, divideByZero()
			}
			n = x.Rem(x, y)
		default:
			return Value{}, NewError(8117, 16, 1, "Operand data type numeric is invalid for %s operator.", operatorNames[op])
		}
		n = rescale(n, s, t.Scale)
	}
	if n.CmpAbs(pow10(t.Precision)) >= 0 {
		return Value{}, overflow(Decimal)
	}
	return NewDecimal(n, t.Scale), nil
}

// dateArith adds and subtracts datetimes, each counted from 1900-01-01.
func dateArith(op string, a, b Value, t Type) (Value, error) {
	thirds := func(v Value) (int64, error) {
		if v.kind != DateTime && v.kind != SmallDateTime {
			out, err := convert(v, Type{Kind: v.kind}, Type{Kind: DateTime}, NoStyle, ConvertEnv{})
			if err != nil {
				return 0, err
			}
			v = out
		}
		return ticksToThirds(v.n) - days1900*25_920_000, nil
	}
	x, err := thirds(a)
	if err != nil {
		return Value{}, err
	}
	y, err := thirds(b)
	if err != nil {
		return Value{}, err
	}
	if op == "-" {
		y = -y
	}
	sum := x + y
	if sum < (days1753-days1900)*25_920_000 || sum >= (maxDate+1-days1900)*25_920_000 {
		return Value{}, overflow(t.Kind)
	}
	out, err := temporal(thirdsToTicks(sum+days1900*25_920_000), 0, Type{Kind: DateTime}, t)
	if err != nil {
		return Value{}, overflow(t.Kind)
	}
	return out, nil
}
