package tds

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// samples are values of all types, as parameters carry them.
func samples() []struct {
	typ value.Type
	v   value.Value
} {
	const ticks = 738_000*value.TicksPerDay + 3*value.TicksPerHour + 1_234_567
	type sample = struct {
		typ value.Type
		v   value.Value
	}
	return []sample{
		{value.Type{Kind: value.Bit}, value.NewBit(true)},
		{value.Type{Kind: value.TinyInt}, value.NewInt(value.TinyInt, 200)},
		{value.Type{Kind: value.SmallInt}, value.NewInt(value.SmallInt, -200)},
		{value.Type{Kind: value.Int}, value.NewInt(value.Int, -70000)},
		{value.Type{Kind: value.BigInt}, value.NewInt(value.BigInt, -1<<40)},
		{value.Type{Kind: value.Decimal, Precision: 20, Scale: 3}, value.NewDecimalInt(-123456789012, 3)},
		{value.Type{Kind: value.Money}, value.NewInt(value.Money, -1<<40)},
		{value.Type{Kind: value.SmallMoney}, value.NewInt(value.SmallMoney, -5)},
		{value.Type{Kind: value.Real}, value.NewReal(1.5)},
		{value.Type{Kind: value.Float}, value.NewFloat(-2.25)},
		{value.Type{Kind: value.Date}, value.NewDate(738_000)},
		{value.Type{Kind: value.Time, Scale: 7}, value.NewTime(1_234_567, 7)},
		{value.Type{Kind: value.SmallDateTime}, value.NewSmallDateTime(ticks)},
		{value.Type{Kind: value.DateTime}, value.NewDateTime(ticks)},
		{value.Type{Kind: value.DateTime2, Scale: 7}, value.NewDateTime2(ticks, 7)},
		{value.Type{Kind: value.DateTime2, Scale: 3}, value.NewDateTime2(ticks, 3)},
		{value.Type{Kind: value.DateTimeOffset, Scale: 0}, value.NewDateTimeOffset(ticks, -90, 0)},
		{value.Type{Kind: value.Char, Length: 2}, value.NewString(value.Char, "é ")},
		{value.Type{Kind: value.VarChar, Length: 20}, value.NewString(value.VarChar, "€uro")},
		{value.Type{Kind: value.NChar, Length: 2}, value.NewString(value.NChar, "日本")},
		{value.Type{Kind: value.NVarChar, Length: 20}, value.NewString(value.NVarChar, "😀")},
		{value.Type{Kind: value.NVarChar, Length: value.Max}, value.NewString(value.NVarChar, "max")},
		{value.Type{Kind: value.NVarChar, Length: value.Max}, value.NewString(value.NVarChar, "")},
		{value.Type{Kind: value.VarBinary, Length: value.Max}, value.NewBinary(value.VarBinary, []byte{1, 2, 3})},
		{value.Type{Kind: value.Binary, Length: 3}, value.NewBinary(value.Binary, []byte{1, 2, 3})},
		{value.Type{Kind: value.UniqueIdentifier}, value.NewUUID([16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9})},
		{value.Type{Kind: value.Variant}, value.NewInt(value.Int, 7)},
		{value.Type{Kind: value.Variant}, value.NewString(value.NVarChar, "variant")},
		{value.Type{Kind: value.Variant}, value.NewDecimalInt(-7, 2)},
		{value.Type{Kind: value.Variant}, value.NewDateTimeOffset(ticks, 60, 7)},
	}
}

// TestRoundTrip reads back what is sent: both directions lay out values alike.
func TestRoundTrip(t *testing.T) {
	for _, s := range samples() {
		ti := infoOf(s.typ, version74)
		b := ti.append(nil)
		b = ti.appendValue(b, s.v)
		b = ti.appendValue(b, value.NewNull(s.typ.Kind))
		d := decoder{b: b}
		got := d.typeInfo()
		v, err := d.value(got)
		if err != nil || d.err != nil {
			t.Errorf("%v %v: %v, %v", s.typ, s.v, err, d.err)
			continue
		}
		if got.typ != s.typ || v.String() != s.v.String() || v.Kind() != s.v.Kind() {
			t.Errorf("%v %v came back as %v %v", s.typ, s.v, got.typ, v)
		}
		if v, err = d.value(got); err != nil || d.err != nil || !v.IsNull() || len(d.b) != 0 {
			t.Errorf("%v: NULL came back as %v, %v, %v, %d bytes left", s.typ, v, err, d.err, len(d.b))
		}
	}
}

