package tsql

import "strings"

// moduleFirst refuses a module statement that is not the first of its batch.
func (p *parser) moduleFirst(first bool, what string, keyword token) {
	if first && p.nested == 0 {
		return
	}
	if p.nested > 0 || p.inModule {
		p.failAt(keyword.line, 156, 15, 1, "Incorrect syntax near the keyword '%s'.", keyword.text)
	}
	p.fail(111, 15, 1, "'%s' must be the first statement in a query batch.", what)
}

func (p *parser) create(first bool) Statement {
	at := p.span()
	p.next()
	action := ModuleCreate
	if p.isKws("OR", "ALTER") {
		p.next()
		p.next()
		action = ModuleCreateOrAlter
		if !p.isKw("PROC", "PROCEDURE", "VIEW", "FUNCTION", "TRIGGER") {
			p.syntax()
		}
	}
	t := p.tok
	if t.kind != tokIdent {
		p.syntax()
	}
	switch t.upper {
	case "PROC", "PROCEDURE", "VIEW", "FUNCTION", "TRIGGER":
		return p.module(at, action, first)
	case "TABLE":
		return p.createTable(at)
	case "INDEX", "UNIQUE", "CLUSTERED", "NONCLUSTERED":
		return p.createIndex(at)
	case "SCHEMA":
		p.moduleFirst(first, "CREATE SCHEMA", t)
		return p.createSchema(at)
	case "TYPE":
		return p.createType(at)
	case "SEQUENCE":
		return p.sequence(at, false)
	case "SYNONYM":
		p.next()
		st := &CreateSynonym{Span: at, Name: p.objectName()}
		p.expectKw("FOR")
		st.For = p.objectName()
		return st
	case "STATISTICS":
		return p.createStatistics(at)
	case "SERVER":
		if p.peek(1).isKw("ROLE") {
			p.next()
			return p.createRole(at, true)
		}
	case "ROLE":
		return p.createRole(at, false)
	case "USER":
		return p.user(at, false)
	case "LOGIN":
		return p.login(at, false)
	case "DATABASE":
		if n := p.peek(1); n.isKw("AUDIT") || n.isKw("ENCRYPTION") || n.isKw("SCOPED") {
			p.refuse("CREATE DATABASE %s", n.upper)
		}
		return p.createDatabase(at)
	case "COLUMNSTORE":
		p.refuse("columnstore indexes")
	case "PRIMARY", "XML", "SPATIAL", "FULLTEXT", "SELECTIVE":
		p.refuse("CREATE %s INDEX", t.upper)
	case "APPLICATION", "ASSEMBLY", "ASYMMETRIC", "AVAILABILITY", "BROKER", "CERTIFICATE", "COLUMN", "CONTRACT",
		"CREDENTIAL", "CRYPTOGRAPHIC", "DEFAULT", "ENDPOINT", "EVENT", "EXTERNAL", "MASTER", "MESSAGE", "PARTITION",
		"QUEUE", "REMOTE", "RESOURCE", "ROUTE", "RULE", "SEARCH", "SECURITY", "SERVICE", "SYMMETRIC", "WORKLOAD", "AGGREGATE":
		p.refuse("CREATE %s", t.upper)
	}
	p.syntax()
	return nil
}

