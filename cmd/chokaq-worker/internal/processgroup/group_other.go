//go:build !unix

package program

import (
	"os"
	"os/exec"
)

// There are no process groups here: the program alone is stopped, at once.
func ownGroup(*exec.Cmd) {}

func terminateGroup(leader int) { killGroup(leader) }

func killGroup(leader int) {
	if p, err := os.FindProcess(leader); err == nil {
		_ = p.Kill()
	}
}

func groupEmpty(int) bool { return true }
