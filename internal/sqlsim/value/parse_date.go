package value

import "strings"

// dateText is what a date and time literal says.
type dateText struct {
	year, month, day int
	hasDate          bool
	ticks            int64 // of the day
	hasTime          bool
	fraction         int // digits after the seconds
	offset           int // minutes
	hasOffset        bool
	invalid          bool // well formed, but there is no such date or time
}

// textToTemporal reads text as SQL Server does: ISO 8601, unseparated digits, numbers
// in the order of DATEFORMAT or of the style, and the names of months in the language.
func textToTemporal(s string, from, to Type, style int, env ConvertEnv) (Value, error) {
	legacy := to.Kind == DateTime || to.Kind == SmallDateTime
	failed := func() error {
		if to.Kind == SmallDateTime {
			return NewError(295, 16, 3, "Conversion failed when converting character string to smalldatetime data type.")
		}
		return NewError(241, 16, 1, "Conversion failed when converting date and/or time from character string.")
	}
	outOfRange := func() error {
		if !legacy {
			return failed()
		}
		return NewError(242, 16, 3, "The conversion of a %s data type to a %s data type resulted in an out-of-range value.", from.Kind, to.Kind)
	}
	order := env.DateFormat
	switch style {
	case NoStyle, 0, 100, 9, 109, 8, 108, 14, 114, 24, 22:
	case 1, 101, 10, 110, 7, 107:
		order = "mdy"
	case 3, 103, 4, 104, 5, 105, 6, 106, 13, 113:
		order = "dmy"
	case 2, 102, 11, 111, 12, 112, 20, 120, 21, 121, 25, 23:
		order = "ymd"
	case 126, 127:
		order = "ymd"
	case 130, 131:
		return Value{}, Unsupported("CONVERT style %d (the Hijri calendar)", style)
	default:
		if !legacy {
			return Value{}, unsupportedStyle(style, from, to)
		}
		return Value{}, NewError(281, 16, 1, "%d is not a valid style number when converting from %s to %s.", style, from.Kind, to.Kind)
	}
	if order == "" {
		order = "mdy"
	}
	p := dateParser{s: strings.Trim(s, " \t"), order: strings.ToLower(order), legacy: legacy, language: env.language()}
	d, ok := p.parse()
	if !ok || legacy && d.fraction > 3 || legacy && d.hasOffset && (d.offset != 0 || !p.zulu) || d.fraction > 7 {
		return Value{}, failed()
	}
	if (style == 126 || style == 127) && !p.iso && p.s != "" && to.Kind != Time {
		return Value{}, failed()
	}
	if d.invalid {
		return Value{}, outOfRange()
	}
	if !d.hasDate {
		d.year, d.month, d.day = 1900, 1, 1
	}
	days, ok := daysOf(d.year, d.month, d.day)
	if !ok {
		return Value{}, outOfRange()
	}
	ticks := days*TicksPerDay + d.ticks
	if to.Kind == DateTimeOffset {
		ticks -= int64(d.offset) * TicksPerMinute
		if ticks < 0 || ticks > maxTicks {
			return Value{}, failed()
		}
	}
	out, err := temporal(ticks, d.offset, from, to)
	if err != nil {
		return Value{}, outOfRange()
	}
	return out, nil
}

type dateParser struct {
	s        string
	order    string
	legacy   bool
	language *Language
	zulu     bool
	iso      bool
	pos      int
}

func (p *dateParser) rest() string { return p.s[p.pos:] }

func (p *dateParser) skipSpaces() {
	for p.pos < len(p.s) && (p.s[p.pos] == ' ' || p.s[p.pos] == '\t') {
		p.pos++
	}
}

