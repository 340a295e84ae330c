package tsql

// LiteralKind is the lexical kind of a constant.
type LiteralKind uint8

const (
	LitNull     LiteralKind = iota
	LitInt                  // digits only; int when it fits, else numeric
	LitDecimal              // digits with a point
	LitFloat                // with an exponent
	LitMoney                // $1.50 (Text without the sign of currency)
	LitString               // '...' (Text unquoted)
	LitNString              // N'...'
	LitBinary               // 0x... (Text is the hex digits)
	LitODBCDate             // {d '...'}
	LitODBCTime             // {t '...'}
	LitODBCTS               // {ts '...'}
	LitODBCGUID             // {guid '...'}
)

// Literal is a constant.
type Literal struct {
	Pos
	Kind LiteralKind
	Text string
}

// Variable is @name; Name keeps the @.
type Variable struct {
	Pos
	Name string
}

// GlobalVariable is @@NAME; Name is upper case and keeps both @.
type GlobalVariable struct {
	Pos
	Name string
}

// ColumnRef is a column by name, with up to three qualifying parts. Name is "$ACTION",
// "$IDENTITY", "$ROWGUID" when Pseudo is set.
type ColumnRef struct {
	Pos
	Database, Schema, Table string
	Name                    string
	Pseudo                  bool
}

// Unary is + - ~ before an operand.
type Unary struct {
	Pos
	Op string
	X  Expr
}

// Binary is an arithmetic, bit or string operator: + - * / % & | ^ << >> ||.
type Binary struct {
	Pos
	Op   string
	L, R Expr
}

// Compare is = <> < <= > >=; != !< !> are folded into these.
type Compare struct {
	Pos
	Op   string
	L, R Expr
}

// Quantified is L op ALL|ANY (query); SOME is folded into ANY.
type Quantified struct {
	Pos
	Op    string
	All   bool
	L     Expr
	Query *Query
}

// Logical is AND or OR (Op in upper case).
type Logical struct {
	Pos
	Op   string
	L, R Expr
}

// Not negates a predicate.
type Not struct {
	Pos
	X Expr
}

// IsNull is X IS [NOT] NULL.
type IsNull struct {
	Pos
	X   Expr
	Not bool
}

// IsDistinct is L IS [NOT] DISTINCT FROM R.
type IsDistinct struct {
	Pos
	L, R Expr
	Not  bool
}

// Between is X [NOT] BETWEEN Lo AND Hi.
type Between struct {
	Pos
	X, Lo, Hi Expr
	Not       bool
}

// In is X [NOT] IN (list) or (query).
type In struct {
	Pos
	X     Expr
	List  []Expr
	Query *Query
	Not   bool
}

// Like is X [NOT] LIKE Pattern [ESCAPE e].
type Like struct {
	Pos
	X, Pattern, Escape Expr
	Not                bool
}

// Exists is EXISTS (query).
type Exists struct {
	Pos
	Query *Query
}

// UpdateCheck is UPDATE(column) in a trigger.
type UpdateCheck struct {
	Pos
	Column string
}

// Subquery is a scalar subquery.
type Subquery struct {
	Pos
	Query *Query
}

// Paren keeps the parentheses of (X), which matter to some messages and to aliases.
type Paren struct {
	Pos
	X Expr
}

// When is one WHEN ... THEN ... of a Case. Cond is a predicate in a searched CASE and
// a value to compare with the operand in a simple one.
type When struct{ Cond, Then Expr }

// Case is a simple (Operand non-nil) or searched CASE.
type Case struct {
	Pos
	Operand Expr
	Whens   []When
	Else    Expr // nil means NULL
}

// Cast is CAST or TRY_CAST.
type Cast struct {
	Pos
	X    Expr
	Type *DataType
	Try  bool
}

// Convert is CONVERT or TRY_CONVERT.
type Convert struct {
	Pos
	Type  *DataType
	X     Expr
	Style Expr // nil when absent
	Try   bool
}

// ParseCall is PARSE or TRY_PARSE.
type ParseCall struct {
	Pos
	X       Expr
	Type    *DataType
	Culture Expr
	Try     bool
}

