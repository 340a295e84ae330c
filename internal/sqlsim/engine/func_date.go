package engine

import (
	"fmt"
	"math"
	"time"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// datepart names the parts of a date.
type datepart uint8

const (
	dpYear datepart = iota
	dpQuarter
	dpMonth
	dpDayOfYear
	dpDay
	dpWeek
	dpWeekday
	dpHour
	dpMinute
	dpSecond
	dpMillisecond
	dpMicrosecond
	dpNanosecond
	dpTZOffset
	dpISOWeek
)

var dateparts = map[string]datepart{
	"year": dpYear, "yy": dpYear, "yyyy": dpYear, "quarter": dpQuarter, "qq": dpQuarter, "q": dpQuarter,
	"month": dpMonth, "mm": dpMonth, "m": dpMonth, "dayofyear": dpDayOfYear, "dy": dpDayOfYear, "y": dpDayOfYear,
	"day": dpDay, "dd": dpDay, "d": dpDay, "week": dpWeek, "wk": dpWeek, "ww": dpWeek, "weekday": dpWeekday, "dw": dpWeekday, "w": dpWeekday,
	"hour": dpHour, "hh": dpHour, "minute": dpMinute, "mi": dpMinute, "n": dpMinute, "second": dpSecond, "ss": dpSecond, "s": dpSecond,
	"millisecond": dpMillisecond, "ms": dpMillisecond, "microsecond": dpMicrosecond, "mcs": dpMicrosecond, "nanosecond": dpNanosecond, "ns": dpNanosecond,
	"tzoffset": dpTZOffset, "tz": dpTZOffset, "iso_week": dpISOWeek, "isowk": dpISOWeek, "isoww": dpISOWeek,
}

var datepartNames = [...]string{"year", "quarter", "month", "dayofyear", "day", "week", "weekday", "hour", "minute", "second", "millisecond", "microsecond", "nanosecond", "tzoffset", "iso_week"}

// partTicks is the length of the parts of constant length.
var partTicks = map[datepart]int64{
	dpDayOfYear: value.TicksPerDay, dpDay: value.TicksPerDay, dpWeekday: value.TicksPerDay, dpWeek: 7 * value.TicksPerDay, dpHour: value.TicksPerHour,
	dpMinute: value.TicksPerMinute, dpSecond: value.TicksPerSecond, dpMillisecond: value.TicksPerSecond / 1000, dpMicrosecond: 10,
}

func (c *callSite) datepart() (datepart, error) {
	p, ok := dateparts[c.e.Datepart]
	if !ok {
		return 0, sqlError(155, 15, 1, "'%s' is not a recognized %s option.", c.e.Datepart, c.name)
	}
	return p, nil
}

func (c *callSite) badDatepart(p datepart, typ value.Type) error {
	return sqlError(9810, 16, 1, "The datepart %s is not supported by date function %s for data type %s.", datepartNames[p], c.name, typ.Kind)
}

func init() {
	clockFunc := func(name string, typ value.Type, now func(s *Session, t time.Time) value.Value) {
		define(name, 0, 0, func(c *callSite) (*scalar, error) {
			return perStatement(newScalar(typ, false, func(rc *rowCtx) (value.Value, error) {
				return now(rc.sess, rc.sess.now()), nil
			})), nil
		})
	}
	// The server's time zone is UTC.
	oldNow := func(s *Session, t time.Time) value.Value { return value.NewDateTime(value.TicksOf(t)) }
	newNow := func(s *Session, t time.Time) value.Value { return value.NewDateTime2(value.TicksOf(t), 7) }
	clockFunc("getdate", value.Type{Kind: value.DateTime}, oldNow)
	clockFunc("current_timestamp", value.Type{Kind: value.DateTime}, oldNow)
	clockFunc("getutcdate", value.Type{Kind: value.DateTime}, oldNow)
	clockFunc("sysdatetime", value.Type{Kind: value.DateTime2, Scale: 7}, newNow)
	clockFunc("sysutcdatetime", value.Type{Kind: value.DateTime2, Scale: 7}, newNow)
	clockFunc("sysdatetimeoffset", value.Type{Kind: value.DateTimeOffset, Scale: 7}, func(s *Session, t time.Time) value.Value {
		return value.NewDateTimeOffset(value.TicksOf(t), 0, 7)
	})
	clockFunc("current_date", value.Type{Kind: value.Date}, func(s *Session, t time.Time) value.Value {
		return value.NewDate(value.TicksOf(t) / value.TicksPerDay)
	})
	clockFunc("current_timezone", value.Type{Kind: value.VarChar, Length: 100}, func(*Session, time.Time) value.Value {
		return value.NewString(value.VarChar, "(UTC) Coordinated Universal Time")
	})
	clockFunc("current_timezone_id", value.Type{Kind: value.VarChar, Length: 100}, func(*Session, time.Time) value.Value {
		return value.NewString(value.VarChar, "UTC")
	})
	define("dateadd", 3, 3, compileDateAdd)
	define("datediff", 3, 3, func(c *callSite) (*scalar, error) { return c.dateDiff(intType) })
	define("datediff_big", 3, 3, func(c *callSite) (*scalar, error) { return c.dateDiff(bigintType) })
	define("datepart", 2, 2, func(c *callSite) (*scalar, error) {
		p, err := c.datepart()
		if err != nil {
			return nil, err
		}
		return c.part(p, 0)
	})
	define("year", 1, 1, func(c *callSite) (*scalar, error) { return c.part(dpYear, 0) })
	define("month", 1, 1, func(c *callSite) (*scalar, error) { return c.part(dpMonth, 0) })
	define("day", 1, 1, func(c *callSite) (*scalar, error) { return c.part(dpDay, 0) })
	define("datename", 2, 2, compileDateName)
	define("eomonth", 1, 2, compileEOMonth)
	define("datetrunc", 2, 2, compileDateTrunc)
	define("date_bucket", 3, 4, compileDateBucket)
	define("datefromparts", 3, 3, func(c *callSite) (*scalar, error) {
		return c.fromParts(value.Type{Kind: value.Date}, func(v []int64, typ value.Type) (value.Value, bool) {
			t, ok := dateTicks(v[0], v[1], v[2])
			return value.NewDate(t / value.TicksPerDay), ok
		})
	})
	define("datetimefromparts", 7, 7, func(c *callSite) (*scalar, error) {
		return c.fromParts(value.Type{Kind: value.DateTime}, func(v []int64, typ value.Type) (value.Value, bool) {
			t, ok := dateTicks(v[0], v[1], v[2])
			d, ok2 := timeTicks(v[3], v[4], v[5], v[6], 3)
			return value.NewDateTime(t + d), ok && ok2 && v[0] >= 1753
		})
	})
	define("smalldatetimefromparts", 5, 5, func(c *callSite) (*scalar, error) {
		return c.fromParts(value.Type{Kind: value.SmallDateTime}, func(v []int64, typ value.Type) (value.Value, bool) {
			t, ok := dateTicks(v[0], v[1], v[2])
			d, ok2 := timeTicks(v[3], v[4], 0, 0, 0)
			return value.NewSmallDateTime(t + d), ok && ok2 && v[0] >= 1900 && v[0] < 2079
		})
	})
	define("datetime2fromparts", 8, 8, func(c *callSite) (*scalar, error) {
		return c.fromParts(value.Type{Kind: value.DateTime2}, func(v []int64, typ value.Type) (value.Value, bool) {
			t, ok := dateTicks(v[0], v[1], v[2])
			d, ok2 := timeTicks(v[3], v[4], v[5], v[6], int(typ.Scale))
			return value.NewDateTime2(t+d, typ.Scale), ok && ok2
		})
	})
	define("timefromparts", 5, 5, func(c *callSite) (*scalar, error) {
		return c.fromParts(value.Type{Kind: value.Time}, func(v []int64, typ value.Type) (value.Value, bool) {
			d, ok := timeTicks(v[0], v[1], v[2], v[3], int(typ.Scale))
			return value.NewTime(d, typ.Scale), ok
		})
	})
	define("datetimeoffsetfromparts", 10, 10, func(c *callSite) (*scalar, error) {
		return c.fromParts(value.Type{Kind: value.DateTimeOffset}, func(v []int64, typ value.Type) (value.Value, bool) {
			t, ok := dateTicks(v[0], v[1], v[2])
			d, ok2 := timeTicks(v[3], v[4], v[5], v[6], int(typ.Scale))
			off := v[7]*60 + v[8]
			ok3 := off >= -840 && off <= 840 && v[8] > -60 && v[8] < 60 && (v[7] >= 0) == (v[8] >= 0 || v[7] == 0) || v[8] == 0
			return value.NewDateTimeOffset(t+d-off*value.TicksPerMinute, int(off), typ.Scale), ok && ok2 && ok3
		})
	})
	define("switchoffset", 2, 2, func(c *callSite) (*scalar, error) {
		typ := value.Type{Kind: value.DateTimeOffset, Scale: 7}
		if c.args[0].typ.Kind == value.DateTimeOffset {
			typ = c.args[0].typ
		}
		if err := c.to(0, typ); err != nil {
			return nil, err
		}
		return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			off, err := zoneMinutes(v[1], "switchoffset")
			if err != nil {
				return value.Value{}, err
			}
			return value.NewDateTimeOffset(v[0].Ticks(), off, typ.Scale), nil
		}), nil
	})
	define("todatetimeoffset", 2, 2, func(c *callSite) (*scalar, error) {
		scale := uint8(7)
		switch t := c.args[0].typ; t.Kind {
		case value.DateTime2, value.DateTimeOffset:
			scale = t.Scale
		case value.DateTime:
			scale = 3
		case value.SmallDateTime, value.Date:
			scale = 0
		}
		if err := c.to(0, value.Type{Kind: value.DateTime2, Scale: scale}); err != nil {
			return nil, err
		}
		typ := value.Type{Kind: value.DateTimeOffset, Scale: scale}
		return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			off, err := zoneMinutes(v[1], "todatetimeoffset")
			if err != nil {
				return value.Value{}, err
			}
			return value.NewDateTimeOffset(v[0].Ticks()-int64(off)*value.TicksPerMinute, off, scale), nil
		}), nil
	})
	define("isdate", 1, 1, func(c *callSite) (*scalar, error) {
		typ := c.args[0].typ
		return perStatement(c.lax(intType, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			ok := false
			switch k := v[0].Kind(); {
			case v[0].IsNull():
			case k == value.DateTime || k == value.SmallDateTime || k == value.Date:
				ok = true
			case k.IsCharacter():
				_, err := value.Convert(v[0], typ, value.Type{Kind: value.DateTime}, value.NoStyle, rc.sess.convertEnv())
				ok = err == nil
			}
			if ok {
				return intValue(1), nil
			}
			return intValue(0), nil
		})), nil
	})
}

