package engine

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// openColumn is a column of OPENJSON ... WITH.
type openColumn struct {
	name   string
	typ    value.Type
	path   *jsonPath
	asJSON bool
}

// bindOpenJSON plans OPENJSON, with its default schema or that of WITH.
func (b *selectBinder) bindOpenJSON(it *fromItem, s *tsql.TableFunc, args []*scalar) ([]scopeCol, error) {
	if len(args) < 1 || len(args) > 2 {
		return nil, lineAt(sqlError(313, 16, 3, "An insufficient number of arguments were supplied for the procedure or function OPENJSON."), s.Pos)
	}
	if db := b.p.context(); db.compat < 130 {
		return nil, lineAt(sqlError(208, 16, 3, "Invalid object name 'OPENJSON'."), s.Pos)
	}
	if k := args[0].typ.Kind; !k.IsCharacter() && k != value.Unknown {
		return nil, lineAt(sqlError(8116, 16, 1, "Argument data type %s is invalid for argument 1 of OpenJson function.", typeName(k)), s.Pos)
	}
	collation := b.p.context().collation
	var cols []scopeCol
	var with []openColumn
	if s.HasWith {
		for _, c := range s.With {
			typ, err := b.p.sess.resolveType(c.Type)
			if err != nil {
				return nil, err
			}
			if typ.Kind.IsCharacter() {
				typ.Collation = collation
				if c.Collation != "" {
					if typ.Collation, err = b.p.collationNamed(c.Collation); err != nil {
						return nil, err
					}
				}
			}
			if c.AsJSON && (typ.Kind != value.NVarChar || typ.Length != value.Max) {
				return nil, lineAt(sqlError(13618, 16, 1, "AS JSON option can be specified only for column of nvarchar(max) type in WITH clause."), c.Pos)
			}
			path := c.Path
			if !c.HasPath {
				path = "$." + string(appendJSONString(nil, c.Name))
			}
			p, err := parseJSONPath(path)
			if err != nil {
				return nil, lineAt(err.(*value.Error), c.Pos)
			}
			with = append(with, openColumn{c.Name, typ, p, c.AsJSON})
			cols = append(cols, scopeCol{name: c.Name, typ: typ, nullable: true})
		}
	} else {
		bin, _ := value.CollationByName("Latin1_General_BIN2")
		cols = []scopeCol{
			{name: "key", typ: value.Type{Kind: value.NVarChar, Length: 4000, Collation: bin}},
			{name: "value", typ: value.Type{Kind: value.NVarChar, Length: value.Max, Collation: collation}, nullable: true},
			{name: "type", typ: value.Type{Kind: value.Int}},
		}
	}
	it.function = &tableFunction{run: func(rc *rowCtx, each rowFn) error {
		doc, err := args[0].eval(rc)
		if err != nil || doc.IsNull() {
			return err
		}
		path := &jsonPath{}
		if len(args) == 2 {
			v, err := args[1].eval(rc)
			if err != nil {
				return err
			}
			if v.IsNull() {
				return nil
			}
			if path, err = parseJSONPath(v.Str()); err != nil {
				return err
			}
		}
		root, err := parseJSON(doc.Str())
		if err != nil {
			return err
		}
		if root.kind != jsonObject && root.kind != jsonArray {
			return sqlError(13609, 16, 4, "JSON text is not properly formatted. Unexpected character '%c' is found at position 0.", []rune(doc.Str() + ".")[0])
		}
		n := path.find(root)
		if n == nil {
			if path.strict {
				return sqlError(13608, 16, 3, "Property cannot be found on the specified JSON path.")
			}
			return nil
		}
		if n.kind != jsonObject && n.kind != jsonArray {
			if path.strict {
				return sqlError(13611, 16, 1, "Value referenced by JSON path is not an array or object and cannot be opened with OPENJSON.")
			}
			return nil
		}
		if with != nil {
			return openWith(rc, n, with, each)
		}
		show := func(key string, m *jsonNode) (bool, error) {
			v := value.NewString(value.NVarChar, m.raw)
			switch m.kind {
			case jsonString:
				v = value.NewString(value.NVarChar, m.text)
			case jsonNull:
				v = value.NewNull(value.NVarChar)
			}
			return each([]value.Value{value.NewString(value.NVarChar, key), v, value.NewInt(value.Int, int64(m.kind))})
		}
		for i := range n.members {
			if more, err := show(n.members[i].key, &n.members[i].node); err != nil || !more {
				return err
			}
		}
		for i := range n.items {
			if more, err := show(strconv.Itoa(i), &n.items[i]); err != nil || !more {
				return err
			}
		}
		return nil
	}}
	return cols, nil
}

