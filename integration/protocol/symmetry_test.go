package protocol

import (
	"fmt"
	"testing"
)

// The states visited with the symmetry stand for exactly those visited without it: their renumberings, counted, are as many. And what is violated with it is violated without.
func TestSymmetryHidesNothing(t *testing.T) {
	models := []model{{workers: 2, jobs: 1, claims: 1}, {workers: 1, jobs: 2, claims: 1}}
	if full {
		models = append(models, model{workers: 2, jobs: 2, claims: 1}, model{workers: 1, jobs: 3, claims: 1})
	}
	for _, m := range models {
		counted := 0
		with := m.search(m.canonical, func(s *state) { counted += len(m.orbit(s)) })
		without := m.search(m.encode, nil)
		if counted != without.states || with.depth != without.depth || with.violated+without.violated != "" {
			t.Errorf("%v: %v, which stand for %d; without symmetry: %v", m, with, counted, without)
		}
		fmt.Printf("protocol: %v: %d states stand for %d, and without symmetry there are %d\n", m, with.states, counted, without.states)
	}
}

// orbit is every code that the state has in some numbering.
func (m model) orbit(s *state) map[code]bool {
	all := make(map[code]bool)
	var jobs func(order []int)
	jobs = func(order []int) {
		if len(order) < m.jobs {
		next:
			for j := range m.jobs {
				for _, taken := range order {
					if taken == j {
						continue next
					}
				}
				jobs(append(order[:len(order):len(order)], j))
			}
			return
		}
		for _, swap := range []bool{false, true}[:m.workers] {
			var n state
			n.late = request{kind: s.late.kind, token: renumber(s.late.token, swap)}
			for w := range m.workers {
				n.workers[w], n.fenced[w] = s.workers[numbered(w, swap)], s.fenced[numbered(w, swap)]
			}
			for to, from := range order {
				n.rows[to] = row{s.rows[from].place, renumber(s.rows[from].token, swap)}
				n.runs[to], n.decided[to] = s.runs[from], s.decided[from]
				if s.late.jobs.has(from) {
					n.late.jobs |= only(to)
				}
				for w := range m.workers {
					me := &s.workers[numbered(w, swap)]
					n.workers[w].memory[to], n.workers[w].tokens[to] = me.memory[from], renumber(me.tokens[from], swap)
				}
			}
			all[m.encode(&n)] = true
		}
	}
	jobs(nil)
	return all
}

// A code is decoded to the state that it was made from.
func TestCodesKeepEverything(t *testing.T) {
	m := model{workers: 2, jobs: 1, claims: 1, decisions: 1}
	seen := make(map[state]bool)
	f := m.search(m.encode, func(s *state) {
		m.next(*s, func(_ how, name string, to state) {
			if got := m.decode(m.encode(&to)); got != to {
				t.Fatalf("after %s: %+v has become %+v", name, to, got)
			}
			seen[to] = true
		})
		seen[*s] = true
	})
	if len(seen) != f.states {
		t.Errorf("%d states have %d codes", len(seen), f.states)
	}
}
