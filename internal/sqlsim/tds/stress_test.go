package tds

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"

	"github.com/chokaq/chokaq/internal/sqlsim/engine"
	"github.com/chokaq/chokaq/internal/sqlsim/fault"
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

// eager is a client's connection that sends an attention in one piece with each batch, and then hangs up.
type eager struct{ net.Conn }

func (e eager) Write(p []byte) (int, error) {
	if p[0] != packetBatch {
		return e.Conn.Write(p)
	}
	_, err := e.Conn.Write(append(slices.Clone(p), packetAttention, statusEOM, 0, 8, 0, 0, 0, 0))
	e.Conn.Close()
	return len(p), err
}

type eagerDialer struct{}

func (eagerDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	nc, err := new(net.Dialer).DialContext(ctx, network, addr)
	return eager{nc}, err
}

// An attention that comes on the heels of its request, before that has begun, is for that request: it must not hold up the end of the connection
// when the request is one that never answers.
func TestAnAttentionOnTheHeelsOfItsRequest(t *testing.T) {
	in := fault.New()
	b := &scripted{batch: func(ctx context.Context, _ *scriptedSession, _ string, _ engine.Sink) error { return ctx.Err() }}
	_, addr := start(t, b, Options{Faults: in})
	in.Add(fault.Rule{Text: "WAITFOR x", Silent: true})
	for range 300 {
		connector, err := mssql.NewConnector("sqlserver://sa:Sesame1!@" + addr + "?database=chokaq&encrypt=disable&disableretry=true")
		if err != nil {
			t.Fatal(err)
		}
		connector.Dialer = eagerDialer{}
		db := sql.OpenDB(connector)
		if _, err := db.Exec("WAITFOR x"); err == nil {
			t.Error("an answer out of the black hole")
		}
		db.Close()
	}
	for deadline := time.Now().Add(10 * time.Second); b.sessions() > 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d sessions outlive their connections", b.sessions())
		}
	}
}
