package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/driver"
)

func (a *app) recurringCommand() *cobra.Command {
	return group("recurring", "Show, set, pause, resume and remove recurring jobs",
		a.recurringListCommand(), a.recurringShowCommand(), a.recurringNextCommand(), a.recurringSetCommand(),
		a.recurringSwitchCommand("pause", "No more ticks of a recurring job; jobs that were enqueued stay", true, "is paused: it does not tick"),
		a.recurringSwitchCommand("resume", "Let a recurring job tick again, without the ticks of the pause", false, "is not paused"),
		a.recurringRemoveCommand())
}

const recurringColumns = `r.Name, r.Cron, r.TimeZone, r.IsPaused, r.MissedTicks, r.SkipWhileLive, r.Queue, r.JobType, r.Priority, r.MaxAttempts, r.NextTickAt, r.LateSeconds,
       r.LastTickAt, r.LastEnqueuedAt, r.LastJobId, r.Headers, r.Payload, r.UpdatedAt, r.UpdatedBy
FROM chokaq.RecurringJobStatus AS r`

func (a *app) recurringListCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "Show the recurring jobs, and whether they tick", Args: noArgs,
		Long: "Shows chokaq.RecurringJobStatus. A tick that is late by more than a minute: no worker that runs serves the queue, or the expression cannot be read.",
	}
	c.RunE = a.withClient(func(ctx context.Context, client *driver.Client, _ []string) error {
		all, err := queryRecords(ctx, client.DB(), "SELECT "+recurringColumns+" ORDER BY r.Name")
		if err != nil {
			return err
		}
		return a.printRecords(all, "there are no recurring jobs", a.printRecurring)
	})
	return c
}

func (a *app) printRecurring(to io.Writer, all []record) error {
	var rows [][]string
	for _, r := range all {
		next := ""
		switch at, _ := r.get("NextTickAt").(time.Time); {
		case r.get("IsPaused") == true:
			next = "paused"
		case r.number("LateSeconds") > 60:
			next = "late by " + age(r.get("LateSeconds"))
		case !at.IsZero():
			next = at.Format("2006-01-02 15:04:05")
		}
		rows = append(rows, []string{r.text("Name"), r.text("Cron"), r.text("TimeZone"), r.text("Queue"), r.text("JobType"), next})
	}
	return a.printTable(to, []string{"Name", "Cron", "Time zone", "Queue", "Type", "Next tick (UTC)"}, rows, "Name", "Cron", "Time zone", "Queue", "Type", "Next tick (UTC)")
}

// recurringJob is the definition with a name.
func recurringJob(ctx context.Context, client *driver.Client, name string) (record, error) {
	found, err := queryRecords(ctx, client.DB(), "SELECT "+recurringColumns+" WHERE r.Name = @Name", sql.Named("Name", name))
	if err != nil {
		return record{}, err
	}
	if len(found) == 0 {
		return record{}, fmt.Errorf("there is no recurring job %q; chokaq-worker recurring list shows those there are", name)
	}
	return found[0], nil
}

func (a *app) recurringShowCommand() *cobra.Command {
	c := &cobra.Command{Use: "show NAME", Short: "Show everything about a recurring job", Args: exactArgs(1)}
	c.RunE = a.withClient(func(ctx context.Context, client *driver.Client, args []string) error {
		r, err := recurringJob(ctx, client, args[0])
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(r)
		}
		return a.printFields(a.stdout, r.fields(), nameWidth)
	})
	return c
}

// recurringSwitchCommand pauses a recurring job, or lets it go on.
func (a *app) recurringSwitchCommand(use, short string, paused bool, now string) *cobra.Command {
	var why string
	c := &cobra.Command{Use: use + " NAME", Short: short, Args: exactArgs(1)}
	c.Flags().StringVar(&why, "note", "", "why; kept in the operators' log")
	c.RunE = a.withClient(func(ctx context.Context, client *driver.Client, args []string) error {
		if err := callProcedure(ctx, client, "chokaq.SetRecurringJobPaused", sql.Named("Name", args[0]), sql.Named("IsPaused", paused), sql.Named("Note", note(why))); err != nil {
			return err
		}
		return a.printDone(fmt.Sprintf("recurring job %q %s", args[0], now))
	})
	return c
}

