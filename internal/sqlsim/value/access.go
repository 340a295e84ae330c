package value

import (
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// Kind is the type of v.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports NULL. The zero Value is not NULL; use NewNull.
func (v Value) IsNull() bool { return v.null }

// Int is the number of a bit, an integer, money (in ten-thousandths) or a date (in
// days since 0001-01-01).
func (v Value) Int() int64 { return v.n }

// Bool reports a bit that is set.
func (v Value) Bool() bool { return v.n != 0 }

// Float is the number of a real or float.
func (v Value) Float() float64 { return math.Float64frombits(uint64(v.n)) }

// Str is the text of a character value, in WTF-8.
func (v Value) Str() string { return v.s }

// Bytes is a copy of the bytes of a binary value.
func (v Value) Bytes() []byte { return []byte(v.s) }

// Raw is Bytes or Str without a copy.
func (v Value) Raw() string { return v.s }

// UUID is a uniqueidentifier in RFC 4122 order, as printed.
func (v Value) UUID() (u [16]byte) {
	copy(u[:], v.s)
	return u
}

// Scale is the number of fractional digits of a decimal, time, datetime2 or datetimeoffset.
func (v Value) Scale() uint8 { return v.scale }

// Offset is the minutes east of UTC of a datetimeoffset.
func (v Value) Offset() int { return int(v.off) }

// Ticks is a date or time in units of 100 ns: since midnight for time, since
// 0001-01-01 for the others, in UTC for datetimeoffset.
func (v Value) Ticks() int64 {
	if v.kind == Date {
		return v.n * TicksPerDay
	}
	return v.n
}

// LocalTicks is Ticks as shown on the value's own wall clock.
func (v Value) LocalTicks() int64 {
	return v.Ticks() + int64(v.off)*TicksPerMinute
}

// Time is v as a time.Time: in UTC, but at its offset for datetimeoffset; a time of day is on 0001-01-01.
func (v Value) Time() time.Time {
	ticks := v.Ticks()
	sec, rest := ticks/TicksPerSecond, ticks%TicksPerSecond
	if rest < 0 {
		sec, rest = sec-1, rest+TicksPerSecond
	}
	t := time.Unix(sec-unixTicks/TicksPerSecond, rest*100).UTC()
	if v.kind == DateTimeOffset {
		t = t.In(time.FixedZone("", int(v.off)*60))
	}
	return t
}

// Dec is an exact number as an unscaled integer and its scale; it also reads
// integers and money.
func (v Value) Dec() (*big.Int, uint8) {
	switch {
	case v.kind == Decimal && v.s != "":
		return fromTwosComplement(v.s), v.scale
	case v.kind.IsMoney():
		return big.NewInt(v.n), 4
	default:
		return big.NewInt(v.n), v.scale
	}
}

// WithKind is v said to be of another kind with the same representation, such as
// varchar for nvarchar, or int for bigint. It checks nothing.
func (v Value) WithKind(k Kind) Value {
	v.kind = k
	return v
}

// String shows v for debugging.
func (v Value) String() string {
	if v.null {
		return "NULL"
	}
	switch k := v.kind; {
	case k.IsInteger():
		return strconv.FormatInt(v.n, 10)
	case k == Decimal || k.IsMoney():
		return formatDecimal(v)
	case k.IsApproximate():
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case k.IsCharacter():
		return "'" + strings.ReplaceAll(v.s, "'", "''") + "'"
	case k.IsBinary():
		return "0x" + strings.ToUpper(hex.EncodeToString([]byte(v.s)))
	case k == UniqueIdentifier:
		return formatUUID(v.s)
	case k == Date:
		return v.Time().Format("2006-01-02")
	case k == Time:
		return v.Time().Format("15:04:05.9999999")
	case k == DateTimeOffset:
		return v.Time().Format("2006-01-02 15:04:05.9999999 -07:00")
	case k.IsTemporal():
		return v.Time().Format("2006-01-02 15:04:05.9999999")
	}
	return v.kind.String()
}

// formatDecimal prints an exact number with all digits of its scale.
func formatDecimal(v Value) string {
	n, scale := v.Dec()
	return formatScaled(n, scale)
}

func formatScaled(n *big.Int, scale uint8) string {
	neg := n.Sign() < 0
	digits := new(big.Int).Abs(n).String()
	if scale > 0 {
		if short := int(scale) + 1 - len(digits); short > 0 {
			digits = strings.Repeat("0", short) + digits
		}
		digits = digits[:len(digits)-int(scale)] + "." + digits[len(digits)-int(scale):]
	}
	if neg {
		return "-" + digits
	}
	return digits
}

// formatUUID prints the 16 bytes in upper case, as SQL Server does.
func formatUUID(s string) string {
	if len(s) != 16 {
		return ""
	}
	h := strings.ToUpper(hex.EncodeToString([]byte(s)))
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
