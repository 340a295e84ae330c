package tsql

import "strings"

// module takes CREATE/ALTER PROCEDURE, VIEW, FUNCTION and TRIGGER.
func (p *parser) module(at Span, action ModuleAction, first bool) Statement {
	keyword := p.tok
	kind := keyword.upper
	if kind == "PROC" {
		kind = "PROCEDURE"
	}
	what := "CREATE " + kind
	switch {
	case kind == "PROCEDURE":
		what = "CREATE/ALTER PROCEDURE"
	case action == ModuleAlter:
		what = "ALTER " + kind
	}
	p.moduleFirst(first, what, keyword)
	p.next()
	st := &CreateModule{Span: at, Action: action, QuotedIdentifier: p.qi}
	st.Name = p.objectName()
	switch kind {
	case "PROCEDURE":
		p.procedure(st)
	case "VIEW":
		p.view(st)
	case "FUNCTION":
		p.function(st)
	case "TRIGGER":
		p.trigger(st)
	}
	if p.tok.kind != tokEOF {
		p.expectEOF()
	}
	return st
}

func (p *parser) procedure(st *CreateModule) {
	st.Kind = ModuleProcedure
	if p.isOp(";") && p.peek(1).kind == tokInt {
		p.refuse("numbered procedures (;%s)", p.peek(1).text)
	}
	if p.isOp("(") {
		p.next()
		st.Params = p.params()
		p.expectOp(")")
	} else if p.tok.kind == tokVariable {
		st.Params = p.params()
	}
	p.moduleOptions(st)
	if p.isKws("FOR", "REPLICATION") {
		p.refuse("FOR REPLICATION")
	}
	p.expectKw("AS")
	if p.isKws("EXTERNAL", "NAME") {
		p.refuse("CLR procedures (EXTERNAL NAME)")
	}
	st.Body = p.moduleBody()
	if len(st.Body) == 0 {
		p.syntax()
	}
}

// moduleBody takes all statements to the end of the batch.
func (p *parser) moduleBody() []Statement {
	p.inModule = true
	p.terminated = true
	var list []Statement
	for {
		for p.acceptOp(";") {
			p.terminated = true
		}
		if p.tok.kind == tokEOF {
			return list
		}
		list = append(list, p.statement())
	}
}

// params takes a parameter list without parentheses.
func (p *parser) params() []*ParamDef {
	var list []*ParamDef
	for {
		d := &ParamDef{Pos: p.pos(), Name: p.variableName()}
		p.acceptKw("AS")
		d.Type = p.dataType()
		d.Varying = p.acceptKw("VARYING")
		switch {
		case p.acceptKw("NULL"):
			yes := true
			d.Null = &yes
		case p.isKws("NOT", "NULL"):
			p.next()
			p.next()
			d.Null = new(bool)
		}
		if p.acceptOp("=") {
			d.Default = p.execValue()
		}
		for p.isKw("OUTPUT", "OUT", "READONLY") {
			if p.next().upper == "READONLY" {
				d.ReadOnly = true
			} else {
				d.Output = true
			}
		}
		list = append(list, d)
		p.declares(d.Name, d.Line)
		if !p.acceptOp(",") {
			return list
		}
	}
}

// moduleOptions takes WITH RECOMPILE, ENCRYPTION, EXECUTE AS, SCHEMABINDING and so on.
func (p *parser) moduleOptions(st *CreateModule) {
	if !p.acceptKw("WITH") {
		return
	}
	for {
		switch {
		case p.acceptKw("RECOMPILE"):
			st.Recompile = true
		case p.acceptKw("ENCRYPTION"):
			st.Encryption = true
		case p.acceptKw("SCHEMABINDING"):
			st.SchemaBinding = true
		case p.acceptKw("VIEW_METADATA"):
			st.ViewMetadata = true
		case p.acceptKw("NATIVE_COMPILATION"):
			st.NativeComp = true
		case p.isKw("EXEC", "EXECUTE"):
			p.next()
			p.expectKw("AS")
			if p.isString(p.tok) {
				st.ExecuteAs = "'" + p.next().text + "'"
			} else if p.isKw("CALLER", "OWNER", "SELF") {
				st.ExecuteAs = p.next().upper
			} else {
				p.syntax()
			}
		case p.acceptKw("RETURNS", "NULL", "ON", "NULL", "INPUT"):
			st.NullOnNull = true
		case p.acceptKw("CALLED", "ON", "NULL", "INPUT"):
		case p.isKw("INLINE"):
			p.next()
			p.expectOp("=")
			p.onOff()
		default:
			p.syntax()
		}
		if !p.acceptOp(",") {
			return
		}
	}
}

