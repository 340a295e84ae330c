package value

// precedence ranks the types: of two operands, the one that ranks lower is converted.
var precedence = [...]int{
	Variant: 30, DateTimeOffset: 28, DateTime2: 27, DateTime: 26, SmallDateTime: 25, Date: 24, Time: 23,
	Float: 22, Real: 21, Decimal: 20, Money: 19, SmallMoney: 18, BigInt: 17, Int: 16, SmallInt: 15, TinyInt: 14, Bit: 13,
	RowVersion: 9, UniqueIdentifier: 8, NVarChar: 7, NChar: 6, VarChar: 5, Char: 4, VarBinary: 3, Binary: 2, Unknown: 0,
}

// Precedence is the rank of k; higher wins.
func Precedence(k Kind) int {
	if int(k) < len(precedence) {
		return precedence[k]
	}
	return 0
}

// The words that error messages have for the operators.
var operatorNames = map[string]string{"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "modulo", "&": "'&'", "|": "'|'", "^": "'^'"}

// ResultType is the type of "a op b" for + - * / % & | ^. With an empty op it is the
// type that two values come to in CASE, COALESCE, UNION or a comparison.
func ResultType(op string, a, b Type) (Type, error) {
	if op == "" {
		return commonType(a, b)
	}
	if a.Kind == Unknown && b.Kind == Unknown {
		return Type{Kind: Int}, nil
	}
	if a.Kind == Unknown {
		a = b
	}
	if b.Kind == Unknown {
		b = a
	}
	invalid := func(t Type) error {
		return NewError(8117, 16, 1, "Operand data type %s is invalid for %s operator.", messageName(t), operatorNames[op])
	}
	incompatible := func() error {
		return NewError(402, 16, 1, "The data types %s and %s are incompatible in the %s operator.", messageName(a), messageName(b), operatorNames[op])
	}
	ka, kb := a.Kind, b.Kind
	switch op {
	case "&", "|", "^":
		return bitwiseType(a, b, incompatible, invalid)
	case "+":
		if isString(ka) && isString(kb) {
			return concatType(a, b)
		}
	}
	old := func(k Kind) bool { return k == DateTime || k == SmallDateTime }
	for _, t := range [2]Type{a, b} {
		other := b
		if t == b {
			other = a
		}
		k := t.Kind
		switch {
		case k == Variant, k == UniqueIdentifier, k == RowVersion:
			return Type{}, invalid(t)
		case k.IsTemporal() && !old(k):
			if other.Kind == k {
				return Type{}, invalid(t)
			}
			if other.Kind.IsTemporal() || isString(other.Kind) {
				return Type{}, incompatible()
			}
			return Type{}, clash(a, b)
		}
	}
	if old(ka) || old(kb) {
		if op != "+" && op != "-" {
			return Type{}, invalid(pickType(old(ka), a, b))
		}
		if ka == DateTime || kb == DateTime {
			return Type{Kind: DateTime}, nil
		}
		return Type{Kind: SmallDateTime}, nil
	}
	if isString(ka) && isString(kb) {
		return Type{}, invalid(a)
	}
	if ka == Bit && kb == Bit {
		return Type{}, invalid(a)
	}
	if op == "%" && (ka.IsApproximate() || kb.IsApproximate()) {
		return Type{}, incompatible()
	}
	if ka == Decimal || kb == Decimal {
		if ka.IsApproximate() || kb.IsApproximate() {
			return commonType(a, b)
		}
		if isString(ka) {
			a = b
		}
		if isString(kb) {
			b = a
		}
		return decimalType(op, asDecimal(a), asDecimal(b)), nil
	}
	if Precedence(ka) >= Precedence(kb) {
		return plain(a), nil
	}
	return plain(b), nil
}

func pickType(cond bool, a, b Type) Type {
	if cond {
		return a
	}
	return b
}

func plain(t Type) Type { return Type{Kind: t.Kind, Precision: t.Precision, Scale: t.Scale} }

func isString(k Kind) bool { return k.IsCharacter() || k.IsBinary() }

func bitwiseType(a, b Type, incompatible func() error, invalid func(Type) error) (Type, error) {
	whole := func(t Type) bool { return t.Kind.IsInteger() }
	switch {
	case whole(a) && whole(b):
		return pickType(Precedence(a.Kind) >= Precedence(b.Kind), a, b), nil
	case whole(a) && (b.Kind == Binary || b.Kind == VarBinary):
		return a, nil
	case whole(b) && (a.Kind == Binary || a.Kind == VarBinary):
		return b, nil
	case whole(a) && b.Kind.IsCharacter():
		return a, nil
	case whole(b) && a.Kind.IsCharacter():
		return b, nil
	case a.Kind == b.Kind && !isString(a.Kind) && !a.Kind.IsNumeric():
		return Type{}, invalid(a)
	}
	return Type{}, incompatible()
}

// concatType is the type of the sum of two strings.
func concatType(a, b Type) (Type, error) {
	if a.Kind.IsBinary() != b.Kind.IsBinary() {
		// Text and binary do not concatenate: binary has no implicit conversion from text.
		return Type{}, NewError(402, 16, 1, "The data types %s and %s are incompatible in the add operator.", messageName(a), messageName(b))
	}
	out := pickType(Precedence(a.Kind) >= Precedence(b.Kind), a, b)
	if a.Kind == RowVersion || b.Kind == RowVersion {
		out.Kind = VarBinary
	}
	limit := 8000
	if out.Kind.IsUnicode() {
		limit = 4000
	}
	if a.IsMax() || b.IsMax() {
		out.Length = Max
		switch out.Kind {
		case NChar:
			out.Kind = NVarChar
		case Char:
			out.Kind = VarChar
		case Binary:
			out.Kind = VarBinary
		}
		return out, nil
	}
	out.Length = min(typeLength(a)+typeLength(b), limit)
	return out, nil
}

func typeLength(t Type) int {
	if t.Kind == RowVersion {
		return 8
	}
	return t.Length
}

// asDecimal is the decimal type that holds every value of an exact type.
func asDecimal(t Type) Type {
	d := func(p, s uint8) Type { return Type{Kind: Decimal, Precision: p, Scale: s} }
	switch t.Kind {
	case Bit:
		return d(1, 0)
	case TinyInt:
		return d(3, 0)
	case SmallInt:
		return d(5, 0)
	case Int:
		return d(10, 0)
	case BigInt:
		return d(19, 0)
	case Money:
		return d(19, 4)
	case SmallMoney:
		return d(10, 4)
	case Decimal:
		return t
	}
	return d(18, 0)
}

// decimalType has the rules for precision and scale of decimal arithmetic.
func decimalType(op string, a, b Type) Type {
	p1, s1, p2, s2 := int(a.Precision), int(a.Scale), int(b.Precision), int(b.Scale)
	var p, s int
	switch op {
	case "*":
		p, s = p1+p2+1, s1+s2
	case "/":
		s = max(6, s1+p2+1)
		p = p1 - s1 + s2 + s
	case "%":
		s = max(s1, s2)
		p = min(p1-s1, p2-s2) + s
	default: // + -
		s = max(s1, s2)
		p = max(p1-s1, p2-s2) + s + 1
		if p > 38 {
			s = max(0, min(s, 38-max(p1-s1, p2-s2)))
			p = 38
		}
	}
	if p > 38 {
		whole := p - s
		switch {
		case whole <= 32:
			s = min(s, 38-whole)
		case s > 6:
			s = 6
		}
		p = 38
	}
	return Type{Kind: Decimal, Precision: uint8(p), Scale: uint8(s)}
}

// commonType is what two values of different types come to.
func commonType(a, b Type) (Type, error) {
	if a.Kind == Unknown {
		return b, nil
	}
	if b.Kind == Unknown {
		return a, nil
	}
	hi, lo := a, b
	if Precedence(a.Kind) < Precedence(b.Kind) {
		hi, lo = b, a
	}
	if err := CheckImplicit(lo, hi); err != nil {
		return Type{}, err
	}
	switch k := hi.Kind; {
	case k == Decimal && lo.Kind.IsNumeric():
		d := asDecimal(lo)
		s := max(hi.Scale, d.Scale)
		p := int(max(hi.Precision-hi.Scale, d.Precision-d.Scale)) + int(s)
		if p > 38 {
			s = uint8(max(0, int(s)-(p-38)))
			p = 38
		}
		hi.Precision, hi.Scale = uint8(p), s
	case isString(k) && isString(lo.Kind):
		if hi.IsMax() || lo.IsMax() {
			hi.Length = Max
		} else {
			limit := 8000
			if k.IsUnicode() {
				limit = 4000
			}
			hi.Length = min(max(typeLength(hi), typeLength(lo)), limit)
		}
		// A fixed length next to a varying one varies.
		switch {
		case lo.Kind == VarChar && k == NChar:
			hi.Kind = NVarChar
		case hi.Length == Max && k == NChar:
			hi.Kind = NVarChar
		case hi.Length == Max && k == Char:
			hi.Kind = VarChar
		case hi.Length == Max && k == Binary:
			hi.Kind = VarBinary
		}
	case (k == Time || k == DateTime2 || k == DateTimeOffset) && lo.Kind.IsTemporal():
		s := lo.Scale
		switch lo.Kind {
		case DateTime:
			s = 3
		case SmallDateTime, Date:
			s = 0
		}
		hi.Scale = max(hi.Scale, s)
	}
	return hi, nil
}
