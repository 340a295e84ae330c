//go:build unix

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// get asks an HTTP server once.
func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// What operators see of a worker that runs and then stops, and what they can do to it: through processes, the admin port and the commands.
func TestOperatorsAndALiveWorker(t *testing.T) {
	t.Parallel()
	_, dsn := newQueue(t)
	var traces atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/v1/traces" && r.ContentLength > 0 {
			traces.Add(1)
		}
	}))
	defer collector.Close()
	up, wait := fifo(t)
	call(t, dsn, "enqueue", "--type", "t", "--queue", "mail").want(t, 0)
	worker := spawn(t, nil, []string{"CHOKAQ_DSN=" + dsn, "OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL}, "run", "--queues", "mail", "--handlers", "4", "--heartbeat-interval", "1s",
		"--admin-addr", "127.0.0.1:0", "--sqlserver-worker-shutdown-grace-period", "1h",
		"--handler", `t=sh -c 'echo up >`+up+`; while [ ! -e `+up+`.go ]; do sleep 0.01; done'`)
	wait()
	address := "http://" + regexp.MustCompile(`"address":"([^"]+)"`).FindStringSubmatch(worker.all.String())[1]
	for _, c := range []struct {
		path   string
		status int
		piece  string
	}{{"/livez", 200, "live"}, {"/readyz", 200, `"state":"running"`}, {"/debug/pprof/", 404, ""}, {"/", 404, ""}} {
		if status, body := get(t, address+c.path); status != c.status || !strings.Contains(body, c.piece) {
			t.Errorf("%s: %d %s", c.path, status, body)
		}
	}
	call(t, dsn, "run", "--handler", "t=sh", "--admin-addr", strings.TrimPrefix(address, "http://")).want(t, 2, "CHOKAQ_ADMIN_ADDR (--admin-addr)", "address already in use")

	held := call(t, dsn, "jobs", "running", "--json").want(t, 0).list(t)
	if len(held) != 1 || held[0]["state"] != "Processing" || held[0]["processId"] != float64(worker.Process.Pid) {
		t.Fatalf("%v", held)
	}
	id := held[0]["workerId"].(string)
	call(t, dsn, "jobs", "show", "1").want(t, 0, stateMeanings["Processing"], id)
	call(t, dsn, "workers", "handlers", shortID(id), "7", "--note", "more").want(t, 0)
	worker.await(t, `"event":"worker.handlers_changed","before":4,"handlers":7`)
	call(t, dsn, "workers", "handlers", shortID(id), "default").want(t, 0)
	worker.await(t, `"event":"worker.handlers_changed","before":7,"handlers":4`)

	worker.signal(t, syscall.SIGTERM)
	worker.await(t, "shutdown.grace")
	if status, body := get(t, address+"/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, `"state":"draining"`) {
		t.Errorf("while it drains, /readyz: %d %s", status, body)
	}
	if status, _ := get(t, address+"/livez"); status != http.StatusOK {
		t.Errorf("while it drains, /livez: %d", status)
	}
	if stops := call(t, dsn, "stops", "--outcome", "draining", "--json").list(t); len(stops) != 1 || stops[0]["workerId"] != id {
		t.Errorf("%v", stops)
	}
	if err := syscall.Mkfifo(up+".go", 0o600); err != nil {
		t.Fatal(err)
	}
	worker.end(t).want(t, 0)
	stops := call(t, dsn, "stops", "--json").list(t)
	if len(stops) != 1 || stops[0]["outcome"] != "clean" || stops[0]["running"] != 1.0 || stops[0]["completed"] != 1.0 || stops[0]["reason"] == nil {
		t.Errorf("%v", stops)
	}
	call(t, dsn, "stops", "show", shortID(id)).want(t, 0, "Nothing was left to anybody.")
	call(t, dsn, "jobs", "show", "1").want(t, 0, "Succeeded", "worker "+shortID(id))
	if traces.Load() == 0 {
		t.Error("no traces came by OTLP")
	}
}

