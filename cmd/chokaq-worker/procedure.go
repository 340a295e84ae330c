package main

import (
	"context"
	"encoding/json"
	"fmt"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/chokaq/chokaq/driver"
)

// callProcedure calls a procedure that answers nothing.
func callProcedure(ctx context.Context, client *driver.Client, procedure string, args ...any) error {
	_, err := client.DB().ExecContext(ctx, procedure, args...)
	return procedureError(procedure, err)
}

// procedureError makes err what the driver's own calls return.
func procedureError(procedure string, err error) error {
	if err == nil {
		return nil
	}
	e := &driver.ProcedureError{Procedure: procedure, Err: err}
	if server, ok := err.(mssql.Error); ok {
		e.Number = server.Number
	}
	return e
}

// printDone says what a command has done.
func (a *app) printDone(text string) error {
	if a.json {
		return a.printJSON(map[string]string{"done": text})
	}
	_, err := fmt.Fprintln(a.stdout, text)
	return err
}

// jsonIDs is a JSON array of job ids.
func jsonIDs(ids []int64) string {
	text, err := json.Marshal(ids)
	if err != nil {
		panic(err) // numbers always marshal
	}
	return string(text)
}
