package engine

import (
	"math/big"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// globalVariable is an @@name.
type globalVariable struct {
	typ  value.Type
	read func(rc *rowCtx) (value.Value, error)
}

func intGlobal(read func(s *Session) int64) globalVariable {
	return globalVariable{intType, func(rc *rowCtx) (value.Value, error) { return intValue(read(rc.sess)), nil }}
}

func textGlobal(read func(s *Session) string) globalVariable {
	return globalVariable{sysnameType, func(rc *rowCtx) (value.Value, error) {
		return value.NewString(value.NVarChar, read(rc.sess)), nil
	}}
}

// serverText is a property that the planning half knows.
func serverText(property string) func(s *Session) string {
	return func(s *Session) string {
		v, ok := s.be.serverProperty(property)
		if !ok || v.IsNull() {
			return ""
		}
		return v.Str()
	}
}

var globals map[string]globalVariable

func init() {
	identityType := value.Type{Kind: value.Decimal, Precision: 38}
	zero := func(*Session) int64 { return 0 }
	globals = map[string]globalVariable{
		"@@ERROR":        intGlobal(func(s *Session) int64 { return int64(s.lastError) }),
		"@@ROWCOUNT":     intGlobal(func(s *Session) int64 { return s.rowCount }),
		"@@TRANCOUNT":    intGlobal(func(s *Session) int64 { return int64(s.txn.count) }),
		"@@NESTLEVEL":    intGlobal(func(s *Session) int64 { return int64(s.level) }),
		"@@FETCH_STATUS": intGlobal(func(s *Session) int64 { return s.fetchStatus }),
		"@@CURSOR_ROWS":  intGlobal(zero),
		"@@DATEFIRST": {value.Type{Kind: value.TinyInt}, func(rc *rowCtx) (value.Value, error) {
			return value.NewInt(value.TinyInt, int64(rc.sess.settings.dateFirst)), nil
		}},
		"@@LOCK_TIMEOUT": intGlobal(func(s *Session) int64 { return int64(s.settings.lockTimeout) }),
		"@@TEXTSIZE":     intGlobal(func(s *Session) int64 { return int64(s.settings.textSize) }),
		"@@OPTIONS":      intGlobal(func(s *Session) int64 { return s.settings.options() }),
		"@@LANGID": {value.Type{Kind: value.SmallInt}, func(rc *rowCtx) (value.Value, error) {
			return value.NewInt(value.SmallInt, int64(rc.sess.settings.language.ID)), nil
		}},
		"@@LANGUAGE": textGlobal(func(s *Session) string { return s.settings.language.Name }),
		"@@SPID":     {value.Type{Kind: value.SmallInt}, func(rc *rowCtx) (value.Value, error) { return value.NewInt(value.SmallInt, int64(rc.sess.spid)), nil }},
		"@@PROCID": intGlobal(func(s *Session) int64 {
			for f := s.frame; f != nil; f = f.parent {
				if f.module != nil {
					return int64(f.module.id)
				}
			}
			return 0
		}),
		"@@MAX_PRECISION":   {value.Type{Kind: value.TinyInt}, func(*rowCtx) (value.Value, error) { return value.NewInt(value.TinyInt, 38), nil }},
		"@@MAX_CONNECTIONS": intGlobal(func(*Session) int64 { return 32767 }),
		"@@SERVERNAME":      textGlobal(serverText("ServerName")),
		"@@SERVICENAME":     textGlobal(func(*Session) string { return "MSSQLSERVER" }),
		"@@VERSION":         {value.Type{Kind: value.NVarChar, Length: 300}, textGlobal(serverText("@@VERSION")).read},
		"@@DBTS": {value.Type{Kind: value.VarBinary, Length: 8}, func(rc *rowCtx) (value.Value, error) {
			if v, ok := rc.sess.be.serverProperty("@@DBTS"); ok {
				return v, nil
			}
			return value.NewNull(value.VarBinary), nil
		}},
		"@@IDENTITY":         {identityType, func(rc *rowCtx) (value.Value, error) { return asNumeric(rc.sess.identity), nil }},
		"@@CPU_BUSY":         intGlobal(zero),
		"@@IDLE":             intGlobal(zero),
		"@@IO_BUSY":          intGlobal(zero),
		"@@CONNECTIONS":      intGlobal(zero),
		"@@PACK_RECEIVED":    intGlobal(zero),
		"@@PACK_SENT":        intGlobal(zero),
		"@@PACKET_ERRORS":    intGlobal(zero),
		"@@TIMETICKS":        intGlobal(func(*Session) int64 { return 31250 }),
		"@@TOTAL_ERRORS":     intGlobal(zero),
		"@@TOTAL_READ":       intGlobal(zero),
		"@@TOTAL_WRITE":      intGlobal(zero),
		"@@MICROSOFTVERSION": intGlobal(func(*Session) int64 { return 0x10000000 }),
	}
	define("scope_identity", 0, 0, func(c *callSite) (*scalar, error) {
		return perStatement(c.lax(identityType, func(rc *rowCtx, _ []value.Value) (value.Value, error) {
			if rc.frame == nil {
				return value.NewNull(value.Decimal), nil
			}
			return asNumeric(rc.frame.identity), nil
		})), nil
	})
}

// asNumeric is an identity value as the numeric(38,0) that @@IDENTITY and SCOPE_IDENTITY are.
func asNumeric(v value.Value) value.Value {
	if v.IsNull() || v.Kind() == value.Unknown {
		return value.NewNull(value.Decimal)
	}
	if v.Kind() == value.Decimal {
		return v
	}
	return value.NewDecimal(big.NewInt(v.Int()), 0)
}

func compileGlobal(sc *scope, e *tsql.GlobalVariable) (*scalar, error) {
	g, ok := globals[e.Name]
	if !ok {
		return nil, undeclared(e.Name)
	}
	typ := g.typ
	if typ.Kind.IsCharacter() {
		typ.Collation = sc.collation()
	}
	return perStatement(newScalar(typ, e.Name == "@@IDENTITY" || e.Name == "@@DBTS", g.read)), nil
}
