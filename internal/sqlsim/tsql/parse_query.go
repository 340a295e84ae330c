package tsql

import "strings"

// query takes [WITH ctes] query-expression [ORDER BY] [FOR] inside parentheses or where
// no OPTION clause may follow.
func (p *parser) query() *Query {
	defer p.enter()()
	var ctes []*CTE
	if p.isKw("WITH") {
		ctes = p.ctes()
	}
	return p.queryAfterWith(ctes)
}

func (p *parser) queryAfterWith(ctes []*CTE) *Query {
	q := &Query{Pos: p.pos(), With: ctes}
	q.Body = p.setExpr()
	p.orderAndFor(q)
	q.End = p.endOffset()
	return q
}

func (p *parser) orderAndFor(q *Query) {
	if p.isKws("ORDER", "BY") {
		p.next()
		p.next()
		q.OrderBy = p.orderItems()
		if p.isKw("OFFSET") {
			p.next()
			q.Offset = p.expr()
			if !p.acceptKw("ROWS") {
				p.expectKw("ROW")
			}
			if p.isKw("FETCH") && (p.peek(1).isKw("NEXT") || p.peek(1).isKw("FIRST")) {
				p.next()
				p.next()
				q.Fetch = p.expr()
				if !p.acceptKw("ROWS") {
					p.expectKw("ROW")
				}
				p.expectKw("ONLY")
			}
		}
	}
	if p.isKw("FOR") && (p.peek(1).isKw("JSON") || p.peek(1).isKw("XML") || p.peek(1).isKw("BROWSE")) {
		q.For = p.forClause()
	}
}

// ctes takes WITH a AS (...), b (...) AS (...).
func (p *parser) ctes() []*CTE {
	p.expectKw("WITH")
	if p.isKw("XMLNAMESPACES") {
		p.refuse("WITH XMLNAMESPACES")
	}
	if p.isKw("CHANGE_TRACKING_CONTEXT") {
		p.refuse("WITH CHANGE_TRACKING_CONTEXT")
	}
	var list []*CTE
	for {
		c := &CTE{Pos: p.pos(), Name: p.ident()}
		if p.isOp("(") {
			c.Columns = p.identList()
		}
		p.expectKw("AS")
		p.expectOp("(")
		c.Query = p.query()
		p.expectOp(")")
		list = append(list, c)
		if !p.acceptOp(",") {
			return list
		}
	}
}

// setExpr takes UNION and EXCEPT; INTERSECT binds tighter.
func (p *parser) setExpr() QueryBody {
	l := p.intersectExpr()
	for n := 0; p.isKw("UNION", "EXCEPT"); n++ {
		p.chain(n)
		t := p.next()
		s := &SetOp{Pos: posOf(t), Op: t.upper, L: l}
		if t.upper == "UNION" {
			s.All = p.acceptKw("ALL")
		}
		s.R = p.intersectExpr()
		l = s
	}
	return l
}

func (p *parser) intersectExpr() QueryBody {
	l := p.queryTerm()
	for n := 0; p.isKw("INTERSECT"); n++ {
		p.chain(n)
		t := p.next()
		l = &SetOp{Pos: posOf(t), Op: "INTERSECT", L: l, R: p.queryTerm()}
	}
	return l
}

func (p *parser) queryTerm() QueryBody {
	defer p.enter()()
	if p.isOp("(") {
		p.next()
		q := p.query()
		p.expectOp(")")
		return q
	}
	return p.selectSpec()
}

