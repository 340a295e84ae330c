package protocol

import (
	"os"
	"strings"
	"testing"
)

// docs/shutdown.md names every invariant, and no other.
func TestInvariantsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/shutdown.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| invariant | says |")
	documented := make(map[string]bool)
	for _, line := range strings.Split(table, "\n") {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` |"); ok && strings.HasPrefix(line, "| `") {
			documented[name] = true
		}
	}
	checked := map[string]bool{nothingLost: true}
	for _, i := range invariants {
		checked[i.name] = true
	}
	for name := range checked {
		if !documented[name] {
			t.Errorf("docs/shutdown.md does not name %s", name)
		}
	}
	for name := range documented {
		if !checked[name] {
			t.Errorf("docs/shutdown.md names %s, which nothing checks", name)
		}
	}
}
