package db

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A reference to a job table from which rows are read or found.
var jobTableSource = regexp.MustCompile(`\b(?:FROM|JOIN)\s+chokaq\.(Jobs|JobsArchive|JobsDLQ)\b(?:\s+AS)?\s+\w+(?:\s+WITH\s*\(((?:[^()]|\([^()]*\))*)\))?`)

// Plans on the job tables do not depend on statistics: a plan that was made while a table was nearly empty may scan it, and would go on to do so when it has a million rows,
// waiting for every row that somebody has locked. So each reference names its index and says FORCESEEK, or reads without locks.
func TestJobTablesAreSought(t *testing.T) {
	// What looks through a whole index, on purpose: it holds only the rows in question.
	scans := map[string]string{"procedures/ResetFetchedJobs.sql": "INDEX (IX_Jobs_Fetched)", "procedures/RescueZombieJobs.sql": "INDEX (IX_Jobs_Processing)"}
	found := 0
	for _, folder := range []string{"functions", "procedures"} {
		names, err := fs.Glob(Objects, folder+"/*.sql")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(Objects, name)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range jobTableSource.FindAllStringSubmatch(comments.ReplaceAllString(string(text), " "), -1) {
				found++
				hints := strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' })
				for i := range hints {
					hints[i] = strings.TrimSpace(hints[i])
				}
				index := slices.IndexFunc(hints, func(h string) bool { return strings.HasPrefix(h, "INDEX") })
				switch {
				case slices.Contains(hints, "NOLOCK"):
				case index >= 0 && slices.Contains(hints, "ROWLOCK") && (slices.Contains(hints, "FORCESEEK") || hints[index] == scans[name]):
				default:
					t.Errorf("%s: %s: no index, FORCESEEK and ROWLOCK", name, m[0])
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d references found: does the pattern still fit?", found)
	}
}
