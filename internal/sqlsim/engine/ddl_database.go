package engine

import (
	"context"
	"strconv"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// notInTransaction is error 226: CREATE, ALTER and DROP DATABASE stand alone.
func (p *planner) notInTransaction(what string) error {
	if p.sess.txn.count > 0 {
		return sqlError(226, 16, 6, "%s statement not allowed within multi-statement transaction.", what)
	}
	return nil
}

func (p *planner) execCreateDatabase(ctx context.Context, st *tsql.CreateDatabase) error {
	if st.Snapshot {
		return tsql.Unsupported(st.Line, "database snapshots")
	}
	if err := p.notInTransaction("CREATE DATABASE"); err != nil {
		return err
	}
	if err := p.checkServer("CREATE ANY DATABASE", 262, "CREATE DATABASE permission denied in database 'master'."); err != nil {
		return err
	}
	collation := p.srv.collation
	if st.Collation != "" {
		c, ok := value.CollationByName(st.Collation)
		if !ok {
			return lineAt(sqlError(448, 16, 4, "Invalid collation '%s'.", st.Collation), st.Pos)
		}
		collation = c
	}
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	if p.srv.databases[foldName(st.Name)] != nil {
		return lineAt(sqlError(1801, 16, 3, "Database '%s' already exists. Choose a different database name.", st.Name), st.Pos)
	}
	if p.srv.nextDB < 4 {
		p.srv.nextDB = 4
	}
	p.srv.addDatabase(st.Name, collation, p.login)
	return nil
}

func (p *planner) dropDatabase(ctx context.Context, st *tsql.DropObject, name tsql.ObjectName) error {
	if err := p.notInTransaction("DROP DATABASE"); err != nil {
		return err
	}
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	db := p.srv.databases[foldName(name.Name)]
	if db == nil {
		if st.IfExists {
			return nil
		}
		return lineAt(sqlError(3701, 11, 1, "Cannot drop the database '%s', because it does not exist or you do not have permission.", name.Name), name.Pos)
	}
	if db.system() {
		return lineAt(sqlError(3708, 16, 4, "Cannot drop the database '%s' because it is a system database.", name.Name), name.Pos)
	}
	if !(p.login.sysadmin() || p.login.serverIn["dbcreator"] || db.owner == p.login) {
		return lineAt(sqlError(3701, 11, 1, "Cannot drop the database '%s', because it does not exist or you do not have permission.", name.Name), name.Pos)
	}
	for _, s := range p.srv.sessions {
		if s.current.Load() == db {
			return lineAt(sqlError(3702, 16, 3, "Cannot drop database \"%s\" because it is currently in use.", name.Name), name.Pos)
		}
	}
	delete(p.srv.databases, foldName(name.Name))
	for _, o := range db.objects {
		if o != nil && o.table != nil {
			p.srv.store.Forget(o.table.data)
		}
	}
	p.srv.changed()
	return nil
}

func (p *planner) execAlterDatabase(ctx context.Context, st *tsql.AlterDatabase) error {
	db := p.db
	if st.Name != "" && !strings.EqualFold(st.Name, "CURRENT") {
		if db = p.srv.findDatabase(st.Name); db == nil {
			return lineAt(sqlError(5011, 14, 5, "User does not have permission to alter database '%s', the database does not exist, or the database is not in a state that allows access checks.", st.Name), st.Pos)
		}
	}
	if !p.all(db) {
		return lineAt(sqlError(5011, 14, 5, "User does not have permission to alter database '%s', the database does not exist, or the database is not in a state that allows access checks.", db.name), st.Pos)
	}
	if st.Scoped {
		// Scoped configuration steers the optimizer.
		return nil
	}
	if err := p.notInTransaction("ALTER DATABASE"); err != nil {
		return err
	}
	if st.Collation != "" {
		c, ok := value.CollationByName(st.Collation)
		if !ok {
			return lineAt(sqlError(448, 16, 4, "Invalid collation '%s'.", st.Collation), st.Pos)
		}
		if err := p.exclusive(ctx, db, st.With); err != nil {
			return err
		}
		p.srv.mu.Lock()
		db.collation = c
		p.srv.mu.Unlock()
	}
	if st.NewName != "" {
		p.srv.mu.Lock()
		defer p.srv.mu.Unlock()
		if p.srv.databases[foldName(st.NewName)] != nil {
			return lineAt(sqlError(1801, 16, 3, "Database '%s' already exists. Choose a different database name.", st.NewName), st.Pos)
		}
		delete(p.srv.databases, foldName(db.name))
		db.name = st.NewName
		p.srv.databases[foldName(db.name)] = db
	}
	for _, o := range st.Options {
		if err := p.databaseOption(ctx, db, o, st); err != nil {
			return err
		}
	}
	p.srv.changed()
	return nil
}

// exclusive makes sure that nobody else is in a database, ending others if asked to.
func (p *planner) exclusive(ctx context.Context, db *database, with []string) error {
	others := func() []*planner {
		p.srv.mu.RLock()
		defer p.srv.mu.RUnlock()
		var list []*planner
		for _, s := range p.srv.sessions {
			if s != p && s.current.Load() == db {
				list = append(list, s)
			}
		}
		return list
	}
	list := others()
	if len(list) == 0 {
		return nil
	}
	if len(with) == 0 {
		return sqlError(5070, 16, 2, "Database state cannot be changed while other users are using the database '%s'", db.name)
	}
	if strings.HasPrefix(with[0], "NO_WAIT") {
		return sqlError(5070, 16, 2, "Database state cannot be changed while other users are using the database '%s'", db.name)
	}
	for _, s := range list {
		if err := s.sess.End(ctx); err != nil {
			return err
		}
	}
	return nil
}

// singleUser is error 924: a database in single-user mode has its user already.
func (p *planner) singleUser(db *database) error {
	p.srv.mu.RLock()
	defer p.srv.mu.RUnlock()
	if db.single != "SINGLE_USER" {
		return nil
	}
	for _, s := range p.srv.sessions {
		if s != p && s.current.Load() == db {
			return sqlError(924, 14, 1, "Database '%s' is already open and can only have one user at a time.", db.name)
		}
	}
	return nil
}

func (p *planner) databaseOption(ctx context.Context, db *database, o tsql.Option, st *tsql.AlterDatabase) error {
	on := strings.EqualFold(o.Value, "ON")
	set := func(f func()) {
		p.srv.mu.Lock()
		f()
		p.srv.mu.Unlock()
	}
	switch o.Name {
	case "READ_COMMITTED_SNAPSHOT":
		if db.rcsi != on {
			if err := p.exclusive(ctx, db, st.With); err != nil {
				return err
			}
		}
		set(func() { db.rcsi = on })
	case "ALLOW_SNAPSHOT_ISOLATION":
		set(func() { db.snapshots = on })
	case "COMPATIBILITY_LEVEL":
		n, err := strconv.Atoi(o.Value)
		if err != nil || n < 100 || n > 170 || n%10 != 0 {
			return lineAt(sqlError(15048, 16, 1, "Valid values of the database compatibility level are 100, 110, 120, 130, 140, 150, or 160."), st.Pos)
		}
		set(func() { db.compat = n })
	case "RECOVERY":
		set(func() { db.recovery = strings.ToUpper(o.Value) })
	case "TRUSTWORTHY":
		set(func() { db.trust = on })
	case "SINGLE_USER", "MULTI_USER", "RESTRICTED_USER":
		if o.Name == "SINGLE_USER" {
			if err := p.exclusive(ctx, db, st.With); err != nil {
				return err
			}
		}
		set(func() { db.single = o.Name })
	case "READ_ONLY", "READ_WRITE", "OFFLINE":
		if o.Name != "READ_WRITE" {
			return tsql.Unsupported(st.Line, "ALTER DATABASE ... SET %s", o.Name)
		}
	case "ONLINE", "AUTO_CLOSE", "AUTO_SHRINK", "AUTO_CREATE_STATISTICS", "AUTO_UPDATE_STATISTICS", "AUTO_UPDATE_STATISTICS_ASYNC", "PAGE_VERIFY", "QUERY_STORE",
		"TARGET_RECOVERY_TIME", "DELAYED_DURABILITY", "PARAMETERIZATION", "ACCELERATED_DATABASE_RECOVERY", "DB_CHAINING", "ENABLE_BROKER", "DISABLE_BROKER", "NEW_BROKER",
		"ANSI_NULL_DEFAULT", "ANSI_NULLS", "ANSI_PADDING", "ANSI_WARNINGS", "ARITHABORT", "CONCAT_NULL_YIELDS_NULL", "NUMERIC_ROUNDABORT", "QUOTED_IDENTIFIER",
		"CURSOR_CLOSE_ON_COMMIT", "CURSOR_DEFAULT", "OPTIMIZED_LOCKING", "HONOR_BROKER_PRIORITY", "DATE_CORRELATION_OPTIMIZATION", "MIXED_PAGE_ALLOCATION":
		if o.Name == "OPTIMIZED_LOCKING" && on {
			return tsql.Unsupported(st.Line, "ALTER DATABASE ... SET OPTIMIZED_LOCKING = ON")
		}
		// Session options win over these for every client that sets its own, and the
		// rest is about storage.
		set(func() { db.options[o.Name] = o.Value })
	case "RECURSIVE_TRIGGERS", "CHANGE_TRACKING", "CONTAINMENT", "NESTED_TRIGGERS":
		if on || o.Name == "CHANGE_TRACKING" || o.Name == "CONTAINMENT" && !strings.EqualFold(o.Value, "NONE") {
			return tsql.Unsupported(st.Line, "ALTER DATABASE ... SET %s", o.Name)
		}
	default:
		return lineAt(sqlError(5058, 16, 12, "Option '%s' cannot be set in database '%s'.", o.Name, db.name), st.Pos)
	}
	return nil
}

// execDBCC runs the few DBCC commands that mean something here.
func (p *planner) execDBCC(ctx context.Context, fr *frame, st *tsql.DBCC, sink Sink) error {
	arg := func(i int) (string, error) {
		if i >= len(st.Args) {
			return "", nil
		}
		switch e := st.Args[i].(type) {
		case *tsql.ColumnRef:
			return e.Name, nil
		case *tsql.Literal:
			return e.Text, nil
		}
		s, err := compileScalar(&scope{sess: p.sess, vars: fr.layout}, st.Args[i])
		if err != nil {
			return "", err
		}
		v, err := s.eval(&rowCtx{ctx: ctx, sess: p.sess, frame: fr})
		if err != nil {
			return "", err
		}
		if v.Kind().IsCharacter() {
			return v.Str(), nil
		}
		return v.String(), nil
	}
	switch st.Command {
	case "CHECKIDENT":
		name, err := arg(0)
		if err != nil {
			return err
		}
		n, err := tsql.ParseName(name)
		if err != nil {
			return err
		}
		o, err := p.resolveObject(n)
		if err != nil {
			return err
		}
		if o == nil || o.table == nil {
			return lineAt(sqlError(2501, 16, 45, "Cannot find a table or object with the name \"%s\". Check the system catalog.", name), st.Pos)
		}
		id := o.table.identity
		if id == nil {
			return lineAt(sqlError(7997, 16, 1, "'%s' does not contain an identity column.", o.name), st.Pos)
		}
		if _, err := p.lockSchema(ctx, o); err != nil {
			return err
		}
		mode, err := arg(1)
		if err != nil {
			return err
		}
		cur := "NULL"
		if id.used.Load() {
			cur = strconv.FormatInt(id.last.Load(), 10)
		}
		if strings.EqualFold(mode, "RESEED") && len(st.Args) > 2 {
			text, err := arg(2)
			if err != nil {
				return err
			}
			v, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return lineAt(sqlError(2560, 16, 9, "Parameter 3 is incorrect for this DBCC statement."), st.Pos)
			}
			if id.used.Load() || o.table.data.Rows() > 0 {
				id.last.Store(v)
			} else {
				id.last.Store(v - id.inc)
			}
		}
		if err := sink.Message(sqlError(7998, 10, 1, "Checking identity information: current identity value '%s'.", cur)); err != nil {
			return err
		}
		return sink.Message(sqlError(2528, 10, 1, "DBCC execution completed. If DBCC printed error messages, contact your system administrator."))
	case "TRACEON", "TRACEOFF", "FREEPROCCACHE", "DROPCLEANBUFFERS", "CHECKDB", "CHECKTABLE", "FREESYSTEMCACHE", "UPDATEUSAGE":
		return sink.Message(sqlError(2528, 10, 1, "DBCC execution completed. If DBCC printed error messages, contact your system administrator."))
	}
	return tsql.Unsupported(st.Line, "DBCC %s", st.Command)
}
