package engine

import (
	"context"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// This file is the seam between the two halves of the engine. The language half owns
// sessions, batches, control flow, expressions, functions and transaction state; the
// planning half owns the catalog, DDL, query plans, DML and security. Each half uses the
// other only through what is declared here.

// --- expressions: the language half compiles, the planning half calls ---

// scopeCol is a column that an expression can name. qualifier is the alias of its
// source, or the table's name when it has none; schema and database are set only in the
// latter case, so that dbo.t.c resolves.
type scopeCol struct {
	qualifier, name  string
	typ              value.Type
	nullable         bool
	schema, database string
	hidden           bool // not found by name: an internal column such as a sort key
	// coercible: the column of a derived table that stands for a constant, which gives way
	// to any other collation.
	coercible bool
}

// scope is what names mean while an expression is compiled. Ordinals of cols are
// ordinals of rowCtx.row; parent goes with rowCtx.outer.
type scope struct {
	cols   []scopeCol
	parent *scope
	sess   *Session
	vars   *varTable // variables of the batch or module; never nil

	// resolve, when set, is asked about every node before the compiler looks at it. It
	// is how aggregates, window functions, grouped expressions, select-list aliases and
	// inserted/deleted columns become columns of the current row. handled false means
	// "compile it as usual".
	resolve func(e tsql.Expr) (s *scalar, handled bool, err error)
	// ctes are the common table expressions visible to subqueries; the planning half's.
	ctes any
	// db is the database names resolve in; empty for the session's current one.
	db string
	// capture, when not nil, collects the ordinals of cols that inner scopes refer to;
	// passed is set when an inner scope refers to a scope beyond this one. The compiler
	// sets both around compileSubquery, and so works out a subquery's outer columns.
	capture map[int]bool
	passed  bool
	// forExists: the subquery that is compiled next is that of EXISTS.
	forExists bool
	// inDefault: the expression is a column's default, where NEWSEQUENTIALID() may stand.
	inDefault bool
	// noSubquery refuses subqueries with this error (CHECK, computed columns: 1046).
	noSubquery error
}

// rowCtx is what an expression is evaluated against.
type rowCtx struct {
	ctx   context.Context
	sess  *Session
	frame *frame
	row   []value.Value
	outer *rowCtx
	// exec is the planning half's state of the running statement (snapshot, counters).
	exec any
}

// scalar is a compiled expression.
type scalar struct {
	typ      value.Type
	nullable bool
	// constant: no columns, no outer columns, no subqueries, and the same value for the
	// whole statement (variables count; NEWID() does not).
	constant bool
	// literal: constant and independent of variables and session, so it can be folded.
	literal bool
	// cols are the ordinals referenced at the scope's own level, without duplicates.
	cols []int
	// outerRefs: refers to columns of an outer scope.
	outerRefs bool
	// subqueries: contains a subquery or a user-defined function, so evaluation can block.
	subqueries bool
	// column is the ordinal when the expression is a bare column of this level, else -1.
	column int
	// digits is the number of digits of an integer constant, which counts as a numeric of just
	// that precision beside a decimal; 0 for anything else.
	digits uint8
	// isJSON: the text is JSON that FOR JSON and JSON_MODIFY embed as it is.
	isJSON bool
	// coercible tells whether the collation is implicit, explicit or a coercible default.
	coercible coercibility
	// name is the column's name when the expression is a bare column (for result sets).
	name string
	// folded: the value is known now, and is val.
	folded bool
	val    value.Value
	eval   func(rc *rowCtx) (value.Value, error)
}

// tristate is the value of a predicate.
type tristate int8

const (
	isFalse tristate = iota
	isTrue
	isUnknown
)

// predicate is a compiled condition.
type predicate struct {
	constant   bool
	cols       []int
	outerRefs  bool
	subqueries bool
	eval       func(rc *rowCtx) (tristate, error)
}

// Compile entry points (expr_compile.go):
//
//	compileScalar(sc *scope, e tsql.Expr) (*scalar, error)
//	compilePredicate(sc *scope, e tsql.Expr) (*predicate, error)
//	coerceTo(s *scalar, to value.Type) (*scalar, error)        // implicit conversion (CAST semantics of the server's implicit ones)
//	assignTo(s *scalar, to value.Type) (*scalar, error)        // assignment to a variable: strings truncate silently
//	commonType(a, b value.Type) (value.Type, error)            // for CASE, UNION, VALUES
//	compareScalars(op string, l, r *scalar) (*predicate, error) // with type precedence and collation resolution
//	(s *Session).resolveType(d *tsql.DataType) (value.Type, error)    // built in and alias types
//	builtinType(d *tsql.DataType) (value.Type, bool, error)
//	compileSub(sc *scope, q *tsql.Query) (*subquery, error)     // compileSubquery with the outer references worked out; use it for APPLY and such too
//	isAggregateName(name string) bool
//	unifyTypes(scs []*scalar, what string) (value.Type, error)  // CASE, UNION, VALUES: common type with collation

// subquery is a compiled query that can be run many times. The planning half makes it.
type subquery struct {
	cols []Column
	// outerCols are ordinals of the enclosing scope that it refers to; outerRefs tells
	// of references beyond that scope. Both are worked out by compileSub, below.
	outerCols []int
	outerRefs bool
	// run calls each for every row until it returns false. rc is the row context of the
	// enclosing scope. The row may be reused by the callee after each returns.
	run func(rc *rowCtx, each func(row []value.Value) (more bool, err error)) error
}

// --- variables and frames ---

// varDecl is one declared variable or parameter.
type varDecl struct {
	name     string // with its @
	typ      value.Type
	table    any             // *tsql.TableDef, or the planning half's table type; nil for a scalar
	tname    tsql.ObjectName // name of a table type, for messages
	cursor   bool
	readonly bool
}

// varTable maps names to slots for one batch or module. It is fixed once compiled, so
// that plans that refer to slots can be reused by every execution of a module.
type varTable struct {
	byName map[string]int // folded name to slot
	decls  []varDecl
}

// lookup finds a variable (name with its @).
func (t *varTable) lookup(name string) (slot int, ok bool) {
	slot, ok = t.byName[foldName(name)]
	return slot, ok
}

// frame is one execution of a batch, procedure, function or trigger.
type frame struct {
	sess   *Session
	parent *frame
	layout *varTable
	vals   []value.Value
	// tables holds, by slot, what the planning half keeps for a table variable; it
	// creates one on first use. A table-valued parameter is put here by the caller.
	tables  []any
	cursors []*cursor          // by slot
	named   map[string]*cursor // cursors declared LOCAL
	// module is nil for an ad hoc batch.
	module *module
	// text is the source text that statement offsets refer to.
	text string
	// identity is SCOPE_IDENTITY(); NULL until an insert in this scope.
	identity value.Value
	// trigger is the planning half's inserted/deleted state inside a trigger, else nil.
	trigger any
	// quotedIdentifier is the setting the frame's text was parsed under.
	quotedIdentifier bool
	level            int // @@NESTLEVEL
	insideFunction   bool
	dynamic          bool // EXEC(@sql) or sp_executesql
	line             int  // line of the running statement within text

	prog   *preparedBody // what the frame runs
	sink   Sink
	tries  int   // TRY blocks entered in this frame
	status int32 // return status
	result value.Value
}

// setIdentity records the identity value of an insert for SCOPE_IDENTITY and @@IDENTITY.
func (f *frame) setIdentity(v value.Value) {
	f.identity = v
	f.sess.identity = v
}

// --- modules ---

// moduleParam is a parameter of a procedure or function.
type moduleParam struct {
	name      string
	typ       value.Type
	tableType any // non-nil for a table-valued parameter
	typeName  tsql.ObjectName
	def       tsql.Expr // constant default; nil when there is none
	output    bool
	readonly  bool
}

// module is a stored procedure, view, function or trigger. The planning half makes one
// at CREATE and keeps it in the catalog; the language half fills prepared on first use.
type module struct {
	id               int32
	database, schema string
	name             string
	kind             tsql.ModuleKind
	params           []moduleParam
	ast              *tsql.CreateModule
	text             string // what sys.sql_modules shows; offsets of ast refer to source
	source           string // the batch the module was created by
	quotedIdentifier bool
	ansiNulls        bool
	executeAs        string // as in tsql.CreateModule
	owner            any    // the planning half's principal
	returns          value.Type
	native           any // for the planning half's own use
}

// --- what the planning half provides ---

// stmtResult is what executing a statement came to. The language half sends the Done
// and sets @@ROWCOUNT from it.
type stmtResult struct {
	command Command
	rows    int64
	// setsRowCount is false for statements that leave @@ROWCOUNT 0 without a count (DDL).
	setsRowCount bool
	// silent suppresses the count to the client (SELECT @v = ...).
	silent bool
}

// storeTxn is a storage transaction. *storage.Txn is wrapped by the planning half.
type storeTxn interface {
	id() uint64
	// savepoint marks the present; rollbackTo undoes what came after and keeps locks.
	savepoint() int
	rollbackTo(sp int) error
	commit() error
	rollback() error
	// wrote reports whether anything was changed (read-only transactions leave no trace).
	wrote() bool
}

// procArg is an argument of a system procedure.
type procArg struct {
	name      string // with its @; empty for positional
	typ       value.Type
	val       value.Value
	output    bool
	isDefault bool
	set       func(value.Value) error // stores an output value; nil unless output
}

// systemProc is a procedure written in Go.
type systemProc func(ctx context.Context, fr *frame, args []procArg, sink Sink) (status int32, err error)

// backend is the planning half as a session sees it: one per session.
type backend interface {
	// compileSubquery plans a query inside an expression, or for a cursor. sc may have no
	// columns (a batch-level expression).
	compileSubquery(sc *scope, q *tsql.Query) (*subquery, error)
	// execStatement runs SELECT, INSERT, UPDATE, DELETE, MERGE, TRUNCATE, all DDL, GRANT,
	// UPDATE STATISTICS and so on. It sends result sets (Columns and Row, not Done).
	// Transactions: it asks fr.sess.storeTxn(ctx) for one. Errors are *value.Error, or
	// ctx.Err(), or a Sink's.
	execStatement(ctx context.Context, fr *frame, st tsql.Statement, sink Sink) (stmtResult, error)
	// beginStore starts a storage transaction at an isolation level.
	beginStore(ctx context.Context, iso isolation) (storeTxn, error)
	// statementDone ends what a statement holds at most until its end (statement-duration
	// locks, latches). Called after every statement, failed or not.
	statementDone(fr *frame)

	// lookupModule finds a procedure or function that the session may execute: 2812 (or
	// nil, nil for a function, so that 195/4121 can be told), 229 when not permitted.
	lookupModule(ctx context.Context, fr *frame, name tsql.ObjectName, kind tsql.ModuleKind) (*module, error)
	// systemProc finds a system procedure that the planning half implements (sp_rename,
	// sp_helptext, sp_addextendedproperty, msdb's sp_add_job...), or nil.
	systemProc(fr *frame, name tsql.ObjectName) systemProc
	// enterModule and leaveModule bracket a module's execution: EXECUTE AS of the module,
	// database context of procedures in other databases. leaveModule gets what enterModule
	// returned.
	enterModule(fr *frame) (token any, err error)
	leaveModule(fr *frame, token any)
	// tableArgument is the table variable in a slot, to be passed as a table-valued
	// parameter; typeName is the parameter's type, to be checked against (206).
	tableArgument(fr *frame, slot int, typ any) (any, error)
	// clientTable is a table-valued parameter that came with an RPC, as the table of its type.
	clientTable(fr *frame, t *TableParam, typ any) (any, error)
	// endFrame drops #tables and table variables of a frame that ends.
	endFrame(ctx context.Context, fr *frame)

	// resolveAlias resolves a type that is not built in: an alias type, or a table type
	// (table non-nil). 2715 when there is none.
	resolveAlias(d *tsql.DataType) (typ value.Type, table any, err error)
	// nextSequence is NEXT VALUE FOR; sequenceType tells its type.
	sequenceType(name tsql.ObjectName) (value.Type, error)
	nextSequence(rc *rowCtx, name tsql.ObjectName) (value.Value, error)

	// useDatabase switches the current database: 911, 916.
	useDatabase(ctx context.Context, name string) error
	// currentDatabase is the session's current database and its id and collation.
	currentDatabase() (name string, id int32, collation value.Collation)
	// setIdentityInsert is SET IDENTITY_INSERT.
	setIdentityInsert(ctx context.Context, fr *frame, st *tsql.SetIdentityInsert) error
	// executeAs pushes an impersonation, revert pops one.
	executeAs(ctx context.Context, kind, name string, noRevert bool) error
	revert() error
	// kill ends another session: 6104, 6106, 6107.
	kill(spid int) error
	// catalogVersion changes whenever a compiled plan may have become wrong.
	catalogVersion() uint64
	// resetSession is called by Session.Reset and Session.Close: #tables, impersonation,
	// session locks, the login's default database.
	resetSession(ctx context.Context, closing bool)

	metadata
	appLocks
}

// statementChecker may be implemented by a backend: it compiles a statement without
// running it, before the batch or procedure that it is in starts. Names of objects that do
// not exist yet are no error then (deferred name resolution), but everything else is.
type statementChecker interface {
	checkStatement(fr *frame, st tsql.Statement) error
}

// metadata answers the metadata functions. ok false makes NULL.
type metadata interface {
	// objectByName resolves a one- to three-part name as OBJECT_ID does; typ is "" or a
	// type such as "U" or "P".
	objectByName(name tsql.ObjectName, typ string) (objectInfo, bool)
	objectByID(id int32, db string) (objectInfo, bool)
	schemaByName(name string) (int32, bool)
	schemaByID(id int32) (string, bool)
	databaseByName(name string) (int32, bool)
	databaseByID(id int32) (string, bool)
	typeByName(schema, name string) (int32, bool)
	typeByID(id int32) (string, bool)
	databaseProperty(db, property string) (value.Value, bool)
	serverProperty(property string) (value.Value, bool)
	principalID(name string) (int32, bool)
	principalName(id int32) (string, bool)
	hasPermission(securable, class, permission string) (value.Value, error)
	isMember(role string) (member, ok bool)
	isRoleMember(role, principal string) (member, ok bool)
	isServerRoleMember(role, login string) (member, ok bool)
	// identCurrent is IDENT_CURRENT; identSeed IDENT_SEED and IDENT_INCR.
	identCurrent(table tsql.ObjectName) (value.Value, bool)
	identSeed(table tsql.ObjectName) (seed, increment value.Value, ok bool)
	moduleText(id int32) (string, bool)
	// currentUser is the database user, loginName the effective login, originalLogin the
	// one that connected.
	currentUser() string
	loginName() string
	originalLogin() string
}

// objectInfo is what the metadata functions ask about an object.
type objectInfo struct {
	id, parentID int32
	schemaID     int32
	schema, name string
	typ          string // as sys.objects.type, without padding: "U", "V", "P", "FN", "IF", "TF", "TR", "PK", "UQ", "C", "D", "F", "SO", "SN", "TT"
	system       bool
	columns      []columnInfo
	indexes      []indexInfo
	quotedIdent  bool
	ansiNulls    bool
	schemaBound  bool
	hasIdentity  bool
	hasTriggers  bool
}

type columnInfo struct {
	id        int32
	name      string
	typ       value.Type
	nullable  bool
	identity  bool
	computed  bool
	persisted bool
	rowGUID   bool
}

type indexInfo struct {
	id                  int32
	name                string
	unique              bool
	clustered           bool
	primary             bool
	disabled            bool
	filtered            bool
	columns             []string
	descending          []bool
	fillFactor          int
	pageLocks, rowLocks bool
}

// appLocks is the lock manager's part for sp_getapplock and its kin. mode is one of
// IntentShared, Shared, Update, IntentExclusive, Exclusive; timeout in milliseconds, -1
// forever; principal is the database principal's name.
type appLocks interface {
	// getAppLock returns 0 granted at once, 1 granted after waiting, -1 timed out, -2
	// canceled, -3 deadlock victim.
	getAppLock(ctx context.Context, resource, mode string, sessionOwned bool, timeout int, principal string) (int32, error)
	// releaseAppLock returns false when the lock is not held.
	releaseAppLock(resource string, sessionOwned bool, principal string) bool
	// appLockMode is the mode held ("NoLock" when none).
	appLockMode(resource string, sessionOwned bool, principal string) string
	// appLockTest reports whether mode could be granted now.
	appLockTest(resource, mode string, sessionOwned bool, principal string) bool
}

// --- what the language half provides to the planning half (session*.go, txn_*.go) ---
//
//	newSession(opts sessionOptions) *Session
//	(s *Session) storeTxn(ctx) (storeTxn, error)   // the current one; begins an autocommit or implicit one when there is none
//	(s *Session) now() time.Time                    // UTC; constant within a statement
//	(s *Session) settings settings                  // settings.go
//	(s *Session) isolation() isolation
//	(s *Session) checkWritable() error              // 3930 while the transaction is doomed
//	(s *Session) context() context.Context          // of the running request
//	(s *Session) runExec(ctx, fr, st *tsql.Exec, sink Sink) error // for INSERT ... EXEC
//	(s *Session) callFunction(rc *rowCtx, m *module, args []value.Value) (value.Value, error) // scalar functions
//	(s *Session) callTableFunction(rc *rowCtx, m *module, args []value.Value) (tables any, err error) // multi-statement functions
//	(s *Session) fireTrigger(ctx, fr *frame, m *module, trigger any, sink Sink) error
//	sqlError(number int32, class, state uint8, format string, args ...any) *value.Error
