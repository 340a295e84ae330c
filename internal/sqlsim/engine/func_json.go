package engine

import (
	"encoding/base64"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

func base64Text(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func init() {
	define("isjson", 1, 2, compileIsJSON)
	define("json_value", 2, 2, func(c *callSite) (*scalar, error) {
		typ, err := c.jsonArgs(value.Type{Kind: value.NVarChar, Length: 4000})
		if err != nil {
			return nil, err
		}
		return c.nullable(c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			n, path, err := jsonLookup(v[0].Str(), v[1].Str())
			if err != nil || n == nil {
				return value.NewNull(typ.Kind), err
			}
			switch n.kind {
			case jsonNull:
				return value.NewNull(typ.Kind), nil
			case jsonArray, jsonObject:
				if path.strict {
					return value.Value{}, sqlError(13623, 16, 2, "Scalar value cannot be found in the specified JSON path.")
				}
				return value.NewNull(typ.Kind), nil
			}
			if value.UTF16Len(n.text) > 4000 {
				if path.strict {
					return value.Value{}, sqlError(13625, 16, 1, "String value in the specified JSON path would be truncated.")
				}
				return value.NewNull(typ.Kind), nil
			}
			return str(typ, n.text), nil
		})), nil
	})
	define("json_query", 1, 2, func(c *callSite) (*scalar, error) {
		if len(c.args) == 1 {
			c.args = append(c.args, constScalar(value.Type{Kind: value.VarChar, Length: 1}, value.NewString(value.VarChar, "$")))
		}
		typ, err := c.jsonArgs(nmaxType)
		if err != nil {
			return nil, err
		}
		s := c.nullable(c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			n, path, err := jsonLookup(v[0].Str(), v[1].Str())
			if err != nil || n == nil {
				return value.NewNull(typ.Kind), err
			}
			if n.kind != jsonArray && n.kind != jsonObject {
				if path.strict {
					return value.Value{}, sqlError(13624, 16, 2, "Object or array cannot be found in the specified JSON path.")
				}
				return value.NewNull(typ.Kind), nil
			}
			return str(typ, n.raw), nil
		}))
		s.isJSON = true
		return s, nil
	})
	define("json_path_exists", 2, 2, func(c *callSite) (*scalar, error) {
		if _, err := c.jsonArgs(nmaxType); err != nil {
			return nil, err
		}
		return c.nullable(c.result(intType, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			path, err := parseJSONPath(v[1].Str())
			if err != nil {
				return value.Value{}, err
			}
			n, err := parseJSON(v[0].Str())
			if err != nil || path.find(n) == nil {
				return intValue(0), nil
			}
			return intValue(1), nil
		})), nil
	})
	define("json_modify", 3, 3, compileJSONModify)
	define("string_escape", 2, 2, func(c *callSite) (*scalar, error) {
		if err := c.text(0); err != nil {
			return nil, err
		}
		if err := c.text(1); err != nil {
			return nil, err
		}
		typ, err := c.textType(true, value.Max, c.args[0])
		if err != nil {
			return nil, err
		}
		return c.result(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
			if !strings.EqualFold(v[1].Str(), "json") {
				return value.Value{}, sqlError(13908, 16, 1, "An invalid value was specified for argument 2 of the function \"string_escape\".")
			}
			return str(typ, string(appendJSONEscaped(nil, v[0].Str()))), nil
		}), nil
	})
}

// nullable says that the result may be NULL though no argument is.
func (c *callSite) nullable(s *scalar) *scalar {
	s.nullable = true
	return s
}

// jsonArgs makes text of the first two arguments and gives the result the collation of the first.
func (c *callSite) jsonArgs(typ value.Type) (value.Type, error) {
	for n := range 2 {
		if k := c.args[n].typ.Kind; !k.IsCharacter() && k != value.Unknown {
			return typ, c.invalidArg(n)
		}
		if err := c.text(n); err != nil {
			return typ, err
		}
	}
	typ.Collation = c.args[0].typ.Collation
	return typ, nil
}

// jsonLookup finds what a path leads to; nil when a lax path leads nowhere.
func jsonLookup(text, pathText string) (*jsonNode, *jsonPath, error) {
	path, err := parseJSONPath(pathText)
	if err != nil {
		return nil, nil, err
	}
	if path.append {
		return nil, nil, sqlError(13607, 16, 3, "JSON path is not properly formatted. Unexpected character 'a' is found at position 0.")
	}
	// What is wrong with the text after what the path leads to goes unnoticed.
	root, err := parseJSONStart(text)
	n := path.find(root)
	if err != nil && (n == nil || !n.whole) {
		return nil, path, err
	}
	if n == nil && path.strict {
		return nil, path, errJSONMissing()
	}
	return n, path, nil
}

