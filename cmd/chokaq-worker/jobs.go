package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/driver"
)

func (a *app) jobsCommand() *cobra.Command {
	return group("jobs", "Show jobs: those that run, those that wait, and what became of one",
		a.jobsRunningCommand(), a.jobsWaitingCommand(), a.jobsShowCommand())
}

func (a *app) jobsRunningCommand() *cobra.Command {
	var queue, jobType, state string
	limit := 100
	c := &cobra.Command{
		Use: "running", Short: "Show who works on what, and since when", Args: noArgs,
		Long: "Shows chokaq.HeldJobs: the jobs that workers hold, the longest-held first. Processing: the handler runs; Fetched: prefetched, no user code has run. " +
			"\"Recovery in\" is when the job counts as abandoned if no heartbeat comes; \"now\": recovery takes it with its next run.",
		Example: "  chokaq-worker jobs running --state Processing --queue mail",
	}
	c.Flags().StringVar(&queue, "queue", "", "only this queue")
	c.Flags().StringVar(&jobType, "type", "", "only this job type")
	c.Flags().StringVar(&state, "state", "", "only this state: Fetched or Processing")
	c.Flags().IntVar(&limit, "limit", limit, "at most so many; 0: all")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := checkLimit(limit); err != nil {
			return err
		}
		where, err := choices{{"State", "--state", state, []string{"Fetched", "Processing"}}, {"Queue", "--queue", queue, nil}, {"JobType", "--type", jobType, nil}}.where("h")
		if err != nil {
			return err
		}
		return a.withClient(func(ctx context.Context, client *driver.Client, _ []string) error {
			held, err := queryRecords(ctx, client.DB(), "SELECT "+top(limit)+`h.JobId, h.Queue, h.JobType, h.State, h.Attempt, h.MaxAttempts, h.WorkerId, h.HostName, h.ProcessId, h.WorkerState,
       h.FetchedAt, h.StartedAt, h.HeartbeatAt, h.CancelRequestedAt, h.HeldSeconds, h.HeartbeatAgeSeconds, h.SecondsUntilRecovery
FROM chokaq.HeldJobs AS h`+where.text+" ORDER BY h.HeldSeconds DESC, h.JobId", where.values...)
			if err != nil {
				return err
			}
			return a.printRecords(held, "no worker holds such a job", func(to io.Writer, held []record) error {
				if err := a.printHeld(to, held); err != nil {
					return err
				}
				return tellLimit(to, len(held), limit)
			})
		})(c, args)
	}
	return c
}

func (a *app) printHeld(to io.Writer, held []record) error {
	var rows [][]string
	for _, h := range held {
		state := h.text("State")
		if h.get("CancelRequestedAt") != nil {
			state += " (to be canceled)"
		}
		recovery := age(h.get("SecondsUntilRecovery"))
		if h.get("SecondsUntilRecovery") != nil && h.number("SecondsUntilRecovery") <= 0 {
			recovery = "now"
		}
		rows = append(rows, []string{h.text("JobId"), h.text("Queue"), h.text("JobType"), state, age(h.get("HeldSeconds")), hostAndPID(h), recovery})
	}
	return a.printTable(to, []string{"Job", "Queue", "Type", "State", "For", "Host, PID", "Recovery in"}, rows, "Queue", "Type", "State", "Host, PID")
}

func (a *app) jobsWaitingCommand() *cobra.Command {
	var queue, jobType string
	var orphans bool
	limit := 100
	c := &cobra.Command{
		Use: "waiting", Short: "Show what waits, and whether anybody is there to do it", Args: noArgs,
		Long: "Shows chokaq.JobTypeStatus. Workers: those that run, serve the queue and know the type. None: nobody will do these jobs; no such worker is deployed, " +
			"or the type is misspelled.",
	}
	c.Flags().StringVar(&queue, "queue", "", "only this queue")
	c.Flags().StringVar(&jobType, "type", "", "only this job type")
	c.Flags().BoolVar(&orphans, "orphans", false, "only those that no worker does")
	c.Flags().IntVar(&limit, "limit", limit, "at most so many; 0: all")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := checkLimit(limit); err != nil {
			return err
		}
		where, err := choices{{"Queue", "--queue", queue, nil}, {"JobType", "--type", jobType, nil}}.where("t")
		if err != nil {
			return err
		}
		if orphans {
			where.and("t.LiveWorkers = 0")
		}
		return a.withClient(func(ctx context.Context, client *driver.Client, _ []string) error {
			waiting, err := queryRecords(ctx, client.DB(), "SELECT "+top(limit)+`t.Queue, t.JobType, t.Pending, t.Scheduled, t.OldestDueAt, t.OldestDueAgeSeconds, t.LiveWorkers
FROM chokaq.JobTypeStatus AS t`+where.text+" ORDER BY t.Pending DESC, t.Scheduled DESC, t.Queue, t.JobType", where.values...)
			if err != nil {
				return err
			}
			return a.printRecords(waiting, "nothing waits", func(to io.Writer, waiting []record) error {
				if err := a.printWaiting(to, waiting); err != nil {
					return err
				}
				return tellLimit(to, len(waiting), limit)
			})
		})(c, args)
	}
	return c
}

