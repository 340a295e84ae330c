package driver

import (
	"fmt"
	"io"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
)

// What a server says while it comes back from a restart is waited for; a wrong password is not.
func TestLoginsDuringARestartAreTransient(t *testing.T) {
	failed, cannotOpenDatabase := mssql.Error{Number: 18456, State: 1}, mssql.Error{Number: 4060}
	both := failed // as go-mssqldb reports it: the last error, with all of them
	both.All = []mssql.Error{cannotOpenDatabase, failed}
	alone := failed
	alone.All = []mssql.Error{failed}
	for _, c := range []struct {
		what string
		err  mssql.Error
		want bool
		is   int32
	}{
		{"the database is being recovered", both, true, 4060},
		{"the password is wrong", alone, false, 18456},
		{"4060 alone", cannotOpenDatabase, true, 4060},
		{"the server is starting", mssql.Error{Number: 17187}, true, 17187},
		{"the server is in script upgrade mode", mssql.Error{Number: 18401}, true, 18401},
		{"the database is being recovered, to a session", mssql.Error{Number: 922}, true, 922},
	} {
		err := procedureError("chokaq.ClaimJobs", fmt.Errorf("connecting: %w", c.err))
		if got := IsTransient(err); got != c.want || sqlNumber(err) != c.is {
			t.Errorf("%s: transient %v, number %d", c.what, got, sqlNumber(err))
		}
	}
}

func TestWhatIsEnqueuedAgain(t *testing.T) {
	withDatabase := mssql.Error{Number: 18456, State: 1, All: []mssql.Error{{Number: 4060}, {Number: 18456, State: 1}}}
	for _, c := range []struct {
		what           string
		err            error
		keyed, unkeyed bool
	}{
		{"a deadlock", mssql.Error{Number: 1205}, true, true},
		{"throttling", mssql.Error{Number: 40501}, true, true},
		{"a key that is locked", mssql.Error{Number: NumberKeyLocked}, true, true},
		{"a database that is being recovered", withDatabase, true, true},
		{"a wrong password", mssql.Error{Number: 18456, State: 1}, false, false},
		{"a refused parameter", mssql.Error{Number: NumberInvalidElement}, false, false},
		{"a broken connection", io.ErrUnexpectedEOF, true, false},
		{"a session that was killed", mssql.Error{Number: 596}, true, false},
	} {
		err := procedureError("chokaq.EnqueueJobs", c.err)
		if keyed, unkeyed := mayEnqueueAgain(err, true), mayEnqueueAgain(err, false); keyed != c.keyed || unkeyed != c.unkeyed {
			t.Errorf("%s: with keys %t, without %t", c.what, keyed, unkeyed)
		}
	}
}
