package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/config"
	"github.com/chokaq/chokaq/db"
)

func (a *app) agentJobsCommand() *cobra.Command {
	return group("agent-jobs", "Install, remove or look at the Agent jobs that run recovery",
		a.agentJobsInstallCommand(), a.agentJobsStatusCommand(), a.agentJobsUninstallCommand())
}

func (a *app) agentJobsInstallCommand() *cobra.Command {
	var schedule db.AgentSchedule
	c := &cobra.Command{
		Use: "install", Short: "Install the Agent jobs, or bring them up to date", Args: noArgs,
		Long: "Makes three jobs for the database, or updates them: reset fetched jobs, rescue zombie jobs, purge history. Needs a login that is a member of\n" +
			"sysadmin. In an availability group, run it on every replica. Express and Azure SQL Database have no Agent: set\nCHOKAQ_RECOVERY_ENABLED=true on the workers, or run \"chokaq-worker recover\" from a scheduler.",
		Example: "  chokaq-worker agent-jobs install --reset-every 30s --rescue-every 30s --purge-every 2h",
	}
	c.Flags().DurationVar(&schedule.ResetEvery, "reset-every", 0, "how often fetched jobs are reset: whole seconds, 10s to 1h (default 15s)")
	c.Flags().DurationVar(&schedule.RescueEvery, "rescue-every", 0, "how often zombies are rescued: whole seconds, 10s to 1h (default 15s)")
	c.Flags().DurationVar(&schedule.PurgeEvery, "purge-every", 0, "how often history is purged: whole minutes, 1m to 24h (default 1h)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := checkAgentSchedule(schedule, c.Flags().Changed); err != nil {
			return usageError{err}
		}
		return a.withInstaller(func(ctx context.Context, installer db.Installer, settings config.Connection) error {
			if err := installer.InstallAgentJobs(ctx, schedule); err != nil {
				return err
			}
			return a.printAgentJobs(ctx, installer, settings)
		})(c, args)
	}
	return c
}

// checkAgentSchedule tells of a bad schedule by its flag.
func checkAgentSchedule(schedule db.AgentSchedule, given func(flag string) bool) error {
	var faults []error
	for _, f := range []struct {
		flag              string
		value             time.Duration
		unit, least, most time.Duration
	}{
		{"--reset-every", schedule.ResetEvery, time.Second, 10 * time.Second, time.Hour},
		{"--rescue-every", schedule.RescueEvery, time.Second, 10 * time.Second, time.Hour},
		{"--purge-every", schedule.PurgeEvery, time.Minute, time.Minute, 24 * time.Hour},
	} {
		if given(strings.TrimPrefix(f.flag, "--")) && (f.value < f.least || f.value > f.most || f.value%f.unit != 0) {
			faults = append(faults, fmt.Errorf("%s: must be %v to %v, in steps of %v, and is %v; nothing was changed", f.flag, f.least, f.most, f.unit, f.value))
		}
	}
	return errors.Join(faults...)
}

func (a *app) agentJobsUninstallCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "uninstall", Short: "Remove the Agent jobs of this database", Args: noArgs,
		Long: "Removes the jobs with their schedules and history. Without them, and without recovery from a worker, nothing resets abandoned\njobs and nothing rescues zombies.",
	}
	c.RunE = a.withInstaller(func(ctx context.Context, installer db.Installer, settings config.Connection) error {
		if err := installer.UninstallAgentJobs(ctx); err != nil {
			return err
		}
		return a.printDone(fmt.Sprintf("the Agent jobs of %s are removed; nothing runs recovery now", settings.Target()))
	})
	return c
}

func (a *app) agentJobsStatusCommand() *cobra.Command {
	c := &cobra.Command{Use: "status", Short: "Show the Agent jobs and how they last ran", Args: noArgs}
	c.RunE = a.withInstaller(a.printAgentJobs)
	return c
}

func (a *app) printAgentJobs(ctx context.Context, installer db.Installer, settings config.Connection) error {
	jobs, err := installer.AgentStatus(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(emptyNotNull(jobs))
	}
	if len(jobs) == 0 {
		fmt.Fprintf(a.stdout, "no Agent jobs are installed for %s: nothing runs recovery, unless workers do. Run \"chokaq-worker agent-jobs install\".\n", settings.Target())
		return nil
	}
	var rows [][]string
	for _, job := range jobs {
		owner := job.Owner
		if owner == "" {
			owner = "(gone: the job cannot run)"
		}
		enabled := "yes"
		if !job.Enabled {
			enabled = "no"
		}
		rows = append(rows, []string{job.Name, enabled, owner, job.Schedule, job.LastRunOutcome, job.LastRunAt})
	}
	return a.printTable(a.stdout, []string{"Job", "Enabled", "Owner", "Schedule", "Last run", "At (server)"}, rows, "Job", "Owner", "Schedule", "Last run", "At (server)")
}

// emptyNotNull makes an empty list [] in JSON.
func emptyNotNull[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
