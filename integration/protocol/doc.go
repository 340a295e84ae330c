// Package protocol checks the protocol between workers, database and recovery exhaustively for small sizes: every order of
// claims, starts, handlers' ends, completions, signals, lost requests, lost answers, requests that arrive late, crashes, freezes,
// recovery, retries and an operator's requeues. It is a model: the procedures are a few lines each, as docs/concepts.md tells them; that T-SQL and driver do the same is for the tests of
// package integration to show.
//
// code.go tells how states are counted, search.go how they are visited; guards.go lists mutants of the protocol, each of which a test finds by the invariant that it violates.
// CHOKAQ_TEST_PROTOCOL=full (as in "make protocol") visits the large models: it takes some minutes and about 3 GB.
//
// Time is not modeled. Recovery may strike any job that somebody holds, at any moment: the invariants may not depend on
// heartbeats being in time.
package protocol
