package value

import (
	"math"
	"math/big"
)

// toTemporal converts to the date and time types.
func toTemporal(v Value, from, to Type, style int, env ConvertEnv) (Value, error) {
	switch k := v.kind; {
	case k.IsCharacter():
		return textToTemporal(v.s, from, to, style, env)
	case k.IsBinary():
		out, ok := temporalFromBinary(v.s, to)
		if !ok {
			return Value{}, convertingError(from, to)
		}
		return out, nil
	case k.IsNumeric():
		return numberToDate(v, to)
	case k == Time && to.Kind != Time:
		// The date of a time alone is 1900-01-01.
		return temporal(minSmall+v.n, 0, from, to)
	case k == DateTimeOffset && to.Kind != DateTimeOffset:
		return temporal(v.LocalTicks(), 0, from, to)
	case k == Time:
		return NewTime(v.n, to.Scale), nil
	}
	return temporal(v.Ticks(), int(v.off), from, to)
}

// temporal makes a value of type to from ticks since 0001-01-01, which are in UTC if
// to is datetimeoffset.
func temporal(ticks int64, off int, from, to Type) (Value, error) {
	outOfRange := func() error {
		return NewError(242, 16, 3, "The conversion of a %s data type to a %s data type resulted in an out-of-range value.", from.Kind, to.Kind)
	}
	if ticks < 0 || ticks > maxTicks {
		return Value{}, outOfRange()
	}
	switch to.Kind {
	case Date:
		return NewDate(ticks / TicksPerDay), nil
	case Time:
		return NewTime(ticks%TicksPerDay, to.Scale), nil
	case DateTime2:
		return NewDateTime2(ticks, to.Scale), nil
	case DateTimeOffset:
		return NewDateTimeOffset(ticks, off, to.Scale), nil
	case DateTime:
		if ticks < minDateTime {
			return Value{}, outOfRange()
		}
		v := NewDateTime(ticks)
		if v.n > maxTicks {
			return Value{}, outOfRange()
		}
		return v, nil
	case SmallDateTime:
		if from.Kind == DateTime || from.Kind == DateTime2 || from.Kind.IsCharacter() {
			// 29.998 seconds round down and 29.999 up, since datetime rounds first.
			ticks = thirdsToTicks(ticksToThirds(ticks))
		}
		v := NewSmallDateTime(ticks)
		if ticks < minSmall || v.n > maxSmall {
			return Value{}, outOfRange()
		}
		return v, nil
	}
	return Value{}, clash(from, to)
}

// numberToDate adds days to 1900-01-01.
func numberToDate(v Value, to Type) (Value, error) {
	days := new(big.Rat)
	if v.kind.IsApproximate() {
		f := v.Float()
		if math.Abs(f) > 1e9 {
			return Value{}, overflow(to.Kind)
		}
		days.SetFloat64(f)
	} else {
		n, scale := v.Dec()
		days.SetFrac(n, pow10(scale))
	}
	days.Mul(days, new(big.Rat).SetInt64(25_920_000))
	thirds := roundQuo(new(big.Int).Set(days.Num()), days.Denom())
	if !thirds.IsInt64() || thirds.Int64() < (days1753-days1900)*25_920_000 || thirds.Int64() >= (maxDate+1-days1900)*25_920_000 {
		return Value{}, overflow(to.Kind)
	}
	ticks := thirdsToTicks(thirds.Int64() + days1900*25_920_000)
	out, err := temporal(ticks, 0, Type{Kind: DateTime}, to)
	if err != nil {
		return Value{}, overflow(to.Kind)
	}
	return out, nil
}

// daysOf is the number of days from 0001-01-01 to a date of the proleptic Gregorian
// calendar; ok is false when there is no such date.
func daysOf(year, month, day int) (days int64, ok bool) {
	if year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month) {
		return 0, false
	}
	y := int64(year - 1)
	days = y*365 + y/4 - y/100 + y/400
	for m := 1; m < month; m++ {
		days += int64(daysInMonth(year, m))
	}
	return days + int64(day) - 1, true
}

func daysInMonth(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}
