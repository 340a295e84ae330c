package main

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func readDoc(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEveryCommandIsDocumented(t *testing.T) {
	text := readDoc(t, "cli.md")
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			return
		}
		if c.Short == "" {
			t.Errorf("%q has no short help", c.CommandPath())
		}
		if !c.HasSubCommands() && !strings.Contains(text, c.CommandPath()) && c.Name() != "version" {
			t.Errorf("docs/cli.md has no example of %q", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&app{}).rootCommand())
}

func TestEverySettingIsDocumented(t *testing.T) {
	text := readDoc(t, "configuration.md")
	run, _, err := (&app{}).rootCommand().Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	run.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Name == "json" || f.Name == "check" { // not settings
			return
		}
		if variable := "CHOKAQ_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")); !strings.Contains(text, "| `"+variable+"` |") {
			t.Errorf("docs/configuration.md has no row of %s", variable)
		}
	})
}
