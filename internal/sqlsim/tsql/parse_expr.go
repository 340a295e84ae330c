package tsql

import "strings"

// --- conditions ---

// condition takes a predicate.
func (p *parser) condition() Expr {
	return p.orExpr(false)
}

// orExpr takes OR-ed conditions. With scalarOK a plain value may come out, which is how
// the contents of parentheses are read before it is known what they are.
func (p *parser) orExpr(scalarOK bool) Expr {
	defer p.enter()()
	e := p.andExpr(scalarOK)
	for n := 0; p.isKw("OR"); n++ {
		p.chain(n)
		p.mustBeCondition(e)
		at := posOf(p.next())
		e = &Logical{at, "OR", e, p.andExpr(false)}
	}
	return e
}

func (p *parser) andExpr(scalarOK bool) Expr {
	e := p.notExpr(scalarOK)
	for n := 0; p.isKw("AND"); n++ {
		p.chain(n)
		p.mustBeCondition(e)
		at := posOf(p.next())
		e = &Logical{at, "AND", e, p.notExpr(false)}
	}
	return e
}

func (p *parser) chain(n int) {
	if n > maxChain {
		p.tooDeep()
	}
}

func (p *parser) mustBeCondition(e Expr) {
	if !IsPredicate(e) {
		near := p.tok
		if near.kind == tokEOF && p.i > 0 {
			near = p.toks[p.i-1]
		}
		p.failAt(near.line, 4145, 15, 1, "An expression of non-boolean type specified in a context where a condition is expected, near '%s'.", near.text)
	}
}

func (p *parser) notExpr(scalarOK bool) Expr {
	if p.isKw("NOT") {
		defer p.enter()()
		at := posOf(p.next())
		return &Not{at, p.notExpr(false)}
	}
	return p.predicate(scalarOK)
}

var comparisons = map[string]string{
	"=": "=", "<>": "<>", "!=": "<>", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "!<": ">=", "!>": "<=",
}

func (p *parser) predicate(scalarOK bool) Expr {
	at := p.pos()
	switch {
	case p.isKw("EXISTS"):
		p.next()
		p.expectOp("(")
		q := p.query()
		p.expectOp(")")
		return &Exists{at, q}
	case p.isKw("UPDATE") && p.peek(1).isOp("("):
		p.next()
		p.next()
		c := p.ident()
		p.expectOp(")")
		return &UpdateCheck{at, c}
	case p.isKw("CONTAINS", "FREETEXT") && p.peek(1).isOp("("):
		p.refuse("full-text search (%s)", p.tok.upper)
	}
	left := p.additive(true)
	if IsPredicate(left) {
		return left
	}
	if e := p.predicateTail(left); e != nil {
		return e
	}
	if !scalarOK {
		p.mustBeCondition(left)
	}
	return left
}

// predicateTail takes what makes a predicate of left; nil when nothing does.
func (p *parser) predicateTail(left Expr) Expr {
	at := p.pos()
	if p.tok.kind == tokOp {
		op, ok := comparisons[p.tok.text]
		if !ok {
			return nil
		}
		p.next()
		// "= >" and such with blanks between are operators too.
		if p.tok.kind == tokOp && (op == "<" && (p.isOp("=") || p.isOp(">")) || op == ">" && p.isOp("=")) {
			op += p.next().text
		}
		if p.isKw("ALL", "ANY", "SOME") {
			all := p.next().upper == "ALL"
			p.expectOp("(")
			q := p.query()
			p.expectOp(")")
			return &Quantified{at, op, all, left, q}
		}
		return &Compare{at, op, left, p.additive(false)}
	}
	if p.isOp("!") {
		return nil
	}
	if p.isKw("IS") {
		p.next()
		not := p.acceptKw("NOT")
		if p.acceptKw("NULL") {
			return &IsNull{at, left, not}
		}
		if p.isKws("DISTINCT", "FROM") {
			p.next()
			p.next()
			return &IsDistinct{at, left, p.additive(false), not}
		}
		p.syntax()
	}
	not := false
	if p.isKw("NOT") {
		if n := p.peek(1); !n.isKw("IN") && !n.isKw("LIKE") && !n.isKw("BETWEEN") {
			return nil
		}
		p.next()
		not = true
	}
	switch {
	case p.acceptKw("BETWEEN"):
		lo := p.additive(false)
		p.expectKw("AND")
		return &Between{at, left, lo, p.additive(false), not}
	case p.acceptKw("LIKE"):
		l := &Like{Pos: at, X: left, Pattern: p.additive(false), Not: not}
		switch {
		case p.acceptKw("ESCAPE"):
			l.Escape = p.additive(false)
		case p.isOp("{") && p.peek(1).isKw("ESCAPE"):
			p.next()
			p.next()
			l.Escape = p.additive(false)
			p.expectOp("}")
		}
		return l
	case p.acceptKw("IN"):
		return p.inTail(at, left, not)
	}
	return nil
}

