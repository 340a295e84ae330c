package tds

import (
	"context"

	"github.com/chokaq/chokaq/internal/sqlsim/engine"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// Backend is what runs behind the protocol.
type Backend interface {
	// Connect checks a login and opens a session. An error that is a *value.Error goes
	// to the client; 18456 hides its state.
	Connect(ctx context.Context, login engine.Login) (Session, error)
}

// Session is one connection's session. One goroutine uses it at a time.
//
// The methods that run something send errors of the request to sink. An error they
// return says that the session cannot go on, or that ctx ended, or is a *value.Error
// that was not sent yet. When ctx ends, because of an attention or a broken connection, they return soon.
type Session interface {
	Batch(ctx context.Context, sql string, sink engine.Sink) error
	Call(ctx context.Context, call engine.Call, sink engine.Sink) error
	// Begin, Commit, Rollback and Save are transaction manager requests. isolation is 0
	// (as it is), 1 read uncommitted, 2 read committed, 3 repeatable read, 4 serializable, 5 snapshot.
	Begin(ctx context.Context, isolation uint8, name string, sink engine.Sink) error
	Commit(ctx context.Context, name string, sink engine.Sink) error
	Rollback(ctx context.Context, name string, sink engine.Sink) error
	Save(ctx context.Context, name string, sink engine.Sink) error
	// Reset is sp_reset_connection: the session is as new, but keeps its transaction if asked to.
	Reset(keepTransaction bool)
	// Close rolls back what is open. The client has gone or will not be answered any more.
	Close()

	// Database is the current database, and Collation is its collation.
	Database() string
	Collation() value.Collation
	// TransactionID is the id of the open transaction, 0 without one.
	TransactionID() uint64
	// SPID is the session's number, @@SPID.
	SPID() int
	// OnKill is given what ends the connection, for KILL to call from another goroutine.
	OnKill(hangUp func())
}
