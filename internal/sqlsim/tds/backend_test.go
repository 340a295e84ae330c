package tds

import (
	"context"
	"database/sql"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/chokaq/chokaq/internal/sqlsim/engine"
	"github.com/chokaq/chokaq/internal/sqlsim/fault"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// scripted is a backend whose answers a test writes.
type scripted struct {
	batch func(ctx context.Context, s *scriptedSession, sql string, sink engine.Sink) error
	call  func(ctx context.Context, s *scriptedSession, call engine.Call, sink engine.Sink) error

	mu     sync.Mutex
	logins []engine.Login
	log    []string
	open   int
}

func (b *scripted) note(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log = append(b.log, s)
}

func (b *scripted) noted() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.log...)
}

func (b *scripted) sessions() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open
}

func (b *scripted) Connect(ctx context.Context, l engine.Login) (Session, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.Password != "Sesame1!" {
		return nil, value.NewError(18456, 14, 8, "Login failed for user '%s'.", l.User)
	}
	b.logins = append(b.logins, l)
	b.open++
	return &scriptedSession{b: b, id: 50 + len(b.logins), login: l}, nil
}

type scriptedSession struct {
	b      *scripted
	id     int
	login  engine.Login
	tran   uint64
	nextID uint64
	hangUp func()
}

func (s *scriptedSession) Batch(ctx context.Context, sql string, sink engine.Sink) error {
	return s.b.batch(ctx, s, sql, sink)
}

func (s *scriptedSession) Call(ctx context.Context, call engine.Call, sink engine.Sink) error {
	if s.b.call == nil { // the driver calls a statement of one word as a procedure
		return s.b.batch(ctx, s, call.Procedure, sink)
	}
	return s.b.call(ctx, s, call, sink)
}

func (s *scriptedSession) Begin(_ context.Context, iso uint8, name string, sink engine.Sink) error {
	s.b.note("begin " + strconv.Itoa(int(iso)) + name)
	s.nextID++
	s.tran = s.nextID
	return sink.TransactionChanged(s.tran, false)
}

func (s *scriptedSession) Commit(_ context.Context, name string, sink engine.Sink) error {
	s.b.note("commit" + name)
	s.tran = 0
	return sink.TransactionChanged(0, false)
}

func (s *scriptedSession) Rollback(_ context.Context, name string, sink engine.Sink) error {
	s.b.note("rollback" + name)
	s.tran = 0
	return sink.TransactionChanged(0, true)
}

func (s *scriptedSession) Save(_ context.Context, name string, _ engine.Sink) error {
	s.b.note("save " + name)
	return nil
}

func (s *scriptedSession) Reset(bool) { s.b.note("reset") }

func (s *scriptedSession) Close() {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	s.b.open--
}

func (s *scriptedSession) Database() string {
	if s.login.Database == "" {
		return "master"
	}
	return s.login.Database
}

func (s *scriptedSession) Collation() value.Collation { return value.DefaultCollation }
func (s *scriptedSession) TransactionID() uint64      { return s.tran }
func (s *scriptedSession) SPID() int                  { return s.id }
func (s *scriptedSession) OnKill(hangUp func())       { s.hangUp = hangUp }

// echoParams answers a call with a row of its parameters, as sp_executesql of
// "SELECT @p1, @p2" would.
func echoParams(_ context.Context, _ *scriptedSession, call engine.Call, sink engine.Sink) error {
	var cols []engine.Column
	var row []value.Value
	for _, p := range call.Params[2:] {
		cols = append(cols, engine.Column{Name: strings.TrimPrefix(p.Name, "@"), Type: p.Type, Nullable: true})
		row = append(row, p.Value)
	}
	if err := sink.Columns(cols); err != nil {
		return err
	}
	if err := sink.Row(row); err != nil {
		return err
	}
	if err := sink.Done(engine.CommandSelect, 1, true); err != nil {
		return err
	}
	return sink.Return(0)
}

// start serves b and answers the address.
func start(t testing.TB, b *scripted, opts Options) (*Server, string) {
	t.Helper()
	opts.Backend = b
	s := NewServer(opts)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-done; err != ErrServerClosed {
			t.Errorf("Serve: %v", err)
		}
		if n := b.sessions(); n != 0 {
			t.Errorf("%d sessions were not closed", n)
		}
	})
	return s, l.Addr().String()
}

func open(t testing.TB, addr, options string) *sql.DB {
	t.Helper()
	connector, err := mssql.NewConnector("sqlserver://sa:Sesame1!@" + addr + "?database=chokaq&" + options)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}

var _ fault.Faults = (*fault.Injector)(nil)
