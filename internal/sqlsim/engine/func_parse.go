package engine

import (
	"crypto/rand"
	"encoding/binary"
	"strings"
	"sync/atomic"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// compileParse is PARSE and TRY_PARSE in the culture en-US; others are refused by name.
func compileParse(sc *scope, e *tsql.ParseCall) (*scalar, error) {
	to, err := sc.sess.castType(e.Type)
	if err != nil {
		return nil, err
	}
	if !to.Kind.IsNumeric() && !to.Kind.IsTemporal() || to.Kind == value.Bit {
		return nil, sqlError(10761, 15, 1, "Invalid data type %s in function PARSE.", to.Kind)
	}
	x, err := compileScalar(sc, e.X)
	if err != nil {
		return nil, err
	}
	if x, err = coerceTo(x, value.Type{Kind: value.NVarChar, Length: 4000}); err != nil {
		return nil, err
	}
	args := []*scalar{x}
	if e.Culture != nil {
		c, err := compileScalar(sc, e.Culture)
		if err != nil {
			return nil, err
		}
		if c, err = coerceTo(c, sysnameType); err != nil {
			return nil, err
		}
		args = append(args, c)
	}
	from := x.typ
	s := strict(to, args, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		culture := ""
		if len(v) == 2 {
			culture = v[1].Str()
			switch strings.ToLower(culture) {
			case "en-us", "en", "":
			default:
				return value.Value{}, tsql.Unsupported(e.Line, "PARSE with the culture %s", culture)
			}
		}
		text := strings.TrimSpace(v[0].Str())
		if to.Kind.IsNumeric() {
			text = strings.ReplaceAll(text, ",", "")
			if to.Kind.IsMoney() {
				text = strings.Replace(text, "$", "", 1)
			}
		}
		out := value.Value{}
		var err error = sqlError(9819, 16, 1, "")
		if text != "" {
			out, err = value.Convert(value.NewString(value.NVarChar, text), from, to, value.NoStyle, value.ConvertEnv{DateFormat: "mdy"})
		}
		if err == nil {
			return out, nil
		}
		if e.Try {
			return value.NewNull(to.Kind), nil
		}
		return out, sqlError(9819, 16, 1, "Error converting string value '%s' into data type %s using culture '%s'.", v[0].Str(), to.Kind, culture)
	})
	s.nullable = true
	return perStatement(s), nil
}

var sequentialID atomic.Uint64

// isSequentialID reports a default that is NEWSEQUENTIALID() and nothing else.
func isSequentialID(e tsql.Expr) bool {
	f, ok := tsql.Unparen(e).(*tsql.FuncCall)
	return ok && strings.EqualFold(f.Name.Name, "NEWSEQUENTIALID")
}

func init() {
	define("newsequentialid", 0, 0, func(c *callSite) (*scalar, error) {
		if !c.sc.inDefault {
			return nil, sqlError(302, 16, 1, "The newsequentialid() built-in function can only be used in a DEFAULT expression for a column of type 'uniqueidentifier' in a CREATE TABLE or ALTER TABLE statement. It cannot be combined with other operators to form a complex scalar expression.")
		}
		return volatile(newScalar(value.Type{Kind: value.UniqueIdentifier}, false, func(*rowCtx) (value.Value, error) {
			// The counter stands where the order of uniqueidentifier looks first.
			u := [16]byte{8: 0x80}
			binary.BigEndian.PutUint64(u[8:], 0x8000_0000_0000_0000|sequentialID.Add(1))
			return value.NewUUID(u), nil
		})), nil
	})
	define("rowcount_big", 0, 0, func(c *callSite) (*scalar, error) {
		return perStatement(newScalar(bigintType, false, func(rc *rowCtx) (value.Value, error) {
			return value.NewInt(value.BigInt, rc.sess.rowCount), nil
		})), nil
	})
	define("crypt_gen_random", 1, 2, func(c *callSite) (*scalar, error) {
		if err := c.int(0); err != nil {
			return nil, err
		}
		return volatile(c.nullable(c.result(value.Type{Kind: value.VarBinary, Length: 8000}, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			n := v[0].Int()
			if n < 1 || n > 8000 {
				return value.NewNull(value.VarBinary), nil
			}
			b := make([]byte, n)
			if _, err := rand.Read(b); err != nil {
				return value.Value{}, err
			}
			return value.NewBinary(value.VarBinary, b), nil
		}))), nil
	})
	define("trigger_nestlevel", 0, 0, func(c *callSite) (*scalar, error) {
		return perStatement(newScalar(intType, false, func(rc *rowCtx) (value.Value, error) {
			n := int64(0)
			for f := rc.frame; f != nil; f = f.parent {
				if f.trigger != nil {
					n++
				}
			}
			return intValue(n), nil
		})), nil
	})
	define("getansinull", 0, 1, func(c *callSite) (*scalar, error) {
		return constScalar(intType, intValue(1)), nil
	})
	define("original_db_name", 0, 0, func(c *callSite) (*scalar, error) {
		return perStatement(newScalar(sysnameType, false, func(rc *rowCtx) (value.Value, error) {
			return value.NewString(value.NVarChar, rc.sess.login.Database), nil
		})), nil
	})
}
