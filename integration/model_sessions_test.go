package integration

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// Random histories of sessions that leave transactions open while others go on: every answer, every claim in its exact order, and every wait with the session waited for is
// predicted, and after each step what is committed and what is not. rapid prints the seed of a failure. CHOKAQ_TEST_MODEL_TIME lengthens the search.
func TestSessionsFollowTheModel(t *testing.T) {
	limit := modelTime(t, 8*time.Second)
	versioning(t, func(t *testing.T, d *database) {
		mustExec(t, d.pool, "ALTER DATABASE "+d.name+" SET ALLOW_SNAPSHOT_ISOLATION ON")
		committed := d.session(t)
		mustExec(t, committed, "SET TRANSACTION ISOLATION LEVEL SNAPSHOT")
		var conns []*sql.Conn
		for range 4 {
			conns = append(conns, impatient(t, d))
		}
		more, seen := until(time.Now().Add(limit/2)), make(map[string]int)
		rapid.Check(t, func(rt *rapid.T) {
			if !more(rt) {
				return
			}
			run := uuid.NewString()
			w := &world{rt: rt, d: d, jobs: make(map[int64]*worldJob), grips: make(map[int64]grip), maybe: make(map[int64]map[*actingSession]bool), keys: make(map[string]*actingSession),
				queues: []string{"a " + run, "b " + run}, paused: make(map[string]bool), switched: make(map[string]*actingSession), draining: make(map[uuid.UUID]bool), seen: seen}
			for _, queue := range w.queues { // so that no row is missing: the lock on a row that is not there is one on a gap
				w.exec(d.pool, "chokaq.ResumeQueue", sql.Named("Queue", queue))
			}
			for _, conn := range conns {
				w.sessions = append(w.sessions, &actingSession{conn: conn, spid: number(t, conn, "SELECT CONVERT(int, @@SPID) AS s"), worker: registered(t, d, w.queues...)})
				// What a failed run has left.
				w.exec(conn, "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION; SET LOCK_TIMEOUT 0")
			}
			defer func() {
				for _, s := range w.sessions {
					_, _ = s.conn.ExecContext(context.Background(), "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION")
				}
			}()
			actions := w.actions(run)
			actions[""] = func(rt *rapid.T) {
				w.rt = rt
				w.compare("changed", d.pool, "WITH (NOLOCK)", func(j worldJob, _ *worldJob, _ bool) *worldJob { return &j })
				w.compare("committed", committed, "", func(j worldJob, before *worldJob, touched bool) *worldJob {
					if touched {
						return before
					}
					return &j
				})
			}
			rt.Repeat(actions)
		})
		for _, answer := range slices.Sorted(maps.Keys(seen)) {
			t.Logf("%6d %s", seen[answer], answer)
		}
		for _, procedure := range []string{"EnqueueJob", "StartJobs", "CompleteJobs", "FailJobs", "ReleaseJobs", "HeartbeatJobs", "CancelJob", "RequeueDeadJobs", "DiscardDeadJobs", "PauseQueue", "SetWorkerState"} {
			for _, what := range []string{" answers", " waits", " gives up with 1222"} {
				if seen["chokaq."+procedure+what] == 0 && seen["chokaq.ClaimJobs answers"] > 2000 {
					t.Errorf("in many histories %s never once%s", procedure, what)
				}
			}
		}
	})
}

// until says how long to begin new histories; one that fails is shrunk for as long as it takes.
func until(end time.Time) func(*rapid.T) bool {
	failing := false
	return func(rt *rapid.T) bool {
		rt.Cleanup(func() { failing = failing || rt.Failed() })
		return failing || time.Now().Before(end)
	}
}

// modelTime is how long a search goes on: time, and not rapid's count, is its bound.
func modelTime(t *testing.T, otherwise time.Duration) time.Duration {
	limit := otherwise
	if text := os.Getenv("CHOKAQ_TEST_MODEL_TIME"); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{"rapid.checks": "100000", "rapid.steps": "100"} {
		f := flag.Lookup(name)
		before := f.Value.String()
		if err := f.Value.Set(value); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Value.Set(before) })
	}
	return limit
}