func (p *parser) inTail(at Pos, left Expr, not bool) Expr {
	p.expectOp("(")
	in := &In{Pos: at, X: left, Not: not}
	if p.atQuery() {
		in.Query = p.query()
	} else {
		in.List = p.exprList()
	}
	p.expectOp(")")
	return in
}

// --- values ---

// expr takes a scalar expression.
func (p *parser) expr() Expr {
	defer p.enter()()
	return p.additive(false)
}

func (p *parser) exprList() []Expr {
	var list []Expr
	for {
		list = append(list, p.expr())
		if !p.acceptOp(",") {
			return list
		}
	}
}

// additive takes + - & | ^ || << >> chains. With condOK the first operand may turn out to
// be a parenthesized condition, which then is returned alone.
func (p *parser) additive(condOK bool) Expr {
	e := p.multiplicative(condOK)
	for n := 0; ; n++ {
		if p.tok.kind != tokOp {
			return e
		}
		switch p.tok.text {
		case "+", "-", "&", "|", "^", "||", "<<", ">>":
		default:
			return e
		}
		p.chain(n)
		p.mustBeValue(e)
		t := p.next()
		e = &Binary{posOf(t), t.text, e, p.multiplicative(false)}
	}
}

func (p *parser) multiplicative(condOK bool) Expr {
	e := p.unary(condOK)
	for n := 0; p.isOp("*") || p.isOp("/") || p.isOp("%"); n++ {
		p.chain(n)
		p.mustBeValue(e)
		t := p.next()
		e = &Binary{posOf(t), t.text, e, p.unary(false)}
	}
	return e
}

func (p *parser) mustBeValue(e Expr) {
	if IsPredicate(e) {
		p.syntax()
	}
}

// unary takes signs and ~. A sign binds less tightly than * / %, so its operand is a
// whole product: -100.0/-100.0*10 is -100.0/(-(100.0*10)).
func (p *parser) unary(condOK bool) Expr {
	if p.isOp("-") || p.isOp("+") {
		defer p.enter()()
		t := p.next()
		return &Unary{posOf(t), t.text, p.multiplicative(false)}
	}
	if p.isOp("~") {
		defer p.enter()()
		t := p.next()
		var x Expr
		if p.isOp("~") || p.isOp("-") || p.isOp("+") {
			x = p.unary(false)
		} else {
			x = p.postfix(false)
		}
		return &Unary{posOf(t), "~", x}
	}
	return p.postfix(condOK)
}

func (p *parser) postfix(condOK bool) Expr {
	e := p.primary(condOK)
	for n := 0; ; n++ {
		p.chain(n)
		switch {
		case p.isKw("COLLATE"):
			p.mustBeValue(e)
			at := posOf(p.next())
			e = &Collate{at, e, p.ident()}
		case p.isKws("AT", "TIME", "ZONE"):
			p.mustBeValue(e)
			at := posOf(p.next())
			p.next()
			p.next()
			e = &AtTimeZone{at, e, p.primary(false)}
		case p.isOp("."):
			if _, sub := Unparen(e).(*Subquery); sub || p.tok.kind == tokOp {
				p.methodCall(e)
			}
			return e
		default:
			return e
		}
	}
}

