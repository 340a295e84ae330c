package handlerfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/jobtype"
)

func environment(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}
}

// The example is valid, and has every field.
func TestExample(t *testing.T) {
	const name = "../../../../deploy/handlers.example.yaml"
	handlers, faults := Read(name, environment(map[string]string{"SEARCH_TOKEN": "s3cret"}))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if len(handlers) != 3 {
		t.Fatalf("%d handlers", len(handlers))
	}
	receipt, resize, search := handlers[0], handlers[1], handlers[2]
	want := jobtype.Settings{Timeout: time.Minute, MaxAttempts: 5, Backoff: jobtype.Backoff{Initial: 10 * time.Second, Max: 30 * time.Minute}}
	if receipt.JobType != "send_receipt" || receipt.Settings != want || receipt.Program.Settings != want || receipt.Program.RejectStatus != 65 || len(receipt.Program.Args) != 3 {
		t.Errorf("%+v, %+v", receipt, receipt.Program)
	}
	if want := (jobtype.Settings{Concurrency: 2, SafeToRetry: true}); resize.Settings != want || strings.Join(resize.Program.Args[1:], "|") != "-c|exec cat >/dev/null" {
		t.Errorf("%+v, %+v", resize, resize.Program)
	}
	if want := (jobtype.Settings{Timeout: 30 * time.Second, Backoff: jobtype.Backoff{Fixed: 15 * time.Second}}); search.Settings != want || search.Program != nil ||
		search.Target.Name() != "https://search.internal.example/jobs/update-index" || strings.Join(search.Target.HeaderNames(), ",") != "Authorization,Content-Type" {
		t.Errorf("%+v, %+v", search, search.Target)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"program", "http", "url", "headers", "timeout", "max-attempts", "concurrency", "backoff", "initial", "max", "fixed", "safe-to-retry", "reject"} {
		if !strings.Contains(string(text), field+":") {
			t.Errorf("the example has no field %q", field)
		}
	}
}

func TestHTTPHandlersHaveATimeout(t *testing.T) {
	handlers, faults := Parse([]byte("handlers: {a: {http: {url: http://h/}}, '*': {program: sh}}"), environment(nil))
	if len(faults) > 0 || handlers[0].Timeout != DefaultHTTPTimeout || handlers[1].Timeout != 0 || handlers[1].JobType != jobtype.Any {
		t.Errorf("%+v, %v", handlers, faults)
	}
}

