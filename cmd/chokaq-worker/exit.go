package main

import (
	"context"
	"errors"
	"io/fs"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/config"
	"github.com/chokaq/chokaq/driver"
)

// Exit statuses; statusHelp and docs/shutdown.md tell people.
const (
	statusDone        = 0
	statusError       = 1
	statusUsage       = 2
	statusWorkRemains = 3
	statusSchema      = 4
	statusDatabase    = 5
	statusWarnings    = 6
	statusFindings    = 7
	statusInterrupted = 130
)

const statusHelp = `Exit statuses:
  0    done; for run: everything that the worker held was stored or given back
  1    another error
  2    wrong configuration, usage or argument; nothing was done
  3    run: something was left to recovery; the log names it
  4    the database schema does not fit this program; the message says what to run
  5    the database cannot be reached, or refused the login or the right; doctor: so much that whether all is well is not known
  6    doctor: it has warnings
  7    doctor: it has found errors
  130  interrupted: a second signal to run, or a signal to a command that had not finished`

// usageError is an error in how the program was called.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// errInterrupted ends a command that a signal has cut short.
var errInterrupted = errors.New("interrupted")

// statusOf is the exit status that an error means.
func statusOf(err error) int {
	var status interface{ exitStatus() int }
	switch {
	case err == nil:
		return statusDone
	case errors.As(err, &status):
		return status.exitStatus()
	case errors.Is(err, driver.ErrWorkRemains):
		return statusWorkRemains
	case errors.Is(err, errInterrupted):
		return statusInterrupted
	case errors.As(err, new(usageError)), errors.As(err, new(*config.FaultsError)), errors.Is(err, driver.ErrConfig), errors.Is(err, driver.ErrInvalidArgument):
		return statusUsage
	case errors.Is(err, driver.ErrSchema):
		return statusSchema
	case errors.Is(err, context.Canceled):
		return statusInterrupted
	case errors.As(err, new(*fs.PathError)): // the error of a file looks like that of a network
		return statusError
	case refused(err), driver.IsTransient(err):
		return statusDatabase
	}
	return statusError
}

// refused reports whether the server said no: to the login, the database, or the right.
func refused(err error) bool {
	e, ok := errors.AsType[mssql.Error](err)
	if !ok {
		return false
	}
	switch e.Number {
	case 18452, 18456, 18486, 18487, 18488, // the login
		4060, 4064, 911, 916, // the database
		229, 230, 262, 297, 300, 15247: // the right
		return true
	}
	return false
}

// silentError is an exit status whose reason has been printed.
type silentError int

func (e silentError) Error() string   { return "" }
func (e silentError) exitStatus() int { return int(e) }
