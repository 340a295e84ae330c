package sqlsim

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/chokaq/chokaq/internal/sqlsim/tds"
)

// Phase is how far a restart has come.
type Phase int

const (
	// Down: nobody listens; connections are refused by the network.
	Down Phase = iota
	// Starting: the server listens, and refuses every login with error 17187.
	Starting
	// Recovering: the system databases are open. A login to another fails with 4060 (and 18456, as on the wire both are sent), naming one with 922.
	Recovering
)

// Restart kills the server and brings it back under the same address, as its clients see that: every connection is cut wherever its request is;
// transactions that have not been committed are rolled back; sessions, application locks, temporary objects, what was made in tempdb, and cached identity values are gone;
// Agent stops and starts with the server. phase is called in each phase, and decides how long that lasts. When Restart returns, logins are
// served again.
//
// It does not lose what was committed (nothing here is on a disk that could be damaged), nor what was committed with DELAYED_DURABILITY, nor
// cached values of sequences; it keeps counters, reports of deadlocks, and faults that were injected. Sessions that were opened on Engine
// directly must have been closed, or all that happens is that connections are cut. One Restart at a time.
func (s *Server) Restart(phase func(Phase)) error {
	if s.agent != nil {
		s.agent.Stop()
	}
	old := s.wire.Load()
	if err := old.Close(); err != nil {
		return err
	}
	if served := <-s.served; !errors.Is(served, tds.ErrServerClosed) {
		return fmt.Errorf("sqlsim: the server had failed before it was restarted: %w", served)
	}
	refused := s.engine.Crash()
	if refused != nil {
		phase = func(Phase) {}
	}
	phase(Down)

	listener, err := relisten(s.listener.Addr().String())
	if err != nil {
		s.served <- tds.ErrServerClosed
		return err
	}
	s.before.add(old.Counters())
	s.serve(listener)
	phase(Starting)

	s.engine.Recover()
	phase(Recovering)

	s.engine.Online()
	if s.agent != nil {
		s.agent.Start()
	}
	return refused
}

// relisten listens on an address that was listened on a moment ago. Somebody's outgoing connection may have got its port meanwhile.
func relisten(addr string) (net.Listener, error) {
	var err error
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		var listener net.Listener
		if listener, err = net.Listen("tcp", addr); err == nil {
			return listener, nil
		}
	}
	return nil, fmt.Errorf("sqlsim: somebody took the address while the server was down: %w", err)
}

// earlier are the counters of the server before its last restart.
type earlier struct {
	mu  sync.Mutex
	sum tds.Counters
}

func (c *earlier) get() tds.Counters {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sum
}

func (c *earlier) add(more tds.Counters) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sum = sum(c.sum, more)
}

func sum(a, b tds.Counters) tds.Counters {
	return tds.Counters{
		Connections: a.Connections + b.Connections, Open: a.Open + b.Open, Logins: a.Logins + b.Logins, LoginErrors: a.LoginErrors + b.LoginErrors,
		Batches: a.Batches + b.Batches, Calls: a.Calls + b.Calls, Attentions: a.Attentions + b.Attentions, Resets: a.Resets + b.Resets,
	}
}
