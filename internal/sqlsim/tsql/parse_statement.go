package tsql

import "strings"

func (p *parser) span() Span { return Span{Pos: p.pos()} }

// batch takes all statements up to the end of the text.
func (p *parser) batch() []Statement {
	var list []Statement
	for {
		for p.acceptOp(";") {
			p.terminated = true
		}
		if p.tok.kind == tokEOF {
			return list
		}
		first := len(list) == 0
		list = append(list, p.statementAt(first))
	}
}

// statement takes one statement that is not the first of its batch.
func (p *parser) statement() Statement { return p.statementAt(false) }

// statementAt takes one statement and the semicolon behind it.
func (p *parser) statementAt(first bool) Statement {
	defer p.enter()()
	st := p.statementBody(first)
	st.setEnd(p.endOffset())
	// The semicolon of an inner statement (IF x COMMIT;) ends the outer one too.
	p.terminated = p.i > 0 && p.toks[p.i-1].isOp(";")
	for p.acceptOp(";") {
		p.terminated = true
	}
	return st
}

// needTerminator refuses a statement that needs a semicolon before it.
func (p *parser) needTerminator() {
	if !p.terminated {
		p.syntax()
	}
}

func (p *parser) statementBody(first bool) Statement {
	t := p.tok
	if t.kind != tokIdent {
		switch {
		case t.isOp("(") && p.atQuery():
			return p.selectStatement(nil)
		case first && p.isName(t):
			return p.impliedExec()
		}
		p.syntax()
	}
	switch t.upper {
	case "SELECT":
		return p.selectStatement(nil)
	case "WITH":
		p.needTerminator()
		return p.withStatement()
	case "INSERT":
		return p.insert(nil)
	case "UPDATE":
		if p.peek(1).isKw("STATISTICS") {
			return p.updateStatistics()
		}
		return p.update(nil)
	case "DELETE":
		return p.delete(nil)
	case "MERGE":
		return p.merge(nil)
	case "TRUNCATE":
		return p.truncate()
	case "DECLARE":
		return p.declare()
	case "SET":
		return p.set()
	case "IF":
		return p.ifStatement()
	case "WHILE":
		return p.while()
	case "BEGIN":
		return p.begin()
	case "BREAK":
		if p.loops == 0 {
			p.fail(135, 15, 1, "Cannot use a BREAK statement outside the scope of a WHILE statement.")
		}
		st := &Break{Span: p.span()}
		p.next()
		return st
	case "CONTINUE":
		if p.loops == 0 {
			p.fail(136, 15, 1, "Cannot use a CONTINUE statement outside the scope of a WHILE statement.")
		}
		st := &Continue{Span: p.span()}
		p.next()
		return st
	case "RETURN":
		return p.returnStatement()
	case "PRINT":
		st := &Print{Span: p.span()}
		p.next()
		st.X = p.expr()
		return st
	case "RAISERROR":
		return p.raiseError()
	case "WAITFOR":
		return p.waitFor()
	case "EXEC", "EXECUTE":
		if p.peek(1).isKw("AS") {
			return p.executeAs()
		}
		return p.exec()
	case "REVERT":
		st := &Revert{Span: p.span()}
		p.next()
		if p.isKw("WITH") && p.peek(1).isKw("COOKIE") {
			p.refuse("REVERT WITH COOKIE")
		}
		return st
	case "COMMIT":
		return p.commit()
	case "ROLLBACK":
		return p.rollback()
	case "SAVE":
		st := &SaveTran{Span: p.span()}
		p.next()
		p.tranWord()
		st.Name = p.tranName()
		if st.Name == "" {
			p.syntax()
		}
		return st
	case "USE":
		if p.inModule {
			p.fail(154, 15, 1, "a USE database statement is not allowed in a procedure, function or trigger.")
		}
		st := &Use{Span: p.span()}
		p.next()
		st.Database = p.ident()
		return st
	case "KILL":
		st := &Kill{Span: p.span()}
		p.next()
		st.SPID = p.expr()
		if p.isKws("WITH", "STATUSONLY") {
			p.refuse("KILL ... WITH STATUSONLY")
		}
		return st
	case "CHECKPOINT":
		st := &Checkpoint{Span: p.span()}
		p.next()
		if p.tok.kind == tokInt {
			p.next()
		}
		return st
	case "DBCC":
		return p.dbcc()
	case "OPEN", "CLOSE", "DEALLOCATE":
		return p.cursorOp()
	case "FETCH":
		return p.fetch()
	case "CREATE":
		return p.create(first)
	case "ALTER":
		return p.alter(first)
	case "DROP":
		return p.drop()
	case "GRANT", "DENY", "REVOKE":
		return p.permission()
	case "GOTO":
		p.refuse("GOTO")
	case "BACKUP", "RESTORE", "BULK", "SHUTDOWN", "RECONFIGURE", "READTEXT", "WRITETEXT", "UPDATETEXT", "SETUSER", "DISK", "DUMP", "LOAD":
		if t.upper == "RECONFIGURE" {
			p.refuse("RECONFIGURE")
		}
		p.refuse("%s", t.upper)
	}
	// The words below are not reserved, so they start a statement only where an identifier
	// could not have been taken for something else.
	switch n := p.peek(1); t.upper {
	case "THROW":
		if n.isOp(";") || n.kind == tokEOF || n.kind == tokInt || n.kind == tokVariable || n.kind == tokIdent && reserved[n.upper] {
			p.needTerminator()
			return p.throw()
		}
	case "ENABLE", "DISABLE":
		if n.isKw("TRIGGER") {
			p.needTerminator()
			return p.enableTrigger()
		}
	case "RECEIVE", "SEND", "GET", "MOVE":
		if n.kind == tokIdent && (n.isKw("TOP") || n.isKw("ON") || n.isKw("CONVERSATION") || n.isKw("ALL")) {
			p.refuse("Service Broker (%s)", t.upper)
		}
	case "END":
		if n.isKw("CONVERSATION") {
			p.refuse("Service Broker (END CONVERSATION)")
		}
	case "ADD":
		if n.isKw("SIGNATURE") {
			p.refuse("ADD SIGNATURE")
		}
	}
	if p.isName(t) {
		if p.peek(1).isOp(":") {
			p.refuse("labels (%s:) and GOTO", t.text)
		}
		if first && !p.batchSeparator() {
			return p.impliedExec()
		}
	}
	p.syntax()
	return nil
}

