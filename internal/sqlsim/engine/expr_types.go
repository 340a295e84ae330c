package engine

import (
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// plainTypes are the built-in types that take no length, precision or scale.
var plainTypes = map[string]value.Kind{
	"bit": value.Bit, "tinyint": value.TinyInt, "smallint": value.SmallInt, "int": value.Int, "integer": value.Int,
	"bigint": value.BigInt, "money": value.Money, "smallmoney": value.SmallMoney, "real": value.Real,
	"date": value.Date, "smalldatetime": value.SmallDateTime, "datetime": value.DateTime,
	"uniqueidentifier": value.UniqueIdentifier, "timestamp": value.RowVersion, "rowversion": value.RowVersion,
	"sql_variant": value.Variant,
}

// sizedTypes are those with a length; the number is the longest that is not (max).
var sizedTypes = map[string]struct {
	kind  value.Kind
	limit int
	max   bool
}{
	"char": {value.Char, 8000, false}, "character": {value.Char, 8000, false}, "varchar": {value.VarChar, 8000, true},
	"nchar": {value.NChar, 4000, false}, "nvarchar": {value.NVarChar, 4000, true},
	"binary": {value.Binary, 8000, false}, "varbinary": {value.VarBinary, 8000, true},
}

var scaledTypes = map[string]value.Kind{"time": value.Time, "datetime2": value.DateTime2, "datetimeoffset": value.DateTimeOffset}

var unsupportedTypes = map[string]bool{"xml": true, "text": true, "ntext": true, "image": true, "geography": true, "geometry": true, "hierarchyid": true, "json": true, "vector": true}

// builtinType resolves a built-in type; ok is false for a name that is not built in.
// A length left out is 1, as in a declaration; CAST and CONVERT use castType.
func builtinType(d *tsql.DataType) (t value.Type, ok bool, err error) {
	return builtinTypeDefault(d, 1)
}

func builtinTypeDefault(d *tsql.DataType, defaultLength int) (t value.Type, ok bool, err error) {
	if d.Schema != "" && !strings.EqualFold(d.Schema, "sys") {
		return t, false, nil
	}
	name := strings.ToLower(d.Name)
	tooMany := func(n int) error {
		if len(d.Args) > n || d.Max {
			return sqlError(2716, 16, 1, "Column, parameter, or variable #1: Cannot specify a column width on data type %s.", name)
		}
		return nil
	}
	if k, found := plainTypes[name]; found {
		t.Kind = k
		return t, true, tooMany(0)
	}
	if z, found := sizedTypes[name]; found {
		t.Kind = z.kind
		if len(d.Args) > 1 {
			return t, true, tooMany(1)
		}
		t.Length = defaultLength
		switch {
		case d.Max:
			if !z.max {
				return t, true, sqlError(102, 15, 1, "Incorrect syntax near 'max'.")
			}
			t.Length = value.Max
		case len(d.Args) == 1:
			t.Length = d.Args[0]
			if t.Length < 1 {
				return t, true, sqlError(1001, 15, 1, "Line %d: Length or precision specification %d is invalid.", d.Line, t.Length)
			}
			if t.Length > z.limit {
				if z.limit == 4000 && z.max {
					return t, true, sqlError(2717, 16, 2, "The size (%d) given to the parameter or column exceeds the maximum allowed (4000).", t.Length)
				}
				return t, true, sqlError(131, 15, 2, "The size (%d) given to the type '%s' exceeds the maximum allowed for any data type (8000).", t.Length, name)
			}
		}
		return t, true, nil
	}
	if k, found := scaledTypes[name]; found {
		t = value.Type{Kind: k, Scale: 7}
		if len(d.Args) > 0 {
			if d.Args[0] < 0 || d.Args[0] > 7 {
				return t, true, sqlError(1002, 15, 1, "Line %d: Specified scale %d is invalid.", d.Line, d.Args[0])
			}
			t.Scale = uint8(d.Args[0])
		}
		return t, true, tooMany(1)
	}
	switch name {
	case "decimal", "numeric", "dec":
		t = value.Type{Kind: value.Decimal, Precision: 18}
		if len(d.Args) > 0 {
			if d.Args[0] < 1 || d.Args[0] > 38 {
				return t, true, sqlError(1001, 15, 1, "Line %d: Length or precision specification %d is invalid.", d.Line, d.Args[0])
			}
			t.Precision = uint8(d.Args[0])
		}
		if len(d.Args) > 1 {
			if d.Args[1] < 0 || d.Args[1] > d.Args[0] {
				return t, true, sqlError(192, 15, 1, "The scale must be less than or equal to the precision.")
			}
			t.Scale = uint8(d.Args[1])
		}
		return t, true, tooMany(2)
	case "float":
		t.Kind = value.Float
		if len(d.Args) > 0 {
			if d.Args[0] < 1 || d.Args[0] > 53 {
				return t, true, sqlError(2750, 16, 1, "Column or parameter #1: Specified column precision %d is greater than the maximum precision of 53.", d.Args[0])
			}
			if d.Args[0] <= 24 {
				t.Kind = value.Real
			}
		}
		return t, true, tooMany(1)
	case "sysname":
		return value.Type{Kind: value.NVarChar, Length: 128}, true, tooMany(0)
	case "cursor", "table":
		return t, true, sqlError(156, 15, 1, "Incorrect syntax near the keyword '%s'.", name)
	}
	if unsupportedTypes[name] {
		return t, true, tsql.Unsupported(d.Line, "the data type %s", name)
	}
	return t, false, nil
}

// resolveType resolves a scalar type, built in or alias, in the current database.
func (s *Session) resolveType(d *tsql.DataType) (value.Type, error) {
	return s.resolveTypeDefault(d, 1)
}

func (s *Session) resolveTypeDefault(d *tsql.DataType, defaultLength int) (value.Type, error) {
	t, ok, err := builtinTypeDefault(d, defaultLength)
	if err != nil {
		return t, atLine(err, d.Line)
	}
	if !ok {
		var table any
		t, table, err = s.be.resolveAlias(d)
		if err != nil {
			return t, atLine(err, d.Line)
		}
		if table != nil {
			return t, atLine(sqlError(206, 16, 2, "Operand type clash: %s is incompatible with a scalar type", d.Name), d.Line)
		}
		return t, nil
	}
	if t.Kind.IsCharacter() {
		_, _, t.Collation = s.be.currentDatabase()
	}
	return t, nil
}

// commonType is the type that two come to in CASE, UNION and the like.
func commonType(a, b value.Type) (value.Type, error) {
	return value.ResultType("", a, b)
}

// collationInsensitive are the operations whose result may be without a collation: the
// error comes when something needs one.
var collationInsensitive = map[string]bool{"CASE": true, "COALESCE": true, "CHOOSE": true, "UNION ALL": true, "UNION ALL operator": true, "VALUES": true}

// unifyTypes is the common type of several expressions; what names the operation for a
// collation conflict.
func unifyTypes(list []*scalar, what string) (value.Type, error) {
	t := value.Type{Kind: value.Unknown}
	var text *scalar
	for _, s := range list {
		var err error
		if t, err = commonType(t, s.typ); err != nil {
			return t, err
		}
		if s.typ.Kind.IsCharacter() {
			if text == nil {
				text = &scalar{typ: s.typ, coercible: s.coercible}
				continue
			}
			c, strength, err := mergeCollations(text, s, what)
			if err != nil && (!collationInsensitive[what] || text.coercible == explicitCollation && s.coercible == explicitCollation) {
				return t, err
			}
			text.typ.Collation, text.coercible = c, strength
		}
	}
	if t.Kind.IsCharacter() && text != nil {
		t.Collation = text.typ.Collation
	}
	return t, nil
}

// strongest is the coercibility of the result of a CASE-like expression.
func strongest(list []*scalar) coercibility {
	var all *scalar
	for _, s := range list {
		switch {
		case !s.typ.Kind.IsCharacter():
		case all == nil:
			all = &scalar{typ: s.typ, coercible: s.coercible}
		default:
			all.typ.Collation, all.coercible, _ = mergeCollations(all, s, "")
		}
	}
	if all == nil {
		return coercibleDefault
	}
	return all.coercible
}

// mergeCollations applies the rules of collation precedence to two operands.
func mergeCollations(l, r *scalar, what string) (value.Collation, coercibility, error) {
	a, b := l.typ.Collation, r.typ.Collation
	switch {
	case !l.typ.Kind.IsCharacter():
		return b, r.coercible, nil
	case !r.typ.Kind.IsCharacter():
		return a, l.coercible, nil
	case l.coercible == noCollation || r.coercible == noCollation:
		if l.coercible == explicitCollation {
			return a, explicitCollation, nil
		}
		if r.coercible == explicitCollation {
			return b, explicitCollation, nil
		}
		return a, noCollation, sqlError(446, 16, 9, "Cannot resolve collation conflict for %s operation.", what)
	case a == b:
		return a, max(l.coercible, r.coercible), nil
	case l.coercible > r.coercible:
		return a, l.coercible, nil
	case r.coercible > l.coercible:
		return b, r.coercible, nil
	case l.coercible == coercibleDefault:
		return a, coercibleDefault, nil
	}
	return a, noCollation, sqlError(468, 16, 9, "Cannot resolve the collation conflict between \"%s\" and \"%s\" in the %s operation.", b.Name(), a.Name(), what)
}