// date converts argument n to a date or time type: text becomes datetime2(7), or
// datetimeoffset where it says an offset.
func (c *callSite) date(n int) (value.Type, error) {
	typ := c.args[n].typ
	switch k := typ.Kind; {
	case k.IsTemporal():
		return typ, nil
	case k.IsCharacter():
		typ = value.Type{Kind: value.DateTimeOffset, Scale: 7}
		return typ, c.to(n, typ)
	case k == value.Unknown, k.IsNumeric() && k != value.Variant:
		typ = value.Type{Kind: value.DateTime}
		return typ, c.to(n, typ)
	}
	return typ, c.invalidArg(n)
}

// civil is a wall clock's date, cut out of ticks.
func civil(ticks int64) time.Time { return value.NewDateTime2(ticks, 7).Time() }

func dateTicks(y, m, d int64) (int64, bool) {
	if y < 1 || y > 9999 || m < 1 || m > 12 || d < 1 || d > int64(daysIn(int(y), time.Month(m))) {
		return 0, false
	}
	return value.TicksOf(time.Date(int(y), time.Month(m), int(d), 0, 0, 0, 0, time.UTC)), true
}

func daysIn(y int, m time.Month) int { return time.Date(y, m+1, 0, 0, 0, 0, 0, time.UTC).Day() }

