package storage

import "context"

// escalateAt is the number of row locks of one statement on one table at which SQL
// Server first tries to trade them for a lock on the table, and escalateEvery how many
// more it waits for before it tries again.
const (
	escalateAt    = 5000
	escalateEvery = 1250
)

// tableHold is what an owner has on one table.
type tableHold struct {
	grant *grant
	count int // row locks of the current statement
	next  int // where to try escalation
}

// coversRows reports whether the table lock makes row locks of this mode needless.
func (h *tableHold) coversRows(mode Mode) bool {
	if h == nil || h.grant == nil {
		return false
	}
	have := h.grant.modes[ForTransaction] | h.grant.modes[ForStatement]
	have &= ModeS | ModeU | ModeX | ModeSchM
	if have&ModeSchM != 0 {
		return true
	}
	return have != 0 && have.Covers(mode&^rangeParts)
}

// lockRow takes a row lock. It returns a nil grant if none is needed.
func (tx *Txn) lockRow(ctx context.Context, ix *Index, key string, mode Mode, d Duration) (*grant, error) {
	t := ix.table
	if t.Private {
		return nil, nil
	}
	h := tx.Owner.tables[t]
	if h.coversRows(mode) {
		return nil, nil
	}
	waits := int64(0)
	if tx.Counters != nil {
		waits = tx.Counters.LockWaits
	}
	g, fresh, err := tx.store.Locks.acquire(ctx, tx.Owner, ix.resource(key), mode, d, tx.Wait, tx.Counters)
	if tx.Counters != nil && tx.Counters.LockWaits != waits {
		ix.Counters.LockWaits.Add(1)
	}
	if err != nil {
		return nil, err
	}
	if fresh {
		tx.countRow(t, h)
	}
	return g, nil
}

// tryLockRow is lockRow without a wait; ok is false if it would have to wait.
func (tx *Txn) tryLockRow(ix *Index, key string, mode Mode, d Duration) (g *grant, ok bool) {
	t := ix.table
	if t.Private {
		return nil, true
	}
	h := tx.Owner.tables[t]
	if h.coversRows(mode) {
		return nil, true
	}
	g, fresh, ok := tx.store.Locks.try(tx.Owner, ix.resource(key), mode, d)
	if ok && tx.Counters != nil {
		tx.Counters.Locks++
	}
	if fresh {
		tx.countRow(t, h)
	}
	return g, ok
}

// countRow counts a row lock, and tries to escalate at the thresholds. Escalation
// never waits: if others are in the way, the statement goes on with row locks.
func (tx *Txn) countRow(t *Table, h *tableHold) {
	if h == nil {
		return
	}
	h.count++
	if h.count < h.next || t.NoEscalation.Load() {
		return
	}
	h.next = h.count + escalateEvery
	mode := ModeS
	if h.grant.mode()&(ModeIX|ModeIU) != 0 {
		mode = ModeX
	}
	if tx.TryLockTable(t, mode, ForTransaction) {
		tx.store.Locks.releaseRows(tx.Owner, t)
		t.Escalations.Add(1)
		h.count = 0
		h.next = escalateAt
	}
}

// rowGone releases a row lock that turned out not to be needed.
func (tx *Txn) rowGone(ix *Index, g *grant, d Duration) {
	if g == nil {
		return
	}
	tx.store.Locks.release(g, d)
	if h := tx.Owner.tables[ix.table]; h != nil && h.count > 0 && g.mode() == 0 {
		h.count--
	}
}
