package engine

import (
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// metaKind is the type of one argument of a metadata function.
type metaKind byte

const (
	metaName metaKind = 'n' // sysname
	metaInt  metaKind = 'i'
)

// meta defines a metadata function. NULL in makes NULL; read answers false for NULL.
// optional arguments follow the required ones.
func meta(name, required, optional string, typ value.Type, read func(s *Session, v []value.Value) (value.Value, bool)) {
	define(name, len(required), len(required)+len(optional), func(c *callSite) (*scalar, error) {
		kinds := required + optional
		for n := range c.args {
			want := intType
			if metaKind(kinds[n]) == metaName {
				if c.args[n].typ.Kind.IsCharacter() {
					continue
				}
				want = value.Type{Kind: value.NVarChar, Length: 4000}
			}
			if err := c.to(n, want); err != nil {
				return nil, err
			}
		}
		out := typ
		if out.Kind.IsCharacter() {
			out.Collation = c.sc.collation()
		}
		return perStatement(c.nullable(c.result(out, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			x, ok := read(rc.sess, v)
			if !ok {
				return value.NewNull(out.Kind), nil
			}
			return x, nil
		}))), nil
	})
}

func nameResult(name string, ok bool) (value.Value, bool) {
	return value.NewString(value.NVarChar, name), ok
}

func idResult(id int32, ok bool) (value.Value, bool) { return intValue(int64(id)), ok }

func flagResult(b bool) (value.Value, bool) {
	if b {
		return intValue(1), true
	}
	return intValue(0), true
}

func parsedName(v value.Value) (tsql.ObjectName, bool) {
	n, err := tsql.ParseName(strings.TrimSpace(v.Str()))
	return n, err == nil
}