// Every fault is reported at once, in order, with its line; none repeats a secret.
func TestEveryFaultAtOnce(t *testing.T) {
	const text = `handlers:
  a:
    program: no-such-program-at-all
    timout: 5s
    timeout: 5
  b:
    http:
      url: https://user:hunter2@host/
      header: {}
    reject: 65
  c: {}
  d:
    program: sh 'x
    max-attempts: 1001
    concurrency: many
    safe-to-retry: yes
    backoff: {initial: 5s}
  e:
    program: sh
    http: {url: "ftp://host/x"}
    backoff: {initial: 5m, max: 1s}
  a:
    program: sh
  f:
    program: sh
    reject: 75
    backoff: {fixed: 1s, max: 2s}
  g:
    http:
      headers:
        Authorization: Bearer ${NOT_SET}
        X-Two: ${BAD}
        Chokaq-Job-Id: 17
        "X Y": z
        X-Own: ${CHOKAQ_DSN}
        X-Open: ${SET
  " h": {program: [sh]}
  i: {program: [sh, {}]}
  j: &anchor {program: sh}
  k: *anchor
  l: sh
  m: {program: ""}
  n: {http: {url: "https://host/${SET}"}}
other: 1
`
	_, faults := Parse([]byte(text), environment(map[string]string{"BAD": "hunter2\n", "SET": "hunter2", "CHOKAQ_DSN": "hunter2"}))
	want := []string{
		`line 3: a.program: the program cannot be run: exec: "no-such-program-at-all"`,
		`line 4: there is no field "a.timout"; did you mean "timeout"?`,
		`line 5: a.timeout: "5" is not a Go duration`,
		`line 8: b.http.url: the URL has a user or password in it`,
		`line 9: there is no field "b.http.header"; did you mean "headers"?`,
		`line 10: b.reject: is for programs`,
		`line 11: c: names nothing to run`,
		`line 13: d.program: a quote or backslash is not ended`,
		`line 14: d.max-attempts: "1001" is not`,
		`line 15: d.concurrency: "many" is not`,
		`line 16: d.safe-to-retry: "yes" is not true or false`,
		`line 17: d.backoff: accepted: initial and max, or fixed`,
		`line 18: e: has both a program and http`,
		`line 20: e.http.url: "ftp://host/x" is not a URL of HTTP`,
		`line 21: e.backoff: the initial wait (5m0s) is above the longest (1s)`,
		`line 22: handlers.a: is there already, in line 2`,
		`line 26: f.reject: "75" is not an exit status`,
		`line 27: f.backoff: accepted: initial and max, or fixed`,
		`line 29: g.http: there is no field url`,
		`line 31: g.http.headers: header "Authorization": the environment variable NOT_SET is not set`,
		`line 32: g.http.headers: header "X-Two": the value has a line end`,
		`line 33: g.http.headers: header "Chokaq-Job-Id": this one is set by`,
		`line 34: g.http.headers: header "X Y": this is not the name of a header`,
		`line 35: g.http.headers: header "X-Own": ${CHOKAQ_DSN}: the worker's own settings are not sent`,
		`line 36: g.http.headers: header "X-Open": "${" has no "}"`,
		`line 37: handlers: job type " h": 1 to 128 characters`,
		`line 38: i.program: every word must be text`,
		`line 40: handlers.k: aliases are not supported`,
		`line 41: l: must be a mapping`,
		`line 42: m.program: must be text, and not empty`,
		`line 43: n.http.url: the URL holds ${...}`,
		`line 44: there is no field "other"`,
	}
	for i := range max(len(want), len(faults)) {
		switch {
		case i >= len(faults):
			t.Errorf("not reported: %s", want[i])
		case i >= len(want):
			t.Errorf("reported too: %v", faults[i])
		case !strings.HasPrefix(faults[i].Error(), want[i]):
			t.Errorf("reported: %v\nwant:     %s", faults[i], want[i])
		}
	}
	for _, fault := range faults {
		if strings.Contains(fault.Error(), "hunter2") {
			t.Errorf("repeats a secret: %v", fault)
		}
	}
}

func TestFilesThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "is empty",
		"handlers: [":                   "is not YAML: line 1",
		"a: b":                          `there is no field "handlers"`,
		"- a":                           "the file: must be a mapping",
		"handlers: {}":                  "handlers: there is none",
		"handlers:":                     "handlers: must be a mapping",
		"handlers: {}\n---\nother: doc": "more than one YAML document",
	} {
		handlers, faults := Parse([]byte(text), environment(nil))
		found := false
		for _, fault := range faults {
			found = found || strings.Contains(fault.Error(), want)
		}
		if !found || len(handlers) > 0 {
			t.Errorf("%q: %v, want %q", text, faults, want)
		}
	}
	missing := filepath.Join(t.TempDir(), "missing.yaml")
	if _, faults := Read(missing, environment(nil)); len(faults) != 1 || !strings.Contains(faults[0].Error(), missing) {
		t.Error(faults)
	}
	large := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(large, make([]byte, maxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, faults := Read(large, environment(nil)); len(faults) != 1 || !strings.Contains(faults[0].Error(), "longer than 1 MiB") {
		t.Error(faults)
	}
}

// Whatever the text, parsing ends with handlers or faults, and a handler has something to run.
func FuzzParse(f *testing.F) {
	example, err := os.ReadFile("../../../../deploy/handlers.example.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(example))
	f.Add("handlers: {a: {http: {url: 'http://h', headers: {A: '${B}'}}, backoff: {fixed: 1s}}}")
	f.Add("? {a: b}\n: c")
	f.Add("handlers: &a {b: *a}")
	f.Fuzz(func(t *testing.T, text string) {
		handlers, faults := Parse([]byte(text), environment(map[string]string{"B": "secret"}))
		if len(handlers)+len(faults) == 0 {
			t.Error("neither handlers nor faults")
		}
		if len(faults) > 0 {
			return
		}
		for _, h := range handlers {
			if (h.Program == nil) == (h.Target == nil) || h.Line < 1 {
				t.Errorf("%+v", h)
			}
		}
	})
}
