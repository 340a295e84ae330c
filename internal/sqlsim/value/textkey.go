package value

import (
	"bytes"
	"cmp"
	"unicode"
	"unicode/utf16"

	"golang.org/x/text/unicode/norm"
)

// A text key is a byte string whose order is the order of the text under a collation.
// It has up to four levels, each ended by a byte lower than any within it: the letters;
// their accents (_AS); case, width and kana (_CS, _WS, _KS); and, under Windows rules,
// where hyphens and apostrophes were, which count only between otherwise equal words.
//
// SQL Server pads the shorter text with spaces. So after each space the key says
// whether what follows the run of spaces sorts before (1) or after (3) a space, and
// the end of the text is a space followed by 2.

const (
	weightControl = 0x03
	weightSpace   = 0x05
	weightSymbol  = 0x38 // symbols that are not ASCII
	weightDigit   = 0x40
	weightLetter  = 0x60 // three apart, so that ligatures fit between
	weightOther   = 0xF0 // letters of other scripts
)

// The order of punctuation under Windows rules and under those of the SQL_ collations.
var (
	windowsASCII = asciiWeights("!\"#$%&()*,./:;?@[\\]^_`{|}~+<=>'-")
	sqlASCII     = asciiWeights("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
)

func asciiWeights(punctuation string) (t [128]byte) {
	for i := range punctuation {
		t[punctuation[i]] = byte(0x08 + i)
	}
	for i := range 10 {
		t['0'+i] = byte(weightDigit + i)
	}
	for i := range 26 {
		t['a'+i] = byte(weightLetter + 3*i)
		t['A'+i] = t['a'+i]
	}
	t[' '] = weightSpace
	return t
}

// letterWeight is the primary weight of a lower-case ASCII letter.
func letterWeight(c byte) byte { return weightLetter + 3*(c-'a') }

type textKey struct {
	primary []byte
	accents []byte
	cases   []byte
	minimal []byte

	windows  bool // Windows rules; else those of a SQL_ collation, for char and varchar
	coll     Collation
	pos      uint32 // letters so far
	plainAcc int    // letters without accents since the last one with
	plainCas int
	spaces   int // the run of spaces at the end of primary, whose marks are not known yet
}

const (
	formPlain byte = 2
	formUpper byte = 1 // added to formPlain
	formWide  byte = 2
	formKana  byte = 4
)

// appendTextKey appends the key of s. unicodeText is true for nchar and nvarchar.
func appendTextKey(dst []byte, s string, c Collation, unicodeText bool) []byte {
	s = TrimSpaces(s)
	if c.Binary() {
		return appendBinaryTextKey(dst, s, c, unicodeText)
	}
	k := textKey{primary: dst, coll: c, windows: unicodeText || !c.family().sql}
	table := &sqlASCII
	if k.windows {
		table = &windowsASCII
	}
	for i := 0; i < len(s); {
		ch := s[i]
		if ch >= 0x80 {
			r, w := decodeRune(s[i:])
			k.addRune(r)
			i += w
			continue
		}
		i++
		switch {
		case ch == ' ':
			k.primary = append(k.primary, weightSpace, 0)
			k.spaces++
			k.form(formPlain)
		case ch < ' ' || ch == 0x7F:
			k.addControl(ch)
		case k.windows && (ch == '-' || ch == '\''):
			k.addMinimal(ch)
		default:
			k.settle(3)
			k.primary = append(k.primary, table[ch])
			if ch >= 'A' && ch <= 'Z' {
				k.form(formPlain + formUpper)
			} else {
				k.form(formPlain)
			}
		}
	}
	return k.finish()
}

// settle fills in the marks of the spaces just passed.
func (k *textKey) settle(mark byte) {
	for p := len(k.primary) - 1; k.spaces > 0; k.spaces-- {
		k.primary[p] = mark
		p -= 2
	}
}

// form counts one letter and notes its case, width and kana.
func (k *textKey) form(f byte) {
	k.pos++
	k.plainAcc++
	mask := byte(0)
	if k.coll&flagCS != 0 {
		mask |= formUpper
	}
	if k.coll&flagWS != 0 {
		mask |= formWide
	}
	if k.coll&flagKS != 0 {
		mask |= formKana
	}
	f = formPlain + (f-formPlain)&mask
	if f == formPlain {
		k.plainCas++
		return
	}
	for ; k.plainCas > 0; k.plainCas-- {
		k.cases = append(k.cases, formPlain)
	}
	k.cases = append(k.cases, f)
}

// accent adds a mark to the letter just counted.
func (k *textKey) accent(mark rune) {
	if k.coll&flagAI != 0 || k.pos == 0 {
		return
	}
	if k.plainAcc > 0 { // the letter itself is the last of them
		for ; k.plainAcc > 1; k.plainAcc-- {
			k.accents = append(k.accents, 2)
		}
		k.plainAcc = 0
		k.accents = append(k.accents, 3)
	}
	k.accents = appendRune21(k.accents, mark)
}

func appendRune21(dst []byte, r rune) []byte {
	return append(dst, 0x80|byte(r>>14), 0x80|byte(r>>7), 0x80|byte(r))
}

func (k *textKey) addControl(ch byte) {
	if k.windows && (ch < '\t' || ch > '\r') {
		return // ignorable
	}
	k.settle(1)
	k.primary = append(k.primary, weightControl, ch+1)
	k.form(formPlain)
}

func (k *textKey) addMinimal(ch byte) {
	k.minimal = appendRune21(k.minimal, rune(min(k.pos, 0x1FFFFE))+1)
	k.minimal = append(k.minimal, ch)
}

func (k *textKey) addRune(r rune) {
	switch {
	case r > 0xFFFF && k.coll.family().version < 2, r >= 0xD800 && r <= 0xDFFF:
		// Collations older than _90 give supplementary characters no weight: they equal the empty string.
		return
	case r < 0xA0:
		if !k.windows {
			k.settle(3)
			k.primary = append(k.primary, weightSymbol)
			k.primary = appendRune21(k.primary, r)
			k.form(formPlain)
		}
		return
	}
	form := formPlain
	if k.windows {
		if unicode.Is(unicode.Cf, r) {
			return
		}
		if first, second, ok := expand(r); ok {
			if unicode.IsUpper(r) {
				form += formUpper
			}
			k.letter(rune(first), form)
			k.letter(rune(second), form)
			return
		}
	}
	if k.windows && (r >= 0xFF00 && r <= 0xFFEF || r == '²' || r == '³' || r == '¹') {
		form += formWide
		for _, d := range norm.NFKD.String(string(r)) {
			k.decomposed(d, form)
		}
		return
	}
	if d := norm.NFD.PropertiesString(string(r)).Decomposition(); d != nil {
		for _, x := range string(d) {
			k.decomposed(x, form)
		}
		return
	}
	k.decomposed(r, form)
}

func (k *textKey) decomposed(r rune, form byte) {
	if unicode.Is(unicode.Mn, r) {
		k.accent(r)
		return
	}
	k.letter(r, form)
}

func (k *textKey) letter(r rune, form byte) {
	lower := unicode.ToLower(r)
	if lower != r {
		form += formUpper
	}
	if lower >= 0x30A1 && lower <= 0x30F6 { // katakana
		lower -= 0x60
		form += formKana
	}
	k.settle(3)
	switch base, mark := struck(lower); {
	case base != 0:
		k.primary = append(k.primary, letterWeight(base))
		k.form(form)
		k.accent(mark)
		return
	case lower < 0x80:
		k.primary = append(k.primary, windowsASCII[lower])
	case lower == 'æ':
		k.primary = append(k.primary, letterWeight('a')+1)
	case lower == 'ß':
		k.primary = append(k.primary, letterWeight('s')+1)
	case lower == 'œ':
		k.primary = append(k.primary, letterWeight('o')+1)
	case lower == 'þ':
		k.primary = append(k.primary, letterWeight('z')+1)
	case unicode.IsDigit(lower):
		k.primary = append(k.primary, weightDigit+byte(digitValue(lower)))
	case unicode.IsLetter(lower):
		k.primary = appendRune21(append(k.primary, weightOther), lower)
	default:
		k.primary = appendRune21(append(k.primary, weightSymbol), lower)
	}
	k.form(form)
}

// digitValue of a decimal digit: each script has its ten in a row, from a multiple it starts at.
func digitValue(r rune) int {
	n := 0
	for unicode.IsDigit(r-1) && n < 9 {
		r--
		n++
	}
	return n
}

// struck finds letters that Windows sorts as an ASCII letter with an accent though Unicode does not decompose them.
func struck(r rune) (base byte, mark rune) {
	switch r {
	case 'ø':
		return 'o', 0x338
	case 'đ':
		return 'd', 0x335
	case 'ð':
		return 'd', 0x336
	case 'ł':
		return 'l', 0x335
	case 'ħ':
		return 'h', 0x335
	case 'ŧ':
		return 't', 0x335
	case 'ı':
		return 'i', 0x307
	}
	return 0, 0
}

// expand gives the two letters that a ligature equals under Windows rules.
func expand(r rune) (first, second byte, ok bool) {
	switch r {
	case 'ß':
		return 's', 's', true
	case 'æ', 'Æ':
		return 'a', 'e', true
	case 'œ', 'Œ':
		return 'o', 'e', true
	case 'þ', 'Þ':
		return 't', 'h', true
	}
	return 0, 0, false
}

func (k *textKey) finish() []byte {
	// Spaces that only ignorable characters follow are trailing spaces.
	k.primary = k.primary[:len(k.primary)-2*k.spaces]
	out := append(k.primary, weightSpace, 2)
	if k.coll&flagAI == 0 {
		out = append(append(out, k.accents...), 0)
	}
	if k.coll&(flagCS|flagWS|flagKS) != 0 {
		out = append(append(out, k.cases...), 0)
	}
	if k.windows {
		out = append(append(out, k.minimal...), 0)
	}
	return out
}

// appendBinaryTextKey orders by code: bytes for char and varchar, UTF-16 code units
// for nchar and nvarchar.
func appendBinaryTextKey(dst []byte, s string, c Collation, unicodeText bool) []byte {
	if !unicodeText {
		if !c.UTF8() && !isASCII(s) {
			s = string(EncodeChars(nil, s, c))
		}
		for i := 0; i < len(s); i++ {
			dst = append(dst, s[i])
			if s[i] == ' ' {
				dst = append(dst, spaceMark(s[i:], ' '))
			}
		}
		return append(dst, ' ', 2)
	}
	if isASCII(s) && c&flagBin2 != 0 {
		return appendBinaryTextKey(dst, s, c, false)
	}
	units := make([]uint16, 0, len(s)+1)
	for i := 0; i < len(s); {
		r, w := decodeRune(s[i:])
		if r > 0xFFFF {
			hi, lo := utf16.EncodeRune(r)
			units = append(units, uint16(hi), uint16(lo))
		} else {
			units = append(units, uint16(r))
		}
		i += w
	}
	// _BIN compares all but the first character as stored, low byte first.
	swap := c&flagBin != 0
	weight := func(i int, u uint16) uint16 {
		if swap && i > 0 {
			return u<<8 | u>>8
		}
		return u
	}
	for i, u := range units {
		dst = appendUnit(dst, weight(i, u))
		if u != ' ' {
			continue
		}
		mark := byte(2)
		for j := i + 1; j < len(units); j++ {
			if units[j] != ' ' {
				mark = 1
				if weight(j, units[j]) > weight(j, ' ') {
					mark = 3
				}
				break
			}
		}
		dst = append(dst, mark)
	}
	return append(appendUnit(dst, weight(len(units), ' ')), 2)
}

// appendUnit writes ASCII in one byte and the rest in three, in order.
func appendUnit(dst []byte, u uint16) []byte {
	if u < 0x80 {
		return append(dst, byte(u))
	}
	return append(dst, 0xC0, byte(u>>8), byte(u))
}

// spaceMark tells how the first byte after a run of spaces sorts against a space.
func spaceMark(s string, space byte) byte {
	for i := 0; i < len(s); i++ {
		if s[i] != space {
			if s[i] > space {
				return 3
			}
			return 1
		}
	}
	return 2
}

// compareText orders two strings under c.
func compareText(a, b string, c Collation, unicodeText bool) int {
	if a == b {
		return 0
	}
	if order, ok := comparePlain(a, b, c, unicodeText); ok {
		return order
	}
	var bufA, bufB [256]byte
	return bytes.Compare(appendTextKey(bufA[:0], a, c, unicodeText), appendTextKey(bufB[:0], b, c, unicodeText))
}

// comparePlain is a short cut for ASCII: it walks both strings at once and makes no
// keys. It leaves to them (ok false) what the letters alone do not decide.
func comparePlain(a, b string, c Collation, unicodeText bool) (order int, ok bool) {
	windows := unicodeText || !c.family().sql
	table := &sqlASCII
	if windows {
		table = &windowsASCII
	}
	binary := c.Binary()
	minimal, plain := false, true
	// next is the weight at s[i:] and where the next one begins; past the end there are spaces.
	next := func(s string, i int) (byte, int) {
		for i < len(s) {
			ch := s[i]
			i++
			switch {
			case ch >= 0x80 || ch < ' ' && !binary:
				plain = false
				return 0, i
			case binary:
				return ch, i
			case windows && (ch == '-' || ch == '\''):
				minimal = true
				continue
			}
			return table[ch], i
		}
		if binary {
			return ' ', i
		}
		return weightSpace, i
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		var x, y byte
		x, i = next(a, i)
		y, j = next(b, j)
		if !plain || c&flagBin != 0 {
			return 0, false
		}
		if x != y {
			return cmp.Compare(x, y), true
		}
	}
	if binary {
		return 0, true
	}
	return 0, !minimal && c&flagCS == 0
}
