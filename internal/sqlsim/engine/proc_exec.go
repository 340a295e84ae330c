package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// maxNesting is how deep procedures, functions and triggers may call each other.
const maxNesting = 32

// argument is an actual parameter of a procedure call.
type argument struct {
	name      string // with its @; empty for a positional one
	typ       value.Type
	val       value.Value
	isDefault bool
	output    bool
	set       func(value.Value) error // receives an OUTPUT value, of type typ of the caller's variable
	tableSlot int                     // slot of a table variable in the caller, else -1
	table     *TableParam             // a table-valued parameter of an RPC
}

// runExec runs EXECUTE. With a sink other than the frame's own it is the source of an
// INSERT ... EXEC.
func (s *Session) runExec(ctx context.Context, fr *frame, st *tsql.Exec, sink Sink) error {
	if sink != fr.sink {
		if s.insertExec > 0 {
			return sqlError(8164, 16, 1, "An INSERT EXEC statement cannot be nested.")
		}
		s.insertExec++
		defer func() { s.insertExec-- }()
	}
	if st.IsSQL {
		return s.execString(ctx, fr, st, sink)
	}
	name := st.Proc
	if st.ProcVar != "" {
		v, err := fr.eval(ctx, &tsql.Variable{Pos: st.Pos, Name: st.ProcVar}, value.Type{})
		if err != nil {
			return err
		}
		if name, err = tsql.ParseName(strings.TrimSpace(v.Str())); err != nil {
			return sqlError(2812, 16, 62, "Could not find stored procedure '%s'.", v.Str())
		}
	}
	args, err := s.execArguments(ctx, fr, st)
	if err != nil {
		return err
	}
	status, err := s.callNamed(ctx, fr, name, args, sink)
	if e, ok := err.(*value.Error); ok && e.Number == 2812 {
		if m, _ := s.be.lookupModule(ctx, fr, name, tsql.ModuleScalarFunction); m != nil && m.kind == tsql.ModuleScalarFunction {
			return s.execFunction(ctx, fr, st, m, args)
		}
	}
	if err != nil {
		return err
	}
	if fr.parent == nil && fr.module == nil && sink == fr.sink {
		if err := sink.Return(status); err != nil {
			return err
		}
	}
	if st.ReturnVar != "" {
		return fr.assignVariable(st.ReturnVar, intValue(int64(status)), intType)
	}
	return nil
}

// execFunction runs EXEC @v = dbo.function arguments.
func (s *Session) execFunction(ctx context.Context, fr *frame, st *tsql.Exec, m *module, args []argument) error {
	scratch := &frame{sess: s, layout: &varTable{byName: map[string]int{}}, vals: make([]value.Value, len(m.params)), tables: make([]any, len(m.params))}
	for _, p := range m.params {
		scratch.layout.declare(varDecl{name: p.name, typ: p.typ, table: p.tableType})
	}
	if err := s.bind(fr, scratch, m, args); err != nil {
		return err
	}
	v, err := s.callFunction(fr.rowCtx(ctx), m, scratch.vals)
	if err != nil || st.ReturnVar == "" {
		return err
	}
	return fr.assignVariable(st.ReturnVar, v, m.returns)
}

// assignVariable stores a value in a variable of the frame.
func (fr *frame) assignVariable(name string, v value.Value, typ value.Type) error {
	slot, ok := fr.layout.lookup(name)
	if !ok || fr.layout.decls[slot].table != nil {
		return undeclared(name)
	}
	out, err := value.Assign(v, typ, fr.layout.decls[slot].typ, fr.sess.convertEnv())
	if err != nil {
		return err
	}
	fr.vals[slot] = out
	return nil
}

