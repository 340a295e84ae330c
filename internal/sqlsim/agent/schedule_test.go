package agent

import (
	"testing"
	"time"
)

func TestNext(t *testing.T) {
	at := func(s string) time.Time {
		if s == "" {
			return time.Time{}
		}
		moment, err := time.Parse("2006-01-02 15:04:05", s)
		if err != nil {
			t.Fatal(err)
		}
		return moment
	}
	always := schedule{startDate: 20260101, endDate: 99991231, endTime: 235959}
	with := func(change func(*schedule)) schedule {
		s := always
		change(&s)
		return s
	}
	for _, c := range []struct {
		name      string
		schedule  schedule
		now, next string
	}{
		{"every 15 seconds", with(func(s *schedule) {
			s.freqType, s.freqInterval, s.subdayType, s.subdayInterval = daily, 1, subdaySeconds, 15
		}), "2026-05-06 12:00:01", "2026-05-06 12:00:15"},
		{"not the same moment again", with(func(s *schedule) {
			s.freqType, s.freqInterval, s.subdayType, s.subdayInterval = daily, 1, subdaySeconds, 15
		}), "2026-05-06 12:00:15", "2026-05-06 12:00:30"},
		{"over midnight", with(func(s *schedule) {
			s.freqType, s.freqInterval, s.subdayType, s.subdayInterval = daily, 1, subdaySeconds, 15
		}), "2026-05-06 23:59:50", "2026-05-07 00:00:00"},
		{"every 60 minutes", with(func(s *schedule) {
			s.freqType, s.freqInterval, s.subdayType, s.subdayInterval = daily, 1, subdayMinutes, 60
		}), "2026-05-06 12:30:00", "2026-05-06 13:00:00"},
		{"daily at a time", with(func(s *schedule) { s.freqType, s.freqInterval, s.subdayType, s.startTime = daily, 1, 1, 33000 }), "2026-05-06 12:00:00", "2026-05-07 03:30:00"},
		{"every third day", with(func(s *schedule) { s.freqType, s.freqInterval, s.subdayType, s.startTime = daily, 3, 1, 10000 }), "2026-01-02 00:00:00", "2026-01-04 01:00:00"},
		{"within hours", with(func(s *schedule) {
			s.freqType, s.freqInterval, s.subdayType, s.subdayInterval, s.startTime, s.endTime = daily, 1, subdayHours, 2, 80000, 120000
		}), "2026-05-06 12:00:00", "2026-05-07 08:00:00"},
		{"Mondays", with(func(s *schedule) {
			s.freqType, s.freqInterval, s.recurrence, s.subdayType, s.startTime = weekly, 2, 1, 1, 0
		}), "2026-05-06 12:00:00", "2026-05-11 00:00:00"},
		{"once, to come", with(func(s *schedule) { s.freqType, s.startDate, s.startTime = once, 20270101, 120000 }), "2026-05-06 12:00:00", "2027-01-01 12:00:00"},
		{"once, past", with(func(s *schedule) { s.freqType = once }), "2026-05-06 12:00:00", ""},
		{"over", with(func(s *schedule) { s.freqType, s.freqInterval, s.subdayType, s.endDate = daily, 1, 1, 20260201 }), "2026-05-06 12:00:00", ""},
		{"not begun", with(func(s *schedule) {
			s.freqType, s.freqInterval, s.subdayType, s.subdayInterval, s.startDate = daily, 1, subdaySeconds, 15, 20260601
		}), "2026-05-06 12:00:00", "2026-06-01 00:00:00"},
		{"at Agent's start", with(func(s *schedule) { s.freqType = atAgentStart }), "2026-05-06 12:00:00", ""},
	} {
		if got := c.schedule.next(at(c.now)); !got.Equal(at(c.next)) {
			t.Errorf("%s: after %s comes %v, want %s", c.name, c.now, got, c.next)
		}
	}
}

func TestNumbers(t *testing.T) {
	moment := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	if d, h := dateNumber(moment), timeNumber(moment); d != 20260506 || h != 70809 {
		t.Errorf("%d %d", d, h)
	}
	if n := durationNumber(25*time.Hour + 61*time.Second); n != 250101 {
		t.Errorf("duration %d", n)
	}
}
