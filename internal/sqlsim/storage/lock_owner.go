package storage

import (
	"sync/atomic"
)

// Party is who waits and who deadlocks: a client session. Locks of one party never
// conflict with each other, whichever of its owners holds them.
type Party struct {
	ID        int
	Priority  atomic.Int32 // SET DEADLOCK_PRIORITY, -10 to 10
	statement atomic.Pointer[string]
	work      atomic.Int64 // undo records of its transaction: what a rollback would cost
	waiting   *waiter      // guarded by the lock manager
}

// SetStatement notes what the party is doing, for deadlock reports.
func (p *Party) SetStatement(text string) { p.statement.Store(&text) }

// Statement returns what SetStatement noted last.
func (p *Party) Statement() string {
	if s := p.statement.Load(); s != nil {
		return *s
	}
	return ""
}

// Owner holds locks: a transaction, or a session (for application locks and the
// shared lock on its database).
type Owner struct {
	Party       *Party
	Transaction uint64 // 0 for a session

	// Guarded by the lock manager.
	held      []*grant
	statement []*grant

	// Used by the goroutine of the party only.
	tables map[*Table]*tableHold
}

// NewOwner returns an owner of locks for p.
func NewOwner(p *Party, transaction uint64) *Owner {
	return &Owner{Party: p, Transaction: transaction}
}

// Duration says when a lock is released.
type Duration uint8

// A lock may be held for several durations at once.
const (
	ForRow Duration = iota // until the reader moves on
	ForStatement
	ForTransaction
)

// grant is one lock held by one owner.
type grant struct {
	lock      *lock
	owner     *Owner
	modes     [3]Mode // by Duration
	at        int     // position in owner.held
	statement bool    // is in owner.statement
	taken     int     // application locks: how often
}

func (g *grant) mode() Mode { return g.modes[0] | g.modes[1] | g.modes[2] }
