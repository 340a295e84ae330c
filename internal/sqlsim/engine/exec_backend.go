package engine

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// planner is the planning half of a session: it implements backend.
type planner struct {
	srv       *Server
	sess      *Session
	party     *storage.Party
	owner     *storage.Owner // of session-owned locks
	client    Login
	login     *login // effective
	original  *login
	home      *database                // where the session began
	db        *database                // current; while a module runs, that of the module
	current   atomic.Pointer[database] // that of USE, for other sessions to see
	identity  *table                   // IDENTITY_INSERT is ON for it
	counters  storage.Counters
	connected time.Time

	temps    []*tempTable
	contexts []securityContext
	active   *storage.Txn
	frame    *frame // of the running statement
	plans    map[planKey]*cachedPlan
	protos   map[*tsql.TableDef]*table
	shown    atomic.Pointer[shownTransaction]
	busy     atomic.Int32 // statements that run, one inside the other
	pins     int          // plans that are being made, one inside the other
	viewing  *object      // view or inline function whose query is being planned
	nullSeen bool         // an aggregate met NULL in this statement
	nextTemp int32
}

// planner returns the session's planning half.
func (s *Session) planner() *planner { return s.be.(*planner) }

// context is the database in which names resolve now.
func (p *planner) context() *database { return p.db }

func (p *planner) ctx() context.Context { return p.sess.context() }

func (p *planner) setDatabase(db *database) {
	p.db = db
	p.current.Store(db)
}

// shownTransaction is what other sessions see of a transaction.
type shownTransaction struct {
	id        uint64
	began     time.Time
	isolation isolation
}

// transaction is a storage transaction as the language half sees it.
type transaction struct {
	p    *planner
	tx   *storage.Txn
	over bool
}

func (t *transaction) id() uint64              { return t.tx.ID }
func (t *transaction) savepoint() int          { return t.tx.Mark() }
func (t *transaction) rollbackTo(sp int) error { t.tx.RollbackTo(sp); return nil }
func (t *transaction) wrote() bool             { return t.tx.Dirty() }
func (t *transaction) commit() error           { t.end(t.tx.Commit); return nil }
func (t *transaction) rollback() error         { t.end(t.tx.Rollback); return nil }

func (t *transaction) end(how func()) {
	if t.over {
		return
	}
	t.over = true
	how()
	if t.p.active == t.tx {
		t.p.active = nil
		t.p.shown.Store(nil)
	}
}

// beginStore starts a storage transaction.
func (p *planner) beginStore(ctx context.Context, iso isolation) (storeTxn, error) {
	tx := p.srv.store.Begin(p.party)
	p.prepare(tx)
	p.active = tx
	p.shown.Store(&shownTransaction{id: tx.ID, began: tx.Began, isolation: iso})
	return &transaction{p: p, tx: tx}, nil
}

// statementDone ends what a statement holds at most until its end.
func (p *planner) statementDone(fr *frame) {
	if p.active != nil {
		p.active.EndStatement()
	}
	p.nullSeen = false
}

// nullEliminated notes that an aggregate met NULL, which the client is told once.
func (x *exec) nullEliminated() { x.p.nullSeen = true }

// catalogVersion is the version that compiled plans belong to.
func (p *planner) catalogVersion() uint64 { return p.srv.version.Load() }

