package engine

import (
	"context"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// systemProc finds a system procedure that is written here.
func (p *planner) systemProc(fr *frame, name tsql.ObjectName) systemProc {
	if name.Schema != "" && foldName(name.Schema) != "sys" && foldName(name.Schema) != "dbo" {
		return nil
	}
	proc := systemProcs[foldName(name.Name)]
	if proc == nil {
		return nil
	}
	if name.Database == "" {
		return proc
	}
	db := p.srv.findDatabase(name.Database)
	if db == nil {
		return nil
	}
	// A system procedure runs in the database that it is named in.
	return func(ctx context.Context, fr *frame, args []procArg, sink Sink) (int32, error) {
		saved := p.db
		p.db = db
		defer func() { p.db = saved }()
		return proc(ctx, fr, args, sink)
	}
}

// systemProcs are the procedures by folded name; init fills it.
var systemProcs map[string]systemProc

func init() {
	systemProcs = map[string]systemProc{
		"sp_rename":   renameProc,
		"sp_helptext": helpTextProc,
		"sp_addextendedproperty": func(c context.Context, f *frame, a []procArg, s Sink) (int32, error) {
			return propertyProc(c, f, a, "add")
		},
		"sp_updateextendedproperty": func(c context.Context, f *frame, a []procArg, s Sink) (int32, error) {
			return propertyProc(c, f, a, "update")
		},
		"sp_dropextendedproperty": func(c context.Context, f *frame, a []procArg, s Sink) (int32, error) {
			return propertyProc(c, f, a, "drop")
		},
		"sp_addrolemember": func(c context.Context, f *frame, a []procArg, s Sink) (int32, error) {
			return roleMemberProc(c, f, a, "ADD")
		},
		"sp_droprolemember": func(c context.Context, f *frame, a []procArg, s Sink) (int32, error) {
			return roleMemberProc(c, f, a, "DROP")
		},
		"sp_who":              whoProc,
		"sp_who2":             who2Proc,
		"sp_lock":             lockProc,
		"sp_spaceused":        spaceUsedProc,
		"sp_recompile":        existsProc,
		"sp_refreshview":      existsProc,
		"sp_refreshsqlmodule": existsProc,
		"sp_updatestats":      func(context.Context, *frame, []procArg, Sink) (int32, error) { return 0, nil },
		"sp_help":             helpProc,
	}
	// These exist on a server; to say that they do not would mislead.
	for _, n := range strings.Fields(`sp_tableoption sp_helpindex sp_helpdb sp_helpconstraint sp_helpfile sp_helpuser sp_helprole sp_helprolemember
sp_helprotect sp_helplogins sp_helptrigger sp_helpstats sp_helpsrvrolemember sp_columns sp_tables sp_pkeys sp_fkeys sp_statistics sp_stored_procedures sp_depends sp_configure
sp_dboption sp_changedbowner sp_changeobjectowner sp_addlogin sp_adduser sp_addrole sp_monitor sp_serveroption sp_estimate_data_compression_savings sp_attach_db sp_detach_db
sp_createstats sp_autostats sp_procoption sp_readerrorlog xp_readerrorlog sp_cycle_errorlog sp_send_dbmail sp_MSforeachtable sp_MSforeachdb`) {
		systemProcs[foldName(n)] = func(context.Context, *frame, []procArg, Sink) (int32, error) {
			return 0, tsql.Unsupported(0, "the system procedure %s", n)
		}
	}
}

// arguments matches arguments with the parameters of a system procedure.
func arguments(proc string, args []procArg, names ...string) (map[string]value.Value, error) {
	out := map[string]value.Value{}
	for i, a := range args {
		name := foldName(a.name)
		if name == "" {
			if i >= len(names) {
				return nil, sqlError(8144, 16, 2, "Procedure or function %s has too many arguments specified.", proc)
			}
			name = names[i]
		}
		known := false
		for _, n := range names {
			known = known || n == name
		}
		if !known {
			return nil, sqlError(8145, 16, 2, "%s is not a parameter for procedure %s.", a.name, proc)
		}
		if !a.isDefault {
			out[name] = a.val
		}
	}
	return out, nil
}

func argText(args map[string]value.Value, name string) string {
	v, ok := args[name]
	if !ok || v.IsNull() {
		return ""
	}
	if v.Kind().IsCharacter() {
		return v.Str()
	}
	return v.String()
}

// renameProc is sp_rename of tables, columns, indexes and other objects.
func renameProc(ctx context.Context, fr *frame, list []procArg, sink Sink) (int32, error) {
	p := fr.sess.planner()
	args, err := arguments("sp_rename", list, "@objname", "@newname", "@objtype")
	if err != nil {
		return 1, err
	}
	name, to, kind := argText(args, "@objname"), argText(args, "@newname"), strings.ToUpper(argText(args, "@objtype"))
	if name == "" || to == "" {
		return 1, sqlError(201, 16, 4, "Procedure or function 'sp_rename' expects parameter '@newname', which was not supplied.")
	}
	n, err := tsql.ParseName(name)
	if err != nil {
		return 1, err
	}
	ambiguous := func() error {
		what := kind
		if what == "" {
			what = "(null)"
		}
		return sqlError(15248, 11, 1, "Either the parameter @objname is ambiguous or the claimed @objtype (%s) is wrong.", what)
	}
	inner := func() (*object, error) {
		t := tsql.ObjectName{Name: n.Schema, Schema: n.Database, Database: n.Server}
		o, err := p.lookup(t)
		if err != nil || o == nil || o.table == nil {
			return nil, ambiguous()
		}
		return o, p.checkAlter(o, 15225, "No item by the name of '%s' could be found in the current database.")
	}
	caution := func() error {
		return sink.Message(sqlError(15477, 10, 1, "Caution: Changing any part of an object name could break scripts and stored procedures."))
	}
	switch kind {
	case "COLUMN":
		o, err := inner()
		if err != nil {
			return 1, err
		}
		tx, err := p.lockSchema(ctx, o)
		if err != nil {
			return 1, err
		}
		t := *o.table
		at := t.columnOrdinal(n.Name)
		if at < 0 {
			return 1, ambiguous()
		}
		if other := t.columnOrdinal(to); other >= 0 && other != at {
			return 1, sqlError(15335, 11, 1, "Error: The new name '%s' is already in use as a COLUMN name and would cause a duplicate that is not permitted.", to)
		}
		if _, dep := p.dependents(&t, at, true); dep != "" {
			for _, c := range t.checks {
				if c.obj.name == dep {
					return 1, sqlError(15336, 16, 1, "Object '%s' cannot be renamed because the object participates in enforced dependencies.", name)
				}
			}
		}
		c := *t.columns[at]
		c.name = to
		t.columns = append([]*column(nil), t.columns...)
		t.columns[at] = &c
		p.redefine(tx, o, &t, nil, nil)
		return 0, caution()
	case "INDEX":
		o, err := inner()
		if err != nil {
			return 1, err
		}
		tx, err := p.lockSchema(ctx, o)
		if err != nil {
			return 1, err
		}
		for _, ix := range o.table.indexes {
			if !ix.heap && strings.EqualFold(ix.name, n.Name) {
				old := ix.name
				p.srv.alter(tx, func() { ix.name, ix.data.Name = to, to }, func() { ix.name, ix.data.Name = old, old })
				if k := ix.constraint; k != nil {
					p.renameObject(tx, k, to)
				}
				return 0, nil
			}
		}
		return 1, ambiguous()
	case "", "OBJECT":
		o, err := p.lookup(n)
		if err != nil {
			return 1, err
		}
		if o == nil {
			return 1, sqlError(15225, 11, 1, "No item by the name of '%s' could be found in the current database '%s', given that @itemtype was input as '%s'.", name, p.db.name, "(null)")
		}
		if err := p.checkAlter(o, 15225, "No item by the name of '%s' could be found in the current database."); err != nil {
			return 1, err
		}
		if o.schema.objects[foldName(to)] != nil && foldName(to) != foldName(o.name) {
			return 1, sqlError(15335, 11, 1, "Error: The new name '%s' is already in use as a object name and would cause a duplicate that is not permitted.", to)
		}
		tx, err := p.txn(ctx)
		if err != nil {
			return 1, err
		}
		if o.table != nil {
			if tx, err = p.lockSchema(ctx, o); err != nil {
				return 1, err
			}
		}
		p.renameObject(tx, o, to)
		return 0, caution()
	}
	return 1, tsql.Unsupported(0, "sp_rename of %s", kind)
}

func (p *planner) renameObject(tx *storage.Txn, o *object, to string) {
	old := o.name
	set := func(from, name string) {
		if o.schema.objects[foldName(from)] == o {
			delete(o.schema.objects, foldName(from))
		}
		o.name = name
		o.schema.objects[foldName(name)] = o
		if o.table != nil {
			o.table.data.SetName(o.fullName())
		}
		if o.module != nil {
			o.module.name = name
		}
		if o.parent != nil && o.parent.table != nil {
			for _, ix := range o.parent.table.indexes {
				if ix.constraint == o {
					ix.name, ix.data.Name = name, name
				}
			}
		}
	}
	p.srv.alter(tx, func() { set(old, to) }, func() { set(to, old) })
}

// helpTextProc is sp_helptext: the text of a module, line by line.
func helpTextProc(ctx context.Context, fr *frame, list []procArg, sink Sink) (int32, error) {
	p := fr.sess.planner()
	args, err := arguments("sp_helptext", list, "@objname", "@columnname")
	if err != nil {
		return 1, err
	}
	o := p.objectNamed(argText(args, "@objname"))
	if o == nil {
		return 1, sqlError(15009, 16, 1, "The object '%s' does not exist in database '%s' or is invalid for this operation.", argText(args, "@objname"), p.db.name)
	}
	text, ok := p.moduleText(o.id)
	if !ok {
		return 1, sqlError(15197, 16, 1, "There is no text for object '%s'.", argText(args, "@objname"))
	}
	if err := sink.Columns([]Column{{Name: "Text", Type: value.Type{Kind: value.NVarChar, Length: 255, Collation: p.db.collation}, Nullable: true}}); err != nil {
		return 1, err
	}
	n := int64(0)
	for _, line := range strings.SplitAfter(text, "\n") {
		for line != "" {
			part := value.UTF16Slice(line, 0, min(value.UTF16Len(line), 255))
			line = line[len(part):]
			n++
			if err := sink.Row([]value.Value{value.NewString(value.NVarChar, part)}); err != nil {
				return 1, err
			}
		}
	}
	return 0, sink.Done(CommandSelect, n, true)
}

// propertyProc is sp_addextendedproperty and its kin.
func propertyProc(ctx context.Context, fr *frame, list []procArg, action string) (int32, error) {
	p := fr.sess.planner()
	proc := "sp_" + action + "extendedproperty"
	names := []string{"@name", "@value", "@level0type", "@level0name", "@level1type", "@level1name", "@level2type", "@level2name"}
	if action == "drop" {
		names = append(names[:1:1], names[2:]...)
	}
	args, err := arguments(proc, list, names...)
	if err != nil {
		return 1, err
	}
	e := &extendedProperty{name: argText(args, "@name"), val: value.NewNull(value.NVarChar)}
	if v, ok := args["@value"]; ok {
		e.val = v
	}
	if e.name == "" {
		return 1, sqlError(15600, 15, 1, "An invalid parameter or option was specified for procedure '%s'.", proc)
	}
	db := p.db
	t0, n0 := strings.ToUpper(argText(args, "@level0type")), argText(args, "@level0name")
	t1, n1 := strings.ToUpper(argText(args, "@level1type")), argText(args, "@level1name")
	t2, n2 := strings.ToUpper(argText(args, "@level2type")), argText(args, "@level2name")
	missing := func() error {
		object := strings.Trim(strings.Join([]string{n0, n1, n2}, "."), ".")
		return sqlError(15135, 16, 8, "Object is invalid. Extended properties are not permitted on '%s', or the object does not exist.", object)
	}
	switch {
	case t0 == "":
	case t0 == "SCHEMA":
		p.srv.mu.RLock()
		s := db.schemaNamed(n0)
		p.srv.mu.RUnlock()
		if s == nil {
			return 1, missing()
		}
		e.class, e.major = 3, s.id
		if t1 == "" {
			break
		}
		if t1 == "TYPE" {
			u := p.typeNamed(n0, n1)
			if u == nil {
				return 1, missing()
			}
			e.class, e.major = 6, u.id
			break
		}
		o, err := p.lookup(tsql.ObjectName{Schema: n0, Name: n1})
		if err != nil || o == nil {
			return 1, missing()
		}
		if err := p.checkAlter(o, 15135, "Object is invalid. Extended properties are not permitted on '%s', or the object does not exist."); err != nil {
			return 1, err
		}
		e.class, e.major = 1, o.id
		switch t2 {
		case "":
		case "COLUMN":
			found := false
			cols := []*column{}
			if o.table != nil {
				cols = o.table.columns
			} else if o.module != nil {
				cols = p.moduleColumns(o)
			}
			for _, c := range cols {
				if strings.EqualFold(c.name, n2) {
					e.minor, found = c.id, true
				}
			}
			if !found {
				return 1, missing()
			}
		case "PARAMETER":
			found := false
			if o.module != nil {
				for i, pr := range o.module.params {
					if strings.EqualFold(pr.name, n2) {
						e.minor, found = int32(i+1), true
					}
				}
			}
			if !found {
				return 1, missing()
			}
			e.class = 2
		case "INDEX":
			found := false
			if o.table != nil {
				for _, ix := range o.table.indexes {
					if !ix.heap && strings.EqualFold(ix.name, n2) {
						e.minor, found = ix.id, true
					}
				}
			}
			if !found {
				return 1, missing()
			}
			e.class = 7
		case "CONSTRAINT", "TRIGGER":
			c, err := p.lookup(tsql.ObjectName{Schema: n0, Name: n2})
			if err != nil || c == nil {
				return 1, missing()
			}
			e.major = c.id
		default:
			return 1, tsql.Unsupported(0, "extended properties of %s", t2)
		}
	default:
		return 1, tsql.Unsupported(0, "extended properties of %s", t0)
	}
	tx, err := p.txn(ctx)
	if err != nil {
		return 1, err
	}
	p.srv.mu.RLock()
	before := db.properties
	p.srv.mu.RUnlock()
	at := -1
	for i, x := range before {
		if x.class == e.class && x.major == e.major && x.minor == e.minor && strings.EqualFold(x.name, e.name) {
			at = i
		}
	}
	where := "object specified"
	if n0 != "" {
		where = strings.Trim(strings.Join([]string{n0, n1, n2}, "."), ".")
	}
	if action == "add" && at >= 0 {
		return 1, sqlError(15233, 16, 1, "Property cannot be added. Property '%s' already exists for '%s'.", e.name, where)
	}
	if action != "add" && at < 0 {
		return 1, sqlError(15217, 16, 1, "Property cannot be updated or deleted. Property '%s' does not exist for '%s'.", e.name, where)
	}
	after := append([]*extendedProperty(nil), before...)
	switch action {
	case "add":
		after = append(after, e)
	case "update":
		after[at] = e
	default:
		after = append(after[:at], after[at+1:]...)
	}
	p.srv.alter(tx, func() { db.properties = after }, func() { db.properties = before })
	return 0, nil
}

func roleMemberProc(ctx context.Context, fr *frame, list []procArg, action string) (int32, error) {
	p := fr.sess.planner()
	args, err := arguments("sp_addrolemember", list, "@rolename", "@membername")
	if err != nil {
		return 1, err
	}
	if err := p.execAlterRole(ctx, &tsql.AlterRole{Name: argText(args, "@rolename"), Action: action, Member: argText(args, "@membername")}); err != nil {
		return 1, err
	}
	return 0, nil
}

// existsProc is a procedure that only has an effect on a real server's caches.
func existsProc(ctx context.Context, fr *frame, list []procArg, sink Sink) (int32, error) {
	p := fr.sess.planner()
	if len(list) == 0 {
		return 0, nil
	}
	name := ""
	if list[0].val.Kind().IsCharacter() {
		name = list[0].val.Str()
	}
	if p.objectNamed(name) == nil {
		return 1, sqlError(15009, 16, 1, "The object '%s' does not exist in database '%s' or is invalid for this operation.", name, p.db.name)
	}
	return 0, nil
}
