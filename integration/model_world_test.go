package integration

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// The model of TestSessionsFollowTheModel: jobs, queues and workers as the sessions see them, and who holds what until a transaction ends. It knows locks by job and
// table, as the headers of the procedures tell them, and nothing of how a server finds rows.

// worldJob is a job; it is live, Archived or Dead, and what it was before the transaction that has changed it is kept in that session's undo.
type worldJob struct {
	modelJob
	queue, key      string
	due             time.Time
	later           bool // due in the future
	cancelRequested bool
	cancelled       bool // dead for that reason
	discarded       bool
	aged            bool // its heartbeat is old
}

func (j worldJob) live() bool {
	return j.state == "Pending" || j.state == "Fetched" || j.state == "Processing"
}

// grip is what a transaction has on a job: the row is changed (nobody else gets past it) or only kept (readers do).
type grip struct {
	by      *actingSession
	changed bool
}

type actingSession struct {
	conn     *sql.Conn
	spid     int64
	worker   uuid.UUID
	open     bool
	undo     map[int64]*worldJob // nil: created in this transaction
	paused   map[string]bool     // of the queues that it has switched, as they were
	atWorker bool                // it has claimed or sent a heartbeat in this transaction
}

type world struct {
	rt       *rapid.T
	d        *database
	sessions []*actingSession
	jobs     map[int64]*worldJob
	ids      []int64
	claims   []held
	grips    map[int64]grip
	maybe    map[int64]map[*actingSession]bool // looked at for change and found not to be: servers differ in whether the lock stays
	keys     map[string]*actingSession
	queues   []string
	paused   map[string]bool
	switched map[string]*actingSession
	draining map[uuid.UUID]bool
	seen     map[string]int // of the answers and waits of all histories, so that a test that has become empty is noticed
}

// stranger is the other session that has a grip on the job which a caller with the given need cannot get past.
func (w *world) stranger(s *actingSession, id int64, change bool) *actingSession {
	if g, ok := w.grips[id]; ok && g.by != s && (change || g.changed) {
		return g.by
	}
	return nil
}

func (w *world) unclear(s *actingSession, id int64) bool {
	for other := range w.maybe[id] {
		if other != s {
			return true
		}
	}
	return false
}

// change notes that the session changes a job.
func (w *world) change(s *actingSession, id int64) *worldJob {
	j := w.jobs[id]
	if s.open {
		if _, ok := s.undo[id]; !ok {
			before := *j
			s.undo[id] = &before
		}
		w.grips[id] = grip{s, true}
	}
	return j
}

func (w *world) keep(s *actingSession, id int64) {
	if g, ok := w.grips[id]; s.open && (!ok || !g.changed) {
		w.grips[id] = grip{by: s}
	}
}

func (w *world) mayKeep(s *actingSession, id int64) {
	if s.open {
		if w.maybe[id] == nil {
			w.maybe[id] = make(map[*actingSession]bool)
		}
		w.maybe[id][s] = true
	}
}

// ended is the end of a session's transaction.
func (w *world) ended(s *actingSession, commit bool) {
	if !s.open {
		return
	}
	if !commit {
		for id, before := range s.undo {
			if before == nil {
				delete(w.jobs, id)
				w.ids = slices.DeleteFunc(w.ids, func(i int64) bool { return i == id })
				w.claims = slices.DeleteFunc(w.claims, func(h held) bool { return h.ID == id })
			} else {
				w.jobs[id] = before
			}
		}
		for queue, before := range s.paused {
			w.paused[queue] = before
		}
	}
	for id, g := range w.grips {
		if g.by == s {
			delete(w.grips, id)
		}
	}
	for _, all := range w.maybe {
		delete(all, s)
	}
	for key, by := range w.keys {
		if by == s {
			delete(w.keys, key)
		}
	}
	for queue, by := range w.switched {
		if by == s {
			delete(w.switched, queue)
		}
	}
	s.open, s.undo, s.paused, s.atWorker = false, nil, nil, false
}

