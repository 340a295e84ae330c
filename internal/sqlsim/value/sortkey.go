package value

import (
	"encoding/binary"
	"math"
	"math/big"
)

// SortKey appends a key of v to dst. Keys of values of one type compare, byte by byte, as
// Compare does under c, and NULL comes first. No key is the beginning of another, so
// that the keys of several columns can be strung together.
func SortKey(dst []byte, v Value, c Collation) []byte {
	if v.null {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	switch k := v.kind; {
	case k == Decimal:
		return appendDecimalKey(dst, v)
	case k.IsApproximate():
		f := v.Float()
		if f == 0 {
			f = 0 // minus zero is zero
		}
		bits := math.Float64bits(f)
		if bits>>63 != 0 {
			bits = ^bits
		} else {
			bits |= 1 << 63
		}
		return binary.BigEndian.AppendUint64(dst, bits)
	case k.IsCharacter():
		return appendTextKey(dst, v.s, c, k.IsUnicode())
	case k.IsBinary():
		s := trimZeros(v.s)
		for i := 0; i < len(s); i++ {
			dst = append(dst, s[i])
			if s[i] == 0 {
				dst = append(dst, 0xFF)
			}
		}
		return append(dst, 0, 1)
	case k == UniqueIdentifier:
		return appendUUIDKey(dst, v.s)
	default:
		return binary.BigEndian.AppendUint64(dst, uint64(v.n)^1<<63)
	}
}

// The order in which SQL Server compares the bytes of a uniqueidentifier: the last
// group first, and within the first three groups as stored, low byte first.
var uuidOrder = [16]int{10, 11, 12, 13, 14, 15, 8, 9, 7, 6, 5, 4, 3, 2, 1, 0}

func appendUUIDKey(dst []byte, s string) []byte {
	if len(s) != 16 {
		return append(dst, make([]byte, 16)...)
	}
	for _, i := range uuidOrder {
		dst = append(dst, s[i])
	}
	return dst
}

// appendDecimalKey writes sign, number of digits before the point, and the digits
// without trailing zeros, so that equal numbers of different scale have one key.
func appendDecimalKey(dst []byte, v Value) []byte {
	n, scale := v.Dec()
	sign := n.Sign()
	if sign == 0 {
		return append(dst, 2)
	}
	digits := new(big.Int).Abs(n).String()
	exponent := byte(128 + len(digits) - int(scale))
	end := len(digits)
	for digits[end-1] == '0' {
		end--
	}
	if sign > 0 {
		dst = append(dst, 3, exponent)
		dst = append(dst, digits[:end]...)
		return append(dst, 0)
	}
	dst = append(dst, 1, ^exponent)
	for i := range end {
		dst = append(dst, ^digits[i])
	}
	return append(dst, 0xFF)
}
