package main

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf16"

	"github.com/chokaq/chokaq/driver"
)

// lineForm is the accepted form of a line.
const lineForm = `{"type": "send_email", "queue": "mail", "payload": {...}, "priority": 5, "delay": "5m" or "dueAt": "2027-01-31T08:00:00Z", "maxAttempts": 10, "idempotencyKey": "...", "headers": {"name": "value"}}`

// jobLine is a job as a line of a file, or the flags of enqueue, describe it; nil: not given.
type jobLine struct {
	Type           string
	Queue          *string
	Payload        json.RawMessage
	Priority       *int
	Delay          *string
	DueAt          *string
	MaxAttempts    *int
	IdempotencyKey *string
	Headers        map[string]string

	byFlags bool // faults are told by the names of flags
}

// mostDelay is what chokaq.EnqueueJobs accepts: ten years.
const mostDelay = 315_360_000 * time.Second

// name is a field as it was given.
func (l jobLine) name(field string) string {
	if !l.byFlags {
		return field
	}
	if flag, ok := map[string]string{"dueAt": "due-at", "maxAttempts": "max-attempts", "idempotencyKey": "idempotency-key", "headers": "header"}[field]; ok {
		field = flag
	}
	return "--" + field
}

// job checks what the database would refuse, so that the fault can be told by its place. What is given and empty, or 0, is refused: it would count as not
// given, and an empty idempotency key would let everything pass twice.
func (l jobLine) job() (driver.NewJob, error) {
	job := driver.NewJob{Type: l.Type, Queue: driver.DefaultQueue, Headers: l.Headers}
	fail := func(field, format string, args ...any) (driver.NewJob, error) {
		return driver.NewJob{}, fmt.Errorf("%s: %w", l.name(field), fmt.Errorf(format, args...))
	}
	if err := checkName(l.name("type"), job.Type, 128); err != nil {
		return driver.NewJob{}, err
	}
	for _, name := range []struct {
		field string
		given *string
		most  int
		to    *string
	}{{"queue", l.Queue, 64, &job.Queue}, {"idempotencyKey", l.IdempotencyKey, 200, &job.IdempotencyKey}} {
		if name.given == nil {
			continue
		}
		if err := checkName(l.name(name.field), *name.given, name.most); err != nil {
			return driver.NewJob{}, err
		}
		*name.to = *name.given
	}
	for _, number := range []struct {
		field string
		given *int
		most  int
		to    *int
	}{{"priority", l.Priority, 10, &job.Priority}, {"maxAttempts", l.MaxAttempts, 1000, &job.MaxAttempts}} {
		if number.given == nil {
			continue
		}
		if *number.given < 1 || *number.given > number.most {
			return fail(number.field, "must be 1 to %d, and is %d", number.most, *number.given)
		}
		*number.to = *number.given
	}
	if l.Delay != nil {
		d, err := time.ParseDuration(*l.Delay)
		if err != nil {
			return fail("delay", "%q is not a Go duration such as 90s or 5m, from 0 to 87600h (ten years)", shorten(*l.Delay, 60))
		}
		if d < 0 || d > mostDelay {
			return fail("delay", "must be 0 to 87600h (ten years), and is %s", shorten(*l.Delay, 60))
		}
		job.Delay = d
	}
	if job.Delay > 0 && l.DueAt != nil { // no delay is none, whoever says it
		return driver.NewJob{}, fmt.Errorf("%s and %s exclude each other", l.name("delay"), l.name("dueAt"))
	}
	if l.DueAt != nil {
		at, err := time.Parse(time.RFC3339, *l.DueAt)
		if err != nil {
			return fail("dueAt", "%q is not a time such as 2027-01-31T08:00:00Z", shorten(*l.DueAt, 60))
		}
		if latest := time.Now().Add(mostDelay); at.After(latest) {
			return fail("dueAt", "must be at most ten years from now (%s), and is %s; a time that is over is due at once", latest.UTC().Format(time.RFC3339), *l.DueAt)
		}
		job.DueAt = at
	}
	if len(l.Payload) > 0 {
		if units(string(l.Payload)) > 1_000_000 {
			return fail("payload", "at most 1,000,000 characters, and it has %d", units(string(l.Payload)))
		}
		job.Args = l.Payload
	}
	if len(l.Headers) > 0 {
		text, err := json.Marshal(l.Headers)
		if err != nil {
			return fail("headers", "%w", err)
		}
		if units(string(text)) > 4000 {
			return fail("headers", "at most 4000 characters as JSON, and they have %d", units(string(text)))
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
