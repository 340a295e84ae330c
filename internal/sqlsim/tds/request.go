package tds

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/chokaq/chokaq/internal/sqlsim/engine"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// headers reads ALL_HEADERS and answers the transaction descriptor in it.
func (d *decoder) headers() (transaction uint64) {
	if len(d.b) < 4 {
		d.fail("the headers of the request are missing")
		return 0
	}
	total := binary.LittleEndian.Uint32(d.b)
	if total < 4 || uint64(total) > uint64(len(d.b)) {
		d.fail("headers of %d bytes", total)
		return 0
	}
	in := decoder{b: d.bytes(int(total))}
	in.u32()
	for len(in.b) > 0 && in.err == nil {
		n := in.u32()
		if n < 6 {
			in.fail("a header of %d bytes", n)
			break
		}
		if uint64(n-4) > uint64(len(in.b)) {
			in.fail("a header of %d bytes", n)
			break
		}
		h := decoder{b: in.bytes(int(n - 4))}
		if h.u16() == 2 { // transaction descriptor; the others are for query notifications and tracing
			transaction = h.u64()
			in.err = h.err
		}
	}
	if in.err != nil {
		d.err, d.b = in.err, nil
	}
	return transaction
}

// wellKnown are the procedures that have a number instead of a name.
var wellKnown = map[uint16]string{
	1: "sp_cursor", 2: "sp_cursoropen", 3: "sp_cursorprepare", 4: "sp_cursorexecute", 5: "sp_cursorprepexec",
	6: "sp_cursorunprepare", 7: "sp_cursorfetch", 8: "sp_cursoroption", 9: "sp_cursorclose",
	10: "sp_executesql", 11: "sp_prepare", 12: "sp_execute", 13: "sp_prepexec", 14: "sp_prepexecrpc", 15: "sp_unprepare",
}

// The bits of a parameter's status.
const (
	paramOutput    = 0x01
	paramDefault   = 0x02
	paramEncrypted = 0x08
)

const (
	maxParams = 2100    // as in SQL Server
	maxCells  = 4 << 20 // values in the table-valued parameters of one message, each of which takes more room here than there
)

// rpc is one call of an RPC message.
type rpc struct {
	call engine.Call
	// err is why the call, though well formed, cannot be made.
	err error
	// noMetadata is set by clients that do not want column descriptions again.
	noMetadata bool
}

// parseRPC reads the calls of an RPC message that follow its headers.
func parseRPC(d *decoder, v version) ([]rpc, error) {
	var calls []rpc
	separator := byte(0xFF)
	if !v.atLeast(version72) {
		separator = 0x80
	}
	for d.err == nil {
		var r rpc
		if n := d.u16(); n == 0xFFFF {
			id := d.u16()
			name, ok := wellKnown[id]
			if !ok && d.err == nil {
				d.fail("there is no procedure number %d", id)
			}
			r.call.Procedure = name
		} else {
			r.call.Procedure = d.text(int(n))
		}
		r.noMetadata = d.u16()&2 != 0
		more := false
		for len(d.b) > 0 && d.err == nil {
			if d.b[0] == separator || d.b[0] == 0xFE && v.atLeast(version72) {
				d.u8()
				more = true
				break
			}
			p, err := d.param(len(r.call.Params))
			if err != nil && r.err == nil {
				r.err = fmt.Errorf("%w (%s of %s)", err, paramName(p.Name, len(r.call.Params)), r.call.Procedure)
			}
			if len(r.call.Params) == maxParams {
				r.err = value.NewError(8003, 16, 1, "The incoming request has too many parameters. The server supports a maximum of %d parameters. Reduce the number of parameters and resend the request.", maxParams)
				continue
			}
			r.call.Params = append(r.call.Params, p)
		}
		if d.err != nil {
			break
		}
		calls = append(calls, r)
		if !more || len(d.b) == 0 {
			break
		}
	}
	return calls, d.err
}

func paramName(name string, ordinal int) string {
	if name != "" {
		return "parameter " + name
	}
	return fmt.Sprintf("parameter %d", ordinal+1)
}

// param reads one parameter.
func (d *decoder) param(ordinal int) (engine.Param, error) {
	p := engine.Param{Name: d.shortText()}
	status := d.u8()
	p.Output = status&paramOutput != 0
	p.Default = status&paramDefault != 0
	if status&paramEncrypted != 0 {
		d.fail("%s is encrypted, and Always Encrypted was not negotiated", paramName(p.Name, ordinal))
		return p, nil
	}
	if len(d.b) > 0 && d.b[0] == typeTVP {
		d.u8()
		var err error
		p.Table, err = d.table(&p)
		return p, err
	}
	ti := d.typeInfo()
	v, err := d.value(ti)
	p.Type, p.Value = ti.typ, v
	if ti.id == typeVariant {
		p.Value = v
	}
	return p, err
}

