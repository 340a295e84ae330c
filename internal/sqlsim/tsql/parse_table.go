package tsql

import "strings"

// fromList takes the comma-separated sources of FROM.
func (p *parser) fromList() []TableSource {
	var list []TableSource
	for {
		list = append(list, p.joined())
		if !p.acceptOp(",") {
			return list
		}
	}
}

// joined takes a source with all joins that follow it.
func (p *parser) joined() TableSource {
	defer p.enter()()
	left := p.tableSource()
	for n := 0; ; n++ {
		p.chain(n)
		at := p.pos()
		kind, hint, ok := p.joinOperator()
		if !ok {
			return left
		}
		j := &Join{Pos: at, Kind: kind, Hint: hint, Left: left}
		switch kind {
		case CrossJoin, CrossApply, OuterApply:
			j.Right = p.tableSource()
		default:
			// a JOIN b JOIN c ON .. ON ..: a join may nest in the right side.
			j.Right = p.joinRight()
			p.expectKw("ON")
			j.On = p.condition()
		}
		left = j
	}
}

// joinRight takes the right side of a join that has an ON of its own, including joins
// whose ON comes before it.
func (p *parser) joinRight() TableSource {
	defer p.enter()()
	right := p.tableSource()
	for !p.isKw("ON") {
		at := p.pos()
		kind, hint, ok := p.joinOperator()
		if !ok {
			return right
		}
		j := &Join{Pos: at, Kind: kind, Hint: hint, Left: right}
		switch kind {
		case CrossJoin, CrossApply, OuterApply:
			j.Right = p.tableSource()
		default:
			j.Right = p.joinRight()
			p.expectKw("ON")
			j.On = p.condition()
		}
		right = j
	}
	return right
}

// joinOperator takes what stands between two sources.
func (p *parser) joinOperator() (kind JoinKind, hint string, ok bool) {
	hintAnd := func() string {
		if p.isKw("LOOP", "HASH", "MERGE", "REMOTE") {
			return p.next().upper
		}
		return ""
	}
	switch {
	case p.isKw("JOIN"):
		p.next()
		return InnerJoin, "", true
	case p.isKw("INNER"):
		p.next()
		hint = hintAnd()
		p.expectKw("JOIN")
		return InnerJoin, hint, true
	case p.isKw("LEFT", "RIGHT", "FULL"):
		switch p.next().upper {
		case "LEFT":
			kind = LeftJoin
		case "RIGHT":
			kind = RightJoin
		default:
			kind = FullJoin
		}
		p.acceptKw("OUTER")
		hint = hintAnd()
		p.expectKw("JOIN")
		return kind, hint, true
	case p.isKw("CROSS"):
		p.next()
		if p.acceptKw("APPLY") {
			return CrossApply, "", true
		}
		p.expectKw("JOIN")
		return CrossJoin, "", true
	case p.isKw("OUTER"):
		p.next()
		p.expectKw("APPLY")
		return OuterApply, "", true
	case p.isKw("PIVOT", "UNPIVOT"):
		p.refuse("%s", p.tok.upper)
	}
	return 0, "", false
}

// tableSource takes one source without joins.
func (p *parser) tableSource() TableSource {
	defer p.enter()()
	src := p.tableSourceBody()
	if p.isKw("PIVOT", "UNPIVOT") {
		p.refuse("%s", p.tok.upper)
	}
	return src
}

