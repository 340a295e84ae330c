package agent

import (
	"context"
	"embed"
	"fmt"

	"github.com/microsoft/go-mssqldb/batch"

	"github.com/chokaq/chokaq/internal/sqlsim/engine"
)

// The objects of msdb are T-SQL, as those of SQL Server are: tables as documented, and the procedures that scripts call.
//
//go:embed msdb/*.sql
var msdb embed.FS

// msdbFiles in the order in which they must run.
var msdbFiles = []string{"tables", "agent_datetime", "verify", "category", "job", "step", "schedule"}

// install makes Agent's objects in msdb.
func install(ctx context.Context, s *engine.Session) error {
	for _, name := range msdbFiles {
		text, err := msdb.ReadFile("msdb/" + name + ".sql")
		if err != nil {
			return err
		}
		for _, b := range batch.Split(string(text), "GO") {
			if _, err := query(ctx, s, b); err != nil {
				return fmt.Errorf("sqlsim: making msdb (%s.sql): %w", name, err)
			}
		}
	}
	return nil
}
