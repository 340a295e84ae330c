package chokaqtest

import (
	"testing"

	"github.com/chokaq/chokaq/driver"
)

// For is the same queue, reporting to another test.
func (q *Queue) For(t testing.TB) *Queue {
	return &Queue{t: t, server: q.server, client: q.client, workers: make(map[*driver.Worker]*started)}
}
