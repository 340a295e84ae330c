//go:build !unix

// Package processgroup starts programs in process groups of their own and signals these whole. There are none here: the program alone is
// stopped, at once.
package processgroup

import (
	"os"
	"os/exec"
)

// Lead does nothing.
func Lead(*exec.Cmd) {}

// Terminate kills.
func Terminate(leader int) { Kill(leader) }

// Kill ends the leader.
func Kill(leader int) {
	if p, err := os.FindProcess(leader); err == nil {
		_ = p.Kill()
	}
}

// Empty says that nothing is known to be left.
func Empty(int) bool { return true }
