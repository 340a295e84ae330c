package driver

import (
	"math"
	"math/rand/v2"
	"time"
)

// ExponentialBackoff doubles the wait with every attempt, from first up to most, and takes a random fifth more or less, so that
// jobs which failed together do not come back together.
func ExponentialBackoff(first, most time.Duration) func(attempt int) time.Duration {
	return func(attempt int) time.Duration {
		wait := float64(first) * math.Pow(2, float64(max(attempt, 1)-1))
		wait = min(wait, float64(most))
		return time.Duration(wait * (0.8 + 0.4*rand.Float64()))
	}
}
