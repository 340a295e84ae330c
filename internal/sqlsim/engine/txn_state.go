package engine

import (
	"context"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
)

// txnState is the session's transaction.
type txnState struct {
	count  int      // @@TRANCOUNT
	store  storeTxn // nil when there is none
	name   string   // of the outermost BEGIN TRAN
	saves  []savedPoint
	doomed bool // XACT_STATE() is -1: it can only be rolled back
	// autocommit: store belongs to the running statement alone.
	autocommit bool
	id         uint64
	snapshot   bool // it was begun under SNAPSHOT isolation
}

// savedPoint is a SAVE TRANSACTION.
type savedPoint struct {
	name string
	mark int
}

// storeTxn returns the current storage transaction. With none open it begins one for
// the statement alone.
func (s *Session) storeTxn(ctx context.Context) (storeTxn, error) {
	if s.txn.store == nil {
		if s.txn.doomed {
			// The storage part of a deadlock victim has ended; what is read now, until the
			// ROLLBACK, is read outside a transaction.
			tx, err := s.be.beginStore(ctx, s.settings.isolation)
			if err != nil {
				return nil, err
			}
			s.txn.store = tx
			return tx, nil
		}
		tx, err := s.be.beginStore(ctx, s.settings.isolation)
		if err != nil {
			return nil, err
		}
		s.txn = txnState{store: tx, autocommit: true, id: tx.id()}
	}
	return s.txn.store, nil
}

// checkWritable refuses writing in a transaction that can only be rolled back.
func (s *Session) checkWritable() error {
	if s.txn.doomed {
		return sqlError(3930, 16, 1, "The current transaction cannot be committed and cannot support operations that write to the log file. Roll back the transaction.")
	}
	return nil
}

// begin is BEGIN TRANSACTION, of the language or of the transaction manager.
func (s *Session) begin(ctx context.Context, sink Sink, name string) error {
	if s.txn.count > 0 {
		s.txn.count++
		return nil
	}
	tx, err := s.be.beginStore(ctx, s.settings.isolation)
	if err != nil {
		return err
	}
	s.txn = txnState{count: 1, store: tx, name: name, id: tx.id(), snapshot: s.settings.isolation == snapshot}
	return sink.TransactionChanged(tx.id(), false)
}

// commit is COMMIT TRANSACTION.
func (s *Session) commit(sink Sink) error {
	switch {
	case s.txn.count == 0:
		return sqlError(3902, 16, 1, "The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.")
	case s.txn.doomed:
		return s.checkWritable()
	case s.txn.count > 1:
		s.txn.count--
		return nil
	}
	tx := s.txn.store
	s.txn = txnState{}
	if err := tx.commit(); err != nil {
		return err
	}
	return sink.TransactionChanged(0, false)
}

// rollback is ROLLBACK TRANSACTION [name].
func (s *Session) rollback(sink Sink, name string) error {
	if s.txn.count == 0 {
		return sqlError(3903, 16, 1, "The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.")
	}
	if name != "" && name != s.txn.name {
		return s.rollbackToSave(name)
	}
	return s.rollbackTransaction(sink)
}

func (s *Session) rollbackToSave(name string) error {
	for i := len(s.txn.saves) - 1; i >= 0; i-- {
		if s.txn.saves[i].name != name {
			continue
		}
		if s.txn.doomed {
			return sqlError(3931, 16, 1, "The current transaction cannot be committed and cannot be rolled back to a savepoint. Roll back the entire transaction.")
		}
		// The savepoint itself stays: one can roll back to it again.
		s.txn.saves = s.txn.saves[:i+1]
		return s.txn.store.rollbackTo(s.txn.saves[i].mark)
	}
	return sqlError(6401, 16, 1, "Cannot roll back %s. No transaction or savepoint of that name was found.", name)
}

