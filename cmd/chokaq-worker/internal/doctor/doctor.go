// Package doctor looks at an installation and says, in one line each, what is well, what is not, and what to do about it. It only reads.
package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/chokaq/chokaq/driver"
)

// Severity of a finding, in rising order.
type Severity int

const (
	OK      Severity = iota
	Note             // worth knowing; nothing to do now
	Unknown          // this login may not see it
	Warning          // will hurt some day, or hurts a little now
	Error            // hurts now: jobs do not run, or what they do may be lost sight of
)

func (s Severity) String() string {
	return [...]string{"ok", "note", "unknown", "warning", "error"}[s]
}

// MarshalText is for JSON.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is what a check has found.
type Finding struct {
	Check    string   `json:"check"`
	Severity Severity `json:"status"`
	Found    string   `json:"found"`
	Do       string   `json:"do,omitempty"`
}

// Patient is what is looked at.
type Patient struct {
	DB     *sql.DB
	DSN    string
	Worker driver.WorkerConfig // as a worker with this environment would have it
	Check  func(context.Context) error
	Agent  func(context.Context) ([]AgentJob, error)
}

// AgentJob is a job of SQL Server Agent, as db.Installer.AgentStatus tells.
type AgentJob struct {
	Name                                                    string
	Enabled                                                 bool
	Owner, Schedule, LastRunOutcome, LastRunAt, LastMessage string
}

// check is one look. It returns what it has found; nothing means that there is nothing to say. An error says that it could not look.
type check struct {
	name string
	look func(context.Context, *Patient) ([]Finding, error)
}

// checks in the order in which they are told. What cannot work without an earlier one says so itself.
var checks = []check{
	{"connection", connection},
	{"server", server},
	{"schema", schema},
	{"rights", rights},
	{"database", database},
	{"clock", clockDifference},
	{"agent", agent},
	{"recovery", recovery},
	{"settings", settings},
	{"workers", workers},
	{"held jobs", heldJobs},
	{"stops", stops},
	{"queues", queues},
	{"job types", jobTypes},
	{"dead jobs", deadJobs},
	{"grace period", gracePeriod},
	{"recurring jobs", recurringJobs},
}

// Examine runs every check, each bounded in time; one that fails does not end the others. tell is called with each finding as it comes.
func Examine(ctx context.Context, p *Patient, tell func(Finding)) (worst Severity) {
	for _, c := range checks {
		for _, f := range examine(ctx, c, p) {
			f.Check = c.name
			worst = max(worst, f.Severity)
			tell(f)
		}
		if ctx.Err() != nil || c.name == "connection" && worst == Error { // nothing else can be looked at
			return worst
		}
	}
	return worst
}

func examine(ctx context.Context, c check, p *Patient) []Finding {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	found, err := c.look(ctx, p)
	if err == nil {
		return found
	}
	if number := sqlNumber(err); deniedNumbers[number] {
		return append(found, Finding{Severity: Unknown, Found: fmt.Sprintf("this login may not look (error %d)", number),
			Do: "a member of chokaq_monitor may"})
	}
	return append(found, Finding{Severity: Error, Found: "could not look: " + err.Error(), Do: "repair what the error says, and run doctor again"})
}

// deniedNumbers are SQL Server's errors for a missing right.
var deniedNumbers = map[int32]bool{229: true, 230: true, 262: true, 297: true, 300: true, 371: true, 916: true, 15247: true}

func sqlNumber(err error) int32 {
	if e, ok := errors.AsType[mssql.Error](err); ok {
		return e.Number
	}
	return 0
}

func one(s Severity, found, do string) []Finding {
	return []Finding{{Severity: s, Found: found, Do: do}}
}

// rows scans every row of a query.
func rows[T any](ctx context.Context, db *sql.DB, query string, scan func(*sql.Rows) (T, error), args ...any) (all []T, err error) {
	r, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for r.Next() {
		row, err := scan(r)
		if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	return all, r.Err()
}

// scanFirst reads the first columns of a procedure's answer: one of a later schema version may have more, at the end.
func scanFirst(r *sql.Rows, dest ...any) error {
	columns, err := r.Columns()
	if err != nil {
		return err
	}
	for len(dest) < len(columns) {
		dest = append(dest, new(any))
	}
	return r.Scan(dest...)
}
