package protocol

// invariant is something that must hold in every state, or for every step. docs/shutdown.md states them.
type invariant struct {
	name  string
	holds func(from, to state) bool
}

var invariants = []invariant{
	{"NoUndecidedRerun", func(_, s state) bool {
		for j := range Jobs {
			if s.runs[j] > 1+s.owed[j] {
				return false
			}
		}
		return true
	}},
	{"OneRunner", func(_, s state) bool {
		for j := range Jobs {
			runners := 0
			for _, w := range s.workers {
				if w.memory[j] == running {
					runners++
				}
			}
			if runners > 1 {
				return false
			}
		}
		return true
	}},
	{"ProcessingNeverPending", func(from, s state) bool {
		for j := range Jobs {
			if from.rows[j].place == processing && (s.rows[j].place == pending || s.rows[j].place == fetched) {
				return false
			}
		}
		return true
	}},
	{"EndsAreFinal", func(from, s state) bool {
		for j := range Jobs {
			if p := from.rows[j].place; (p == archived || p == dead) && s.rows[j].place != p {
				return false
			}
		}
		return true
	}},
	{"RunsOnlyWhatWasStarted", func(_, s state) bool {
		for j := range Jobs { // who has run a job has moved it out of the reach of claims for good
			if s.runs[j] > 0 && (s.rows[j].place == pending || s.rows[j].place == fetched) {
				return false
			}
		}
		return true
	}},
	{"ArchivedOnlyIfItRan", func(_, s state) bool {
		for j := range Jobs {
			if s.rows[j].place == archived && s.runs[j] == 0 {
				return false
			}
		}
		return true
	}},
	{"CleanStopLeavesNothing", func(_, s state) bool {
		for w := range Workers {
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

// settled reports whether everybody is gone and nothing is on its way: then recovery must be able to leave each job Pending, archived or dead,
// which it does if every row held has a step of recovery. NothingLost checks that.
func (s state) settled() bool {
	for w := range Workers {
		if l := s.workers[w].life; l != stopped && l != crashed {
			return false
		}
	}
	return s.late.kind == none
}
