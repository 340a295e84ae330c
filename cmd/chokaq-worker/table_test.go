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

// tables prints every table with these rows.
func tables(a *app, to io.Writer, rows []record) map[string]error {
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
	for name, err := range tables(a, &out, []record{longRecord(), longRecord()}) {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if width, line := widest(out.String()); width > screenWidth {
		t.Errorf("%d columns: %s", width, line)
	}
}

// A terminal that is narrow, and has what applications call their things in everyday life.
func TestTablesBreakNoOrdinaryWord(t *testing.T) {
	row := longRecord()
	values := map[string]any{
		"Queue": "reports", "JobType": "send_email", "Error": "connection refused by mail-1", "HostName": "worker-1", "LastProgramName": "ours", "ErrorStart": "connection refused",
		"Name": "nightly", "Cron": "30 2 * * *", "TimeZone": "UTC", "Detail": "connection refused", "LoginName": "oncall", "OldValue": "5", "NewValue": "10", "ActionName": "EditDeadJob",
		"Queues": `["mail","reports"]`, "JobId": int64(17), "ProcessId": int64(4242),
	}
	for i, column := range row.columns {
		if value, ok := values[column]; ok {
			row.values[i] = value
		}
	}
	ordinary := []string{"reports", "send_email", "connection", "worker-1", "4242", "nightly", "Interrupted", "Processing", "6f9619ff", "ResetFetchedJobs", "oncall", "EditDeadJob"}
	for width := 24; width <= 100; width++ {
		var out bytes.Buffer
		a := &app{process: process{stdout: &out, environ: []string{fmt.Sprintf("COLUMNS=%d", width)}}}
		for name, err := range tables(a, &out, []record{row, row}) {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if used, line := widest(out.String()); used > width {
			t.Errorf("%d columns, %d are used: %s", width, used, line)
		}
		for _, word := range ordinary {
			if !strings.Contains(out.String(), word) {
				t.Errorf("%d columns: %q is broken", width, word)
			}
		}
		if wide, line := strings.Contains(out.String(), "───"), out.String(); width >= 80 && !wide || width < 40 && wide {
			t.Errorf("%d columns: tables %v\n%s", width, wide, line)
		}
	}
}

func TestFitColumns(t *testing.T) {
	for _, c := range []struct {
		widths, least []int
		room          int
		want          string
	}{
		{[]int{10, 20, 5}, []int{6, 6, 5}, 40, "[10 20 5] true"},  // all fit
		{[]int{10, 20, 5}, []int{6, 6, 5}, 30, "[10 15 5] true"},  // the widest gives way
		{[]int{30, 40, 5}, []int{6, 6, 5}, 25, "[10 10 5] true"},  // both do
		{[]int{30, 40, 20}, []int{6, 8, 20}, 34, "[6 8 20] true"}, // as far as they can
		{[]int{30, 40, 20}, []int{6, 8, 20}, 33, "[6 8 20] false"},
	} {
		fits := fitColumns(c.widths, c.least, c.room)
		if got := fmt.Sprint(c.widths, fits); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