func (p *parser) view(st *CreateModule) {
	st.Kind = ModuleView
	if p.isOp("(") {
		st.Columns = p.identList()
	}
	p.moduleOptions(st)
	p.expectKw("AS")
	st.Query = p.query()
	if p.isKw("OPTION") {
		p.syntax()
	}
	if p.isKws("WITH", "CHECK") {
		p.next()
		p.next()
		p.expectKw("OPTION")
		st.CheckOption = true
	}
}

func (p *parser) function(st *CreateModule) {
	p.expectOp("(")
	if !p.isOp(")") {
		st.Params = p.params()
	}
	p.expectOp(")")
	p.expectKw("RETURNS")
	switch {
	case p.isKw("TABLE"):
		p.next()
		if p.isOp("(") {
			p.refuse("CLR functions")
		}
		st.Kind = ModuleInlineFunction
		p.moduleOptions(st)
		p.acceptKw("AS")
		p.expectKw("RETURN")
		if p.isOp("(") && !p.atQueryBehindParen() {
			p.next()
			st.Query = p.query()
			p.expectOp(")")
		} else {
			st.Query = p.query()
		}
		return
	case p.tok.kind == tokVariable:
		st.Kind = ModuleTableFunction
		p.declares(p.tok.text, p.tok.line)
		st.ReturnsVar = p.next().text
		p.expectKw("TABLE")
		st.ReturnsTable = p.tableDef()
	default:
		st.Kind = ModuleScalarFunction
		st.Returns = p.dataType()
	}
	p.moduleOptions(st)
	p.acceptKw("AS")
	if p.isKws("EXTERNAL", "NAME") {
		p.refuse("CLR functions (EXTERNAL NAME)")
	}
	if p.isKws("BEGIN", "ATOMIC") {
		p.refuse("BEGIN ATOMIC (natively compiled modules)")
	}
	at := p.span()
	p.expectKw("BEGIN")
	p.inModule = true
	b := &Block{Span: at, Body: p.statementsUntilEnd("")}
	b.setEnd(p.endOffset())
	st.Body = b.Body
}

// atQueryBehindParen reports (SELECT ...) UNION ...: the parenthesis belongs to the query.
func (p *parser) atQueryBehindParen() bool {
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
				return n.isKw("UNION") || n.isKw("EXCEPT") || n.isKw("INTERSECT")
			}
		}
	}
}

func (p *parser) trigger(st *CreateModule) {
	st.Kind = ModuleTrigger
	p.expectKw("ON")
	switch {
	case p.isKw("DATABASE"):
		p.refuse("DDL triggers (ON DATABASE)")
	case p.isKws("ALL", "SERVER"):
		p.refuse("server triggers (ON ALL SERVER)")
	default:
		st.Table = p.objectName()
	}
	p.moduleOptions(st)
	switch {
	case p.acceptKw("INSTEAD", "OF"):
		st.InsteadOf = true
	case p.acceptKw("FOR"), p.acceptKw("AFTER"):
	default:
		p.syntax()
	}
	for {
		if !p.isKw("INSERT", "UPDATE", "DELETE") {
			p.syntax()
		}
		st.Events = append(st.Events, p.next().upper)
		if !p.acceptOp(",") {
			break
		}
	}
	if p.isKws("WITH", "APPEND") {
		p.refuse("WITH APPEND")
	}
	if p.isKws("NOT", "FOR") {
		p.notForReplication()
	}
	p.expectKw("AS")
	st.Body = p.moduleBody()
	if len(st.Body) == 0 {
		p.syntax()
	}
}

