package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// entry is a line of the ledger: a file outside the database into which every run of a handler writes what it has done. It is the
// side effect that must not happen twice unless a person has decided so.
type entry struct {
	JobID     int64  `json:"job"`
	Attempt   int    `json:"attempt"`
	File      string `json:"file"`
	SHA256    string `json:"sha256"`
	WorkerPID int    `json:"worker_pid"`
}

// write appends the line in one write, and returns when it is on disk.
func (e entry) write(ledger *os.File) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := ledger.Write(append(line, '\n')); err != nil {
		return err
	}
	return ledger.Sync()
}

// readEntries reads a ledger. A last line that is not whole yet is left out.
func readEntries(name string) ([]entry, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var entries []entry
	for n := 1; ; n++ {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			return entries, nil
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("the ledger's line %d is torn: %w", n, err)
		}
		entries, text = append(entries, e), rest
	}
}

// runsByJob counts the lines of each job.
func runsByJob(entries []entry) map[int64]int {
	runs := make(map[int64]int)
	for _, e := range entries {
		runs[e.JobID]++
	}
	return runs
}
