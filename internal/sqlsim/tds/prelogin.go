package tds

import "encoding/binary"

// The options of a pre-login message.
const (
	preVersion    = 0x00
	preEncryption = 0x01
	preInstance   = 0x02
	preThread     = 0x03
	preMARS       = 0x04
	preEnd        = 0xFF
)

// What each side says about encryption.
const (
	encryptLogin        = 0x00 // only the login
	encryptAll          = 0x01
	encryptNotSupported = 0x02
	encryptRequired     = 0x03
)

const maxPreLogin = 8 << 10

// parsePreLogin reads the options of a client's pre-login message.
func parsePreLogin(data []byte) (map[byte][]byte, error) {
	options := map[byte][]byte{}
	for i := 0; ; i += 5 {
		if i >= len(data) {
			return nil, &protocolError{"the list of pre-login options does not end"}
		}
		if data[i] == preEnd {
			return options, nil
		}
		if i+5 > len(data) {
			return nil, &protocolError{"the list of pre-login options does not end"}
		}
		offset, size := int(binary.BigEndian.Uint16(data[i+1:])), int(binary.BigEndian.Uint16(data[i+3:]))
		if offset+size > len(data) {
			return nil, &protocolError{"a pre-login option lies outside the message"}
		}
		options[data[i]] = data[offset : offset+size]
	}
}

// appendPreLogin writes the server's answer.
func appendPreLogin(dst []byte, serverVersion [4]uint16, encryption byte) []byte {
	ver := []byte{byte(serverVersion[0]), byte(serverVersion[1]), byte(serverVersion[2] >> 8), byte(serverVersion[2]), 0, 0}
	options := []struct {
		token byte
		data  []byte
	}{
		{preVersion, ver}, {preEncryption, []byte{encryption}}, {preInstance, []byte{0}}, {preThread, nil}, {preMARS, []byte{0}},
	}
	offset := 5*len(options) + 1
	for _, o := range options {
		dst = append(dst, o.token)
		dst = binary.BigEndian.AppendUint16(dst, uint16(offset))
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(o.data)))
		offset += len(o.data)
	}
	dst = append(dst, preEnd)
	for _, o := range options {
		dst = append(dst, o.data...)
	}
	return dst
}