func (p *parser) enableTrigger() Statement {
	st := &EnableTrigger{Span: p.span()}
	st.Enable = p.next().upper == "ENABLE"
	p.next()
	if p.acceptKw("ALL") {
		st.All = true
	} else {
		for {
			st.Names = append(st.Names, p.objectName())
			if !p.acceptOp(",") {
				break
			}
		}
	}
	p.expectKw("ON")
	switch {
	case p.isKw("DATABASE"):
		p.refuse("DDL triggers (ON DATABASE)")
	case p.isKws("ALL", "SERVER"):
		p.refuse("server triggers (ON ALL SERVER)")
	}
	st.Table = p.objectName()
	return st
}

// --- security ---

func (p *parser) createRole(at Span, server bool) Statement {
	p.next()
	st := &CreateRole{Span: at, Name: p.ident(), Server: server}
	if p.acceptKw("AUTHORIZATION") {
		st.Owner = p.ident()
	}
	return st
}

func (p *parser) alterRole(at Span, server bool) Statement {
	p.next()
	st := &AlterRole{Span: at, Server: server}
	st.Name = p.principal()
	switch {
	case p.isKw("ADD", "DROP"):
		st.Action = p.next().upper
		p.expectKw("MEMBER")
		st.Member = p.principal()
	case p.isKw("WITH"):
		p.next()
		p.expectKw("NAME")
		p.expectOp("=")
		st.Action, st.NewName = "NAME", p.ident()
	default:
		p.syntax()
	}
	return st
}

// principal takes a principal's name; PUBLIC is a reserved word and a role.
func (p *parser) principal() string {
	if p.isKw("PUBLIC") {
		return p.next().text
	}
	return p.ident()
}

func (p *parser) user(at Span, alter bool) Statement {
	p.next()
	st := &CreateUser{Span: at, Alter: alter, Name: p.ident()}
	switch {
	case p.isKw("FOR", "FROM"):
		p.next()
		switch {
		case p.acceptKw("LOGIN"):
			st.Login = p.ident()
		case p.isKw("CERTIFICATE", "ASYMMETRIC"):
			p.refuse("CREATE USER ... FOR %s", p.tok.upper)
		case p.isKws("EXTERNAL", "PROVIDER"):
			p.refuse("CREATE USER ... FROM EXTERNAL PROVIDER")
		default:
			p.syntax()
		}
	case p.acceptKw("WITHOUT"):
		p.expectKw("LOGIN")
		st.WithoutLogin = true
	}
	if p.acceptKw("WITH") {
		for {
			switch {
			case p.acceptKw("DEFAULT_SCHEMA"):
				p.expectOp("=")
				if p.acceptKw("NULL") {
					break
				}
				st.DefaultSchema = p.ident()
			case p.acceptKw("PASSWORD"):
				p.expectOp("=")
				st.Password = p.stringText()
				if p.acceptKw("OLD_PASSWORD") {
					p.expectOp("=")
					p.stringText()
				}
			case p.acceptKw("NAME"):
				p.expectOp("=")
				st.NewName = p.ident()
			case p.acceptKw("LOGIN"):
				p.expectOp("=")
				st.Login = p.ident()
			case p.isKw("DEFAULT_LANGUAGE", "SID", "ALLOW_ENCRYPTED_VALUE_MODIFICATIONS"):
				st.Options = append(st.Options, p.option())
			default:
				p.syntax()
			}
			if !p.acceptOp(",") {
				break
			}
		}
	}
	return st
}

func (p *parser) login(at Span, alter bool) Statement {
	p.next()
	st := &CreateLogin{Span: at, Alter: alter, Name: p.ident()}
	switch {
	case p.acceptKw("FROM"):
		if p.acceptKw("WINDOWS") {
			st.Windows = true
		} else {
			p.refuse("CREATE LOGIN ... FROM %s", p.tok.upper)
		}
	case alter && p.isKw("ENABLE", "DISABLE"):
		on := p.next().upper == "ENABLE"
		st.Enable = &on
		return st
	case alter && p.isKw("ADD", "DROP"):
		p.refuse("ALTER LOGIN ... %s CREDENTIAL", p.tok.upper)
	}
	if p.acceptKw("WITH") {
		for {
			switch {
			case p.acceptKw("PASSWORD"):
				p.expectOp("=")
				if p.tok.kind == tokBinary {
					p.refuse("hashed passwords (PASSWORD = 0x... HASHED)")
				}
				st.Password, st.HasPassword = p.stringText(), true
				for p.isKw("MUST_CHANGE", "UNLOCK") {
					p.next()
				}
				if p.acceptKw("OLD_PASSWORD") {
					p.expectOp("=")
					p.stringText()
				}
			case p.acceptKw("DEFAULT_DATABASE"):
				p.expectOp("=")
				st.DefaultDatabase = p.ident()
			case p.isKw("DEFAULT_LANGUAGE", "SID", "CHECK_POLICY", "CHECK_EXPIRATION", "CREDENTIAL", "NAME"):
				st.Options = append(st.Options, p.option())
			default:
				p.syntax()
			}
			if !p.acceptOp(",") {
				break
			}
		}
	}
	return st
}

