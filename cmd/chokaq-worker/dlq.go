package main

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) deadCommand() *cobra.Command {
	return group("dlq", "Review dead jobs: groups, list, show, edit, requeue, discard",
		a.deadGroupsCommand(), a.deadListCommand(), a.deadShowCommand(), a.deadEditCommand(), a.deadRequeueCommand(), a.deadDiscardCommand())
}

// deadFilter chooses dead jobs.
type deadFilter struct {
	queue, jobType, reason, errorText, text, since, until string
	after                                                 int64
	limit                                                 int
}

func (f *deadFilter) bind(c *cobra.Command, limit int, limitHelp string) {
	c.Flags().StringVar(&f.queue, "queue", "", "only this queue")
	c.Flags().StringVar(&f.jobType, "type", "", "only this job type")
	c.Flags().StringVar(&f.reason, "reason", "", "only this reason: Failed, Rejected, Interrupted, Zombie or Cancelled")
	c.Flags().StringVar(&f.errorText, "error", "", "only jobs with this text in their error")
	c.Flags().StringVar(&f.text, "text", "", "only jobs with this text in their error or payload")
	c.Flags().StringVar(&f.since, "since", "", "only jobs that died since: "+momentForm)
	c.Flags().StringVar(&f.until, "until", "", "only jobs that died before: "+momentForm)
	c.Flags().Int64Var(&f.after, "after", 0, "only jobs with a higher id, by id: the next page")
	c.Flags().IntVar(&f.limit, "limit", limit, limitHelp)
}

// chosen reports whether any flag narrows the choice.
func (f *deadFilter) chosen() bool {
	return f.queue != "" || f.jobType != "" || f.reason != "" || f.errorText != "" || f.text != "" || f.since != "" || f.until != "" || f.after != 0
}

var deadReasons = []string{"Failed", "Rejected", "Interrupted", "Zombie", "Cancelled"}

// check refuses what is no filter, and writes the reason as the database does.
func (f *deadFilter) check() error {
	if f.reason != "" {
		known := ""
		for _, reason := range deadReasons {
			if strings.EqualFold(reason, f.reason) || strings.EqualFold(f.reason, "Canceled") && reason == "Cancelled" {
				known = reason
			}
		}
		if known == "" {
			return usageError{fmt.Errorf("--reason: %q is not a reason; accepted: %s; nothing was changed", f.reason, strings.Join(deadReasons, ", "))}
		}
		f.reason = known
	}
	if f.limit < 0 {
		return usageError{errors.New("--limit: must be 0 (no limit) or more; nothing was changed")}
	}
	if f.after < 0 {
		return usageError{errors.New("--after: must be a job id; nothing was changed")}
	}
	_, err := f.parameters()
	return err
}

// parameter is a part of the filter: what it is compared with, as a T-SQL expression and the value that this names.
type parameter struct {
	condition  string // on the view, with %s for the expression
	procedures string // the parameter of FindDeadJobs; empty: it has none
	expression string
	value      any
}

func (f *deadFilter) parameters() ([]parameter, error) {
	var all []parameter
	for _, text := range []struct{ condition, procedures, name, value string }{
		{"d.Queue = %s", "@Queue", "Queue", f.queue},
		{"d.JobType = %s", "@JobType", "JobType", f.jobType},
		{"d.Reason = %s", "@Reason", "Reason", f.reason},
		{"CHARINDEX(%s, d.Error) > 0", "@ErrorText", "ErrorText", f.errorText},
		{"(CHARINDEX(%[1]s, d.Error) > 0 OR CHARINDEX(%[1]s, d.Payload) > 0)", "", "Text", f.text},
	} {
		if text.value != "" {
			all = append(all, parameter{text.condition, text.procedures, "@" + text.name, sql.Named(text.name, text.value)})
		}
	}
	for _, at := range []struct{ flag, condition, procedures, name, value string }{
		{"--since", "d.DeadAt >= %s", "@DeadFrom", "Since", f.since},
		{"--until", "d.DeadAt < %s", "@DeadBefore", "Until", f.until},
	} {
		if at.value == "" {
			continue
		}
		expression, value, err := moment(at.flag, at.value, at.name)
		if err != nil {
			return nil, err
		}
		all = append(all, parameter{at.condition, at.procedures, expression, value})
	}
	return all, nil
}

// where is the condition on the view, and its values.
func (f *deadFilter) where() (string, []any, error) {
	all, err := f.parameters()
	if err != nil {
		return "", nil, err
	}
	conditions := []string{"d.JobId > @After"}
	values := []any{sql.Named("After", f.after)}
	for _, p := range all {
		conditions = append(conditions, fmt.Sprintf(p.condition, p.expression))
		values = append(values, p.value)
	}
	return " WHERE " + strings.Join(conditions, " AND "), values, nil
}

// top is the limit as a clause.
func (f *deadFilter) top() string {
	if f.limit == 0 {
		return ""
	}
	return fmt.Sprintf("TOP (%d) ", f.limit)
}
