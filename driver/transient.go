package driver

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"io"
	"net"

	mssql "github.com/microsoft/go-mssqldb"
)

// transientNumbers are SQL Server errors that go away by themselves. Every call of a
// worker is safe to repeat, so a worker repeats after any error; the distinction matters at its start, for
// producers, and for what the log says.
//
// Sources: "Troubleshoot transient connection errors" (Azure SQL) and the
// Database Engine's list of errors, both on learn.microsoft.com.
var transientNumbers = map[int32]string{
	233:        "the connection was closed",
	601:        "data moved during a scan without locks",
	596:        "the session was killed",
	615:        "the database is being moved",
	701:        "the server is out of memory",
	802:        "the server is out of buffer memory",
	921:        "the database has not been recovered yet",
	922:        "the database is being recovered",
	926:        "the database is marked suspect",
	927:        "the database is being restored",
	942:        "the database is offline",
	952:        "the database is in transition",
	976:        "the database is not accessible on this replica",
	978:        "the replica accepts read-intent connections only",
	983:        "the database is changing its availability role",
	1105:       "the disk is full",
	1204:       "the server is out of locks",
	1205:       "victim of a deadlock",
	1222:       "lock timeout",
	3906:       "the database is read-only",
	3908:       "the database is in emergency mode",
	3960:       "snapshot update conflict",
	3971:       "the connection names a transaction that an earlier call's end has rolled back",
	cannotOpen: "the database cannot be opened",
	4221:       "the replica is not readable yet",
	6005:       "the server is shutting down",
	8645:       "timeout waiting for memory",
	8651:       "the server is out of memory",
	9002:       "the transaction log is full",
	10053:      "the connection was aborted", 10054: "the connection was reset", 10060: "the connection timed out",
	10928: "a resource limit was reached", 10929: "a resource limit was reached",
	10936: "a resource limit was reached",
	17142: "the server is paused",
	17187: "the server is starting",
	17188: "the server is shutting down",
	17189: "the server has no thread for a new connection",
	17197: "the login took the server too long",
	17809: "the server has as many connections as it may have",
	18401: "the server is in script upgrade mode",
	18461: "the server is in single-user mode",
	18451: "only administrators may connect just now",
	40143: "the connection could not be initialized",
	40197: "the service is reconfiguring",
	40501: "the service is busy",
	40540: "the service is reconfiguring",
	40613: "the database is not available",
	42108: "the pool is paused", 42109: "the pool is warming up",
	49918: "not enough resources to process the request", 49919: "too many operations in progress", 49920: "too many requests",
	NumberKeyLocked: "the idempotency key is locked",
}

// loginFailed is 18456. State 38 (the database of the login cannot be opened) comes with a failover.
const loginFailed = 18456

// cannotOpen is 4060, which comes before 18456 when the login was right and its database is the reason.
const cannotOpen = 4060

// IsTransient reports whether err may go away by itself: a deadlock, a lock timeout,
// throttling, a failover, a broken or refused connection.
func IsTransient(err error) bool {
	if e, ok := errors.AsType[mssql.Error](err); ok {
		number := sqlNumber(err)
		if number == loginFailed {
			return e.State == 38
		}
		_, ok := transientNumbers[number]
		return ok
	}
	return isConnectionError(err)
}

// isConnectionError reports whether err says that the connection broke or could not be made.
func isConnectionError(err error) bool {
	var network net.Error
	return errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, new(mssql.StreamError)) || errors.As(err, new(mssql.ServerError)) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errCallTimeout)
}

// surelyNotCommitted reports whether the server has said that nothing was changed: then even
// an insert with no idempotency key can be repeated.
func surelyNotCommitted(err error) bool {
	switch sqlNumber(err) {
	case 1204, 1205, 1222, cannotOpen, loginFailed, NumberKeyLocked, 10928, 10929, 40501, 40613, 49918, 49919, 49920:
		return true
	}
	return false
}

// mayEnqueueAgain reports whether an enqueue that has failed is tried again: only what may go away by itself (a wrong password does not, and
// five of them lock the login), and only if it cannot insert twice. keyed: every job has an idempotency key.
func mayEnqueueAgain(err error, keyed bool) bool {
	return IsTransient(err) && (keyed || surelyNotCommitted(err))
}
