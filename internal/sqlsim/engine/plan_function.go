package engine

import (
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// tableFunction is a table-valued function in FROM, planned. run gets the row context
// of the scope around it.
type tableFunction struct {
	run func(rc *rowCtx, each rowFn) error
}

// bindTableFunc plans OPENJSON, STRING_SPLIT, GENERATE_SERIES, or a user's function.
func (b *selectBinder) bindTableFunc(it *fromItem, s *tsql.TableFunc) ([]scopeCol, error) {
	it.alias = foldName(s.Alias)
	qualifier := s.Alias
	if qualifier == "" {
		it.alias = foldName(s.Name.Name)
		qualifier = s.Name.Name
	}
	it.rows = 50
	if len(s.Hints) > 0 {
		return nil, tsql.Unsupported(s.Line, "hints on a table-valued function")
	}
	sc := b.lateralScope()
	var args []*scalar
	for _, e := range s.Args {
		if _, ok := e.(*tsql.DefaultValue); ok {
			args = append(args, nil)
			continue
		}
		v, err := compileScalar(sc, e)
		if err != nil {
			return nil, err
		}
		if len(v.cols) > 0 {
			it.lateral = true
			b.use(v.cols)
		}
		b.outer = b.outer || v.outerRefs
		args = append(args, v)
	}
	b.lateralUses(it, sc)
	var cols []scopeCol
	var err error
	if s.Name.Schema == "" {
		switch strings.ToUpper(s.Name.Name) {
		case "OPENJSON":
			cols, err = b.bindOpenJSON(it, s, args)
		case "STRING_SPLIT":
			cols, err = b.bindStringSplit(it, s, args)
		case "GENERATE_SERIES":
			cols, err = b.bindGenerateSeries(it, s, args)
		default:
			return nil, lineAt(sqlError(208, 16, 3, "Invalid object name '%s'.", s.Name), s.Pos)
		}
	} else if foldName(s.Name.Schema) == "sys" {
		cols, err = b.bindSystemFunc(it, s, args)
	} else {
		cols, err = b.bindUserTableFunc(it, s, args)
	}
	if err != nil {
		return nil, err
	}
	if len(s.Columns) > 0 {
		if len(s.Columns) != len(cols) {
			n := int32(8158)
			word := "more"
			if len(cols) < len(s.Columns) {
				n, word = 8159, "fewer"
			}
			return nil, lineAt(sqlError(n, 16, 1, "'%s' has %s columns than were specified in the column list.", qualifier, word), s.Pos)
		}
		for i := range cols {
			cols[i].name = s.Columns[i]
		}
	}
	for i := range cols {
		cols[i].qualifier = qualifier
	}
	return cols, nil
}

func (b *selectBinder) bindStringSplit(it *fromItem, s *tsql.TableFunc, args []*scalar) ([]scopeCol, error) {
	if len(args) < 2 || len(args) > 3 {
		return nil, lineAt(sqlError(313, 16, 3, "An insufficient number of arguments were supplied for the procedure or function STRING_SPLIT."), s.Pos)
	}
	for i := 0; i < 2; i++ {
		if !args[i].typ.Kind.IsCharacter() && args[i].typ.Kind != value.Unknown {
			return nil, lineAt(sqlError(8116, 16, 1, "Argument data type %s is invalid for argument %d of string_split function.", typeName(args[i].typ.Kind), i+1), s.Pos)
		}
	}
	typ := args[0].typ
	switch typ.Kind {
	case value.Char:
		typ.Kind = value.VarChar
	case value.NChar, value.Unknown:
		typ.Kind = value.NVarChar
		if typ.Length == 0 {
			typ.Length = 4000
		}
	}
	if args[1].typ.Kind.IsUnicode() && typ.Kind == value.VarChar {
		typ.Kind = value.NVarChar
		if typ.Length > 4000 {
			typ.Length = value.Max
		}
	}
	cols := []scopeCol{{name: "value", typ: typ, nullable: true}}
	ordinal := false
	if len(args) == 3 {
		if !args[2].literal {
			return nil, lineAt(sqlError(8748, 16, 1, "The enable_ordinal argument for string_split only supports constant values (not variables or columns)."), s.Pos)
		}
		v, err := constantValue(b.p, args[2])
		if err != nil {
			return nil, err
		}
		ordinal = !v.IsNull() && v.Int() == 1
		if !v.IsNull() && v.Int() != 0 && v.Int() != 1 {
			return nil, lineAt(sqlError(4199, 16, 1, "Argument value %d is invalid for argument 3 of string_split function.", v.Int()), s.Pos)
		}
	}
	if ordinal {
		cols = append(cols, scopeCol{name: "ordinal", typ: value.Type{Kind: value.BigInt}})
	}
	it.function = &tableFunction{run: func(rc *rowCtx, each rowFn) error {
		text, err := args[0].eval(rc)
		if err != nil {
			return err
		}
		sep, err := args[1].eval(rc)
		if err != nil {
			return err
		}
		if sep.IsNull() || value.UTF16Len(sep.Str()) != 1 {
			return sqlError(214, 16, 11, "Procedure expects parameter 'separator' of type 'nchar(1)/nvarchar(1)'.")
		}
		if text.IsNull() {
			return nil
		}
		for i, part := range strings.Split(text.Str(), sep.Str()) {
			row := []value.Value{value.NewString(typ.Kind, part)}
			if ordinal {
				row = append(row, value.NewInt(value.BigInt, int64(i+1)))
			}
			if more, err := each(row); err != nil || !more {
				return err
			}
		}
		return nil
	}}
	return cols, nil
}

func (b *selectBinder) bindGenerateSeries(it *fromItem, s *tsql.TableFunc, args []*scalar) ([]scopeCol, error) {
	if len(args) < 2 || len(args) > 3 {
		return nil, lineAt(sqlError(313, 16, 3, "An insufficient number of arguments were supplied for the procedure or function GENERATE_SERIES."), s.Pos)
	}
	typ := args[0].typ
	for i, a := range args {
		k := a.typ.Kind
		if !k.IsInteger() && k != value.Decimal || k == value.Bit {
			return nil, lineAt(sqlError(5373, 16, 1, "All input parameters of GENERATE_SERIES must be of the same type: argument %d is %s.", i+1, typeName(k)), s.Pos)
		}
		if k != typ.Kind {
			return nil, lineAt(sqlError(5373, 16, 1, "The input parameters 'start', 'stop' and 'step' of GENERATE_SERIES must be of the same type."), s.Pos)
		}
	}
	if typ.Kind == value.Decimal {
		for _, a := range args {
			typ.Scale = max(typ.Scale, a.typ.Scale)
		}
		typ.Precision = 38
	}
	it.function = &tableFunction{run: func(rc *rowCtx, each rowFn) error {
		var v [3]value.Value
		for i, a := range args {
			var err error
			if v[i], err = a.eval(rc); err != nil {
				return err
			}
			if v[i].IsNull() {
				return nil
			}
		}
		if typ.Kind == value.Decimal {
			step := value.NewDecimalInt(1, 0)
			zero := value.NewDecimalInt(0, 0)
			if len(args) == 3 {
				step = v[2]
			} else if value.Compare(v[0], v[1], 0) > 0 {
				step = value.NewDecimalInt(-1, 0)
			}
			dir := value.Compare(step, zero, 0)
			if dir == 0 {
				return sqlError(4199, 16, 1, "Argument value 0 is invalid for argument 3 of generate_series function.")
			}
			for cur := v[0]; value.Compare(cur, v[1], 0)*dir <= 0; {
				c, err := value.Convert(cur, typ, typ, 0, value.ConvertEnv{})
				if err != nil {
					return err
				}
				if more, err := each([]value.Value{c}); err != nil || !more {
					return err
				}
				if cur, err = value.Arith("+", cur, step, typ); err != nil {
					return nil
				}
			}
			return nil
		}
		start, stop, step := v[0].Int(), v[1].Int(), int64(1)
		if start > stop {
			step = -1
		}
		if len(args) == 3 {
			step = v[2].Int()
		}
		if step == 0 {
			return sqlError(4199, 16, 1, "Argument value 0 is invalid for argument 3 of generate_series function.")
		}
		for n, i := 0, start; step > 0 && i <= stop || step < 0 && i >= stop; n++ {
			if n&1023 == 1023 {
				if err := rc.ctx.Err(); err != nil {
					return err
				}
			}
			if more, err := each([]value.Value{value.NewInt(typ.Kind, i)}); err != nil || !more {
				return err
			}
			next := i + step
			if (next > i) != (step > 0) {
				return nil
			}
			i = next
		}
		return nil
	}}
	return []scopeCol{{name: "value", typ: typ, nullable: false}}, nil
}

// bindUserTableFunc plans a call of an inline or multi-statement function.
func (b *selectBinder) bindUserTableFunc(it *fromItem, s *tsql.TableFunc, args []*scalar) ([]scopeCol, error) {
	o, err := b.p.resolveObject(s.Name)
	if err != nil {
		return nil, err
	}
	if o == nil || o.module == nil || o.kind != "IF" && o.kind != "TF" {
		return nil, errInvalidObject(s.Name)
	}
	m := o.module
	b.env.check(o, "SELECT")
	if len(args) < len(m.params) {
		return nil, lineAt(sqlError(313, 16, 3, "An insufficient number of arguments were supplied for the procedure or function %s.", s.Name), s.Pos)
	}
	if len(args) > len(m.params) {
		return nil, lineAt(sqlError(8144, 16, 3, "Procedure or function %s has too many arguments specified.", s.Name), s.Pos)
	}
	for i, p := range m.params {
		if args[i] == nil {
			if p.def == nil {
				args[i] = &scalar{typ: p.typ, column: -1, eval: func(*rowCtx) (value.Value, error) { return value.NewNull(p.typ.Kind), nil }}
				continue
			}
			if args[i], err = compileScalar(&scope{sess: b.p.sess, vars: &varTable{byName: map[string]int{}}}, p.def); err != nil {
				return nil, err
			}
		}
		if args[i], err = assignTo(args[i], p.typ); err != nil {
			return nil, err
		}
	}
	evalArgs := func(rc *rowCtx) ([]value.Value, error) {
		vals := make([]value.Value, len(args))
		for i, a := range args {
			if vals[i], err = a.eval(rc); err != nil {
				return nil, err
			}
		}
		return vals, nil
	}
	if o.kind == "TF" {
		def, err := b.p.functionPrototype(o)
		if err != nil {
			return nil, err
		}
		it.function = &tableFunction{run: func(rc *rowCtx, each rowFn) error {
			vals, err := evalArgs(rc)
			if err != nil {
				return err
			}
			res, err := rc.sess.callTableFunction(rc, m, vals)
			if err != nil {
				return err
			}
			t, ok := res.(*table)
			if !ok || t == nil {
				return nil
			}
			return execOf(rc).scanAll(t, each)
		}}
		var cols []scopeCol
		for _, c := range def.columns {
			cols = append(cols, scopeCol{name: c.name, typ: c.typ, nullable: c.nullable})
		}
		return cols, nil
	}
	// An inline function is its query, over its parameters.
	if b.env.depth > 30 {
		return nil, sqlError(4429, 16, 1, "View or function '%s' contains a self-reference. Views or functions cannot reference themselves directly or indirectly.", s.Name)
	}
	vars := &varTable{byName: map[string]int{}}
	for i, p := range m.params {
		vars.byName[foldName(p.name)] = i
		vars.decls = append(vars.decls, varDecl{name: p.name, typ: p.typ})
	}
	inner := &binder{p: b.p, vars: vars}
	db, viewing := b.p.db, b.p.viewing
	b.p.db, b.p.viewing = o.db, o
	q, err := inner.bindQuery(m.ast.Query, nil, &bindEnv{stmt: b.env.stmt, chain: o, depth: b.env.depth + 1})
	b.p.db, b.p.viewing = db, viewing
	if err != nil {
		return nil, err
	}
	it.function = &tableFunction{run: func(rc *rowCtx, each rowFn) error {
		vals, err := evalArgs(rc)
		if err != nil {
			return err
		}
		fr := &frame{sess: rc.sess, parent: rc.frame, layout: vars, vals: vals, module: m, text: m.source, quotedIdentifier: m.quotedIdentifier, identity: value.NewNull(value.Decimal)}
		return q.run(&rowCtx{ctx: rc.ctx, sess: rc.sess, frame: fr, exec: rc.exec}, each)
	}}
	return queryColumns(q, s.Name.Name, m.ast.Columns, "", s.Pos)
}

// bindSystemFunc plans the few table-valued functions of schema sys.
func (b *selectBinder) bindSystemFunc(it *fromItem, s *tsql.TableFunc, args []*scalar) ([]scopeCol, error) {
	long := value.Type{Kind: value.NVarChar, Length: value.Max, Collation: b.p.context().collation}
	switch foldName(s.Name.Name) {
	case "dm_exec_sql_text", "dm_exec_input_buffer":
		if len(args) < 1 {
			return nil, lineAt(sqlError(313, 16, 3, "An insufficient number of arguments were supplied for the procedure or function %s.", s.Name), s.Pos)
		}
		byHandle := foldName(s.Name.Name) == "dm_exec_sql_text"
		it.function = &tableFunction{run: func(rc *rowCtx, each rowFn) error {
			v, err := args[0].eval(rc)
			if err != nil || v.IsNull() {
				return err
			}
			spid := 0
			if byHandle {
				if raw := v.Raw(); len(raw) == 4 {
					spid = int(raw[2])<<8 | int(raw[3])
				}
			} else {
				spid = int(v.Int())
			}
			p := rc.sess.planner()
			p.srv.mu.RLock()
			other := p.srv.sessions[spid]
			p.srv.mu.RUnlock()
			if other == nil {
				return nil
			}
			statement := value.NewString(value.NVarChar, other.party.Statement())
			if byHandle {
				_, err = each([]value.Value{value.NewNull(value.SmallInt), value.NewNull(value.Int), value.NewNull(value.SmallInt), value.NewInt(value.Bit, 0), statement})
			} else {
				_, err = each([]value.Value{value.NewString(value.NVarChar, "Language Event"), value.NewInt(value.SmallInt, 0), statement})
			}
			return err
		}}
		if byHandle {
			return []scopeCol{{name: "dbid", typ: value.Type{Kind: value.SmallInt}, nullable: true}, {name: "objectid", typ: value.Type{Kind: value.Int}, nullable: true}, {name: "number", typ: value.Type{Kind: value.SmallInt}, nullable: true}, {name: "encrypted", typ: value.Type{Kind: value.Bit}}, {name: "text", typ: long, nullable: true}}, nil
		}
		return []scopeCol{{name: "event_type", typ: value.Type{Kind: value.NVarChar, Length: 256, Collation: long.Collation}}, {name: "parameters", typ: value.Type{Kind: value.SmallInt}}, {name: "event_info", typ: long, nullable: true}}, nil
	}
	return nil, lineAt(sqlError(208, 16, 1, "Invalid object name '%s'.", s.Name), s.Pos)
}
