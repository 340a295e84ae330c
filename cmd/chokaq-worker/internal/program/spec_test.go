package program

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/jobtype"
)

func TestParseSpec(t *testing.T) {
	for text, want := range map[string]Spec{
		"send_email=sh -c 'a \"b\" c' d\\ e":                 {JobType: "send_email", Args: []string{"sh", "-c", `a "b" c`, "d e"}},
		"a[timeout=90s, safe-to-retry ,reject=65]=sh --x=y":  {JobType: "a", Args: []string{"sh", "--x=y"}, Settings: jobtype.Settings{Timeout: 90 * time.Second, SafeToRetry: true}, RejectStatus: 65},
		"*[max-attempts=3,backoff=5s..10m,concurrency=2]=sh": {JobType: "*", Args: []string{"sh"}, Settings: jobtype.Settings{MaxAttempts: 3, Concurrency: 2, Backoff: jobtype.Backoff{Initial: 5 * time.Second, Max: 10 * time.Minute}}},
		"a[backoff=30s]=sh":                                  {JobType: "a", Args: []string{"sh"}, Settings: jobtype.Settings{Backoff: jobtype.Backoff{Fixed: 30 * time.Second}}},
		"a = sh":                                             {JobType: "a", Args: []string{"sh"}},
		"a[]=sh":                                             {JobType: "a", Args: []string{"sh"}},
		"résumé.v2=sh '' \"\" x[y]=z":                        {JobType: "résumé.v2", Args: []string{"sh", "", "", "x[y]=z"}},
		"a=sh # no comment $HOME `x` *":                      {JobType: "a", Args: []string{"sh", "#", "no", "comment", "$HOME", "`x`", "*"}},
	} {
		got, faults := ParseSpec(text)
		if len(faults) > 0 {
			t.Errorf("%q: %v", text, faults)
			continue
		}
		if !strings.HasSuffix(got.Args[0], "/sh") {
			t.Errorf("%q: program %q is not found", text, got.Args[0])
		}
		got.Args[0] = "sh"
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\ngot  %+v\nwant %+v", text, got, want)
		}
	}
}

func TestParseSpecRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                               `there is no "="`,
		"send_email":                     `there is no "="`,
		"=sh":                            "the job type is empty",
		"a=":                             "there is no program",
		"a=   ":                          "there is no program",
		"a=sh 'x":                        "a quote or backslash is not ended",
		"a=no-such-program-at-all":       "the program cannot be run",
		"a[timeout=5=sh":                 `"[" has no "]="`,
		"a[timeout=5]=sh":                `option timeout: "5" is not a Go duration above zero`,
		"a[max-attempts=1001]=sh":        `option max-attempts: "1001" is not a whole number from 1 to 1000`,
		"a[concurrency=0]=sh":            `option concurrency: "0"`,
		"a[backoff=10m..5s]=sh":          "option backoff: the initial wait (10m0s) is above the longest (5s)",
		"a[backoff=soon]=sh":             "nor bounds such as 5s..10m",
		"a[timeout=-5s]=sh":              "option timeout",
		"a[reject=75]=sh":                "option reject",
		"a[reject=0]=sh":                 "option reject",
		"a[safe-to-retry=no]=sh":         "option safe-to-retry takes no value",
		"a[retries=3]=sh":                `there is no option "retries"`,
		"a[timeout=1s,timeout=2s]=sh":    "option timeout is given twice",
		strings.Repeat("x", 129) + "=sh": "1 to 128 characters",
	} {
		_, faults := ParseSpec(text)
		if len(faults) != 1 || !strings.HasPrefix(faults[0].Error(), strconv.Quote(text)+": ") || !strings.Contains(faults[0].Error(), want) {
			t.Errorf("%q: %v, want %q alone", text, faults, want)
		}
	}
}

// Whatever is wrong with a spec, all of it is told, in the order in which it stands there.
func TestParseSpecTellsEveryFault(t *testing.T) {
	spec, faults := ParseSpec("\x01[timeout=5,retries=3,reject=0,timeout=1s]=no-such-program-at-all x")
	parts := []string{"1 to 128 characters", "option timeout: ", "no option \"retries\"", "option reject: ", "option timeout is given twice", "the program cannot be run"}
	if spec.JobType != "\x01" || len(faults) != len(parts) {
		t.Fatalf("%+v: %v", spec, faults)
	}
	for i, part := range parts {
		if !strings.Contains(faults[i].Error(), part) {
			t.Errorf("%v, want %q", faults[i], part)
		}
	}
	if _, faults := ParseSpec("[reject=x]="); len(faults) != 3 {
		t.Errorf("%v", faults)
	}
}
