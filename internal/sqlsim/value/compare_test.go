package value

import (
	"bytes"
	"math/big"
	"testing"
)

func coll(t testing.TB, name string) Collation {
	t.Helper()
	c, ok := CollationByName(name)
	if !ok {
		t.Fatalf("no collation %s", name)
	}
	if c.Name() != name {
		t.Fatalf("collation %s is named %s", name, c.Name())
	}
	return c
}

func TestTextComparison(t *testing.T) {
	const (
		def  = "SQL_Latin1_General_CP1_CI_AS"
		cs   = "Latin1_General_100_CS_AS"
		ai   = "Latin1_General_100_CI_AI"
		bin  = "Latin1_General_BIN"
		bin2 = "Latin1_General_100_BIN2"
		sc   = "Latin1_General_100_CI_AS_SC"
		utf8 = "Latin1_General_100_CI_AS_SC_UTF8"
		ws   = "Latin1_General_100_CI_AS_KS_WS"
	)
	tests := []struct {
		coll string
		kind Kind
		a, b string
		want int
	}{
		{def, NVarChar, "Mail", "mail", 0},
		{def, NVarChar, "Mail  ", "mail", 0},
		{def, NVarChar, "e", "é", -1},
		{def, NVarChar, "É", "é", 0},
		{def, NVarChar, "é", "f", -1},
		{def, NVarChar, "e\u0301", "é", 0},
		{def, NVarChar, "a-c", "ab", 1},
		{def, VarChar, "a-c", "ab", -1},
		{def, NVarChar, "coop", "co-op", -1},
		{def, NVarChar, "straße", "STRASSE", 0},
		{def, VarChar, "straße", "STRASSE", 1},
		{def, NVarChar, "😀", "", 0},
		{sc, NVarChar, "😀", "", 1},
		{def, NVarChar, "a", "a\t", 1},
		{def, NVarChar, "a 1", "a", 1},
		{def, NVarChar, "Ａ", "a", 0},
		{ws, NVarChar, "Ａ", "a", 1},
		{def, NVarChar, "ア", "あ", 0},
		{ws, NVarChar, "ア", "あ", 1},
		{def, NVarChar, "1", "a", -1},
		{def, NVarChar, "_", "1", -1},
		{cs, NVarChar, "a", "A", -1},
		{cs, NVarChar, "A", "b", -1},
		{cs, NVarChar, "a ", "a", 0},
		{ai, NVarChar, "résumé", "RESUME", 0},
		{bin2, NVarChar, "a", "A", 1},
		{bin2, NVarChar, "a", "a  ", 0},
		{bin2, NVarChar, "a", "a\t", 1},
		{bin2, NVarChar, "\uFF5E", "😀", 1},
		{bin2, VarChar, "€", "ÿ", -1},
		{bin, NVarChar, "aĀ", "a\u00FF", -1},
		{utf8, VarChar, "日本", "日本 ", 0},
		{bin2, NVarChar, "a  b", "a b", -1},
		{bin2, NVarChar, "a  \t", "a \t", 1},
	}
	for _, tt := range tests {
		c := coll(t, tt.coll)
		a, b := NewString(tt.kind, tt.a), NewString(tt.kind, tt.b)
		if got := Compare(a, b, c); got != tt.want {
			t.Errorf("%s: Compare(%q, %q) = %d, want %d", tt.coll, tt.a, tt.b, got, tt.want)
		}
		if got := Compare(b, a, c); got != -tt.want {
			t.Errorf("%s: Compare(%q, %q) = %d, want %d", tt.coll, tt.b, tt.a, got, -tt.want)
		}
	}
}