// save is SAVE TRANSACTION.
func (s *Session) save(name string) error {
	if s.txn.count == 0 {
		return sqlError(628, 16, 0, "Cannot issue SAVE TRANSACTION when there is no active transaction.")
	}
	if err := s.checkWritable(); err != nil {
		return err
	}
	s.txn.saves = append(s.txn.saves, savedPoint{name, s.txn.store.savepoint()})
	return nil
}

// rollbackTransaction rolls everything back, if there is a transaction.
func (s *Session) rollbackTransaction(sink Sink) error {
	had := s.txn.count > 0
	if err := s.endStore(); err != nil {
		return err
	}
	if !had {
		return nil
	}
	return sink.TransactionChanged(0, true)
}

// rollbackAll is rollbackTransaction with nobody to tell.
func (s *Session) rollbackAll() { _ = s.endStore() }

func (s *Session) endStore() error {
	tx := s.txn.store
	s.txn = txnState{}
	var err error
	if tx != nil {
		err = tx.rollback()
	}
	return err
}

// abandon ends the storage part of a deadlock victim.
func (t *txnState) abandon() {
	if t.store != nil {
		_ = t.store.rollback()
		t.store = nil
	}
	if t.count > 0 {
		t.doomed = true
	} else {
		*t = txnState{}
	}
}

// doom makes the transaction uncommittable.
func (s *Session) doom() {
	if s.txn.count > 0 {
		s.txn.doomed = true
	}
}

// xactState is XACT_STATE().
func (s *Session) xactState() int64 {
	switch {
	case s.txn.count == 0:
		return 0
	case s.txn.doomed:
		return -1
	}
	return 1
}

// startsImplicitly reports a statement that begins a transaction under SET
// IMPLICIT_TRANSACTIONS ON.
func startsImplicitly(st tsql.Statement) bool {
	switch st := st.(type) {
	case *tsql.SelectStatement:
		return readsTable(st.Query.Body)
	case *tsql.Insert, *tsql.Update, *tsql.Delete, *tsql.Merge, *tsql.Truncate, *tsql.CreateTable, *tsql.AlterTable,
		*tsql.DropObject, *tsql.CreateIndex, *tsql.DropIndex, *tsql.AlterIndex, *tsql.CreateModule, *tsql.CreateSchema,
		*tsql.CreateType, *tsql.CreateSequence, *tsql.Permission:
		return true
	case *tsql.Fetch:
		return true
	case *tsql.CursorOp:
		return st.Op == "OPEN"
	}
	return false
}

func readsTable(b tsql.QueryBody) bool {
	switch b := b.(type) {
	case *tsql.Select:
		return len(b.From) > 0
	case *tsql.SetOp:
		return readsTable(b.L) || readsTable(b.R)
	case *tsql.Query:
		return readsTable(b.Body)
	}
	return false
}

// beginStatement readies the transaction for a statement of the planning half.
func (s *Session) beginStatement(ctx context.Context, fr *frame, st tsql.Statement) (*statementTxn, error) {
	if s.settings.implicitTxn && s.txn.count == 0 && s.txn.store == nil && startsImplicitly(st) {
		if err := s.begin(ctx, fr.sink, ""); err != nil {
			return nil, err
		}
	}
	t := &statementTxn{sess: s, owner: s.txn.store == nil}
	if !t.owner {
		t.mark = s.txn.store.savepoint()
		t.store = s.txn.store
	}
	return t, nil
}

// statementTxn is a statement's part of the transaction.
type statementTxn struct {
	sess  *Session
	owner bool // the statement's own (autocommit) transaction, if it asks for one
	store storeTxn
	mark  int
}

// end commits or undoes the statement.
func (t *statementTxn) end(failed bool) error {
	s := t.sess
	if t.owner {
		if s.txn.store == nil || !s.txn.autocommit {
			return nil
		}
		tx := s.txn.store
		s.txn = txnState{}
		if failed {
			err := tx.rollback()
			return err
		}
		if err := tx.commit(); err != nil {
			return err
		}
		return nil
	}
	if failed && s.txn.store == t.store { // it may have ended inside (a trigger's ROLLBACK)
		return t.store.rollbackTo(t.mark)
	}
	return nil
}
