package engine

import (
	"fmt"
	"math"
	"strings"
	"unicode"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

func init() {
	define("len", 1, 1, compileLen)
	define("datalength", 1, 1, func(c *callSite) (*scalar, error) {
		typ := intType
		if c.args[0].typ.IsMax() {
			typ = bigintType
		}
		coll := c.args[0].typ.Collation
		return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			return value.NewInt(typ.Kind, int64(value.DataLength(v[0], coll))), nil
		}), nil
	})
	define("left", 2, 2, func(c *callSite) (*scalar, error) { return c.leftRight(true) })
	define("right", 2, 2, func(c *callSite) (*scalar, error) { return c.leftRight(false) })
	define("substring", 2, 3, compileSubstring)
	define("charindex", 2, 3, compileCharIndex)
	define("patindex", 2, 2, compilePatIndex)
	define("replace", 3, 3, compileReplace)
	define("stuff", 4, 4, compileStuff)
	define("replicate", 2, 2, compileReplicate)
	define("space", 1, 1, func(c *callSite) (*scalar, error) {
		if err := c.int(0); err != nil {
			return nil, err
		}
		typ, err := c.textType(false, 8000)
		if err != nil {
			return nil, err
		}
		return c.nullable(c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			n := v[0].Int()
			if n < 0 {
				return value.NewNull(typ.Kind), nil
			}
			return str(typ, strings.Repeat(" ", int(min(n, 8000)))), nil
		})), nil
	})
	define("ltrim", 1, 2, func(c *callSite) (*scalar, error) { return c.trim(true, false) })
	define("rtrim", 1, 2, func(c *callSite) (*scalar, error) { return c.trim(false, true) })
	define("trim", 1, 2, func(c *callSite) (*scalar, error) {
		switch c.e.TrimSpec {
		case "LEADING":
			return c.trim(true, false)
		case "TRAILING":
			return c.trim(false, true)
		}
		if len(c.args) == 2 && c.e.TrimSpec == "" {
			return nil, argCountError("trim", builtin{min: 1, max: 1})
		}
		return c.trim(true, true)
	})
	define("upper", 1, 1, func(c *callSite) (*scalar, error) { return c.mapText(upperText) })
	define("lower", 1, 1, func(c *callSite) (*scalar, error) { return c.mapText(lowerText) })
	define("reverse", 1, 1, func(c *callSite) (*scalar, error) { return c.mapText(reverseText) })
	define("concat", 2, 254, func(c *callSite) (*scalar, error) { return c.concat(false) })
	define("concat_ws", 3, 254, func(c *callSite) (*scalar, error) { return c.concat(true) })
	define("translate", 3, 3, compileTranslate)
	define("quotename", 1, 2, compileQuoteName)
	define("parsename", 2, 2, compileParseName)
	define("str", 1, 3, compileStr)
	define("char", 1, 1, func(c *callSite) (*scalar, error) {
		if err := c.int(0); err != nil {
			return nil, err
		}
		typ := value.Type{Kind: value.Char, Length: 1, Collation: c.sc.collation()}
		return c.nullable(c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			n := v[0].Int()
			if n < 0 || n > 255 {
				return value.NewNull(typ.Kind), nil
			}
			return str(typ, value.DecodeChars([]byte{byte(n)}, typ.Collation)), nil
		})), nil
	})
	define("nchar", 1, 1, func(c *callSite) (*scalar, error) {
		if err := c.int(0); err != nil {
			return nil, err
		}
		typ := value.Type{Kind: value.NChar, Length: 1, Collation: c.sc.collation()}
		limit := int64(0xFFFF)
		if typ.Collation.SupplementaryCharacters() {
			typ.Kind, typ.Length, limit = value.NVarChar, 2, 0x10FFFF
		}
		return c.nullable(c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			n := v[0].Int()
			if n < 0 || n > limit {
				return value.NewNull(typ.Kind), nil
			}
			if n > 0xFFFF {
				return str(typ, string(rune(n))), nil
			}
			return str(typ, value.DecodeUTF16([]byte{byte(n), byte(n >> 8)})), nil
		})), nil
	})
	define("ascii", 1, 1, func(c *callSite) (*scalar, error) {
		if err := c.text(0); err != nil {
			return nil, err
		}
		coll := c.args[0].typ.Collation
		return c.nullable(c.result(intType, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			s := v[0].Str()
			if s == "" {
				return value.NewNull(value.Int), nil
			}
			return intValue(int64(value.EncodeChars(nil, s[:unitSize(s)], coll)[0])), nil
		})), nil
	})
	define("unicode", 1, 1, func(c *callSite) (*scalar, error) {
		if err := c.text(0); err != nil {
			return nil, err
		}
		coll := c.args[0].typ.Collation
		return c.nullable(c.result(intType, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			s := v[0].Str()
			if s == "" {
				return value.NewNull(value.Int), nil
			}
			if coll.SupplementaryCharacters() {
				for _, r := range s {
					return intValue(int64(r)), nil
				}
			}
			b := value.EncodeUTF16(nil, s[:unitSize(s)])
			return intValue(int64(b[0]) | int64(b[1])<<8), nil
		})), nil
	})
	define("soundex", 1, 1, func(c *callSite) (*scalar, error) {
		if err := c.text(0); err != nil {
			return nil, err
		}
		typ, err := c.textType(false, 5, c.args[0])
		if err != nil {
			return nil, err
		}
		return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			return str(typ, soundex(v[0].Str())), nil
		}), nil
	})
	define("difference", 2, 2, func(c *callSite) (*scalar, error) {
		for n := range 2 {
			if err := c.text(n); err != nil {
				return nil, err
			}
		}
		return c.result(intType, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			a, b := soundex(v[0].Str()), soundex(v[1].Str())
			same := int64(0)
			for i := range 4 {
				if a[i] == b[i] {
					same++
				}
			}
			return intValue(same), nil
		}), nil
	})
	define("formatmessage", 1, 21, func(c *callSite) (*scalar, error) {
		typ, err := c.textType(true, 2048)
		if err != nil {
			return nil, err
		}
		typ.Length = 2048
		return c.lax(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			if v[0].IsNull() {
				return value.NewNull(typ.Kind), nil
			}
			if v[0].Kind().IsInteger() {
				return value.NewNull(typ.Kind), nil // there are no messages of that number
			}
			s, err := formatMessage(v[0].Str(), v[1:])
			if err != nil {
				return value.NewNull(typ.Kind), nil
			}
			if value.UTF16Len(s) > 2047 {
				s = value.UTF16Slice(s, 0, 2044) + "..."
			}
			return str(typ, s), nil
		}), nil
	})
	define("collationproperty", 2, 2, func(c *callSite) (*scalar, error) {
		for n := range 2 {
			if err := c.text(n); err != nil {
				return nil, err
			}
		}
		return c.nullable(c.result(value.Type{Kind: value.Variant}, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			coll, ok := value.CollationByName(v[0].Str())
			if !ok {
				return value.NewNull(value.Variant), nil
			}
			switch strings.ToLower(v[1].Str()) {
			case "codepage":
				return intValue(int64(coll.CodePage())), nil
			case "lcid":
				return intValue(int64(coll.LCID())), nil
			case "version":
				return value.NewInt(value.TinyInt, int64(coll.Version())), nil
			case "comparisonstyle":
				n := int64(0)
				if coll.CaseInsensitive() {
					n |= 1
				}
				if coll.AccentInsensitive() {
					n |= 2
				}
				if coll.KanaInsensitive() {
					n |= 65536
				}
				if coll.WidthInsensitive() {
					n |= 131072
				}
				return intValue(n), nil
			}
			return value.NewNull(value.Variant), nil
		})), nil
	})
}

