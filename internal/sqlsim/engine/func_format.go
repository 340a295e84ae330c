package engine

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

func init() { define("format", 2, 3, compileFormat) }

// compileFormat is FORMAT with the patterns of .NET that are used most, in the cultures en-US and
// invariant. Others are refused by name.
func compileFormat(c *callSite) (*scalar, error) {
	src := c.args[0].typ
	if !src.Kind.IsNumeric() && !src.Kind.IsTemporal() || src.Kind == value.Bit {
		return nil, c.invalidArg(0)
	}
	for n := 1; n < len(c.args); n++ {
		if err := c.text(n); err != nil {
			return nil, err
		}
	}
	line := c.e.Line
	typ, err := c.textType(true, 4000)
	if err != nil {
		return nil, err
	}
	return perStatement(c.nullable(c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		if len(v) == 2 && rc.sess.settings.language.LCID != 1033 {
			return value.Value{}, tsql.Unsupported(line, "FORMAT in the language %s", rc.sess.settings.language.Name)
		}
		if len(v) == 3 {
			switch strings.ToLower(v[2].Str()) {
			case "en-us", "en", "iv", "":
			default:
				return value.Value{}, tsql.Unsupported(line, "FORMAT with the culture %s", v[2].Str())
			}
		}
		pattern := v[1].Str()
		var out string
		var err error
		switch {
		case v[0].Kind() == value.Time:
			if pattern = timePattern(pattern); pattern == "" {
				return value.NewNull(typ.Kind), nil
			}
			out, err = formatDateTime(v[0], pattern, line)
		case v[0].Kind().IsTemporal():
			out, err = formatDateTime(v[0], pattern, line)
		default:
			out, err = formatNumber(v[0], src, pattern, line)
		}
		return str(typ, out), err
	}))), nil
}

var standardDates = map[string]string{
	"d": "M/d/yyyy", "D": "dddd, MMMM d, yyyy", "f": "dddd, MMMM d, yyyy h:mm tt", "F": "dddd, MMMM d, yyyy h:mm:ss tt",
	"g": "M/d/yyyy h:mm tt", "G": "M/d/yyyy h:mm:ss tt", "M": "MMMM d", "m": "MMMM d", "s": "yyyy-MM-ddTHH:mm:ss",
	"t": "h:mm tt", "T": "h:mm:ss tt", "u": "yyyy-MM-dd HH:mm:ssZ", "y": "MMMM yyyy", "Y": "MMMM yyyy",
	"o": "yyyy-MM-ddTHH:mm:ss.fffffff", "O": "yyyy-MM-ddTHH:mm:ss.fffffff",
	"r": "ddd, dd MMM yyyy HH:mm:ss GMT", "R": "ddd, dd MMM yyyy HH:mm:ss GMT",
}

// timePattern makes a pattern of a time, which .NET takes for a span of time, one of a
// date; empty if it is not valid. In a span, hours go to 23, and what is not a letter of
// it must be quoted or escaped, colons and points among it.
func timePattern(pattern string) string {
	switch pattern {
	case "c", "t", "T":
		return "HH:mm:ss.FFFFFFF"
	}
	if len(pattern) < 2 {
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch ch := pattern[i]; ch {
		case 'h':
			b.WriteByte('H')
		case 'm', 's', 'f', 'F':
			b.WriteByte(ch)
		case '\\':
			if i++; i == len(pattern) {
				return ""
			}
			b.WriteByte('\\')
			b.WriteByte(pattern[i])
		case '\'', '"':
			end := strings.IndexByte(pattern[i+1:], ch)
			if end < 0 {
				return ""
			}
			b.WriteString(pattern[i : i+end+2])
			i += end + 1
		default:
			return ""
		}
	}
	return b.String()
}

