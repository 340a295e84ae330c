// Package chaos tries to break the promise that no job is lost and that none runs twice undecided: real worker processes, a server,
// a TCP proxy between them, and somebody who stops, kills, freezes and cuts them off at random, restarts the server (sqlsim.Server.Restart), and makes
// the wall clocks of workers jump.
//
// A round enqueues jobs, each of which writes what it does to a ledger outside the database, lets a seeded sequence of faults loose, heals
// everything, waits until no job is live, reconciles ledger and database, and looks for what workers have left behind: goroutines, sessions,
// transactions, locks, temporary tables, files. "make chaos ROUNDS=200" runs many; a failing round prints the seed that repeats its choices.
package chaos
