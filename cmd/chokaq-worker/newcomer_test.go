package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestAdminAddressIsChecked(t *testing.T) {
	for address, status := range map[string]int{"foo": 2, "127.0.0.1:18556x": 2, ":70000": 2, ":-1": 2, ":http": 2, ":": 2, ":8080": 0, "[::1]:9": 0, "localhost:0": 0} {
		says := ""
		if status == 2 {
			says = fmt.Sprintf("CHOKAQ_ADMIN_ADDR (--admin-addr): %q is not accepted; accepted: HOST:PORT", address)
		}
		callWith(t, "", []string{"CHOKAQ_ADMIN_ADDR=" + address}, "run", "--check", "--handler", "t=sh").want(t, status, says)
	}
}

// With --json, all of standard error is JSON lines, also what a decision is about.
func TestDecisionsByScripts(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	for range 22 {
		call(t, dsn, "enqueue", "--type", "t").want(t, 0)
	}
	for i := 1; i <= 22; i++ {
		call(t, dsn, "cancel", fmt.Sprint(i)).want(t, 0)
	}
	r := call(t, dsn, "dlq", "requeue", "--all", "--json").want(t, 2, "add --yes", "command.preview", `"found":22`)
	for line := range strings.Lines(r.stderr) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
	call(t, dsn, "dlq", "requeue", "1", "2").want(t, 2, "add --yes")
	call(t, dsn, "dlq", "requeue", "1", "2", "--yes").want(t, 0, "Requeued: 2 of 2")
	call(t, dsn, "dlq", "requeue", "--all").want(t, 2, "add --yes")
	call(t, dsn, "dlq", "discard", "--help").want(t, 0, "--yes does not ask")
}

// Every right that is missing ends with status 5 and says which.
func TestRightsThatAreMissing(t *testing.T) {
	t.Parallel()
	server, dsn := newQueue(t)
	as := func(role string) string {
		exec1(t, dsn, fmt.Sprintf("CREATE LOGIN %[1]s_login WITH PASSWORD = N'Work-1234'; CREATE USER %[1]s_login FOR LOGIN %[1]s_login; ALTER ROLE %[1]s ADD MEMBER %[1]s_login", role))
		return server.DSNFor("shop", role+"_login", "Work-1234")
	}
	for _, role := range []string{"chokaq_producer", "chokaq_worker", "chokaq_operator", "chokaq_monitor"} {
		dsn := as(role)
		up := call(t, dsn, "migrate", "up").want(t, 5, "needs db_owner")
		if strings.Contains(up.stderr, "CREATE TABLE [chokaq]") {
			t.Errorf("%s is shown T-SQL: %s", role, up.stderr)
		}
		for _, args := range [][]string{{"migrate", "status"}, {"migrate", "down", "--yes"}} {
			call(t, dsn, args...).want(t, 5, "needs db_owner")
		}
		enqueue := 0
		if role == "chokaq_monitor" {
			enqueue = 5
		}
		call(t, dsn, "enqueue", "--type", "t").want(t, enqueue)
		if role == "chokaq_worker" {
			continue
		}
		r := call(t, dsn, "run", "--handler", "t=sh", "--log-format", "console").want(t, 5, "make its user a member of chokaq_worker")
		if strings.Contains(r.stderr, "show as gone") {
			t.Errorf("%s: a warning about a worker that was never there: %s", role, r.stderr)
		}
	}
}

