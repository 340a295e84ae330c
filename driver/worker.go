package driver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/chokaq/chokaq/internal/clock"
)

// Worker claims jobs and runs their handlers until it is stopped. Register handlers with [Handle], then call Run once.
type Worker struct {
	client     *Client
	config     WorkerConfig
	id         uuid.UUID
	log        *zap.Logger
	clock      clock.Clock
	procedures *procedures
	handlers   map[string]*registeredHandler // by job type; anyType: the one for all others
	middleware []func(HandlerFunc) HandlerFunc
	faults     []error // of registrations
	state      stateBox
	stats      counters
	health     *health
	owned      *ownership
	timeouts   recoveryTimeouts
	// registering: the database has been asked to register the worker, and may have done so.
	registering bool

	prefetch       chan *heldJob
	admission      *admission
	claimer        *claimer
	processor      *processor
	completer      *completer
	heartbeater    *heartbeater
	ticker         *ticker
	controller     *controller
	storedAt       atomic.Int64    // monotonic nanoseconds before the last heartbeat that was surely stored was sent
	shutdownStep   atomic.Int64    // 0: it runs
	handlerContext context.Context // of every handler; canceled with a cause by the shutdown alone
	stopHandlers   context.CancelCauseFunc
}

// NewWorker makes a worker. Faults of the config are reported here, all at once, as ErrConfig. A nil logger logs nothing.
func NewWorker(client *Client, config WorkerConfig, logger *zap.Logger) (*Worker, error) {
	config = config.withDefaults()
	if err := configError(config.check()); err != nil {
		return nil, err
	}
	if logger == nil {
		logger = zap.NewNop()
	}
	w := &Worker{
		client: client, config: config, id: uuid.New(), clock: client.clock, handlers: make(map[string]*registeredHandler),
		owned: newOwnership(), prefetch: make(chan *heldJob, config.Prefetch), admission: newAdmission(config.Handlers, config.Prefetch),
		procedures: client.procedures(client.worker),
	}
	w.log = logger.With(zap.Stringer("worker", w.id))
	w.health = &health{log: w.log, clock: w.clock}
	w.claimer, w.processor, w.completer, w.heartbeater, w.ticker = newClaimer(w), newProcessor(w), newCompleter(w), &heartbeater{w: w}, &ticker{w: w, woken: make(chan struct{}, 1)}
	w.controller = &controller{w: w, woken: make(chan struct{}, 1)}
	return w, nil
}

// ID is the worker's id in chokaq.Workers: a new one for each Worker.
func (w *Worker) ID() uuid.UUID { return w.id }

// Ready is nil while the worker claims jobs and the database answers; otherwise it says why not. For a readiness probe.
func (w *Worker) Ready() error {
	if s := w.state.get(); s != stateRunning {
		return fmt.Errorf("chokaq: the worker is %s", s)
	}
	if !w.health.up() {
		return errors.New("chokaq: the database does not answer")
	}
	return nil
}

// Handlers is the number of handler slots: how many jobs may run at a time.
func (w *Worker) Handlers() int { return w.admission.getSlots() }

// SetHandlers changes the number of handler slots, 1 to 10000, at any time and from any goroutine. With more, more jobs start at once; with fewer, those that run
// go on, and none starts until fewer run. The room of the prefetch channel stays what it is. The error is ErrConfig, and nothing was changed.
func (w *Worker) SetHandlers(n int) error {
	if n < 1 || n > maxHandlers {
		return fmt.Errorf("%w: Handlers: must be 1 to %d, and is %d; it stays %d", ErrConfig, maxHandlers, n, w.Handlers())
	}
	if before := w.Handlers(); before != n {
		w.admission.setSlots(n)
		w.log.Info("the number of handlers was changed", event("worker.handlers_changed"), zap.Int("before", before), zap.Int("handlers", n))
	}
	return nil
}

// serves reports whether the worker serves one of the queues.
func (w *Worker) serves(queues map[string]struct{}) bool {
	for _, queue := range w.config.Queues {
		if _, ok := queues[queue]; ok {
			return true
		}
	}
	return false
}

// Run works until ctx ends, then stops gracefully (docs/shutdown.md has the steps) and returns within
// WorkerConfig.ShutdownBound, whatever the database does. It returns
//
//   - nil when everything that it held was completed, failed, or given back;
//   - a *ShutdownError (ErrWorkRemains) that names what was left to recovery;
//   - ErrConfig or ErrSchema, before anything was claimed, when settings, registrations or the database do not fit;
//   - the error of the first connection when it cannot go away by itself, such as a wrong password.
//
// A database that cannot be reached, at the start or later, is waited for. Run may be called once.
func (w *Worker) Run(ctx context.Context) error {
	if !w.state.move(stateNew, stateStarting) {
		return fmt.Errorf("%w: Run was called twice", ErrConfig)
	}
	defer w.state.set(stateStopped)
	if err := w.CheckHandlers(); err != nil {
		return err
	}
	w.wrapHandlers()
	for _, h := range w.handlers {
		if h.concurrency > 0 {
			w.admission.limit(h, h.concurrency)
		}
	}
	if err := w.prepare(ctx); err != nil {
		w.unregister(ctx)
		if ctx.Err() != nil && !errors.Is(err, ErrConfig) && !errors.Is(err, ErrSchema) {
			return nil // stopped before it had begun: it holds nothing
		}
		return err
	}
	return w.work(ctx)
}

