package main

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
)

// archived inserts jobs that succeeded an hour ago, after running for so many milliseconds each.
func archived(t *testing.T, dsn, queue, jobType string, first, jobs, ms int) {
	t.Helper()
	exec1(t, dsn, fmt.Sprintf(`INSERT INTO chokaq.JobsArchive (JobId, Queue, JobType, Priority, DueAt, Attempt, MaxAttempts, RequeueCount, StartedAt, FinishedAt, EnqueuedAt, EnqueuedBy, Payload)
SELECT %d + n.[value], N'%s', N'%s', 5, f.At, 1, 1, 0, DATEADD(MILLISECOND, -%d, f.At), f.At, f.At, N'x', N'{}'
FROM (SELECT TOP (%d) ROW_NUMBER() OVER (ORDER BY a.object_id) AS [value] FROM sys.all_objects AS a CROSS JOIN sys.all_objects AS b) AS n
CROSS JOIN (SELECT DATEADD(MINUTE, -30, CONVERT(datetime2(3), SYSUTCDATETIME())) AS At) AS f`, first, queue, jobType, ms, jobs))
}

// runningWorker registers a worker that runs, and returns the beginning of its id.
func runningWorker(t *testing.T, dsn, id, queues string) {
	t.Helper()
	exec1(t, dsn, fmt.Sprintf(`INSERT INTO chokaq.Workers (WorkerId, HostName, ProcessId, Version, Queues, Handlers, Prefetch, State, LoginName, StartedAt, HeartbeatAt, StateAt)
SELECT '%s', N'host-1', 4242, N'1', N'%s', 10, 20, 'running', N'x', t.At, t.At, t.At FROM (SELECT SYSUTCDATETIME() AS At) AS t`, id, queues))
}

const (
	oneWorker   = "6f9619ff-8b86-d011-b42d-00cf4fc964ff"
	otherWorker = "70000000-0000-0000-0000-000000000001"
)

func TestAdvise(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	archived(t, dsn, "mail", "long", 1000, 100, 20_000)
	call(t, dsn, "advise", "--handlers", "4").want(t, 1, "100 jobs have succeeded", "at least 200")
	archived(t, dsn, "mail", "long", 2000, 260, 20_000)
	archived(t, dsn, "web", "quick", 3000, 20, 100)
	call(t, dsn, "advise").want(t, 1, "no worker runs now", "--workers N")
	call(t, dsn, "advise", "--queue", "web", "--workers", "1").want(t, 1, `20 jobs of queue "web"`)

	// A full worker of four handlers of 20 seconds each, stopped with a grace period of 10: half of the four are cut short.
	var got struct {
		Effects []struct {
			GracePeriodSeconds, StopsLeavingWork, JobsLeftPerStop, HandlersP99Seconds float64
		}
		Advice                        struct{ GracePeriodSeconds, StopsLeavingWork float64 }
		TerminationGracePeriodSeconds float64
		WindowHours                   int
		Running                       float64
	}
	ask := func(args ...string) {
		t.Helper()
		r := call(t, dsn, append([]string{"advise", "--json"}, args...)...).want(t, 0)
		if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
			t.Fatalf("%v in %s", err, r.stdout)
		}
	}
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		if math.Abs(got-want) > tolerance {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	ask("--handlers", "4", "--grace", "10s", "--queue", "mail", "--type", "long")
	if len(got.Effects) != 2 || got.Effects[1].GracePeriodSeconds != 30 { // 10s, and the 30s of this environment
		t.Fatalf("%+v", got)
	}
	near("jobs left per stop", got.Effects[0].JobsLeftPerStop, 2, 0.05)
	near("share of stops leaving work", got.Effects[0].StopsLeavingWork, 1-math.Exp(-2), 0.02)
	near("p99 of a stop that is cut", got.Effects[0].HandlersP99Seconds, 10, 1e-9)
	near("advised", got.Advice.GracePeriodSeconds, 21, 3) // a constant 20 seconds, within a bucket of 19 percent
	near("until it is killed", got.TerminationGracePeriodSeconds-got.Advice.GracePeriodSeconds, 15, 1e-9)

	// Spread over two workers and the hour in which all of it ran: 360 jobs of 20 seconds in 3600 seconds are two at a time.
	runningWorker(t, dsn, oneWorker, `["mail"]`)
	runningWorker(t, dsn, otherWorker, `["mail", "web"]`)
	ask("--queue", "mail", "--grace", "10s")
	if got.WindowHours != 1 {
		t.Errorf("window of %d hours, want 1", got.WindowHours)
	}
	near("running", got.Running, 1, 0.02)
	near("jobs left per stop", got.Effects[0].JobsLeftPerStop, 0.5, 0.02)
	ask("--queue", "mail", "--workers", "8")
	near("running", got.Running, 0.25, 0.01)

	exec1(t, dsn, `INSERT INTO chokaq.WorkerStops (WorkerId, HostName, ProcessId, Version, Queues, Reason, Outcome, DrainingAt, StoppedAt, Running, Interrupted, Abandoned, HandlersMs, TotalMs, GracePeriodMs)
SELECT NEWID(), N'h', 1, N'1', N'["mail"]', N'SIGTERM', 'review', DATEADD(MINUTE, -10, SYSUTCDATETIME()), DATEADD(MINUTE, -9, SYSUTCDATETIME()), 9, n.[value] % 2, 0, 12000, 13000, 10000
FROM (SELECT TOP (20) ROW_NUMBER() OVER (ORDER BY a.object_id) AS [value] FROM sys.all_objects AS a) AS n`)
	r := call(t, dsn, "advise", "--explain").want(t, 0, "What stops really did", "50% (", "--handlers 9", "terminationGracePeriodSeconds:", "How it is computed", "* fewer than 30 jobs", "p(g)")
	if width, line := widest(r.stdout); width > screenWidth {
		t.Errorf("%d columns: %s", width, line)
	}
	t.Log(r.stdout)
	call(t, dsn, "advise", "--since", "90m", "--target", "1", "--grace", "0s", "--handlers", "0").want(t, 2, "--since", "--target", "--grace", "--handlers")
}
