package engine

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"io"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

func init() {
	define("newid", 0, 0, func(c *callSite) (*scalar, error) {
		if err := c.notInFunction(); err != nil {
			return nil, err
		}
		return volatile(newScalar(value.Type{Kind: value.UniqueIdentifier}, false, func(*rowCtx) (value.Value, error) {
			var u [16]byte
			if _, err := rand.Read(u[:]); err != nil {
				return value.Value{}, err
			}
			u[6] = u[6]&0x0F | 0x40
			u[8] = u[8]&0x3F | 0x80
			return value.NewUUID(u), nil
		})), nil
	})
	define("hashbytes", 2, 2, compileHashBytes)
	define("checksum", 1, -1, func(c *callSite) (*scalar, error) { return c.checksum(false) })
	define("binary_checksum", 1, -1, func(c *callSite) (*scalar, error) { return c.checksum(true) })
	define("compress", 1, 1, func(c *callSite) (*scalar, error) {
		if err := c.bytesArg(0); err != nil {
			return nil, err
		}
		typ := value.Type{Kind: value.VarBinary, Length: value.Max}
		coll := c.args[0].typ.Collation
		return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			if _, err := w.Write(rawBytes(v[0], coll)); err != nil {
				return value.Value{}, err
			}
			if err := w.Close(); err != nil {
				return value.Value{}, err
			}
			return value.NewBinary(value.VarBinary, b.Bytes()), nil
		}), nil
	})
	define("decompress", 1, 1, func(c *callSite) (*scalar, error) {
		typ := value.Type{Kind: value.VarBinary, Length: value.Max}
		if k := c.args[0].typ.Kind; !k.IsBinary() && k != value.Unknown {
			return nil, c.invalidArg(0)
		}
		return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			bad := sqlError(13645, 16, 1, "The input data is not in valid GZIP format.")
			r, err := gzip.NewReader(bytes.NewReader(v[0].Bytes()))
			if err != nil {
				return value.Value{}, bad
			}
			out, err := io.ReadAll(io.LimitReader(r, 1<<30))
			if err != nil {
				return value.Value{}, bad
			}
			return value.NewBinary(value.VarBinary, out), nil
		}), nil
	})
}

// notInFunction refuses what a user-defined function may not call.
func (c *callSite) notInFunction() error {
	if fr := c.sess.frame; fr != nil && fr.insideFunction {
		return sqlError(443, 16, 1, "Invalid use of a side-effecting operator '%s' within a function.", c.name)
	}
	return nil
}

// bytesArg checks that argument n is text or binary.
func (c *callSite) bytesArg(n int) error {
	if k := c.args[n].typ.Kind; !k.IsCharacter() && !k.IsBinary() && k != value.Unknown {
		return c.invalidArg(n)
	}
	return nil
}

// rawBytes is a value as it is stored: UTF-16 for nvarchar, the code page for varchar.
func rawBytes(v value.Value, coll value.Collation) []byte {
	switch k := v.Kind(); {
	case k.IsUnicode():
		return value.EncodeUTF16(nil, v.Str())
	case k.IsCharacter():
		return value.EncodeChars(nil, v.Str(), coll)
	}
	return v.Bytes()
}

func compileHashBytes(c *callSite) (*scalar, error) {
	if err := c.text(0); err != nil {
		return nil, err
	}
	if err := c.bytesArg(1); err != nil {
		return nil, err
	}
	typ := value.Type{Kind: value.VarBinary, Length: 8000}
	coll := c.args[1].typ.Collation
	line := c.e.Line
	return c.nullable(c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		data := rawBytes(v[1], coll)
		var sum []byte
		switch strings.ToUpper(v[0].Str()) {
		case "MD5":
			h := md5.Sum(data)
			sum = h[:]
		case "SHA", "SHA1":
			h := sha1.Sum(data)
			sum = h[:]
		case "SHA2_256":
			h := sha256.Sum256(data)
			sum = h[:]
		case "SHA2_512":
			h := sha512.Sum512(data)
			sum = h[:]
		case "MD2", "MD4":
			return value.Value{}, tsql.Unsupported(line, "HASHBYTES with %s", v[0].Str())
		default:
			return value.NewNull(typ.Kind), nil
		}
		return value.NewBinary(value.VarBinary, sum), nil
	})), nil
}

// checksum is CHECKSUM (equal for what compares equal) and BINARY_CHECKSUM (equal only
// for what is the same). The numbers are not SQL Server's, whose algorithm is not documented.
func (c *callSite) checksum(exact bool) (*scalar, error) {
	types := make([]value.Type, len(c.args))
	for i, a := range c.args {
		types[i] = a.typ
	}
	s := c.lax(intType, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		h := uint32(0)
		for i, x := range v {
			var key []byte
			switch {
			case x.IsNull():
				key = []byte{0}
			case exact && x.Kind().IsCharacter():
				key = rawBytes(x, types[i].Collation)
			default:
				key = value.SortKey(nil, x, types[i].Collation)
			}
			part := uint32(2166136261)
			for _, b := range key {
				part = (part ^ uint32(b)) * 16777619
			}
			h = (h<<4 | h>>28) ^ part
		}
		return intValue(int64(int32(h))), nil
	})
	s.nullable = false
	return s, nil
}
