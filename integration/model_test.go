package integration

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// modelJob is what docs/concepts.md says of a job.
type modelJob struct {
	state    string // as FindJob names it
	token    string // of the claim that holds it
	priority int
	attempt  int
	requeued int
}

const modelAttempts = 3

// Random histories of several workers, recovery and operators, compared call by call with a model of states and tokens. rapid prints the
// seed of a failure. CHOKAQ_TEST_MODEL_TIME lengthens the search.
func TestHistoriesFollowTheModel(t *testing.T) {
	d := newDatabase(t)
	more := until(time.Now().Add(modelTime(t, 6*time.Second)))
	workers := []uuid.UUID{registered(t, d, "q"), registered(t, d, "q"), registered(t, d, "q")}
	rapid.Check(t, func(rt *rapid.T) {
		if !more(rt) {
			return
		}
		queue := "q" + uuid.NewString()
		jobs := make(map[int64]*modelJob)
		var ids []int64
		var claims []held // every claim that ever was
		call := func(procedure string, args ...any) []row {
			rows, err := query(context.Background(), d.pool, "chokaq."+procedure, args...)
			if err != nil {
				rt.Fatalf("%s: %v", procedure, err)
			}
			return rows
		}
		// byToken calls a procedure for claims, stale ones too. moves says what becomes of a job that the claim holds; "" is nothing.
		byToken := func(procedure, fields string, moves func(*modelJob) (result string)) {
			if len(claims) == 0 {
				rt.Skip("nothing was ever claimed")
			}
			h := rapid.SampledFrom(claims).Draw(rt, "claim")
			args := []any{sql.Named("Jobs", fmt.Sprintf(`[{"id":%d,"token":%q%s}]`, h.ID, h.Token, fields))}
			if procedure == "ReleaseJobs" {
				args = append(args, sql.Named("WorkerId", guid(workers[0]))) // the token decides, whoever calls
			}
			got := said(call(procedure, args...)[0])
			j := jobs[h.ID]
			want := ""
			if j.token == h.Token {
				want = moves(j)
			}
			if want != "" && got != want {
				rt.Fatalf("%s of job %d: %s, want %s", procedure, h.ID, got, want)
			}
			if result, state, _ := strings.Cut(got, " "); want == "" && (result != "Lost" && !strings.HasPrefix(result, "Already") && result != "Processing" || state != j.state) {
				rt.Fatalf("%s of job %d by a claim that does not hold it, or not so: %s; it is %s", procedure, h.ID, got, j.state)
			}
		}
		recovery := func(procedure, from, to string) {
			age := rapid.SliceOfDistinct(rapid.IntRange(0, max(len(ids)-1, 0)), rapid.ID[int]).Draw(rt, "aged")
			for _, i := range age {
				if i < len(ids) {
					if _, err := d.pool.Exec("UPDATE chokaq.Jobs SET HeartbeatAt = DATEADD(SECOND, -1000, HeartbeatAt) WHERE JobId = @Id", sql.Named("Id", ids[i])); err != nil {
						rt.Fatal(err)
					}
				}
			}
			// A heartbeat of one of them saves it.
			saved := int64(-1)
			if len(age) > 0 && len(claims) > 0 && rapid.Bool().Draw(rt, "one is renewed") {
				h := rapid.SampledFrom(claims).Draw(rt, "renewed")
				call("HeartbeatJobs", sql.Named("WorkerId", guid(workers[0])), sql.Named("Jobs", fmt.Sprintf(`[{"id":%d,"token":%q}]`, h.ID, h.Token)))
				if jobs[h.ID].token == h.Token {
					saved = h.ID
				}
			}
			call(procedure)
			for _, i := range age {
				if i < len(ids) && ids[i] != saved && jobs[ids[i]].state == from {
					jobs[ids[i]].state, jobs[ids[i]].token = to, ""
				}
			}
			for _, id := range ids { // what was aged and stays is young again, so that the next run finds only what it ages
				if _, err := d.pool.Exec("UPDATE chokaq.Jobs SET HeartbeatAt = SYSUTCDATETIME() WHERE JobId = @Id AND HeartbeatAt IS NOT NULL", sql.Named("Id", id)); err != nil {
					rt.Fatal(err)
				}
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"enqueue": func(rt *rapid.T) {
				priority := rapid.IntRange(1, 10).Draw(rt, "priority")
				id := call("EnqueueJob", sql.Named("Queue", queue), sql.Named("JobType", "t"), sql.Named("Priority", priority), sql.Named("MaxAttempts", modelAttempts))[0]["JobId"].(int64)
				jobs[id] = &modelJob{state: "Pending", priority: priority}
				ids = append(ids, id)
			},
			"claim": func(rt *rapid.T) {
				token, most := uuid.New(), rapid.IntRange(1, 4).Draw(rt, "most")
				names, _ := json.Marshal([]string{queue})
				args := []any{sql.Named("WorkerId", guid(rapid.SampledFrom(workers).Draw(rt, "worker"))), sql.Named("ClaimToken", guid(token)),
					sql.Named("Queues", string(names)), sql.Named("MaxJobs", most)}
				rows := call("ClaimJobs", args...)
				if again := call("ClaimJobs", args...); fmt.Sprint(again) != fmt.Sprint(rows) {
					rt.Fatalf("repeated, the claim returns %v after %v", again, rows)
				}
				pending, above := 0, 11
				for _, r := range rows {
					id := r["JobId"].(int64)
					j := jobs[id]
					if j.state != "Pending" || j.priority > above {
						rt.Fatalf("claimed job %d, which is %s, with priority %d after %d", id, j.state, j.priority, above)
					}
					above = j.priority
					j.state, j.token = "Fetched", token.String()
					claims = append(claims, held{id, token.String()})
				}
				for _, j := range jobs {
					if j.state == "Pending" {
						pending++
						if len(rows) < most || j.priority > above {
							rt.Fatalf("%d of %d claimed down to priority %d, and one of %d is left", len(rows), most, above, j.priority)
						}
					}
				}
			},
			"start": func(*rapid.T) {
				byToken("StartJobs", "", func(j *modelJob) string {
					if j.state != "Fetched" {
						return "AlreadyStarted Processing"
					}
					j.state = "Processing"
					j.attempt++
					return "Started Processing"
				})
			},
			"complete": func(*rapid.T) {
				byToken("CompleteJobs", "", func(j *modelJob) string {
					if j.state != "Processing" {
						return ""
					}
					j.state, j.token = "Archived", ""
					return "Completed Archived"
				})
			},
			"fail": func(rt *rapid.T) {
				final := rapid.Bool().Draw(rt, "final")
				byToken("FailJobs", fmt.Sprintf(`,"final":%v`, final), func(j *modelJob) string {
					if j.state != "Processing" {
						return ""
					}
					j.token = ""
					if final || j.attempt >= modelAttempts {
						j.state = "Dead"
						return "Dead Dead"
					}
					j.state = "Pending"
					return "Retried Pending"
				})
			},
			"release": func(*rapid.T) {
				byToken("ReleaseJobs", "", func(j *modelJob) string {
					if j.state != "Fetched" {
						return "Processing Processing"
					}
					j.state, j.token = "Pending", ""
					return "Released Pending"
				})
			},
			"reset":  func(*rapid.T) { recovery("ResetFetchedJobs", "Fetched", "Pending") },
			"rescue": func(*rapid.T) { recovery("RescueZombieJobs", "Processing", "Dead") },
			"requeue": func(rt *rapid.T) {
				if len(ids) == 0 {
					rt.Skip("no job")
				}
				id := rapid.SampledFrom(ids).Draw(rt, "job")
				got, want := said(call("RequeueDeadJobs", sql.Named("JobIds", fmt.Sprintf("[%d]", id)))[0]), "NotDead "+jobs[id].state
				if j := jobs[id]; j.state == "Dead" {
					want, j.state, j.attempt, j.requeued = "Requeued Pending", "Pending", 0, j.requeued+1
				}
				if got != want {
					rt.Fatalf("requeue of job %d: %s, want %s", id, got, want)
				}
			},
			"": func(rt *rapid.T) { // after each step: where every job is, and how often it was started
				rows, err := query(context.Background(), d.pool, `
SELECT JobId, CASE State WHEN 0 THEN 'Pending' WHEN 1 THEN 'Fetched' ELSE 'Processing' END AS Place, Attempt, RequeueCount FROM chokaq.Jobs WHERE Queue = @Queue
UNION ALL SELECT JobId, 'Archived', Attempt, RequeueCount FROM chokaq.JobsArchive WHERE Queue = @Queue
UNION ALL SELECT JobId, 'Dead', Attempt, RequeueCount FROM chokaq.JobsDLQ WHERE Queue = @Queue`, sql.Named("Queue", queue))
				if err != nil {
					rt.Fatal(err)
				}
				if len(rows) != len(jobs) {
					rt.Fatalf("%d jobs are %d rows", len(jobs), len(rows))
				}
				for _, r := range rows {
					j := jobs[r["JobId"].(int64)]
					want := fmt.Sprint(j.state, j.attempt, j.requeued)
					if got := fmt.Sprint(r["Place"], r["Attempt"], r["RequeueCount"]); got != want {
						rt.Fatalf("job %v is %s, want %s", r["JobId"], got, want)
					}
				}
			},
		})
	})
}
