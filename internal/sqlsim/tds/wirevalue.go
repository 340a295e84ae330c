package tds

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// unsupported is a type that sqlsim does not support, read to its end all the same.
type unsupported struct{ name string }

func (e *unsupported) Error() string { return "sqlsim does not support " + e.name }

// typeInfo reads a TYPE_INFO that a client sent.
func (d *decoder) typeInfo() typeInfo {
	ti := typeInfo{id: d.u8()}
	fixed := func(k value.Kind, size int) typeInfo {
		ti.typ.Kind, ti.size = k, size
		return ti
	}
	switch ti.id {
	case typeNull:
		return ti
	case typeBit:
		return fixed(value.Bit, 1)
	case typeInt1:
		return fixed(value.TinyInt, 1)
	case typeInt2:
		return fixed(value.SmallInt, 2)
	case typeInt4:
		return fixed(value.Int, 4)
	case typeInt8:
		return fixed(value.BigInt, 8)
	case typeFloat4:
		return fixed(value.Real, 4)
	case typeFloat8:
		return fixed(value.Float, 8)
	case typeMoney:
		return fixed(value.Money, 8)
	case typeMoney4:
		return fixed(value.SmallMoney, 4)
	case typeDateTime:
		return fixed(value.DateTime, 8)
	case typeDateTime4:
		return fixed(value.SmallDateTime, 4)
	case typeDateN:
		return fixed(value.Date, 3)
	case typeTimeN, typeDateTime2N, typeDTOffsetN:
		ti.typ.Kind = map[byte]value.Kind{typeTimeN: value.Time, typeDateTime2N: value.DateTime2, typeDTOffsetN: value.DateTimeOffset}[ti.id]
		if ti.typ.Scale = d.u8(); ti.typ.Scale > 7 {
			d.fail("scale %d of type %#x", ti.typ.Scale, ti.id)
		}
		return ti
	case typeBitN, typeIntN, typeFloatN, typeMoneyN, typeDateTimeN, typeGUID:
		ti.size = int(d.u8())
		kind, ok := nullableKinds[[2]byte{ti.id, byte(ti.size)}]
		if !ok {
			d.fail("size %d of type %#x", ti.size, ti.id)
		}
		ti.typ.Kind = kind
		return ti
	case typeDecimalN, typeNumericN, typeDecimalOld, typeNumericOld:
		ti.size = int(d.u8())
		ti.typ = value.Type{Kind: value.Decimal, Precision: d.u8(), Scale: d.u8()}
		if d.err == nil && (ti.typ.Precision < 1 || ti.typ.Precision > 38 || ti.typ.Scale > ti.typ.Precision || ti.size > 17) {
			d.fail("decimal(%d,%d) of %d bytes", ti.typ.Precision, ti.typ.Scale, ti.size)
		}
		return ti
	case typeCharOld, typeVarCharOld, typeBinOld, typeVarBinOld:
		ti.size = int(d.u8())
		ti.typ.Kind = map[byte]value.Kind{typeCharOld: value.Char, typeVarCharOld: value.VarChar, typeBinOld: value.Binary, typeVarBinOld: value.VarBinary}[ti.id]
		ti.typ.Length = max(ti.size, 1)
		return ti
	case typeBigVarBin, typeBigBinary, typeBigVarChar, typeBigChar, typeNVarChar, typeNChar:
		ti.size = int(d.u16())
		ti.typ.Kind = map[byte]value.Kind{
			typeBigVarBin: value.VarBinary, typeBigBinary: value.Binary, typeBigVarChar: value.VarChar, typeBigChar: value.Char,
			typeNVarChar: value.NVarChar, typeNChar: value.NChar,
		}[ti.id]
		switch {
		case ti.size == 0xFFFF:
			ti.plp = true
			ti.typ.Length = value.Max
		case ti.typ.Kind.IsUnicode():
			ti.typ.Length = max(ti.size/2, 1)
		default:
			ti.typ.Length = max(ti.size, 1)
		}
		if ti.typ.Kind.IsCharacter() {
			ti.typ.Collation = collationFrom(d.bytes(5))
		}
		if d.err == nil && !ti.plp && ti.size > 8000 {
			d.fail("size %d of type %#x", ti.size, ti.id)
		}
		return ti
	case typeText, typeNText, typeImage:
		ti.size = int(d.u32())
		ti.typ = value.Type{Kind: map[byte]value.Kind{typeText: value.VarChar, typeNText: value.NVarChar, typeImage: value.VarBinary}[ti.id], Length: value.Max}
		if ti.id != typeImage {
			ti.typ.Collation = collationFrom(d.bytes(5))
		}
		return ti
	case typeVariant:
		ti.size = int(d.u32())
		ti.typ.Kind = value.Variant
		return ti
	case typeXML:
		if d.u8() != 0 { // database, owner, schema collection
			d.shortText()
			d.shortText()
			d.longText()
		}
		ti.plp = true
		return ti
	case typeUDT:
		d.u16()
		for range 3 {
			d.shortText()
		}
		d.longText()
		ti.plp = true
		return ti
	}
	d.fail("data type %#x is unknown", ti.id)
	return ti
}

