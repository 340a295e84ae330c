package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/driver"
)

func (a *app) recoverCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "recover", Short: "Run the three recovery procedures once", Args: noArgs,
		Long: "Resets abandoned fetched jobs, moves zombies to the dead-letter queue, and purges history, by the timeouts that are set in the database. For a\nscheduler where there is no SQL Server Agent; safe at any time.",
	}
	c.RunE = a.withClient(func(ctx context.Context, client *driver.Client, _ []string) error {
		moved := make(map[driver.RecoveryProcedure]int64)
		for _, p := range []struct {
			procedure driver.RecoveryProcedure
			one, many string
		}{
			{driver.ResetFetchedJobs, "abandoned fetched job is Pending again", "abandoned fetched jobs are Pending again"},
			{driver.RescueZombieJobs, "zombie is in the dead-letter queue, for review", "zombies are in the dead-letter queue, for review"},
			{driver.PurgeHistory, "row of history is removed", "rows of history are removed"},
		} {
			n, err := client.Recover(ctx, p.procedure)
			if err != nil {
				return err
			}
			moved[p.procedure] = n
			if !a.json {
				did := p.many
				if n == 1 {
					did = p.one
				}
				fmt.Fprintf(a.stdout, "%-24s  %d %s\n", p.procedure, n, did)
			}
		}
		if a.json {
			return a.printJSON(moved)
		}
		return nil
	})
	return c
}
