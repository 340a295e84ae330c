package driver

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	mssql "github.com/microsoft/go-mssqldb"

	"github.com/chokaq/chokaq/internal/clock"
	"github.com/chokaq/chokaq/internal/reply"
)

// maxBatch is the number of elements that a procedure takes in one call.
const maxBatch = 1000

// errCallTimeout: a call was given up because neither an answer came nor did the driver notice the end of
// the call's context. The server may or may not have carried it out.
var errCallTimeout = errors.New("chokaq: no answer from the database in time")

// claim identifies one claimed job towards the database.
type claim struct {
	JobID int64     `json:"id"`
	Token uuid.UUID `json:"token"`
}

// failure is a claim with what FailJobs wants to know.
type failure struct {
	claim
	Error        string `json:"error"`
	RetryAfterMs int64  `json:"retryAfterMs"`
	Final        bool   `json:"final"`
	MaxAttempts  int    `json:"maxAttempts,omitempty"`
	Reason       string `json:"reason,omitempty"`
}

// answer is the procedures' answer about one job.
type answer struct {
	JobID   int64
	Result  string
	State   string // where the job is now; empty: nowhere
	Attempt int    // StartJobs only
}

// installation is the answer of chokaq.GetInstallation.
type installation struct {
	SchemaVersion             sql.NullInt64
	IsDirty                   bool
	OldestClientSchemaVersion int64
	CompatibilityLevel        int
	ReadCommittedSnapshot     bool
	AnsiOptionsWrong          int
	ServerVersion             string
	EngineEdition             int
	DatabaseName              string
	LoginName                 string
	DatabaseTime              time.Time
}

// registration is what a worker says about itself in chokaq.RegisterWorker.
type registration struct {
	WorkerID  uuid.UUID
	HostName  string
	ProcessID int
	Version   string
	Queues    []string
	Handlers  int
	Prefetch  int
	JobTypes  sql.NullString // JSON; NULL: all
}

// recoveryTimeouts is what the database answers to a registration.
type recoveryTimeouts struct {
	FetchedJob       time.Duration
	ProcessingZombie time.Duration
}

// procedures calls ChokaQ's worker procedures. It is safe for concurrent use.
type procedures struct {
	db      *sql.DB
	clock   clock.Clock
	metrics *metrics
	calls   atomic.Int64
}

// bounded makes a call, and gives it up shortly after ctx has ended; at once where a stop has no time left to wait.
func bounded[T any](ctx context.Context, c clock.Clock, call func(context.Context) (T, error)) (T, error) {
	value, err := reply.Await(ctx, c, graceOf, call)
	if errors.Is(err, reply.ErrNone) {
		if cause := context.Cause(ctx); !errors.Is(cause, errCallTimeout) {
			return value, fmt.Errorf("%w (%w)", errCallTimeout, cause)
		}
		return value, errCallTimeout
	}
	return value, err
}

func graceOf(cause error) time.Duration {
	switch cause {
	case errReleaseTimeout, errFlushTimeout, errStopped:
		return 0
	}
	return reply.Grace(cause)
}

// query calls a procedure and scans every row of its first result set. It reads to the very end, since an
// error may come after the rows.
func query[T any](ctx context.Context, p *procedures, procedure string, scan func(row) (T, error), params ...any) ([]T, error) {
	return queryAs(ctx, p, procedure, procedure, scan, params...)
}

// queryAs is query for a statement, which metrics and errors call by a name.
func queryAs[T any](ctx context.Context, p *procedures, name, statement string, scan func(row) (T, error), params ...any) ([]T, error) {
	began := p.begin()
	rows, err := bounded(ctx, p.clock, func(ctx context.Context) ([]T, error) {
		return queryRows(ctx, p.db, statement, scan, params...)
	})
	p.ended(name, began, err)
	return rows, procedureError(name, err)
}

// queryer is a *sql.DB, *sql.Conn or *sql.Tx.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func queryRows[T any](ctx context.Context, q queryer, procedure string, scan func(row) (T, error), params ...any) (all []T, err error) {
	rows, err := q.QueryContext(ctx, procedure, params...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		one, err := scan(row{rows, len(columns)})
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	for rows.NextResultSet() {
		for rows.Next() {
		}
	}
	return all, rows.Err()
}

