package engine

import (
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// systemView is a catalog view, a dynamic management view or one of
// INFORMATION_SCHEMA: its columns, and what produces its rows at this moment.
type systemView struct {
	cols []scopeCol
	rows func(v *viewer) [][]value.Value
}

// viewer is who reads a system view, and in which database.
type viewer struct {
	p  *planner
	db *database
	x  *exec
}

// findSystemView finds a system view by schema and name.
func findSystemView(schema, name string) *systemView {
	return systemViews[foldName(schema)+"."+foldName(name)]
}

// systemObject describes a system view for OBJECT_ID.
func (p *planner) systemObject(name tsql.ObjectName) (objectInfo, bool) {
	if v := findSystemView(name.Schema, name.Name); v != nil {
		id := int32(-1)
		for _, r := range foldName(name.Name) {
			id = id*31 + int32(r)
		}
		if id > 0 {
			id = -id
		}
		return objectInfo{id: id, schemaID: 4, schema: foldName(name.Schema), name: name.Name, typ: "V", system: true}, true
	}
	return objectInfo{}, false
}

// bindSystemView plans a reference to a system view.
func (b *selectBinder) bindSystemView(it *fromItem, s *tsql.TableRef, qualifier string) ([]scopeCol, bool, error) {
	view := findSystemView(s.Name.Schema, s.Name.Name)
	if view == nil && s.Name.Schema == "" {
		// sysobjects and its kin resolve without a schema.
		if compat := findSystemView("sys", s.Name.Name); compat != nil && compatibilityViews[foldName(s.Name.Name)] {
			view = compat
		}
	}
	if view == nil && foldName(s.Name.Schema) == "dbo" && compatibilityViews[foldName(s.Name.Name)] {
		view = findSystemView("sys", s.Name.Name)
	}
	if view == nil {
		return nil, false, nil
	}
	dbName := s.Name.Database
	if dbName != "" && b.p.srv.findDatabase(dbName) == nil {
		return nil, true, errInvalidObject(s.Name)
	}
	home := b.p.db
	it.rows = 200
	it.function = &tableFunction{run: func(rc *rowCtx, each rowFn) error {
		p := rc.sess.planner()
		v := &viewer{p: p, db: home, x: execOf(rc)}
		if dbName != "" {
			if v.db = p.srv.findDatabase(dbName); v.db == nil {
				return errInvalidObject(s.Name)
			}
		}
		for _, row := range view.rows(v) {
			if more, err := each(row); err != nil || !more {
				return err
			}
		}
		return nil
	}}
	cols := make([]scopeCol, len(view.cols))
	for i, c := range view.cols {
		c.qualifier = qualifier
		if s.Alias == "" {
			c.schema = s.Name.Schema
		}
		if c.typ.Kind.IsCharacter() && c.typ.Collation == 0 {
			c.typ.Collation = home.collation
		}
		cols[i] = c
	}
	return cols, true, nil
}