// holder is the live job that has a key as the session sees it, or the session that it would have to wait for to know.
func (w *world) holder(s *actingSession, key string) (job int64, blocker *actingSession) {
	for _, id := range w.ids {
		j := w.jobs[id]
		if j.key != key {
			continue
		}
		if other := w.stranger(s, id, false); other != nil {
			if before := other.undo[id]; before == nil || before.live() != j.live() {
				return 0, other
			}
		}
		if j.live() {
			job = id
		}
	}
	return job, nil
}

// prediction is what a call will do: wait for blocker, or fail, or succeed and be as apply checks and notes it.
type prediction struct {
	blocker *actingSession
	number  int32 // of the error: with a blocker, that of somebody who does not wait
	apply   func([]row)
}

// call makes a call that is predicted. One that has to wait either gives up at once, which ends its transaction, or waits until the session that it is
// predicted to wait for has ended its own, and then is as predicted from there on.
func (w *world) call(s *actingSession, procedure string, predict func() prediction, args ...any) {
	p := predict()
	settle := func(rows []row, err error) {
		switch {
		case sqlNumber(err) != p.number || (err != nil) != (p.number != 0):
			w.rt.Fatalf("session %d, %s: %v, %v; predicted: error %d", s.spid, procedure, rows, err, p.number)
		case err != nil:
			w.seen[fmt.Sprint(procedure, " gives up with ", p.number)]++
			w.ended(s, false) // XACT_ABORT is ON
		default:
			w.seen[procedure+" answers"]++
			p.apply(rows)
		}
	}
	if p.blocker == nil {
		settle(query(context.Background(), s.conn, procedure, args...))
		return
	}
	if !rapid.Bool().Draw(w.rt, "waits") {
		settle(query(context.Background(), s.conn, procedure, args...))
		return
	}
	w.seen[procedure+" waits"]++
	w.exec(s.conn, "SET LOCK_TIMEOUT -1")
	type answer struct {
		rows []row
		err  error
	}
	answered := make(chan answer, 1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	go func() {
		rows, err := query(ctx, s.conn, procedure, args...)
		answered <- answer{rows, err}
	}()
	for p.blocker != nil {
		for blocking := int64(0); blocking != p.blocker.spid; {
			rows, err := query(ctx, w.d.pool, "SELECT CONVERT(int, blocking_session_id) AS b FROM sys.dm_exec_requests WHERE session_id = @s", sql.Named("s", s.spid))
			if err != nil {
				w.rt.Fatal(err)
			}
			if len(rows) == 1 {
				blocking = rows[0]["b"].(int64)
			}
			if blocking != 0 && blocking != p.blocker.spid {
				w.rt.Fatalf("session %d, %s: waits for session %d, predicted to wait for session %d", s.spid, procedure, blocking, p.blocker.spid)
			}
			select {
			case a := <-answered:
				w.rt.Fatalf("session %d, %s: %v, %v; predicted to wait for session %d", s.spid, procedure, a.rows, a.err, p.blocker.spid)
			default:
			}
		}
		commit := rapid.Bool().Draw(w.rt, "the other commits")
		w.exec(p.blocker.conn, map[bool]string{true: "COMMIT TRANSACTION", false: "ROLLBACK TRANSACTION"}[commit])
		w.ended(p.blocker, commit)
		p = predict()
	}
	a := <-answered
	w.exec(s.conn, "SET LOCK_TIMEOUT 0")
	settle(a.rows, a.err)
}

func (w *world) exec(q querier, statement string, args ...any) {
	if _, err := q.ExecContext(context.Background(), statement, args...); err != nil {
		w.rt.Fatalf("%s: %v", firstLine(statement), err)
	}
}

func (w *world) want(what string, got, want any) {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.rt.Fatalf("%s: %v, want %v", what, got, want)
	}
}
