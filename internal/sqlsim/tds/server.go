// Package tds is the server side of the Tabular Data Stream protocol, versions 7.1 to
// 7.4 and 8.0, as go-mssqldb and FreeTDS speak it.
//
// It does not implement, and refuses by name: bulk load, MARS, integrated and federated
// authentication, changing a password at login, attaching a database file, Always
// Encrypted, distributed transactions, parameters of type xml and CLR types, and
// versions of the protocol before 7.1. Session recovery, data classification, JSON and vector types are not
// acknowledged when a client offers them.
package tds

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chokaq/chokaq/internal/sqlsim/fault"
)

// Options of a Server. Only Backend is required.
type Options struct {
	Backend Backend
	Faults  fault.Faults
	Logger  *slog.Logger
	// Name is the server's, as errors tell it; by default sqlsim.
	Name string
	// Version is what the server says it is; by default 16.0.4000.0, SQL Server 2022.
	Version [4]uint16
	// Certificate is for encrypted connections; by default one is made when first needed.
	Certificate *tls.Certificate
	// NoTLS says to clients that encryption is not supported.
	NoTLS bool
	// MaxMessage bounds the size of a request; by default 64 MiB.
	MaxMessage int
	// LoginTimeout bounds the time from connecting to being logged in; by default 15s.
	LoginTimeout time.Duration
}

// Counters tell what a Server has done.
type Counters struct {
	Connections int64 // accepted so far
	Open        int64 // now
	Logins      int64
	LoginErrors int64
	Batches     int64
	Calls       int64
	Attentions  int64
	Resets      int64
}

// Server accepts connections.
type Server struct {
	opts   Options
	ctx    context.Context
	cancel context.CancelCauseFunc
	tls    func() (*tls.Config, error)

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	closed    bool
	wg        sync.WaitGroup

	connections, open, logins, loginErrors, batches, calls, attentions, resets atomic.Int64
}

// ErrServerClosed is what Serve returns after Close.
var ErrServerClosed = errors.New("tds: server closed")

// NewServer makes a Server; Serve starts it.
func NewServer(opts Options) *Server {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Faults == nil {
		opts.Faults = fault.New()
	}
	if opts.Name == "" {
		opts.Name = "sqlsim"
	}
	if opts.Version == [4]uint16{} {
		opts.Version = [4]uint16{16, 0, 4000, 0}
	}
	if opts.MaxMessage == 0 {
		opts.MaxMessage = 64 << 20
	}
	if opts.LoginTimeout == 0 {
		opts.LoginTimeout = 15 * time.Second
	}
	s := &Server{opts: opts, listeners: map[net.Listener]struct{}{}, conns: map[*conn]struct{}{}}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.tls = sync.OnceValues(func() (*tls.Config, error) {
		cert := opts.Certificate
		if cert == nil {
			made, err := selfSigned(opts.Name)
			if err != nil {
				return nil, err
			}
			cert = &made
		}
		return &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12}, nil
	})
	return s
}

// Serve accepts connections until Close, then returns ErrServerClosed.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		l.Close()
		return ErrServerClosed
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.listeners, l)
		s.mu.Unlock()
		l.Close()
	}()
	for {
		nc, err := l.Accept()
		if err != nil {
			if s.ctx.Err() != nil {
				return ErrServerClosed
			}
			return err
		}
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			nc.Close()
			return ErrServerClosed
		}
		c := newConn(s, nc)
		s.conns[c] = struct{}{}
		s.wg.Add(1)
		s.mu.Unlock()
		s.connections.Add(1)
		s.open.Add(1)
		go func() {
			defer s.wg.Done()
			defer s.open.Add(-1)
			c.serve()
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		}()
	}
}

// Close stops listening, ends every connection, and returns when all have ended.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.cancel(ErrServerClosed)
	for l := range s.listeners {
		l.Close()
	}
	for c := range s.conns {
		c.nc.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	return nil
}

// DropConnections breaks every connection, as a failover does, and goes on listening.
func (s *Server) DropConnections() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.nc.Close()
	}
}

// Counters tells what was done so far.
func (s *Server) Counters() Counters {
	return Counters{
		Connections: s.connections.Load(), Open: s.open.Load(), Logins: s.logins.Load(), LoginErrors: s.loginErrors.Load(),
		Batches: s.batches.Load(), Calls: s.calls.Load(), Attentions: s.attentions.Load(), Resets: s.resets.Load(),
	}
}
