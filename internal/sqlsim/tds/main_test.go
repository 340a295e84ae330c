package tds

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when a goroutine of a connection or a server outlives the tests.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