func timeTicks(h, m, s, frac int64, scale int) (int64, bool) {
	unit := int64(1)
	for range 7 - scale {
		unit *= 10
	}
	if h < 0 || h > 23 || m < 0 || m > 59 || s < 0 || s > 59 || frac < 0 || frac*unit >= value.TicksPerSecond {
		return 0, false
	}
	return h*value.TicksPerHour + m*value.TicksPerMinute + s*value.TicksPerSecond + frac*unit, true
}

var partArgs = map[value.Kind]int{value.DateTime2: 7, value.Time: 4, value.DateTimeOffset: 9}

func (c *callSite) fromParts(typ value.Type, build func(v []int64, typ value.Type) (value.Value, bool)) (*scalar, error) {
	for n := range c.args {
		if err := c.int(n); err != nil {
			return nil, err
		}
	}
	if at, ok := partArgs[typ.Kind]; ok { // the last argument is the precision, a constant
		p := c.args[at]
		if !p.folded || p.val.IsNull() {
			return nil, sqlError(10760, 16, 1, "Scale argument is not valid. Valid expressions for data type %s scale argument are integer constants and integer constant expressions.", typ.Kind)
		}
		if p.val.Int() < 0 || p.val.Int() > 7 {
			return nil, sqlError(1002, 15, 1, "Line %d: Specified scale %d is invalid.", c.e.Line, p.val.Int())
		}
		typ.Scale = uint8(p.val.Int())
		c.args = c.args[:at]
	}
	return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		n := make([]int64, len(v))
		for i := range v {
			n[i] = v[i].Int()
		}
		out, ok := build(n, typ)
		if !ok {
			return value.Value{}, sqlError(289, 16, 1, "Cannot construct data type %s, some of the arguments have values which are not valid.", typ.Kind)
		}
		return out, nil
	}), nil
}

