package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/db"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return a.printJSON(map[string]any{"version": version, "schemaVersion": db.LatestVersion(), "go": runtime.Version()})
			}
			_, err := fmt.Fprintln(a.stdout, versionLine())
			return err
		},
	}
}

func versionLine() string {
	return fmt.Sprintf("chokaq-worker %s, schema version %d, %s", version, db.LatestVersion(), runtime.Version())
}
