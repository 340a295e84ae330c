//go:build !race

package protocol

// Jobs in the model.
const Jobs = 2
