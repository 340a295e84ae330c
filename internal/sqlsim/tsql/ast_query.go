package tsql

// Query is a query expression with everything that surrounds it.
type Query struct {
	Pos
	With    []*CTE
	Body    QueryBody
	OrderBy []*OrderItem
	Offset  Expr // OFFSET n ROWS; nil when absent
	Fetch   Expr // FETCH NEXT n ROWS ONLY; nil when absent
	For     *ForClause
	Options []*QueryHint
	End     int // byte offset after the query
}

// QueryBody is *Select, *SetOp, or *Query for a parenthesized query.
type QueryBody interface {
	Node
	queryBody()
}

// CTE is one common table expression.
type CTE struct {
	Pos
	Name    string
	Columns []string
	Query   *Query
}

// Select is a query specification.
type Select struct {
	Pos
	Distinct bool
	Top      *Top
	Items    []*SelectItem
	Into     *ObjectName // SELECT ... INTO table
	From     []TableSource
	Where    Expr
	GroupBy  *GroupBy
	Having   Expr
	Windows  []*NamedWindow // WINDOW clause (2022)
}

// NamedWindow is name AS (window).
type NamedWindow struct {
	Name string
	Def  *Window
}

// SetOp combines two queries. Op is UNION, EXCEPT or INTERSECT.
type SetOp struct {
	Pos
	Op   string
	All  bool
	L, R QueryBody
}

func (*Select) queryBody() {}
func (*SetOp) queryBody()  {}
func (*Query) queryBody()  {}

// Top is TOP (n) [PERCENT] [WITH TIES].
type Top struct {
	Pos
	N        Expr
	Percent  bool
	WithTies bool
}

// SelectItem is one item of a select list: *, t.*, expr [AS alias], alias = expr, or
// @v = expr (Variable set, AssignOp is "=" or a compound one such as "+=").
type SelectItem struct {
	Pos
	Star      bool
	Qualifier ObjectName // of t.*
	Expr      Expr
	Alias     string
	Variable  string
	AssignOp  string
}

// GroupBy is a GROUP BY clause. A plain one has only Sets of kind GroupPlain.
type GroupBy struct {
	Pos
	Items []*GroupItem
	All   bool // GROUP BY ALL
}

// GroupKind tells the forms of a grouping item apart.
type GroupKind uint8

const (
	GroupPlain GroupKind = iota // one expression in Exprs
	GroupRollup
	GroupCube
	GroupSets      // GROUPING SETS: Items
	GroupComposite // (a, b) inside ROLLUP, CUBE, GROUPING SETS; () is empty
)

// GroupItem is an item of GROUP BY; Items nests for all kinds but GroupPlain.
type GroupItem struct {
	Pos
	Kind  GroupKind
	Expr  Expr
	Items []*GroupItem
}

// ForClause is FOR JSON or FOR XML (or FOR BROWSE, refused by the parser).
type ForClause struct {
	Pos
	XML                 bool
	Mode                string // PATH, AUTO, RAW, EXPLICIT
	Row                 string // element name: FOR XML PATH('x')
	HasRow              bool
	Root                string
	HasRoot             bool
	IncludeNullValues   bool
	WithoutArrayWrapper bool
	Type                bool
	Elements            bool
	XSINil              bool
}

// QueryHint is a hint of OPTION (...). Name is upper case with single spaces:
// "RECOMPILE", "MAXDOP", "LOOP JOIN", "OPTIMIZE FOR", "OPTIMIZE FOR UNKNOWN",
// "USE HINT", "MAXRECURSION", "FAST", "FORCE ORDER", "HASH GROUP", "LABEL", ...
type QueryHint struct {
	Pos
	Name   string
	Number int64    // MAXDOP, MAXRECURSION, FAST, ...
	Args   []string // USE HINT names; OPTIMIZE FOR variables
}

// TableHint is one table hint. Name is upper case.
type TableHint struct {
	Pos
	Name    string   // NOLOCK, READPAST, INDEX, FORCESEEK, ...
	Indexes []string // INDEX(a, b), INDEX = a; index numbers as digits; FORCESEEK(index(cols))
	Columns []string // FORCESEEK's columns
}

// TableRef is a table, view, synonym or CTE by name.
type TableRef struct {
	Pos
	Name  ObjectName
	Alias string
	Hints []*TableHint
}

// TableVar is a table variable, @name.
type TableVar struct {
	Pos
	Name  string
	Alias string
	Hints []*TableHint
}

// TableFunc is a table-valued function: built in (no schema) or user-defined.
type TableFunc struct {
	Pos
	Name    ObjectName
	Args    []Expr
	Alias   string
	Columns []string      // alias (c1, c2)
	With    []*JSONColumn // OPENJSON(...) WITH (...)
	HasWith bool
	Hints   []*TableHint
}

// JSONColumn is a column of OPENJSON ... WITH.
type JSONColumn struct {
	Pos
	Name      string
	Type      *DataType
	Collation string
	Path      string
	HasPath   bool
	AsJSON    bool
}

// DerivedTable is (query) AS alias [(columns)].
type DerivedTable struct {
	Pos
	Query   *Query
	Alias   string
	Columns []string
}

// ValuesTable is (VALUES (...), (...)) AS alias (columns).
type ValuesTable struct {
	Pos
	Rows    [][]Expr
	Alias   string
	Columns []string
}

// JoinKind is the kind of a join.
type JoinKind uint8

const (
	InnerJoin JoinKind = iota
	LeftJoin
	RightJoin
	FullJoin
	CrossJoin
	CrossApply
	OuterApply
)

// Join joins two sources.
type Join struct {
	Pos
	Kind  JoinKind
	Hint  string // LOOP, HASH, MERGE, REMOTE
	Left  TableSource
	Right TableSource
	On    Expr
}

func (*TableRef) tableSource()     {}
func (*TableVar) tableSource()     {}
func (*TableFunc) tableSource()    {}
func (*DerivedTable) tableSource() {}
func (*ValuesTable) tableSource()  {}
func (*Join) tableSource()         {}
