package engine

import (
	"sort"
	"strings"
	"time"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// sysTypes are the types that columns of system views are declared with.
var sysTypes = map[string]value.Type{
	"int": {Kind: value.Int}, "bigint": {Kind: value.BigInt}, "smallint": {Kind: value.SmallInt}, "tinyint": {Kind: value.TinyInt}, "bit": {Kind: value.Bit},
	"sysname": {Kind: value.NVarChar, Length: 128}, "text": {Kind: value.NVarChar, Length: value.Max}, "desc": {Kind: value.NVarChar, Length: 60}, "str": {Kind: value.NVarChar, Length: 4000},
	"kind": {Kind: value.Char, Length: 2}, "c1": {Kind: value.Char, Length: 1}, "kind3": {Kind: value.NChar, Length: 3}, "c4": {Kind: value.Char, Length: 4}, "vc": {Kind: value.VarChar, Length: 30}, "datetime": {Kind: value.DateTime}, "datetime2": {Kind: value.DateTime2, Scale: 7},
	"sid": {Kind: value.VarBinary, Length: 85}, "bin": {Kind: value.VarBinary, Length: 8}, "uuid": {Kind: value.UniqueIdentifier}, "any": {Kind: value.NVarChar, Length: 4000},
	"numeric": {Kind: value.Decimal, Precision: 38}, "float": {Kind: value.Float},
}

// define enters a system view. spec lists its columns as "name type" with commas.
func defineView(name, spec string, rows func(v *viewer, add func(vals ...any))) {
	view := &systemView{}
	for _, c := range strings.Split(spec, ",") {
		f := strings.Fields(c)
		typ, ok := sysTypes[f[1]]
		if !ok {
			panic("system view " + name + ": type " + f[1])
		}
		view.cols = append(view.cols, scopeCol{name: f[0], typ: typ, nullable: true})
	}
	view.rows = func(v *viewer) [][]value.Value {
		var out [][]value.Value
		rows(v, func(vals ...any) {
			row := make([]value.Value, len(view.cols))
			for i := range row {
				if i < len(vals) {
					row[i] = sysValue(vals[i], view.cols[i].typ)
				} else {
					row[i] = value.NewNull(view.cols[i].typ.Kind)
				}
			}
			out = append(out, row)
		})
		return out
	}
	systemViews[foldName(name)] = view
}

// sysValue turns a Go value into one of the declared type; nil is NULL.
func sysValue(x any, t value.Type) value.Value {
	switch x := x.(type) {
	case nil:
		return value.NewNull(t.Kind)
	case value.Value:
		if x.IsNull() {
			return value.NewNull(t.Kind)
		}
		if t.Kind == x.Kind() {
			return x
		}
		if c, err := value.Convert(x, value.Type{Kind: x.Kind(), Length: value.Max, Precision: 38, Scale: x.Scale()}, t, 0, value.ConvertEnv{}); err == nil {
			return c
		}
		return value.NewNull(t.Kind)
	case bool:
		n := int64(0)
		if x {
			n = 1
		}
		return value.NewInt(t.Kind, n)
	case int:
		return sysInt(int64(x), t)
	case uint8:
		return sysInt(int64(x), t)
	case int32:
		return sysInt(int64(x), t)
	case int64:
		return sysInt(x, t)
	case uint64:
		return sysInt(int64(x), t)
	case string:
		if t.Kind == value.Char {
			for len(x) < t.Length {
				x += " "
			}
		}
		return value.NewString(t.Kind, x)
	case []byte:
		return value.NewBinary(value.VarBinary, x)
	case time.Time:
		if x.IsZero() {
			return value.NewNull(t.Kind)
		}
		if t.Kind == value.DateTime {
			return value.NewDateTime(value.TicksOf(x))
		}
		return value.NewDateTime2(value.TicksOf(x), 7)
	}
	return value.NewNull(t.Kind)
}

func sysInt(n int64, t value.Type) value.Value {
	if t.Kind == value.Decimal {
		return value.NewDecimalInt(n, 0)
	}
	return value.NewInt(t.Kind, n)
}

// objects returns the objects of the database that the session may know of, by id.
func (v *viewer) objects() []*object {
	v.p.srv.mu.RLock()
	list := make([]*object, 0, len(v.db.objects))
	for _, o := range v.db.objects {
		if o == nil {
			continue
		}
		if o.table != nil {
			// As it is now: others may change it while the view is read.
			oc, tc := *o, *o.table
			oc.table = &tc
			o = &oc
		}
		list = append(list, o)
	}
	v.p.srv.mu.RUnlock()
	if v.db.id == 2 {
		// Temporary tables of other sessions are there too, as on a real server.
		sort.Slice(list, func(i, j int) bool { return list[i].id < list[j].id })
		return list
	}
	var seen []*object
	all := v.p.all(v.db)
	for _, o := range list {
		if all || v.p.visible(o) {
			seen = append(seen, o)
		}
	}
	sort.Slice(seen, func(i, j int) bool { return seen[i].id < seen[j].id })
	return seen
}

// tables returns those of objects that are user tables.
func (v *viewer) tables() []*object {
	var list []*object
	for _, o := range v.objects() {
		if o.table != nil {
			list = append(list, o)
		}
	}
	return list
}

// schemas returns the schemas by id.
func (v *viewer) schemas() []*schema {
	v.p.srv.mu.RLock()
	defer v.p.srv.mu.RUnlock()
	var list []*schema
	for _, s := range v.db.schemas {
		list = append(list, s)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].id < list[j].id })
	return list
}

