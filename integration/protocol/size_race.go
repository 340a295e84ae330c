//go:build race

package protocol

// Jobs in the model: the race detector has nothing to find in a search by one goroutine, and makes it slow.
const Jobs = 1
