package value

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// toNumber converts to bit, the integers, decimal, money, real and float.
func toNumber(v Value, from, to Type) (Value, error) {
	switch k := v.kind; {
	case k.IsCharacter():
		return textToNumber(v.s, from, to)
	case k.IsBinary():
		return binaryToNumber(v.s, from, to)
	case k == DateTime || k == SmallDateTime:
		return dateToNumber(v, to)
	case !k.IsNumeric():
		return Value{}, clash(from, to)
	}
	switch {
	case to.Kind == Bit:
		return NewBit(v.n != 0 && toFloat(v) != 0 || v.s != ""), nil
	case to.Kind.IsInteger():
		return numberToInteger(v, to.Kind)
	case to.Kind == Decimal:
		return numberToDecimal(v, to)
	case to.Kind.IsMoney():
		return numberToMoney(v, to.Kind)
	}
	f := toFloat(v)
	if to.Kind == Real {
		if math.Abs(f) > math.MaxFloat32 {
			return Value{}, NewError(232, 16, 2, "Arithmetic overflow error for type real, value = %f.", f)
		}
		if f != 0 && float32(f) == 0 {
			f = 0
		}
		return NewReal(float32(f)), nil
	}
	return NewFloat(f), nil
}

func integerRange(k Kind) (lo, hi int64) {
	switch k {
	case Bit:
		return 0, 1
	case TinyInt:
		return 0, 255
	case SmallInt:
		return math.MinInt16, math.MaxInt16
	case Int:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

// overflow is error 8115 of an expression.
func overflow(to Kind) error {
	return NewError(8115, 16, 2, "Arithmetic overflow error converting expression to data type %s.", errName(to))
}

func numberToInteger(v Value, to Kind) (Value, error) {
	lo, hi := integerRange(to)
	switch k := v.kind; {
	case k.IsInteger():
		if v.n >= lo && v.n <= hi {
			return NewInt(to, v.n), nil
		}
		if k != BigInt && to != Int {
			state := uint8(1)
			if to == TinyInt {
				state = 2
			}
			return Value{}, NewError(220, 16, state, "Arithmetic overflow error for data type %s, value = %d.", to, v.n)
		}
		return Value{}, overflow(to)
	case k.IsApproximate():
		f := math.Trunc(v.Float())
		if f < float64(lo) || f > float64(hi) || f == 1<<63 {
			if to == BigInt {
				return Value{}, NewError(8115, 16, 2, "Arithmetic overflow error converting expression to data type bigint.")
			}
			return Value{}, NewError(232, 16, 3, "Arithmetic overflow error for type %s, value = %f.", to, v.Float())
		}
		return NewInt(to, int64(f)), nil
	case k.IsMoney(): // money rounds where decimal truncates
		n := v.n / 10_000
		switch rest := v.n % 10_000; {
		case rest >= 5_000:
			n++
		case rest <= -5_000:
			n--
		}
		if n < lo || n > hi {
			return Value{}, overflow(to)
		}
		return NewInt(to, n), nil
	}
	n, scale := v.Dec()
	n.Quo(n, pow10(scale))
	if !n.IsInt64() || n.Int64() < lo || n.Int64() > hi {
		return Value{}, overflow(to)
	}
	return NewInt(to, n.Int64()), nil
}

// rescale gives n, of scale from, the scale to; it rounds half away from zero.
func rescale(n *big.Int, from, to uint8) *big.Int {
	if to >= from {
		return new(big.Int).Mul(n, pow10(to-from))
	}
	return roundQuo(n, pow10(from-to))
}

// roundQuo is n / d, rounded half away from zero; d is positive.
func roundQuo(n, d *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(n, d, new(big.Int))
	if r.Abs(r).Lsh(r, 1).Cmp(d) >= 0 {
		if n.Sign() < 0 {
			return q.Sub(q, big.NewInt(1))
		}
		return q.Add(q, big.NewInt(1))
	}
	return q
}

func decimalPrecision(v Value) uint8 {
	n, scale := v.Dec()
	digits := len(new(big.Int).Abs(n).String())
	return uint8(max(digits, int(scale), 1))
}

func numberToDecimal(v Value, to Type) (Value, error) {
	overflowed := func() error {
		name := errName(v.kind)
		if v.kind.IsMoney() || v.kind == BigInt {
			name = v.kind.String()
		}
		return NewError(8115, 16, 8, "Arithmetic overflow error converting %s to data type numeric.", name)
	}
	if v.kind.IsApproximate() {
		n, ok := floatToScaled(v.Float(), to.Scale)
		if !ok || n.CmpAbs(pow10(to.Precision)) >= 0 {
			return Value{}, NewError(8115, 16, 6, "Arithmetic overflow error converting %s to data type numeric.", v.kind)
		}
		return NewDecimal(n, to.Scale), nil
	}
	n, scale := v.Dec()
	n = rescale(n, scale, to.Scale)
	if n.CmpAbs(pow10(to.Precision)) >= 0 {
		return Value{}, overflowed()
	}
	return NewDecimal(n, to.Scale), nil
}

// floatToScaled rounds f to an integer of 10^-scale, from its 17 significant digits.
func floatToScaled(f float64, scale uint8) (*big.Int, bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) || math.Abs(f) > 1e39 {
		return nil, false
	}
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'e', 16, 64))
	if !ok {
		return nil, false
	}
	// There are never more than 17 decimals.
	decimals := min(scale, 17)
	n := roundQuo(new(big.Int).Mul(r.Num(), pow10(decimals)), r.Denom())
	return n.Mul(n, pow10(scale-decimals)), true
}