func init() {
	variant := value.Type{Kind: value.Variant}
	smallint := value.Type{Kind: value.SmallInt}
	meta("object_id", "n", "n", intType, func(s *Session, v []value.Value) (value.Value, bool) {
		n, ok := parsedName(v[0])
		if !ok {
			return value.Value{}, false
		}
		typ := ""
		if len(v) == 2 {
			typ = strings.ToUpper(strings.TrimSpace(v[1].Str()))
		}
		o, ok := s.be.objectByName(n, typ)
		return idResult(o.id, ok)
	})
	meta("object_name", "i", "i", sysnameType, func(s *Session, v []value.Value) (value.Value, bool) {
		o, ok := s.be.objectByID(int32(v[0].Int()), s.dbOf(v, 1))
		return nameResult(o.name, ok)
	})
	meta("object_schema_name", "i", "i", sysnameType, func(s *Session, v []value.Value) (value.Value, bool) {
		o, ok := s.be.objectByID(int32(v[0].Int()), s.dbOf(v, 1))
		return nameResult(o.schema, ok)
	})
	meta("object_definition", "i", "", nmaxType, func(s *Session, v []value.Value) (value.Value, bool) {
		return nameResult(s.be.moduleText(int32(v[0].Int())))
	})
	meta("schema_id", "", "n", intType, func(s *Session, v []value.Value) (value.Value, bool) {
		if len(v) == 0 {
			return idResult(s.be.schemaByName(s.defaultSchema()))
		}
		return idResult(s.be.schemaByName(v[0].Str()))
	})
	meta("schema_name", "", "i", sysnameType, func(s *Session, v []value.Value) (value.Value, bool) {
		if len(v) == 0 {
			return nameResult(s.defaultSchema(), true)
		}
		return nameResult(s.be.schemaByID(int32(v[0].Int())))
	})
	meta("db_id", "", "n", smallint, func(s *Session, v []value.Value) (value.Value, bool) {
		if len(v) == 0 {
			_, id, _ := s.be.currentDatabase()
			return value.NewInt(value.SmallInt, int64(id)), true
		}
		id, ok := s.be.databaseByName(v[0].Str())
		return value.NewInt(value.SmallInt, int64(id)), ok
	})
	meta("db_name", "", "i", sysnameType, func(s *Session, v []value.Value) (value.Value, bool) {
		if len(v) == 0 {
			return nameResult(s.databaseName(), true)
		}
		return nameResult(s.be.databaseByID(int32(v[0].Int())))
	})
	meta("type_id", "n", "", intType, func(s *Session, v []value.Value) (value.Value, bool) {
		n, ok := parsedName(v[0])
		if !ok {
			return value.Value{}, false
		}
		return idResult(s.be.typeByName(n.Schema, n.Name))
	})
	meta("type_name", "i", "", sysnameType, func(s *Session, v []value.Value) (value.Value, bool) {
		return nameResult(s.be.typeByID(int32(v[0].Int())))
	})
	meta("col_length", "nn", "", smallint, func(s *Session, v []value.Value) (value.Value, bool) {
		n, ok := parsedName(v[0])
		if !ok {
			return value.Value{}, false
		}
		o, ok := s.be.objectByName(n, "")
		if !ok {
			return value.Value{}, false
		}
		c := o.column(v[1].Str())
		if c == nil {
			return value.Value{}, false
		}
		return value.NewInt(value.SmallInt, int64(byteLength(c.typ))), true
	})
	meta("col_name", "ii", "", sysnameType, func(s *Session, v []value.Value) (value.Value, bool) {
		o, ok := s.be.objectByID(int32(v[0].Int()), "")
		if ok {
			for _, c := range o.columns {
				if int64(c.id) == v[1].Int() {
					return nameResult(c.name, true)
				}
			}
		}
		return value.Value{}, false
	})
	meta("index_col", "nii", "", sysnameType, func(s *Session, v []value.Value) (value.Value, bool) {
		n, ok := parsedName(v[0])
		if !ok {
			return value.Value{}, false
		}
		o, ok := s.be.objectByName(n, "")
		if !ok {
			return value.Value{}, false
		}
		for _, x := range o.indexes {
			if k := v[2].Int(); int64(x.id) == v[1].Int() && k >= 1 && k <= int64(len(x.columns)) {
				return nameResult(x.columns[k-1], true)
			}
		}
		return value.Value{}, false
	})
	meta("columnproperty", "inn", "", intType, columnProperty)
	meta("objectproperty", "in", "", intType, objectProperty)
	meta("objectpropertyex", "in", "", variant, func(s *Session, v []value.Value) (value.Value, bool) {
		if strings.EqualFold(v[1].Str(), "BaseType") {
			o, ok := s.be.objectByID(int32(v[0].Int()), "")
			return value.NewString(value.NVarChar, o.typ), ok
		}
		return objectProperty(s, v)
	})
	meta("indexproperty", "inn", "", intType, indexProperty)
	meta("typeproperty", "nn", "", intType, func(s *Session, v []value.Value) (value.Value, bool) {
		d, err := tsql.ParseDataType(v[0].Str())
		if err != nil {
			return value.Value{}, false
		}
		t, err := s.resolveTypeDefault(d, 8000)
		if err != nil {
			return value.Value{}, false
		}
		switch strings.ToLower(v[1].Str()) {
		case "precision":
			return intValue(int64(max(precisionOf(t), 0))), true
		case "scale":
			return intValue(int64(scaleOf(t))), true
		case "allowsnull":
			return intValue(1), true
		}
		return value.Value{}, false
	})
	meta("databasepropertyex", "nn", "", variant, func(s *Session, v []value.Value) (value.Value, bool) {
		return s.be.databaseProperty(v[0].Str(), v[1].Str())
	})
	meta("serverproperty", "n", "", variant, func(s *Session, v []value.Value) (value.Value, bool) {
		return s.be.serverProperty(v[0].Str())
	})
	meta("database_principal_id", "", "n", intType, func(s *Session, v []value.Value) (value.Value, bool) {
		if len(v) == 0 {
			return idResult(s.be.principalID(s.be.currentUser()))
		}
		return idResult(s.be.principalID(v[0].Str()))
	})
	meta("user_id", "", "n", intType, func(s *Session, v []value.Value) (value.Value, bool) {
		if len(v) == 0 {
			return idResult(s.be.principalID(s.be.currentUser()))
		}
		return idResult(s.be.principalID(v[0].Str()))
	})
	meta("user_name", "", "i", sysnameType, func(s *Session, v []value.Value) (value.Value, bool) {
		if len(v) == 0 {
			return nameResult(s.be.currentUser(), true)
		}
		return nameResult(s.be.principalName(int32(v[0].Int())))
	})
	meta("is_member", "n", "", intType, func(s *Session, v []value.Value) (value.Value, bool) {
		m, ok := s.be.isMember(v[0].Str())
		r, _ := flagResult(m)
		return r, ok
	})
	meta("is_rolemember", "n", "n", intType, func(s *Session, v []value.Value) (value.Value, bool) {
		who := s.be.currentUser()
		if len(v) == 2 {
			who = v[1].Str()
		}
		m, ok := s.be.isRoleMember(v[0].Str(), who)
		r, _ := flagResult(m)
		return r, ok
	})
	meta("is_srvrolemember", "n", "n", intType, func(s *Session, v []value.Value) (value.Value, bool) {
		who := s.be.loginName()
		if len(v) == 2 {
			who = v[1].Str()
		}
		m, ok := s.be.isServerRoleMember(v[0].Str(), who)
		r, _ := flagResult(m)
		return r, ok
	})
	meta("has_dbaccess", "n", "", intType, func(s *Session, v []value.Value) (value.Value, bool) {
		_, ok := s.be.databaseByName(v[0].Str())
		r, _ := flagResult(ok)
		return r, ok
	})
	meta("ident_current", "n", "", value.Type{Kind: value.Decimal, Precision: 38}, func(s *Session, v []value.Value) (value.Value, bool) {
		n, ok := parsedName(v[0])
		if !ok {
			return value.Value{}, false
		}
		x, ok := s.be.identCurrent(n)
		return asNumeric(x), ok
	})
	for i, name := range []string{"ident_seed", "ident_incr"} {
		meta(name, "n", "", value.Type{Kind: value.Decimal, Precision: 38}, func(s *Session, v []value.Value) (value.Value, bool) {
			n, ok := parsedName(v[0])
			if !ok {
				return value.Value{}, false
			}
			seed, increment, ok := s.be.identSeed(n)
			return asNumeric([]value.Value{seed, increment}[i]), ok
		})
	}
	define("has_perms_by_name", 3, 5, compileHasPerms)
	define("applock_mode", 3, 3, func(c *callSite) (*scalar, error) {
		if err := c.names(); err != nil {
			return nil, err
		}
		typ := value.Type{Kind: value.NVarChar, Length: 32}
		return perStatement(c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			owner, err := appLockOwner(rc.sess, v[2].Str(), "APPLOCK_MODE")
			if err != nil {
				return value.Value{}, err
			}
			return str(typ, rc.sess.be.appLockMode(value.UTF16Slice(v[1].Str(), 0, 255), owner, v[0].Str())), nil
		})), nil
	})
	define("applock_test", 4, 4, func(c *callSite) (*scalar, error) {
		if err := c.names(); err != nil {
			return nil, err
		}
		return perStatement(c.result(smallint, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			owner, err := appLockOwner(rc.sess, v[3].Str(), "APPLOCK_TEST")
			if err != nil {
				return value.Value{}, err
			}
			mode := appLockModes[strings.ToLower(v[2].Str())]
			if mode == "" {
				return value.Value{}, sqlError(1202, 16, 1, "The database principal '%s' does not exist, or user is not a member.", v[0].Str())
			}
			n := int64(0)
			if rc.sess.be.appLockTest(value.UTF16Slice(v[1].Str(), 0, 255), mode, owner, v[0].Str()) {
				n = 1
			}
			return value.NewInt(value.SmallInt, n), nil
		})), nil
	})
	// No database is in an availability group, for which the answer is NULL.
	meta("sys.fn_hadr_is_primary_replica", "n", "", bitType, func(s *Session, v []value.Value) (value.Value, bool) {
		return value.Value{}, false
	})
}