func (a *app) recurringRemoveCommand() *cobra.Command {
	var why string
	var yes bool
	c := &cobra.Command{
		Use: "remove NAME", Short: "Forget a recurring job; jobs that were enqueued stay", Args: exactArgs(1),
		Long: "There are no further ticks. An application that sets it at each start brings it back; \"recurring pause\" lasts.",
	}
	c.Flags().StringVar(&why, "note", "", "why; kept in the operators' log")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	c.RunE = a.withClient(func(ctx context.Context, client *driver.Client, args []string) error {
		if _, err := recurringJob(ctx, client, args[0]); err != nil {
			return err
		}
		if err := a.confirm(ctx, yes, fmt.Sprintf("Forget recurring job %q?", args[0])); err != nil {
			return err
		}
		if err := callProcedure(ctx, client, "chokaq.RemoveRecurringJob", sql.Named("Name", args[0]), sql.Named("Note", note(why))); err != nil {
			return err
		}
		return a.printDone(fmt.Sprintf("recurring job %q is removed; it does not tick any more", args[0]))
	})
	return c
}

func (a *app) recurringNextCommand() *cobra.Command {
	var cron, zone string
	n := 5
	c := &cobra.Command{
		Use: "next NAME | --cron EXPRESSION [--time-zone ZONE]", Short: "Show the next ticks of a recurring job, or of a cron expression", Args: atMostArgs(1),
		Long:    "With --cron no database is needed. What is computed is what workers compute; a paused job does not tick.",
		Example: "  chokaq-worker recurring next nightly-report -n 3\n  chokaq-worker recurring next --cron '30 2 * * *' --time-zone Europe/Berlin",
	}
	c.Flags().StringVar(&cron, "cron", "", "cron expression: minute hour day-of-month month day-of-week, @daily, \"@every 5m\", ...")
	c.Flags().StringVar(&zone, "time-zone", "UTC", "IANA name of the time zone in which it is read, with --cron")
	c.Flags().IntVarP(&n, "count", "n", n, "how many ticks, 1 to 1000")
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case len(args) == 0 && cron == "", len(args) > 0 && cron != "":
			return usageError{errors.New("give the name of a recurring job, or --cron, and not both")}
		case len(args) > 0 && c.Flags().Changed("time-zone"):
			return usageError{errors.New("--time-zone goes with --cron: a recurring job has its own")}
		case n < 1 || n > 1000:
			return usageError{fmt.Errorf("--count: must be 1 to 1000, and is %d", n)}
		}
		if cron != "" {
			return a.printTicks(cron, zone, n)
		}
		return a.withClient(func(ctx context.Context, client *driver.Client, args []string) error {
			r, err := recurringJob(ctx, client, args[0])
			if err != nil {
				return err
			}
			if r.get("IsPaused") == true {
				a.warn(fmt.Sprintf("recurring job %q is paused, and does not tick until it is resumed", args[0]))
			}
			return a.printTicks(r.text("Cron"), r.text("TimeZone"), n)
		})(c, args)
	}
	return c
}

func (a *app) printTicks(cron, zone string, n int) error {
	ticks, err := driver.NextTicks(cron, zone, time.Now(), n)
	if err != nil {
		return usageError{err}
	}
	if a.json {
		list := make([]map[string]time.Time, 0, n)
		for _, tick := range ticks {
			list = append(list, map[string]time.Time{"at": tick.UTC(), "local": tick})
		}
		return a.printJSON(list)
	}
	if len(ticks) == 0 {
		fmt.Fprintln(a.stdout, "it never ticks again")
		return nil
	}
	var rows [][]string
	if zone == "UTC" || zone == "" {
		for _, tick := range ticks {
			rows = append(rows, []string{tick.UTC().Format("Mon 2006-01-02 15:04:05")})
		}
		return a.printTable(a.stdout, []string{"UTC"}, rows)
	}
	for _, tick := range ticks {
		rows = append(rows, []string{tick.UTC().Format("2006-01-02 15:04:05"), tick.Format("Mon 2006-01-02 15:04:05 MST")})
	}
	return a.printTable(a.stdout, []string{"UTC", zone}, rows, zone)
}
