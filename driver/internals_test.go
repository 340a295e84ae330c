package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	mssql "github.com/microsoft/go-mssqldb"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/chokaq/chokaq/internal/clock"
)

// newTestWorker is a worker on a clock that stands still, with no database behind it.
func newTestWorker(t *testing.T, config WorkerConfig) (*Worker, *clock.Manual, *observer.ObservedLogs) {
	t.Helper()
	manual := clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	client := NewClient(nil)
	client.clock = manual
	core, logs := observer.New(zap.DebugLevel)
	w, err := NewWorker(client, config, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	return w, manual, logs
}

func logged(logs *observer.ObservedLogs, name string) int {
	return logs.FilterField(zap.String("event", name)).Len()
}

func TestEveryFaultOfAConfigIsReportedAtOnce(t *testing.T) {
	bad := WorkerConfig{
		Queues: []string{" lead", "a", "a"}, Handlers: 10001, Prefetch: -1, PollIntervalMin: 2 * time.Hour, PollIntervalMax: time.Hour, HeartbeatInterval: -1, CommandTimeout: 1,
		WorkerShutdownGracePeriod: -1, PrefetchedJobReleaseTimeout: -1, CancellationPeriod: 2 * time.Hour, FlushTimeout: -1, CompletionDelay: time.Hour,
		RecoveryInterval: 1, PurgeInterval: 1,
	}
	_, err := NewWorker(NewClient(nil), bad, nil)
	if !errors.Is(err, ErrConfig) {
		t.Fatal(err)
	}
	for _, name := range []string{`" lead"`, "named twice", "Handlers", "Prefetch", "PollIntervalMin: must be 1ms", "PollIntervalMin: must not be above", "HeartbeatInterval", "CommandTimeout",
		"WorkerShutdownGracePeriod", "PrefetchedJobReleaseTimeout", "CancellationPeriod", "FlushTimeout", "CompletionDelay", "RecoveryInterval", "PurgeInterval"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("nothing about %s in: %v", name, err)
		}
	}
	if _, err := NewWorker(NewClient(nil), WorkerConfig{}, nil); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
}

func TestShutdownBound(t *testing.T) {
	c := WorkerConfig{WorkerShutdownGracePeriod: 2 * time.Second, PrefetchedJobReleaseTimeout: 3 * time.Second, CancellationPeriod: 5 * time.Second, FlushTimeout: 7 * time.Second}
	if b := c.ShutdownBound(); b != 15*time.Second {
		t.Error(b)
	}
	if b := (WorkerConfig{}).ShutdownBound(); b != 40*time.Second {
		t.Error(b)
	}
}

func TestHeartbeatsMustFitIntoTheTimeouts(t *testing.T) {
	for _, c := range []struct {
		interval, fetched, zombie, want time.Duration
		faults                          []string
	}{
		{fetched: 10 * time.Minute, zombie: 10 * time.Minute, want: 15 * time.Second},
		{fetched: 10 * time.Minute, zombie: 10 * time.Second, want: time.Second},
		{interval: 10 * time.Second, fetched: 30 * time.Second, zombie: 30 * time.Second, want: 10 * time.Second},
		{interval: 10*time.Second + 1, fetched: 30 * time.Second, zombie: time.Hour, faults: []string{"Recovery.FetchedJobTimeout"}},
		{interval: time.Minute, fetched: time.Minute, zombie: time.Minute, faults: []string{"Recovery.FetchedJobTimeout", "Recovery.ProcessingZombieTimeout"}},
	} {
		config := WorkerConfig{HeartbeatInterval: c.interval}
		err := config.checkTimeouts(recoveryTimeouts{c.fetched, c.zombie})
		if len(c.faults) == 0 && (err != nil || config.HeartbeatInterval != c.want) {
			t.Errorf("%+v: %v, %v", c, config.HeartbeatInterval, err)
		}
		for _, fault := range c.faults {
			if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), fault) || !strings.Contains(err.Error(), c.interval.String()) {
				t.Errorf("%+v: %v", c, err)
			}
		}
	}
}