func compileIsJSON(c *callSite) (*scalar, error) {
	if k := c.args[0].typ.Kind; !k.IsCharacter() && k != value.Unknown {
		return nil, c.invalidArg(0)
	}
	if err := c.text(0); err != nil {
		return nil, err
	}
	want := ""
	if len(c.e.Args) == 2 {
		ref, ok := c.e.Args[1].(*tsql.ColumnRef)
		if !ok {
			return nil, sqlError(102, 15, 1, "Incorrect syntax near '%s'.", "isjson")
		}
		switch want = strings.ToUpper(ref.Name); want {
		case "VALUE", "ARRAY", "OBJECT", "SCALAR":
		default:
			return nil, sqlError(102, 15, 1, "Incorrect syntax near '%s'.", ref.Name)
		}
	}
	return c.result(intType, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		n, err := parseJSON(v[0].Str())
		ok := err == nil
		if ok {
			composite := n.kind == jsonArray || n.kind == jsonObject
			switch want {
			case "":
				ok = composite
			case "ARRAY":
				ok = n.kind == jsonArray
			case "OBJECT":
				ok = n.kind == jsonObject
			case "SCALAR":
				ok = n.kind == jsonString || n.kind == jsonNumber
			}
		}
		if ok {
			return intValue(1), nil
		}
		return intValue(0), nil
	}), nil
}

func compileJSONModify(c *callSite) (*scalar, error) {
	typ, err := c.jsonArgs(nmaxType)
	if err != nil {
		return nil, err
	}
	if !c.args[0].typ.Kind.IsUnicode() {
		typ.Kind = value.VarChar
	}
	item := c.args[2]
	s := c.lax(typ, func(rc *rowCtx, v []value.Value) (value.Value, error) {
		if v[0].IsNull() || v[1].IsNull() {
			return value.NewNull(typ.Kind), nil
		}
		path, err := parseJSONPath(v[1].Str())
		if err != nil {
			return value.Value{}, err
		}
		root, err := parseJSON(v[0].Str())
		if err != nil {
			return value.Value{}, err
		}
		raw, err := appendJSONValue(nil, v[2], item.typ, item.isJSON)
		if err != nil {
			return value.Value{}, err
		}
		out, err := modifyJSON(v[0].Str(), root, path, string(raw), v[2].IsNull())
		return str(typ, out), err
	})
	s.isJSON = true
	return s, nil
}

// modifyJSON puts raw where path leads, or takes away what is there (remove, in lax mode).
func modifyJSON(text string, root *jsonNode, path *jsonPath, raw string, null bool) (string, error) {
	if len(path.steps) == 0 {
		if path.append && root.kind == jsonArray {
			return spliceAppend(text, root, root, raw), nil
		}
		return "", sqlError(13619, 16, 1, "Unsupported JSON path found in argument 2 of JSON_MODIFY.")
	}
	parent := root
	for _, s := range path.steps[:len(path.steps)-1] {
		if parent = parent.step(s); parent == nil {
			if path.strict {
				return "", errJSONMissing()
			}
			return text, nil
		}
	}
	last := path.steps[len(path.steps)-1]
	target := parent.step(last)
	switch {
	case path.append:
		switch {
		case target == nil && path.strict:
			return "", errJSONMissing()
		case target == nil && !last.array && parent.kind == jsonObject:
			return spliceMember(text, root, parent, last.key, "["+raw+"]"), nil
		case target == nil:
			return text, nil
		case target.kind != jsonArray:
			if path.strict {
				return "", sqlError(13621, 16, 1, "Array cannot be found in the specified JSON path.")
			}
			return text, nil
		}
		return spliceAppend(text, root, target, raw), nil
	case target != nil && null && !path.strict && !last.array:
		return removeMember(text, root, parent, last.key), nil
	case target != nil:
		at := offsetIn(text, root, target)
		return text[:at] + raw + text[at+len(target.raw):], nil
	case path.strict:
		return "", errJSONMissing()
	case null:
		return text, nil
	case last.array && parent.kind == jsonArray:
		return spliceAppend(text, root, parent, raw), nil
	case !last.array && parent.kind == jsonObject:
		return spliceMember(text, root, parent, last.key, raw), nil
	}
	return text, nil
}

// offsetIn finds where a node stands in the text. Nodes are slices of the text, so their
// distance from its start follows from walking to them.
func offsetIn(text string, root, target *jsonNode) int {
	base := strings.Index(text, root.raw)
	at, ok := nodeOffset(root, target)
	if !ok {
		return base
	}
	return base + at
}

