package tds

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// decoder reads a message that came from outside. After the first thing that is not
// there it answers zeros, and err says what was wrong; it never reads past the end.
type decoder struct {
	b   []byte
	err error
}

// protocolError is a message that does not follow the protocol. It ends the connection.
type protocolError struct{ what string }

func (e *protocolError) Error() string { return "tds: " + e.what }

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = &protocolError{fmt.Sprintf(format, args...)}
	}
	d.b = nil
}

func (d *decoder) bytes(n int) []byte {
	if n < 0 || n > len(d.b) {
		d.fail("the message ends within a field of %d bytes", n)
		return nil
	}
	out := d.b[:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) u8() byte {
	if b := d.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) u16() uint16 {
	if b := d.bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (d *decoder) u32() uint32 {
	if b := d.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) u64() uint64 {
	if b := d.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// text reads n UTF-16 code units.
func (d *decoder) text(n int) string { return value.DecodeUTF16(d.bytes(2 * n)) }

// shortText is a B_VARCHAR, longText a US_VARCHAR.
func (d *decoder) shortText() string { return d.text(int(d.u8())) }
func (d *decoder) longText() string  { return d.text(int(d.u16())) }

const (
	plpNull    = math.MaxUint64
	plpUnknown = math.MaxUint64 - 1
)

// plp reads a value that comes in chunks.
func (d *decoder) plp() (data []byte, null bool) {
	total := d.u64()
	if d.err != nil || total == plpNull {
		return nil, true
	}
	for {
		n := d.u32()
		if d.err != nil {
			return nil, true
		}
		if n == 0 {
			break
		}
		if uint64(n) > uint64(len(d.b)) {
			d.fail("a chunk of %d bytes is longer than the message", n)
			return nil, true
		}
		data = append(data, d.bytes(int(n))...)
	}
	if total != plpUnknown && uint64(len(data)) != total {
		d.fail("chunks of %d bytes where %d were announced", len(data), total)
	}
	return data, false
}
