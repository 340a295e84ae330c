package tds

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/chokaq/chokaq/internal/sqlsim/engine"
	"github.com/chokaq/chokaq/internal/sqlsim/fault"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// conn is one connection. Its goroutine logs the client in and runs its requests, one
// after the other; from the login on, a second goroutine reads, so that an attention
// or the end of the connection is noticed while a request runs.
type conn struct {
	server *Server
	nc     net.Conn
	r      io.Reader
	ctx    context.Context
	cancel context.CancelCauseFunc

	login   login7
	version version
	session Session
	resp    response

	mu        sync.Mutex
	running   context.CancelCauseFunc // of the request; nil between requests
	attention bool                    // arrived for the request that runs
	handed    int                     // messages read and not answered
	early     bool                    // an attention arrived for a message that was handed over and has not begun
}

var (
	errAttention = errors.New("tds: the client canceled the request")
	errGone      = errors.New("tds: the client has gone")
	errDropped   = errors.New("tds: the connection was dropped by a fault")
)

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{server: s, nc: nc}
	c.ctx, c.cancel = context.WithCancelCause(s.ctx)
	return c
}

func (c *conn) serve() {
	defer c.nc.Close()
	defer c.cancel(errGone)
	c.nc.SetDeadline(time.Now().Add(c.server.opts.LoginTimeout))
	c.r = bufio.NewReader(c.nc)
	c.resp = response{out: newPacketWriter(c.nc), version: version74, server: c.server.opts.Name}
	if err := c.handshake(); err != nil {
		if err != io.EOF {
			c.server.opts.Logger.Debug("connection not logged in", "remote", c.nc.RemoteAddr(), "error", err)
		}
		return
	}
	c.nc.SetDeadline(time.Time{})
	defer c.session.Close()

	messages := make(chan message)
	var reader sync.WaitGroup
	reader.Add(1)
	go func() {
		defer reader.Done()
		defer close(messages)
		c.read(messages)
	}()
	defer reader.Wait()
	defer c.nc.Close() // lets the reader end; deferred calls run in reverse

	for m := range messages {
		if err := c.handle(m); err != nil {
			c.server.opts.Logger.Debug("connection ended", "session", c.session.SPID(), "error", err)
			break
		}
	}
	c.cancel(errGone)
}

// read passes messages on until the connection ends.
func (c *conn) read(messages chan<- message) {
	for {
		m, err := readMessage(c.r, c.server.opts.MaxMessage)
		if err != nil {
			if errors.Is(err, errTooLarge) {
				c.server.opts.Logger.Warn("request too large", "limit", c.server.opts.MaxMessage)
			}
			c.cancel(errGone)
			return
		}
		if m.typ == packetAttention {
			c.server.attentions.Add(1)
			c.mu.Lock()
			switch {
			case c.running != nil:
				c.attention = true
				c.running(errAttention)
				c.mu.Unlock()
				continue
			case c.handed > 0: // it overtakes the beginning of its request
				c.early = true
				c.mu.Unlock()
				continue
			}
			c.mu.Unlock()
		}
		c.mu.Lock()
		c.handed++
		c.mu.Unlock()
		select {
		case messages <- m:
		case <-c.ctx.Done():
			return
		}
	}
}

// handshake goes from connecting to a session.
func (c *conn) handshake() error {
	if first, err := c.r.(*bufio.Reader).Peek(1); err != nil {
		return err
	} else if first[0] == 0x16 { // a TLS record: TDS 8.0, encrypted from the first byte
		return c.strict()
	}
	m, err := readMessage(c.r, maxPreLogin)
	if err != nil {
		return err
	}
	plain := c.r
	encrypted := false
	if m.typ == packetPreLogin {
		choice, err := c.preLogin(m)
		if err != nil {
			return err
		}
		if choice != encryptNotSupported {
			if err := c.startTLS(); err != nil {
				return err
			}
			encrypted = true
		}
		if m, err = readMessage(c.r, maxLogin); err != nil {
			return err
		}
		if encrypted && choice == encryptLogin { // only the login was encrypted
			c.r, c.resp.out.w = plain, c.nc
		}
	}
	return c.logIn(m)
}

// preLogin answers the client's pre-login and says which encryption was agreed.
func (c *conn) preLogin(m message) (byte, error) {
	options, err := parsePreLogin(m.data)
	if err != nil {
		return 0, err
	}
	choice := byte(encryptNotSupported)
	if asked := options[preEncryption]; len(asked) > 0 && !c.server.opts.NoTLS {
		switch asked[0] &^ 0x80 { // the high bit offers a client certificate
		case encryptLogin:
			choice = encryptLogin
		case encryptAll, encryptRequired:
			choice = encryptAll
		}
	}
	c.resp.out.buf = appendPreLogin(c.resp.out.buf, c.server.opts.Version, choice)
	return choice, c.resp.out.end()
}

