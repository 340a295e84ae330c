package value

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"
)

// charset is the single-byte code page of a collation that is not UTF-8. Every
// collation that sqlsim knows has code page 1252.
var charset = charmap.Windows1252

// The five bytes that code page 1252 leaves undefined, SQL Server maps to the C1
// controls of the same number.
func undefined1252(r rune) bool {
	return r == 0x81 || r == 0x8D || r == 0x8F || r == 0x90 || r == 0x9D
}

func charByte(r rune) (byte, bool) {
	if r < 0x80 || undefined1252(r) {
		return byte(r), true
	}
	return charset.EncodeRune(r)
}

// EncodeChars appends s to dst as bytes of c's code page; what it lacks becomes '?'.
func EncodeChars(dst []byte, s string, c Collation) []byte {
	if c.UTF8() || isASCII(s) {
		return append(dst, s...)
	}
	for i := 0; i < len(s); {
		r, w := decodeRune(s[i:])
		b, ok := charByte(r)
		if !ok {
			b = bestFit(r)
			if r > 0xFFFF { // each half of the pair is replaced
				dst = append(dst, '?')
			}
		}
		dst = append(dst, b)
		i += w
	}
	return dst
}

// DecodeChars reads bytes of c's code page.
func DecodeChars(b []byte, c Collation) string {
	s := string(b)
	if isASCII(s) {
		return s
	}
	if c.UTF8() {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	out := make([]byte, 0, len(b)+16)
	for _, x := range b {
		r := rune(x)
		if !undefined1252(r) {
			r = charset.DecodeByte(x)
		}
		out = appendRune(out, r)
	}
	return string(out)
}

// toCodePage is what becomes of s when it is stored as varchar under c.
func toCodePage(s string, c Collation) string {
	if isASCII(s) {
		return s
	}
	if c.UTF8() {
		return replaceLoneSurrogates(s)
	}
	return DecodeChars(EncodeChars(nil, s, c), c)
}

func replaceLoneSurrogates(s string) string {
	var out []byte
	for i := 0; i < len(s); {
		r, w := decodeRune(s[i:])
		if r >= 0xD800 && r <= 0xDFFF {
			r = 0xFFFD
		}
		out = appendRune(out, r)
		i += w
	}
	return string(out)
}

// bestFit is the look-alike that Windows substitutes for some characters that the
// code page lacks; all others become a question mark.
func bestFit(r rune) byte {
	switch {
	case r >= 0xFF01 && r <= 0xFF5E: // full-width forms of ASCII
		return byte(r - 0xFF01 + '!')
	case r == 0x2212 || r == 0x2010 || r == 0x2011:
		return '-'
	case r == 0x2032:
		return '\''
	case r >= 0x2000 && r <= 0x2006 || r == 0x3000:
		return ' '
	}
	if base := norm.NFD.String(string(r)); base[0] < 0x80 { // a letter with accents
		return base[0]
	}
	if i := strings.IndexRune("łŁđħĦŧŦıĐ", r); i >= 0 {
		return "lLdhHtTi\xD0"[utf8.RuneCountInString("łŁđħĦŧŦıĐ"[:i])]
	}
	return '?'
}
