package engine

import (
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
)

// tableHints are the hints of one table reference.
type tableHints struct {
	dirty, committedLock, committed, repeatable, serializable bool
	updLock, xLock, readPast, noWait                          bool
	tabLock, tabLockX                                         bool
	indexes                                                   []string
	forceSeek, forceScan                                      bool
	seekColumns                                               []string
}

// readHints reads WITH (...). PAGLOCK is taken as a lock on the whole table: there are
// no pages here, and that is the nearest thing that READPAST does not skip row by row.
// ROWLOCK is what happens anyway; NOEXPAND, KEEPDEFAULTS, IGNORE_CONSTRAINTS and
// IGNORE_TRIGGERS mean nothing outside of what is refused elsewhere.
func readHints(list []*tsql.TableHint) (tableHints, error) {
	var h tableHints
	for _, t := range list {
		switch strings.ToUpper(t.Name) {
		case "NOLOCK", "READUNCOMMITTED":
			h.dirty = true
		case "READCOMMITTED":
			h.committed = true
		case "READCOMMITTEDLOCK":
			h.committedLock = true
		case "REPEATABLEREAD":
			h.repeatable = true
		case "SERIALIZABLE", "HOLDLOCK":
			h.serializable = true
		case "SNAPSHOT":
			return h, tsql.Unsupported(t.Line, "the table hint SNAPSHOT (memory-optimized tables)")
		case "UPDLOCK":
			h.updLock = true
		case "XLOCK":
			h.xLock = true
		case "READPAST":
			h.readPast = true
		case "NOWAIT":
			h.noWait = true
		case "ROWLOCK", "NOEXPAND":
		case "PAGLOCK", "TABLOCK":
			h.tabLock = true
		case "TABLOCKX":
			h.tabLockX = true
		case "INDEX":
			h.indexes = append(h.indexes, t.Indexes...)
		case "FORCESEEK":
			h.forceSeek = true
			h.indexes = append(h.indexes, t.Indexes...)
			h.seekColumns = t.Columns
		case "FORCESCAN":
			h.forceScan = true
		default:
			return h, tsql.Unsupported(t.Line, "the table hint %s", strings.ToUpper(t.Name))
		}
	}
	isolations := 0
	for _, on := range []bool{h.dirty, h.committed, h.committedLock, h.repeatable, h.serializable} {
		if on {
			isolations++
		}
	}
	if isolations > 1 || h.dirty && (h.updLock || h.xLock || h.tabLock || h.tabLockX || h.readPast) {
		return h, sqlError(1047, 15, 1, "Conflicting locking hints specified.")
	}
	if h.forceSeek && h.forceScan {
		return h, sqlError(1047, 15, 1, "Conflicting locking hints specified.")
	}
	return h, nil
}

// checkTargetHints refuses the hints that the target of a change does not take.
func checkTargetHints(src tsql.TableSource, verb string) error {
	ref, ok := src.(*tsql.TableRef)
	if !ok {
		return nil
	}
	for _, h := range ref.Hints {
		switch strings.ToUpper(h.Name) {
		case "NOLOCK", "READUNCOMMITTED":
			return lineAt(sqlError(1065, 15, 1, "The NOLOCK and READUNCOMMITTED lock hints are not allowed for target tables of INSERT, UPDATE, DELETE or MERGE statements."), h.Pos)
		case "READCOMMITTEDLOCK":
			if verb == "INSERT" {
				return lineAt(sqlError(4140, 16, 1, "The READCOMMITTEDLOCK lock hint is not allowed on the target table of an INSERT statement."), h.Pos)
			}
		case "READPAST":
			if verb == "INSERT" {
				return tsql.Unsupported(h.Line, "READPAST on the target of an INSERT, which SQL Server does not take either")
			}
		case "INDEX", "FORCESEEK", "FORCESCAN":
			if verb != "MERGE" {
				return lineAt(sqlError(1069, 16, 1, "Index hints are only allowed in a FROM or OPTION clause."), h.Pos)
			}
		}
	}
	return nil
}

