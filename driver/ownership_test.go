package driver

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
)

// A heartbeat's answer about a job can come while the answer to its start is on its way: what the heartbeat logs of the job and what the start notes of it
// do not meet (the race detector says so).
func TestAHeartbeatsAnswerMeetsAStartsAnswer(t *testing.T) {
	for _, result := range []string{"CancelRequested", "Lost"} {
		for i := range 20 {
			w, _, _ := newTestWorker(t, WorkerConfig{})
			job := w.owned.add(JobInfo{ID: int64(i + 1)}, nil, uuid.New(), 0)
			ctx, cancel := context.WithCancelCause(t.Context())
			var both sync.WaitGroup
			both.Go(func() { w.owned.run(job, 1, 0, cancel) })
			both.Go(func() { w.heartbeater.apply([]claim{job.claim}, []answer{{JobID: job.JobID, Result: result}}, 0) })
			both.Wait()
			if result == "Lost" && !errors.Is(context.Cause(ctx), ErrOwnershipLost) {
				t.Fatal("a job that was lost runs on")
			}
			cancel(nil)
		}
	}
}

// A job that a heartbeat has found lost does not run any more, although the database had started it: recovery has it already.
func TestAJobThatWasLostWhileItStartedDoesNotRun(t *testing.T) {
	w, _, _ := newTestWorker(t, WorkerConfig{})
	w.handlerContext = t.Context()
	Handle(w, "t", func(context.Context, *Job[json.RawMessage]) error {
		t.Error("the handler runs")
		return nil
	})
	job := w.owned.add(JobInfo{ID: 1, Type: "t"}, w.handler("t"), uuid.New(), 0)
	w.admission.arrive(job)
	w.admission.admit(job)
	if _, ok := w.owned.cancel(job.claim, ErrOwnershipLost); !ok {
		t.Fatal("it is not held")
	}
	w.processor.launch(job, 1, 0)
	w.processor.handlers.Wait()
	left := w.completer.unstored()
	if len(left) != 1 || left[0].failure == nil || left[0].failure.Final {
		t.Errorf("%+v", left)
	}
}

// The answer to a start that comes after the database may have called the job a zombie (the process was frozen meanwhile, say) starts nothing, not even until the watch looks.
func TestAnAnswerThatComesTooLateStartsNothing(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		runs  bool
	}{{8 * time.Second, true}, {8*time.Second + 1, false}, {time.Hour, false}} {
		w, manual, logs := newTestWorker(t, WorkerConfig{})
		w.handlerContext = t.Context()
		w.timeouts = recoveryTimeouts{FetchedJob: 10 * time.Second, ProcessingZombie: 10 * time.Second}
		var ran atomic.Bool
		Handle(w, "t", func(context.Context, *Job[json.RawMessage]) error { ran.Store(true); return nil })
		sentAt := manual.Monotonic()
		job := w.owned.add(JobInfo{ID: 1, Type: "t", Payload: json.RawMessage("{}")}, w.handler("t"), uuid.New(), sentAt)
		w.admission.arrive(job)
		w.admission.admit(job)
		manual.Advance(c.after)
		w.processor.launch(job, 1, sentAt)
		w.processor.handlers.Wait()
		if ran.Load() != c.runs || logged(logs, "job.ownership_expired") == 1 == c.runs {
			t.Errorf("after %v: ran %t", c.after, ran.Load())
		}
	}
}

// Jobs whose rows are locked ask one at a time, each for up to a second: those that wait for their turn when a stop comes do not keep it waiting.
func TestAStopEndsTheAskingForLockedRows(t *testing.T) {
	w, _, _ := newTestWorker(t, WorkerConfig{})
	job := w.owned.add(JobInfo{ID: 1}, nil, uuid.New(), 0)
	stop, end := context.WithCancel(t.Context())
	settled := make(chan bool)
	w.processor.retrying.Lock()
	go func() { settled <- w.processor.askAgain(stop, t.Context(), job) }()
	end()
	w.processor.retrying.Unlock()
	if <-settled || w.procedures.calls.Load() != 0 || len(w.owned.in(prefetched)) != 1 {
		t.Errorf("%d calls, prefetched: %v", w.procedures.calls.Load(), w.owned.in(prefetched))
	}
}