// FuncCall is a function call: built in, user-defined (Name.Schema set), aggregate or
// window function. IIF, COALESCE, NULLIF, CHOOSE, ISNULL, LEFT and RIGHT are calls too.
// CURRENT_TIMESTAMP and kin, which take no parentheses, have NoParens set.
type FuncCall struct {
	Pos
	Name        ObjectName // Name.Name as written
	Args        []Expr     // IIF: Args[0] is a predicate
	Star        bool       // COUNT(*)
	Distinct    bool
	NoParens    bool
	Datepart    string // DATEADD and kin: first argument, lower case as written; not in Args
	TrimSpec    string // TRIM(LEADING|TRAILING|BOTH x FROM y): Args are y, x
	NullOption  string // "", "IGNORE NULLS", "RESPECT NULLS", "NULL ON NULL", "ABSENT ON NULL"
	WithinGroup []*OrderItem
	Over        *Window
	ODBC        bool // {fn name(...)}
}

// JSONObject is JSON_OBJECT('k': v, ... [NULL|ABSENT ON NULL]).
type JSONObject struct {
	Pos
	Keys, Values []Expr
	AbsentOnNull bool // default is NULL ON NULL
}

// JSONArray is JSON_ARRAY(v, ... [NULL|ABSENT ON NULL]).
type JSONArray struct {
	Pos
	Values     []Expr
	NullOnNull bool // default is ABSENT ON NULL
}

// Collate is X COLLATE name.
type Collate struct {
	Pos
	X         Expr
	Collation string // "DATABASE_DEFAULT" possible
}

// AtTimeZone is X AT TIME ZONE zone.
type AtTimeZone struct {
	Pos
	X, Zone Expr
}

// NextValue is NEXT VALUE FOR sequence [OVER (ORDER BY ...)].
type NextValue struct {
	Pos
	Sequence ObjectName
	Over     *Window
}

// DefaultValue is the keyword DEFAULT in VALUES, SET col = DEFAULT and EXEC arguments.
type DefaultValue struct{ Pos }

// Window is an OVER clause, or a named window's definition.
type Window struct {
	Pos
	Name        string // OVER name, or OVER (name ...)
	PartitionBy []Expr
	OrderBy     []*OrderItem
	Frame       *Frame
}

// Frame is ROWS or RANGE.
type Frame struct {
	Rows       bool // false: RANGE
	Start, End FrameBound
}

// BoundKind is a frame boundary.
type BoundKind uint8

const (
	UnboundedPreceding BoundKind = iota
	Preceding
	CurrentRow
	Following
	UnboundedFollowing
)

// FrameBound is one boundary; N is set for n PRECEDING and n FOLLOWING.
type FrameBound struct {
	Kind BoundKind
	N    Expr
}

// OrderItem is an item of ORDER BY.
type OrderItem struct {
	Pos
	X    Expr
	Desc bool
}

func (*Literal) expr()        {}
func (*Variable) expr()       {}
func (*GlobalVariable) expr() {}
func (*ColumnRef) expr()      {}
func (*Unary) expr()          {}
func (*Binary) expr()         {}
func (*Compare) expr()        {}
func (*Quantified) expr()     {}
func (*Logical) expr()        {}
func (*Not) expr()            {}
func (*IsNull) expr()         {}
func (*IsDistinct) expr()     {}
func (*Between) expr()        {}
func (*In) expr()             {}
func (*Like) expr()           {}
func (*Exists) expr()         {}
func (*UpdateCheck) expr()    {}
func (*Subquery) expr()       {}
func (*Paren) expr()          {}
func (*Case) expr()           {}
func (*Cast) expr()           {}
func (*Convert) expr()        {}
func (*ParseCall) expr()      {}
func (*FuncCall) expr()       {}
func (*JSONObject) expr()     {}
func (*JSONArray) expr()      {}
func (*Collate) expr()        {}
func (*AtTimeZone) expr()     {}
func (*NextValue) expr()      {}
func (*DefaultValue) expr()   {}

// IsPredicate reports whether e is a condition rather than a value.
func IsPredicate(e Expr) bool {
	switch e := e.(type) {
	case *Compare, *Quantified, *Logical, *Not, *IsNull, *IsDistinct, *Between, *In, *Like, *Exists, *UpdateCheck:
		return true
	case *Paren:
		return IsPredicate(e.X)
	}
	return false
}

// Unparen strips parentheses.
func Unparen(e Expr) Expr {
	for {
		p, ok := e.(*Paren)
		if !ok {
			return e
		}
		e = p.X
	}
}