func (s *Session) execArguments(ctx context.Context, fr *frame, st *tsql.Exec) ([]argument, error) {
	args := make([]argument, len(st.Args))
	for i, a := range st.Args {
		arg := argument{name: a.Name, output: a.Output, tableSlot: -1}
		switch e := a.Value.(type) {
		case *tsql.DefaultValue:
			arg.isDefault = true
		case *tsql.Variable:
			slot, ok := fr.layout.lookup(e.Name)
			if !ok {
				return nil, undeclared(e.Name)
			}
			d := fr.layout.decls[slot]
			if d.table != nil {
				arg.tableSlot = slot
				break
			}
			arg.typ, arg.val = d.typ, fr.vals[slot]
			if a.Output {
				name := e.Name
				typ := d.typ
				arg.set = func(v value.Value) error {
					return fr.assignVariable(name, v, value.Type{Kind: v.Kind(), Length: value.Max, Scale: typ.Scale, Precision: 38, Collation: typ.Collation})
				}
			}
		default:
			c, err := compileScalar(fr.scope(), a.Value)
			if err != nil {
				return nil, err
			}
			arg.typ = c.typ
			if arg.val, err = c.eval(fr.rowCtx(ctx)); err != nil {
				return nil, err
			}
		}
		args[i] = arg
	}
	return args, nil
}

// callNamed calls a procedure by name: a system procedure or a module.
func (s *Session) callNamed(ctx context.Context, fr *frame, name tsql.ObjectName, args []argument, sink Sink) (int32, error) {
	if name.Server != "" {
		return 0, sqlError(7202, 11, 2, "Could not find server '%s' in sys.servers. Verify that the correct server name was specified. If necessary, execute the stored procedure sp_addlinkedserver to add the server to sys.servers.", name.Server)
	}
	s.lastError = 0 // what the procedure leaves in @@ERROR is its last statement's
	if schema := foldName(name.Schema); schema == "" || schema == "sys" || schema == "dbo" && foldName(name.Database) == "master" {
		if p := systemProcedures[foldName(name.Name)]; p != nil {
			return p(s, ctx, fr, args, sink)
		}
	}
	if p := s.be.systemProc(fr, name); p != nil {
		list := make([]procArg, len(args))
		for i, a := range args {
			list[i] = procArg{name: a.name, typ: a.typ, val: a.val, output: a.output, isDefault: a.isDefault, set: a.set}
		}
		before := fr.sink
		fr.sink = sink
		defer func() { fr.sink = before }()
		return p(ctx, fr, list, sink)
	}
	m, err := s.be.lookupModule(ctx, fr, name, tsql.ModuleProcedure)
	if err != nil {
		return 0, err
	}
	if m == nil || m.kind != tsql.ModuleProcedure {
		return 0, sqlError(2812, 16, 62, "Could not find stored procedure '%s'.", name)
	}
	return s.callModule(ctx, fr, m, args, sink)
}

// callModule calls a stored procedure.
func (s *Session) callModule(ctx context.Context, caller *frame, m *module, args []argument, sink Sink) (int32, error) {
	if s.level >= maxNesting {
		return 0, sqlError(217, 16, 1, "Maximum stored procedure, function, trigger, or view nesting level exceeded (limit %d).", maxNesting)
	}
	p, err := s.prepareModule(m)
	if err != nil {
		return 0, s.innerError(err, m)
	}
	s.level++
	defer func() { s.level-- }()
	fr := s.newFrame(p, caller, sink)
	fr.module = m
	if err := s.bind(caller, fr, m, args); err != nil {
		var e *value.Error
		if errors.As(err, &e) && e.Procedure == "" {
			e.Procedure = m.schema + "." + m.name
		}
		return 0, err
	}
	count := s.txn.count
	err = s.inModule(ctx, fr, func() error { return s.runFrame(ctx, fr) })
	if err != nil {
		return 0, s.innerError(err, m)
	}
	for i, a := range args {
		if a.set == nil {
			continue
		}
		slot := i
		if a.name != "" {
			slot, _ = fr.layout.lookup(a.name)
		}
		if err := a.set(fr.vals[slot]); err != nil {
			return 0, err
		}
	}
	if s.unbalanced(count) {
		return fr.status, sqlError(266, 16, 2, "Transaction count after EXECUTE indicates a mismatching number of BEGIN and COMMIT statements. Previous count = %d, current count = %d.", count, s.txn.count)
	}
	return fr.status, nil
}

