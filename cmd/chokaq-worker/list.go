package main

import (
	"fmt"
	"io"
)

// printRecords prints a list: as JSON, as a table, or that there is none.
func (a *app) printRecords(rows []record, none string, print func(io.Writer, []record) error) error {
	if a.json {
		return a.printJSON(emptyNotNull(rows))
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(a.stdout, none)
		return err
	}
	return print(a.stdout, rows)
}
