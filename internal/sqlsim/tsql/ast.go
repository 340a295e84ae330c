// Package tsql reads Transact-SQL as SQL Server 2017 to 2025 has it: a lexer, a syntax
// tree and a parser. It knows nothing of catalogs: names stay names, and types stay as
// written, until the engine resolves them. What it recognizes as T-SQL but sqlsim does
// not support, it refuses by naming the construct.
package tsql

import "strings"

// Pos is a place in the text of a batch.
type Pos struct {
	Line   int // 1-based line in the batch
	Offset int // byte offset in the batch
}

// Position returns the place itself; embedding Pos makes a node of a struct.
func (p Pos) Position() Pos { return p }

// Span is the place of a statement: from Offset to End, both byte offsets in the batch.
type Span struct {
	Pos
	End int
}

// Range returns the start and end byte offsets, without a terminator.
func (s Span) Range() (start, end int) { return s.Offset, s.End }

func (s *Span) setEnd(n int) { s.End = n }

// Node is any part of a syntax tree.
type Node interface{ Position() Pos }

// Statement is one T-SQL statement. Its source text is batch.Text[start:end] of Range.
type Statement interface {
	Node
	Range() (start, end int)
	setEnd(int)
	statement()
}

// Expr is a scalar expression or a predicate. IsPredicate tells them apart; the parser
// has already checked that each is where the grammar wants it.
type Expr interface {
	Node
	expr()
}

// TableSource is an item of a FROM clause.
type TableSource interface {
	Node
	tableSource()
}

// Batch is a parsed batch.
type Batch struct {
	Text       string
	Statements []Statement
	// Variables are the declarations and uses of variables, in textual order.
	Variables []VariableUse
	// QuotedIdentifier is the setting the text was parsed under. SET QUOTED_IDENTIFIER
	// takes effect while a batch is parsed, so a statement can differ from its batch.
	QuotedIdentifier bool
}

// VariableUse is a place where a variable is declared or used.
type VariableUse struct {
	Name     string // with its @
	Line     int
	Declares bool
	Table    bool // used as a table
}

// ObjectName is a one- to four-part name. Missing parts are empty.
type ObjectName struct {
	Pos
	Server, Database, Schema, Name string
}

// String writes the name with dots between the parts that are present, as written in
// SQL Server's messages (no brackets).
func (n ObjectName) String() string {
	parts := []string{n.Server, n.Database, n.Schema, n.Name}
	i := 0
	for i < 3 && parts[i] == "" {
		i++
	}
	return strings.Join(parts[i:], ".")
}

// IsTemp reports a #temporary name (also ##global).
func (n ObjectName) IsTemp() bool { return strings.HasPrefix(n.Name, "#") }

// DataType is a data type as written; alias types resolve only in a catalog.
type DataType struct {
	Pos
	Database, Schema string
	Name             string // as written: "nvarchar", "sysname", "MyType"
	Max              bool   // (max)
	Args             []int  // (n) or (p, s)
	Double           bool   // DOUBLE PRECISION
	Varying          bool   // CHAR VARYING and kin, already folded in Name
}

// Option is a named option such as FILLFACTOR = 80 or ONLINE = ON. Value is the text of
// the value as written ("ON", "80", "PAGE"), empty for a bare option.
type Option struct {
	Pos
	Name  string // upper case
	Value string
	Sub   []Option // ONLINE = ON (WAIT_AT_LOW_PRIORITY (...))
}

// FindOption returns the option of that (upper-case) name, or nil.
func FindOption(opts []Option, name string) *Option {
	for i := range opts {
		if opts[i].Name == name {
			return &opts[i]
		}
	}
	return nil
}