// impliedExec takes a procedure call without EXEC, which only the first statement of a
// batch may be.
func (p *parser) impliedExec() Statement {
	st := &Exec{Span: p.span(), Implied: true}
	st.Proc = p.objectName()
	if p.isOp("=") || p.isOp("(") {
		p.syntax()
	}
	st.Args = p.execArgs()
	return st
}

// nestedStatement takes the statement of IF, ELSE and WHILE. WITH and THROW need no
// semicolon there.
func (p *parser) nestedStatement() Statement {
	p.nested++
	p.terminated = true
	for p.isOp(";") { // IF x ; is a syntax error
		p.syntax()
	}
	st := p.statement()
	p.nested--
	return st
}

func (p *parser) ifStatement() Statement {
	st := &If{Span: p.span()}
	p.next()
	st.Cond = p.condition()
	st.Then = p.nestedStatement()
	if p.acceptKw("ELSE") {
		st.Else = p.nestedStatement()
	}
	return st
}

func (p *parser) while() Statement {
	st := &While{Span: p.span()}
	p.next()
	st.Cond = p.condition()
	p.loops++
	st.Body = p.nestedStatement()
	p.loops--
	return st
}

func (p *parser) begin() Statement {
	at := p.span()
	switch n := p.peek(1); {
	case n.isKw("TRAN") || n.isKw("TRANSACTION"):
		p.next()
		p.next()
		st := &BeginTran{Span: at, Name: p.tranName()}
		if p.isKws("WITH", "MARK") {
			p.next()
			p.next()
			st.Mark = true
			if p.isString(p.tok) {
				p.next()
			}
		}
		return st
	case n.isKw("DISTRIBUTED"):
		p.refuse("BEGIN DISTRIBUTED TRANSACTION")
	case n.isKw("TRY"):
		return p.tryCatch()
	case n.isKw("DIALOG") || n.isKw("CONVERSATION"):
		p.refuse("Service Broker (BEGIN %s)", n.upper)
	case n.isKw("ATOMIC"):
		p.refuse("BEGIN ATOMIC (natively compiled modules)")
	}
	p.next()
	st := &Block{Span: at, Body: p.statementsUntilEnd("")}
	return st
}

