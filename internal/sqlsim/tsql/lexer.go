package tsql

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// lexer cuts a batch into tokens. It never fails: what it cannot read becomes a tokError
// with err set, so that a syntax error before that place is the one reported.
type lexer struct {
	src  string
	pos  int
	line int
	toks []token
	err  *value.Error // of the first tokError
}

// tokenize reads the whole batch. The last token is tokEOF or tokError.
func tokenize(src string) ([]token, *value.Error) {
	lx := &lexer{src: src, line: 1, toks: make([]token, 0, len(src)/5+2)}
	for lx.next() {
	}
	return lx.toks, lx.err
}

func (lx *lexer) emit(kind tokenKind, text string, start, line int) {
	lx.toks = append(lx.toks, token{kind: kind, text: text, start: start, end: lx.pos, line: line})
}

func (lx *lexer) fail(start, line int, err *value.Error) bool {
	err.Line = int32(line)
	lx.err = err
	lx.pos = len(lx.src)
	lx.emit(tokError, "", start, line)
	return false
}

// next reads one token and reports whether more may follow.
func (lx *lexer) next() bool {
	if !lx.skipSpace() {
		return false
	}
	start, line := lx.pos, lx.line
	if start >= len(lx.src) {
		lx.emit(tokEOF, "", start, line)
		return false
	}
	c := lx.src[start]
	switch {
	case c == '\'':
		return lx.quoted(tokString, '\'', start, line)
	case (c == 'N' || c == 'n') && lx.at(1) == '\'':
		lx.pos++
		return lx.quoted(tokNString, '\'', start, line)
	case c == '"':
		return lx.quoted(tokDouble, '"', start, line)
	case c == '[':
		return lx.quoted(tokBracket, ']', start, line)
	case c == '@':
		return lx.variable(start, line)
	case c == '0' && (lx.at(1) == 'x' || lx.at(1) == 'X'):
		lx.pos += 2
		for lx.pos < len(lx.src) && isHex(lx.src[lx.pos]) {
			lx.pos++
		}
		// A backslash before a line break continues a binary constant.
		text := lx.src[start+2 : lx.pos]
		lx.emit(tokBinary, text, start, line)
		return true
	case isDigit(c), c == '.' && isDigit(lx.at(1)):
		lx.number(start, line)
		return true
	case c == '$':
		return lx.dollar(start, line)
	}
	r, size := utf8.DecodeRuneInString(lx.src[start:])
	if isIdentStart(r) {
		lx.pos += size
		lx.identTail()
		text := lx.src[start:lx.pos]
		lx.emit(tokIdent, text, start, line)
		lx.toks[len(lx.toks)-1].upper = strings.ToUpper(text)
		return true
	}
	return lx.operator(c, start, line)
}

func (lx *lexer) at(n int) byte {
	if lx.pos+n < len(lx.src) {
		return lx.src[lx.pos+n]
	}
	return 0
}

// skipSpace skips white space and comments; false when a comment does not end.
func (lx *lexer) skipSpace() bool {
	for lx.pos < len(lx.src) {
		c := lx.src[lx.pos]
		switch {
		case c == '\n':
			lx.line++
			lx.pos++
		case c <= ' ' || c == 0x7F:
			lx.pos++
		case c == '-' && lx.at(1) == '-':
			for lx.pos < len(lx.src) && lx.src[lx.pos] != '\n' {
				lx.pos++
			}
		case c == '/' && lx.at(1) == '*':
			if !lx.blockComment() {
				return false
			}
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(lx.src[lx.pos:])
			if !unicode.IsSpace(r) && r != '\uFEFF' && r != '\u200B' {
				return true
			}
			lx.pos += size
		default:
			return true
		}
	}
	return true
}

// blockComment skips /* ... */, which nests.
func (lx *lexer) blockComment() bool {
	start, line := lx.pos, lx.line
	depth := 0
	for lx.pos < len(lx.src) {
		switch {
		case lx.src[lx.pos] == '/' && lx.at(1) == '*':
			depth++
			lx.pos += 2
		case lx.src[lx.pos] == '*' && lx.at(1) == '/':
			depth--
			lx.pos += 2
			if depth == 0 {
				return true
			}
		default:
			if lx.src[lx.pos] == '\n' {
				lx.line++
			}
			lx.pos++
		}
	}
	return lx.fail(start, line, value.NewError(113, 15, 1, "Missing end comment mark '*/'."))
}

