package tsql

// TableDef is the parenthesized body of CREATE TABLE, DECLARE @t TABLE, CREATE TYPE ...
// AS TABLE, and RETURNS @t TABLE.
type TableDef struct {
	Pos
	Columns     []*ColumnDef
	Constraints []*Constraint
	Indexes     []*IndexDef
}

// ColumnDef is a column. Computed columns have Computed and no Type.
type ColumnDef struct {
	Pos
	Name        string
	Type        *DataType
	Collation   string
	Computed    Expr
	ComputedSrc string // text of the computed expression as written
	Persisted   bool
	Null        *bool // nil when neither NULL nor NOT NULL was written
	Identity    *Identity
	RowGUIDCol  bool
	Sparse      bool
	NotForRepl  bool
	Constraints []*Constraint // written with the column; Column is its name
	Indexes     []*IndexDef   // inline INDEX
}

// Identity is IDENTITY(seed, increment).
type Identity struct{ Seed, Increment int64 }

// ConstraintKind is the kind of a constraint.
type ConstraintKind uint8

const (
	ConstraintDefault ConstraintKind = iota
	ConstraintCheck
	ConstraintPrimaryKey
	ConstraintUnique
	ConstraintForeignKey
)

// Constraint is a table or column constraint.
type Constraint struct {
	Pos
	Name       string // empty: the server names it
	Kind       ConstraintKind
	Column     string         // the column it was written with, or FOR column of a default
	Columns    []*IndexColumn // PK, UNIQUE; FK (names only)
	Clustered  *bool          // nil when not written
	Expr       Expr           // DEFAULT, CHECK
	ExprSrc    string         // text of Expr as written
	RefTable   ObjectName
	RefColumns []string
	OnDelete   string // NO ACTION, CASCADE, SET NULL, SET DEFAULT; empty when absent
	OnUpdate   string
	Options    []Option // WITH (...)
	Filegroup  string
	WithValues bool // DEFAULT ... WITH VALUES
	NotForRepl bool
}

// IndexColumn is a key column.
type IndexColumn struct {
	Pos
	Name string
	Desc bool
}

// IndexDef is an inline index of a table definition.
type IndexDef struct {
	Pos
	Name      string
	Unique    bool
	Clustered *bool
	Columns   []*IndexColumn
	Include   []string
	Where     Expr
	WhereSrc  string
	Options   []Option
	Filegroup string
}

// CreateTable is CREATE TABLE.
type CreateTable struct {
	Span
	Name    ObjectName
	Def     *TableDef
	Options []Option // WITH (DATA_COMPRESSION = ...), ...
	OnGroup string
}

// AlterAction is one of the forms of ALTER TABLE.
type AlterAction uint8

const (
	AlterAdd AlterAction = iota
	AlterDrop
	AlterColumn
	AlterSet        // SET (LOCK_ESCALATION = ...): Options
	AlterRebuild    // REBUILD [WITH (...)]
	AlterCheck      // CHECK CONSTRAINT names | ALL
	AlterNoCheck    // NOCHECK CONSTRAINT names | ALL
	AlterEnableTrg  // ENABLE TRIGGER names | ALL
	AlterDisableTrg // DISABLE TRIGGER names | ALL
)

// AlterTable is ALTER TABLE with one action.
type AlterTable struct {
	Span
	Name        ObjectName
	Action      AlterAction
	Check       string // "", "CHECK", "NOCHECK" of WITH CHECK|NOCHECK
	Add         *TableDef
	Drop        []*DropItem
	Column      *ColumnDef // ALTER COLUMN name type [NULL|NOT NULL]
	AddProperty string     // ALTER COLUMN name ADD|DROP PERSISTED, ROWGUIDCOL, SPARSE: "ADD PERSISTED"
	Options     []Option
	Names       []string // constraints or triggers; empty with All
	All         bool
}

// DropItem is one item of ALTER TABLE ... DROP.
type DropItem struct {
	Pos
	Column   bool // else CONSTRAINT
	IfExists bool
	Name     string
	Options  []Option
}