// exec calls a procedure that has no result set.
func (p *procedures) exec(ctx context.Context, procedure string, params ...any) error {
	began := p.begin()
	_, err := bounded(ctx, p.clock, func(ctx context.Context) (sql.Result, error) {
		return p.db.ExecContext(ctx, procedure, params...)
	})
	p.ended(procedure, began, err)
	return procedureError(procedure, err)
}

// begin counts a call, and returns when it began.
func (p *procedures) begin() time.Duration {
	p.calls.Add(1)
	return p.clock.Monotonic()
}

// ended measures a call.
func (p *procedures) ended(procedure string, began time.Duration, err error) {
	p.metrics.called(procedure, p.clock.Monotonic()-began, err)
}

func (p *procedures) claim(ctx context.Context, workerID, token uuid.UUID, queues string, types sql.NullString, most int) ([]JobInfo, error) {
	return query(ctx, p, "chokaq.ClaimJobs", scanJob,
		sql.Named("WorkerId", mssql.UniqueIdentifier(workerID)),
		sql.Named("ClaimToken", mssql.UniqueIdentifier(token)),
		sql.Named("Queues", queues),
		sql.Named("MaxJobs", most),
		sql.Named("JobTypes", types))
}

func scanJob(rows row) (JobInfo, error) {
	var job JobInfo
	var key, headers sql.NullString
	var payload string
	err := rows.Scan(&job.ID, &job.Queue, &job.Type, &job.Priority, &job.Attempt, &job.MaxAttempts, &job.RequeueCount,
		&job.EnqueuedAt, &job.DueAt, &job.FetchedAt, &key, &headers, &payload)
	job.IdempotencyKey = key.String
	job.Payload = json.RawMessage(payload)
	if headers.Valid && err == nil {
		job.Headers = json.RawMessage(headers.String)
	}
	return job, err
}

// briefly: a call about many jobs waits for a row that somebody else has locked no longer than a second, and then fails with 1222 (isLocked).
var briefly = sql.Named("WaitForLocks", false)

// isLocked reports a call that came upon such a row. The database is well, and the other jobs of the call can be had by calls without that one.
func isLocked(err error) bool { return sqlNumber(err) == numberLockTimeout }

const numberLockTimeout = 1222

func (p *procedures) start(ctx context.Context, claims []claim) ([]answer, error) {
	return query(ctx, p, "chokaq.StartJobs", func(rows row) (answer, error) {
		var a answer
		var attempt sql.NullInt64
		var state sql.NullString
		err := rows.Scan(&a.JobID, &a.Result, &attempt, &state)
		a.Attempt, a.State = int(attempt.Int64), state.String
		return a, err
	}, sql.Named("Jobs", jsonText(claims)), briefly)
}

func (p *procedures) heartbeat(ctx context.Context, workerID uuid.UUID, claims []claim) ([]answer, error) {
	return query(ctx, p, "chokaq.HeartbeatJobs", scanAnswer,
		sql.Named("WorkerId", mssql.UniqueIdentifier(workerID)), sql.Named("Jobs", jsonText(claims)), briefly)
}

func (p *procedures) complete(ctx context.Context, claims []claim) ([]answer, error) {
	return query(ctx, p, "chokaq.CompleteJobs", scanAnswer, sql.Named("Jobs", jsonText(claims)), briefly)
}

func (p *procedures) fail(ctx context.Context, failures []failure) ([]answer, error) {
	return query(ctx, p, "chokaq.FailJobs", scanAnswer, sql.Named("Jobs", jsonText(failures)), briefly)
}

// releaseAll releases everything still Fetched under the worker.
func (p *procedures) releaseAll(ctx context.Context, workerID uuid.UUID) ([]answer, error) {
	return query(ctx, p, "chokaq.ReleaseJobs", scanAnswer, sql.Named("WorkerId", mssql.UniqueIdentifier(workerID)), briefly)
}

