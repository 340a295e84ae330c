package main

import (
	"database/sql"
	"fmt"
	"time"
)

const momentForm = "a Go duration such as 24h, or a time such as 2027-01-31T08:00:00Z"

// moment reads a flag that names a time, or how long ago it was by the database's clock. It returns a T-SQL expression and the parameter that it names.
func moment(flag, text, name string) (expression string, parameter any, err error) {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return "DATEADD(SECOND, -@" + name + ", SYSUTCDATETIME())", sql.Named(name, int32(min(d/time.Second, 1<<31-1))), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "", nil, usageError{fmt.Errorf("%s: %q is not accepted; accepted: %s; nothing was changed", flag, text, momentForm)}
	}
	return "@" + name, sql.Named(name, at.UTC()), nil
}
