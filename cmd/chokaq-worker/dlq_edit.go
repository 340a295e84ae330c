package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/driver"
)

func (a *app) deadEditCommand() *cobra.Command {
	var payload, queue, why string
	var priority, maxAttempts int
	c := &cobra.Command{
		Use: "edit ID", Short: "Change a dead job before it is requeued", Args: exactArgs(1),
		Long:    "What is not given stays as it is. The operators' log keeps the old and the new values.",
		Example: `  chokaq-worker dlq edit 17 --payload '{"to": 18}' --note 'wrong recipient'`,
	}
	c.Flags().StringVar(&payload, "payload", "", "payload, JSON text; @FILE reads a file, @- standard input")
	c.Flags().StringVar(&queue, "queue", "", "queue")
	c.Flags().IntVar(&priority, "priority", 0, "1 to 10")
	c.Flags().IntVar(&maxAttempts, "max-attempts", 0, "1 to 1000")
	c.Flags().StringVar(&why, "note", "", "why; kept in the operators' log")
	c.RunE = func(c *cobra.Command, args []string) error {
		ids, err := parseIDs(args)
		if err != nil {
			return err
		}
		params := []any{sql.Named("JobId", ids[0]), sql.Named("Note", note(why))}
		if c.Flags().Changed("payload") {
			text, err := enqueueFlags{payload: payload}.payloadText(a.stdin)
			if err != nil {
				return usageError{fmt.Errorf("--payload: %w; nothing was changed", err)}
			}
			params = append(params, sql.Named("Payload", text))
		}
		if c.Flags().Changed("queue") {
			params = append(params, sql.Named("Queue", queue))
		}
		if c.Flags().Changed("priority") {
			params = append(params, sql.Named("Priority", priority))
		}
		if c.Flags().Changed("max-attempts") {
			params = append(params, sql.Named("MaxAttempts", maxAttempts))
		}
		if len(params) == 2 {
			return usageError{errors.New("what is to be changed? --payload, --queue, --priority or --max-attempts; nothing was changed")}
		}
		return a.withClient(func(ctx context.Context, client *driver.Client, _ []string) error {
			if err := callProcedure(ctx, client, "chokaq.EditDeadJob", params...); err != nil {
				return err
			}
			return a.printDone(fmt.Sprintf("job %d is changed; requeue it with: chokaq-worker dlq requeue %d", ids[0], ids[0]))
		})(c, args)
	}
	return c
}