func (c *conn) startTLS() error {
	config, err := c.server.tls()
	if err != nil {
		return err
	}
	config = config.Clone()
	// TLS 1.3 sends tickets after the handshake, which would be neither wrapped nor expected.
	config.MaxVersion = tls.VersionTLS12
	config.SessionTicketsDisabled = true
	plain := c.r
	wrapped := &wrappedConn{Conn: c.nc, reader: &plain}
	secure := tls.Server(wrapped, config)
	if err := secure.HandshakeContext(c.ctx); err != nil {
		return fmt.Errorf("TLS handshake: %w", err)
	}
	wrapped.done = true
	c.r, c.resp.out.w = secure, secure
	return nil
}

// strict is TDS 8.0.
func (c *conn) strict() error {
	if c.server.opts.NoTLS {
		return errors.New("tds: a client wants strict encryption and TLS is off")
	}
	config, err := c.server.tls()
	if err != nil {
		return err
	}
	config = config.Clone()
	config.NextProtos = []string{"tds/8.0"}
	plain := c.r
	secure := tls.Server(&wrappedConn{Conn: c.nc, reader: &plain, done: true}, config)
	if err := secure.HandshakeContext(c.ctx); err != nil {
		return fmt.Errorf("TLS handshake: %w", err)
	}
	c.r, c.resp.out.w = secure, secure
	m, err := readMessage(c.r, maxPreLogin)
	if err != nil {
		return err
	}
	if m.typ == packetPreLogin {
		if _, err := parsePreLogin(m.data); err != nil {
			return err
		}
		c.resp.out.buf = appendPreLogin(c.resp.out.buf, c.server.opts.Version, encryptAll)
		if err := c.resp.out.end(); err != nil {
			return err
		}
		if m, err = readMessage(c.r, maxLogin); err != nil {
			return err
		}
	}
	return c.logIn(m)
}

// logIn answers the login record.
func (c *conn) logIn(m message) error {
	if m.typ != packetLogin7 {
		return fmt.Errorf("tds: a packet of type %#x instead of a login", m.typ)
	}
	l, err := parseLogin(m.data)
	if err != nil {
		return err
	}
	c.login = l
	v, ok := negotiate(l.version)
	if !ok {
		return fmt.Errorf("tds: protocol version %#x is not supported", uint32(l.version))
	}
	c.version, c.resp.version = v, v
	refuse := func(e *value.Error) error {
		c.server.loginErrors.Add(1)
		if e.Number == 18456 && e.State != 1 { // the reason is the server's secret
			hidden := *e
			hidden.State = 1
			e = &hidden
		}
		c.resp.Message(e)
		if e.Number == 4060 || e.Number == 4064 { // both are sent: why, and that the login failed
			c.resp.Message(value.NewError(18456, 14, 1, "Login failed for user '%s'.", l.user))
		}
		c.resp.finish(false, false)
		c.resp.out.end()
		return e
	}
	login := engine.Login{
		User: l.user, Password: l.password, Database: l.database, HostName: l.host,
		AppName: l.app, ClientPID: l.pid, ReadOnly: l.readOnly,
	}
	if action := c.server.opts.Faults.Login(fault.Event{App: l.app, Database: l.database, User: l.user}); action != nil {
		if err := action.Wait(c.ctx); err != nil {
			return err
		}
		switch {
		case action.Error != nil:
			return refuse(action.Error)
		case action.Drop:
			return errDropped
		case action.Silent:
			return c.silence()
		}
	}
	_, federated := l.features[featureFedAuth]
	switch {
	case federated:
		return refuse(value.NewError(18456, 14, 1, "Login failed. sqlsim does not support federated authentication."))
	case l.integrated:
		return refuse(value.NewError(18452, 14, 1, "Login failed. The login is from an untrusted domain and cannot be used with Integrated authentication."))
	case l.changePassword:
		return refuse(value.NewError(18456, 14, 1, "Login failed. sqlsim does not support changing a password at login."))
	case l.attach != "":
		return refuse(value.NewError(18456, 14, 1, "Login failed. sqlsim does not support attaching a database file."))
	}
	session, err := c.server.opts.Backend.Connect(c.ctx, login)
	if err != nil {
		var e *value.Error
		if errors.As(err, &e) {
			return refuse(e)
		}
		return err
	}
	c.session = session
	session.OnKill(func() {
		c.cancel(errGone)
		c.nc.Close()
	})
	c.server.logins.Add(1)
	c.welcome()
	if err := c.resp.out.end(); err != nil {
		session.Close()
		return err
	}
	c.resp.out.size = c.packetSize()
	return nil
}

func (c *conn) packetSize() int {
	if c.login.packetSize == 0 {
		return defaultPacketSize
	}
	return min(max(c.login.packetSize, minPacketSize), maxPacketSize)
}

