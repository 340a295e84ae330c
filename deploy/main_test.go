// Package deploy has no code: its tests check the manifests, units, alerts and dashboards beside it against the binary that they run.
package deploy

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chokaq/chokaq/driver"
)

// patience bounds every wait for something that must come.
const patience = 2 * time.Minute

// margin is what a stop is given beyond the worker's own bound: 2s for the last traces, and time to end.
const margin = 5 * time.Second

// binary is chokaq-worker, built once.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "chokaq-deploy")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "chokaq-worker")
	build := exec.Command("go", "build", "-o", binary, "./cmd/chokaq-worker")
	build.Dir = ".."
	code := 1
	if text, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building chokaq-worker: %v\n%s", err, text)
	} else {
		code = m.Run()
	}
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// check lets the binary check a worker's environment: unknown and wrong settings, and handlers.
func check(t *testing.T, environ map[string]string) {
	t.Helper()
	c := exec.Command(binary, "run", "--check")
	c.Env = []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range environ {
		c.Env = append(c.Env, name+"="+value)
	}
	if text, err := c.CombinedOutput(); err != nil {
		t.Errorf("chokaq-worker run --check refuses these settings: %v\n%s", err, text)
	}
}

// bound is how long a worker with these settings may take to stop, with the margin.
func bound(t *testing.T, environ map[string]string) time.Duration {
	t.Helper()
	var c driver.WorkerConfig
	fields := reflect.ValueOf(&c).Elem()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("env"), ",")
		d, isDuration := fields.Field(i).Addr().Interface().(*time.Duration)
		text := environ["CHOKAQ_"+name]
		if !isDuration || text == "" {
			continue
		}
		var err error
		if *d, err = time.ParseDuration(text); err != nil {
			t.Fatalf("CHOKAQ_%s: %v", name, err)
		}
	}
	return c.ShutdownBound() + margin
}

// startServer starts a stand-in for SQL Server, and returns the data source name of a worker's login.
func startServer(t *testing.T) string {
	t.Helper()
	c := exec.Command(binary, "dev", "--addr", "127.0.0.1:0", "--json", "--until-stdin-ends")
	var faults bytes.Buffer
	c.Stderr = &faults
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	end, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = end.Close()
		if err := c.Wait(); err != nil {
			t.Errorf("the server: %v\n%s", err, &faults)
		}
	})
	var about struct {
		Logins []struct{ Login, DSN string }
	}
	if err := json.NewDecoder(out).Decode(&about); err != nil {
		t.Fatalf("%v\n%s", err, &faults)
	}
	for _, l := range about.Logins {
		if l.Login == "chokaq_worker_login" {
			return l.DSN
		}
	}
	t.Fatalf("no login of a worker in %v", about.Logins)
	return ""
}

// startWorker runs a worker until the test ends, and returns the address of its admin port when it claims jobs.
func startWorker(t *testing.T, environ map[string]string) (address string) {
	t.Helper()
	c := exec.Command(binary, "run")
	c.Env = []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range environ {
		c.Env = append(c.Env, name+"="+value)
	}
	log, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
	lines := bufio.NewScanner(log)
	var all strings.Builder
	running := false
	for !running && lines.Scan() {
		var line struct{ Event, Address string }
		fmt.Fprintln(&all, lines.Text())
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue
		}
		if line.Event == "admin.serving" {
			address = line.Address
		}
		running = line.Event == "worker.running"
	}
	rest := make(chan struct{})
	go func() {
		defer close(rest)
		for lines.Scan() {
		}
	}()
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		<-rest
		if err := c.Wait(); err != nil && running {
			t.Errorf("the worker: %v", err)
		}
		timer.Stop()
	})
	if !running || address == "" {
		t.Fatalf("the worker does not run, or serves no admin port:\n%s", &all)
	}
	return address
}
