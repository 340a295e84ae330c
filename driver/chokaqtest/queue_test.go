package chokaqtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chokaq/chokaq/driver"
	"github.com/chokaq/chokaq/driver/chokaqtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type receipt struct {
	Order int64 `json:"order"`
}

func enqueue(t *testing.T, q *chokaqtest.Queue, job driver.NewJob) int64 {
	t.Helper()
	enqueued, err := q.Client().Enqueue(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	return enqueued.JobID
}

// Outcomes, attempts, reasons, and delays to the millisecond on a clock that stands still.
func TestOutcomes(t *testing.T) {
	noon := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	q := chokaqtest.New(t, chokaqtest.At(noon))
	boom := errors.New("boom")
	worker := q.NewWorker(driver.WorkerConfig{})
	driver.Handle(worker, "done", func(context.Context, *driver.Job[receipt]) error { return nil })
	driver.Handle(worker, "rejected", func(context.Context, *driver.Job[receipt]) error { return driver.Reject(boom) })
	driver.Handle(worker, "third time", func(_ context.Context, job *driver.Job[receipt]) error {
		if job.Attempt < 3 {
			return boom
		}
		return nil
	}, driver.Backoff(func(attempt int) time.Duration { return time.Duration(attempt) * time.Hour }))
	driver.Handle(worker, "at midnight", func(_ context.Context, job *driver.Job[receipt]) error {
		if job.Attempt == 1 {
			return driver.RetryAt(noon.Add(12*time.Hour), boom)
		}
		return nil
	})
	driver.Handle(worker, "few attempts", func(_ context.Context, job *driver.Job[receipt]) error {
		return driver.RetryAfter(time.Minute, fmt.Errorf("attempt %d of %d", job.Attempt, job.MaxAttempts))
	}, driver.MaxAttempts(2))
	ids := make(map[string]int64)
	for _, jobType := range []string{"done", "rejected", "third time", "at midnight", "few attempts", "unknown"} {
		ids[jobType] = enqueue(t, q, driver.NewJob{Type: jobType, Args: receipt{42}})
	}
	q.RequireState(ids["done"], chokaqtest.Pending)
	q.Start(worker)
	q.WaitIdle()

	q.RequireState(ids["done"], chokaqtest.Completed)
	if job := q.RequireState(ids["rejected"], chokaqtest.Dead); job.Reason != "Rejected" || job.Error != "boom" || job.Attempt != 1 {
		t.Error(job)
	}
	if job := q.RequireState(ids["third time"], chokaqtest.Pending); !job.DueAt.Equal(noon.Add(time.Hour)) || job.Attempt != 1 || job.Error != "boom" {
		t.Error(job)
	}
	if job := q.RequireState(ids["at midnight"], chokaqtest.Pending); !job.DueAt.Equal(noon.Add(12 * time.Hour)) {
		t.Error(job)
	}
	if job := q.RequireState(ids["few attempts"], chokaqtest.Pending); job.Error != "attempt 1 of 2" || !job.DueAt.Equal(noon.Add(time.Minute)) {
		t.Error(job)
	}
	if job := q.RequireState(ids["unknown"], chokaqtest.Pending); job.Attempt != 0 {
		t.Errorf("a type that nobody knows was attempted: %v", job)
	}

	q.Advance(time.Hour - time.Millisecond)
	q.WaitIdle()
	q.RequireState(ids["third time"], chokaqtest.Pending)
	q.Advance(time.Millisecond)
	q.WaitIdle()
	if job := q.Job(ids["third time"]); job.Attempt != 2 || !job.DueAt.Equal(noon.Add(3*time.Hour)) {
		t.Error(job)
	}

	q.Drain()
	if now := q.Now(); !now.Equal(noon.Add(12 * time.Hour)) {
		t.Errorf("drained until %v", now)
	}
	if job := q.RequireState(ids["third time"], chokaqtest.Completed); job.Attempt != 3 {
		t.Error(job)
	}
	q.RequireState(ids["at midnight"], chokaqtest.Completed)
	if job := q.RequireState(ids["few attempts"], chokaqtest.Dead); job.Reason != "Failed" || job.Error != "attempt 2 of 2" || job.Attempt != 2 {
		t.Error(job)
	}
	if err := q.Stop(worker); err != nil {
		t.Error(err)
	}
}

func TestIdempotencyKeysAndWhatWasEnqueued(t *testing.T) {
	q := chokaqtest.New(t)
	for range 2 {
		enqueue(t, q, driver.NewJob{Type: "receipt", Args: receipt{1 << 60}, IdempotencyKey: "order-42", Headers: map[string]string{"tenant": "a"}})
	}
	job := q.RequireEnqueued("receipt", json.RawMessage(` {"order": 1152921504606846976} `))
	if string(job.Headers) != `{"tenant":"a"}` || job.IdempotencyKey != "order-42" || job.Queue != driver.DefaultQueue || !job.EnqueuedAt.Equal(q.Now()) {
		t.Error(job)
	}
	var args receipt
	if err := job.Decode(&args); err != nil || args.Order != 1<<60 {
		t.Error(args, err)
	}
	q.RequireNotEnqueued("refund")
	if n := len(q.Jobs()); n != 1 {
		t.Errorf("%d jobs", n)
	}
}

// What must fail a test does, and says why.
func TestFailures(t *testing.T) {
	q := chokaqtest.New(t)
	id := enqueue(t, q, driver.NewJob{Type: "receipt", Args: receipt{1}})
	for name, c := range map[string]struct {
		do   func(q *chokaqtest.Queue)
		want string
	}{
		"other payload": {func(q *chokaqtest.Queue) { q.RequireEnqueued("receipt", receipt{1 << 60}) }, `0 jobs of type "receipt" with payload {"order":1152921504606846976}`},
		"other type":    {func(q *chokaqtest.Queue) { q.RequireEnqueued("refund", nil) }, "job 1: receipt"},
		"not enqueued":  {func(q *chokaqtest.Queue) { q.RequireNotEnqueued("receipt") }, "has been enqueued"},
		"no such job":   {func(q *chokaqtest.Queue) { q.Job(id + 1) }, "there is no job 2"},
		"other state":   {func(q *chokaqtest.Queue) { q.RequireState(id, chokaqtest.Dead) }, "is Pending, want Dead"},
		"back in time":  {func(q *chokaqtest.Queue) { q.Advance(-1) }, "moves on only"},
		"no handler":    {func(q *chokaqtest.Queue) { q.Start(q.NewWorker(driver.WorkerConfig{})) }, "no handler is registered"},
		"bad config":    {func(q *chokaqtest.Queue) { q.NewWorker(driver.WorkerConfig{Handlers: -1}) }, "Handlers"},
	} {
		t.Run(name, func(t *testing.T) {
			fake := &failing{TB: t}
			func() {
				defer func() {
					if r := recover(); r != nil && r != fake {
						panic(r)
					}
				}()
				c.do(q.For(fake))
			}()
			if !strings.Contains(fake.text, c.want) {
				t.Errorf("said %q, want %q in it", fake.text, c.want)
			}
		})
	}
}

// A worker that waits for two types does not wait for those that only another knows, nor for paused queues.
func TestIdleIsWhatStartedWorkersWouldDo(t *testing.T) {
	q := chokaqtest.New(t)
	var ran atomic.Int32
	worker := q.NewWorker(driver.WorkerConfig{Queues: []string{"a", "b"}})
	driver.HandleAny(worker, func(context.Context, *driver.Job[json.RawMessage]) error { ran.Add(1); return nil })
	paused := enqueue(t, q, driver.NewJob{Queue: "b", Type: "x"})
	elsewhere := enqueue(t, q, driver.NewJob{Queue: "c", Type: "x"})
	if _, err := q.DB().ExecContext(t.Context(), "EXEC chokaq.PauseQueue @Queue = N'b'"); err != nil {
		t.Fatal(err)
	}
	q.Start(worker)
	for range 20 {
		enqueue(t, q, driver.NewJob{Queue: "a", Type: "y"})
	}
	q.Drain()
	if ran.Load() != 20 {
		t.Errorf("%d ran", ran.Load())
	}
	q.RequireState(paused, chokaqtest.Pending)
	q.RequireState(elsewhere, chokaqtest.Pending)
}

// The package compiles in another module, which cannot name what is internal here.
func TestAnotherModuleCanUseIt(t *testing.T) {
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(file), "..", "..")
	dir := t.TempDir()
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(mod), "module github.com/chokaq/chokaq", "module example.com/shop", 1) +
		"\nrequire github.com/chokaq/chokaq v0.0.0\nreplace github.com/chokaq/chokaq => " + root + "\n"
	for name, content := range map[string]string{
		"go.mod": text, "go.sum": string(sum),
		"shop_test.go": `package shop
import (
	"testing"
	"time"
	"github.com/chokaq/chokaq/driver"
	"github.com/chokaq/chokaq/driver/chokaqtest"
)
func TestShop(t *testing.T) {
	q := chokaqtest.New(t, chokaqtest.At(time.Unix(0, 0)))
	if _, err := q.Client().Enqueue(t.Context(), driver.NewJob{Type: "t"}); err != nil { t.Fatal(err) }
	var job chokaqtest.Job = q.RequireEnqueued("t", nil)
	t.Log(job)
}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command("go", "vet", "./...")
	command.Dir = dir
	command.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// Ticks of a recurring job come as the test moves the time on.
func TestRecurringJobsTick(t *testing.T) {
	q := chokaqtest.New(t, chokaqtest.At(time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC)))
	worker := q.NewWorker(driver.WorkerConfig{})
	var ran atomic.Int64
	driver.Handle(worker, "report", func(context.Context, *driver.Job[struct{}]) error { ran.Add(1); return nil })
	q.Start(worker)
	if _, err := q.Client().SetRecurringJob(t.Context(), driver.RecurringJob{Name: "daily", Cron: "0 0 * * *", MissedTicks: driver.MissedAll, Job: driver.NewJob{Type: "report"}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		advance time.Duration
		want    int64
	}{{0, 0}, {time.Minute, 1}, {23 * time.Hour, 1}, {49 * time.Hour, 4}} {
		q.Advance(c.advance)
		q.WaitIdle()
		if ran.Load() != c.want {
			t.Errorf("after %v more: %d runs, want %d", c.advance, ran.Load(), c.want)
		}
	}
}