func compileLen(c *callSite) (*scalar, error) {
	typ := intType
	if c.args[0].typ.IsMax() {
		typ = bigintType
	}
	if c.args[0].typ.Kind.IsBinary() {
		return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			return value.NewInt(typ.Kind, int64(len(v[0].Raw()))), nil
		}), nil
	}
	if err := c.text(0); err != nil {
		return nil, err
	}
	coll := c.args[0].typ.Collation
	return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		return value.NewInt(typ.Kind, int64(textLen(value.TrimSpaces(v[0].Str()), coll))), nil
	}), nil
}

func (c *callSite) leftRight(left bool) (*scalar, error) {
	if err := c.text(0); err != nil {
		return nil, err
	}
	if err := c.bigint(1); err != nil {
		return nil, err
	}
	src := c.args[0].typ
	n := src.Length
	if k := c.args[1]; k.folded && !k.val.IsNull() && k.val.Int() >= 0 && (n == value.Max || k.val.Int() < int64(n)) && k.val.Int() < 8000 {
		n = int(k.val.Int())
	}
	typ, err := c.textType(src.Kind.IsUnicode(), n, c.args[0])
	if err != nil {
		return nil, err
	}
	return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		n := v[1].Int()
		if n < 0 {
			return value.Value{}, sqlError(536, 16, 1, "Invalid length parameter passed to the %s function.", c.name)
		}
		s := v[0].Str()
		if left {
			return str(typ, textSlice(s, 0, int(min(n, math.MaxInt32)), src.Collation)), nil
		}
		all := int64(textLen(s, src.Collation))
		return str(typ, textSlice(s, int(max(all-n, 0)), int(all), src.Collation)), nil
	}), nil
}