// statementsUntilEnd takes at least one statement and END [word].
func (p *parser) statementsUntilEnd(word string) []Statement {
	p.nested++
	p.terminated = true
	var list []Statement
	for {
		for p.acceptOp(";") {
			p.terminated = true
		}
		if p.isKw("END") && !(p.peek(1).isKw("CONVERSATION")) {
			break
		}
		if p.tok.kind == tokEOF {
			p.syntax()
		}
		list = append(list, p.statement())
	}
	if len(list) == 0 && word != "CATCH" {
		p.syntax()
	}
	p.next()
	if word != "" {
		p.expectKw(word)
	}
	p.nested--
	return list
}

func (p *parser) tryCatch() Statement {
	st := &TryCatch{Span: p.span()}
	p.expectKw("BEGIN", "TRY")
	st.Try = p.statementsUntilEnd("TRY")
	if p.isOp(";") { // nothing may come between END TRY and BEGIN CATCH
		p.syntax()
	}
	if !p.isKws("BEGIN", "CATCH") {
		p.syntax()
	}
	p.next()
	p.next()
	st.Catch = p.statementsUntilEnd("CATCH")
	return st
}

func (p *parser) returnStatement() Statement {
	st := &Return{Span: p.span()}
	p.next()
	if p.startsExpr() {
		st.X = p.expr()
	}
	return st
}

// startsExpr reports whether an expression can start here, where a statement also can.
func (p *parser) startsExpr() bool {
	switch p.tok.kind {
	case tokEOF, tokError:
		return false
	case tokOp:
		return p.isOp("(") || p.isOp("-") || p.isOp("+") || p.isOp("~") || p.isOp("{")
	case tokIdent:
		switch p.tok.upper {
		case "NULL", "CASE", "CONVERT", "TRY_CONVERT", "COALESCE", "NULLIF", "LEFT", "RIGHT",
			"CURRENT_TIMESTAMP", "CURRENT_USER", "SESSION_USER", "SYSTEM_USER", "USER":
			return true
		}
		if reserved[p.tok.upper] {
			return false
		}
		return p.peek(1).isOp("(") || p.peek(1).isOp(".")
	}
	return true
}

func (p *parser) throw() Statement {
	st := &Throw{Span: p.span()}
	p.next()
	if p.isOp(";") || p.tok.kind == tokEOF || p.tok.kind == tokIdent {
		return st
	}
	st.Number = p.throwArg()
	p.expectOp(",")
	st.Message = p.throwArg()
	p.expectOp(",")
	st.State = p.throwArg()
	return st
}

// throwArg takes a constant or a variable: THROW takes no expressions.
func (p *parser) throwArg() Expr {
	switch {
	case p.tok.kind == tokVariable, p.tok.kind == tokInt, p.isString(p.tok):
		return p.primary(false)
	}
	p.syntax()
	return nil
}

