package chaos

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// process is a worker process.
type process struct {
	id      string // in chokaq.Workers
	command *exec.Cmd
	proxy   *proxy
	log     string
	grace   time.Duration
	ended   chan struct{}
	status  int // once ended; -1 after a signal
	killed  bool
	frozen  bool
	input   io.Writer
	steps   int       // of its clock; once ended
	asked   time.Time // when SIGTERM was sent
	stopped time.Time // when it said that Run has returned; once ended
}

// startWorker starts a worker process and waits until it has told its id.
func (r *round) startWorker() *process {
	r.t.Helper()
	p, dsn := newProxy(r.t, r.dsn)
	log, err := os.Create(filepath.Join(r.dir, "worker-"+time.Now().Format("150405.000000")+".log"))
	if err != nil {
		r.t.Fatal(err)
	}
	grace := time.Duration(50+r.rng.IntN(300)) * time.Millisecond
	settings, err := json.Marshal(workerSettings{DSN: dsn + "&app+name=" + workerApp, Ledger: r.ledger, Grace: grace, SafeToRetry: r.safeToRetry})
	if err != nil {
		r.t.Fatal(err)
	}
	w := &process{command: exec.Command(os.Args[0]), proxy: p, log: log.Name(), grace: grace, ended: make(chan struct{})}
	w.command.Env = append(os.Environ(), "TMPDIR="+r.temporary, roleVariable+"=worker", settingsVariable+"="+string(settings))
	w.command.Stderr = log
	if w.input, err = w.command.StdinPipe(); err != nil {
		r.t.Fatal(err)
	}
	out, err := w.command.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := w.command.Start(); err != nil {
		r.t.Fatal(err)
	}
	reader := bufio.NewReader(out)
	line, err := reader.ReadString('\n')
	if err != nil {
		r.t.Fatalf("worker process: %v (log %s)", err, w.log)
	}
	w.id = strings.TrimSpace(line)
	go func() {
		for { // before Wait, which closes the pipe
			line, err := reader.ReadString('\n')
			if err != nil {
				break
			}
			switch word, _, _ := strings.Cut(strings.TrimSpace(line), " "); word {
			case stoppedLine:
				w.stopped = time.Now()
			case "stepped":
				w.steps++
			}
		}
		err := w.command.Wait()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			w.status = exit.ExitCode()
		} else if err != nil {
			w.status = exitError
		}
		log.Close()
		close(w.ended)
	}()
	r.workers = append(r.workers, w)
	return w
}

func (w *process) signal(s syscall.Signal) { _ = w.command.Process.Signal(s) }

func (w *process) running() bool {
	select {
	case <-w.ended:
		return false
	default:
		return true
	}
}

// terminate asks for a graceful stop.
func (w *process) terminate() {
	if w.asked.IsZero() {
		w.asked = time.Now()
		w.signal(syscall.SIGTERM)
	}
}

// stepClock makes the wall clock that the process sees jump.
func (w *process) stepClock(d time.Duration) { _, _ = fmt.Fprintln(w.input, d) }

// workerApp is the application name of worker processes' connections.
const workerApp = "chaos-worker"

// bound is the longest that a stop may take: the driver's own, and what a busy machine may add.
func (w *process) bound() time.Duration {
	return max(w.grace, 300*time.Millisecond) + 100*time.Millisecond + 300*time.Millisecond + 5*time.Second
}

// logged counts the lines of an event in a worker's log.
func (r *round) logged(w *process, event string) int {
	text, err := os.ReadFile(w.log)
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Count(string(text), `"event":"`+event+`"`)
}
