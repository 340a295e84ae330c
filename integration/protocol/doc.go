// Package protocol checks the protocol between workers, database and recovery exhaustively for small sizes: every order of
// claims, starts, handlers' ends, completions, signals, lost requests, lost answers, requests that arrive late, crashes, freezes and
// recovery. It is a model: the procedures are a few lines each, as docs/concepts.md tells them; that T-SQL and driver do the same is for the tests of
// package integration to show.
//
// Time is not modeled. Recovery may strike any job that somebody holds, at any moment: the invariants may not depend on
// heartbeats being in time.
package protocol
