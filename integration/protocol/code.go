package protocol

import "math/bits"

// A state is kept as a code of 128 bits, and of all the states that differ only in how workers and jobs are numbered, one: the steps and the
// invariants treat workers alike and jobs alike (symmetry_test.go checks it), so that what can be reached from one of them can be reached, renumbered, from
// every other, and an invariant holds in one if it holds in all. Two workers and three jobs make up to 2! * 3! = 12 states of one. Tokens are
// numbered by worker and claim and move with the worker; a job's number in the late request is a bit with the job.
//
// There is no further reduction. Steps that commute, such as those of two workers with two jobs, could be visited in one order only (partial order reduction),
// but recovery, crashes and the late request commute with hardly anything, and the invariants look at every state in between.
type code [2]uint64

const (
	jobBits    = 21
	workerBits = 10
)

// encode is the code of a state as it is numbered.
func (m model) encode(s *state) (c code) {
	for j := range m.jobs {
		c[0] |= m.jobCode(s, j, false) << (j * jobBits)
	}
	c[1] = m.restCode(s, false)
	return c
}

// canonical is the code of the representative of all the states that differ from this one in their numbering.
func (m model) canonical(s *state) code {
	least := m.sorted(s, false)
	if m.workers == 2 {
		if swapped := m.sorted(s, true); swapped[1] < least[1] || swapped[1] == least[1] && swapped[0] < least[0] {
			least = swapped
		}
	}
	return least
}

// sorted is the code of a state with its jobs in the order of their codes, and perhaps with its workers swapped.
func (m model) sorted(s *state, swap bool) (c code) {
	var jobs [maxJobs]uint64
	for j := range m.jobs {
		jobs[j] = m.jobCode(s, j, swap)
		for i := j; i > 0 && jobs[i] < jobs[i-1]; i-- {
			jobs[i], jobs[i-1] = jobs[i-1], jobs[i]
		}
	}
	for j, v := range jobs {
		c[0] |= v << (j * jobBits)
	}
	c[1] = m.restCode(s, swap)
	return c
}

// jobCode is everything about a job.
func (m model) jobCode(s *state, j int, swap bool) uint64 {
	v := uint64(s.rows[j].place)<<3 | uint64(renumber(s.rows[j].token, swap))
	v = v<<2 | uint64(s.runs[j])
	v = v<<2 | uint64(s.decided[j])
	for w := range m.workers {
		me := &s.workers[numbered(w, swap)]
		v = v<<3 | uint64(me.memory[j])
		v <<= 1
		if me.tokens[j] != 0 {
			v |= uint64(me.tokens[j].claim())
		}
	}
	return v<<1 | uint64(s.late.jobs>>j&1)
}

// restCode is everything about the workers, and the late request.
func (m model) restCode(s *state, swap bool) (v uint64) {
	for w := range m.workers {
		at := numbered(w, swap)
		me := &s.workers[at]
		v = v<<2 | uint64(me.life)
		v = v<<2 | uint64(me.claims)
		for _, b := range [...]bool{me.unheard, me.drained, me.released, me.clean, s.fenced[at]} {
			v <<= 1
			if b {
				v |= 1
			}
		}
	}
	return v<<6 | uint64(s.late.kind)<<3 | uint64(renumber(s.late.token, swap))
}

// decode is the state of a code.
func (m model) decode(c code) (s state) {
	v := c[1]
	take := func(bits int) uint8 {
		low := v & (1<<bits - 1)
		v >>= bits
		return uint8(low)
	}
	s.late.token = token(take(3))
	s.late.kind = kind(take(3))
	for w := m.workers - 1; w >= 0; w-- {
		me := &s.workers[w]
		s.fenced[w], me.clean, me.released, me.drained, me.unheard = take(1) == 1, take(1) == 1, take(1) == 1, take(1) == 1, take(1) == 1
		me.claims, me.life = take(2), life(take(2))
	}
	for j := range m.jobs {
		v = c[0] >> (j * jobBits)
		s.late.jobs |= jobSet(take(1) << j)
		for w := m.workers - 1; w >= 0; w-- {
			claim := take(1)
			if p := phase(take(3)); p != absent {
				s.workers[w].memory[j], s.workers[w].tokens[j] = p, tokenOf(w, claim)
			}
		}
		s.decided[j], s.runs[j] = take(2), take(2)
		s.rows[j] = row{token: token(take(3)), place: place(take(3))}
	}
	return s
}

func numbered(w int, swap bool) int {
	if swap {
		return 1 - w
	}
	return w
}

func renumber(t token, swap bool) token {
	if t == 0 || !swap {
		return t
	}
	return tokenOf(1-t.worker(), uint8(t.claim()))
}

func (c code) hash() uint64 {
	hi, lo := bits.Mul64(c[0]^0x9e3779b97f4a7c15, c[1]^0xd1b54a32d192ed03)
	h := hi ^ lo ^ c[0]*0xff51afd7ed558ccd
	return h ^ h>>29
}