func (p *parser) alter(first bool) Statement {
	at := p.span()
	p.next()
	t := p.tok
	if t.kind != tokIdent {
		p.syntax()
	}
	switch t.upper {
	case "PROC", "PROCEDURE", "VIEW", "FUNCTION", "TRIGGER":
		return p.module(at, ModuleAlter, first)
	case "TABLE":
		return p.alterTable(at)
	case "INDEX":
		return p.alterIndex(at)
	case "SCHEMA":
		return p.alterSchema(at)
	case "SEQUENCE":
		return p.sequence(at, true)
	case "ROLE":
		return p.alterRole(at, false)
	case "SERVER":
		if p.peek(1).isKw("ROLE") {
			p.next()
			return p.alterRole(at, true)
		}
		p.refuse("ALTER SERVER %s", p.peek(1).upper)
	case "USER":
		return p.user(at, true)
	case "LOGIN":
		return p.login(at, true)
	case "DATABASE":
		return p.alterDatabase(at)
	case "AUTHORIZATION":
		return p.alterAuthorization(at)
	}
	if p.isName(t) || reserved[t.upper] {
		switch t.upper {
		case "APPLICATION", "ASSEMBLY", "ASYMMETRIC", "AVAILABILITY", "CERTIFICATE", "COLUMN", "CREDENTIAL", "ENDPOINT",
			"EVENT", "EXTERNAL", "FULLTEXT", "MASTER", "MESSAGE", "PARTITION", "QUEUE", "REMOTE", "RESOURCE", "ROUTE", "SEARCH",
			"SECURITY", "SERVICE", "SYMMETRIC", "WORKLOAD", "XML":
			p.refuse("ALTER %s", t.upper)
		}
	}
	p.syntax()
	return nil
}

func (p *parser) drop() Statement {
	at := p.span()
	p.next()
	t := p.tok
	if t.kind != tokIdent {
		p.syntax()
	}
	kind := t.upper
	switch kind {
	case "PROC":
		kind = "PROCEDURE"
	case "INDEX":
		return p.dropIndex(at)
	case "SERVER":
		if !p.peek(1).isKw("ROLE") {
			p.refuse("DROP SERVER %s", p.peek(1).upper)
		}
		p.next()
		kind = "SERVER ROLE"
	}
	switch kind {
	case "TABLE", "VIEW", "PROCEDURE", "FUNCTION", "TRIGGER", "SCHEMA", "TYPE", "SEQUENCE", "SYNONYM", "ROLE", "USER", "LOGIN",
		"DATABASE", "STATISTICS", "SERVER ROLE":
	case "AGGREGATE", "APPLICATION", "ASSEMBLY", "ASYMMETRIC", "AVAILABILITY", "BROKER", "CERTIFICATE", "COLUMN", "CONTRACT", "CREDENTIAL",
		"DEFAULT", "ENDPOINT", "EVENT", "EXTERNAL", "FULLTEXT", "MASTER", "MESSAGE", "PARTITION", "QUEUE", "REMOTE", "RESOURCE", "ROUTE",
		"RULE", "SEARCH", "SECURITY", "SERVICE", "SIGNATURE", "SYMMETRIC", "WORKLOAD", "XML":
		p.refuse("DROP %s", kind)
	default:
		p.syntax()
	}
	p.next()
	st := &DropObject{Span: at, Kind: kind}
	if p.isKws("IF", "EXISTS") {
		p.next()
		p.next()
		st.IfExists = true
	}
	for {
		st.Names = append(st.Names, p.objectName())
		if !p.acceptOp(",") {
			break
		}
	}
	if kind == "TRIGGER" && p.acceptKw("ON") {
		p.refuse("DDL triggers (DROP TRIGGER ... ON)")
	}
	return st
}

func (p *parser) createTable(at Span) Statement {
	st := &CreateTable{Span: at}
	p.next()
	st.Name = p.objectName()
	if p.isKw("AS") {
		p.next()
		p.refuse("CREATE TABLE ... AS %s", p.tok.upper)
	}
	st.Def = p.tableDef()
	for {
		switch {
		case p.isKw("AS"):
			p.next()
			p.refuse("CREATE TABLE ... AS %s", p.tok.upper)
		case p.isKw("ON"):
			p.next()
			st.OnGroup = p.filegroup()
		case p.isKw("TEXTIMAGE_ON"):
			p.next()
			p.filegroup()
		case p.isKw("FILESTREAM_ON"):
			p.refuse("FILESTREAM")
		case p.isKw("WITH") && p.peek(1).isOp("("):
			p.next()
			st.Options = p.optionList()
		default:
			return st
		}
	}
}

func (p *parser) filegroup() string {
	if p.isString(p.tok) {
		return p.next().text
	}
	name := ""
	if p.isKw("DEFAULT", "PRIMARY") {
		name = p.next().text
	} else {
		name = p.ident()
	}
	if p.isOp("(") {
		p.refuse("partition schemes")
	}
	return name
}

