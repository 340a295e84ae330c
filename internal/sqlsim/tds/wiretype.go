package tds

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// The type bytes of the protocol.
const (
	typeNull       = 0x1F
	typeInt1       = 0x30
	typeBit        = 0x32
	typeInt2       = 0x34
	typeInt4       = 0x38
	typeDateTime4  = 0x3A
	typeFloat4     = 0x3B
	typeMoney      = 0x3C
	typeDateTime   = 0x3D
	typeFloat8     = 0x3E
	typeMoney4     = 0x7A
	typeInt8       = 0x7F
	typeGUID       = 0x24
	typeIntN       = 0x26
	typeDecimalOld = 0x37
	typeNumericOld = 0x3F
	typeBitN       = 0x68
	typeDecimalN   = 0x6A
	typeNumericN   = 0x6C
	typeFloatN     = 0x6D
	typeMoneyN     = 0x6E
	typeDateTimeN  = 0x6F
	typeDateN      = 0x28
	typeTimeN      = 0x29
	typeDateTime2N = 0x2A
	typeDTOffsetN  = 0x2B
	typeCharOld    = 0x2F
	typeVarCharOld = 0x27
	typeBinOld     = 0x2D
	typeVarBinOld  = 0x25
	typeBigVarBin  = 0xA5
	typeBigVarChar = 0xA7
	typeBigBinary  = 0xAD
	typeBigChar    = 0xAF
	typeNVarChar   = 0xE7
	typeNChar      = 0xEF
	typeXML        = 0xF1
	typeUDT        = 0xF0
	typeTVP        = 0xF3
	typeText       = 0x23
	typeImage      = 0x22
	typeNText      = 0x63
	typeVariant    = 0x62
)

// typeInfo is a TYPE_INFO: the type, and how its values are laid out.
type typeInfo struct {
	id   byte
	typ  value.Type
	size int // largest value in bytes; of a fixed type, its size
	plp  bool
}

// appendCollation writes the five bytes of a collation.
func appendCollation(dst []byte, c value.Collation) []byte {
	n := uint32(c.LCID())
	set := func(cond bool, bit uint32) {
		if cond {
			n |= bit
		}
	}
	name := c.Name()
	binary2 := strings.Contains(name, "_BIN2")
	set(c.CaseInsensitive(), 1<<20)
	set(c.AccentInsensitive(), 1<<21)
	set(c.KanaInsensitive(), 1<<22)
	set(c.WidthInsensitive(), 1<<23)
	set(c.Binary() && !binary2, 1<<24)
	set(binary2, 1<<25)
	set(c.UTF8(), 1<<26)
	n |= uint32(c.Version()) << 28
	dst = binary.LittleEndian.AppendUint32(dst, n)
	return append(dst, c.SortID())
}

// collationFrom finds the collation that a client named; one that sqlsim does not know reads as the default.
func collationFrom(b []byte) value.Collation {
	if len(b) != 5 {
		return value.DefaultCollation
	}
	n := binary.LittleEndian.Uint32(b)
	if n&(1<<26) != 0 { // of these, only how varchar is encoded matters in a parameter
		c, _ := value.CollationByName("Latin1_General_100_CI_AS_SC_UTF8")
		return c
	}
	return value.DefaultCollation
}