func (p *parser) selectSpec() *Select {
	s := &Select{Pos: p.pos()}
	p.expectKw("SELECT")
	if p.acceptKw("DISTINCT") {
		s.Distinct = true
	} else {
		p.acceptKw("ALL")
	}
	if p.isKw("TOP") {
		s.Top = p.top(true)
	}
	for {
		s.Items = append(s.Items, p.selectItem())
		if !p.acceptOp(",") {
			break
		}
	}
	if p.acceptKw("INTO") {
		n := p.objectName()
		s.Into = &n
		if p.acceptKw("ON") {
			p.ident()
		}
	}
	if p.acceptKw("FROM") {
		s.From = p.fromList()
	}
	if p.acceptKw("WHERE") {
		s.Where = p.whereCondition()
	}
	if p.isKws("GROUP", "BY") {
		s.GroupBy = p.groupBy()
	}
	if p.acceptKw("HAVING") {
		s.Having = p.condition()
	}
	if p.isKw("WINDOW") && p.peek(2).isKw("AS") {
		p.next()
		for {
			w := &NamedWindow{Name: p.ident()}
			p.expectKw("AS")
			w.Def = &Window{Pos: p.pos()}
			p.windowBody(w.Def)
			s.Windows = append(s.Windows, w)
			if !p.acceptOp(",") {
				break
			}
		}
	}
	return s
}

func (p *parser) whereCondition() Expr {
	if p.isKws("CURRENT", "OF") {
		p.refuse("WHERE CURRENT OF")
	}
	return p.condition()
}

func (p *parser) top(ties bool) *Top {
	t := &Top{Pos: posOf(p.next())}
	switch {
	case p.isOp("("):
		p.next()
		t.N = p.expr()
		p.expectOp(")")
	case p.tok.kind == tokInt || p.tok.kind == tokDecimal || p.tok.kind == tokFloat || p.tok.kind == tokVariable:
		// Without parentheses only in SELECT, and only constants there by the documentation.
		if p.tok.kind == tokVariable || !ties {
			p.syntax()
		}
		t.N = p.primary(false)
	default:
		p.syntax()
	}
	t.Percent = p.acceptKw("PERCENT")
	if ties && p.isKws("WITH", "TIES") {
		p.next()
		p.next()
		t.WithTies = true
	}
	return t
}

var assignOps = map[string]bool{"=": true, "+=": true, "-=": true, "*=": true, "/=": true, "%=": true, "&=": true, "|=": true, "^=": true}

func (p *parser) selectItem() *SelectItem {
	it := &SelectItem{Pos: p.pos()}
	if p.isOp("*") {
		p.next()
		it.Star = true
		return it
	}
	if p.tok.kind == tokVariable && p.peek(1).kind == tokOp && assignOps[p.peek(1).text] {
		p.uses(false)
		it.Variable = p.next().text
		it.AssignOp = p.next().text
		it.Expr = p.expr()
		return it
	}
	// alias = expr
	if (p.isName(p.tok) || p.isString(p.tok)) && p.peek(1).isOp("=") {
		it.Alias = p.takeName()
		p.next()
		it.Expr = p.expr()
		return it
	}
	if q, ok := p.qualifiedStar(); ok {
		it.Star = true
		it.Qualifier = q
		return it
	}
	it.Expr = p.expr()
	it.Alias = p.columnAlias()
	return it
}

// qualifiedStar takes t.* when it is there.
func (p *parser) qualifiedStar() (n ObjectName, ok bool) {
	i := 0
	for p.isName(p.peek(i)) || i > 0 && p.peek(i).kind == tokIdent {
		if !p.peek(i + 1).isOp(".") {
			return n, false
		}
		i += 2
		if p.peek(i).isOp("*") {
			n.Pos = p.pos()
			var parts []string
			for !p.isOp("*") {
				if p.isOp(".") {
					p.next()
					continue
				}
				parts = append(parts, p.takeName())
			}
			p.next()
			if len(parts) > 4 {
				p.syntax()
			}
			assignParts(&n, parts)
			return n, true
		}
	}
	return n, false
}

func (p *parser) columnAlias() string {
	if p.acceptKw("AS") {
		if p.isString(p.tok) {
			return p.takeName()
		}
		return p.ident()
	}
	if p.isString(p.tok) {
		return p.takeName()
	}
	if p.isName(p.tok) && !p.batchSeparator() {
		return p.takeName()
	}
	return ""
}

