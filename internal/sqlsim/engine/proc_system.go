package engine

import (
	"context"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// systemProcedure is a system procedure of the language half.
type systemProcedure func(s *Session, ctx context.Context, fr *frame, args []argument, sink Sink) (int32, error)

var systemProcedures map[string]systemProcedure

func init() {
	systemProcedures = map[string]systemProcedure{
		"sp_executesql":          executeSQL,
		"sp_prepare":             prepareHandle,
		"sp_prepexec":            prepareAndExecute,
		"sp_execute":             executeHandle,
		"sp_unprepare":           unprepareHandle,
		"sp_getapplock":          getAppLock,
		"sp_releaseapplock":      releaseAppLock,
		"sp_set_session_context": setSessionContext,
	}
	for _, n := range strings.Fields(`sp_describe_first_result_set sp_describe_undeclared_parameters sp_cursor sp_cursoropen
sp_cursorprepare sp_cursorexecute sp_cursorprepexec sp_cursorunprepare sp_cursorfetch sp_cursoroption sp_cursorclose
sp_xml_preparedocument sp_xml_removedocument sp_oacreate xp_cmdshell sp_addlinkedserver sp_addmessage sp_trace_create
sp_invoke_external_rest_endpoint`) {
		systemProcedures[n] = func(s *Session, ctx context.Context, fr *frame, args []argument, sink Sink) (int32, error) {
			return 0, tsql.Unsupported(0, "the system procedure %s", n)
		}
	}
}

// named finds arguments of a system procedure by name or position; nil for one left out.
func named(proc string, args []argument, names ...string) ([]*argument, error) {
	out := make([]*argument, len(names))
	for i := range args {
		a := &args[i]
		at := -1
		if a.name == "" {
			at = i
			if at >= len(names) {
				return nil, sqlError(8144, 16, 2, "Procedure or function %s has too many arguments specified.", proc)
			}
		} else {
			for j, n := range names {
				if strings.EqualFold(a.name, n) {
					at = j
				}
			}
			if at < 0 {
				return nil, sqlError(8145, 16, 2, "%s is not a parameter for procedure %s.", a.name, proc)
			}
		}
		if out[at] != nil {
			return nil, sqlError(8143, 16, 1, "Parameter '%s' was supplied multiple times.", names[at])
		}
		if !a.isDefault {
			out[at] = a
		}
	}
	return out, nil
}

func (s *Session) stringArg(a *argument) (string, bool, error) {
	if a == nil || a.val.IsNull() {
		return "", false, nil
	}
	v, err := s.parameterValue(a.val, a.typ, nmaxType)
	return v.Str(), err == nil, err
}

func missing(proc, param string) error {
	return sqlError(201, 16, 4, "Procedure or function '%s' expects parameter '%s', which was not supplied.", proc, param)
}

// --- sp_executesql and prepared statements ---

// statementArg is the text argument of sp_executesql and its kin, which must be Unicode.
func statementArg(a argument, name string) (string, error) {
	if !a.typ.Kind.IsUnicode() && a.typ.Kind != value.Unknown {
		return "", sqlError(214, 16, 2, "Procedure expects parameter '%s' of type 'ntext/nchar/nvarchar'.", name)
	}
	if a.val.IsNull() {
		return "", nil
	}
	return a.val.Str(), nil
}

func executeSQL(s *Session, ctx context.Context, fr *frame, args []argument, sink Sink) (int32, error) {
	if len(args) == 0 {
		return 0, missing("sp_executesql", "@statement")
	}
	text, err := statementArg(args[0], "@statement")
	if err != nil {
		return 0, err
	}
	decl := ""
	rest := args[1:]
	if len(rest) > 0 {
		if decl, err = statementArg(rest[0], "@params"); err != nil {
			return 0, err
		}
		rest = rest[1:]
	}
	params, err := s.declareParams(decl)
	if err != nil {
		return 0, err
	}
	if err := s.bindDynamic(fr, params, rest, text, decl); err != nil {
		return 0, err
	}
	_, err = s.runDynamic(ctx, fr, text, params, decl, sink, 2)
	return 0, err
}

// declareParams reads a parameter list such as "@a int, @b nvarchar(10) OUTPUT".
func (s *Session) declareParams(decl string) ([]dynamicParam, error) {
	defs, err := tsql.ParseParams(decl)
	if err != nil {
		return nil, s.innerError(err, nil)
	}
	params := make([]dynamicParam, len(defs))
	for i, d := range defs {
		typ, ok, err := builtinType(d.Type)
		var table any
		if err == nil && !ok {
			typ, table, err = s.be.resolveAlias(d.Type)
		} else if typ.Kind.IsCharacter() {
			_, _, typ.Collation = s.be.currentDatabase()
		}
		if err != nil {
			return nil, s.innerError(err, nil)
		}
		params[i].decl = varDecl{name: d.Name, typ: typ, table: table, readonly: d.ReadOnly, tname: tsql.ObjectName{Schema: d.Type.Schema, Name: d.Type.Name}}
		params[i].val = value.NewNull(typ.Kind)
		if d.Output {
			params[i].set = func(value.Value) error { return nil }
		}
	}
	return params, nil
}

func (s *Session) bindDynamic(fr *frame, params []dynamicParam, args []argument, text, decl string) error {
	given := make([]bool, len(params))
	for i, a := range args {
		at := i
		if a.name != "" {
			at = -1
			for j := range params {
				if strings.EqualFold(params[j].decl.name, a.name) {
					at = j
				}
			}
		}
		if at < 0 {
			return sqlError(8145, 16, 2, "%s is not a parameter for procedure %s.", a.name, "sp_executesql")
		}
		if at >= len(params) {
			return sqlError(8144, 16, 2, "Procedure or function %s has too many arguments specified.", "sp_executesql")
		}
		p := &params[at]
		if given[at] {
			return sqlError(8143, 16, 1, "Parameter '%s' was supplied multiple times.", p.decl.name)
		}
		given[at] = true
		if a.output && p.set == nil {
			return sqlError(8162, 16, 2, "The formal parameter \"%s\" was not declared as an OUTPUT parameter, but the actual parameter passed in requested output.", p.decl.name)
		}
		if p.decl.table != nil {
			switch {
			case a.table != nil:
				t, err := s.be.clientTable(fr, a.table, p.decl.table)
				if err != nil {
					return err
				}
				p.table = t
			case a.tableSlot >= 0:
				t, err := s.be.tableArgument(fr, a.tableSlot, p.decl.table)
				if err != nil {
					return err
				}
				p.table = t
			case !a.isDefault:
				return sqlError(206, 16, 2, "Operand type clash: %s is incompatible with %s", typeWord(a.typ), p.decl.tname.Name)
			}
			continue
		}
		v, err := s.parameterValue(a.val, a.typ, p.decl.typ)
		if err != nil {
			return err
		}
		p.val = v
		p.set = nil
		if a.output {
			p.set = a.set
		}
	}
	for i, p := range params {
		if given[i] {
			continue
		}
		if p.decl.table == nil {
			list := ""
			if decl != "" {
				list = "(" + decl + ")"
			}
			return sqlError(8178, 16, 1, "The parameterized query '%s' expects the parameter '%s', which was not supplied.", list+text, p.decl.name)
		}
		params[i].set = nil
	}
	return nil
}

// preparedHandle is what sp_prepare made.
type preparedHandle struct{ params, text string }

func (s *Session) newHandle(params, text string) int32 {
	s.lastHandle++
	s.handles[s.lastHandle] = &preparedHandle{params, text}
	return s.lastHandle
}

func prepareHandle(s *Session, ctx context.Context, fr *frame, args []argument, sink Sink) (int32, error) {
	return s.prepareCall(ctx, fr, args, sink, "sp_prepare", false)
}

func prepareAndExecute(s *Session, ctx context.Context, fr *frame, args []argument, sink Sink) (int32, error) {
	return s.prepareCall(ctx, fr, args, sink, "sp_prepexec", true)
}

func (s *Session) prepareCall(ctx context.Context, fr *frame, args []argument, sink Sink, proc string, execute bool) (int32, error) {
	if len(args) < 3 {
		return 0, missing(proc, []string{"@handle", "@params", "@stmt"}[len(args)])
	}
	params, err := statementArg(args[1], "@params")
	if err != nil {
		return 0, err
	}
	text, err := statementArg(args[2], "@stmt")
	if err != nil {
		return 0, err
	}
	decls, err := s.declareParams(params)
	if err != nil {
		return 0, err
	}
	list := make([]varDecl, len(decls))
	for i, d := range decls {
		list[i] = d.decl
	}
	if _, err := s.prepareBatch(text, list, params); err != nil {
		return 0, s.innerError(err, nil)
	}
	h := s.newHandle(params, text)
	if args[0].set != nil {
		if err := args[0].set(intValue(int64(h))); err != nil {
			return 0, err
		}
	}
	if !execute {
		return 0, nil
	}
	return 0, s.executePrepared(ctx, fr, h, args[3:], sink)
}

func (s *Session) executePrepared(ctx context.Context, fr *frame, h int32, args []argument, sink Sink) error {
	p := s.handles[h]
	if p == nil {
		return sqlError(8179, 16, 2, "Could not find prepared statement with handle %d.", h)
	}
	params, err := s.declareParams(p.params)
	if err != nil {
		return err
	}
	if err := s.bindDynamic(fr, params, args, p.text, p.params); err != nil {
		return err
	}
	_, err = s.runDynamic(ctx, fr, p.text, params, p.params, sink, 1)
	return err
}

func (s *Session) handleArg(args []argument, proc string) (int32, error) {
	if len(args) == 0 {
		return 0, missing(proc, "@handle")
	}
	v, err := s.parameterValue(args[0].val, args[0].typ, intType)
	return int32(v.Int()), err
}

func executeHandle(s *Session, ctx context.Context, fr *frame, args []argument, sink Sink) (int32, error) {
	h, err := s.handleArg(args, "sp_execute")
	if err != nil {
		return 0, err
	}
	return 0, s.executePrepared(ctx, fr, h, args[1:], sink)
}

func unprepareHandle(s *Session, ctx context.Context, fr *frame, args []argument, sink Sink) (int32, error) {
	h, err := s.handleArg(args, "sp_unprepare")
	if err != nil {
		return 0, err
	}
	if s.handles[h] == nil {
		return 0, sqlError(8179, 16, 2, "Could not find prepared statement with handle %d.", h)
	}
	delete(s.handles, h)
	return 0, nil
}

// --- application locks ---

var appLockModes = map[string]string{
	"shared": "Shared", "update": "Update", "exclusive": "Exclusive",
	"intentshared": "IntentShared", "intentexclusive": "IntentExclusive",
}

func getAppLock(s *Session, ctx context.Context, fr *frame, args []argument, sink Sink) (int32, error) {
	a, err := named("sp_getapplock", args, "@Resource", "@LockMode", "@LockOwner", "@LockTimeout", "@DbPrincipal")
	if err != nil {
		return 0, err
	}
	resource, ok, err := s.stringArg(a[0])
	if err != nil {
		return 0, err
	}
	if a[0] == nil {
		return 0, missing("sp_getapplock", "@Resource")
	}
	if a[1] == nil {
		return 0, missing("sp_getapplock", "@LockMode")
	}
	word, _, err := s.stringArg(a[1])
	if err != nil {
		return 0, err
	}
	mode := appLockModes[strings.ToLower(strings.TrimSpace(word))]
	owner, err := s.lockOwner(a[2])
	if err != nil {
		return 0, err
	}
	timeout := s.settings.lockTimeout
	if a[3] != nil && !a[3].val.IsNull() {
		v, err := s.parameterValue(a[3].val, a[3].typ, intType)
		if err != nil {
			return 0, err
		}
		timeout = int(v.Int())
	}
	principal := "public"
	if p, ok, err := s.stringArg(a[4]); err != nil {
		return 0, err
	} else if ok {
		principal = p
	}
	if !ok || mode == "" || owner == "" || timeout < -1 {
		return -999, nil // invalid parameters are reported by the status alone
	}
	if _, ok := s.be.principalID(principal); !ok {
		return -999, nil
	}
	if owner == "transaction" && s.txn.count == 0 {
		return -999, noTransactionForLock("sp_getapplock")
	}
	status, err := s.be.getAppLock(ctx, value.UTF16Slice(resource, 0, 255), mode, owner == "session", timeout, principal)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return status, err
}

// noTransactionForLock tells that a lock owned by the transaction needs one.
func noTransactionForLock(proc string) error {
	return sqlError(3623, 16, 1, "Must be in a transaction to call %s with @LockOwner = 'Transaction'.", proc)
}

// lockOwner is "session", "transaction", or empty for anything else.
func (s *Session) lockOwner(a *argument) (string, error) {
	if a == nil {
		return "transaction", nil
	}
	owner, ok, err := s.stringArg(a)
	if err != nil || !ok {
		return "", err
	}
	switch owner = strings.ToLower(strings.TrimSpace(owner)); owner {
	case "session", "transaction":
		return owner, nil
	}
	return "", nil
}

func releaseAppLock(s *Session, ctx context.Context, fr *frame, args []argument, sink Sink) (int32, error) {
	a, err := named("sp_releaseapplock", args, "@Resource", "@LockOwner", "@DbPrincipal")
	if err != nil {
		return 0, err
	}
	if a[0] == nil {
		return 0, missing("sp_releaseapplock", "@Resource")
	}
	resource, ok, err := s.stringArg(a[0])
	if err != nil {
		return 0, err
	}
	owner, err := s.lockOwner(a[1])
	if err != nil {
		return 0, err
	}
	principal := "public"
	if p, ok, err := s.stringArg(a[2]); err != nil {
		return 0, err
	} else if ok {
		principal = p
	}
	if !ok || owner == "" {
		return -999, nil
	}
	if owner == "transaction" && s.txn.count == 0 {
		return -999, noTransactionForLock("sp_releaseapplock")
	}
	if !s.be.releaseAppLock(value.UTF16Slice(resource, 0, 255), owner == "session", principal) {
		return -999, sqlError(1223, 16, 1, "Cannot release the application lock (Database Principal: '%s', Resource: '%s') because it is not currently held.", principal, resource)
	}
	return 0, nil
}

// --- SESSION_CONTEXT ---

// contextValue is an entry of SESSION_CONTEXT.
type contextValue struct {
	val      value.Value
	typ      value.Type
	readOnly bool
}

func setSessionContext(s *Session, ctx context.Context, fr *frame, args []argument, sink Sink) (int32, error) {
	a, err := named("sp_set_session_context", args, "@key", "@value", "@read_only")
	if err != nil {
		return 0, err
	}
	key, ok, err := s.stringArg(a[0])
	if err != nil {
		return 0, err
	}
	switch {
	case a[0] == nil:
		return 0, missing("sp_set_session_context", "@key")
	case a[1] == nil:
		return 0, missing("sp_set_session_context", "@value")
	case !ok:
		return 0, sqlError(225, 16, 4, "The parameters supplied for the procedure \"%s\" are not valid.", "sp_set_session_context")
	}
	if old, found := s.sessionContext[foldName(key)]; found && old.readOnly {
		return 0, sqlError(15664, 16, 1, "Cannot set key '%s' in the session context. The key has been set as read_only for this session.", key)
	}
	readOnly := false
	if a[2] != nil && !a[2].val.IsNull() {
		v, err := s.parameterValue(a[2].val, a[2].typ, bitType)
		if err != nil {
			return 0, err
		}
		readOnly = v.Bool()
	}
	if a[1].val.IsNull() && !readOnly {
		delete(s.sessionContext, foldName(key))
		return 0, nil
	}
	s.sessionContext[foldName(key)] = contextValue{a[1].val, a[1].typ, readOnly}
	return 0, nil
}
