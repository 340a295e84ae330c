package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// plainPlaceholders turns the placeholders of sys.messages into those of RAISERROR.
var plainPlaceholders = strings.NewReplacer("%.*ls", "%s", "%.*hs", "%s", "%ls", "%s", "%hs", "%s", "%S_MSG", "%s")

// raiseError runs RAISERROR.
func (s *Session) raiseError(ctx context.Context, fr *frame, st *tsql.RaiseError) error {
	msg, err := fr.eval(ctx, st.Message, value.Type{})
	if err != nil {
		return err
	}
	severity, err := fr.eval(ctx, st.Severity, intType)
	if err != nil {
		return err
	}
	state, err := fr.eval(ctx, st.State, intType)
	if err != nil {
		return err
	}
	if len(st.Args) > 20 {
		return sqlError(2747, 16, 1, "Too many substitution parameters for RAISERROR. Cannot exceed 20 substitution parameters.")
	}
	args := make([]value.Value, len(st.Args))
	for i, a := range st.Args {
		if args[i], err = fr.eval(ctx, a, value.Type{}); err != nil {
			return err
		}
	}
	number := int32(50000)
	var text string
	switch {
	case msg.IsNull():
		text = ""
	case msg.Kind().IsInteger():
		n := msg.Int()
		if n < 13000 || n == 50000 {
			return sqlError(2732, 16, 1, "Error number %d is invalid. The number must be from 13000 through 2147483647 and it cannot be 50000.", n)
		}
		if known, ok := systemMessages[n]; ok {
			if text, err = formatMessage(plainPlaceholders.Replace(known.text), args); err != nil {
				return err
			}
			number = int32(n)
			if severity.Int() < 0 { // the message's own
				severity = value.NewInt(value.Int, int64(known.severity))
			}
			break
		}
		return sqlError(18054, 16, 1, "Error %d, severity %d, state %d was raised, but no message with that error number was found in sys.messages. If error is larger than 50000, make sure the user-defined message is added using sp_addmessage.", n, severity.Int(), state.Int())
	default:
		text, err = formatMessage(msg.Str(), args)
		if err != nil {
			return err
		}
	}
	class := severity.Int()
	switch {
	case class < 0:
		class = 0
	case class > 25:
		class = 25
	}
	if class > 18 && !st.Log {
		return sqlError(2754, 16, 1, "Error severity levels greater than 18 can only be specified by members of the sysadmin role, using the WITH LOG option.")
	}
	n := state.Int()
	switch {
	case n < 0:
		n = 1
	case n > 255:
		n = 255
	}
	if value.UTF16Len(text) > 2047 {
		text = value.UTF16Slice(text, 0, 2044) + "..."
	}
	e := sqlError(number, uint8(class), uint8(n), "%s", text)
	if class <= 10 {
		s.rowCount = 0
		s.lastError = 0
		if st.SetError {
			s.lastError = number
		}
		if class == 10 {
			e.Class = 0 // severity 10 reaches clients as 0
		}
		e = s.locate(fr, st, e)
		return fr.sink.Message(e)
	}
	return e
}

// formatMessage does the substitutions of RAISERROR and FORMATMESSAGE: %s %d %i %u %x
// %X %o with flags, width and precision, and %%.
func formatMessage(format string, args []value.Value) (string, error) {
	var b strings.Builder
	next := 0
	take := func() (value.Value, bool) {
		if next < len(args) {
			next++
			return args[next-1], true
		}
		return value.Value{}, false
	}
	invalid := func(spec string) error {
		return sqlError(2787, 16, 1, "Invalid format specification: '%s'.", spec)
	}
	mismatch := func(n int) error {
		return sqlError(2786, 16, 1, "The data type of substitution parameter %d does not match the expected type of the format specification.", n)
	}
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		start := i
		i++
		if i >= len(format) {
			return "", invalid(format[start:])
		}
		if format[i] == '%' {
			b.WriteByte('%')
			continue
		}
		flags := ""
		for i < len(format) && strings.IndexByte("-+0 #", format[i]) >= 0 {
			flags += format[i : i+1]
			i++
		}
		number := func() (int, bool, error) {
			if i < len(format) && format[i] == '*' {
				i++
				v, ok := take()
				if !ok || !v.Kind().IsInteger() {
					return 0, false, mismatch(next)
				}
				return int(v.Int()), true, nil
			}
			n, have := 0, false
			for i < len(format) && format[i] >= '0' && format[i] <= '9' && n < 1e6 {
				n, have = n*10+int(format[i]-'0'), true
				i++
			}
			return n, have, nil
		}
		width, hasWidth, err := number()
		if err != nil {
			return "", err
		}
		precision, hasPrecision := 0, false
		if i < len(format) && format[i] == '.' {
			i++
			if precision, _, err = number(); err != nil {
				return "", err
			}
			hasPrecision = true
		}
		wide := false
		switch {
		case strings.HasPrefix(format[i:], "I64"):
			i += 3
			wide = true
		case i < len(format) && (format[i] == 'h' || format[i] == 'l'):
			i++
		}
		if i >= len(format) {
			return "", invalid(format[start:])
		}
		verb := format[i]
		if strings.IndexByte("sdiuxXop", verb) < 0 {
			return "", invalid(format[start : i+1])
		}
		v, ok := take()
		spec := "%" + flags
		if hasWidth {
			spec += fmt.Sprint(min(width, 4000))
		}
		if hasPrecision {
			spec += "." + fmt.Sprint(min(precision, 4000))
		}
		switch {
		case !ok || v.IsNull():
			fmt.Fprintf(&b, strings.NewReplacer("0", "", "+", "", "#", "").Replace("%"+flags)+"s", "(null)")
		case verb == 's':
			if !v.Kind().IsCharacter() {
				return "", mismatch(next)
			}
			fmt.Fprintf(&b, spec+"s", v.Str())
		default:
			k := v.Kind()
			if k == value.Decimal && wide {
				if d, scale := v.Dec(); scale == 0 && d.IsInt64() {
					v, k = value.NewInt(value.BigInt, d.Int64()), value.BigInt
				}
			}
			if !k.IsInteger() || k == value.BigInt && !wide {
				return "", mismatch(next)
			}
			n := v.Int()
			switch verb {
			case 'd', 'i':
				fmt.Fprintf(&b, spec+"d", n)
			case 'u':
				fmt.Fprintf(&b, spec+"d", unsigned(n, k))
			default:
				fmt.Fprintf(&b, spec+string(verb), unsigned(n, k))
			}
		}
	}
	return b.String(), nil
}

func unsigned(n int64, k value.Kind) uint64 {
	if k == value.BigInt {
		return uint64(n)
	}
	return uint64(uint32(n))
}