func appLockOwner(s *Session, word, fn string) (sessionOwned bool, err error) {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "session":
		return true, nil
	case "transaction":
		if s.txn.count == 0 {
			return false, sqlError(1235, 16, 1, "Must be in a transaction to call %s with a lock owner of 'Transaction'.", fn)
		}
		return false, nil
	}
	return false, sqlError(1236, 16, 1, "Invalid parameter passed to %s: the lock owner '%s'.", fn, word)
}

// names makes Unicode text of all arguments.
func (c *callSite) names() error {
	for n := range c.args {
		if err := c.to(n, value.Type{Kind: value.NVarChar, Length: 4000}); err != nil {
			return err
		}
	}
	return nil
}

func compileHasPerms(c *callSite) (*scalar, error) {
	for n := range c.args {
		if err := c.text(n); err != nil {
			return nil, err
		}
	}
	line := c.e.Line
	return perStatement(c.lax(intType, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		if len(v) > 3 && !v[3].IsNull() {
			return value.Value{}, tsql.Unsupported(line, "HAS_PERMS_BY_NAME of a sub-securable")
		}
		text := func(i int) string {
			if v[i].IsNull() {
				return ""
			}
			return v[i].Str()
		}
		if v[2].IsNull() {
			return value.NewNull(value.Int), nil
		}
		return rc.sess.be.hasPermission(text(0), text(1), text(2))
	})), nil
}

