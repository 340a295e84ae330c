package protocol

import (
	"fmt"
	"strings"
	"testing"
)

// Every state that can be reached is visited, and every step from it is checked.
func TestEveryOrderOfEvents(t *testing.T) {
	states := []state{{}}
	parent := []uint32{0}
	index := map[state]uint32{{}: 0}
	steps := 0
	for at := 0; at < len(states); at++ {
		s := states[at]
		all := s.next()
		for _, n := range all {
			steps++
			for _, i := range invariants {
				if !i.holds(s, n.to) {
					t.Fatalf("%s is violated after: %s; %s\n%+v", i.name, path(states, parent, uint32(at)), n.name, n.to)
				}
			}
			if _, seen := index[n.to]; !seen {
				index[n.to] = uint32(len(states))
				states = append(states, n.to)
				parent = append(parent, uint32(at))
			}
		}
		if s.settled() {
			for j, r := range s.rows {
				if (r.place == fetched || r.place == processing) && !recovers(all, j) {
					t.Fatalf("NothingLost is violated after: %s; job %d stays %+v for ever", path(states, parent, uint32(at)), j, r)
				}
			}
		}
	}
	fmt.Printf("protocol: %d states, %d steps; %d workers, %d jobs, %d claims each; %d invariants and NothingLost hold\n", len(states), steps, Workers, Jobs, Claims, len(invariants))
}

// path names the steps that lead to a state.
func path(states []state, parent []uint32, at uint32) string {
	var names []string
	for at != 0 {
		from := parent[at]
		for _, n := range states[from].next() {
			if n.to == states[at] {
				names = append([]string{n.name}, names...)
				break
			}
		}
		at = from
	}
	return strings.Join(names, "; ")
}

// recovers reports whether a step moves a held job on.
func recovers(all []step, j int) bool {
	for _, n := range all {
		if strings.HasPrefix(n.name, "recovery") && n.to.rows[j].place != fetched && n.to.rows[j].place != processing {
			return true
		}
	}
	return false
}
