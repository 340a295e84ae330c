package engine

import (
	"context"
	"errors"
	"math/rand/v2"

	"strings"
	"sync"
	"time"

	"github.com/chokaq/chokaq/internal/clock"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// Session is one connection's state in the server. Its requests come one at a time;
// only Kill and what the dynamic management views read may come from elsewhere.
type Session struct {
	be    backend
	clk   clock.Clock
	spid  int
	login Login

	settings settings
	txn      txnState
	identity value.Value // @@IDENTITY

	// of the running request
	ctx        context.Context
	frame      *frame // the innermost
	rowCount   int64  // @@ROWCOUNT
	lastError  int32  // @@ERROR
	stmtTime   time.Time
	tryDepth   int            // TRY blocks of all frames that are being executed
	caught     []*value.Error // errors of the CATCH blocks that are being executed
	level      int            // @@NESTLEVEL
	insertExec int            // INSERT ... EXEC statements that are being executed
	statement  uint64         // counts the statements run
	dice       *rand.Rand     // of RAND()
	rolledAt   uint64         // the statement that rolled belongs to
	rolled     map[*randomCall]float64

	sessionContext map[string]contextValue
	prepared       map[string]*preparedBody
	modules        map[*module]*preparedBody
	handles        map[int32]*preparedHandle
	lastHandle     int32
	globalCursors  map[string]*cursor
	fetchStatus    int64

	shown shownSession

	mu      sync.Mutex
	killed  context.CancelCauseFunc // of the running request
	onKill  func()                  // closes the connection
	gone    chan struct{}           // closed when Close has done its work
	dead    bool
	started time.Time
}

// errKilled ends a request whose session KILL has ended.
var errKilled = errors.New("session killed")

// sessionOptions are what a new session is made of.
type sessionOptions struct {
	backend backend
	clock   clock.Clock
	spid    int
	login   Login
}

// newSession makes a session in its initial state. The planning half sets the backend's
// own part up before the first request.
func newSession(o sessionOptions) *Session {
	s := &Session{be: o.backend, clk: o.clock, spid: o.spid, login: o.login, gone: make(chan struct{})}
	// What has been compiled outlives a reset: pooled connections run the same few texts.
	s.prepared = map[string]*preparedBody{}
	s.modules = map[*module]*preparedBody{}
	s.clear()
	s.started = o.clock.Now()
	return s
}

// clear puts everything that a new connection has into its initial state.
func (s *Session) clear() {
	s.settings = defaultSettings()
	s.identity = value.NewNull(value.Decimal)
	s.rowCount, s.lastError, s.fetchStatus = 0, 0, 0
	s.stmtTime = s.clk.Now().UTC()
	s.sessionContext = map[string]contextValue{}
	s.handles = map[int32]*preparedHandle{}
	s.globalCursors = map[string]*cursor{}
	s.tryDepth, s.level, s.insertExec, s.caught = 0, 0, 0, nil
	s.show()
}

// Reset makes the session as new, as sp_reset_connection does for a pooled connection.
// The isolation level goes back to READ COMMITTED, as it does since SQL Server 2014.
// keepTransaction is RESETCONNECTIONSKIPTRAN.
func (s *Session) Reset(keepTransaction bool) {
	ctx := context.Background()
	if !keepTransaction {
		s.rollbackAll()
	}
	txn := s.txn
	s.be.resetSession(ctx, false)
	s.clear()
	if keepTransaction {
		s.txn = txn
	}
}

// Close ends the session: it rolls back and drops what is the session's own.
func (s *Session) Close() {
	s.mu.Lock()
	dead := s.dead
	s.dead = true
	s.mu.Unlock()
	if dead {
		return
	}
	s.rollbackAll()
	s.be.resetSession(context.Background(), true)
	close(s.gone)
}

// Kill ends the running request and marks the session dead; its connection is then to
// be closed by its owner.
func (s *Session) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.killed != nil {
		s.killed(errKilled)
	}
	if s.onKill != nil {
		s.onKill()
	}
}

// End is Kill that waits until the session has ended, with what it had open rolled back.
func (s *Session) End(ctx context.Context) error {
	s.Kill()
	s.mu.Lock()
	owned := s.onKill != nil
	s.mu.Unlock()
	if !owned { // no connection, whose owner would close it
		s.Close()
	}
	select {
	case <-s.gone:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// SPID is the session's id.
func (s *Session) SPID() int { return s.spid }

func (s *Session) now() time.Time { return s.stmtTime }

func (s *Session) context() context.Context {
	if s == nil || s.ctx == nil {
		return context.Background()
	}
	return s.ctx
}

func (s *Session) isolation() isolation { return s.settings.isolation }

// convertEnv is what conversions need to know of the session.
func (s *Session) convertEnv() value.ConvertEnv {
	return value.ConvertEnv{DateFormat: s.settings.dateFormat, Language: s.settings.language}
}

// request brackets a request: it installs its context and cleans up behind it.
func (s *Session) request(ctx context.Context, sink Sink, run func(ctx context.Context) error) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	if s.dead {
		s.mu.Unlock()
		cancel(nil)
		return errKilled
	}
	s.killed = cancel
	s.mu.Unlock()
	s.ctx = ctx
	s.stmtTime = s.clk.Now().UTC()
	s.shown.begun.Store(s.stmtTime.UnixNano())
	s.tryDepth, s.level, s.insertExec, s.caught = 0, 0, 0, nil
	defer func() {
		s.show()
		s.shown.ended.Store(s.clk.Now().UnixNano())
		s.mu.Lock()
		s.killed = nil
		s.mu.Unlock()
		s.ctx, s.frame = nil, nil
		cancel(nil)
	}()
	err = run(ctx)
	if e := s.endRequest(sink, err); e != nil {
		err = e
	}
	if errors.Is(context.Cause(ctx), errKilled) {
		s.rollbackAll()
		return errKilled
	}
	return err
}

// endRequest turns what is left of a request into what the client sees: an uncommittable
// transaction is rolled back with error 3998.
func (s *Session) endRequest(sink Sink, err error) error {
	if s.txn.doomed && err == nil {
		if e := s.rollbackTransaction(sink); e != nil {
			return e
		}
		return sink.Message(sqlError(3998, 16, 1, "Uncommittable transaction is detected at the end of the batch. The transaction is rolled back."))
	}
	if err != nil && s.txn.doomed {
		s.rollbackAll()
	}
	return nil
}

// coercibility is how strongly an expression holds on to its collation.
type coercibility uint8

const (
	coercibleDefault coercibility = iota
	noCollation                   // two different implicit collations met: an error once it matters
	implicitCollation
	explicitCollation
)

// foldName folds an identifier for lookup in a case-insensitive database.
func foldName(s string) string { return strings.ToLower(s) }

// sqlError makes a server error.
func sqlError(number int32, class, state uint8, format string, args ...any) *value.Error {
	return value.NewError(number, class, state, format, args...)
}
