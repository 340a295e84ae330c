package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"
)

// longRecord has a long value in every column.
func longRecord() record {
	r := record{}
	set := func(value any, columns ...string) {
		for _, column := range columns {
			r.columns = append(r.columns, column)
			r.values = append(r.values, value)
		}
	}
	long := strings.Repeat("wörd", 16) + " " + strings.Repeat("some words ", 10)
	set(long, "Queue", "JobType", "Error", "HostName", "LastProgramName", "ErrorStart", "Name", "Cron", "TimeZone", "Detail", "LoginName", "OldValue", "NewValue", "ActionName")
	set(`["`+long+`","b"]`, "Queues")
	set("Interrupted", "Reason")
	set("Processing", "State")
	set("cut short", "Outcome")
	set("RequeueDeadJobs", "Event")
	set("6f9619ff-8b86-d011-b42d-00cf4fc964ff", "WorkerId")
	set("ResetFetchedJobs", "ProcedureName")
	set(true, "IsPaused")
	set(time.Date(2027, 1, 31, 8, 0, 0, 0, time.UTC), "CancelRequestedAt", "StoppedAt", "NextTickAt", "At", "ActedAt", "LastDeadAt")
	set(int64(123456), "JobId", "ProcessId", "Pending", "LastRowsMoved", "RowsMovedLastHour", "ExampleJobId", "DeadJobs")
	set(int64(1000), "ConcurrencyLimit", "Scheduled", "Fetched", "Processing", "Dead", "Handlers", "HandlersWanted", "RunsLastHour", "LiveWorkers", "Attempt", "Running", "Interrupted")
	set(int64(47*3600+59*60), "DeadAgeSeconds", "HeartbeatAgeSeconds", "OldestDueAgeSeconds", "SecondsSinceLastRun", "HeldSeconds", "SecondsUntilRecovery", "TotalMs", "LateSeconds")
	return r
}

// tables prints every table with long values.
func tables(a *app, to io.Writer) map[string]error {
	rows := []record{longRecord(), longRecord()}
	return map[string]error{
		"dead": a.printDead(to, rows), "queues": a.printQueues(to, rows), "workers": a.printWorkers(to, rows), "recovery": a.printRecovery(to, rows),
		"stops": a.printStops(to, rows), "held": a.printHeld(to, rows), "waiting": a.printWaiting(to, rows), "history": a.printHistory(to, rows),
		"recurring": a.printRecurring(to, rows), "groups": a.printGroups(to, rows), "changes": a.describeDeadJob(nil, rows, rows),
	}
}

// widest is the width of the widest line, spaces at its end not counted.
func widest(text string) (most int, which string) {
	for line := range strings.SplitSeq(text, "\n") {
		if width := runewidth.StringWidth(strings.TrimRight(line, " \r")); width > most {
			most, which = width, line
		}
	}
	return most, which
}

func TestTablesFitAScreen(t *testing.T) {
	var out bytes.Buffer
	a := &app{process: process{stdout: &out}}
	for name, err := range tables(a, &out) {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if width, line := widest(out.String()); width > screenWidth {
		t.Errorf("%d columns: %s", width, line)
	}
}

func TestFitColumns(t *testing.T) {
	for _, c := range []struct {
		widths []int
		gives  []bool
		room   int
		want   string
	}{
		{[]int{10, 20, 5}, []bool{true, true, false}, 40, "[10 20 5]"}, // all fit
		{[]int{10, 20, 5}, []bool{true, true, false}, 30, "[10 15 5]"}, // the widest gives way
		{[]int{30, 40, 5}, []bool{true, true, false}, 25, "[10 10 5]"}, // both do
		{[]int{30, 40, 20}, []bool{true, true, false}, 20, "[6 6 8]"},  // and then what should not
		{[]int{30, 40, 20}, []bool{false, false, false}, 0, "[1 1 1]"}, // nothing fits
	} {
		fitColumns(c.widths, c.gives, c.room)
		if got := fmt.Sprint(c.widths); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