// defaultSchema is the schema of names without one.
func (s *Session) defaultSchema() string {
	if d, ok := s.be.(interface{ defaultSchema() string }); ok {
		return d.defaultSchema()
	}
	return "dbo"
}

// dbOf is the name of the database whose id is argument n, or empty without one.
func (s *Session) dbOf(v []value.Value, n int) string {
	if n >= len(v) {
		return ""
	}
	name, ok := s.be.databaseByID(int32(v[n].Int()))
	if !ok {
		return "\x00" // no database has this name
	}
	return name
}

func (o *objectInfo) column(name string) *columnInfo {
	for i := range o.columns {
		if strings.EqualFold(o.columns[i].name, name) {
			return &o.columns[i]
		}
	}
	return nil
}

func columnProperty(s *Session, v []value.Value) (value.Value, bool) {
	o, ok := s.be.objectByID(int32(v[0].Int()), "")
	if !ok {
		return value.Value{}, false
	}
	c := o.column(v[1].Str())
	if c == nil {
		return value.Value{}, false
	}
	switch strings.ToLower(v[2].Str()) {
	case "allowsnull":
		return flagResult(c.nullable)
	case "columnid":
		return intValue(int64(c.id)), true
	case "isidentity":
		return flagResult(c.identity)
	case "iscomputed":
		return flagResult(c.computed)
	case "isrowguidcol":
		return flagResult(c.rowGUID)
	case "isdeterministic":
		return flagResult(c.persisted)
	case "isfulltextindexed", "issparse", "ishidden", "issystemverified", "iscolumnset", "isxmlindexable", "generatedalwaystype", "isidnotforrepl", "isoutparam":
		return intValue(0), true
	case "usesansitrim":
		if c.typ.Kind.IsCharacter() || c.typ.Kind.IsBinary() {
			return intValue(1), true
		}
	case "precision":
		if c.typ.Kind.IsCharacter() || c.typ.Kind.IsBinary() {
			return intValue(int64(c.typ.Length)), true
		}
		return intValue(int64(precisionOf(c.typ))), true
	case "scale":
		return intValue(int64(scaleOf(c.typ))), true
	case "charmaxlen":
		if c.typ.Kind.IsCharacter() {
			return intValue(int64(c.typ.Length)), true
		}
	}
	return value.Value{}, false
}

