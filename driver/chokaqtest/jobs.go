package chokaqtest

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// State is where a job is.
type State string

// The states of a job.
const (
	Pending    State = "Pending"    // not started, or waiting for another attempt
	Fetched    State = "Fetched"    // in a worker's memory, not started
	Processing State = "Processing" // its handler runs
	Completed  State = "Completed"  // in the archive
	Dead       State = "Dead"       // in the dead-letter queue
)

// Job is a job as the database has it.
type Job struct {
	ID             int64
	Queue          string
	Type           string
	State          State
	Priority       int
	Attempt        int // attempts started so far
	MaxAttempts    int // as it was enqueued, or, once an attempt has failed, as driver.MaxAttempts of its type says
	EnqueuedAt     time.Time
	DueAt          time.Time // compare it with Queue.Now: of a retry, the end of the delay
	IdempotencyKey string
	Headers        json.RawMessage // nil: none
	Payload        json.RawMessage
	Reason         string // of a dead job: Failed, Rejected, Interrupted, Zombie, Cancelled
	Error          string // of the last attempt that failed
}

// Decode decodes the payload, or fails.
func (j Job) Decode(into any) error { return json.Unmarshal(j.Payload, into) }

func (j Job) String() string {
	text := fmt.Sprintf("job %d: %s in queue %q, %s, attempt %d of %d, due %s, payload %s", j.ID, j.Type, j.Queue, j.State, j.Attempt, j.MaxAttempts,
		j.DueAt.Format(time.RFC3339Nano), j.Payload)
	if j.Reason != "" {
		text += ", reason " + j.Reason
	}
	if j.Error != "" {
		text += ", error: " + j.Error
	}
	return text
}

const selectJobs = `
SELECT j.JobId, j.Queue, j.JobType, CASE j.State WHEN 0 THEN 'Pending' WHEN 1 THEN 'Fetched' ELSE 'Processing' END AS State, j.Priority, j.Attempt,
       j.MaxAttempts, j.EnqueuedAt, j.DueAt, j.IdempotencyKey, j.Headers, j.Payload, CONVERT(varchar(20), NULL) AS Reason, j.LastError AS Error
FROM chokaq.Jobs AS j
UNION ALL
SELECT a.JobId, a.Queue, a.JobType, 'Completed', a.Priority, a.Attempt,
       a.MaxAttempts, a.EnqueuedAt, a.DueAt, a.IdempotencyKey, a.Headers, a.Payload, NULL, a.LastError
FROM chokaq.JobsArchive AS a
UNION ALL
SELECT d.JobId, d.Queue, d.JobType, 'Dead', d.Priority, d.Attempt,
       d.MaxAttempts, d.EnqueuedAt, d.DueAt, d.IdempotencyKey, d.Headers, d.Payload, d.Reason, d.Error
FROM chokaq.JobsDLQ AS d
ORDER BY JobId`

// Jobs lists every job, in whatever state, in the order in which they were enqueued.
func (q *Queue) Jobs() []Job {
	q.t.Helper()
	var all []Job
	q.query(selectJobs, func(scan func(...any) error) error {
		var job Job
		var key, headers, reason, text sql.NullString
		var payload string
		err := scan(&job.ID, &job.Queue, &job.Type, &job.State, &job.Priority, &job.Attempt, &job.MaxAttempts, &job.EnqueuedAt, &job.DueAt,
			&key, &headers, &payload, &reason, &text)
		job.IdempotencyKey, job.Payload, job.Reason, job.Error = key.String, json.RawMessage(payload), reason.String, text.String
		if headers.Valid {
			job.Headers = json.RawMessage(headers.String)
		}
		if last := len(all) - 1; last >= 0 && all[last].ID == job.ID { // it moved while it was being read
			if job.State == Completed || job.State == Dead {
				all[last] = job
			}
			return err
		}
		all = append(all, job)
		return err
	})
	return all
}

// Job is one job; the test fails if there is none with the id.
func (q *Queue) Job(id int64) Job {
	q.t.Helper()
	all := q.Jobs()
	for _, job := range all {
		if job.ID == id {
			return job
		}
	}
	q.t.Fatalf("chokaqtest: there is no job %d; there are:\n%s", id, describe(all))
	return Job{}
}

// RequireState fails the test unless the job is in that state, and returns it.
func (q *Queue) RequireState(id int64, want State) Job {
	q.t.Helper()
	job := q.Job(id)
	if job.State != want {
		q.t.Fatalf("chokaqtest: job %d is %s, want %s\n%v", id, job.State, want, job)
	}
	return job
}

// RequireEnqueued fails the test unless exactly one job of the type has been enqueued whose payload is the JSON of args, in whatever state it is now, and
// returns it. The order of fields and white space do not matter. With nil any payload will do.
func (q *Queue) RequireEnqueued(jobType string, args any) Job {
	q.t.Helper()
	want, err := payloadOf(args)
	if err != nil {
		q.t.Fatalf("chokaqtest: RequireEnqueued(%q): args cannot be marshaled as JSON: %v", jobType, err)
	}
	all := q.Jobs()
	var found []Job
	for _, job := range all {
		if job.Type == jobType && (args == nil || sameJSON(job.Payload, want)) {
			found = append(found, job)
		}
	}
	if len(found) != 1 {
		q.t.Fatalf("chokaqtest: %d jobs of type %q%s have been enqueued, want 1; there are:\n%s", len(found), jobType, with(want), describe(all))
	}
	return found[0]
}

// RequireNotEnqueued fails the test if a job of the type has been enqueued.
func (q *Queue) RequireNotEnqueued(jobType string) {
	q.t.Helper()
	for _, job := range q.Jobs() {
		if job.Type == jobType {
			q.t.Fatalf("chokaqtest: a job of type %q has been enqueued: %v", jobType, job)
		}
	}
}

func payloadOf(args any) ([]byte, error) {
	switch args := args.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return args, nil
	}
	return json.Marshal(args)
}

func with(payload []byte) string {
	if payload == nil {
		return ""
	}
	return " with payload " + string(payload)
}

// sameJSON compares values; numbers by their text, so that large ids stay exact.
func sameJSON(a, b []byte) bool {
	value := func(text []byte) (v any, err error) {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		err = decoder.Decode(&v)
		return v, err
	}
	x, errX := value(a)
	y, errY := value(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

func describe(jobs []Job) string {
	if len(jobs) == 0 {
		return "  no job"
	}
	var lines []string
	for _, job := range jobs {
		lines = append(lines, "  "+job.String())
	}
	return strings.Join(lines, "\n")
}

// query runs a query and scans its rows.
func (q *Queue) query(text string, row func(scan func(...any) error) error) {
	q.t.Helper()
	rows, err := q.client.DB().Query(text)
	if err == nil {
		for err == nil && rows.Next() {
			err = row(rows.Scan)
		}
		err = errors.Join(err, rows.Err(), rows.Close())
	}
	if err != nil {
		q.t.Fatalf("chokaqtest: %v", err)
	}
}
