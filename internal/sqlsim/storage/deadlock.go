package storage

import (
	"fmt"
	"strings"
	"time"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// DeadlockProcess is one session of a deadlock.
type DeadlockProcess struct {
	Session     int
	Transaction uint64
	Statement   string
	WaitsFor    string // the resource, with table, index and key
	WaitMode    string
	Holds       []string // the locks that the others wait for
	Victim      bool
}

// DeadlockReport tells who waited for whom, and who gave way.
type DeadlockReport struct {
	Time      time.Time
	Processes []DeadlockProcess
}

// String writes the report for a log.
func (r DeadlockReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "deadlock of %d processes\n", len(r.Processes))
	for _, p := range r.Processes {
		victim := ""
		if p.Victim {
			victim = " (victim)"
		}
		fmt.Fprintf(&b, "  process %d%s waits for %s on %s\n", p.Session, victim, p.WaitMode, p.WaitsFor)
		for _, h := range p.Holds {
			fmt.Fprintf(&b, "    holds %s\n", h)
		}
		fmt.Fprintf(&b, "    runs %s\n", strings.TrimSpace(p.Statement))
	}
	return b.String()
}

// Deadlocks returns the reports of all deadlocks so far, oldest first.
func (m *Locks) Deadlocks() []DeadlockReport {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]DeadlockReport(nil), m.deadlocks...)
}

// blockers returns the parties that w waits for.
func (w *waiter) blockers() []*Party {
	var all []*Party
	me := w.owner.Party
	for _, g := range w.lock.granted {
		if g.owner.Party != me && !Compatible(w.want, g.mode()) {
			all = append(all, g.owner.Party)
		}
	}
	if w.convert {
		return all
	}
	for _, q := range w.lock.queue {
		if q == w {
			break
		}
		if q.owner.Party != me && !Compatible(w.want, q.want) {
			all = append(all, q.owner.Party)
		}
	}
	return all
}

// breakDeadlocks looks for cycles through p, which has just begun to wait, and fails
// one waiter of each until none is left.
func (m *Locks) breakDeadlocks(p *Party) {
	for p.waiting != nil {
		cycle := findCycle(p)
		if cycle == nil {
			return
		}
		// The lowest priority gives way, then the one with the least to undo, then
		// the one that closed the cycle, which comes first.
		victim := cycle[0]
		for _, c := range cycle[1:] {
			switch vp, cp := victim.Priority.Load(), c.Priority.Load(); {
			case cp < vp, cp == vp && c.work.Load() < victim.work.Load():
				victim = c
			}
		}
		m.report(cycle, victim)
		m.fail(victim.waiting, value.NewError(1205, 13, 51,
			"Transaction (Process ID %d) was deadlocked on lock resources with another process and has been chosen as the deadlock victim. Rerun the transaction.", victim.ID))
	}
}

// findCycle returns the parties of a cycle through start, beginning with start.
func findCycle(start *Party) []*Party {
	seen := map[*Party]bool{}
	var path []*Party
	var walk func(p *Party) bool
	walk = func(p *Party) bool {
		path = append(path, p)
		if p.waiting != nil {
			for _, b := range p.waiting.blockers() {
				if b == start {
					return true
				}
				if !seen[b] {
					seen[b] = true
					if walk(b) {
						return true
					}
				}
			}
		}
		path = path[:len(path)-1]
		return false
	}
	if walk(start) {
		return path
	}
	return nil
}

func (m *Locks) name(r Resource) string {
	if m.describe != nil && (r.Kind == ResourceKey || r.Kind == ResourceRID || r.Kind == ResourceObject) {
		table, index, key := m.describe(r)
		switch {
		case r.Kind == ResourceObject:
			return "OBJECT " + table
		case index == "":
			return fmt.Sprintf("RID %s %s", table, r.Description())
		}
		return fmt.Sprintf("KEY %s index %s %s %s", table, index, key, r.Description())
	}
	return r.Kind.String() + " " + r.Description()
}

func (m *Locks) report(cycle []*Party, victim *Party) {
	r := DeadlockReport{Time: m.clock.Now()}
	for i, p := range cycle {
		w := p.waiting
		d := DeadlockProcess{Session: p.ID, Transaction: w.owner.Transaction, Statement: p.Statement(),
			WaitsFor: m.name(w.lock.resource), WaitMode: w.want.String(), Victim: p == victim}
		// What it holds is what the one before it in the cycle waits for.
		before := cycle[(i+len(cycle)-1)%len(cycle)]
		for _, g := range before.waiting.lock.granted {
			if g.owner.Party == p {
				d.Holds = append(d.Holds, g.mode().String()+" on "+m.name(g.lock.resource))
			}
		}
		r.Processes = append(r.Processes, d)
	}
	// A server that deadlocks all day must not grow without bound.
	const keep = 1000
	if len(m.deadlocks) >= keep {
		m.deadlocks = append(m.deadlocks[:0], m.deadlocks[1:]...)
	}
	m.deadlocks = append(m.deadlocks, r)
}
