package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/chokaq/chokaq/driver"
)

// shortID is the beginning of a worker's id, which tells workers apart in a table and is accepted where one is named.
func shortID(id string) string { return id[:min(8, len(id))] }

var workerIDStart = regexp.MustCompile(`^[0-9a-f]{4}[0-9a-f-]{0,32}$`)

// checkWorker refuses what cannot be the beginning of a worker's id.
func checkWorker(text string) error {
	if !workerIDStart.MatchString(strings.ToLower(text)) {
		return usageError{fmt.Errorf("%q is not a worker; accepted: its id, or the beginning of it, from 4 characters on, as \"workers\" and \"stops\" show it; nothing was changed", text)}
	}
	return nil
}

// findWorker is the full id of the one worker whose id begins so, in a view.
func findWorker(ctx context.Context, client *driver.Client, view, start string) (string, error) {
	found, err := queryRecords(ctx, client.DB(), "SELECT TOP (2) w.WorkerId FROM "+view+" AS w WHERE CONVERT(varchar(36), w.WorkerId) LIKE @Start ORDER BY w.WorkerId",
		sql.Named("Start", strings.ToUpper(start)+"%"))
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", fmt.Errorf("no worker's id begins with %q, or retention has removed it; nothing was changed", start)
	case len(found) > 1:
		return "", usageError{errors.New("more than one worker's id begins with " + start + "; give more of it; nothing was changed")}
	}
	return found[0].text("WorkerId"), nil
}
