package tds

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The types of packets.
const (
	packetBatch       = 0x01
	packetOldLogin    = 0x02
	packetRPC         = 0x03
	packetResponse    = 0x04
	packetAttention   = 0x06
	packetBulkLoad    = 0x07
	packetFedAuth     = 0x08
	packetTransaction = 0x0E
	packetLogin7      = 0x10
	packetSSPI        = 0x11
	packetPreLogin    = 0x12
)

// The bits of a packet's status.
const (
	statusEOM           = 0x01
	statusIgnore        = 0x02
	statusReset         = 0x08
	statusResetKeepTran = 0x10
)

const (
	headerSize        = 8
	defaultPacketSize = 4096
	minPacketSize     = 512
	maxPacketSize     = 32767
)

// message is what the client sends as one: all its packets put together.
type message struct {
	typ    byte
	status byte // of the first packet, and the ignore bit of the last
	data   []byte
}

var errTooLarge = errors.New("tds: message too large")

// readMessage reads packets up to the end of a message of at most limit bytes.
func readMessage(r io.Reader, limit int) (message, error) {
	var m message
	var header [headerSize]byte
	for first := true; ; first = false {
		if _, err := io.ReadFull(r, header[:]); err != nil {
			if err == io.ErrUnexpectedEOF || !first && err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return m, err
		}
		size := int(binary.BigEndian.Uint16(header[2:])) - headerSize
		if size < 0 {
			return m, fmt.Errorf("tds: packet length %d", size+headerSize)
		}
		if first {
			m.typ, m.status = header[0], header[1]
		} else if header[0] != m.typ {
			return m, fmt.Errorf("tds: packet of type %#x inside a message of type %#x", header[0], m.typ)
		}
		if len(m.data)+size > limit {
			return m, errTooLarge
		}
		start := len(m.data)
		m.data = append(m.data, make([]byte, size)...)
		if _, err := io.ReadFull(r, m.data[start:]); err != nil {
			return m, io.ErrUnexpectedEOF
		}
		m.status |= header[1] & statusIgnore
		if header[1]&statusEOM != 0 {
			return m, nil
		}
	}
}

// packetWriter cuts a response into packets.
type packetWriter struct {
	w    io.Writer
	size int
	typ  byte
	id   byte
	buf  []byte // room for the header, then what was not sent yet
	err  error
	// held keeps everything in memory until it is let go.
	held bool
}

func newPacketWriter(w io.Writer) *packetWriter {
	return &packetWriter{w: w, size: defaultPacketSize, typ: packetResponse, buf: make([]byte, headerSize, defaultPacketSize*2)}
}

// spill sends full packets. One byte at least is kept, for the packet that ends the message.
func (p *packetWriter) spill() error {
	if p.held || len(p.buf) <= p.size {
		return p.err
	}
	sent := headerSize
	for len(p.buf)-sent > p.size-headerSize {
		p.send(sent, sent+p.size-headerSize, 0)
		sent += p.size - headerSize
	}
	rest := copy(p.buf[headerSize:], p.buf[sent:])
	p.reuse(headerSize + rest)
	return p.err
}

// end sends the rest as the last packet of the message.
func (p *packetWriter) end() error {
	p.held = false
	if p.spill() == nil {
		p.send(headerSize, len(p.buf), statusEOM)
	}
	p.reuse(headerSize)
	p.id = 0
	return p.err
}

// send makes a packet of the bytes of buf from start to end. Its header takes the place
// of the bytes before, which have been sent already.
func (p *packetWriter) send(start, end int, status byte) {
	if p.err != nil {
		return
	}
	p.id++
	header := p.buf[start-headerSize : start]
	header[0], header[1] = p.typ, status
	binary.BigEndian.PutUint16(header[2:], uint16(end-start+headerSize))
	header[4], header[5], header[6], header[7] = 0, 0, p.id, 0
	_, p.err = p.w.Write(p.buf[start-headerSize : end])
}

// reuse cuts buf to n bytes, and lets go of the room that a large value took.
func (p *packetWriter) reuse(n int) {
	if cap(p.buf) > 1<<20 && n <= p.size {
		p.buf = append(make([]byte, 0, 2*p.size), p.buf[:n]...)
		return
	}
	p.buf = p.buf[:n]
}
