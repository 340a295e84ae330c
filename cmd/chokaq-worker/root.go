package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/config"
)

// process is what a command knows of the world around it; tests give it another.
type process struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string
	exit           func(status int)
}

// app is one run of the program.
type app struct {
	process
	json    bool
	timeout time.Duration // of --timeout
	begun   bool          // the command line was accepted, and the command runs
	signals *signals
}

// execute runs a command line and returns the exit status.
func execute(args []string, p process) int {
	a := &app{process: p}
	ctx, stop := a.watchSignals(context.Background())
	defer stop()
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	ran, err := root.ExecuteContextC(ctx)
	if err == nil {
		return statusDone
	}
	if !a.begun {
		err = fmt.Errorf("%w\nSee %s --help", usageError{err}, ran.CommandPath())
	}
	if text := strings.TrimPrefix(err.Error(), "chokaq: "); text != "" {
		a.tellFailure(ran, args, text, statusOf(err))
	}
	return statusOf(err)
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "chokaq-worker",
		Short: "Background jobs in SQL Server: run workers, install the schema, operate the queues",
		Long: `chokaq-worker runs jobs of a ChokaQ queue, installs ChokaQ in a SQL Server database, and is an operator's tool for its queues.

Settings are environment variables CHOKAQ_...; each has a flag that overrides it. CHOKAQ_DSN names the database:
  export CHOKAQ_DSN='sqlserver://user:password@host:1433?database=shop'
See docs/cli.md and docs/configuration.md.

` + statusHelp,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			a.begun = true
			if err := refuseEmpty(c); err != nil {
				return err
			}
			return a.checkTimeout(c)
		},
		Args: onlySubcommands,
		RunE: needsSubcommand,
	}
	root.Version = versionLine()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON instead of tables")
	a.bindTimeout(root)
	config.Bind(root.PersistentFlags(), &config.Connection{})
	root.AddCommand(
		a.runCommand(), a.migrateCommand(), a.agentJobsCommand(), a.enqueueCommand(), a.cancelCommand(), a.jobsCommand(), a.deadCommand(),
		a.queueCommand(), a.recurringCommand(), a.settingsCommand(), a.workersCommand(), a.stopsCommand(), a.adviseCommand(), a.recoverCommand(), a.statusCommand(),
		a.doctorCommand(), a.devCommand(), a.demoCommand(), a.demoWorkerCommand(), a.versionCommand(),
	)
	markCommands(root)
	a.obeySignals(root)
	width := min(helpWidth, a.widthOf(a.stdout))
	layOutHelp(root, width)
	root.SetUsageTemplate(strings.NewReplacer(".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", width), " for more information about a command.", " for more.").Replace(root.UsageTemplate()))
	return root
}

// refuseEmpty refuses a text that is given and empty, as "$QUEUE" is in a script that has not set it: it would count as not given, and what it should
// have narrowed would be everything. A setting may be: it overrides its variable.
func refuseEmpty(c *cobra.Command) error {
	var faults []error
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && f.Name != "note" {
			faults = append(faults, fmt.Errorf("--%s: is given and empty; give it a value, or leave it out; nothing was done", f.Name))
		}
	})
	if len(faults) > 0 {
		return usageError{errors.Join(faults...)}
	}
	return nil
}

// group is a command that only has subcommands.
func group(use, short string, subcommands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: onlySubcommands, RunE: needsSubcommand}
	c.AddCommand(subcommands...)
	return c
}

// onlySubcommands refuses a word that is no subcommand, and suggests the one that was meant.
func onlySubcommands(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	if nearest := config.Nearest(args[0], names); nearest != "" {
		return fmt.Errorf("there is no command %q; did you mean %q?", c.CommandPath()+" "+args[0], c.CommandPath()+" "+nearest)
	}
	return fmt.Errorf("there is no command %q", c.CommandPath()+" "+args[0])
}

func needsSubcommand(c *cobra.Command, _ []string) error {
	if err := c.Help(); err != nil {
		return err
	}
	return usageError{errors.New("")}
}

// negativeNumber matches what is said of one that stands where a flag can.
var negativeNumber = regexp.MustCompile(`^unknown shorthand flag: '\d' in (-[\d.]+\S*)$`)

// formOf is what a flag takes.
func formOf(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "int", "int64":
		return "a whole number"
	case "float64":
		return "a number"
	case "duration":
		return "a Go duration such as 30s, 5m or 24h"
	case "durationSlice":
		return "Go durations, comma-separated, such as 30s,2m,10m"
	case "bool":
		return "true or false"
	}
	return f.Value.Type()
}

// flagError suggests the flag that was meant.
func flagError(c *cobra.Command, err error) error {
	if number := negativeNumber.FindStringSubmatch(err.Error()); number != nil {
		return fmt.Errorf("%q is not accepted: no number below 0 is (%s); nothing was changed", number[1], c.UseLine())
	}
	if invalid := new(pflag.InvalidValueError); errors.As(err, &invalid) {
		return fmt.Errorf("--%s: %q is not accepted; accepted: %s; nothing was done", invalid.GetFlag().Name, invalid.GetValue(), formOf(invalid.GetFlag()))
	}
	name, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !ok {
		return err
	}
	known := append(config.FlagNames(c.Flags()), config.FlagNames(c.InheritedFlags())...)
	if nearest := config.Nearest(name, known); nearest != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, nearest)
	}
	return err
}