func TestBackoffIsBoundedAndJittered(t *testing.T) {
	wait := ExponentialBackoff(time.Second, time.Minute)
	different := make(map[time.Duration]bool)
	for attempt := -1; attempt < 2000; attempt++ {
		middle := time.Minute
		if attempt < 7 {
			middle = time.Second << max(attempt-1, 0)
		}
		d := wait(attempt)
		if d < middle*8/10 || d > middle*12/10 {
			t.Fatalf("attempt %d waits %v", attempt, d)
		}
		different[d] = true
	}
	if len(different) < 1000 {
		t.Errorf("only %d different waits", len(different))
	}
}

type panickingError struct{ text *string }

func (e *panickingError) Error() string { return *e.text }

func TestOutcomes(t *testing.T) {
	boom := errors.New("boom")
	errs := map[string]error{
		"nil": nil, "plain": boom, "reject": Reject(boom), "after": RetryAfter(time.Minute, boom), "safe": MarkSafeToRetry(boom),
		"safe reject": MarkSafeToRetry(Reject(boom)), "wrapped reject": fmt.Errorf("x: %w", Reject(boom)), "panics": (*panickingError)(nil),
	}
	causes := map[string]error{"none": nil, "shutdown": ErrShutdown, "lost": ErrOwnershipLost, "cancel": ErrCancelRequested, "timeout": ErrHandlerTimeout}
	for errName, err := range errs {
		for causeName, cause := range causes {
			for _, safeType := range []bool{false, true} {
				w, _, _ := newTestWorker(t, WorkerConfig{})
				h := &registeredHandler{safeToRetry: safeType, backoff: func(int) time.Duration { return time.Second }}
				job := &heldJob{info: JobInfo{ID: 1, Type: "t", Attempt: 1}, handler: h}
				o := w.processor.outcome(job, err, cause, 0)

				// The rules, in the order in which they count.
				want := failure{RetryAfterMs: 1000}
				switch {
				case strings.Contains(errName, "reject"):
					want = failure{Final: true, Reason: "Rejected"}
				case causeName == "cancel":
					want = failure{Final: true, Reason: "Cancelled"}
				case (causeName == "shutdown" || causeName == "lost") && (errName == "safe" || safeType):
					want = failure{Reason: "Interrupted"}
				case causeName == "shutdown" || causeName == "lost":
					want = failure{Final: true, Reason: "Interrupted"}
				case errName == "after":
					want = failure{RetryAfterMs: 60000}
				}
				name := fmt.Sprintf("error %s, cause %s, type safe %v", errName, causeName, safeType)
				if errName == "nil" {
					if o.failure != nil {
						t.Errorf("%s: nil does not complete", name)
					}
					continue
				}
				if got := *o.failure; got.Final != want.Final || got.Reason != want.Reason || got.RetryAfterMs != want.RetryAfterMs {
					t.Errorf("%s: %+v, want %+v", name, got, want)
				}
				if o.failure.Error == "" {
					t.Errorf("%s: no text", name)
				}
			}
		}
	}
}

func TestABackoffThatPanicsIsReplaced(t *testing.T) {
	w, _, _ := newTestWorker(t, WorkerConfig{})
	h := &registeredHandler{backoff: func(int) time.Duration { panic("ouch") }}
	o := w.processor.outcome(&heldJob{info: JobInfo{Type: "t", Attempt: 1}, handler: h}, errors.New("boom"), nil, 0)
	if ms := o.failure.RetryAfterMs; ms < 4000 || ms > 6000 {
		t.Errorf("waits %dms", ms)
	}
}

func TestOwnershipIsDistrustedToTheTick(t *testing.T) {
	o := newOwnership()
	token := uuid.New()
	job := o.add(JobInfo{ID: 1}, nil, token, 10)
	ctx, cancel := context.WithCancelCause(t.Context())
	if lost := o.distrust(1000); len(lost) != 0 {
		t.Error("a job that does not run was distrusted")
	}
	o.run(job, 1, 20, cancel)
	if lost := o.distrust(20); len(lost) != 0 || ctx.Err() != nil {
		t.Error("distrusted too early")
	}
	o.renew(claim{1, token}, 30)
	o.renew(claim{1, token}, 25)       // a late answer takes nothing back
	o.renew(claim{1, uuid.New()}, 999) // nor does another claim's renew it
	if lost := o.distrust(30); len(lost) != 0 {
		t.Error("the renewal was not counted")
	}
	if lost := o.distrust(31); len(lost) != 1 || !errors.Is(context.Cause(ctx), ErrOwnershipLost) {
		t.Errorf("not distrusted: %v, %v", lost, context.Cause(ctx))
	}
	if lost := o.distrust(1000); len(lost) != 0 {
		t.Error("distrusted twice")
	}
	if len(o.claims()) != 0 {
		t.Error("a job that is not trusted is still renewed")
	}
}

