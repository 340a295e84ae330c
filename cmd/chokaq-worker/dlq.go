package main

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func (a *app) deadCommand() *cobra.Command {
	return group("dlq", "Review the dead-letter queue: list, show, edit, requeue, discard",
		a.deadListCommand(), a.deadShowCommand(), a.deadEditCommand(), a.deadRequeueCommand(), a.deadDiscardCommand())
}

// deadFilter chooses dead jobs.
type deadFilter struct {
	queue, jobType, reason, text, since string
	limit                               int
}

func (f *deadFilter) bind(c *cobra.Command, limit int, limitHelp string) {
	c.Flags().StringVar(&f.queue, "queue", "", "only this queue")
	c.Flags().StringVar(&f.jobType, "type", "", "only this job type")
	c.Flags().StringVar(&f.reason, "reason", "", "only this reason: Failed, Rejected, Interrupted, Zombie or Cancelled")
	c.Flags().StringVar(&f.text, "text", "", "only jobs with this text in their error or payload")
	c.Flags().StringVar(&f.since, "since", "", "only jobs that died since: a Go duration such as 24h, or a time such as 2027-01-31T08:00:00Z")
	c.Flags().IntVar(&f.limit, "limit", limit, limitHelp)
}

// chosen reports whether any flag narrows the choice.
func (f *deadFilter) chosen() bool {
	return f.queue != "" || f.jobType != "" || f.reason != "" || f.text != "" || f.since != ""
}

var deadReasons = []string{"Failed", "Rejected", "Interrupted", "Zombie", "Cancelled"}

// where is the condition and its parameters.
func (f *deadFilter) where() (string, []any, error) {
	var conditions []string
	var args []any
	add := func(condition, name string, value any) {
		conditions = append(conditions, condition)
		args = append(args, sql.Named(name, value))
	}
	if f.queue != "" {
		add("d.Queue = @Queue", "Queue", f.queue)
	}
	if f.jobType != "" {
		add("d.JobType = @JobType", "JobType", f.jobType)
	}
	if f.reason != "" {
		known := ""
		for _, reason := range deadReasons {
			if strings.EqualFold(reason, f.reason) || strings.EqualFold(f.reason, "Canceled") && reason == "Cancelled" {
				known = reason
			}
		}
		if known == "" {
			return "", nil, usageError{fmt.Errorf("--reason: %q is not a reason; accepted: %s; nothing was changed", f.reason, strings.Join(deadReasons, ", "))}
		}
		add("d.Reason = @Reason", "Reason", known)
	}
	if f.text != "" {
		add("(CHARINDEX(@Text, d.Error) > 0 OR CHARINDEX(@Text, d.Payload) > 0)", "Text", f.text)
	}
	if f.since != "" {
		if d, err := time.ParseDuration(f.since); err == nil && d > 0 {
			add("d.DeadAt >= DATEADD(SECOND, -@SinceSeconds, SYSUTCDATETIME())", "SinceSeconds", int32(min(d/time.Second, 1<<31-1)))
		} else if at, err := time.Parse(time.RFC3339, f.since); err == nil {
			add("d.DeadAt >= @Since", "Since", at.UTC())
		} else {
			return "", nil, usageError{fmt.Errorf("--since: %q is not accepted; accepted: a Go duration such as 24h, or a time such as 2027-01-31T08:00:00Z; nothing was changed", f.since)}
		}
	}
	if f.limit < 0 {
		return "", nil, usageError{errors.New("--limit: must be 0 (no limit) or more; nothing was changed")}
	}
	if len(conditions) == 0 {
		return "", nil, nil
	}
	return " WHERE " + strings.Join(conditions, " AND "), args, nil
}

// top is the limit as a clause.
func (f *deadFilter) top() string {
	if f.limit == 0 {
		return ""
	}
	return fmt.Sprintf("TOP (%d) ", f.limit)
}