// digits reads a run of digits.
func (p *dateParser) digits() string {
	start := p.pos
	for p.pos < len(p.s) && isDigit(p.s[p.pos]) {
		p.pos++
	}
	return p.s[start:p.pos]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func number(digits string) int {
	n := 0
	for i := range len(digits) {
		if n < 1_000_000_000 {
			n = n*10 + int(digits[i]-'0')
		}
	}
	return n
}

func (p *dateParser) parse() (d dateText, ok bool) {
	if p.s == "" {
		return d, true
	}
	if p.isoForm(&d) {
		return d, p.pos == len(p.s)
	}
	p.pos = 0
	d = dateText{}
	var parts []string // the numbers of the date, in order
	month := 0         // from a name
	for {
		p.skipSpaces()
		if p.pos == len(p.s) {
			break
		}
		c := p.s[p.pos]
		switch {
		case isDigit(c):
			if p.timeAhead() {
				if d.hasTime || !p.time(&d) {
					return d, false
				}
				if !p.offset(&d) {
					return d, false
				}
				continue
			}
			n := p.digits()
			parts = append(parts, n)
			sep := false
			p.skipSpaces()
			if p.pos < len(p.s) && strings.IndexByte("/-.,", p.s[p.pos]) >= 0 {
				p.pos++
				sep = true
			}
			if sep && p.pos == len(p.s) && p.s[p.pos-1] != ',' {
				return d, false
			}
		case c == ',' || (c == '-' || c == '/' || c == '.') && month > 0:
			p.pos++
		case isLetter(c):
			start := p.pos
			for p.pos < len(p.s) && isLetter(p.s[p.pos]) {
				p.pos++
			}
			m := p.language.month(p.s[start:p.pos])
			if m == 0 || month != 0 {
				return d, false
			}
			month = m
			if p.pos < len(p.s) && p.s[p.pos] == '.' {
				p.pos++
			}
		default:
			return d, false
		}
	}
	if month > 0 {
		return d, namedMonth(&d, parts, month)
	}
	return d, p.numericDate(&d, parts)
}

// isLetter also takes the bytes of letters beyond ASCII, which names of months may have.
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 }

// namedMonth places the numbers around a month's name.
func namedMonth(d *dateText, parts []string, month int) bool {
	d.hasDate = true
	d.month = month
	switch len(parts) {
	case 1: // a year alone means its first day; a short number is a year too
		d.day = 1
		d.year = fullYear(parts[0])
		return len(parts[0]) == 2 || len(parts[0]) == 4
	case 2:
		day, year := parts[0], parts[1]
		if len(day) == 4 { // 2024 April 15, 2024 15 April
			day, year = year, day
		}
		if len(day) > 2 || len(year) != 4 && len(year) != 2 && len(year) != 1 {
			return false
		}
		d.day, d.year = number(day), fullYear(year)
		return true
	}
	return false
}

// fullYear reads two digits up to 49 as 20xx, above as 19xx: the two digit year cutoff is 2049.
func fullYear(digits string) int {
	n := number(digits)
	if len(digits) <= 2 {
		if n < 50 {
			return 2000 + n
		}
		return 1900 + n
	}
	return n
}

func (p *dateParser) numericDate(d *dateText, parts []string) bool {
	switch len(parts) {
	case 0:
		return d.hasTime
	case 1: // unseparated
		s := parts[0]
		d.hasDate = true
		switch len(s) {
		case 8:
			d.year, d.month, d.day = number(s[:4]), number(s[4:6]), number(s[6:])
		case 6:
			d.year, d.month, d.day = fullYear(s[:2]), number(s[2:4]), number(s[4:])
		case 4:
			d.year, d.month, d.day = number(s), 1, 1
		default:
			return false
		}
		return true
	case 3:
		order := p.order
		for i, s := range parts {
			if len(s) == 4 { // four digits are the year wherever they are
				rest := strings.Replace(order, "y", "", 1)
				if !p.legacy && i == 0 {
					rest = "md" // the newer types always read year-month-day
				}
				order = rest[:i] + "y" + rest[i:]
			} else if len(s) > 2 {
				return false
			}
		}
		d.hasDate = true
		for i, s := range parts {
			switch order[i] {
			case 'y':
				d.year = fullYear(s)
			case 'm':
				d.month = number(s)
			case 'd':
				d.day = number(s)
			}
		}
		return true
	}
	return false
}

// timeAhead tells whether the number here begins a time: a colon or AM or PM follows.
func (p *dateParser) timeAhead() bool {
	i := p.pos
	for i < len(p.s) && isDigit(p.s[i]) {
		i++
	}
	if i-p.pos > 2 {
		return false
	}
	for i < len(p.s) && p.s[i] == ' ' {
		i++
	}
	if i < len(p.s) && p.s[i] == ':' {
		return true
	}
	return i+1 < len(p.s) && strings.IndexByte("aApP", p.s[i]) >= 0 && p.s[i+1]|0x20 == 'm' && (i+2 == len(p.s) || !isLetter(p.s[i+2]))
}

