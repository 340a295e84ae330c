package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/chokaq/chokaq/driver"
)

// lineForm is the accepted form of a line.
const lineForm = `{"type": "send_email", "queue": "mail", "payload": {...}, "priority": 5, "delay": "5m" or "dueAt": "2027-01-31T08:00:00Z", "maxAttempts": 10, "idempotencyKey": "...", "headers": {"name": "value"}}`

// jobLine is a job as a line of a file describes it.
type jobLine struct {
	Type           string            `json:"type"`
	Queue          string            `json:"queue"`
	Payload        json.RawMessage   `json:"payload"`
	Priority       int               `json:"priority"`
	Delay          string            `json:"delay"`
	DueAt          string            `json:"dueAt"`
	MaxAttempts    int               `json:"maxAttempts"`
	IdempotencyKey string            `json:"idempotencyKey"`
	Headers        map[string]string `json:"headers"`
}

// parseJobLine reads a line; the error says what is not of the form. queue is for lines that name none.
func parseJobLine(text []byte, queue string) (driver.NewJob, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // a byte order mark, as some editors put before the first line
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var line jobLine
	if err := decoder.Decode(&line); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the JSON object is not ended")
		}
		if syntax := new(json.SyntaxError); errors.As(err, &syntax) {
			err = fmt.Errorf("not a JSON object: %w", err)
		}
		return driver.NewJob{}, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return driver.NewJob{}, errors.New("there is something after the JSON object")
	}
	if line.Queue == "" {
		line.Queue = queue
	}
	return line.job()
}

// job checks what the database would refuse, so that the fault can be told by its place.
func (l jobLine) job() (driver.NewJob, error) {
	job := driver.NewJob{Type: l.Type, Queue: l.Queue, Priority: l.Priority, MaxAttempts: l.MaxAttempts, IdempotencyKey: l.IdempotencyKey, Headers: l.Headers}
	fail := func(format string, args ...any) (driver.NewJob, error) {
		return driver.NewJob{}, fmt.Errorf(format, args...)
	}
	if job.Queue == "" {
		job.Queue = driver.DefaultQueue
	}
	if err := checkName("type", job.Type, 128); err != nil {
		return fail("%w", err)
	}
	if err := checkName("queue", job.Queue, 64); err != nil {
		return fail("%w", err)
	}
	if job.IdempotencyKey != "" {
		if err := checkName("idempotency key", job.IdempotencyKey, 200); err != nil {
			return fail("%w", err)
		}
	}
	if l.Priority < 0 || l.Priority > 10 {
		return fail("priority: must be 1 to 10, and is %d", l.Priority)
	}
	if l.MaxAttempts < 0 || l.MaxAttempts > 1000 {
		return fail("max attempts: must be 1 to 1000, and is %d", l.MaxAttempts)
	}
	if l.Delay != "" && l.DueAt != "" {
		return fail("delay and due time exclude each other")
	}
	if l.Delay != "" {
		d, err := time.ParseDuration(l.Delay)
		if err != nil || d < 0 {
			return fail("delay: %q is not a Go duration such as 90s or 5m", l.Delay)
		}
		job.Delay = d
	}
	if l.DueAt != "" {
		at, err := time.Parse(time.RFC3339, l.DueAt)
		if err != nil {
			return fail("due time: %q is not a time such as 2027-01-31T08:00:00Z", l.DueAt)
		}
		job.DueAt = at
	}
	if len(l.Payload) > 0 {
		if units(string(l.Payload)) > 1_000_000 {
			return fail("payload: at most 1,000,000 characters, and it has %d", units(string(l.Payload)))
		}
		job.Args = l.Payload
	}
	if len(l.Headers) > 0 {
		text, err := json.Marshal(l.Headers)
		if err != nil {
			return fail("headers: %v", err)
		}
		if units(string(text)) > 4000 {
			return fail("headers: at most 4000 characters as JSON, and they have %d", units(string(text)))
		}
	}
	return job, nil
}

// units counts characters as SQL Server does.
func units(s string) int { return len(utf16.Encode([]rune(s))) }

// checkName applies the rule for every name (chokaq.CheckName).
func checkName(what, name string, most int) error {
	n := units(name)
	bad := n < 1 || n > most || name[0] == ' ' || name[len(name)-1] == ' '
	for _, r := range name {
		bad = bad || r < ' ' || r == 0x7f
	}
	if bad {
		return fmt.Errorf("%s: %q: 1 to %d characters, with no leading or trailing space and no control character", what, shorten(name, 60), most)
	}
	return nil
}
