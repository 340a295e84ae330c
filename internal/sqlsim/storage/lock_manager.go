package storage

import (
	"context"
	"fmt"
	"hash/fnv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chokaq/chokaq/internal/clock"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// ResourceKind is what a lock is on.
type ResourceKind uint8

// The kinds of resources.
const (
	ResourceDatabase ResourceKind = iota
	ResourceObject
	ResourceKey
	ResourceRID
	ResourceApplication
)

// String returns the resource_type of sys.dm_tran_locks.
func (k ResourceKind) String() string {
	return [...]string{"DATABASE", "OBJECT", "KEY", "RID", "APPLICATION"}[k]
}

// Resource names what is locked.
type Resource struct {
	Kind     ResourceKind
	Database int32
	Object   int32
	Index    int32
	Key      string // the key of an index entry, or the name of an application lock
}

// infinity is the key after the last key of every index.
const infinity = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"

// Description returns the resource_description of sys.dm_tran_locks.
func (r Resource) Description() string {
	switch r.Kind {
	case ResourceKey:
		if r.Key == infinity {
			return "(ffffffffffff)"
		}
		h := fnv.New64a()
		h.Write([]byte(r.Key))
		return fmt.Sprintf("(%012x)", h.Sum64()&0xffffffffffff)
	case ResourceRID:
		var n uint64
		for i := 0; i < len(r.Key); i++ {
			n = n<<8 | uint64(r.Key[i])
		}
		return fmt.Sprintf("1:%d:%d", 100+n/100, n%100)
	case ResourceApplication:
		h := fnv.New32a()
		h.Write([]byte(r.Key))
		name := r.Key
		if len(name) > 32 {
			name = name[:32]
		}
		return fmt.Sprintf("0:[%s]:(%08x)", name, h.Sum32())
	}
	return ""
}

// lock is one locked resource: who holds it and who waits for it.
type lock struct {
	resource Resource
	granted  []*grant
	queue    []*waiter // conversions first, each group in order of arrival
}

type waiter struct {
	lock     *lock
	owner    *Owner
	want     Mode // with what the owner holds already, for a conversion
	add      Mode
	duration Duration
	convert  bool
	done     chan error // receives exactly one answer
	queued   bool
	granted  *grant
	since    time.Time
}

// Locks is the lock manager. One mutex guards all of it: the wait-for graph has to be
// seen as a whole, and no operation under it waits.
type Locks struct {
	clock  clock.Clock
	mu     sync.Mutex
	locks  map[Resource]*lock
	ranges atomic.Int64 // grants with a range part; inserts need not look when there are none

	describe  func(Resource) (table, index, key string)
	deadlocks []DeadlockReport
}

func newLocks(clock clock.Clock) *Locks {
	return &Locks{clock: clock, locks: make(map[Resource]*lock)}
}

// errLockTimeout returns error 1222.
func errLockTimeout() error {
	return value.NewError(1222, 16, 51, "Lock request time out period exceeded.")
}

// conflict reports whether mode, wanted by p, conflicts with a grant of another party.
func (l *lock) conflict(p *Party, mode Mode) bool {
	for _, g := range l.granted {
		if g.owner.Party != p && !Compatible(mode, g.mode()) {
			return true
		}
	}
	return false
}

// heldBy reports whether any owner of p holds l. Then more of it is a conversion, which
// does not queue behind those who wait for p to let go.
func (l *lock) heldBy(p *Party) bool {
	for _, g := range l.granted {
		if g.owner.Party == p {
			return true
		}
	}
	return false
}

func (l *lock) grantOf(o *Owner) *grant {
	for _, g := range l.granted {
		if g.owner == o {
			return g
		}
	}
	return nil
}

func (m *Locks) get(r Resource) *lock {
	l := m.locks[r]
	if l == nil {
		l = &lock{resource: r}
		m.locks[r] = l
	}
	return l
}

// free reports whether nobody but p holds or waits for anything on r that conflicts
// with mode: a lock that would be granted and released at once need not be taken.
func (m *Locks) free(p *Party, r Resource, mode Mode) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.locks[r]
	return l == nil || !l.conflict(p, mode) && !l.blockedByQueue(p, mode, len(l.queue))
}

// unlocked reports whether there is no lock at all on r.
func (m *Locks) unlocked(r Resource) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.locks[r] == nil
}

// blockedByQueue reports whether one of the first n waiters must come before mode.
func (l *lock) blockedByQueue(p *Party, mode Mode, n int) bool {
	for _, w := range l.queue[:n] {
		if w.owner.Party != p && !Compatible(mode, w.want) {
			return true
		}
	}
	return false
}

