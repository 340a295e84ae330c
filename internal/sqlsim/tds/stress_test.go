package tds

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"net"
	"runtime"
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

// eager is a client's connection that calls sent with the type of each packet.
type eager struct {
	net.Conn
	sent func(packet byte)
}

func (e eager) Write(p []byte) (int, error) {
	n, err := e.Conn.Write(p)
	e.sent(p[0])
	return n, err
}

type eagerDialer struct{ sent func(net.Conn, byte) }

func (d eagerDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	nc, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return eager{nc, func(packet byte) { d.sent(nc, packet) }}, nil
}

// An attention that comes on the heels of its request, before that has begun, is for that request: it must not hold up the end of the connection
// when the request is one that never answers.
func TestAnAttentionOnTheHeelsOfItsRequest(t *testing.T) {
	in := fault.New()
	b := &scripted{batch: func(ctx context.Context, _ *scriptedSession, _ string, _ engine.Sink) error { return ctx.Err() }}
	_, addr := start(t, b, Options{Faults: in}) // whose end waits for every connection's
	in.Add(fault.Rule{Text: "WAITFOR x", Silent: true})
	for range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		connector, err := mssql.NewConnector("sqlserver://sa:Sesame1!@" + addr + "?database=chokaq&encrypt=disable&disableretry=true")
		if err != nil {
			t.Fatal(err)
		}
		connector.Dialer = eagerDialer{func(nc net.Conn, packet byte) {
			switch packet {
			case packetBatch:
				cancel()
			case packetAttention:
				nc.Close()
			}
		}}
		db := sql.OpenDB(connector)
		if _, err := db.ExecContext(ctx, "WAITFOR x"); err == nil {
			t.Error("an answer out of the black hole")
		}
		db.Close()
		cancel()
	}
}