// rpcSeed is a call of sp_executesql with a parameter of each type.
func rpcSeed() []byte {
	b := []byte{22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}
	b = append(b, 0xFF, 0xFF, 10, 0, 0, 0)
	for i, s := range samples() {
		b = appendShortText(b, "@p")
		b = append(b, byte(i&1))
		ti := infoOf(s.typ, version74)
		b = ti.append(b)
		b = ti.appendValue(b, s.v)
	}
	return b
}

func tvpSeed() []byte {
	b := []byte{4, 0, 0, 0}
	b = appendLongText(b, "p")
	b = append(b, 0, 0)
	b = appendShortText(b, "@t")
	b = append(b, 0, typeTVP, 0, 0)
	b = appendShortText(b, "Rows")
	b = append(b, 2, 0)
	for _, s := range samples()[3:5] {
		b = append(b, 0, 0, 0, 0, 1, 0)
		b = infoOf(s.typ, version74).append(b)
		b = append(b, 0)
	}
	b = append(b, 0, 1)
	for _, s := range samples()[3:5] {
		b = infoOf(s.typ, version74).appendValue(b, s.v)
	}
	return append(b, 0)
}

func loginSeed() []byte {
	b := make([]byte, 94)
	binary.LittleEndian.PutUint32(b[4:], uint32(version74))
	b[27] = flags3Extension
	at := 36
	for range 9 {
		binary.LittleEndian.PutUint16(b[at:], uint16(len(b)))
		binary.LittleEndian.PutUint16(b[at+2:], 2)
		at += 4
		if at == 60 { // the extension: its length is in bytes
			binary.LittleEndian.PutUint16(b[56:], uint16(len(b)))
			binary.LittleEndian.PutUint16(b[58:], 4)
			b = binary.LittleEndian.AppendUint32(b, uint32(len(b)+4))
			b = append(b, featureUTF8, 1, 0, 0, 0, 1, featureEnd)
			continue
		}
		b = value.EncodeUTF16(b, "ab")
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	return b
}

func TestLoginSeed(t *testing.T) {
	l, err := parseLogin(loginSeed())
	if err != nil || l.user != "ab" || len(l.features) != 1 {
		t.Errorf("%+v, %v", l, err)
	}
}

// FuzzMessages feeds the readers of all messages. They must not panic, and must not
// make much of little.
func FuzzMessages(f *testing.F) {
	f.Add(byte(packetRPC), rpcSeed())
	f.Add(byte(packetRPC), tvpSeed())
	f.Add(byte(packetLogin7), loginSeed())
	f.Add(byte(packetPreLogin), appendPreLogin(nil, [4]uint16{16, 0, 1, 0}, 0))
	f.Add(byte(packetTransaction), []byte{4, 0, 0, 0, 5, 0, 2, 2, 'a', 0})
	f.Add(byte(packetTransaction), []byte{4, 0, 0, 0, 7, 0, 0, 1, 4, 0})
	f.Add(byte(packetBatch), append([]byte{4, 0, 0, 0}, value.EncodeUTF16(nil, "SELECT 1")...))
	f.Add(byte(packetResponse), []byte{packetBatch, statusEOM, 0, 10, 0, 0, 1, 0, 'x', 0})
	f.Fuzz(func(t *testing.T, kind byte, data []byte) {
		switch kind {
		case packetPreLogin:
			parsePreLogin(data)
		case packetLogin7:
			parseLogin(data)
		case packetTransaction:
			d := &decoder{b: data}
			d.headers()
			parseTransactionRequest(d)
		case packetBatch:
			d := &decoder{b: data}
			d.headers()
			value.DecodeUTF16(d.b)
		case packetResponse:
			m, err := readMessage(bytes.NewReader(data), 1<<16)
			if err == nil && len(m.data) > len(data) {
				t.Errorf("%d bytes made of %d", len(m.data), len(data))
			}
		default:
			v := []version{version71, version74}[kind&1]
			d := &decoder{b: data}
			if v != version71 {
				d.headers()
			}
			calls, err := parseRPC(d, v)
			if err != nil {
				return
			}
			for _, c := range calls {
				for _, p := range c.call.Params { // what was read can be sent
					if p.Table == nil && c.err == nil {
						ti := infoOf(p.Type, version74)
						ti.appendValue(ti.append(nil), p.Value)
					}
				}
			}
		}
	})
}
