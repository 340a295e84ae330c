package engine

import (
	"context"
	"errors"

	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// A plan is one planned DML statement or query, which can run many times.
type plan interface {
	run(x *exec, fr *frame, sink Sink) (stmtResult, error)
}

type planKey struct {
	st   tsql.Statement
	vars *varTable
	db   *database
	quot bool
	ansi bool
	// Names resolve, and identity columns are written, by these too.
	login    *login
	user     *principal
	identity *table
}

func (p *planner) planKey(fr *frame, st tsql.Statement) planKey {
	k := planKey{st: st, vars: fr.layout, db: p.db, quot: p.sess.settings.quotedIdentifier, ansi: p.sess.settings.ansiNulls, login: p.login, identity: p.identity}
	if n := len(p.contexts); n > 0 {
		k.user = p.contexts[n-1].user
	}
	return k
}

type cachedPlan struct {
	plan plan
	stmt *stmtPlan
}

// execStatement runs one statement.
func (p *planner) execStatement(ctx context.Context, fr *frame, st tsql.Statement, sink Sink) (stmtResult, error) {
	savedFrame := p.frame
	p.frame = fr
	p.busy.Add(1)
	defer func() {
		p.frame = savedFrame
		p.busy.Add(-1)
	}()
	start, end := st.Range()
	if start >= 0 && end <= len(fr.text) && start <= end {
		p.party.SetStatement(fr.text[start:end])
	}
	switch st.(type) {
	case *tsql.SelectStatement, *tsql.Insert, *tsql.Update, *tsql.Delete, *tsql.Merge:
		return p.execPlanned(ctx, fr, st, sink)
	}
	return p.execDefinition(ctx, fr, st, sink)
}

// planOf returns the plan of a statement, from the cache if it is still right.
func (p *planner) planOf(fr *frame, st tsql.Statement) (*cachedPlan, error) {
	key := p.planKey(fr, st)
	if c := p.plans[key]; c != nil && c.stmt.version == p.srv.version.Load() {
		return c, nil
	}
	defer p.pin()()
	var stmt *stmtPlan
	var pl plan
	var err error
	// The catalog may change while the first look at a table waits for whoever changes it.
	// From then on the table is pinned, so that the next round finds things at rest.
	for round := 0; round < 10; round++ {
		stmt = &stmtPlan{version: p.srv.version.Load()}
		pl, err = p.plan(fr, st, stmt)
		if err != nil {
			return nil, err
		}
		if stmt.version == p.srv.version.Load() {
			break
		}
	}
	c := &cachedPlan{pl, stmt}
	if !stmt.uncacheable {
		// Plans of ad hoc batches would pile up.
		if len(p.plans) > 400 || p.plans == nil {
			p.plans = map[planKey]*cachedPlan{}
		}
		p.plans[key] = c
	}
	return c, nil
}

// plan plans a statement.
func (p *planner) plan(fr *frame, st tsql.Statement, stmt *stmtPlan) (plan, error) {
	if err := checkNextValues(st); err != nil {
		return nil, err
	}
	env := &bindEnv{stmt: stmt, chain: p.chain()}
	b := &binder{p: p, vars: fr.layout}
	switch st := st.(type) {
	case *tsql.SelectStatement:
		return b.planSelect(st, env)
	case *tsql.Insert:
		return b.planInsert(st, env)
	case *tsql.Update:
		return b.planUpdate(st, env)
	case *tsql.Delete:
		return b.planDelete(st, env)
	case *tsql.Merge:
		return b.planMerge(st, env)
	}
	return nil, tsql.Unsupported(st.Position().Line, "this statement (%T)", st)
}

// execPlanned plans and runs a query or a change of data. If a table changes under it
// before it could lock it, it is planned again.
func (p *planner) execPlanned(ctx context.Context, fr *frame, st tsql.Statement, sink Sink) (stmtResult, error) {
	for attempt := 0; ; attempt++ {
		// What a new plan was made from stays as it is until the statement has its locks.
		unpin := p.pin()
		c, err := p.planOf(fr, st)
		if err == nil {
			err = p.checkAll(c.stmt.checks)
		}
		var x *exec
		if err == nil {
			x, err = p.newExec(ctx, fr)
		}
		if err != nil {
			unpin()
			return stmtResult{}, err
		}
		mark := x.tx.Mark()
		res, err := stmtResult{}, x.lockTables(c.stmt)
		unpin()
		if err == nil {
			res, err = c.plan.run(x, fr, sink)
		}
		x.end(err != nil)
		var stale errStale
		if errors.As(err, &stale) && attempt < 20 {
			x.tx.RollbackTo(mark)
			x.tx.EndStatement()
			delete(p.plans, p.planKey(fr, st))
			continue
		}
		if err != nil {
			x.tx.RollbackTo(mark)
			return res, err
		}
		if p.nullSeen && p.sess.settings.ansiWarnings {
			p.nullSeen = false
			if err := sink.Message(sqlError(8153, 10, 1, "Warning: Null value is eliminated by an aggregate or other SET operation.")); err != nil {
				return res, err
			}
		}
		return res, nil
	}
}

// lockTables takes the locks on all tables that a plan uses, and makes sure that the
// plan is still right under them.
func (x *exec) lockTables(stmt *stmtPlan) error {
	for _, u := range stmt.tables {
		if u.t.obj != nil && u.t.obj.dropped {
			return errStale{}
		}
		if _, err := x.open(u.t, u.hints, u.write); err != nil {
			return err
		}
	}
	if len(stmt.tables) > 0 && x.p.srv.version.Load() != stmt.version {
		return errStale{}
	}
	return nil
}

// selectPlan is a SELECT statement.
type selectPlan struct {
	q    *boundQuery
	cols []Column
	n    int
	into *intoPlan
}

func (b *binder) planSelect(st *tsql.SelectStatement, env *bindEnv) (plan, error) {
	q, err := b.bindQuery(st.Query, nil, env)
	if err != nil {
		return nil, err
	}
	pl := &selectPlan{q: q, n: len(q.cols)}
	for i, c := range q.cols {
		if c.typ.Kind.IsCharacter() && c.collate == noCollation {
			return nil, lineAt(sqlError(451, 16, 1, "Cannot resolve collation conflict for column %d in SELECT statement.", i+1), st.Pos)
		}
		pl.cols = append(pl.cols, c.column())
	}
	if q.into != nil {
		env.stmt.uncacheable = true
		if pl.into, err = b.planInto(q, env); err != nil {
			return nil, err
		}
	}
	return pl, nil
}

func (pl *selectPlan) run(x *exec, fr *frame, sink Sink) (stmtResult, error) {
	rc := &rowCtx{ctx: x.ctx, sess: x.p.sess, frame: fr, exec: x}
	limit := x.p.sess.settings.rowCount
	if pl.into != nil {
		return pl.into.run(x, fr, pl.q, rc)
	}
	if pl.q.assigns != nil {
		n := int64(0)
		err := pl.q.run(rc, func(row []value.Value) (bool, error) {
			n++
			for _, a := range pl.q.assigns {
				fr.vals[a.slot] = row[a.column]
			}
			return limit == 0 || n < limit, nil
		})
		return stmtResult{command: CommandSelect, rows: n, setsRowCount: true, silent: true}, err
	}
	if err := sink.Columns(pl.cols); err != nil {
		return stmtResult{}, err
	}
	n := int64(0)
	err := pl.q.run(rc, func(row []value.Value) (bool, error) {
		n++
		if pl.q.forJSON != nil {
			return true, sendJSON(sink, row[0])
		}
		if err := sink.Row(row[:pl.n]); err != nil {
			return false, err
		}
		return limit == 0 || n < limit, nil
	})
	return stmtResult{command: CommandSelect, rows: n, setsRowCount: true}, err
}

// sendJSON sends a JSON text to a client as SQL Server does: in rows of some 2,000
// characters, which the client has to put together.
func sendJSON(sink Sink, v value.Value) error {
	const piece = 2033
	s := v.Str()
	for {
		n := 0
		end := len(s)
		for i := range s {
			if n == piece {
				end = i
				break
			}
			n++
		}
		if err := sink.Row([]value.Value{value.NewString(value.NVarChar, s[:end])}); err != nil {
			return err
		}
		if s = s[end:]; s == "" {
			return nil
		}
	}
}

// scanAll reads all rows of a private table.
func (x *exec) scanAll(t *table, each rowFn) error {
	cur := x.txOf(t).NewCursor(t.indexes[0].data, storage.Read{}, storage.Range{})
	defer cur.Close()
	for {
		ok, err := cur.Next(x.ctx)
		if err != nil || !ok {
			return err
		}
		if more, err := each(cur.Values()); err != nil || !more {
			return err
		}
	}
}
