package engine

import (
	"context"
	"strconv"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

var isolationNames = map[string]isolation{
	"READ UNCOMMITTED": readUncommitted, "READ COMMITTED": readCommitted, "REPEATABLE READ": repeatableRead,
	"SERIALIZABLE": serializable, "SNAPSHOT": snapshot,
}

// setOption runs SET of session options.
func (s *Session) setOption(ctx context.Context, fr *frame, st *tsql.SetOption) error {
	if fr.insideFunction {
		return sqlError(443, 16, 15, "Invalid use of a side-effecting operator 'SET COMMAND' within a function.")
	}
	var v value.Value
	if st.X != nil {
		var err error
		if v, err = fr.eval(ctx, st.X, value.Type{}); err != nil {
			return err
		}
	}
	for _, name := range st.Names {
		if err := s.setOne(fr, st, name, v); err != nil {
			return err
		}
	}
	s.succeed(0)
	return nil
}

func (s *Session) setOne(fr *frame, st *tsql.SetOption, name string, v value.Value) error {
	on := st.Value == "ON"
	set := &s.settings
	if p := set.onOff(name); p != nil {
		// These two are fixed when a module is created, and SET inside it has no effect.
		if fr.module != nil && (name == "QUOTED_IDENTIFIER" || name == "ANSI_NULLS") {
			return nil
		}
		*p = on
		return nil
	}
	number := func() (int64, error) {
		if st.X == nil || v.IsNull() || !v.Kind().IsInteger() {
			return 0, sqlError(102, 15, 1, "Incorrect syntax near '%s'.", name)
		}
		return v.Int(), nil
	}
	text := st.Value
	if st.X != nil && v.Kind().IsCharacter() {
		text = v.Str()
	}
	switch name {
	case "TRANSACTION ISOLATION LEVEL":
		level := isolationNames[st.Value]
		if level == snapshot && s.txn.count > 0 && !s.txn.snapshot {
			return sqlError(3951, 16, 1, "Transaction failed in database '%s' because the statement was run under snapshot isolation but the transaction did not start in snapshot isolation. You cannot change the isolation level of the transaction to snapshot after the transaction has started unless the transaction was originally started under snapshot isolation level.", s.databaseName())
		}
		set.isolation = level
	case "ANSI_DEFAULTS":
		for _, p := range []*bool{&set.ansiNulls, &set.ansiNullDefault, &set.ansiPadding, &set.ansiWarnings, &set.cursorCloseOnCommit, &set.implicitTxn, &set.quotedIdentifier} {
			*p = on
		}
	case "ANSI_NULL_DFLT_OFF":
		if on {
			set.ansiNullDefault = false
		}
	case "LOCK_TIMEOUT":
		n, err := number()
		if err != nil {
			return err
		}
		if n < -1 || n > 2147483647 {
			return sqlError(1013, 15, 1, "The value %d is out of range for SET LOCK_TIMEOUT.", n)
		}
		set.lockTimeout = int(n)
	case "DEADLOCK_PRIORITY":
		return s.setDeadlockPriority(text, v, st.X != nil)
	case "DATEFORMAT":
		f := strings.ToLower(text)
		switch f {
		case "mdy", "dmy", "ymd", "ydm", "myd", "dym":
			set.dateFormat = f
		default:
			return sqlError(2741, 16, 1, "SET DATEFORMAT date order '%s' is invalid.", text)
		}
	case "DATEFIRST":
		n, err := number()
		if err != nil {
			return err
		}
		if n < 1 || n > 7 {
			return sqlError(2742, 16, 1, "SET DATEFIRST %d is out of range.", n)
		}
		set.dateFirst = int(n)
	case "LANGUAGE":
		return s.setLanguage(fr, st, text)
	case "TEXTSIZE":
		n, err := number()
		if err != nil {
			return err
		}
		if n == 0 {
			n = 4096
		}
		if n < 0 {
			n = 2147483647
		}
		set.textSize = int(n)
	case "ROWCOUNT":
		n, err := number()
		if err != nil {
			return err
		}
		set.rowCount = n
	case "QUERY_GOVERNOR_COST_LIMIT":
		n, err := number()
		if err != nil {
			return err
		}
		set.queryGovernor = n
	case "CONTEXT_INFO":
		if v.IsNull() || !v.Kind().IsBinary() {
			return sqlError(2745, 16, 1, "The SET CONTEXT_INFO value must be binary or varbinary.")
		}
		b := v.Bytes()
		if len(b) > 128 {
			b = b[:128]
		}
		set.contextInfo = string(b)
	case "STATISTICS IO":
		set.statisticsIO = on
	case "STATISTICS TIME":
		set.statisticsTime = on
	case "STATISTICS PROFILE", "STATISTICS XML", "SHOWPLAN_ALL", "SHOWPLAN_TEXT", "SHOWPLAN_XML", "FORCEPLAN", "FMTONLY", "PARSEONLY", "REMOTE_PROC_TRANSACTIONS":
		if on {
			return tsql.Unsupported(st.Line, "SET %s ON", name)
		}
	default:
		return tsql.Unsupported(st.Line, "SET %s", name)
	}
	return nil
}

// onOff is the setting behind an option that is only ON or OFF.
func (s *settings) onOff(name string) *bool {
	switch name {
	case "NOCOUNT":
		return &s.noCount
	case "XACT_ABORT":
		return &s.xactAbort
	case "QUOTED_IDENTIFIER":
		return &s.quotedIdentifier
	case "ANSI_NULLS":
		return &s.ansiNulls
	case "ANSI_PADDING":
		return &s.ansiPadding
	case "ANSI_WARNINGS":
		return &s.ansiWarnings
	case "ANSI_NULL_DFLT_ON":
		return &s.ansiNullDefault
	case "ARITHABORT":
		return &s.arithAbort
	case "ARITHIGNORE":
		return &s.arithIgnore
	case "CONCAT_NULL_YIELDS_NULL":
		return &s.concatNullYieldNull
	case "NUMERIC_ROUNDABORT":
		return &s.numericRoundAbort
	case "IMPLICIT_TRANSACTIONS":
		return &s.implicitTxn
	case "CURSOR_CLOSE_ON_COMMIT":
		return &s.cursorCloseOnCommit
	case "NOEXEC":
		return &s.noExec
	case "NO_BROWSETABLE":
		return &s.noBrowseTable
	}
	return nil
}

func (s *Session) databaseName() string {
	name, _, _ := s.be.currentDatabase()
	return name
}

func (s *Session) setDeadlockPriority(word string, v value.Value, isValue bool) error {
	switch strings.ToUpper(word) {
	case "LOW":
		s.settings.deadlockPriority = -5
		return nil
	case "NORMAL":
		s.settings.deadlockPriority = 0
		return nil
	case "HIGH":
		s.settings.deadlockPriority = 5
		return nil
	}
	n := int64(100)
	if isValue && v.Kind().IsInteger() && !v.IsNull() {
		n = v.Int()
	} else if isValue && v.Kind().IsCharacter() {
		if p, err := strconv.ParseInt(strings.TrimSpace(v.Str()), 10, 64); err == nil {
			n = p
		}
	}
	if n < -10 || n > 10 {
		return sqlError(2774, 16, 1, "SET DEADLOCK_PRIORITY value must be LOW, NORMAL, HIGH, or an integer from -10 to 10.")
	}
	s.settings.deadlockPriority = int(n)
	return nil
}

// setLanguage is SET LANGUAGE: it changes how dates are read and written. Messages stay
// English.
func (s *Session) setLanguage(fr *frame, st *tsql.SetOption, name string) error {
	l := value.LanguageByName(name)
	if l == nil {
		return tsql.Unsupported(st.Line, "SET LANGUAGE %s", name)
	}
	from := s.settings.language.Name
	s.settings.language, s.settings.dateFormat, s.settings.dateFirst = l, l.DateFormat, l.DateFirst
	if err := fr.sink.LanguageChanged(from, l.Name); err != nil {
		return err
	}
	return fr.sink.Message(s.locate(fr, st, sqlError(5703, 0, 1, "Changed language setting to %s.", l.Name)))
}

// options is @@OPTIONS.
func (s *settings) options() int64 {
	var n int64
	for i, on := range []bool{
		false, s.implicitTxn, s.cursorCloseOnCommit, s.ansiWarnings, s.ansiPadding, s.ansiNulls, s.arithAbort, s.arithIgnore,
		s.quotedIdentifier, s.noCount, s.ansiNullDefault, !s.ansiNullDefault, s.concatNullYieldNull, s.numericRoundAbort, s.xactAbort,
	} {
		if on {
			n |= 1 << i
		}
	}
	return n
}
