package engine

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// readIndexOptions reads WITH (...). What only concerns how a real server stores or
// builds an index is accepted: fill factor, compression, online, parallelism, sorting.
func readIndexOptions(ix *index, list []tsql.Option) error {
	for _, o := range list {
		on := strings.EqualFold(o.Value, "ON")
		switch o.Name {
		case "IGNORE_DUP_KEY":
			ix.ignoreDup = on
			if on && !ix.unique {
				return lineAt(sqlError(1916, 16, 4, "CREATE INDEX options IGNORE_DUP_KEY and NONUNIQUE are mutually exclusive."), o.Pos)
			}
		case "ALLOW_ROW_LOCKS":
			ix.rowLocks = on
		case "ALLOW_PAGE_LOCKS":
			ix.pageLocks = on
		case "FILLFACTOR":
			ix.fillFactor, _ = strconv.Atoi(o.Value)
			if ix.fillFactor < 1 || ix.fillFactor > 100 {
				return lineAt(sqlError(129, 15, 1, "Fillfactor %s is not a valid percentage; fillfactor must be between 1 and 100.", o.Value), o.Pos)
			}
		case "PAD_INDEX":
			ix.padIndex = on
		case "OPTIMIZE_FOR_SEQUENTIAL_KEY":
			ix.sequential = on
		case "STATISTICS_NORECOMPUTE":
			ix.noRecompute = on
		case "DATA_COMPRESSION":
			ix.compression = strings.ToUpper(o.Value)
		case "DROP_EXISTING", "ONLINE", "MAXDOP", "SORT_IN_TEMPDB", "STATISTICS_INCREMENTAL", "RESUMABLE", "MAX_DURATION", "XML_COMPRESSION", "LOB_COMPACTION", "COMPRESS_ALL_ROW_GROUPS", "WAIT_AT_LOW_PRIORITY":
		default:
			return lineAt(sqlError(155, 15, 1, "'%s' is not a recognized CREATE INDEX option.", o.Name), o.Pos)
		}
	}
	return nil
}

// indexSettings is error 1934 for indexes that need the right SET options.
func (p *planner) indexSettings(what string, t *table, ix *index) error {
	needs := ix.filter != nil
	for _, k := range ix.keys {
		needs = needs || t.columns[k.column].computed != nil
	}
	if !needs {
		return nil
	}
	probe := &table{anyFiltered: true}
	return p.checkSettings(probe, what)
}

func (p *planner) execCreateIndex(ctx context.Context, fr *frame, st *tsql.CreateIndex) error {
	o, err := p.resolveObject(st.Table)
	if err != nil {
		return err
	}
	if o != nil && o.kind == "V" {
		return tsql.Unsupported(st.Line, "indexed views")
	}
	if o == nil || o.table == nil {
		return lineAt(sqlError(1088, 16, 12, "Cannot find the object \"%s\" because it does not exist or you do not have permissions.", st.Table), st.Pos)
	}
	if err := p.checkAlter(o, 1088, "Cannot find the object \"%s\" because it does not exist or you do not have permissions."); err != nil {
		return err
	}
	tx, err := p.lockSchema(ctx, o)
	if err != nil {
		return err
	}
	t := *o.table
	b := &tableBuilder{p: p, db: o.db, schema: o.schema, name: o.name, t: &t, kind: "table", settled: true}
	if opt := tsql.FindOption(st.Options, "DROP_EXISTING"); opt != nil && strings.EqualFold(opt.Value, "ON") {
		if err := p.dropIndex(tx, o, st.Name, st.Pos, true); err != nil {
			return err
		}
		t = *o.table
	}
	if st.Clustered && !t.indexes[0].heap {
		return lineAt(sqlError(1902, 16, 3, "Cannot create more than one clustered index on table '%s'. Drop the existing clustered index '%s' before creating another.", st.Table, t.indexes[0].name), st.Pos)
	}
	keys, err := b.keyColumns(st.Columns, "index", false)
	if err != nil {
		return err
	}
	ix := &index{name: st.Name, unique: st.Unique, clustered: st.Clustered, keys: keys, rowLocks: true, pageLocks: true}
	if ix.include, err = b.included(ix, st.Include, st.Pos); err != nil {
		return err
	}
	if st.Where != nil {
		if err := b.filter(ix, st.Where, st.WhereSrc, st.Pos); err != nil {
			return err
		}
	}
	if st.Where != nil {
		if opt := tsql.FindOption(st.Options, "IGNORE_DUP_KEY"); opt != nil && strings.EqualFold(opt.Value, "ON") {
			return lineAt(sqlError(10618, 16, 1, "Cannot create filtered index '%s' on table '%s' because the statement sets the IGNORE_DUP_KEY option to ON. Rewrite the statement so that it does not use the IGNORE_DUP_KEY option.", st.Name, st.Table), st.Pos)
		}
	}
	if err := p.indexSettings("CREATE INDEX", &t, ix); err != nil {
		return err
	}
	if err := readIndexOptions(ix, st.Options); err != nil {
		return err
	}
	if err := checkFilegroup(st.Filegroup, st.Pos); err != nil {
		return err
	}
	if err := b.place(ix); err != nil {
		return err
	}
	return p.installIndex(ctx, tx, o, &t, ix, nil)
}