// batchSeparator reports a GO alone on its line. It is not T-SQL: a client that sends it
// has forgotten to cut its script into batches, and taking it for an alias would hide that.
func (p *parser) batchSeparator() bool {
	if !p.isKw("GO") {
		return false
	}
	before := strings.TrimRight(p.src[:p.tok.start], " \t\r")
	after := strings.TrimLeft(p.src[p.tok.end:], " \t\r0123456789")
	return (before == "" || strings.HasSuffix(before, "\n")) && (after == "" || after[0] == '\n' || strings.HasPrefix(after, "--"))
}

func (p *parser) groupBy() *GroupBy {
	g := &GroupBy{Pos: p.pos()}
	p.expectKw("GROUP", "BY")
	if p.isKw("ALL") {
		p.next()
		g.All = true
	}
	for {
		g.Items = append(g.Items, p.groupItem(true))
		if !p.acceptOp(",") {
			break
		}
	}
	if p.isKws("WITH", "ROLLUP") || p.isKws("WITH", "CUBE") {
		p.next()
		kind := GroupRollup
		if p.next().upper == "CUBE" {
			kind = GroupCube
		}
		g.Items = []*GroupItem{{Pos: g.Pos, Kind: kind, Items: g.Items}}
	}
	return g
}

func (p *parser) groupItem(top bool) *GroupItem {
	defer p.enter()()
	it := &GroupItem{Pos: p.pos()}
	switch {
	case p.isKw("ROLLUP", "CUBE") && p.peek(1).isOp("("):
		it.Kind = GroupRollup
		if p.next().upper == "CUBE" {
			it.Kind = GroupCube
		}
		it.Items = p.groupItems()
	case p.isKws("GROUPING", "SETS") && p.peek(2).isOp("("):
		p.next()
		p.next()
		it.Kind = GroupSets
		it.Items = p.groupItems()
	case p.isOp("(") && p.peek(1).isOp(")"):
		p.next()
		p.next()
		it.Kind = GroupComposite
	case p.isOp("(") && !top && p.compositeAhead():
		it.Kind = GroupComposite
		it.Items = p.groupItems()
	default:
		it.Expr = p.expr()
	}
	return it
}

// compositeAhead tells (a, b) from (a + b) * c: the parenthesis closes before a comma or
// another parenthesis.
func (p *parser) compositeAhead() bool {
	depth := 0
	for i := 0; ; i++ {
		t := p.peek(i)
		switch {
		case t.kind == tokEOF || t.kind == tokError:
			return false
		case t.isOp("("):
			depth++
		case t.isOp(")"):
			depth--
			if depth == 0 {
				n := p.peek(i + 1)
				return n.isOp(",") || n.isOp(")")
			}
		}
	}
}

func (p *parser) groupItems() []*GroupItem {
	p.expectOp("(")
	var items []*GroupItem
	for {
		items = append(items, p.groupItem(false))
		if !p.acceptOp(",") {
			break
		}
	}
	p.expectOp(")")
	return items
}

func (p *parser) forClause() *ForClause {
	f := &ForClause{Pos: p.pos()}
	p.expectKw("FOR")
	if p.isKw("BROWSE") {
		p.refuse("FOR BROWSE")
	}
	f.XML = p.next().upper == "XML"
	modes := []string{"PATH", "AUTO"}
	if f.XML {
		modes = append(modes, "RAW", "EXPLICIT")
	}
	if !p.isKw(modes...) {
		p.syntax()
	}
	f.Mode = p.next().upper
	if f.XML && p.isOp("(") {
		p.next()
		f.Row, f.HasRow = p.stringText(), true
		p.expectOp(")")
	}
	for p.acceptOp(",") {
		switch {
		case p.isKw("ROOT"):
			p.next()
			f.HasRoot, f.Root = true, "root"
			if p.acceptOp("(") {
				f.Root = p.stringText()
				p.expectOp(")")
			}
		case !f.XML && p.acceptKw("INCLUDE_NULL_VALUES"):
			f.IncludeNullValues = true
		case !f.XML && p.acceptKw("WITHOUT_ARRAY_WRAPPER"):
			f.WithoutArrayWrapper = true
		case f.XML && p.acceptKw("TYPE"):
			f.Type = true
		case f.XML && p.isKw("ELEMENTS"):
			p.next()
			f.Elements = true
			if p.acceptKw("XSINIL") {
				f.XSINil = true
			} else {
				p.acceptKw("ABSENT")
			}
		case f.XML && p.isKw("BINARY", "XMLDATA", "XMLSCHEMA"):
			p.refuse("FOR XML ... %s", p.tok.upper)
		default:
			p.syntax()
		}
	}
	return f
}