// methodCall refuses x.method(...) of xml, hierarchyid and spatial types.
func (p *parser) methodCall(e Expr) {
	switch e.(type) {
	case *Variable, *FuncCall, *Paren, *Subquery, *Cast, *Convert:
		if p.isName(p.peek(1)) && p.peek(2).isOp("(") {
			p.refuse("the method call .%s()", p.peek(1).text)
		}
	}
	p.syntax()
}

func (p *parser) primary(condOK bool) Expr {
	defer p.enter()()
	t := p.tok
	at := p.pos()
	switch t.kind {
	case tokInt:
		p.next()
		return &Literal{at, LitInt, t.text}
	case tokDecimal:
		p.next()
		return &Literal{at, LitDecimal, t.text}
	case tokFloat:
		p.next()
		return &Literal{at, LitFloat, t.text}
	case tokMoney:
		p.next()
		text := t.text
		// A sign may stand between the currency sign and the digits: $-1.50.
		if text == "" && p.isOp("-") && (p.peek(1).kind == tokInt || p.peek(1).kind == tokDecimal) && p.tok.start == t.end {
			p.next()
			text = "-" + p.next().text
		}
		return &Literal{at, LitMoney, text}
	case tokString:
		p.next()
		return &Literal{at, LitString, t.text}
	case tokNString:
		p.next()
		return &Literal{at, LitNString, t.text}
	case tokBinary:
		p.next()
		return &Literal{at, LitBinary, t.text}
	case tokVariable:
		p.uses(false)
		p.next()
		return &Variable{at, t.text}
	case tokGlobal:
		p.next()
		return &GlobalVariable{at, t.upper}
	case tokDollar:
		p.next()
		return &ColumnRef{Pos: at, Name: t.upper, Pseudo: true}
	case tokDouble:
		if !p.qi {
			p.next()
			return &Literal{at, LitString, t.text}
		}
		return p.nameExpr()
	case tokBracket:
		return p.nameExpr()
	case tokOp:
		switch t.text {
		case "(":
			return p.parenthesized(condOK)
		case "{":
			return p.odbcEscape()
		}
		p.syntax()
	case tokIdent:
		return p.wordExpr()
	}
	p.syntax()
	return nil
}

// atQuery reports whether a query starts here, perhaps after more parentheses.
func (p *parser) atQuery() bool {
	n := 0
	for p.peek(n).isOp("(") {
		n++
	}
	t := p.peek(n)
	if !t.isKw("SELECT") && !(t.isKw("WITH") && n == 0) {
		return false
	}
	if n == 0 {
		return true
	}
	// ((SELECT 1) + 2) is not a query; look behind the matching parenthesis.
	depth, i := 0, 0
	for ; ; i++ {
		t := p.peek(i)
		if t.kind == tokEOF || t.kind == tokError {
			return false
		}
		if t.isOp("(") {
			depth++
		} else if t.isOp(")") {
			depth--
			if depth == 0 {
				break
			}
		}
	}
	t = p.peek(i + 1)
	return t.isOp(")") || t.isKw("UNION") || t.isKw("EXCEPT") || t.isKw("INTERSECT") || t.isKw("ORDER") || t.isKw("FOR")
}

func (p *parser) parenthesized(condOK bool) Expr {
	at := posOf(p.next())
	if p.atQuery() {
		q := p.query()
		p.expectOp(")")
		return &Subquery{at, q}
	}
	var x Expr
	if condOK {
		x = p.orExpr(true)
	} else {
		x = p.expr()
	}
	if p.isOp(",") && condOK {
		p.fail(4145, 15, 1, "An expression of non-boolean type specified in a context where a condition is expected, near ','.")
	}
	p.expectOp(")")
	return &Paren{at, x}
}

