//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// step is a command of the walkthrough, and what it prints.
type step struct {
	command, want string
}

// readSteps returns the commands of a document's console blocks, in order.
func readSteps(t *testing.T, document string) []step {
	t.Helper()
	var steps []step
	inside := false
	for line := range strings.Lines(readDoc(t, document)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "```console":
			inside = true
		case strings.HasPrefix(line, "```"):
			inside = false
		case !inside:
		case strings.HasPrefix(line, "$ "):
			steps = append(steps, step{command: line[2:]})
		case strings.HasPrefix(line, "> "):
			steps[len(steps)-1].command += "\n" + line[2:]
		default:
			steps[len(steps)-1].want += line + "\n"
		}
	}
	return steps
}

// shell is a bash that the commands run in, one after the other.
type shell struct {
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

const endOfStep = "--- end of step, status "

func newShell(t *testing.T, dir string, path string) *shell {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not on this machine")
	}
	c := exec.Command(bash, "--norc", "--noprofile")
	c.Dir = dir
	c.Env = []string{"PATH=" + path + ":" + os.Getenv("PATH"), "HOME=" + dir, "NO_COLOR=1", "LC_ALL=C.UTF-8", "GOCOVERDIR=" + dir,
		"GORACE=atexit_sleep_ms=0"} // a command of the race detector would sleep for a second at its end
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = write, write
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // with all that it has started
		_ = c.Wait()
		_ = read.Close()
	})
	return &shell{in, bufio.NewReader(read), c}
}

// run runs a command and returns what it has printed.
func (s *shell) run(t *testing.T, command string) string {
	t.Helper()
	timer := time.AfterFunc(patience, func() { _ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) })
	defer timer.Stop()
	if _, err := fmt.Fprintf(s.in, "%s\nprintf '\\n%s%%s\\n' $?\n", command, endOfStep); err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	var printed strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if strings.HasPrefix(line, endOfStep) {
			return printed.String()
		}
		printed.WriteString(line)
		if err != nil {
			t.Fatalf("%s: it did not end, and has printed:\n%s", command, &printed)
		}
	}
}

// differs are the forms of what differs from run to run.
var differs = []struct {
	form *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "<uuid>"},
	{regexp.MustCompile(`\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?Z?`), "<time>"},
	{regexp.MustCompile(`\b\d+(\.\d+)? ?(h|m|s|ms|µs)( \d+(m|s))?\b`), "<duration>"},
	{regexp.MustCompile(`\b[0-9a-f]{8}\b`), "<worker>"},
}

// matches compares what was printed with what the page says.
func matches(t *testing.T, printed, want string) bool {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	printed = regexp.MustCompile(`\b`+regexp.QuoteMeta(host)+`\s+\d+`).ReplaceAllString(printed, "<host> <pid>")
	for _, d := range differs {
		printed = d.form.ReplaceAllString(printed, d.name)
	}
	printed = regexp.MustCompile(`─+`).ReplaceAllString(printed, "─")
	want = regexp.MustCompile(`─+`).ReplaceAllString(want, "─")
	form := `^`
	for _, word := range strings.Fields(want) {
		if word == "..." {
			form += `(.*\s)?`
			continue
		}
		form += strings.ReplaceAll(regexp.QuoteMeta(word), `\.\.\.`, `.*?`) + `\s`
	}
	have := strings.Join(strings.Fields(printed), " ")
	if have != "" {
		have += " "
	}
	return regexp.MustCompile(form + `$`).MatchString(have)
}

// freePorts puts free ports in the place of those that the page names: some below those that Linux gives to outgoing connections, of which one of another
// test would have taken them before the page gets to them.
func freePorts(t *testing.T, ports ...string) (there, back *strings.Replacer) {
	t.Helper()
	var forth, home []string
	for _, port := range ports {
		for tries := 0; ; tries++ {
			free := strconv.Itoa(20_000 + rand.IntN(12_000))
			if l, err := net.Listen("tcp", "127.0.0.1:"+free); err == nil && !slices.Contains(forth, free) {
				_ = l.Close()
				forth, home = append(forth, port, free), append(home, free, port)
				break
			} else if tries == 100 {
				t.Fatalf("no port is free: %v", err)
			}
		}
	}
	return strings.NewReplacer(forth...), strings.NewReplacer(home...)
}

// A new user types what docs/walkthrough.md says, and sees what it says.
func TestWalkthrough(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	install := func(name, mode, first string) {
		script := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' %s \"$@\"\n", mode, self, first)
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	install("chokaq-worker", runAsWorker, "")
	for _, name := range []string{"tsql", "bsqldb", "curl"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Logf("%s is not on this machine: the test has its own", name)
			install(name, runAsTool, name)
		}
	}
	there, back := freePorts(t, "14330", "8081", "8082")
	s := newShell(t, t.TempDir(), bin)
	steps := readSteps(t, "walkthrough.md")
	if len(steps) < 30 {
		t.Fatalf("%d commands", len(steps))
	}
	for _, step := range steps {
		printed := back.Replace(s.run(t, there.Replace(step.command)))
		if !matches(t, printed, step.want) {
			t.Fatalf("$ %s\nprinted:\n%s\nand the page says:\n%s", step.command, printed, step.want)
		}
	}
}