// compileSubquery plans a query inside an expression.
func (p *planner) compileSubquery(sc *scope, q *tsql.Query) (*subquery, error) {
	if err := checkUnordered(q); err != nil {
		return nil, err
	}
	env := envOf(sc)
	top := env == nil
	if top {
		env = &bindEnv{stmt: &stmtPlan{version: p.srv.version.Load()}, chain: p.chain()}
	}
	b := &binder{p: p, vars: sc.vars}
	if top {
		defer p.pin()()
	}
	var wish *selectWish
	if sc.forExists {
		sc.forExists = false
		wish = &selectWish{exists: true}
	}
	bq, err := b.bindQueryFor(q, sc, env, wish)
	if err != nil {
		return nil, err
	}
	if bq.assigns != nil {
		return nil, lineAt(sqlError(102, 15, 1, "Incorrect syntax near '='."), q.Pos)
	}
	sub := &subquery{}
	for _, c := range bq.cols {
		if !c.hidden {
			sub.cols = append(sub.cols, c.column())
		}
	}
	sub.run = func(rc *rowCtx, each func(row []value.Value) (bool, error)) error {
		if x := execOf(rc); x != nil {
			if len(sub.outerCols) == 0 && !sub.outerRefs {
				return x.rerun(sub, func(each rowFn) error { return bq.run(rc, each) }, each)
			}
			return bq.run(rc, each)
		}
		// An expression of a statement of its own: IF EXISTS (...), SET @v = (...).
		pl := rc.sess.planner()
		if err := pl.checkAll(env.stmt.checks); err != nil {
			return err
		}
		run, stmt, unpin := bq.run, env.stmt, pl.pin()
		for attempt := 0; ; attempt++ {
			x, err := pl.newExec(rc.ctx, rc.frame)
			if err != nil {
				unpin()
				return err
			}
			in := *rc
			in.exec = x
			err = x.lockTables(stmt)
			unpin()
			if err == nil {
				err = run(&in, each)
			}
			x.end(err != nil)
			var stale errStale
			if !errors.As(err, &stale) || attempt == 20 {
				return err
			}
			// A table has changed since the expression was compiled.
			x.tx.EndStatement()
			unpin = pl.pin()
			for round := 0; round < 10; round++ {
				stmt = &stmtPlan{version: pl.srv.version.Load()}
				again, err := (&binder{p: pl, vars: sc.vars}).bindQueryFor(q, sc, &bindEnv{stmt: stmt, chain: pl.chain()}, wish)
				if err != nil {
					unpin()
					return err
				}
				run = again.run
				if stmt.version == pl.srv.version.Load() {
					break
				}
			}
		}
	}
	return sub, nil
}

// pin makes planning keep the tables that it looks at as they are, until the function
// that it returns is called.
func (p *planner) pin() func() {
	p.pins++
	return func() {
		if p.pins--; p.pins == 0 {
			p.srv.store.UnpinTables(p.owner)
		}
	}
}

// innermost is the frame that runs now.
func (p *planner) innermost() *frame {
	if p.sess.frame != nil {
		return p.sess.frame
	}
	return p.frame
}

// useDatabase is USE.
func (p *planner) useDatabase(ctx context.Context, name string) error {
	db := p.srv.findDatabase(name)
	if db == nil {
		return sqlError(911, 16, 1, "Database '%s' does not exist. Make sure that the name is entered correctly.", name)
	}
	if err := p.srv.recovered(db); err != nil {
		return err
	}
	if p.userIn(db) == nil {
		return sqlError(916, 14, 2, "The server principal \"%s\" is not able to access the database \"%s\" under the current security context.", p.login.name, db.name)
	}
	if err := p.singleUser(db); err != nil {
		return err
	}
	p.setDatabase(db)
	return nil
}

func (p *planner) currentDatabase() (string, int32, value.Collation) {
	return p.db.name, p.db.id, p.db.collation
}

func (p *planner) collationNamed(name string) (value.Collation, error) {
	if strings.EqualFold(name, "DATABASE_DEFAULT") {
		return p.db.collation, nil
	}
	c, ok := value.CollationByName(name)
	if !ok {
		return 0, sqlError(448, 16, 4, "Invalid collation '%s'.", name)
	}
	return c, nil
}

// setIdentityInsert is SET IDENTITY_INSERT.
func (p *planner) setIdentityInsert(ctx context.Context, fr *frame, st *tsql.SetIdentityInsert) error {
	o, err := p.resolveObject(st.Table)
	if err != nil {
		return err
	}
	if o == nil || o.table == nil {
		return lineAt(sqlError(1088, 16, 11, "Cannot find the object \"%s\" because it does not exist or you do not have permissions.", st.Table), st.Pos)
	}
	if o.table.identity == nil {
		return lineAt(sqlError(8106, 16, 1, "Table '%s' does not have the identity property. Cannot perform SET operation.", st.Table), st.Pos)
	}
	if err := p.checkObject(o, "ALTER"); err != nil {
		return err
	}
	if !st.On {
		if p.identity == o.table {
			p.identity = nil
		}
		return nil
	}
	if p.identity != nil && p.identity != o.table {
		return lineAt(sqlError(8107, 16, 1, "IDENTITY_INSERT is already ON for table '%s'. Cannot perform SET operation for table '%s'.", p.identity.displayName(), st.Table), st.Pos)
	}
	p.identity = o.table
	return nil
}