// unbalanced reports that a module has left another number of open transactions than it found. The transaction that SET IMPLICIT_TRANSACTIONS ON has begun at
// a module's first statement is not the module's, but its caller's to commit: clients whose manual-commit mode is that option (ODBC, JDBC) call procedures so every day.
func (s *Session) unbalanced(before int) bool {
	if s.insertExec != 0 || s.settings.implicitTxn && before == 0 && s.txn.count == 1 {
		return false
	}
	return s.txn.count != before
}

// inModule runs body with the settings and the security context of a frame's module,
// and puts those of the caller back.
func (s *Session) inModule(ctx context.Context, fr *frame, body func() error) (err error) {
	saved := s.settings
	defer func() {
		if err != nil && ctx.Err() != nil { // what becomes of the transaction is decided by the settings where the attention struck
			s.attention()
		}
		// CONTEXT_INFO belongs to the session and outlives the module.
		saved.contextInfo = s.settings.contextInfo
		s.settings = saved
	}()
	if fr.module == nil {
		return body()
	}
	s.settings.quotedIdentifier = fr.module.quotedIdentifier
	s.settings.ansiNulls = fr.module.ansiNulls
	token, err := s.be.enterModule(fr)
	if err != nil {
		return err
	}
	defer s.be.leaveModule(fr, token)
	return body()
}

// innerError makes an error that a module or dynamic batch could not even start with an
// error of the statement that called it.
func (s *Session) innerError(err error, m *module) error {
	var r *raised
	var e *value.Error
	if errors.As(err, &r) || !errors.As(err, &e) {
		return err
	}
	out := *e
	if m != nil && out.Procedure == "" {
		out.Procedure = m.schema + "." + m.name
	}
	if out.Line == 0 {
		out.Line = 1
	}
	r = &raised{err: &out, reach: endsStatement}
	if s.settings.xactAbort || batchErrors[e.Number] {
		r.reach = rollsBack
	}
	return r
}

// bind gives parameters their values.
func (s *Session) bind(caller, fr *frame, m *module, args []argument) error {
	name := m.name
	if len(args) > 0 && len(m.params) == 0 {
		return sqlError(8146, 16, 2, "Procedure %s has no parameters and arguments were supplied.", name)
	}
	given := make([]bool, len(m.params))
	for i, a := range args {
		at := i
		if a.name != "" {
			slot, ok := fr.layout.lookup(a.name)
			if !ok || slot >= len(m.params) {
				return sqlError(8145, 16, 2, "%s is not a parameter for procedure %s.", a.name, name)
			}
			at = slot
		} else if i >= len(m.params) {
			return sqlError(8144, 16, 2, "Procedure or function %s has too many arguments specified.", name)
		}
		p := &m.params[at]
		if given[at] {
			return sqlError(8143, 16, 1, "Parameter '%s' was supplied multiple times.", p.name)
		}
		if a.output && !p.output {
			return sqlError(8162, 16, 2, "The formal parameter \"%s\" was not declared as an OUTPUT parameter, but the actual parameter passed in requested output.", p.name)
		}
		if a.isDefault {
			continue
		}
		given[at] = true
		if err := s.bindOne(caller, fr, p, at, a); err != nil {
			return err
		}
	}
	for i := range m.params {
		p := &m.params[i]
		if given[i] {
			continue
		}
		switch {
		case p.tableType != nil: // an omitted table-valued parameter is an empty table
		case p.def == nil:
			return sqlError(201, 16, 4, "Procedure or function '%s' expects parameter '%s', which was not supplied.", name, p.name)
		default:
			v, err := s.defaultValue(p)
			if err != nil {
				return err
			}
			fr.vals[i] = v
		}
	}
	return nil
}

