package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	mssql "github.com/microsoft/go-mssqldb"
)

// record is one row of a view as a JSON object, with its columns in order.
type record struct {
	columns []string
	values  []any
}

// queryRecords reads a result set of any shape.
func queryRecords(ctx context.Context, pool *sql.DB, query string, args ...any) (_ []record, err error) {
	rows, err := pool.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name()
	}
	var all []record
	for rows.Next() {
		r := record{names, make([]any, len(columns))}
		into := make([]any, len(columns))
		for i := range into {
			into[i] = &r.values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		for i, c := range columns {
			r.values[i] = readable(c.DatabaseTypeName(), r.values[i])
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// readable turns what the driver returns into what people and JSON read.
func readable(typeName string, value any) any {
	switch v := value.(type) {
	case []byte:
		var id mssql.UniqueIdentifier
		if typeName == "UNIQUEIDENTIFIER" && id.Scan(v) == nil {
			return strings.ToLower(id.String())
		}
		return string(v)
	case time.Time:
		return v.UTC()
	}
	return value
}

// get is the value of a column; nil when it is NULL or not there.
func (r record) get(column string) any {
	for i, c := range r.columns {
		if c == column {
			return r.values[i]
		}
	}
	return nil
}

// text is a column for a table.
func (r record) text(column string) string {
	switch v := r.get(column).(type) {
	case nil:
		return ""
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case time.Time:
		return v.Format("2006-01-02 15:04:05")
	default:
		return fmt.Sprint(v)
	}
}

// with is the record with a further column.
func (r record) with(column string, value any) record {
	return record{append(slices.Clone(r.columns), column), append(slices.Clone(r.values), value)}
}

func (r record) number(column string) int64 {
	n, _ := r.get(column).(int64)
	return n
}

// jsonColumns hold JSON text.
var jsonColumns = map[string]bool{"Payload": true, "Headers": true, "Queues": true, "JobTypes": true}

// MarshalJSON writes the columns in order, named as JSON names are: jobId, deadAt.
func (r record) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	text.WriteByte('{')
	for i, column := range r.columns {
		if i > 0 {
			text.WriteByte(',')
		}
		name := []rune(column)
		name[0] = unicode.ToLower(name[0])
		key, _ := json.Marshal(string(name))
		value := r.values[i]
		if s, ok := value.(string); ok && jsonColumns[column] && json.Valid([]byte(s)) {
			value = json.RawMessage(s)
		}
		element, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		text.Write(key)
		text.WriteByte(':')
		text.Write(element)
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}

// age is a number of seconds as people say it.
func age(seconds any) string {
	n, ok := seconds.(int64)
	if !ok {
		return ""
	}
	d := time.Duration(n) * time.Second
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", n)
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", n/60, n%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh %02dm", n/3600, n/60%60)
	}
	return fmt.Sprintf("%dd %02dh", n/86400, n/3600%24)
}
