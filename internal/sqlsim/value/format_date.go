package value

import (
	"fmt"
	"strings"
)

// clockParts are the fields that a date or time prints from.
type clockParts struct {
	year, month, day             int
	hour, minute, second, offset int
	fraction                     string // ".mmm" or ".nnnnnnn" with its point; empty without
	millis                       string // as fraction, but a colon for the point where style wants it
}

func partsOf(v Value) clockParts {
	ticks := v.LocalTicks()
	t := Value{kind: DateTime2, n: ticks}.Time()
	p := clockParts{
		year: t.Year(), month: int(t.Month()), day: t.Day(),
		hour: t.Hour(), minute: t.Minute(), second: t.Second(), offset: int(v.off),
	}
	rest := ticks % TicksPerSecond
	switch v.kind {
	case DateTime, SmallDateTime:
		p.fraction = fmt.Sprintf(".%03d", (rest+5_000)/10_000)
		p.millis = ":" + p.fraction[1:]
	case Date:
	default:
		if v.scale > 0 {
			p.fraction = fmt.Sprintf(".%0*d", int(v.scale), rest/unitOf(v.scale))
		}
		p.millis = p.fraction
	}
	return p
}

// pattern is one CONVERT style: what it prints of the date and what of the time.
type pattern struct{ date, between, clock string }

// In patterns: Y four digits of the year, y two, M the month's number, N its name, D the day in
// two digits, d the day padded with a space; h the hour of 24, g of 12 padded with a space;
// m, s; f the fraction after a point, F after a colon where the type has milliseconds, a AM or PM.
var patterns = map[int]pattern{
	0:   {"N d Y", " ", "g:ma"},
	1:   {"M/D/y", "", ""},
	2:   {"y.M.D", "", ""},
	3:   {"D/M/y", "", ""},
	4:   {"D.M.y", "", ""},
	5:   {"D-M-y", "", ""},
	6:   {"D N y", "", ""},
	7:   {"N D, y", "", ""},
	8:   {"", "", "h:m:s"},
	9:   {"N d Y", " ", "g:m:sFa"},
	10:  {"M-D-y", "", ""},
	11:  {"y/M/D", "", ""},
	12:  {"yMD", "", ""},
	13:  {"D N Y", " ", "h:m:sF"},
	14:  {"", "", "h:m:sF"},
	20:  {"Y-M-D", " ", "h:m:s"},
	21:  {"Y-M-D", " ", "h:m:sf"},
	22:  {"M/D/y", " ", "g:m:s a"},
	23:  {"Y-M-D", "", ""},
	126: {"Y-M-D", "T", "h:m:sf"},
	101: {"M/D/Y", "", ""},
	102: {"Y.M.D", "", ""},
	103: {"D/M/Y", "", ""},
	104: {"D.M.Y", "", ""},
	105: {"D-M-Y", "", ""},
	106: {"D N Y", "", ""},
	107: {"N D, Y", "", ""},
	110: {"M-D-Y", "", ""},
	111: {"Y/M/D", "", ""},
	112: {"YMD", "", ""},
}

// Styles that print like another one.
var sameStyle = map[int]int{100: 0, 108: 8, 24: 8, 109: 9, 113: 13, 114: 14, 120: 20, 121: 21, 25: 21, 127: 126}

func formatTemporal(v Value, from, to Type, style int, lang *Language) (string, error) {
	newer := v.kind != DateTime && v.kind != SmallDateTime
	if style == NoStyle {
		style = 0
		if newer {
			style = 121
		}
	}
	if style == 130 || style == 131 {
		return "", Unsupported("CONVERT style %d (the Hijri calendar)", style)
	}
	shown := style
	if s, ok := sameStyle[style]; ok {
		shown = s
	}
	p, ok := patterns[shown]
	if !ok {
		return "", invalidStyle(style, from, "a character string")
	}
	if shown == 126 && style == 127 && v.kind == DateTimeOffset { // in UTC
		v.off = 0
	}
	if v.kind == Date {
		p.between, p.clock = "", ""
	}
	if v.kind == Time {
		p.date, p.between = "", ""
	}
	if p.date == "" && p.clock == "" {
		return "", convertingError(from, to)
	}
	parts := partsOf(v)
	if shown == 126 && strings.Trim(parts.fraction, ".0") == "" {
		parts.fraction = ""
	}
	out := parts.print(p.date, lang) + p.between + parts.print(p.clock, lang)
	if v.kind == Time {
		out = strings.TrimLeft(out, " ")
	}
	if v.kind == DateTimeOffset && p.clock != "" {
		switch {
		case style == 127:
			out += "Z"
		case style == 126:
			out += offsetText(parts.offset)
		default:
			out += " " + offsetText(parts.offset)
		}
	}
	return out, nil
}

func offsetText(minutes int) string {
	sign := '+'
	if minutes < 0 {
		sign, minutes = '-', -minutes
	}
	return fmt.Sprintf("%c%02d:%02d", sign, minutes/60, minutes%60)
}

func (p clockParts) print(layout string, lang *Language) string {
	var b strings.Builder
	hour12 := (p.hour+11)%12 + 1
	for _, c := range layout {
		switch c {
		case 'Y':
			fmt.Fprintf(&b, "%04d", p.year)
		case 'y':
			fmt.Fprintf(&b, "%02d", p.year%100)
		case 'M':
			fmt.Fprintf(&b, "%02d", p.month)
		case 'N':
			b.WriteString(lang.Short[p.month-1])
		case 'D':
			fmt.Fprintf(&b, "%02d", p.day)
		case 'd':
			fmt.Fprintf(&b, "%2d", p.day)
		case 'h':
			fmt.Fprintf(&b, "%02d", p.hour)
		case 'g':
			fmt.Fprintf(&b, "%2d", hour12)
		case 'm':
			fmt.Fprintf(&b, "%02d", p.minute)
		case 's':
			fmt.Fprintf(&b, "%02d", p.second)
		case 'f':
			b.WriteString(p.fraction)
		case 'F':
			b.WriteString(p.millis)
		case 'a':
			if p.hour < 12 {
				b.WriteString("AM")
			} else {
				b.WriteString("PM")
			}
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
