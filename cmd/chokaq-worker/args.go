package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// noArgs, exactArgs and atMostArgs refuse other numbers of arguments than a command takes, and say what it takes.
func noArgs(c *cobra.Command, args []string) error { return argsBetween(0, 0)(c, args) }

func exactArgs(n int) cobra.PositionalArgs { return argsBetween(n, n) }

func atMostArgs(n int) cobra.PositionalArgs { return argsBetween(0, n) }

func argsBetween(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch n := len(args); {
		case n > most && most == 0:
			return fmt.Errorf("%s takes no argument, and is given %q", c.CommandPath(), args[0])
		case n > most:
			return fmt.Errorf("%q is one too many; accepted: %s", args[most], c.UseLine())
		case n < least:
			return fmt.Errorf("%d of %s; accepted: %s", n, counted(least, "argument"), c.UseLine())
		}
		return nil
	}
}
