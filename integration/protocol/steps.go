package protocol

// step is a state reached, and how.
type step struct {
	name string
	to   state
}

// next lists every step from a state.
func (s state) next() []step {
	var all []step
	add := func(name string, to state) { all = append(all, step{name, to}) }
	for w := range Workers {
		s.workerSteps(w, add)
	}
	s.networkSteps(add)
	for j := range Jobs {
		switch s.rows[j].place {
		case fetched:
			n := s
			n.rows[j] = row{place: pending}
			add("recovery resets a fetched job", n)
		case processing:
			n := s
			n.rows[j] = row{place: dead}
			add("recovery rescues a zombie", n)
		}
	}
	return all
}

// workerSteps are what a worker may do.
func (s state) workerSteps(w int, add func(string, state)) {
	me := s.workers[w]
	if me.life == stopped || me.life == crashed {
		return
	}
	// A crash may come at any moment; what is on its way may still arrive.
	n := s
	n.workers[w] = worker{life: crashed, claims: me.claims}
	add("crash", n)

	if me.life == working {
		n = s
		n.workers[w].life = draining
		add("signal", n)
		switch {
		case me.unheard:
			s.send("claim again", w, request{kind: claim, token: tokenOf(w, int(me.claims)-1)}, add)
		case int(me.claims) < Claims:
			n = s
			n.workers[w].claims++
			n.workers[w].unheard = true
			n.send("claim", w, request{kind: claim, token: tokenOf(w, int(me.claims))}, add)
		}
	}
	for j := range Jobs {
		switch r := (request{token: me.tokens[j], job: uint8(j)}); me.memory[j] {
		case prefetched:
			if me.life == working {
				n = s
				n.workers[w].memory[j] = unsure
				r.kind = start
				n.send("start", w, r, add)
			}
		case unsure: // settled also while draining
			r.kind = start
			s.send("start again", w, r, add)
		case running:
			n = s
			n.workers[w].memory[j] = finished
			add("handler returns", n)
			if me.life == draining {
				n.workers[w].memory[j] = failed
				add("handler is cut short", n)
			}
		case finished:
			r.kind = complete
			s.send("complete", w, r, add)
		case failed:
			r.kind = fail
			s.send("fail", w, r, add)
		}
	}
	if me.life == draining {
		switch {
		case !me.drained:
			s.send("say draining", w, request{kind: drain}, add)
		case !me.released && !me.holds(unsure):
			s.send("release", w, request{kind: release}, add)
		}
		// It ends when it has nothing left, or when a bound has passed: which may be now.
		n = s
		left := !me.released
		for j := range Jobs {
			left = left || me.memory[j] != absent
		}
		n.workers[w] = worker{life: stopped, claims: me.claims, clean: !left}
		add("exit", n)
	}
}

// send calls a procedure, with everything that may become of a call. That the worker gives up and calls again is a step of its own.
func (s state) send(name string, w int, r request, add func(string, state)) {
	add(name+", request lost", s)
	if s.late.kind == none && r.token != 0 { // the calls of a shutdown are not late: they are repeated until they are answered
		n := s
		n.late = r
		add(name+", request late", n)
	}
	n := s
	answer := n.execute(w, r)
	add(name+", answer lost", n)
	n.hear(w, r, answer)
	add(name, n)
}

// networkSteps are what may become of a request that its worker waits for no longer.
func (s state) networkSteps(add func(string, state)) {
	if r := s.late; r.kind != none {
		n := s
		n.late = request{}
		add("late request lost", n)
		n.execute(r.token.worker(), r)
		add("late request executed", n)
	}
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
