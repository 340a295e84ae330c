package tds

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"time"
)

// wrappedConn carries the TLS handshake of TDS 7, whose records travel inside
// pre-login packets; when the handshake is over, TLS has the connection to itself.
type wrappedConn struct {
	net.Conn
	reader *io.Reader // of the connection
	done   bool
	in     bytes.Reader
}

func (c *wrappedConn) Read(p []byte) (int, error) {
	if c.done {
		return (*c.reader).Read(p)
	}
	for c.in.Len() == 0 {
		m, err := readMessage(*c.reader, 64<<10)
		if err != nil {
			return 0, err
		}
		if m.typ != packetPreLogin {
			return 0, errors.New("tds: a packet that is not pre-login within the TLS handshake")
		}
		c.in.Reset(m.data)
	}
	return c.in.Read(p)
}

func (c *wrappedConn) Write(p []byte) (int, error) {
	if c.done {
		return c.Conn.Write(p)
	}
	w := newPacketWriter(c.Conn)
	w.typ = packetPreLogin
	w.buf = append(w.buf, p...)
	if err := w.end(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// selfSigned makes the certificate that a SQL Server without one makes for itself.
func selfSigned(name string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		DNSNames:     []string{name, "localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		NotBefore:    now.Add(-24 * time.Hour),
		NotAfter:     now.AddDate(10, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