func moneyRange(k Kind) (lo, hi int64) {
	if k == SmallMoney {
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

func numberToMoney(v Value, to Kind) (Value, error) {
	var n *big.Int
	if v.kind.IsApproximate() {
		var ok bool
		if n, ok = floatToScaled(v.Float(), 4); !ok {
			return Value{}, overflow(to)
		}
	} else {
		var scale uint8
		n, scale = v.Dec()
		n = rescale(n, scale, 4)
	}
	lo, hi := moneyRange(to)
	if !n.IsInt64() || n.Int64() < lo || n.Int64() > hi {
		return Value{}, overflow(to)
	}
	return NewInt(to, n.Int64()), nil
}

func binaryToNumber(b string, from, to Type) (Value, error) {
	switch k := to.Kind; {
	case k == Decimal:
		d, ok := decimalFromBytes(b)
		if !ok {
			return Value{}, convertingError(from, to)
		}
		return numberToDecimal(d, to)
	case k.IsApproximate():
		return Value{}, clash(from, to)
	case k == Bit:
		return NewBit(len(b) > 0 && b[len(b)-1] != 0), nil
	default:
		size := DataLength(NewInt(k, 0), 0)
		if len(b) > size {
			b = b[len(b)-size:]
		}
		var u uint64
		for i := range len(b) {
			u = u<<8 | uint64(b[i])
		}
		switch {
		case size == 2:
			return NewInt(k, int64(int16(u))), nil
		case size == 4:
			return NewInt(k, int64(int32(u))), nil
		}
		return NewInt(k, int64(u)), nil
	}
}

// dateToNumber counts days since 1900-01-01.
func dateToNumber(v Value, to Type) (Value, error) {
	thirds := ticksToThirds(v.n) - days1900*25_920_000
	if to.Kind.IsInteger() && to.Kind != Bit {
		days := (thirds + 12_960_000) / 25_920_000
		if thirds < 0 {
			days = -((-thirds + 12_959_999) / 25_920_000)
		}
		return numberToInteger(NewInt(Int, days), to.Kind)
	}
	return toNumber(NewFloat(float64(thirds)/25_920_000), Type{Kind: Float}, to)
}

// conversionFailed is error 245, which shows the value.
func conversionFailed(s string, from, to Type) error {
	return NewError(245, 16, 1, "Conversion failed when converting the %s value '%s' to data type %s.", from.Kind, s, errName(to.Kind))
}

func textToNumber(s string, from, to Type) (Value, error) {
	trimmed := strings.Trim(s, " ")
	switch k := to.Kind; {
	case k == Bit:
		switch strings.ToLower(trimmed) {
		case "true":
			return NewBit(true), nil
		case "false", "":
			return NewBit(false), nil
		}
		digits, _, ok := integerText(trimmed)
		if !ok {
			return Value{}, conversionFailed(s, from, to)
		}
		return NewBit(strings.Trim(digits, "0") != ""), nil
	case k.IsInteger():
		return textToInteger(s, trimmed, from, to)
	case k == Decimal:
		n, scale, ok := decimalText(trimmed)
		if !ok {
			return Value{}, convertingError(from, to)
		}
		n = rescale(n, scale, to.Scale)
		if n.CmpAbs(pow10(to.Precision)) >= 0 {
			return Value{}, NewError(8115, 16, 8, "Arithmetic overflow error converting %s to data type numeric.", from.Kind)
		}
		return NewDecimal(n, to.Scale), nil
	case k.IsMoney():
		return textToMoney(trimmed, from, to)
	}
	f, ok, overflowed := floatText(trimmed)
	if !ok {
		return Value{}, convertingError(from, to)
	}
	if overflowed {
		return Value{}, overflow(to.Kind)
	}
	return toNumber(NewFloat(f), Type{Kind: Float}, to)
}

// integerText reads an optional sign and digits. The empty string and a lone sign are zero.
func integerText(s string) (digits string, neg, ok bool) {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		s = strings.TrimLeft(s[1:], " ")
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return "", false, false
		}
	}
	return s, neg, true
}

