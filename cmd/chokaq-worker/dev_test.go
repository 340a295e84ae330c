//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

func TestDev(t *testing.T) {
	t.Parallel()
	dev := spawn(t, nil, nil, "dev", "--addr", "127.0.0.1:0", "--password", "it's-Secret-1", "--tls")
	dev.await(t, "Ctrl-C ends it.")
	names := regexp.MustCompile(`CHOKAQ_DSN='([^']+)'`).FindAllStringSubmatch(dev.all.String(), -1)
	if len(names) != 5 {
		t.Fatalf("%d data source names in:\n%s", len(names), dev.all)
	}
	for i, c := range []struct {
		args   []string
		status int
	}{
		{[]string{"agent-jobs", "status"}, 0},
		{[]string{"enqueue", "--type", "t"}, 0},
		{[]string{"enqueue", "--type", "t"}, 0},
		{[]string{"queue", "pause", "default"}, 0},
		{[]string{"queue", "resume", "default"}, 5},
	} {
		call(t, names[i][1], c.args...).want(t, c.status)
	}
	dev.signal(t, syscall.SIGTERM)
	dev.end(t).want(t, 0, "IN MEMORY", "FOR DEVELOPMENT ONLY")
}

func TestDevAddressInUse(t *testing.T) {
	t.Parallel()
	server, _ := newServer(t)
	callWith(t, "", nil, "dev", "--addr", server.Addr()).want(t, 2, "address already in use", "--addr")
}

// files makes a folder with some files of names that are not easy.
func files(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"a", "it's", `"b"`, "new\nline", "ünï", "sp ace", "%s", "$HOME", "-rf", "e", "f", "g"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestDemo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes 20 seconds")
	}
	temp := t.TempDir()
	demo := spawn(t, nil, []string{"TMPDIR=" + temp, "CHOKAQ_NONSENSE=1"}, "demo", "--dir", files(t))
	r := demo.end(t).want(t, 0, "Worker A has ended with status 0", "killed with SIGKILL", "SQL Server Agent has run chokaq.RescueZombieJobs", "The books balance")
	for _, line := range []string{`files +12 `, `done +12 `, `lost +0 `, `ran twice, undecided +0 `} {
		if !regexp.MustCompile(line).MatchString(r.stdout) {
			t.Errorf("%q is missing in:\n%s", line, r.stdout)
		}
	}
	nothingLeft(t, temp, r.stdout)
}

func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	for name, signals := range map[string][]syscall.Signal{"once": {syscall.SIGINT}, "twice": {syscall.SIGTERM, syscall.SIGTERM}} {
		t.Run(name, func(t *testing.T) {
			temp := t.TempDir()
			demo := spawn(t, nil, []string{"TMPDIR=" + temp}, "demo", "--dir", files(t))
			demo.await(t, "Workers A")
			for _, s := range signals {
				_ = demo.Process.Signal(s) // it may have ended after the first
			}
			r := demo.end(t).want(t, 130)
			nothingLeft(t, temp, r.stdout)
		})
	}
}

func TestDemoWithoutFiles(t *testing.T) {
	callWith(t, "", nil, "demo", "--dir", t.TempDir()).want(t, 2, "there are no files to work on")
}

// nothingLeft checks that a demo has removed its files, and that its processes have ended.
func nothingLeft(t *testing.T, temp, output string) {
	t.Helper()
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("left in the folder for temporary files: %v, %v", left, err)
	}
	for _, match := range regexp.MustCompile(`process\s+(\d+)| \(\d+\)`).FindAllStringSubmatch(output, -1) {
		if match[1] == "" {
			continue
		}
		awaitThat(t, func() bool {
			stat, err := os.ReadFile("/proc/" + match[1] + "/stat")
			return err != nil || strings.Contains(string(stat), ") Z ")
		}, func() string { return "process " + match[1] + " still runs" })
	}
}

// SQL Server Agent of dev: not there as in Express, or there and stopped.
func TestDevAgent(t *testing.T) {
	t.Parallel()
	callWith(t, "", nil, "dev", "--agent", "gone").want(t, 2, "running, stopped or none")
	sa := func(dev *spawned) string {
		dev.await(t, "Ctrl-C ends it.")
		return regexp.MustCompile(`CHOKAQ_DSN='([^']+)'`).FindStringSubmatch(dev.all.String())[1]
	}
	for _, flag := range []string{"--agent=none", "--without-agent"} {
		dev := spawn(t, nil, nil, "dev", "--addr", "127.0.0.1:0", flag)
		dsn := sa(dev)
		call(t, dsn, "agent-jobs", "install").want(t, 1, "no SQL Server Agent", "CHOKAQ_RECOVERY_ENABLED=true")
		r := call(t, dsn, "doctor", "--json")
		if got := diagnosis(t, r); got["agent"] != "note" || !strings.Contains(r.stdout, "Express Edition") || !strings.Contains(r.stdout, "this edition has no SQL Server Agent") {
			t.Errorf("%s: %s", flag, r.stdout)
		}
		dev.signal(t, syscall.SIGTERM)
		dev.end(t).want(t, 0, "Express edition")
	}
	dev := spawn(t, nil, nil, "dev", "--addr", "127.0.0.1:0", "--agent", "stopped")
	dsn := sa(dev)
	call(t, dsn, "agent-jobs", "status").want(t, 0, "every 15")
	r := call(t, dsn, "doctor", "--json")
	if got := diagnosis(t, r); got["agent"] == "note" || strings.Contains(r.stdout, "Express") {
		t.Errorf("stopped: %s", r.stdout)
	}
	dev.signal(t, syscall.SIGTERM)
	dev.end(t).want(t, 0, "Agent is stopped")
}