// prepare makes sure that worker and database fit together, and registers the worker. It waits for a database that is away.
func (w *Worker) prepare(ctx context.Context) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 200*time.Millisecond, 15*time.Second
	for {
		_, err := attempt(ctx, w.clock, w.config.CommandTimeout, func(ctx context.Context) (installation, error) {
			return checkInstallation(ctx, w.procedures)
		})
		if err == nil {
			w.registering = true
			w.timeouts, err = attempt(ctx, w.clock, w.config.CommandTimeout, func(ctx context.Context) (recoveryTimeouts, error) {
				return w.procedures.register(ctx, w.registration())
			})
			err = misfit(err)
			w.registering = sqlNumber(err) != numberExecuteDenied // otherwise there is nothing to say that it has stopped
		}
		if err == nil {
			w.storedAt.Store(int64(w.clock.Monotonic()))
			w.health.record(nil)
			return w.config.checkTimeouts(w.timeouts)
		}
		if ctx.Err() != nil || errors.Is(err, ErrSchema) || !IsTransient(err) {
			return err
		}
		w.health.record(err)
		if w.clock.Sleep(ctx, wait.NextBackOff()) != nil {
			return err
		}
	}
}

// unregister says that a worker which may have registered and does not run has stopped. It does not insist.
func (w *Worker) unregister(ctx context.Context) {
	if !w.registering {
		return
	}
	within, stop := withTimeout(context.WithoutCancel(ctx), w.clock, min(time.Second, w.config.FlushTimeout), errFlushTimeout)
	defer stop()
	if err := w.procedures.setWorkerState(within, w.id, "stopped", ""); err != nil {
		w.log.Warn("the worker could not say that it has stopped; it will show as gone", event("shutdown.stopped_unsaid"), zap.Error(err))
	}
}

func (w *Worker) registration() registration {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	types, _ := w.claimedTypes(nil)
	return registration{
		WorkerID: w.id, HostName: host, ProcessID: os.Getpid(), Version: w.config.Version,
		Queues: w.config.Queues, Handlers: w.Handlers(), Prefetch: w.config.Prefetch, JobTypes: types,
	}
}

// work runs the parts of the worker until ctx ends, and then the shutdown.
func (w *Worker) work(ctx context.Context) error {
	stopObserving, err := w.observe()
	if err != nil {
		return fmt.Errorf("%w: the meter provider does not take the worker's gauges: %w", ErrConfig, err)
	}
	defer stopObserving()
	// Nothing here runs on ctx itself: its end starts the shutdown, and no step of that may be cut off by it.
	base, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(ErrShutdown)
	w.handlerContext, w.stopHandlers = context.WithCancelCause(base)
	claiming, stopClaiming := context.WithCancelCause(base)
	starting, stopStarting := context.WithCancelCause(base)
	beating, stopBeating := context.WithCancelCause(base)
	storing, stopStoring := context.WithCancelCause(base)

	w.client.listen(w)
	defer w.client.unlisten(w)
	w.state.set(stateRunning)
	w.log.Info("the worker runs", event("worker.running"), zap.Strings("queues", w.config.Queues), zap.Int("handlers", w.Handlers()),
		zap.Int("prefetch", w.config.Prefetch), zap.Duration("heartbeat_interval", w.config.HeartbeatInterval),
		zap.Duration("fetched_job_timeout", w.timeouts.FetchedJob), zap.Duration("processing_zombie_timeout", w.timeouts.ProcessingZombie),
		zap.Duration("grace_period", w.config.WorkerShutdownGracePeriod))

	var claimer, processor, completer, beats sync.WaitGroup
	completer.Go(func() { w.completer.run(storing) })
	beats.Go(func() { w.heartbeater.run(beating) })
	beats.Go(func() { w.heartbeater.watch(beating) })
	if w.config.RecoveryEnabled {
		beats.Go(func() { w.recoverEvery(beating, w.config.RecoveryInterval, ResetFetchedJobs, RescueZombieJobs) })
		beats.Go(func() { w.recoverEvery(beating, w.config.PurgeInterval, PurgeHistory) })
	}
	claimer.Go(func() { w.claimer.run(claiming) })
	beats.Go(func() { w.ticker.run(claiming) })
	beats.Go(func() { w.controller.run(beating) })
	processor.Go(func() { w.processor.run(claiming, starting) })

	<-ctx.Done()
	s := &shutdown{
		w: w, base: base, began: w.clock.Monotonic(), reason: context.Cause(ctx),
		stopClaiming: stopClaiming, stopStarting: stopStarting, stopBeating: stopBeating, stopStoring: stopStoring,
		claimed: closedAfter(&claimer), processed: closedAfter(&processor), completed: closedAfter(&completer), beaten: closedAfter(&beats),
	}
	return s.run()
}

// closedAfter is closed when the group is done.
func closedAfter(group *sync.WaitGroup) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	return done
}

// sleepUnless waits for d, or less when woken has a mark. It reports whether ctx goes on.
func (w *Worker) sleepUnless(ctx context.Context, d time.Duration, woken <-chan struct{}) bool {
	timer := w.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-woken:
		return true
	case <-ctx.Done():
		return false
	}
}
