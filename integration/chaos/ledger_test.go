package chaos

import (
	"fmt"
	"os"
	"strings"
)

// run is one attempt of one life of a job: between two requeues.
type run struct{ requeues, attempt int }

// history is what the ledger says of a job: for each run, how often it began, and how it ended.
type history struct {
	began map[run]int
	ended map[run][]string
}

// readLedger reads the lines "job requeues attempt what".
func readLedger(path string) (map[int64]*history, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all := make(map[int64]*history)
	for line := range strings.Lines(string(text)) {
		var id int64
		var r run
		var what string
		if _, err := fmt.Sscanf(line, "%d %d %d %s", &id, &r.requeues, &r.attempt, &what); err != nil {
			return nil, fmt.Errorf("ledger line %q: %w", line, err)
		}
		h := all[id]
		if h == nil {
			h = &history{began: make(map[run]int), ended: make(map[run][]string)}
			all[id] = h
		}
		if what == "began" {
			h.began[r]++
		} else {
			h.ended[r] = append(h.ended[r], what)
		}
	}
	return all, nil
}
