package driver

import (
	"encoding/json"
	"time"
	"unicode/utf8"
)

// JobInfo is a job as a worker sees it.
type JobInfo struct {
	ID             int64
	Queue          string
	Type           string
	Priority       int // 1 to 10; 10 runs first
	Attempt        int // this attempt, from 1
	MaxAttempts    int
	RequeueCount   int // how often an operator has requeued it from the dead-letter queue
	EnqueuedAt     time.Time
	DueAt          time.Time
	FetchedAt      time.Time       // when this worker claimed it, by the database's clock
	IdempotencyKey string          // empty: none
	Headers        json.RawMessage // a JSON object, or nil
	Payload        json.RawMessage // the payload as it is stored
}

// Job is a job with its payload decoded into T.
type Job[T any] struct {
	JobInfo
	Args T
}

// DefaultQueue is where jobs go, and what workers serve, when no queue is named.
const DefaultQueue = "default"

// NewJob describes a job to enqueue. Type is required; every other field has a default.
type NewJob struct {
	// Type names the handler: 1 to 128 characters, exact (case counts).
	Type string
	// Queue: 1 to 64 characters, exact. Default: DefaultQueue.
	Queue string
	// Args is the payload. It is marshaled with encoding/json; a json.RawMessage is taken as it
	// is. Default {}.
	Args any
	// Priority: 1 to 10; 10 runs first. Default (0): 5.
	Priority int
	// DueAt: not run before. It is compared with the database's clock. Default: now.
	DueAt time.Time
	// Delay is the same as a wait from now by the database's clock, to the millisecond. Not together with DueAt.
	Delay time.Duration
	// MaxAttempts: 1 to 1000 attempts before the job is dead. Default (0): 10.
	MaxAttempts int
	// IdempotencyKey: 1 to 200 characters, exact. While a live job of the same type has it, nothing is inserted and that
	// job is answered. Default: none.
	IdempotencyKey string
	// Headers are handed to the handler as they are: at most 4000 characters as JSON.
	Headers map[string]string
}

// Enqueued is the answer to an enqueue.
type Enqueued struct {
	JobID int64
	// Created is false when a live job already had the idempotency key: JobID is that job.
	Created bool
}

// enqueueElement is a NewJob as chokaq.EnqueueJobs takes it.
type enqueueElement struct {
	Queue          string            `json:"queue"`
	Type           string            `json:"type"`
	Payload        string            `json:"payload"` // JSON text in a string: any JSON value, unambiguous
	Priority       int               `json:"priority,omitempty"`
	DueAt          string            `json:"dueAt,omitempty"`
	DelayMs        int64             `json:"delayMs,omitempty"`
	MaxAttempts    int               `json:"maxAttempts,omitempty"`
	IdempotencyKey string            `json:"idempotencyKey,omitempty"`
	Headers        map[string]string `json:"headers,omitempty"`
}

func (j NewJob) element() (enqueueElement, error) {
	payload, err := j.payload()
	if err != nil {
		return enqueueElement{}, err
	}
	// encoding/json would replace what is no text, and the job would be another's.
	for _, given := range []struct{ what, text string }{{"Type", j.Type}, {"Queue", j.Queue}, {"IdempotencyKey", j.IdempotencyKey}, {"Args", payload}} {
		if !utf8.ValidString(given.text) {
			return enqueueElement{}, invalidArgument("%s of job type %q is not UTF-8 text", given.what, j.Type)
		}
	}
	for name, value := range j.Headers {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			return enqueueElement{}, invalidArgument("Headers of job type %q: %q is not UTF-8 text", j.Type, name)
		}
	}
	e := enqueueElement{
		Queue: j.Queue, Type: j.Type, Payload: payload, Priority: j.Priority, DelayMs: j.Delay.Milliseconds(),
		MaxAttempts: j.MaxAttempts, IdempotencyKey: j.IdempotencyKey, Headers: j.Headers,
	}
	if e.Queue == "" {
		e.Queue = DefaultQueue
	}
	if !j.DueAt.IsZero() {
		e.DueAt = j.DueAt.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return e, nil
}

func (j NewJob) payload() (string, error) {
	switch args := j.Args.(type) {
	case nil:
		return "{}", nil
	case json.RawMessage:
		if !json.Valid(args) {
			return "", invalidArgument("Args of job type %q is not JSON text", j.Type)
		}
		return string(args), nil
	}
	text, err := json.Marshal(j.Args)
	if err != nil {
		return "", invalidArgument("Args of job type %q cannot be marshaled as JSON: %v", j.Type, err)
	}
	return string(text), nil
}
