package protocol

// invariant is something that must hold in every state, or for every step. docs/shutdown.md states them. Numbers of jobs and workers say
// nothing in it: what holds for one numbering must hold for all (see code.go).
type invariant struct {
	name  string
	holds func(m model, from, to *state) bool
}

var invariants = []invariant{
	{"OneRunner", func(m model, _, s *state) bool {
		for j := range m.jobs {
			runners := 0
			for w := range m.workers {
				if s.workers[w].memory[j] == running {
					runners++
				}
			}
			if runners > 1+int(s.decided[j]) {
				return false
			}
		}
		return true
	}},
	{"ProcessingNeverPending", func(m model, from, s *state) bool {
		for j := range m.jobs {
			if p := s.rows[j].place; from.rows[j].place == processing && (p == pending || p == fetched) && s.decided[j] == from.decided[j] {
				return false
			}
		}
		return true
	}},
	{"EndsAreFinal", func(m model, from, s *state) bool {
		for j := range m.jobs {
			switch p := from.rows[j].place; {
			case p == archived && s.rows[j].place != archived:
				return false
			case p == dead && s.rows[j].place != dead && s.decided[j] == from.decided[j]:
				return false
			}
		}
		return true
	}},
	{"RunsOnlyWhatWasStarted", func(m model, _, s *state) bool {
		for j := range m.jobs { // who has run a job has moved it out of the reach of claims, until somebody decides
			if p := s.rows[j].place; s.runs[j] > 0 && (p == pending || p == fetched) {
				return false
			}
		}
		return true
	}},
	{"NoUndecidedRerun", func(m model, _, s *state) bool {
		for j := range m.jobs {
			if s.runs[j] > 1 {
				return false
			}
		}
		return true
	}},
	{"OutcomeIsItsHolders", func(m model, _, s *state) bool {
		for j := range m.jobs {
			t := s.rows[j].token
			if p := s.rows[j].place; t == 0 || p != archived && p != dead {
				continue
			}
			if w := &s.workers[t.worker()]; w.tokens[j] == t && (w.memory[j] == prefetched || w.memory[j] == unsure || w.memory[j] == running) {
				return false
			}
		}
		return true
	}},
	{"ArchivedOnlyIfItRan", func(m model, _, s *state) bool {
		for j := range m.jobs {
			if s.rows[j].place == archived && s.runs[j] == 0 {
				return false
			}
		}
		return true
	}},
	{"CleanStopLeavesNothing", func(m model, _, s *state) bool {
		for w := range m.workers {
			if s.workers[w].life != stopped || !s.workers[w].clean {
				continue
			}
			for _, r := range s.rows {
				if r.token != 0 && r.token.worker() == w && (r.place == fetched || r.place == processing) {
					return false
				}
			}
		}
		return true
	}},
}

// nothingLost is checked where everybody is gone and nothing is on its way: then recovery must be able to leave each job Pending, archived or dead,
// which it does if every row held has a step of recovery.
const nothingLost = "NothingLost"

func (m model) settled(s *state) bool {
	for w := range m.workers {
		if l := s.workers[w].life; l != stopped && l != crashed {
			return false
		}
	}
	return s.late.kind == none
}

// recovers reports whether recovery moves every held job on.
func (m model) recovers(s *state) bool {
	var moved jobSet
	m.recovery(*s, func(_ how, _ string, n state) {
		for j := range m.jobs {
			if p := n.rows[j].place; p != fetched && p != processing {
				moved |= only(j)
			}
		}
	})
	for j, r := range s.rows {
		if (r.place == fetched || r.place == processing) && !moved.has(j) {
			return false
		}
	}
	return true
}