func compileSubstring(c *callSite) (*scalar, error) {
	if len(c.args) == 2 {
		c.args = append(c.args, constScalar(bigintType, value.NewInt(value.BigInt, math.MaxInt32)))
	}
	for n := 1; n < 3; n++ {
		if err := c.bigint(n); err != nil {
			return nil, err
		}
	}
	src := c.args[0].typ
	bounds := func(v []value.Value) (start, end int64, err error) {
		if v[2].Int() < 0 {
			return 0, 0, sqlError(537, 16, 3, "Invalid length parameter passed to the LEFT or SUBSTRING function.")
		}
		if src.Length != value.Max && max(v[1].Int(), v[2].Int()) > math.MaxInt32 {
			return 0, 0, sqlError(8115, 16, 2, "Arithmetic overflow error converting expression to data type int.")
		}
		start = v[1].Int() - 1
		end = start + v[2].Int()
		return max(start, 0), min(max(end, 0), math.MaxInt32), nil
	}
	if src.Kind.IsBinary() {
		typ := value.Type{Kind: value.VarBinary, Length: src.Length}
		return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			start, end, err := bounds(v)
			b := v[0].Raw()
			if err != nil || start >= int64(len(b)) || start >= end {
				return value.NewBinary(value.VarBinary, nil), err
			}
			return value.NewBinary(value.VarBinary, []byte(b[start:min(end, int64(len(b)))])), nil
		}), nil
	}
	if k := src.Kind; !k.IsCharacter() && k != value.Unknown {
		return nil, c.invalidArg(0)
	}
	if err := c.text(0); err != nil {
		return nil, err
	}
	src = c.args[0].typ
	n := src.Length
	if k := c.args[2]; k.folded && !k.val.IsNull() && k.val.Int() > 0 && (n == value.Max || k.val.Int() < int64(n)) && k.val.Int() < 4000 {
		n = int(k.val.Int())
	}
	typ, err := c.textType(src.Kind.IsUnicode(), n, c.args[0])
	if err != nil {
		return nil, err
	}
	return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		start, end, err := bounds(v)
		if err != nil {
			return value.Value{}, err
		}
		return str(typ, textSlice(v[0].Str(), int(min(start, math.MaxInt32)), int(end), src.Collation)), nil
	}), nil
}

