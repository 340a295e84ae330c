package main

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/driver"
)

func (a *app) workersHandlersCommand() *cobra.Command {
	var why string
	c := &cobra.Command{
		Use: "handlers WORKER N|default", Short: "Change how many handlers a running worker has", Args: exactArgs(2),
		Long: "More starts more at once; fewer lets those that run finish, and starts none until there is room. The worker learns of it within a heartbeat interval. default: as " +
			"it was started; so it is again after its next start. WORKER is its id, or the beginning of it, as \"workers\" shows it.",
		Example: "  chokaq-worker workers handlers 6f9619ff 20 --note 'the backlog of Monday'",
	}
	c.Flags().StringVar(&why, "note", "", "why; kept in the operators' log")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := checkWorker(args[0]); err != nil {
			return err
		}
		handlers := sql.NullInt32{}
		if args[1] != "default" {
			n, err := strconv.ParseInt(args[1], 10, 32)
			if err != nil || n < 1 || n > 10000 {
				return usageError{fmt.Errorf("%q is not a number of handlers; accepted: 1 to 10000, or default; nothing was changed", args[1])}
			}
			handlers = sql.NullInt32{Int32: int32(n), Valid: true}
		}
		return a.withClient(func(ctx context.Context, client *driver.Client, args []string) error {
			id, err := findWorker(ctx, client, "chokaq.WorkerStatus", args[0])
			if err != nil {
				return err
			}
			if err := callProcedure(ctx, client, "chokaq.SetWorkerHandlers", sql.Named("WorkerId", id), sql.Named("Handlers", handlers), sql.Named("Note", note(why))); err != nil {
				return err
			}
			if !handlers.Valid {
				return a.printDone(fmt.Sprintf("worker %s will have as many handlers as it was started with", shortID(id)))
			}
			return a.printDone(fmt.Sprintf("worker %s will have %d handlers within a heartbeat interval of its own; its log (worker.handlers_changed) and /readyz say when it has", shortID(id), handlers.Int32))
		})(c, args)
	}
	return c
}
