package value

import (
	"bytes"
	"unicode"
)

// Like matches text against a LIKE pattern under c: % any text, _ one character, [a-f]
// and [^a-f] one of a set. escape is the character of the ESCAPE clause, or empty.
//
// Trailing spaces count, except that those of a char or varchar text, which the
// pattern does not have, are ignored.
func Like(text, pattern Value, escape string, c Collation) (bool, error) {
	var esc rune = -1
	if escape != "" {
		r, n := decodeRune(escape)
		if n != len(escape) {
			return false, NewError(506, 16, 1, "The invalid escape character \"%s\" was specified in a LIKE predicate.", escape)
		}
		esc = r
	}
	unicodeText := text.kind.IsUnicode() || pattern.kind.IsUnicode()
	m := likeMatcher{coll: c, unicodeText: unicodeText}
	p, ok := m.compile(pattern.s, esc)
	if !ok {
		return false, nil
	}
	t := m.split(text.s)
	if m.match(t, p) {
		return true, nil
	}
	if !unicodeText {
		for len(t) > 0 && t[len(t)-1] == " " {
			t = t[:len(t)-1]
			if m.match(t, p) {
				return true, nil
			}
		}
	}
	return false, nil
}

// PatIndex finds a LIKE pattern in text: the position, from 1 and in characters as
// LEN counts them, where it first matches, or 0. The pattern has its own % signs.
func PatIndex(pattern, text Value, c Collation) int64 {
	m := likeMatcher{coll: c, unicodeText: text.kind.IsUnicode() || pattern.kind.IsUnicode()}
	p, ok := m.compile(pattern.s, -1)
	if !ok || len(p) == 0 {
		return 0
	}
	t := m.split(text.s)
	if p[0].kind != likeAny { // anchored at the start
		if m.match(t, p) {
			return 1
		}
		return 0
	}
	for len(p) > 0 && p[0].kind == likeAny {
		p = p[1:]
	}
	pos := int64(1)
	for i := 0; ; i++ {
		if m.match(t[i:], p) {
			if len(t) == 0 && len(p) > 0 {
				return 0
			}
			return pos
		}
		if i == len(t) {
			return 0
		}
		if c.SupplementaryCharacters() || !m.unicodeText {
			pos++
		} else {
			pos += int64(UTF16Len(t[i]))
		}
	}
}

type likeKind uint8

const (
	likeChar likeKind = iota
	likeOne
	likeAny
	likeSet
)

type likeItem struct {
	kind   likeKind
	char   string
	ranges [][2]string // of a set; both ends the same for one character
	negate bool
}

type likeMatcher struct {
	coll        Collation
	unicodeText bool
}

// split cuts text into characters, each with the combining marks that follow it
// where the collation looks at them as one.
func (m likeMatcher) split(s string) []string {
	out := make([]string, 0, len(s))
	for i := 0; i < len(s); {
		_, w := decodeRune(s[i:])
		end := i + w
		for !m.coll.Binary() && end < len(s) && s[end] >= 0x80 {
			r, w := decodeRune(s[end:])
			if !unicode.Is(unicode.Mn, r) {
				break
			}
			end += w
		}
		out = append(out, s[i:end])
		i = end
	}
	return out
}

// compile reads the pattern. It answers false for one that can match nothing: a set
// without an end, or an escape character at the end.
func (m likeMatcher) compile(s string, esc rune) ([]likeItem, bool) {
	chars := m.split(s)
	var out []likeItem
	escaped := func(c string) bool {
		r, n := decodeRune(c)
		return r == esc && n == len(c)
	}
	for i := 0; i < len(chars); i++ {
		c := chars[i]
		switch {
		case esc >= 0 && escaped(c):
			i++
			if i == len(chars) {
				return nil, false
			}
			out = append(out, likeItem{char: chars[i]})
		case c == "%":
			if len(out) == 0 || out[len(out)-1].kind != likeAny {
				out = append(out, likeItem{kind: likeAny})
			}
		case c == "_":
			out = append(out, likeItem{kind: likeOne})
		case c == "[":
			item := likeItem{kind: likeSet}
			i++
			if i < len(chars) && chars[i] == "^" {
				item.negate = true
				i++
			}
			closed := false
			for i < len(chars) {
				if chars[i] == "]" {
					closed = true
					break
				}
				if esc >= 0 && escaped(chars[i]) && i+1 < len(chars) {
					i++
				}
				lo := chars[i]
				i++
				hi := lo
				if i+1 < len(chars) && chars[i] == "-" && chars[i+1] != "]" {
					i++
					if esc >= 0 && escaped(chars[i]) && i+1 < len(chars) {
						i++
					}
					hi = chars[i]
					i++
				}
				item.ranges = append(item.ranges, [2]string{lo, hi})
			}
			if !closed {
				return nil, false
			}
			out = append(out, item)
		default:
			out = append(out, likeItem{char: c})
		}
	}
	return out, true
}

// match goes back only to the last %, so its time is the product of the lengths at worst.
func (m likeMatcher) match(text []string, p []likeItem) bool {
	t, i := 0, 0
	starT, starP := -1, -1
	for t < len(text) {
		switch {
		case i < len(p) && p[i].kind == likeAny:
			starT, starP = t, i
			i++
		case i < len(p) && m.one(text[t], p[i]):
			t++
			i++
		case starP >= 0:
			starT++
			t, i = starT, starP+1
		default:
			return false
		}
	}
	for i < len(p) && p[i].kind == likeAny {
		i++
	}
	return i == len(p)
}

func (m likeMatcher) one(c string, item likeItem) bool {
	switch item.kind {
	case likeOne:
		return true
	case likeChar:
		return m.compare(c, item.char) == 0
	}
	in := false
	for _, r := range item.ranges {
		if m.compare(c, r[0]) >= 0 && m.compare(c, r[1]) <= 0 {
			in = true
			break
		}
	}
	return in != item.negate
}

// compare orders two characters.
func (m likeMatcher) compare(a, b string) int {
	if a == b {
		return 0
	}
	if len(a) == 1 && len(b) == 1 && !m.coll.Binary() {
		x, y := charOrder(a[0]), charOrder(b[0])
		if m.coll.CaseInsensitive() {
			x, y = x&^1, y&^1
		}
		return int(x) - int(y)
	}
	var bufA, bufB [64]byte
	c := bytes.Compare(appendTextKey(bufA[:0], a, m.coll, m.unicodeText), appendTextKey(bufB[:0], b, m.coll, m.unicodeText))
	// Spaces and ignorable characters equal nothing else here, unlike at the end of a text.
	if c == 0 && (ignorable(a) || ignorable(b)) {
		return bytes.Compare([]byte(a), []byte(b))
	}
	return c
}

func ignorable(s string) bool {
	r, _ := decodeRune(s)
	return r > 0xFFFF || unicode.IsControl(r) || r == ' ' || unicode.Is(unicode.Cf, r) || r >= 0xD800 && r < 0xE000
}

// charOrder is the place of an ASCII character in the sort order, twice, plus one for upper case.
func charOrder(c byte) int16 {
	w := int16(sqlASCII[c&0x7F])
	switch {
	case w == 0: // a control
		w = -int16(128 - c)
	case c >= 'A' && c <= 'Z':
		return w*2 + 1
	}
	return w * 2
}
