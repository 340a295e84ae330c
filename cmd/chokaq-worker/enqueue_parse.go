package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/chokaq/chokaq/driver"
)

// parseJobLine reads a line; the error says what is not of the form. queue is for lines that name none.
func parseJobLine(text []byte, queue string) (driver.NewJob, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // a byte order mark, as some editors put before the first line
	var line jobLine
	if err := eachField(text, line.set); err != nil {
		return driver.NewJob{}, err
	}
	if line.Queue == nil && queue != "" {
		line.Queue = &queue
	}
	return line.job()
}

// eachField calls set with every field of a JSON object, in order. A field that is there twice is refused: one of the two values would be lost.
// encoding/json does not help with that, and takes TYPE for type.
func eachField(text []byte, set func(name string, value json.RawMessage) error) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	fault := func(err error) error {
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return errors.New("the JSON object is not ended")
		case errors.As(err, new(*json.SyntaxError)):
			return fmt.Errorf("not a JSON object: %w", err)
		}
		return err
	}
	start, err := decoder.Token()
	if err != nil {
		return fault(err)
	}
	if start != json.Delim('{') {
		return errors.New("it is no JSON object")
	}
	seen := make(map[string]bool)
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return fault(err)
		}
		name, ok := token.(string)
		if !ok {
			return errors.New("it is no JSON object")
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return fault(err)
		}
		if seen[name] {
			return fmt.Errorf("%s: is given twice", shorten(name, 60))
		}
		seen[name] = true
		if err := set(name, value); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return fault(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something after the JSON object")
	}
	return nil
}

// set takes a field of a line. null is a field that is not there, but for the payload, which it can be.
func (l *jobLine) set(name string, value json.RawMessage) error {
	null := string(value) == "null"
	switch name {
	case "type":
		return textField(name, value, &l.Type)
	case "queue":
		return optional(null, func() error { return pointerTo(&l.Queue, func(to *string) error { return textField(name, value, to) }) })
	case "delay":
		return optional(null, func() error { return pointerTo(&l.Delay, func(to *string) error { return textField(name, value, to) }) })
	case "dueAt":
		return optional(null, func() error { return pointerTo(&l.DueAt, func(to *string) error { return textField(name, value, to) }) })
	case "idempotencyKey":
		return optional(null, func() error {
			return pointerTo(&l.IdempotencyKey, func(to *string) error { return textField(name, value, to) })
		})
	case "priority":
		return optional(null, func() error {
			return pointerTo(&l.Priority, func(to *int) error { return numberField(name, value, to) })
		})
	case "maxAttempts":
		return optional(null, func() error {
			return pointerTo(&l.MaxAttempts, func(to *int) error { return numberField(name, value, to) })
		})
	case "payload":
		l.Payload = value
		return nil
	case "headers":
		return optional(null, func() error { return l.setHeaders(value) })
	}
	return fmt.Errorf("unknown field %q; names are exact", shorten(name, 60))
}

func (l *jobLine) setHeaders(value json.RawMessage) error {
	l.Headers = make(map[string]string)
	err := eachField(value, func(name string, value json.RawMessage) error {
		var text string
		if err := textField(name, value, &text); err != nil {
			return err
		}
		l.Headers[name] = text
		return nil
	})
	if err != nil {
		return fmt.Errorf("headers: %w; accepted: an object of strings", err)
	}
	return nil
}

func optional(null bool, set func() error) error {
	if null {
		return nil
	}
	return set()
}

func pointerTo[T any](to **T, read func(*T) error) error {
	*to = new(T)
	return read(*to)
}

func textField(name string, value json.RawMessage, to *string) error {
	if len(value) == 0 || value[0] != '"' {
		return fmt.Errorf("%s: %s is not a JSON string", shorten(name, 60), shorten(string(value), 60))
	}
	return json.Unmarshal(value, to)
}

// numberField takes 5, and what JSON writes otherwise for it, such as 5.0.
func numberField(name string, value json.RawMessage, to *int) error {
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return fmt.Errorf("%s: %s is not a whole number", name, shorten(string(value), 60))
	}
	*to = int(f)
	return nil
}