func TestUnknownCollations(t *testing.T) {
	for _, name := range []string{"", "Klingon_CI_AS", "Latin1_General", "Latin1_General_CI", "Latin1_General_CI_AS_SC",
		"Latin1_General_100_CI_AS_UTF8", "SQL_Latin1_General_CP1_CS_AI", "SQL_Latin1_General_CP1_BIN2", "Latin1_General_CI_AS_XX"} {
		if c, ok := CollationByName(name); ok {
			t.Errorf("%q is taken for %s", name, c)
		}
	}
	for name, number := range map[string]int32{"Klingon_CI_AS": 448, "Turkish_CI_AS": UnsupportedNumber, "Japanese_XJIS_140_CS_AS": UnsupportedNumber,
		"SQL_Latin1_General_CP437_CI_AS": UnsupportedNumber, "Latin1_General_CI_XX": 448, "SQL_Latin1_General_CP1_CI_AS": 0} {
		_, err := LookupCollation(name)
		if e, _ := err.(*Error); (e == nil) != (number == 0) || e != nil && e.Number != number {
			t.Errorf("%s: %v, want error %d", name, err, number)
		}
	}
	for _, name := range []string{"Latin1_General_100_BIN2_UTF8", "Latin1_General_CS_AI_KS_WS", "Latin1_General_BIN"} {
		coll(t, name)
	}
}

func dec(s string, scale uint8) Value {
	n, _ := new(big.Int).SetString(s, 10)
	return NewDecimal(n, scale)
}

func TestSortKeysOrderLikeCompare(t *testing.T) {
	uuid := func(at int) Value {
		var u [16]byte
		u[at] = 1
		return NewUUID(u)
	}
	rising := [][]Value{
		{NewInt(BigInt, -1<<63), NewInt(BigInt, -1), NewInt(BigInt, 0), NewInt(BigInt, 7), NewInt(BigInt, 1<<62)},
		{NewFloat(-1e300), NewFloat(-1), NewFloat(0), NewFloat(1e-300), NewFloat(5)},
		{dec("-99999999999999999999999999999999999999", 0), dec("-100", 2), dec("-99", 2), dec("0", 5), dec("1", 30), dec("10", 1), dec("105", 2), dec("12345678901234567890123", 3)},
		{NewBinary(VarBinary, nil), NewBinary(VarBinary, []byte{0, 1}), NewBinary(VarBinary, []byte{1}), NewBinary(VarBinary, []byte{1, 0, 1}), NewBinary(VarBinary, []byte{1, 1})},
		{uuid(0), uuid(3), uuid(4), uuid(5), uuid(6), uuid(7), uuid(9), uuid(8), uuid(15), uuid(10)},
		{NewDateTime2(0, 7), NewDateTime2(1, 7), NewDateTime2(maxTicks, 7)},
	}
	for _, vs := range rising {
		for i := range vs {
			for j := range vs {
				want := 0
				if i < j {
					want = -1
				} else if i > j {
					want = 1
				}
				if got := Compare(vs[i], vs[j], 0); got != want {
					t.Errorf("Compare(%v, %v) = %d, want %d", vs[i], vs[j], got, want)
				}
				if got := bytes.Compare(SortKey(nil, vs[i], 0), SortKey(nil, vs[j], 0)); got != want {
					t.Errorf("keys of %v, %v compare %d, want %d", vs[i], vs[j], got, want)
				}
			}
		}
		if bytes.Compare(SortKey(nil, NewNull(vs[0].Kind()), 0), SortKey(nil, vs[0], 0)) >= 0 {
			t.Errorf("NULL does not come before %v", vs[0])
		}
	}
	if !bytes.Equal(SortKey(nil, dec("10", 1), 0), SortKey(nil, dec("100", 2), 0)) {
		t.Error("1.0 and 1.00 have different keys")
	}
	if !bytes.Equal(SortKey(nil, NewBinary(VarBinary, []byte{1}), 0), SortKey(nil, NewBinary(VarBinary, []byte{1, 0}), 0)) {
		t.Error("0x01 and 0x0100 have different keys")
	}
}

func TestUTF16(t *testing.T) {
	s := "a😀é"
	if n := UTF16Len(s); n != 4 {
		t.Errorf("length %d, want 4", n)
	}
	half := UTF16Slice(s, 0, 2)
	if got := EncodeUTF16(nil, half); !bytes.Equal(got, []byte{'a', 0, 0x3D, 0xD8}) {
		t.Errorf("cut pair is % x", got)
	}
	if got := JoinSurrogates(half, UTF16Slice(s, 2, 4)); got != s {
		t.Errorf("joined %q", got)
	}
	if got := DecodeUTF16(EncodeUTF16(nil, half)); got != half {
		t.Errorf("round trip of a lone surrogate: %q", got)
	}
	if got := DecodeUTF16(EncodeUTF16(nil, s)); got != s {
		t.Errorf("round trip: %q", got)
	}
}
