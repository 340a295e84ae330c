package chokaqtest_test

import (
	"fmt"
	"testing"
)

// failing keeps what a test would have failed with.
type failing struct {
	testing.TB
	text string
}

func (f *failing) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	panic(f)
}