// permission takes GRANT, DENY and REVOKE.
func (p *parser) permission() Statement {
	st := &Permission{Span: p.span()}
	st.Action = p.next().upper
	if st.Action == "REVOKE" && p.isKws("GRANT", "OPTION", "FOR") {
		p.next()
		p.next()
		p.next()
		st.GrantOption = true
	}
	for {
		var words []string
		for p.tok.kind == tokIdent && !p.isKw("ON", "TO", "FROM") && !p.isOp("(") {
			words = append(words, p.next().upper)
		}
		if len(words) == 0 {
			p.syntax()
		}
		name := strings.Join(words, " ")
		switch name {
		case "EXEC":
			name = "EXECUTE"
		case "ALL PRIVILEGES":
			name = "ALL"
		case "CREATE PROC":
			name = "CREATE PROCEDURE"
		}
		st.Permissions = append(st.Permissions, name)
		if p.isOp("(") {
			st.Columns = append(st.Columns, p.identList()...)
		}
		if !p.acceptOp(",") {
			break
		}
	}
	if p.acceptKw("ON") {
		st.Class, st.Object = p.securable()
		if st.Class == "" {
			st.Class = "OBJECT"
		}
		if p.isOp("(") {
			st.Columns = append(st.Columns, p.identList()...)
		}
	}
	if st.Action == "REVOKE" {
		if !p.acceptKw("FROM") {
			p.expectKw("TO")
		}
	} else {
		p.expectKw("TO")
	}
	for {
		st.Principals = append(st.Principals, p.principal())
		if !p.acceptOp(",") {
			break
		}
	}
	if st.Action == "GRANT" && p.isKws("WITH", "GRANT", "OPTION") {
		p.next()
		p.next()
		p.next()
		st.GrantOption = true
	}
	if st.Action != "GRANT" && p.acceptKw("CASCADE") {
		st.Cascade = true
	}
	if p.acceptKw("AS") {
		st.As = p.principal()
	}
	return st
}

func (p *parser) alterAuthorization(at Span) Statement {
	st := &AlterAuthorization{Span: at}
	p.next()
	p.expectKw("ON")
	st.Class, st.Object = p.securable()
	if st.Class == "" {
		st.Class = "OBJECT"
	}
	p.expectKw("TO")
	if p.isKw("SCHEMA") {
		p.next()
		p.expectKw("OWNER")
		st.SchemaOwner = true
		return st
	}
	st.Principal = p.principal()
	return st
}

// --- databases ---

func (p *parser) createDatabase(at Span) Statement {
	p.next()
	st := &CreateDatabase{Span: at, Name: p.ident()}
	if p.acceptKw("CONTAINMENT") {
		p.expectOp("=")
		if p.isKw("PARTIAL") {
			p.refuse("contained databases")
		}
		p.expectKw("NONE")
	}
	if p.isKw("ON") {
		if p.peek(1).isOp("(") && p.snapshotAhead() {
			p.refuse("database snapshots")
		}
		p.next()
		p.fileSpecs()
	}
	if p.isKws("LOG", "ON") {
		p.next()
		p.next()
		p.fileSpecs()
	}
	if p.acceptKw("COLLATE") {
		st.Collation = p.ident()
	}
	if p.isKws("AS", "SNAPSHOT") {
		p.refuse("database snapshots")
	}
	if p.isKw("FOR") {
		p.refuse("CREATE DATABASE ... FOR %s", p.peek(1).upper)
	}
	if p.isKw("WITH") && !p.peek(2).isKw("AS") {
		p.next()
		for {
			st.Options = append(st.Options, p.option())
			if p.isKw("ON", "OFF") {
				st.Options[len(st.Options)-1].Value = p.next().upper
			}
			if !p.acceptOp(",") {
				break
			}
		}
	}
	return st
}