// welcome writes the answer to a login that succeeded.
func (c *conn) welcome() {
	r := &c.resp
	db := c.session.Database()
	r.envText(envDatabase, db, "master")
	r.Message(value.NewError(5701, 0, 2, "Changed database context to '%s'.", db))
	r.env(envCollation, appendCollation(nil, c.session.Collation()), nil)
	r.envText(envLanguage, "us_english", "")
	r.Message(value.NewError(5703, 0, 1, "Changed language setting to us_english."))

	r.write(tokenLoginAck, 0, 0)
	at := len(r.out.buf)
	b := append(r.out.buf, 1) // T-SQL
	b = binary.BigEndian.AppendUint32(b, uint32(c.version))
	b = appendShortText(b, "Microsoft SQL Server")
	v := c.server.opts.Version
	b = append(b, byte(v[0]), byte(v[1]), byte(v[2]>>8), byte(v[2]))
	binary.LittleEndian.PutUint16(b[at-2:], uint16(len(b)-at))
	r.out.buf = b

	r.envText(envPacketSize, strconv.Itoa(c.packetSize()), strconv.Itoa(defaultPacketSize))
	if len(c.login.features) > 0 {
		r.write(tokenFeatureAck)
		if _, ok := c.login.features[featureUTF8]; ok {
			r.write(featureUTF8, 1, 0, 0, 0, 1)
		}
		r.write(featureEnd)
	}
	r.finish(false, false)
}

// silence waits for the other side to give up.
func (c *conn) silence() error {
	c.nc.SetDeadline(time.Time{})
	var scrap [512]byte
	for {
		if _, err := c.r.Read(scrap[:]); err != nil {
			return err
		}
	}
}

// handle answers one message. An error ends the connection.
func (c *conn) handle(m message) error {
	r := &c.resp
	acknowledge := func() error {
		r.rpc = false
		r.finish(true, false)
		return r.out.end()
	}
	if m.typ == packetAttention { // for a request whose answer had gone out already
		c.handled()
		return acknowledge()
	}
	if m.status&statusIgnore != 0 { // the client thought better of it; its attention follows
		if c.handled() {
			return acknowledge()
		}
		return nil
	}
	ctx, cancel := context.WithCancelCause(c.ctx)
	defer cancel(nil)
	c.mu.Lock()
	c.running, c.attention = cancel, c.early
	if c.early {
		cancel(errAttention)
	}
	c.early = false
	c.mu.Unlock()

	r.rpc = m.typ == packetRPC
	err := c.run(ctx, m)

	c.mu.Lock()
	attention := c.attention
	c.running, c.attention = nil, false
	c.handed-- // from here on an attention is for an answer that has gone out
	c.mu.Unlock()
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	if attention {
		err = nil
	}
	if id := c.session.TransactionID(); id != r.transaction { // ended by what the request could not tell of: an attention, say
		r.TransactionChanged(id, true)
	}
	if err != nil {
		var e *value.Error
		if !errors.As(err, &e) {
			return err
		}
		r.Message(e)
	}
	fatal := r.fatal
	r.finish(attention, false)
	if err := r.out.end(); err != nil {
		return err
	}
	if fatal || isProtocol(err) {
		return errors.New("tds: a fatal error ended the session")
	}
	return nil
}

// handled counts a message that was handed over and not run as answered, and reports whether an attention had come for it before it began.
func (c *conn) handled() (attention bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handed--
	attention, c.early = c.early, false
	return attention
}

// run does what the message asks for. What it returns and is a *value.Error is sent.
func (c *conn) run(ctx context.Context, m message) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.server.opts.Logger.Error("panic in a request", "panic", p, "stack", string(debug.Stack()))
			err = value.NewError(50000, 20, 1, "sqlsim failed within itself: %v", p)
		}
	}()
	r := &c.resp
	d := &decoder{b: m.data}
	var transaction uint64
	if c.version.atLeast(version72) {
		switch m.typ {
		case packetBatch, packetRPC, packetTransaction:
			transaction = d.headers()
		}
	}
	broken := func(err error) error {
		return value.NewError(4002, 20, 1, "The incoming tabular data stream (TDS) protocol stream is incorrect. The stream ended unexpectedly. (%v)", err)
	}
	if d.err != nil {
		return broken(d.err)
	}
	if m.status&(statusReset|statusResetKeepTran) != 0 {
		c.server.resets.Add(1)
		c.session.Reset(m.status&statusResetKeepTran != 0)
		if id := c.session.TransactionID(); id != r.transaction { // so that the client does not go on naming it
			r.TransactionChanged(id, true)
		}
		r.env(envReset, nil, nil)
	}
	if transaction != 0 && transaction != r.transaction {
		return value.NewError(3971, 16, 1, "The server failed to resume the transaction. Desc:%x.", transaction)
	}
	switch m.typ {
	case packetBatch:
		if len(d.b)%2 != 0 {
			return broken(errors.New("half a character"))
		}
		sql := value.DecodeUTF16(d.b)
		c.server.batches.Add(1)
		return c.withFaults(ctx, fault.Event{Text: sql}, func() error {
			return c.session.Batch(ctx, sql, r)
		})
	case packetRPC:
		calls, err := parseRPC(d, c.version)
		if err != nil {
			return value.NewError(8009, 20, 1, "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect. (%v)", err)
		}
		for i, call := range calls {
			if i > 0 {
				r.finish(false, true)
			}
			if err := c.call(ctx, call); err != nil {
				return err
			}
		}
		return nil
	case packetTransaction:
		req, err := parseTransactionRequest(d)
		if isProtocol(err) {
			return broken(err)
		} else if err != nil {
			return refusal(err)
		}
		return c.withFaults(ctx, fault.Event{Text: req.text()}, func() error { return c.transaction(ctx, req) })
	case packetBulkLoad:
		return refusal(&unsupported{"bulk load (INSERT BULK)"})
	}
	return fmt.Errorf("tds: a packet of type %#x after the login", m.typ)
}

