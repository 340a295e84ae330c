package driver

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/chokaq/chokaq/internal/clock"
)

// health is what the worker knows of the database: it logs one line when it goes away, one when the error changes, and one
// when it is back.
type health struct {
	log   *zap.Logger
	clock clock.Clock

	mu       sync.Mutex
	since    time.Duration // monotonic; when it went away
	failures int           // since then; 0: it is there
	number   int32         // of the last error
}

func (h *health) record(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil && h.failures > 0:
		h.log.Info("the database is back", event("database.back"), zap.Duration("away", h.clock.Monotonic()-h.since), zap.Int("failed_calls", h.failures))
		h.failures = 0
	case err != nil:
		number := sqlNumber(err)
		if h.failures == 0 {
			h.since = h.clock.Monotonic()
		}
		if h.failures == 0 || number != h.number {
			h.log.Warn("the database does not answer as it should; every call is repeated until it does", event("database.away"), zap.Error(err), zap.Bool("transient", IsTransient(err)))
		}
		h.number = number
		h.failures++
	}
}

// up reports whether the last call succeeded.
func (h *health) up() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failures == 0
}
