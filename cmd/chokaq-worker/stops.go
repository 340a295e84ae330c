package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/driver"
)

var stopOutcomes = []string{"clean", "review", "abandoned", "draining", "cut short", "gone"}

const stopColumns = `s.WorkerId, s.HostName, s.ProcessId, s.Version, s.Queues, s.Reason, s.Outcome, s.DrainingAt, s.StoppedAt, s.LastHeartbeatAt, s.Running, s.Released, s.Completed,
       s.Retried, s.Dead, s.Interrupted, s.Abandoned, s.LeftFetched, s.Unstored, s.ReleaseMs, s.HandlersMs, s.FlushMs, s.TotalMs, s.GracePeriodMs, s.PrefetchedJobReleaseTimeoutMs
FROM chokaq.StopHistory AS s`

func (a *app) stopsCommand() *cobra.Command {
	var since, host, outcome string
	limit := 50
	c := &cobra.Command{
		Use: "stops", Short: "Show how workers ended, the last first", Args: onlySubcommands,
		Long: `Shows chokaq.StopHistory. Outcomes:
  clean      nothing was left to anybody
  review     jobs that the grace period cut short are in the dead-letter queue
  abandoned  something was left to recovery
  draining   under way
  cut short  it began to drain and has not finished: killed, or cut off
  gone       it never began: killed, crashed, or cut off

Ran: handlers that ran when it began. Left: jobs left for review, to recovery, or whose outcome could not be stored.`,
		Example: "  chokaq-worker stops --since 24h --outcome 'cut short'\n  chokaq-worker stops show 6f9619ff",
	}
	c.Flags().StringVar(&since, "since", "", "only since: "+momentForm)
	c.Flags().StringVar(&host, "host", "", "only this host")
	c.Flags().StringVar(&outcome, "outcome", "", "only this outcome: clean, review, abandoned, draining, \"cut short\" or gone")
	c.Flags().IntVar(&limit, "limit", limit, "at most so many; 0: all")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := checkLimit(limit); err != nil {
			return err
		}
		where, err := choices{{"HostName", "--host", host, nil}, {"Outcome", "--outcome", outcome, stopOutcomes}}.where("s")
		if err != nil {
			return err
		}
		if since != "" {
			expression, value, err := moment("--since", since, "Since")
			if err != nil {
				return err
			}
			where.and(stopEnd+" >= "+expression, value)
		}
		return a.withClient(func(ctx context.Context, client *driver.Client, _ []string) error {
			stops, err := queryRecords(ctx, client.DB(), "SELECT "+top(limit)+stopColumns+where.text+" ORDER BY "+stopEnd+" DESC, s.WorkerId", where.values...)
			if err != nil {
				return err
			}
			return a.printRecords(stops, "no worker has stopped, as far as is known", func(to io.Writer, stops []record) error {
				if err := a.printStops(to, stops); err != nil {
					return err
				}
				return tellLimit(to, len(stops), limit)
			})
		})(c, args)
	}
	c.AddCommand(a.stopsShowCommand())
	return c
}

// stopEnd is the last that is known of a process that ended.
const stopEnd = "COALESCE(s.StoppedAt, s.LastHeartbeatAt, s.DrainingAt)"

func (a *app) printStops(to io.Writer, stops []record) error {
	var rows [][]string
	for _, s := range stops {
		at, left := "", ""
		for _, column := range []string{"StoppedAt", "LastHeartbeatAt", "DrainingAt"} {
			if t, ok := s.get(column).(time.Time); ok && at == "" {
				at = t.Format("2006-01-02 15:04")
			}
		}
		if s.get("Interrupted") != nil {
			left = strconv.FormatInt(leftBehind(s), 10)
		}
		rows = append(rows, []string{shortID(s.text("WorkerId")), at, hostAndPID(s), s.text("Outcome"), s.text("Running"), left, milliseconds(s.get("TotalMs"))})
	}
	return a.printTable(to, []string{"Worker", "Ended (UTC)", "Host, PID", "Outcome", "Ran", "Left", "Took"}, rows, "Host, PID")
}

// leftBehind is the jobs that somebody else has to see to.
func leftBehind(s record) int64 {
	return s.number("Interrupted") + s.number("Abandoned") + s.number("LeftFetched") + s.number("Unstored")
}

// milliseconds as people say them.
func milliseconds(ms any) string {
	n, ok := ms.(int64)
	if !ok {
		return ""
	}
	d := time.Duration(n) * time.Millisecond
	switch {
	case d >= 10*time.Second:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(100 * time.Millisecond)
	}
	return d.String()
}

func (a *app) stopsShowCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "show WORKER", Short: "Show everything about how a worker ended", Args: exactArgs(1),
		Long: "WORKER is its id, or the beginning of it, as \"stops\" shows it.",
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := checkWorker(args[0]); err != nil {
			return err
		}
		return a.withClient(func(ctx context.Context, client *driver.Client, args []string) error {
			id, err := findWorker(ctx, client, "chokaq.StopHistory", args[0])
			if err != nil {
				return err
			}
			stops, err := queryRecords(ctx, client.DB(), "SELECT "+stopColumns+" WHERE s.WorkerId = @WorkerId", sql.Named("WorkerId", id))
			if err != nil {
				return err
			}
			if len(stops) == 0 {
				return fmt.Errorf("worker %s is no longer known: retention has removed it", id)
			}
			if a.json {
				return a.printJSON(stops[0])
			}
			if err := a.printFields(a.stdout, stops[0].fields(), nameWidth); err != nil {
				return err
			}
			if meaning := outcomeMeanings[stops[0].text("Outcome")]; meaning != "" {
				a.paragraph("\n" + meaning)
			}
			return nil
		})(c, args)
	}
	return c
}

// outcomeMeanings says what an outcome means for the jobs, and what to do.
var outcomeMeanings = map[string]string{
	"clean":     "Nothing was left to anybody.",
	"review":    "Jobs that the grace period cut short wait for review, see \"dlq list --reason Interrupted\". \"chokaq-worker advise\" computes a longer grace period.",
	"abandoned": "Something was left to recovery: what had not started is set back to Pending, what ran goes to the dead-letter queue as Zombie. Abandoned: handlers must return when their context ends. Unstored: the worker's log has the error with which the database refused the outcomes.",
	"draining":  "The stop is under way.",
	"cut short": "It was killed before it was through, or cut off from the database. Recovery settles what it held. Is terminationGracePeriodSeconds or TimeoutStopSec too short? \"chokaq-worker advise\" says what it should be.",
	"gone":      "It was killed, crashed, or was cut off from the database, without a word. Recovery settles what it held; its machine's logs may say why.",
}
