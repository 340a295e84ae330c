package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/driver"
)

func (a *app) statusCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "status", Short: "Show queues, workers and recovery in one look", Args: noArgs,
		Long: "Shows chokaq.QueueStatus, WorkerStatus and RecoveryStatus. Nothing waits for it.",
	}
	c.RunE = a.withClient(func(ctx context.Context, client *driver.Client, _ []string) error {
		queues, err := queryQueues(ctx, client)
		if err != nil {
			return err
		}
		workers, err := queryWorkers(ctx, client, false)
		if err != nil {
			return err
		}
		recovery, err := queryRecords(ctx, client.DB(), `SELECT r.ProcedureName, r.LastStartedAt, r.LastFinishedAt, r.SecondsSinceLastRun, r.LastRowsMoved, r.LastLoginName,
       r.LastProgramName, r.RunsLastHour, r.RowsMovedLastHour, r.IsLate, r.LateAfterSeconds
FROM chokaq.RecoveryStatus AS r ORDER BY r.ProcedureName DESC`)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(map[string]any{"queues": emptyNotNull(queues), "workers": emptyNotNull(workers), "recovery": emptyNotNull(recovery)})
		}
		return a.printStatus(queues, workers, recovery)
	})
	return c
}

func (a *app) printStatus(queues, workers, recovery []record) error {
	section := func(title string, rows []record, none string, print func(io.Writer, []record) error) error {
		fmt.Fprintln(a.stdout, title)
		if len(rows) == 0 {
			fmt.Fprintln(a.stdout, " "+none)
			return nil
		}
		return print(a.stdout, rows)
	}
	if err := section("Queues", queues, "no queue has jobs or switches", a.printQueues); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	if err := section("Workers", workers, "no worker runs", a.printWorkers); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	return section("Recovery", recovery, "", a.printRecovery)
}

func (a *app) printRecovery(to io.Writer, recovery []record) error {
	var rows [][]string
	for _, r := range recovery {
		ago := "never"
		if r.get("SecondsSinceLastRun") != nil {
			ago = age(r.get("SecondsSinceLastRun")) + " ago"
		}
		if r.get("IsLate") == true {
			ago += " (late)"
		}
		rows = append(rows, []string{r.text("ProcedureName"), ago, r.text("LastRowsMoved"), r.text("RunsLastHour"), r.text("RowsMovedLastHour"), programName(r.text("LastProgramName"))})
	}
	return a.printTable(to, []string{"Procedure", "Last run", "Moved", "Runs/h", "Moved/h", "By"}, rows, "Last run", "By")
}

// programName leaves out which step of which job it was.
func programName(text string) string {
	if strings.HasPrefix(text, "SQLAgent") {
		return "SQL Server Agent"
	}
	return text
}
