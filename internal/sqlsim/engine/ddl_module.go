package engine

import (
	"context"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// moduleKind is the type of a module in sys.objects.
func moduleKind(k tsql.ModuleKind) string {
	switch k {
	case tsql.ModuleProcedure:
		return "P"
	case tsql.ModuleView:
		return "V"
	case tsql.ModuleScalarFunction:
		return "FN"
	case tsql.ModuleInlineFunction:
		return "IF"
	case tsql.ModuleTableFunction:
		return "TF"
	}
	return "TR"
}

func kindWord(k tsql.ModuleKind) string {
	switch k {
	case tsql.ModuleProcedure:
		return "PROCEDURE"
	case tsql.ModuleView:
		return "VIEW"
	case tsql.ModuleTrigger:
		return "TRIGGER"
	}
	return "FUNCTION"
}

// triggerInfo is what the planning half knows of a trigger.
type triggerInfo struct {
	table    *object
	insert   bool
	update   bool
	delete   bool
	disabled bool
}

// execCreateModule is CREATE, ALTER and CREATE OR ALTER of a procedure, view, function
// or trigger.
func (p *planner) execCreateModule(ctx context.Context, fr *frame, st *tsql.CreateModule) error {
	switch {
	case st.DDLTrigger:
		return tsql.Unsupported(st.Line, "DDL triggers")
	case st.InsteadOf:
		return tsql.Unsupported(st.Line, "INSTEAD OF triggers")
	case st.NativeComp:
		return tsql.Unsupported(st.Line, "natively compiled modules")
	}
	if strings.HasPrefix(st.Name.Name, "#") {
		return tsql.Unsupported(st.Line, "temporary procedures")
	}
	if st.Name.Database != "" {
		return lineAt(sqlError(166, 15, 1, "'CREATE/ALTER %s' does not allow specifying the database name as a prefix to the object name.", kindWord(st.Kind)), st.Pos)
	}
	db, sch, err := p.schemaFor(st.Name, "")
	if err != nil {
		return err
	}
	tx, err := p.txn(ctx)
	if err != nil {
		return err
	}
	kind := moduleKind(st.Kind)
	existing, err := p.settled(sch, foldName(st.Name.Name))
	if err != nil {
		return err
	}
	if existing != nil {
		same := existing.kind == kind || strings.Contains("FN IF TF", existing.kind) && strings.Contains("FN IF TF", kind)
		switch {
		case !same && st.Action != tsql.ModuleCreate:
			return lineAt(sqlError(2010, 16, 1, "Cannot perform alter on '%s' because it is an incompatible object type.", st.Name), st.Pos)
		case st.Action == tsql.ModuleCreate:
			return lineAt(sqlError(2714, 16, 3, "There is already an object named '%s' in the database.", st.Name.Name), st.Pos)
		case existing.kind != kind:
			return lineAt(sqlError(2010, 16, 1, "Cannot perform alter on '%s' because it is an incompatible object type.", st.Name), st.Pos)
		}
		if err := p.checkAlter(existing, 3704, "User does not have permission to perform this operation on "+strings.ToLower(kindWord(st.Kind))+" '%s'."); err != nil {
			return err
		}
	} else {
		if st.Action == tsql.ModuleAlter {
			return lineAt(sqlError(208, 16, 6, "Invalid object name '%s'.", st.Name), st.Pos)
		}
		if st.Kind != tsql.ModuleTrigger {
			if err := p.checkCreate(db, sch, "CREATE "+kindWord(st.Kind)); err != nil {
				return err
			}
		}
	}
	m := &module{
		database: db.name, schema: sch.name, name: st.Name.Name, kind: st.Kind, ast: st, text: fr.text, source: fr.text,
		quotedIdentifier: st.QuotedIdentifier, ansiNulls: p.sess.settings.ansiNulls, executeAs: st.ExecuteAs,
	}
	for _, d := range st.Params {
		mp := moduleParam{name: d.Name, output: d.Output, readonly: d.ReadOnly, def: d.Default}
		typ, ok, err := builtinType(d.Type)
		if err != nil {
			return err
		}
		if !ok {
			t, tt, err := p.resolveAlias(d.Type)
			if err != nil {
				return err
			}
			typ = t
			mp.typeName = tsql.ObjectName{Schema: d.Type.Schema, Name: d.Type.Name}
			if tt != nil {
				mp.tableType = tt
				if !d.ReadOnly {
					return lineAt(sqlError(352, 15, 1, "The table-valued parameter \"%s\" must be declared with the READONLY option.", d.Name), d.Pos)
				}
			}
		} else if typ.Kind.IsCharacter() {
			typ.Collation = db.collation
		}
		if d.ReadOnly && mp.tableType == nil {
			return lineAt(sqlError(346, 15, 1, "The parameter \"%s\" can not be declared READONLY since it is not a table-valued parameter.", d.Name), d.Pos)
		}
		mp.typ = typ
		for _, other := range m.params {
			if foldName(other.name) == foldName(mp.name) {
				return lineAt(sqlError(134, 15, 1, "The variable name '%s' has already been declared. Variable names must be unique within a query batch or stored procedure.", d.Name), d.Pos)
			}
		}
		m.params = append(m.params, mp)
	}
	if st.Returns != nil {
		typ, ok, err := builtinType(st.Returns)
		if err != nil {
			return err
		}
		if !ok {
			if typ, _, err = p.resolveAlias(st.Returns); err != nil {
				return err
			}
		} else if typ.Kind.IsCharacter() {
			typ.Collation = db.collation
		}
		m.returns = typ
	}
	now := p.srv.clock.Now().UTC()
	o := &object{db: db, schema: sch, name: st.Name.Name, kind: kind, created: now, modified: now, module: m}
	if err := p.checkModule(st, o, m); err != nil {
		return err
	}
	if st.Kind == tsql.ModuleTrigger {
		return p.installTrigger(ctx, tx, st, o, existing)
	}
	if existing != nil {
		if err := tx.LockObject(ctx, db.id, existing.id); err != nil {
			return err
		}
		old, modified := existing.module, existing.modified
		m.id = existing.id
		p.srv.alter(tx, func() { existing.module, existing.modified = m, now }, func() { existing.module, existing.modified = old, modified })
		return nil
	}
	return p.create(ctx, tx, o)
}

// checkModule plans views and inline functions at once, as the server does.
func (p *planner) checkModule(st *tsql.CreateModule, o *object, m *module) error {
	if st.Kind != tsql.ModuleProcedure && st.Kind != tsql.ModuleTrigger {
		if err := refuseNested(st.Query, st.Body); err != nil {
			return err
		}
	}
	switch st.Kind {
	case tsql.ModuleView:
		if err := checkUnordered(st.Query); err != nil {
			return err
		}
		b := &binder{p: p, vars: &varTable{byName: map[string]int{}}}
		q, err := b.bindQuery(st.Query, nil, &bindEnv{stmt: &stmtPlan{}, chain: o})
		if err != nil {
			return err
		}
		_, err = queryColumns(q, o.name, st.Columns, "", st.Pos)
		if e, ok := err.(*value.Error); ok && e.Number == 8155 {
			return lineAt(sqlError(4511, 16, 1, "Create View or Function failed because no column name was specified for column %s.", columnNumber(e.Message)), st.Pos)
		}
		return err
	case tsql.ModuleInlineFunction:
		if err := checkUnordered(st.Query); err != nil {
			return err
		}
		vars := &varTable{byName: map[string]int{}}
		for i, pr := range m.params {
			vars.byName[foldName(pr.name)] = i
			vars.decls = append(vars.decls, varDecl{name: pr.name, typ: pr.typ})
		}
		b := &binder{p: p, vars: vars}
		_, err := b.bindQuery(st.Query, nil, &bindEnv{stmt: &stmtPlan{}, chain: o})
		return err
	case tsql.ModuleTableFunction:
		if _, err := p.newVariable(st.ReturnsVar, st.ReturnsTable); err != nil {
			return err
		}
	}
	if st.Kind == tsql.ModuleTrigger {
		return nil // inserted and deleted exist only while it fires
	}
	// The statements of the body, as far as the tables that they name exist.
	prog, err := p.sess.prepareModule(m)
	if err != nil {
		return err
	}
	delete(p.sess.modules, m)
	fr := p.sess.newFrame(prog, nil, nil)
	fr.module = m
	return p.sess.checkList(p, fr, prog.stmts)
}

// columnNumber takes the number out of the text of error 8155.
func columnNumber(message string) string {
	_, rest, _ := strings.Cut(message, "for column ")
	n, _, _ := strings.Cut(rest, " ")
	return n
}

// lookupModule finds a procedure or function that the session may execute.
func (p *planner) lookupModule(ctx context.Context, fr *frame, name tsql.ObjectName, kind tsql.ModuleKind) (*module, error) {
	o, err := p.resolveObject(name)
	if err != nil {
		return nil, err
	}
	if kind == tsql.ModuleProcedure {
		if o == nil || o.kind != "P" {
			return nil, sqlError(2812, 16, 62, "Could not find stored procedure '%s'.", name)
		}
	} else if o == nil || o.kind != "FN" {
		return nil, nil
	}
	// What a module or view of the same owner calls needs no permission of the caller's.
	for _, c := range []*object{p.viewing, p.chain()} {
		if c != nil && c.ownerID() == o.ownerID() && c.db == o.db {
			return o.module, nil
		}
	}
	if err := p.checkObject(o, "EXECUTE"); err != nil {
		return nil, err
	}
	return o.module, nil
}

// chain is the module whose owner's rights apply to what the running statement names.
func (p *planner) chain() *object {
	fr := p.innermost()
	if fr == nil || fr.module == nil || fr.dynamic {
		return nil
	}
	db := p.srv.findDatabase(fr.module.database)
	if db == nil {
		return nil
	}
	p.srv.mu.RLock()
	defer p.srv.mu.RUnlock()
	return db.objects[fr.module.id]
}

// moduleToken is what leaveModule puts back.
type moduleToken struct {
	db       *database
	contexts []securityContext
	login    *login
}

// enterModule switches to the database and the security context of a module.
func (p *planner) enterModule(fr *frame) (any, error) {
	tok := moduleToken{p.db, p.contexts, p.login}
	m := fr.module
	db := p.srv.findDatabase(m.database)
	if db != nil {
		p.db = db
	}
	if m.executeAs != "" && m.executeAs != "CALLER" {
		if err := p.impersonateModule(m); err != nil {
			p.db = tok.db
			return nil, err
		}
	}
	return tok, nil
}

func (p *planner) leaveModule(fr *frame, token any) {
	tok := token.(moduleToken)
	p.db, p.contexts, p.login = tok.db, tok.contexts, tok.login
}