// optionList takes (NAME = value, NAME, ...).
func (p *parser) optionList() []Option {
	defer p.enter()()
	p.expectOp("(")
	var list []Option
	for {
		list = append(list, p.option())
		if !p.acceptOp(",") {
			break
		}
	}
	p.expectOp(")")
	return list
}

// option takes one option in any of its forms: NAME, NAME = value, NAME value unit.
func (p *parser) option() Option {
	o := Option{Pos: p.pos()}
	if p.tok.kind != tokIdent {
		p.syntax()
	}
	o.Name = p.next().upper
	if !p.acceptOp("=") {
		if p.isOp("(") { // WAIT_AT_LOW_PRIORITY (...)
			o.Sub = p.optionList()
		}
		return o
	}
	switch {
	case p.isOp("("):
		o.Sub = p.optionList()
		return o
	case p.tok.kind == tokEOF || p.tok.kind == tokOp && !p.isOp("-"):
		p.syntax()
	}
	from := p.tok
	neg := ""
	if p.acceptOp("-") {
		neg = "-"
	}
	t := p.next()
	o.Value = neg + t.text
	if t.kind == tokIdent && from.kind == tokIdent {
		o.Value = t.upper
	}
	// MAX_DURATION = 1 MINUTES, DATA_COMPRESSION = PAGE ON PARTITIONS (...)
	if p.isKw("MINUTES", "MINUTE", "HOURS", "DAYS", "DAY", "SECONDS", "PERCENT", "KB", "MB", "GB") {
		o.Value += " " + p.next().upper
	}
	if p.isKws("ON", "PARTITIONS") {
		p.refuse("ON PARTITIONS")
	}
	if p.isOp("(") {
		o.Sub = p.optionList()
	}
	return o
}

// tableDef takes the parenthesized columns, constraints and indexes of a table.
func (p *parser) tableDef() *TableDef {
	d := &TableDef{Pos: p.pos()}
	p.expectOp("(")
	for {
		p.tableElement(d)
		if !p.acceptOp(",") {
			break
		}
		if p.isOp(")") { // a trailing comma is allowed
			break
		}
	}
	p.expectOp(")")
	return d
}

