package engine

import (
	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// setColumn is one column = expr of an UPDATE, planned.
type setColumn struct {
	ordinal  int
	s        *scalar // nil: DEFAULT
	variable int     // slot that gets the value too, or -1
	only     bool    // only the variable
	vtyp     value.Type
}

// rowsFunc finds the rows to change.
type rowsFunc = func(rc *rowCtx, each func(rs *runState, row []value.Value) (bool, error)) error

// updatePlan is an UPDATE statement.
type updatePlan struct {
	cb     *changeBinder
	src    rowsFunc
	set    []setColumn
	writer *rowWriter
	output *outputPlan
	cols   []int
}

func (b *binder) planUpdate(st *tsql.Update, env *bindEnv) (plan, error) {
	if err := checkTargetHints(st.Target, "UPDATE"); err != nil {
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
	cb, err := b.bindChange(st.Target, st.From, env)
	if err != nil {
		return nil, err
	}
	pl := &updatePlan{cb: cb}
	if cb.target.obj != nil {
		env.check(cb.target.obj, "UPDATE")
		if st.Where != nil || readsColumns(st.Set) {
			env.check(cb.target.obj, "SELECT")
		}
	}
	if pl.set, err = cb.bindSet(st.Set); err != nil {
		return nil, err
	}
	for _, s := range pl.set {
		if !s.only {
			pl.cols = append(pl.cols, s.ordinal)
		}
	}
	if pl.output, err = b.bindOutput(st.Output, cb.target, cb.scope, "UPDATE", env); err != nil {
		return nil, err
	}
	cb.use(pl.output.reads())
	if pl.src, err = cb.source(st.Where, st.Top); err != nil {
		return nil, err
	}
	if pl.writer, err = b.p.newWriter(cb.target.t, "UPDATE"); err != nil {
		return nil, err
	}
	return pl, nil
}

func readsColumns(set []*tsql.SetClause) bool {
	found := false
	for _, s := range set {
		walkExpr(s.Value, func(n tsql.Node) bool {
			if _, ok := n.(*tsql.ColumnRef); ok {
				found = true
			}
			return true
		})
		if s.Op != "=" {
			found = true
		}
	}
	return found
}

// bindSet plans the SET clause.
func (cb *changeBinder) bindSet(list []*tsql.SetClause) ([]setColumn, error) {
	var set []setColumn
	seen := map[int]bool{}
	for _, sc := range list {
		s := setColumn{variable: -1, ordinal: -1}
		if sc.Variable != "" {
			slot, ok := cb.vars.lookup(sc.Variable)
			if !ok || cb.vars.decls[slot].table != nil {
				return nil, lineAt(sqlError(137, 15, 1, "Must declare the scalar variable \"%s\".", sc.Variable), sc.Pos)
			}
			s.variable, s.vtyp = slot, cb.vars.decls[slot].typ
		}
		expr := sc.Value
		if sc.Column.Name == "" {
			s.only = true
			if sc.Op != "=" {
				expr = &tsql.Binary{Pos: sc.Pos, Op: sc.Op[:len(sc.Op)-1], L: &tsql.Variable{Pos: sc.Pos, Name: sc.Variable}, R: expr}
			}
			v, err := cb.scalar(cb.scope, expr)
			if err != nil {
				return nil, err
			}
			if s.s, err = assignTo(v, s.vtyp); err != nil {
				return nil, err
			}
			set = append(set, s)
			continue
		}
		o, ok := cb.target.find(sc.Column.Name)
		if !ok {
			return nil, lineAt(sqlError(207, 16, 1, "Invalid column name '%s'.", sc.Column.Name), sc.Pos)
		}
		if o < 0 {
			return nil, lineAt(sqlError(4406, 16, 1, "Update or insert of view or function '%s' failed because it contains a derived or constant field.", cb.target.name), sc.Pos)
		}
		if seen[o] {
			return nil, lineAt(sqlError(264, 16, 1, "The column name '%s' is specified more than once in the SET clause or column list of an INSERT. A column cannot be assigned more than one value in the same clause. Modify the clause to make sure that a column is updated only once. If this statement updates or inserts columns into a view, column aliasing can conceal the duplication in your code.", sc.Column.Name), sc.Pos)
		}
		seen[o] = true
		col := cb.target.t.columns[o]
		switch {
		case col.computed != nil:
			return nil, lineAt(sqlError(271, 16, 1, "The column \"%s\" cannot be modified because it is either a computed column or is the result of a UNION operator.", col.name), sc.Pos)
		case col.identity:
			return nil, lineAt(sqlError(8102, 16, 1, "Cannot update identity column '%s'.", col.name), sc.Pos)
		case col.typ.Kind == value.RowVersion:
			return nil, lineAt(sqlError(272, 16, 1, "Cannot update a timestamp column."), sc.Pos)
		}
		s.ordinal = o
		if _, ok := tsql.Unparen(expr).(*tsql.DefaultValue); !ok {
			if sc.Op != "=" {
				ref := sc.Column
				expr = &tsql.Binary{Pos: sc.Pos, Op: sc.Op[:len(sc.Op)-1], L: &ref, R: expr}
			}
			if err := noAggregates(expr, 157, "An aggregate may not appear in the set list of an UPDATE statement."); err != nil {
				return nil, err
			}
			v, err := cb.scalar(cb.scope, expr)
			if err != nil {
				return nil, err
			}
			if err := value.CheckImplicit(v.typ, col.typ); err != nil {
				return nil, err
			}
			s.s = v
		}
		set = append(set, s)
	}
	return set, nil
}

// found is a row to change, with the row of the select that found it.
type found struct {
	changedRow
	from   []value.Value
	unread bool
	rs     *runState
}

// readUnread locks the rows that were found by an entry of an index alone, and reads
// them. It is the writing half that does so, and it waits: READPAST counts only while
// rows are being found. Nothing that the search has tested can have changed since then, because
// the lock on the entry keeps out whoever would change it. A row that is gone is left out.
func (x *exec) readUnread(t *table, rows []found, set func(r *found) error) ([]found, error) {
	kept := rows[:0]
	for _, r := range rows {
		if r.unread {
			vals, ok, err := x.txOf(t).LockForWrite(x.ctx, t.data, r.row)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			r.old = vals
			if set != nil {
				if err := set(&r); err != nil {
					return nil, err
				}
			}
		}
		kept = append(kept, r)
	}
	return kept, nil
}

// collect runs the reading half: each target row once, however often a join finds it.
func (cb *changeBinder) collect(x *exec, src rowsFunc, rc *rowCtx, each func(rs *runState, row []value.Value, l located) error) error {
	seen := map[*storage.Record]bool{}
	return src(rc, func(rs *runState, row []value.Value) (bool, error) {
		loc := row[cb.locator]
		if loc.IsNull() {
			return true, nil
		}
		l := x.located[loc.Int()]
		if seen[l.row] {
			return true, nil
		}
		seen[l.row] = true
		return true, each(rs, row, l)
	})
}

// keepVariables remembers the variables that SET is about to assign, if OUTPUT is there to show them.
func (x *exec) keepVariables(output *outputPlan, set []setColumn) {
	for _, s := range set {
		if output != nil && s.variable >= 0 && x.before == nil {
			x.before = append([]value.Value(nil), x.fr.vals...)
		}
	}
}

// applySet evaluates SET for one row.
func applySet(x *exec, rs *runState, t *table, set []setColumn, row, old []value.Value, fr *frame) ([]value.Value, error) {
	vals := append([]value.Value(nil), old...)
	for _, s := range set {
		rs.in.row = row
		if s.only {
			v, err := s.s.eval(&rs.in)
			if err != nil {
				return nil, err
			}
			fr.vals[s.variable] = v
			continue
		}
		c := t.columns[s.ordinal]
		var v value.Value
		var err error
		if s.s == nil {
			v, err = x.defaultValue(t, c)
		} else if v, err = s.s.eval(&rs.in); err == nil {
			v, err = x.assign(t, c, v, s.s.typ)
		}
		if err != nil {
			return nil, err
		}
		vals[s.ordinal] = v
		if s.variable >= 0 {
			if fr.vals[s.variable], err = value.Assign(v, c.typ, s.vtyp, x.p.sess.convertEnv()); err != nil {
				return nil, err
			}
		}
	}
	return vals, nil
}

func (pl *updatePlan) run(x *exec, fr *frame, sink Sink) (stmtResult, error) {
	res := stmtResult{command: CommandUpdate, setsRowCount: true}
	rc := &rowCtx{ctx: x.ctx, sess: x.p.sess, frame: fr, exec: x}
	t, err := pl.cb.target.instance(rc)
	if err != nil {
		return res, err
	}
	if err := x.p.checkSettings(t, "UPDATE"); err != nil {
		return res, err
	}
	if err := pl.output.columnsTo(sink); err != nil {
		return res, err
	}
	x.keepVariables(pl.output, pl.set)
	set := func(r *found) (err error) {
		r.new, err = applySet(x, r.rs, t, pl.set, r.from, r.old, fr)
		return err
	}
	var rows []found
	if err := pl.cb.collect(x, pl.src, rc, func(rs *runState, row []value.Value, l located) error {
		r := found{changedRow: changedRow{row: l.row, old: l.vals}, from: row, unread: l.unread, rs: rs}
		if !l.unread {
			if err := set(&r); err != nil {
				return err
			}
		}
		rows = append(rows, r)
		return nil
	}); err != nil {
		return res, err
	}
	if rows, err = x.readUnread(t, rows, set); err != nil {
		return res, err
	}
	return res, finishChange(x, fr, sink, pl.writer, t, rows, pl.output, "UPDATE", pl.cols, &res)
}

// finishChange writes the rows of an UPDATE or DELETE, fires triggers and sends OUTPUT.
func finishChange(x *exec, fr *frame, sink Sink, w *rowWriter, t *table, rows []found, output *outputPlan, verb string, cols []int, res *stmtResult) error {
	if t != w.t {
		c := *w
		c.t = t
		w = &c
	}
	changed := make([]changedRow, len(rows))
	for i, r := range rows {
		changed[i] = r.changedRow
	}
	var err error
	if verb == "DELETE" {
		err = w.delete(x, changed)
	} else {
		err = w.update(x, changed)
	}
	if err != nil {
		return err
	}
	out := output.start(x)
	for _, r := range rows {
		if err := out.add(r.new, r.old, verb, r.from); err != nil {
			return err
		}
	}
	res.rows = int64(len(rows))
	if err := x.fireTriggers(t, verb, nil, changed, cols); err != nil {
		return err
	}
	if err := out.finish(fr, sink); err != nil {
		return err
	}
	return x.sendNotices(sink)
}

// deletePlan is a DELETE statement.
type deletePlan struct {
	cb     *changeBinder
	src    rowsFunc
	writer *rowWriter
	output *outputPlan
}

func (b *binder) planDelete(st *tsql.Delete, env *bindEnv) (plan, error) {
	if err := checkTargetHints(st.Target, "DELETE"); err != nil {
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
	cb, err := b.bindChange(st.Target, st.From, env)
	if err != nil {
		return nil, err
	}
	pl := &deletePlan{cb: cb}
	if cb.target.obj != nil {
		env.check(cb.target.obj, "DELETE")
		if st.Where != nil {
			env.check(cb.target.obj, "SELECT")
		}
	}
	if pl.output, err = b.bindOutput(st.Output, cb.target, cb.scope, "DELETE", env); err != nil {
		return nil, err
	}
	cb.use(pl.output.reads())
	if pl.src, err = cb.source(st.Where, st.Top); err != nil {
		return nil, err
	}
	pl.writer, err = b.p.newWriter(cb.target.t, "DELETE")
	return pl, err
}

func (pl *deletePlan) run(x *exec, fr *frame, sink Sink) (stmtResult, error) {
	res := stmtResult{command: CommandDelete, setsRowCount: true}
	rc := &rowCtx{ctx: x.ctx, sess: x.p.sess, frame: fr, exec: x}
	t, err := pl.cb.target.instance(rc)
	if err != nil {
		return res, err
	}
	if err := x.p.checkSettings(t, "DELETE"); err != nil {
		return res, err
	}
	if err := pl.output.columnsTo(sink); err != nil {
		return res, err
	}
	var rows []found
	if err := pl.cb.collect(x, pl.src, rc, func(rs *runState, row []value.Value, l located) error {
		rows = append(rows, found{changedRow: changedRow{row: l.row, old: l.vals}, from: row, unread: l.unread})
		return nil
	}); err != nil {
		return res, err
	}
	if rows, err = x.readUnread(t, rows, nil); err != nil {
		return res, err
	}
	return res, finishChange(x, fr, sink, pl.writer, t, rows, pl.output, "DELETE", nil, &res)
}
