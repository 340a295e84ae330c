package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/driver"
)

func (a *app) queueCommand() *cobra.Command {
	return group("queue", "Show, pause, resume and limit queues",
		a.queueListCommand(),
		a.queueSwitchCommand("pause", "No more claims from a queue; what runs goes on", "chokaq.PauseQueue", "paused: nothing is claimed from it; what runs goes on"),
		a.queueSwitchCommand("resume", "Claim from a paused queue again", "chokaq.ResumeQueue", "not paused"),
		a.queueLimitCommand(), a.queueTimeoutsCommand())
}

func queryQueues(ctx context.Context, client *driver.Client) ([]record, error) {
	return queryRecords(ctx, client.DB(), `SELECT q.Queue, q.IsPaused, q.ConcurrencyLimit, q.Pending, q.Scheduled, q.Fetched, q.Processing, q.Dead, q.OldestDueAt, q.OldestDueAgeSeconds
FROM chokaq.QueueStatus AS q ORDER BY q.Queue`)
}

func (a *app) queueListCommand() *cobra.Command {
	c := &cobra.Command{Use: "list", Short: "Show what is waiting, running and dead, by queue", Args: noArgs}
	c.RunE = a.withClient(func(ctx context.Context, client *driver.Client, _ []string) error {
		queues, err := queryQueues(ctx, client)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(emptyNotNull(queues))
		}
		if len(queues) == 0 {
			fmt.Fprintln(a.stdout, "no queue has jobs or switches")
			return nil
		}
		return a.printQueues(a.stdout, queues)
	})
	return c
}

func (a *app) printQueues(to io.Writer, queues []record) error {
	var rows [][]string
	for _, q := range queues {
		name := q.text("Queue")
		if paused, _ := q.get("IsPaused").(bool); paused {
			name += " (paused)"
		}
		rows = append(rows, []string{name, q.text("ConcurrencyLimit"), q.text("Pending"), q.text("Scheduled"), q.text("Fetched"), q.text("Processing"),
			q.text("Dead"), age(q.get("OldestDueAgeSeconds"))})
	}
	return a.printTable(to, []string{"Queue", "Limit", "Due", "Later", "Fetched", "Running", "Dead", "Oldest due"}, rows, "Queue")
}

// queueSwitchCommand is a procedure that takes a queue and a note.
func (a *app) queueSwitchCommand(use, short, procedure, now string) *cobra.Command {
	var why string
	c := &cobra.Command{Use: use + " QUEUE", Short: short, Args: exactArgs(1)}
	c.Flags().StringVar(&why, "note", "", "why; kept in the operators' log")
	c.RunE = a.withClient(func(ctx context.Context, client *driver.Client, args []string) error {
		known, err := knowsQueue(ctx, client, args[0])
		if err != nil {
			return err
		}
		if err := callProcedure(ctx, client, procedure, sql.Named("Queue", args[0]), sql.Named("Note", note(why))); err != nil {
			return err
		}
		a.warnUnknown(known, args[0], strings.SplitN(now, ":", 2)[0])
		return a.printDone(fmt.Sprintf("queue %q is %s", args[0], now))
	})
	return c
}

// warnUnknown tells of a queue that nobody knows; it was changed all the same.
func (a *app) warnUnknown(known bool, queue, now string) {
	if !known {
		a.warn(fmt.Sprintf("no job, worker or setting knows queue %q; it is %s from now on", queue, now))
	}
}

// knowsQueue reports whether anything is known of a queue: a name that is misspelled is one that nobody knows.
func knowsQueue(ctx context.Context, client *driver.Client, queue string) (bool, error) {
	known, err := queryRecords(ctx, client.DB(), `SELECT 1 AS Known FROM chokaq.QueueStatus AS q WHERE q.Queue = @Queue
UNION ALL
SELECT 1 FROM chokaq.RecurringJobStatus AS r WHERE r.Queue = @Queue
UNION ALL
SELECT 1 FROM chokaq.WorkerStatus AS w CROSS APPLY OPENJSON(w.Queues) AS s
WHERE CONVERT(nvarchar(64), s.[value]) COLLATE Latin1_General_100_BIN2 = @Queue COLLATE Latin1_General_100_BIN2`, sql.Named("Queue", queue))
	return len(known) > 0, err
}