func (s *Session) bindOne(caller, fr *frame, p *moduleParam, slot int, a argument) error {
	if p.tableType != nil || a.tableSlot >= 0 || a.table != nil {
		switch {
		case p.tableType == nil:
			return sqlError(206, 16, 2, "Operand type clash: table type is incompatible with %s", p.typ.Kind)
		case a.table != nil:
			t, err := s.be.clientTable(fr, a.table, p.tableType)
			fr.tables[slot] = t
			return err
		case a.tableSlot < 0:
			return sqlError(206, 16, 2, "Operand type clash: %s is incompatible with %s", typeWord(a.typ), p.typeName.Name)
		}
		t, err := s.be.tableArgument(caller, a.tableSlot, p.tableType)
		fr.tables[slot] = t
		return err
	}
	v, err := s.parameterValue(a.val, a.typ, p.typ)
	fr.vals[slot] = v
	return err
}

// parameterValue converts an argument; a failed conversion is error 8114 whatever it
// would be in an expression.
func (s *Session) parameterValue(v value.Value, from, to value.Type) (value.Value, error) {
	out, err := value.Assign(v, from, to, s.convertEnv())
	var e *value.Error
	if errors.As(err, &e) && conversionFailed(err) {
		return out, sqlError(8114, 16, 5, "Error converting data type %s to %s.", typeWord(from), typeWord(to))
	}
	return out, err
}

func (s *Session) defaultValue(p *moduleParam) (value.Value, error) {
	c, err := compileScalar(&scope{sess: s, vars: &varTable{byName: map[string]int{}}}, p.def)
	if err != nil {
		return value.Value{}, err
	}
	v, err := c.eval(&rowCtx{ctx: s.context(), sess: s})
	if err != nil {
		return v, err
	}
	return s.parameterValue(v, c.typ, p.typ)
}

// --- dynamic SQL ---

// execString runs EXEC ('...').
func (s *Session) execString(ctx context.Context, fr *frame, st *tsql.Exec, sink Sink) error {
	var b strings.Builder
	for _, e := range st.SQL {
		v, err := fr.eval(ctx, e, value.Type{Kind: value.NVarChar, Length: value.Max})
		if err != nil {
			return err
		}
		b.WriteString(v.Str()) // NULL is the empty string
	}
	if st.AsUser != "" || st.AsLogin != "" {
		kind, name := "USER", st.AsUser
		if name == "" {
			kind, name = "LOGIN", st.AsLogin
		}
		if err := s.be.executeAs(ctx, kind, name, false); err != nil {
			return err
		}
		defer func() { _ = s.be.revert() }()
	}
	s.lastError = 0
	_, err := s.runDynamic(ctx, fr, b.String(), nil, "", sink, 1)
	return err
}

// dynamicParam is a parameter of sp_executesql with its value.
type dynamicParam struct {
	decl  varDecl
	val   value.Value
	table any
	set   func(value.Value) error
}

// runDynamic runs a batch as a scope of its own.
func (s *Session) runDynamic(ctx context.Context, caller *frame, text string, params []dynamicParam, key string, sink Sink, levels int) (*frame, error) {
	if s.level+levels > maxNesting {
		return nil, sqlError(217, 16, 1, "Maximum stored procedure, function, trigger, or view nesting level exceeded (limit %d).", maxNesting)
	}
	decls := make([]varDecl, len(params))
	for i, p := range params {
		decls[i] = p.decl
	}
	p, err := s.prepareBatch(text, decls, key)
	if err != nil {
		return nil, s.innerError(err, nil)
	}
	s.level += levels
	defer func() { s.level -= levels }()
	fr := s.newFrame(p, caller, sink)
	fr.dynamic = true
	for i, q := range params {
		if q.table != nil {
			fr.tables[i] = q.table
		} else if q.decl.table == nil {
			fr.vals[i] = q.val
		}
	}
	count := s.txn.count
	db := s.databaseName()
	err = s.inModule(ctx, fr, func() error { return s.runFrame(ctx, fr) })
	if now := s.databaseName(); now != db { // USE inside dynamic SQL ends with it
		if e := s.be.useDatabase(ctx, db); e == nil {
			_ = sink.DatabaseChanged(now, db)
		}
	}
	if err != nil {
		return fr, s.innerError(err, nil)
	}
	for i, q := range params {
		if q.set != nil {
			if err := q.set(fr.vals[i]); err != nil {
				return fr, err
			}
		}
	}
	if caller != nil && s.unbalanced(count) {
		return fr, sqlError(266, 16, 2, "Transaction count after EXECUTE indicates a mismatching number of BEGIN and COMMIT statements. Previous count = %d, current count = %d.", count, s.txn.count)
	}
	return fr, nil
}