// zoneMinutes reads an offset: minutes, or text such as +05:30.
func zoneMinutes(v value.Value, fn string) (int, error) {
	bad := sqlError(9812, 16, 0, "The timezone provided to builtin function %s is invalid.", fn)
	if v.Kind().IsInteger() {
		if v.Int() < -840 || v.Int() > 840 {
			return 0, bad
		}
		return int(v.Int()), nil
	}
	var sign byte
	var h, m int
	if n, _ := fmt.Sscanf(v.Str(), "%c%d:%d", &sign, &h, &m); n != 3 || sign != '+' && sign != '-' || m > 59 || h*60+m > 840 {
		return 0, bad
	}
	if sign == '-' {
		return -(h*60 + m), nil
	}
	return h*60 + m, nil
}

// part is DATEPART.
func (c *callSite) part(p datepart, n int) (*scalar, error) {
	typ, err := c.date(n)
	if err != nil {
		return nil, err
	}
	if !partFits(p, typ.Kind) && !(c.name == "datename") {
		return nil, c.badDatepart(p, typ)
	}
	return perStatementIf(p == dpWeekday || p == dpWeek, c.result(intType, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		return intValue(partOf(p, v[0], rc.sess.settings.dateFirst)), nil
	})), nil
}

func perStatementIf(cond bool, s *scalar) *scalar {
	if cond {
		return perStatement(s)
	}
	return s
}

// partFits tells whether a type has a part.
func partFits(p datepart, k value.Kind) bool {
	switch k {
	case value.Time:
		return p >= dpHour && p <= dpNanosecond
	case value.Date:
		return p <= dpWeekday || p == dpISOWeek
	}
	return true
}

