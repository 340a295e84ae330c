package value

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// toText converts to char, varchar, nchar and nvarchar.
func toText(v Value, from, to Type, style int, env ConvertEnv) (Value, error) {
	var s string
	var err error
	switch k := v.kind; {
	case k.IsCharacter():
		s = v.s
	case k.IsInteger():
		s = strconv.FormatInt(v.n, 10)
		if tooLong(s, to) {
			if k != BigInt && k != Bit && !to.Kind.IsUnicode() {
				s = "*"
			} else {
				return Value{}, NewError(8115, 16, 2, "Arithmetic overflow error converting expression to data type %s.", to.Kind)
			}
		}
	case k == Decimal:
		s = formatDecimal(v)
		if tooLong(s, to) {
			return Value{}, NewError(8115, 16, 5, "Arithmetic overflow error converting numeric to data type %s.", to.Kind)
		}
	case k.IsMoney():
		s = formatMoney(v.n, style)
		if tooLong(s, to) {
			return Value{}, NewError(234, 16, 2, "There is insufficient result space to convert a money value to %s.", to.Kind)
		}
	case k.IsApproximate():
		s = formatFloat(v, style)
		if tooLong(s, to) {
			return Value{}, NewError(232, 16, 2, "Arithmetic overflow error for type %s, value = %f.", to.Kind, v.Float())
		}
	case k == UniqueIdentifier:
		s = formatUUID(v.s)
		if tooLong(s, to) {
			return Value{}, NewError(8170, 16, 2, "Insufficient result space to convert uniqueidentifier value to char.")
		}
	case k.IsBinary():
		s, err = binaryToText(v.s, from, to, style)
	case k.IsTemporal():
		s, err = formatTemporal(v, from, to, style, env.language())
	}
	if err != nil {
		return Value{}, err
	}
	if !to.Kind.IsUnicode() {
		s = toCodePage(s, to.Collation)
	}
	return fit(NewString(to.Kind, s), to), nil
}

// tooLong tells whether plain ASCII does not fit.
func tooLong(s string, to Type) bool { return to.Length > 0 && len(s) > to.Length }

// fit cuts v to the length of t, and pads char, nchar and binary. The text is in the
// code page of t already.
func fit(v Value, t Type) Value {
	if t.Length <= 0 {
		return v
	}
	switch t.Kind {
	case Binary, VarBinary:
		if len(v.s) > t.Length {
			v.s = v.s[:t.Length]
		} else if t.Kind == Binary {
			v.s += strings.Repeat("\x00", t.Length-len(v.s))
		}
	case NChar, NVarChar:
		if len(v.s) > t.Length { // else it has no more code units than bytes
			cut := UTF16Slice(v.s, 0, t.Length)
			if t.Collation.SupplementaryCharacters() && len(cut) >= 3 && len(cut) < len(v.s) {
				if r, _ := decodeRune(cut[len(cut)-3:]); r >= 0xD800 && r < 0xDC00 {
					cut = cut[:len(cut)-3] // these collations do not split a pair
				}
			}
			v.s = cut
		}
		if t.Kind == NChar {
			v.s += strings.Repeat(" ", max(0, t.Length-UTF16Len(v.s)))
		}
	case Char, VarChar:
		n := charLen(v.s, t.Collation)
		if n > t.Length {
			v.s = cutChars(v.s, t.Length, t.Collation)
			n = charLen(v.s, t.Collation)
		}
		if t.Kind == Char {
			v.s += strings.Repeat(" ", max(0, t.Length-n))
		}
	}
	return v
}

// charLen is the length in bytes of s in the code page of c.
func charLen(s string, c Collation) int {
	if c.UTF8() || isASCII(s) {
		return len(s)
	}
	n := 0
	for i := 0; i < len(s); n++ {
		_, w := decodeRune(s[i:])
		i += w
	}
	return n
}

func cutChars(s string, n int, c Collation) string {
	end := 0
	for i := 0; i < len(s); {
		_, w := decodeRune(s[i:])
		if c.UTF8() {
			if i+w > n {
				break
			}
		} else if n == 0 {
			break
		} else {
			n--
		}
		i += w
		end = i
	}
	return s[:end]
}

