package demo

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/processgroup"
)

// child is a process that the demo has started from its own program.
type child struct {
	name   string
	cmd    *exec.Cmd
	hold   io.Closer // its standard input: it ends when this process does
	stdout io.Reader
	ended  chan struct{}
	status int

	mu   sync.Mutex
	tail []string // the last lines of its log
	log  func(line logLine)
}

// logLine is what the demo reads in a worker's log.
type logLine struct {
	Event      string         `json:"event"`
	Message    string         `json:"message"`
	After      string         `json:"after"`
	Prefetched int            `json:"prefetched"`
	Running    any            `json:"running"` // a count, or ids
	Released   int            `json:"released"`
	Outcomes   int            `json:"outcomes"`
	Stats      map[string]int `json:"stats"`
}

// startChild starts this program with other arguments. log is told the lines of its log.
func startChild(name string, env, args []string, log func(logLine)) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{name: name, cmd: exec.Command(self, args...), ended: make(chan struct{}), log: log}
	c.cmd.Env = env
	processgroup.Lead(c.cmd)
	if c.hold, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if c.stdout, err = c.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	stderr, err := c.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	read := make(chan struct{})
	go func() { c.readLog(stderr); close(read) }()
	go func() {
		<-read // Wait closes the pipe
		_ = c.cmd.Wait()
		c.status = c.cmd.ProcessState.ExitCode()
		close(c.ended)
	}()
	return c, nil
}

func (c *child) readLog(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		c.mu.Lock()
		c.tail = append(c.tail, lines.Text())
		if len(c.tail) > 10 {
			c.tail = c.tail[1:]
		}
		c.mu.Unlock()
		var line logLine
		if json.Unmarshal(lines.Bytes(), &line) == nil && c.log != nil {
			c.log(line)
		}
	}
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// stop asks the child to stop gracefully.
func (c *child) stop() error { return c.cmd.Process.Signal(syscall.SIGTERM) }

// kill ends it at once.
func (c *child) kill() { processgroup.Kill(c.pid()) }

// over reports whether it has ended.
func (c *child) over() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// lastWords are the last lines of its log, for an error.
func (c *child) lastWords() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.tail, "\n")
}