// compare reads all jobs, and compares them with what they should be.
func (w *world) compare(what string, q querier, hint string, as func(j worldJob, before *worldJob, touched bool) *worldJob) {
	rows, err := query(context.Background(), q, fmt.Sprintf(`
SELECT JobId, CASE State WHEN 0 THEN 'Pending' WHEN 1 THEN 'Fetched' ELSE 'Processing' END AS Place, Attempt, RequeueCount FROM chokaq.Jobs %[1]s WHERE Queue IN (@a, @b)
UNION ALL SELECT JobId, 'Archived', Attempt, RequeueCount FROM chokaq.JobsArchive %[1]s WHERE Queue IN (@a, @b)
UNION ALL SELECT JobId, 'Dead', Attempt, RequeueCount FROM chokaq.JobsDLQ %[1]s WHERE Queue IN (@a, @b) ORDER BY JobId`, hint), sql.Named("a", w.queues[0]), sql.Named("b", w.queues[1]))
	if err != nil {
		w.rt.Fatal(err)
	}
	var got, want []string
	for _, r := range rows {
		got = append(got, fmt.Sprint(r["JobId"], " ", r["Place"], " ", r["Attempt"], " ", r["RequeueCount"]))
	}
	for _, id := range w.ids {
		var before *worldJob
		touched := false
		for _, s := range w.sessions {
			if b, ok := s.undo[id]; ok {
				before, touched = b, true
			}
		}
		if j := as(*w.jobs[id], before, touched); j != nil {
			want = append(want, fmt.Sprint(id, " ", j.state, " ", j.attempt, " ", j.requeued))
		}
	}
	if !slices.Equal(got, want) {
		w.rt.Fatalf("%s: %q, want %q", what, got, want)
	}
}

// due reads when a job falls due, which the database decides.
func (w *world) due(s *actingSession, id int64) time.Time {
	rows, err := query(context.Background(), s.conn, "SELECT DueAt FROM chokaq.Jobs WITH (READCOMMITTEDLOCK) WHERE JobId = @Id", sql.Named("Id", id))
	if err != nil || len(rows) != 1 {
		w.rt.Fatalf("job %d: %v, %v", id, rows, err)
	}
	return rows[0]["DueAt"].(time.Time)
}

// expectClaim is what a claim returns, in order.
func (w *world) expectClaim(s *actingSession, queues []string, most int) (want []int64, reached, unclear bool) {
	for _, queue := range queues {
		if by := w.switched[queue]; w.paused[queue] && (by == nil || by == s) || by != nil && by != s {
			continue
		}
		if len(want) == most {
			break
		}
		reached = true
		if w.draining[s.worker] {
			break
		}
		var next []int64
		for _, id := range w.ids {
			j := w.jobs[id]
			if j.queue != queue || j.state != "Pending" || j.later || w.stranger(s, id, true) != nil {
				continue
			}
			unclear = unclear || w.unclear(s, id)
			next = append(next, id)
		}
		slices.SortFunc(next, func(a, b int64) int {
			x, y := w.jobs[a], w.jobs[b]
			return cmp.Or(cmp.Compare(y.priority, x.priority), x.due.Compare(y.due), cmp.Compare(a, b))
		})
		want = append(want, next[:min(len(next), most-len(want))]...)
	}
	return want, reached, unclear
}

// weights are of the actions that a history needs more of than of the rest.
var weights = map[string]int{"enqueue": 3, "claim": 3, "start": 4, "complete": 2, "fail": 2, "heartbeat": 2, "run": 2, "resume": 2}