func compileCharIndex(c *callSite) (*scalar, error) {
	long := c.args[1].typ.IsMax()
	for n := range 2 {
		if err := c.text(n); err != nil {
			return nil, err
		}
	}
	if err := c.bigint(2); err != nil {
		return nil, err
	}
	coll, _, err := mergeCollations(c.args[0], c.args[1], "charindex")
	if err != nil {
		return nil, err
	}
	typ := intType
	if long {
		typ = bigintType
	}
	return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		s := v[1].Str()
		from := 0
		if len(v) == 3 && v[2].Int() > 1 {
			skip := int(min(v[2].Int()-1, math.MaxInt32))
			from = len(textSlice(s, 0, skip, coll))
			if skip > textLen(s, coll) {
				return value.NewInt(typ.Kind, 0), nil
			}
		}
		hits := newSearcher(v[0].Str(), coll).all(s, from, 1)
		if len(hits) == 0 {
			return value.NewInt(typ.Kind, 0), nil
		}
		return value.NewInt(typ.Kind, int64(textLen(s[:hits[0][0]], coll))+1), nil
	}), nil
}

func compilePatIndex(c *callSite) (*scalar, error) {
	for n := range 2 {
		if err := c.text(n); err != nil {
			return nil, err
		}
	}
	coll, _, err := mergeCollations(c.args[0], c.args[1], "patindex")
	if err != nil {
		return nil, err
	}
	typ := intType
	if c.args[1].typ.IsMax() {
		typ = bigintType
	}
	return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		return value.NewInt(typ.Kind, value.PatIndex(v[0], v[1], coll)), nil
	}), nil
}

func compileReplace(c *callSite) (*scalar, error) {
	unicode, longest := false, false
	for n := range 3 {
		if err := c.text(n); err != nil {
			return nil, err
		}
		unicode = unicode || c.args[n].typ.Kind.IsUnicode()
		longest = longest || c.args[n].typ.IsMax()
	}
	n := 8000
	if longest {
		n = value.Max
	}
	typ, err := c.textType(unicode, n, c.args...)
	if err != nil {
		return nil, err
	}
	return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		s := v[0].Str()
		hits := newSearcher(v[1].Str(), typ.Collation).all(s, 0, -1)
		if len(hits) == 0 {
			return str(typ, s), nil
		}
		var b strings.Builder
		at := 0
		for _, h := range hits {
			b.WriteString(s[at:h[0]])
			b.WriteString(v[2].Str())
			at = h[1]
		}
		b.WriteString(s[at:])
		return cutText(typ, b.String()), nil
	}), nil
}

// cutText makes a text value, cut to the length of its type.
func cutText(typ value.Type, s string) value.Value {
	if typ.Length == value.Max || len(s) <= typ.Length {
		return str(typ, s)
	}
	if typ.Kind.IsUnicode() {
		return str(typ, value.UTF16Slice(s, 0, typ.Length))
	}
	b := value.EncodeChars(nil, s, typ.Collation)
	if len(b) > typ.Length {
		s = value.DecodeChars(b[:typ.Length], typ.Collation)
	}
	return str(typ, s)
}

func compileStuff(c *callSite) (*scalar, error) {
	if c.args[0].typ.Kind.IsBinary() {
		return c.stuffBinary()
	}
	for _, n := range []int{0, 3} {
		if err := c.text(n); err != nil {
			return nil, err
		}
	}
	for _, n := range []int{1, 2} {
		if err := c.bigint(n); err != nil {
			return nil, err
		}
	}
	a, b := c.args[0], c.args[3]
	n := 8000
	if a.typ.IsMax() || b.typ.IsMax() {
		n = value.Max
	} else if a.typ.Length+b.typ.Length < n {
		n = a.typ.Length + b.typ.Length
	}
	typ, err := c.textType(a.typ.Kind.IsUnicode() || b.typ.Kind.IsUnicode(), n, a, b)
	if err != nil {
		return nil, err
	}
	args := c.args
	s := c.lax(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		if v[0].IsNull() || v[1].IsNull() || v[2].IsNull() {
			return value.NewNull(typ.Kind), nil
		}
		s := v[0].Str()
		size := int64(textLen(s, typ.Collation))
		start, count := v[1].Int(), v[2].Int()
		if start < 1 || start > size || count < 0 {
			return value.NewNull(typ.Kind), nil
		}
		insert := ""
		if !v[3].IsNull() { // NULL replaces with nothing
			insert = v[3].Str()
		}
		head := textSlice(s, 0, int(start-1), typ.Collation)
		tail := ""
		if start-1+count < size {
			tail = textSlice(s, int(start-1+count), int(size), typ.Collation)
		}
		return cutText(typ, value.JoinSurrogates(value.JoinSurrogates(head, insert), tail)), nil
	})
	s.coercible = strongest([]*scalar{args[0], args[3]})
	return s, nil
}

