package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// tempTable is a #table of the session, and the frame in which it was created.
type tempTable struct {
	obj   *object
	frame *frame
}

// lookupTemp finds a #table or ##table; the innermost frame's wins.
func (p *planner) lookupTemp(name string) *object {
	if strings.HasPrefix(name, "##") {
		p.srv.mu.RLock()
		defer p.srv.mu.RUnlock()
		return p.srv.globals[foldName(name)]
	}
	for i := len(p.temps) - 1; i >= 0; i-- {
		if foldName(p.temps[i].obj.name) == foldName(name) {
			return p.temps[i].obj
		}
	}
	return nil
}

// createTemp creates a #table, or a ##table.
func (p *planner) createTemp(ctx context.Context, fr *frame, name tsql.ObjectName, t *table, def *tsql.TableDef) error {
	tempdb := p.srv.findDatabase("tempdb")
	global := strings.HasPrefix(name.Name, "##")
	if o := p.lookupTemp(name.Name); o != nil {
		for _, tt := range p.temps {
			if tt.obj == o && tt.frame == frameOf(fr) {
				return lineAt(sqlError(2714, 16, 6, "There is already an object named '%s' in the database.", name.Name), name.Pos)
			}
		}
		if global {
			return lineAt(sqlError(2714, 16, 6, "There is already an object named '%s' in the database.", name.Name), name.Pos)
		}
	}
	now := p.srv.clock.Now().UTC()
	p.srv.mu.Lock()
	dbo := tempdb.schemaNamed("dbo")
	id := tempdb.newObjectID()
	tempdb.objects[id] = nil
	p.srv.mu.Unlock()
	o := &object{id: id, db: tempdb, schema: dbo, name: name.Name, kind: "U", created: now, modified: now, table: t}
	t.obj, t.temporary = o, !global
	// Constraint names of #tables are not unique: a schema of their own holds them.
	own := &schema{id: dbo.id, name: "dbo", owner: dbo.owner, objects: map[string]*object{}, types: map[string]*userType{}}
	b := &tableBuilder{p: p, db: tempdb, schema: own, name: name.Name, t: t, kind: "table"}
	if def != nil {
		if err := b.build(def); err != nil {
			return err
		}
	} else {
		t.indexes = []*index{{heap: true, rowLocks: true, pageLocks: true}}
		t.nextIndex = 2
	}
	if err := p.attach(t, id, tempdb.id, "dbo."+name.Name); err != nil {
		return err
	}
	t.data.Private = !global
	t.data.DatabaseName = "tempdb"
	tx, err := p.txn(ctx)
	if err != nil {
		return err
	}
	p.srv.mu.Lock()
	tempdb.objects[id] = o
	if global {
		p.srv.globals[foldName(name.Name)] = o
	}
	p.srv.mu.Unlock()
	tt := &tempTable{obj: o, frame: frameOf(fr)}
	p.temps = append(p.temps, tt)
	tx.OnRollback(func() { p.removeTemp(o) })
	return nil
}

// frameOf is the frame that owns what is created: dynamic SQL and procedures own theirs,
// and a batch belongs to the session.
func frameOf(fr *frame) *frame {
	if fr == nil || fr.parent == nil && fr.module == nil && !fr.dynamic {
		return nil
	}
	return fr
}

func (p *planner) removeTemp(o *object) {
	p.srv.mu.Lock()
	delete(p.srv.databases["tempdb"].objects, o.id)
	if p.srv.globals[foldName(o.name)] == o {
		delete(p.srv.globals, foldName(o.name))
	}
	p.srv.mu.Unlock()
	o.dropped = true
	p.srv.store.Forget(o.table.data)
	for i, t := range p.temps {
		if t.obj == o {
			p.temps = append(p.temps[:i:i], p.temps[i+1:]...)
			break
		}
	}
}

// dropTemps drops the session's #tables from position on.
func (p *planner) dropTemps(from int) {
	for len(p.temps) > from {
		p.removeTemp(p.temps[len(p.temps)-1].obj)
	}
}

// endFrame drops the #tables of a frame.
func (p *planner) endFrame(ctx context.Context, fr *frame) {
	if frameOf(fr) == nil {
		return
	}
	for i := len(p.temps) - 1; i >= 0; i-- {
		if p.temps[i].frame == fr {
			p.removeTemp(p.temps[i].obj)
		}
	}
}

// dropTemp is DROP TABLE of a #table.
func (p *planner) dropTemp(tx *storage.Txn, o *object) {
	at := -1
	for i, t := range p.temps {
		if t.obj == o {
			at = i
		}
	}
	if at < 0 {
		return
	}
	tt := p.temps[at]
	p.removeTemp(o)
	tx.OnRollback(func() {
		p.srv.mu.Lock()
		p.srv.databases["tempdb"].objects[o.id] = o
		if strings.HasPrefix(o.name, "##") {
			p.srv.globals[foldName(o.name)] = o
		}
		p.srv.mu.Unlock()
		o.dropped = false
		p.srv.store.Remember(o.table.data)
		p.temps = append(p.temps, tt)
	})
}