// DropObject is DROP kind [IF EXISTS] names: TABLE, VIEW, PROCEDURE, FUNCTION, TRIGGER,
// SCHEMA, TYPE, SEQUENCE, SYNONYM, ROLE, USER, LOGIN, DATABASE, STATISTICS.
type DropObject struct {
	Span
	Kind     string
	IfExists bool
	Names    []ObjectName
}

// DropIndex is DROP INDEX [IF EXISTS] name ON table.
type DropIndex struct {
	Span
	IfExists bool
	Items    []*DropIndexItem
}

type DropIndexItem struct {
	Pos
	Index   string
	Table   ObjectName
	Options []Option
}

// CreateIndex is CREATE INDEX.
type CreateIndex struct {
	Span
	Name      string
	Unique    bool
	Clustered bool
	Table     ObjectName
	Columns   []*IndexColumn
	Include   []string
	Where     Expr
	WhereSrc  string
	Options   []Option
	Filegroup string
}

// AlterIndex is ALTER INDEX name|ALL ON table REBUILD|REORGANIZE|DISABLE|SET (...).
type AlterIndex struct {
	Span
	Name    string // empty: ALL
	Table   ObjectName
	Action  string // REBUILD, REORGANIZE, DISABLE, SET
	Options []Option
}

// CreateStatistics is CREATE STATISTICS.
type CreateStatistics struct {
	Span
	Name    string
	Table   ObjectName
	Columns []string
}

// UpdateStatistics is UPDATE STATISTICS.
type UpdateStatistics struct {
	Span
	Table ObjectName
	Names []string
}

// ModuleAction tells CREATE, ALTER and CREATE OR ALTER apart.
type ModuleAction uint8

const (
	ModuleCreate ModuleAction = iota
	ModuleAlter
	ModuleCreateOrAlter
)

// ModuleKind is the kind of a module.
type ModuleKind uint8

const (
	ModuleProcedure ModuleKind = iota
	ModuleView
	ModuleScalarFunction
	ModuleInlineFunction
	ModuleTableFunction // multi-statement table-valued function
	ModuleTrigger
)

// ParamDef is a parameter of a procedure or function.
type ParamDef struct {
	Pos
	Name     string
	Type     *DataType
	Null     *bool
	Default  Expr
	Output   bool
	ReadOnly bool
	Varying  bool
}

// CreateModule is CREATE/ALTER PROCEDURE, VIEW, FUNCTION or TRIGGER. Its statement text
// (Range) is what sys.sql_modules keeps.
type CreateModule struct {
	Span
	Action ModuleAction
	Kind   ModuleKind
	Name   ObjectName
	Params []*ParamDef
	Body   []Statement // procedures, functions, triggers

	// options of WITH
	ExecuteAs     string // "", CALLER, OWNER, SELF, or a user name in quotes ('name')
	SchemaBinding bool
	Recompile     bool
	Encryption    bool
	NativeComp    bool
	NullOnNull    bool // RETURNS NULL ON NULL INPUT
	ViewMetadata  bool

	// views and inline functions
	Columns     []string
	Query       *Query
	CheckOption bool

	// functions
	Returns      *DataType
	ReturnsVar   string // RETURNS @t TABLE (...)
	ReturnsTable *TableDef

	// triggers
	Table      ObjectName
	InsteadOf  bool
	Events     []string // INSERT, UPDATE, DELETE, or DDL events
	DDLTrigger bool
	// QuotedIdentifier is the setting the module was parsed under; the module keeps it.
	QuotedIdentifier bool
}

// EnableTrigger is ENABLE|DISABLE TRIGGER names|ALL ON table.
type EnableTrigger struct {
	Span
	Enable bool
	All    bool
	Names  []ObjectName
	Table  ObjectName
	Scope  string // DATABASE, ALL SERVER; empty for a table
}

// CreateSchema is CREATE SCHEMA name [AUTHORIZATION owner] [elements].
type CreateSchema struct {
	Span
	Name     string
	Owner    string
	Elements []Statement
}

// AlterSchema is ALTER SCHEMA name TRANSFER [class::]object.
type AlterSchema struct {
	Span
	Name   string
	Class  string
	Object ObjectName
}

// CreateType is CREATE TYPE name FROM base, or AS TABLE.
type CreateType struct {
	Span
	Name  ObjectName
	From  *DataType
	Null  *bool
	Table *TableDef
}