// openWith produces one row for each element of an array, or one for an object.
func openWith(rc *rowCtx, n *jsonNode, with []openColumn, each rowFn) error {
	elements := n.items
	if n.kind == jsonObject {
		elements = []jsonNode{*n}
	}
	text := value.Type{Kind: value.NVarChar, Length: value.Max}
	for i := range elements {
		e := &elements[i]
		row := make([]value.Value, len(with))
		for i := range with {
			c := &with[i]
			row[i] = value.NewNull(c.typ.Kind)
			m := c.path.find(e)
			if m == nil {
				if c.path.strict {
					return sqlError(13608, 16, 2, "Property cannot be found on the specified JSON path.")
				}
				continue
			}
			object := m.kind == jsonObject || m.kind == jsonArray
			if c.asJSON != object {
				if c.path.strict && m.kind != jsonNull {
					if c.asJSON {
						return sqlError(13624, 16, 1, "Object or array cannot be found in the specified JSON path.")
					}
					return sqlError(13623, 16, 1, "Scalar value cannot be found in the specified JSON path.")
				}
				continue
			}
			var s string
			switch m.kind {
			case jsonNull:
				continue
			case jsonString:
				s = m.text
			default:
				s = m.raw
			}
			if c.typ.Kind.IsCharacter() && c.typ.Length != value.Max && tooLong(s, c.typ) {
				if c.path.strict {
					return sqlError(13625, 16, 1, "String value in the specified JSON path would be truncated.")
				}
				continue
			}
			v, err := openValue(rc, s, text, c.typ, m.kind)
			if err != nil {
				return err
			}
			row[i] = v
		}
		if more, err := each(row); err != nil || !more {
			return err
		}
	}
	return nil
}

// tooLong reports whether text does not fit: in lax mode that makes NULL, not a cut.
func tooLong(s string, t value.Type) bool {
	if t.Kind.IsUnicode() {
		return value.UTF16Len(s) > t.Length
	}
	return len(value.EncodeChars(nil, s, t.Collation)) > t.Length
}

// openValue converts the text of a JSON scalar to the type of its column.
func openValue(rc *rowCtx, s string, from, to value.Type, kind jsonKind) (value.Value, error) {
	v := value.NewString(value.NVarChar, s)
	env := rc.sess.convertEnv()
	switch {
	case to.Kind == value.Bit && kind == jsonBool:
		return value.NewBit(s == "true"), nil
	case to.Kind.IsBinary() && to.Kind != value.RowVersion:
		b, err := decodeBase64(s)
		if err != nil {
			return value.Value{}, err
		}
		return value.Convert(value.NewBinary(value.VarBinary, b), value.Type{Kind: value.VarBinary, Length: value.Max}, to, 0, env)
	case kind == jsonNumber && strings.ContainsAny(s, "eE") && (to.Kind == value.Decimal || to.Kind.IsInteger()):
		f, err := value.Convert(v, from, value.Type{Kind: value.Float}, 0, env)
		if err != nil {
			return f, err
		}
		return value.Convert(f, value.Type{Kind: value.Float}, to, 0, env)
	}
	return value.Convert(v, from, to, 0, env)
}

func decodeBase64(s string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, sqlError(13617, 16, 1, "Base64 value is not valid in JSON text.")
	}
	return b, nil
}
