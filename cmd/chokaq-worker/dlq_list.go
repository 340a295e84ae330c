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
		Use: "list", Short: "Show dead jobs that wait for review, the last first", Args: noArgs,
		Example: "  chokaq-worker dlq list --reason Zombie --since 24h --limit 20",
	}
	filter.bind(c, 50, "at most so many; 0: all")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := filter.check(); err != nil {
			return err
		}
		return a.withClient(func(ctx context.Context, client *driver.Client, _ []string) error {
			dead, err := listDead(ctx, client, filter)
			if err != nil {
				return err
			}
			return a.printRecords(dead, "no such dead job", func(to io.Writer, dead []record) error {
				if err := a.printDead(to, dead); err != nil {
					return err
				}
				if last := dead[len(dead)-1].text("JobId"); len(dead) == filter.limit && filter.after > 0 {
					fmt.Fprintf(to, "the first %d; --after %s shows the next\n", filter.limit, last)
				} else if len(dead) == filter.limit {
					fmt.Fprintf(to, "the last %d; --limit shows more\n", filter.limit)
				}
				return nil
			})
		})(c, args)
	}
	return c
}

// listDead is the dead jobs that a filter finds: the last first, or page by page by id.
func listDead(ctx context.Context, client *driver.Client, filter deadFilter) ([]record, error) {
	if filter.after > 0 {
		ids, err := findDead(ctx, client, filter)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		return deadByID(ctx, client, ids)
	}
	where, values, err := filter.where()
	if err != nil {
		return nil, err
	}
	return queryRecords(ctx, client.DB(), "SELECT "+filter.top()+deadColumns+" FROM chokaq.DeadJobs AS d"+where+" ORDER BY d.DeadAt DESC, d.JobId DESC", values...)
}

func (a *app) printDead(to io.Writer, dead []record) error {
	var rows [][]string
	for _, d := range dead {
		rows = append(rows, []string{d.text("JobId"), d.text("Queue"), d.text("JobType"), d.text("Reason"),
			age(d.get("DeadAgeSeconds")), shorten(d.text("Error"), 60)})
	}
	return a.printTable(to, []string{"Job", "Queue", "Type", "Reason", "Dead", "Error"}, rows, "Queue", "Type", "Error")
}