// --- functions and triggers ---

// callFunction runs a scalar user-defined function.
func (s *Session) callFunction(rc *rowCtx, m *module, args []value.Value) (value.Value, error) {
	for i, a := range args {
		if m.ast.NullOnNull && a.IsNull() && i < len(args) {
			return value.NewNull(m.returns.Kind), nil
		}
	}
	fr, err := s.runFunction(rc, m, args)
	if err != nil {
		return value.Value{}, err
	}
	return fr.result, nil
}

// callTableFunction runs a multi-statement table-valued function; the result is what the
// planning half keeps for the table variable that it returns.
func (s *Session) callTableFunction(rc *rowCtx, m *module, args []value.Value) (any, error) {
	fr, err := s.runFunction(rc, m, args)
	if err != nil {
		return nil, err
	}
	slot, _ := fr.layout.lookup(m.ast.ReturnsVar)
	return fr.tables[slot], nil
}

func (s *Session) runFunction(rc *rowCtx, m *module, args []value.Value) (*frame, error) {
	if s.level >= maxNesting {
		return nil, sqlError(217, 16, 1, "Maximum stored procedure, function, trigger, or view nesting level exceeded (limit %d).", maxNesting)
	}
	p, err := s.prepareModule(m)
	if err != nil {
		return nil, err
	}
	s.level++
	rows, lastErr, tries, caught, at := s.rowCount, s.lastError, s.tryDepth, s.caught, s.stmtTime
	s.tryDepth = 0
	defer func() {
		s.level--
		s.rowCount, s.lastError, s.tryDepth, s.caught, s.stmtTime = rows, lastErr, tries, caught, at
	}()
	fr := s.newFrame(p, rc.frame, nullSink{})
	fr.module = m
	fr.insideFunction = true
	fr.result = value.NewNull(m.returns.Kind)
	copy(fr.vals, args)
	err = s.inModule(rc.ctx, fr, func() error { return s.runFrame(rc.ctx, fr) })
	var r *raised
	if errors.As(err, &r) {
		return nil, r.err
	}
	return fr, err
}

// fireTrigger runs a trigger inside the statement that fires it.
func (s *Session) fireTrigger(ctx context.Context, caller *frame, m *module, trigger any, sink Sink) error {
	if s.level >= maxNesting {
		return sqlError(217, 16, 1, "Maximum stored procedure, function, trigger, or view nesting level exceeded (limit %d).", maxNesting)
	}
	p, err := s.prepareModule(m)
	if err != nil {
		return err
	}
	s.level++
	rows := s.rowCount
	implied := s.txn.count == 0 // an autocommitted statement counts as a transaction inside
	if implied {
		s.txn.count = 1
	}
	xactAbort := s.settings.xactAbort
	s.settings.xactAbort = true // an error in a trigger ends the batch and the transaction
	defer func() {
		s.level--
		s.settings.xactAbort = xactAbort
		s.rowCount = rows
		if implied && s.txn.count > 0 {
			s.txn.count--
		}
	}()
	fr := s.newFrame(p, caller, sink)
	fr.module = m
	fr.trigger = trigger
	store := s.txn.store
	if err := s.inModule(ctx, fr, func() error { return s.runFrame(ctx, fr) }); err != nil {
		return err
	}
	if s.txn.store != store {
		return sqlError(3609, 16, 1, "The transaction ended in the trigger. The batch has been aborted.")
	}
	return nil
}