// stuffBinary is STUFF over bytes.
func (c *callSite) stuffBinary() (*scalar, error) {
	a, b := c.args[0].typ, c.args[3].typ
	typ := value.Type{Kind: value.VarBinary, Length: min(8000, a.Length+b.Length)}
	if a.IsMax() || b.IsMax() {
		typ.Length = value.Max
	}
	if err := c.to(3, value.Type{Kind: value.VarBinary, Length: value.Max}); err != nil {
		return nil, err
	}
	for _, n := range []int{1, 2} {
		if err := c.bigint(n); err != nil {
			return nil, err
		}
	}
	return c.lax(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		if v[0].IsNull() || v[1].IsNull() || v[2].IsNull() {
			return value.NewNull(typ.Kind), nil
		}
		s := v[0].Bytes()
		start, count := v[1].Int(), v[2].Int()
		if start < 1 || start > int64(len(s)) || count < 0 {
			return value.NewNull(typ.Kind), nil
		}
		out := append([]byte(nil), s[:start-1]...)
		if !v[3].IsNull() {
			out = append(out, v[3].Bytes()...)
		}
		if count < int64(len(s))-start+1 {
			out = append(out, s[start-1+count:]...)
		}
		if typ.Length != value.Max && len(out) > typ.Length {
			out = out[:typ.Length]
		}
		return value.NewBinary(value.VarBinary, out), nil
	}), nil
}

func compileReplicate(c *callSite) (*scalar, error) {
	if err := c.text(0); err != nil {
		return nil, err
	}
	if err := c.bigint(1); err != nil {
		return nil, err
	}
	n := 8000
	if c.args[0].typ.IsMax() {
		n = value.Max
	}
	typ, err := c.textType(c.args[0].typ.Kind.IsUnicode(), n, c.args[0])
	if err != nil {
		return nil, err
	}
	return c.nullable(c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		count := v[1].Int()
		if count < 0 {
			return value.NewNull(typ.Kind), nil
		}
		s := v[0].Str()
		if s == "" {
			return str(typ, ""), nil
		}
		limit := int64(1) << 31
		if typ.Length != value.Max {
			limit = int64(typ.Length) * 4
		}
		count = min(count, limit/int64(len(s))+1)
		if count*int64(len(s)) > 1<<30 {
			return value.Value{}, sqlError(701, 17, 123, "There is insufficient system memory in resource pool 'default' to run this query.")
		}
		return cutText(typ, strings.Repeat(s, int(count))), nil
	})), nil
}

func (c *callSite) trim(left, right bool) (*scalar, error) {
	for n := range c.args {
		if err := c.text(n); err != nil {
			return nil, err
		}
	}
	src := c.args[0].typ
	typ, err := c.textType(src.Kind.IsUnicode(), src.Length, c.args...)
	if err != nil {
		return nil, err
	}
	coll := typ.Collation
	return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		s := v[0].Str()
		if len(v) == 1 {
			if left {
				s = strings.TrimLeft(s, " ")
			}
			if right {
				s = strings.TrimRight(s, " ")
			}
			return str(typ, s), nil
		}
		set := map[string]bool{}
		for _, k := range unitsOf(v[1].Str(), coll).keys {
			set[k] = true
		}
		u := unitsOf(s, coll)
		i, j := 0, len(u.keys)
		for left && i < j && set[u.keys[i]] {
			i++
		}
		for right && j > i && set[u.keys[j-1]] {
			j--
		}
		start := 0
		if i > 0 {
			start = u.ends[i-1]
		}
		end := start
		if j > i {
			end = u.ends[j-1]
		}
		return str(typ, s[start:end]), nil
	}), nil
}

