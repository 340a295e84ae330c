package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/config"
)

// tellFailure writes why a command has failed: a sentence for people; with --json, or where the log is JSON because somebody asked for it, a JSON object in a
// line, of the form that log lines have.
func (a *app) tellFailure(c *cobra.Command, args []string, text string, status int) {
	if !a.json && !asksForJSON(args) && a.logFormat(c) != "json" {
		fmt.Fprintln(a.stderr, "chokaq-worker: "+text)
		return
	}
	logger, _ := a.newLogger(config.Logging{Format: "json"})
	logger.Error(text, zap.String("event", "command.failed"), zap.String("command", c.CommandPath()), zap.Int("exit_status", status))
}

// asksForJSON looks for --json in a command line that could not be read.
func asksForJSON(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return arg == "--json" || arg == "--json=true" })
}

// logFormat is the format that a command which logs was told to use.
func (a *app) logFormat(c *cobra.Command) string {
	var settings config.Logging
	if c.Flags().Lookup("log-format") != nil {
		_ = config.Load(a.environ, c.Flags(), &settings) // its faults are what has failed, or have been told
	}
	return settings.Format
}

// warn tells of what is odd and yet done.
func (a *app) warn(text string) {
	if !a.json {
		fmt.Fprintln(a.stderr, "chokaq-worker: warning: "+text)
		return
	}
	logger, _ := a.newLogger(config.Logging{Format: "json"})
	logger.Warn(text, zap.String("event", "command.warning"))
}
