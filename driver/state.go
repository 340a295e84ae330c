package driver

import "sync/atomic"

// workerState is how far the life of a Worker has come; it only moves on.
type workerState int32

const (
	stateNew workerState = iota
	stateStarting
	stateRunning
	stateDraining
	stateStopped
)

func (s workerState) String() string {
	return [...]string{"new", "starting", "running", "draining", "stopped"}[s]
}

type stateBox struct{ state atomic.Int32 }

func (b *stateBox) get() workerState  { return workerState(b.state.Load()) }
func (b *stateBox) set(s workerState) { b.state.Store(int32(s)) }
func (b *stateBox) started() bool     { return b.get() != stateNew }

func (b *stateBox) move(from, to workerState) bool {
	return b.state.CompareAndSwap(int32(from), int32(to))
}
