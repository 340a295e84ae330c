package tsql

// tokenKind is the lexical class of a token.
type tokenKind uint8

const (
	tokEOF      tokenKind = iota
	tokIdent              // bare word; upper is its upper-case form; may be a keyword
	tokBracket            // [name]
	tokDouble             // "text": identifier or string by QUOTED_IDENTIFIER
	tokString             // '...'
	tokNString            // N'...'
	tokVariable           // @name
	tokGlobal             // @@name
	tokInt                // 123
	tokDecimal            // 1.5
	tokFloat              // 1e5
	tokMoney              // $1.5
	tokBinary             // 0x1F
	tokDollar             // $action
	tokOp                 // operator or punctuation
	tokError              // text that is no token; the lexer's err says why
)

// token is one token. text is the value (unquoted for strings and quoted names); start
// and end are byte offsets of the source.
type token struct {
	kind  tokenKind
	text  string
	upper string // bare words only
	start int
	end   int
	line  int
}
