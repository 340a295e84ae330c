package value

import "strings"

// NoStyle is the style of CAST, and of CONVERT without its third argument. It is style 0
// but where the newer date and time types print, which then is style 121.
const NoStyle = -1

// ConvertEnv is what conversions take from the session.
type ConvertEnv struct {
	DateFormat string    // SET DATEFORMAT: mdy (also the empty string), dmy, ymd, ydm, myd or dym
	Language   *Language // of the names of months; nil: us_english
}

// permission says whether one type converts to another.
type permission uint8

const (
	implicitly permission = iota
	explicitly
	never
)

// conversion is the matrix of the CAST and CONVERT reference.
func conversion(from, to Kind) permission {
	if from == Unknown || from == to {
		return implicitly
	}
	if to == Variant {
		if from == RowVersion {
			return never
		}
		return implicitly
	}
	if from == Variant {
		if to == RowVersion {
			return never
		}
		return explicitly
	}
	old := func(k Kind) bool { return k == DateTime || k == SmallDateTime }
	switch {
	case from.IsCharacter():
		switch {
		case to == RowVersion && from.IsUnicode():
			return never
		case to.IsBinary():
			return explicitly
		}
		return implicitly
	case from.IsBinary():
		switch {
		case to.IsApproximate():
			return never
		case from == RowVersion && (to.IsUnicode() || to == UniqueIdentifier):
			return never
		case to.IsTemporal() && !old(to):
			if from == RowVersion {
				return never
			}
			return explicitly
		}
		return implicitly
	case from == UniqueIdentifier:
		if to.IsCharacter() || to == Binary || to == VarBinary {
			return implicitly
		}
		return never
	case from.IsNumeric():
		switch {
		case to.IsNumeric():
			return implicitly
		case to.IsCharacter():
			if from.IsMoney() {
				return explicitly
			}
			return implicitly
		case to == RowVersion:
			if from.IsApproximate() {
				return never
			}
			return implicitly
		case to.IsBinary(), old(to):
			return implicitly
		}
		return never
	case from.IsTemporal():
		switch {
		case to.IsCharacter():
			return implicitly
		case to == RowVersion:
			if old(from) {
				return explicitly
			}
			return never
		case to.IsBinary():
			return explicitly
		case to.IsNumeric():
			if old(from) {
				return explicitly
			}
			return never
		case to.IsTemporal():
			if from == Date && to == Time || from == Time && to == Date {
				return never
			}
			return implicitly
		}
	}
	return never
}

// CheckImplicit answers nil when from converts to to by itself: in an assignment, a
// comparison, an argument. Otherwise it answers error 257 or 206.
func CheckImplicit(from, to Type) error {
	switch conversion(from.Kind, to.Kind) {
	case implicitly:
		if to.Kind == Variant && from.IsMax() {
			return clash(from, to)
		}
		return nil
	case explicitly:
		return NewError(257, 16, 3, "Implicit conversion from data type %s to %s is not allowed. Use the CONVERT function to run this query.", messageName(from), messageName(to))
	}
	return clash(from, to)
}

// CheckExplicit answers nil when CAST and CONVERT are possible, otherwise error 529.
func CheckExplicit(from, to Type) error {
	if conversion(from.Kind, to.Kind) == never || to.Kind == Variant && from.IsMax() {
		return NewError(529, 16, 2, "Explicit conversion from data type %s to %s is not allowed.", messageName(from), messageName(to))
	}
	return nil
}

func clash(from, to Type) error {
	return NewError(206, 16, 2, "Operand type clash: %s is incompatible with %s", messageName(from), messageName(to))
}

// messageName is the type as error messages name it.
func messageName(t Type) string {
	if t.IsMax() {
		return t.Kind.String() + "(max)"
	}
	return errName(t.Kind)
}

func errName(k Kind) string {
	if k == Decimal {
		return "numeric"
	}
	return k.String()
}

// Convert is CAST and CONVERT of v, which is of type from, to type to. Errors are *Error.
func Convert(v Value, from, to Type, style int, env ConvertEnv) (Value, error) {
	if from.Kind == Unknown || from.Kind == Variant && !v.null {
		from.Kind = v.kind
		if v.kind == Decimal {
			from.Precision, from.Scale = decimalPrecision(v), v.scale
		}
	}
	if err := CheckExplicit(from, to); err != nil {
		return Value{}, err
	}
	if to.Kind == DateTimeOffset && from.Kind.IsTemporal() && style != NoStyle && style != 0 && style != 1 {
		return Value{}, unsupportedStyle(style, from, to)
	}
	return convert(v, from, to, style, env)
}

func unsupportedStyle(style int, from, to Type) error {
	return NewError(9809, 16, 1, "The style %d is not supported for conversions from %s to %s.", style, errName(from.Kind), errName(to.Kind))
}