// quoted reads up to an unpaired closing quote; a doubled one stands for itself.
func (lx *lexer) quoted(kind tokenKind, quote byte, start, line int) bool {
	lx.pos++
	from := lx.pos
	var doubled strings.Builder
	has := false
	for {
		i := strings.IndexByte(lx.src[lx.pos:], quote)
		if i < 0 {
			text := lx.src[from:]
			return lx.fail(start, line, value.NewError(105, 15, 1,
				"Unclosed quotation mark after the character string '%s'.", text))
		}
		lx.line += strings.Count(lx.src[lx.pos:lx.pos+i], "\n")
		lx.pos += i + 1
		if lx.pos < len(lx.src) && lx.src[lx.pos] == quote {
			doubled.WriteString(lx.src[from:lx.pos])
			has = true
			lx.pos++
			from = lx.pos
			continue
		}
		break
	}
	text := lx.src[from : lx.pos-1]
	if has {
		doubled.WriteString(text)
		text = doubled.String()
	}
	if kind == tokString || kind == tokNString {
		text = joinContinuedLines(text)
	}
	lx.emit(kind, text, start, line)
	return true
}

// joinContinuedLines removes a backslash that is followed by a line break, which
// continues a string constant on the next line.
func joinContinuedLines(s string) string {
	if !strings.Contains(s, "\\\n") && !strings.Contains(s, "\\\r\n") {
		return s
	}
	s = strings.ReplaceAll(s, "\\\r\n", "")
	return strings.ReplaceAll(s, "\\\n", "")
}

func (lx *lexer) variable(start, line int) bool {
	lx.pos++
	kind := tokVariable
	if lx.at(0) == '@' {
		lx.pos++
		kind = tokGlobal
	}
	lx.identTail()
	text := lx.src[start:lx.pos]
	lx.emit(kind, text, start, line)
	if kind == tokGlobal {
		lx.toks[len(lx.toks)-1].upper = strings.ToUpper(text)
	}
	return true
}

func (lx *lexer) identTail() {
	for lx.pos < len(lx.src) {
		r, size := utf8.DecodeRuneInString(lx.src[lx.pos:])
		if !isIdentPart(r) {
			return
		}
		lx.pos += size
	}
}

func (lx *lexer) number(start, line int) {
	kind := tokInt
	for isDigit(lx.at(0)) {
		lx.pos++
	}
	if lx.at(0) == '.' {
		kind = tokDecimal
		lx.pos++
		for isDigit(lx.at(0)) {
			lx.pos++
		}
	}
	if c := lx.at(0); c == 'e' || c == 'E' {
		n := 1
		if s := lx.at(1); s == '+' || s == '-' {
			n = 2
		}
		// "1e" and "1e+" are floats too: a missing exponent is zero.
		lx.pos += n
		kind = tokFloat
		for isDigit(lx.at(0)) {
			lx.pos++
		}
	}
	lx.emit(kind, lx.src[start:lx.pos], start, line)
}

// dollar reads money ($1.50, $ alone is zero) and pseudo columns ($action).
func (lx *lexer) dollar(start, line int) bool {
	lx.pos++
	r, _ := utf8.DecodeRuneInString(lx.src[lx.pos:])
	if isIdentStart(r) && lx.pos < len(lx.src) {
		lx.identTail()
		text := lx.src[start:lx.pos]
		lx.emit(tokDollar, text, start, line)
		lx.toks[len(lx.toks)-1].upper = strings.ToUpper(text)
		return true
	}
	from := lx.pos
	for isDigit(lx.at(0)) || lx.at(0) == ',' && isDigit(lx.at(1)) && lx.pos > from {
		lx.pos++
	}
	if lx.at(0) == '.' {
		lx.pos++
		for isDigit(lx.at(0)) {
			lx.pos++
		}
	}
	lx.emit(tokMoney, strings.ReplaceAll(lx.src[from:lx.pos], ",", ""), start, line)
	return true
}

var twoCharOps = []string{"<>", "<=", ">=", "!=", "!<", "!>", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "::", "||", "<<", ">>"}

func (lx *lexer) operator(c byte, start, line int) bool {
	rest := lx.src[start:]
	for _, op := range twoCharOps {
		if strings.HasPrefix(rest, op) {
			lx.pos += 2
			lx.emit(tokOp, op, start, line)
			return true
		}
	}
	if strings.IndexByte("+-*/%&|^~=<>!(),.;:{}", c) >= 0 {
		lx.pos++
		lx.emit(tokOp, rest[:1], start, line)
		return true
	}
	_, size := utf8.DecodeRuneInString(rest)
	return lx.fail(start, line, value.NewError(102, 15, 1, "Incorrect syntax near '%s'.", strings.ToValidUTF8(rest[:size], "\uFFFD")))
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func isIdentStart(r rune) bool {
	return r == '_' || r == '#' || r < utf8.RuneSelf && (r|0x20 >= 'a' && r|0x20 <= 'z') ||
		r >= utf8.RuneSelf && r != utf8.RuneError && unicode.IsLetter(r)
}

func isIdentPart(r rune) bool {
	return r == '_' || r == '#' || r == '@' || r == '$' ||
		r < utf8.RuneSelf && (r|0x20 >= 'a' && r|0x20 <= 'z' || r >= '0' && r <= '9') ||
		r >= utf8.RuneSelf && r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Mc, r))
}