func (p *parser) raiseError() Statement {
	st := &RaiseError{Span: p.span()}
	p.next()
	p.expectOp("(")
	st.Message = p.raiseArg()
	p.expectOp(",")
	st.Severity = p.raiseArg()
	p.expectOp(",")
	st.State = p.raiseArg()
	for p.acceptOp(",") {
		st.Args = append(st.Args, p.raiseArg())
	}
	p.expectOp(")")
	if p.isKw("WITH") && (p.peek(1).isKw("LOG") || p.peek(1).isKw("NOWAIT") || p.peek(1).isKw("SETERROR")) {
		p.next()
		for {
			switch {
			case p.acceptKw("LOG"):
				st.Log = true
			case p.acceptKw("NOWAIT"):
				st.NoWait = true
			case p.acceptKw("SETERROR"):
				st.SetError = true
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

// raiseArg takes what RAISERROR takes: constants, signed numbers, variables, and NULL.
func (p *parser) raiseArg() Expr {
	if p.isOp("-") || p.isOp("+") {
		if k := p.peek(1).kind; k != tokInt && k != tokVariable {
			p.next()
			p.syntax()
		}
		return p.unary(false)
	}
	switch p.tok.kind {
	case tokInt, tokString, tokNString, tokVariable, tokGlobal, tokBinary, tokDecimal, tokDouble:
		return p.primary(false)
	}
	if p.isKw("NULL") {
		return p.primary(false)
	}
	p.syntax()
	return nil
}

func (p *parser) waitFor() Statement {
	st := &WaitFor{Span: p.span()}
	p.next()
	switch {
	case p.isOp("("):
		p.refuse("WAITFOR (statement)")
	case p.acceptKw("TIME"):
		st.Time = true
	default:
		p.expectKw("DELAY")
	}
	if p.tok.kind != tokVariable && !p.isString(p.tok) {
		p.syntax()
	}
	st.X = p.primary(false)
	return st
}

func (p *parser) tranWord() bool {
	if p.isKw("TRAN", "TRANSACTION") {
		p.next()
		return true
	}
	return false
}

// tranName takes an optional transaction name or variable.
func (p *parser) tranName() string {
	if p.tok.kind == tokVariable {
		p.uses(false)
		return p.next().text
	}
	if p.isName(p.tok) && !p.batchSeparator() {
		return p.takeName()
	}
	return ""
}

func (p *parser) commit() Statement {
	st := &CommitTran{Span: p.span()}
	p.next()
	if p.tranWord() {
		st.Name = p.tranName()
	} else if p.acceptKw("WORK") {
		st.Work = true
	}
	if p.isKw("WITH") && p.peek(1).isOp("(") {
		p.next()
		p.next()
		p.expectKw("DELAYED_DURABILITY")
		p.expectOp("=")
		if !p.isKw("ON", "OFF") {
			p.syntax()
		}
		st.Delayed = p.next().upper == "ON"
		p.expectOp(")")
	}
	return st
}

func (p *parser) rollback() Statement {
	st := &RollbackTran{Span: p.span()}
	p.next()
	if p.tranWord() {
		st.Name = p.tranName()
	} else if p.acceptKw("WORK") {
		st.Work = true
	}
	return st
}

func (p *parser) executeAs() Statement {
	st := &ExecuteAs{Span: p.span()}
	p.next()
	p.expectKw("AS")
	switch {
	case p.isKw("USER", "LOGIN"):
		st.Kind = p.next().upper
		p.expectOp("=")
		st.Name = p.primary(false)
	case p.isKw("CALLER"):
		st.Kind = p.next().upper
	default:
		p.syntax()
	}
	if p.isKw("WITH") {
		p.next()
		if p.acceptKw("NO", "REVERT") {
			st.NoRevert = true
		} else {
			p.refuse("EXECUTE AS ... WITH COOKIE")
		}
	}
	return st
}

func (p *parser) exec() *Exec {
	st := &Exec{Span: p.span()}
	p.next()
	if p.isOp("(") {
		p.execString(st)
		st.setEnd(p.endOffset())
		return st
	}
	if p.tok.kind == tokVariable {
		if p.peek(1).isOp("=") {
			p.uses(false)
			st.ReturnVar = p.next().text
			p.next()
		}
	}
	switch {
	case p.tok.kind == tokVariable:
		p.uses(false)
		st.ProcVar = p.next().text
	case p.isOp("."): // EXEC ..proc
		p.syntax()
	default:
		st.Proc = p.objectName()
		if p.isOp(";") && p.peek(1).kind == tokInt {
			p.refuse("numbered procedures (;%s)", p.peek(1).text)
		}
	}
	st.Args = p.execArgs()
	p.execWith(st)
	st.setEnd(p.endOffset())
	return st
}

func (p *parser) execString(st *Exec) {
	p.next()
	st.IsSQL = true
	for {
		if p.tok.kind != tokVariable && p.tok.kind != tokGlobal && !p.isString(p.tok) {
			p.syntax()
		}
		st.SQL = append(st.SQL, p.primary(false))
		if p.isOp(",") {
			p.refuse("EXEC ('...', parameters) AT linked server")
		}
		if !p.acceptOp("+") {
			break
		}
	}
	p.expectOp(")")
	if p.isKw("AS") {
		p.next()
		user := p.isKw("USER")
		if !user && !p.isKw("LOGIN") {
			p.syntax()
		}
		p.next()
		p.expectOp("=")
		name := p.stringText()
		if user {
			st.AsUser = name
		} else {
			st.AsLogin = name
		}
	}
	if p.isKw("AT") {
		p.refuse("EXEC (...) AT")
	}
	p.execWith(st)
}

func (p *parser) execWith(st *Exec) {
	if !p.isKw("WITH") || !(p.peek(1).isKw("RECOMPILE") || p.peek(1).isKw("RESULT")) {
		return
	}
	p.next()
	for {
		if p.acceptKw("RECOMPILE") {
			st.Recompile = true
		} else {
			p.expectKw("RESULT", "SETS")
			if !p.isKw("UNDEFINED", "NONE") {
				p.refuse("EXECUTE ... WITH RESULT SETS (definitions)")
			}
			st.ResultSets = p.next().upper
		}
		if !p.acceptOp(",") {
			return
		}
	}
}

func (p *parser) execArgs() []*ExecArg {
	if !p.startsExecArg() {
		return nil
	}
	var args []*ExecArg
	named := false
	for {
		a := &ExecArg{Pos: p.pos()}
		if p.tok.kind == tokVariable && p.peek(1).isOp("=") {
			a.Name = p.next().text
			p.next()
			named = true
		} else if named {
			p.fail(119, 15, 1, "Must pass parameter number %d and subsequent parameters as '@name = value'. After the form '@name = value' has been used, all subsequent parameters must be passed in the form '@name = value'.", len(args)+1)
		}
		a.Value = p.execValue()
		if p.isKw("OUTPUT", "OUT") {
			if _, ok := a.Value.(*Variable); !ok {
				p.fail(179, 15, 1, "Cannot use the OUTPUT option when passing a constant to a stored procedure.")
			}
			p.next()
			a.Output = true
		}
		args = append(args, a)
		if !p.acceptOp(",") {
			return args
		}
	}
}

func (p *parser) startsExecArg() bool {
	switch p.tok.kind {
	case tokEOF, tokError:
		return false
	case tokOp:
		return p.isOp("-") || p.isOp("+")
	case tokIdent:
		return !reserved[p.tok.upper] && !p.batchSeparator() || p.isKw("NULL", "DEFAULT")
	}
	return true
}

// execValue takes an argument: a constant, a signed number, a variable, NULL, DEFAULT, or
// a bare word, which is a string.
func (p *parser) execValue() Expr {
	at := p.pos()
	switch p.tok.kind {
	case tokOp:
		if p.isOp("-") || p.isOp("+") {
			op := p.next().text
			switch p.tok.kind {
			case tokInt, tokDecimal, tokFloat, tokMoney:
				return &Unary{at, op, p.primary(false)}
			}
		}
		p.syntax()
	case tokIdent:
		if p.isKw("NULL", "DEFAULT") {
			return p.primary(false)
		}
		if reserved[p.tok.upper] || p.batchSeparator() {
			p.syntax()
		}
		return &Literal{at, LitNString, p.next().text}
	case tokBracket:
		return &Literal{at, LitNString, p.next().text}
	case tokDouble:
		return &Literal{at, LitString, p.next().text}
	}
	return p.primary(false)
}

func (p *parser) dbcc() Statement {
	st := &DBCC{Span: p.span()}
	p.next()
	if p.tok.kind != tokIdent {
		p.syntax()
	}
	st.Command = p.next().upper
	if p.acceptOp("(") {
		for !p.isOp(")") {
			if p.tok.kind == tokIdent && (p.peek(1).isOp(",") || p.peek(1).isOp(")")) {
				st.Args = append(st.Args, &Literal{p.pos(), LitString, p.next().text})
			} else {
				st.Args = append(st.Args, p.expr())
			}
			if !p.acceptOp(",") {
				break
			}
		}
		p.expectOp(")")
	}
	if p.isKw("WITH") && p.peek(1).kind == tokIdent && !p.peek(2).isOp("(") && !p.peek(2).isKw("AS") {
		p.next()
		for {
			st.Options = append(st.Options, p.ident())
			if !p.acceptOp(",") {
				break
			}
		}
	}
	return st
}

// --- cursors ---

func (p *parser) cursorOp() Statement {
	st := &CursorOp{Span: p.span()}
	st.Op = p.next().upper
	if st.Op == "OPEN" && p.isKw("SYMMETRIC", "MASTER") || st.Op == "CLOSE" && p.isKw("SYMMETRIC", "MASTER", "ALL") {
		p.refuse("encryption keys (%s %s)", st.Op, p.tok.upper)
	}
	st.Name, st.Global = p.cursorName()
	return st
}

func (p *parser) cursorName() (name string, global bool) {
	if p.isKw("GLOBAL") && p.isName(p.peek(1)) {
		p.next()
		global = true
	}
	if p.tok.kind == tokVariable {
		p.uses(false)
		return p.next().text, global
	}
	return p.ident(), global
}

func (p *parser) fetch() Statement {
	st := &Fetch{Span: p.span(), Direction: "NEXT"}
	p.next()
	switch {
	case p.isKw("NEXT", "PRIOR", "FIRST", "LAST") && (p.peek(1).isKw("FROM")):
		st.Direction = p.next().upper
	case p.isKw("ABSOLUTE", "RELATIVE"):
		st.Direction = p.next().upper
		st.N = p.unary(false)
	}
	p.acceptKw("FROM")
	st.Name, st.Global = p.cursorName()
	if p.acceptKw("INTO") {
		for {
			p.uses(false)
			st.Into = append(st.Into, p.variableName())
			if !p.acceptOp(",") {
				break
			}
		}
	}
	return st
}

var cursorOptions = map[string]bool{
	"LOCAL": true, "GLOBAL": true, "FORWARD_ONLY": true, "SCROLL": true, "STATIC": true, "KEYSET": true, "DYNAMIC": true,
	"FAST_FORWARD": true, "READ_ONLY": true, "SCROLL_LOCKS": true, "OPTIMISTIC": true, "TYPE_WARNING": true, "INSENSITIVE": true,
}

// cursorBody takes CURSOR [options] FOR query [FOR READ ONLY | UPDATE].
func (p *parser) cursorBody(st *DeclareCursor) {
	p.expectKw("CURSOR")
	for p.tok.kind == tokIdent && cursorOptions[p.tok.upper] {
		st.Options = append(st.Options, p.next().upper)
	}
	p.expectKw("FOR")
	st.Query = p.query()
	if p.acceptKw("FOR") {
		if p.acceptKw("READ") {
			p.expectKw("ONLY")
			st.Options = append(st.Options, "READ_ONLY")
		} else {
			p.expectKw("UPDATE")
			st.Update = true
			if p.acceptKw("OF") {
				for {
					st.Columns = append(st.Columns, p.ident())
					if !p.acceptOp(",") {
						break
					}
				}
			}
		}
	}
	st.Query.Options = append(st.Query.Options, p.options()...)
}

// --- declarations ---

func (p *parser) declare() Statement {
	at := p.span()
	p.next()
	if p.tok.kind != tokVariable {
		st := &DeclareCursor{Span: at, Name: p.ident()}
		for p.isKw("INSENSITIVE", "SCROLL") {
			st.Options = append(st.Options, p.next().upper)
		}
		p.cursorBody(st)
		return st
	}
	st := &Declare{Span: at}
	for {
		d := &VarDecl{Pos: p.pos(), Name: p.variableName()}
		line := d.Line
		p.acceptKw("AS")
		switch {
		case p.isKw("TABLE"):
			p.next()
			d.Table = p.tableDef()
		case p.isKw("CURSOR"):
			p.next()
			d.Cursor = true
		default:
			d.Type = p.dataType()
			if p.acceptOp("=") {
				d.Init = p.expr()
			}
		}
		st.Vars = append(st.Vars, d)
		p.declares(d.Name, line)
		if !p.acceptOp(",") {
			return st
		}
		if d.Table != nil {
			p.syntax()
		}
	}
}

// --- SET ---

var onOffOptions = map[string]bool{}

func init() {
	for _, w := range strings.Fields(`ANSI_DEFAULTS ANSI_NULL_DFLT_OFF ANSI_NULL_DFLT_ON ANSI_NULLS
ANSI_PADDING ANSI_WARNINGS ARITHABORT ARITHIGNORE CONCAT_NULL_YIELDS_NULL CURSOR_CLOSE_ON_COMMIT
FMTONLY FORCEPLAN IMPLICIT_TRANSACTIONS NOCOUNT NOEXEC NO_BROWSETABLE NUMERIC_ROUNDABORT
PARSEONLY QUOTED_IDENTIFIER REMOTE_PROC_TRANSACTIONS SHOWPLAN_ALL SHOWPLAN_TEXT SHOWPLAN_XML
XACT_ABORT`) {
		onOffOptions[w] = true
	}
}

func (p *parser) set() Statement {
	at := p.span()
	p.next()
	if p.tok.kind == tokVariable {
		return p.setVariable(at)
	}
	if p.tok.kind != tokIdent {
		p.syntax()
	}
	word := p.tok.upper
	switch word {
	case "IDENTITY_INSERT":
		st := &SetIdentityInsert{Span: at}
		p.next()
		st.Table = p.objectName()
		st.On = p.onOff()
		return st
	case "TRANSACTION":
		return p.setIsolation(at)
	case "STATISTICS":
		p.next()
		if !p.isKw("IO", "TIME", "PROFILE", "XML") {
			p.syntax()
		}
		st := &SetOption{Span: at, Names: []string{"STATISTICS " + p.next().upper}}
		for p.acceptOp(",") {
			if !p.isKw("IO", "TIME", "PROFILE", "XML") {
				p.syntax()
			}
			st.Names = append(st.Names, "STATISTICS "+p.next().upper)
		}
		st.Value = p.onOffWord()
		return st
	case "LOCK_TIMEOUT", "DATEFIRST", "TEXTSIZE", "ROWCOUNT", "QUERY_GOVERNOR_COST_LIMIT", "DEADLOCK_PRIORITY", "DATEFORMAT", "LANGUAGE", "CONTEXT_INFO":
		p.next()
		st := &SetOption{Span: at, Names: []string{word}}
		// A bare word is a value: SET DATEFORMAT mdy, SET DEADLOCK_PRIORITY LOW.
		if p.isName(p.tok) {
			st.Value = p.takeName()
			if word != "LANGUAGE" {
				st.Value = strings.ToUpper(st.Value)
			}
			return st
		}
		st.X = p.unary(false)
		return st
	case "FIPS_FLAGGER", "OFFSETS", "ERRLVL":
		p.refuse("SET %s", word)
	case "USER":
		p.syntax()
	}
	if !onOffOptions[word] {
		p.fail(195, 15, 5, "'%s' is not a recognized SET option.", p.tok.text)
	}
	st := &SetOption{Span: at, Names: []string{word}}
	p.next()
	for p.acceptOp(",") {
		if p.tok.kind != tokIdent || !onOffOptions[p.tok.upper] {
			p.syntax()
		}
		st.Names = append(st.Names, p.next().upper)
	}
	st.Value = p.onOffWord()
	// QUOTED_IDENTIFIER takes effect as the batch is read, whether or not it is reached.
	if !p.inModule {
		for _, n := range st.Names {
			if n == "QUOTED_IDENTIFIER" || n == "ANSI_DEFAULTS" {
				p.qi = st.Value == "ON"
			}
		}
	}
	return st
}

func (p *parser) onOffWord() string {
	if !p.isKw("ON", "OFF") {
		p.syntax()
	}
	return p.next().upper
}

func (p *parser) onOff() bool { return p.onOffWord() == "ON" }

func (p *parser) setVariable(at Span) Statement {
	p.uses(false)
	st := &SetVar{Span: at, Name: p.next().text}
	if p.isOp(".") || p.isOp("::") {
		p.refuse("the method call %s.%s()", st.Name, p.peek(1).text)
	}
	st.Op = p.assignOp()
	if p.isKw("CURSOR") {
		c := &DeclareCursor{Span: p.span()}
		p.cursorBody(c)
		c.setEnd(p.endOffset())
		st.Cursor = c
		return st
	}
	st.Value = p.expr()
	return st
}

func (p *parser) setIsolation(at Span) Statement {
	p.next()
	p.expectKw("ISOLATION", "LEVEL")
	st := &SetOption{Span: at, Names: []string{"TRANSACTION ISOLATION LEVEL"}}
	switch {
	case p.acceptKw("READ", "UNCOMMITTED"):
		st.Value = "READ UNCOMMITTED"
	case p.acceptKw("READ", "COMMITTED"):
		st.Value = "READ COMMITTED"
	case p.acceptKw("REPEATABLE", "READ"):
		st.Value = "REPEATABLE READ"
	case p.acceptKw("SNAPSHOT"):
		st.Value = "SNAPSHOT"
	case p.acceptKw("SERIALIZABLE"):
		st.Value = "SERIALIZABLE"
	default:
		p.syntax()
	}
	return st
}
