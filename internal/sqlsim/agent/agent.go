// Package agent is SQL Server Agent for sqlsim: its objects in msdb, and a service that runs the T-SQL steps of jobs when
// their schedules are due, and records what came of it where a DBA would look.
//
// Like the real Agent it connects with QUOTED_IDENTIFIER OFF, looks at msdb for what to do, never runs a job twice at
// a time, and runs the steps of a job whose owner is no member of sysadmin as that owner. It knows steps of subsystem TSQL, and schedules that are once,
// daily, weekly or at Agent's start; msdb's procedures refuse the rest by name. Messages of a run go to sysjobhistory, whose
// limits are the defaults of Agent: 100 rows a job, 1000 in all.
package agent

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/chokaq/chokaq/internal/clock"
	"github.com/chokaq/chokaq/internal/sqlsim/engine"
)

// Agent is the service.
type Agent struct {
	engine   *engine.Server
	clock    clock.Clock
	logger   *slog.Logger
	user     string
	password string

	mu      sync.Mutex
	stop    context.CancelFunc // nil: it is stopped
	stopped chan struct{}
}

// New makes Agent's objects in msdb. The service is started by Start.
func New(ctx context.Context, e *engine.Server, user, password string, logger *slog.Logger) (*Agent, error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	a := &Agent{engine: e, clock: e.Clock(), logger: logger, user: user, password: password}
	s, err := a.connect(ctx, "msdb", "SQLAgent - Install")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return a, install(ctx, s)
}

// Start starts the service, if it does not run.
func (a *Agent) Start() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stop != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	a.stop, a.stopped = stop, done
	go func() {
		defer close(done)
		a.serve(ctx)
	}()
}

// Stop stops the service and waits for it; jobs that run are canceled.
func (a *Agent) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stop == nil {
		return
	}
	a.stop()
	<-a.stopped
	a.stop = nil
}

// connect opens a session of Agent's own.
func (a *Agent) connect(ctx context.Context, database, program string) (*engine.Session, error) {
	return a.engine.Connect(ctx, engine.Login{User: a.user, Password: a.password, Database: database, HostName: a.engine.ServerName(), AppName: program})
}

// serve looks every second at what is due.
func (a *Agent) serve(ctx context.Context) {
	s, err := a.connect(ctx, "msdb", "SQLAgent - Schedule")
	if err != nil {
		a.logger.Error("SQL Server Agent cannot connect", "error", err)
		return
	}
	defer s.Close()
	if _, err := query(ctx, s, "INSERT INTO dbo.syssessions (agent_start_date) VALUES (GETDATE())"); err != nil {
		a.logger.Error("SQL Server Agent cannot start", "error", err)
		return
	}
	r := &runs{agent: a, due: make(map[dueKey]time.Time), running: make(map[string]bool)}
	defer r.jobs.Wait()
	ticker := a.clock.NewTicker(time.Second)
	defer ticker.Stop()
	for first := true; ; first = false {
		if err := r.look(ctx, s, first); err != nil && ctx.Err() == nil {
			a.logger.Error("SQL Server Agent cannot read msdb", "error", err)
		}
		select {
		case <-ticker.C():
		case <-ctx.Done():
			return
		}
	}
}
