package engine

import (
	"strings"
	"time"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// Session is one connection's state in the server.
type Session struct {
	be       backend
	login    Login
	settings settings
	identity value.Value // @@IDENTITY
	stmtTime time.Time
}

func (s *Session) now() time.Time { return s.stmtTime }

// coercibility is how strongly an expression holds on to its collation.
type coercibility uint8

const (
	coercibleDefault coercibility = iota
	implicitCollation
	explicitCollation
	noCollation // two different implicit collations met: an error once it matters
)

type cursor struct{}

type preparedBody struct{ body []tsql.Statement }

// foldName folds an identifier for lookup in a case-insensitive database.
func foldName(s string) string { return strings.ToLower(s) }

// sqlError makes a server error.
func sqlError(number int32, class, state uint8, format string, args ...any) *value.Error {
	return value.NewError(number, class, state, format, args...)
}
