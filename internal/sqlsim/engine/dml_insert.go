package engine

import (
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// insertPlan is an INSERT statement.
type insertPlan struct {
	tg     *target
	writer *rowWriter
	at     []int // columns that get values, in order of the values
	rows   [][]*scalar
	query  *boundQuery
	exec   *tsql.Exec
	top    *limitPlan
	output *outputPlan
	types  []value.Type
	env    *bindEnv
}

// insertColumns resolves a column list; without one, all columns that take values.
func (b *binder) insertColumns(tg *target, names []string, count int, pos tsql.Pos) ([]int, error) {
	var at []int
	if len(names) == 0 {
		for _, c := range tg.cols {
			if c.ordinal < 0 {
				continue
			}
			col := tg.t.columns[c.ordinal]
			if col.computed != nil || col.typ.Kind == value.RowVersion || col.identity && !(b.p.identity == tg.t) {
				continue
			}
			at = append(at, c.ordinal)
		}
		if count >= 0 && count != len(at) {
			return nil, lineAt(sqlError(213, 16, 1, "Column name or number of supplied values does not match table definition."), pos)
		}
		return at, nil
	}
	seen := map[int]bool{}
	for _, n := range names {
		o, ok := tg.find(n)
		if !ok {
			return nil, lineAt(sqlError(207, 16, 1, "Invalid column name '%s'.", n), pos)
		}
		if o < 0 {
			return nil, lineAt(sqlError(4406, 16, 1, "Update or insert of view or function '%s' failed because it contains a derived or constant field.", tg.name), pos)
		}
		if seen[o] {
			return nil, lineAt(sqlError(264, 16, 1, "The column name '%s' is specified more than once in the SET clause or column list of an INSERT. A column cannot be assigned more than one value in the same clause. Modify the clause to make sure that a column is updated only once. If this statement updates or inserts columns into a view, column aliasing can conceal the duplication in your code.", n), pos)
		}
		seen[o] = true
		col := tg.t.columns[o]
		if col.computed != nil {
			return nil, lineAt(sqlError(271, 16, 1, "The column \"%s\" cannot be modified because it is either a computed column or is the result of a UNION operator.", col.name), pos)
		}
		if col.typ.Kind == value.RowVersion {
			return nil, lineAt(sqlError(273, 16, 1, "Cannot insert an explicit value into a timestamp column. Use INSERT with a column list to exclude the timestamp column, or insert a DEFAULT into the timestamp column."), pos)
		}
		at = append(at, o)
	}
	return at, nil
}

// checkIdentity applies the rules of IDENTITY_INSERT.
func (b *binder) checkIdentity(tg *target, at []int, listed bool, pos tsql.Pos) error {
	id := tg.t.identity
	if id == nil {
		return nil
	}
	given := false
	for _, o := range at {
		given = given || o == id.ordinal
	}
	on := b.p.identity == tg.t && tg.t.obj != nil
	switch {
	case given && !on:
		return lineAt(sqlError(544, 16, 1, "Cannot insert explicit value for identity column in table '%s' when IDENTITY_INSERT is set to OFF.", tg.t.plainName()), pos)
	case given && !listed:
		return lineAt(sqlError(8101, 16, 1, "An explicit value for the identity column in table '%s' can only be specified when a column list is used and IDENTITY_INSERT is ON.", tg.t.displayName()), pos)
	case !given && on:
		return lineAt(sqlError(545, 16, 1, "Explicit value must be specified for identity column in table '%s' either when IDENTITY_INSERT is set to ON or when a replication user is inserting into a NOT FOR REPLICATION identity column.", tg.t.plainName()), pos)
	}
	return nil
}

func (b *binder) planInsert(st *tsql.Insert, env *bindEnv) (plan, error) {
	if err := checkTargetHints(st.Target, "INSERT"); err != nil {
		return nil, err
	}
	env, err := b.declareCTEs(st.With, nil, env)
	if err != nil {
		return nil, err
	}
	env.stmt.hints = append(env.stmt.hints, st.Options...)
	if err := checkQueryHints(st.Options); err != nil {
		return nil, err
	}
	pl := &insertPlan{env: env}
	if pl.tg, err = b.insertTarget(st.Target, env); err != nil {
		return nil, err
	}
	if pl.tg.obj != nil {
		env.check(pl.tg.obj, "INSERT")
	}
	if st.Exec != nil && len(st.Output) > 0 {
		return nil, lineAt(sqlError(483, 16, 2, "The OUTPUT clause cannot be used in an INSERT...EXEC statement."), st.Pos)
	}
	count := -1
	sb := &selectBinder{binder: b, env: env, used: map[int]int{}}
	switch {
	case st.DefaultValues:
		count = 0
		pl.rows = [][]*scalar{nil}
		if len(st.Columns) > 0 {
			return nil, lineAt(sqlError(102, 15, 1, "Incorrect syntax near 'DEFAULT'."), st.Pos)
		}
	case st.Rows != nil:
		count = len(st.Rows[0])
		for _, r := range st.Rows {
			if len(r) != count {
				return nil, lineAt(sqlError(10709, 16, 1, "The number of columns for each row in a table value constructor must be the same."), st.Pos)
			}
		}
		if len(st.Rows) > 1000 {
			return nil, lineAt(sqlError(10738, 15, 1, "The number of row value expressions in the INSERT statement exceeds the maximum allowed number of 1000 row values."), st.Pos)
		}
	case st.Query != nil:
		if pl.query, err = b.bindQuery(st.Query, nil, env); err != nil {
			return nil, err
		}
		if pl.query.assigns != nil {
			return nil, lineAt(sqlError(199, 15, 1, "An INSERT statement cannot contain a SELECT statement that assigns values to a variable."), st.Pos)
		}
		count = len(pl.query.cols)
	case st.Exec != nil:
		pl.exec = st.Exec
	}
	if !st.DefaultValues {
		listed := len(st.Columns)
		if listed > 0 && count >= 0 && count != listed {
			switch {
			case st.Query == nil && count < listed:
				return nil, lineAt(sqlError(109, 15, 1, "There are more columns in the INSERT statement than values specified in the VALUES clause. The number of values in the VALUES clause must match the number of columns specified in the INSERT statement."), st.Pos)
			case st.Query == nil:
				return nil, lineAt(sqlError(110, 15, 1, "There are fewer columns in the INSERT statement than values specified in the VALUES clause. The number of values in the VALUES clause must match the number of columns specified in the INSERT statement."), st.Pos)
			case count < listed:
				return nil, lineAt(sqlError(120, 15, 1, "The select list for the INSERT statement contains fewer items than the insert list. The number of SELECT values must match the number of INSERT columns."), st.Pos)
			}
			return nil, lineAt(sqlError(121, 15, 1, "The select list for the INSERT statement contains more items than the insert list. The number of SELECT values must match the number of INSERT columns."), st.Pos)
		}
		if pl.at, err = b.insertColumns(pl.tg, st.Columns, count, st.Pos); err != nil {
			// A list of values with one more, for the identity column, is 8101.
			if len(st.Columns) == 0 && pl.tg.t.identity != nil && count == len(pl.tg.cols) {
				return nil, lineAt(sqlError(8101, 16, 1, "An explicit value for the identity column in table '%s' can only be specified when a column list is used and IDENTITY_INSERT is ON.", pl.tg.t.displayName()), st.Pos)
			}
			return nil, err
		}
	}
	if err := b.checkIdentity(pl.tg, pl.at, len(st.Columns) > 0, st.Pos); err != nil {
		return nil, err
	}
	if err := b.p.checkSequenceDefaults(st, pl.tg.t, pl.at); err != nil {
		return nil, err
	}
	if st.Rows != nil {
		sc := b.newScope(nil, env)
		for _, r := range st.Rows {
			row := make([]*scalar, len(r))
			for i, e := range r {
				if _, ok := tsql.Unparen(e).(*tsql.DefaultValue); ok {
					continue
				}
				if row[i], err = compileScalar(sc, e); err != nil {
					return nil, err
				}
				if err := value.CheckImplicit(row[i].typ, pl.tg.t.columns[pl.at[i]].typ); err != nil {
					return nil, err
				}
			}
			pl.rows = append(pl.rows, row)
		}
	}
	if pl.query != nil {
		for i, c := range pl.query.cols {
			if err := value.CheckImplicit(c.typ, pl.tg.t.columns[pl.at[i]].typ); err != nil {
				return nil, err
			}
			pl.types = append(pl.types, c.typ)
		}
	}
	if st.Top != nil {
		if pl.top, err = sb.bindLimit(&tsql.Select{Top: st.Top}, nil, nil); err != nil {
			return nil, err
		}
	}
	if pl.output, err = b.bindOutput(st.Output, pl.tg, nil, "INSERT", env); err != nil {
		return nil, err
	}
	if pl.writer, err = b.p.newWriter(pl.tg.t, "INSERT"); err != nil {
		return nil, err
	}
	return pl, nil
}

// inserter makes full rows of the values that an INSERT gives.
type inserter struct {
	x        *exec
	t        *table
	at       []int
	types    []value.Type
	defaults []*scalar // by column; compiled on first use
	ready    bool
	given    []bool
}

func (n *inserter) prepare() error {
	n.ready = true
	n.given = make([]bool, len(n.t.columns))
	for _, o := range n.at {
		n.given[o] = true
	}
	n.defaults = make([]*scalar, len(n.t.columns))
	for i, c := range n.t.columns {
		if c.def != nil {
			s, err := compileScalar(&scope{sess: n.x.p.sess, inDefault: true, vars: &varTable{byName: map[string]int{}}}, c.def.expr)
			if err != nil {
				return err
			}
			n.defaults[i] = s
		}
	}
	return nil
}

// row makes a row; vals[i] is for column at[i]. missing marks DEFAULT.
func (n *inserter) row(vals []value.Value) ([]value.Value, error) { return n.rowWith(vals, nil, nil) }

func (n *inserter) rowWith(vals []value.Value, types []value.Type, missing []bool) ([]value.Value, error) {
	if !n.ready {
		if err := n.prepare(); err != nil {
			return nil, err
		}
	}
	if types == nil {
		types = n.types
	}
	row := make([]value.Value, len(n.t.columns))
	for i, o := range n.at {
		if missing != nil && missing[i] {
			v, err := n.fill(o)
			if err != nil {
				return nil, err
			}
			row[o] = v
			continue
		}
		c := n.t.columns[o]
		v, err := n.x.assign(n.t, c, vals[i], types[i])
		if err != nil {
			return nil, err
		}
		row[o] = v
		if c.identity && !v.IsNull() {
			n.t.identity.note(identityInt(v))
			n.x.identityUsed(n.t, v)
		}
	}
	for o := range n.t.columns {
		if n.given[o] {
			continue
		}
		v, err := n.fill(o)
		if err != nil {
			return nil, err
		}
		row[o] = v
	}
	return row, nil
}

// fill is the value of a column that is not given: identity, default or NULL.
func (n *inserter) fill(o int) (value.Value, error) {
	c := n.t.columns[o]
	if c.identity {
		next := n.t.identity.next()
		v, err := identityValue(c.typ, next)
		if err != nil {
			return v, err
		}
		n.x.identityUsed(n.t, v)
		return v, nil
	}
	if s := n.defaults[o]; s != nil {
		v, err := s.eval(&rowCtx{ctx: n.x.ctx, sess: n.x.p.sess, frame: n.x.fr, exec: n.x})
		if err != nil {
			return v, err
		}
		return n.x.assign(n.t, c, v, s.typ)
	}
	return value.NewNull(c.typ.Kind), nil
}

func identityInt(v value.Value) int64 {
	if v.Kind() == value.Decimal {
		n, scale := v.Dec()
		if scale == 0 && n.IsInt64() {
			return n.Int64()
		}
	}
	return v.Int()
}

// identityValue is an identity value in the type of its column; error 8115 at its end.
func identityValue(t value.Type, n int64) (value.Value, error) {
	v, err := value.Convert(value.NewInt(value.BigInt, n), value.Type{Kind: value.BigInt}, t, 0, value.ConvertEnv{})
	if err != nil {
		return v, sqlError(8115, 16, 1, "Arithmetic overflow error converting IDENTITY to data type %s.", typeNameForMessage(t))
	}
	return v, nil
}

// identityUsed is SCOPE_IDENTITY and @@IDENTITY after the statement.
func (x *exec) identityUsed(t *table, v value.Value) {
	if t.variable {
		return
	}
	if v.Kind() == value.Decimal {
		x.identity, x.hasIdentity = v, true
		return
	}
	x.identity, x.hasIdentity = value.NewDecimalInt(v.Int(), 0), true
}

func (pl *insertPlan) run(x *exec, fr *frame, sink Sink) (stmtResult, error) {
	res := stmtResult{command: CommandInsert, setsRowCount: true}
	rc := &rowCtx{ctx: x.ctx, sess: x.p.sess, frame: fr, exec: x}
	t, err := pl.tg.instance(rc)
	if err != nil {
		return res, err
	}
	if err := x.p.checkSettings(t, "INSERT"); err != nil {
		return res, err
	}
	w := pl.writer
	if t != w.t {
		c := *w
		c.t = t
		w = &c
	}
	if err := pl.output.columnsTo(sink); err != nil {
		return res, err
	}
	n := &inserter{x: x, t: t, at: pl.at, types: pl.types}
	var rows [][]value.Value
	limit := int64(-1)
	if pl.top != nil {
		lim, err := pl.top.start(rc)
		if err != nil {
			return res, err
		}
		limit = lim.take
		if lim.isPercent {
			return res, tsql.Unsupported(0, "INSERT TOP (n) PERCENT")
		}
	}
	if n := x.p.sess.settings.rowCount; n > 0 && pl.query != nil && (limit < 0 || n < limit) {
		limit = n
	}
	if limit != 0 {
		switch {
		case pl.exec != nil:
			rows, err = pl.fromExec(x, fr, n, sink)
		case pl.query != nil:
			// All of it is read before anything is written, so that the statement does
			// not meet its own rows.
			var got [][]value.Value
			err = pl.query.run(rc, func(row []value.Value) (bool, error) {
				got = append(got, row)
				return limit < 0 || int64(len(got)) < limit, nil
			})
			for _, row := range got {
				if err != nil {
					break
				}
				var vals []value.Value
				if vals, err = n.row(row); err == nil {
					rows = append(rows, vals)
				}
			}
		default:
			for _, exprs := range pl.rows {
				clear(x.drawn)
				vals := make([]value.Value, len(exprs))
				types := make([]value.Type, len(exprs))
				missing := make([]bool, len(exprs))
				for i, e := range exprs {
					if e == nil {
						missing[i] = true
						continue
					}
					types[i] = e.typ
					if vals[i], err = e.eval(rc); err != nil {
						return res, err
					}
				}
				row, err := n.rowWith(vals, types, missing)
				if err != nil {
					return res, err
				}
				rows = append(rows, row)
				if limit > 0 && int64(len(rows)) >= limit {
					break
				}
			}
		}
		if err != nil {
			return res, err
		}
	}
	done, err := w.insert(x, rows)
	if err != nil {
		return res, err
	}
	out := pl.output.start(x)
	for _, row := range done {
		if err := out.add(row, nil, "INSERT", nil); err != nil {
			return res, err
		}
	}
	res.rows = int64(len(done))
	if x.hasIdentity {
		fr.setIdentity(x.identity)
	} else if !t.variable && len(done) > 0 && !fr.insideTrigger() {
		fr.sess.identity = value.NewNull(value.Decimal)
	}
	if err := x.fireTriggers(t, "INSERT", done, nil, nil); err != nil {
		return res, err
	}
	if err := out.finish(fr, sink); err != nil {
		return res, err
	}
	return res, x.sendNotices(sink)
}

// insideTrigger reports a trigger, and what one calls: their inserts leave @@IDENTITY alone if they make none.
func (fr *frame) insideTrigger() bool {
	for ; fr != nil; fr = fr.parent {
		if fr.trigger != nil {
			return true
		}
	}
	return false
}

// fromExec runs the procedure of INSERT ... EXEC and takes the rows of its result sets.
func (pl *insertPlan) fromExec(x *exec, fr *frame, n *inserter, sink Sink) ([][]value.Value, error) {
	c := &collector{sink: sink, want: len(pl.at)}
	if err := x.p.sess.runExec(x.ctx, fr, pl.exec, c); err != nil {
		return nil, err
	}
	var rows [][]value.Value
	for i, r := range c.rows {
		row, err := n.rowWith(r, c.types[i], nil)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// collector is a Sink that keeps rows; messages go on to the client.
type collector struct {
	sink  Sink
	want  int
	cur   []value.Type
	rows  [][]value.Value
	types [][]value.Type
}

func (c *collector) Columns(cols []Column) error {
	if len(cols) != c.want {
		return sqlError(213, 16, 7, "Column name or number of supplied values does not match table definition.")
	}
	c.cur = nil
	for _, col := range cols {
		c.cur = append(c.cur, col.Type)
	}
	return nil
}

func (c *collector) Row(row []value.Value) error {
	c.rows = append(c.rows, append([]value.Value(nil), row...))
	c.types = append(c.types, c.cur)
	return nil
}
func (c *collector) Done(Command, int64, bool) error                   { return nil }
func (c *collector) Message(e *value.Error) error                      { return c.sink.Message(e) }
func (c *collector) Return(int32) error                                { return nil }
func (c *collector) Output(int, string, value.Type, value.Value) error { return nil }
func (c *collector) DatabaseChanged(from, to string) error             { return c.sink.DatabaseChanged(from, to) }
func (c *collector) LanguageChanged(from, to string) error             { return c.sink.LanguageChanged(from, to) }
func (c *collector) TransactionChanged(id uint64, rolledBack bool) error {
	return c.sink.TransactionChanged(id, rolledBack)
}

// intoPlan is SELECT ... INTO.
type intoPlan struct {
	name tsql.ObjectName
	def  []*column
	id   *identityColumn
}

// planInto plans the table that SELECT INTO creates.
func (b *binder) planInto(q *boundQuery, env *bindEnv) (*intoPlan, error) {
	in := &intoPlan{name: *q.into}
	seen := map[string]bool{}
	for i, c := range q.cols {
		if c.name == "" {
			return nil, lineAt(sqlError(1038, 15, 5, "An object or column name is missing or empty. For SELECT INTO statements, verify each column has a name. For other statements, look for empty alias names. Aliases defined as \"\" or [] are not allowed. Change the alias to a valid name."), q.into.Pos)
		}
		if seen[foldName(c.name)] {
			return nil, lineAt(sqlError(2705, 16, 3, "Column names in each table must be unique. Column name '%s' in table '%s' is specified more than once.", c.name, q.into.Name), q.into.Pos)
		}
		seen[foldName(c.name)] = true
		col := &column{id: int32(i + 1), name: c.name, typ: c.typ, nullable: c.nullable}
		if c.base != nil && c.base.table != nil {
			if bc := c.base.table.columns[c.base.ordinal]; bc.identity && in.id == nil && len(env.stmt.tables) <= 1 {
				col.identity = true
				in.id = &identityColumn{ordinal: i, seed: c.base.table.identity.seed, inc: c.base.table.identity.inc}
				in.id.last.Store(c.base.table.identity.last.Load())
				in.id.used.Store(true)
			}
		}
		if col.typ.Kind == value.RowVersion {
			col.typ = value.Type{Kind: value.Binary, Length: 8}
		}
		in.def = append(in.def, col)
	}
	return in, nil
}

func (in *intoPlan) run(x *exec, fr *frame, q *boundQuery, rc *rowCtx) (stmtResult, error) {
	res := stmtResult{command: CommandSelect, setsRowCount: true}
	t := &table{columns: in.def, identity: in.id, rowversion: -1, nextColumn: int32(len(in.def) + 1)}
	if err := x.p.createTable(x.ctx, fr, in.name, t, nil); err != nil {
		return res, err
	}
	err := q.run(rc, func(row []value.Value) (bool, error) {
		vals := append([]value.Value(nil), row[:len(in.def)]...)
		for i := range vals {
			if vals[i].IsNull() {
				vals[i] = value.NewNull(in.def[i].typ.Kind)
			} else if in.def[i].identity {
				t.identity.note(identityInt(vals[i]))
			}
		}
		_, err := x.txOf(t).Insert(x.ctx, t.data, vals)
		res.rows++
		return true, err
	})
	return res, err
}

// sendNotices sends the informational messages that a statement gathered.
func (x *exec) sendNotices(sink Sink) error {
	for _, n := range x.notices {
		if err := sink.Message(n); err != nil {
			return err
		}
	}
	x.notices = nil
	return nil
}
