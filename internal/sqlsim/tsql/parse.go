package tsql

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// Options are the settings that change how text is read.
type Options struct {
	// QuotedIdentifier makes "x" an identifier; otherwise it is a string.
	QuotedIdentifier bool
}

// Parse reads one batch. The error is a *value.Error with SQL Server's number and the
// line; a batch with an error has no statements that may run.
func Parse(text string, opts Options) (b *Batch, err error) {
	p := newParser(text, opts)
	defer p.recover(&err)
	b = &Batch{Text: text, QuotedIdentifier: opts.QuotedIdentifier}
	b.Statements = p.batch()
	b.Variables = p.variables
	return b, nil
}

// ParseExpression reads one scalar expression, such as a stored default.
func ParseExpression(text string, opts Options) (e Expr, err error) {
	p := newParser(text, opts)
	defer p.recover(&err)
	e = p.expr()
	p.expectEOF()
	return e, nil
}

// ParseCondition reads one predicate, such as a stored CHECK.
func ParseCondition(text string, opts Options) (e Expr, err error) {
	p := newParser(text, opts)
	defer p.recover(&err)
	e = p.condition()
	p.expectEOF()
	return e, nil
}

// ParseDataType reads a data type, as in sp_executesql's parameter list.
func ParseDataType(text string) (d *DataType, err error) {
	p := newParser(text, Options{QuotedIdentifier: true})
	defer p.recover(&err)
	d = p.dataType()
	p.expectEOF()
	return d, nil
}

// ParseParams reads the parameter list of sp_executesql: "@a int, @b nvarchar(10) OUTPUT".
func ParseParams(text string) (params []*ParamDef, err error) {
	p := newParser(text, Options{QuotedIdentifier: true})
	defer p.recover(&err)
	if p.tok.kind != tokEOF {
		params = p.params()
	}
	p.expectEOF()
	return params, nil
}

// ParseName reads a one- to four-part name, as OBJECT_ID's argument holds.
func ParseName(text string) (n ObjectName, err error) {
	p := newParser(text, Options{QuotedIdentifier: true})
	p.anyWord = true
	defer p.recover(&err)
	n = p.objectName()
	p.expectEOF()
	return n, nil
}

// UnsupportedNumber is the error of a construct that SQL Server has and sqlsim has not.
const UnsupportedNumber = 40510

// Unsupported is the error for a construct that sqlsim does not support.
func Unsupported(line int, format string, args ...any) *value.Error {
	e := value.NewError(UnsupportedNumber, 16, 1, "sqlsim does not support %s.", fmt.Sprintf(format, args...))
	e.Line = int32(line)
	return e
}

// maxDepth bounds nesting, so that hostile text gets error 191 and not a stack overflow.
const maxDepth = 400

// maxChain bounds the length of one chain of operators such as a + b + c.
const maxChain = 20000

// parser is a recursive-descent parser. It reports errors by panicking with a
// *value.Error, which recover turns into a result.
type parser struct {
	src    string
	toks   []token
	i      int
	tok    token // toks[i]
	lexErr *value.Error
	qi     bool // QUOTED_IDENTIFIER
	depth  int

	// terminated is false when the statement before the present one lacks a semicolon
	// that THROW and WITH would need.
	terminated bool
	nested     int  // inside IF, WHILE, BEGIN
	inModule   bool // inside the body of a module
	anyWord    bool // reserved words are names too
	loops      int  // WHILE loops around this statement
	cases      int  // CASE expressions around this one
	variables  []VariableUse
}

func newParser(text string, opts Options) *parser {
	toks, err := tokenize(text)
	p := &parser{src: text, toks: toks, lexErr: err, qi: opts.QuotedIdentifier, terminated: true}
	p.tok = p.toks[0]
	return p
}

func (p *parser) recover(err *error) {
	switch r := recover().(type) {
	case nil:
	case *value.Error:
		*err = r
	default:
		panic(r)
	}
}

// --- moving ---

func (p *parser) next() token {
	t := p.tok
	if t.kind == tokError {
		panic(p.lexErr)
	}
	if p.i < len(p.toks)-1 {
		p.i++
		p.tok = p.toks[p.i]
	}
	return t
}

// peek looks n tokens ahead; 0 is the present one.
func (p *parser) peek(n int) token {
	if p.i+n < len(p.toks) {
		return p.toks[p.i+n]
	}
	return p.toks[len(p.toks)-1]
}

func (p *parser) pos() Pos { return Pos{Line: p.tok.line, Offset: p.tok.start} }

func posOf(t token) Pos { return Pos{Line: t.line, Offset: t.start} }

// endOffset is where the last consumed token ended.
func (p *parser) endOffset() int {
	if p.i == 0 {
		return 0
	}
	return p.toks[p.i-1].end
}