var nullableKinds = map[[2]byte]value.Kind{
	{typeBitN, 1}: value.Bit,
	{typeIntN, 1}: value.TinyInt, {typeIntN, 2}: value.SmallInt, {typeIntN, 4}: value.Int, {typeIntN, 8}: value.BigInt,
	{typeFloatN, 4}: value.Real, {typeFloatN, 8}: value.Float,
	{typeMoneyN, 4}: value.SmallMoney, {typeMoneyN, 8}: value.Money,
	{typeDateTimeN, 4}: value.SmallDateTime, {typeDateTimeN, 8}: value.DateTime,
	{typeGUID, 16}: value.UniqueIdentifier,
	{typeGUID, 0}:  value.UniqueIdentifier, {typeIntN, 0}: value.Int, {typeBitN, 0}: value.Bit, {typeFloatN, 0}: value.Float,
	{typeMoneyN, 0}: value.Money, {typeDateTimeN, 0}: value.DateTime,
}

// value reads a value of type ti.
func (d *decoder) value(ti typeInfo) (value.Value, error) {
	null := value.NewNull(ti.typ.Kind)
	switch ti.id {
	case typeNull:
		return null, nil
	case typeXML, typeUDT:
		d.plp()
		return null, &unsupported{map[byte]string{typeXML: "parameters of type xml", typeUDT: "parameters of CLR types"}[ti.id]}
	case typeBit, typeInt1, typeInt2, typeInt4, typeInt8, typeFloat4, typeFloat8, typeMoney, typeMoney4, typeDateTime, typeDateTime4:
		return d.decode(ti, d.bytes(ti.size)), nil
	case typeVariant:
		return d.variant()
	case typeText, typeNText, typeImage:
		n := d.u32()
		if d.err != nil || n == 0xFFFFFFFF {
			return null, nil
		}
		if uint64(n) > uint64(len(d.b)) {
			d.fail("a value of %d bytes is longer than the message", n)
			return null, nil
		}
		return d.decode(ti, d.bytes(int(n))), nil
	case typeBigVarBin, typeBigBinary, typeBigVarChar, typeBigChar, typeNVarChar, typeNChar:
		if ti.plp {
			data, isNull := d.plp()
			if isNull {
				return null, nil
			}
			return d.decode(ti, data), nil
		}
		n := d.u16()
		if d.err != nil || n == 0xFFFF {
			return null, nil
		}
		if int(n) > ti.size {
			d.fail("a value of %d bytes in a type of %d", n, ti.size)
			return null, nil
		}
		return d.decode(ti, d.bytes(int(n))), nil
	case typeCharOld, typeVarCharOld, typeBinOld, typeVarBinOld:
		n := d.u8()
		if n == 0 || d.err != nil {
			return null, nil
		}
		return d.decode(ti, d.bytes(int(n))), nil
	}
	n := d.u8()
	if n == 0 || d.err != nil {
		return null, nil
	}
	return d.decode(ti, d.bytes(int(n))), nil
}

