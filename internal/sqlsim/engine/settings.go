package engine

import "github.com/chokaq/chokaq/internal/sqlsim/value"

// isolation is a transaction isolation level, numbered as TDS and
// sys.dm_exec_sessions number them.
type isolation uint8

const (
	readUncommitted isolation = 1
	readCommitted   isolation = 2
	repeatableRead  isolation = 3
	serializable    isolation = 4
	snapshot        isolation = 5
)

// settings are the SET options of a session. A procedure that changes them changes its
// caller's back when it ends, so they are a value that is copied.
type settings struct {
	noCount             bool
	xactAbort           bool
	quotedIdentifier    bool
	ansiNulls           bool
	ansiPadding         bool
	ansiWarnings        bool
	ansiNullDefault     bool
	arithAbort          bool
	concatNullYieldNull bool
	numericRoundAbort   bool
	implicitTxn         bool
	cursorCloseOnCommit bool
	noExec              bool
	lockTimeout         int // milliseconds; -1 waits forever
	deadlockPriority    int // -10 to 10
	dateFormat          string
	dateFirst           int
	language            *value.Language
	textSize            int
	rowCount            int64 // SET ROWCOUNT; 0 for all
	isolation           isolation
	contextInfo         string
	statisticsIO        bool
	statisticsTime      bool
	arithIgnore         bool
	noBrowseTable       bool
	queryGovernor       int64
}

// defaultSettings are those of a connection that an ODBC or ADO.NET style client (which
// go-mssqldb is) has just made. A dump tool that connects by DB-Library differs.
func defaultSettings() settings {
	return settings{
		quotedIdentifier: true, ansiNulls: true, ansiPadding: true, ansiWarnings: true,
		ansiNullDefault: true, concatNullYieldNull: true, arithAbort: false,
		lockTimeout: -1, dateFormat: "mdy", dateFirst: 7, language: value.Languages[0],
		textSize: 2147483647, isolation: readCommitted,
	}
}

// compileKey tells apart the settings that change how text is compiled.
func (s *settings) compileKey() string {
	key := [3]byte{'0', '0', '0'}
	for i, on := range []bool{s.quotedIdentifier, s.ansiNulls, s.concatNullYieldNull} {
		if on {
			key[i] = '1'
		}
	}
	return string(key[:])
}

// indexedWritesRefused names the SET options that are wrong for writing to a table with
// a filtered index or an index on a computed column (error 1934), empty when all are
// right. ARITHABORT counts as ON while ANSI_WARNINGS is ON.
func (s *settings) indexedWritesRefused() []string {
	var wrong []string
	add := func(ok bool, name string) {
		if !ok {
			wrong = append(wrong, name)
		}
	}
	add(s.ansiNulls, "ANSI_NULLS")
	add(s.quotedIdentifier, "QUOTED_IDENTIFIER")
	add(s.concatNullYieldNull, "CONCAT_NULL_YIELDS_NULL")
	add(s.ansiWarnings, "ANSI_WARNINGS")
	add(s.ansiPadding, "ANSI_PADDING")
	add(s.arithAbort || s.ansiWarnings, "ARITHABORT")
	add(!s.numericRoundAbort, "NUMERIC_ROUNDABORT")
	return wrong
}