func (p *parser) tableSourceBody() TableSource {
	at := p.pos()
	switch {
	case p.isOp("("):
		return p.parenSource()
	case p.isOp("{"):
		p.refuse("the ODBC escape {oj}")
	case p.tok.kind == tokVariable:
		p.uses(true)
		name := p.next().text
		if p.isOp(".") {
			p.refuse("the method call %s.%s()", name, p.peek(1).text)
		}
		v := &TableVar{Pos: at, Name: name}
		v.Alias = p.tableAlias()
		v.Hints = p.tableHintsWith()
		return v
	case p.isKw("OPENROWSET", "OPENQUERY", "OPENDATASOURCE", "OPENXML", "CONTAINSTABLE", "FREETEXTTABLE"):
		p.refuse("%s", p.tok.upper)
	case p.isKw("CHANGETABLE", "PREDICT") && p.peek(1).isOp("("):
		p.refuse("%s", p.tok.upper)
	case p.isOp(":") || p.isOp("::"):
		p.refuse("the :: function syntax")
	}
	name := p.objectName()
	if p.isOp("(") && !p.hintsAhead() {
		return p.tableFunc(name)
	}
	t := &TableRef{Pos: at, Name: name}
	if p.isKws("FOR", "SYSTEM_TIME") {
		p.refuse("FOR SYSTEM_TIME")
	}
	if p.isOp("(") {
		t.Hints = p.tableHintList()
		t.Alias = p.tableAlias()
		return t
	}
	t.Alias = p.tableAlias()
	if p.isKw("TABLESAMPLE") {
		p.refuse("TABLESAMPLE")
	}
	if p.isOp("(") && p.hintsAhead() {
		t.Hints = p.tableHintList()
	} else {
		t.Hints = p.tableHintsWith()
	}
	if p.isKw("TABLESAMPLE") {
		p.refuse("TABLESAMPLE")
	}
	return t
}

// parenSource takes (query) alias, (VALUES ...) alias(cols), or a parenthesized join.
func (p *parser) parenSource() TableSource {
	at := p.pos()
	if p.peek(1).isKw("VALUES") {
		p.next()
		p.next()
		v := &ValuesTable{Pos: at, Rows: p.valueRows()}
		p.expectOp(")")
		v.Alias, v.Columns = p.derivedAlias()
		return v
	}
	if n := p.peek(1); n.isKw("INSERT") || n.isKw("UPDATE") || n.isKw("DELETE") || n.isKw("MERGE") {
		p.refuse("a nested %s as a table source (composable DML)", n.upper)
	}
	if p.peek(1).isKw("SELECT") || p.peek(1).isKw("WITH") || p.queryInParens() {
		p.next()
		q := p.query()
		p.expectOp(")")
		d := &DerivedTable{Pos: at, Query: q}
		d.Alias, d.Columns = p.derivedAlias()
		return d
	}
	p.next()
	src := p.joined()
	p.expectOp(")")
	return src
}

// queryInParens tells ((SELECT ...) UNION ...) from ((a JOIN b ...) JOIN c ...): after
// the inner parenthesis closes, a set operator follows, or the outer one closes.
func (p *parser) queryInParens() bool {
	n := 1
	for p.peek(n).isOp("(") {
		n++
	}
	if n == 1 || !p.peek(n).isKw("SELECT") {
		return false
	}
	depth := 0
	for i := 1; ; i++ {
		t := p.peek(i)
		switch {
		case t.kind == tokEOF || t.kind == tokError:
			return false
		case t.isOp("("):
			depth++
		case t.isOp(")"):
			depth--
			if depth == 0 {
				f := p.peek(i + 1)
				return f.isOp(")") || f.isKw("UNION") || f.isKw("EXCEPT") || f.isKw("INTERSECT") || f.isKw("ORDER")
			}
		}
	}
}

func (p *parser) derivedAlias() (alias string, columns []string) {
	p.acceptKw("AS")
	alias = p.ident()
	if p.isOp("(") {
		columns = p.identList()
	}
	return alias, columns
}

// valueRows takes (a, b), (c, d) after VALUES.
func (p *parser) valueRows() [][]Expr {
	var rows [][]Expr
	for {
		p.expectOp("(")
		rows = append(rows, p.exprList())
		p.expectOp(")")
		if len(rows[len(rows)-1]) != len(rows[0]) {
			p.failAt(p.toks[p.i-1].line, 10709, 16, 1, "The number of columns for each row in a table value constructor must be the same.")
		}
		if !p.acceptOp(",") {
			return rows
		}
	}
}

// tableAlias takes [AS] alias.
func (p *parser) tableAlias() string {
	if p.acceptKw("AS") {
		return p.ident()
	}
	if p.isName(p.tok) && !p.batchSeparator() && !p.clauseWord() {
		return p.takeName()
	}
	return ""
}

// clauseWord reports an unreserved word that starts a clause where an alias could stand.
func (p *parser) clauseWord() bool {
	switch {
	case p.tok.kind != tokIdent:
		return false
	case p.isKw("OUTPUT", "USING"):
		return true
	case p.isKw("WINDOW"):
		return p.peek(2).isKw("AS")
	}
	return false
}