// nameExpr takes a column reference or a call of a function with a quoted or
// qualified name.
func (p *parser) nameExpr() Expr {
	at := p.pos()
	var parts []string
	for {
		if len(parts) > 0 && p.isOp("*") {
			p.syntax()
		}
		if len(parts) > 0 && p.tok.kind == tokDollar {
			t := p.next()
			c := &ColumnRef{Pos: at, Name: t.upper, Pseudo: true, Table: parts[len(parts)-1]}
			return c
		}
		if len(parts) > 0 && p.isOp(".") { // db..t.c
			parts = append(parts, "")
		} else {
			parts = append(parts, p.ident())
		}
		if !p.isOp(".") {
			break
		}
		if len(parts) == 4 {
			break
		}
		p.next()
	}
	if p.isOp("::") {
		p.refuse("the static method call %s::", strings.Join(parts, "."))
	}
	if p.isOp("(") {
		n := ObjectName{Pos: at}
		assignParts(&n, parts)
		return p.call(n)
	}
	if p.isOp(".") {
		p.fail(4104, 16, 1, "The multi-part identifier \"%s\" could not be bound.", p.src[at.Offset:p.tok.end])
	}
	c := &ColumnRef{Pos: at}
	for i, dst := range []*string{&c.Name, &c.Table, &c.Schema, &c.Database} {
		if i < len(parts) {
			*dst = parts[len(parts)-1-i]
		}
	}
	return c
}

// wordExpr takes an expression that starts with a bare word.
func (p *parser) wordExpr() Expr {
	t := p.tok
	at := p.pos()
	call := p.peek(1).isOp("(")
	switch t.upper {
	case "NULL":
		p.next()
		return &Literal{at, LitNull, ""}
	case "DEFAULT":
		p.next()
		return &DefaultValue{at}
	case "CASE":
		return p.caseExpr()
	case "CAST", "TRY_CAST":
		if call {
			return p.cast()
		}
	case "CONVERT", "TRY_CONVERT":
		return p.convert()
	case "PARSE", "TRY_PARSE":
		if call {
			return p.parseFunc()
		}
	case "NEXT":
		if p.peek(1).isKw("VALUE") && p.peek(2).isKw("FOR") {
			return p.nextValue()
		}
	case "CURRENT_TIMESTAMP", "CURRENT_USER", "SESSION_USER", "SYSTEM_USER", "USER", "CURRENT_DATE":
		p.next()
		return &FuncCall{Pos: at, Name: ObjectName{Pos: at, Name: t.text}, NoParens: true}
	case "LEFT", "RIGHT", "COALESCE", "NULLIF", "IDENTITY", "SCHEMA_NAME", "OPENXML", "DATABASE":
		if call {
			p.next()
			return p.call(ObjectName{Pos: at, Name: t.text})
		}
	case "IDENTITYCOL":
		p.next()
		return &ColumnRef{Pos: at, Name: "$IDENTITY", Pseudo: true}
	case "ROWGUIDCOL":
		p.next()
		return &ColumnRef{Pos: at, Name: "$ROWGUID", Pseudo: true}
	case "JSON_OBJECT":
		if call {
			return p.jsonObject()
		}
	case "JSON_ARRAY":
		if call {
			return p.jsonArray()
		}
	case "EXISTS":
		p.syntax()
	}
	return p.nameExpr()
}

func (p *parser) caseExpr() Expr {
	if p.cases++; p.cases > 10 {
		p.fail(125, 15, 4, "Case expressions may only be nested to level 10.")
	}
	defer func() { p.cases-- }()
	c := &Case{Pos: posOf(p.next())}
	if !p.isKw("WHEN") {
		c.Operand = p.expr()
	}
	for p.acceptKw("WHEN") {
		var w When
		if c.Operand != nil {
			w.Cond = p.expr()
		} else {
			w.Cond = p.condition()
		}
		p.expectKw("THEN")
		w.Then = p.expr()
		c.Whens = append(c.Whens, w)
	}
	if len(c.Whens) == 0 {
		p.syntax()
	}
	if p.acceptKw("ELSE") {
		c.Else = p.expr()
	}
	p.expectKw("END")
	return c
}

func (p *parser) cast() Expr {
	t := p.next()
	p.expectOp("(")
	c := &Cast{Pos: posOf(t), Try: t.upper == "TRY_CAST"}
	c.X = p.expr()
	p.expectKw("AS")
	c.Type = p.dataType()
	p.expectOp(")")
	return c
}

