package main

import (
	"strings"
	"testing"
)

func TestHelpFitsAScreen(t *testing.T) {
	root := (&app{}).rootCommand()
	for _, c := range append(root.Commands(), root) {
		for line := range strings.SplitSeq(c.Long, "\n") {
			if len(line) > helpWidth && !strings.HasPrefix(line, "  ") {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), len(line), line)
			}
		}
	}
}

func TestLayOut(t *testing.T) {
	long := strings.Repeat("word ", 20)
	got := layOut("One\nparagraph " + long + "\n\nStatuses:\n  0    " + long + "\n  an example that stays " + long)
	want := "One paragraph word word word word word word word word word word word word word\nword word word word word word word\n\nStatuses:\n" +
		"  0    word word word word word word word word word word word word word word\n       word word word word word word\n  an example that stays " + long
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