// CreateSequence is CREATE or ALTER SEQUENCE.
type CreateSequence struct {
	Span
	Alter                      bool
	Name                       ObjectName
	Type                       *DataType
	Start, Increment, Min, Max *int64
	NoMin, NoMax               bool
	Restart                    bool
	RestartWith                *int64
	Cycle                      *bool
	Cache                      *int64
	NoCache, CacheWithoutSize  bool
}

// CreateSynonym is CREATE SYNONYM name FOR target.
type CreateSynonym struct {
	Span
	Name, For ObjectName
}

// CreateRole is CREATE ROLE name [AUTHORIZATION owner], or CREATE SERVER ROLE.
type CreateRole struct {
	Span
	Name   string
	Owner  string
	Server bool
}

// AlterRole is ALTER [SERVER] ROLE name ADD|DROP MEMBER member, or WITH NAME = new.
type AlterRole struct {
	Span
	Name    string
	Action  string // ADD, DROP, NAME
	Member  string
	Server  bool
	NewName string
}

// CreateUser is CREATE USER and ALTER USER.
type CreateUser struct {
	Span
	Alter         bool
	Name          string
	Login         string // FOR LOGIN
	WithoutLogin  bool
	DefaultSchema string
	Password      string
	External      bool
	NewName       string
	Options       []Option
}

// CreateLogin is CREATE LOGIN and ALTER LOGIN.
type CreateLogin struct {
	Span
	Alter           bool
	Name            string
	Password        string
	HasPassword     bool
	DefaultDatabase string
	Windows         bool // FROM WINDOWS
	Enable          *bool
	Options         []Option
}

// CreateDatabase is CREATE DATABASE name [COLLATE c].
type CreateDatabase struct {
	Span
	Name      string
	Collation string
	Options   []Option
	Snapshot  bool // AS SNAPSHOT OF
}

// AlterDatabase is ALTER DATABASE name|CURRENT SET options, COLLATE, MODIFY NAME.
type AlterDatabase struct {
	Span
	Name      string // empty: CURRENT
	Options   []Option
	With      []string // ROLLBACK IMMEDIATE, NO_WAIT, ROLLBACK AFTER
	Collation string
	NewName   string
	// Scoped is ALTER DATABASE SCOPED CONFIGURATION SET name = value (in Options) or CLEAR.
	Scoped bool
}

// Permission is GRANT, DENY or REVOKE.
type Permission struct {
	Span
	Action      string   // GRANT, DENY, REVOKE
	Permissions []string // upper case: "EXECUTE", "VIEW DEFINITION", "ALL"
	Columns     []string // column list, if any
	Class       string   // OBJECT, SCHEMA, TYPE, DATABASE, ROLE, USER, ...; "" without ON
	Object      ObjectName
	Principals  []string
	GrantOption bool // WITH GRANT OPTION; REVOKE GRANT OPTION FOR
	Cascade     bool
	As          string
}

// AlterAuthorization is ALTER AUTHORIZATION ON [class::]object TO principal|SCHEMA OWNER.
type AlterAuthorization struct {
	Span
	Class       string
	Object      ObjectName
	Principal   string
	SchemaOwner bool
}

func (*CreateTable) statement()        {}
func (*AlterTable) statement()         {}
func (*DropObject) statement()         {}
func (*DropIndex) statement()          {}
func (*CreateIndex) statement()        {}
func (*AlterIndex) statement()         {}
func (*CreateStatistics) statement()   {}
func (*UpdateStatistics) statement()   {}
func (*CreateModule) statement()       {}
func (*EnableTrigger) statement()      {}
func (*CreateSchema) statement()       {}
func (*AlterSchema) statement()        {}
func (*CreateType) statement()         {}
func (*CreateSequence) statement()     {}
func (*CreateSynonym) statement()      {}
func (*CreateRole) statement()         {}
func (*AlterRole) statement()          {}
func (*CreateUser) statement()         {}
func (*CreateLogin) statement()        {}
func (*CreateDatabase) statement()     {}
func (*AlterDatabase) statement()      {}
func (*Permission) statement()         {}
func (*AlterAuthorization) statement() {}
