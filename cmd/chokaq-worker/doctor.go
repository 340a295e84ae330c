package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/config"
	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/doctor"
	"github.com/chokaq/chokaq/db"
	"github.com/chokaq/chokaq/driver"
)

func (a *app) doctorCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "doctor", Short: "Look at everything, and say what is wrong and what to do", Args: noArgs,
		Long: `Connects and checks: the connection and its encryption, the server's version, the schema, the rights of this login, options of the database, the clocks, SQL Server
Agent's jobs, whether recovery runs, settings that contradict each other, workers that are gone or drain without an end, jobs that recovery does not take, stops that were cut short, queues that wait, job types that nobody knows, dead
jobs, the grace period against how long handlers run, recurring jobs. It reads the settings of a worker from this environment (CHOKAQ_...), and changes nothing.

It needs a login whose user is a member of chokaq_monitor; what it may not see it says. Exit status, the first that fits:
  5  the database cannot be reached, or does not answer any more
  7  errors
  5  no errors, but this login may not make some check: whether all is well is not known (Agent's jobs may stay unseen: whether recovery runs is told without them)
  6  warnings
  0  fine, also with notes`,
		Example: "  chokaq-worker doctor\n  chokaq-worker doctor --json | jq '.[] | select(.status != \"ok\")'",
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return interrupted(c.Context(), a.doctor(c)) }
	return c
}

func (a *app) doctor(c *cobra.Command) (err error) {
	var settings config.Worker
	faults := config.Load(a.environ, c.Flags(), &settings)
	if err := settings.CheckDSN(); err != nil {
		faults = append(faults, err)
	}
	if err := config.Faults(faults); err != nil {
		return err
	}
	dsn := settings.WithTimeout(a.silenceOf(c))
	client, err := driver.Open(dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	patient := &doctor.Patient{
		DB: client.DB(), DSN: settings.DSN, Target: settings.Target(), Worker: settings.WorkerConfig, Check: client.Check, Patience: a.silenceOf(c),
		Pending: func(ctx context.Context) ([]string, error) {
			status, err := (db.Installer{DSN: dsn}).Status(ctx)
			if err == nil && !status.Installed {
				err = errors.New("this login does not see what was applied")
			}
			return status.Objects, err
		},
		Agent: func(ctx context.Context) ([]doctor.AgentJob, error) {
			jobs, err := (db.Installer{DSN: dsn}).AgentStatus(ctx)
			var all []doctor.AgentJob
			for _, j := range jobs {
				all = append(all, doctor.AgentJob(j))
			}
			return all, err
		},
	}
	findings := []doctor.Finding{}
	verdict := doctor.Examine(c.Context(), patient, func(f doctor.Finding) {
		findings = append(findings, f)
		if !a.json {
			a.printFinding(f)
		}
	})
	if c.Context().Err() != nil {
		return c.Context().Err()
	}
	if a.json {
		if err := a.printJSON(findings); err != nil {
			return err
		}
	} else {
		counts := make(map[doctor.Severity]int)
		for _, f := range findings {
			counts[f.Severity]++
		}
		a.paragraph(fmt.Sprintf("\n%d ok, %s, %d unknown, %s, %s", counts[doctor.OK], counted(counts[doctor.Note], "note"), counts[doctor.Unknown],
			counted(counts[doctor.Warning], "warning"), counted(counts[doctor.Error], "error")))
	}
	return judge(verdict)
}

// judge is the exit status of a verdict. That nothing bad was seen is no health where this login may not look.
func judge(v doctor.Verdict) error {
	switch {
	case v.Unreached:
		return silentError(statusDatabase)
	case v.Worst == doctor.Error:
		return silentError(statusFindings)
	case len(v.Unseen) > 0:
		return databaseError{fmt.Errorf("whether all is well is not known: this login may not look at %s; make its user a member of chokaq_monitor, and run doctor again", strings.Join(v.Unseen, ", "))}
	case v.Worst == doctor.Warning:
		return silentError(statusWarnings)
	}
	return nil
}

// printFinding writes a finding in lines that fit the screen: what was found, and below it what to do.
func (a *app) printFinding(f doctor.Finding) {
	indent, own := 25, false
	if a.widthOf(a.stdout)-indent < leastBeside { // the text stands below what it is about
		indent, own = 2, true
	}
	width := a.widthOf(a.stdout) - indent
	paint := func(s string) string { return s }
	if a.colorful(a.stdout) {
		paint = map[doctor.Severity]func(string) string{
			doctor.OK: func(s string) string { return text.FgGreen.Sprint(s) }, doctor.Note: func(s string) string { return s }, doctor.Unknown: func(s string) string { return text.FgBlue.Sprint(s) },
			doctor.Warning: func(s string) string { return text.FgYellow.Sprint(s) }, doctor.Error: func(s string) string { return text.FgRed.Sprint(s) },
		}[f.Severity]
	}
	lines := wrap(printable(f.Found), width)
	if f.Do != "" {
		lines = append(lines, wrap("-> "+printable(f.Do), width)...)
	}
	head := paint(fmt.Sprintf("%-8s", f.Severity)) + fmt.Sprintf(" %-15s ", f.Check)
	if own {
		fmt.Fprintln(a.stdout, strings.TrimRight(head, " "))
		head = strings.Repeat(" ", indent)
	}
	for _, line := range lines {
		fmt.Fprintln(a.stdout, strings.TrimRight(head+line, " "))
		head = strings.Repeat(" ", indent)
	}
}