// installIndex builds a new index over the rows and puts the new definition in force.
func (p *planner) installIndex(ctx context.Context, tx *storage.Txn, o *object, t *table, ix *index, objects []*object) error {
	if ix.clustered {
		if err := p.rebuild(tx, t, false, nil); err != nil {
			return p.indexError(o, ix, err)
		}
	} else {
		ix.data = t.storageIndex(ix)
		if err := tx.AddIndex(t.data, ix.data, len(t.columns)); err != nil {
			return p.indexError(o, ix, err)
		}
	}
	p.redefine(tx, o, t, objects, nil)
	return nil
}

// indexError is error 1505.
func (p *planner) indexError(o *object, ix *index, err error) error {
	var dup *storage.DuplicateError
	if errors.As(err, &dup) {
		return sqlError(1505, 16, 1, "The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for the object name '%s' and the index name '%s'. The duplicate key value is %s.", o.fullName(), ix.name, dup.Key)
	}
	return err
}

// rebuild makes the storage of all indexes anew from the rows there are.
func (p *planner) rebuild(tx *storage.Txn, t *table, drop bool, transform func([]value.Value) ([]value.Value, error)) error {
	indexes := make([]*index, len(t.indexes))
	var base *storage.Index
	var others []*storage.Index
	for i, ix := range t.indexes {
		c := *ix
		c.data = t.storageIndex(&c)
		indexes[i] = &c
		if i == 0 {
			base = c.data
		} else {
			others = append(others, c.data)
		}
	}
	if err := tx.Rebuild(t.data, base, others, len(t.columns), drop, transform); err != nil {
		return err
	}
	old := make([]*storage.Index, len(t.indexes))
	// The definitions stay the same objects: foreign keys refer to them.
	for i, ix := range t.indexes {
		old[i] = ix.data
		ix.data = indexes[i].data
	}
	list := t.indexes
	tx.OnRollback(func() {
		for i, ix := range list {
			ix.data = old[i]
		}
	})
	p.srv.changed()
	return nil
}

// redefine puts a changed definition of a table in force, and enters new objects into
// the catalog and takes dropped ones out.
func (p *planner) redefine(tx *storage.Txn, o *object, t *table, added, dropped []*object) {
	before := *o.table
	modified := o.modified
	p.srv.alter(tx, func() {
		o.table.become(t)
		o.modified = p.srv.clock.Now().UTC()
		for _, d := range dropped {
			o.db.removeObject(d)
		}
		for _, a := range added {
			if a.id == 0 {
				a.id = o.db.newObjectID()
			}
			a.parent = o
			if !o.table.temporary {
				o.db.addObject(a)
			}
		}
	}, func() {
		for _, a := range added {
			if !o.table.temporary {
				o.db.removeObject(a)
			}
		}
		for _, d := range dropped {
			o.db.addObject(d)
		}
		o.table.become(&before)
		o.modified = modified
	})
}

