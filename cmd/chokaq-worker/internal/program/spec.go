// Package program runs a program for each job: payload on its standard input, the job's facts in its environment, the
// outcome in its exit status.
package program

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/jobtype"
)

// Spec says which program runs the jobs of a type.
type Spec struct {
	JobType string // jobtype.Any: every type that has no handler of its own
	jobtype.Settings
	Args []string // program and arguments
	// RejectStatus is the exit status that dead-letters the job at once; 0: none does.
	RejectStatus int
}

// Form is the accepted form of a spec.
const Form = "TYPE=PROGRAM ARGUMENTS, or with options TYPE[timeout=1m,max-attempts=5,backoff=5s..1h,concurrency=2,safe-to-retry,reject=65]=PROGRAM ARGUMENTS; quoted as for a shell, though none runs; TYPE * is every type that has no other handler"

// ParseSpec reads a spec and finds its program. It returns every fault that it finds, each of which names the spec; JobType is set if it could be read.
func ParseSpec(text string) (Spec, []error) {
	spec := Spec{}
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("%q: %w", text, fmt.Errorf(format, args...)))
	}
	// The options may hold "=", so the first one after them is meant.
	from := 0
	if open := strings.Index(text, "["); open >= 0 && open < strings.Index(text+"=", "=") {
		end := strings.Index(text, "]=")
		if end < 0 {
			fault(`"[" has no "]="`)
			return spec, faults // where the rest begins is not known
		}
		from = end
	}
	at := strings.Index(text[from:], "=")
	if at < 0 {
		fault(`there is no "="`)
		return spec, faults
	}
	name, rest := text[:from+at], text[from+at+1:]
	options := ""
	if open := strings.Index(name, "["); open >= 0 && strings.HasSuffix(name, "]") {
		name, options = name[:open], name[open+1:len(name)-1]
	}
	spec.JobType = strings.TrimSpace(name)
	if spec.JobType == "" {
		fault("the job type is empty")
	} else if spec.JobType != jobtype.Any {
		if err := jobtype.CheckName(spec.JobType); err != nil {
			fault("%w", err)
		}
	}
	seen := make(map[string]bool)
	for option := range strings.SplitSeq(options, ",") {
		if option = strings.TrimSpace(option); option == "" {
			continue
		}
		name, _, _ := strings.Cut(option, "=")
		if seen[name] {
			fault("option %s is given twice", name)
			continue
		}
		seen[name] = true
		if err := spec.option(option); err != nil {
			fault("%w", err)
		}
	}
	args, err := shellquote.Split(rest)
	switch {
	case err != nil:
		fault("a quote or backslash is not ended")
	case len(args) == 0:
		fault("there is no program")
	default:
		if err := spec.SetArgs(args); err != nil {
			fault("%w", err)
		}
	}
	return spec, faults
}

// SetArgs sets program and arguments, and finds the program.
func (s *Spec) SetArgs(args []string) error {
	path, err := exec.LookPath(args[0])
	if err != nil {
		return fmt.Errorf("the program cannot be run: %w", err)
	}
	s.Args = append([]string{path}, args[1:]...)
	return nil
}

// SetRejectStatus sets the exit status that dead-letters a job at once.
func (s *Spec) SetRejectStatus(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 255 || n == TempFail {
		return fmt.Errorf("%q is not an exit status from 1 to 255 other than %d", text, TempFail)
	}
	s.RejectStatus = n
	return nil
}

// optionNames are the options of a flag.
var optionNames = []string{"timeout", "max-attempts", "backoff", "concurrency", "safe-to-retry", "reject"}

func (s *Spec) option(text string) (err error) {
	name, value, _ := strings.Cut(text, "=")
	switch name {
	case "timeout":
		s.Timeout, err = jobtype.ParseDuration(value)
	case "max-attempts":
		s.MaxAttempts, err = jobtype.ParseMaxAttempts(value)
	case "backoff":
		s.Backoff, err = jobtype.ParseBackoff(value)
	case "concurrency":
		s.Concurrency, err = jobtype.ParseConcurrency(value)
	case "safe-to-retry":
		if value != "" {
			return fmt.Errorf("option safe-to-retry takes no value")
		}
		s.SafeToRetry = true
	case "reject":
		err = s.SetRejectStatus(value)
	default:
		return fmt.Errorf("there is no option %q; there are %s", name, strings.Join(optionNames, ", "))
	}
	if err != nil {
		return fmt.Errorf("option %s: %w", name, err)
	}
	return nil
}
