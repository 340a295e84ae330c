package driver

import (
	"errors"
	"fmt"
	"slices"

	mssql "github.com/microsoft/go-mssqldb"
)

// Causes with which a handler's context is canceled: context.Cause(ctx) tells them apart.
var (
	// ErrShutdown: the grace period of a shutdown is over. A handler that returns an error now
	// is dead-lettered as Interrupted, for an operator to review, unless it is safe to retry
	// (see [SafeToRetry]); one that returns nil is completed.
	ErrShutdown = errors.New("chokaq: the worker is shutting down and the grace period is over")
	// ErrOwnershipLost: the database has given the job to somebody else, or may do so any moment
	// because no heartbeat could be stored for too long. Nothing that the handler still does
	// is protected from the job being handled elsewhere.
	ErrOwnershipLost = errors.New("chokaq: the job may no longer belong to this worker")
	// ErrCancelRequested: somebody has canceled the job (procedure chokaq.CancelJob).
	ErrCancelRequested = errors.New("chokaq: cancellation of the job was requested")
	// ErrHandlerTimeout: the handler's own timeout has passed (see [Timeout]).
	ErrHandlerTimeout = errors.New("chokaq: the handler's timeout has passed")
)

// Errors of this package, for errors.Is.
var (
	// ErrConfig: settings or registrations are wrong. The text lists every fault at once.
	ErrConfig = errors.New("chokaq: invalid configuration")
	// ErrSchema: the database has no ChokaQ schema, or one that does not fit this program.
	ErrSchema = errors.New("chokaq: the database schema does not fit")
	// ErrInvalidArgument: the database refused a parameter and changed nothing; the text names it and the accepted form.
	ErrInvalidArgument = errors.New("chokaq: invalid argument")
	// ErrJobNotFound: there is no such job in any table.
	ErrJobNotFound = errors.New("chokaq: job not found")
	// ErrWorkRemains: Run has ended and left work to recovery; the error is a *ShutdownError that names it.
	ErrWorkRemains = errors.New("chokaq: the shutdown left work to recovery")
	// ErrPanic: a handler panicked; the text has its stack.
	ErrPanic = errors.New("chokaq: the handler panicked")
)

// Numbers of the errors that ChokaQ's procedures throw.
const (
	NumberInvalidName        = 51001 // a name, key or note
	NumberInvalidJSON        = 51002 // a payload or headers
	NumberOutOfRange         = 51003 // a number or time
	NumberNotAnArray         = 51004 // a JSON array parameter that is not one
	NumberInvalidElement     = 51005 // an element of a JSON array, by its position
	NumberTooManyElements    = 51006 // more than 1000 in one call
	NumberDuplicateJob       = 51007 // a job named twice in one call
	NumberJobNotFound        = 51008
	NumberUnknownSetting     = 51010
	NumberDiscarded          = 51011 // the dead job has been discarded
	NumberUnknownWorker      = 51013 // the worker is not registered
	NumberKeyLocked          = 51014 // the lock on an idempotency key was not granted; the call can be repeated
	NumberNotPrimary         = 51015 // Agent's first step on a secondary replica
	NumberCompatibilityLevel = 51016 // the database's compatibility level is below 130
	NumberNoAgent            = 51017 // this edition has no SQL Server Agent
	NumberNotInstalled       = 51018 // the script must run in the queue's database
	NumberNoRecurringJob     = 51019 // there is no such recurring job
	NumberAgentRefused       = 51020 // a procedure of msdb refused to change an Agent job; the error before it says why
)

// ProcedureError is an error from a call of a ChokaQ procedure. It matches
// ErrInvalidArgument, ErrJobNotFound or ErrNoRecurringJob where that is what it says, and unwraps to the
// error of go-mssqldb.
type ProcedureError struct {
	Procedure string // such as "chokaq.EnqueueJob"
	Number    int32  // SQL Server's error number; 0 when the failure was not the server's
	Err       error
}

func (e *ProcedureError) Error() string {
	if e.Number >= 51000 && e.Number < 52000 { // the text names the procedure itself
		return e.Err.Error()
	}
	return fmt.Sprintf("calling %s: %v", e.Procedure, e.Err)
}

func (e *ProcedureError) Unwrap() error { return e.Err }

// Is reports whether the error is of the kind that target names.
func (e *ProcedureError) Is(target error) bool {
	switch target {
	case ErrInvalidArgument:
		return e.Number >= NumberInvalidName && e.Number <= NumberDuplicateJob || e.Number == NumberUnknownSetting
	case ErrNoRecurringJob:
		return e.Number == NumberNoRecurringJob
	case ErrJobNotFound:
		return e.Number == NumberJobNotFound
	}
	return false
}

// procedureError wraps err, which may be nil.
func procedureError(procedure string, err error) error {
	if err == nil {
		return nil
	}
	return &ProcedureError{Procedure: procedure, Number: sqlNumber(err), Err: err}
}

// sqlNumber is the SQL Server error number in err, or 0. A login whose database cannot be opened, as while it is being recovered, gets two errors: 4060
// and then 18456, as for a wrong password. go-mssqldb reports the last; the first is the one that says it.
func sqlNumber(err error) int32 {
	e, ok := errors.AsType[mssql.Error](err)
	if !ok {
		return 0
	}
	if e.Number == loginFailed && slices.ContainsFunc(e.All, func(one mssql.Error) bool { return one.Number == cannotOpen }) {
		return cannotOpen
	}
	return e.Number
}

// invalidArgument is an ErrInvalidArgument that was found before anything was sent.
func invalidArgument(format string, args ...any) error {
	return fmt.Errorf("%w: "+format+"; nothing was enqueued", append([]any{ErrInvalidArgument}, args...)...)
}

// Causes of the ends of the shutdown's own calls.
var (
	errReleaseTimeout = errors.New("chokaq: PrefetchedJobReleaseTimeout has passed")
	errFlushTimeout   = errors.New("chokaq: FlushTimeout has passed")
	errStopped        = errors.New("chokaq: the worker has stopped")
)