// decode reads the bytes of a value that is not NULL.
func (d *decoder) decode(ti typeInfo, b []byte) value.Value {
	k := ti.typ.Kind
	if d.err != nil {
		return value.NewNull(k)
	}
	le := binary.LittleEndian
	wrong := func() value.Value {
		d.fail("a value of %d bytes of type %#x", len(b), ti.id)
		return value.NewNull(k)
	}
	switch {
	case k.IsUnicode():
		if len(b)%2 != 0 {
			return wrong()
		}
		return value.NewString(k, value.DecodeUTF16(b))
	case k.IsCharacter():
		return value.NewString(k, value.DecodeChars(b, ti.typ.Collation))
	case k.IsBinary():
		return value.NewBinary(k, b)
	case k == value.UniqueIdentifier:
		if len(b) != 16 {
			return wrong()
		}
		return value.FromStorageUUID([16]byte(b))
	case k.IsInteger():
		switch {
		case k == value.Bit && len(b) == 1:
			return value.NewBit(b[0] != 0)
		case len(b) == 1:
			return value.NewInt(k, int64(b[0]))
		case len(b) == 2:
			return value.NewInt(k, int64(int16(le.Uint16(b))))
		case len(b) == 4:
			return value.NewInt(k, int64(int32(le.Uint32(b))))
		case len(b) == 8:
			return value.NewInt(k, int64(le.Uint64(b)))
		}
	case k.IsApproximate():
		switch len(b) {
		case 4:
			return finite(d, float64(math.Float32frombits(le.Uint32(b))), value.Real).WithKind(k)
		case 8:
			return finite(d, math.Float64frombits(le.Uint64(b)), value.Float).WithKind(k)
		}
	case k.IsMoney():
		switch len(b) {
		case 4:
			return value.NewInt(k, int64(int32(le.Uint32(b))))
		case 8:
			return value.NewInt(k, int64(uint64(le.Uint32(b))<<32|uint64(le.Uint32(b[4:]))))
		}
	case k == value.Decimal:
		if len(b) < 2 || len(b) > 17 {
			return wrong()
		}
		digits := slices.Clone(b[1:])
		slices.Reverse(digits)
		n := new(big.Int).SetBytes(digits)
		if b[0] == 0 {
			n.Neg(n)
		}
		if len(new(big.Int).Abs(n).String()) > 38 {
			return wrong()
		}
		return value.NewDecimal(n, ti.typ.Scale)
	case k == value.DateTime || k == value.SmallDateTime:
		switch len(b) {
		case 4:
			minute := int64(le.Uint16(b[2:]))
			if minute >= 1440 {
				return wrong()
			}
			return value.NewSmallDateTime((int64(le.Uint16(b))+value.Days1900)*value.TicksPerDay + minute*value.TicksPerMinute).WithKind(k)
		case 8:
			day, thirds := int64(int32(le.Uint32(b)))+value.Days1900, int64(le.Uint32(b[4:]))
			if day < 639905 || day > maxDay || thirds >= 25_920_000 { // from 1753 on
				return wrong()
			}
			return value.NewDateTime(day*value.TicksPerDay + thirds*100_000/3).WithKind(k)
		}
	case k == value.Date:
		if len(b) != 3 || number(b) > maxDay {
			return wrong()
		}
		return value.NewDate(number(b))
	case k == value.Time || k == value.DateTime2 || k == value.DateTimeOffset:
		return d.decodeTime(ti, b)
	}
	return wrong()
}

const maxDay = 3652058 // 9999-12-31

