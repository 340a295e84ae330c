// Package sqlsim is a SQL Server for tests, demos and laptops: in this process, in
// memory, on a loopback port. Clients talk to it with go-mssqldb or FreeTDS as they would
// to the real one.
//
// It is a tool for development and tests. What it does not support fails with an error
// (40510) that names the construct; what it does should be what SQL Server documents,
// and where it is not, sqlsim is wrong.
package sqlsim

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/chokaq/chokaq/internal/clock"
	"github.com/chokaq/chokaq/internal/sqlsim/agent"
	"github.com/chokaq/chokaq/internal/sqlsim/engine"
	"github.com/chokaq/chokaq/internal/sqlsim/fault"
	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/tds"
)

// Options of a Server; the zero value is good for most tests.
type Options struct {
	// Addr is where to listen; by default a free port of the loopback interface.
	Addr string
	// Password is that of the login sa; by default a random one, which DSN tells.
	Password string
	// TLS makes DSN ask for encryption. Clients may encrypt in any case, unless NoTLS.
	TLS   bool
	NoTLS bool
	// Certificate is the server's; by default it makes one for itself.
	Certificate *tls.Certificate
	// Clock is the server's; by default one that runs with real time and that
	// AdjustableClock puts forward.
	Clock clock.Clock
	// Collation is the server's; by default SQL_Latin1_General_CP1_CI_AS.
	Collation string
	// Name is @@SERVERNAME; by default SQLSIM.
	Name string
	// Version is the product version; by default one of SQL Server 2022.
	Version string
	// Edition is SERVERPROPERTY('Edition'), by which EngineEdition goes; by default "Developer Edition (64-bit)".
	Edition string
	// NoAgent leaves SQL Server Agent out: msdb is empty, as where Agent was never installed.
	NoAgent bool
	// Logger gets what goes wrong within; by default nobody does.
	Logger *slog.Logger
}

// Server is a running server.
type Server struct {
	opts     Options
	engine   *engine.Server
	wire     atomic.Pointer[tds.Server] // a new one after a restart
	before   earlier
	version  [4]uint16
	faults   *fault.Injector
	agent    *agent.Agent // nil with NoAgent
	listener net.Listener // the first; its address stays
	served   chan error
}

// Start starts a server. Close it after use.
func Start(opts Options) (*Server, error) {
	if opts.Addr == "" {
		opts.Addr = "127.0.0.1:0"
	}
	if opts.Password == "" {
		opts.Password = "Sa1-" + rand.Text()
	}
	if opts.Clock == nil {
		opts.Clock = clock.NewAdjustable()
	}
	e, err := engine.NewServer(engine.Options{
		Clock: opts.Clock, Collation: opts.Collation, Name: opts.Name, Version: opts.Version, Edition: opts.Edition,
		Logins: map[string]string{"sa": opts.Password},
	})
	if err != nil {
		return nil, fmt.Errorf("sqlsim: %w", err)
	}
	version, err := versionNumbers(e.ProductVersion())
	if err != nil {
		return nil, err
	}
	s := &Server{opts: opts, engine: e, version: version, faults: fault.New(), served: make(chan error, 1)}
	if !opts.NoAgent {
		if s.agent, err = agent.New(context.Background(), e, "sa", opts.Password, opts.Logger); err != nil {
			return nil, err
		}
	}
	if s.listener, err = net.Listen("tcp", opts.Addr); err != nil {
		return nil, fmt.Errorf("sqlsim: %w", err)
	}
	if s.agent != nil {
		s.agent.Start()
	}
	s.serve(s.listener)
	return s, nil
}

// serve begins to serve clients.
func (s *Server) serve(listener net.Listener) {
	wire := tds.NewServer(tds.Options{
		Backend: backend{s.engine}, Faults: s.faults, Logger: s.opts.Logger, Name: s.engine.ServerName(), Version: s.version,
		Certificate: s.opts.Certificate, NoTLS: s.opts.NoTLS,
	})
	s.wire.Store(wire)
	go func() { s.served <- wire.Serve(listener) }()
}

// versionNumbers reads the four numbers of a product version.
func versionNumbers(text string) (v [4]uint16, err error) {
	parts := strings.Split(text, ".")
	if len(parts) != 4 {
		return v, fmt.Errorf("sqlsim: %q is not a product version such as 16.0.4135.4", text)
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return v, fmt.Errorf("sqlsim: %q is not a product version such as 16.0.4135.4", text)
		}
		v[i] = uint16(n)
	}
	return v, nil
}

// Close ends all connections and sessions and waits for them.
func (s *Server) Close() error {
	if s.agent != nil {
		s.agent.Stop()
	}
	err := s.wire.Load().Close()
	if served := <-s.served; !errors.Is(served, tds.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	s.served <- tds.ErrServerClosed // so that Close can be called again
	return err
}

// Agent is SQL Server Agent, which runs from the start; nil with Options.NoAgent.
func (s *Server) Agent() *agent.Agent { return s.agent }

// Addr is the address that the server listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// DSN is the data source name of a database, for login sa.
func (s *Server) DSN(database string) string { return s.DSNFor(database, "sa", s.opts.Password) }

// DSNFor is the data source name of a database for any login.
func (s *Server) DSNFor(database, login, password string) string {
	q := url.Values{}
	if database != "" {
		q.Set("database", database)
	}
	if s.opts.TLS {
		q.Set("encrypt", "true")
		q.Set("TrustServerCertificate", "true")
	} else {
		q.Set("encrypt", "disable")
	}
	u := url.URL{Scheme: "sqlserver", User: url.UserPassword(login, password), Host: s.Addr(), RawQuery: q.Encode()}
	return u.String()
}

// Faults is where tests add faults.
func (s *Server) Faults() *fault.Injector { return s.faults }

// Clock is the server's clock.
func (s *Server) Clock() clock.Clock { return s.opts.Clock }

// AdjustableClock is the server's clock when it was not given one.
func (s *Server) AdjustableClock() *clock.Adjustable {
	c, ok := s.opts.Clock.(*clock.Adjustable)
	if !ok {
		panic("sqlsim: the server was started with a clock of its own")
	}
	return c
}

// Counters tell what has come over the wire.
func (s *Server) Counters() tds.Counters { return sum(s.before.get(), s.wire.Load().Counters()) }

// Deadlocks are the reports of all deadlocks so far, oldest first.
func (s *Server) Deadlocks() []storage.DeadlockReport { return s.engine.Deadlocks() }

// Engine is the server behind the wire: what tables cost to read, which locks are held, who waits.
func (s *Server) Engine() *engine.Server { return s.engine }

// DropConnections breaks every connection, as a failover does, and takes new ones.
func (s *Server) DropConnections() { s.wire.Load().DropConnections() }