func (p *parser) tableFunc(name ObjectName) TableSource {
	f := &TableFunc{Pos: name.Pos, Name: name}
	p.expectOp("(")
	if !p.isOp(")") {
		f.Args = p.exprList()
	}
	p.expectOp(")")
	if p.isOp(".") {
		p.refuse("the method call .%s()", p.peek(1).text)
	}
	if name.Schema == "" && strings.EqualFold(name.Name, "OPENJSON") && p.isKw("WITH") && p.peek(1).isOp("(") {
		p.next()
		f.HasWith = true
		f.With = p.jsonColumns()
	}
	f.Alias = p.tableAlias()
	if f.Alias != "" && p.isOp("(") && !p.hintsAhead() {
		f.Columns = p.identList()
	}
	if p.isKw("WITH") && p.peek(1).isOp("(") {
		f.Hints = p.tableHintsWith()
	}
	return f
}

func (p *parser) jsonColumns() []*JSONColumn {
	p.expectOp("(")
	var cols []*JSONColumn
	for {
		c := &JSONColumn{Pos: p.pos(), Name: p.ident()}
		c.Type = p.dataType()
		if p.acceptKw("COLLATE") {
			c.Collation = p.ident()
		}
		if p.isString(p.tok) {
			c.Path, c.HasPath = p.stringText(), true
		}
		if p.acceptKw("AS") {
			p.expectKw("JSON")
			c.AsJSON = true
		}
		cols = append(cols, c)
		if !p.acceptOp(",") {
			break
		}
	}
	p.expectOp(")")
	return cols
}

// hintsAhead reports that the parenthesis here holds table hints.
func (p *parser) hintsAhead() bool {
	t := p.peek(1)
	if t.kind != tokIdent || !tableHints[t.upper] {
		return false
	}
	n := p.peek(2)
	return n.isOp(")") || n.isOp(",") || n.kind == tokIdent && tableHints[n.upper] || (t.upper == "INDEX" || t.upper == "FORCESEEK") && (n.isOp("(") || n.isOp("="))
}

// tableHintsWith takes WITH (hints) when it is there.
func (p *parser) tableHintsWith() []*TableHint {
	if !p.isKw("WITH") || !p.peek(1).isOp("(") {
		return nil
	}
	p.next()
	return p.tableHintList()
}

func (p *parser) tableHintList() []*TableHint {
	p.expectOp("(")
	var hints []*TableHint
	for {
		if p.tok.kind != tokIdent {
			p.syntax()
		}
		if !tableHints[p.tok.upper] {
			p.fail(321, 15, 1, "\"%s\" is not a recognized table hints option. If it is intended as a parameter to a table-valued function or to the CHANGETABLE function, ensure that your database compatibility mode is set to 90.", p.tok.text)
		}
		h := &TableHint{Pos: p.pos(), Name: p.next().upper}
		switch h.Name {
		case "INDEX":
			if p.acceptOp("=") {
				if p.acceptOp("(") {
					h.Indexes = append(h.Indexes, p.indexValue())
					p.expectOp(")")
				} else {
					h.Indexes = append(h.Indexes, p.indexValue())
				}
				break
			}
			p.expectOp("(")
			for {
				h.Indexes = append(h.Indexes, p.indexValue())
				if !p.acceptOp(",") {
					break
				}
			}
			p.expectOp(")")
		case "FORCESEEK":
			if p.acceptOp("(") {
				h.Indexes = append(h.Indexes, p.indexValue())
				h.Columns = p.identList()
				p.expectOp(")")
			}
		case "SPATIAL_WINDOW_MAX_CELLS", "NOEXPAND", "IGNORE_CONSTRAINTS", "IGNORE_TRIGGERS", "KEEPIDENTITY", "KEEPDEFAULTS":
			if h.Name == "SPATIAL_WINDOW_MAX_CELLS" {
				p.refuse("the table hint %s", h.Name)
			}
		}
		hints = append(hints, h)
		// Commas between hints are optional, except after INDEX.
		if p.acceptOp(",") {
			continue
		}
		if p.isOp(")") {
			break
		}
	}
	p.expectOp(")")
	return hints
}

func (p *parser) indexValue() string {
	if p.tok.kind == tokInt {
		return p.next().text
	}
	return p.ident()
}