// reading turns isolation level and hints into how a cursor reads and which lock the
// table gets.
func (x *exec) reading(t *table, h tableHints, target bool) (storage.Read, storage.Mode, storage.Duration, error) {
	iso := x.p.sess.isolation()
	db := x.p.context()
	if t.obj != nil {
		db = t.obj.db
	}
	versions := db.rcsi && (iso == readCommitted || h.committed) && !h.committedLock
	if h.updLock {
		h.committed, h.committedLock = false, false // ignored beside UPDLOCK
	}
	if h.readPast && (iso == snapshot || iso == serializable && !h.committed && !h.committedLock && !h.repeatable || h.serializable) {
		return storage.Read{}, 0, 0, sqlError(650, 16, 1, "You can only specify the READPAST lock in the READ COMMITTED or REPEATABLE READ isolation levels.")
	}
	if h.readPast && iso == readUncommitted && !h.committed && !h.committedLock && !h.repeatable && !h.updLock && !h.xLock && !target {
		return storage.Read{}, 0, 0, sqlError(650, 16, 1, "You can only specify the READPAST lock in the READ COMMITTED or REPEATABLE READ isolation levels.")
	}
	if h.readPast && versions {
		// It wants READCOMMITTEDLOCK beside it, whatever else is there.
		return storage.Read{}, 0, 0, sqlError(650, 16, 1, "You can only specify the READPAST lock in the READ COMMITTED or REPEATABLE READ isolation levels.")
	}
	switch {
	case h.dirty && !target:
		iso = readUncommitted
	case h.committed, h.committedLock:
		if iso != snapshot || h.committedLock {
			iso = readCommitted
		}
	case h.repeatable:
		iso = repeatableRead
	case h.serializable:
		iso = serializable
	}
	r := storage.Read{ReadPast: h.readPast}
	locking := target || h.updLock || h.xLock || h.tabLock || h.tabLockX
	switch {
	case t.temporary || t.variable || t.data.Private:
		return r, storage.ModeNone, storage.ForStatement, nil
	case iso == snapshot && !h.updLock && !h.xLock && !h.tabLock && !h.tabLockX:
		if !db.snapshots && !db.system() {
			return r, 0, 0, sqlError(3952, 16, 1, "Snapshot isolation transaction failed accessing database '%s' because snapshot isolation is not allowed in this database. Use ALTER DATABASE to allow snapshot isolation.", db.name)
		}
		r.Snapshot = x.transactionSnapshot()
		if target {
			return r, storage.ModeIX, storage.ForTransaction, nil
		}
		return r, storage.ModeSchS, storage.ForStatement, nil
	case iso == readUncommitted && !locking:
		return r, storage.ModeSchS, storage.ForStatement, nil
	case iso == readCommitted && db.rcsi && !h.committedLock && !locking:
		r.Snapshot = x.statementSnapshot()
		return r, storage.ModeSchS, storage.ForStatement, nil
	}
	r.Ranged = iso == serializable
	r.HoldAll = iso == repeatableRead || iso == serializable
	held := storage.ForStatement
	if r.HoldAll {
		held = storage.ForTransaction
	}
	switch {
	case h.tabLockX, h.tabLock && (h.xLock || target):
		r.Lock = storage.ModeX
		return r, storage.ModeX, storage.ForTransaction, nil
	case h.tabLock:
		r.Lock = storage.ModeS
		mode := storage.ModeS
		if h.updLock {
			r.Lock, mode, held = storage.ModeX, storage.ModeX, storage.ForTransaction
		}
		return r, mode, held, nil
	case h.xLock:
		r.Lock, r.Hold = storage.ModeX, true
		return r, storage.ModeIX, storage.ForTransaction, nil
	case h.updLock, target:
		r.Lock, r.Hold = storage.ModeU, true
		return r, storage.ModeIX, storage.ForTransaction, nil
	}
	r.Lock = storage.ModeS
	return r, storage.ModeIS, held, nil
}
