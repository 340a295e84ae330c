package main

import (
	"context"
	"database/sql"
	"errors"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/driver"
)

func (a *app) deadDiscardCommand() *cobra.Command {
	var choice deadChoice
	var why string
	c := &cobra.Command{
		Use: "discard ID... | --reason R --queue Q ... | --all", Short: "Decide that dead jobs will not be run again",
		Long: "Marks them with who and why; retention removes them in time. What a filter finds is shown, the first 20 of it where it is more, and exactly the jobs found are discarded, after a question. " +
			"--yes does not ask; a script needs it, unless it gives one id.",
		Example: "  chokaq-worker dlq discard 19 --note 'customer has left'\n  chokaq-worker dlq discard --queue mail --until 720h --yes --note 'too old'",
	}
	choice.bind(c)
	c.Flags().StringVar(&why, "note", "", "why; needed, and kept with the job")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := choice.check(args); err != nil {
			return err
		}
		if _, err := parseIDs(args); err != nil {
			return err
		}
		if why == "" {
			return usageError{errors.New("--note is needed: why are they discarded? Nothing was changed")}
		}
		return a.withClient(func(ctx context.Context, client *driver.Client, args []string) error {
			ids, err := a.choose(ctx, client, args, choice, "Discard")
			if err != nil {
				return err
			}
			return a.decide(ctx, client, "chokaq.DiscardDeadJobs", ids, "Discarded", sql.Named("Note", why))
		})(c, args)
	}
	return c
}