// Each role can do what docs/cli.md says that it can, and no more.
func TestRolesOfCommands(t *testing.T) {
	t.Parallel()
	server, dsn := newQueue(t)
	runningWorker(t, dsn, oneWorker, `["mail"]`)
	dead(t, dsn, "mail", "t", "Failed", "no", "no")
	archived(t, dsn, "mail", "t", 5000, 400, 1000)
	call(t, dsn, "recurring", "set", longName, "--cron", "@daily", "--type", "t").want(t, 0)
	exec1(t, dsn, `INSERT INTO chokaq.WorkerStops (WorkerId, HostName, ProcessId, Version, Queues, DrainingAt) VALUES ('`+oneWorker+`', N'h', 1, N'1', N'[]', SYSUTCDATETIME())`)
	for _, role := range []string{"monitor", "operator"} {
		exec1(t, dsn, "CREATE LOGIN "+role+" WITH PASSWORD = N'Work-1234'; CREATE USER "+role+" FOR LOGIN "+role+"; ALTER ROLE chokaq_"+role+" ADD MEMBER "+role)
		as := server.DSNFor("shop", role, "Work-1234")
		for name, arguments := range lists {
			if name != "agent-jobs status" && name != "doctor" {
				call(t, as, append(strings.Fields(name), arguments...)...).want(t, 0)
			}
		}
		for _, args := range [][]string{
			{"dlq", "list", "--after", "1", "--since", "1h"}, {"recurring", "list"}, {"advise"},
		} {
			call(t, as, args...).want(t, 0)
		}
		status := map[string]int{"monitor": 5, "operator": 0}[role]
		for _, args := range [][]string{
			{"dlq", "requeue", "--error", "no", "--limit", "1", "--yes"}, {"dlq", "discard", "--queue", "mail", "--note", "x", "--yes"}, {"workers", "handlers", "6f9619ff", "3"},
			{"queue", "pause", "mail"}, {"recurring", "set", "r", "--cron", "@daily", "--type", "t"}, {"cancel", "1"}, {"settings", "set", "Retention.Archive", "48h"},
		} {
			call(t, as, args...).want(t, status)
		}
	}
	// A producer may not even look, and is told so whatever the command.
	exec1(t, dsn, "CREATE LOGIN producer WITH PASSWORD = N'Work-1234'; CREATE USER producer FOR LOGIN producer; ALTER ROLE chokaq_producer ADD MEMBER producer")
	producer := server.DSNFor("shop", "producer", "Work-1234")
	denied := [][]string{{"dlq", "requeue", "--all", "--yes"}, {"dlq", "discard", "--error", "no", "--note", "x", "--yes"}, {"dlq", "requeue", "1"}, {"dlq", "edit", "1", "--priority", "3"}, {"queue", "pause", "mail"},
		{"queue", "limit", "mail", "3"}, {"queue", "timeouts", "mail", "--fetched", "none", "--zombie", "none"}, {"settings", "set", "Retention.Archive", "48h"}, {"workers", "handlers", "6f9619ff", "3"},
		{"recurring", "set", "r", "--cron", "@daily", "--type", "t"}, {"recurring", "pause", "r"}, {"recurring", "remove", "r", "--yes"}, {"recover"}, {"migrate", "status"}, {"migrate", "up"}, {"migrate", "down", "--yes"}}
	for name, arguments := range lists {
		if name != "recurring next" {
			denied = append(denied, append(strings.Fields(name), arguments...))
		}
	}
	for _, args := range denied {
		r := call(t, producer, args...).want(t, 5)
		if said := r.stdout + r.stderr; !strings.Contains(said, "this login ") || !strings.Contains(said, "member of") && !strings.Contains(said, "db_owner") {
			t.Errorf("%q: %s", args, said)
		}
	}
	call(t, producer, "agent-jobs", "install").want(t, 1, "member of sysadmin")
	for _, args := range [][]string{{"recurring", "pause", "r"}, {"recurring", "resume", "r"}, {"recurring", "remove", "r", "--yes"}} {
		call(t, server.DSNFor("shop", "operator", "Work-1234"), args...).want(t, 0)
	}
}
