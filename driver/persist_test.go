package driver

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/chokaq/chokaq/internal/clock"
)

// sleeper notes how long it is asked to sleep, does not, and ends the context after so many times.
type sleeper struct {
	clock.Clock
	slept []time.Duration
	most  int
	end   context.CancelFunc
}

func (s *sleeper) Sleep(ctx context.Context, d time.Duration) error {
	if s.slept = append(s.slept, d); len(s.slept) == s.most {
		s.end()
	}
	return ctx.Err()
}

// noServer is a connector that never connects.
type noServer struct{}

func (noServer) Connect(context.Context) (sqldriver.Conn, error) {
	return nil, &net.OpError{Op: "dial", Err: net.ErrClosed}
}
func (noServer) Driver() sqldriver.Driver { return nil }

// Workers that lose their database in the same moment must not come back in the same moment: what lies between two attempts grows, to a bound, and
// differs from worker to worker.
func TestWaitsBetweenAttemptsGrowAndDiffer(t *testing.T) {
	for name, c := range map[string]struct {
		most time.Duration
		try  func(ctx context.Context, w *Worker) error
	}{
		"at the start": {22500 * time.Millisecond, func(ctx context.Context, w *Worker) error { return w.prepare(ctx) }},
		"later": {15 * time.Second, func(ctx context.Context, w *Worker) error {
			_, err := persist(ctx, w, func(ctx context.Context) (struct{}, error) { return struct{}{}, net.ErrClosed })
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			seen := make(map[string]bool)
			for range 10 {
				w, manual, _ := newTestWorker(t, WorkerConfig{})
				w.procedures.db = sql.OpenDB(noServer{})
				ctx, cancel := context.WithCancel(t.Context())
				s := &sleeper{Clock: manual, most: 30, end: cancel}
				w.clock, w.health.clock, w.procedures.clock = s, s, s
				if err := c.try(ctx, w); err == nil {
					t.Fatal("there is no database, and no error")
				}
				w.procedures.db.Close()
				if first := s.slept[0]; first > time.Second {
					t.Errorf("the first wait is %v", first)
				}
				for _, d := range s.slept {
					if d <= 0 || d > c.most {
						t.Errorf("a wait of %v", d)
					}
				}
				if last := s.slept[len(s.slept)-1]; last < 5*time.Second {
					t.Errorf("after %d attempts the wait is %v", len(s.slept), last)
				}
				seen[fmt.Sprint(s.slept)] = true
			}
			if len(seen) != 10 {
				t.Errorf("%d different sequences of waits in 10 outages", len(seen))
			}
		})
	}
}

// A call that ends by its timeout says so once, whether the driver of the database noticed or not.
func TestATimeoutIsSaidOnce(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	for name, call := range map[string]func(context.Context) (int, error){
		"noticed":     func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() },
		"not noticed": func(context.Context) (int, error) { <-release; return 0, nil },
	} {
		manual := clock.NewManual(time.Now())
		done := make(chan error, 1)
		go func() {
			_, err := attempt(t.Context(), manual, time.Second, func(ctx context.Context) (int, error) { return bounded(ctx, manual, call) })
			done <- err
		}()
		var err error
		for err == nil {
			select {
			case err = <-done:
			default:
				manual.Advance(time.Second)
			}
		}
		if !errors.Is(err, errCallTimeout) || strings.Count(err.Error(), errCallTimeout.Error()) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
