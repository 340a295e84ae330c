package storage

import (
	"context"
	"time"
)

// A procedure, view, function, sequence or synonym is no table, but it has an object
// lock as tables have.

// LockObject takes Sch-M on an object, to the end of the transaction: it is made,
// changed or dropped.
func (tx *Txn) LockObject(ctx context.Context, database, object int32) error {
	_, _, err := tx.store.Locks.acquire(ctx, tx.Owner, Resource{Kind: ResourceObject, Database: database, Object: object}, ModeSchM, ForTransaction, tx.Wait, tx.Counters)
	return err
}

// AwaitObject waits until no transaction of others makes, changes or drops the object.
func (s *Store) AwaitObject(ctx context.Context, o *Owner, database, object int32, wait time.Duration) error {
	r := Resource{Kind: ResourceObject, Database: database, Object: object}
	if s.Locks.free(o.Party, r, ModeSchS) {
		return nil
	}
	g, _, err := s.Locks.acquire(ctx, o, r, ModeSchS, ForRow, wait, nil)
	if err != nil {
		return err
	}
	s.Locks.release(g, ForRow)
	return nil
}