func TestAJobClaimedAgainIsLostUnderItsFirstClaim(t *testing.T) {
	o := newOwnership()
	ctx, cancel := context.WithCancelCause(t.Context())
	first := o.add(JobInfo{ID: 1}, nil, uuid.New(), 0)
	o.run(first, 1, 0, cancel)
	second := o.add(JobInfo{ID: 1}, nil, uuid.New(), 5)
	if !errors.Is(context.Cause(ctx), ErrOwnershipLost) || !o.isLost(first) || o.isLost(second) {
		t.Error("the first claim was not lost")
	}
	o.remove(first)
	if all := o.claims(); len(all) != 1 || all[0].Token != second.Token {
		t.Errorf("held are %v", all)
	}
}

// While a stop gives jobs back, a heartbeat under way that misses them is no news.
func TestWhatIsBeingReleasedIsNotLost(t *testing.T) {
	o := newOwnership()
	token := uuid.New()
	o.add(JobInfo{ID: 1}, nil, token, 0)
	if n := o.release(); n != 1 || len(o.claims()) != 0 {
		t.Errorf("%d are being released; renewed are %v", n, o.claims())
	}
	if _, ok := o.cancel(claim{1, token}, ErrOwnershipLost); ok {
		t.Error("it counts as lost")
	}
	o.forget(1)
	if len(o.in(releasing)) != 0 {
		t.Error("it is still held")
	}
}

func TestAnOutageOfAnHourIsAFewCallsAndOneLine(t *testing.T) {
	w, manual, logs := newTestWorker(t, WorkerConfig{})
	away := mssql.Error{Number: 40613, Message: "away"}
	var at []time.Duration
	asleep, over := context.WithCancelCause(t.Context())
	go func() {
		// Without the bound of each call, whose timer would be a second waiter.
		_, err := repeat(t.Context(), w, func(error) bool { return false }, func(context.Context) (int, error) {
			at = append(at, manual.Monotonic())
			if manual.Monotonic() < time.Hour {
				return 0, away
			}
			return 1, nil
		})
		over(err)
	}()
	for manual.BlockUntil(asleep, 1) == nil {
		if d, ok := manual.AdvanceToNext(); ok && d > 15*time.Second {
			t.Fatalf("a wait of %v", d)
		}
	}
	if err := context.Cause(asleep); err != context.Canceled { // what WithCancelCause makes of nil
		t.Fatal(err)
	}
	if n := len(at); n < 240 || n > 1000 {
		t.Errorf("%d calls in an hour", n)
	}
	if away, back := logged(logs, "database.away"), logged(logs, "database.back"); away != 1 || back != 1 {
		t.Errorf("%d lines when it went away, %d when it came back", away, back)
	}
}

func TestHealth(t *testing.T) {
	w, _, logs := newTestWorker(t, WorkerConfig{})
	for range 100 { // two kinds of error by turns are two lines
		w.health.record(mssql.Error{Number: 4060})
		w.health.record(mssql.Error{Number: 40613})
	}
	if n := logged(logs, "database.away"); n != 2 || w.health.up() {
		t.Errorf("%d lines, up %v", n, w.health.up())
	}
	w.health.record(nil)
	w.health.record(nil)
	if n := logged(logs, "database.back"); n != 1 || !w.health.up() {
		t.Errorf("%d lines, up %v", n, w.health.up())
	}
}