// hold records that o holds mode for d. It returns the grant, and whether it is new.
func (m *Locks) hold(l *lock, g *grant, o *Owner, mode Mode, d Duration) (*grant, bool) {
	fresh := g == nil
	if fresh {
		g = &grant{lock: l, owner: o, at: len(o.held)}
		l.granted = append(l.granted, g)
		o.held = append(o.held, g)
	}
	before := g.mode()
	g.modes[d] |= mode
	if before&rangeParts == 0 && mode&rangeParts != 0 {
		m.ranges.Add(1)
	}
	if d == ForStatement && !g.statement {
		g.statement = true
		o.statement = append(o.statement, g)
	}
	return g, fresh
}

// try grants mode on r to o if that needs no wait.
func (m *Locks) try(o *Owner, r Resource, mode Mode, d Duration) (g *grant, fresh, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tryLocked(o, r, mode, d)
}

func (m *Locks) tryLocked(o *Owner, r Resource, mode Mode, d Duration) (*grant, bool, bool) {
	l := m.locks[r]
	if l == nil {
		l = m.get(r)
		g, fresh := m.hold(l, nil, o, mode, d)
		return g, fresh, true
	}
	g := l.grantOf(o)
	if g != nil {
		want := g.mode() | mode
		if g.mode().Covers(mode) || !l.conflict(o.Party, want) {
			g, _ = m.hold(l, g, o, mode, d)
			return g, false, true
		}
		return nil, false, false
	}
	if l.conflict(o.Party, mode) || !l.heldBy(o.Party) && l.blockedByQueue(o.Party, mode, len(l.queue)) {
		return nil, false, false
	}
	g, fresh := m.hold(l, nil, o, mode, d)
	return g, fresh, true
}

// acquire grants mode on r to o, waiting as long as wait says: 0 not at all, negative
// for ever. The error is 1222, 1205, or that of ctx.
func (m *Locks) acquire(ctx context.Context, o *Owner, r Resource, mode Mode, d Duration, wait time.Duration, c *Counters) (*grant, bool, error) {
	m.mu.Lock()
	if g, fresh, ok := m.tryLocked(o, r, mode, d); ok {
		m.mu.Unlock()
		if c != nil {
			c.Locks++
		}
		return g, fresh, nil
	}
	if c != nil {
		c.LockWaits++
	}
	if wait == 0 {
		m.mu.Unlock()
		return nil, false, errLockTimeout()
	}
	l := m.get(r)
	w := &waiter{lock: l, owner: o, add: mode, want: mode, duration: d, done: make(chan error, 1), queued: true, since: m.clock.Now()}
	if g := l.grantOf(o); g != nil {
		w.convert = true
		w.want |= g.mode()
		w.granted = g
	} else if l.heldBy(o.Party) {
		w.convert = true
	}
	at := len(l.queue)
	if w.convert {
		for at = 0; at < len(l.queue) && l.queue[at].convert; at++ {
		}
	}
	l.queue = append(l.queue, nil)
	copy(l.queue[at+1:], l.queue[at:])
	l.queue[at] = w
	fresh := w.granted == nil
	o.Party.waiting = w
	m.breakDeadlocks(o.Party)
	m.mu.Unlock()

	var expired <-chan time.Time
	if wait > 0 {
		timer := m.clock.NewTimer(wait)
		defer timer.Stop()
		expired = timer.C()
	}
	var err error
	select {
	case err = <-w.done:
	case <-expired:
		m.abandon(w, errLockTimeout())
		err = <-w.done
	case <-ctx.Done():
		m.abandon(w, ctx.Err())
		err = <-w.done
	}
	if err != nil {
		return nil, false, err
	}
	if c != nil {
		c.Locks++
	}
	return w.granted, fresh, nil
}

// abandon ends the wait of w with err, unless it has ended already.
func (m *Locks) abandon(w *waiter, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail(w, err)
}

func (m *Locks) fail(w *waiter, err error) {
	if !w.queued {
		return
	}
	for i, q := range w.lock.queue {
		if q == w {
			w.lock.queue = append(w.lock.queue[:i], w.lock.queue[i+1:]...)
			break
		}
	}
	w.queued = false
	w.owner.Party.waiting = nil
	w.done <- err
	m.wake(w.lock)
}