// releaseNamed releases the claims named, and tells of each.
func (p *procedures) releaseNamed(ctx context.Context, workerID uuid.UUID, claims []claim) ([]answer, error) {
	return query(ctx, p, "chokaq.ReleaseJobs", scanAnswer,
		sql.Named("WorkerId", mssql.UniqueIdentifier(workerID)), sql.Named("Jobs", jsonText(claims)), briefly)
}

func scanAnswer(rows row) (answer, error) {
	var a answer
	var state sql.NullString
	err := rows.Scan(&a.JobID, &a.Result, &state)
	a.State = state.String
	return a, err
}

func (p *procedures) installation(ctx context.Context) (installation, error) {
	all, err := query(ctx, p, "chokaq.GetInstallation", func(rows row) (installation, error) {
		var i installation
		err := rows.Scan(&i.SchemaVersion, &i.IsDirty, &i.OldestClientSchemaVersion, &i.CompatibilityLevel,
			&i.ReadCommittedSnapshot, &i.AnsiOptionsWrong, &i.ServerVersion, &i.EngineEdition, &i.DatabaseName, &i.LoginName, &i.DatabaseTime)
		return i, err
	})
	return one("chokaq.GetInstallation", all, err)
}

func (p *procedures) register(ctx context.Context, r registration) (recoveryTimeouts, error) {
	all, err := query(ctx, p, "chokaq.RegisterWorker", func(rows row) (recoveryTimeouts, error) {
		var databaseTime time.Time
		var fetched, zombie int64
		err := rows.Scan(&databaseTime, &fetched, &zombie)
		return recoveryTimeouts{time.Duration(fetched) * time.Second, time.Duration(zombie) * time.Second}, err
	},
		sql.Named("WorkerId", mssql.UniqueIdentifier(r.WorkerID)), sql.Named("HostName", r.HostName), sql.Named("ProcessId", r.ProcessID),
		sql.Named("Version", r.Version), sql.Named("Queues", jsonText(r.Queues)), sql.Named("Handlers", r.Handlers), sql.Named("Prefetch", r.Prefetch),
		sql.Named("JobTypes", r.JobTypes))
	return one("chokaq.RegisterWorker", all, err)
}

// setWorkerState says what the worker does; reason is for draining.
func (p *procedures) setWorkerState(ctx context.Context, workerID uuid.UUID, state, reason string) error {
	return p.exec(ctx, "chokaq.SetWorkerState", sql.Named("WorkerId", mssql.UniqueIdentifier(workerID)), sql.Named("State", state),
		sql.Named("Reason", sql.NullString{String: reason, Valid: reason != ""}))
}

// recordStop stores the record of a stop.
func (p *procedures) recordStop(ctx context.Context, workerID uuid.UUID, report stopReport) error {
	text, err := json.Marshal(report)
	if err != nil {
		return err
	}
	return p.exec(ctx, "chokaq.RecordWorkerStop", sql.Named("WorkerId", mssql.UniqueIdentifier(workerID)), sql.Named("Report", string(text)))
}

// recovery runs one of the three recovery procedures and returns the rows that it moved.
func (p *procedures) recovery(ctx context.Context, procedure string) (int64, error) {
	all, err := query(ctx, p, procedure, func(rows row) (int64, error) {
		var moved int64
		err := rows.Scan(&moved)
		return moved, err
	})
	return one(procedure, all, err)
}

// one expects exactly one row.
func one[T any](procedure string, all []T, err error) (T, error) {
	var zero T
	if err != nil {
		return zero, err
	}
	if len(all) != 1 {
		return zero, &ProcedureError{Procedure: procedure, Err: fmt.Errorf("expected one row, got %d", len(all))}
	}
	return all[0], nil
}

// jsonText marshals what cannot fail to marshal: slices of plain structs and strings. A nil slice is [].
func jsonText[T any](elements []T) string {
	if len(elements) == 0 {
		return "[]"
	}
	text, err := json.Marshal(elements)
	if err != nil {
		panic(fmt.Sprintf("chokaq: marshaling %T: %v", elements, err))
	}
	return string(text)
}
