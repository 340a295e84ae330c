package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/driver"
)

func (a *app) deadShowCommand() *cobra.Command {
	c := &cobra.Command{Use: "show ID", Short: "Show everything about a dead job, with its whole history", Args: exactArgs(1)}
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
			history, err := queryHistory(ctx, client, ids[0])
			if err != nil && !errors.Is(err, driver.ErrJobNotFound) {
				return err
			}
			return a.printDeadJob(ids[0], dead, history, log)
		})(c, args)
	}
	return c
}

func (a *app) printDeadJob(id int64, dead, history, log []record) error {
	if a.json {
		job := any(nil)
		if len(dead) > 0 {
			job = dead[0]
		}
		if err := a.printJSON(map[string]any{"job": job, "history": emptyNotNull(history), "operatorLog": emptyNotNull(log)}); err != nil {
			return err
		}
	} else if err := a.describeDeadJob(dead, history, log); err != nil {
		return err
	}
	if len(dead) == 0 {
		return fmt.Errorf("job %d does not wait in the dead-letter queue: %s", id, whyNotDead(id, log))
	}
	return nil
}

// whyNotDead is what the operators' log, in order of time, tells of a job that does not wait for review.
func whyNotDead(id int64, log []record) string {
	if len(log) > 0 {
		last := log[len(log)-1]
		switch by := last.text("LoginName") + " at " + last.text("ActedAt"); last.text("ActionName") {
		case "DiscardDeadJobs":
			return "it was discarded by " + by
		case "RequeueDeadJobs":
			return "it was requeued by " + by
		}
	}
	return fmt.Sprintf("it is live, has succeeded, or never was; chokaq-worker jobs show %d says which", id)
}

func (a *app) describeDeadJob(dead, history, log []record) error {
	for _, d := range dead {
		if err := a.printFields(a.stdout, d.fields(), nameWidth); err != nil {
			return err
		}
	}
	if len(history) > 0 {
		fmt.Fprintln(a.stdout, "\nHistory (UTC)")
		if err := a.printHistory(a.stdout, history); err != nil {
			return err
		}
	}
	titled := false
	for _, l := range log {
		if l.get("OldValue") == nil && l.get("NewValue") == nil {
			continue
		}
		if !titled {
			a.paragraph("\nWhat operators changed (UTC)")
			titled = true
		}
		if err := a.printEvent(a.stdout, fmt.Sprintf("%s  %s, by %s", l.text("ActedAt"), l.text("ActionName"), l.text("LoginName")),
			prefixed("old: ", l.text("OldValue")), prefixed("new: ", l.text("NewValue"))); err != nil {
			return err
		}
	}
	return nil
}

// prefixed is a text after a prefix, or nothing.
func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}