// time reads hh[:mm[:ss[:mmm|.fffffff]]] [AM|PM].
func (p *dateParser) time(d *dateText) bool {
	d.hasTime = true
	hour, minute, second := number(p.digits()), 0, 0
	var fraction int64
	next := func() (string, bool) {
		p.pos++
		p.skipSpaces()
		n := p.digits()
		return n, n != ""
	}
	p.skipSpaces()
	if p.pos < len(p.s) && p.s[p.pos] == ':' {
		n, ok := next()
		if !ok || len(n) > 2 {
			return false
		}
		minute = number(n)
		if p.pos < len(p.s) && p.s[p.pos] == ':' {
			n, ok := next()
			if !ok || len(n) > 2 {
				return false
			}
			second = number(n)
			if p.pos < len(p.s) && (p.s[p.pos] == '.' || p.s[p.pos] == ':') {
				point := p.s[p.pos] == '.'
				n, ok := next()
				if !ok || len(n) > 9 || !point && len(n) > 3 {
					return false
				}
				d.fraction = len(n)
				fraction = fractionTicks(n, point)
			}
		}
	}
	p.skipSpaces()
	if r := p.rest(); len(r) >= 2 && r[1]|0x20 == 'm' && (r[0]|0x20 == 'a' || r[0]|0x20 == 'p') {
		pm := r[0]|0x20 == 'p'
		p.pos += 2
		switch {
		case hour > 12 && !pm, hour == 0 && pm:
			return false
		case pm && hour < 12:
			hour += 12
		case !pm && hour == 12:
			hour = 0
		}
	}
	if hour > 23 || minute > 59 || second > 59 {
		d.invalid = true
	}
	d.ticks = int64(hour)*TicksPerHour + int64(minute)*TicksPerMinute + int64(second)*TicksPerSecond + fraction
	return true
}

// fractionTicks reads .5 as half a second and :5 as five milliseconds.
func fractionTicks(digits string, point bool) int64 {
	if !point {
		return int64(number(digits)) * 10_000
	}
	for len(digits) < 7 {
		digits += "0"
	}
	return int64(number(digits[:7]))
}

// offset reads Z or +hh:mm after a time, if there.
func (p *dateParser) offset(d *dateText) bool {
	p.skipSpaces()
	r := p.rest()
	if r == "" {
		return true
	}
	if r[0] == 'Z' || r[0] == 'z' {
		p.pos++
		p.zulu = true
		d.hasOffset = true
		return true
	}
	if r[0] != '+' && r[0] != '-' {
		return true
	}
	if len(r) < 5 || !isDigit(r[1]) || !isDigit(r[2]) || r[3] != ':' || !isDigit(r[4]) {
		return false
	}
	end := 5 // of minutes, which may be one digit
	if len(r) > end && isDigit(r[end]) {
		end++
	}
	hours, minutes := number(r[1:3]), number(r[4:end])
	d.offset = hours*60 + minutes
	d.hasOffset = true
	if minutes > 59 || d.offset > 14*60 {
		return false
	}
	if r[0] == '-' {
		d.offset = -d.offset
	}
	p.pos += end
	return true
}

// isoForm reads yyyy-mm-ddThh:mm:ss and, for the newer types, yyyy-mm-dd, which for
// datetime depend on DATEFORMAT unless the T is there.
func (p *dateParser) isoForm(d *dateText) bool {
	s := p.s
	if len(s) < 10 || s[4] != '-' || s[7] != '-' || !allDigits(s[:4]) || !allDigits(s[5:7]) || !allDigits(s[8:10]) {
		return false
	}
	if len(s) == 10 {
		p.iso = true
		if p.legacy {
			return false
		}
	} else if s[10] != 'T' {
		return false
	}
	d.year, d.month, d.day, d.hasDate = number(s[:4]), number(s[5:7]), number(s[8:10]), true
	p.pos = 10
	p.iso = true
	if len(s) == 10 {
		return true
	}
	p.pos = 11
	// The T wants the whole of hh:mm:ss.
	if len(s) < 16 || !allDigits(s[11:13]) || s[13] != ':' || !allDigits(s[14:16]) || p.legacy && len(s) < 19 {
		p.pos = 0
		return true // and so fails: not all of the text was read
	}
	return p.time(d) && p.offset(d)
}

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return true
}
