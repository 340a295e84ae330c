package engine

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// The catalog is guarded by Server.mu: readers hold it for the moment of a look-up,
// DDL for the moment of a change. What keeps a table as it is while a statement runs is
// its schema lock: whoever changes a table has Sch-M on it. Slices in the catalog are
// replaced, never changed in place, so that undo is putting the old one back.

// database is one database.
type database struct {
	id        int32
	name      string
	collation value.Collation
	created   time.Time
	compat    int
	recovery  string
	rcsi      bool
	snapshots bool   // ALLOW_SNAPSHOT_ISOLATION
	trust     bool   // TRUSTWORTHY
	single    string // MULTI_USER, SINGLE_USER, RESTRICTED_USER
	options   map[string]string
	owner     *login

	schemas    map[string]*schema
	objects    map[int32]*object
	nextObject int32
	types      map[int32]*userType
	nextType   int32
	nextSchema int32
	principals map[int32]*principal
	nextUser   int32
	grants     []*grantRow
	properties []*extendedProperty
	rowVersion atomic.Uint64
}

// schema is a namespace of a database.
type schema struct {
	id      int32
	name    string
	owner   *principal
	objects map[string]*object // by folded name
	leaving map[string]*object // dropped by transactions that have not ended
	types   map[string]*userType
}

// object is anything with an object_id.
type object struct {
	id       int32
	db       *database
	schema   *schema
	name     string
	kind     string // as sys.objects.type, without padding
	parent   *object
	created  time.Time
	modified time.Time
	dropped  bool
	owner    *principal // nil: the schema's owner

	table    *table
	module   *module
	sequence *sequence
	target   tsql.ObjectName // of a synonym
	system   bool
}

// fullName is schema.name.
func (o *object) fullName() string { return o.schema.name + "." + o.name }

func (o *object) ownerID() *principal {
	if o.owner != nil {
		return o.owner
	}
	return o.schema.owner
}

// table is the definition of a table and where its rows are.
type table struct {
	obj         *object
	name        string // as messages show a table variable: @t
	columns     []*column
	indexes     []*index // [0] is the heap or clustered index
	checks      []*checkConstraint
	foreign     []*foreignKey
	references  []*foreignKey // of other tables to this one
	triggers    []*object
	data        *storage.Table
	identity    *identityColumn // nil without one
	nextColumn  int32
	nextIndex   int32
	escalation  string
	temporary   bool         // #t
	variable    bool         // @t, table-valued parameter
	anyFiltered bool         // a filtered index or an index on a computed column exists
	rowversion  int          // ordinal of the rowversion column, -1
	wholeLocks  *atomic.Bool // an index allows neither row nor page locks
}

// column is a column of a table. Its ordinal is its position in table.columns.
type column struct {
	id          int32
	name        string
	typ         value.Type
	user        *userType // alias type
	sysname     bool
	nullable    bool
	identity    bool
	rowGUID     bool
	computed    tsql.Expr
	computedSrc string
	persisted   bool
	virtual     bool // computed when read, because it is not deterministic
	def         *defaultConstraint
}

// identityColumn is the counter of an IDENTITY column. It is not transactional.
type identityColumn struct {
	ordinal   int
	seed, inc int64
	last      atomic.Int64
	used      atomic.Bool
}

// next returns the next value.
func (i *identityColumn) next() int64 {
	i.used.Store(true)
	return i.last.Add(i.inc) // last begins one increment before the seed
}

// note records an explicit value inserted under IDENTITY_INSERT.
func (i *identityColumn) note(n int64) {
	for {
		last := i.last.Load()
		if i.inc > 0 && n <= last || i.inc < 0 && n >= last {
			return
		}
		if i.last.CompareAndSwap(last, n) {
			i.used.Store(true)
			return
		}
	}
}

type defaultConstraint struct {
	obj  *object
	expr tsql.Expr
	src  string
}

type checkConstraint struct {
	obj      *object
	expr     tsql.Expr
	src      string
	column   string // the only column that it names, or ""
	disabled bool
	trusted  bool
}

type foreignKey struct {
	obj        *object
	from, to   *table
	cols       []int
	refCols    []int
	refIndex   *index
	onDelete   string
	onUpdate   string
	disabled   bool
	trusted    bool
	systemName bool
}

// index is an index of a table.
type index struct {
	id          int32
	name        string
	unique      bool
	clustered   bool
	heap        bool
	primary     bool
	constraint  *object // PK or UQ
	keys        []indexKey
	include     []int
	filter      tsql.Expr
	filterSrc   string
	filterIn    []filterTerm
	ignoreDup   bool
	disabled    bool
	rowLocks    bool
	pageLocks   bool
	fillFactor  int
	padIndex    bool
	sequential  bool // OPTIMIZE_FOR_SEQUENTIAL_KEY
	noRecompute bool
	data        *storage.Index
	compression string
}

type indexKey struct {
	column int
	desc   bool
}