// One outcome that the database cannot take does not keep back the others, and is tried again and again.
func TestAnOutcomeThatCannotBeStoredKeepsBackNoOther(t *testing.T) {
	w, manual, logs := newTestWorker(t, WorkerConfig{})
	c := w.completer
	refused := mssql.Error{Number: 2627, Message: "refused"}
	const n, bad = 100, 37
	var batch []outcome
	for i := range n {
		job := w.owned.add(JobInfo{ID: int64(i)}, nil, uuid.New(), 0)
		batch = append(batch, outcome{job: job, settled: make(chan struct{})})
	}
	takes := false
	calls := 0
	call := func(_ context.Context, batch []outcome) ([]answer, error) {
		calls++
		var all []answer
		for _, o := range batch {
			if o.job.JobID == bad && !takes {
				return nil, refused
			}
			all = append(all, answer{JobID: o.job.JobID, Result: "Completed"})
		}
		return all, nil
	}
	c.settle(t.Context(), batch, new(attempted), call)
	if got := w.Stats().Completed; got != n-1 {
		t.Errorf("%d of %d stored", got, n-1)
	}
	if calls > 20 {
		t.Errorf("%d calls to find one outcome", calls)
	}
	if logged(logs, "job.outcome_not_taken") != 1 || !w.health.up() {
		t.Error("the outcome is not named once, or the database counts as away")
	}
	again, wait, _ := c.take()
	if len(again) != 0 || wait <= 0 || wait > 200*time.Millisecond {
		t.Fatalf("%d at once, then after %v", len(again), wait)
	}
	manual.Advance(wait)
	again, _, _ = c.take()
	if len(again) != 1 || again[0].job.JobID != bad {
		t.Fatalf("later: %v", again)
	}
	takes = true
	c.settle(t.Context(), again, new(attempted), call)
	select {
	case <-again[0].settled:
	default:
		t.Error("it is not settled")
	}
	if held := w.owned.claims(); len(held) != 0 {
		t.Errorf("still held: %v", held)
	}
}

// When the database refuses every outcome, few calls find that out.
func TestWhenNoOutcomeIsTakenFewCallsAreMade(t *testing.T) {
	w, _, _ := newTestWorker(t, WorkerConfig{})
	var batch []outcome
	for i := range 1000 {
		batch = append(batch, outcome{job: w.owned.add(JobInfo{ID: int64(i)}, nil, uuid.New(), 0), settled: make(chan struct{})})
	}
	calls := 0
	w.completer.settle(t.Context(), batch, new(attempted), func(context.Context, []outcome) ([]answer, error) {
		calls++
		return nil, mssql.Error{Number: 229, Message: "denied"}
	})
	if calls > 20 {
		t.Errorf("%d calls", calls)
	}
	if n := len(w.completer.unstored()); n != 1000 {
		t.Errorf("%d wait", n)
	}
}

// An outcome that was handed over before the close is among those that wait, however many there are.
func TestNoOutcomeIsLostWhereManyWait(t *testing.T) {
	w, _, _ := newTestWorker(t, WorkerConfig{})
	c := w.completer
	returned := make(chan struct{}, 3)
	for i := range maxOutcomes + 3 {
		o := outcome{job: &heldJob{claim: claim{JobID: int64(i)}}}
		if i < maxOutcomes {
			c.add(o)
			continue
		}
		go func() {
			c.add(o)
			returned <- struct{}{}
		}()
	}
	for len(c.unstored()) < maxOutcomes+3 {
		time.Sleep(time.Millisecond) // a pause between two looks
	}
	c.close()
	select {
	case <-returned:
		t.Error("a handler beyond the bound did not wait")
	default:
	}
	ended, end := context.WithCancel(t.Context())
	end()
	c.run(ended) // the database has not answered until the end of the stop
	for range 3 {
		<-returned
	}
	if n := len(c.unstored()); n != maxOutcomes+3 {
		t.Errorf("%d are reported as not stored", n)
	}
}

func TestRunIsCalledOnce(t *testing.T) {
	w, _, _ := newTestWorker(t, WorkerConfig{})
	if err := w.Run(t.Context()); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "no handler") {
		t.Error(err)
	}
	if err := w.Run(t.Context()); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "twice") {
		t.Error(err)
	}
	if err := w.Ready(); err == nil {
		t.Error("it is ready")
	}
}
