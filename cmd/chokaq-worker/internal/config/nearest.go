package config

import "github.com/agext/levenshtein"

// Nearest is the known name that somebody who typed name most likely meant; "" if none is near.
func Nearest(name string, known []string) string {
	best, bestDistance := "", max(2, len(name)/4)+1
	for _, candidate := range known {
		d := levenshtein.Distance(name, candidate, nil)
		if d < bestDistance || d == bestDistance && best != "" && name[:1] == candidate[:1] && name[:1] != best[:1] { // few err in the first letter
			best, bestDistance = candidate, d
		}
	}
	return best
}
