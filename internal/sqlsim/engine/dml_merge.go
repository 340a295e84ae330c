package engine

import (
	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// mergePlan is a MERGE statement: the source left-joined to the target for the rows
// that match or are missing in the target, then a pass over the target for those that
// are missing in the source.
type mergePlan struct {
	cb      *changeBinder
	src     rowsFunc
	all     rowsFunc // the whole target, when an action needs it
	allCB   *changeBinder
	actions []mergeAction
	insert  *rowWriter
	update  *rowWriter
	del     *rowWriter
	output  *outputPlan
	cols    []int
}

type mergeAction struct {
	match tsql.MergeMatch
	cond  *predicate
	kind  string
	set   []setColumn
	at    []int
	vals  []*scalar
	types []value.Type
}

// mergeClauses are the WHEN clauses as messages name them.
var mergeClauses = map[tsql.MergeMatch]string{tsql.Matched: "WHEN MATCHED", tsql.NotMatchedByTarget: "WHEN NOT MATCHED", tsql.NotMatchedBySource: "WHEN NOT MATCHED BY SOURCE"}

// checkMergeActions checks which WHEN clauses are there: of each kind one for each action,
// and nothing after the one without a condition.
func checkMergeActions(actions []*tsql.MergeAction) error {
	type clause struct {
		match tsql.MergeMatch
		kind  string
	}
	seen := map[clause]bool{}
	last := map[tsql.MergeMatch]bool{}
	for _, a := range actions {
		c := clause{a.Match, a.Kind}
		if seen[c] {
			return lineAt(sqlError(10714, 15, 1, "An action of type '%s' cannot appear more than once in a '%s' clause of a MERGE statement.", a.Kind, mergeClauses[a.Match]), a.Pos)
		}
		if last[a.Match] {
			return lineAt(sqlError(5324, 15, 1, "In a MERGE statement, a '%s' clause with a search condition cannot appear after a '%s' clause with no search condition.", mergeClauses[a.Match], mergeClauses[a.Match]), a.Pos)
		}
		seen[c], last[a.Match] = true, a.Cond == nil
	}
	return nil
}

// ofTarget refuses columns of the source in WHEN NOT MATCHED BY SOURCE.
func (cb *changeBinder) ofTarget(cols []int, pos tsql.Pos) error {
	for _, c := range cols {
		if c < cb.item.start || c >= cb.item.end {
			return lineAt(sqlError(207, 16, 1, "Invalid column name '%s'.", cb.scope.cols[c].name), pos)
		}
	}
	return nil
}

func (b *binder) planMerge(st *tsql.Merge, env *bindEnv) (plan, error) {
	if err := checkTargetHints(st.Target, "MERGE"); err != nil {
		return nil, err
	}
	if err := checkMergeActions(st.Actions); err != nil {
		return nil, err
	}
	env, err := b.declareCTEs(st.With, nil, env)
	if err != nil {
		return nil, err
	}
	env.stmt.hints = append(env.stmt.hints, st.Options...)
	join := &tsql.Join{Pos: st.Pos, Kind: tsql.LeftJoin, Left: st.Source, Right: st.Target, On: st.On}
	named := st.Target
	if r, ok := st.Target.(*tsql.TableRef); ok {
		alias := r.Alias
		if alias == "" {
			alias = r.Name.Name
		}
		named = &tsql.TableRef{Pos: r.Pos, Name: tsql.ObjectName{Pos: r.Pos, Name: alias}}
		if r.Alias == "" {
			named = &tsql.TableRef{Pos: r.Pos, Name: r.Name}
		}
	}
	cb, err := b.bindChange(named, []tsql.TableSource{join}, env)
	if err != nil {
		return nil, err
	}
	cb.wish.whole = true
	pl := &mergePlan{cb: cb}
	t := cb.target.t
	for _, a := range st.Actions {
		act := mergeAction{match: a.Match, kind: a.Kind}
		if a.Cond != nil {
			if act.cond, err = cb.predicate(cb.scope, a.Cond); err != nil {
				return nil, err
			}
			if a.Match == tsql.NotMatchedBySource {
				if err := cb.ofTarget(act.cond.cols, a.Pos); err != nil {
					return nil, err
				}
			}
		}
		switch a.Kind {
		case "UPDATE":
			if act.set, err = cb.bindSet(a.Set); err != nil {
				return nil, err
			}
			for _, s := range act.set {
				if a.Match == tsql.NotMatchedBySource && s.s != nil {
					if err := cb.ofTarget(s.s.cols, a.Pos); err != nil {
						return nil, err
					}
				}
				pl.cols = append(pl.cols, s.ordinal)
			}
		case "INSERT":
			count := len(a.Values)
			if a.DefaultValues {
				break
			}
			if len(a.Columns) > 0 && len(a.Columns) != count {
				return nil, lineAt(sqlError(10726, 15, 1, "The number of columns in the column list must match the number of values in the VALUES clause of the MERGE statement."), a.Pos)
			}
			if act.at, err = b.insertColumns(cb.target, a.Columns, count, a.Pos); err != nil {
				return nil, err
			}
			if err := b.checkIdentity(cb.target, act.at, len(a.Columns) > 0, a.Pos); err != nil {
				return nil, err
			}
			for _, e := range a.Values {
				if _, ok := tsql.Unparen(e).(*tsql.DefaultValue); ok {
					act.vals = append(act.vals, nil)
					act.types = append(act.types, value.Type{})
					continue
				}
				s, err := cb.scalar(cb.scope, e)
				if err != nil {
					return nil, err
				}
				act.vals = append(act.vals, s)
				act.types = append(act.types, s.typ)
			}
		}
		if cb.target.obj != nil {
			env.check(cb.target.obj, a.Kind)
		}
		if a.Match == tsql.NotMatchedBySource && pl.allCB == nil {
			if pl.allCB, err = b.bindChange(st.Target, nil, env); err != nil {
				return nil, err
			}
			pl.allCB.wish.whole = true
			if pl.all, err = pl.allCB.source(nil, nil); err != nil {
				return nil, err
			}
		}
		pl.actions = append(pl.actions, act)
	}
	if cb.target.obj != nil {
		env.check(cb.target.obj, "SELECT")
	}
	if pl.output, err = b.bindOutput(st.Output, cb.target, cb.scope, "MERGE", env); err != nil {
		return nil, err
	}
	cb.use(pl.output.reads())
	if pl.src, err = cb.source(nil, st.Top); err != nil {
		return nil, err
	}
	if pl.insert, err = b.p.newWriter(t, "MERGE"); err != nil {
		return nil, err
	}
	pl.update, pl.del = pl.insert, pl.insert
	return pl, nil
}

type mergeRow struct {
	action string
	changedRow
	from []value.Value
}

func (pl *mergePlan) run(x *exec, fr *frame, sink Sink) (stmtResult, error) {
	res := stmtResult{command: CommandOther, setsRowCount: true}
	rc := &rowCtx{ctx: x.ctx, sess: x.p.sess, frame: fr, exec: x}
	t, err := pl.cb.target.instance(rc)
	if err != nil {
		return res, err
	}
	if err := x.p.checkSettings(t, "MERGE"); err != nil {
		return res, err
	}
	if err := pl.output.columnsTo(sink); err != nil {
		return res, err
	}
	for i := range pl.actions {
		x.keepVariables(pl.output, pl.actions[i].set)
	}
	var rows []mergeRow
	changed := map[*storage.Record]bool{}
	matched := map[*storage.Record]bool{}
	var ins *inserter
	choose := func(match tsql.MergeMatch, rs *runState, row []value.Value) (*mergeAction, error) {
		for i := range pl.actions {
			a := &pl.actions[i]
			if a.match != match {
				continue
			}
			if a.cond != nil {
				rs.in.row = row
				ok, err := a.cond.eval(&rs.in)
				if err != nil {
					return nil, err
				}
				if ok != isTrue {
					continue
				}
			}
			return a, nil
		}
		return nil, nil
	}
	change := func(a *mergeAction, rs *runState, row []value.Value, l located) error {
		if changed[l.row] {
			return sqlError(8672, 16, 1, "The MERGE statement attempted to UPDATE or DELETE the same row more than once. This happens when a target row matches more than one source row. A MERGE statement cannot UPDATE/DELETE the same row of the target table multiple times. Refine the ON clause to ensure a target row matches at most one source row, or use the GROUP BY clause to group the source rows.")
		}
		changed[l.row] = true
		m := mergeRow{action: a.kind, changedRow: changedRow{row: l.row, old: l.vals}, from: row}
		if a.kind == "UPDATE" {
			vals, err := applySet(x, rs, t, a.set, row, l.vals, fr)
			if err != nil {
				return err
			}
			m.new = vals
		}
		rows = append(rows, m)
		return nil
	}
	err = pl.src(rc, func(rs *runState, row []value.Value) (bool, error) {
		loc := row[pl.cb.locator]
		if !loc.IsNull() {
			l := x.located[loc.Int()]
			matched[l.row] = true
			a, err := choose(tsql.Matched, rs, row)
			if err != nil || a == nil {
				return true, err
			}
			return true, change(a, rs, row, l)
		}
		a, err := choose(tsql.NotMatchedByTarget, rs, row)
		if err != nil || a == nil {
			return true, err
		}
		if ins == nil || &ins.at != &a.at {
			ins = &inserter{x: x, t: t, at: a.at, types: a.types}
		}
		vals := make([]value.Value, len(a.vals))
		missing := make([]bool, len(a.vals))
		for i, s := range a.vals {
			if s == nil {
				missing[i] = true
				continue
			}
			rs.in.row = row
			if vals[i], err = s.eval(&rs.in); err != nil {
				return false, err
			}
		}
		full, err := ins.rowWith(vals, a.types, missing)
		if err != nil {
			return false, err
		}
		rows = append(rows, mergeRow{action: "INSERT", changedRow: changedRow{new: full}, from: row})
		return true, nil
	})
	if err == nil && pl.all != nil {
		err = pl.allCB.collect(x, pl.all, rc, func(rs *runState, row []value.Value, l located) error {
			if matched[l.row] {
				return nil
			}
			// The actions were compiled for the joined row: give them the target's part.
			wide := make([]value.Value, len(pl.cb.scope.cols))
			for i, c := range pl.cb.scope.cols {
				wide[i] = value.NewNull(c.typ.Kind)
			}
			copy(wide[pl.cb.item.start:pl.cb.item.end], row[pl.allCB.item.start:pl.allCB.item.end])
			a, err := choose(tsql.NotMatchedBySource, rs, wide)
			if err != nil || a == nil {
				return err
			}
			return change(a, rs, wide, l)
		})
	}
	if err != nil {
		return res, err
	}
	w := *pl.insert
	w.t = t
	var inserted [][]value.Value
	var updated, deleted []changedRow
	for _, m := range rows {
		switch m.action {
		case "INSERT":
			inserted = append(inserted, m.new)
		case "UPDATE":
			updated = append(updated, m.changedRow)
		default:
			deleted = append(deleted, m.changedRow)
		}
	}
	w.action = "DELETE"
	if err := w.delete(x, deleted); err != nil {
		return res, err
	}
	w.action = "UPDATE"
	if err := w.update(x, updated); err != nil {
		return res, err
	}
	w.action = "INSERT"
	if _, err := w.insert(x, inserted); err != nil {
		return res, err
	}
	if x.hasIdentity {
		fr.setIdentity(x.identity)
	}
	out := pl.output.start(x)
	for _, m := range rows {
		if err := out.add(m.new, m.old, m.action, m.from); err != nil {
			return res, err
		}
	}
	res.rows = int64(len(rows))
	for _, step := range []struct {
		verb string
		ins  [][]value.Value
		ch   []changedRow
		cols []int
	}{{"INSERT", inserted, nil, nil}, {"UPDATE", nil, updated, pl.cols}, {"DELETE", nil, deleted, nil}} {
		if len(step.ins)+len(step.ch) > 0 {
			if err := x.fireTriggers(t, step.verb, step.ins, step.ch, step.cols); err != nil {
				return res, err
			}
		}
	}
	if err := out.finish(fr, sink); err != nil {
		return res, err
	}
	return res, x.sendNotices(sink)
}
