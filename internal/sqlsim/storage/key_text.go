package storage

import (
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// keyText writes a value as the message about a duplicate key does.
func keyText(v value.Value) string {
	switch k := v.Kind(); {
	case k.IsCharacter():
		return v.Str()
	case k == value.UniqueIdentifier:
		return strings.ToLower(v.String())
	case k == value.DateTime2 || k == value.Time || k == value.DateTimeOffset:
		s := v.String()
		zone := ""
		if k == value.DateTimeOffset {
			if i := strings.LastIndexByte(s, ' '); i >= 0 {
				s, zone = s[:i], s[i:]
			}
		}
		// The time with as many digits as the type has.
		if dot := strings.LastIndexByte(s, '.'); dot >= 0 {
			s = s[:dot]
		}
		if scale := int(v.Scale()); scale > 0 {
			frac := v.LocalTicks() % value.TicksPerSecond
			digits := "000000" + itoa(frac)
			s += "." + digits[len(digits)-7:][:scale]
		}
		return s + zone
	}
	return v.String()
}

func itoa(n int64) string {
	if n == 0 {
		return "0"
	}
	var b [20]byte
	i := len(b)
	for ; n > 0; n /= 10 {
		i--
		b[i] = byte('0' + n%10)
	}
	return string(b[i:])
}
