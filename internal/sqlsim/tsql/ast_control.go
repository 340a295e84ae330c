package tsql

// Block is BEGIN ... END.
type Block struct {
	Span
	Body []Statement
}

// If is IF cond stmt [ELSE stmt].
type If struct {
	Span
	Cond Expr
	Then Statement
	Else Statement
}

// While is WHILE cond stmt.
type While struct {
	Span
	Cond Expr
	Body Statement
}

// Break is BREAK.
type Break struct{ Span }

// Continue is CONTINUE.
type Continue struct{ Span }

// TryCatch is BEGIN TRY ... END TRY BEGIN CATCH ... END CATCH.
type TryCatch struct {
	Span
	Try, Catch []Statement
}

// Declare is DECLARE of one or more variables.
type Declare struct {
	Span
	Vars []*VarDecl
}

// VarDecl declares one variable: scalar (Type), table (Table), or CURSOR.
type VarDecl struct {
	Pos
	Name   string
	Type   *DataType
	Init   Expr
	Table  *TableDef
	Cursor bool
}

// SetVar is SET @v op expr, or SET @cursor = CURSOR ... (Cursor).
type SetVar struct {
	Span
	Name   string
	Op     string // "=", "+=", ...
	Value  Expr
	Cursor *DeclareCursor
}

// Print is PRINT.
type Print struct {
	Span
	X Expr
}

// Throw is THROW; Number, Message, State are nil for a re-throw.
type Throw struct {
	Span
	Number, Message, State Expr
}

// RaiseError is RAISERROR(msg, severity, state, args...) WITH options.
type RaiseError struct {
	Span
	Message, Severity, State Expr
	Args                     []Expr
	Log, NoWait, SetError    bool
}

// Return is RETURN [expr].
type Return struct {
	Span
	X Expr
}

// WaitFor is WAITFOR DELAY or TIME.
type WaitFor struct {
	Span
	Time bool // else DELAY
	X    Expr
}

// ExecArg is an argument of EXEC. Name is empty for a positional one. Value may be a
// *DefaultValue; with Output it is a *Variable.
type ExecArg struct {
	Pos
	Name   string
	Value  Expr
	Output bool
}

// Exec is EXEC of a procedure (Proc or ProcVar) or of a string (SQL parts, concatenated).
type Exec struct {
	Span
	ReturnVar  string
	Proc       ObjectName
	ProcVar    string // EXEC @name
	Args       []*ExecArg
	IsSQL      bool
	SQL        []Expr
	AsUser     string // EXEC('...') AS USER = '...'
	AsLogin    string
	At         string // linked server
	Recompile  bool
	ResultSets string // WITH RESULT SETS UNDEFINED|NONE; "" when absent
	// Implied is true for a procedure called without EXEC as the first statement.
	Implied bool
}

// ExecuteAs is EXECUTE AS USER|LOGIN = expr | CALLER|OWNER|SELF as a statement.
type ExecuteAs struct {
	Span
	Kind     string // USER, LOGIN, CALLER
	Name     Expr
	NoRevert bool
}

// Revert is REVERT.
type Revert struct{ Span }

// BeginTran, CommitTran, RollbackTran and SaveTran. Name is a literal name, or a
// variable when it starts with @.
type BeginTran struct {
	Span
	Name string
	Mark bool
}

type CommitTran struct {
	Span
	Name    string
	Delayed bool
	Work    bool
}

type RollbackTran struct {
	Span
	Name string
	Work bool
}

type SaveTran struct {
	Span
	Name string
}

// SetOption is SET name[, name] ON|OFF, or SET name value.
type SetOption struct {
	Span
	Names []string // upper case; "TRANSACTION ISOLATION LEVEL", "STATISTICS IO", ...
	// Value is ON, OFF, or the value's upper-case words ("READ COMMITTED"); empty when
	// X holds an expression (a number, string or variable).
	Value string
	X     Expr
}

// SetIdentityInsert is SET IDENTITY_INSERT table ON|OFF.
type SetIdentityInsert struct {
	Span
	Table ObjectName
	On    bool
}

// Use is USE database.
type Use struct {
	Span
	Database string
}

// DBCC is DBCC command (args) WITH options.
type DBCC struct {
	Span
	Command string
	Args    []Expr
	Options []string
}

// Kill is KILL spid.
type Kill struct {
	Span
	SPID Expr
}

// Checkpoint is CHECKPOINT.
type Checkpoint struct{ Span }

// DeclareCursor is DECLARE name CURSOR.
type DeclareCursor struct {
	Span
	Name    string
	Options []string // upper case: LOCAL, GLOBAL, STATIC, FAST_FORWARD, SCROLL, INSENSITIVE, ...
	Query   *Query
	Update  bool // FOR UPDATE
	Columns []string
}

// CursorOp is OPEN, CLOSE or DEALLOCATE of a cursor; Name starts with @ for a variable.
type CursorOp struct {
	Span
	Op     string
	Name   string
	Global bool
}

// Fetch is FETCH [NEXT|PRIOR|FIRST|LAST|ABSOLUTE n|RELATIVE n] FROM cursor [INTO @v, ...].
type Fetch struct {
	Span
	Direction string
	N         Expr
	Name      string
	Global    bool
	Into      []string
}

// Empty is a lone semicolon.
type Empty struct{ Span }

func (*Block) statement()             {}
func (*If) statement()                {}
func (*While) statement()             {}
func (*Break) statement()             {}
func (*Continue) statement()          {}
func (*TryCatch) statement()          {}
func (*Declare) statement()           {}
func (*SetVar) statement()            {}
func (*Print) statement()             {}
func (*Throw) statement()             {}
func (*RaiseError) statement()        {}
func (*Return) statement()            {}
func (*WaitFor) statement()           {}
func (*Exec) statement()              {}
func (*ExecuteAs) statement()         {}
func (*Revert) statement()            {}
func (*BeginTran) statement()         {}
func (*CommitTran) statement()        {}
func (*RollbackTran) statement()      {}
func (*SaveTran) statement()          {}
func (*SetOption) statement()         {}
func (*SetIdentityInsert) statement() {}
func (*Use) statement()               {}
func (*DBCC) statement()              {}
func (*Kill) statement()              {}
func (*Checkpoint) statement()        {}
func (*DeclareCursor) statement()     {}
func (*CursorOp) statement()          {}
func (*Fetch) statement()             {}
func (*Empty) statement()             {}