// table reads a table-valued parameter.
func (d *decoder) table(p *engine.Param) (*engine.TableParam, error) {
	var firstErr error
	note := func(err error) {
		if err != nil && firstErr == nil {
			firstErr = err
		}
	}
	if db := d.shortText(); db != "" {
		note(&unsupported{"table types of another database"})
	}
	t := &engine.TableParam{Schema: d.shortText(), Name: d.shortText()}
	n := d.u16()
	if d.err != nil {
		return t, nil
	}
	if n == 0xFFFF { // no columns: an empty table, or the default
		n = 0
	}
	infos := make([]typeInfo, 0, min(int(n), len(d.b)/6))
	var defaults []bool
	for range n {
		d.u32() // user type
		flags := d.u16()
		ti := d.typeInfo()
		name := d.shortText()
		if d.err != nil {
			return t, nil
		}
		if ti.id == typeXML || ti.id == typeUDT {
			note(&unsupported{"xml and CLR types in table-valued parameters"})
		}
		infos = append(infos, ti)
		defaults = append(defaults, flags&0x200 != 0)
		t.Columns = append(t.Columns, engine.Column{Name: name, Type: ti.typ, Nullable: flags&1 != 0})
	}
	for d.err == nil {
		switch token := d.u8(); token {
		case 0x00:
			return d.tableRows(t, infos, defaults, note, &firstErr)
		case 0x10: // unique and ordered columns: a hint
			for range d.u16() {
				d.u16()
				d.u8()
				if d.err != nil {
					break
				}
			}
		case 0x11: // the order in which the columns come
			count := int(d.u16())
			for range count {
				d.u16()
				if d.err != nil {
					break
				}
			}
			note(&unsupported{"table-valued parameters with columns in another order"})
		default:
			if d.err == nil {
				d.fail("token %#x in a table-valued parameter", token)
			}
		}
	}
	return t, firstErr
}

func (d *decoder) tableRows(t *engine.TableParam, infos []typeInfo, defaults []bool, note func(error), firstErr *error) (*engine.TableParam, error) {
	for d.err == nil {
		switch token := d.u8(); token {
		case 0x00:
			return t, *firstErr
		case 0x01:
			if len(infos) == 0 || (len(t.Rows)+1)*len(infos) > maxCells {
				d.fail("too many rows in a table-valued parameter")
				break
			}
			row := make([]value.Value, len(infos))
			for i, ti := range infos {
				if defaults[i] {
					row[i] = value.NewNull(ti.typ.Kind)
					continue
				}
				v, err := d.value(ti)
				note(err)
				row[i] = v
			}
			t.Rows = append(t.Rows, row)
		default:
			if d.err == nil {
				d.fail("token %#x among the rows of a table-valued parameter", token)
			}
		}
	}
	return t, *firstErr
}

// The requests to the transaction manager.
const (
	tmGetAddress = 0
	tmPropagate  = 1
	tmBegin      = 5
	tmPromote    = 6
	tmCommit     = 7
	tmRollback   = 8
	tmSave       = 9
)

// tmRequest is one of them.
type tmRequest struct {
	kind      uint16
	name      string
	isolation byte
	// begin says to begin another transaction after a commit or rollback.
	begin     bool
	beginName string
}

func parseTransactionRequest(d *decoder) (tmRequest, error) {
	r := tmRequest{kind: d.u16()}
	name := func() string { // its length counts bytes
		n := int(d.u8())
		if n%2 != 0 {
			d.fail("a transaction name of %d bytes", n)
		}
		return d.text(n / 2)
	}
	switch r.kind {
	case tmBegin:
		r.isolation = d.u8()
		r.name = name()
	case tmCommit, tmRollback:
		r.name = name()
		if d.u8()&1 != 0 {
			r.begin = true
			r.isolation = d.u8()
			r.beginName = name()
		}
	case tmSave:
		r.name = name()
	case tmGetAddress, tmPropagate, tmPromote:
		if d.err == nil {
			return r, &unsupported{"distributed transactions"}
		}
	default:
		d.fail("there is no transaction manager request %d", r.kind)
	}
	return r, d.err
}

// isProtocol tells a message that cannot be read from one that can but asks too much.
func isProtocol(err error) bool {
	var p *protocolError
	return errors.As(err, &p)
}
