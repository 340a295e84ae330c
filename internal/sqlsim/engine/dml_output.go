package engine

import (
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// outputPlan is the OUTPUT clauses of a statement. Their row is that of inserted, then
// deleted, then $action, then the sources of FROM.
type outputPlan struct {
	clauses  []*outputClause
	columns  int // of the table
	action   int
	from     int
	fromCols int
}

type outputClause struct {
	items  []*scalar
	cols   []Column
	into   *target
	intoAt []int
	writer *rowWriter
	from   []value.Type
}

// bindOutput plans OUTPUT for a change of tg. verb tells which of inserted and deleted exist.
func (b *binder) bindOutput(list []*tsql.Output, tg *target, from *scope, verb string, env *bindEnv) (*outputPlan, error) {
	if len(list) == 0 {
		return nil, nil
	}
	o := &outputPlan{columns: len(tg.t.columns)}
	sc := b.newScope(nil, env)
	add := func(name string, visible bool) {
		byOrdinal := map[int]string{}
		for _, c := range tg.cols {
			if c.ordinal >= 0 {
				byOrdinal[c.ordinal] = c.name
			}
		}
		for i, c := range tg.t.columns {
			shown, ok := byOrdinal[i]
			sc.cols = append(sc.cols, scopeCol{qualifier: name, name: shown, typ: c.typ, nullable: c.nullable || name == "deleted" && verb == "MERGE" || name == "inserted" && verb == "MERGE", hidden: !ok || !visible})
		}
	}
	add("inserted", verb != "DELETE")
	add("deleted", verb != "INSERT")
	o.action = len(sc.cols)
	sc.cols = append(sc.cols, scopeCol{name: "$action", typ: value.Type{Kind: value.NVarChar, Length: 10, Collation: b.p.context().collation}, hidden: true})
	o.from = len(sc.cols)
	if from != nil {
		o.fromCols = len(from.cols)
		sc.cols = append(sc.cols, from.cols...)
	}
	sc.resolve = func(e tsql.Expr) (*scalar, bool, error) {
		if c, ok := e.(*tsql.ColumnRef); ok && c.Pseudo && strings.EqualFold(c.Name, "$action") && verb == "MERGE" {
			return colScalar(o.action, sc.cols[o.action].typ, false, "$action"), true, nil
		}
		if c, ok := e.(*tsql.ColumnRef); ok && from != nil && strings.EqualFold(c.Table, "deleted") {
			if at, ok := tg.derived[foldName(c.Name)]; ok {
				col := from.cols[at]
				return colScalar(o.from+at, col.typ, col.nullable, col.name), true, nil
			}
		}
		if f, ok := isAggregateCall(e); ok {
			return nil, true, lineAt(sqlError(158, 15, 1, "An aggregate may not appear in the OUTPUT clause."), f.Pos)
		}
		return nil, false, nil
	}
	for _, out := range list {
		cl := &outputClause{}
		for _, it := range out.Items {
			if it.Star {
				found := false
				for i, c := range sc.cols {
					if c.hidden || it.Qualifier.Name != "" && foldName(c.qualifier) != foldName(it.Qualifier.Name) {
						continue
					}
					found = true
					cl.items = append(cl.items, colScalar(i, c.typ, c.nullable, c.name))
					cl.cols = append(cl.cols, Column{Name: c.name, Type: c.typ, Nullable: c.nullable})
				}
				if !found {
					return nil, lineAt(sqlError(107, 15, 1, "The column prefix '%s' does not match with a table name or alias name used in the query.", it.Qualifier), it.Pos)
				}
				continue
			}
			if err := noOutputSubquery(it.Expr); err != nil {
				return nil, err
			}
			s, err := compileScalar(sc, it.Expr)
			if err != nil {
				return nil, err
			}
			name := it.Alias
			if name == "" {
				name = s.name
			}
			cl.items = append(cl.items, s)
			cl.cols = append(cl.cols, Column{Name: name, Type: typeForUnknown(s.typ), Nullable: s.nullable})
		}
		for _, s := range cl.items {
			cl.from = append(cl.from, s.typ)
		}
		if out.Into == nil {
			for _, tr := range tg.t.triggers {
				if triggerOn(tr, verb) {
					return nil, lineAt(sqlError(334, 16, 1, "The target table '%s' of the DML statement cannot have any enabled triggers if the statement contains an OUTPUT clause without INTO clause.", tg.name), out.Pos)
				}
			}
			o.clauses = append(o.clauses, cl)
			continue
		}
		into, err := b.insertTarget(out.Into, env)
		if err != nil {
			return nil, err
		}
		if len(into.t.triggers) > 0 {
			for _, tr := range into.t.triggers {
				if !tr.module.native.(*triggerInfo).disabled {
					return nil, lineAt(sqlError(331, 16, 1, "The target table '%s' of the OUTPUT INTO clause cannot have any enabled triggers.", into.name), out.Pos)
				}
			}
		}
		for _, fk := range append(append([]*foreignKey(nil), into.t.foreign...), into.t.references...) {
			return nil, lineAt(sqlError(332, 16, 1, "The target table '%s' of the OUTPUT INTO clause cannot be on either side of a (primary key, foreign key) relationship. Found reference constraint '%s'.", into.name, fk.obj.name), out.Pos)
		}
		for _, c := range into.t.checks {
			if !c.disabled {
				return nil, lineAt(sqlError(333, 16, 1, "The target table '%s' of the OUTPUT INTO clause cannot have any enabled check constraints or any enabled rules. Found check constraint or rule '%s'.", into.name, checkName(c)), out.Pos)
			}
		}
		if into.obj != nil {
			env.check(into.obj, "INSERT")
		}
		cl.into = into
		if cl.intoAt, err = b.insertColumns(into, out.IntoColumns, len(cl.items), out.Pos); err != nil {
			return nil, err
		}
		if cl.writer, err = b.p.newWriter(into.t, "INSERT"); err != nil {
			return nil, err
		}
		o.clauses = append(o.clauses, cl)
	}
	return o, nil
}

func noOutputSubquery(e tsql.Expr) error {
	var err error
	walkExpr(e, func(n tsql.Node) bool {
		if s, ok := n.(*tsql.Subquery); ok {
			err = lineAt(sqlError(10705, 15, 1, "Subqueries are not allowed in the OUTPUT clause."), s.Pos)
		}
		return err == nil
	})
	return err
}

// columns announces the result set that goes to the client, if there is one.
func (o *outputPlan) columnsTo(sink Sink) error {
	if o == nil {
		return nil
	}
	for _, c := range o.clauses {
		if c.into == nil {
			return sink.Columns(c.cols)
		}
	}
	return nil
}

// outputRun gathers the OUTPUT of one execution.
type outputRun struct {
	plan *outputPlan
	x    *exec
	rows [][][]value.Value // by clause
}

func (o *outputPlan) start(x *exec) *outputRun {
	if o == nil {
		return nil
	}
	return &outputRun{plan: o, x: x, rows: make([][][]value.Value, len(o.clauses))}
}

// add evaluates the clauses for one changed row.
func (r *outputRun) add(inserted, deleted []value.Value, action string, from []value.Value) error {
	if r == nil {
		return nil
	}
	o := r.plan
	row := make([]value.Value, o.from+o.fromCols)
	for i := range row[:2*o.columns] {
		row[i] = value.NewNull(value.Int)
	}
	copy(row, inserted)
	copy(row[o.columns:], deleted)
	if inserted == nil || deleted == nil {
		r.nullOut(row, inserted == nil, deleted == nil)
	}
	row[o.action] = value.NewString(value.NVarChar, action)
	copy(row[o.from:], from)
	rc := rowCtx{ctx: r.x.ctx, sess: r.x.p.sess, frame: r.x.fr, exec: r.x, row: row}
	if r.x.before != nil {
		defer func(after []value.Value) { r.x.fr.vals = after }(r.x.fr.vals)
		r.x.fr.vals = r.x.before
	}
	for n, c := range o.clauses {
		out := make([]value.Value, len(c.items))
		for i, s := range c.items {
			v, err := s.eval(&rc)
			if err != nil {
				return err
			}
			out[i] = v
		}
		r.rows[n] = append(r.rows[n], out)
	}
	return nil
}

func (r *outputRun) nullOut(row []value.Value, noInserted, noDeleted bool) {
	for _, c := range r.plan.clauses {
		for _, s := range c.items {
			for _, col := range s.cols {
				if col < r.plan.columns && noInserted || col >= r.plan.columns && col < 2*r.plan.columns && noDeleted {
					if s.column == col {
						row[col] = value.NewNull(s.typ.Kind)
					}
				}
			}
		}
	}
}

// reads are the columns of FROM that OUTPUT shows. Those of inserted and deleted are not
// among them: they come from the write.
func (o *outputPlan) reads() []int {
	if o == nil {
		return nil
	}
	var cols []int
	for _, cl := range o.clauses {
		for _, s := range cl.items {
			for _, c := range s.cols {
				if c >= o.from {
					cols = append(cols, c-o.from)
				}
			}
		}
	}
	return cols
}

// finish sends or stores what was gathered.
func (r *outputRun) finish(fr *frame, sink Sink) error {
	if r == nil {
		return nil
	}
	for n, c := range r.plan.clauses {
		if c.into == nil {
			for _, row := range r.rows[n] {
				if err := sink.Row(row); err != nil {
					return err
				}
			}
			continue
		}
		rc := &rowCtx{ctx: r.x.ctx, sess: r.x.p.sess, frame: fr, exec: r.x}
		t, err := c.into.instance(rc)
		if err != nil {
			return err
		}
		w := c.writer
		if t != w.t {
			copied := *w
			copied.t = t
			w = &copied
		}
		ins := &inserter{x: r.x, t: t, at: c.intoAt, types: c.from}
		rows := make([][]value.Value, 0, len(r.rows[n]))
		for _, out := range r.rows[n] {
			vals, err := ins.row(out)
			if err != nil {
				return err
			}
			rows = append(rows, vals)
		}
		if _, err := w.insert(r.x, rows); err != nil {
			return err
		}
	}
	return nil
}
