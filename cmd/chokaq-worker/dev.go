package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/db"
	"github.com/chokaq/chokaq/internal/sqlsim"
)

const devDatabase = "chokaq"

// What --agent accepts.
const (
	agentRunning = "running"
	agentStopped = "stopped"
	agentNone    = "none"
)

// devRoles are the database roles, each of which gets a login of its name.
var devRoles = []string{"chokaq_producer", "chokaq_worker", "chokaq_operator", "chokaq_monitor"}

func (a *app) devCommand() *cobra.Command {
	var opts sqlsim.Options
	var untilStdinEnds, withoutAgent bool
	agent, agentJobs := agentRunning, true
	c := &cobra.Command{
		Use: "dev", Short: "Run a stand-in for SQL Server with ChokaQ in it, for development", Args: noArgs,
		Long: `Runs sqlsim, an in-process stand-in for SQL Server, on a port, with a database "chokaq", its schema, its Agent jobs and a login for each role,
and prints the data source names. Everything is in memory and is gone when it ends. It is for development and tests only, and no database for
production.`,
		Example: "  chokaq-worker dev --addr 127.0.0.1:14330 --password Sesame-1",
	}
	c.Flags().StringVar(&opts.Addr, "addr", "127.0.0.1:1433", "address to listen on; port 0: a free one")
	c.Flags().StringVar(&opts.Password, "password", "", "password of sa and of the other logins (default: a random one)")
	c.Flags().BoolVar(&opts.TLS, "tls", false, "print data source names that encrypt (clients may in any case)")
	c.Flags().StringVar(&agent, "agent", agent, "SQL Server Agent: running, stopped (its jobs are there and do not run), or none (an Express edition: it has no Agent)")
	c.Flags().BoolVar(&withoutAgent, "without-agent", false, "the same as --agent none")
	c.Flags().BoolVar(&agentJobs, "agent-jobs", true, "install the Agent jobs, where there is an Agent")
	c.Flags().BoolVar(&untilStdinEnds, "until-stdin-ends", false, "end with standard input, too")
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		if withoutAgent {
			if c.Flags().Changed("agent") && agent != agentNone {
				return usageError{fmt.Errorf("--without-agent and --agent %s exclude each other; nothing was started", agent)}
			}
			agent = agentNone
		}
		switch agent {
		case agentRunning, agentStopped:
		case agentNone:
			if c.Flags().Changed("agent-jobs") && agentJobs {
				return usageError{errors.New("--agent-jobs: there is no Agent to install them in (--agent none, --without-agent); nothing was started")}
			}
			opts.NoAgent, opts.Edition, agentJobs = true, "Express Edition (64-bit)", false
		default:
			return usageError{fmt.Errorf("--agent: %q is not accepted; accepted: running, stopped or none; nothing was started", agent)}
		}
		ctx := c.Context()
		if untilStdinEnds {
			ctx = a.untilStdinEnds(ctx)
		}
		if opts.Password == "" {
			opts.Password = "Dev-1-" + rand.Text()
		}
		server, err := sqlsim.Start(opts)
		if err != nil {
			return usageError{fmt.Errorf("%w (--addr names another address)", err)}
		}
		defer func() { err = errors.Join(err, server.Close()) }()
		names, err := prepareDev(ctx, server, opts.Password, agentJobs)
		if err != nil {
			return interrupted(c.Context(), err)
		}
		if agent == agentStopped {
			server.Agent().Stop()
		}
		if err := a.printDev(server, names, agent, agentJobs); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}
	return c
}

// devName is a login and how to connect with it.
type devName struct {
	Login string `json:"login"`
	DSN   string `json:"dsn"`
}

// prepareDev makes the database, the schema, the Agent jobs and the logins.
func prepareDev(ctx context.Context, server *sqlsim.Server, password string, agentJobs bool) ([]devName, error) {
	if err := runAll(ctx, server.DSN("master"), "CREATE DATABASE "+devDatabase); err != nil {
		return nil, err
	}
	installer := db.Installer{DSN: server.DSN(devDatabase)}
	if err := installer.Up(ctx); err != nil {
		return nil, err
	}
	if agentJobs {
		if err := installer.InstallAgentJobs(ctx, db.AgentSchedule{}); err != nil {
			return nil, err
		}
	}
	names := []devName{{"sa", server.DSN(devDatabase)}}
	var statements []string
	for _, role := range devRoles {
		login := role + "_login"
		statements = append(statements,
			fmt.Sprintf("CREATE LOGIN %s WITH PASSWORD = N'%s', CHECK_POLICY = OFF", login, strings.ReplaceAll(password, "'", "''")),
			fmt.Sprintf("CREATE USER %s FOR LOGIN %s", login, login),
			fmt.Sprintf("ALTER ROLE %s ADD MEMBER %s", role, login))
		names = append(names, devName{login, server.DSNFor(devDatabase, login, password)})
	}
	return names, runAll(ctx, server.DSN(devDatabase), statements...)
}

func runAll(ctx context.Context, dsn string, statements ...string) (err error) {
	pool, err := sql.Open("sqlserver", dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	for _, statement := range statements {
		if _, err := pool.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printDev(server *sqlsim.Server, names []devName, agent string, agentJobs bool) error {
	if a.json {
		return a.printJSON(map[string]any{"address": server.Addr(), "logins": names})
	}
	recovery := "SQL Server Agent runs recovery."
	switch {
	case agent == agentNone:
		recovery = "It is an Express edition, without Agent, so nothing runs recovery: set CHOKAQ_RECOVERY_ENABLED=true on workers."
	case agent == agentStopped:
		recovery = "SQL Server Agent is stopped, so nothing runs recovery: chokaq-worker recover, or CHOKAQ_RECOVERY_ENABLED=true on workers."
	case !agentJobs:
		recovery = "Nothing runs recovery: chokaq-worker agent-jobs install, or CHOKAQ_RECOVERY_ENABLED=true on workers."
	}
	fmt.Fprintf(a.stdout, "sqlsim, a stand-in for SQL Server, listens on %s.\nIt is IN MEMORY and FOR DEVELOPMENT ONLY: everything is gone when it ends. %s\n\n", server.Addr(), recovery)
	for _, name := range names {
		who := "everything"
		if name.Login != "sa" {
			who = "role " + strings.TrimSuffix(name.Login, "_login")
		}
		fmt.Fprintf(a.stdout, "# %s\nexport CHOKAQ_DSN='%s'\n", who, name.DSN)
	}
	_, err := fmt.Fprintln(a.stdout, "\nCtrl-C ends it.")
	return err
}