// mapText is a function from text to text of the same length.
func (c *callSite) mapText(f func(string) string) (*scalar, error) {
	if err := c.text(0); err != nil {
		return nil, err
	}
	src := c.args[0].typ
	typ, err := c.textType(src.Kind.IsUnicode(), src.Length, c.args[0])
	if err != nil {
		return nil, err
	}
	return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		return str(typ, f(v[0].Str())), nil
	}), nil
}

// upperText and lowerText map characters one to one, as SQL Server does: ß stays.
func upperText(s string) string { return mapRunes(s, unicode.ToUpper) }

func lowerText(s string) string { return mapRunes(s, unicode.ToLower) }

func mapRunes(s string, f func(rune) rune) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		n := unitSize(s[i:])
		if n == 3 && s[i] == 0xED && s[i+1] >= 0xA0 { // a lone surrogate
			b.WriteString(s[i : i+n])
		} else {
			for _, r := range s[i : i+n] {
				b.WriteRune(f(r))
			}
		}
		i += n
	}
	return b.String()
}

func reverseText(s string) string {
	var parts []string
	for i := 0; i < len(s); {
		n := unitSize(s[i:])
		parts = append(parts, s[i:i+n])
		i += n
	}
	var b strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		b.WriteString(parts[i])
	}
	return b.String()
}

// concat is CONCAT and CONCAT_WS: NULL counts as nothing.
func (c *callSite) concat(separated bool) (*scalar, error) {
	unicode, longest, width := false, false, 0
	bare := true // nothing but NULL: varchar(1)
	for n := range c.args {
		bare = bare && (c.args[n].typ.Kind == value.Unknown || separated && n == 0)
		if err := c.text(n); err != nil {
			return nil, err
		}
		t := c.args[n].typ
		unicode = unicode || t.Kind.IsUnicode()
		longest = longest || t.IsMax()
		width += t.Length
	}
	if separated {
		width += c.args[0].typ.Length * len(c.args)
	}
	switch {
	case bare:
		unicode, width = false, 1
	case longest:
		width = value.Max
	}
	typ, err := c.textType(unicode, width, c.args...)
	if err != nil {
		return nil, err
	}
	s := c.lax(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		out := ""
		if separated {
			first := true
			for _, x := range v[1:] {
				if x.IsNull() {
					continue
				}
				if !first && !v[0].IsNull() {
					out = value.JoinSurrogates(out, v[0].Str())
				}
				first = false
				out = value.JoinSurrogates(out, x.Str())
			}
		} else {
			for _, x := range v {
				if !x.IsNull() {
					out = value.JoinSurrogates(out, x.Str())
				}
			}
		}
		return cutText(typ, out), nil
	})
	s.nullable = false
	s.coercible = strongest(c.args)
	return s, nil
}

func compileTranslate(c *callSite) (*scalar, error) {
	unicode := false
	for n := range 3 {
		if err := c.text(n); err != nil {
			return nil, err
		}
		unicode = unicode || c.args[n].typ.Kind.IsUnicode()
	}
	typ, err := c.textType(unicode, c.args[0].typ.Length, c.args...)
	if err != nil {
		return nil, err
	}
	return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		from, to := unitsOf(v[1].Str(), typ.Collation), unitsOf(v[2].Str(), typ.Collation)
		if len(from.keys) != len(to.keys) {
			return value.Value{}, sqlError(9828, 16, 1, "The second and third arguments of the TRANSLATE built-in function must contain an equal number of characters.")
		}
		table := map[string]string{}
		start := 0
		for i, end := range to.ends {
			if _, ok := table[from.keys[i]]; !ok {
				table[from.keys[i]] = to.text[start:end]
			}
			start = end
		}
		u := unitsOf(v[0].Str(), typ.Collation)
		var b strings.Builder
		start = 0
		for i, end := range u.ends {
			if r, ok := table[u.keys[i]]; ok {
				b.WriteString(r)
			} else {
				b.WriteString(u.text[start:end])
			}
			start = end
		}
		return str(typ, b.String()), nil
	}), nil
}

