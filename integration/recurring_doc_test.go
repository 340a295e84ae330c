package integration

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chokaq/chokaq/driver"
)

// The table of ticks in docs/recurring.md is what the driver computes.
func TestTheTicksOfTheGuide(t *testing.T) {
	for _, row := range docTable(t, "recurring.md", "expression") {
		expression, zone, want := row[0][0], row[1][0], row[3]
		after, err := time.Parse(time.RFC3339, row[2][0])
		if err != nil {
			t.Fatal(err)
		}
		ticks, err := driver.NextTicks(expression, zone, after, max(len(want), 1))
		if (err != nil) != (len(want) == 0) {
			t.Errorf("%s in %s: %v", expression, zone, err)
		}
		var got []string
		for _, tick := range ticks {
			got = append(got, tick.Format("2006-01-02 15:04 MST"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s in %s after %s: %q, and the guide says %q", expression, zone, row[2][0], got, want)
		}
	}
}

// Every statement of docs/recurring.md runs, in order, and a tick that is enqueued twice by hand is enqueued once.
func TestTheGuideToRecurringJobs(t *testing.T) {
	d := newDatabase(t)
	conn := d.session(t)
	for _, b := range sqlBlocks(t, "recurring.md") {
		if _, err := resultSets(t, conn, b.text); err != nil {
			t.Errorf("%v in\n%s", err, b.text)
		}
		if strings.Contains(b.text, "-- Taken") {
			if n := number(t, d.pool, "SELECT COUNT(*) AS n FROM chokaq.Jobs"); n != 1 {
				t.Errorf("%d jobs were enqueued", n)
			}
		}
	}
}