func (p *parser) snapshotAhead() bool {
	for i := 0; ; i++ {
		t := p.peek(i)
		if t.kind == tokEOF || t.kind == tokError {
			return false
		}
		if t.isKw("AS") && p.peek(i+1).isKw("SNAPSHOT") {
			return true
		}
	}
}

// fileSpecs takes file specifications, which mean nothing to a database in memory.
func (p *parser) fileSpecs() {
	p.acceptKw("PRIMARY")
	for {
		if p.isKw("FILEGROUP") {
			p.next()
			p.ident()
			p.acceptKw("DEFAULT")
		}
		p.expectOp("(")
		depth := 1
		for depth > 0 {
			switch {
			case p.tok.kind == tokEOF:
				p.syntax()
			case p.isOp("("):
				depth++
			case p.isOp(")"):
				depth--
			}
			p.next()
		}
		if !p.acceptOp(",") {
			return
		}
	}
}

func (p *parser) alterDatabase(at Span) Statement {
	p.next()
	st := &AlterDatabase{Span: at}
	switch {
	case p.isKws("SCOPED", "CONFIGURATION"):
		return p.scopedConfiguration(st)
	case p.isKw("CURRENT"):
		p.next()
	default:
		st.Name = p.ident()
	}
	switch {
	case p.isKw("SET"):
		p.next()
		p.databaseOptions(st)
	case p.acceptKw("COLLATE"):
		st.Collation = p.ident()
	case p.acceptKw("MODIFY"):
		if p.acceptKw("NAME") {
			p.expectOp("=")
			st.NewName = p.ident()
			break
		}
		p.refuse("ALTER DATABASE ... MODIFY %s", p.tok.upper)
	case p.isKw("ADD", "REMOVE"):
		p.refuse("ALTER DATABASE ... %s %s", p.tok.upper, p.peek(1).upper)
	default:
		p.syntax()
	}
	return st
}

// databaseOptions takes SET name [=] value [, ...] [WITH ROLLBACK ...].
func (p *parser) databaseOptions(st *AlterDatabase) {
	for {
		o := Option{Pos: p.pos()}
		if p.tok.kind != tokIdent {
			p.syntax()
		}
		o.Name = p.next().upper
		eq := p.acceptOp("=")
		switch {
		case p.isOp("("):
			o.Sub = p.optionList()
		case p.tok.kind == tokIdent && !p.isKw("WITH"):
			o.Value = p.next().upper
			if p.isOp("(") {
				o.Sub = p.optionList()
			}
		case p.tok.kind == tokInt || p.isString(p.tok):
			o.Value = p.next().text
			if p.isKw("SECONDS", "MINUTES", "DAYS", "HOURS") {
				o.Value += " " + p.next().upper
			}
		case eq:
			p.syntax()
		}
		st.Options = append(st.Options, o)
		if !p.acceptOp(",") {
			break
		}
	}
	if p.isKw("WITH") && (p.peek(1).isKw("ROLLBACK") || p.peek(1).isKw("NO_WAIT")) {
		p.next()
		st.With = append(st.With, p.next().upper)
		if st.With[0] == "ROLLBACK" {
			switch {
			case p.acceptKw("IMMEDIATE"):
				st.With = append(st.With, "IMMEDIATE")
			case p.acceptKw("AFTER"):
				p.integer()
				p.acceptKw("SECONDS")
				st.With = append(st.With, "AFTER")
			default:
				p.syntax()
			}
		}
	}
}

func (p *parser) scopedConfiguration(st *AlterDatabase) Statement {
	p.next()
	p.next()
	st.Scoped = true
	if p.isKws("FOR", "SECONDARY") {
		p.refuse("ALTER DATABASE SCOPED CONFIGURATION FOR SECONDARY")
	}
	if p.acceptKw("CLEAR") {
		st.Options = []Option{{Pos: p.pos(), Name: "CLEAR", Value: p.ident()}}
		if p.tok.kind == tokBinary {
			p.next()
		}
		return st
	}
	p.expectKw("SET")
	st.Options = []Option{p.option()}
	return st
}