// options takes OPTION (hint, ...).
func (p *parser) options() []*QueryHint {
	if !p.isKw("OPTION") {
		return nil
	}
	p.next()
	p.expectOp("(")
	var hints []*QueryHint
	for {
		hints = append(hints, p.queryHint())
		if !p.acceptOp(",") {
			break
		}
	}
	p.expectOp(")")
	return hints
}

func (p *parser) queryHint() *QueryHint {
	h := &QueryHint{Pos: p.pos()}
	if p.tok.kind != tokIdent {
		p.syntax()
	}
	word := p.next().upper
	h.Name = word
	follow := func(words ...string) {
		for _, w := range words {
			if p.acceptKw(w) {
				h.Name += " " + w
				return
			}
		}
		p.syntax()
	}
	switch word {
	case "RECOMPILE", "IGNORE_NONCLUSTERED_COLUMNSTORE_INDEX":
	case "LOOP", "MERGE", "CONCAT":
		if word == "CONCAT" {
			follow("UNION")
		} else {
			follow("JOIN", "UNION")
		}
	case "HASH":
		follow("JOIN", "GROUP", "UNION")
	case "ORDER":
		follow("GROUP")
	case "FORCE", "DISABLE":
		if word == "FORCE" && p.acceptKw("ORDER") {
			h.Name = "FORCE ORDER"
			break
		}
		follow("EXTERNALPUSHDOWN", "SCALEOUTEXECUTION")
	case "KEEP":
		follow("PLAN")
	case "KEEPFIXED":
		follow("PLAN")
	case "EXPAND":
		follow("VIEWS")
	case "ROBUST":
		follow("PLAN")
	case "PARAMETERIZATION":
		follow("SIMPLE", "FORCED")
	case "FAST", "MAXDOP", "MAXRECURSION", "QUERYTRACEON":
		h.Number = p.integer()
		if word == "MAXRECURSION" && (h.Number < 0 || h.Number > 32767) {
			p.fail(310, 15, 1, "The value %d specified for the MAXRECURSION option exceeds the allowed maximum of 32767.", h.Number)
		}
	case "MAX_GRANT_PERCENT", "MIN_GRANT_PERCENT":
		p.expectOp("=")
		h.Number = p.integer()
	case "LABEL":
		p.expectOp("=")
		h.Args = append(h.Args, p.stringText())
	case "OPTIMIZE":
		p.expectKw("FOR")
		h.Name = "OPTIMIZE FOR"
		if p.acceptKw("UNKNOWN") {
			h.Name = "OPTIMIZE FOR UNKNOWN"
			break
		}
		p.expectOp("(")
		for {
			h.Args = append(h.Args, p.variableName())
			if !p.acceptKw("UNKNOWN") {
				p.expectOp("=")
				p.expr()
			}
			if !p.acceptOp(",") {
				break
			}
		}
		p.expectOp(")")
	case "USE":
		if p.isKw("PLAN") {
			p.refuse("the query hint USE PLAN")
		}
		p.expectKw("HINT")
		h.Name = "USE HINT"
		p.expectOp("(")
		for {
			h.Args = append(h.Args, p.stringText())
			if !p.acceptOp(",") {
				break
			}
		}
		p.expectOp(")")
	case "TABLE":
		p.refuse("the query hint TABLE HINT")
	default:
		p.i--
		p.tok = p.toks[p.i]
		p.syntax()
	}
	return h
}
