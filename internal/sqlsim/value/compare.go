package value

import (
	"cmp"
	"math/big"
	"strings"
)

// Compare orders two values that are not NULL and of one family of types: it answers
// -1, 0 or 1. Text compares under c, ignoring trailing spaces; binary values ignore
// trailing zero bytes; uniqueidentifier sorts in SQL Server's own order.
func Compare(a, b Value, c Collation) int {
	switch ka, kb := a.kind, b.kind; {
	case ka.IsCharacter() && kb.IsCharacter():
		return compareText(a.s, b.s, c, ka.IsUnicode() || kb.IsUnicode())
	case ka.IsNumeric() && kb.IsNumeric():
		return compareNumbers(a, b)
	case ka.IsBinary() && kb.IsBinary():
		return strings.Compare(trimZeros(a.s), trimZeros(b.s))
	case ka == UniqueIdentifier && kb == UniqueIdentifier:
		var x, y [16]byte
		return strings.Compare(string(appendUUIDKey(x[:0], a.s)), string(appendUUIDKey(y[:0], b.s)))
	case ka == kb || ka.IsTemporal() && kb.IsTemporal():
		return cmp.Compare(a.Ticks(), b.Ticks())
	default: // sql_variant: the family that is higher in the hierarchy is the greater
		return cmp.Compare(familyRank(ka), familyRank(kb))
	}
}

func compareNumbers(a, b Value) int {
	ka, kb := a.kind, b.kind
	if ka.IsApproximate() || kb.IsApproximate() {
		return cmp.Compare(toFloat(a), toFloat(b))
	}
	if ka == kb && a.scale == b.scale && a.s == "" && b.s == "" || ka.IsInteger() && kb.IsInteger() {
		return cmp.Compare(a.n, b.n)
	}
	x, sx := a.Dec()
	y, sy := b.Dec()
	switch {
	case sx < sy:
		x.Mul(x, pow10(sy-sx))
	case sx > sy:
		y.Mul(y, pow10(sx-sy))
	}
	return x.Cmp(y)
}

// toFloat reads any number as a float.
func toFloat(v Value) float64 {
	switch {
	case v.kind.IsApproximate():
		return v.Float()
	case v.kind.IsInteger():
		return float64(v.n)
	}
	n, scale := v.Dec()
	f, _ := new(big.Rat).SetFrac(n, pow10(scale)).Float64()
	return f
}

var powers [77]*big.Int

func init() {
	n := big.NewInt(1)
	for i := range powers {
		powers[i] = n
		n = new(big.Int).Mul(n, big.NewInt(10))
	}
}

// pow10 must not be changed by the caller.
func pow10(n uint8) *big.Int { return powers[n] }

func trimZeros(s string) string { return strings.TrimRight(s, "\x00") }

// familyRank is the hierarchy of data type families that sql_variant compares by.
func familyRank(k Kind) int {
	switch {
	case k.IsTemporal():
		return 6
	case k.IsApproximate():
		return 5
	case k.IsNumeric():
		return 4
	case k.IsCharacter():
		return 3
	case k == UniqueIdentifier:
		return 1
	case k.IsBinary():
		return 2
	}
	return 0
}
