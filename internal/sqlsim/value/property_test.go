package value

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var propertyCollations = []string{
	"SQL_Latin1_General_CP1_CI_AS", "SQL_Latin1_General_CP1_CS_AS", "SQL_Latin1_General_CP1_CI_AI", "Latin1_General_CI_AI", "Latin1_General_CS_AI",
	"Latin1_General_100_CS_AS_KS_WS_SC", "Latin1_General_100_CI_AS_SC_UTF8", "Latin1_General_BIN", "Latin1_General_100_BIN2", "Latin1_General_100_BIN2_UTF8",
}

var letters = []rune(" aAbBeEzZ09-'_[\t\x01éÉèêßsSæÆaeøoÅå€½²2Ａ日本アあ😀🙂\u0301\u200B\u00A0\uFFFDЖж")

func randomText(r *rand.Rand) string {
	var b strings.Builder
	from := letters
	if r.IntN(2) == 0 {
		from = letters[:20] // ASCII alone, which takes a short cut
	}
	for range r.IntN(6) {
		b.WriteRune(from[r.IntN(len(from))])
	}
	if r.IntN(4) == 0 {
		b.WriteString("  ")
	}
	return b.String()
}

// TestCollationsAreOrders checks, on random texts, what every collation must be: an
// order, in which trailing spaces do not count, and whose keys can be strung together.
func TestCollationsAreOrders(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for _, name := range propertyCollations {
		c := coll(t, name)
		for range 4000 {
			kind := NVarChar
			if r.IntN(2) == 0 {
				kind = VarChar
			}
			x, y, z := randomText(r), randomText(r), randomText(r)
			if kind == VarChar {
				x, y, z = toCodePage(x, c), toCodePage(y, c), toCodePage(z, c)
			}
			a, b, d := NewString(kind, x), NewString(kind, y), NewString(kind, z)
			ab, bd, ad := Compare(a, b, c), Compare(b, d, c), Compare(a, d, c)
			if ab != -Compare(b, a, c) {
				t.Fatalf("%s %v: %q and %q compare %d one way, and not the opposite the other", name, kind, x, y, ab)
			}
			if ab <= 0 && bd <= 0 && ad > 0 {
				t.Fatalf("%s %v: %q <= %q <= %q, but not the first to the last", name, kind, x, y, z)
			}
			if Compare(a, NewString(kind, x+"   "), c) != 0 {
				t.Fatalf("%s %v: trailing spaces count in %q", name, kind, x)
			}
			ka, kb := SortKey(nil, a, c), SortKey(nil, b, c) // by another way than Compare
			if got := bytes.Compare(ka, kb); got != ab {
				t.Fatalf("%s %v: keys of %q and %q compare %d, the texts %d", name, kind, x, y, got, ab)
			}
			if ab != 0 && (bytes.HasPrefix(ka, kb) || bytes.HasPrefix(kb, ka)) {
				t.Fatalf("%s %v: the key of %q and that of %q begin alike to the end of one", name, kind, x, y)
			}
			// Two columns: the second decides only when the first is equal.
			want := ab
			if want == 0 {
				want = bd
			}
			if got := bytes.Compare(SortKey(SortKey(nil, a, c), b, c), SortKey(SortKey(nil, b, c), d, c)); got != want {
				t.Fatalf("%s %v: keys of (%q, %q) and (%q, %q) compare %d, want %d", name, kind, x, y, y, z, got, want)
			}
			if c.CaseInsensitive() && !c.UTF8() && Compare(a, NewString(kind, strings.ToUpper(x)), c) != 0 && !strings.ContainsAny(x, "ß²½") {
				t.Fatalf("%s %v: %q differs from its upper case", name, kind, x)
			}
		}
	}
}

// TestNumbersRoundTrip checks that what a number prints as reads as the same number.
func TestNumbersRoundTrip(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	text := tVarChar(60)
	for range 5000 {
		var v Value
		to := Type{}
		switch r.IntN(6) {
		case 0:
			v, to = NewInt(BigInt, int64(r.Uint64())), tBigInt
		case 1:
			scale := uint8(r.IntN(20))
			v, to = NewDecimalInt(int64(r.Uint64()), scale), tDec(38, scale)
		case 2:
			v, to = NewDateTime2(r.Int64N(maxTicks), 7), tDateTime2(7)
		case 3:
			v, to = NewDateTimeOffset(TicksPerDay+r.Int64N(maxTicks-2*TicksPerDay), r.IntN(1681)-840, 7), tDTOffset(7)
		case 4:
			v, to = NewTime(r.Int64N(TicksPerDay), 7), tTime(7)
		case 5:
			v, to = NewDateTime(minDateTime+r.Int64N(maxTicks-minDateTime-TicksPerSecond)), tDateTime
		}
		style := NoStyle
		if v.Kind() == DateTime {
			style = 121
		}
		printed, err := Convert(v, typeOf(v), text, style, ConvertEnv{})
		if err != nil {
			t.Fatalf("%v: %v", v, err)
		}
		back, err := Convert(printed, text, to, NoStyle, ConvertEnv{})
		if err != nil || Compare(v, back, 0) != 0 {
			t.Fatalf("%v printed as %v and read as %v, %v", v, printed, back, err)
		}
		if v.Kind().IsTemporal() { // and through its bytes
			raw, err := Convert(v, typeOf(v), tVarBinary(20), NoStyle, ConvertEnv{})
			if err != nil {
				t.Fatal(err)
			}
			if back, err = Convert(raw, tVarBinary(20), to, NoStyle, ConvertEnv{}); err != nil || Compare(v, back, 0) != 0 {
				t.Fatalf("%v is %v and reads as %v, %v", v, raw, back, err)
			}
		}
	}
}

// FuzzDates feeds the reader of dates: it answers a value that prints, or an error.
func FuzzDates(f *testing.F) {
	for _, s := range []string{"2024-05-06", "20240506 10:11:12.123", "May 6, 2024 7pm", "1/2/3", "2024-05-06T07:08:09.1234567+02:00", "12:30:01:123 AM", "6 may", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, to := range []Type{tDate, tTime(7), tDateTime, tSmallDT, tDateTime2(3), tDTOffset(7)} {
			v, err := Convert(nstr(s), tNVarChar(Max), to, NoStyle, ConvertEnv{})
			if err != nil {
				continue
			}
			if _, err := Convert(v, to, tVarChar(60), NoStyle, ConvertEnv{}); err != nil {
				t.Errorf("%q read as %v does not print: %v", s, v, err)
			}
		}
	})
}
