package engine

import (
	"context"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// preparedBody is a batch or module body ready to run: its statements, its variables,
// and its control expressions compiled so far. It belongs to one session.
type preparedBody struct {
	stmts            []tsql.Statement
	text             string
	layout           *varTable
	quotedIdentifier bool
	version          uint64 // of the catalog it was compiled for
	database         string
	concatNull       bool
	scalars          map[scalarKey]*scalar
	predicates       map[tsql.Expr]*predicate
	checked          bool // its statements have been compiled ahead for this version
	compounds        map[*tsql.SetVar]tsql.Expr
}

// scalarKey is an expression with the type it was converted to.
type scalarKey struct {
	e   tsql.Expr
	typ value.Type
}

const (
	maxPrepared     = 500      // texts, and modules, that a session keeps compiled
	maxPreparedText = 64 << 10 // longer ones are scripts that do not come back
)

// prepareBatch parses and compiles a batch. params are declared before it, as those of
// sp_executesql are. An error means that nothing runs.
func (s *Session) prepareBatch(text string, params []varDecl, key string) (*preparedBody, error) {
	db, _, _ := s.be.currentDatabase()
	key = db + "\x00" + s.settings.compileKey() + key + "\x00" + text
	version := s.be.catalogVersion()
	if p := s.prepared[key]; p != nil && p.version == version {
		return p, nil
	}
	b, err := tsql.Parse(text, tsql.Options{QuotedIdentifier: s.settings.quotedIdentifier})
	if err != nil {
		return nil, err
	}
	p, err := s.prepareBody(b.Statements, b.Text, b.Variables, params)
	if err != nil {
		return nil, err
	}
	p.quotedIdentifier = s.settings.quotedIdentifier
	if len(text) > maxPreparedText {
		return p, nil
	}
	if len(s.prepared) >= maxPrepared {
		clear(s.prepared)
	}
	s.prepared[key] = p
	return p, nil
}

// prepareModule readies a module's body.
func (s *Session) prepareModule(m *module) (*preparedBody, error) {
	version := s.be.catalogVersion()
	if p := s.modules[m]; p != nil && p.version == version && p.concatNull == s.settings.concatNullYieldNull {
		return p, nil
	}
	params := make([]varDecl, len(m.params))
	for i, q := range m.params {
		params[i] = varDecl{name: q.name, typ: q.typ, table: q.tableType, tname: q.typeName, readonly: q.readonly}
	}
	if m.ast.Kind == tsql.ModuleTableFunction {
		params = append(params, varDecl{name: m.ast.ReturnsVar, table: m.ast.ReturnsTable})
	}
	p, err := s.prepareBody(m.ast.Body, m.source, nil, params)
	if err != nil {
		return nil, err
	}
	p.quotedIdentifier = m.quotedIdentifier
	if len(s.modules) >= maxPrepared {
		clear(s.modules)
	}
	s.modules[m] = p
	return p, nil
}

func (s *Session) prepareBody(stmts []tsql.Statement, text string, uses []tsql.VariableUse, params []varDecl) (*preparedBody, error) {
	db, _, _ := s.be.currentDatabase()
	p := &preparedBody{
		stmts: stmts, text: text, version: s.be.catalogVersion(), database: db, concatNull: s.settings.concatNullYieldNull,
		layout:  &varTable{byName: map[string]int{}},
		scalars: map[scalarKey]*scalar{}, predicates: map[tsql.Expr]*predicate{},
	}
	for _, d := range params {
		p.layout.declare(d)
	}
	if err := checkVariables(uses, params); err != nil {
		return nil, err
	}
	if err := s.declareAll(p.layout, stmts); err != nil {
		return nil, err
	}
	return p, nil
}

func (t *varTable) declare(d varDecl) {
	t.byName[foldName(d.name)] = len(t.decls)
	t.decls = append(t.decls, d)
}

// checkVariables finds variables that are used before they are declared (137, 1087) or
// declared twice (134).
func checkVariables(uses []tsql.VariableUse, params []varDecl) error {
	if len(uses) == 0 {
		return nil
	}
	declared := map[string]bool{}
	for _, p := range params {
		declared[foldName(p.name)] = true
	}
	for _, u := range uses {
		name := foldName(u.Name)
		switch {
		case u.Declares && declared[name]:
			return atLine(sqlError(134, 15, 2, "The variable name '%s' has already been declared. Variable names must be unique within a query batch or stored procedure.", u.Name), u.Line)
		case u.Declares:
			declared[name] = true
		case !declared[name] && u.Table:
			return atLine(sqlError(1087, 15, 2, "Must declare the table variable \"%s\".", u.Name), u.Line)
		case !declared[name]:
			return atLine(undeclared(u.Name), u.Line)
		}
	}
	return nil
}

// declareAll gives a slot to every variable that the statements declare, reached or not.
func (s *Session) declareAll(t *varTable, stmts []tsql.Statement) error {
	for _, st := range stmts {
		if err := s.declareIn(t, st); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) declareIn(t *varTable, st tsql.Statement) error {
	switch st := st.(type) {
	case *tsql.Declare:
		for _, v := range st.Vars {
			d := varDecl{name: v.Name, cursor: v.Cursor}
			switch {
			case v.Cursor:
			case v.Table != nil:
				d.table = v.Table
			default:
				typ, ok, err := builtinType(v.Type)
				if err != nil {
					return atLine(err, v.Line)
				}
				var table any
				if !ok {
					if typ, table, err = s.be.resolveAlias(v.Type); err != nil {
						return atLine(err, v.Line)
					}
					d.tname = tsql.ObjectName{Schema: v.Type.Schema, Name: v.Type.Name}
				} else if typ.Kind.IsCharacter() {
					_, _, typ.Collation = s.be.currentDatabase()
				}
				d.typ, d.table = typ, table
			}
			t.declare(d)
		}
	case *tsql.Block:
		return s.declareAll(t, st.Body)
	case *tsql.If:
		if err := s.declareIn(t, st.Then); err != nil || st.Else == nil {
			return err
		}
		return s.declareIn(t, st.Else)
	case *tsql.While:
		return s.declareIn(t, st.Body)
	case *tsql.TryCatch:
		if err := s.declareAll(t, st.Try); err != nil {
			return err
		}
		return s.declareAll(t, st.Catch)
	}
	return nil
}

// newFrame makes a frame for a prepared body; all variables are NULL.
func (s *Session) newFrame(p *preparedBody, parent *frame, sink Sink) *frame {
	fr := &frame{
		sess: s, parent: parent, prog: p, layout: p.layout, text: p.text, sink: sink,
		quotedIdentifier: p.quotedIdentifier, level: s.level,
		identity: value.NewNull(value.Decimal),
		vals:     make([]value.Value, len(p.layout.decls)),
		tables:   make([]any, len(p.layout.decls)),
		cursors:  make([]*cursor, len(p.layout.decls)),
	}
	for i, d := range p.layout.decls {
		fr.vals[i] = value.NewNull(d.typ.Kind)
	}
	return fr
}

// scope is where a frame's control expressions are compiled.
func (fr *frame) scope() *scope { return &scope{sess: fr.sess, vars: fr.layout} }

func (fr *frame) rowCtx(ctx context.Context) *rowCtx {
	return &rowCtx{ctx: ctx, sess: fr.sess, frame: fr}
}

// refresh drops compiled expressions when the catalog has changed under them.
func (p *preparedBody) refresh(s *Session) {
	if v := s.be.catalogVersion(); v != p.version {
		clear(p.scalars)
		clear(p.predicates)
		p.version = v
		p.checked = false
	}
}

// compiled is a control expression, compiled once and converted to a type unless that is Unknown.
func (fr *frame) compiled(e tsql.Expr, typ value.Type) (*scalar, error) {
	fr.prog.refresh(fr.sess)
	key := scalarKey{e, typ}
	if s := fr.prog.scalars[key]; s != nil {
		return s, nil
	}
	s, err := compileScalar(fr.scope(), e)
	if err != nil {
		return nil, err
	}
	if typ.Kind != value.Unknown {
		if s, err = assignTo(s, typ); err != nil {
			return nil, atLine(err, e.Position().Line)
		}
	}
	fr.prog.scalars[key] = s
	return s, nil
}

func (fr *frame) compiledPredicate(e tsql.Expr) (*predicate, error) {
	fr.prog.refresh(fr.sess)
	if p := fr.prog.predicates[e]; p != nil {
		return p, nil
	}
	p, err := compilePredicate(fr.scope(), e)
	if err != nil {
		return nil, err
	}
	fr.prog.predicates[e] = p
	return p, nil
}

// eval evaluates a control expression.
func (fr *frame) eval(ctx context.Context, e tsql.Expr, typ value.Type) (value.Value, error) {
	s, err := fr.compiled(e, typ)
	if err != nil {
		return value.Value{}, err
	}
	return s.eval(fr.rowCtx(ctx))
}

// test evaluates a control condition.
func (fr *frame) test(ctx context.Context, e tsql.Expr) (bool, error) {
	p, err := fr.compiledPredicate(e)
	if err != nil {
		return false, err
	}
	t, err := p.eval(fr.rowCtx(ctx))
	return t == isTrue, err
}
