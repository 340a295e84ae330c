// Package jobtype holds the settings of a job type that do not depend on what runs it.
package jobtype

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/chokaq/chokaq/driver"
)

// Any is the job type, in flags and files, of a handler for every type that has none of its own.
const Any = "*"

// Settings of a job type; zero fields are the driver's defaults.
type Settings struct {
	Timeout     time.Duration
	SafeToRetry bool
	MaxAttempts int
	Concurrency int
	Backoff     Backoff
}

// Backoff is how long to wait after a failed attempt: Initial, doubled with every attempt up to Max; or Fixed. The zero value is the driver's default.
type Backoff struct{ Initial, Max, Fixed time.Duration }

// The forms of the settings' values.
const (
	DurationForm    = "a Go duration above zero, such as 500ms, 30s or 5m"
	MaxAttemptsForm = "a whole number from 1 to 1000"
	ConcurrencyForm = "a whole number from 1 to 10000"
)

// ParseDuration reads a duration above zero.
func ParseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not %s", text, DurationForm)
	}
	return d, nil
}

// ParseMaxAttempts reads a number of attempts.
func ParseMaxAttempts(text string) (int, error) { return parseNumber(text, 1000, MaxAttemptsForm) }

// ParseConcurrency reads a concurrency limit.
func ParseConcurrency(text string) (int, error) { return parseNumber(text, 10_000, ConcurrencyForm) }

func parseNumber(text string, most int, form string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%q is not %s", text, form)
	}
	return n, nil
}

// ParseBackoff reads INITIAL..MAX, or a fixed duration.
func ParseBackoff(text string) (Backoff, error) {
	initial, most, exponential := strings.Cut(text, "..")
	if !exponential {
		fixed, err := ParseDuration(text)
		if err != nil {
			return Backoff{}, fmt.Errorf("%q is not a wait such as 30s, nor bounds such as 5s..10m", text)
		}
		return Backoff{Fixed: fixed}, nil
	}
	var b Backoff
	var err error
	if b.Initial, err = ParseDuration(initial); err == nil {
		b.Max, err = ParseDuration(most)
	}
	if err != nil {
		return Backoff{}, err
	}
	return b, b.Check()
}

// Check refuses bounds that contradict each other.
func (b Backoff) Check() error {
	if b.Initial > b.Max {
		return fmt.Errorf("the initial wait (%v) is above the longest (%v)", b.Initial, b.Max)
	}
	return nil
}

func (b Backoff) String() string {
	switch {
	case b.Fixed > 0:
		return short(b.Fixed)
	case b.Max > 0:
		return short(b.Initial) + ".." + short(b.Max)
	}
	return ""
}

// short is 1h and not 1h0m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Options are the settings as the driver takes them.
func (s Settings) Options() []driver.HandlerOption {
	var options []driver.HandlerOption
	if s.Timeout > 0 {
		options = append(options, driver.Timeout(s.Timeout))
	}
	if s.SafeToRetry {
		options = append(options, driver.SafeToRetry())
	}
	if s.MaxAttempts > 0 {
		options = append(options, driver.MaxAttempts(s.MaxAttempts))
	}
	if s.Concurrency > 0 {
		options = append(options, driver.Concurrency(s.Concurrency))
	}
	switch b := s.Backoff; {
	case b.Fixed > 0:
		options = append(options, driver.Backoff(func(int) time.Duration { return b.Fixed }))
	case b.Max > 0:
		options = append(options, driver.Backoff(driver.ExponentialBackoff(b.Initial, b.Max)))
	}
	return options
}

// String lists the settings that are set, as they stand in brackets in a flag.
func (s Settings) String() string {
	var parts []string
	add := func(set bool, format string, args ...any) {
		if set {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(s.Timeout > 0, "timeout=%s", short(s.Timeout))
	add(s.MaxAttempts > 0, "max-attempts=%d", s.MaxAttempts)
	add(s.Backoff != Backoff{}, "backoff=%v", s.Backoff)
	add(s.Concurrency > 0, "concurrency=%d", s.Concurrency)
	add(s.SafeToRetry, "safe-to-retry")
	return strings.Join(parts, ",")
}

// CheckName applies the database's rule to the name of a job type.
func CheckName(name string) error {
	n := len(utf16.Encode([]rune(name)))
	bad := n < 1 || n > 128 || name[0] == ' ' || name[len(name)-1] == ' '
	for _, r := range name {
		bad = bad || r < ' ' || r == 0x7f
	}
	if bad {
		return fmt.Errorf("job type %.60q: 1 to 128 characters, with no leading or trailing space and no control character", name)
	}
	return nil
}