// kill ends another session.
func (p *planner) kill(spid int) error {
	if spid == p.party.ID {
		return sqlError(6104, 16, 1, "Cannot use KILL to kill your own process.")
	}
	p.srv.mu.RLock()
	other := p.srv.sessions[spid]
	p.srv.mu.RUnlock()
	if other == nil {
		return sqlError(6106, 16, 2, "Process ID %d is not an active process ID.", spid)
	}
	if err := p.checkServer("ALTER ANY CONNECTION", 6102, "User does not have permission to use the KILL statement."); err != nil {
		return err
	}
	other.sess.Kill()
	return nil
}

// resetSession makes the session's part here as new.
func (p *planner) resetSession(ctx context.Context, closing bool) {
	p.dropTemps(0)
	p.contexts = nil
	p.login = p.original
	p.identity = nil
	p.plans = nil
	p.protos = nil
	p.srv.store.ReleaseOwner(p.owner)
	p.setDatabase(p.home)
	if closing {
		p.srv.mu.Lock()
		delete(p.srv.sessions, p.party.ID)
		p.srv.mu.Unlock()
	}
}

// --- application locks ---

func appLockMode(mode string) (storage.Mode, bool) {
	switch strings.ToLower(mode) {
	case "intentshared":
		return storage.ModeIS, true
	case "shared":
		return storage.ModeS, true
	case "update":
		return storage.ModeU, true
	case "intentexclusive":
		return storage.ModeIX, true
	case "exclusive":
		return storage.ModeX, true
	}
	return 0, false
}

func (p *planner) appLockOwner(ctx context.Context, sessionOwned bool) (*storage.Owner, error) {
	if sessionOwned {
		return p.owner, nil
	}
	tx, err := p.txn(ctx)
	if err != nil {
		return nil, err
	}
	return tx.Owner, nil
}

func appLockKey(principal, resource string) string { return foldName(principal) + "\x00" + resource }

func (p *planner) getAppLock(ctx context.Context, resource, mode string, sessionOwned bool, timeout int, principal string) (int32, error) {
	m, ok := appLockMode(mode)
	if !ok {
		return -999, nil
	}
	o, err := p.appLockOwner(ctx, sessionOwned)
	if err != nil {
		return -999, err
	}
	wait := time.Duration(timeout) * time.Millisecond
	if timeout < 0 {
		wait = -1
	}
	p.party.Priority.Store(int32(p.sess.settings.deadlockPriority))
	at, err := p.srv.store.LockApplication(ctx, o, p.db.id, appLockKey(principal, resource), m, wait)
	var e *value.Error
	switch {
	case err == nil && at:
		return 0, nil
	case err == nil:
		return 1, nil
	case errors.As(err, &e) && e.Number == 1222:
		return -1, nil
	case errors.As(err, &e) && e.Number == 1205:
		return -3, nil
	}
	return -2, err
}

func (p *planner) releaseAppLock(resource string, sessionOwned bool, principal string) bool {
	o := p.owner
	if !sessionOwned {
		if p.active == nil {
			return false
		}
		o = p.active.Owner
	}
	return p.srv.store.UnlockApplication(o, p.db.id, appLockKey(principal, resource))
}

func (p *planner) appLockMode(resource string, sessionOwned bool, principal string) string {
	o := p.owner
	if !sessionOwned {
		if p.active == nil {
			return "NoLock"
		}
		o = p.active.Owner
	}
	switch p.srv.store.ApplicationMode(o, p.db.id, appLockKey(principal, resource)) {
	case storage.ModeNone:
		return "NoLock"
	case storage.ModeIS:
		return "IntentShared"
	case storage.ModeS:
		return "Shared"
	case storage.ModeU:
		return "Update"
	case storage.ModeIX:
		return "IntentExclusive"
	case storage.ModeX:
		return "Exclusive"
	case storage.ModeSIX:
		return "SharedIntentExclusive"
	case storage.ModeUIX:
		return "UpdateIntentExclusive"
	}
	return "Exclusive"
}

func (p *planner) appLockTest(resource, mode string, sessionOwned bool, principal string) bool {
	m, ok := appLockMode(mode)
	return ok && p.srv.store.ApplicationFree(p.party, p.db.id, appLockKey(principal, resource), m)
}