func textToInteger(s, trimmed string, from, to Type) (Value, error) {
	digits, neg, ok := integerText(trimmed)
	if !ok {
		if to.Kind == BigInt {
			return Value{}, convertingError(from, to)
		}
		return Value{}, conversionFailed(s, from, to)
	}
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		return NewInt(to.Kind, 0), nil
	}
	if neg {
		digits = "-" + digits
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	lo, hi := integerRange(to.Kind)
	if err == nil && n >= lo && n <= hi {
		return NewInt(to.Kind, n), nil
	}
	switch to.Kind {
	case TinyInt:
		return Value{}, NewError(244, 16, 1, "The conversion of the %s value '%s' overflowed an INT1 column. Use a larger integer column.", from.Kind, s)
	case SmallInt:
		return Value{}, NewError(244, 16, 2, "The conversion of the %s value '%s' overflowed an INT2 column. Use a larger integer column.", from.Kind, s)
	case Int:
		return Value{}, NewError(248, 16, 1, "The conversion of the %s value '%s' overflowed an int column.", from.Kind, s)
	}
	return Value{}, overflow(BigInt)
}

// decimalText reads a number without exponent: sign, digits, a point, digits.
func decimalText(s string) (n *big.Int, scale uint8, ok bool) {
	neg := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		s = s[1:]
	}
	whole, frac, _ := strings.Cut(s, ".")
	if whole == "" && frac == "" {
		return nil, 0, false
	}
	if len(frac) > 38 { // far beyond any scale; one digit more decides the rounding
		for i := 38; i < len(frac); i++ {
			if frac[i] < '0' || frac[i] > '9' {
				return nil, 0, false
			}
		}
		frac = frac[:38]
	}
	digits := whole + frac
	if len(digits) > 400 {
		digits = strings.TrimLeft(digits, "0")
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return nil, 0, false
		}
	}
	if digits == "" {
		digits = "0"
	}
	if len(digits) > 400 {
		digits = digits[:400] // overflows whatever it is
	}
	n, _ = new(big.Int).SetString(digits, 10)
	if neg {
		n.Neg(n)
	}
	return n, uint8(len(frac)), true
}

func floatText(s string) (f float64, ok, overflowed bool) {
	if s == "" {
		return 0, true, false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && !strings.ContainsRune("+-.eEdD", rune(c)) {
			return 0, false, false // no hexadecimal, no Inf, no underscores
		}
	}
	s = strings.NewReplacer("d", "e", "D", "e").Replace(s)
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		if numErr, is := err.(*strconv.NumError); is && numErr.Err == strconv.ErrRange {
			return f, true, math.IsInf(f, 0)
		}
		return 0, false, false
	}
	return f, true, false
}

func textToMoney(s string, from, to Type) (Value, error) {
	clean := s
	neg := false
	if strings.HasPrefix(clean, "(") && strings.HasSuffix(clean, ")") {
		neg, clean = true, clean[1:len(clean)-1]
	}
	sign := ""
	for changed := true; changed; {
		changed = false
		clean = strings.TrimLeft(clean, " ")
		for _, symbol := range []string{"$", "£", "¥", "€", "¢", "¤", "₩", "₪", "₫"} {
			if rest, ok := strings.CutPrefix(clean, symbol); ok {
				clean, changed = rest, true
			}
		}
		if sign == "" && clean != "" && (clean[0] == '-' || clean[0] == '+') {
			sign, clean, changed = clean[:1], clean[1:], true
		}
	}
	clean = strings.ReplaceAll(clean, ",", "")
	if clean == "" || clean == "." {
		clean = "0"
	}
	n, scale, ok := decimalText(clean)
	if !ok {
		return Value{}, NewError(235, 16, 0, "Cannot convert a char value to money. The value has incorrect syntax.")
	}
	if neg != (sign == "-") {
		n.Neg(n)
	}
	n = rescale(n, scale, 4)
	lo, hi := moneyRange(to.Kind)
	if !n.IsInt64() || n.Int64() < lo || n.Int64() > hi {
		return Value{}, overflow(to.Kind)
	}
	return NewInt(to.Kind, n.Int64()), nil
}
