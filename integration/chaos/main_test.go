package chaos

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// roleVariable makes the test binary a worker process.
const roleVariable = "CHOKAQ_CHAOS_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "worker" {
		os.Exit(workerMain())
	}
	goleak.VerifyTestMain(m)
}
