package protocol

// how says what became of a call.
type how string

const (
	done       how = ""
	lost       how = ", request lost"
	late       how = ", request late"
	unanswered how = ", answer lost"
)

// next names every step from a state.
func (m model) next(s state, add func(how, string, state)) {
	for w := range m.workers {
		m.workerSteps(s, w, add)
	}
	m.networkSteps(s, add)
	m.recovery(s, add)
}

// workerSteps are what a worker may do.
func (m model) workerSteps(s state, w int, add func(how, string, state)) {
	me := s.workers[w]
	if me.life == stopped || me.life == crashed {
		return
	}
	// A crash may come at any moment; what is on its way may still arrive.
	n := s
	n.workers[w] = worker{life: crashed}
	add(done, "crash", n)

	if me.life == working {
		n = s
		n.workers[w].life = draining
		add(done, "signal", n)
		n = s
		name, token := "claim again", tokenOf(w, me.claims-1)
		if !me.unheard {
			n.workers[w].claims++
			n.workers[w].unheard = true
			name, token = "claim", tokenOf(w, me.claims)
		}
		if me.unheard || int(me.claims) < m.claims {
			for set := jobSet(1); set < 1<<m.jobs; set++ { // as many as it asks for, without those that others have locked
				m.send(n, name, w, request{claim, token, set}, add)
			}
		}
	}
	for j := range m.jobs {
		r := request{none, me.tokens[j], only(j)}
		switch me.memory[j] {
		case prefetched:
			if me.life == working {
				n = s
				n.workers[w].memory[j] = unsure
				r.kind = start
				m.send(n, "start", w, r, add)
			}
		case unsure: // settled also while draining
			r.kind = start
			m.send(s, "start again", w, r, add)
			if m.without == startHeard {
				n = s
				n.workers[w].memory[j] = running
				n.runs[j]++
				add(done, "handler begins on a guess", n)
			}
		case running:
			n = s
			n.workers[w].memory[j] = finished
			add(done, "handler returns", n)
			if me.life == draining {
				n.workers[w].memory[j] = failed
				add(done, "handler is cut short", n)
				if int(s.decided[j]) < m.decisions {
					n.workers[w].memory[j] = retried
					add(done, "handler is cut short, safe to retry", n)
				}
			}
		case finished:
			r.kind = complete
			m.send(s, "complete", w, r, add)
			if m.without == completionRepeated {
				n = s
				n.workers[w].memory[j] = running
				n.runs[j]++
				add(done, "handler runs again", n)
			}
		case failed:
			r.kind = fail
			m.send(s, "fail", w, r, add)
		case retried:
			if int(s.decided[j]) < m.decisions { // an operator may have been first
				r.kind = retry
				m.send(s, "retry", w, r, add)
			} else {
				r.kind = fail
				m.send(s, "fail", w, r, add)
			}
		}
	}
	if me.life == draining {
		switch {
		case !me.drained:
			m.send(s, "say draining", w, request{kind: drain}, add)
		case !me.released && !me.holds(unsure):
			m.send(s, "release", w, request{kind: release}, add)
		}
		// It ends when it has nothing left, or when a bound has passed: which may be now.
		n = s
		left := !me.released && m.without != releaseHeard
		for j := range m.jobs {
			left = left || me.memory[j] != absent
		}
		n.workers[w] = worker{life: stopped, clean: !left}
		add(done, "exit", n)
	}
}

// send calls a procedure, with everything that may become of a call. That the worker gives up and calls again is a step of its own.
func (m model) send(s state, name string, w int, r request, add func(how, string, state)) {
	add(lost, name, s)
	if s.late.kind == none && r.token != 0 { // the calls of a shutdown are not late: they are repeated until they are answered
		n := s
		n.late = r
		add(late, name, n)
	}
	n := s
	answer := m.execute(&n, w, r)
	add(unanswered, name, n)
	m.hear(&n, w, r, answer)
	add(done, name, n)
}

// networkSteps are what may become of a request that its worker waits for no longer.
func (m model) networkSteps(s state, add func(how, string, state)) {
	if r := s.late; r.kind != none {
		n := s
		n.late = request{}
		add(done, "late request lost", n)
		if r.kind == retry && int(s.decided[first(r.jobs)]) >= m.decisions {
			return // beyond what is counted here
		}
		m.execute(&n, r.token.worker(), r)
		add(done, "late request executed", n)
	}
}

func first(s jobSet) (j int) {
	for !s.has(j) {
		j++
	}
	return j
}

// holds reports whether a job is in a phase in the worker's memory.
func (w worker) holds(p phase) bool {
	for _, m := range w.memory {
		if m == p {
			return true
		}
	}
	return false
}
