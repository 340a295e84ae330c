package integration

import (
	"database/sql"
	"testing"
)

// A heartbeat that arrives when recovery has already found the job saves it: what was found is looked at again when it is moved. Recovery stands still meanwhile
// because it waits for somebody who sets a switch of the next queue (with versions of rows it would not, so they are off).
func TestAHeartbeatSavesAJobThatRecoveryHasFound(t *testing.T) {
	for _, c := range []struct {
		procedure string
		started   bool
		lost      string
	}{{"RescueZombieJobs", true, "Dead Zombie"}, {"ResetFetchedJobs", false, "Pending"}} {
		t.Run(c.procedure, func(t *testing.T) {
			d := newDatabase(t)
			mustExec(t, d.pool, "ALTER DATABASE "+d.name+" SET READ_COMMITTED_SNAPSHOT OFF WITH ROLLBACK IMMEDIATE")
			mustExec(t, d.pool, "chokaq.ResumeQueue", sql.Named("Queue", "b")) // so that there is a row
			worker := registered(t, d, "a", "b")
			enqueue(t, d.pool, "a")
			enqueue(t, d.pool, "b")
			all := claimAs(t, d.pool, worker, 2, "a", "b")
			if c.started {
				start(t, d.pool, all...)
			}
			age(t, d, 1000, all...)

			operator := begin(t, d)
			mustExec(t, operator, "chokaq.PauseQueue", sql.Named("Queue", "b"))
			recovery := d.session(t)
			spid := number(t, recovery, "SELECT CONVERT(int, @@SPID) AS s")
			recovered := make(chan error, 1)
			go func() {
				_, err := query(t.Context(), recovery, "chokaq."+c.procedure)
				recovered <- err
			}()
			waitBlocked(t, d, spid)
			wantAnswers(t, "heartbeat", answers(t, impatient(t, d), "HeartbeatJobs", claimsJSON(t, all[:1]), workerArg(worker)), map[int64]string{})
			if err := operator.Commit(); err != nil {
				t.Fatal(err)
			}
			if err := <-recovered; err != nil {
				t.Fatal(err)
			}
			wantWhere(t, d, all[0].ID, map[bool]string{true: "Processing", false: "Fetched"}[c.started])
			wantWhere(t, d, all[1].ID, c.lost)
		})
	}
}
