package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// longName is that of a recurring job.
var longName = strings.Repeat("name ", 12) + "x"

// lists are the commands that show something, with what they need on the command line; each is looked at with long values.
var lists = map[string][]string{
	"agent-jobs status": nil, "dlq groups": nil, "dlq list": nil, "dlq show": {"1"}, "jobs running": nil, "jobs waiting": nil, "jobs show": {"1"}, "queue list": nil, "recurring list": nil, "recurring show": {longName},
	"recurring next": {"--cron", "0 0 1 1 *", "--time-zone", "America/Argentina/ComodRivadavia"}, "settings list": nil, "status": nil, "stops": nil, "stops show": {oneWorker}, "workers": nil, "doctor": nil,
	"advise": {"--handlers", "10000", "--explain"},
}

// others print a line or a few about one thing, change something, or go on for as long as they are let.
var others = strings.Fields(`run enqueue cancel dev demo version recover help
agent-jobs/install agent-jobs/uninstall migrate/up migrate/down migrate/status migrate/script dlq/edit dlq/requeue dlq/discard queue/pause queue/resume queue/limit queue/timeouts
recurring/set recurring/pause recurring/resume recurring/remove settings/set workers/handlers`)

// Everything that is shown fits a screen of 80 columns where there is no terminal, and what COLUMNS says, whatever names and texts there are; and each can be had as JSON.
func TestEveryListFitsAScreen(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	failure := strings.Repeat("failure'9 ", 100) + "\n" + strings.Repeat("at frame ", 100)
	queue, jobType, host := strings.Repeat("queue-", 10), strings.Repeat("Type.", 25), strings.Repeat("host", 30)
	call(t, dsn, "agent-jobs", "install").want(t, 0)
	call(t, dsn, "recover").want(t, 0)
	call(t, dsn, "recurring", "set", longName, "--cron", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20 1,2,3,4,5,6,7,8 1,2,3,4,5,6,7,8 * 1-5",
		"--time-zone", "America/Argentina/ComodRivadavia", "--type", jobType, "--queue", queue).want(t, 0)
	runningWorker(t, dsn, oneWorker, fmt.Sprintf(`["%s", "%s2", "%[1]s3"]`, queue, queue))
	runningWorker(t, dsn, otherWorker, `["q"]`)
	exec1(t, dsn, "UPDATE chokaq.Workers SET HostName = N'"+host+"', ProcessId = 2147483647, HandlersWanted = 10000, Handlers = 10000; UPDATE chokaq.Workers SET HeartbeatAt = DATEADD(HOUR, -2, HeartbeatAt) WHERE WorkerId = '"+otherWorker+"'")
	dead(t, dsn, queue, jobType, "Interrupted", failure, strings.Repeat("x", 500))
	call(t, dsn, "dlq", "edit", "1", "--payload", `"`+strings.Repeat("p", 300)+`"`, "--note", strings.Repeat("because ", 30)).want(t, 0)
	for range 3 {
		call(t, dsn, "enqueue", "--type", jobType, "--queue", queue).want(t, 0)
	}
	exec1(t, dsn, `EXEC chokaq.ClaimJobs @WorkerId = '`+oneWorker+`', @ClaimToken = '`+oneWorker+`', @Queues = N'["`+queue+`"]', @MaxJobs = 2`)
	call(t, dsn, "cancel", "3").want(t, 0)
	archived(t, dsn, queue, jobType, 5000, 400, 4_000_000)
	archived(t, dsn, "q", "t", 6000, 10, 1)
	exec1(t, dsn, `INSERT INTO chokaq.WorkerStops (WorkerId, HostName, ProcessId, Version, Queues, Reason, Outcome, DrainingAt, StoppedAt, Running, Interrupted, Abandoned, LeftFetched, Unstored, HandlersMs, TotalMs, GracePeriodMs)
VALUES ('`+oneWorker+`', N'`+host+`', 2147483647, N'1', N'[]', N'`+host+`', 'abandoned', SYSUTCDATETIME(), SYSUTCDATETIME(), 10000, 10000, 10000, 10000, 10000, 86400000, 86400000, 86400000)`)

	var walk func(c *cobra.Command, path []string)
	walk = func(c *cobra.Command, path []string) {
		for _, sub := range c.Commands() {
			walk(sub, append(path[:len(path):len(path)], sub.Name()))
		}
		if !c.Runnable() || c.Hidden || len(path) == 0 || path[0] == "completion" {
			return
		}
		name := strings.Join(path, " ")
		arguments, isList := lists[name]
		if !isList {
			if isOther := strings.Contains(" "+strings.Join(others, " ")+" ", " "+strings.Join(path, "/")+" "); !isOther && !c.HasSubCommands() {
				t.Errorf("is %q a list?", name)
			}
			return
		}
		args := append(path[:len(path):len(path)], arguments...)
		r := call(t, dsn, args...)
		if r.status != 0 && name != "doctor" {
			t.Errorf("%q: status %d: %s", args, r.status, r.stderr)
		}
		if strings.Count(r.stdout, "\n") < 3 {
			t.Errorf("%q has printed next to nothing: %s", args, r.stdout)
		}
		if width, line := widest(r.stdout); width > screenWidth {
			t.Errorf("%q: %d columns: %s", args, width, line)
		}
		narrow := callWith(t, "", []string{"CHOKAQ_DSN=" + dsn, "COLUMNS=50"}, args...)
		if width, line := widest(narrow.stdout); width > 50 && !strings.Contains(line, "CHOKAQ_SQLSERVER_WORKER_SHUTDOWN_GRACE_PERIOD=") { // a setting, to be copied
			t.Errorf("%q: %d columns of 50: %s", args, width, line)
		}
		if j := call(t, dsn, append(args, "--json")...); !strings.HasPrefix(j.stdout, "[") && !strings.HasPrefix(j.stdout, "{") {
			t.Errorf("%q --json: %s", args, j.stdout)
		}
	}
	walk((&app{}).rootCommand(), nil)

	// Nothing is cut from what is told of one job.
	squeezed := func(s string) string { return strings.Join(strings.Fields(s), "") }
	for name, parts := range map[string][]string{
		"dlq": {failure, strings.Repeat("p", 300), `old:{"payload":"{}"}new:{"payload":"\"` + strings.Repeat("p", 300) + `\""}`}, "jobs": {failure, strings.Repeat("because ", 30)},
	} {
		for _, columns := range []string{"COLUMNS=", "COLUMNS=50"} {
			r := callWith(t, "", []string{"CHOKAQ_DSN=" + dsn, columns}, name, "show", "1")
			for _, part := range parts {
				if !strings.Contains(squeezed(r.stdout), squeezed(part)) {
					t.Errorf("%s show, %s: %q is missing in\n%s", name, columns, part, r.stdout)
				}
			}
		}
	}

	decided := call(t, dsn, "dlq", "requeue", "4", "9999", "--yes").want(t, 1, "NotDead")
	if width, line := widest(decided.stdout); width > screenWidth {
		t.Errorf("%d columns: %s", width, line)
	}
}
