package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What is to be copied stays in its line, and so does the form of one.
func TestHelpFitsAScreen(t *testing.T) {
	var walk func(c *cobra.Command, path []string)
	walk = func(c *cobra.Command, path []string) {
		for _, sub := range c.Commands() {
			walk(sub, append(path[:len(path):len(path)], sub.Name()))
		}
		if c.Hidden || len(path) > 0 && (path[0] == "completion" || path[0] == "help") {
			return
		}
		section := ""
		for line := range strings.SplitSeq(callWith(t, "", nil, append(path, "--help")...).want(t, 0).stdout, "\n") {
			if line != "" && !strings.HasPrefix(line, " ") {
				section = line
			}
			copied := section == "Examples:" || section == "Usage:" || strings.HasPrefix(line, "  {") || strings.HasPrefix(line, "  export ")
			if width := len([]rune(line)); width > helpWidth && !copied {
				t.Errorf("%v: %d columns: %s", path, width, line)
			}
		}
	}
	walk((&app{}).rootCommand(), nil)
}

// What a flag takes is told in words.
func TestEveryFlagHasAForm(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			switch f.Value.Type() {
			case "string", "stringArray", "text", "number", "list", "command": // take anything, or are checked later, with the others
			default:
				if form := formOf(f); form == f.Value.Type() && form != "duration" {
					t.Errorf("%s --%s: %s", c.CommandPath(), f.Name, form)
				}
			}
		})
	}
	walk((&app{}).rootCommand())
}

func TestLayOut(t *testing.T) {
	long := strings.Repeat("word ", 20)
	got := layOut("One\nparagraph "+long+"\n\nStatuses:\n  0    "+long+"\n  an example that stays "+long, helpWidth)
	want := "One paragraph word word word word word word word word word word word word word\nword word word word word word word\n\nStatuses:\n" +
		"  0    word word word word word word word word word word word word word word\n       word word word word word word\n  an example that stays " + long
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	for _, columns := range []string{"COLUMNS=50", "COLUMNS=200"} { // no wider than it is written for
		r := callWith(t, "", []string{columns}, "status", "--help").want(t, 0)
		if got := strings.Contains(r.stdout, "how long the server may keep silent within one\n"); got != (columns == "COLUMNS=200") {
			t.Errorf("%s: %s", columns, r.stdout)
		}
	}
}