func (p *parser) convert() Expr {
	t := p.next()
	p.expectOp("(")
	c := &Convert{Pos: posOf(t), Try: t.upper == "TRY_CONVERT"}
	c.Type = p.dataType()
	p.expectOp(",")
	c.X = p.expr()
	if p.acceptOp(",") {
		c.Style = p.expr()
	}
	p.expectOp(")")
	return c
}

func (p *parser) parseFunc() Expr {
	t := p.next()
	p.expectOp("(")
	c := &ParseCall{Pos: posOf(t), Try: t.upper == "TRY_PARSE"}
	c.X = p.expr()
	p.expectKw("AS")
	c.Type = p.dataType()
	if p.acceptKw("USING") {
		c.Culture = p.expr()
	}
	p.expectOp(")")
	return c
}

func (p *parser) nextValue() Expr {
	n := &NextValue{Pos: p.pos()}
	p.expectKw("NEXT", "VALUE", "FOR")
	n.Sequence = p.objectName()
	if p.isKw("OVER") {
		n.Over = p.over()
	}
	return n
}

// call takes the arguments and tail of a function call whose name has been read.
func (p *parser) call(name ObjectName) Expr {
	f := &FuncCall{Pos: name.Pos, Name: name}
	p.expectOp("(")
	upper := strings.ToUpper(name.Name)
	builtin := name.Schema == ""
	switch {
	case p.isOp("*") && p.peek(1).isOp(")"):
		p.next()
		f.Star = true
	case p.isOp(")"):
	case builtin && upper == "IIF":
		f.Args = append(f.Args, p.condition())
		for p.acceptOp(",") {
			f.Args = append(f.Args, p.expr())
		}
	case builtin && upper == "TRIM":
		p.trimArgs(f)
	case builtin && datepartFunctions[upper]:
		if p.tok.kind != tokIdent {
			p.fail(1023, 15, 1, "Invalid parameter 1 specified for %s.", strings.ToLower(name.Name))
		}
		f.Datepart = strings.ToLower(p.next().text)
		for p.acceptOp(",") {
			f.Args = append(f.Args, p.expr())
		}
	default:
		if p.acceptKw("DISTINCT") {
			f.Distinct = true
		} else if p.isKw("ALL") {
			p.next()
		}
		f.Args = p.exprList()
		if p.isKw("ORDER") {
			p.syntax()
		}
	}
	if p.isKws("IGNORE", "NULLS") || p.isKws("RESPECT", "NULLS") {
		f.NullOption = p.next().upper + " " + p.next().upper
	}
	p.expectOp(")")
	if p.isKws("WITHIN", "GROUP") {
		p.next()
		p.next()
		p.expectOp("(")
		p.expectKw("ORDER", "BY")
		f.WithinGroup = p.orderItems()
		p.expectOp(")")
	}
	if (p.isKws("IGNORE", "NULLS") || p.isKws("RESPECT", "NULLS")) && p.peek(2).isKw("OVER") {
		f.NullOption = p.next().upper + " " + p.next().upper
	}
	if p.isKw("OVER") {
		f.Over = p.over()
	}
	return f
}

func (p *parser) trimArgs(f *FuncCall) {
	if p.isKw("LEADING", "TRAILING", "BOTH") && !p.peek(1).isOp(")") && !p.peek(1).isOp(",") && !p.peek(1).isOp(".") {
		f.TrimSpec = p.next().upper
	}
	x := p.expr()
	if p.acceptKw("FROM") {
		if f.TrimSpec == "" {
			f.TrimSpec = "BOTH"
		}
		f.Args = []Expr{p.expr(), x}
		return
	}
	if f.TrimSpec != "" {
		p.syntax()
	}
	f.Args = []Expr{x}
	for p.acceptOp(",") {
		f.Args = append(f.Args, p.expr())
	}
}

func (p *parser) over() *Window {
	w := &Window{Pos: posOf(p.next())}
	if !p.isOp("(") {
		w.Name = p.ident()
		return w
	}
	p.windowBody(w)
	return w
}

