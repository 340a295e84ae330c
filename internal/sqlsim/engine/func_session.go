package engine

import (
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

func init() {
	name := func(fn string, read func(s *Session) (string, bool)) {
		define(fn, 0, 1, func(c *callSite) (*scalar, error) {
			typ := sysnameType
			typ.Collation = c.sc.collation()
			return perStatement(c.lax(typ, func(rc *rowCtx, _ []value.Value) (value.Value, error) {
				text, ok := read(rc.sess)
				if !ok {
					return value.NewNull(typ.Kind), nil
				}
				return str(typ, text), nil
			})), nil
		})
	}
	user := func(s *Session) (string, bool) { return s.be.currentUser(), true }
	login := func(s *Session) (string, bool) { return s.be.loginName(), true }
	name("current_user", user)
	name("session_user", user)
	name("user", user)
	name("system_user", login)
	name("original_login", func(s *Session) (string, bool) { return s.be.originalLogin(), true })
	name("host_name", func(s *Session) (string, bool) { return s.login.HostName, s.login.HostName != "" })
	name("app_name", func(s *Session) (string, bool) { return s.login.AppName, true })
	define("suser_sname", 0, 1, func(c *callSite) (*scalar, error) { return c.loginName() })
	define("suser_sid", 0, 2, func(c *callSite) (*scalar, error) { return c.loginSID() })
	define("suser_name", 0, 1, func(c *callSite) (*scalar, error) { return c.loginName() })
	define("sessionproperty", 1, 1, func(c *callSite) (*scalar, error) { return c.sessionProperty() })
	define("host_id", 0, 0, func(c *callSite) (*scalar, error) {
		typ := value.Type{Kind: value.Char, Length: 10, Collation: c.sc.collation()}
		return perStatement(newScalar(typ, false, func(rc *rowCtx) (value.Value, error) {
			id := "00000000"
			n := rc.sess.login.ClientPID
			digits := ""
			for ; n > 0; n /= 10 {
				digits = string(rune('0'+n%10)) + digits
			}
			if len(digits) < 8 {
				id = id[len(digits):] + digits
			} else {
				id = digits
			}
			return str(typ, id+strings.Repeat(" ", max(0, 10-len(id)))), nil
		})), nil
	})
	define("session_context", 1, 1, func(c *callSite) (*scalar, error) {
		if k := c.args[0].typ.Kind; !k.IsUnicode() {
			return nil, c.invalidArg(0)
		}
		typ := value.Type{Kind: value.Variant}
		return perStatement(c.nullable(c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			e, ok := rc.sess.sessionContext[foldName(v[0].Str())]
			if !ok {
				return value.NewNull(typ.Kind), nil
			}
			return e.val, nil
		}))), nil
	})
	define("context_info", 0, 0, func(c *callSite) (*scalar, error) {
		typ := value.Type{Kind: value.VarBinary, Length: 128}
		return perStatement(newScalar(typ, true, func(rc *rowCtx) (value.Value, error) {
			info := rc.sess.settings.contextInfo
			if info == "" {
				return value.NewNull(typ.Kind), nil
			}
			b := make([]byte, 128)
			copy(b, info)
			return value.NewBinary(value.VarBinary, b), nil
		})), nil
	})
	define("connectionproperty", 1, 1, func(c *callSite) (*scalar, error) {
		if err := c.text(0); err != nil {
			return nil, err
		}
		typ := value.Type{Kind: value.Variant}
		return perStatement(c.nullable(c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			switch strings.ToLower(v[0].Str()) {
			case "net_transport":
				return value.NewString(value.NVarChar, "TCP"), nil
			case "protocol_type":
				return value.NewString(value.NVarChar, "TSQL"), nil
			case "auth_scheme":
				return value.NewString(value.NVarChar, "SQL"), nil
			case "client_net_address", "local_net_address":
				return value.NewString(value.NVarChar, "127.0.0.1"), nil
			case "physical_net_transport":
				return value.NewString(value.NVarChar, "TCP"), nil
			}
			return value.NewNull(typ.Kind), nil
		}))), nil
	})
	delete(unsupportedFunctions, "connectionproperty")
}

// loginName is SUSER_SNAME and SUSER_NAME: of a SID or principal id, or of the current login.
func (c *callSite) loginName() (*scalar, error) {
	if len(c.args) == 1 {
		typ := sysnameType
		return perStatement(c.nullable(c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			if known, ok := rc.sess.be.(loginDirectory); ok {
				for _, l := range known.allLogins() {
					if v[0].Kind().IsBinary() && string(v[0].Raw()) == string(sidOf(l, 0)) || v[0].Kind().IsInteger() && v[0].Int() == int64(l.id) {
						return str(typ, l.name), nil
					}
				}
			}
			return value.NewNull(typ.Kind), nil
		}))), nil
	}
	typ := sysnameType
	typ.Collation = c.sc.collation()
	return perStatement(newScalar(typ, false, func(rc *rowCtx) (value.Value, error) {
		return str(typ, rc.sess.be.loginName()), nil
	})), nil
}

// loginDirectory lists the server's logins.
type loginDirectory interface{ allLogins() []*login }

// loginSID is SUSER_SID: of a login by name, NULL when there is none, or of the current login.
func (c *callSite) loginSID() (*scalar, error) {
	typ := value.Type{Kind: value.VarBinary, Length: 85}
	find := func(rc *rowCtx, name string) value.Value {
		if known, ok := rc.sess.be.(loginDirectory); ok {
			for _, l := range known.allLogins() {
				if foldName(l.name) == foldName(name) {
					return value.NewBinary(value.VarBinary, sidOf(l, 0))
				}
			}
		}
		return value.NewNull(typ.Kind)
	}
	if len(c.args) == 0 {
		return perStatement(newScalar(typ, true, func(rc *rowCtx) (value.Value, error) { return find(rc, rc.sess.be.loginName()), nil })), nil
	}
	return perStatement(c.nullable(c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) { return find(rc, v[0].Str()), nil }))), nil
}

// sessionProperty is SESSIONPROPERTY: an option of the session, NULL when there is none of that name.
func (c *callSite) sessionProperty() (*scalar, error) {
	return perStatement(c.nullable(c.result(value.Type{Kind: value.Variant}, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		set := rc.sess.settings
		on, ok := map[string]bool{
			"ansi_nulls": set.ansiNulls, "ansi_padding": set.ansiPadding, "ansi_warnings": set.ansiWarnings, "arithabort": set.arithAbort,
			"concat_null_yields_null": set.concatNullYieldNull, "numeric_roundabort": set.numericRoundAbort, "quoted_identifier": set.quotedIdentifier,
		}[foldName(v[0].Str())]
		if !ok {
			return value.NewNull(value.Variant), nil
		}
		n := int64(0)
		if on {
			n = 1
		}
		return value.NewInt(value.Int, n), nil
	}))), nil
}
