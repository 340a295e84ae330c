package protocol

import (
	"fmt"
	"strings"
)

// found is what a search has come to.
type found struct {
	states, steps, depth int
	violated             string // the invariant; "" if all hold
	after                string // the shortest history that violates it
}

// known is the set of states reached so far, in the order in which they were, with the one that each was reached from.
type known struct {
	codes  []code
	parent []uint32
	slots  []uint32 // open addressing: 1 + index into codes
}

func newKnown(first code) *known {
	k := &known{slots: make([]uint32, 1<<12)}
	k.add(first, 0)
	return k
}

// add reports whether the code is new.
func (k *known) add(c code, parent uint32) bool {
	mask := uint64(len(k.slots) - 1)
	at := c.hash() & mask
	for ; k.slots[at] != 0; at = (at + 1) & mask {
		if k.codes[k.slots[at]-1] == c {
			return false
		}
	}
	k.codes, k.parent = append(k.codes, c), append(k.parent, parent)
	k.slots[at] = uint32(len(k.codes))
	if len(k.codes)*3 > len(k.slots)*2 {
		k.slots = make([]uint32, 2*len(k.slots))
		mask = uint64(len(k.slots) - 1)
		for i, c := range k.codes {
			at := c.hash() & mask
			for ; k.slots[at] != 0; at = (at + 1) & mask {
			}
			k.slots[at] = uint32(i + 1)
		}
	}
	return true
}

// search visits every state that can be reached, breadth first, and checks every step from it, until an invariant is violated. code says which states are one:
// encode (none) or canonical. visit, if any, sees every state.
func (m model) search(code func(*state) code, visit func(*state)) (f found) {
	var start state
	k := newKnown(code(&start))
	deeper := 1 // the first state of the next depth
	for at := 0; at < len(k.codes) && f.violated == ""; at++ {
		if at == deeper {
			deeper = len(k.codes)
			f.depth++
		}
		s := m.decode(k.codes[at])
		if visit != nil {
			visit(&s)
		}
		m.next(s, func(h how, name string, to state) {
			f.steps++
			for _, i := range invariants {
				if f.violated == "" && !i.holds(m, &s, &to) {
					f.violated, f.after = i.name, m.history(code, k, uint32(at))+"; "+name+string(h)
				}
			}
			k.add(code(&to), uint32(at))
		})
		if f.violated == "" && m.settled(&s) && !m.recovers(&s) {
			f.violated, f.after = nothingLost, m.history(code, k, uint32(at))
		}
	}
	f.states = len(k.codes)
	return f
}

// history names the steps that lead to a state; which worker or job each is about is not said, since numbers may change from state to state.
func (m model) history(code func(*state) code, k *known, at uint32) string {
	var names []string
	for at != 0 {
		from := m.decode(k.codes[k.parent[at]])
		step := ""
		m.next(from, func(h how, name string, to state) {
			if step == "" && code(&to) == k.codes[at] {
				step = name + string(h)
			}
		})
		names = append([]string{step}, names...)
		at = k.parent[at]
	}
	return strings.Join(names, "; ")
}

func (f found) String() string {
	if f.violated != "" {
		return fmt.Sprintf("%s is violated after: %s", f.violated, f.after)
	}
	return fmt.Sprintf("%d states, %d steps, %d deep", f.states, f.steps, f.depth)
}
