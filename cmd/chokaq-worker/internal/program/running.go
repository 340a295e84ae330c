package program

import (
	"errors"
	"os/exec"
	"sync"

	"github.com/chokaq/chokaq/cmd/chokaq-worker/internal/processgroup"
)

// Running knows the programs that run now, so that a worker which exits at once takes them with it.
type Running struct {
	mu      sync.Mutex
	leaders map[int]struct{}
	killed  bool
}

// start starts a program so that Kill cannot miss it; after Kill none is started.
func (r *Running) start(cmd *exec.Cmd) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.killed {
		return errors.New("the worker is exiting")
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if r.leaders == nil {
		r.leaders = make(map[int]struct{})
	}
	r.leaders[cmd.Process.Pid] = struct{}{}
	return nil
}

func (r *Running) remove(leader int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.leaders, leader)
}

// Kill sends SIGKILL to every program and what it has started.
func (r *Running) Kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.killed = true
	for leader := range r.leaders {
		processgroup.Kill(leader)
	}
}