// wake grants what can be granted now that something on l was released.
func (m *Locks) wake(l *lock) {
	for i := 0; i < len(l.queue); {
		w := l.queue[i]
		if l.conflict(w.owner.Party, w.want) || !w.convert && l.blockedByQueue(w.owner.Party, w.want, i) {
			i++
			continue
		}
		l.queue = append(l.queue[:i], l.queue[i+1:]...)
		w.queued = false
		w.owner.Party.waiting = nil
		w.granted, _ = m.hold(l, l.grantOf(w.owner), w.owner, w.add, w.duration)
		w.done <- nil
	}
	if len(l.granted) == 0 && len(l.queue) == 0 {
		delete(m.locks, l.resource)
	}
}

// release ends g for duration d, and altogether if no other duration remains.
func (m *Locks) release(g *grant, d Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.releaseLocked(g, d)
}

func (m *Locks) releaseLocked(g *grant, d Duration) {
	before := g.mode()
	g.modes[d] = 0
	after := g.mode()
	if before == after {
		return
	}
	if before&rangeParts != 0 && after&rangeParts == 0 {
		m.ranges.Add(-1)
	}
	if after == 0 {
		m.drop(g)
	}
	m.wake(g.lock)
}

// drop removes g from its lock and its owner.
func (m *Locks) drop(g *grant) {
	l, o := g.lock, g.owner
	for i, x := range l.granted {
		if x == g {
			last := len(l.granted) - 1
			l.granted[i] = l.granted[last]
			l.granted[last] = nil
			l.granted = l.granted[:last]
			break
		}
	}
	last := len(o.held) - 1
	o.held[g.at] = o.held[last]
	o.held[g.at].at = g.at
	o.held[last] = nil
	o.held = o.held[:last]
}

// promote makes the row duration of g one of the transaction.
func (m *Locks) promote(g *grant) {
	m.mu.Lock()
	g.modes[ForTransaction] |= g.modes[ForRow]
	g.modes[ForRow] = 0
	m.mu.Unlock()
}

// endStatement releases what o held for its statement only.
func (m *Locks) endStatement(o *Owner) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range o.statement {
		g.statement = false
		m.releaseLocked(g, ForStatement)
	}
	clear(o.statement)
	o.statement = o.statement[:0]
}

// releaseAll releases everything that o holds.
func (m *Locks) releaseAll(o *Owner) {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := o.held
	o.held, o.statement = nil, nil
	for _, g := range held {
		if g.mode()&rangeParts != 0 {
			m.ranges.Add(-1)
		}
		l := g.lock
		for i, x := range l.granted {
			if x == g {
				last := len(l.granted) - 1
				l.granted[i] = l.granted[last]
				l.granted[last] = nil
				l.granted = l.granted[:last]
				break
			}
		}
		g.modes = [3]Mode{}
		m.wake(l)
	}
}

// releaseRows releases every key and RID lock of o on one table.
func (m *Locks) releaseRows(o *Owner, t *Table) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := len(o.held) - 1; i >= 0; i-- {
		g := o.held[i]
		r := g.lock.resource
		if (r.Kind == ResourceKey || r.Kind == ResourceRID) && r.Object == t.ID && r.Database == t.Database && g.modes[ForRow] == 0 {
			m.releaseLocked(g, ForTransaction)
		}
	}
}

// LockInfo is one granted or waiting request, as sys.dm_tran_locks shows it.
type LockInfo struct {
	Resource    Resource
	Mode        Mode
	Status      string // GRANT, WAIT or CONVERT
	Session     int
	Transaction uint64
	Since       time.Time
	BlockedBy   []int // sessions, for a request that waits
}

// List returns all requests.
func (m *Locks) List() []LockInfo {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []LockInfo
	for r, l := range m.locks {
		for _, g := range l.granted {
			all = append(all, LockInfo{Resource: r, Mode: g.mode(), Status: "GRANT", Session: g.owner.Party.ID, Transaction: g.owner.Transaction})
		}
		for _, w := range l.queue {
			info := LockInfo{Resource: r, Mode: w.want, Status: "WAIT", Session: w.owner.Party.ID, Transaction: w.owner.Transaction, Since: w.since}
			if w.convert {
				info.Status = "CONVERT"
			}
			for _, p := range w.blockers() {
				info.BlockedBy = append(info.BlockedBy, p.ID)
			}
			all = append(all, info)
		}
	}
	return all
}

// Waiting reports whether party p waits for a lock; tests use it to know that a
// session has really blocked.
func (m *Locks) Waiting(p *Party) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return p.waiting != nil
}