func (v *viewer) principals() []*principal {
	v.p.srv.mu.RLock()
	defer v.p.srv.mu.RUnlock()
	var list []*principal
	for _, u := range v.db.principals {
		list = append(list, u)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].id < list[j].id })
	return list
}

func (v *viewer) databases() []*database {
	v.p.srv.mu.RLock()
	defer v.p.srv.mu.RUnlock()
	var list []*database
	for _, db := range v.p.srv.databases {
		list = append(list, db)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].id < list[j].id })
	return list
}

func (v *viewer) sessions() []*planner {
	v.p.srv.mu.RLock()
	defer v.p.srv.mu.RUnlock()
	var list []*planner
	for _, s := range v.p.srv.sessions {
		list = append(list, s)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].party.ID < list[j].party.ID })
	return list
}

// userTypes returns alias and table types by id.
func (v *viewer) userTypes() []*userType {
	v.p.srv.mu.RLock()
	defer v.p.srv.mu.RUnlock()
	var list []*userType
	for _, u := range v.db.types {
		list = append(list, u)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].id < list[j].id })
	return list
}

// kindDescription is type_desc of sys.objects.
func kindDescription(kind string) string {
	return map[string]string{"U": "USER_TABLE", "V": "VIEW", "P": "SQL_STORED_PROCEDURE", "FN": "SQL_SCALAR_FUNCTION", "IF": "SQL_INLINE_TABLE_VALUED_FUNCTION",
		"TF": "SQL_TABLE_VALUED_FUNCTION", "TR": "SQL_TRIGGER", "PK": "PRIMARY_KEY_CONSTRAINT", "UQ": "UNIQUE_CONSTRAINT", "C": "CHECK_CONSTRAINT", "D": "DEFAULT_CONSTRAINT",
		"F": "FOREIGN_KEY_CONSTRAINT", "SO": "SEQUENCE_OBJECT", "SN": "SYNONYM", "TT": "TYPE_TABLE"}[kind]
}

func (o *object) parentID() int32 {
	if o.parent != nil {
		return o.parent.id
	}
	return 0
}

// ownerOrNil is principal_id: NULL while the owner is the schema's.
func (o *object) ownerOrNil() any {
	if o.owner != nil {
		return o.owner.id
	}
	return nil
}

// userTypeID is user_type_id of a column.
func (c *column) userTypeID() int32 {
	if c.user != nil {
		return c.user.id
	}
	if c.sysname {
		return 256
	}
	return systemTypeID(c.typ.Kind)
}

func collationName(t value.Type) any {
	if t.Kind.IsCharacter() {
		return t.Collation.Name()
	}
	return nil
}
