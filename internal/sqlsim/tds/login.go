package tds

import (
	"encoding/binary"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

const maxLogin = 128 << 10

// Bits of a login's flags.
const (
	flags2Integrated = 0x80
	typeReadOnly     = 0x20
	flags3Extension  = 0x10
	flags3ChangePass = 0x01
)

// The feature extensions.
const (
	featureFedAuth = 0x02
	featureUTF8    = 0x0A
	featureEnd     = 0xFF
)

// login7 is a client's login record.
type login7 struct {
	version        version
	packetSize     int
	pid            uint32
	integrated     bool
	readOnly       bool
	changePassword bool
	attach         string
	host, user     string
	password, app  string
	server         string
	library        string
	language       string
	database       string
	features       map[byte][]byte
}

// parseLogin reads a LOGIN7 message.
func parseLogin(data []byte) (login7, error) {
	d := decoder{b: data}
	size := d.u32()
	l := login7{version: version(d.u32()), packetSize: int(min(d.u32(), 1<<16))}
	d.u32() // version of the client program
	l.pid = d.u32()
	d.u32() // connection to join
	flags := d.bytes(4)
	d.u32() // time zone
	d.u32() // language id
	if d.err != nil {
		return l, d.err
	}
	if int64(size) != int64(len(data)) {
		return l, &protocolError{"the length of the login record is not that of the message"}
	}
	l.integrated = flags[1]&flags2Integrated != 0
	l.readOnly = flags[2]&typeReadOnly != 0
	l.changePassword = flags[3]&flags3ChangePass != 0

	field := func() []byte { // its length counts code units
		offset, n := int(d.u16()), 2*int(d.u16())
		if d.err == nil && offset+n > len(data) {
			d.fail("a field of the login record lies outside of it")
		}
		if d.err != nil {
			return nil
		}
		if n == 0 {
			return nil
		}
		return data[offset : offset+n]
	}
	l.host = value.DecodeUTF16(field())
	l.user = value.DecodeUTF16(field())
	l.password = value.DecodeUTF16(reveal(field()))
	l.app = value.DecodeUTF16(field())
	l.server = value.DecodeUTF16(field())
	extension, extensionSize := int(d.u16()), int(d.u16())
	l.library = value.DecodeUTF16(field())
	l.language = value.DecodeUTF16(field())
	l.database = value.DecodeUTF16(field())
	d.bytes(6) // the client's network address
	d.u32()    // SSPI: offset and length
	l.attach = value.DecodeUTF16(field())
	if l.version.atLeast(version72) && len(d.b) >= 8 {
		field() // new password
		d.u32() // long SSPI length
	}
	if d.err != nil {
		return l, d.err
	}
	if flags[3]&flags3Extension != 0 && extensionSize >= 4 {
		if extension+4 > len(data) {
			return l, &protocolError{"the extension of the login record lies outside of it"}
		}
		at := binary.LittleEndian.Uint32(data[extension:])
		if uint64(at) > uint64(len(data)) {
			return l, &protocolError{"the features of the login record lie outside of it"}
		}
		var err error
		if l.features, err = parseFeatures(data[at:]); err != nil {
			return l, err
		}
	}
	return l, nil
}

func parseFeatures(data []byte) (map[byte][]byte, error) {
	features := map[byte][]byte{}
	d := decoder{b: data}
	for {
		id := d.u8()
		if d.err != nil || id == featureEnd {
			return features, d.err
		}
		n := d.u32()
		if uint64(n) > uint64(len(d.b)) {
			return nil, &protocolError{"a feature of the login record does not end"}
		}
		features[id] = d.bytes(int(n))
	}
}

// reveal undoes the obfuscation of passwords.
func reveal(b []byte) []byte {
	out := make([]byte, len(b))
	for i, c := range b {
		c ^= 0xA5
		out[i] = c<<4 | c>>4
	}
	return out
}
