package engine

import (
	"math/big"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

func compileUnary(sc *scope, e *tsql.Unary) (*scalar, error) {
	x, err := compileScalar(sc, e.X)
	if err != nil {
		return nil, err
	}
	k := x.typ.Kind
	invalid := func(op string) error {
		return sqlError(8117, 16, 1, "Operand data type %s is invalid for %s operator.", typeWord(x.typ), op)
	}
	switch e.Op {
	case "+":
		if k.IsTemporal() || k == value.UniqueIdentifier {
			return nil, invalid("plus")
		}
		return x, nil
	case "-":
		switch {
		case k == value.Unknown:
			return constScalar(value.Type{Kind: value.Int}, value.NewNull(value.Int)), nil
		case k == value.Bit || !k.IsNumeric():
			return nil, invalid("minus")
		}
		typ := x.typ
		if k == value.TinyInt {
			typ.Kind = value.SmallInt
		}
		out := newScalar(typ, x.nullable, func(rc *rowCtx) (value.Value, error) {
			v, err := x.eval(rc)
			if err != nil || v.IsNull() {
				return v.WithKind(typ.Kind), err
			}
			return negate(v, typ)
		}, x)
		out.digits = x.digits
		return out, nil
	}
	switch {
	case k == value.Unknown:
		return constScalar(value.Type{Kind: value.Int}, value.NewNull(value.Int)), nil
	case k.IsInteger():
	default:
		return nil, invalid("'~'")
	}
	return newScalar(x.typ, x.nullable, func(rc *rowCtx) (value.Value, error) {
		v, err := x.eval(rc)
		if err != nil || v.IsNull() {
			return v, err
		}
		switch k {
		case value.Bit:
			return value.NewBit(!v.Bool()), nil
		case value.TinyInt:
			return value.NewInt(k, v.Int()^0xFF), nil
		}
		return value.NewInt(k, ^v.Int()), nil
	}, x), nil
}

func negate(v value.Value, typ value.Type) (value.Value, error) {
	switch k := typ.Kind; {
	case k == value.Decimal:
		n, scale := v.Dec()
		return value.NewDecimal(new(big.Int).Neg(n), scale), nil
	case k == value.Float:
		return value.NewFloat(-v.Float()), nil
	case k == value.Real:
		return value.NewReal(float32(-v.Float())), nil
	default:
		return value.Arith("-", value.NewInt(k, 0), v.WithKind(k), typ)
	}
}

// typeWord names a type as messages about operands do.
func typeWord(t value.Type) string {
	switch {
	case t.Kind == value.Unknown:
		return "NULL"
	case t.IsMax():
		return t.Kind.String() + "(max)"
	case t.Kind == value.Decimal:
		return "numeric"
	}
	return t.Kind.String()
}

func compileBinary(sc *scope, e *tsql.Binary) (*scalar, error) {
	// Long chains (a + b + c ...) are left-deep: walk them without recursion.
	var chain []*tsql.Binary
	var left tsql.Expr = e
	for {
		b, ok := left.(*tsql.Binary)
		if !ok {
			break
		}
		if sc.resolve != nil && b != e {
			if s, handled, err := sc.resolve(b); err != nil {
				return nil, err
			} else if handled {
				return compileChain(sc, s, chain)
			}
		}
		chain = append(chain, b)
		left = b.L
	}
	acc, err := compileScalar(sc, left)
	if err != nil {
		return nil, err
	}
	return compileChain(sc, acc, chain)
}

func compileChain(sc *scope, acc *scalar, chain []*tsql.Binary) (*scalar, error) {
	for i := len(chain) - 1; i >= 0; i-- {
		r, err := compileScalar(sc, chain[i].R)
		if err != nil {
			return nil, err
		}
		if acc, err = binaryScalar(sc, chain[i].Op, acc, r); err != nil {
			return nil, atLine(err, chain[i].Line)
		}
		acc.fold(sc.sess)
	}
	return acc, nil
}

func binaryScalar(sc *scope, op string, l, r *scalar) (*scalar, error) {
	switch op {
	case "||":
		return concatOperator(l, r)
	case "<<", ">>":
		return shiftScalar(op, l, r)
	}
	typ, err := value.ResultType(op, besideDecimal(l, r), besideDecimal(r, l))
	if err != nil {
		return nil, err
	}
	nullable := l.nullable || r.nullable
	out := newScalar(typ, nullable, nil, l, r)
	if typ.Kind.IsCharacter() {
		c, strength, err := mergeCollations(l, r, "add")
		if err != nil {
			return nil, err
		}
		typ.Collation, out.coercible = c, strength
		out.typ = typ
		out.eval = concatEval(sc, l, r, typ)
		return out, nil
	}
	le, re := l.eval, r.eval
	simple := typ.Kind.IsInteger() && l.typ.Kind.IsInteger() && r.typ.Kind.IsInteger() || typ.Kind == value.Decimal && l.typ.Kind != value.Unknown && r.typ.Kind != value.Unknown && l.typ.Kind.IsNumeric() && r.typ.Kind.IsNumeric()
	lt, rt := l.typ, r.typ
	out.eval = func(rc *rowCtx) (value.Value, error) {
		a, err := le(rc)
		if err != nil {
			return a, err
		}
		b, err := re(rc)
		if err != nil {
			return b, err
		}
		if a.IsNull() || b.IsNull() {
			return value.NewNull(typ.Kind), nil
		}
		if !simple {
			if a, err = operandValue(rc, a, lt, typ); err != nil {
				return a, err
			}
			if b, err = operandValue(rc, b, rt, typ); err != nil {
				return b, err
			}
		}
		v, err := value.Arith(op, a, b, typ)
		if err != nil {
			return softenArith(rc, typ, err)
		}
		return v, nil
	}
	return out, nil
}

// besideDecimal is the type of s as an operand beside other: an integer constant beside a
// decimal has no more precision than its digits.
func besideDecimal(s, other *scalar) value.Type {
	if s.digits > 0 && other.typ.Kind == value.Decimal {
		return value.Type{Kind: value.Decimal, Precision: s.digits}
	}
	return s.typ
}

// operandValue converts the text operand of an arithmetic operator, with the error that
// the conversion would raise by itself.
func operandValue(rc *rowCtx, v value.Value, from, to value.Type) (value.Value, error) {
	if !from.Kind.IsCharacter() || to.Kind.IsCharacter() {
		return v, nil
	}
	return value.Convert(v, from, to, value.NoStyle, rc.sess.convertEnv())
}

// softenArith makes NULL of an overflow or a division by zero when both ARITHABORT and
// ANSI_WARNINGS are OFF.
func softenArith(rc *rowCtx, typ value.Type, err error) (value.Value, error) {
	if e, ok := err.(*value.Error); ok && !rc.sess.settings.arithAbort && !rc.sess.settings.ansiWarnings {
		switch e.Number {
		case 8134, 8115, 220, 232, 3606, 3607:
			return value.NewNull(typ.Kind), nil
		}
	}
	return value.Value{}, err
}

func concatEval(sc *scope, l, r *scalar, typ value.Type) func(*rowCtx) (value.Value, error) {
	compiled := sc.sess.settings.concatNullYieldNull
	return func(rc *rowCtx) (value.Value, error) {
		a, err := l.eval(rc)
		if err != nil {
			return a, err
		}
		b, err := r.eval(rc)
		if err != nil {
			return b, err
		}
		if a.IsNull() || b.IsNull() {
			nullYieldsNull := compiled
			if rc.sess != nil {
				nullYieldsNull = rc.sess.settings.concatNullYieldNull // a batch may set it itself
			}
			if nullYieldsNull {
				return value.NewNull(typ.Kind), nil
			}
			if a.IsNull() {
				a = value.NewString(typ.Kind, "")
			}
			if b.IsNull() {
				b = value.NewString(typ.Kind, "")
			}
		}
		return value.Arith("+", a, b, typ)
	}
}

// concatOperator is || of SQL Server 2025: text only, and always NULL for a NULL operand.
func concatOperator(l, r *scalar) (*scalar, error) {
	text := func(s *scalar) bool {
		return s.typ.Kind.IsCharacter() || s.typ.Kind.IsBinary() || s.typ.Kind == value.Unknown
	}
	if !text(l) || !text(r) {
		bad := l
		if text(l) {
			bad = r
		}
		return nil, sqlError(8117, 16, 1, "Operand data type %s is invalid for concatenation operator.", typeWord(bad.typ))
	}
	typ, err := value.ResultType("+", l.typ, r.typ)
	if err != nil {
		return nil, err
	}
	c, strength, err := mergeCollations(l, r, "concatenation")
	if err != nil {
		return nil, err
	}
	typ.Collation = c
	out := newScalar(typ, l.nullable || r.nullable, func(rc *rowCtx) (value.Value, error) {
		a, err := l.eval(rc)
		if err != nil || a.IsNull() {
			return value.NewNull(typ.Kind), err
		}
		b, err := r.eval(rc)
		if err != nil || b.IsNull() {
			return value.NewNull(typ.Kind), err
		}
		return value.Arith("+", a, b, typ)
	}, l, r)
	out.coercible = strength
	return out, nil
}

// shiftScalar is << and >> of SQL Server 2022.
func shiftScalar(op string, l, r *scalar) (*scalar, error) {
	if !l.typ.Kind.IsInteger() || l.typ.Kind == value.Bit || !r.typ.Kind.IsInteger() {
		return nil, sqlError(402, 16, 1, "The data types %s and %s are incompatible in the '%s' operator.", typeWord(l.typ), typeWord(r.typ), op)
	}
	typ := l.typ
	bits := map[value.Kind]int64{value.TinyInt: 8, value.SmallInt: 16, value.Int: 32, value.BigInt: 64}[typ.Kind]
	return newScalar(typ, true, func(rc *rowCtx) (value.Value, error) {
		a, err := l.eval(rc)
		if err != nil {
			return a, err
		}
		b, err := r.eval(rc)
		if err != nil || a.IsNull() || b.IsNull() {
			return value.NewNull(typ.Kind), err
		}
		n := b.Int()
		if op == ">>" {
			n = -n
		}
		return shiftBits(typ.Kind, a.Int(), n, bits), nil
	}, l, r), nil
}

// shiftBits shifts left by n (right when n is negative), without sign extension.
func shiftBits(k value.Kind, x, n, bits int64) value.Value {
	mask := ^uint64(0)
	if bits < 64 {
		mask = 1<<bits - 1
	}
	u := uint64(x) & mask
	switch {
	case n >= bits || n <= -bits:
		u = 0
	case n >= 0:
		u = u << n & mask
	default:
		u >>= -n
	}
	out := int64(u)
	switch k {
	case value.SmallInt:
		out = int64(int16(u))
	case value.Int:
		out = int64(int32(u))
	}
	return value.NewInt(k, out)
}

// compileCase compiles both forms of CASE.
func compileCase(sc *scope, e *tsql.Case) (*scalar, error) {
	conds := make([]*predicate, len(e.Whens))
	results := make([]*scalar, 0, len(e.Whens)+1)
	for i, w := range e.Whens {
		var err error
		if e.Operand != nil {
			conds[i], err = compilePredicate(sc, &tsql.Compare{Pos: e.Pos, Op: "=", L: e.Operand, R: w.Cond})
		} else {
			conds[i], err = compilePredicate(sc, w.Cond)
		}
		if err != nil {
			return nil, err
		}
		r, err := compileScalar(sc, w.Then)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	if e.Else != nil {
		r, err := compileScalar(sc, e.Else)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	} else {
		results = append(results, constScalar(value.Type{Kind: value.Unknown}, value.NewNull(value.Unknown)))
	}
	allNull := true
	for _, r := range results {
		if !(r.folded && r.val.IsNull() && r.typ.Kind == value.Unknown) {
			allNull = false
		}
	}
	if allNull {
		return nil, sqlError(8133, 16, 1, "At least one of the result expressions in a CASE specification must be an expression other than the NULL constant.")
	}
	return chooseScalar(conds, results, "CASE")
}

// chooseScalar yields the result of the first condition that holds; the last result is
// for when none does.
func chooseScalar(conds []*predicate, results []*scalar, what string) (*scalar, error) {
	typ, err := unifyTypes(results, what)
	if err != nil {
		return nil, err
	}
	if typ.Kind == value.Unknown {
		typ.Kind = value.Int
	}
	out := newScalar(typ, false, nil)
	out.coercible = strongest(results)
	for i, r := range results {
		if results[i], err = coerceTo(r, typ); err != nil {
			return nil, err
		}
		out.absorb(r)
		out.nullable = out.nullable || r.nullable
	}
	for _, c := range conds {
		out.absorbPredicate(c)
	}
	out.eval = func(rc *rowCtx) (value.Value, error) {
		for i, c := range conds {
			t, err := c.eval(rc)
			if err != nil {
				return value.Value{}, err
			}
			if t == isTrue {
				return results[i].eval(rc)
			}
		}
		return results[len(results)-1].eval(rc)
	}
	return out, nil
}