func (a *app) printWaiting(to io.Writer, waiting []record) error {
	var rows [][]string
	for _, w := range waiting {
		workers := w.text("LiveWorkers")
		if w.number("LiveWorkers") == 0 {
			workers = "none"
		}
		rows = append(rows, []string{w.text("Queue"), w.text("JobType"), w.text("Pending"), w.text("Scheduled"), age(w.get("OldestDueAgeSeconds")), workers})
	}
	return a.printTable(to, []string{"Queue", "Type", "Due", "Later", "Oldest due", "Workers"}, rows, "Queue", "Type")
}

func (a *app) jobsShowCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "show ID", Short: "Show where a job is, and all that happened to it", Args: exactArgs(1),
		Long: "Works for a job in any state: one that waits, is held, has succeeded or is dead. What retention has removed is not known. \"dlq show\" has the payload of a dead one.",
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		ids, err := parseIDs(args)
		if err != nil {
			return err
		}
		return a.withClient(func(ctx context.Context, client *driver.Client, _ []string) error {
			history, err := queryHistory(ctx, client, ids[0])
			if errors.Is(err, driver.ErrJobNotFound) {
				return fmt.Errorf("there is no job %d: it was never enqueued, or its history has been purged", ids[0])
			}
			if err != nil {
				return err
			}
			state, since := stateOf(history)
			held, err := queryRecords(ctx, client.DB(), `SELECT h.WorkerId, h.HostName, h.ProcessId, h.WorkerState, h.HeartbeatAt, h.HeldSeconds, h.HeartbeatAgeSeconds, h.SecondsUntilRecovery, h.CancelRequestedAt
FROM chokaq.HeldJobs AS h WHERE h.JobId = @JobId`, sql.Named("JobId", ids[0]))
			if err != nil {
				return err
			}
			if a.json {
				shown := map[string]any{"jobId": ids[0], "state": state, "since": since, "history": history, "heldBy": nil}
				if len(held) > 0 {
					shown["heldBy"] = held[0]
				}
				return a.printJSON(shown)
			}
			a.paragraph(fmt.Sprintf("job %d is %s since %s UTC:", ids[0], state, since.Format(time.DateTime)))
			a.paragraph(stateMeanings[state])
			for _, h := range held {
				if err := a.printFields(a.stdout, h.fields(), nameWidth); err != nil {
					return err
				}
			}
			fmt.Fprintln(a.stdout, "\nHistory (UTC)")
			return a.printHistory(a.stdout, history)
		})(c, args)
	}
	return c
}

// queryHistory is what GetJobHistory knows of a job; the error is driver.ErrJobNotFound when that is nothing.
func queryHistory(ctx context.Context, client *driver.Client, id int64) ([]record, error) {
	const procedure = "chokaq.GetJobHistory"
	history, err := queryRecords(ctx, client.DB(), procedure, sql.Named("JobId", id))
	return history, procedureError(procedure, err)
}

var stateMeanings = map[string]string{
	"Pending": "it waits for a worker, or for its time", "Fetched": "a worker has it, and no user code has run", "Processing": "its handler runs", "Succeeded": "it is in the archive",
	"Dead": "it waits in the dead-letter queue for review", "Discarded": "it is dead, and will not run again",
}

// stateOf is where a job is by its history, and since when. The events are in order of time; an operator's decision about a dead job comes after its death.
func stateOf(history []record) (state string, since time.Time) {
	at := func(event record) time.Time { t, _ := event.get("At").(time.Time); return t }
	for _, event := range history {
		next := ""
		switch name := event.text("Event"); name {
		case "Pending", "Fetched", "Processing", "Succeeded":
			return name, at(event) // there is one, and then the job is not dead
		case "Failed", "Rejected", "Interrupted", "Zombie", "Cancelled":
			next = "Dead"
		case "DiscardDeadJobs":
			next = "Discarded"
		}
		if next != "" {
			state, since = next, at(event)
		}
	}
	return state, since
}

// printHistory prints what happened, in order: when, what and by whom in a line, and below it an error or a note.
func (a *app) printHistory(to io.Writer, history []record) error {
	for _, h := range history {
		head := h.text("At") + "  " + h.text("Event")
		if h.number("Attempt") > 0 {
			head += ", attempt " + h.text("Attempt")
		}
		if login := h.text("LoginName"); login != "" {
			head += ", by " + login
		} else if h.get("WorkerId") != nil {
			head += ", worker " + shortID(h.text("WorkerId"))
		}
		if err := a.printEvent(to, head, strings.TrimRight(h.text("Detail"), "\r\n")); err != nil {
			return err
		}
	}
	return nil
}

// printEvent prints a line, and below it details that are not empty, indented.
func (a *app) printEvent(to io.Writer, head string, details ...string) error {
	const indent = "    "
	lines := wrapLines(head, a.widthOf(to)-len(indent))
	for i := range lines[1:] {
		lines[i+1] = indent + lines[i+1]
	}
	for _, detail := range details {
		if detail == "" {
			continue
		}
		for _, line := range wrapLines(detail, a.widthOf(to)-len(indent)) {
			lines = append(lines, strings.TrimRight(indent+line, " "))
		}
	}
	_, err := io.WriteString(to, strings.Join(lines, "\n")+"\n")
	return err
}

// hostAndPID names the process that a row is about.
func hostAndPID(r record) string {
	return strings.TrimSpace(r.text("HostName") + " " + r.text("ProcessId"))
}