func TestWhatIsSaidOfMistakes(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	call(t, dsn, "settings", "set", "recovery.fetchedjobtimeout", "5m").want(t, 2, "did you mean Recovery.FetchedJobTimeout? Names are exact", "the settings are", "Retention.Archive")
	call(t, dsn, "queue", "limit", "nosuch", "0").want(t, 0, `no job, worker or setting knows queue "nosuch"; it is limited from now on`)
	if again := call(t, dsn, "queue", "limit", "nosuch", "1").want(t, 0); strings.Contains(again.stderr, "warning") {
		t.Errorf("it is known now: %s", again.stderr)
	}
	call(t, dsn, "queue", "timeouts", "other", "--fetched", "none", "--zombie", "10m").want(t, 0, `knows queue "other"`)
	call(t, dsn, "dlq", "list", "--limit", "x").want(t, 2, `--limit: "x" is not accepted; accepted: a whole number`)
	call(t, dsn, "dlq", "requeue", "1", "--rate", "x").want(t, 2, `--rate: "x" is not accepted; accepted: a number`)
	call(t, dsn, "dlq", "requeue", "1", "--delay", "x").want(t, 2, `--delay: "x" is not accepted; accepted: a Go duration`)
	callWith(t, "", nil, "run", "--check", "--handler", "t=sh", "--queues", ",,a").want(t, 2, "CHOKAQ_QUEUES (--queues): name 1 of 3 is empty")
	if r := callWith(t, "", nil, "recurring", "next", "--cron", "@daily"); strings.Count(r.stdout, "UTC") != 1 {
		t.Errorf("UTC twice: %s", r.stdout)
	}
	callWith(t, "", nil, "recurring", "next", "--cron", "@daily", "--time-zone", "Europe/Berlin").want(t, 0, "UTC", "Europe/Berlin")
	call(t, dsn, "workers", "handlers", "6f9619ff", "3").want(t, 1, `no worker's id begins with "6f9619ff"`)
	runningWorker(t, dsn, oneWorker, `["mail"]`)
	exec1(t, dsn, "UPDATE chokaq.Workers SET State = 'stopped'")
	call(t, dsn, "workers", "handlers", "6f9619ff", "3").want(t, 1, "there is no worker "+oneWorker+", or it has stopped")
}

// Workers that run keep the heartbeat interval that they derived from a longer timeout.
func TestLowerTimeoutsWarnOfRunningWorkers(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	const warning = "running workers keep their heartbeat interval"
	set := func(name, value string, warns bool) {
		t.Helper()
		if r := call(t, dsn, "settings", "set", name, value).want(t, 0); strings.Contains(r.stderr, warning) != warns {
			t.Errorf("%s %s: %s", name, value, r.stderr)
		}
	}
	set("Recovery.ProcessingZombieTimeout", "5m", false) // nobody runs
	runningWorker(t, dsn, oneWorker, `["mail"]`)
	set("Recovery.ProcessingZombieTimeout", "20m", false)
	set("Recovery.ProcessingZombieTimeout", "60", true)
	set("Recovery.FetchedJobTimeout", "1h", false)
	set("Recovery.FetchedJobTimeout", "default", true)
	set("Retention.DeadJobs", "48h", false)
	r := call(t, dsn, "settings", "set", "Recovery.FetchedJobTimeout", "45", "--json").want(t, 0, "command.warning", "every 15s", "lower CHOKAQ_HEARTBEAT_INTERVAL")
	if !json.Valid([]byte(r.stderr)) {
		t.Errorf("no JSON: %s", r.stderr)
	}

	set("Recovery.FetchedJobTimeout", "10m", false)
	set("Recovery.ProcessingZombieTimeout", "10m", false)
	timeouts := func(queue, fetched, zombie string, warns string) {
		t.Helper()
		r := call(t, dsn, "queue", "timeouts", queue, "--fetched", fetched, "--zombie", zombie).want(t, 0, warns)
		if strings.Contains(r.stderr, warning) != (warns != "") {
			t.Errorf("%s %s %s: %s", queue, fetched, zombie, r.stderr)
		}
	}
	timeouts("mail", "none", "none", "")
	timeouts("mail", "20m", "10m", "")
	timeouts("mail", "3m", "5m", `every 1m0s, a third of the shorter timeout of queue "mail" now`)
	timeouts("mail", "none", "90s", "every 30s")
	timeouts("nobody-serves-it", "none", "1m", "")
}
