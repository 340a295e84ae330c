// Package doctor looks at an installation and says, in one line each, what is well, what is not, and what to do about it. It only reads.
package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/chokaq/chokaq/driver"
	"github.com/chokaq/chokaq/internal/clock"
	"github.com/chokaq/chokaq/internal/reply"
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
	Target string // what findings call the database
	// Patience bounds a check, if it is shorter than what a check has anyway; 0: none is bounded.
	Patience time.Duration
	Worker   driver.WorkerConfig // as a worker with this environment would have it
	Check    func(context.Context) error
	// Pending lists the procedures and views that are not those of this program. An error: this login may not look.
	Pending func(context.Context) ([]string, error)
	Agent   func(context.Context) ([]AgentJob, error)
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
	// spare: health can be told without it, by a login that has the roles which doctor needs and no more.
	spare bool
}

// checks in the order in which they are told. What cannot work without an earlier one says so itself.
var checks = []check{
	{name: "connection", look: connection},
	{name: "server", look: server},
	{name: "schema", look: schema},
	{name: "rights", look: rights},
	{name: "database", look: database},
	{name: "clock", look: clockDifference},
	{name: "agent", look: agent, spare: true}, // of what it is there for, the next check tells
	{name: "recovery", look: recovery},
	{name: "settings", look: settings},
	{name: "workers", look: workers},
	{name: "held jobs", look: heldJobs},
	{name: "stops", look: stops},
	{name: "queues", look: queues},
	{name: "job types", look: jobTypes},
	{name: "dead jobs", look: deadJobs},
	{name: "grace period", look: gracePeriod},
	{name: "recurring jobs", look: recurringJobs},
}

// Verdict is what all findings come to.
type Verdict struct {
	Worst Severity
	// Unreached: the database could not be reached, or stopped answering meanwhile.
	Unreached bool
	// Unseen are the checks without which health cannot be told, and that this login may not make.
	Unseen []string
}

// Examine runs every check, each bounded in time; one that fails does not end the others. tell is called with each finding as it comes.
func Examine(ctx context.Context, p *Patient, tell func(Finding)) (v Verdict) {
	for _, c := range checks {
		found, err := examine(ctx, c, p)
		if ctx.Err() != nil {
			return v
		}
		for _, f := range found {
			f.Check = c.name
			v.Worst = max(v.Worst, f.Severity)
			if f.Severity == Unknown && !c.spare && !slices.Contains(v.Unseen, c.name) {
				v.Unseen = append(v.Unseen, c.name)
			}
			tell(f)
		}
		switch {
		case c.name == "connection" && v.Worst == Error: // nothing else can be looked at
			v.Unreached = true
			return v
		case c.name == "schema" && v.Worst == Error && errors.Is(err, errNoQueue): // there is nothing else to look at
			return v
		case driver.IsTransient(err):
			_, err := within(ctx, p, func(ctx context.Context) ([]Finding, error) { return nil, p.DB.PingContext(ctx) })
			if err != nil && ctx.Err() == nil {
				tell(Finding{c.name, Error, "the database does not answer any more: " + err.Error(), "the server was up a moment ago: look at it, and run doctor again"})
				v.Worst, v.Unreached = Error, true
				return v
			}
		}
	}
	return v
}

// checkTimeout bounds a check.
const checkTimeout = 15 * time.Second

// within runs a look, and gives it up shortly after its time.
func within(ctx context.Context, p *Patient, look func(context.Context) ([]Finding, error)) ([]Finding, error) {
	if p.Patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, min(checkTimeout, p.Patience))
		defer cancel()
	}
	return reply.Await(ctx, clock.Real(), reply.Grace, look)
}

// examine makes a finding of a check's error, which it returns, too.
func examine(ctx context.Context, c check, p *Patient) ([]Finding, error) {
	found, err := within(ctx, p, func(ctx context.Context) ([]Finding, error) { return c.look(ctx, p) })
	return append(found, explained(c, p, err)...), err
}

func explained(c check, p *Patient, err error) []Finding {
	switch {
	case err == nil, errors.Is(err, errNoQueue):
		return nil
	case c.name == "connection":
		return one(Error, p.Target+" cannot be reached, or refuses the login: "+err.Error(), "check CHOKAQ_DSN, the server, the network and the login; what follows cannot be looked at")
	}
	if number := sqlNumber(err); deniedNumbers[number] {
		return one(Unknown, fmt.Sprintf("this login may not look (error %d)", number), "a member of chokaq_monitor may")
	}
	return one(Error, "could not look: "+err.Error(), "repair what the error says, and run doctor again")
}

// errNoQueue: the database has no ChokaQ in it. It has been told.
var errNoQueue = errors.New("no ChokaQ in the database")

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
