//go:build !race

package integration

// raceEnabled: the tests run under the race detector.
const raceEnabled = false