func finite(d *decoder, f float64, k value.Kind) value.Value {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		d.fail("a float that is not a number")
		f = 0
	}
	if k == value.Real {
		return value.NewReal(float32(f))
	}
	return value.NewFloat(f)
}

func number(b []byte) (n int64) {
	for i := len(b) - 1; i >= 0; i-- {
		n = n<<8 | int64(b[i])
	}
	return n
}

func (d *decoder) decodeTime(ti typeInfo, b []byte) value.Value {
	k, scale := ti.typ.Kind, ti.typ.Scale
	size := 5
	if scale <= 2 {
		size = 3
	} else if scale <= 4 {
		size = 4
	}
	tail := map[value.Kind]int{value.Time: 0, value.DateTime2: 3, value.DateTimeOffset: 5}[k]
	wrong := func() value.Value {
		d.fail("a value of %d bytes of type %#x", len(b), ti.id)
		return value.NewNull(k)
	}
	if len(b) != size+tail {
		return wrong()
	}
	ticks := number(b[:size])
	for i := scale; i < 7; i++ {
		ticks *= 10
	}
	if ticks < 0 || ticks >= value.TicksPerDay {
		return wrong()
	}
	if k == value.Time {
		return value.NewTime(ticks, scale)
	}
	day := number(b[size : size+3])
	if day > maxDay {
		return wrong()
	}
	ticks += day * value.TicksPerDay
	if k == value.DateTime2 {
		return value.NewDateTime2(ticks, scale)
	}
	off := int(int16(binary.LittleEndian.Uint16(b[size+3:])))
	if off < -840 || off > 840 {
		return wrong()
	}
	return value.NewDateTimeOffset(ticks, off, scale)
}

// variant reads a sql_variant; the value has its base type.
func (d *decoder) variant() (value.Value, error) {
	total := d.u32()
	if d.err != nil || total == 0 {
		return value.NewNull(value.Variant), nil
	}
	if uint64(total) > uint64(len(d.b)) {
		d.fail("a sql_variant of %d bytes is longer than the message", total)
		return value.NewNull(value.Variant), nil
	}
	in := decoder{b: d.bytes(int(total))}
	ti := typeInfo{id: in.u8()}
	props := decoder{b: in.bytes(int(in.u8()))}
	switch ti.id {
	case typeDecimalN, typeNumericN:
		ti.typ = value.Type{Kind: value.Decimal, Precision: props.u8(), Scale: props.u8()}
		if ti.typ.Scale > 38 {
			props.fail("scale %d", ti.typ.Scale)
		}
	case typeTimeN, typeDateTime2N, typeDTOffsetN:
		ti = (&decoder{b: []byte{ti.id, min(props.u8(), 7)}}).typeInfo()
	case typeBigVarChar, typeBigChar, typeNVarChar, typeNChar, typeBigVarBin, typeBigBinary:
		b := append([]byte{ti.id, 0x40, 0x1F}, make([]byte, 5)...)
		if ti.id != typeBigVarBin && ti.id != typeBigBinary {
			copy(b[3:], props.bytes(5))
		} else {
			b = b[:3]
		}
		ti = (&decoder{b: b}).typeInfo()
	case typeGUID:
		ti.typ.Kind = value.UniqueIdentifier
	case typeBit, typeInt1, typeInt2, typeInt4, typeInt8, typeFloat4, typeFloat8, typeMoney, typeMoney4, typeDateTime, typeDateTime4, typeDateN:
		ti = (&decoder{b: []byte{ti.id}}).typeInfo()
	default:
		in.fail("base type %#x of a sql_variant", ti.id)
	}
	v := in.decode(ti, in.b)
	if props.err != nil {
		d.err = props.err
	}
	if in.err != nil {
		d.err = in.err
	}
	if d.err != nil {
		d.b = nil
		return value.NewNull(value.Variant), nil
	}
	return v, nil
}
