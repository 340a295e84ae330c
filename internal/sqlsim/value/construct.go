package value

import (
	"math"
	"math/big"
	"time"
)

// NewNull is NULL of kind k.
func NewNull(k Kind) Value { return Value{kind: k, null: true} }

// NewBit makes a bit.
func NewBit(b bool) Value {
	if b {
		return Value{kind: Bit, n: 1}
	}
	return Value{kind: Bit}
}

// NewInt makes a value whose representation is one integer: bit, the integer types,
// and money (in ten-thousandths).
func NewInt(k Kind, n int64) Value { return Value{kind: k, n: n} }

// NewDecimal makes unscaled / 10^scale. The number is not kept.
func NewDecimal(unscaled *big.Int, scale uint8) Value {
	v := Value{kind: Decimal, scale: scale}
	if unscaled.IsInt64() {
		v.n = unscaled.Int64()
		return v
	}
	v.s = string(twosComplement(unscaled))
	return v
}

// NewDecimalInt makes unscaled / 10^scale of a small number.
func NewDecimalInt(unscaled int64, scale uint8) Value {
	return Value{kind: Decimal, scale: scale, n: unscaled}
}

// NewFloat makes a float.
func NewFloat(f float64) Value { return Value{kind: Float, n: int64(math.Float64bits(f))} }

// NewReal makes a real.
func NewReal(f float32) Value { return Value{kind: Real, n: int64(math.Float64bits(float64(f)))} }

// NewString makes a character value of kind k; s is UTF-8 or WTF-8 and is not padded.
func NewString(k Kind, s string) Value { return Value{kind: k, s: s} }

// NewBinary makes a binary value of kind k (binary, varbinary or rowversion).
func NewBinary(k Kind, b []byte) Value { return Value{kind: k, s: string(b)} }

// NewUUID makes a uniqueidentifier from its bytes in RFC 4122 order (as printed).
func NewUUID(u [16]byte) Value { return Value{kind: UniqueIdentifier, s: string(u[:])} }

// Days1900 is 1900-01-01, day zero of datetime, in days since 0001-01-01.
const Days1900 = days1900

// Ticks of 100 ns, the unit of all times of day.
const (
	TicksPerSecond = 10_000_000
	TicksPerMinute = 60 * TicksPerSecond
	TicksPerHour   = 60 * TicksPerMinute
	TicksPerDay    = 24 * TicksPerHour
)

const (
	maxDate     = 3652058                       // 9999-12-31 in days since 0001-01-01
	maxTicks    = (maxDate+1)*TicksPerDay - 1   // the last tick of that day
	days1753    = 639905                        // 1753-01-01, where datetime begins
	days1900    = 693595                        // 1900-01-01, day zero of datetime
	minDateTime = days1753 * int64(TicksPerDay) // first datetime
	minSmall    = days1900 * int64(TicksPerDay) // first smalldatetime
	maxSmall    = minSmall + 65535*TicksPerDay + TicksPerDay - TicksPerMinute
	unixTicks   = 719162 * int64(TicksPerDay) // 1970-01-01
)

// NewDate makes a date from days since 0001-01-01.
func NewDate(days int64) Value { return Value{kind: Date, n: days} }

// NewTime makes a time from ticks since midnight, rounded to scale digits.
func NewTime(ticks int64, scale uint8) Value {
	return Value{kind: Time, scale: scale, n: roundTicks(ticks, scale) % TicksPerDay}
}

// NewDateTime2 makes a datetime2 from ticks since 0001-01-01, rounded to scale digits.
func NewDateTime2(ticks int64, scale uint8) Value {
	return Value{kind: DateTime2, scale: scale, n: roundDateTicks(ticks, scale)}
}

// NewDateTimeOffset makes a datetimeoffset from ticks in UTC since 0001-01-01, rounded
// to scale digits, shown at offMinutes east of UTC.
func NewDateTimeOffset(utcTicks int64, offMinutes int, scale uint8) Value {
	return Value{kind: DateTimeOffset, scale: scale, off: int16(offMinutes), n: roundDateTicks(utcTicks, scale)}
}

// NewDateTime makes a datetime from ticks since 0001-01-01, rounded to 1/300 s.
func NewDateTime(ticks int64) Value {
	return Value{kind: DateTime, n: thirdsToTicks(ticksToThirds(ticks))}
}

// NewSmallDateTime makes a smalldatetime from ticks since 0001-01-01, rounded to the minute.
func NewSmallDateTime(ticks int64) Value {
	return Value{kind: SmallDateTime, n: (ticks + TicksPerMinute/2) / TicksPerMinute * TicksPerMinute}
}

// TicksOf is t in UTC as ticks since 0001-01-01, truncated to 100 ns.
func TicksOf(t time.Time) int64 {
	return unixTicks + t.Unix()*TicksPerSecond + int64(t.Nanosecond())/100
}

func unitOf(scale uint8) int64 {
	u := int64(1)
	for i := scale; i < 7; i++ {
		u *= 10
	}
	return u
}

func roundTicks(ticks int64, scale uint8) int64 {
	u := unitOf(scale)
	if u == 1 {
		return ticks
	}
	return (ticks + u/2) / u * u
}

// roundDateTicks rounds, but never past the last moment of 9999.
func roundDateTicks(ticks int64, scale uint8) int64 {
	r := roundTicks(ticks, scale)
	if r > maxTicks && ticks <= maxTicks {
		u := unitOf(scale)
		r = ticks / u * u
	}
	return r
}

// ticksToThirds gives days*25920000 + 1/300 s of the day, the resolution of datetime.
func ticksToThirds(ticks int64) int64 {
	day, rest := ticks/TicksPerDay, ticks%TicksPerDay
	return day*25_920_000 + (rest*3+50_000)/100_000
}

func thirdsToTicks(thirds int64) int64 {
	day, rest := thirds/25_920_000, thirds%25_920_000
	return day*TicksPerDay + (rest*100_000+1)/3 // nearest tick
}

func twosComplement(n *big.Int) []byte {
	if n.Sign() >= 0 {
		b := n.Bytes()
		if len(b) == 0 || b[0]&0x80 != 0 {
			b = append([]byte{0}, b...)
		}
		return b
	}
	size := n.BitLen()/8 + 1
	m := new(big.Int).Lsh(big.NewInt(1), uint(size*8))
	return m.Add(m, n).Bytes()
}

func fromTwosComplement(b string) *big.Int {
	n := new(big.Int).SetBytes([]byte(b))
	if b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(len(b)*8)))
	}
	return n
}
