package tds

import (
	"encoding/binary"

	"github.com/chokaq/chokaq/internal/sqlsim/engine"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// The tokens of a response.
const (
	tokenReturnStatus = 0x79
	tokenColMetadata  = 0x81
	tokenError        = 0xAA
	tokenInfo         = 0xAB
	tokenReturnValue  = 0xAC
	tokenLoginAck     = 0xAD
	tokenFeatureAck   = 0xAE
	tokenRow          = 0xD1
	tokenNBCRow       = 0xD2
	tokenEnvChange    = 0xE3
	tokenDone         = 0xFD
	tokenDoneProc     = 0xFE
	tokenDoneInProc   = 0xFF
)

// The bits of a DONE token.
const (
	doneMore        = 0x001
	doneError       = 0x002
	doneTransaction = 0x004
	doneCount       = 0x010
	doneAttention   = 0x020
)

// The kinds of environment change.
const (
	envDatabase   = 1
	envLanguage   = 2
	envPacketSize = 4
	envCollation  = 7
	envBegin      = 8
	envCommit     = 9
	envRollback   = 10
	envReset      = 18
)

// response writes the tokens of one answer. It implements engine.Sink.
type response struct {
	out     *packetWriter
	version version
	server  string
	// rpc tells a call from a batch: within it, statements end in DONEINPROC.
	rpc bool

	columns []typeInfo // of the open result set
	open    bool
	failed  bool // an error was sent since the last DONE
	fatal   bool // an error ended the session
	pending *done

	transaction uint64 // of the session; outlives the response
	status      *int32
	outputs     []output
}

type done struct {
	token   byte
	status  uint16
	command engine.Command
	count   int64
}

type output struct {
	ordinal int
	name    string
	typ     value.Type
	v       value.Value
}

var _ engine.Sink = (*response)(nil)

// write appends a token's bytes after the DONE that was waiting for more to come.
func (r *response) write(b ...byte) {
	r.flushDone(doneMore)
	r.out.buf = append(r.out.buf, b...)
}

func (r *response) flushDone(more uint16) {
	d := r.pending
	if d == nil {
		return
	}
	r.pending = nil
	status := d.status | more
	if r.transaction != 0 {
		status |= doneTransaction
	}
	b := append(r.out.buf, d.token)
	b = binary.LittleEndian.AppendUint16(b, status)
	b = binary.LittleEndian.AppendUint16(b, uint16(d.command))
	if r.version.atLeast(version72) {
		b = binary.LittleEndian.AppendUint64(b, uint64(d.count))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(min(d.count, 1<<31-1)))
	}
	r.out.buf = b
}

// Columns implements engine.Sink.
func (r *response) Columns(cols []engine.Column) error {
	r.write(tokenColMetadata)
	b := r.out.buf
	r.columns = r.columns[:0]
	r.open = true
	if len(cols) == 0 {
		r.out.buf = append(b, 0xFF, 0xFF)
		return r.out.spill()
	}
	b = binary.LittleEndian.AppendUint16(b, uint16(len(cols)))
	for _, c := range cols {
		ti := infoOf(c.Type, r.version)
		r.columns = append(r.columns, ti)
		b = r.appendUserType(b, c.Type)
		flags := uint16(2 << 2) // whether it can be updated is unknown
		if c.Nullable {
			flags |= 0x01
		}
		if c.Type.Kind.IsCharacter() && !c.Type.Collation.CaseInsensitive() {
			flags |= 0x02
		}
		if c.Identity {
			flags |= 0x10
		}
		if c.Computed {
			flags |= 0x20
		}
		b = binary.LittleEndian.AppendUint16(b, flags)
		b = ti.append(b)
		switch ti.id {
		case typeText, typeNText, typeImage: // the table's name
			if r.version.atLeast(version72) {
				b = append(b, 0)
			} else {
				b = append(b, 0, 0)
			}
		}
		b = appendShortText(b, c.Name)
	}
	r.out.buf = b
	return r.out.spill()
}

func (r *response) appendUserType(b []byte, t value.Type) []byte {
	user := uint32(0)
	if t.Kind == value.RowVersion {
		user = 80
	}
	if r.version.atLeast(version72) {
		return binary.LittleEndian.AppendUint32(b, user)
	}
	return binary.LittleEndian.AppendUint16(b, uint16(user))
}

// Row implements engine.Sink.
func (r *response) Row(row []value.Value) error {
	nulls := false
	for _, v := range row {
		nulls = nulls || v.IsNull()
	}
	n := min(len(row), len(r.columns))
	if nulls && r.version.atLeast(version73) {
		r.write(tokenNBCRow)
		b := r.out.buf
		at := len(b)
		b = append(b, make([]byte, (len(r.columns)+7)/8)...)
		for i, ti := range r.columns {
			if i >= n || row[i].IsNull() {
				b[at+i/8] |= 1 << (i % 8)
				continue
			}
			b = ti.appendValue(b, row[i])
		}
		r.out.buf = b
		return r.out.spill()
	}
	r.write(tokenRow)
	b := r.out.buf
	for i, ti := range r.columns {
		if i >= n {
			b = ti.appendNull(b)
			continue
		}
		b = ti.appendValue(b, row[i])
	}
	r.out.buf = b
	return r.out.spill()
}

// Done implements engine.Sink.
func (r *response) Done(command engine.Command, count int64, counted bool) error {
	if !counted && !r.open && !r.failed && command != engine.CommandSelect {
		return r.out.spill() // with NOCOUNT ON, a statement without rows leaves no trace
	}
	r.flushDone(doneMore)
	d := &done{token: tokenDone, command: command}
	if r.rpc {
		d.token = tokenDoneInProc
	}
	if counted {
		d.status |= doneCount
		d.count = count
	}
	if r.failed {
		d.status |= doneError
	}
	r.pending = d
	r.open, r.failed = false, false
	return r.out.spill()
}

