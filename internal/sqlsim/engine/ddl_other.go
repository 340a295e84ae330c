package engine

import (
	"context"
	"math"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

func (p *planner) execCreateSchema(ctx context.Context, fr *frame, st *tsql.CreateSchema, sink Sink) error {
	db := p.db
	name := st.Name
	owner := p.userIn2(db)
	if st.Owner != "" {
		p.srv.mu.RLock()
		owner = db.principalNamed(st.Owner)
		p.srv.mu.RUnlock()
		if owner == nil {
			return lineAt(sqlError(15151, 16, 1, "Cannot find the principal '%s', because it does not exist or you do not have permission.", st.Owner), st.Pos)
		}
	}
	if name == "" {
		name = st.Owner
	}
	if !p.databasePermitted(db, "CREATE SCHEMA") {
		return lineAt(sqlError(262, 14, 1, "CREATE SCHEMA permission denied in database '%s'.", db.name), st.Pos)
	}
	tx, err := p.txn(ctx)
	if err != nil {
		return err
	}
	p.srv.mu.RLock()
	exists := db.schemaNamed(name)
	p.srv.mu.RUnlock()
	if exists != nil {
		return lineAt(sqlError(2714, 16, 6, "There is already an object named '%s' in the database.", name), st.Pos)
	}
	s := &schema{name: name, owner: owner, objects: map[string]*object{}, types: map[string]*userType{}}
	p.srv.alter(tx, func() {
		s.id = db.nextSchema
		db.nextSchema++
		db.schemas[foldName(name)] = s
	}, func() { delete(db.schemas, foldName(name)) })
	for _, e := range st.Elements {
		switch e := e.(type) {
		case *tsql.CreateTable:
			if e.Name.Schema == "" {
				e.Name.Schema = name
			}
		case *tsql.CreateModule:
			if e.Name.Schema == "" {
				e.Name.Schema = name
			}
		}
		if _, err := p.execDefinition(ctx, fr, e, sink); err != nil {
			return err
		}
	}
	return nil
}

func (p *planner) execAlterSchema(ctx context.Context, fr *frame, st *tsql.AlterSchema) error {
	db := p.db
	if st.Class != "" && st.Class != "OBJECT" {
		return tsql.Unsupported(st.Line, "ALTER SCHEMA ... TRANSFER %s::", st.Class)
	}
	p.srv.mu.RLock()
	to := db.schemaNamed(st.Name)
	p.srv.mu.RUnlock()
	if to == nil {
		return lineAt(sqlError(15151, 16, 1, "Cannot alter the schema '%s', because it does not exist or you do not have permission.", st.Name), st.Pos)
	}
	o, err := p.lookup(st.Object)
	if err != nil {
		return err
	}
	if o == nil {
		return lineAt(sqlError(15151, 16, 1, "Cannot find the object '%s', because it does not exist or you do not have permission.", st.Object.Name), st.Pos)
	}
	if err := p.checkDatabase(db, "ALTER ANY SCHEMA"); err != nil {
		return err
	}
	tx, err := p.txn(ctx)
	if err != nil {
		return err
	}
	if o.table != nil {
		if tx, err = p.lockSchema(ctx, o); err != nil {
			return err
		}
	}
	from := o.schema
	if to.objects[foldName(o.name)] != nil {
		return lineAt(sqlError(15530, 16, 1, "The object with name \"%s\" already exists.", o.name), st.Pos)
	}
	var moved []*object
	p.srv.mu.RLock()
	for _, c := range db.objects {
		if c != nil && (c == o || c.parent == o) {
			moved = append(moved, c)
		}
	}
	p.srv.mu.RUnlock()
	move := func(from, to *schema) {
		for _, c := range moved {
			delete(from.objects, foldName(c.name))
			c.schema = to
			to.objects[foldName(c.name)] = c
			if c.module != nil {
				c.module.schema = to.name
			}
		}
		if o.table != nil {
			o.table.data.SetName(o.fullName())
		}
	}
	p.srv.alter(tx, func() { move(from, to) }, func() { move(to, from) })
	return nil
}

// --- types ---

func (p *planner) execCreateType(ctx context.Context, st *tsql.CreateType) error {
	db, sch, err := p.schemaFor(st.Name, "CREATE TYPE")
	if err != nil {
		return err
	}
	tx, err := p.txn(ctx)
	if err != nil {
		return err
	}
	p.srv.mu.RLock()
	exists := sch.types[foldName(st.Name.Name)]
	p.srv.mu.RUnlock()
	if exists != nil {
		return lineAt(sqlError(219, 16, 1, "The type '%s' already exists, or you do not have permission to create it.", st.Name), st.Pos)
	}
	u := &userType{schema: sch, name: st.Name.Name, nullable: true}
	if st.Table != nil {
		if err := refuseNested(st.Table); err != nil {
			return err
		}
		if _, err := p.newVariable("@"+u.name, st.Table); err != nil {
			return err
		}
		u.table = st.Table
	} else {
		typ, ok, err := builtinType(st.From)
		if err != nil {
			return err
		}
		if !ok {
			return lineAt(sqlError(222, 16, 1, "The base type \"%s\" is not a valid base type for the alias data type.", st.From.Name), st.Pos)
		}
		if typ.Kind.IsCharacter() {
			typ.Collation = db.collation
		}
		u.typ = typ
		if st.Null != nil {
			u.nullable = *st.Null
		}
	}
	p.srv.alter(tx, func() {
		u.id = db.nextType
		db.nextType++
		sch.types[foldName(u.name)] = u
		db.types[u.id] = u
	}, func() {
		delete(sch.types, foldName(u.name))
		delete(db.types, u.id)
	})
	return nil
}

// typeNamed finds an alias or table type.
func (p *planner) typeNamed(schemaName, name string) *userType {
	db := p.db
	p.srv.mu.RLock()
	defer p.srv.mu.RUnlock()
	f := foldName(name)
	if schemaName != "" {
		if s := db.schemaNamed(schemaName); s != nil {
			return s.types[f]
		}
		return nil
	}
	if n := len(p.contexts); n == 0 || p.contexts[n-1].user != nil {
		if u := p.userInLocked(db); u != nil {
			if s := db.schemaNamed(u.defaultSchema); s != nil && s.types[f] != nil {
				return s.types[f]
			}
		}
	}
	return db.schemaNamed("dbo").types[f]
}

// userInLocked is userIn for callers that hold the catalog's mutex; userIn takes none.
func (p *planner) userInLocked(db *database) *principal { return p.userIn(db) }

func (p *planner) findType(d *tsql.DataType) *userType { return p.typeNamed(d.Schema, d.Name) }

// resolveAlias resolves a type that is not built in.
func (p *planner) resolveAlias(d *tsql.DataType) (value.Type, any, error) {
	u := p.findType(d)
	if u == nil {
		name := d.Name
		if d.Schema != "" {
			name = d.Schema + "." + d.Name
		}
		return value.Type{}, nil, lineAt(sqlError(2715, 16, 6, "Column, parameter, or variable #1: Cannot find data type %s.", name), d.Pos)
	}
	if u.table != nil {
		return value.Type{}, u, nil
	}
	return u.typ, nil, nil
}

// --- sequences ---

func (p *planner) execSequence(ctx context.Context, st *tsql.CreateSequence) error {
	tx, err := p.txn(ctx)
	if err != nil {
		return err
	}
	if st.Alter {
		o, err := p.resolveObject(st.Name)
		if err != nil {
			return err
		}
		if o == nil || o.sequence == nil {
			return lineAt(sqlError(15151, 16, 1, "Cannot find the object '%s', because it does not exist or you do not have permission.", st.Name.Name), st.Pos)
		}
		if err := p.checkAlter(o, 15151, "Cannot alter the sequence '%s', because it does not exist or you do not have permission."); err != nil {
			return err
		}
		old := *o.sequence
		s := old
		if err := s.apply(st); err != nil {
			return lineAt(err.(*value.Error), st.Pos)
		}
		if st.Restart {
			s.current = s.start
			if st.RestartWith != nil {
				s.current, s.start = *st.RestartWith, *st.RestartWith
			}
			s.used, s.exhausted = false, false
			if s.current < s.min || s.current > s.max {
				return lineAt(sqlError(11703, 16, 1, "The start value for sequence object '%s' must be between the minimum and maximum value of the sequence object.", st.Name), st.Pos)
			}
		}
		p.srv.alter(tx, func() { *o.sequence = s }, func() { *o.sequence = old })
		return nil
	}
	db, sch, err := p.schemaFor(st.Name, "CREATE SEQUENCE")
	if err != nil {
		return err
	}
	if err := p.nameFree(ctx, tx, sch, st.Name); err != nil {
		return err
	}
	s := &sequence{inc: 1, typ: value.Type{Kind: value.BigInt}, typeName: "bigint"}
	if st.Type != nil {
		typ, ok, err := builtinType(st.Type)
		if err != nil {
			return err
		}
		if !ok || !typ.Kind.IsInteger() && (typ.Kind != value.Decimal || typ.Scale != 0) || typ.Kind == value.Bit {
			return lineAt(sqlError(11702, 16, 2, "The sequence object '%s' must be of data type int, bigint, smallint, tinyint, or decimal or numeric with a scale of 0, or any user-defined data type that is based on one of the above integer data types.", st.Name), st.Pos)
		}
		s.typ, s.typeName = typ, strings.ToLower(st.Type.Name)
	}
	s.min, s.max = sequenceRange(s.typ)
	if err := s.apply(st); err != nil {
		return lineAt(err.(*value.Error), st.Pos)
	}
	switch {
	case st.Start != nil:
		s.start = *st.Start
	case s.inc > 0:
		s.start = s.min
	default:
		s.start = s.max
	}
	if s.start < s.min || s.start > s.max {
		return lineAt(sqlError(11703, 16, 1, "The start value for sequence object '%s' must be between the minimum and maximum value of the sequence object.", st.Name), st.Pos)
	}
	s.current = s.start
	now := p.srv.clock.Now().UTC()
	o := &object{db: db, schema: sch, name: st.Name.Name, kind: "SO", created: now, modified: now, sequence: s}
	return p.create(ctx, tx, o)
}

func sequenceRange(t value.Type) (lo, hi int64) {
	switch t.Kind {
	case value.TinyInt:
		return 0, 255
	case value.SmallInt:
		return math.MinInt16, math.MaxInt16
	case value.Int:
		return math.MinInt32, math.MaxInt32
	case value.Decimal:
		n := int64(1)
		for i := uint8(0); i < min(t.Precision, 18); i++ {
			n *= 10
		}
		return -n + 1, n - 1
	}
	return math.MinInt64, math.MaxInt64
}

// apply changes the properties that a statement names.
func (s *sequence) apply(st *tsql.CreateSequence) error {
	lo, hi := sequenceRange(s.typ)
	if st.Increment != nil {
		s.inc = *st.Increment
		if s.inc == 0 {
			return sqlError(11700, 16, 1, "The increment for sequence object '%s' cannot be zero.", st.Name)
		}
	}
	if st.Min != nil {
		s.min = *st.Min
	}
	if st.Max != nil {
		s.max = *st.Max
	}
	if st.NoMin {
		s.min = lo
	}
	if st.NoMax {
		s.max = hi
	}
	if s.min >= s.max {
		return sqlError(11705, 16, 1, "The minimum value for sequence object '%s' must be less than its maximum value.", st.Name)
	}
	if st.Cycle != nil {
		s.cycle = *st.Cycle
	}
	if st.Cache != nil {
		s.cache = *st.Cache
	}
	if st.NoCache {
		s.noCache, s.cache = true, 0
	}
	return nil
}

func (p *planner) sequenceType(name tsql.ObjectName) (value.Type, error) {
	o, err := p.resolveObject(name)
	if err != nil {
		return value.Type{}, err
	}
	if o == nil || o.sequence == nil {
		return value.Type{}, errInvalidObject(name)
	}
	return o.sequence.typ, nil
}

func (p *planner) nextSequence(rc *rowCtx, name tsql.ObjectName) (value.Value, error) {
	o, err := p.resolveObject(name)
	if err != nil {
		return value.Value{}, err
	}
	if o == nil || o.sequence == nil {
		return value.Value{}, errInvalidObject(name)
	}
	if c := p.chain(); c == nil || c.ownerID() != o.ownerID() {
		if err := p.checkObject(o, "UPDATE"); err != nil {
			return value.Value{}, err
		}
	}
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	s := o.sequence
	if s.exhausted {
		return value.Value{}, sqlError(11728, 16, 1, "The sequence object '%s' has reached its minimum or maximum value. Restart the sequence object to allow new values to be generated.", o.name)
	}
	n := s.current
	s.used = true
	next := n + s.inc
	if s.inc > 0 && (next > s.max || next < n) || s.inc < 0 && (next < s.min || next > n) {
		if s.cycle {
			next = s.min
			if s.inc < 0 {
				next = s.max
			}
		} else {
			s.exhausted = true
			next = n
		}
	}
	s.current = next
	return value.Convert(value.NewInt(value.BigInt, n), value.Type{Kind: value.BigInt}, s.typ, 0, value.ConvertEnv{})
}

// --- synonyms ---

func (p *planner) execCreateSynonym(ctx context.Context, st *tsql.CreateSynonym) error {
	db, sch, err := p.schemaFor(st.Name, "CREATE SYNONYM")
	if err != nil {
		return err
	}
	tx, err := p.txn(ctx)
	if err != nil {
		return err
	}
	if err := p.nameFree(ctx, tx, sch, st.Name); err != nil {
		return err
	}
	now := p.srv.clock.Now().UTC()
	o := &object{db: db, schema: sch, name: st.Name.Name, kind: "SN", created: now, modified: now, target: st.For}
	if o.target.Database == "" && o.target.Schema == "" {
		o.target.Schema = sch.name
	}
	return p.create(ctx, tx, o)
}

// --- DROP ---

func (p *planner) execDrop(ctx context.Context, fr *frame, st *tsql.DropObject) error {
	for _, n := range st.Names {
		if err := p.dropOne(ctx, st, n); err != nil {
			return err
		}
	}
	return nil
}

// dropKinds are the object types that DROP of a kind applies to.
var dropKinds = map[string]string{"TABLE": "U", "VIEW": "V", "PROCEDURE": "P", "FUNCTION": "FN IF TF", "TRIGGER": "TR", "SEQUENCE": "SO", "SYNONYM": "SN"}

func (p *planner) dropOne(ctx context.Context, st *tsql.DropObject, name tsql.ObjectName) error {
	db := p.db
	tx, err := p.txn(ctx)
	if err != nil {
		return err
	}
	missing := func(state uint8, what string) error {
		if st.IfExists {
			return nil
		}
		return lineAt(sqlError(3701, 11, state, "Cannot drop the %s '%s', because it does not exist or you do not have permission.", what, name), name.Pos)
	}
	switch st.Kind {
	case "SCHEMA":
		p.srv.mu.RLock()
		s := db.schemaNamed(name.Name)
		p.srv.mu.RUnlock()
		if s == nil {
			if st.IfExists {
				return nil
			}
			return lineAt(sqlError(15151, 16, 1, "Cannot drop the schema '%s', because it does not exist or you do not have permission.", name.Name), name.Pos)
		}
		if !p.all(db) && s.owner != p.userIn(db) {
			return lineAt(sqlError(15151, 16, 1, "Cannot drop the schema '%s', because it does not exist or you do not have permission.", name.Name), name.Pos)
		}
		if len(s.objects) > 0 || len(s.types) > 0 {
			first := ""
			for _, o := range s.objects {
				if o.parent == nil && (first == "" || o.name < first) {
					first = o.name
				}
			}
			for _, t := range s.types {
				if first == "" {
					first = t.name
				}
			}
			return lineAt(sqlError(3729, 16, 1, "Cannot drop schema '%s' because it is being referenced by object '%s'.", name.Name, first), name.Pos)
		}
		if s.id < 5 {
			return lineAt(sqlError(15150, 16, 1, "Cannot drop the schema '%s'.", name.Name), name.Pos)
		}
		p.srv.alter(tx, func() { delete(db.schemas, foldName(s.name)) }, func() { db.schemas[foldName(s.name)] = s })
		return nil
	case "TYPE":
		u := p.typeNamed(name.Schema, name.Name)
		if u == nil {
			if st.IfExists {
				return nil
			}
			return lineAt(sqlError(218, 16, 1, "Could not find the type '%s'. Either it does not exist or you do not have the necessary permission.", name), name.Pos)
		}
		if by := p.typeUser(db, u); by != "" {
			return lineAt(sqlError(3732, 16, 1, "Cannot drop type '%s' because it is being referenced by object '%s'. There may be other objects that reference this type.", name, by), name.Pos)
		}
		if err := p.checkDatabase(db, "CREATE TYPE"); err != nil {
			return err
		}
		p.srv.alter(tx, func() {
			delete(u.schema.types, foldName(u.name))
			delete(db.types, u.id)
		}, func() {
			u.schema.types[foldName(u.name)] = u
			db.types[u.id] = u
		})
		return nil
	case "ROLE", "USER":
		return p.dropPrincipal(tx, st, name)
	case "LOGIN":
		return p.dropLogin(tx, st, name)
	case "DATABASE":
		return p.dropDatabase(ctx, st, name)
	case "STATISTICS":
		return nil
	}
	kinds, ok := dropKinds[st.Kind]
	if !ok {
		return tsql.Unsupported(st.Line, "DROP %s", st.Kind)
	}
	what := strings.ToLower(st.Kind)
	o, err := p.lookup(name)
	if err != nil {
		return err
	}
	state := uint8(5)
	if o == nil {
		return missing(state, what)
	}
	if !strings.Contains(kinds, o.kind) {
		if st.Kind == "TABLE" || st.Kind == "VIEW" || st.Kind == "PROCEDURE" || st.Kind == "FUNCTION" {
			return lineAt(sqlError(3705, 16, 1, "Cannot use DROP %s with '%s' because '%s' is a %s. Use DROP %s.", st.Kind, name, name, dropWord(o.kind), strings.ToUpper(dropWord(o.kind))), name.Pos)
		}
		return missing(state, what)
	}
	if o.table != nil && (o.table.temporary || strings.HasPrefix(o.name, "##")) {
		p.dropTemp(tx, o)
		return nil
	}
	if !p.permitted(o, "CONTROL") && !p.permitted(o, "ALTER") {
		return lineAt(sqlError(3701, 14, 20, "Cannot drop the %s '%s', because it does not exist or you do not have permission.", what, name), name.Pos)
	}
	if o.kind == "TR" {
		return p.dropTrigger(ctx, tx, o)
	}
	if o.table != nil {
		return p.dropTable(ctx, o, name)
	}
	if o.sequence != nil {
		if by := p.drawsFrom(o); by != "" {
			return lineAt(sqlError(3729, 16, 1, "Cannot DROP SEQUENCE '%s' because it is being referenced by object '%s'.", name, by), name.Pos)
		}
	}
	if err := tx.LockObject(ctx, o.db.id, o.id); err != nil {
		return err
	}
	grants, properties := db.grants, o.db.properties
	key := foldName(o.name)
	tx.OnCommit(func() {
		p.srv.mu.Lock()
		if o.schema.leaving[key] == o {
			delete(o.schema.leaving, key)
		}
		p.srv.mu.Unlock()
	})
	p.srv.alter(tx, func() {
		o.db.removeObject(o)
		o.db.forgetGrants(o.id)
		if o.schema.leaving == nil {
			o.schema.leaving = map[string]*object{}
		}
		o.schema.leaving[key] = o
	}, func() {
		delete(o.schema.leaving, key)
		o.db.addObject(o)
		o.db.grants, o.db.properties = grants, properties
	})
	return nil
}

func dropWord(kind string) string {
	switch kind {
	case "U":
		return "table"
	case "V":
		return "view"
	case "P":
		return "procedure"
	case "SO":
		return "sequence"
	case "SN":
		return "synonym"
	case "TR":
		return "trigger"
	}
	return "function"
}

// forgetGrants removes the permissions on, and properties of, a dropped object.
func (db *database) forgetGrants(id int32) {
	var keep []*grantRow
	for _, g := range db.grants {
		if g.class != 1 || g.major != id {
			keep = append(keep, g)
		}
	}
	db.grants = keep
	var props []*extendedProperty
	for _, e := range db.properties {
		if e.class != 1 || e.major != id {
			props = append(props, e)
		}
	}
	db.properties = props
}

// typeUser names an object that uses a type.
func (p *planner) typeUser(db *database, u *userType) string {
	p.srv.mu.RLock()
	defer p.srv.mu.RUnlock()
	for _, o := range db.objects {
		if o == nil {
			continue
		}
		if o.table != nil {
			for _, c := range o.table.columns {
				if c.user == u {
					return o.name
				}
			}
		}
		if o.module != nil {
			for _, pr := range o.module.params {
				if pr.tableType == any(u) {
					return o.name
				}
			}
		}
	}
	return ""
}

func (p *planner) dropTrigger(ctx context.Context, tx *storage.Txn, o *object) error {
	on := o.parent
	if _, err := p.lockSchema(ctx, on); err != nil {
		return err
	}
	before := on.table.triggers
	p.srv.alter(tx, func() {
		o.db.removeObject(o)
		on.table.triggers = without(before, o)
	}, func() {
		o.db.addObject(o)
		on.table.triggers = before
	})
	return nil
}

func (p *planner) dropTable(ctx context.Context, o *object, name tsql.ObjectName) error {
	for _, fk := range o.table.references {
		if fk.from != o.table {
			return lineAt(sqlError(3726, 16, 1, "Could not drop object '%s' because it is referenced by a FOREIGN KEY constraint.", name), name.Pos)
		}
	}
	if by := p.boundTo(o); by != "" {
		return lineAt(sqlError(3729, 16, 1, "Cannot DROP TABLE '%s' because it is being referenced by object '%s'.", name, by), name.Pos)
	}
	tx, err := p.lockSchema(ctx, o)
	if err != nil {
		return err
	}
	if o.dropped {
		return lineAt(sqlError(3701, 11, 5, "Cannot drop the table '%s', because it does not exist or you do not have permission.", name), name.Pos)
	}
	var children []*object
	p.srv.mu.RLock()
	for _, c := range o.db.objects {
		if c != nil && c.parent == o {
			children = append(children, c)
		}
	}
	p.srv.mu.RUnlock()
	grants, properties := o.db.grants, o.db.properties
	keys := o.table.foreign
	p.srv.alter(tx, func() {
		for _, fk := range keys {
			fk.to.references = without(fk.to.references, fk)
		}
		for _, c := range children {
			o.db.removeObject(c)
		}
		o.db.removeObject(o)
		o.db.forgetGrants(o.id)
	}, func() {
		o.db.addObject(o)
		for _, c := range children {
			o.db.addObject(c)
		}
		for _, fk := range keys {
			fk.to.references = append(fk.to.references[:len(fk.to.references):len(fk.to.references)], fk)
		}
		o.db.grants, o.db.properties = grants, properties
	})
	if p.identity == o.table {
		p.identity = nil
	}
	data := o.table.data
	tx.OnCommit(func() { p.srv.store.Forget(data) })
	return nil
}

func (p *planner) dropPrincipal(tx *storage.Txn, st *tsql.DropObject, name tsql.ObjectName) error {
	db := p.db
	what := strings.ToLower(st.Kind)
	p.srv.mu.RLock()
	u := db.principalNamed(name.Name)
	p.srv.mu.RUnlock()
	if u == nil || u.role != (st.Kind == "ROLE") {
		if st.IfExists {
			return nil
		}
		return lineAt(sqlError(15151, 16, 1, "Cannot drop the %s '%s', because it does not exist or you do not have permission.", what, name.Name), name.Pos)
	}
	permission := "ALTER ANY " + st.Kind
	if !p.databasePermitted(db, permission) && u.owner != p.userIn(db) || u.fixed {
		return lineAt(sqlError(15151, 16, 1, "Cannot drop the %s '%s', because it does not exist or you do not have permission.", what, name.Name), name.Pos)
	}
	p.srv.mu.RLock()
	owns, members := false, false
	for _, s := range db.schemas {
		owns = owns || s.owner == u
	}
	for _, m := range db.principals {
		for _, r := range m.memberOf {
			members = members || r == u
		}
	}
	p.srv.mu.RUnlock()
	if owns {
		return lineAt(sqlError(15138, 16, 1, "The database principal owns a schema in the database, and cannot be dropped."), name.Pos)
	}
	if members && u.role {
		return lineAt(sqlError(15144, 16, 1, "The role has members. It must be empty before it can be dropped."), name.Pos)
	}
	grants := db.grants
	p.srv.alter(tx, func() {
		delete(db.principals, u.id)
		db.dropGrants(u)
	}, func() {
		db.principals[u.id] = u
		db.grants = grants
	})
	return nil
}

func (p *planner) dropLogin(tx *storage.Txn, st *tsql.DropObject, name tsql.ObjectName) error {
	if err := p.checkServer("ALTER ANY LOGIN", 15151, "Cannot drop the login '"+name.Name+"', because it does not exist or you do not have permission."); err != nil {
		return err
	}
	p.srv.mu.RLock()
	l := p.srv.logins[foldName(name.Name)]
	inUse := false
	for _, s := range p.srv.sessions {
		inUse = inUse || s.original == l
	}
	p.srv.mu.RUnlock()
	if l == nil {
		return lineAt(sqlError(15151, 16, 1, "Cannot drop the login '%s', because it does not exist or you do not have permission.", name.Name), name.Pos)
	}
	if inUse {
		return lineAt(sqlError(15434, 16, 1, "Could not drop login '%s' as the user is currently logged in.", name.Name), name.Pos)
	}
	p.srv.alter(tx, func() { delete(p.srv.logins, foldName(l.name)) }, func() { p.srv.logins[foldName(l.name)] = l })
	return nil
}

// boundTo names a module WITH SCHEMABINDING that refers to an object.
func (p *planner) boundTo(o *object) string {
	p.srv.mu.RLock()
	var bound []*object
	for _, m := range o.db.objects {
		if m != nil && m.module != nil && m.module.ast.SchemaBinding {
			bound = append(bound, m)
		}
	}
	p.srv.mu.RUnlock()
	for _, m := range bound {
		for _, n := range moduleReferences(m.module) {
			if r, err := p.lookup(n); err == nil && r == o {
				return m.name
			}
		}
	}
	return ""
}
