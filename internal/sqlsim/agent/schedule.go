package agent

import "time"

// schedule is a row of msdb.dbo.sysschedules, as far as it says when. Times are the server's.
type schedule struct {
	id, version                int64
	name                       string
	freqType, freqInterval     int64
	subdayType, subdayInterval int64
	recurrence                 int64
	startDate, endDate         int64 // yyyymmdd
	startTime, endTime         int64 // hhmmss
}

// freq_type and freq_subday_type as documented for sp_add_schedule.
const (
	once         = 1
	daily        = 4
	weekly       = 8
	atAgentStart = 64

	subdaySeconds = 2
	subdayMinutes = 4
	subdayHours   = 8
)

// next is the first moment after t at which the schedule is due; zero when there is none.
func (s schedule) next(t time.Time) time.Time {
	first := date(s.startDate)
	last := date(s.endDate)
	switch s.freqType {
	case once:
		if at := first.Add(clockTime(s.startTime)); at.After(t) {
			return at
		}
		return time.Time{}
	case daily, weekly:
	default: // atAgentStart is not due by time
		return time.Time{}
	}
	day := t.Truncate(24 * time.Hour)
	if day.Before(first) {
		day = first
	}
	// Every schedule that has a day at all has one within this many.
	for range 7 * 53 * max(int(s.recurrence), 1) * max(int(s.freqInterval), 1) {
		if day.After(last) {
			return time.Time{}
		}
		if s.onDay(day, first) {
			if at := s.nextWithin(day, t); !at.IsZero() {
				return at
			}
		}
		day = day.AddDate(0, 0, 1)
	}
	return time.Time{}
}

// onDay reports whether the schedule is due on a day.
func (s schedule) onDay(day, first time.Time) bool {
	days := int64(day.Sub(first) / (24 * time.Hour))
	if s.freqType == daily {
		return days%max(s.freqInterval, 1) == 0
	}
	weeks := (days + int64(first.Weekday())) / 7
	return weeks%max(s.recurrence, 1) == 0 && s.freqInterval&(1<<day.Weekday()) != 0
}

// nextWithin is the first moment of a day after t; zero when the day has none.
func (s schedule) nextWithin(day, t time.Time) time.Time {
	from, to := day.Add(clockTime(s.startTime)), day.Add(clockTime(s.endTime))
	var step time.Duration
	switch s.subdayType {
	case subdaySeconds:
		step = time.Duration(s.subdayInterval) * time.Second
	case subdayMinutes:
		step = time.Duration(s.subdayInterval) * time.Minute
	case subdayHours:
		step = time.Duration(s.subdayInterval) * time.Hour
	default:
		if from.After(t) {
			return from
		}
		return time.Time{}
	}
	at := from
	if !at.After(t) {
		at = from.Add((t.Sub(from)/step + 1) * step)
	}
	if at.After(to) {
		return time.Time{}
	}
	return at
}

// date reads yyyymmdd.
func date(n int64) time.Time {
	return time.Date(int(n/10000), time.Month(n%10000/100), int(n%100), 0, 0, 0, 0, time.UTC)
}

// clockTime reads hhmmss.
func clockTime(n int64) time.Duration {
	return time.Duration(n/10000)*time.Hour + time.Duration(n%10000/100)*time.Minute + time.Duration(n%100)*time.Second
}

// dateNumber and timeNumber write a moment as msdb does.
func dateNumber(t time.Time) int { return t.Year()*10000 + int(t.Month())*100 + t.Day() }
func timeNumber(t time.Time) int { return t.Hour()*10000 + t.Minute()*100 + t.Second() }

// durationNumber writes a duration as hhmmss.
func durationNumber(d time.Duration) int {
	s := int(d / time.Second)
	return s/3600*10000 + s%3600/60*100 + s%60
}
