package integration

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain ends the server of the tests, and fails when a worker, a client or a server has left a goroutine behind.
func TestMain(m *testing.M) {
	if os.Getenv(serverVariable) != "" {
		serve()
		return
	}
	code := m.Run()
	if simStarted.Load() {
		sim, err := theSim()
		if err == nil {
			err = sim.Close()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "the server of the tests:", err)
			code = 1
		}
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
