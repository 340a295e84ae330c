package protocol

// answer is what a procedure says: for a claim the jobs that its token holds, for the others whether it is so now.
type answer struct {
	jobs [Jobs]bool
	ok   bool
}

// execute runs a procedure: one transaction, whole or not at all.
func (s *state) execute(w int, r request) (a answer) {
	switch r.kind {
	case claim: // chokaq.ClaimJobs
		known := false
		for _, row := range s.rows {
			known = known || row.token == r.token
		}
		for j := range s.rows {
			if !known && !s.fenced[w] && s.rows[j].place == pending {
				s.rows[j] = row{fetched, r.token}
			}
			a.jobs[j] = s.rows[j] == row{fetched, r.token}
		}
	case start: // chokaq.StartJobs
		switch s.rows[r.job] {
		case row{fetched, r.token}:
			s.rows[r.job].place = processing
			a.ok = true
		case row{processing, r.token}: // AlreadyStarted
			a.ok = true
		}
	case complete: // chokaq.CompleteJobs
		if s.rows[r.job] == (row{processing, r.token}) {
			s.rows[r.job].place = archived
		}
		a.ok = s.rows[r.job] == row{archived, r.token}
	case fail: // chokaq.FailJobs, final: an interrupted handler
		if s.rows[r.job] == (row{processing, r.token}) {
			s.rows[r.job].place = dead
		}
		a.ok = s.rows[r.job] == row{dead, r.token}
	case drain: // chokaq.SetWorkerState
		s.fenced[w] = true
	case release: // chokaq.ReleaseJobs: everything Fetched under the worker
		for j := range s.rows {
			if s.rows[j].place == fetched && s.rows[j].token.worker() == w {
				s.rows[j] = row{place: pending}
			}
		}
		a.ok = true
	}
	return a
}

// hear is what a worker makes of an answer.
func (s *state) hear(w int, r request, a answer) {
	me := &s.workers[w]
	switch r.kind {
	case claim:
		me.unheard = false
		for j, mine := range a.jobs {
			if mine && me.memory[j] == absent {
				me.memory[j], me.tokens[j] = prefetched, r.token
			}
		}
	case start:
		if me.memory[r.job] != unsure {
			return
		}
		if a.ok {
			me.memory[r.job] = running
			s.runs[r.job]++
		} else { // Lost: dropped, and its handler never runs
			me.memory[r.job], me.tokens[r.job] = absent, 0
		}
	case complete, fail: // stored, stored before, or refused: settled in any case
		me.memory[r.job], me.tokens[r.job] = absent, 0
	case drain:
		me.drained = true
	case release:
		me.released = true
		for j := range me.memory {
			if me.memory[j] == prefetched {
				me.memory[j], me.tokens[j] = absent, 0
			}
		}
	}
}
