package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/driver"
)

func (a *app) workersCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "workers", Short: "Show the workers: running, draining, gone", Args: onlySubcommands,
		Long: "Shows chokaq.WorkerStatus. \"gone\": it has not said that it stopped, and has sent no heartbeat for Recovery.ProcessingZombieTimeout. Running: " +
			"jobs that it runs, of its handlers; \"want\": what an operator has asked for (workers handlers).",
	}
	c.Flags().BoolVar(&all, "all", false, "also those that have stopped")
	c.RunE = a.withClient(func(ctx context.Context, client *driver.Client, _ []string) error {
		workers, err := queryWorkers(ctx, client, all)
		if err != nil {
			return err
		}
		none := "no worker runs; --all shows those that have stopped"
		if all {
			none = "no worker has run, as far as is known"
		}
		return a.printRecords(workers, none, a.printWorkers)
	})
	c.AddCommand(a.workersHandlersCommand())
	return c
}

func queryWorkers(ctx context.Context, client *driver.Client, all bool) ([]record, error) {
	where := " WHERE w.State <> 'stopped'"
	if all {
		where = ""
	}
	return queryRecords(ctx, client.DB(), `SELECT w.WorkerId, w.HostName, w.ProcessId, w.Version, w.Queues, w.JobTypes, w.Handlers, w.HandlersWanted, w.Prefetch, w.State, w.Fetched,
       w.Processing, w.LoginName, w.StartedAt, w.StateAt, w.HeartbeatAt, w.HeartbeatAgeSeconds
FROM chokaq.WorkerStatus AS w`+where+` ORDER BY w.StartedAt, w.WorkerId`)
}

func (a *app) printWorkers(to io.Writer, workers []record) error {
	var rows [][]string
	for _, w := range workers {
		running := w.text("Processing") + "/" + w.text("Handlers")
		if w.get("HandlersWanted") != nil {
			running += " want " + w.text("HandlersWanted")
		}
		rows = append(rows, []string{shortID(w.text("WorkerId")), hostAndPID(w), w.text("State"), queueNames(w.text("Queues")), w.text("Fetched"), running,
			age(w.get("HeartbeatAgeSeconds"))})
	}
	return a.printTable(to, []string{"Worker", "Host, PID", "State", "Queues", "Fetched", "Running", "Heartbeat"}, rows, "Host, PID", "Queues", "Running")
}

// queueNames reads the JSON array of a worker's queues.
func queueNames(text string) string {
	var names []string
	if json.Unmarshal([]byte(text), &names) != nil {
		return text
	}
	return strings.Join(names, ", ")
}