// userType is an alias type or a table type.
type userType struct {
	id       int32
	schema   *schema
	name     string
	typ      value.Type
	nullable bool
	table    *tsql.TableDef
}

// sequence is a sequence object.
type sequence struct {
	typ             value.Type
	start, inc      int64
	min, max        int64
	cycle           bool
	cache           int64
	noCache         bool
	current         int64
	used, exhausted bool
	typeName        string
}

// extendedProperty is what sp_addextendedproperty adds.
type extendedProperty struct {
	class        int
	major, minor int32
	name         string
	val          value.Value
}

// grantRow is one row of sys.database_permissions.
type grantRow struct {
	class      int // 0 database, 1 object, 3 schema, 4 principal, 6 type
	major      int32
	grantee    *principal
	grantor    *principal
	permission string // full name, upper case
	state      string // GRANT, GRANT_WITH_GRANT_OPTION, DENY
}

// principal is a user or role of a database.
type principal struct {
	id            int32
	name          string
	role          bool
	fixed         bool
	login         *login
	defaultSchema string
	owner         *principal
	memberOf      []*principal
	created       time.Time
	withoutLogin  bool
}

// login is a server principal.
type login struct {
	id       int32
	name     string
	password string
	database string
	disabled bool
	role     bool
	created  time.Time
	serverIn map[string]bool // fixed server roles, folded
}

func (l *login) sysadmin() bool { return l.serverIn["sysadmin"] }

// become gives t the definition of n. What readers use before they have a lock on the
// table (its object, its storage, whose it is) never changes.
func (t *table) become(n *table) {
	t.columns, t.indexes, t.checks = n.columns, n.indexes, n.checks
	t.foreign, t.references, t.triggers = n.foreign, n.references, n.triggers
	t.identity, t.nextColumn, t.nextIndex = n.identity, n.nextColumn, n.nextIndex
	t.escalation, t.anyFiltered, t.rowversion = n.escalation, n.anyFiltered, n.rowversion
	t.noteLocks()
}

// noteLocks works out wholeLocks.
func (t *table) noteLocks() {
	whole := false
	for _, ix := range t.indexes {
		whole = whole || !ix.rowLocks && !ix.pageLocks
	}
	t.wholeLocks.Store(whole)
}

// columnOrdinal finds a column by name; -1 if there is none.
func (t *table) columnOrdinal(name string) int {
	f := foldName(name)
	for i, c := range t.columns {
		if foldName(c.name) == f {
			return i
		}
	}
	return -1
}

// displayName is how messages name the table: db.schema.table, or @t.
func (t *table) displayName() string {
	if t.obj == nil {
		return t.name
	}
	return t.obj.db.name + "." + t.obj.fullName()
}

// shortName is schema.table, or @t.
func (t *table) shortName() string {
	if t.obj == nil {
		return t.name
	}
	return t.obj.fullName()
}

// newObjectID returns an id for a new object. SQL Server spreads ids by this step.
func (db *database) newObjectID() int32 {
	for {
		db.nextObject += 16000057
		if db.nextObject < 0 {
			db.nextObject &= 0x7fffffff
		}
		if db.nextObject > 1000 && db.objects[db.nextObject] == nil {
			return db.nextObject
		}
	}
}

// addObject enters an object into the catalog; the caller holds the catalog's mutex.
func (db *database) addObject(o *object) {
	db.objects[o.id] = o
	o.schema.objects[foldName(o.name)] = o
	o.dropped = false
}

func (db *database) removeObject(o *object) {
	delete(db.objects, o.id)
	if o.schema.objects[foldName(o.name)] == o {
		delete(o.schema.objects, foldName(o.name))
	}
	o.dropped = true
}

func (db *database) schemaNamed(name string) *schema { return db.schemas[foldName(name)] }

func (db *database) principalNamed(name string) *principal {
	f := foldName(name)
	for _, p := range db.principals {
		if foldName(p.name) == f {
			return p
		}
	}
	return nil
}

// findDatabase finds a database by name.
func (srv *Server) findDatabase(name string) *database {
	srv.mu.RLock()
	defer srv.mu.RUnlock()
	return srv.databases[foldName(name)]
}

// changed notes that compiled plans may be wrong.
func (srv *Server) changed() { srv.version.Add(1) }

// alter runs a change of the catalog under its mutex, and undo when tx rolls back.
func (srv *Server) alter(tx *storage.Txn, do, undo func()) {
	srv.mu.Lock()
	do()
	srv.mu.Unlock()
	srv.changed()
	if tx != nil {
		tx.OnRollback(func() {
			srv.mu.Lock()
			undo()
			srv.mu.Unlock()
			srv.changed()
		})
	}
}

