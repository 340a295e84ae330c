package tsql

// selectStatement takes a query as a statement.
func (p *parser) selectStatement(ctes []*CTE) Statement {
	st := &SelectStatement{Span: p.span()}
	st.Query = p.queryAfterWith(ctes)
	st.Query.Options = p.options()
	// FOR may also follow OPTION nowhere; ORDER BY after OPTION is a syntax error.
	return st
}

// withStatement takes a statement that starts with common table expressions.
func (p *parser) withStatement() Statement {
	at := p.span()
	ctes := p.ctes()
	var st Statement
	switch {
	case p.isKw("SELECT") || p.isOp("("):
		st = p.selectStatement(ctes)
		st.(*SelectStatement).Span = at
	case p.isKw("INSERT"):
		st = p.insert(ctes)
		st.(*Insert).Span = at
	case p.isKw("UPDATE"):
		st = p.update(ctes)
		st.(*Update).Span = at
	case p.isKw("DELETE"):
		st = p.delete(ctes)
		st.(*Delete).Span = at
	case p.isKw("MERGE"):
		st = p.merge(ctes)
		st.(*Merge).Span = at
	default:
		p.syntax()
	}
	return st
}

// dmlTarget takes the table, view, CTE, alias or table variable to be changed.
func (p *parser) dmlTarget() TableSource {
	at := p.pos()
	if p.tok.kind == tokVariable {
		p.uses(true)
		return &TableVar{Pos: at, Name: p.next().text}
	}
	if p.isKw("OPENQUERY", "OPENROWSET", "OPENDATASOURCE") {
		p.refuse("%s", p.tok.upper)
	}
	t := &TableRef{Pos: at, Name: p.objectName()}
	if p.isOp("(") && p.hintsAhead() {
		t.Hints = p.tableHintList()
	} else {
		t.Hints = p.tableHintsWith()
	}
	return t
}

func (p *parser) insert(ctes []*CTE) Statement {
	st := &Insert{Span: p.span(), With: ctes}
	p.expectKw("INSERT")
	if p.isKw("BULK") {
		p.refuse("INSERT BULK")
	}
	if p.isKw("TOP") {
		st.Top = p.top(false)
	}
	p.acceptKw("INTO")
	st.Target = p.dmlTarget()
	if p.isOp("(") && !p.atQuery() {
		p.next()
		for {
			if p.tok.kind == tokDollar {
				st.Columns = append(st.Columns, p.next().upper)
			} else {
				n := p.objectName() // a qualified column is allowed and its qualifier ignored
				st.Columns = append(st.Columns, n.Name)
			}
			if !p.acceptOp(",") {
				break
			}
		}
		p.expectOp(")")
	}
	st.Output = p.outputs()
	switch {
	case p.isKws("DEFAULT", "VALUES"):
		p.next()
		p.next()
		st.DefaultValues = true
	case p.isKw("VALUES"):
		p.next()
		st.Rows = p.valueRows()
	case p.isKw("EXEC", "EXECUTE"):
		st.Exec = p.exec()
	case p.isKw("SELECT", "WITH") || p.isOp("("):
		st.Query = p.query()
	default:
		p.syntax()
	}
	st.Options = p.options()
	return st
}

// outputs takes up to two OUTPUT clauses, one of them INTO.
func (p *parser) outputs() []*Output {
	var list []*Output
	for p.isKw("OUTPUT") {
		o := &Output{Pos: posOf(p.next())}
		for {
			o.Items = append(o.Items, p.selectItem())
			if !p.acceptOp(",") {
				break
			}
		}
		if p.acceptKw("INTO") {
			at := p.pos()
			if p.tok.kind == tokVariable {
				p.uses(true)
				o.Into = &TableVar{Pos: at, Name: p.next().text}
			} else {
				o.Into = &TableRef{Pos: at, Name: p.objectName()}
			}
			if p.isOp("(") && !p.atQuery() {
				o.IntoColumns = p.identList()
			}
		}
		list = append(list, o)
		if len(list) == 2 {
			if (list[0].Into == nil) == (list[1].Into == nil) || list[1].Into != nil {
				p.syntax()
			}
			break
		}
	}
	return list
}

func (p *parser) update(ctes []*CTE) Statement {
	st := &Update{Span: p.span(), With: ctes}
	p.expectKw("UPDATE")
	if p.isKw("TOP") {
		st.Top = p.top(false)
	}
	st.Target = p.dmlTarget()
	p.expectKw("SET")
	st.Set = p.setClauses()
	st.Output = p.outputs()
	if p.acceptKw("FROM") {
		st.From = p.fromList()
	}
	if p.acceptKw("WHERE") {
		st.Where = p.whereCondition()
	}
	st.Options = p.options()
	return st
}

func (p *parser) setClauses() []*SetClause {
	var list []*SetClause
	for {
		list = append(list, p.setClause())
		if !p.acceptOp(",") {
			return list
		}
	}
}

func (p *parser) assignOp() string {
	if p.tok.kind != tokOp || !assignOps[p.tok.text] {
		p.syntax()
	}
	return p.next().text
}