// DataLength is the number of bytes that v takes, as DATALENGTH tells. c is the
// collation of a char or varchar.
func DataLength(v Value, c Collation) int {
	switch v.kind {
	case Bit, TinyInt:
		return 1
	case SmallInt:
		return 2
	case Int, Real, SmallDateTime, SmallMoney:
		return 4
	case BigInt, Money, Float, DateTime:
		return 8
	case Date:
		return 3
	case Time:
		return timeSize(v.scale)
	case DateTime2:
		return timeSize(v.scale) + 3
	case DateTimeOffset:
		return timeSize(v.scale) + 5
	case Decimal:
		switch p := decimalPrecision(v); {
		case p <= 9:
			return 5
		case p <= 19:
			return 9
		case p <= 28:
			return 13
		}
		return 17
	case UniqueIdentifier:
		return 16
	case NChar, NVarChar:
		return 2 * UTF16Len(v.s)
	case Char, VarChar:
		return charLen(v.s, c)
	}
	return len(v.s)
}

func timeSize(scale uint8) int {
	switch {
	case scale <= 2:
		return 3
	case scale <= 4:
		return 4
	}
	return 5
}

func formatMoney(n int64, style int) string {
	neg := n < 0
	u := uint64(n)
	if neg {
		u = -u
	}
	digits := 4
	if style != 2 && style != 126 {
		u = (u + 50) / 100
		digits = 2
	}
	s := strconv.FormatUint(u, 10)
	if len(s) <= digits {
		s = strings.Repeat("0", digits+1-len(s)) + s
	}
	whole, frac := s[:len(s)-digits], s[len(s)-digits:]
	if style == 1 {
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + "," + whole[i:]
		}
	}
	if neg {
		whole = "-" + whole
	}
	return whole + "." + frac
}

func formatFloat(v Value, style int) string {
	f := v.Float()
	switch style {
	case 1:
		return threeDigitExponent(strconv.FormatFloat(f, 'e', 7, 64))
	case 2:
		return threeDigitExponent(strconv.FormatFloat(f, 'e', 15, 64))
	case 3:
		if v.kind == Real {
			return threeDigitExponent(strconv.FormatFloat(f, 'e', 8, 64))
		}
		return threeDigitExponent(strconv.FormatFloat(f, 'e', 16, 64))
	}
	if f == 0 {
		return "0"
	}
	// At most six digits, in exponent form outside 1e-4 to 1e6, as C prints %g.
	s := strconv.FormatFloat(f, 'e', 5, 64)
	mantissa, exp, _ := strings.Cut(s, "e")
	e, _ := strconv.Atoi(exp)
	if e < -4 || e >= 6 {
		if strings.Contains(mantissa, ".") {
			mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
		}
		return threeDigitExponent(mantissa + "e" + exp)
	}
	s = strconv.FormatFloat(f, 'f', max(0, 5-e), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// threeDigitExponent turns Go's e+06 into the e+006 of the Windows C library.
func threeDigitExponent(s string) string {
	i := strings.IndexByte(s, 'e')
	if i < 0 {
		return s
	}
	digits := s[i+2:]
	for len(digits) < 3 {
		digits = "0" + digits
	}
	return s[:i+2] + digits
}

func binaryToText(b string, from, to Type, style int) (string, error) {
	switch style {
	case 0, NoStyle:
		if to.Kind.IsUnicode() {
			if len(b)%2 != 0 {
				b += "\x00"
			}
			return DecodeUTF16([]byte(b)), nil
		}
		return DecodeChars([]byte(b), to.Collation), nil
	case 1, 2:
		s := strings.ToUpper(hex.EncodeToString([]byte(b)))
		if style == 1 {
			s = "0x" + s
		}
		return s, nil
	}
	return "", invalidStyle(style, from, "a character string")
}

func invalidStyle(style int, from Type, to string) error {
	return NewError(281, 16, 1, "%d is not a valid style number when converting from %s to %s.", style, errName(from.Kind), to)
}
