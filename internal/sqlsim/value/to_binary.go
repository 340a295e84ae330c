package value

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"
)

// toBinary converts to binary, varbinary and rowversion.
func toBinary(v Value, from, to Type, style int) (Value, error) {
	if to.Kind == RowVersion {
		to.Length = 8
		out, err := toBinary(v, from, Type{Kind: Binary, Length: 8}, style)
		return out.WithKind(RowVersion), err
	}
	var b []byte
	numeric := false // numbers are cut and padded on the left
	switch k := v.kind; {
	case k.IsBinary():
		b = v.Bytes()
	case k.IsCharacter():
		switch style {
		case 0, NoStyle:
			if k.IsUnicode() {
				b = EncodeUTF16(nil, v.s)
			} else {
				b = EncodeChars(nil, v.s, from.Collation)
			}
		case 1, 2:
			var ok bool
			if b, ok = parseHex(v.s, style == 1); !ok {
				return Value{}, convertingError(from, to)
			}
		default:
			return Value{}, NewError(281, 16, 1, "%d is not a valid style number when converting from %s to %s.", style, k, to.Kind)
		}
	case k == UniqueIdentifier:
		u := v.StorageUUID()
		b = u[:]
		if to.Length > 0 && to.Length < 16 {
			return Value{}, NewError(8170, 16, 2, "Insufficient result space to convert uniqueidentifier value to char.")
		}
	case k == Decimal:
		b = decimalBytes(v, from)
	case k == Real:
		b = binary.BigEndian.AppendUint32(nil, math.Float32bits(float32(v.Float())))
		numeric = true
	case k == Float:
		b = binary.BigEndian.AppendUint64(nil, math.Float64bits(v.Float()))
		numeric = true
	case k.IsInteger() || k.IsMoney():
		b = binary.BigEndian.AppendUint64(nil, uint64(v.n))
		b = b[8-DataLength(v, 0):]
		numeric = true
	case k == DateTime:
		thirds := ticksToThirds(v.n)
		day, rest := thirds/25_920_000, thirds%25_920_000
		b = binary.BigEndian.AppendUint32(nil, uint32(int32(day-days1900)))
		b = binary.BigEndian.AppendUint32(b, uint32(rest))
		numeric = true
	case k == SmallDateTime:
		b = binary.BigEndian.AppendUint16(nil, uint16(v.n/TicksPerDay-days1900))
		b = binary.BigEndian.AppendUint16(b, uint16(v.n%TicksPerDay/TicksPerMinute))
		numeric = true
	case k == Date:
		b = appendDays(nil, v.n)
	case k == Time:
		b = AppendTicks([]byte{v.scale}, v.n, v.scale)
	case k == DateTime2:
		b = AppendTicks([]byte{v.scale}, v.n%TicksPerDay, v.scale)
		b = appendDays(b, v.n/TicksPerDay)
	case k == DateTimeOffset:
		b = AppendTicks([]byte{v.scale}, v.n%TicksPerDay, v.scale)
		b = appendDays(b, v.n/TicksPerDay)
		b = binary.LittleEndian.AppendUint16(b, uint16(v.off))
	default:
		return Value{}, clash(from, to)
	}
	if numeric && to.Length > 0 {
		if len(b) > to.Length {
			b = b[len(b)-to.Length:]
		} else if to.Kind == Binary {
			b = append(make([]byte, to.Length-len(b)), b...)
		}
	}
	return fit(NewBinary(to.Kind, b), to), nil
}

// convertingError is the error without a value that most types raise.
func convertingError(from, to Type) error {
	return NewError(8114, 16, 5, "Error converting data type %s to %s.", errName(from.Kind), errName(to.Kind))
}

func parseHex(s string, prefixed bool) ([]byte, bool) {
	s = TrimSpaces(s)
	if prefixed {
		if len(s) < 2 || s[0] != '0' || s[1] != 'x' && s[1] != 'X' {
			return nil, false
		}
		s = s[2:]
	}
	if len(s)%2 != 0 {
		return nil, false
	}
	out := make([]byte, 0, len(s)/2)
	for i := 0; i < len(s); i += 2 {
		hi, lo := hexDigit(s[i]), hexDigit(s[i+1])
		if hi < 0 || lo < 0 {
			return nil, false
		}
		out = append(out, byte(hi<<4|lo))
	}
	return out, true
}