// lookup resolves a name to an object: the given schema, or the default schema of the
// user and then dbo. Temporary names are resolved among the session's own.
func (p *planner) lookup(name tsql.ObjectName) (*object, error) {
	if name.Server != "" {
		return nil, sqlError(7202, 11, 2, "Could not find server '%s' in sys.servers. Verify that the correct server name was specified. If necessary, execute the stored procedure sp_addlinkedserver to add the server to sys.servers.", name.Server)
	}
	if name.IsTemp() {
		if o := p.lookupTemp(name.Name); o != nil {
			return o, nil
		}
		return nil, nil
	}
	db := p.context()
	if name.Database != "" {
		if db = p.srv.findDatabase(name.Database); db == nil {
			return nil, nil
		}
		if err := p.srv.recovered(db); err != nil {
			return nil, err
		}
	}
	key := foldName(name.Name)
	schemas := []string{name.Schema}
	if name.Schema == "" {
		schemas = []string{p.defaultSchema(db), "dbo"}
	}
	for _, n := range schemas {
		p.srv.mu.RLock()
		s := db.schemaNamed(n)
		p.srv.mu.RUnlock()
		if s == nil {
			continue
		}
		if o, err := p.settled(s, key); o != nil || err != nil {
			return o, err
		}
	}
	return nil, nil
}

// settled finds an object by its folded name. One that is no table is waited for while a
// transaction of others makes, changes or drops it; tables are, when they are locked.
func (p *planner) settled(s *schema, key string) (*object, error) {
	for {
		p.srv.mu.RLock()
		o, gone := s.objects[key], s.leaving[key]
		p.srv.mu.RUnlock()
		at := o
		if at == nil {
			at = gone
		}
		if at == nil || at.table != nil {
			return o, nil
		}
		if err := p.srv.store.AwaitObject(p.ctx(), p.owner, at.db.id, at.id, p.lockWait()); err != nil {
			return nil, err
		}
		p.srv.mu.RLock()
		same := s.objects[key] == o && s.leaving[key] == gone
		p.srv.mu.RUnlock()
		if same {
			return o, nil
		}
	}
}

// lockWait is LOCK_TIMEOUT; negative without one.
func (p *planner) lockWait() time.Duration {
	if p.sess.settings.lockTimeout < 0 {
		return -1
	}
	return time.Duration(p.sess.settings.lockTimeout) * time.Millisecond
}

// create makes an object that is no table part of the catalog. Others wait for the end of
// the transaction when they name it.
func (p *planner) create(ctx context.Context, tx *storage.Txn, o *object) error {
	p.srv.mu.Lock()
	o.id = o.db.newObjectID()
	if o.module != nil {
		o.module.id = o.id
	}
	p.srv.mu.Unlock()
	if err := tx.LockObject(ctx, o.db.id, o.id); err != nil {
		return err
	}
	p.srv.alter(tx, func() { o.db.addObject(o) }, func() { o.db.removeObject(o) })
	return nil
}

// resolveObject is lookup that follows synonyms.
func (p *planner) resolveObject(name tsql.ObjectName) (*object, error) {
	o, err := p.lookupPinned(name)
	for depth := 0; err == nil && o != nil && o.kind == "SN"; depth++ {
		if depth > 0 {
			return nil, nil
		}
		target := o.target
		if target.Database == "" {
			target.Database = o.db.name
		}
		o, err = p.lookupPinned(target)
	}
	return o, err
}

// lookupPinned is lookup which, while a plan is being made, waits for whoever changes the
// table and keeps it from being changed.
func (p *planner) lookupPinned(name tsql.ObjectName) (*object, error) {
	for {
		o, err := p.lookup(name)
		if err != nil || o == nil || p.pins == 0 || o.table == nil || o.table.temporary {
			return o, err
		}
		if err := p.srv.store.PinTable(p.ctx(), p.owner, o.table.data, p.lockWait()); err != nil {
			return nil, err
		}
		// It may have been dropped or renamed while that was waited for.
		if again, err := p.lookup(name); err != nil || again == o {
			return o, err
		}
	}
}

func errInvalidObject(name tsql.ObjectName) error {
	return lineAt(sqlError(208, 16, 1, "Invalid object name '%s'.", name), name.Pos)
}

// atLine gives an error the line of a place in the batch.
func lineAt(e *value.Error, pos tsql.Pos) *value.Error {
	if e.Line == 0 {
		e.Line = int32(pos.Line)
	}
	return e
}

// txn returns the storage transaction of the current statement.
func (p *planner) txn(ctx context.Context) (*storage.Txn, error) {
	st, err := p.sess.storeTxn(ctx)
	if err != nil {
		return nil, err
	}
	tx := st.(*transaction).tx
	p.prepare(tx)
	return tx, nil
}

// prepare gives a transaction what the session's settings say now.
func (p *planner) prepare(tx *storage.Txn) {
	tx.Counters = &p.counters
	tx.Wait = time.Duration(p.sess.settings.lockTimeout) * time.Millisecond
	if p.sess.settings.lockTimeout < 0 {
		tx.Wait = -1
	}
	p.party.Priority.Store(int32(p.sess.settings.deadlockPriority))
}
