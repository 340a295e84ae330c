package engine

import (
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// objectNamed resolves the text of a name, as OBJECT_ID gets it.
func (p *planner) objectNamed(text string) *object {
	n, err := tsql.ParseName(text)
	if err != nil {
		return nil
	}
	o, err := p.lookup(n)
	if err != nil {
		return nil
	}
	return o
}

func (p *planner) objectByName(name tsql.ObjectName, typ string) (objectInfo, bool) {
	if name.IsTemp() {
		// OBJECT_ID('#t') looks in the current database, where no #table is.
		if name.Database == "" && p.db.name != "tempdb" || name.Database != "" && !strings.EqualFold(name.Database, "tempdb") {
			return objectInfo{}, false
		}
		if o := p.lookupTemp(name.Name); o != nil {
			return p.info(o), typ == "" || strings.EqualFold(typ, o.kind)
		}
		return objectInfo{}, false
	}
	o, err := p.lookup(name)
	if err != nil || o == nil {
		if err == nil {
			if info, ok := p.systemObject(name); ok {
				return info, typ == "" || strings.EqualFold(typ, info.typ)
			}
		}
		return objectInfo{}, false
	}
	if typ != "" && !strings.EqualFold(strings.TrimSpace(typ), o.kind) {
		return objectInfo{}, false
	}
	if !p.visible(o) {
		return objectInfo{}, false
	}
	return p.info(o), true
}

// visible reports whether the session may know that an object exists.
func (p *planner) visible(o *object) bool {
	if o.system || o.table != nil && o.table.temporary || p.all(o.db) {
		return true
	}
	at := o
	if o.parent != nil {
		at = o.parent
	}
	perms := []string{"VIEW DEFINITION", "ALTER", "CONTROL", "REFERENCES"}
	perms = append(perms, objectPermissions(at.kind)...)
	for _, perm := range perms {
		if p.permitted(at, perm) {
			return true
		}
	}
	return false
}

func (p *planner) objectByID(id int32, db string) (objectInfo, bool) {
	d := p.db
	if db != "" {
		if d = p.srv.findDatabase(db); d == nil {
			return objectInfo{}, false
		}
	}
	p.srv.mu.RLock()
	o := d.objects[id]
	p.srv.mu.RUnlock()
	if o == nil || !p.visible(o) {
		return objectInfo{}, false
	}
	return p.info(o), true
}

// info describes an object for the metadata functions.
func (p *planner) info(o *object) objectInfo {
	p.srv.mu.RLock()
	defer p.srv.mu.RUnlock()
	i := objectInfo{id: o.id, schemaID: o.schema.id, schema: o.schema.name, name: o.name, typ: o.kind, system: o.system}
	if o.parent != nil {
		i.parentID = o.parent.id
	}
	if m := o.module; m != nil {
		i.quotedIdent, i.ansiNulls, i.schemaBound = m.quotedIdentifier, m.ansiNulls, m.ast.SchemaBinding
	}
	if t := o.table; t != nil {
		i.ansiNulls, i.quotedIdent = true, true
		i.hasIdentity, i.hasTriggers = t.identity != nil, len(t.triggers) > 0
		for _, c := range t.columns {
			i.columns = append(i.columns, columnInfo{id: c.id, name: c.name, typ: c.typ, nullable: c.nullable, identity: c.identity, computed: c.computed != nil, persisted: c.persisted, rowGUID: c.rowGUID})
		}
		for _, ix := range t.indexes {
			if ix.heap {
				continue
			}
			info := indexInfo{id: ix.id, name: ix.name, unique: ix.unique, clustered: ix.clustered, primary: ix.primary, disabled: ix.disabled, filtered: ix.filter != nil, fillFactor: ix.fillFactor, pageLocks: ix.pageLocks, rowLocks: ix.rowLocks}
			for _, k := range ix.keys {
				info.columns = append(info.columns, t.columns[k.column].name)
				info.descending = append(info.descending, k.desc)
			}
			i.indexes = append(i.indexes, info)
		}
	}
	return i
}

func (p *planner) schemaByName(name string) (int32, bool) {
	if name == "" {
		name = p.defaultSchema(p.db)
	}
	p.srv.mu.RLock()
	defer p.srv.mu.RUnlock()
	if s := p.db.schemaNamed(name); s != nil {
		return s.id, true
	}
	return 0, false
}

func (p *planner) schemaByID(id int32) (string, bool) {
	p.srv.mu.RLock()
	defer p.srv.mu.RUnlock()
	for _, s := range p.db.schemas {
		if s.id == id {
			return s.name, true
		}
	}
	return "", false
}

func (p *planner) databaseByName(name string) (int32, bool) {
	if db := p.srv.findDatabase(name); db != nil {
		return db.id, true
	}
	return 0, false
}

func (p *planner) databaseByID(id int32) (string, bool) {
	p.srv.mu.RLock()
	defer p.srv.mu.RUnlock()
	for _, db := range p.srv.databases {
		if db.id == id {
			return db.name, true
		}
	}
	return "", false
}

func (p *planner) typeByName(schema, name string) (int32, bool) {
	if u := p.typeNamed(schema, name); u != nil {
		return u.id, true
	}
	if schema == "" || strings.EqualFold(schema, "sys") {
		for _, t := range systemTypes {
			if strings.EqualFold(t.name, name) {
				return t.user, true
			}
		}
		switch strings.ToLower(name) {
		case "integer":
			return 56, true
		case "rowversion":
			return 189, true
		}
	}
	return 0, false
}

func (p *planner) typeByID(id int32) (string, bool) {
	for _, t := range systemTypes {
		if t.user == id {
			return t.name, true
		}
	}
	p.srv.mu.RLock()
	defer p.srv.mu.RUnlock()
	if u := p.db.types[id]; u != nil {
		return u.name, true
	}
	return "", false
}

func text(s string) value.Value { return value.NewString(value.NVarChar, s) }

func bit(b bool) value.Value {
	n := int64(0)
	if b {
		n = 1
	}
	return value.NewInt(value.Int, n)
}

func (p *planner) databaseProperty(name, property string) (value.Value, bool) {
	db := p.srv.findDatabase(name)
	if db == nil {
		return value.Value{}, false
	}
	switch strings.ToLower(property) {
	case "collation":
		if p.srv.recovering(db) { // how a client asks whether it can be used
			return value.Value{}, false
		}
		return text(db.collation.Name()), true
	case "status":
		if p.srv.recovering(db) {
			return text("RECOVERING"), true
		}
		return text("ONLINE"), true
	case "recovery":
		return text(db.recovery), true
	case "updateability":
		return text("READ_WRITE"), true
	case "useraccess":
		return text(db.single), true
	case "version":
		return value.NewInt(value.Int, 957), true
	case "isreadcommittedsnapshoton":
		return bit(db.rcsi), true
	case "comparisonstyle":
		return value.NewInt(value.Int, 196609), true
	case "lcid":
		return value.NewInt(value.Int, int64(db.collation.LCID())), true
	case "isautoclose", "isautoshrink", "isinstandby", "ismergepublished", "ispublished", "issubscribed", "isfulltextenabled", "isrecursivetriggersenabled", "isxtpsupported":
		return bit(false), true
	case "isansinullsenabled", "isquotedidentifiersenabled":
		return bit(strings.EqualFold(db.options[map[string]string{"isansinullsenabled": "ANSI_NULLS", "isquotedidentifiersenabled": "QUOTED_IDENTIFIER"}[strings.ToLower(property)]], "ON")), true
	case "isautocreatestatistics", "isautoupdatestatistics", "isparameterizationforced":
		return bit(!strings.EqualFold(property, "isparameterizationforced")), true
	}
	return value.Value{}, false
}

func (p *planner) serverProperty(property string) (value.Value, bool) {
	major, rest, _ := strings.Cut(p.srv.productVersion, ".")
	minor, rest, _ := strings.Cut(rest, ".")
	build, _, _ := strings.Cut(rest, ".")
	switch strings.ToLower(property) {
	case "servername", "@@servername":
		return text(p.srv.name), true
	case "machinename", "computernamephysicalnetbios":
		return text(p.srv.name), true
	case "instancename", "@@servicename":
		if strings.HasPrefix(property, "@@") {
			return text("MSSQLSERVER"), true
		}
		return value.NewNull(value.NVarChar), true
	case "productversion", "resourceversion":
		return text(p.srv.productVersion), true
	case "productmajorversion":
		return text(major), true
	case "productminorversion":
		return text(minor), true
	case "productbuild":
		return text(build), true
	case "productlevel":
		return text("RTM"), true
	case "productupdatelevel", "productupdatereference":
		return value.NewNull(value.NVarChar), true
	case "edition":
		return text(p.srv.edition), true
	case "engineedition":
		n := int64(3)
		switch e := strings.ToLower(p.srv.edition); {
		case strings.Contains(e, "express"):
			n = 4
		case strings.Contains(e, "azure"):
			n = 5
		case strings.Contains(e, "standard"), strings.Contains(e, "web"):
			n = 2
		}
		return value.NewInt(value.Int, n), true
	case "editionid":
		return value.NewInt(value.BigInt, -2117995310), true
	case "collation":
		return text(p.srv.collation.Name()), true
	case "ishadrenabled", "isclustered", "isintegratedsecurityonly", "issingleuser", "isfulltextinstalled", "isxtpsupported", "islocaldb", "ispolybaseinstalled", "hadrmanagerstatus", "isadvancedanalyticsinstalled":
		return value.NewInt(value.Int, 0), true
	case "lcid":
		return value.NewInt(value.Int, int64(p.srv.collation.LCID())), true
	case "processid":
		return value.NewInt(value.Int, 1), true
	case "licensetype":
		return text("DISABLED"), true
	case "@@version":
		return text(p.srv.versionText()), true
	case "@@dbts":
		n := 2000 + p.db.rowVersion.Load()
		b := make([]byte, 8)
		for i := 7; i >= 0; i-- {
			b[i] = byte(n)
			n >>= 8
		}
		return value.NewBinary(value.VarBinary, b), true
	case "@@connections":
		p.srv.mu.RLock()
		defer p.srv.mu.RUnlock()
		return value.NewInt(value.Int, int64(p.srv.nextSPID-50)), true
	}
	return value.Value{}, false
}

func (p *planner) principalID(name string) (int32, bool) {
	if name == "" {
		if u := p.userIn(p.db); u != nil {
			return u.id, true
		}
		return 0, false
	}
	p.srv.mu.RLock()
	defer p.srv.mu.RUnlock()
	if u := p.db.principalNamed(name); u != nil {
		return u.id, true
	}
	return 0, false
}

func (p *planner) principalName(id int32) (string, bool) {
	p.srv.mu.RLock()
	defer p.srv.mu.RUnlock()
	if u := p.db.principals[id]; u != nil {
		return u.name, true
	}
	return "", false
}

func (p *planner) identCurrent(name tsql.ObjectName) (value.Value, bool) {
	o, err := p.resolveObject(name)
	if err != nil || o == nil || o.table == nil || o.table.identity == nil {
		return value.Value{}, false
	}
	id := o.table.identity
	n := id.last.Load()
	if !id.used.Load() {
		n = id.seed
	}
	return value.NewDecimalInt(n, 0), true
}

func (p *planner) identSeed(name tsql.ObjectName) (seed, increment value.Value, ok bool) {
	o, err := p.resolveObject(name)
	if err != nil || o == nil || o.table == nil || o.table.identity == nil {
		return value.Value{}, value.Value{}, false
	}
	id := o.table.identity
	return value.NewDecimalInt(id.seed, 0), value.NewDecimalInt(id.inc, 0), true
}

func (p *planner) moduleText(id int32) (string, bool) {
	p.srv.mu.RLock()
	o := p.db.objects[id]
	p.srv.mu.RUnlock()
	if o == nil {
		return "", false
	}
	switch {
	case o.module != nil:
		if o.module.ast.Encryption || !p.definitionVisible(o) {
			return "", false
		}
		return o.module.text, true
	case o.parent != nil && o.parent.table != nil:
		for _, c := range o.parent.table.checks {
			if c.obj == o {
				return c.src, true
			}
		}
		for _, c := range o.parent.table.columns {
			if c.def != nil && c.def.obj == o {
				return c.def.src, true
			}
		}
	}
	return "", false
}

// definitionVisible reports whether the session may read the text of a module.
func (p *planner) definitionVisible(o *object) bool {
	return p.permitted(o, "VIEW DEFINITION") || p.databasePermitted(o.db, "VIEW DEFINITION")
}
