package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"
)

// longRecord has a long value in every column.
func longRecord() record {
	r := record{}
	set := func(column string, value any) {
		r.columns = append(r.columns, column)
		r.values = append(r.values, value)
	}
	long := strings.Repeat("wörd", 16) + " " + strings.Repeat("some words ", 10)
	for _, column := range []string{"Queue", "JobType", "Error", "HostName", "LastProgramName"} {
		set(column, long)
	}
	set("Queues", `["`+long+`","b"]`)
	set("Reason", "Interrupted")
	set("State", "draining")
	set("ProcedureName", "ResetFetchedJobs")
	set("IsPaused", true)
	for _, column := range []string{"JobId", "ProcessId", "Pending", "LastRowsMoved", "RowsMovedLastHour"} {
		set(column, int64(123456))
	}
	for _, column := range []string{"ConcurrencyLimit", "Scheduled", "Fetched", "Processing", "Dead", "Handlers", "RunsLastHour"} {
		set(column, int64(1000))
	}
	for _, column := range []string{"DeadAgeSeconds", "HeartbeatAgeSeconds", "OldestDueAgeSeconds", "SecondsSinceLastRun"} {
		set(column, int64(47*3600+59*60))
	}
	return r
}

func TestTablesFitAScreen(t *testing.T) {
	var out bytes.Buffer
	a := &app{process: process{stdout: &out}}
	rows := []record{longRecord()}
	for name, err := range map[string]error{
		"dead": a.printDead(&out, rows), "queues": a.printQueues(&out, rows), "workers": a.printWorkers(&out, rows), "recovery": a.printRecovery(&out, rows),
		"log": a.describeDeadJob(nil, []record{{
			columns: []string{"ActedAt", "ActionName", "OldValue", "NewValue", "LoginName", "Note"},
			values:  []any{time.Now(), "RequeueDeadJobs", strings.Repeat("x", 300), strings.Repeat("y ", 150), `DOMAIN\somebody-with-a-name`, strings.Repeat("because ", 20)},
		}}),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for line := range strings.SplitSeq(out.String(), "\n") {
		if width := runewidth.StringWidth(strings.TrimRight(line, " ")); width > 80 {
			t.Errorf("%d columns: %s", width, line)
		}
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain ünï 日本": "plain ünï 日本", "two\nlines\tand": "two lines and", "\x1b[31mred": "\uFFFD[31mred", "a\u202egnp.exe": "a\uFFFDgnp.exe", "\x00\u009b": "\uFFFD\uFFFD",
	} {
		if got := printable(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestAge(t *testing.T) {
	for seconds, want := range map[any]string{int64(0): "0s", int64(59): "59s", int64(61): "1m 01s", int64(3660): "1h 01m", int64(49 * 3600): "2d 01h", nil: ""} {
		if got := age(seconds); got != want {
			t.Errorf("%v: %q, want %q", seconds, got, want)
		}
	}
}
