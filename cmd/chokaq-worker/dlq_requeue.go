package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/driver"
)

// maxSpreadSeconds is what RequeueDeadJobs accepts.
const maxSpreadSeconds = 315_360_000

func (a *app) deadRequeueCommand() *cobra.Command {
	var choice deadChoice
	var why string
	var delay, spread time.Duration
	var rate float64
	c := &cobra.Command{
		Use: "requeue ID... | --reason R --queue Q ... | --all", Short: "Run dead jobs again, with a fresh count of attempts",
		Long: "This is the one way in which a job that may have had side effects is run again: look at it first (dlq show). What a filter finds is shown, the\nfirst 20 of it where it is more, and exactly the jobs found are requeued, after a question. --yes does not ask; a script needs it, unless it gives one id.",
		Example: `  chokaq-worker dlq requeue 17 18 --yes --note 'mail server is back'
  chokaq-worker dlq requeue --reason Interrupted --since 1h --spread 5m --yes
  chokaq-worker dlq requeue --queue mail --error 'connection refused' --rate 60`,
	}
	choice.bind(c)
	c.Flags().StringVar(&why, "note", "", "why; kept in the operators' log")
	c.Flags().DurationVar(&delay, "delay", 0, "run no sooner than after this time, in whole seconds")
	c.Flags().DurationVar(&spread, "spread", 0, "let the jobs fall due evenly over this time, so that they do not all run at once")
	c.Flags().Float64Var(&rate, "rate", 0, "let so many jobs fall due a minute, in the place of --spread")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := choice.check(args); err != nil {
			return err
		}
		if _, err := parseIDs(args); err != nil {
			return err
		}
		for name, d := range map[string]time.Duration{"--delay": delay, "--spread": spread} {
			if d < 0 || d > maxSpreadSeconds*time.Second || d%time.Second != 0 {
				return usageError{fmt.Errorf("%s: %v is not accepted; accepted: whole seconds as a Go duration; nothing was changed", name, d)}
			}
		}
		switch {
		case c.Flags().Changed("rate") && (!(rate > 0) || rate > 60_000_000):
			return usageError{fmt.Errorf("--rate: %v is not accepted; accepted: jobs a minute, above 0; nothing was changed", rate)}
		case rate > 0 && spread > 0:
			return usageError{errors.New("--rate and --spread exclude each other; nothing was changed")}
		}
		return a.withClient(func(ctx context.Context, client *driver.Client, args []string) error {
			ids, err := a.choose(ctx, client, args, choice, "Requeue")
			if err != nil {
				return err
			}
			if rate > 0 {
				seconds := math.Ceil(float64(len(ids)) / rate * 60)
				if seconds > maxSpreadSeconds {
					return usageError{fmt.Errorf("--rate: at %v a minute, %d jobs take more than ten years; nothing was changed", rate, len(ids))}
				}
				spread = time.Duration(seconds) * time.Second
			}
			return a.decide(ctx, client, "chokaq.RequeueDeadJobs", ids, "Requeued", sql.Named("Note", note(why)),
				sql.Named("DelaySeconds", int32(delay/time.Second)), sql.Named("SpreadSeconds", int32(spread/time.Second)))
		})(c, args)
	}
	return c
}
