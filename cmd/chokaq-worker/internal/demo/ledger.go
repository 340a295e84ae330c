package demo

import (
	"bufio"
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

// readLedger counts the lines of each job.
func readLedger(name string) (map[int64]int, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	runs := make(map[int64]int)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("the ledger's line %d is torn: %w", n, err)
		}
		runs[e.JobID]++
	}
	return runs, lines.Err()
}