func partOf(p datepart, v value.Value, dateFirst int) int64 {
	t := civil(v.LocalTicks())
	switch p {
	case dpYear:
		return int64(t.Year())
	case dpQuarter:
		return int64(t.Month()-1)/3 + 1
	case dpMonth:
		return int64(t.Month())
	case dpDayOfYear:
		return int64(t.YearDay())
	case dpDay:
		return int64(t.Day())
	case dpWeek:
		jan1 := time.Date(t.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
		return int64(t.YearDay()-1+weekdayFrom(jan1, dateFirst)-1)/7 + 1
	case dpWeekday:
		return int64(weekdayFrom(t, dateFirst))
	case dpHour:
		return int64(t.Hour())
	case dpMinute:
		return int64(t.Minute())
	case dpSecond:
		return int64(t.Second())
	case dpMillisecond:
		return int64(t.Nanosecond()) / 1e6
	case dpMicrosecond:
		return int64(t.Nanosecond()) / 1e3
	case dpNanosecond:
		return int64(t.Nanosecond())
	case dpTZOffset:
		return int64(v.Offset())
	}
	_, w := t.ISOWeek()
	return int64(w)
}

// weekdayFrom numbers the days of the week from 1, beginning at DATEFIRST (1 is Monday).
func weekdayFrom(t time.Time, dateFirst int) int {
	iso := (int(t.Weekday()) + 6) % 7 // Monday is 0
	return (iso-dateFirst+1+7)%7 + 1
}

func compileDateName(c *callSite) (*scalar, error) {
	p, err := c.datepart()
	if err != nil {
		return nil, err
	}
	typ, err := c.date(0)
	if err != nil {
		return nil, err
	}
	if !partFits(p, typ.Kind) {
		return nil, c.badDatepart(p, typ)
	}
	out, err := c.textType(true, 30)
	if err != nil {
		return nil, err
	}
	return perStatement(c.result(out, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		switch p {
		case dpMonth:
			return str(out, rc.sess.settings.language.Months[civil(v[0].LocalTicks()).Month()-1]), nil
		case dpWeekday:
			return str(out, rc.sess.settings.language.Days[(civil(v[0].LocalTicks()).Weekday()+6)%7]), nil
		case dpTZOffset:
			off, sign := v[0].Offset(), '+'
			if off < 0 {
				off, sign = -off, '-'
			}
			return str(out, fmt.Sprintf("%c%02d:%02d", sign, off/60, off%60)), nil
		}
		return str(out, fmt.Sprint(partOf(p, v[0], rc.sess.settings.dateFirst))), nil
	})), nil
}

// rebuild makes a value of v's type from wall-clock ticks.
func rebuild(v value.Value, typ value.Type, ticks int64) value.Value {
	switch v.Kind() {
	case value.Date:
		return value.NewDate(ticks / value.TicksPerDay)
	case value.Time:
		return value.NewTime(((ticks%value.TicksPerDay)+value.TicksPerDay)%value.TicksPerDay, typ.Scale)
	case value.SmallDateTime:
		return value.NewSmallDateTime(ticks)
	case value.DateTime:
		return value.NewDateTime(ticks)
	case value.DateTimeOffset:
		return value.NewDateTimeOffset(ticks-int64(v.Offset())*value.TicksPerMinute, v.Offset(), typ.Scale)
	}
	return value.NewDateTime2(ticks, typ.Scale)
}

const lastTick = 3652059*value.TicksPerDay - 1 // of 9999-12-31

// inRange reports ticks that a type can hold.
func inRange(k value.Kind, ticks int64) bool {
	switch k {
	case value.DateTime:
		return ticks >= 639905*value.TicksPerDay && ticks <= lastTick
	case value.SmallDateTime:
		return ticks >= 693595*value.TicksPerDay && ticks < (693595+65536)*value.TicksPerDay
	case value.Time:
		return true
	}
	return ticks >= 0 && ticks <= lastTick
}

func compileDateAdd(c *callSite) (*scalar, error) {
	p, err := c.datepart()
	if err != nil {
		return nil, err
	}
	if p == dpTZOffset || p == dpISOWeek {
		return nil, c.badDatepart(p, c.args[1].typ)
	}
	// The number is cut to a whole one, and must be an int.
	if c.args[0].typ.Kind.IsCharacter() || !c.args[0].typ.Kind.IsNumeric() && c.args[0].typ.Kind != value.Unknown {
		if !c.args[0].typ.Kind.IsCharacter() {
			return nil, c.invalidArg(0)
		}
	}
	if err := c.int(0); err != nil {
		return nil, err
	}
	typ := c.args[1].typ
	if typ.Kind.IsCharacter() {
		typ = value.Type{Kind: value.DateTime}
		if err := c.to(1, typ); err != nil {
			return nil, err
		}
	} else if typ, err = c.date(1); err != nil {
		return nil, err
	}
	if !partFits(p, typ.Kind) {
		return nil, c.badDatepart(p, typ)
	}
	if (p == dpMicrosecond || p == dpNanosecond) && (typ.Kind == value.DateTime || typ.Kind == value.SmallDateTime) {
		return nil, c.badDatepart(p, typ)
	}
	return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		ticks, ok := addPart(p, v[0].Int(), v[1].LocalTicks())
		if ok && typ.Kind == value.SmallDateTime && p == dpMillisecond && inRange(value.DateTime, ticks) {
			ticks = value.NewDateTime(ticks).LocalTicks() // so 29.999 s are 30, and the next minute
		}
		if !ok || !inRange(typ.Kind, ticks) {
			return value.Value{}, sqlError(517, 16, 1, "Adding a value to a '%s' column caused an overflow.", typ.Kind)
		}
		if typ.Kind == value.DateTimeOffset && !inRange(typ.Kind, ticks-int64(v[1].Offset())*value.TicksPerMinute) {
			return value.Value{}, sqlError(517, 16, 1, "Adding a value to a '%s' column caused an overflow.", typ.Kind)
		}
		return rebuild(v[1], typ, ticks), nil
	}), nil
}

