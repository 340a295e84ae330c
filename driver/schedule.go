package driver

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// schedule is a cron expression in a time zone.
type schedule struct {
	cron cron.Schedule
	zone *time.Location
	// byWallClock: the expression names hours, so it means what a clock on the wall shows: a time that a day of change to summer time has
	// not is taken later by what the clock jumps, and one that the day of change back has twice is taken once. An expression for every hour
	// follows the hours as they pass.
	byWallClock bool
}

// parseSchedule reads a cron expression: five fields (minute, hour, day of month, month, day of week), @hourly, @daily, @weekly, @monthly, @yearly,
// or @every with a duration; as github.com/robfig/cron/v3 defines them.
func parseSchedule(expression, zone string) (schedule, error) {
	if strings.HasPrefix(expression, "TZ=") || strings.HasPrefix(expression, "CRON_TZ=") {
		return schedule{}, fmt.Errorf("cron expression %q: the time zone goes into a field of its own", expression)
	}
	parsed, err := cron.ParseStandard(expression)
	if every, ok := strings.CutPrefix(expression, "@every "); ok && err == nil {
		if d, _ := time.ParseDuration(every); d < time.Second { // which cron takes for a second
			err = errors.New("shorter than a second")
		}
	}
	if err != nil {
		return schedule{}, fmt.Errorf("cron expression %q: %w; accepted: minute hour day-of-month month day-of-week, such as 30 6 * * 1-5, or @hourly, @daily, @weekly, @monthly, @yearly, @every 5m", expression, err)
	}
	location, err := time.LoadLocation(zone)
	if err != nil || zone == "" || zone == "Local" {
		return schedule{}, fmt.Errorf("time zone %q: not known here; accepted: a name of the IANA time zone database, such as Europe/Berlin, or UTC", zone)
	}
	s := schedule{cron: parsed, zone: location}
	if spec, ok := parsed.(*cron.SpecSchedule); ok {
		const everyHour = 1<<24 - 1
		s.byWallClock = spec.Hour&everyHour != everyHour
	}
	if s.next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return schedule{}, fmt.Errorf("cron expression %q: there is no such day", expression)
	}
	return s, nil
}

// next is the first tick after t. Zero: there is none within five years.
func (s schedule) next(t time.Time) time.Time {
	if !s.byWallClock {
		return utc(s.cron.Next(t.In(s.zone)))
	}
	// Ticks of the wall clock are computed as if it never changed, and then looked up in the zone. The look-up can move one behind t, never by more than
	// a change of the clock: look again.
	wall := wallClock(t.In(s.zone)).Add(-3 * time.Hour)
	for range 10_000 {
		wall = s.cron.Next(wall)
		if wall.IsZero() {
			return wall
		}
		if at := s.instant(wall); at.After(t) {
			return at
		}
	}
	return time.Time{}
}

func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}

// wallClock is what a clock on the wall shows at t, as if it were UTC.
func wallClock(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// instant is when a clock on the wall in the zone shows that: the first time if it does so twice, and if it never does, because it jumps over it,
// when it would have, had it not jumped.
func (s schedule) instant(wall time.Time) time.Time {
	_, before := wall.Add(-26 * time.Hour).In(s.zone).Zone()
	_, after := wall.Add(26 * time.Hour).In(s.zone).Zone()
	for _, offset := range []int{max(before, after), min(before, after)} {
		if at := wall.Add(-time.Duration(offset) * time.Second); wallClock(at.In(s.zone)).Equal(wall) {
			return at
		}
	}
	return wall.Add(-time.Duration(before) * time.Second)
}

// last is the latest tick at or before now, given that first is one.
func (s schedule) last(first, now time.Time) time.Time {
	// Do not walk through a year of minutes: begin where there surely is a tick.
	for _, span := range []time.Duration{time.Hour, 31 * 24 * time.Hour} {
		if from := now.Add(-span); from.After(first) {
			if tick := s.next(from); !tick.IsZero() && !tick.After(now) {
				first = tick
				break
			}
		}
	}
	for {
		following := s.next(first)
		if following.IsZero() || following.After(now) {
			return first
		}
		first = following
	}
}

// NextTicks computes the next n ticks of a recurring job after a moment; fewer when there are no more. The error says what is wrong with the expression or the
// time zone.
func NextTicks(expression, timeZone string, after time.Time, n int) ([]time.Time, error) {
	s, err := parseSchedule(expression, timeZone)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidArgument, err)
	}
	var ticks []time.Time
	for len(ticks) < n {
		after = s.next(after)
		if after.IsZero() {
			break
		}
		ticks = append(ticks, after.In(s.zone))
	}
	return ticks, nil
}