// checkFunctionBody refuses what a function may not do (443), and a last statement that is not RETURN
// (455). The planning half calls it when a function is created.
func checkFunctionBody(m *tsql.CreateModule) error {
	if m.Kind != tsql.ModuleScalarFunction && m.Kind != tsql.ModuleTableFunction {
		return nil
	}
	if err := checkEffects(m.Body); err != nil {
		return err
	}
	if n := len(m.Body); n == 0 {
		return lastStatementError(m.Line)
	} else if _, ok := m.Body[n-1].(*tsql.Return); !ok {
		return lastStatementError(m.Body[n-1].Position().Line)
	}
	return nil
}

func lastStatementError(line int) error {
	return atLine(sqlError(455, 16, 2, "The last statement included within a function must be a return statement."), line)
}

func checkEffects(list []tsql.Statement) error {
	for _, st := range list {
		word := ""
		switch st := st.(type) {
		case *tsql.Block:
			if err := checkEffects(st.Body); err != nil {
				return err
			}
		case *tsql.If:
			branches := []tsql.Statement{st.Then}
			if st.Else != nil {
				branches = append(branches, st.Else)
			}
			if err := checkEffects(branches); err != nil {
				return err
			}
		case *tsql.While:
			if err := checkEffects([]tsql.Statement{st.Body}); err != nil {
				return err
			}
		case *tsql.Declare, *tsql.SetVar, *tsql.Return, *tsql.Break, *tsql.Continue, *tsql.Empty,
			*tsql.DeclareCursor, *tsql.CursorOp, *tsql.Fetch:
		case *tsql.Exec:
			if !strings.HasPrefix(foldName(st.Proc.Name), "xp_") {
				word = "EXECUTE STRING"
				if !st.IsSQL {
					continue // refused when it runs: only extended procedures may be called (557)
				}
			}
		case *tsql.SelectStatement:
			if sel, ok := st.Query.Body.(*tsql.Select); ok {
				if sel.Into != nil {
					word = "SELECT INTO"
				} else if sel.Items[0].Variable == "" {
					return atLine(sqlError(444, 16, 2, "Select statements included within a function cannot return data to a client."), st.Line)
				}
			}
		case *tsql.Insert:
			if _, ok := st.Target.(*tsql.TableVar); !ok {
				word = "INSERT"
			}
		case *tsql.Update:
			if _, ok := st.Target.(*tsql.TableVar); !ok {
				word = "UPDATE"
			}
		case *tsql.Delete:
			if _, ok := st.Target.(*tsql.TableVar); !ok {
				word = "DELETE"
			}
		case *tsql.Merge:
			word = "MERGE"
		case *tsql.TryCatch:
			word = "BEGIN TRY"
		case *tsql.Print:
			word = "PRINT"
		case *tsql.RaiseError:
			word = "RAISERROR"
		case *tsql.Throw:
			word = "THROW"
		case *tsql.SetOption:
			word = "SET OPTION ON"
		case *tsql.WaitFor:
			word = "WAITFOR"
		case *tsql.BeginTran:
			word = "BEGIN TRANSACTION"
		case *tsql.CommitTran:
			word = "COMMIT TRANSACTION"
		case *tsql.RollbackTran:
			word = "ROLLBACK TRANSACTION"
		case *tsql.SaveTran:
			word = "SAVE TRANSACTION"
		default:
			word = "DDL"
		}
		if word != "" {
			return atLine(sqlError(443, 16, 14, "Invalid use of a side-effecting operator '%s' within a function.", word), st.Position().Line)
		}
	}
	return nil
}

// nullSink swallows what a function cannot send anyway.
type nullSink struct{}

func (nullSink) Columns([]Column) error                              { return nil }
func (nullSink) Row([]value.Value) error                             { return nil }
func (nullSink) Done(Command, int64, bool) error                     { return nil }
func (nullSink) Message(*value.Error) error                          { return nil }
func (nullSink) Return(int32) error                                  { return nil }
func (nullSink) Output(int, string, value.Type, value.Value) error   { return nil }
func (nullSink) DatabaseChanged(from, to string) error               { return nil }
func (nullSink) LanguageChanged(from, to string) error               { return nil }
func (nullSink) TransactionChanged(id uint64, rolledBack bool) error { return nil }
