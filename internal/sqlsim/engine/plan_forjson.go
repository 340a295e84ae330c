package engine

import (
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// jsonColumnName is the name of the only column of a FOR JSON result.
const jsonColumnName = "JSON_F52E2B61-18A1-11d1-B105-00805F49916B"

// bindFor wraps a query in FOR JSON.
func (b *binder) bindFor(f *tsql.ForClause, q *boundQuery, env *bindEnv) (*boundQuery, error) {
	if f.XML {
		return b.bindForXML(f, q)
	}
	if f.HasRoot && f.WithoutArrayWrapper {
		return nil, lineAt(sqlError(13620, 16, 1, "ROOT option and WITHOUT_ARRAY_WRAPPER option cannot be used together in FOR JSON. Remove one of these options."), f.Pos)
	}
	if f.Mode == "AUTO" && len(jsonSources(q)) > 1 {
		return b.bindJSONAuto(f, q)
	}
	var root jsonShape
	paths := make([][]string, len(q.cols))
	for i, c := range q.cols {
		if c.name == "" {
			return nil, lineAt(sqlError(13605, 16, 1, "Column expressions and data sources without names or aliases cannot be formatted as JSON text using FOR JSON clause. Add alias to the unnamed column or table."), f.Pos)
		}
		if f.Mode == "PATH" {
			paths[i] = strings.Split(c.name, ".")
		} else {
			paths[i] = []string{c.name}
		}
		if !root.add(paths[i], i) {
			return nil, lineAt(sqlError(13601, 16, 1, "Property '%s' cannot be generated in JSON output due to a conflict with another column name or alias. Use different names and aliases for each column in SELECT list.", c.name), f.Pos)
		}
	}
	out := &boundQuery{outer: q.outer, rows: 1}
	out.cols = []outCol{{name: jsonColumnName, typ: value.Type{Kind: value.NVarChar, Length: value.Max, Collation: b.p.context().collation}, nullable: true}}
	out.forJSON = f
	out.run = func(rc *rowCtx, each rowFn) error {
		var buf []byte
		n := 0
		if err := q.run(rc, func(row []value.Value) (bool, error) {
			if n > 0 {
				buf = append(buf, ',')
			}
			n++
			buf = root.write(buf, row, q.cols, f.IncludeNullValues)
			return true, nil
		}); err != nil {
			return err
		}
		return finishJSON(f, buf, n, each)
	}
	return out, nil
}

func finishJSON(f *tsql.ForClause, buf []byte, n int, each rowFn) error {
	if n == 0 {
		return nil // no row at all; NULL as a subquery
	}
	s := string(buf)
	if !f.WithoutArrayWrapper {
		s = "[" + s + "]"
	}
	if f.HasRoot {
		root := f.Root
		if root == "" {
			root = "root"
		}
		s = "{" + string(appendJSONString(nil, root)) + ":" + s + "}"
	}
	_, err := each([]value.Value{value.NewString(value.NVarChar, s)})
	return err
}

// jsonShape is an object that FOR JSON PATH builds from dotted names.
type jsonShape struct {
	names  []string
	column []int // -1: an object
	child  []*jsonShape
}

func (s *jsonShape) add(path []string, column int) bool {
	last := len(s.names) - 1
	if len(path) == 1 {
		for _, n := range s.names {
			if n == path[0] {
				return false
			}
		}
		s.names = append(s.names, path[0])
		s.column = append(s.column, column)
		s.child = append(s.child, nil)
		return true
	}
	if last >= 0 && s.names[last] == path[0] && s.child[last] != nil {
		return s.child[last].add(path[1:], column)
	}
	for _, n := range s.names {
		if n == path[0] {
			return false
		}
	}
	c := &jsonShape{}
	s.names = append(s.names, path[0])
	s.column = append(s.column, -1)
	s.child = append(s.child, c)
	return c.add(path[1:], column)
}

func (s *jsonShape) write(b []byte, row []value.Value, cols []outCol, nulls bool) []byte {
	b = append(b, '{')
	first := true
	for i, name := range s.names {
		if s.child[i] != nil {
			inner := s.child[i].write(nil, row, cols, nulls)
			if string(inner) == "{}" && !nulls {
				continue
			}
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(appendJSONString(b, name), ':')
			b = append(b, inner...)
			continue
		}
		v := row[s.column[i]]
		if v.IsNull() && !nulls {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(appendJSONString(b, name), ':')
		b = appendJSONColumn(b, v, cols[s.column[i]])
	}
	return append(b, '}')
}

// appendJSONColumn writes a value as FOR JSON does. Text that is JSON itself, from
// another FOR JSON or JSON_QUERY, goes in as it is.
func appendJSONColumn(b []byte, v value.Value, c outCol) []byte {
	if v.IsNull() {
		return append(b, "null"...)
	}
	out, err := appendJSONValue(b, v, c.typ, c.json)
	if err != nil {
		return append(b, "null"...)
	}
	return out
}

// jsonSources are the table references that columns come from, in order of first use.
func jsonSources(q *boundQuery) []*fromItem {
	var list []*fromItem
	for _, c := range q.cols {
		if c.from == nil {
			continue
		}
		known := false
		for _, it := range list {
			known = known || it == c.from
		}
		if !known {
			list = append(list, c.from)
		}
	}
	return list
}

// bindJSONAuto is FOR JSON AUTO over several sources: rows with the same values of a
// source's columns share one object, which holds an array of the next source's.
func (b *binder) bindJSONAuto(f *tsql.ForClause, q *boundQuery) (*boundQuery, error) {
	sources := jsonSources(q)
	levels := make([]jsonShape, len(sources))
	byLevel := make([][]int, len(sources))
	level := 0
	for i, c := range q.cols {
		for n, it := range sources {
			if it == c.from {
				level = n
			}
		}
		if c.name == "" {
			return nil, lineAt(sqlError(13605, 16, 1, "Column expressions and data sources without names or aliases cannot be formatted as JSON text using FOR JSON clause. Add alias to the unnamed column or table."), f.Pos)
		}
		if !levels[level].add([]string{c.name}, i) {
			return nil, lineAt(sqlError(13601, 16, 1, "Property '%s' cannot be generated in JSON output due to a conflict with another column name or alias. Use different names and aliases for each column in SELECT list.", c.name), f.Pos)
		}
		byLevel[level] = append(byLevel[level], i)
	}
	out := &boundQuery{outer: q.outer, rows: 1, forJSON: f}
	out.cols = []outCol{{name: jsonColumnName, typ: value.Type{Kind: value.NVarChar, Length: value.Max, Collation: b.p.context().collation}, nullable: true}}
	out.run = func(rc *rowCtx, each rowFn) error {
		var rows [][]value.Value
		if err := q.run(rc, func(row []value.Value) (bool, error) {
			rows = append(rows, row)
			return true, nil
		}); err != nil {
			return err
		}
		key := func(row []value.Value, level int) string {
			var k []byte
			for _, c := range byLevel[level] {
				k = value.SortKey(k, row[c], q.cols[c].typ.Collation)
			}
			return string(k)
		}
		var write func(b []byte, rows [][]value.Value, level int) []byte
		write = func(b []byte, rows [][]value.Value, level int) []byte {
			for i := 0; i < len(rows); {
				j := i + 1
				for level < len(sources)-1 && j < len(rows) && key(rows[j], level) == key(rows[i], level) {
					j++
				}
				if i > 0 {
					b = append(b, ',')
				}
				b = levels[level].write(b, rows[i], q.cols, f.IncludeNullValues)
				if level < len(sources)-1 {
					b = b[:len(b)-1]
					if b[len(b)-1] != '{' {
						b = append(b, ',')
					}
					b = append(appendJSONString(b, sources[level+1].shown), ":["...)
					b = write(b, rows[i:j], level+1)
					b = append(b, "]}"...)
				}
				i = j
			}
			return b
		}
		return finishJSON(f, write(nil, rows, 0), len(rows), each)
	}
	return out, nil
}

// bindForXML refuses all of FOR XML but the one idiom that is in wide use: FOR
// XML PATH(”) over one unnamed column, which concatenates strings.
func (b *binder) bindForXML(f *tsql.ForClause, q *boundQuery) (*boundQuery, error) {
	if f.Mode != "PATH" || !f.HasRow || f.Row != "" || f.HasRoot || len(q.cols) != 1 || q.cols[0].name != "" {
		return nil, tsql.Unsupported(f.Line, "FOR XML other than FOR XML PATH('') over one unnamed column")
	}
	text := value.Type{Kind: value.NVarChar, Length: value.Max, Collation: b.p.context().collation}
	conv, err := coerceTo(colScalar(0, q.cols[0].typ, true, ""), text)
	if err != nil {
		return nil, err
	}
	out := &boundQuery{outer: q.outer, rows: 1}
	out.cols = []outCol{{name: "XML_F52E2B61-18A1-11d1-B105-00805F49916B", typ: text, nullable: true}}
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	out.run = func(rc *rowCtx, each rowFn) error {
		var sb strings.Builder
		any := false
		in := innerContext(rc)
		if err := q.run(rc, func(row []value.Value) (bool, error) {
			in.row = row
			v, err := conv.eval(&in)
			if err != nil {
				return false, err
			}
			if !v.IsNull() {
				any = true
				sb.WriteString(escape.Replace(v.Str()))
			}
			return true, nil
		}); err != nil {
			return err
		}
		if !any {
			return nil
		}
		_, err := each([]value.Value{value.NewString(value.NVarChar, sb.String())})
		return err
	}
	return out, nil
}