// refusal turns an error about something not implemented into one for the client.
func refusal(err error) error {
	var e *value.Error
	if errors.As(err, &e) {
		return e
	}
	return value.NewError(value.UnsupportedNumber, 16, 1, "%v.", err)
}

func (c *conn) call(ctx context.Context, call rpc) error {
	c.server.calls.Add(1)
	if call.err != nil {
		return refusal(call.err)
	}
	if cursorProcedures[call.call.Procedure] {
		return refusal(&unsupported{"server-side cursors through RPC (" + call.call.Procedure + ")"})
	}
	event := fault.Event{Procedure: call.call.Procedure}
	// The statement of sp_executesql and of sp_prepexec.
	at := map[string]int{"sp_executesql": 0, "sp_prepexec": 2}
	if i, ok := at[call.call.Procedure]; ok && i < len(call.call.Params) {
		if v := call.call.Params[i].Value; v.Kind().IsCharacter() && !v.IsNull() {
			event.Text = v.Str()
		}
	}
	return c.withFaults(ctx, event, func() error { return c.session.Call(ctx, call.call, &c.resp) })
}

var cursorProcedures = map[string]bool{
	"sp_cursor": true, "sp_cursoropen": true, "sp_cursorprepare": true, "sp_cursorexecute": true, "sp_cursorprepexec": true,
	"sp_cursorunprepare": true, "sp_cursorfetch": true, "sp_cursoroption": true, "sp_cursorclose": true, "sp_prepexecrpc": true,
}

// withFaults runs a request between the faults that strike before and after it.
func (c *conn) withFaults(ctx context.Context, e fault.Event, run func() error) error {
	e.App, e.Database, e.User = c.login.app, c.login.database, c.login.user
	before, after := c.server.opts.Faults.Request(e)
	if before != nil {
		if done, err := c.strike(ctx, before); done {
			return err
		}
	}
	if after == nil {
		return run()
	}
	out := c.resp.out
	out.held = true
	err := run()
	if ctx.Err() != nil {
		return err
	}
	if done, struck := c.strike(ctx, after); done {
		return struck
	}
	out.held = false
	return err
}

// strike does what a fault says; done means that this was the answer.
func (c *conn) strike(ctx context.Context, a *fault.Action) (done bool, err error) {
	if err := a.Wait(ctx); err != nil {
		return true, err
	}
	switch {
	case a.Error != nil:
		return true, a.Error
	case a.Drop:
		return true, errDropped
	case a.Silent:
		<-c.ctx.Done()
		return true, context.Cause(c.ctx)
	}
	return false, nil
}

// text is the request as a statement, for faults to match.
func (q tmRequest) text() string {
	return map[uint16]string{tmBegin: "BEGIN TRANSACTION", tmCommit: "COMMIT TRANSACTION", tmRollback: "ROLLBACK TRANSACTION", tmSave: "SAVE TRANSACTION"}[q.kind]
}

func (c *conn) transaction(ctx context.Context, q tmRequest) error {
	r := &c.resp
	switch q.kind {
	case tmBegin:
		return c.session.Begin(ctx, q.isolation, q.name, r)
	case tmSave:
		return c.session.Save(ctx, q.name, r)
	case tmCommit:
		if err := c.session.Commit(ctx, q.name, r); err != nil {
			return err
		}
	case tmRollback:
		if err := c.session.Rollback(ctx, q.name, r); err != nil {
			return err
		}
	}
	if q.begin && !r.failed {
		return c.session.Begin(ctx, q.isolation, q.beginName, r)
	}
	return nil
}
