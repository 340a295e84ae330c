package engine

import (
	"strings"
	"unicode/utf8"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// textUnits is a text cut into the characters that its collation compares one by one.
type textUnits struct {
	text string
	ends []int    // byte offset behind each character
	keys []string // sort key of each, nil for a binary collation
}

// unitsOf cuts a text for searching. Text of ASCII letters needs no keys: folded says
// that case was folded away.
func unitsOf(s string, c value.Collation) textUnits {
	u := textUnits{text: s}
	memo := map[string]string{}
	for i := 0; i < len(s); {
		_, size := utf8.DecodeRuneInString(s[i:])
		if size == 1 && s[i] >= 0x80 { // a lone surrogate takes three bytes
			size = min(3, len(s)-i)
		}
		part := s[i : i+size]
		k, ok := memo[part]
		if !ok {
			k = unitKey(part, c)
			memo[part] = k
		}
		u.keys = append(u.keys, k)
		i += size
		u.ends = append(u.ends, i)
	}
	return u
}

func unitKey(part string, c value.Collation) string {
	if c.Binary() || part == " " {
		return part
	}
	return string(value.SortKey(nil, value.NewString(value.NVarChar, part), c))
}

// isASCII reports a text that can be searched byte by byte.
func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// textSearcher finds a needle in texts under a collation.
type textSearcher struct {
	needle    string
	collation value.Collation
	ascii     bool
	folded    string
	units     textUnits
}

func newSearcher(needle string, c value.Collation) *textSearcher {
	t := &textSearcher{needle: needle, collation: c, ascii: isASCII(needle)}
	if t.ascii {
		t.folded = needle
		if c.CaseInsensitive() {
			t.folded = strings.ToLower(needle)
		}
	}
	return t
}

// all finds every occurrence that does not overlap an earlier one, from byte offset from
// on, up to limit of them (negative for all): start and end byte offsets.
func (t *textSearcher) all(s string, from, limit int) [][2]int {
	var found [][2]int
	if t.needle == "" {
		return nil
	}
	if t.ascii && (t.collation.Binary() || isASCII(s)) {
		hay := s
		if t.collation.CaseInsensitive() {
			hay = strings.ToLower(s)
		}
		for limit < 0 || len(found) < limit {
			i := strings.Index(hay[from:], t.folded)
			if i < 0 {
				return found
			}
			found = append(found, [2]int{from + i, from + i + len(t.folded)})
			from += i + len(t.folded)
		}
		return found
	}
	if t.units.keys == nil {
		t.units = unitsOf(t.needle, t.collation)
	}
	hay := unitsOf(s[from:], t.collation)
	n := len(t.units.keys)
next:
	for i := 0; i+n <= len(hay.keys); i++ {
		if limit >= 0 && len(found) >= limit {
			break
		}
		for j := range n {
			if hay.keys[i+j] != t.units.keys[j] {
				continue next
			}
		}
		start := from
		if i > 0 {
			start = from + hay.ends[i-1]
		}
		found = append(found, [2]int{start, from + hay.ends[i+n-1]})
		i += n - 1
	}
	return found
}

// --- positions in characters, as functions count them ---

// textLen is the number of characters: UTF-16 code units, or characters under an _SC collation.
func textLen(s string, c value.Collation) int {
	if c.SupplementaryCharacters() {
		n := 0
		for i := 0; i < len(s); n++ {
			i += unitSize(s[i:])
		}
		return n
	}
	return value.UTF16Len(s)
}

func unitSize(s string) int {
	_, size := utf8.DecodeRuneInString(s)
	if size == 1 && s[0] >= 0x80 {
		return min(3, len(s))
	}
	return size
}

// textSlice is characters start (from 0) up to end.
func textSlice(s string, start, end int, c value.Collation) string {
	start = max(start, 0)
	if start >= end {
		return ""
	}
	if isASCII(s) {
		if start >= len(s) {
			return ""
		}
		return s[start:min(end, len(s))]
	}
	if !c.SupplementaryCharacters() {
		return value.UTF16Slice(s, start, end)
	}
	from, at := -1, 0
	i := 0
	for ; i < len(s) && at < end; at++ {
		if at == start {
			from = i
		}
		i += unitSize(s[i:])
	}
	if from < 0 {
		return ""
	}
	return s[from:i]
}
