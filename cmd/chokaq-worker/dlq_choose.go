package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/config"
	"github.com/chokaq/chokaq/driver"
)

const (
	procedureBatch = 1000 // ids that a procedure takes in one call
	previewRows    = 20
)

// deadChoice is which dead jobs an operator means, by id or by filter.
type deadChoice struct {
	filter deadFilter
	all    bool
	yes    bool
}

func (d *deadChoice) bind(c *cobra.Command) {
	d.filter.bind(c, 0, "at most so many, lowest id first; 0: all that fit")
	c.Flags().BoolVar(&d.all, "all", false, "every dead job")
	c.Flags().BoolVar(&d.yes, "yes", false, "do not ask")
	c.Args = cobra.ArbitraryArgs
}

// check refuses a choice that is none, or two.
func (d *deadChoice) check(args []string) error {
	byFilter := d.filter.chosen() || d.all
	switch {
	case len(args) == 0 && !byFilter:
		return usageError{errors.New("which jobs? Give ids, a filter (--queue, --type, --reason, --error, --text, --since, --until, --after), or --all; nothing was changed")}
	case len(args) > 0 && (byFilter || d.filter.limit != 0):
		return usageError{errors.New("give ids or a filter and not both; nothing was changed")}
	}
	return d.filter.check()
}

// choose finds the ids and lets the operator see what a filter has found: exactly these are acted upon.
func (a *app) choose(ctx context.Context, client *driver.Client, args []string, d deadChoice, verb string) ([]int64, error) {
	if len(args) > 0 {
		ids, err := parseIDs(args)
		if err != nil {
			return nil, err
		}
		return ids, a.confirm(ctx, d.yes || len(ids) == 1, fmt.Sprintf("%s %d jobs?", verb, len(ids)))
	}
	ids, err := findDead(ctx, client, d.filter)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	shown, err := deadByID(ctx, client, ids[:min(len(ids), previewRows)])
	if err != nil {
		return nil, err
	}
	if err := a.preview(shown, len(ids)); err != nil {
		return nil, err
	}
	return ids, a.confirm(ctx, d.yes, fmt.Sprintf("%s exactly the %d jobs found?", verb, len(ids)))
}

// preview shows the first of what was found: as a table, or with --json as a line, as everything on standard error is then.
func (a *app) preview(shown []record, found int) error {
	if a.json {
		text, err := json.Marshal(shown)
		if err != nil {
			return err
		}
		logger, _ := a.newLogger(config.Logging{Format: "json"})
		logger.Info("found for a decision", zap.String("event", "command.preview"), zap.Int("found", found), zap.Any("first", json.RawMessage(text)))
		return nil
	}
	if err := a.printDead(a.stderr, shown); err != nil {
		return err
	}
	if more := found - len(shown); more > 0 {
		fmt.Fprintf(a.stderr, "and %d more\n", more)
	}
	return nil
}

// decide calls a procedure that takes ids and answers with what became of each.
func (a *app) decide(ctx context.Context, client *driver.Client, procedure string, ids []int64, done string, args ...any) error {
	if len(ids) == 0 {
		if a.json {
			return a.printJSON([]record{})
		}
		fmt.Fprintln(a.stdout, "no such dead job; nothing was changed")
		return nil
	}
	var answers []record
	for batch := range slices.Chunk(ids, procedureBatch) {
		some, err := queryRecords(ctx, client.DB(), procedure, append([]any{sql.Named("JobIds", jsonIDs(batch))}, args...)...)
		if err != nil {
			return errors.Join(procedureError(procedure, err), fmt.Errorf("%d of %d jobs were handled before that", len(answers), len(ids)))
		}
		answers = append(answers, some...)
	}
	return a.reportDecision(answers, done)
}

// reportDecision says what became of the jobs. Status 1 when something is not as the operator wanted it.
func (a *app) reportDecision(answers []record, done string) error {
	counts := make(map[string]int)
	var others [][]string
	for _, answer := range answers {
		result := answer.text("Result")
		counts[result]++
		if result != done {
			others = append(others, []string{answer.text("JobId"), result, answer.text("JobState"), decisionMeanings[result]})
		}
	}
	if a.json {
		if err := a.printJSON(answers); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.stdout, "%s: %d of %d\n", done, counts[done], len(answers))
		if len(others) > 0 {
			if err := a.printTable(a.stdout, []string{"Job", "Result", "Is", "Meaning"}, others, "Meaning"); err != nil {
				return err
			}
		}
	}
	if len(others) > counts["AlreadyDiscarded"] {
		return silentError(statusError)
	}
	return nil
}

var decisionMeanings = map[string]string{
	"NotDead":          "it does not wait in the dead-letter queue",
	"Discarded":        "somebody has discarded it; it stays so",
	"AlreadyDiscarded": "somebody did before; the first note stays",
	"KeyInUse":         "a live job has its idempotency key; it stays dead",
}
