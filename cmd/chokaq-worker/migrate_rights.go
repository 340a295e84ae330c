package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/config"
)

// schemaDenied are SQL Server's errors for a login that may not change a schema; some of them are also for what is not there.
var schemaDenied = map[int32]bool{229: true, 230: true, 262: true, 297: true, 300: true, 371: true, 1088: true, 2760: true, 3701: true, 4902: true, 15151: true, 15247: true}

// needsOwner says of an installer's error that it is a right that is missing.
func needsOwner(settings config.Connection, err error) error {
	if e, ok := errors.AsType[mssql.Error](err); ok && schemaDenied[e.Number] {
		return databaseError{fmt.Errorf("this login may not do that in %s: it needs db_owner: %w", settings.Target(), err)}
	}
	return err
}

// seesSchema refuses to take a schema that a login may not see for one that is not there.
func seesSchema(ctx context.Context, settings config.Connection, dsn string) (err error) {
	pool, err := sql.Open("sqlserver", dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	var may sql.NullInt32
	if err := pool.QueryRowContext(ctx, "SELECT HAS_PERMS_BY_NAME(NULL, N'DATABASE', N'VIEW DEFINITION')").Scan(&may); err != nil {
		return err
	}
	if may.Int32 == 1 {
		return nil
	}
	return databaseError{fmt.Errorf("this login sees no schema chokaq in %s, and could not if there were one: it needs db_owner (VIEW DEFINITION to look); nothing was changed", settings.Target())}
}
