// Package program runs a program for each job: payload on its standard input, the job's facts in its environment, the
// outcome in its exit status.
package program

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
)

// Spec says which program runs the jobs of a type.
type Spec struct {
	JobType     string
	Args        []string // program and arguments
	Timeout     time.Duration
	SafeToRetry bool
	// RejectStatus is the exit status that dead-letters the job at once; 0: none does.
	RejectStatus int
}

// Form is the accepted form of a spec.
const Form = "TYPE=PROGRAM ARGUMENTS, or with options TYPE[timeout=1m,safe-to-retry,reject=65]=PROGRAM ARGUMENTS; quoted as for a shell, though none runs"

// ParseSpec reads a spec and finds its program.
func ParseSpec(text string) (Spec, error) {
	fault := func(format string, args ...any) (Spec, error) {
		return Spec{}, fmt.Errorf("%q: %s; accepted: %s", text, fmt.Sprintf(format, args...), Form)
	}
	// The options may hold "=", so the first one after them is meant.
	from := 0
	if open := strings.Index(text, "["); open >= 0 && open < strings.Index(text+"=", "=") {
		end := strings.Index(text, "]=")
		if end < 0 {
			return fault(`"[" has no "]="`)
		}
		from = end
	}
	at := strings.Index(text[from:], "=")
	if at < 0 {
		return fault(`there is no "="`)
	}
	name, rest := text[:from+at], text[from+at+1:]
	spec := Spec{}
	options := ""
	if open := strings.Index(name, "["); open >= 0 && strings.HasSuffix(name, "]") {
		name, options = name[:open], name[open+1:len(name)-1]
	}
	spec.JobType = strings.TrimSpace(name)
	if spec.JobType == "" {
		return fault("the job type is empty")
	}
	for option := range strings.SplitSeq(options, ",") {
		if option = strings.TrimSpace(option); option == "" {
			continue
		}
		if err := spec.option(option); err != nil {
			return fault("%v", err)
		}
	}
	args, err := shellquote.Split(rest)
	if err != nil {
		return fault("a quote or backslash is not ended")
	}
	if len(args) == 0 {
		return fault("there is no program")
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return fault("the program cannot be run: %v", err)
	}
	args[0] = path
	spec.Args = args
	return spec, nil
}

func (s *Spec) option(text string) error {
	name, value, _ := strings.Cut(text, "=")
	switch name {
	case "timeout":
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return fmt.Errorf("option timeout: %q is not a Go duration above zero", value)
		}
		s.Timeout = d
	case "safe-to-retry":
		if value != "" {
			return fmt.Errorf("option safe-to-retry takes no value")
		}
		s.SafeToRetry = true
	case "reject":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > 255 || n == TempFail {
			return fmt.Errorf("option reject: %q is not an exit status from 1 to 255 other than %d", value, TempFail)
		}
		s.RejectStatus = n
	default:
		return fmt.Errorf("there is no option %q", name)
	}
	return nil
}
