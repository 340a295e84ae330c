package chaos

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/chokaq/chokaq/internal/sqlsim"
)

// TestChaos plays ROUNDS rounds (3 by default). SEED repeats the choices of a run; the timing of processes is not in its hands.
func TestChaos(t *testing.T) {
	t.Parallel()
	rounds := fromEnvironment(t, "ROUNDS", 3)
	seed := fromEnvironment(t, "SEED", rand.Uint64()>>1)
	t.Logf("SEED=%d", seed)
	sim := startServer(t)
	did := make(tally)
	for i := range rounds {
		t.Run(fmt.Sprint("round ", seed+i), func(t *testing.T) { newRound(t, sim, seed+i, did).play() })
		if t.Failed() {
			break
		}
		did["rounds"]++
	}
	if locks := sim.Engine().Locks(); len(locks) > 0 {
		t.Errorf("locks are left: %v", locks)
	}
	if err := sim.Close(); err != nil {
		t.Error(err)
	}
	fmt.Println("chaos:", did)
}

// startServer starts a server on a port that no outgoing connection gets while the server is down: those come from a range above.
func startServer(t *testing.T) *sqlsim.Server {
	t.Helper()
	for {
		sim, err := sqlsim.Start(sqlsim.Options{NoAgent: true, Addr: fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(12000))})
		if err == nil {
			return sim
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatal(err)
		}
	}
}

func fromEnvironment(t *testing.T, name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