// infoOf is how values of t are sent to a client of version v. Types that the client
// does not know go as the ones that SQL Server sends instead.
func infoOf(t value.Type, v version) typeInfo {
	ti := typeInfo{typ: t}
	switch k := t.Kind; k {
	case value.Bit:
		ti.id, ti.size = typeBitN, 1
	case value.TinyInt:
		ti.id, ti.size = typeIntN, 1
	case value.SmallInt:
		ti.id, ti.size = typeIntN, 2
	case value.Int, value.Unknown:
		ti.id, ti.size = typeIntN, 4
	case value.BigInt:
		ti.id, ti.size = typeIntN, 8
	case value.Decimal:
		if t.Precision == 0 {
			ti.typ.Precision = 38
		}
		ti.id, ti.size = typeDecimalN, decimalSize(ti.typ.Precision)
	case value.SmallMoney:
		ti.id, ti.size = typeMoneyN, 4
	case value.Money:
		ti.id, ti.size = typeMoneyN, 8
	case value.Real:
		ti.id, ti.size = typeFloatN, 4
	case value.Float:
		ti.id, ti.size = typeFloatN, 8
	case value.SmallDateTime:
		ti.id, ti.size = typeDateTimeN, 4
	case value.DateTime:
		ti.id, ti.size = typeDateTimeN, 8
	case value.Date, value.Time, value.DateTime2, value.DateTimeOffset:
		if !v.atLeast(version73) {
			ti.typ = value.Type{Kind: value.NVarChar, Length: textLength(t)}
			ti.id, ti.size = typeNVarChar, 2*ti.typ.Length
			break
		}
		ti.id = map[value.Kind]byte{value.Date: typeDateN, value.Time: typeTimeN, value.DateTime2: typeDateTime2N, value.DateTimeOffset: typeDTOffsetN}[k]
	case value.UniqueIdentifier:
		ti.id, ti.size = typeGUID, 16
	case value.RowVersion:
		ti.id, ti.size = typeBigBinary, 8
	case value.Variant:
		ti.id, ti.size = typeVariant, 8009
	default:
		ti.id = map[value.Kind]byte{
			value.Char: typeBigChar, value.VarChar: typeBigVarChar, value.NChar: typeNChar, value.NVarChar: typeNVarChar,
			value.Binary: typeBigBinary, value.VarBinary: typeBigVarBin,
		}[k]
		if t.Length == value.Max {
			if v.atLeast(version72) {
				ti.plp = true
				break
			}
			switch k {
			case value.NVarChar, value.NChar:
				ti.id, ti.size = typeNText, math.MaxInt32-1
			case value.VarChar, value.Char:
				ti.id, ti.size = typeText, math.MaxInt32
			default:
				ti.id, ti.size = typeImage, math.MaxInt32
			}
			break
		}
		ti.size = max(t.Length, 1)
		if k.IsUnicode() {
			ti.size *= 2
		}
		ti.size = min(ti.size, 8000)
	}
	return ti
}

// textLength is the number of characters that a date or time prints in.
func textLength(t value.Type) int {
	n := map[value.Kind]int{value.Date: 10, value.Time: 8, value.DateTime2: 19, value.DateTimeOffset: 26}[t.Kind]
	if t.Kind != value.Date && t.Scale > 0 {
		n += 1 + int(t.Scale)
	}
	return n
}

func decimalSize(precision uint8) int {
	switch {
	case precision <= 9:
		return 5
	case precision <= 19:
		return 9
	case precision <= 28:
		return 13
	}
	return 17
}

// append writes the TYPE_INFO.
func (ti typeInfo) append(dst []byte) []byte {
	dst = append(dst, ti.id)
	switch ti.id {
	case typeDateN:
	case typeTimeN, typeDateTime2N, typeDTOffsetN:
		dst = append(dst, ti.typ.Scale)
	case typeDecimalN:
		dst = append(dst, byte(ti.size), ti.typ.Precision, ti.typ.Scale)
	case typeVariant:
		dst = binary.LittleEndian.AppendUint32(dst, uint32(ti.size))
	case typeText, typeNText, typeImage:
		dst = binary.LittleEndian.AppendUint32(dst, uint32(ti.size))
		if ti.id != typeImage {
			dst = appendCollation(dst, ti.typ.Collation)
		}
	case typeBigVarBin, typeBigBinary, typeBigVarChar, typeBigChar, typeNVarChar, typeNChar:
		size := uint16(ti.size)
		if ti.plp {
			size = 0xFFFF
		}
		dst = binary.LittleEndian.AppendUint16(dst, size)
		if ti.typ.Kind.IsCharacter() {
			dst = appendCollation(dst, ti.typ.Collation)
		}
	default:
		dst = append(dst, byte(ti.size))
	}
	return dst
}

