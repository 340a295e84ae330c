package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/config"
	"github.com/chokaq/chokaq/internal/clock"
	"github.com/chokaq/chokaq/internal/reply"
)

const (
	// silence is how long a server may say nothing within a call, before it counts as one that cannot be reached.
	silence = 30 * time.Second
	// longSilence is the same for commands that let the server work for long without a word.
	longSilence = 10 * time.Minute
	// obeyWithin is how long a command may take to end after a signal: go-mssqldb tells the server and waits for its confirmation, which a server that
	// does not answer does not give.
	obeyWithin = 500 * time.Millisecond
)

const (
	mayWorkLong    = "may-work-long"    // its server may be silent for longSilence
	knowsNoTimeout = "knows-no-timeout" // it has bounds of its own
)

func (a *app) bindTimeout(root *cobra.Command) {
	root.PersistentFlags().DurationVar(&a.timeout, "timeout", silence,
		"how long the server may keep silent within one call, 0: as long as it likes (10m unless given: migrate up and down, recover, agent-jobs; run has --command-timeout)")
}

// checkTimeout refuses a --timeout that is none.
func (a *app) checkTimeout(c *cobra.Command) error {
	switch {
	case !c.Flags().Changed("timeout"):
		return nil
	case is(c, knowsNoTimeout):
		return usageError{errors.New("--timeout: run goes on without the database; --command-timeout (CHOKAQ_COMMAND_TIMEOUT) bounds its calls; nothing was started")}
	case a.timeout < 0 || a.timeout%time.Second != 0 || a.timeout > 24*time.Hour:
		return usageError{fmt.Errorf("--timeout: %v is not accepted; accepted: whole seconds as a Go duration, such as 30s, up to 24h, or 0 for no bound; nothing was done", a.timeout)}
	}
	return nil
}

// silenceOf is how long the server may keep silent within a call of a command; 0: as long as it likes.
func (a *app) silenceOf(c *cobra.Command) time.Duration {
	if is(c, mayWorkLong) && !c.Flags().Changed("timeout") {
		return longSilence
	}
	return a.timeout
}

// reachWithin is the same for the first call, which is short whatever comes after it.
func (a *app) reachWithin(c *cobra.Command) time.Duration {
	if d := a.silenceOf(c); !is(c, mayWorkLong) || c.Flags().Changed("timeout") {
		return d
	}
	return silence
}

// markCommands gives commands their properties.
func markCommands(root *cobra.Command) {
	for path, property := range map[string]string{
		"migrate up": mayWorkLong, "migrate down": mayWorkLong, "recover": mayWorkLong, "agent-jobs install": mayWorkLong, "agent-jobs uninstall": mayWorkLong,
		"agent-jobs status": mayWorkLong, "run": knowsNoTimeout,
	} {
		c, _, err := root.Find(strings.Fields(path))
		if err != nil || c.CommandPath() != root.Name()+" "+path {
			panic(path + " is no command")
		}
		c.Annotations = map[string]string{property: "yes"}
	}
}

func is(c *cobra.Command, property string) bool { return c.Annotations[property] != "" }

// bounded is a context that ends after d, if d is a bound.
func bounded(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}

// obeySignals makes every command obey, but those that stop in order of their own.
func (a *app) obeySignals(c *cobra.Command) {
	switch c.Name() {
	case "run", "dev", "demo", "demo-worker":
		return
	case "up", "down":
		a.obey(c, 5*time.Second) // a migration under way is short, and better ended than cut off
	case "enqueue":
		a.obey(c, finishBatch+2*obeyWithin)
	default:
		if c.HasParent() && c.RunE != nil && !c.HasSubCommands() {
			a.obey(c, obeyWithin)
		}
	}
	for _, sub := range c.Commands() {
		a.obeySignals(sub)
	}
}

// obey makes a command end soon after a signal, whatever its calls wait for: what the server was doing for them it rolls back when the
// connections break with the process.
func (a *app) obey(c *cobra.Command, within time.Duration) {
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		ctx := c.Context()
		returned, err := reply.Await(ctx, clock.Real(), func(error) time.Duration { return within }, func(context.Context) (bool, error) { return true, run(c, args) })
		if !returned {
			return interrupted(ctx, context.Canceled)
		}
		return err
	}
}

// reach connects once, before a command of which the server may be silent for long.
func (a *app) reach(c *cobra.Command, settings config.Connection) (err error) {
	pool, err := sql.Open("sqlserver", settings.WithTimeout(a.reachWithin(c)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	return pool.PingContext(c.Context())
}