// Assign converts v for assignment to a variable or parameter of type to. Text and
// binary data that is too long is cut without an error.
func Assign(v Value, from, to Type, env ConvertEnv) (Value, error) {
	if err := CheckImplicit(from, to); err != nil {
		return Value{}, err
	}
	return convert(v, from, to, NoStyle, env)
}

// AssignColumn converts v for storage in a column of type to. Data that is too long
// raises error 2628, which names table and column.
func AssignColumn(v Value, from, to Type, env ConvertEnv, table, column string) (Value, error) {
	if err := CheckImplicit(from, to); err != nil {
		return Value{}, err
	}
	loose := to
	switch {
	case v.null || to.Length <= 0:
	case to.Kind.IsCharacter() && from.Kind.IsCharacter():
		loose = varying(to)
	case to.Kind.IsCharacter() && !from.Kind.IsNumeric() && from.Kind != UniqueIdentifier:
		loose = varying(to)
	case to.Kind.IsBinary() && to.Kind != RowVersion && (from.Kind.IsBinary() || from.Kind == UniqueIdentifier):
		loose = varying(to)
	}
	out, err := convert(v, from, loose, NoStyle, env)
	if err != nil || loose == to || out.null {
		return out, err
	}
	fitted := fit(out.WithKind(to.Kind), to)
	if cut := len(out.s) > len(fitted.s); cut {
		if to.Kind.IsBinary() || TrimSpaces(out.s[len(fitted.s):]) != "" {
			shown := fitted.s
			if to.Kind.IsBinary() {
				shown = ""
			}
			return Value{}, NewError(2628, 16, 1, "String or binary data would be truncated in table '%s', column '%s'. Truncated value: '%s'.", table, column, UTF16Slice(shown, 0, 100))
		}
	}
	return fitted, nil
}

// varying is t without a limit and without padding.
func varying(t Type) Type {
	switch t.Kind {
	case Char:
		t.Kind = VarChar
	case NChar:
		t.Kind = NVarChar
	case Binary:
		t.Kind = VarBinary
	}
	t.Length = Max
	return t
}

// convert does what the matrix allows.
func convert(v Value, from, to Type, style int, env ConvertEnv) (Value, error) {
	if v.null {
		return NewNull(to.Kind), nil
	}
	if to.Kind == Variant {
		return v, nil
	}
	k := v.kind
	if from.Kind != k && from.Kind.IsCharacter() != k.IsCharacter() {
		from.Kind = k
	}
	switch {
	case to.Kind.IsCharacter():
		return toText(v, from, to, style, env)
	case to.Kind.IsBinary():
		return toBinary(v, from, to, style)
	case to.Kind == UniqueIdentifier:
		return toUUID(v, from, to)
	case to.Kind.IsTemporal():
		return toTemporal(v, from, to, style, env)
	case to.Kind.IsNumeric():
		return toNumber(v, from, to)
	}
	return Value{}, clash(from, to)
}

func toUUID(v Value, from, to Type) (Value, error) {
	switch {
	case v.kind == UniqueIdentifier:
		return v, nil
	case v.kind.IsCharacter():
		u, ok := parseUUID(v.s)
		if !ok {
			return Value{}, NewError(8169, 16, 2, "Conversion failed when converting from a character string to uniqueidentifier.")
		}
		return NewUUID(u), nil
	case v.kind.IsBinary():
		var b [16]byte
		copy(b[:], v.s)
		return NewUUID(swapUUID(b)), nil
	}
	return Value{}, clash(from, to)
}

// parseUUID reads 36 characters, possibly within braces; what follows is ignored.
func parseUUID(s string) (u [16]byte, ok bool) {
	s, braced := strings.CutPrefix(s, "{")
	if len(s) < 36 || braced && (len(s) < 37 || s[36] != '}') {
		return u, false
	}
	n := 0
	for i := 0; i < 36; i++ {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return u, false
			}
			continue
		}
		d := hexDigit(s[i])
		if d < 0 {
			return u, false
		}
		u[n/2] = u[n/2]<<4 | byte(d)
		n++
	}
	return u, true
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// swapUUID turns RFC 4122 order into the order of storage, and back.
func swapUUID(u [16]byte) [16]byte {
	u[0], u[1], u[2], u[3] = u[3], u[2], u[1], u[0]
	u[4], u[5] = u[5], u[4]
	u[6], u[7] = u[7], u[6]
	return u
}

// StorageUUID is the uniqueidentifier as SQL Server stores and sends it.
func (v Value) StorageUUID() [16]byte { return swapUUID(v.UUID()) }

// FromStorageUUID is the reverse of StorageUUID.
func FromStorageUUID(b [16]byte) Value { return NewUUID(swapUUID(b)) }
