package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/driver"
)

func (a *app) deadShowCommand() *cobra.Command {
	c := &cobra.Command{Use: "show ID", Short: "Show everything about a dead job, and what operators did about it", Args: cobra.ExactArgs(1)}
	c.RunE = func(c *cobra.Command, args []string) error {
		ids, err := parseIDs(args)
		if err != nil {
			return err
		}
		return a.withClient(func(ctx context.Context, client *driver.Client, _ []string) error {
			dead, err := queryRecords(ctx, client.DB(), "SELECT "+deadColumns+" FROM chokaq.DeadJobs AS d WHERE d.JobId = @JobId", sql.Named("JobId", ids[0]))
			if err != nil {
				return err
			}
			log, err := queryRecords(ctx, client.DB(), `SELECT l.ActionId, l.ActionName, l.OldValue, l.NewValue, l.Note, l.LoginName, l.HostName, l.ProgramName, l.ActedAt
FROM chokaq.OperatorLog AS l WHERE l.JobId = @JobId ORDER BY l.ActionId`, sql.Named("JobId", ids[0]))
			if err != nil {
				return err
			}
			return a.printDeadJob(ids[0], dead, log)
		})(c, args)
	}
	return c
}

func (a *app) printDeadJob(id int64, dead, log []record) error {
	if a.json {
		job := any(nil)
		if len(dead) > 0 {
			job = dead[0]
		}
		if err := a.printJSON(map[string]any{"job": job, "operatorLog": emptyNotNull(log)}); err != nil {
			return err
		}
	} else if err := a.describeDeadJob(dead, log); err != nil {
		return err
	}
	if len(dead) == 0 {
		return fmt.Errorf("job %d does not wait in the dead-letter queue: %s", id, whyNotDead(log))
	}
	return nil
}

// whyNotDead is what the operators' log, in order of time, tells of a job that does not wait for review.
func whyNotDead(log []record) string {
	if len(log) > 0 {
		last := log[len(log)-1]
		switch by := last.text("LoginName") + " at " + last.text("ActedAt"); last.text("ActionName") {
		case "DiscardDeadJobs":
			return "it was discarded by " + by
		case "RequeueDeadJobs":
			return "it was requeued by " + by
		}
	}
	return "it is live, has succeeded, or never was"
}

func (a *app) describeDeadJob(dead, log []record) error {
	for _, d := range dead {
		for _, column := range d.columns {
			if d.get(column) != nil {
				fmt.Fprintf(a.stdout, "%-18s %s\n", column, printableLines(d.text(column)))
			}
		}
	}
	if len(log) == 0 {
		return nil
	}
	fmt.Fprintln(a.stdout, "\nWhat operators did")
	var rows [][]string
	for _, l := range log {
		what := l.text("ActionName")
		if l.get("OldValue") != nil || l.get("NewValue") != nil {
			what += ": " + shorten(l.text("OldValue"), 200) + " -> " + shorten(l.text("NewValue"), 200)
		}
		rows = append(rows, []string{l.text("ActedAt"), what, l.text("LoginName"), l.text("Note")})
	}
	return a.printTable(a.stdout, []string{"At (UTC)", "What", "Login", "Note"}, rows, map[string]int{"What": 24, "Login": 14, "Note": 14})
}
