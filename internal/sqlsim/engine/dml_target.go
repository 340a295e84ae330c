package engine

import (
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// target is the table that a statement changes, and how the names of the statement's
// own view of it (a table, a view or a CTE) map to its columns.
type target struct {
	t    *table
	of   func(rc *rowCtx) (*table, error) // table variables
	name string
	cols []targetColumn
	obj  *object // what permissions are checked on
	// derived are the columns of a CTE or view that are no column of the table, as
	// ordinals of the FROM row: OUTPUT may show them of deleted rows.
	derived map[string]int
}

type targetColumn struct {
	name    string
	ordinal int // of the table; -1 if it is not a plain column
}

func (tg *target) find(name string) (int, bool) {
	f := foldName(name)
	for _, c := range tg.cols {
		if foldName(c.name) == f {
			return c.ordinal, true
		}
	}
	return -1, false
}

// tableTarget is a target that is a table itself.
func tableTarget(t *table) *target {
	tg := &target{t: t, name: t.shortName(), obj: t.obj}
	for i, c := range t.columns {
		tg.cols = append(tg.cols, targetColumn{c.name, i})
	}
	return tg
}

// instance returns the table of this execution.
func (tg *target) instance(rc *rowCtx) (*table, error) {
	if tg.of != nil {
		return tg.of(rc)
	}
	return tg.t, nil
}

// insertTarget resolves the target of INSERT, or of OUTPUT INTO.
func (b *binder) insertTarget(src tsql.TableSource, env *bindEnv) (*target, error) {
	switch s := src.(type) {
	case *tsql.TableVar:
		def, of, err := b.tableVariable(s.Name, s.Pos)
		if err != nil {
			return nil, err
		}
		if err := b.writable(s.Name, s.Pos); err != nil {
			return nil, err
		}
		tg := tableTarget(def)
		tg.of = of
		return tg, nil
	case *tsql.TableRef:
		if s.Name.Schema == "" && s.Name.Database == "" {
			if c := env.findCTE(s.Name.Name); c != nil {
				q, err := b.bindQueryFor(c.cte.Query, nil, c.env, &selectWish{locate: true, writing: true})
				if err != nil {
					return nil, err
				}
				return viewTarget(q, c.cte.Columns, s.Name.String())
			}
			if b.p.triggerTable(s.Name.Name) != nil {
				return nil, lineAt(sqlError(286, 16, 1, "The logical tables INSERTED and DELETED cannot be updated."), s.Pos)
			}
		}
		o, err := b.p.resolveObject(s.Name)
		if err != nil {
			return nil, err
		}
		if o == nil {
			return nil, errInvalidObject(s.Name)
		}
		switch o.kind {
		case "U":
			h, err := readHints(s.Hints)
			if err != nil {
				return nil, err
			}
			if o.table.temporary {
				env.stmt.uncacheable = true
			}
			env.stmt.tables = append(env.stmt.tables, &tableUse{t: o.table, hints: h, write: true})
			return tableTarget(o.table), nil
		case "V":
			if o.module.ast.CheckOption {
				return nil, tsql.Unsupported(s.Line, "changing data through a view WITH CHECK OPTION")
			}
			q, cols, err := b.p.expandView(b, o, env, &selectWish{locate: true, writing: true})
			if err != nil {
				return nil, err
			}
			tg, err := viewTarget(q, cols, s.Name.String())
			if err != nil {
				return nil, err
			}
			tg.obj = o
			return tg, nil
		}
		return nil, errInvalidObject(s.Name)
	}
	return nil, tsql.Unsupported(src.Position().Line, "this target")
}

// viewTarget maps the columns of a view or CTE to those of its only changeable table.
func viewTarget(q *boundQuery, names []string, name string) (*target, error) {
	var item *fromItem
	tg := &target{name: name}
	for i, c := range q.cols {
		if c.hidden {
			continue
		}
		n := c.name
		if i < len(names) {
			n = names[i]
		}
		tc := targetColumn{n, -1}
		if c.base != nil {
			if item == nil {
				item = c.base.item
			}
			if c.base.item == item {
				tc.ordinal = c.base.ordinal
			}
		}
		tg.cols = append(tg.cols, tc)
	}
	if item == nil {
		return nil, sqlError(4405, 16, 1, "View or function '%s' is not updatable because the modification affects multiple base tables.", name)
	}
	tg.t, tg.of = item.t, item.tableOf
	return tg, nil
}

// writable refuses changes of a READONLY parameter.
func (b *binder) writable(name string, pos tsql.Pos) error {
	slot, ok := b.vars.lookup(name)
	if ok && b.vars.decls[slot].readonly {
		return lineAt(sqlError(10700, 16, 1, "The table-valued parameter \"%s\" is READONLY and cannot be modified.", name), pos)
	}
	return nil
}

// changeBinder plans the reading half of UPDATE, DELETE and MERGE: which rows of which
// table.
type changeBinder struct {
	*selectBinder
	tree    fromNode
	target  *target
	locator int // column of the select's row that locates the row to change
	item    *fromItem
}

// bindChange binds FROM for a change of target.
func (b *binder) bindChange(tgt tsql.TableSource, from []tsql.TableSource, env *bindEnv) (*changeBinder, error) {
	alias := ""
	switch s := tgt.(type) {
	case *tsql.TableRef:
		alias = s.Name.Name
		if len(from) == 0 {
			from = []tsql.TableSource{s}
			if s.Alias != "" {
				alias = s.Alias
			}
		} else {
			found, exact, several := findAlias(from, s.Name)
			if several && !exact {
				return nil, lineAt(sqlError(8154, 15, 1, "The table '%s' is ambiguous.", s.Name), s.Pos)
			}
			if found == nil {
				from = append([]tsql.TableSource{s}, from...)
			} else if !exact {
				if r, ok := found.(*tsql.TableRef); ok && r.Alias != "" {
					alias = r.Alias
				}
			}
			if r, ok := found.(*tsql.TableRef); ok && len(s.Hints) > 0 {
				r2 := *r
				r2.Hints = append(append([]*tsql.TableHint(nil), r.Hints...), s.Hints...)
				from = replaceSource(from, found, &r2)
			}
		}
	case *tsql.TableVar:
		if err := b.writable(s.Name, s.Pos); err != nil {
			return nil, err
		}
		alias = s.Name
		if len(from) == 0 {
			from = []tsql.TableSource{s}
			if s.Alias != "" {
				alias = s.Alias
			}
		} else if v := findVariable(from, s.Name); v == nil {
			from = append([]tsql.TableSource{s}, from...)
		} else if v.Alias != "" {
			alias = v.Alias
		}
	}
	cb := &changeBinder{locator: -1}
	cb.selectBinder = &selectBinder{binder: b, env: env, used: map[int]int{}, wish: &selectWish{locate: true, locateName: foldName(alias), writing: true}}
	cb.scope = b.newScope(nil, env)
	var err error
	if cb.tree, err = cb.bindFrom(from); err != nil {
		return nil, err
	}
	for _, it := range cb.list {
		if it.alias != foldName(alias) {
			continue
		}
		cb.item = it
		switch {
		case it.t != nil && it.query == nil:
			if it.pseudo {
				return nil, lineAt(sqlError(286, 16, 1, "The logical tables INSERTED and DELETED cannot be updated."), tgt.Position())
			}
			cb.target = tableTarget(it.t)
			cb.target.of = it.tableOf
			cb.locator = it.start + it.locator
		case it.query != nil:
			if len(it.query.locators) != 1 {
				if len(it.query.locators) == 0 {
					return nil, sqlError(4421, 16, 1, "Derived table '%s' is not updatable because a column of the derived table is derived or constant.", it.shown)
				}
			}
			q := *it.query
			q.cols = append([]outCol(nil), it.query.cols...)
			var names []string
			for i := range q.cols {
				names = append(names, cb.scope.cols[it.start+i].name)
			}
			if cb.target, err = viewTarget(&q, names, it.shown); err != nil {
				return nil, err
			}
			cb.target.derived = map[string]int{}
			for i, c := range q.cols {
				if !c.hidden && (c.base == nil || c.base.table != cb.target.t) {
					cb.target.derived[foldName(names[i])] = it.start + i
				}
			}
			for _, l := range it.query.locators {
				if len(it.query.locators) == 1 || cb.target.t == l.item.t {
					cb.locator = it.start + l.column
				}
			}
		}
	}
	if cb.target == nil || cb.locator < 0 {
		return nil, lineAt(sqlError(4405, 16, 1, "View or function '%s' is not updatable because the modification affects multiple base tables.", alias), tgt.Position())
	}
	if cb.target.obj == nil {
		cb.target.obj = cb.target.t.obj
	}
	if r, ok := tgt.(*tsql.TableRef); ok && cb.item.isView {
		if o, err := b.p.resolveObject(r.Name); err == nil && o != nil {
			cb.target.obj = o
		}
	}
	return cb, nil
}

// findAlias finds the source that a target names: by alias, or else by table name, in
// which case there may be several.
func findAlias(from []tsql.TableSource, name tsql.ObjectName) (found tsql.TableSource, exact, several bool) {
	var byName tsql.TableSource
	var walk func(s tsql.TableSource)
	walk = func(s tsql.TableSource) {
		switch s := s.(type) {
		case *tsql.Join:
			walk(s.Left)
			walk(s.Right)
		case *tsql.TableRef:
			same := foldName(s.Name.Name) == foldName(name.Name) &&
				(s.Name.Schema == "" || name.Schema == "" || foldName(s.Name.Schema) == foldName(name.Schema))
			if s.Alias != "" && name.Schema == "" && foldName(s.Alias) == foldName(name.Name) || s.Alias == "" && same {
				found = s
			} else if same {
				if several = byName != nil; !several {
					byName = s
				}
			}
		case *tsql.DerivedTable:
			if foldName(s.Alias) == foldName(name.Name) {
				found = s
			}
		case *tsql.TableVar:
			if foldName(s.Alias) == foldName(name.Name) {
				found = s
			}
		}
	}
	for _, s := range from {
		walk(s)
	}
	if found != nil {
		return found, true, several
	}
	return byName, false, several
}

func findVariable(from []tsql.TableSource, name string) (found *tsql.TableVar) {
	var walk func(s tsql.TableSource)
	walk = func(s tsql.TableSource) {
		switch s := s.(type) {
		case *tsql.Join:
			walk(s.Left)
			walk(s.Right)
		case *tsql.TableVar:
			if foldName(s.Name) == foldName(name) && found == nil {
				found = s
			}
		}
	}
	for _, s := range from {
		walk(s)
	}
	return found
}

// replaceSource returns from with one source replaced.
func replaceSource(from []tsql.TableSource, old, with tsql.TableSource) []tsql.TableSource {
	var swap func(s tsql.TableSource) tsql.TableSource
	swap = func(s tsql.TableSource) tsql.TableSource {
		if s == old {
			return with
		}
		if j, ok := s.(*tsql.Join); ok {
			c := *j
			c.Left, c.Right = swap(j.Left), swap(j.Right)
			return &c
		}
		return s
	}
	out := make([]tsql.TableSource, len(from))
	for i, s := range from {
		out[i] = swap(s)
	}
	return out
}

// source plans the reading of the rows to change, with the conditions of WHERE.
func (cb *changeBinder) source(where tsql.Expr, top *tsql.Top) (func(rc *rowCtx, each func(rs *runState, row []value.Value) (bool, error)) error, error) {
	var err error
	if cb.tree, err = cb.conditions(where, cb.tree); err != nil {
		return nil, err
	}
	limit, err := cb.bindLimit(&tsql.Select{Top: top}, nil, nil)
	if err != nil {
		return nil, err
	}
	var startup, pool []*conjunct
	for _, c := range cb.where {
		if c.pred.constant && c.sources == 0 {
			startup = append(startup, c)
		} else {
			pool = append(pool, c)
		}
	}
	jp := &joinPlanner{b: cb.selectBinder, width: len(cb.scope.cols), first: true}
	for _, c := range cb.scope.cols {
		jp.types = append(jp.types, c.typ)
	}
	if h := cb.env.stmt.hint("FORCE ORDER"); h != nil {
		jp.keep = true
	}
	src, err := jp.planGroup(cb.tree, 0, pool)
	if err != nil {
		return nil, err
	}
	return func(rc *rowCtx, each func(rs *runState, row []value.Value) (bool, error)) error {
		rs := &runState{in: innerContext(rc)}
		for _, c := range startup {
			if ok, err := c.pred.eval(&rs.in); err != nil || ok != isTrue {
				return err
			}
		}
		lim, err := limit.start(rc)
		if err != nil {
			return err
		}
		if lim.take == 0 && !lim.isPercent {
			return nil
		}
		max := lim.take
		if n := rc.sess.settings.rowCount; n > 0 && (max < 0 || n < max) {
			max = n
		}
		if lim.isPercent {
			total := int64(0)
			if err := src(rs, nil, func([]value.Value) (bool, error) { total++; return true, nil }); err != nil {
				return err
			}
			if max = int64(ceil(lim.percent / 100 * float64(total))); max == 0 {
				return nil
			}
			rs.spools = nil
		}
		n := int64(0)
		return src(rs, nil, func(row []value.Value) (bool, error) {
			more, err := each(rs, row)
			if err != nil || !more {
				return false, err
			}
			if more {
				n++
			}
			return max < 0 || n < max, nil
		})
	}, nil
}
