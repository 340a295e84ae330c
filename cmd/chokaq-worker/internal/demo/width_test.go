package demo

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// The demo promises 80 columns, whatever its numbers are.
func TestTheStepsOfAStopFit(t *testing.T) {
	var out bytes.Buffer
	d := &demo{Options: Options{Out: &out}}
	for _, event := range []string{"draining", "released", "release_failed", "handlers_returned", "handlers_canceled", "flush", "stopped"} {
		before := out.Len()
		d.tellShutdown(logLine{Event: "shutdown." + event, After: "12.345s", Running: 4.0, Prefetched: 88, Released: 88, Outcomes: 88, Stats: map[string]int{"Completed": 3000}})
		if out.Len() == before {
			t.Errorf("nothing is told of %s", event)
		}
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