func (p *planner) execDropIndex(ctx context.Context, fr *frame, st *tsql.DropIndex) error {
	for _, it := range st.Items {
		o, err := p.resolveObject(it.Table)
		if err != nil {
			return err
		}
		if o == nil || o.table == nil {
			if st.IfExists {
				continue
			}
			return lineAt(sqlError(3701, 11, 7, "Cannot drop the index '%s.%s', because it does not exist or you do not have permission.", it.Table, it.Index), it.Pos)
		}
		if err := p.checkAlter(o, 3701, "Cannot drop the index '%s', because it does not exist or you do not have permission."); err != nil {
			return err
		}
		tx, err := p.lockSchema(ctx, o)
		if err != nil {
			return err
		}
		err = p.dropIndex(tx, o, it.Index, it.Pos, false)
		var e *value.Error
		if errors.As(err, &e) && e.Number == 3701 && st.IfExists {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *planner) dropIndex(tx *storage.Txn, o *object, name string, pos tsql.Pos, replacing bool) error {
	t := *o.table
	at := -1
	for i, ix := range t.indexes {
		if strings.EqualFold(ix.name, name) && !ix.heap {
			at = i
		}
	}
	if at < 0 {
		if replacing {
			return lineAt(sqlError(7999, 16, 9, "Could not find any index named '%s' for table '%s'.", name, o.name), pos)
		}
		return lineAt(sqlError(3701, 11, 7, "Cannot drop the index '%s.%s', because it does not exist or you do not have permission.", o.name, name), pos)
	}
	ix := t.indexes[at]
	if ix.constraint != nil {
		kind := "UNIQUE KEY"
		if ix.primary {
			kind = "PRIMARY KEY"
		}
		return lineAt(sqlError(3723, 16, 4, "An explicit DROP INDEX is not allowed on index '%s.%s'. It is being used for %s constraint enforcement.", o.fullName(), ix.name, kind), pos)
	}
	return p.removeIndex(tx, o, &t, at, nil)
}

// removeIndex takes an index out of the definition and the storage.
func (p *planner) removeIndex(tx *storage.Txn, o *object, t *table, at int, dropped []*object) error {
	ix := t.indexes[at]
	for _, fk := range t.references {
		if fk.refIndex == ix {
			return sqlError(3725, 16, 0, "The constraint '%s' is being referenced by table '%s', foreign key constraint '%s'.", ix.name, fk.from.obj.name, fk.obj.name)
		}
	}
	list := append([]*index(nil), t.indexes...)
	if at == 0 {
		list[0] = &index{heap: true, rowLocks: true, pageLocks: true}
		t.indexes = list
		if err := p.rebuild(tx, t, false, nil); err != nil {
			return err
		}
	} else {
		t.indexes = append(list[:at], list[at+1:]...)
		tx.DropIndex(t.data, ix.data)
	}
	t.anyFiltered = false
	for _, x := range t.indexes {
		if x.filter != nil {
			t.anyFiltered = true
		}
		for _, k := range x.keys {
			if t.columns[k.column].computed != nil {
				t.anyFiltered = true
			}
		}
	}
	p.redefine(tx, o, t, nil, dropped)
	return nil
}

func (p *planner) execAlterIndex(ctx context.Context, fr *frame, st *tsql.AlterIndex) error {
	o, err := p.tableNamed(st.Table)
	if err != nil {
		return err
	}
	if err := p.checkAlter(o, 1088, "Cannot find the object \"%s\" because it does not exist or you do not have permissions."); err != nil {
		return err
	}
	tx, err := p.lockSchema(ctx, o)
	if err != nil {
		return err
	}
	t := *o.table
	found := false
	list := append([]*index(nil), t.indexes...)
	for i, ix := range list {
		if ix.heap || st.Name != "" && !strings.EqualFold(ix.name, st.Name) {
			continue
		}
		found = true
		c := *ix
		switch st.Action {
		case "REBUILD":
			if c.disabled {
				c.disabled = false
				c.data = t.storageIndex(&c)
				if err := tx.AddIndex(t.data, c.data, len(t.columns)); err != nil {
					return p.indexError(o, ix, err)
				}
			}
		case "REORGANIZE":
			if !c.pageLocks {
				return lineAt(sqlError(2552, 16, 1, "The index \"%s\" on table \"%s\" cannot be reorganized because page level locking is disabled.", c.name, o.name), st.Pos)
			}
		case "DISABLE":
			if c.clustered {
				return tsql.Unsupported(st.Line, "ALTER INDEX ... DISABLE of a clustered index")
			}
			if !c.disabled {
				c.disabled = true
				tx.DropIndex(t.data, c.data)
			}
		case "SET":
		default:
			return tsql.Unsupported(st.Line, "ALTER INDEX ... %s", st.Action)
		}
		if err := readIndexOptions(&c, st.Options); err != nil {
			return err
		}
		list[i] = &c
		for _, fk := range t.references {
			if fk.refIndex == ix {
				fk.refIndex = &c
			}
		}
	}
	if !found && st.Name != "" {
		return lineAt(sqlError(2727, 11, 1, "Cannot find index '%s'.", st.Name), st.Pos)
	}
	t.indexes = list
	p.redefine(tx, o, &t, nil, nil)
	return nil
}