// formatDateTime writes a date by a .NET pattern.
func formatDateTime(v value.Value, pattern string, line int) (string, error) {
	if len(pattern) == 1 {
		p, ok := standardDates[pattern]
		if !ok {
			return "", tsql.Unsupported(line, "FORMAT with the date pattern %s", pattern)
		}
		if v.Kind() == value.DateTimeOffset && strings.EqualFold(pattern, "o") {
			p += "zzz"
		}
		pattern = p
		pattern = strings.ReplaceAll(strings.ReplaceAll(pattern, "GMT", "'GMT'"), "T", "'T'")
		if strings.HasSuffix(pattern, "Z") {
			pattern = pattern[:len(pattern)-1] + "'Z'"
		}
	}
	ticks := v.LocalTicks()
	t := civil(ticks)
	frac := fmt.Sprintf("%07d", ticks%value.TicksPerSecond)
	var b strings.Builder
	for i := 0; i < len(pattern); {
		ch := pattern[i]
		n := 1
		for i+n < len(pattern) && pattern[i+n] == ch {
			n++
		}
		switch ch {
		case 'y':
			switch {
			case n <= 2:
				fmt.Fprintf(&b, "%0*d", n, t.Year()%100)
			default:
				fmt.Fprintf(&b, "%0*d", n, t.Year())
			}
		case 'M':
			switch n {
			case 1, 2:
				fmt.Fprintf(&b, "%0*d", n, int(t.Month()))
			case 3:
				b.WriteString(t.Month().String()[:3])
			default:
				b.WriteString(t.Month().String())
			}
		case 'd':
			switch n {
			case 1, 2:
				fmt.Fprintf(&b, "%0*d", n, t.Day())
			case 3:
				b.WriteString(t.Weekday().String()[:3])
			default:
				b.WriteString(t.Weekday().String())
			}
		case 'H':
			fmt.Fprintf(&b, "%0*d", min(n, 2), t.Hour())
		case 'h':
			fmt.Fprintf(&b, "%0*d", min(n, 2), (t.Hour()+11)%12+1)
		case 'm':
			fmt.Fprintf(&b, "%0*d", min(n, 2), t.Minute())
		case 's':
			fmt.Fprintf(&b, "%0*d", min(n, 2), t.Second())
		case 'f':
			if n > 7 {
				return "", tsql.Unsupported(line, "FORMAT with the date pattern %s", pattern)
			}
			b.WriteString(frac[:n])
		case 'F':
			b.WriteString(strings.TrimRight(frac[:min(n, 7)], "0"))
		case 't':
			half := "AM"
			if t.Hour() >= 12 {
				half = "PM"
			}
			b.WriteString(half[:min(n, 2)])
		case 'z':
			off, sign := v.Offset(), '+'
			if off < 0 {
				off, sign = -off, '-'
			}
			switch n {
			case 1, 2:
				fmt.Fprintf(&b, "%c%0*d", sign, n, off/60)
			default:
				fmt.Fprintf(&b, "%c%02d:%02d", sign, off/60, off%60)
			}
		case '\'', '"':
			end := strings.IndexByte(pattern[i+1:], ch)
			if end < 0 {
				return "", tsql.Unsupported(line, "FORMAT with the date pattern %s", pattern)
			}
			b.WriteString(pattern[i+1 : i+1+end])
			n = end + 2
		case '\\':
			n = 1
			if i+1 < len(pattern) {
				b.WriteByte(pattern[i+1])
				n = 2
			}
		case 'g', 'K', '%':
			return "", tsql.Unsupported(line, "FORMAT with the date pattern %s", pattern)
		default:
			b.WriteString(pattern[i : i+n])
		}
		i += n
	}
	return b.String(), nil
}

// formatNumber writes a number by a .NET pattern: N, F, D, C, P, E, G, X with a precision, or a custom one of 0 # , . and
// literals.
func formatNumber(v value.Value, typ value.Type, pattern string, line int) (string, error) {
	rat := new(big.Rat)
	if v.Kind().IsApproximate() {
		if rat.SetFloat64(v.Float()) == nil {
			return fmt.Sprint(v.Float()), nil
		}
	} else {
		n, scale := v.Dec()
		rat.SetFrac(n, pow10(int(scale)))
	}
	unsupported := tsql.Unsupported(line, "FORMAT with the number pattern %s", pattern)
	if pattern != "" && len(pattern) <= 3 && strings.IndexByte("NFDCPXGEnfdcpxge", pattern[0]) >= 0 && strings.Trim(pattern[1:], "0123456789") == "" {
		digits := -1
		if len(pattern) > 1 {
			_, _ = fmt.Sscan(pattern[1:], &digits)
		}
		or := func(n int) int {
			if digits < 0 {
				return n
			}
			return digits
		}
		neg := rat.Sign() < 0
		abs := new(big.Rat).Abs(rat)
		switch pattern[0] &^ 0x20 {
		case 'N':
			return signed(neg, group(fixed(abs, or(2)))), nil
		case 'F':
			return signed(neg, fixed(abs, or(2))), nil
		case 'C':
			s := "$" + group(fixed(abs, or(2)))
			if neg {
				return "-" + s, nil
			}
			return s, nil
		case 'P':
			return signed(neg, group(fixed(abs.Mul(abs, big.NewRat(100, 1)), or(2)))+"%"), nil
		case 'D':
			if !typ.Kind.IsInteger() {
				return "", unsupported
			}
			s := fixed(abs, 0)
			return signed(neg, strings.Repeat("0", max(0, or(1)-len(s)))+s), nil
		case 'X':
			if !typ.Kind.IsInteger() {
				return "", unsupported
			}
			verb := "%0*X"
			if pattern[0] == 'x' {
				verb = "%0*x"
			}
			return fmt.Sprintf(verb, or(1), unsigned(v.Int(), typ.Kind)), nil
		case 'G':
			if digits >= 0 {
				return "", unsupported
			}
			if v.Kind().IsApproximate() {
				return fmt.Sprint(v.Float()), nil
			}
			_, scale := v.Dec()
			return signed(neg, fixed(abs, int(scale))), nil
		}
		return "", unsupported
	}
	return customNumber(rat, pattern, unsupported)
}