// variablePrototype is the definition of a table variable, for planning.
func (p *planner) variablePrototype(decl *varDecl) (*table, error) {
	switch d := decl.table.(type) {
	case *tsql.TableDef:
		if t := p.protos[d]; t != nil {
			return t, nil
		}
		t, err := p.newVariable(decl.name, d)
		if err != nil {
			return nil, err
		}
		if p.protos == nil || len(p.protos) > 300 {
			p.protos = map[*tsql.TableDef]*table{}
		}
		p.protos[d] = t
		return t, nil
	case *userType:
		if t := p.protos[d.table]; t != nil {
			return t, nil
		}
		t, err := p.newVariable(decl.name, d.table)
		if err != nil {
			return nil, err
		}
		if p.protos == nil || len(p.protos) > 300 {
			p.protos = map[*tsql.TableDef]*table{}
		}
		p.protos[d.table] = t
		return t, nil
	}
	return nil, sqlError(1087, 15, 2, "Must declare the table variable \"%s\".", decl.name)
}

// refuseModuleCalls refuses functions of users in the definition of a table variable or
// table type.
func refuseModuleCalls(def *tsql.TableDef) error {
	var err error
	walkDeep(def, func(n tsql.Node) bool {
		if f, ok := n.(*tsql.FuncCall); ok && err == nil && f.Name.Schema != "" && foldName(f.Name.Schema) != "sys" {
			err = tsql.Unsupported(f.Line, "a user-defined function in the definition of a table variable, which SQL Server does not take either")
		}
		return err == nil
	})
	return err
}

// newVariable makes an empty table variable.
func (p *planner) newVariable(name string, def *tsql.TableDef) (*table, error) {
	if err := refuseModuleCalls(def); err != nil {
		return nil, err
	}
	t := &table{name: name, variable: true, rowversion: -1}
	b := &tableBuilder{p: p, db: p.srv.findDatabase("tempdb"), name: name, t: t, kind: "variable"}
	if err := b.build(def); err != nil {
		return nil, err
	}
	p.nextTemp--
	if err := p.attach(t, p.nextTemp, -int32(p.party.ID), name); err != nil {
		return nil, err
	}
	p.srv.store.Forget(t.data)
	t.data.Private = true
	return t, nil
}

// tableOfFrame is the table in a variable of a frame; it is made on first use.
func (p *planner) tableOfFrame(fr *frame, slot int, decl *varDecl) (*table, error) {
	for len(fr.tables) <= slot {
		fr.tables = append(fr.tables, nil)
	}
	if t, ok := fr.tables[slot].(*table); ok && t != nil {
		return t, nil
	}
	def, ok := decl.table.(*tsql.TableDef)
	if u, is := decl.table.(*userType); is {
		def, ok = u.table, true
	}
	if !ok {
		return nil, sqlError(1087, 15, 2, "Must declare the table variable \"%s\".", decl.name)
	}
	t, err := p.newVariable(decl.name, def)
	if err != nil {
		return nil, err
	}
	fr.tables[slot] = t
	return t, nil
}

// tableArgument passes a table variable as a table-valued parameter.
func (p *planner) tableArgument(fr *frame, slot int, typ any) (any, error) {
	decl := &fr.layout.decls[slot]
	want, _ := typ.(*userType)
	have, _ := decl.table.(*userType)
	if want == nil || have != want {
		name := "table"
		if have != nil {
			name = have.name
		}
		wantName := ""
		if want != nil {
			wantName = want.name
		}
		return nil, sqlError(206, 16, 2, "Operand type clash: %s is incompatible with %s", name, wantName)
	}
	return p.tableOfFrame(fr, slot, decl)
}

// clientTable makes the table of a table-valued parameter that came with an RPC.
func (p *planner) clientTable(fr *frame, tp *TableParam, typ any) (any, error) {
	u, ok := typ.(*userType)
	if !ok || u.table == nil {
		return nil, sqlError(206, 16, 2, "Operand type clash: %s is incompatible with %s", tp.Name, fmt.Sprint(typ))
	}
	if tp.Name != "" && foldName(tp.Name) != foldName(u.name) {
		return nil, sqlError(206, 16, 2, "Operand type clash: %s is incompatible with %s", tp.Name, u.name)
	}
	t, err := p.newVariable("@"+u.name, u.table)
	if err != nil || len(tp.Columns) == 0 {
		return t, err
	}
	var at []int
	for i, c := range t.columns {
		if c.computed == nil {
			at = append(at, i)
		}
	}
	if len(tp.Columns) != len(at) {
		return nil, sqlError(500, 16, 1, "Trying to pass a table-valued parameter with %d column(s) where the corresponding user-defined table type requires %d column(s).", len(tp.Columns), len(at))
	}
	types := make([]value.Type, len(at))
	for i, c := range tp.Columns {
		types[i] = c.Type
	}
	x := &exec{p: p, ctx: p.ctx(), fr: fr}
	w, err := p.newWriter(t, "INSERT")
	if err != nil {
		return nil, err
	}
	n := &inserter{x: x, t: t, at: at, types: types}
	var rows [][]value.Value
	for _, r := range tp.Rows {
		missing := make([]bool, len(at))
		for i, o := range at {
			missing[i] = t.columns[o].identity || t.columns[o].typ.Kind == value.RowVersion
		}
		row, err := n.rowWith(r, types, missing)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	_, err = w.insert(x, rows)
	x.end(err != nil)
	return t, err
}

// functionPrototype is the definition of the table that a function returns.
func (p *planner) functionPrototype(o *object) (*table, error) {
	return p.variablePrototype(&varDecl{name: o.module.ast.ReturnsVar, table: o.module.ast.ReturnsTable})
}
