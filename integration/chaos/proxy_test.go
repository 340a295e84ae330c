package chaos

import (
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// proxy stands between one worker and the server.
type proxy struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	cond  *sync.Cond
	mode  mode
	conns map[*link]struct{}
	done  bool
}

// mode is what the proxy does to traffic.
type mode int

const (
	through    mode = iota
	down            // refuses and breaks everything
	silent          // keeps connections open and forwards nothing
	slow            // forwards with a delay
	cutAnswers      // forwards requests, and breaks the connection when the server answers: it has committed, and the client does not know
)

type link struct{ client, server net.Conn }

func (l *link) close() {
	l.client.Close()
	l.server.Close()
}

func newProxy(t *testing.T, dsn string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, target: u.Host, conns: make(map[*link]struct{})}
	p.cond = sync.NewCond(&p.mu)
	go p.accept()
	u.Host = listener.Addr().String()
	return p, u.String()
}

func (p *proxy) close() {
	p.mu.Lock()
	p.done = true
	p.mu.Unlock()
	p.set(down)
	p.listener.Close()
}

// set changes the mode; going down breaks what is open.
func (p *proxy) set(m mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = m
	if m == down {
		for l := range p.conns {
			l.close()
		}
		clear(p.conns)
	}
	p.cond.Broadcast()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		refuse := p.mode == down
		p.mu.Unlock()
		if refuse {
			client.Close()
			continue
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		l := &link{client, server}
		p.mu.Lock()
		p.conns[l] = struct{}{}
		p.mu.Unlock()
		go p.pump(l, client, server, false)
		go p.pump(l, server, client, true)
	}
}

// pump copies one direction.
func (p *proxy) pump(l *link, from, to net.Conn, answers bool) {
	defer func() {
		l.close()
		p.mu.Lock()
		delete(p.conns, l)
		p.mu.Unlock()
	}()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !p.pass(answers) {
			return
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// pass waits as the mode demands and reports whether the bytes may go on.
func (p *proxy) pass(answers bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == slow {
		p.mu.Unlock()
		time.Sleep(20 * time.Millisecond)
		p.mu.Lock()
	}
	for p.mode == silent && !p.done {
		p.cond.Wait()
	}
	switch p.mode {
	case down:
		return false
	case cutAnswers:
		return !answers
	}
	return true
}