func signed(neg bool, s string) string {
	if neg && strings.Trim(s, "0.,%") != "" {
		return "-" + s
	}
	return s
}

// fixed rounds half away from zero.
func fixed(abs *big.Rat, digits int) string {
	scaled := new(big.Rat).Mul(abs, new(big.Rat).SetInt(pow10(digits)))
	scaled.Add(scaled, big.NewRat(1, 2))
	n := new(big.Int).Quo(scaled.Num(), scaled.Denom()).String()
	if digits == 0 {
		return n
	}
	if len(n) <= digits {
		n = strings.Repeat("0", digits-len(n)+1) + n
	}
	return n[:len(n)-digits] + "." + n[len(n)-digits:]
}

// group puts commas between thousands.
func group(s string) string {
	whole, frac, found := strings.Cut(s, ".")
	var b strings.Builder
	for i, d := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	if found {
		return b.String() + "." + frac
	}
	return b.String()
}

func prefixSign(neg bool, s string) string {
	if neg {
		return "-" + s
	}
	return s
}

// spread puts digits in the places of a pattern such as ###-##-####, from the right; what
// is left over goes before the first.
func spread(digits, pattern string) string {
	digits = strings.TrimLeft(digits, "0")
	first := strings.IndexAny(pattern, "0#")
	out := ""
	for i := len(pattern) - 1; i >= 0; i-- {
		switch ch := pattern[i]; {
		case ch != '0' && ch != '#':
			out = string(ch) + out
		case i == first:
			if digits == "" && ch == '0' {
				digits = "0"
			}
			out = digits + out
		case digits != "":
			out = digits[len(digits)-1:] + out
			digits = digits[:len(digits)-1]
		case ch == '0' || strings.Contains(pattern[:i], "0"):
			out = "0" + out
		}
	}
	return out
}

// customNumber writes a number by a pattern of 0 and #, such as #,##0.00 or 00000.
func customNumber(rat *big.Rat, pattern string, unsupported error) (string, error) {
	sections := strings.Split(pattern, ";")
	neg := rat.Sign() < 0
	switch {
	case neg && len(sections) > 1 && sections[1] != "":
		pattern, neg = sections[1], false
	case rat.Sign() == 0 && len(sections) > 2:
		pattern = sections[2]
	default:
		pattern = sections[0]
	}
	first := strings.IndexAny(pattern, "0#")
	if first < 0 || strings.ContainsAny(pattern, "eE\\'\"‰") {
		return "", unsupported
	}
	last := strings.LastIndexAny(pattern, "0#")
	prefix, body, suffix := pattern[:first], pattern[first:last+1], pattern[last+1:]
	if !strings.ContainsAny(body, ".,") && strings.Trim(body, "0#") != "" && !strings.Contains(prefix+suffix, "%") {
		return prefixSign(neg, prefix+spread(fixed(new(big.Rat).Abs(rat), 0), body)+suffix), nil
	}
	if strings.Trim(body, "0#,.") != "" || strings.Count(body, ".") > 1 || strings.HasPrefix(suffix, ",") {
		return "", unsupported
	}
	abs := new(big.Rat).Abs(rat)
	if strings.Contains(prefix+suffix, "%") {
		abs.Mul(abs, big.NewRat(100, 1))
	}
	whole, frac, _ := strings.Cut(body, ".")
	grouped := strings.Contains(whole, ",")
	whole = strings.ReplaceAll(whole, ",", "")
	minWhole := 0
	if i := strings.IndexByte(whole, '0'); i >= 0 {
		minWhole = len(whole) - i
	}
	minFrac := strings.LastIndexByte(frac, '0') + 1
	s := fixed(abs, len(frac))
	w, f, _ := strings.Cut(s, ".")
	w = strings.TrimLeft(w, "0")
	w = strings.Repeat("0", max(0, minWhole-len(w))) + w
	if grouped {
		w = group(w)
	}
	for len(f) > minFrac && f[len(f)-1] == '0' {
		f = f[:len(f)-1]
	}
	if f != "" {
		w += "." + f
	}
	if strings.Trim(w, "0.,") == "" {
		neg = false
	}
	if neg {
		return "-" + prefix + w + suffix, nil
	}
	return prefix + w + suffix, nil
}
