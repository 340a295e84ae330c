package chaos

import (
	"os"
	"testing"
)

// roleVariable makes the test binary a worker process.
const roleVariable = "CHOKAQ_CHAOS_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "worker" {
		os.Exit(workerMain())
	}
	os.Exit(m.Run())
}