// appendNull writes NULL.
func (ti typeInfo) appendNull(dst []byte) []byte {
	switch ti.id {
	case typeVariant:
		return append(dst, 0, 0, 0, 0)
	case typeText, typeNText, typeImage: // no text pointer
		return append(dst, 0)
	case typeBigVarBin, typeBigBinary, typeBigVarChar, typeBigChar, typeNVarChar, typeNChar:
		if ti.plp {
			return binary.LittleEndian.AppendUint64(dst, plpNull)
		}
		return append(dst, 0xFF, 0xFF)
	}
	return append(dst, 0)
}

// fits tells whether v is laid out like the values of ti's type.
func (ti typeInfo) fits(v value.Value) bool {
	have, want := v.Kind(), ti.typ.Kind
	switch {
	case want == value.Variant:
		return true
	case have == value.Decimal && want == value.Decimal:
		return v.Scale() == ti.typ.Scale
	case have == want:
		return true
	case want == value.Unknown:
		return have.IsInteger()
	}
	return have.IsInteger() && want.IsInteger() || have.IsCharacter() && want.IsCharacter() || have.IsBinary() && want.IsBinary()
}

// appendValue writes a value with its length.
func (ti typeInfo) appendValue(dst []byte, v value.Value) []byte {
	if !v.IsNull() && !ti.fits(v) {
		converted, err := value.Convert(v, value.Type{Kind: v.Kind(), Scale: v.Scale()}, ti.typ, value.NoStyle, value.ConvertEnv{})
		if err != nil {
			converted = value.NewNull(ti.typ.Kind)
		}
		v = converted
	}
	if v.IsNull() {
		return ti.appendNull(dst)
	}
	switch ti.id {
	case typeVariant:
		return appendVariant(dst, v)
	case typeText, typeNText, typeImage:
		data := ti.encode(nil, v)
		dst = append(dst, 16) // a text pointer and a timestamp of no meaning
		dst = append(dst, make([]byte, 16+8)...)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(data)))
		return append(dst, data...)
	case typeBigVarBin, typeBigBinary, typeBigVarChar, typeBigChar, typeNVarChar, typeNChar:
		if ti.plp {
			at := len(dst)
			dst = append(dst, make([]byte, 12)...)
			dst = ti.encode(dst, v)
			n := len(dst) - at - 12
			binary.LittleEndian.PutUint64(dst[at:], uint64(n))
			binary.LittleEndian.PutUint32(dst[at+8:], uint32(n))
			if n == 0 { // the empty chunk just written is the terminator
				return dst
			}
			return append(dst, 0, 0, 0, 0)
		}
		at := len(dst)
		dst = append(dst, 0, 0)
		dst = ti.encode(dst, v)
		if n := len(dst) - at - 2; n > ti.size { // never more than announced
			dst = dst[:at+2+ti.size]
		}
		binary.LittleEndian.PutUint16(dst[at:], uint16(len(dst)-at-2))
		return dst
	}
	at := len(dst)
	dst = append(dst, 0)
	dst = ti.encode(dst, v)
	dst[at] = byte(len(dst) - at - 1)
	return dst
}