// addPart adds n parts; the day of the month is cut to the last of a shorter month.
func addPart(p datepart, n, ticks int64) (int64, bool) {
	months := int64(0)
	switch p {
	case dpYear:
		months = n * 12
	case dpQuarter:
		months = n * 3
	case dpMonth:
		months = n
	case dpNanosecond:
		// 100 ns is the unit: rounded to the nearest.
		return ticks + int64(math.Round(float64(n)/100)), true
	default:
		return ticks + n*partTicks[p], true
	}
	t := civil(ticks)
	at := int64(t.Year())*12 + int64(t.Month()) - 1 + months
	y, m := at/12, at%12+1
	if y < 1 || y > 9999 {
		return 0, false
	}
	d := min(t.Day(), daysIn(int(y), time.Month(m)))
	date, ok := dateTicks(y, m, int64(d))
	return date + ticks%value.TicksPerDay, ok
}

// dateDiff counts the boundaries crossed between two dates.
func (c *callSite) dateDiff(out value.Type) (*scalar, error) {
	p, err := c.datepart()
	if err != nil {
		return nil, err
	}
	if p == dpTZOffset || p == dpISOWeek {
		return nil, c.badDatepart(p, c.args[0].typ)
	}
	for n := range 2 {
		typ, err := c.date(n)
		if err != nil {
			return nil, err
		}
		if typ.Kind == value.Time && p < dpHour {
			continue // counted from 1900-01-01, so zero
		}
	}
	return c.result(out, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		n, ok := countParts(p, diffTicks(v[0], v), diffTicks(v[1], v))
		if !ok || out.Kind == value.Int && n != int64(int32(n)) {
			return value.Value{}, sqlError(535, 16, 0, "The %s function resulted in an overflow. The number of dateparts separating two date/time instances is too large. Try to use %s with a less precise datepart.", c.name, c.name)
		}
		return value.NewInt(out.Kind, n), nil
	}), nil
}

// diffTicks: datetimeoffset counts in UTC; a time of day is on 1900-01-01.
func diffTicks(v value.Value, _ []value.Value) int64 {
	if v.Kind() == value.Time {
		return 693595*value.TicksPerDay + v.Ticks()
	}
	return v.Ticks()
}

func countParts(p datepart, a, b int64) (int64, bool) {
	switch p {
	case dpYear:
		return int64(civil(b).Year() - civil(a).Year()), true
	case dpQuarter, dpMonth:
		unit := 1
		if p == dpQuarter {
			unit = 3
		}
		index := func(t time.Time) int { return (t.Year()*12 + int(t.Month()) - 1) / unit }
		return int64(index(civil(b)) - index(civil(a))), true
	case dpWeek:
		// Weeks begin on Sunday whatever DATEFIRST says. Day 0 was a Monday.
		week := func(t int64) int64 { return (t/value.TicksPerDay + 1) / 7 }
		return week(b) - week(a), true
	case dpNanosecond:
		d := b - a
		if d > math.MaxInt64/100 || d < math.MinInt64/100 {
			return 0, false
		}
		return d * 100, true
	}
	unit := partTicks[p]
	return b/unit - a/unit, true
}

