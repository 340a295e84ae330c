package driver

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	mssql "github.com/microsoft/go-mssqldb"

	"github.com/chokaq/chokaq/internal/clock"
)

// A row that somebody has locked for long keeps back its own heartbeat and no other, and a database that is away is found out by few calls.
func TestABlockedHeartbeatKeepsBackNoOther(t *testing.T) {
	for _, c := range []struct {
		jobs  int
		away  error // of every call; errCallTimeout: none is answered in time
		block map[int64]bool
		most  int // calls
	}{
		{jobs: 0, most: 1},
		{jobs: 40, most: 1},
		{jobs: 2500, most: 3},
		{jobs: 1, block: map[int64]bool{1: true}, most: 2},
		{jobs: 2, block: map[int64]bool{1: true}, most: 4},
		{jobs: 2, block: map[int64]bool{2: true}, most: 4},
		{jobs: 2, block: map[int64]bool{1: true, 2: true}, most: 4},
		{jobs: 40, block: map[int64]bool{1: true}, most: 15},
		{jobs: 40, block: map[int64]bool{17: true}, most: 15},
		{jobs: 40, block: map[int64]bool{17: true, 18: true, 40: true}, most: 40},
		{jobs: 2500, block: map[int64]bool{5: true, 1001: true}, most: 60},
		{jobs: 40, away: errCallTimeout, most: 2},
		{jobs: 0, away: errCallTimeout, most: 1},
		{jobs: 2500, away: errCallTimeout, most: 2},
		{jobs: 2500, away: mssql.Error{Number: 40613}, most: 1},
	} {
		w, _, logs := newTestWorker(t, WorkerConfig{})
		w.clock, w.config.CommandTimeout = clock.Real(), 20*time.Millisecond
		for i := range c.jobs {
			w.owned.add(JobInfo{ID: int64(i + 1)}, nil, uuid.New(), 0)
		}
		calls, renewed := 0, make(map[int64]bool)
		err := w.heartbeater.beat(t.Context(), func(ctx context.Context, claims []claim) error {
			calls++
			waits := errors.Is(c.away, errCallTimeout)
			for _, one := range claims {
				waits = waits || c.block[one.JobID]
			}
			if waits {
				<-ctx.Done()
				return ctx.Err()
			}
			if c.away != nil {
				return c.away
			}
			for _, one := range claims {
				renewed[one.JobID] = true
			}
			return nil
		})
		if (err == nil) != (c.away == nil) || sqlNumber(err) != sqlNumber(c.away) {
			t.Errorf("%+v: %v", c, err)
		}
		if calls > c.most {
			t.Errorf("%+v: %d calls", c, calls)
		}
		if want := c.jobs - len(c.block); c.away == nil && len(renewed) != want {
			t.Errorf("%+v: %d are renewed, want %d", c, len(renewed), want)
		}
		if got := logged(logs, "job.heartbeat_blocked"); got != 0 != (len(c.block) > 0 && c.away == nil) {
			t.Errorf("%+v: %d lines about blocked heartbeats", c, got)
		}
	}
}