// encode writes the bytes of a value without its length.
func (ti typeInfo) encode(dst []byte, v value.Value) []byte {
	le := binary.LittleEndian
	switch ti.id {
	case typeBitN:
		return append(dst, byte(v.Int()&1))
	case typeIntN:
		n := v.Int()
		for range ti.size {
			dst = append(dst, byte(n))
			n >>= 8
		}
		return dst
	case typeDecimalN:
		return appendDecimal(dst, v, ti.size)
	case typeMoneyN:
		if ti.size == 4 {
			return le.AppendUint32(dst, uint32(v.Int()))
		}
		dst = le.AppendUint32(dst, uint32(uint64(v.Int())>>32))
		return le.AppendUint32(dst, uint32(v.Int()))
	case typeFloatN:
		if ti.size == 4 {
			return le.AppendUint32(dst, math.Float32bits(float32(v.Float())))
		}
		return le.AppendUint64(dst, math.Float64bits(v.Float()))
	case typeDateTimeN:
		day, rest := v.Ticks()/value.TicksPerDay-value.Days1900, v.Ticks()%value.TicksPerDay
		if ti.size == 4 {
			dst = le.AppendUint16(dst, uint16(day))
			return le.AppendUint16(dst, uint16(rest/value.TicksPerMinute))
		}
		dst = le.AppendUint32(dst, uint32(int32(day)))
		return le.AppendUint32(dst, uint32((rest*3+50_000)/100_000))
	case typeDateN:
		return appendDays(dst, v.Ticks()/value.TicksPerDay)
	case typeTimeN:
		return value.AppendTicks(dst, v.Ticks(), ti.typ.Scale)
	case typeDateTime2N:
		dst = value.AppendTicks(dst, v.Ticks()%value.TicksPerDay, ti.typ.Scale)
		return appendDays(dst, v.Ticks()/value.TicksPerDay)
	case typeDTOffsetN:
		dst = value.AppendTicks(dst, v.Ticks()%value.TicksPerDay, ti.typ.Scale)
		dst = appendDays(dst, v.Ticks()/value.TicksPerDay)
		return le.AppendUint16(dst, uint16(int16(v.Offset())))
	case typeGUID:
		u := v.StorageUUID()
		return append(dst, u[:]...)
	case typeNVarChar, typeNChar, typeNText:
		return value.EncodeUTF16(dst, v.Raw())
	case typeBigVarChar, typeBigChar, typeText:
		return value.EncodeChars(dst, v.Raw(), ti.typ.Collation)
	}
	return append(dst, v.Raw()...)
}

func appendDays(dst []byte, days int64) []byte {
	return append(dst, byte(days), byte(days>>8), byte(days>>16))
}

// appendDecimal writes the sign and the digits in size-1 bytes.
func appendDecimal(dst []byte, v value.Value, size int) []byte {
	n, _ := v.Dec()
	sign := byte(1)
	if n.Sign() < 0 {
		sign = 0
	}
	digits := new(big.Int).Abs(n).Bytes()
	slices.Reverse(digits)
	dst = append(dst, sign)
	for i := range size - 1 {
		b := byte(0)
		if i < len(digits) {
			b = digits[i]
		}
		dst = append(dst, b)
	}
	return dst
}

// appendVariant writes a sql_variant: its base type, the properties of that, and the value.
func appendVariant(dst []byte, v value.Value) []byte {
	var id byte
	var props []byte
	t := value.Type{Kind: v.Kind(), Scale: v.Scale()}
	switch k := v.Kind(); {
	case k == value.Decimal:
		n, _ := v.Dec()
		t.Precision = uint8(max(len(new(big.Int).Abs(n).String()), int(v.Scale()), 1))
	case k.IsCharacter(), k.IsBinary():
		t.Length = 8000
		if k.IsUnicode() {
			t.Length = 4000
		}
	}
	ti := infoOf(t, version74)
	id = ti.id
	switch k := v.Kind(); {
	case k == value.Decimal:
		props = []byte{t.Precision, t.Scale}
		ti.size = 17
	case k == value.Time, k == value.DateTime2, k == value.DateTimeOffset:
		props = []byte{t.Scale}
	case k.IsCharacter():
		props = appendCollation(nil, t.Collation)
		props = append(props, 0x40, 0x1F) // 8000
	case k.IsBinary():
		props = []byte{0x40, 0x1F}
	case k == value.Date, k == value.UniqueIdentifier:
	default: // the fixed type that the nullable one stands for
		id = map[value.Kind]byte{
			value.Bit: typeBit, value.TinyInt: typeInt1, value.SmallInt: typeInt2, value.Int: typeInt4, value.BigInt: typeInt8,
			value.SmallMoney: typeMoney4, value.Money: typeMoney, value.Real: typeFloat4, value.Float: typeFloat8,
			value.SmallDateTime: typeDateTime4, value.DateTime: typeDateTime,
		}[k]
	}
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0, id, byte(len(props)))
	dst = append(dst, props...)
	dst = ti.encode(dst, v)
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}
