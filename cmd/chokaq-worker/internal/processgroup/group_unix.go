//go:build unix

// Package processgroup starts programs in process groups of their own and signals these whole.
package processgroup

import (
	"os/exec"
	"syscall"
)

// Lead makes the program the leader of a process group, so that what it starts can be stopped with it, and so that a
// Ctrl-C on the terminal reaches this process alone.
func Lead(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Terminate sends SIGTERM to a leader's group.
func Terminate(leader int) { _ = syscall.Kill(-leader, syscall.SIGTERM) }

// Kill sends SIGKILL to a leader's group.
func Kill(leader int) { _ = syscall.Kill(-leader, syscall.SIGKILL) }

// Empty reports whether no process is left in a leader's group.
func Empty(leader int) bool { return syscall.Kill(-leader, 0) == syscall.ESRCH }
