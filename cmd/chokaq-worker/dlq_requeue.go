package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/driver"
)

func (a *app) deadRequeueCommand() *cobra.Command {
	var choice deadChoice
	var why string
	var delay, spread time.Duration
	c := &cobra.Command{
		Use: "requeue ID... | --reason R --queue Q ... | --all", Short: "Run dead jobs again, with a fresh count of attempts",
		Long: "This is the one way in which a job that may have had side effects is run again: look at it first (dlq show). A filter is previewed, and exactly\nthe jobs shown are requeued.",
		Example: `  chokaq-worker dlq requeue 17 18 --note 'mail server is back'
  chokaq-worker dlq requeue --reason Interrupted --since 1h --spread 5m`,
	}
	choice.bind(c)
	c.Flags().StringVar(&why, "note", "", "why; kept in the operators' log")
	c.Flags().DurationVar(&delay, "delay", 0, "run no sooner than after this time, in whole seconds")
	c.Flags().DurationVar(&spread, "spread", 0, "let the jobs fall due evenly over this time, so that they do not all run at once")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := choice.check(args); err != nil {
			return err
		}
		if _, err := parseIDs(args); err != nil {
			return err
		}
		for name, d := range map[string]time.Duration{"--delay": delay, "--spread": spread} {
			if d < 0 || d%time.Second != 0 {
				return usageError{fmt.Errorf("%s: %v is not accepted; accepted: whole seconds as a Go duration; nothing was changed", name, d)}
			}
		}
		return a.withClient(func(ctx context.Context, client *driver.Client, args []string) error {
			ids, err := a.choose(ctx, client, args, choice, "Requeue")
			if err != nil {
				return err
			}
			return a.decide(ctx, client, "chokaq.RequeueDeadJobs", ids, "Requeued", sql.Named("Note", note(why)),
				sql.Named("DelaySeconds", int32(delay/time.Second)), sql.Named("SpreadSeconds", int32(spread/time.Second)))
		})(c, args)
	}
	return c
}