func (w *world) actions(run string) map[string]func(*rapid.T) {
	session := func() *actingSession {
		return w.sessions[rapid.IntRange(0, len(w.sessions)-1).Draw(w.rt, "session")]
	}
	some := func() int64 {
		if len(w.ids) == 0 {
			w.rt.Skip("no job")
		}
		return rapid.SampledFrom(w.ids).Draw(w.rt, "job")
	}
	clear := func(s *actingSession, id int64) {
		if w.unclear(s, id) {
			w.rt.Skip("servers differ in whether this waits")
		}
	}
	// byToken is a worker's call for one claim, perhaps a stale one; moves says what becomes of a job that the claim holds, "" if nothing does.
	byToken := func(procedure, fields, stale string, moves func(*worldJob) string, args ...any) {
		if len(w.claims) == 0 {
			w.rt.Skip("nothing was ever claimed")
		}
		s, h := session(), rapid.SampledFrom(w.claims).Draw(w.rt, "claim")
		if live := slices.DeleteFunc(slices.Clone(w.claims), func(h held) bool { return w.jobs[h.ID].token != h.Token }); len(live) > 0 && rapid.IntRange(0, 3).Draw(w.rt, "stale") > 0 {
			h = rapid.SampledFrom(live).Draw(w.rt, "claim that holds")
		}
		clear(s, h.ID)
		args = append(args, sql.Named("Jobs", fmt.Sprintf(`[{"id":%d,"token":%q%s}]`, h.ID, h.Token, fields)))
		if procedure == "ReleaseJobs" || procedure == "HeartbeatJobs" {
			args = append(args, workerArg(s.worker))
		}
		w.call(s, "chokaq."+procedure, func() prediction {
			j := w.jobs[h.ID]
			if j == nil { // the transaction that had enqueued it was rolled back while this waited
				return prediction{apply: func(rows []row) {
					w.want(procedure, said(rows[0]), "Lost nowhere")
					s.atWorker = s.atWorker || s.open && procedure == "HeartbeatJobs"
				}}
			}
			if other := w.stranger(s, h.ID, j.live()); other != nil {
				return prediction{blocker: other, number: 1222}
			}
			return prediction{apply: func(rows []row) {
				copied := *j
				want := ""
				if j.token == h.Token {
					want = moves(&copied)
				}
				switch {
				case want != "":
					*w.change(s, h.ID) = copied
				case j.live():
					w.mayKeep(s, h.ID)
				}
				if procedure == "HeartbeatJobs" {
					s.atWorker = s.open
					if want == "silence" {
						w.want("heartbeat", len(rows), 0)
						return
					}
				}
				if len(rows) != 1 {
					w.rt.Fatalf("%s answers %v", procedure, rows)
				}
				got := said(rows[0])
				switch {
				case want != "":
					w.want(fmt.Sprint(procedure, " of job ", h.ID), got, want)
				case j.token == h.Token && stale != "":
					w.want(fmt.Sprint(procedure, " of job ", h.ID), got, stale+" "+j.state)
				default:
					if result := rows[0]["Result"]; rows[0]["JobState"] != j.state || result == "Started" || result == "Completed" || result == "Retried" || result == "Dead" || result == "Released" || result == "CancelRequested" {
						w.rt.Fatalf("%s of job %d by a claim that does not hold it, or not so: %s; it is %s", procedure, h.ID, got, j.state)
					}
				}
				if procedure == "FailJobs" && w.jobs[h.ID].state == "Pending" && want != "" {
					w.jobs[h.ID].due = w.due(s, h.ID)
				}
			}}
		}, args...)
	}
	// operator is a call for one job, which is looked for in the dead-letter queue or among the live ones.
	operator := func(procedure string, inJobs bool, predict func(s *actingSession, id int64, j *worldJob) (want string, blocker *actingSession, number int32, apply func()), args func(id int64) []any) {
		s, id := session(), some()
		clear(s, id)
		w.call(s, "chokaq."+procedure, func() prediction {
			j := w.jobs[id]
			switch { // the transaction that had enqueued it was rolled back while this waited
			case j == nil && procedure == "CancelJob":
				return prediction{number: 51008}
			case j == nil:
				return prediction{apply: func(rows []row) { w.want(procedure, said(rows[0]), "NotDead nowhere") }}
			}
			if other := w.stranger(s, id, j.live() == inJobs && j.state != "Archived"); other != nil {
				return prediction{blocker: other, number: 1222}
			}
			want, blocker, number, apply := predict(s, id, j)
			return prediction{blocker, number, func(rows []row) {
				if len(rows) != 1 || said(rows[0]) != want {
					w.rt.Fatalf("%s of job %d: %v, want %s", procedure, id, rows, want)
				}
				apply()
			}}
		}, args(id)...)
	}
	recovery := func(procedure, from string, to func(*worldJob)) {
		if len(w.switched) > 0 {
			w.rt.Skip("recovery reads the switches of queues, and waits for who is setting one unless versions are read")
		}
		for _, s := range w.sessions {
			if s.open {
				continue
			}
			for id, j := range w.jobs {
				if j.aged && j.state == from {
					clear(s, id)
				}
			}
			w.call(s, "chokaq."+procedure, func() prediction {
				return prediction{apply: func([]row) {
					for id, j := range w.jobs {
						if j.aged && j.state == from && w.stranger(s, id, true) == nil {
							j.token, j.aged = "", false
							to(j)
						}
					}
				}}
			})
			return
		}
		w.rt.Skip("every session has a transaction open")
	}
	untouched := func() int64 {
		id := some()
		if _, ok := w.grips[id]; ok || len(w.maybe[id]) > 0 {
			w.rt.Skip("somebody holds it")
		}
		return id
	}
	pause := func(procedure string, to bool) {
		s, queue := session(), rapid.SampledFrom(w.queues).Draw(w.rt, "queue")
		w.call(s, "chokaq."+procedure, func() prediction {
			if by := w.switched[queue]; by != nil && by != s {
				return prediction{blocker: by, number: 1222}
			}
			return prediction{apply: func([]row) {
				if s.open {
					if _, ok := s.paused[queue]; !ok {
						s.paused[queue] = w.paused[queue]
					}
					w.switched[queue] = s
				}
				w.paused[queue] = to
			}}
		}, sql.Named("Queue", queue))
	}
	// state is a worker's word about itself, over a session that is not in a transaction.
	state := func(procedure string, draining bool, args ...any) {
		s, of := session(), session()
		if s.open {
			w.rt.Skip("in a transaction")
		}
		w.call(s, "chokaq."+procedure, func() prediction {
			if of.atWorker {
				return prediction{blocker: of, number: 1222}
			}
			return prediction{apply: func([]row) { w.draining[of.worker] = draining }}
		}, append(args, workerArg(of.worker))...)
	}

	actions := map[string]func(){
		"begin": func() {
			s := session()
			if s.open {
				w.rt.Skip("has one")
			}
			w.exec(s.conn, "BEGIN TRANSACTION")
			s.open, s.undo, s.paused = true, make(map[int64]*worldJob), make(map[string]bool)
		},
		"commit or rollback": func() {
			s := session()
			if !s.open {
				w.rt.Skip("has none")
			}
			commit := rapid.Bool().Draw(w.rt, "commit")
			w.exec(s.conn, map[bool]string{true: "COMMIT TRANSACTION", false: "ROLLBACK TRANSACTION"}[commit])
			w.ended(s, commit)
		},
		"enqueue": func() {
			s := session()
			j := worldJob{queue: rapid.SampledFrom(w.queues).Draw(w.rt, "queue"), later: rapid.IntRange(0, 5).Draw(w.rt, "later") == 0}
			j.state, j.priority = "Pending", rapid.IntRange(4, 6).Draw(w.rt, "priority")
			args := []any{sql.Named("Queue", j.queue), sql.Named("JobType", "t"), sql.Named("Priority", j.priority), sql.Named("MaxAttempts", modelAttempts)}
			if j.later {
				args = append(args, sql.Named("DelaySeconds", 3600))
			}
			if k := rapid.IntRange(0, 5).Draw(w.rt, "key"); k < 2 {
				j.key = fmt.Sprint(k, " ", run)
				args = append(args, sql.Named("IdempotencyKey", j.key))
			}
			w.call(s, "chokaq.EnqueueJob", func() prediction {
				existing := int64(0)
				if j.key != "" {
					if by := w.keys[j.key]; by != nil && by != s {
						return prediction{blocker: by, number: 51014}
					}
					var blocker *actingSession
					if existing, blocker = w.holder(s, j.key); blocker != nil {
						return prediction{blocker: blocker, number: 1222}
					}
				}
				return prediction{apply: func(rows []row) {
					if j.key != "" && s.open {
						w.keys[j.key] = s
					}
					id := rows[0]["JobId"].(int64)
					if existing != 0 {
						w.want("enqueue with a key in use", fmt.Sprint(id, rows[0]["Created"]), fmt.Sprint(existing, false))
						return
					}
					w.want("created", rows[0]["Created"], true)
					w.jobs[id], w.ids = &j, append(w.ids, id)
					if s.open {
						s.undo[id] = nil
						w.grips[id] = grip{s, true}
					}
					j.due = w.due(s, id)
				}}
			}, args...)
		},
		"claim": func() {
			s, token, most := session(), uuid.NewString(), rapid.IntRange(1, 4).Draw(w.rt, "most")
			queues := rapid.SampledFrom([][]string{w.queues, {w.queues[1], w.queues[0]}, w.queues[:1]}).Draw(w.rt, "queues")
			want, reached, unclear := w.expectClaim(s, queues, most)
			if unclear {
				w.rt.Skip("servers differ in whether a row is skipped")
			}
			names, _ := json.Marshal(queues)
			w.call(s, "chokaq.ClaimJobs", func() prediction {
				return prediction{apply: func(rows []row) {
					var got []int64
					for _, r := range rows {
						got = append(got, r["JobId"].(int64))
					}
					if !slices.Equal(got, want) {
						w.rt.Fatalf("claimed %v, want %v", got, want)
					}
					for _, id := range got {
						j := w.change(s, id)
						j.state, j.token, j.aged = "Fetched", token, false
						w.claims = append(w.claims, held{id, token})
					}
					s.atWorker = s.atWorker || s.open && reached
				}}
			}, workerArg(s.worker), sql.Named("ClaimToken", token), sql.Named("Queues", string(names)), sql.Named("MaxJobs", most))
		},
		"start": func() {
			byToken("StartJobs", "", "AlreadyStarted", func(j *worldJob) string {
				if j.state != "Fetched" {
					return ""
				}
				j.state, j.attempt, j.aged = "Processing", j.attempt+1, false
				return "Started Processing"
			})
		},
		"complete": func() {
			byToken("CompleteJobs", "", "", func(j *worldJob) string {
				if j.state != "Processing" {
					return ""
				}
				j.state, j.token = "Archived", ""
				return "Completed Archived"
			})
		},
		"fail": func() {
			final := rapid.Bool().Draw(w.rt, "final")
			byToken("FailJobs", fmt.Sprintf(`,"final":%v`, final), "", func(j *worldJob) string {
				if j.state != "Processing" {
					return ""
				}
				j.token, j.cancelled, j.later = "", j.cancelRequested, false
				if final || j.attempt >= modelAttempts || j.cancelRequested {
					j.state = "Dead"
					return "Dead Dead"
				}
				j.state = "Pending"
				return "Retried Pending"
			})
		},
		"release": func() {
			byToken("ReleaseJobs", "", "Processing", func(j *worldJob) string {
				if j.state != "Fetched" {
					return ""
				}
				j.state, j.token = "Pending", ""
				return "Released Pending"
			})
		},
		"heartbeat": func() {
			byToken("HeartbeatJobs", "", "", func(j *worldJob) string {
				j.aged = false
				if j.cancelRequested {
					return "CancelRequested Processing"
				}
				return "silence"
			})
		},
		"cancel": func() {
			operator("CancelJob", true, func(s *actingSession, id int64, j *worldJob) (string, *actingSession, int32, func()) {
				switch {
				case j.state == "Pending" || j.state == "Fetched":
					return "Cancelled Dead", nil, 0, func() {
						j := w.change(s, id)
						j.state, j.token, j.cancelled = "Dead", "", true
					}
				case j.state == "Processing" && !j.cancelRequested:
					return "CancelRequested Processing", nil, 0, func() { w.change(s, id).cancelRequested = true }
				case j.state == "Processing":
					return "AlreadyCancelled Processing", nil, 0, func() { w.keep(s, id) }
				case j.state == "Dead" && j.cancelled:
					return "AlreadyCancelled Dead", nil, 0, func() {}
				}
				return "Finished " + j.state, nil, 0, func() {}
			}, func(id int64) []any { return []any{sql.Named("JobId", id)} })
		},
		"requeue": func() {
			operator("RequeueDeadJobs", false, func(s *actingSession, id int64, j *worldJob) (string, *actingSession, int32, func()) {
				if j.state != "Dead" {
					return "NotDead " + j.state, nil, 0, func() {}
				}
				keyed := int64(0)
				if j.key != "" {
					if by := w.keys[j.key]; by != nil && by != s {
						return "", by, 51014, nil
					}
					var blocker *actingSession
					if keyed, blocker = w.holder(s, j.key); blocker != nil {
						return "", blocker, 1222, nil
					}
				}
				took := func() {
					if j.key != "" && s.open {
						w.keys[j.key] = s
					}
					w.keep(s, id)
				}
				switch {
				case j.discarded:
					return "Discarded Dead", nil, 0, took
				case keyed != 0:
					return "KeyInUse Dead", nil, 0, took
				}
				return "Requeued Pending", nil, 0, func() {
					took()
					j := w.change(s, id)
					j.state, j.attempt, j.requeued, j.later, j.cancelled, j.cancelRequested, j.aged = "Pending", 0, j.requeued+1, false, false, false, false
					j.due = w.due(s, id)
				}
			}, func(id int64) []any { return []any{sql.Named("JobIds", fmt.Sprintf("[%d]", id))} })
		},
		"discard": func() {
			operator("DiscardDeadJobs", false, func(s *actingSession, id int64, j *worldJob) (string, *actingSession, int32, func()) {
				switch {
				case j.state != "Dead":
					return "NotDead " + j.state, nil, 0, func() {}
				case j.discarded:
					return "AlreadyDiscarded Dead", nil, 0, func() { w.mayKeep(s, id) }
				}
				return "Discarded Dead", nil, 0, func() { w.change(s, id).discarded = true }
			}, func(id int64) []any {
				return []any{sql.Named("JobIds", fmt.Sprintf("[%d]", id)), sql.Named("Note", "n")}
			})
		},
		"pause":  func() { pause("PauseQueue", true) },
		"resume": func() { pause("ResumeQueue", false) },
		"drain":  func() { state("SetWorkerState", true, sql.Named("State", "draining")) },
		"run":    func() { state("SetWorkerState", false, sql.Named("State", "running")) },
		"age": func() {
			if j := w.jobs[untouched()]; j.state == "Fetched" || j.state == "Processing" {
				for id, k := range w.jobs {
					if k == j {
						w.exec(w.d.pool, "UPDATE chokaq.Jobs SET HeartbeatAt = DATEADD(SECOND, -1000, HeartbeatAt) WHERE JobId = @Id", sql.Named("Id", id))
					}
				}
				j.aged = true
			}
		},
		"fall due": func() {
			id := untouched()
			if j := w.jobs[id]; j.state == "Pending" {
				w.exec(w.d.pool, "UPDATE chokaq.Jobs SET DueAt = DATEADD(SECOND, -@s, SYSUTCDATETIME()) WHERE JobId = @Id", sql.Named("Id", id), sql.Named("s", rapid.IntRange(0, 3).Draw(w.rt, "seconds ago")))
				j.later, j.due = false, w.due(w.sessions[0], id)
			}
		},
		"reset": func() { recovery("ResetFetchedJobs", "Fetched", func(j *worldJob) { j.state = "Pending" }) },
		"rescue": func() {
			recovery("RescueZombieJobs", "Processing", func(j *worldJob) { j.state, j.cancelled = "Dead", false })
		},
	}
	all := make(map[string]func(*rapid.T))
	for name, act := range actions {
		for i := range max(1, weights[name]) {
			all[fmt.Sprint(name, strings.Repeat(" again", i))] = func(rt *rapid.T) {
				w.rt = rt
				act()
			}
		}
	}
	return all
}
