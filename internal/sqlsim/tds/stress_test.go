package tds

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chokaq/chokaq/internal/sqlsim/engine"
)

// TestRandomCancellations cancels requests at any moment, from before they are sent to
// after they are answered, and checks that no connection ever gets out of step: every
// answer belongs to its own question.
func TestRandomCancellations(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	b := &scripted{call: func(ctx context.Context, s *scriptedSession, call engine.Call, sink engine.Sink) error {
		for range call.Params[2].Value.Int() % 50 {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			runtime.Gosched()
		}
		return echoParams(ctx, s, call, sink)
	}}
	server, addr := start(t, b, Options{})
	db := open(t, addr, "encrypt=disable")
	db.SetMaxOpenConns(4)
	var answered, canceled atomic.Int64
	var wg sync.WaitGroup
	for worker := range 8 {
		r := rand.New(rand.NewPCG(seed, uint64(worker)))
		wg.Go(func() {
			for i := range 150 {
				question := int64(worker)<<32 | int64(i)
				ctx, cancel := context.WithCancel(t.Context())
				spins := r.IntN(1 << (4 + r.IntN(12)))
				go func() {
					for range spins {
						runtime.Gosched()
					}
					cancel()
				}()
				var answer int64
				err := db.QueryRowContext(ctx, "SELECT @p1", question).Scan(&answer)
				cancel()
				switch {
				case err == nil && answer != question:
					t.Errorf("asked %x, got %x", question, answer)
				case err == nil:
					answered.Add(1)
				case ctx.Err() == nil || err == sql.ErrNoRows:
					t.Errorf("%v", err)
				default:
					canceled.Add(1)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d answered, %d canceled, %+v", answered.Load(), canceled.Load(), server.Counters())
}
