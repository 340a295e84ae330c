package engine

import "github.com/chokaq/chokaq/internal/sqlsim/value"

// Column describes one column of a result set.
type Column struct {
	Name     string
	Type     value.Type
	Nullable bool
	Identity bool
	Computed bool
}

// Sink receives what a request produces, in order. The tds package turns each call
// into tokens on the wire; tests record them. A Sink is used by one goroutine. An
// error from it (the client has gone) ends the request.
type Sink interface {
	// Columns opens a result set. The set ends at the next Done.
	Columns([]Column) error
	// Row sends one row of the open result set. The slice may be reused by the caller.
	Row([]value.Value) error
	// Done ends a statement. count is the number of rows affected or returned and is
	// reported to the client when counted is true (SET NOCOUNT ON makes it false).
	// command tells the kind of statement.
	Done(command Command, count int64, counted bool) error
	// Message sends an error (Class above 10) or an informational message (PRINT, RAISERROR below 11, USE).
	Message(*value.Error) error
	// Return sends the return status of a procedure.
	Return(status int32) error
	// Output sends the value of an OUTPUT parameter of an RPC, by name (with its @) and ordinal.
	Output(ordinal int, name string, typ value.Type, v value.Value) error
	// DatabaseChanged and LanguageChanged report an environment change.
	DatabaseChanged(from, to string) error
	LanguageChanged(from, to string) error
	// TransactionChanged reports that a transaction began (id nonzero), or the
	// current one ended (id zero; rolledBack tells how).
	TransactionChanged(id uint64, rolledBack bool) error
}

// Command tells the client which kind of statement a Done belongs to.
type Command uint16

const (
	CommandOther  Command = 0
	CommandSelect Command = 0xC1
	CommandInsert Command = 0xC3
	CommandDelete Command = 0xC4
	CommandUpdate Command = 0xC5
)

// Login is what a client presented.
type Login struct {
	User, Password string
	Database       string // empty: the login's default
	HostName       string
	AppName        string
	ClientPID      uint32
	ReadOnly       bool
	SPID           int // filled in by the engine
}

// Param is one parameter of an RPC.
type Param struct {
	Name   string // with its @; empty for a positional one
	Type   value.Type
	Value  value.Value
	Output bool
	// Default is true when the client asked for the parameter's declared default.
	Default bool
	// Table is the value of a table-valued parameter, which has neither Type nor Value;
	// it is nil for every other.
	Table *TableParam
}

// TableParam is a table-valued parameter as a client sends it. With Default set on its
// Param, or with no columns, it is an empty table.
type TableParam struct {
	// Schema and Name are the table type; the schema may be empty.
	Schema, Name string
	Columns      []Column
	Rows         [][]value.Value
}

// Call is one RPC: a procedure by name (possibly database.schema.name) or a
// well-known one such as sp_executesql.
type Call struct {
	Procedure string
	Params    []Param
}