func compileEOMonth(c *callSite) (*scalar, error) {
	if err := c.to(0, value.Type{Kind: value.Date}); err != nil {
		return nil, err
	}
	if err := c.int(1); err != nil {
		return nil, err
	}
	typ := value.Type{Kind: value.Date}
	return c.lax(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		if v[0].IsNull() {
			return value.NewNull(value.Date), nil
		}
		n := int64(0)
		if len(v) == 2 && !v[1].IsNull() {
			n = v[1].Int()
		}
		first := v[0].Ticks() - int64(civil(v[0].Ticks()).Day()-1)*value.TicksPerDay
		ticks, ok := addPart(dpMonth, n, first)
		if !ok {
			return value.Value{}, sqlError(517, 16, 3, "Adding a value to a 'date' column caused an overflow.")
		}
		t := civil(ticks)
		return value.NewDate(ticks/value.TicksPerDay + int64(daysIn(t.Year(), t.Month())) - 1), nil
	}), nil
}

func compileDateTrunc(c *callSite) (*scalar, error) {
	p, err := c.datepart()
	if err != nil {
		return nil, err
	}
	var typ value.Type
	if c.args[0].typ.Kind.IsCharacter() {
		typ = value.Type{Kind: value.DateTime2, Scale: 7}
		err = c.to(0, typ)
	} else {
		typ, err = c.date(0)
	}
	if err != nil {
		return nil, err
	}
	digits := int(typ.Scale) // of seconds, that the type can hold
	switch typ.Kind {
	case value.DateTime:
		digits = 3
	case value.SmallDateTime:
		digits = 0
	}
	if p == dpWeekday || p == dpTZOffset || p == dpNanosecond || !partFits(p, typ.Kind) || p == dpMillisecond && digits < 3 || p == dpMicrosecond && digits < 6 {
		return nil, c.badDatepart(p, typ)
	}
	return perStatementIf(p == dpWeek, c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		at := v[0].LocalTicks()
		t := civil(at)
		day := at - at%value.TicksPerDay
		switch p {
		case dpYear:
			at, _ = dateTicks(int64(t.Year()), 1, 1)
		case dpQuarter:
			at, _ = dateTicks(int64(t.Year()), int64(t.Month()-1)/3*3+1, 1)
		case dpMonth:
			at, _ = dateTicks(int64(t.Year()), int64(t.Month()), 1)
		case dpWeek:
			at = day - int64(weekdayFrom(t, rc.sess.settings.dateFirst)-1)*value.TicksPerDay
		case dpISOWeek:
			at = day - int64(weekdayFrom(t, 1)-1)*value.TicksPerDay
		case dpDay, dpDayOfYear:
			at = day
		default:
			at -= at % partTicks[p]
		}
		if !inRange(typ.Kind, at) {
			return value.Value{}, sqlError(9837, 16, 1, "An invalid date value was encountered: The date value is less than the minimum date value allowed for the data type.")
		}
		return rebuild(v[0], typ, at), nil
	})), nil
}

func compileDateBucket(c *callSite) (*scalar, error) {
	p, err := c.datepart()
	if err != nil {
		return nil, err
	}
	if err := c.int(0); err != nil {
		return nil, err
	}
	typ, err := c.date(1)
	if err != nil {
		return nil, err
	}
	if len(c.args) == 3 {
		if err := c.to(2, typ); err != nil {
			return nil, err
		}
	}
	switch p {
	case dpDayOfYear, dpWeekday, dpTZOffset, dpISOWeek, dpMicrosecond, dpNanosecond:
		return nil, c.badDatepart(p, typ)
	}
	if !partFits(p, typ.Kind) {
		return nil, c.badDatepart(p, typ)
	}
	return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		n := v[0].Int()
		if n < 1 {
			return value.Value{}, sqlError(9834, 16, 1, "Invalid bucket width value passed to %s function. Only positive values are allowed.", c.name)
		}
		origin := int64(693595) * value.TicksPerDay
		if typ.Kind == value.Time {
			origin = 0
		}
		if len(v) == 3 {
			origin = v[2].LocalTicks()
		}
		at := v[1].LocalTicks()
		months := map[datepart]int64{dpYear: 12, dpQuarter: 3, dpMonth: 1}[p]
		if months == 0 {
			width := partTicks[p] * n
			return rebuild(v[1], typ, origin+floorDiv(at-origin, width)*width), nil
		}
		whole, _ := countParts(dpMonth, origin, at)
		k := floorDiv(whole, months*n)
		start, _ := addPart(dpMonth, k*months*n, origin)
		if start > at {
			start, _ = addPart(dpMonth, (k-1)*months*n, origin)
		}
		return rebuild(v[1], typ, start), nil
	}), nil
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}
