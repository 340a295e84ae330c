package engine

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chokaq/chokaq/internal/clock"
	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// Options are what a server is made with. The zero value is a SQL Server 2022 with
// mixed authentication, login sa without a password, and the real clock.
type Options struct {
	Clock     clock.Clock
	Collation string            // of the server; SQL_Latin1_General_CP1_CI_AS
	Logins    map[string]string // name to password; these are members of sysadmin
	Name      string            // @@SERVERNAME
	Version   string            // product version, such as 16.0.4135.4
	Edition   string
}

// Server is one simulated SQL Server.
type Server struct {
	clock          clock.Clock
	store          *storage.Store
	collation      value.Collation
	name           string
	productVersion string
	edition        string
	started        time.Time
	version        atomic.Uint64 // of the catalog
	nameSeq        atomic.Uint64
	stage          atomic.Int32 // of a restart

	mu        sync.RWMutex
	databases map[string]*database
	nextDB    int32
	logins    map[string]*login
	nextLogin int32
	sessions  map[int]*planner
	nextSPID  int
	globals   map[string]*object // ##tables
	config    map[string]int64
}

// NewServer returns a server with its system databases.
func NewServer(o Options) (*Server, error) {
	if o.Clock == nil {
		o.Clock = clock.Real()
	}
	collation := value.DefaultCollation
	if o.Collation != "" {
		c, ok := value.CollationByName(o.Collation)
		if !ok {
			return nil, fmt.Errorf("unknown collation %q", o.Collation)
		}
		collation = c
	}
	pick := func(s, def string) string {
		if s == "" {
			return def
		}
		return s
	}
	srv := &Server{
		clock: o.Clock, store: storage.NewStore(o.Clock), collation: collation,
		name: pick(o.Name, "SQLSIM"), productVersion: pick(o.Version, "16.0.4135.4"), edition: pick(o.Edition, "Developer Edition (64-bit)"),
		started:   o.Clock.Now().UTC(),
		databases: map[string]*database{}, logins: map[string]*login{}, sessions: map[int]*planner{},
		nextSPID: 50, globals: map[string]*object{}, config: map[string]int64{},
	}
	srv.version.Store(1)
	if o.Logins == nil {
		o.Logins = map[string]string{"sa": ""}
	}
	sa := srv.addLogin("sa", o.Logins["sa"])
	sa.serverIn["sysadmin"] = true
	if _, ok := o.Logins["sa"]; !ok {
		sa.disabled = true
	}
	names := make([]string, 0, len(o.Logins))
	for n := range o.Logins {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		if n != "sa" {
			srv.addLogin(n, o.Logins[n]).serverIn["sysadmin"] = true
		}
	}
	for _, n := range []string{"master", "tempdb", "model", "msdb"} {
		srv.addDatabase(n, collation, sa)
	}
	srv.databases["msdb"].trust = true
	srv.databases["master"].recovery = "SIMPLE"
	srv.databases["tempdb"].recovery = "SIMPLE"
	srv.databases["msdb"].recovery = "SIMPLE"
	return srv, nil
}

func (srv *Server) addLogin(name, password string) *login {
	srv.nextLogin++
	id := srv.nextLogin
	if id > 1 {
		id += 256
	}
	l := &login{id: id, name: name, password: password, database: "master", created: srv.clock.Now().UTC(), serverIn: map[string]bool{}}
	srv.logins[foldName(name)] = l
	return l
}

// addDatabase creates a database with its schemas and fixed principals.
func (srv *Server) addDatabase(name string, collation value.Collation, owner *login) *database {
	srv.nextDB++
	db := &database{
		id: srv.nextDB, name: name, collation: collation, created: srv.clock.Now().UTC(), compat: 160,
		recovery: "FULL", single: "MULTI_USER", owner: owner, options: map[string]string{},
		schemas: map[string]*schema{}, objects: map[int32]*object{}, nextObject: 565577053,
		types: map[int32]*userType{}, nextType: 257, nextSchema: 5, principals: map[int32]*principal{}, nextUser: 5,
	}
	if srv.nextDB <= 4 {
		db.snapshots = name == "master" || name == "msdb"
	}
	add := func(id int32, name string, role bool) *principal {
		p := &principal{id: id, name: name, role: role, fixed: true, created: db.created}
		db.principals[id] = p
		return p
	}
	public := add(0, "public", true)
	dbo := add(1, "dbo", false)
	dbo.login, dbo.defaultSchema = owner, "dbo"
	public.owner = dbo
	add(2, "guest", false).defaultSchema = "guest"
	add(3, "INFORMATION_SCHEMA", false)
	add(4, "sys", false)
	for i, n := range fixedRoles {
		add(int32(16384+i), n, true).owner = dbo
	}
	addSchema := func(id int32, name string, owner *principal) {
		db.schemas[foldName(name)] = &schema{id: id, name: name, owner: owner, objects: map[string]*object{}, types: map[string]*userType{}}
	}
	addSchema(1, "dbo", dbo)
	addSchema(2, "guest", db.principals[2])
	addSchema(3, "INFORMATION_SCHEMA", db.principals[3])
	addSchema(4, "sys", db.principals[4])
	for i, n := range fixedRoles {
		addSchema(int32(16384+i), n, db.principals[int32(16384+i)])
	}
	srv.databases[foldName(name)] = db
	return db
}

