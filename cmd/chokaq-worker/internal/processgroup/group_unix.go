//go:build unix

package program

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the program the leader of a process group, so that what it starts can be stopped with it, and so that a
// Ctrl-C on the worker's terminal reaches the worker alone.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminateGroup(leader int) { _ = syscall.Kill(-leader, syscall.SIGTERM) }
func killGroup(leader int)      { _ = syscall.Kill(-leader, syscall.SIGKILL) }

// groupEmpty reports whether no process is left in the group.
func groupEmpty(leader int) bool { return syscall.Kill(-leader, 0) == syscall.ESRCH }