// enter counts a level of nesting; use as defer p.enter()().
func (p *parser) enter() func() {
	p.depth++
	if p.depth > maxDepth {
		p.tooDeep()
	}
	return p.leave
}

func (p *parser) leave() { p.depth-- }

func (p *parser) tooDeep() {
	p.fail(191, 15, 1, "Some part of your SQL statement is nested too deeply. Rewrite the query or break it up into smaller queries.")
}

// --- testing and taking tokens ---

func (t token) isKw(w string) bool { return t.kind == tokIdent && t.upper == w }

func (t token) isOp(op string) bool { return t.kind == tokOp && t.text == op }

func (p *parser) isKw(words ...string) bool {
	if p.tok.kind != tokIdent {
		return false
	}
	for _, w := range words {
		if p.tok.upper == w {
			return true
		}
	}
	return false
}

// isKws tests for a sequence of words.
func (p *parser) isKws(words ...string) bool {
	for n, w := range words {
		if !p.peek(n).isKw(w) {
			return false
		}
	}
	return true
}

func (p *parser) isOp(op string) bool { return p.tok.isOp(op) }

func (p *parser) acceptKw(words ...string) bool {
	if !p.isKws(words...) {
		return false
	}
	for range words {
		p.next()
	}
	return true
}

func (p *parser) acceptOp(op string) bool {
	if p.isOp(op) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expectKw(words ...string) {
	for _, w := range words {
		if !p.tok.isKw(w) {
			p.syntax()
		}
		p.next()
	}
}

func (p *parser) expectOp(op string) {
	if !p.isOp(op) {
		p.syntax()
	}
	p.next()
}

func (p *parser) expectEOF() {
	for p.acceptOp(";") {
	}
	if p.tok.kind != tokEOF {
		p.syntax()
	}
}

// --- errors ---

func (p *parser) fail(number int32, class, state uint8, format string, args ...any) {
	p.failAt(p.tok.line, number, class, state, format, args...)
}

func (p *parser) failAt(line int, number int32, class, state uint8, format string, args ...any) {
	e := value.NewError(number, class, state, format, args...)
	e.Line = int32(line)
	panic(e)
}

func (p *parser) refuse(format string, args ...any) {
	panic(Unsupported(p.tok.line, format, args...))
}

// syntax reports that the present token is not what the grammar wants.
func (p *parser) syntax() {
	t := p.tok
	switch {
	case t.kind == tokError:
		panic(p.lexErr)
	case t.kind == tokEOF:
		if p.i == 0 {
			p.fail(102, 15, 1, "Incorrect syntax near ''.")
		}
		last := p.toks[p.i-1]
		p.failAt(last.line, 102, 15, 1, "Incorrect syntax near '%s'.", near(last))
	case t.isKw("WITH"):
		p.fail(319, 15, 1, "Incorrect syntax near the keyword '%s'. If this statement is a common table expression, an xmlnamespaces clause or a change tracking context clause, the previous statement must be terminated with a semicolon.", t.text)
	case t.kind == tokIdent && reserved[t.upper]:
		p.fail(156, 15, 1, "Incorrect syntax near the keyword '%s'.", t.text)
	default:
		p.fail(102, 15, 1, "Incorrect syntax near '%s'.", near(t))
	}
}

// near is how a message quotes a token; long ones are cut.
func near(t token) string {
	const limit = 128
	text := t.text
	if t.kind == tokMoney {
		text = "$" + text
	}
	if t.kind == tokBinary {
		text = "0x" + text
	}
	if r := []rune(text); len(r) > limit {
		text = string(r[:limit])
	}
	return text
}

// --- names ---

// isName reports whether t can be an identifier.
func (p *parser) isName(t token) bool {
	switch t.kind {
	case tokBracket:
		return true
	case tokDouble:
		return p.qi
	case tokIdent:
		return p.anyWord || !reserved[t.upper]
	}
	return false
}

// maxIdent is the longest identifier.
const maxIdent = 128

// ident takes an identifier.
func (p *parser) ident() string {
	if !p.isName(p.tok) {
		p.syntax()
	}
	return p.takeName()
}

func (p *parser) takeName() string {
	t := p.tok
	if len(t.text) > maxIdent && utf16Len(t.text) > maxIdent {
		p.fail(103, 15, 4, "The identifier that starts with '%s' is too long. Maximum length is 128.", firstRunes(t.text, maxIdent))
	}
	if t.text == "" && t.kind != tokIdent {
		p.fail(1038, 15, 4, "An object or column name is missing or empty. For SELECT INTO statements, verify each column has a name. For other statements, look for empty alias names. Aliases defined as \"\" or [] are not allowed. Change the alias to a valid name.")
	}
	p.next()
	return t.text
}

func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

func firstRunes(s string, n int) string {
	r := []rune(s)
	if len(r) > n {
		r = r[:n]
	}
	return string(r)
}

// objectName takes a name of up to four parts; inner parts may be empty (db..t).
func (p *parser) objectName() ObjectName {
	n := ObjectName{Pos: p.pos()}
	parts := []string{p.ident()}
	for p.isOp(".") {
		p.next()
		if len(parts) == 4 {
			p.fail(117, 15, 1, "The object name '%s' contains more than the maximum number of prefixes. The maximum is 3.", p.src[n.Offset:p.endOffset()])
		}
		if p.isOp(".") {
			parts = append(parts, "")
			continue
		}
		parts = append(parts, p.ident())
	}
	if parts[len(parts)-1] == "" {
		p.syntax()
	}
	assignParts(&n, parts)
	return n
}

func assignParts(n *ObjectName, parts []string) {
	dst := []*string{&n.Name, &n.Schema, &n.Database, &n.Server}
	for i := range parts {
		*dst[i] = parts[len(parts)-1-i]
	}
}

// identList takes (a, b, c).
func (p *parser) identList() []string {
	p.expectOp("(")
	var list []string
	for {
		list = append(list, p.ident())
		if !p.acceptOp(",") {
			break
		}
	}
	p.expectOp(")")
	return list
}

// uses notes a variable at the present token.
func (p *parser) uses(table bool) {
	p.variables = append(p.variables, VariableUse{Name: p.tok.text, Line: p.tok.line, Table: table})
}

// declares notes a declaration.
func (p *parser) declares(name string, line int) {
	p.variables = append(p.variables, VariableUse{Name: name, Line: line, Declares: true})
}

func (p *parser) variableName() string {
	if p.tok.kind != tokVariable {
		p.syntax()
	}
	return p.next().text
}

// stringText takes a string constant.
func (p *parser) stringText() string {
	if !p.isString(p.tok) {
		p.syntax()
	}
	return p.next().text
}

func (p *parser) isString(t token) bool {
	return t.kind == tokString || t.kind == tokNString || t.kind == tokDouble && !p.qi
}

// integer takes an integer constant with an optional sign.
func (p *parser) integer() int64 {
	neg := false
	if p.isOp("-") || p.isOp("+") {
		neg = p.next().text == "-"
	}
	if p.tok.kind != tokInt {
		p.syntax()
	}
	text := p.tok.text
	if neg {
		text = "-" + text
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		p.fail(1080, 15, 1, "The integer value %s is out of range.", text)
	}
	p.next()
	return n
}

func (p *parser) smallInteger() int {
	n := p.integer()
	if n < -1<<31 || n > 1<<31-1 {
		p.fail(1080, 15, 1, "The integer value %d is out of range.", n)
	}
	return int(n)
}

// dataType takes a data type.
func (p *parser) dataType() *DataType {
	d := &DataType{Pos: p.pos()}
	switch {
	case p.acceptKw("DOUBLE", "PRECISION"):
		d.Name, d.Double = "float", true
		d.Args = []int{53}
		return d
	case p.isKw("NATIONAL"):
		p.next()
		if !p.isKw("CHAR", "CHARACTER", "TEXT") {
			p.syntax()
		}
		if p.next().upper == "TEXT" {
			d.Name = "ntext"
			return d
		}
		d.Name = "nchar"
		if p.acceptKw("VARYING") {
			d.Name, d.Varying = "nvarchar", true
		}
	default:
		if p.isKw("CURSOR") {
			p.next()
			d.Name = "cursor"
			return d
		}
		n := p.objectName()
		d.Database, d.Schema, d.Name = n.Database, n.Schema, n.Name
		if n.Schema == "" && p.isKw("VARYING") {
			switch strings.ToLower(n.Name) {
			case "char", "character":
				p.next()
				d.Name, d.Varying = "varchar", true
			case "binary":
				p.next()
				d.Name, d.Varying = "varbinary", true
			case "nchar":
				p.next()
				d.Name, d.Varying = "nvarchar", true
			}
		}
	}
	if !p.isOp("(") {
		return d
	}
	p.next()
	switch {
	case p.acceptKw("MAX"):
		d.Max = true
	default:
		for {
			if p.tok.kind != tokInt {
				if p.isName(p.tok) && strings.EqualFold(d.Name, "xml") {
					p.refuse("typed xml")
				}
				p.syntax()
			}
			d.Args = append(d.Args, p.smallInteger())
			if !p.acceptOp(",") {
				break
			}
		}
	}
	p.expectOp(")")
	return d
}