func nodeOffset(n, target *jsonNode) (int, bool) {
	if n == target {
		return 0, true
	}
	from := 1
	visit := func(child *jsonNode, from int) (at, end int, found bool) {
		start := from + strings.Index(n.raw[from:], child.raw)
		if off, ok := nodeOffset(child, target); ok {
			return start + off, 0, true
		}
		return 0, start + len(child.raw), false
	}
	for i := range n.items {
		at, end, found := visit(&n.items[i], from)
		if found {
			return at, true
		}
		from = end
	}
	for i := range n.members {
		from = memberValueStart(n.raw, from)
		at, end, found := visit(&n.members[i].node, from)
		if found {
			return at, true
		}
		from = end
	}
	return 0, false
}

// memberValueStart skips to behind the colon of the next member.
func memberValueStart(raw string, from int) int {
	at := from + strings.IndexByte(raw[from:], '"')
	p := jsonParser{src: raw, pos: at}
	_, _ = p.str()
	return p.pos + strings.IndexByte(raw[p.pos:], ':') + 1
}

func spliceAppend(text string, root, array *jsonNode, raw string) string {
	end := offsetIn(text, root, array) + len(array.raw) - 1
	if len(array.items) > 0 {
		raw = "," + raw
	}
	return text[:end] + raw + text[end:]
}

func spliceMember(text string, root, object *jsonNode, key, raw string) string {
	end := offsetIn(text, root, object) + len(object.raw) - 1
	member := string(appendJSONString(nil, key)) + ":" + raw
	if len(object.members) > 0 {
		member = "," + member
	}
	return text[:end] + member + text[end:]
}

func removeMember(text string, root, object *jsonNode, key string) string {
	base := offsetIn(text, root, object)
	from := 1
	for i := range object.members {
		m := &object.members[i]
		start := from + strings.IndexByte(object.raw[from:], '"')
		v := memberValueStart(object.raw, from)
		v += strings.Index(object.raw[v:], m.node.raw)
		end := v + len(m.node.raw)
		if m.key == key {
			switch {
			case i+1 < len(object.members): // with the comma behind it
				end += strings.IndexByte(object.raw[end:], '"')
			case i > 0: // with the comma before it
				start = from
			}
			return text[:base+start] + text[base+end:]
		}
		from = end
	}
	return text
}

func compileJSONObject(sc *scope, e *tsql.JSONObject) (*scalar, error) {
	keys := make([]*scalar, len(e.Keys))
	vals := make([]*scalar, len(e.Values))
	for i := range e.Keys {
		k, err := compileScalar(sc, e.Keys[i])
		if err != nil {
			return nil, err
		}
		if keys[i], err = coerceTo(k, nmaxType); err != nil {
			return nil, err
		}
		if vals[i], err = compileScalar(sc, e.Values[i]); err != nil {
			return nil, err
		}
	}
	typ := nmaxType
	typ.Collation = sc.collation()
	s := newScalar(typ, false, func(rc *rowCtx) (value.Value, error) {
		out := []byte{'{'}
		for i, k := range keys {
			v, err := vals[i].eval(rc)
			if err != nil {
				return v, err
			}
			if v.IsNull() && e.AbsentOnNull {
				continue
			}
			name, err := k.eval(rc)
			if err != nil {
				return name, err
			}
			if name.IsNull() {
				return name, sqlError(13626, 16, 1, "A key of JSON_OBJECT cannot be NULL.")
			}
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(appendJSONString(out, name.Str()), ':')
			if out, err = appendJSONValue(out, v, vals[i].typ, vals[i].isJSON); err != nil {
				return v, err
			}
		}
		return str(typ, string(append(out, '}'))), nil
	}, append(keys, vals...)...)
	s.isJSON = true
	return s, nil
}

func compileJSONArray(sc *scope, e *tsql.JSONArray) (*scalar, error) {
	vals := make([]*scalar, len(e.Values))
	for i := range vals {
		var err error
		if vals[i], err = compileScalar(sc, e.Values[i]); err != nil {
			return nil, err
		}
	}
	typ := nmaxType
	typ.Collation = sc.collation()
	s := newScalar(typ, false, func(rc *rowCtx) (value.Value, error) {
		out := []byte{'['}
		for _, x := range vals {
			v, err := x.eval(rc)
			if err != nil {
				return v, err
			}
			if v.IsNull() && !e.NullOnNull {
				continue
			}
			if len(out) > 1 {
				out = append(out, ',')
			}
			if out, err = appendJSONValue(out, v, x.typ, x.isJSON); err != nil {
				return v, err
			}
		}
		return str(typ, string(append(out, ']'))), nil
	}, vals...)
	s.isJSON = true
	return s, nil
}
