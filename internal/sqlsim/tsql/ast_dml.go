package tsql

// SelectStatement is a query as a statement, including SELECT @v = ... and INTO.
type SelectStatement struct {
	Span
	Query *Query
}

// Output is one OUTPUT clause. A statement may have two: one INTO, one to the client.
type Output struct {
	Pos
	Items       []*SelectItem // columns qualified inserted, deleted, or $ACTION
	Into        TableSource   // *TableRef or *TableVar; nil for the client
	IntoColumns []string
}

// Insert is INSERT. Exactly one of Rows, Query, Exec is set, or DefaultValues.
type Insert struct {
	Span
	With          []*CTE
	Top           *Top
	Target        TableSource // *TableRef or *TableVar
	Columns       []string
	Output        []*Output
	Rows          [][]Expr
	Query         *Query
	Exec          *Exec
	DefaultValues bool
	Options       []*QueryHint
}

// SetClause is one assignment of UPDATE ... SET.
type SetClause struct {
	Pos
	Variable string    // @v = expr, or @v = column = expr
	Column   ColumnRef // Name is empty for @v = expr
	Op       string    // "=", "+=", ...
	Value    Expr      // *DefaultValue possible
}

// Update is UPDATE. Target may name a table, view, CTE, or an alias of From.
type Update struct {
	Span
	With    []*CTE
	Top     *Top
	Target  TableSource
	Set     []*SetClause
	Output  []*Output
	From    []TableSource
	Where   Expr
	Options []*QueryHint
}

// Delete is DELETE. Target may name a table, view, CTE, or an alias of From.
type Delete struct {
	Span
	With    []*CTE
	Top     *Top
	Target  TableSource
	Output  []*Output
	From    []TableSource
	Where   Expr
	Options []*QueryHint
}

// MergeMatch tells when a Merge action applies.
type MergeMatch uint8

const (
	Matched MergeMatch = iota
	NotMatchedByTarget
	NotMatchedBySource
)

// MergeAction is WHEN ... [AND cond] THEN UPDATE SET | DELETE | INSERT.
type MergeAction struct {
	Pos
	Match         MergeMatch
	Cond          Expr
	Kind          string // UPDATE, DELETE, INSERT
	Set           []*SetClause
	Columns       []string
	Values        []Expr
	DefaultValues bool
}

// Merge is MERGE.
type Merge struct {
	Span
	With    []*CTE
	Top     *Top
	Target  TableSource // with Alias
	Source  TableSource
	On      Expr
	Actions []*MergeAction
	Output  []*Output
	Options []*QueryHint
}

// Truncate is TRUNCATE TABLE.
type Truncate struct {
	Span
	Table ObjectName
}

func (*SelectStatement) statement() {}
func (*Insert) statement()          {}
func (*Update) statement()          {}
func (*Delete) statement()          {}
func (*Merge) statement()           {}
func (*Truncate) statement()        {}
