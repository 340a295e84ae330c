package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/driver"
)

func (a *app) cancelCommand() *cobra.Command {
	var why string
	c := &cobra.Command{
		Use: "cancel ID", Short: "End a job that has not finished", Args: exactArgs(1),
		Long: "A job that has not started goes to the dead-letter queue as Cancelled. One that runs is canceled by its worker with its next heartbeat.",
	}
	c.Flags().StringVar(&why, "note", "", "why; kept in the operators' log")
	c.RunE = func(c *cobra.Command, args []string) error {
		ids, err := parseIDs(args)
		if err != nil {
			return err
		}
		return a.withClient(func(ctx context.Context, client *driver.Client, _ []string) error {
			result, err := client.Cancel(ctx, ids[0], why)
			if errors.Is(err, driver.ErrJobNotFound) {
				return fmt.Errorf("there is no job %d: it was never enqueued, or its history has been purged", ids[0])
			}
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]any{"jobId": ids[0], "result": result})
			}
			fmt.Fprintf(a.stdout, "job %d %s\n", ids[0], map[driver.CancelResult]string{
				driver.Cancelled:        "had not started: it is in the dead-letter queue as Cancelled",
				driver.CancelRequested:  "is running: its worker cancels it with its next heartbeat",
				driver.AlreadyCancelled: "has been canceled before",
				driver.AlreadyFinished:  "has finished already: nothing was changed",
			}[result])
			return nil
		})(c, args)
	}
	return c
}

// parseIDs reads job ids.
func parseIDs(args []string) ([]int64, error) {
	var ids []int64
	seen := make(map[int64]bool)
	for _, arg := range args {
		id, err := strconv.ParseInt(arg, 10, 64)
		if err != nil || id < 1 {
			return nil, usageError{fmt.Errorf("%q is not a job id; accepted: a positive whole number", arg)}
		}
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids, nil
}