func (p *parser) tableElement(d *TableDef) {
	switch {
	case p.isKw("CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "DEFAULT"):
		d.Constraints = append(d.Constraints, p.constraint(""))
	case p.isKw("INDEX"):
		d.Indexes = append(d.Indexes, p.inlineIndex(""))
	case p.isKws("PERIOD", "FOR"):
		p.refuse("PERIOD FOR SYSTEM_TIME (temporal tables)")
	default:
		d.Columns = append(d.Columns, p.columnDef())
	}
}

func (p *parser) columnDef() *ColumnDef {
	c := &ColumnDef{Pos: p.pos(), Name: p.ident()}
	if p.isKw("AS") {
		p.next()
		from := p.tok.start
		c.Computed = p.expr()
		c.ComputedSrc = p.src[from:p.endOffset()]
		if p.acceptKw("PERSISTED") {
			c.Persisted = true
			if p.acceptKw("NOT") {
				p.expectKw("NULL")
				c.Null = new(bool)
			}
		}
	} else if p.isOp(",") || p.isOp(")") {
		// A column called timestamp may leave out its type.
		if !strings.EqualFold(c.Name, "timestamp") {
			p.fail(173, 15, 1, "The definition for column '%s' must include a data type.", c.Name)
		}
		c.Type = &DataType{Pos: c.Pos, Name: "timestamp"}
	} else {
		c.Type = p.dataType()
	}
	p.columnAttributes(c)
	return c
}

// columnAttributes takes what may follow a column's type, in any order.
func (p *parser) columnAttributes(c *ColumnDef) {
	for {
		switch {
		case p.isKw("COLLATE"):
			p.next()
			c.Collation = p.ident()
		case p.isKw("NULL"):
			p.next()
			yes := true
			c.Null = &yes
		case p.isKws("NOT", "NULL"):
			p.next()
			p.next()
			c.Null = new(bool)
		case p.isKw("IDENTITY"):
			p.next()
			c.Identity = &Identity{1, 1}
			if p.acceptOp("(") {
				c.Identity.Seed = p.integer()
				p.expectOp(",")
				c.Identity.Increment = p.integer()
				p.expectOp(")")
			}
		case p.isKws("NOT", "FOR"):
			p.notForReplication()
			c.NotForRepl = true
		case p.isKw("ROWGUIDCOL"):
			p.next()
			c.RowGUIDCol = true
		case p.isKw("SPARSE"):
			p.next()
			c.Sparse = true
		case p.isKw("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "DEFAULT", "REFERENCES", "FOREIGN"):
			c.Constraints = append(c.Constraints, p.constraint(c.Name))
		case p.isKw("INDEX"):
			c.Indexes = append(c.Indexes, p.inlineIndex(c.Name))
		case p.isKw("GENERATED"):
			p.refuse("GENERATED ALWAYS")
		case p.isKw("MASKED"):
			p.refuse("MASKED WITH (dynamic data masking)")
		case p.isKw("ENCRYPTED"):
			p.refuse("ENCRYPTED WITH (Always Encrypted)")
		case p.isKw("FILESTREAM"):
			p.refuse("FILESTREAM")
		case p.isKw("HIDDEN"):
			p.refuse("HIDDEN columns")
		default:
			return
		}
	}
}

func (p *parser) notForReplication() {
	p.expectKw("NOT", "FOR", "REPLICATION")
}

// constraint takes a table constraint, or with column a column constraint.
func (p *parser) constraint(column string) *Constraint {
	c := &Constraint{Pos: p.pos(), Column: column}
	if p.acceptKw("CONSTRAINT") {
		c.Name = p.ident()
	}
	switch {
	case p.isKw("DEFAULT"):
		p.next()
		c.Kind = ConstraintDefault
		from := p.tok.start
		c.Expr = p.expr()
		c.ExprSrc = p.src[from:p.endOffset()]
		if column == "" {
			p.expectKw("FOR")
			c.Column = p.ident()
		}
		if p.isKws("WITH", "VALUES") {
			p.next()
			p.next()
			c.WithValues = true
		}
	case p.isKw("CHECK"):
		p.next()
		c.Kind = ConstraintCheck
		if p.isKw("NOT") {
			p.notForReplication()
			c.NotForRepl = true
		}
		p.expectOp("(")
		from := p.tok.start
		c.Expr = p.condition()
		c.ExprSrc = p.src[from:p.endOffset()]
		p.expectOp(")")
	case p.isKw("PRIMARY", "UNIQUE"):
		c.Kind = ConstraintUnique
		if p.next().upper == "PRIMARY" {
			p.expectKw("KEY")
			c.Kind = ConstraintPrimaryKey
		}
		c.Clustered = p.clustered()
		if p.isKw("HASH") {
			p.refuse("HASH indexes (memory-optimized tables)")
		}
		if p.isOp("(") {
			c.Columns = p.indexColumns()
		} else if column == "" {
			p.syntax()
		} else {
			c.Columns = []*IndexColumn{{Pos: c.Pos, Name: column}}
		}
		if p.isKw("WITH") {
			c.Options = p.indexOptions()
		}
		if p.isKw("ON") && !p.peek(1).isKw("DELETE") && !p.peek(1).isKw("UPDATE") {
			p.next()
			c.Filegroup = p.filegroup()
		}
	case p.isKw("FOREIGN", "REFERENCES"):
		c.Kind = ConstraintForeignKey
		if p.acceptKw("FOREIGN") {
			p.expectKw("KEY")
			if p.isOp("(") {
				for _, n := range p.identList() {
					c.Columns = append(c.Columns, &IndexColumn{Pos: c.Pos, Name: n})
				}
			} else if column == "" {
				p.syntax()
			}
		}
		if len(c.Columns) == 0 && column != "" {
			c.Columns = []*IndexColumn{{Pos: c.Pos, Name: column}}
		}
		p.expectKw("REFERENCES")
		c.RefTable = p.objectName()
		if p.isOp("(") {
			c.RefColumns = p.identList()
		}
		p.referentialActions(c)
	default:
		p.syntax()
	}
	return c
}

func (p *parser) referentialActions(c *Constraint) {
	for {
		switch {
		case p.isKws("ON", "DELETE"):
			p.next()
			p.next()
			c.OnDelete = p.referentialAction()
		case p.isKws("ON", "UPDATE"):
			p.next()
			p.next()
			c.OnUpdate = p.referentialAction()
		case p.isKws("NOT", "FOR"):
			p.notForReplication()
			c.NotForRepl = true
		default:
			return
		}
	}
}

func (p *parser) referentialAction() string {
	switch {
	case p.acceptKw("NO", "ACTION"):
		return "NO ACTION"
	case p.acceptKw("CASCADE"):
		return "CASCADE"
	case p.acceptKw("SET", "NULL"):
		return "SET NULL"
	case p.acceptKw("SET", "DEFAULT"):
		return "SET DEFAULT"
	}
	p.syntax()
	return ""
}

func (p *parser) clustered() *bool {
	switch {
	case p.acceptKw("CLUSTERED"):
		yes := true
		return &yes
	case p.acceptKw("NONCLUSTERED"):
		return new(bool)
	}
	return nil
}

func (p *parser) indexColumns() []*IndexColumn {
	p.expectOp("(")
	var cols []*IndexColumn
	for {
		c := &IndexColumn{Pos: p.pos(), Name: p.ident()}
		if p.acceptKw("DESC") {
			c.Desc = true
		} else {
			p.acceptKw("ASC")
		}
		cols = append(cols, c)
		if !p.acceptOp(",") {
			break
		}
	}
	p.expectOp(")")
	return cols
}

// indexOptions takes WITH (options), or the old WITH FILLFACTOR = n.
func (p *parser) indexOptions() []Option {
	p.expectKw("WITH")
	if p.isOp("(") {
		return p.optionList()
	}
	var list []Option
	for {
		list = append(list, p.option())
		if !p.acceptOp(",") {
			return list
		}
	}
}

func (p *parser) inlineIndex(column string) *IndexDef {
	x := &IndexDef{Pos: p.pos()}
	p.expectKw("INDEX")
	x.Name = p.ident()
	x.Unique = p.acceptKw("UNIQUE")
	x.Clustered = p.clustered()
	switch {
	case p.isKw("COLUMNSTORE"):
		p.refuse("columnstore indexes")
	case p.isKw("HASH"):
		p.refuse("HASH indexes (memory-optimized tables)")
	case p.isOp("("):
		x.Columns = p.indexColumns()
	case column != "":
		x.Columns = []*IndexColumn{{Pos: x.Pos, Name: column}}
	default:
		p.syntax()
	}
	x.Include, x.Where, x.WhereSrc = p.includeWhere()
	if p.isKw("WITH") {
		x.Options = p.indexOptions()
	}
	if p.acceptKw("ON") {
		x.Filegroup = p.filegroup()
	}
	return x
}

func (p *parser) includeWhere() (include []string, where Expr, src string) {
	if p.acceptKw("INCLUDE") {
		include = p.identList()
	}
	if p.acceptKw("WHERE") {
		from := p.tok.start
		where = p.condition()
		src = p.src[from:p.endOffset()]
	}
	return include, where, src
}

func (p *parser) createIndex(at Span) Statement {
	st := &CreateIndex{Span: at}
	st.Unique = p.acceptKw("UNIQUE")
	if c := p.clustered(); c != nil {
		st.Clustered = *c
	}
	if p.isKw("COLUMNSTORE") {
		p.refuse("columnstore indexes")
	}
	p.expectKw("INDEX")
	st.Name = p.ident()
	p.expectKw("ON")
	st.Table = p.objectName()
	st.Columns = p.indexColumns()
	st.Include, st.Where, st.WhereSrc = p.includeWhere()
	if p.isKw("WITH") && (p.peek(1).isOp("(") || p.peek(2).isOp("=") || p.peek(1).isKw("DROP_EXISTING") || p.peek(1).isKw("PAD_INDEX")) {
		st.Options = p.indexOptions()
	}
	if p.acceptKw("ON") {
		st.Filegroup = p.filegroup()
	}
	return st
}

func (p *parser) alterIndex(at Span) Statement {
	st := &AlterIndex{Span: at}
	p.next()
	if !p.acceptKw("ALL") {
		st.Name = p.ident()
	}
	p.expectKw("ON")
	st.Table = p.objectName()
	switch {
	case p.isKw("REBUILD", "REORGANIZE"):
		st.Action = p.next().upper
		if p.isKws("PARTITION") && p.peek(1).isOp("=") {
			if !p.peek(2).isKw("ALL") {
				p.refuse("ALTER INDEX ... PARTITION")
			}
			p.next()
			p.next()
			p.next()
		}
		if p.isKw("WITH") && p.peek(1).isOp("(") {
			st.Options = p.indexOptions()
		}
	case p.isKw("DISABLE"):
		st.Action = p.next().upper
	case p.isKw("SET"):
		st.Action = p.next().upper
		st.Options = p.optionList()
	case p.isKw("RESUME", "PAUSE", "ABORT"):
		p.refuse("ALTER INDEX ... %s", p.tok.upper)
	default:
		p.syntax()
	}
	return st
}

func (p *parser) dropIndex(at Span) Statement {
	st := &DropIndex{Span: at}
	p.next()
	if p.isKws("IF", "EXISTS") {
		p.next()
		p.next()
		st.IfExists = true
	}
	for {
		it := &DropIndexItem{Pos: p.pos()}
		n := p.objectName()
		if p.acceptKw("ON") {
			it.Index = n.Name
			it.Table = p.objectName()
			if p.isKw("WITH") && p.peek(1).isOp("(") {
				p.next()
				it.Options = p.optionList()
			}
		} else { // the old form: table.index
			if n.Schema == "" {
				p.failAt(n.Line, 159, 15, 1, "Must specify the table name and index name for the DROP INDEX statement.")
			}
			it.Index = n.Name
			it.Table = ObjectName{Pos: n.Pos, Database: n.Server, Schema: n.Database, Name: n.Schema}
		}
		st.Items = append(st.Items, it)
		if !p.acceptOp(",") {
			return st
		}
	}
}

func (p *parser) alterTable(at Span) Statement {
	st := &AlterTable{Span: at}
	p.next()
	st.Name = p.objectName()
	if p.isKw("WITH") && (p.peek(1).isKw("CHECK") || p.peek(1).isKw("NOCHECK")) {
		p.next()
		st.Check = p.next().upper
	}
	switch {
	case p.isKw("ADD"):
		p.next()
		st.Action = AlterAdd
		st.Add = &TableDef{Pos: p.pos()}
		for {
			p.tableElement(st.Add)
			if !p.acceptOp(",") {
				break
			}
		}
	case p.isKw("DROP"):
		p.next()
		st.Action = AlterDrop
		p.dropItems(st)
	case p.isKws("ALTER", "COLUMN"):
		p.next()
		p.next()
		st.Action = AlterColumn
		p.alterColumn(st)
	case p.isKw("SET"):
		p.next()
		st.Action = AlterSet
		st.Options = p.optionList()
	case p.isKw("REBUILD"):
		p.next()
		st.Action = AlterRebuild
		if p.isKw("PARTITION") {
			p.next()
			p.expectOp("=")
			p.expectKw("ALL")
		}
		if p.isKw("WITH") && p.peek(1).isOp("(") {
			p.next()
			st.Options = p.optionList()
		}
	case p.isKws("CHECK", "CONSTRAINT"), p.isKws("NOCHECK", "CONSTRAINT"), p.isKws("ENABLE", "TRIGGER"), p.isKws("DISABLE", "TRIGGER"):
		st.Action = map[string]AlterAction{"CHECK": AlterCheck, "NOCHECK": AlterNoCheck, "ENABLE": AlterEnableTrg, "DISABLE": AlterDisableTrg}[p.next().upper]
		p.next()
		if p.acceptKw("ALL") {
			st.All = true
			break
		}
		for {
			st.Names = append(st.Names, p.ident())
			if !p.acceptOp(",") {
				break
			}
		}
	case p.isKw("SWITCH", "SPLIT", "MERGE"), p.isKw("ENABLE", "DISABLE"):
		p.refuse("ALTER TABLE ... %s %s", p.tok.upper, p.peek(1).upper)
	default:
		p.syntax()
	}
	return st
}

func (p *parser) dropItems(st *AlterTable) {
	// COLUMN or CONSTRAINT holds for the names that follow until the other word comes.
	column := false
	for {
		it := &DropItem{Pos: p.pos()}
		switch {
		case p.isKws("PERIOD", "FOR"):
			p.refuse("PERIOD FOR SYSTEM_TIME (temporal tables)")
		case p.acceptKw("COLUMN"):
			column = true
		case p.acceptKw("CONSTRAINT"):
			column = false
		}
		if p.isKws("IF", "EXISTS") {
			p.next()
			p.next()
			it.IfExists = true
		}
		it.Column = column
		it.Name = p.ident()
		if p.isKw("WITH") && p.peek(1).isOp("(") {
			p.next()
			it.Options = p.optionList()
		}
		st.Drop = append(st.Drop, it)
		if !p.acceptOp(",") {
			return
		}
	}
}

func (p *parser) alterColumn(st *AlterTable) {
	c := &ColumnDef{Pos: p.pos(), Name: p.ident()}
	st.Column = c
	if p.isKw("ADD", "DROP") {
		st.AddProperty = p.next().upper
		switch {
		case p.isKw("PERSISTED", "ROWGUIDCOL", "SPARSE"):
			st.AddProperty += " " + p.next().upper
		case p.isKws("NOT", "FOR"):
			p.notForReplication()
			st.AddProperty += " NOT FOR REPLICATION"
		default:
			p.refuse("ALTER COLUMN ... %s %s", st.AddProperty, p.tok.upper)
		}
		return
	}
	c.Type = p.dataType()
	for {
		switch {
		case p.acceptKw("COLLATE"):
			c.Collation = p.ident()
		case p.acceptKw("NULL"):
			yes := true
			c.Null = &yes
		case p.isKws("NOT", "NULL"):
			p.next()
			p.next()
			c.Null = new(bool)
		case p.acceptKw("SPARSE"):
			c.Sparse = true
		case p.isKw("WITH") && p.peek(1).isOp("("):
			p.next()
			st.Options = p.optionList()
		default:
			return
		}
	}
}

func (p *parser) createSchema(at Span) Statement {
	st := &CreateSchema{Span: at}
	p.next()
	if p.acceptKw("AUTHORIZATION") {
		st.Owner = p.ident()
		st.Name = st.Owner
	} else {
		st.Name = p.ident()
		if p.acceptKw("AUTHORIZATION") {
			st.Owner = p.ident()
		}
	}
	for p.isKw("CREATE", "GRANT", "DENY", "REVOKE") {
		st.Elements = append(st.Elements, p.statementAt(true))
	}
	return st
}

func (p *parser) alterSchema(at Span) Statement {
	st := &AlterSchema{Span: at}
	p.next()
	st.Name = p.ident()
	p.expectKw("TRANSFER")
	st.Class, st.Object = p.securable()
	return st
}

// securable takes [class::]name.
func (p *parser) securable() (class string, name ObjectName) {
	n := 0
	for p.peek(n).kind == tokIdent && n < 4 {
		n++
	}
	if n > 0 && p.peek(n).isOp("::") {
		var words []string
		for range n {
			words = append(words, p.next().upper)
		}
		p.next()
		class = strings.Join(words, " ")
	}
	// dbo is a name like any other, but public and such are reserved words.
	if p.isKw("PUBLIC") {
		name = ObjectName{Pos: p.pos(), Name: p.next().text}
		return class, name
	}
	return class, p.objectName()
}

func (p *parser) createType(at Span) Statement {
	st := &CreateType{Span: at}
	p.next()
	st.Name = p.objectName()
	switch {
	case p.acceptKw("FROM"):
		st.From = p.dataType()
		switch {
		case p.acceptKw("NULL"):
			yes := true
			st.Null = &yes
		case p.acceptKw("NOT", "NULL"):
			st.Null = new(bool)
		}
	case p.acceptKw("AS"):
		p.expectKw("TABLE")
		st.Table = p.tableDef()
		if p.isKw("WITH") && p.peek(1).isOp("(") {
			p.refuse("memory-optimized table types")
		}
	case p.isKw("EXTERNAL"):
		p.refuse("CLR types (EXTERNAL NAME)")
	default:
		p.syntax()
	}
	return st
}

func (p *parser) sequence(at Span, alter bool) Statement {
	st := &CreateSequence{Span: at, Alter: alter}
	p.next()
	st.Name = p.objectName()
	number := func() *int64 {
		n := p.integer()
		return &n
	}
	for {
		switch {
		case !alter && p.acceptKw("AS"):
			st.Type = p.dataType()
		case p.acceptKw("START"):
			p.expectKw("WITH")
			st.Start = number()
		case alter && p.acceptKw("RESTART"):
			st.Restart = true
			if p.acceptKw("WITH") {
				st.RestartWith = number()
			}
		case p.acceptKw("INCREMENT"):
			p.expectKw("BY")
			st.Increment = number()
		case p.acceptKw("MINVALUE"):
			st.Min = number()
		case p.acceptKw("MAXVALUE"):
			st.Max = number()
		case p.acceptKw("NO", "MINVALUE"):
			st.NoMin = true
		case p.acceptKw("NO", "MAXVALUE"):
			st.NoMax = true
		case p.acceptKw("CYCLE"):
			yes := true
			st.Cycle = &yes
		case p.acceptKw("NO", "CYCLE"):
			st.Cycle = new(bool)
		case p.acceptKw("CACHE"):
			if p.tok.kind == tokInt {
				st.Cache = number()
			} else {
				st.CacheWithoutSize = true
			}
		case p.acceptKw("NO", "CACHE"):
			st.NoCache = true
		default:
			return st
		}
	}
}

func (p *parser) createStatistics(at Span) Statement {
	st := &CreateStatistics{Span: at}
	p.next()
	st.Name = p.ident()
	p.expectKw("ON")
	st.Table = p.objectName()
	st.Columns = p.identList()
	if p.acceptKw("WHERE") {
		p.condition()
	}
	if p.isKw("WITH") {
		p.statisticsOptions()
	}
	return st
}

func (p *parser) updateStatistics() Statement {
	st := &UpdateStatistics{Span: p.span()}
	p.next()
	p.next()
	st.Table = p.objectName()
	if p.isOp("(") {
		st.Names = p.identList()
	} else if p.isName(p.tok) && !p.batchSeparator() {
		st.Names = []string{p.takeName()}
	}
	if p.isKw("WITH") && !p.peek(2).isKw("AS") && !p.peek(2).isOp("(") {
		p.statisticsOptions()
	}
	return st
}

// statisticsOptions takes WITH FULLSCAN, SAMPLE n PERCENT, NORECOMPUTE ...: there are no
// statistics to compute, so they are read and dropped.
func (p *parser) statisticsOptions() {
	p.expectKw("WITH")
	for {
		switch {
		case p.isKw("FULLSCAN", "NORECOMPUTE", "RESAMPLE", "ALL", "COLUMNS", "INDEX", "INCREMENTAL", "MAXDOP", "PERSIST_SAMPLE_PERCENT", "AUTO_DROP"):
			p.next()
			if p.acceptOp("=") {
				p.next()
			}
		case p.acceptKw("SAMPLE"):
			p.integer()
			if !p.isKw("PERCENT", "ROWS") {
				p.syntax()
			}
			p.next()
		default:
			p.syntax()
		}
		if !p.acceptOp(",") {
			return
		}
	}
}
