package main

import (
	"testing"
	"unicode/utf8"
)

// Whatever a line of a file holds, it is a job or an error, and an error that can be shown.
func FuzzJobLine(f *testing.F) {
	for _, seed := range []string{
		`{"type":"t"}`, `{"type":"t","payload":{"a":[1,2,{"b":null}]},"priority":10,"delay":"5m","headers":{"k":"v"}}`, `{"type":"t","dueAt":"2027-01-31T08:00:00Z"}`,
		"", "null", "[]", "42", `"t"`, `{"type":"t"} x`, `{"type":`, "\ufeff{}", `{"type":"\u0000"}`, `{"type":"\ud800"}`, `{"type":"😀","queue":"שלום ","payload":"'; DROP TABLE chokaq.Jobs --"}`,
		`{"type":"t","delay":"-1s"}`, `{"type":"t","delay":"9999999h"}`, `{"type":"t","priority":1e9}`, `{"type":"t","payload":1,"payload":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		job, err := parseJobLine(line, "q")
		if err != nil {
			if err.Error() == "" {
				t.Error("an error says nothing")
			}
			return
		}
		if job.Type == "" || job.Queue == "" || !utf8.ValidString(job.Type) || !utf8.ValidString(job.Queue) {
			t.Errorf("accepted as %+v", job)
		}
	})
}