func compileQuoteName(c *callSite) (*scalar, error) {
	for n := range c.args {
		if err := c.text(n); err != nil {
			return nil, err
		}
	}
	typ, err := c.textType(true, 258, c.args[0])
	if err != nil {
		return nil, err
	}
	return c.nullable(c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		s := v[0].Str()
		if value.UTF16Len(s) > 128 {
			return value.NewNull(typ.Kind), nil
		}
		quote := "["
		if len(v) == 2 && v[1].Str() != "" {
			quote = v[1].Str()[:1]
		}
		pairs := map[string]string{"[": "[]", "]": "[]", "'": "''", "\"": "\"\"", "(": "()", ")": "()", "<": "<>", ">": "<>", "{": "{}", "}": "{}", "`": "``"}
		p, ok := pairs[quote]
		if !ok {
			return value.NewNull(typ.Kind), nil
		}
		end := p[1:]
		return str(typ, p[:1]+strings.ReplaceAll(s, end, end+end)+end), nil
	})), nil
}

func compileParseName(c *callSite) (*scalar, error) {
	if err := c.text(0); err != nil {
		return nil, err
	}
	if err := c.int(1); err != nil {
		return nil, err
	}
	typ, err := c.textType(true, 128, c.args[0])
	if err != nil {
		return nil, err
	}
	return c.nullable(c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		n, err := tsql.ParseName(v[0].Str())
		if err != nil {
			return value.NewNull(typ.Kind), nil
		}
		part := ""
		switch v[1].Int() {
		case 1:
			part = n.Name
		case 2:
			part = n.Schema
		case 3:
			part = n.Database
		case 4:
			part = n.Server
		}
		if part == "" {
			return value.NewNull(typ.Kind), nil
		}
		return str(typ, part), nil
	})), nil
}

func compileStr(c *callSite) (*scalar, error) {
	if err := c.to(0, floatType); err != nil {
		return nil, err
	}
	for n := 1; n < 3; n++ {
		if err := c.int(n); err != nil {
			return nil, err
		}
	}
	typ, err := c.textType(false, 8000)
	if err != nil {
		return nil, err
	}
	return c.nullable(c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		width, decimals := int64(10), int64(0)
		if len(v) > 1 {
			width = v[1].Int()
		}
		if len(v) > 2 {
			decimals = min(v[2].Int(), 16)
		}
		if width < 1 || width > 8000 || decimals < 0 {
			return value.NewNull(typ.Kind), nil
		}
		f := v[0].Float()
		pow := math.Pow(10, float64(decimals))
		if r := math.Round(math.Abs(f)*pow) / pow; !math.IsInf(r, 0) {
			f = math.Copysign(r, f)
		}
		s := fmt.Sprintf("%.*f", decimals, f)
		// Decimals give way where the whole does not fit.
		for int64(len(s)) > width && decimals > 0 {
			decimals--
			s = fmt.Sprintf("%.*f", decimals, f)
		}
		if int64(len(s)) > width {
			s = strings.Repeat("*", int(width))
		}
		return str(typ, strings.Repeat(" ", int(width)-len(s))+s), nil
	})), nil
}

// soundex is the four-character code of a word.
func soundex(s string) string {
	const codes = "01230120022455012623010202" // of A to Z
	out := []byte{}
	last := byte('0')
	for i := 0; i < len(s) && len(out) < 4; i++ {
		c := s[i] &^ 0x20
		if c < 'A' || c > 'Z' {
			break
		}
		code := codes[c-'A']
		switch {
		case len(out) == 0:
			out = append(out, c)
			last = code
		case c == 'H' || c == 'W':
		default:
			if code != '0' && code != last {
				out = append(out, code)
			}
			last = code
		}
	}
	if len(out) == 0 {
		return "0000"
	}
	for len(out) < 4 {
		out = append(out, '0')
	}
	return string(out)
}