func objectProperty(s *Session, v []value.Value) (value.Value, bool) {
	o, ok := s.be.objectByID(int32(v[0].Int()), "")
	if !ok {
		return value.Value{}, false
	}
	types := map[string]string{
		"istable": "U", "isusertable": "U", "isview": "V", "isprocedure": "P", "istrigger": "TR", "isscalarfunction": "FN",
		"isinlinefunction": "IF", "isprimarykey": "PK", "isuniquecnst": "UQ", "ischeckcnst": "C", "isdefaultcnst": "D", "isdefault": "D",
		"isforeignkey": "F", "issystemtable": "S", "isextendedproc": "X", "isreplproc": "RF",
	}
	word := strings.ToLower(v[1].Str())
	if t, ok := types[word]; ok {
		return flagResult(o.typ == t)
	}
	has := func(f func(x indexInfo) bool) (value.Value, bool) {
		for _, x := range o.indexes {
			if f(x) {
				return intValue(1), true
			}
		}
		return intValue(0), true
	}
	switch word {
	case "istablefunction":
		return flagResult(o.typ == "IF" || o.typ == "TF")
	case "isconstraint":
		return flagResult(o.typ == "PK" || o.typ == "UQ" || o.typ == "C" || o.typ == "D" || o.typ == "F")
	case "ismsshipped":
		return flagResult(o.system)
	case "isschemabound":
		return flagResult(o.schemaBound)
	case "ownerid":
		return intValue(1), true
	case "schemaid":
		return intValue(int64(o.schemaID)), true
	case "execisquotedidenton", "isquotedidenton":
		return flagResult(o.quotedIdent)
	case "execisansinullson", "isansinullson":
		return flagResult(o.ansiNulls)
	case "tablehasidentity":
		return flagResult(o.hasIdentity)
	case "tablehasprimarykey":
		return has(func(x indexInfo) bool { return x.primary })
	case "tablehasclustindex":
		return has(func(x indexInfo) bool { return x.clustered })
	case "tablehasindex":
		return has(func(x indexInfo) bool { return x.id > 0 })
	case "tablehasnonclustindex":
		return has(func(x indexInfo) bool { return x.id > 1 })
	case "tablehasinserttrigger", "tablehasupdatetrigger", "tablehasdeletetrigger":
		return flagResult(o.hasTriggers)
	case "tableisfake", "tablehastextimage", "tableispinned", "isencrypted", "execisstartup", "tabletemporaltype":
		return intValue(0), true
	case "isexecuted":
		return flagResult(o.typ == "P" || o.typ == "V" || o.typ == "FN" || o.typ == "IF" || o.typ == "TF" || o.typ == "TR")
	}
	return value.Value{}, false
}

func indexProperty(s *Session, v []value.Value) (value.Value, bool) {
	o, ok := s.be.objectByID(int32(v[0].Int()), "")
	if !ok {
		return value.Value{}, false
	}
	for _, x := range o.indexes {
		if !strings.EqualFold(x.name, v[1].Str()) {
			continue
		}
		switch strings.ToLower(v[2].Str()) {
		case "indexid":
			return intValue(int64(x.id)), true
		case "isunique":
			return flagResult(x.unique)
		case "isclustered":
			return flagResult(x.clustered)
		case "isdisabled":
			return flagResult(x.disabled)
		case "indexfillfactor":
			return intValue(int64(x.fillFactor)), true
		case "ispagelockdisallowed":
			return flagResult(!x.pageLocks)
		case "isrowlockdisallowed":
			return flagResult(!x.rowLocks)
		case "indexdepth":
			return intValue(1), true
		case "isautostatistics", "isfulltextkey", "ishypothetical", "ispadindex", "isstatistics", "iscolumnstore", "isoptimizedforsequentialkey":
			return intValue(0), true
		}
	}
	return value.Value{}, false
}
