package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/driver"
)

const deadColumns = `d.JobId, d.Queue, d.JobType, d.Reason, d.Error, d.DeadAt, d.DeadAgeSeconds, d.Attempt, d.MaxAttempts, d.RequeueCount, d.Priority,
       d.LastWorkerId, d.LastHostName, d.EnqueuedAt, d.EnqueuedBy, d.DueAt, d.FetchedAt, d.StartedAt, d.HeartbeatAt, d.CancelRequestedAt, d.EditedAt, d.EditedBy,
       d.IdempotencyKey, d.Headers, d.Payload`

func (a *app) deadListCommand() *cobra.Command {
	var filter deadFilter
	c := &cobra.Command{
		Use: "list", Short: "Show dead jobs that wait for review, the last first", Args: cobra.NoArgs,
		Example: "  chokaq-worker dlq list --reason Zombie --since 24h --limit 20",
	}
	filter.bind(c, 50, "at most so many; 0: all")
	c.RunE = func(c *cobra.Command, args []string) error {
		where, params, err := filter.where()
		if err != nil {
			return err
		}
		return a.withClient(func(ctx context.Context, client *driver.Client, _ []string) error {
			dead, err := queryRecords(ctx, client.DB(), "SELECT "+filter.top()+deadColumns+" FROM chokaq.DeadJobs AS d"+where+" ORDER BY d.DeadAt DESC, d.JobId DESC", params...)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(emptyNotNull(dead))
			}
			if len(dead) == 0 {
				fmt.Fprintln(a.stdout, "no such dead job")
				return nil
			}
			if err := a.printDead(a.stdout, dead); err != nil {
				return err
			}
			if len(dead) == filter.limit {
				fmt.Fprintf(a.stdout, "the last %d; --limit shows more\n", filter.limit)
			}
			return nil
		})(c, args)
	}
	return c
}

func (a *app) printDead(to io.Writer, dead []record) error {
	var rows [][]string
	for _, d := range dead {
		rows = append(rows, []string{d.text("JobId"), d.text("Queue"), d.text("JobType"), d.text("Reason"),
			age(d.get("DeadAgeSeconds")), shorten(d.text("Error"), 60)})
	}
	return a.printTable(to, []string{"Job", "Queue", "Type", "Reason", "Dead", "Error"}, rows, map[string]int{"Queue": 10, "Type": 13, "Error": 20})
}
