package protocol

// answer is what a procedure says: for a claim the jobs that its token holds, for the others whether it is so now.
type answer struct {
	jobs jobSet
	ok   bool
}

// execute runs a procedure: one transaction, whole or not at all.
func (m model) execute(s *state, w int, r request) (a answer) {
	if r.kind == claim { // chokaq.ClaimJobs
		known := false
		for j := range m.jobs {
			known = known || s.rows[j].token == r.token
		}
		for j := range m.jobs {
			if !known && (!s.fenced[w] || m.without == claimFence) && s.rows[j].place == pending && r.jobs.has(j) {
				s.rows[j] = row{fetched, r.token}
			}
			if s.rows[j] == (row{fetched, r.token}) {
				a.jobs |= only(j)
			}
		}
		return a
	}
	for j := range m.jobs {
		at := &s.rows[j]
		mine := at.token == r.token
		switch named := r.jobs.has(j); {
		case r.kind == start && named: // chokaq.StartJobs
			switch {
			case at.place == fetched && (mine || m.without == startToken), mine && m.without == startState:
				at.place = processing
				a.ok = true
			case at.place == processing && (mine || m.without == alreadyStartedToken):
				a.ok = true
			}
		case r.kind == complete && named: // chokaq.CompleteJobs
			if at.place == processing && (mine || m.without == completeToken) {
				at.place = archived
			}
		case r.kind == fail && named: // chokaq.FailJobs, final: an interrupted handler
			if at.place == processing && (mine || m.without == failToken) {
				at.place = dead
			}
		case r.kind == retry && named: // chokaq.FailJobs, not final
			if at.place == processing && (mine || m.without == failToken) {
				*at = row{}
				s.decide(j)
			}
		case r.kind == release: // chokaq.ReleaseJobs: everything Fetched under the worker
			if at.token != 0 && at.token.worker() == w && (at.place == fetched || at.place == processing && m.without == releaseState) {
				*at = row{}
			}
		}
	}
	if r.kind == drain { // chokaq.SetWorkerState
		s.fenced[w] = true
	}
	return a
}

// recovery is what SQL Server Agent and operators may do at any moment.
func (m model) recovery(s state, add func(how, string, state)) {
	for j := range m.jobs {
		n := s
		n.rows[j] = row{}
		switch s.rows[j].place {
		case fetched: // chokaq.ResetFetchedJobs
			if m.without != resetting {
				add(done, "recovery resets a fetched job", n)
			}
		case processing: // chokaq.RescueZombieJobs
			if m.without == rescueState {
				add(done, "recovery resets a processing job", n)
			}
			n.rows[j].place = dead
			if m.without != rescuing {
				add(done, "recovery rescues a zombie", n)
			}
		case dead, archived: // chokaq.RequeueDeadJobs
			if int(s.decided[j]) < m.decisions && (s.rows[j].place == dead || m.without == requeueState) {
				n.decide(j)
				add(done, "an operator requeues", n)
			}
		}
	}
}

// decide counts that somebody has decided that a job runs again.
func (s *state) decide(j int) {
	s.decided[j]++
	s.runs[j] = 0
}

// hear is what a worker makes of an answer.
func (m model) hear(s *state, w int, r request, a answer) {
	me := &s.workers[w]
	switch r.kind {
	case claim:
		me.unheard = false
		for j := range m.jobs {
			if a.jobs.has(j) && me.memory[j] == absent {
				me.memory[j], me.tokens[j] = prefetched, r.token
			}
		}
	case drain:
		me.drained = true
	case release:
		me.released = true
		for j := range m.jobs {
			if me.memory[j] == prefetched {
				me.memory[j], me.tokens[j] = absent, 0
			}
		}
	case start:
		for j := range m.jobs {
			switch {
			case !r.jobs.has(j) || me.memory[j] != unsure:
			case a.ok && m.without == handlerRuns && me.life == draining:
				me.memory[j] = finished
			case a.ok:
				me.memory[j] = running
				s.runs[j]++
			default: // Lost: dropped, and its handler never runs
				me.memory[j], me.tokens[j] = absent, 0
			}
		}
	default: // complete, fail and retry: stored, stored before, or refused: settled in any case
		for j := range m.jobs {
			if r.jobs.has(j) {
				me.memory[j], me.tokens[j] = absent, 0
			}
		}
	}
}
