package engine

import (
	"context"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/storage"
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// triggerState is inserted and deleted while a trigger runs.
type triggerState struct {
	table             *table
	inserted, deleted *table
	updated           map[int]bool // ordinals of the columns that SET named
	verb              string
}

// triggerOn reports whether a trigger is enabled for a kind of change.
func triggerOn(o *object, verb string) bool {
	i := o.module.native.(*triggerInfo)
	if i.disabled {
		return false
	}
	switch verb {
	case "INSERT":
		return i.insert
	case "UPDATE":
		return i.update
	case "DELETE":
		return i.delete
	}
	return true // MERGE: any of them
}

// checkTriggerBody refuses statements that a trigger may not have, and UPDATE(column) of
// a column that statements cannot set.
func checkTriggerBody(body []tsql.Statement, t *table) error {
	var err error
	refuse := func(n tsql.Node, statement string) {
		err = lineAt(sqlError(287, 16, 1, "The %s statement is not allowed within a trigger.", statement), n.Position())
	}
	walkDeep(body, func(n tsql.Node) bool {
		if err != nil {
			return false
		}
		switch n := n.(type) {
		case *tsql.CreateDatabase:
			refuse(n, "CREATE DATABASE")
		case *tsql.AlterDatabase:
			refuse(n, "ALTER DATABASE")
		case *tsql.DropObject:
			if n.Kind == "DATABASE" {
				refuse(n, "DROP DATABASE")
			}
		case *tsql.UpdateCheck:
			if i := t.columnOrdinal(n.Column); i >= 0 && t.columns[i].computed != nil {
				err = lineAt(sqlError(2114, 16, 1, "Column '%s' cannot be used in an IF UPDATE clause because it is a computed column.", n.Column), n.Pos)
			}
		}
		return err == nil
	})
	return err
}

// installTrigger puts a trigger on its table.
func (p *planner) installTrigger(ctx context.Context, tx *storage.Txn, st *tsql.CreateModule, o, existing *object) error {
	name := st.Table
	if name.Schema == "" {
		name.Schema = o.schema.name
	}
	on, err := p.resolveObject(name)
	if err != nil {
		return err
	}
	if on == nil || on.table == nil || on.table.temporary {
		return lineAt(sqlError(8197, 16, 4, "The object '%s' does not exist or is invalid for this operation.", st.Table), st.Pos)
	}
	if err := p.checkAlter(on, 8197, "The object '%s' does not exist or is invalid for this operation."); err != nil {
		return err
	}
	if err := checkTriggerBody(st.Body, on.table); err != nil {
		return err
	}
	info := &triggerInfo{table: on}
	for _, e := range st.Events {
		switch strings.ToUpper(e) {
		case "INSERT":
			info.insert = true
		case "UPDATE":
			info.update = true
		case "DELETE":
			info.delete = true
		}
	}
	o.module.native = info
	if _, err := p.lockSchema(ctx, on); err != nil {
		return err
	}
	o.parent = on
	if existing != nil {
		old, modified := existing.module, existing.modified
		o.module.id = existing.id
		info.disabled = old.native.(*triggerInfo).disabled
		p.srv.alter(tx, func() { existing.module, existing.modified = o.module, o.modified }, func() { existing.module, existing.modified = old, modified })
		return nil
	}
	before := on.table.triggers
	p.srv.alter(tx, func() {
		o.id = on.db.newObjectID()
		o.module.id = o.id
		on.db.addObject(o)
		on.table.triggers = append(before[:len(before):len(before)], o)
	}, func() {
		on.db.removeObject(o)
		on.table.triggers = before
	})
	return nil
}

// fireTriggers runs the AFTER triggers of a table for one statement, whether or not it
// changed any rows.
func (x *exec) fireTriggers(t *table, verb string, inserted [][]value.Value, changed []changedRow, cols []int) error {
	if len(t.triggers) == 0 {
		return nil
	}
	var state *triggerState
	for _, tr := range t.triggers {
		if !triggerOn(tr, verb) || x.firing(tr) {
			continue
		}
		if state == nil {
			state = &triggerState{table: t, verb: verb, updated: map[int]bool{}}
			var ins, del [][]value.Value
			ins = append(ins, inserted...)
			for _, c := range changed {
				if c.new != nil {
					ins = append(ins, c.new)
				}
				if c.old != nil {
					del = append(del, c.old)
				}
			}
			var err error
			if state.inserted, err = x.pseudoTable(t, "inserted", ins); err != nil {
				return err
			}
			if state.deleted, err = x.pseudoTable(t, "deleted", del); err != nil {
				return err
			}
			for _, c := range cols {
				state.updated[c] = true
			}
			if verb == "INSERT" {
				for i := range t.columns {
					state.updated[i] = true
				}
			}
		}
		if err := x.p.sess.fireTrigger(x.ctx, x.fr, tr.module, state, x.fr.sink); err != nil {
			return err
		}
	}
	return nil
}

// firing reports whether a trigger is running already: without RECURSIVE_TRIGGERS it
// does not fire itself.
func (x *exec) firing(tr *object) bool {
	for fr := x.fr; fr != nil; fr = fr.parent {
		if fr.module == tr.module {
			return true
		}
	}
	return false
}

// pseudoTable makes inserted or deleted.
func (x *exec) pseudoTable(t *table, name string, rows [][]value.Value) (*table, error) {
	c := &table{name: name, variable: true, rowversion: -1, columns: t.columns, indexes: []*index{{heap: true, rowLocks: true, pageLocks: true}}}
	x.p.nextTemp--
	if err := x.p.attach(c, x.p.nextTemp, -int32(x.p.party.ID), name); err != nil {
		return nil, err
	}
	x.p.srv.store.Forget(c.data)
	c.data.Private = true
	tx := x.p.srv.store.Begin(&storage.Party{ID: x.p.party.ID})
	for _, r := range rows {
		if _, err := tx.Insert(x.ctx, c.data, r); err != nil {
			return nil, err
		}
	}
	tx.Commit()
	return c, nil
}

// triggerTable finds inserted or deleted inside a trigger.
func (p *planner) triggerTable(name string) func(rc *rowCtx) (*table, error) {
	f := foldName(name)
	if f != "inserted" && f != "deleted" {
		return nil
	}
	find := func(fr *frame) *table {
		if fr != nil {
			if st, ok := fr.trigger.(*triggerState); ok && st != nil {
				if f == "inserted" {
					return st.inserted
				}
				return st.deleted
			}
		}
		return nil
	}
	here := find(p.innermost())
	if here == nil {
		return nil
	}
	return func(rc *rowCtx) (*table, error) {
		if rc == nil {
			return here, nil
		}
		if t := find(rc.frame); t != nil {
			return t, nil
		}
		return here, nil
	}
}

// execEnableTrigger is ENABLE TRIGGER and DISABLE TRIGGER.
func (p *planner) execEnableTrigger(ctx context.Context, st *tsql.EnableTrigger) error {
	if st.Scope != "" {
		return tsql.Unsupported(st.Line, "DDL triggers")
	}
	o, err := p.tableNamed(st.Table)
	if err != nil {
		return err
	}
	var names []string
	for _, n := range st.Names {
		names = append(names, n.Name)
	}
	return p.switchTriggers(ctx, o, names, st.All, !st.Enable, st.Pos)
}

func (p *planner) switchTriggers(ctx context.Context, o *object, names []string, all, disable bool, pos tsql.Pos) error {
	if err := p.checkAlter(o, 1088, "Cannot find the object \"%s\" because it does not exist or you do not have permissions."); err != nil {
		return err
	}
	tx, err := p.lockSchema(ctx, o)
	if err != nil {
		return err
	}
	set := func(tr *object) {
		i := tr.module.native.(*triggerInfo)
		was := i.disabled
		p.srv.alter(tx, func() { i.disabled = disable }, func() { i.disabled = was })
	}
	if all {
		for _, tr := range o.table.triggers {
			set(tr)
		}
		return nil
	}
	for _, n := range names {
		found := false
		for _, tr := range o.table.triggers {
			if strings.EqualFold(tr.name, n) {
				set(tr)
				found = true
			}
		}
		if !found {
			return lineAt(sqlError(8197, 16, 6, "The object '%s' does not exist or is invalid for this operation.", n), pos)
		}
	}
	return nil
}
