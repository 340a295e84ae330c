package driver

import (
	"testing"
	"time"
)

func TestScheduleTicks(t *testing.T) {
	const layout = "2006-01-02 15:04 MST"
	for _, c := range []struct {
		cron, zone, from string
		want             []string
	}{
		{"*/15 * * * *", "UTC", "2026-03-01T10:07:00Z", []string{"2026-03-01 10:15 UTC", "2026-03-01 10:30 UTC"}},
		{"0 9 * * 1-5", "America/New_York", "2026-03-06T15:00:00Z", []string{"2026-03-09 09:00 EDT"}},
		{"@daily", "UTC", "2026-12-31T23:00:00Z", []string{"2027-01-01 00:00 UTC", "2027-01-02 00:00 UTC"}},
		{"0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", []string{"2028-02-29 00:00 UTC"}},
		// Summer time begins: 02:30 does not exist, and the job still runs that day, once.
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", []string{"2026-03-28 02:30 CET", "2026-03-29 03:30 CEST", "2026-03-30 02:30 CEST"}},
		// It ends: 02:30 comes twice, and the job runs once.
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", []string{"2026-10-25 02:30 CEST", "2026-10-26 02:30 CET"}},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", []string{"2026-10-26 02:30 CET"}}, // exactly at the first one
		{"0 3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", []string{"2026-03-29 03:00 CEST"}},
		// Every hour means every hour that passes.
		{"30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", []string{"2026-10-25 02:30 CEST", "2026-10-25 02:30 CET", "2026-10-25 03:30 CET"}},
		{"30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", []string{"2026-03-29 01:30 CET", "2026-03-29 03:30 CEST"}},
		// A zone west of UTC, half an hour off.
		{"0 12 * * *", "Asia/Kolkata", "2026-06-01T00:00:00Z", []string{"2026-06-01 12:00 IST"}},
	} {
		s, err := parseSchedule(c.cron, c.zone)
		if err != nil {
			t.Errorf("%s in %s: %v", c.cron, c.zone, err)
			continue
		}
		at, err := time.Parse(time.RFC3339, c.from)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			at = s.next(at)
			if got := at.In(s.zone).Format(layout); got != want {
				t.Errorf("%s in %s after %s: %s, want %s", c.cron, c.zone, c.from, got, want)
			}
			if at.Location() != time.UTC {
				t.Errorf("%s: a tick in %v", c.cron, at.Location())
			}
		}
	}
}

// Ticks go forward, at every change of the clock of a zone with odd ones.
func TestTicksAlwaysGoForward(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "Africa/Casablanca", "UTC"} {
		for _, expression := range []string{"30 2 * * *", "*/10 1-3 * * *", "0 0 * * *", "*/20 * * * *", "15 */3 * * *"} {
			s, err := parseSchedule(expression, zone)
			if err != nil {
				t.Fatal(err)
			}
			end := time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC)
			days := make(map[string]int)
			for at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); at.Before(end); {
				following := s.next(at)
				if !following.After(at) {
					t.Fatalf("%s in %s: after %v comes %v", expression, zone, at, following)
				}
				at = following
				days[at.In(s.zone).Format(time.DateOnly)]++
			}
			if expression == "30 2 * * *" {
				for day, n := range days {
					if n != 1 {
						t.Errorf("%s in %s: %d ticks on %s", expression, zone, n, day)
					}
				}
				if len(days) < 729 {
					t.Errorf("%s in %s: ticks on %d days of two years", expression, zone, len(days))
				}
			}
		}
	}
}

func TestTheLastTick(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 34, 56, 0, time.UTC)
	for expression, want := range map[string]time.Time{
		"* * * * *": time.Date(2026, 11, 30, 12, 34, 0, 0, time.UTC),
		"0 6 * * *": time.Date(2026, 11, 30, 6, 0, 0, 0, time.UTC),
		"0 0 1 * *": time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
		"0 0 1 1 *": time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		s, err := parseSchedule(expression, "UTC")
		if err != nil {
			t.Fatal(err)
		}
		first := s.next(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
		if got := s.last(first, now); !got.Equal(want) {
			t.Errorf("%s: %v, want %v", expression, got, want)
		}
	}
}

func TestSchedulesAreChecked(t *testing.T) {
	for _, c := range [][2]string{{"* * * *", "UTC"}, {"61 * * * *", "UTC"}, {"0 0 30 2 *", "UTC"}, {"CRON_TZ=UTC * * * * *", "UTC"}, {"* * * * *", "Europe/Berln"}, {"* * * * *", ""}, {"* * * * *", "Local"}, {"@every -5s", "UTC"}, {"@every 1ms", "UTC"}, {"@every", "UTC"}} {
		if _, err := parseSchedule(c[0], c[1]); err == nil {
			t.Errorf("%q in %q is accepted", c[0], c[1])
		}
	}
}