// Message implements engine.Sink.
func (r *response) Message(e *value.Error) error {
	token := byte(tokenInfo)
	if e.Class > 10 {
		token = tokenError
		r.failed = true
	}
	if e.Class >= 20 {
		r.fatal = true
	}
	r.write(token)
	b := append(r.out.buf, 0, 0)
	at := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(e.Number))
	b = append(b, e.State, e.Class)
	b = appendLongText(b, e.Message)
	b = appendShortText(b, r.server)
	b = appendShortText(b, e.Procedure)
	line := max(e.Line, 0)
	if r.version.atLeast(version72) {
		b = binary.LittleEndian.AppendUint32(b, uint32(line))
	} else {
		b = binary.LittleEndian.AppendUint16(b, uint16(line))
	}
	binary.LittleEndian.PutUint16(b[at-2:], uint16(len(b)-at))
	r.out.buf = b
	return r.out.spill()
}

// Return implements engine.Sink.
func (r *response) Return(status int32) error {
	if r.rpc { // it goes ahead of the output parameters, at the end
		r.status = &status
		return nil
	}
	r.write(tokenReturnStatus)
	r.out.buf = binary.LittleEndian.AppendUint32(r.out.buf, uint32(status))
	d := &done{token: tokenDoneProc, command: 0xE0}
	if r.failed {
		d.status |= doneError
	}
	r.pending = d
	r.open, r.failed = false, false
	return r.out.spill()
}

// Output implements engine.Sink.
func (r *response) Output(ordinal int, name string, typ value.Type, v value.Value) error {
	r.outputs = append(r.outputs, output{ordinal, name, typ, v})
	return nil
}

// DatabaseChanged implements engine.Sink.
func (r *response) DatabaseChanged(from, to string) error {
	r.envText(envDatabase, to, from)
	return r.out.spill()
}

// LanguageChanged implements engine.Sink.
func (r *response) LanguageChanged(from, to string) error {
	r.envText(envLanguage, to, from)
	return r.out.spill()
}

// TransactionChanged implements engine.Sink.
func (r *response) TransactionChanged(id uint64, rolledBack bool) error {
	old := r.transaction
	// A DONE that waits belongs to what came before, but tells of the transaction as it is afterwards.
	r.transaction = id
	if !r.version.atLeast(version72) {
		return nil
	}
	switch {
	case id != 0:
		if old != 0 && old != id {
			r.env(envCommit, nil, descriptor(old))
		}
		r.env(envBegin, descriptor(id), nil)
	case rolledBack:
		r.env(envRollback, nil, descriptor(old))
	default:
		r.env(envCommit, nil, descriptor(old))
	}
	return r.out.spill()
}

func descriptor(id uint64) []byte { return binary.LittleEndian.AppendUint64(nil, id) }

// env writes an environment change whose values are bytes.
func (r *response) env(kind byte, newValue, oldValue []byte) {
	n := 3 + len(newValue) + len(oldValue)
	r.write(tokenEnvChange, byte(n), byte(n>>8), kind, byte(len(newValue)))
	b := append(r.out.buf, newValue...)
	b = append(b, byte(len(oldValue)))
	r.out.buf = append(b, oldValue...)
}

// envText writes one whose values are text.
func (r *response) envText(kind byte, newValue, oldValue string) {
	r.write(tokenEnvChange, 0, 0, kind)
	at := len(r.out.buf) - 1
	b := appendShortText(r.out.buf, newValue)
	b = appendShortText(b, oldValue)
	binary.LittleEndian.PutUint16(b[at-2:], uint16(len(b)-at))
	r.out.buf = b
}

// finish completes the answer to one request or, with more set, to one call of several.
func (r *response) finish(attention, more bool) {
	last := &done{token: tokenDone}
	if r.rpc {
		if r.status != nil {
			r.write(tokenReturnStatus)
			r.out.buf = binary.LittleEndian.AppendUint32(r.out.buf, uint32(*r.status))
		}
		for _, o := range r.outputs {
			r.returnValue(o)
		}
		r.flushDone(doneMore)
		last = &done{token: tokenDoneProc, command: 0xE0}
	} else if r.pending != nil && !r.failed && !attention {
		last = r.pending
	}
	if r.pending != last {
		r.flushDone(doneMore)
	}
	if r.failed {
		last.status |= doneError
	}
	if attention {
		last = &done{token: tokenDone, status: doneAttention}
	}
	r.pending = last
	if more {
		r.flushDone(doneMore)
	} else {
		r.flushDone(0)
	}
	r.status, r.outputs, r.open, r.failed = nil, nil, false, false
}

func (r *response) returnValue(o output) {
	r.write(tokenReturnValue)
	b := binary.LittleEndian.AppendUint16(r.out.buf, uint16(o.ordinal))
	b = appendShortText(b, o.name)
	b = append(b, 1) // an output parameter
	b = r.appendUserType(b, o.typ)
	b = append(b, 0, 0)
	ti := infoOf(o.typ, r.version)
	b = ti.append(b)
	r.out.buf = ti.appendValue(b, o.v)
}

// appendShortText writes a B_VARCHAR, appendLongText a US_VARCHAR.
func appendShortText(dst []byte, s string) []byte {
	s = value.UTF16Slice(s, 0, 255)
	dst = append(dst, byte(value.UTF16Len(s)))
	return value.EncodeUTF16(dst, s)
}

func appendLongText(dst []byte, s string) []byte {
	s = value.UTF16Slice(s, 0, 8000)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(value.UTF16Len(s)))
	return value.EncodeUTF16(dst, s)
}