// fixedRoles are the fixed database roles, in the order of their ids from 16384.
var fixedRoles = []string{"db_owner", "db_accessadmin", "db_securityadmin", "db_ddladmin", "db_backupoperator", "db_datareader", "db_datawriter", "db_denydatareader", "db_denydatawriter"}

func (db *database) system() bool { return db.id <= 4 }

// Connect logs a client in and returns its session. The error is 18456, 4060, or 17187 during a restart.
func (srv *Server) Connect(ctx context.Context, l Login) (*Session, error) {
	if err := srv.ready(); err != nil {
		return nil, err
	}
	srv.mu.Lock()
	lg := srv.logins[foldName(l.User)]
	if lg == nil || lg.role || lg.disabled || lg.password != l.Password {
		srv.mu.Unlock()
		return nil, sqlError(18456, 14, 1, "Login failed for user '%s'.", l.User)
	}
	name := l.Database
	if name == "" {
		name = lg.database
	}
	db := srv.databases[foldName(name)]
	srv.nextSPID++
	l.SPID = srv.nextSPID
	p := &planner{srv: srv, party: &storage.Party{ID: l.SPID}, login: lg, original: lg, client: l, connected: srv.clock.Now().UTC()}
	p.owner = storage.NewOwner(p.party, 0)
	p.sess = newSession(sessionOptions{backend: p, clock: srv.clock, spid: l.SPID, login: l})
	srv.mu.Unlock()

	if db == nil || p.userIn(db) == nil || srv.recovering(db) {
		return nil, sqlError(4060, 11, 1, "Cannot open database \"%s\" requested by the login. The login failed.", name)
	}
	if err := p.singleUser(db); err != nil {
		return nil, sqlError(4060, 11, 1, "Cannot open database \"%s\" requested by the login. The login failed.", name)
	}
	p.home = db
	p.setDatabase(db)
	srv.mu.Lock()
	srv.sessions[l.SPID] = p
	srv.mu.Unlock()
	return p.sess, nil
}

// Clock returns the server's clock.
func (srv *Server) Clock() clock.Clock { return srv.clock }

// ServerName, ProductVersion and ProductEdition are what @@SERVERNAME and
// SERVERPROPERTY tell.
func (srv *Server) ServerName() string { return srv.name }

// ProductVersion is the version as four numbers.
func (srv *Server) ProductVersion() string { return srv.productVersion }

// Deadlocks returns the reports of all deadlocks so far, oldest first.
func (srv *Server) Deadlocks() []storage.DeadlockReport { return srv.store.Locks.Deadlocks() }

// Locks returns all locks that are held or waited for.
func (srv *Server) Locks() []storage.LockInfo { return srv.store.Locks.List() }

// Blocked reports whether a session waits for a lock.
func (srv *Server) Blocked(spid int) bool {
	srv.mu.RLock()
	p := srv.sessions[spid]
	srv.mu.RUnlock()
	return p != nil && srv.store.Locks.Waiting(p.party)
}

// versionText is @@VERSION.
func (srv *Server) versionText() string {
	year := "2022"
	switch major, _, _ := strings.Cut(srv.productVersion, "."); major {
	case "14":
		year = "2017"
	case "15":
		year = "2019"
	case "17":
		year = "2025"
	}
	return fmt.Sprintf("Microsoft SQL Server %s (sqlsim, a stand-in for tests) - %s (X64) \n\t%s", year, srv.productVersion, srv.edition)
}
