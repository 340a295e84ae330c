package value

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Character data is WTF-8, see Value. The functions here count and cut it in UTF-16
// code units, which is what nvarchar is made of.

// decodeRune is utf8.DecodeRuneInString that also accepts a surrogate in three bytes.
func decodeRune(s string) (rune, int) {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 && len(s) >= 3 && s[0] == 0xED && s[1]&0xE0 == 0xA0 && s[2]&0xC0 == 0x80 {
		return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), 3
	}
	return r, n
}

func appendRune(dst []byte, r rune) []byte {
	if r >= 0xD800 && r <= 0xDFFF {
		return append(dst, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0xBF, 0x80|byte(r)&0xBF)
	}
	return utf8.AppendRune(dst, r)
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// UTF16Len is the number of UTF-16 code units in s.
func UTF16Len(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if s[i] < 0x80 {
			n++
			i++
			continue
		}
		r, w := decodeRune(s[i:])
		if r > 0xFFFF {
			n++
		}
		n++
		i += w
	}
	return n
}

// UTF16Slice is the part of s from code unit start up to code unit end. Both are
// clipped to the string. A surrogate pair that a border runs through is cut in two.
func UTF16Slice(s string, start, end int) string {
	if start < 0 {
		start = 0
	}
	if isASCII(s) {
		end = min(end, len(s))
		if start >= end {
			return ""
		}
		return s[start:end]
	}
	if start >= end {
		return ""
	}
	var out []byte
	pos := 0
	for i := 0; i < len(s) && pos < end; {
		r, w := decodeRune(s[i:])
		if r <= 0xFFFF {
			if pos >= start {
				out = append(out, s[i:i+w]...)
			}
			pos++
		} else {
			hi, lo := utf16.EncodeRune(r)
			switch inHi, inLo := pos >= start, pos+1 >= start && pos+1 < end; {
			case inHi && inLo:
				out = append(out, s[i:i+w]...)
			case inHi:
				out = appendRune(out, hi)
			case inLo:
				out = appendRune(out, lo)
			}
			pos += 2
		}
		i += w
	}
	return string(out)
}

// EncodeUTF16 appends s to dst as little-endian UTF-16, as it is stored and sent.
func EncodeUTF16(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		if c := s[i]; c < 0x80 {
			dst = append(dst, c, 0)
			i++
			continue
		}
		r, w := decodeRune(s[i:])
		if r > 0xFFFF {
			hi, lo := utf16.EncodeRune(r)
			dst = append(dst, byte(hi), byte(hi>>8), byte(lo), byte(lo>>8))
		} else {
			dst = append(dst, byte(r), byte(r>>8))
		}
		i += w
	}
	return dst
}

// DecodeUTF16 reads little-endian UTF-16. An odd last byte is ignored.
func DecodeUTF16(b []byte) string {
	out := make([]byte, 0, len(b)/2+8)
	for i := 0; i+1 < len(b); i += 2 {
		u := rune(b[i]) | rune(b[i+1])<<8
		if u < 0x80 {
			out = append(out, byte(u))
			continue
		}
		if u >= 0xD800 && u < 0xDC00 && i+3 < len(b) {
			lo := rune(b[i+2]) | rune(b[i+3])<<8
			if lo >= 0xDC00 && lo < 0xE000 {
				out = utf8.AppendRune(out, utf16.DecodeRune(u, lo))
				i += 2
				continue
			}
		}
		out = appendRune(out, u)
	}
	return string(out)
}

// JoinSurrogates makes one character of a high surrogate at the end of a followed by
// a low one at the start of b, so that concatenation of two WTF-8 strings stays WTF-8.
func JoinSurrogates(a, b string) string {
	if len(a) >= 3 && len(b) >= 3 {
		hi, n := decodeRune(a[len(a)-3:])
		lo, m := decodeRune(b)
		if n == 3 && m == 3 && hi >= 0xD800 && hi < 0xDC00 && lo >= 0xDC00 && lo < 0xE000 {
			return a[:len(a)-3] + string(utf16.DecodeRune(hi, lo)) + b[3:]
		}
	}
	return a + b
}

// TrimSpaces removes trailing spaces (U+0020 only).
func TrimSpaces(s string) string {
	n := len(s)
	for n > 0 && s[n-1] == ' ' {
		n--
	}
	return s[:n]
}
