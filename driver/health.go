package driver

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/chokaq/chokaq/internal/clock"
)

// health is what the worker knows of the database: it logs one line for each kind of error while it is away, and one when it is back.
type health struct {
	log   *zap.Logger
	clock clock.Clock

	mu       sync.Mutex
	since    time.Duration  // monotonic; when it went away
	failures int            // since then; 0: it is there
	numbers  map[int32]bool // of its errors since then, each logged once
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
			h.numbers = make(map[int32]bool)
		}
		if !h.numbers[number] {
			h.log.Warn("the database does not answer as it should; every call is repeated until it does", event("database.away"), zap.Error(err), zap.Bool("transient", IsTransient(err)))
		}
		h.numbers[number] = true
		h.failures++
	}
}

// up reports whether the last call succeeded.
func (h *health) up() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failures == 0
}
