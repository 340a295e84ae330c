package protocol

import (
	"fmt"
	"os"
	"testing"
)

// full says that there is time for the large models, as in "make protocol".
var full = os.Getenv("CHOKAQ_TEST_PROTOCOL") == "full"

// Every state that can be reached is visited, and every step from it is checked.
func TestEveryOrderOfEvents(t *testing.T) {
	models := []model{{workers: 2, jobs: 1, claims: 1, decisions: 1}, {workers: 1, jobs: 2, claims: 2, decisions: 1}}
	if full {
		models = []model{
			{workers: 2, jobs: 1, claims: 2, decisions: 2},
			{workers: 2, jobs: 2, claims: 1, decisions: 1},
			{workers: 2, jobs: 3, claims: 1},
		}
	}
	for _, m := range models {
		f := m.search(m.canonical, nil)
		if f.violated != "" {
			t.Fatalf("%v: %v", m, f)
		}
		fmt.Printf("protocol: %v: %v; %d invariants and %s hold\n", m, f, len(invariants), nothingLost)
	}
}
