package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/chokaq/chokaq/driver"
)

// findDead is the ids of the jobs that a filter finds, in order: by FindDeadJobs, page by page; what that does not look for (text in payloads), by the view.
func findDead(ctx context.Context, client *driver.Client, f deadFilter) ([]int64, error) {
	if f.text != "" {
		return findDeadByView(ctx, client, f)
	}
	all, err := f.parameters()
	if err != nil {
		return nil, err
	}
	declare, call := "", ""
	values := []any{}
	for _, p := range all {
		expression := p.expression
		if !strings.HasPrefix(expression, "@") { // a procedure takes no expressions
			variable := p.procedures + "Value"
			declare += "DECLARE " + variable + " datetime2(3) = " + expression + ";\n"
			expression = variable
		}
		call += p.procedures + " = " + expression + ", "
		values = append(values, p.value)
	}
	query := declare + "DECLARE @Found nvarchar(max);\nEXEC chokaq.FindDeadJobs " + call + "@AfterJobId = @After, @MaxJobs = @Most, @JobIds = @Found OUTPUT, @ReturnRows = 0;\nSELECT @Found;"
	var ids []int64
	after := f.after
	for f.limit == 0 || len(ids) < f.limit {
		most := procedureBatch
		if f.limit > 0 {
			most = min(most, f.limit-len(ids))
		}
		text, err := lastText(ctx, client.DB(), query, append([]any{sql.Named("After", after), sql.Named("Most", most)}, values...)...)
		if err != nil {
			return nil, procedureError("chokaq.FindDeadJobs", err)
		}
		var page []int64
		if err := json.Unmarshal([]byte(text), &page); err != nil {
			return nil, fmt.Errorf("chokaq.FindDeadJobs: %q is not an array of ids: %w", text, err)
		}
		ids = append(ids, page...)
		if len(page) < most {
			break
		}
		after = page[len(page)-1]
	}
	return ids, nil
}

// lastText runs a batch that ends with a row of one text. An error that does not end the batch, such as a missing right on its procedure, comes with a row of
// NULL, and is only seen by who reads on.
func lastText(ctx context.Context, pool *sql.DB, batch string, args ...any) (string, error) {
	rows, err := pool.QueryContext(ctx, batch, args...)
	if err != nil {
		return "", err
	}
	var text sql.NullString
	for rows.Next() {
		if err := rows.Scan(&text); err != nil {
			return "", errors.Join(err, rows.Close())
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return "", err
	}
	if !text.Valid {
		return "", errors.New("there is no answer")
	}
	return text.String, nil
}

func findDeadByView(ctx context.Context, client *driver.Client, f deadFilter) ([]int64, error) {
	where, values, err := f.where()
	if err != nil {
		return nil, err
	}
	found, err := queryRecords(ctx, client.DB(), "SELECT "+f.top()+"d.JobId FROM chokaq.DeadJobs AS d"+where+" ORDER BY d.JobId", values...)
	var ids []int64
	for _, row := range found {
		ids = append(ids, row.number("JobId"))
	}
	return ids, err
}

// deadByID is the dead jobs with these ids, in order of them.
func deadByID(ctx context.Context, client *driver.Client, ids []int64) ([]record, error) {
	return queryRecords(ctx, client.DB(), "SELECT "+deadColumns+` FROM OPENJSON(@Ids) AS i
INNER JOIN chokaq.DeadJobs AS d ON d.JobId = CONVERT(bigint, i.[value]) ORDER BY d.JobId`, sql.Named("Ids", jsonIDs(ids)))
}