func (p *parser) setClause() *SetClause {
	c := &SetClause{Pos: p.pos()}
	if p.tok.kind == tokVariable {
		p.uses(false)
		c.Variable = p.next().text
		c.Op = p.assignOp()
		// @v = column = expr
		if c.Op == "=" && p.columnAssignAhead() {
			c.Column = p.columnTarget()
			c.Op = p.assignOp()
		}
		c.Value = p.expr()
		return c
	}
	c.Column = p.columnTarget()
	if p.isOp("(") {
		p.refuse("the .%s() clause of UPDATE", c.Column.Name)
	}
	c.Op = p.assignOp()
	c.Value = p.expr()
	return c
}

// columnAssignAhead looks for name[.name...] followed by an assignment operator.
func (p *parser) columnAssignAhead() bool {
	i := 0
	for p.isName(p.peek(i)) {
		n := p.peek(i + 1)
		if n.kind == tokOp && assignOps[n.text] {
			return true
		}
		if !n.isOp(".") {
			return false
		}
		i += 2
	}
	return false
}

func (p *parser) columnTarget() ColumnRef {
	if p.tok.kind == tokDollar {
		c := ColumnRef{Pos: p.pos(), Pseudo: true}
		c.Name = p.next().upper
		return c
	}
	n := p.objectName()
	return ColumnRef{Pos: n.Pos, Database: n.Server, Schema: n.Database, Table: n.Schema, Name: n.Name}
}

func (p *parser) delete(ctes []*CTE) Statement {
	st := &Delete{Span: p.span(), With: ctes}
	p.expectKw("DELETE")
	if p.isKw("TOP") {
		st.Top = p.top(false)
	}
	p.acceptKw("FROM")
	st.Target = p.dmlTarget()
	st.Output = p.outputs()
	if p.acceptKw("FROM") {
		st.From = p.fromList()
	}
	if p.acceptKw("WHERE") {
		st.Where = p.whereCondition()
	}
	st.Options = p.options()
	return st
}

func (p *parser) merge(ctes []*CTE) Statement {
	st := &Merge{Span: p.span(), With: ctes}
	p.expectKw("MERGE")
	if p.isKw("TOP") {
		st.Top = p.top(false)
	}
	p.acceptKw("INTO")
	st.Target = p.dmlTarget()
	alias := p.tableAlias()
	switch t := st.Target.(type) {
	case *TableRef:
		t.Alias = alias
		if t.Hints == nil {
			t.Hints = p.tableHintsWith()
		}
	case *TableVar:
		t.Alias = alias
	}
	p.expectKw("USING")
	st.Source = p.joined()
	p.expectKw("ON")
	st.On = p.condition()
	for p.isKw("WHEN") {
		st.Actions = append(st.Actions, p.mergeAction())
	}
	if len(st.Actions) == 0 {
		p.syntax()
	}
	st.Output = p.outputs()
	st.Options = p.options()
	if !p.isOp(";") {
		p.failAt(p.toks[max(p.i-1, 0)].line, 10713, 15, 1, "A MERGE statement must be terminated by a semi-colon (;).")
	}
	return st
}

func (p *parser) mergeAction() *MergeAction {
	a := &MergeAction{Pos: posOf(p.next())}
	if p.acceptKw("NOT") {
		p.expectKw("MATCHED")
		a.Match = NotMatchedByTarget
		if p.acceptKw("BY") {
			if p.acceptKw("SOURCE") {
				a.Match = NotMatchedBySource
			} else {
				p.expectKw("TARGET")
			}
		}
	} else {
		p.expectKw("MATCHED")
	}
	if p.acceptKw("AND") {
		a.Cond = p.condition()
	}
	p.expectKw("THEN")
	switch {
	case a.Match != NotMatchedByTarget && p.acceptKw("UPDATE"):
		a.Kind = "UPDATE"
		p.expectKw("SET")
		a.Set = p.setClauses()
	case a.Match != NotMatchedByTarget && p.acceptKw("DELETE"):
		a.Kind = "DELETE"
	case a.Match == NotMatchedByTarget && p.acceptKw("INSERT"):
		a.Kind = "INSERT"
		if p.isOp("(") {
			a.Columns = p.identList()
		}
		if p.acceptKw("DEFAULT") {
			p.expectKw("VALUES")
			a.DefaultValues = true
			break
		}
		p.expectKw("VALUES")
		p.expectOp("(")
		a.Values = p.exprList()
		p.expectOp(")")
	case p.isKw("INSERT", "UPDATE", "DELETE"):
		p.fail(10711, 15, 1, "An action of type '%s' is not allowed in the 'WHEN %s' clause of a MERGE statement.", p.tok.upper, map[MergeMatch]string{Matched: "MATCHED", NotMatchedByTarget: "NOT MATCHED", NotMatchedBySource: "NOT MATCHED BY SOURCE"}[a.Match])
	default:
		p.syntax()
	}
	return a
}

func (p *parser) truncate() Statement {
	st := &Truncate{Span: p.span()}
	p.expectKw("TRUNCATE", "TABLE")
	st.Table = p.objectName()
	if p.isKw("WITH") && p.peek(1).isOp("(") {
		p.refuse("TRUNCATE TABLE ... WITH (PARTITIONS)")
	}
	return st
}