// windowBody takes ([name] [PARTITION BY ...] [ORDER BY ...] [frame]).
func (p *parser) windowBody(w *Window) {
	p.expectOp("(")
	if p.isName(p.tok) && !p.isKw("PARTITION", "ROWS", "RANGE") {
		w.Name = p.ident()
	}
	if p.isKw("PARTITION") {
		p.next()
		p.expectKw("BY")
		w.PartitionBy = p.exprList()
	}
	if p.acceptKw("ORDER") {
		p.expectKw("BY")
		w.OrderBy = p.orderItems()
	}
	if p.isKw("ROWS", "RANGE") {
		f := &Frame{Rows: p.next().upper == "ROWS"}
		if p.acceptKw("BETWEEN") {
			f.Start = p.frameBound()
			p.expectKw("AND")
			f.End = p.frameBound()
		} else {
			f.Start = p.frameBound()
			if f.Start.Kind > CurrentRow {
				p.syntax()
			}
			f.End = FrameBound{Kind: CurrentRow}
		}
		w.Frame = f
	}
	p.expectOp(")")
}

func (p *parser) frameBound() FrameBound {
	switch {
	case p.acceptKw("UNBOUNDED"):
		if p.acceptKw("PRECEDING") {
			return FrameBound{Kind: UnboundedPreceding}
		}
		p.expectKw("FOLLOWING")
		return FrameBound{Kind: UnboundedFollowing}
	case p.acceptKw("CURRENT"):
		p.expectKw("ROW")
		return FrameBound{Kind: CurrentRow}
	}
	if p.tok.kind != tokInt {
		p.syntax()
	}
	n := p.primary(false)
	if p.acceptKw("PRECEDING") {
		return FrameBound{Kind: Preceding, N: n}
	}
	p.expectKw("FOLLOWING")
	return FrameBound{Kind: Following, N: n}
}

func (p *parser) orderItems() []*OrderItem {
	var items []*OrderItem
	for {
		it := &OrderItem{Pos: p.pos(), X: p.expr()}
		if p.acceptKw("DESC") {
			it.Desc = true
		} else {
			p.acceptKw("ASC")
		}
		items = append(items, it)
		if !p.acceptOp(",") {
			return items
		}
	}
}

func (p *parser) jsonObject() Expr {
	j := &JSONObject{Pos: posOf(p.next())}
	p.expectOp("(")
	if !p.isOp(")") && !p.isKw("NULL", "ABSENT") {
		for {
			j.Keys = append(j.Keys, p.expr())
			p.expectOp(":")
			j.Values = append(j.Values, p.expr())
			if !p.acceptOp(",") {
				break
			}
		}
	}
	if null, absent := p.jsonNullClause(); null || absent {
		j.AbsentOnNull = absent
	}
	p.expectOp(")")
	return j
}

func (p *parser) jsonArray() Expr {
	j := &JSONArray{Pos: posOf(p.next())}
	p.expectOp("(")
	if !p.isOp(")") && !p.isKws("NULL", "ON") && !p.isKws("ABSENT", "ON") {
		j.Values = p.exprList()
	}
	if null, absent := p.jsonNullClause(); null || absent {
		j.NullOnNull = null
	}
	p.expectOp(")")
	return j
}

func (p *parser) jsonNullClause() (null, absent bool) {
	if p.acceptKw("NULL", "ON", "NULL") {
		return true, false
	}
	return false, p.acceptKw("ABSENT", "ON", "NULL")
}

// odbcEscape takes {d '...'}, {t '...'}, {ts '...'}, {guid '...'} and {fn f(...)}.
func (p *parser) odbcEscape() Expr {
	at := posOf(p.next())
	if p.tok.kind != tokIdent {
		p.syntax()
	}
	kind := p.next().upper
	var e Expr
	switch kind {
	case "D", "T", "TS", "GUID":
		text := p.stringText()
		e = &Literal{at, map[string]LiteralKind{"D": LitODBCDate, "T": LitODBCTime, "TS": LitODBCTS, "GUID": LitODBCGUID}[kind], text}
	case "FN":
		e = p.primary(false)
		switch f := e.(type) {
		case *FuncCall:
			f.ODBC = true
		case *Convert:
			p.syntax()
		}
	default:
		p.refuse("the ODBC escape {%s}", strings.ToLower(kind))
	}
	p.expectOp("}")
	return e
}
