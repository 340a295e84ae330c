package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/driver"
)

func (a *app) recurringSetCommand() *cobra.Command {
	var cron, zone, queue, jobType, payload, missed, why string
	var priority, maxAttempts int
	var headers []string
	var skip, paused bool
	c := &cobra.Command{
		Use: "set NAME", Short: "Make or change a recurring job", Args: exactArgs(1),
		Long: `A new one needs --cron and --type; of one that is there, what is not given stays as it is. Its next ticks are printed. An application that sets the same
name at its start changes it back.`,
		Example: `  chokaq-worker recurring set nightly-report --cron '30 2 * * *' \
    --time-zone Europe/Berlin --type report --queue reports`,
	}
	flags := c.Flags()
	flags.StringVar(&cron, "cron", "", "minute hour day-of-month month day-of-week, such as \"30 6 * * 1-5\", or @hourly, @daily, @weekly, @monthly, @yearly, \"@every 5m\"")
	flags.StringVar(&zone, "time-zone", "UTC", "IANA name of the time zone in which it is read, such as Europe/Berlin")
	flags.StringVar(&jobType, "type", "", "job type, exact: names the handler")
	flags.StringVar(&queue, "queue", driver.DefaultQueue, "queue; a worker that serves it computes the ticks")
	flags.StringVar(&payload, "payload", "{}", "payload, JSON text; @FILE reads a file, @- standard input")
	flags.IntVar(&priority, "priority", 5, "1 to 10; 10 runs first")
	flags.IntVar(&maxAttempts, "max-attempts", 10, "1 to 1000")
	flags.StringArrayVar(&headers, "header", nil, "NAME=VALUE, handed to the handler; repeatable, and all are replaced")
	flags.StringVar(&missed, "missed-ticks", "one", "what happens to ticks of a time in which no worker ran: one (the last of them), all or none")
	flags.BoolVar(&skip, "skip-while-live", false, "skip a tick while the job of an earlier one has not finished")
	flags.BoolVar(&paused, "paused", false, "whether it is paused (default: as it is)")
	flags.StringVar(&why, "note", "", "why; kept in the operators' log")
	c.RunE = func(c *cobra.Command, args []string) error {
		text, err := enqueueFlags{payload: payload}.payloadText(a.stdin)
		if err != nil {
			return usageError{fmt.Errorf("--payload: %w; nothing was changed", err)}
		}
		headerText, err := recurringHeaders(headers)
		if err != nil {
			return err
		}
		return a.withClient(func(ctx context.Context, client *driver.Client, args []string) error {
			now := definition{
				"Cron": cron, "TimeZone": zone, "Queue": queue, "JobType": jobType, "Payload": text, "Priority": int64(priority), "MaxAttempts": int64(maxAttempts),
				"Headers": headerText, "MissedTicks": missed, "SkipWhileLive": skip,
			}
			there, err := queryRecords(ctx, client.DB(), "SELECT "+recurringColumns+" WHERE r.Name = @Name", sql.Named("Name", args[0]))
			if err != nil {
				return err
			}
			if len(there) > 0 {
				now.keep(there[0], flags.Changed)
			} else if cron == "" || jobType == "" {
				return usageError{fmt.Errorf("recurring job %q is new, and needs --cron and --type; nothing was changed", args[0])}
			}
			return a.setRecurring(ctx, client, args[0], now, sql.NullBool{Bool: paused, Valid: flags.Changed("paused")}, why)
		})(c, args)
	}
	return c
}

// definition is the parameters of SetRecurringJob, which are columns of RecurringJobStatus too.
type definition map[string]any

// definitionFlags are the flags that set them.
var definitionFlags = map[string]string{
	"Cron": "cron", "TimeZone": "time-zone", "Queue": "queue", "JobType": "type", "Payload": "payload", "Priority": "priority", "MaxAttempts": "max-attempts",
	"Headers": "header", "MissedTicks": "missed-ticks", "SkipWhileLive": "skip-while-live",
}

// keep takes from the definition that is there what no flag has given.
func (d definition) keep(there record, given func(flag string) bool) {
	for column, flag := range definitionFlags {
		if !given(flag) {
			d[column] = there.get(column)
		}
	}
}

func (a *app) setRecurring(ctx context.Context, client *driver.Client, name string, now definition, paused sql.NullBool, why string) error {
	cron, zone := now["Cron"].(string), now["TimeZone"].(string)
	ticks, err := driver.NextTicks(cron, zone, time.Now(), 3)
	if err != nil {
		return usageError{fmt.Errorf("%w; nothing was changed", err)}
	}
	const procedure = "chokaq.SetRecurringJob"
	params := []any{sql.Named("Name", name), sql.Named("IsPaused", paused), sql.Named("Note", note(why))}
	for parameter, value := range now {
		params = append(params, sql.Named(parameter, value))
	}
	answer, err := queryRecords(ctx, client.DB(), procedure, params...)
	if err != nil {
		return procedureError(procedure, err)
	}
	if len(answer) != 1 {
		return fmt.Errorf("%s: %d rows were answered; \"recurring show\" says what is set", procedure, len(answer))
	}
	result := strings.ToLower(answer[0].text("Result"))
	if a.json {
		return a.printJSON(map[string]any{"name": name, "result": result, "nextTicks": emptyNotNull(ticks)})
	}
	fmt.Fprintf(a.stdout, "recurring job %q is %s\n", name, result)
	return a.printTicks(cron, zone, len(ticks))
}

// recurringHeaders is the headers as the JSON object that the procedure takes.
func recurringHeaders(pairs []string) (sql.NullString, error) {
	if len(pairs) == 0 {
		return sql.NullString{}, nil
	}
	headers, err := headerPairs(pairs)
	if err != nil {
		return sql.NullString{}, usageError{fmt.Errorf("%w; nothing was changed", err)}
	}
	text, err := json.Marshal(headers)
	return sql.NullString{String: string(text), Valid: true}, err
}