func (a *app) queueLimitCommand() *cobra.Command {
	var why string
	c := &cobra.Command{
		Use: "limit QUEUE N|none", Short: "Limit how many jobs of a queue all workers together may hold", Args: exactArgs(2),
		Long: "Counts fetched and running jobs of all workers. 0 holds the queue; none removes the limit. Prefetched jobs use the limit up: give the workers\nof a limited queue a small prefetch.",
	}
	c.Flags().StringVar(&why, "note", "", "why; kept in the operators' log")
	c.RunE = func(c *cobra.Command, args []string) error {
		limit := sql.NullInt64{}
		if args[1] != "none" {
			n, err := strconv.ParseInt(args[1], 10, 32)
			if err != nil || n < 0 {
				return usageError{fmt.Errorf("%q is not a limit; accepted: a whole number from 0, or none; nothing was changed", args[1])}
			}
			limit = sql.NullInt64{Int64: n, Valid: true}
		}
		return a.withClient(func(ctx context.Context, client *driver.Client, args []string) error {
			known, err := knowsQueue(ctx, client, args[0])
			if err != nil {
				return err
			}
			if err := callProcedure(ctx, client, "chokaq.SetQueueLimit", sql.Named("Queue", args[0]), sql.Named("ConcurrencyLimit", limit), sql.Named("Note", note(why))); err != nil {
				return err
			}
			a.warnUnknown(known, args[0], "limited")
			return a.printDone(fmt.Sprintf("queue %q has limit %s", args[0], args[1]))
		})(c, args)
	}
	return c
}

func (a *app) queueTimeoutsCommand() *cobra.Command {
	var why, fetched, zombie string
	c := &cobra.Command{
		Use: "timeouts QUEUE --fetched D|none --zombie D|none", Short: "Set the recovery timeouts of a queue", Args: exactArgs(1),
		Long:    "Overrides Recovery.FetchedJobTimeout and Recovery.ProcessingZombieTimeout for a queue; none: the setting applies. Both must be given: the\nprocedure sets both. Running workers read them when they start; keep their heartbeat interval at most a third of both.",
		Example: "  chokaq-worker queue timeouts reports --fetched none --zombie 30m",
	}
	c.Flags().StringVar(&fetched, "fetched", "", "whole seconds as a Go duration, or none")
	c.Flags().StringVar(&zombie, "zombie", "", "whole seconds as a Go duration, or none")
	c.Flags().StringVar(&why, "note", "", "why; kept in the operators' log")
	c.RunE = func(c *cobra.Command, args []string) error {
		if !c.Flags().Changed("fetched") || !c.Flags().Changed("zombie") {
			return usageError{errors.New("give both --fetched and --zombie, each a Go duration of whole seconds, or none: both are set; nothing was changed")}
		}
		f, err := secondsOrNone("--fetched", fetched)
		if err != nil {
			return err
		}
		z, err := secondsOrNone("--zombie", zombie)
		if err != nil {
			return err
		}
		return a.withClient(func(ctx context.Context, client *driver.Client, args []string) error {
			known, err := knowsQueue(ctx, client, args[0])
			if err != nil {
				return err
			}
			if err := callProcedure(ctx, client, "chokaq.SetQueueTimeouts", sql.Named("Queue", args[0]), sql.Named("FetchedJobTimeoutSeconds", f),
				sql.Named("ProcessingZombieTimeoutSeconds", z), sql.Named("Note", note(why))); err != nil {
				return err
			}
			a.warnUnknown(known, args[0], "one with timeouts of its own")
			if err := a.warnWorkersOfQueue(ctx, client, args[0], f, z); err != nil {
				return err
			}
			return a.printDone(fmt.Sprintf("queue %q has timeouts %s (fetched) and %s (zombie)", args[0], fetched, zombie))
		})(c, args)
	}
	return c
}

// warnWorkersOfQueue tells what timeouts of a queue that are shorter than the settings mean for workers that run.
func (a *app) warnWorkersOfQueue(ctx context.Context, client *driver.Client, queue string, fetched, zombie sql.NullInt64) error {
	settings, err := querySettings(ctx, client)
	if err != nil {
		return err
	}
	shortest := int64(0)
	for _, s := range settings {
		own := map[string]sql.NullInt64{"Recovery.FetchedJobTimeout": fetched, "Recovery.ProcessingZombieTimeout": zombie}[s.text("Name")]
		if own.Valid && own.Int64 < s.number("Value") && (shortest == 0 || own.Int64 < shortest) {
			shortest = own.Int64
		}
	}
	if shortest == 0 {
		return nil
	}
	return a.warnRunningWorkers(ctx, client, fmt.Sprintf("the shorter timeout of queue %q", queue), shortest, ` AND EXISTS (SELECT 1 FROM OPENJSON(w.Queues) AS s
WHERE CONVERT(nvarchar(64), s.[value]) COLLATE Latin1_General_100_BIN2 = @Queue COLLATE Latin1_General_100_BIN2)`, sql.Named("Queue", queue))
}

func secondsOrNone(flag, text string) (sql.NullInt64, error) {
	if text == "none" {
		return sql.NullInt64{}, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second || d%time.Second != 0 {
		return sql.NullInt64{}, usageError{fmt.Errorf("%s: %q is not accepted; accepted: whole seconds as a Go duration such as 90s or 10m, or none; nothing was changed", flag, text)}
	}
	return sql.NullInt64{Int64: int64(d / time.Second), Valid: true}, nil
}
