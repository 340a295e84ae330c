package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/config"
	"github.com/chokaq/chokaq/db"
)

func (a *app) migrateCommand() *cobra.Command {
	return group("migrate", "Install, upgrade, remove or look at the schema", a.migrateUpCommand(), a.migrateDownCommand(), a.migrateStatusCommand(), a.migrateScriptCommand())
}

// withInstaller runs a command that needs a login which may change the schema.
func (a *app) withInstaller(run func(ctx context.Context, installer db.Installer, settings config.Connection) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, _ []string) error {
		settings, err := a.connection(c)
		if err != nil {
			return err
		}
		if err := a.reach(c, settings); err != nil {
			return interrupted(c.Context(), explain(settings, err))
		}
		installer := db.Installer{DSN: settings.WithTimeout(a.silenceOf(c)), Progress: func(change db.Change) {
			if !a.json {
				fmt.Fprintf(a.stderr, "%-9s %s\n", change.Action, change.Name)
			}
		}}
		return interrupted(c.Context(), explain(settings, run(c.Context(), installer, settings)))
	}
}

func (a *app) migrateUpCommand() *cobra.Command {
	var agentJobs bool
	c := &cobra.Command{
		Use: "up", Short: "Install the schema, or bring it up to date", Args: noArgs,
		Long: "Runs the migrations that are missing and applies every procedure, view and grant whose text has changed. It may be run at any time, also\n" +
			"while workers run, and by several at once. Needs a login that is a member of db_owner; for --agent-jobs, of sysadmin.",
		Example: "  chokaq-worker migrate up --agent-jobs",
	}
	c.Flags().BoolVar(&agentJobs, "agent-jobs", false, "also install the SQL Server Agent jobs that run recovery")
	c.RunE = a.withInstaller(func(ctx context.Context, installer db.Installer, settings config.Connection) error {
		if err := installer.Up(ctx); err != nil {
			return needsOwner(settings, err)
		}
		if agentJobs {
			if err := installer.InstallAgentJobs(ctx, db.AgentSchedule{}); err != nil {
				return fmt.Errorf("the schema is up to date, but the Agent jobs are not installed, so nothing runs recovery yet: %w", err)
			}
		}
		if a.json {
			status, err := installer.Status(ctx)
			if err != nil {
				return err
			}
			return a.printJSON(status)
		}
		fmt.Fprintf(a.stdout, "%s has schema version %d\n", settings.Target(), db.LatestVersion())
		return nil
	})
	return c
}

func (a *app) migrateDownCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "down", Short: "Remove the schema with every job in it", Args: noArgs,
		Long:    "Removes schema chokaq: every job, whatever its state, the archive, the dead jobs and the logs. Agent jobs stay; see agent-jobs uninstall.",
		Example: "  chokaq-worker migrate down --yes",
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	c.RunE = a.withInstaller(func(ctx context.Context, installer db.Installer, settings config.Connection) error {
		status, err := installer.Status(ctx)
		if err != nil {
			return needsOwner(settings, err)
		}
		if !status.Installed {
			if err := seesSchema(ctx, settings, installer.DSN); err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "%s has no schema chokaq; nothing was changed\n", settings.Target())
			return nil
		}
		if err := a.confirm(ctx, yes, "Remove schema chokaq with every job in it from "+settings.Target()+"?"); err != nil {
			return err
		}
		if err := installer.Down(ctx); err != nil {
			return needsOwner(settings, err)
		}
		fmt.Fprintf(a.stdout, "everything in schema chokaq is removed from %s, but for its version table; Agent jobs, if there are any, stay: chokaq-worker agent-jobs uninstall\n", settings.Target())
		return nil
	})
	return c
}

func (a *app) migrateStatusCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "status", Short: "Show what migrate up would do", Args: noArgs,
		Long: "Only reads. Exit status 0: the schema is up to date; 4: it is not.",
	}
	c.RunE = a.withInstaller(func(ctx context.Context, installer db.Installer, settings config.Connection) error {
		status, err := installer.Status(ctx)
		if err != nil {
			return needsOwner(settings, err)
		}
		if !status.Installed {
			if err := seesSchema(ctx, settings, installer.DSN); err != nil {
				return err
			}
		}
		current := status.Version == status.Latest && !status.Dirty && len(status.Objects) == 0
		if a.json {
			err = a.printJSON(status)
		} else {
			a.printMigrationStatus(settings, status, current)
		}
		if err == nil && !current {
			err = silentError(statusSchema)
		}
		return err
	})
	return c
}

func (a *app) printMigrationStatus(settings config.Connection, status db.Status, current bool) {
	out := func(format string, args ...any) { fmt.Fprintf(a.stdout, format+"\n", args...) }
	switch {
	case !status.Installed:
		out("%s has no schema chokaq. Run \"chokaq-worker migrate up\".", settings.Target())
		return
	case current:
		out("%s has schema version %d and is up to date.", settings.Target(), status.Version)
		return
	case status.Version > status.Latest:
		out("%s has schema version %d, which is newer than this program knows (%d). Use the program of that version.", settings.Target(), status.Version, status.Latest)
		return
	}
	out("%s has schema version %d; this program installs %d. \"chokaq-worker migrate up\" would change:", settings.Target(), status.Version, status.Latest)
	if status.Dirty {
		out("  migration %d, which failed half way or was cut off: it is settled first", status.Version)
	}
	for _, name := range status.Migrations {
		out("  migrate %s", name)
	}
	for _, name := range status.Objects {
		out("  apply   %s", name)
	}
}

func (a *app) migrateScriptCommand() *cobra.Command {
	var output string
	var withoutAgent bool
	c := &cobra.Command{
		Use: "script", Short: "Print the installation as a T-SQL script for a DBA to run", Args: noArgs,
		Long:    "Prints what migrate up --agent-jobs does as one script for SSMS or sqlcmd -I. Needs no database.",
		Example: "  chokaq-worker migrate script -o chokaq.sql\n  sqlcmd -S db1 -d shop -I -i chokaq.sql",
		RunE: func(*cobra.Command, []string) (err error) {
			if output == "" || output == "-" {
				return db.Script(a.stdout, version, withoutAgent)
			}
			if err := writeFile(output, func(w io.Writer) error { return db.Script(w, version, withoutAgent) }); err != nil {
				return err
			}
			fmt.Fprintf(a.stderr, "%s is written; review it, and run it in the queue's database in SSMS or with sqlcmd -I -i %s\n", output, output)
			return nil
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "", "file to write (default: standard output)")
	c.Flags().BoolVar(&withoutAgent, "without-agent", false, "leave the SQL Server Agent jobs out")
	return c
}

// writeFile writes a file whole or reports why not.
func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		_ = f.Close()
		return fmt.Errorf("%s is not complete: %w", name, err)
	}
	return f.Close()
}