// decimalBytes is precision, scale, a zero, the sign, and the digits as a little-endian integer in whole words.
func decimalBytes(v Value, t Type) []byte {
	n, scale := v.Dec()
	precision := t.Precision
	if precision == 0 {
		precision = decimalPrecision(v)
	}
	sign := byte(1)
	if n.Sign() < 0 {
		sign = 0
	}
	digits := new(big.Int).Abs(n).Bytes()
	slices.Reverse(digits)
	for len(digits)%4 != 0 || len(digits) == 0 {
		digits = append(digits, 0)
	}
	return append([]byte{precision, scale, 0, sign}, digits...)
}

func decimalFromBytes(b string) (Value, bool) {
	if len(b) < 5 || b[0] < 1 || b[0] > 38 || b[1] > b[0] || len(b) > 20 {
		return Value{}, false
	}
	digits := []byte(b[4:])
	slices.Reverse(digits)
	n := new(big.Int).SetBytes(digits)
	if n.CmpAbs(pow10(b[0])) >= 0 {
		return Value{}, false
	}
	if b[3] == 0 {
		n.Neg(n)
	}
	return NewDecimal(n, b[1]), true
}

func appendDays(dst []byte, days int64) []byte {
	return append(dst, byte(days), byte(days>>8), byte(days>>16))
}

// AppendTicks appends a time of day as stored and sent: a little-endian count of
// units of 10^-scale s in 3, 4 or 5 bytes.
func AppendTicks(dst []byte, ticks int64, scale uint8) []byte {
	n := ticks / unitOf(scale)
	for range timeSize(scale) {
		dst = append(dst, byte(n))
		n >>= 8
	}
	return dst
}

// temporalFromBinary reads what toBinary wrote.
func temporalFromBinary(b string, to Type) (Value, bool) {
	if to.Kind == DateTime || to.Kind == SmallDateTime {
		var raw [8]byte
		if len(b) > 8 {
			b = b[len(b)-8:]
		}
		copy(raw[8-len(b):], b)
		if to.Kind == SmallDateTime {
			day, minute := binary.BigEndian.Uint16(raw[4:]), binary.BigEndian.Uint16(raw[6:])
			if minute >= 1440 {
				return Value{}, false
			}
			return NewSmallDateTime((int64(day)+days1900)*TicksPerDay + int64(minute)*TicksPerMinute), true
		}
		day, thirds := int64(int32(binary.BigEndian.Uint32(raw[:])))+days1900, int64(binary.BigEndian.Uint32(raw[4:]))
		if day < days1753 || day > maxDate || thirds >= 25_920_000 {
			return Value{}, false
		}
		return Value{kind: DateTime, n: thirdsToTicks(day*25_920_000 + thirds)}, true
	}
	number := func(s string) (n int64) {
		for i := len(s) - 1; i >= 0; i-- {
			n = n<<8 | int64(s[i])
		}
		return n
	}
	if to.Kind == Date {
		if len(b) != 3 || number(b) > maxDate {
			return Value{}, false
		}
		return NewDate(number(b)), true
	}
	if len(b) == 0 || b[0] > 7 {
		return Value{}, false
	}
	scale := b[0]
	size := timeSize(scale)
	rest := map[Kind]int{Time: 0, DateTime2: 3, DateTimeOffset: 5}[to.Kind]
	if len(b) != 1+size+rest {
		return Value{}, false
	}
	ticks := number(b[1:1+size]) * unitOf(scale)
	if ticks >= TicksPerDay {
		return Value{}, false
	}
	if to.Kind == Time {
		return NewTime(ticks, to.Scale), true
	}
	days := number(b[1+size : 4+size])
	if days > maxDate {
		return Value{}, false
	}
	ticks += days * TicksPerDay
	if to.Kind == DateTime2 {
		return NewDateTime2(ticks, to.Scale), true
	}
	off := int(int16(number(b[4+size:])))
	if off < -840 || off > 840 {
		return Value{}, false
	}
	return NewDateTimeOffset(ticks, off, to.Scale), true
}
