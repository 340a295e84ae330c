package config

import "github.com/agext/levenshtein"

// Nearest is the known name that somebody who typed name most likely meant; "" if none is near.
func Nearest(name string, known []string) string {
	best, bestDistance := "", max(2, len(name)/4)+1
	for _, candidate := range known {
		if d := levenshtein.Distance(name, candidate, nil); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}
