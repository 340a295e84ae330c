package engine

import "github.com/chokaq/chokaq/internal/sqlsim/tsql"

// moduleColumns are the columns of a view or table-valued function, as it would be
// planned now; none if that fails.
func (p *planner) moduleColumns(o *object) []*column {
	if o.kind == "TF" {
		if t, err := p.functionPrototype(o); err == nil {
			return t.columns
		}
		return nil
	}
	vars := &varTable{byName: map[string]int{}}
	for i, pr := range o.module.params {
		vars.byName[foldName(pr.name)] = i
		vars.decls = append(vars.decls, varDecl{name: pr.name, typ: pr.typ})
	}
	saved := p.db
	p.db = o.db
	defer func() { p.db = saved }()
	b := &binder{p: p, vars: vars}
	q, err := b.bindQuery(o.module.ast.Query, nil, &bindEnv{stmt: &stmtPlan{}, chain: o})
	if err != nil {
		return nil
	}
	var cols []*column
	for i, c := range q.cols {
		name := c.name
		if i < len(o.module.ast.Columns) {
			name = o.module.ast.Columns[i]
		}
		cols = append(cols, &column{id: int32(i + 1), name: name, typ: c.typ, nullable: c.nullable})
	}
	return cols
}

// moduleReferences are the names of tables, views, functions and procedures that a
// module mentions, without duplicates.
func moduleReferences(m *module) []tsql.ObjectName {
	var names []tsql.ObjectName
	seen := map[string]bool{}
	ctes := map[string]bool{}
	walkDeep(m.ast, func(n tsql.Node) bool {
		if c, ok := n.(*tsql.CTE); ok {
			ctes[foldName(c.Name)] = true
		}
		return true
	})
	add := func(n tsql.ObjectName) {
		key := foldName(n.String())
		if n.Name == "" || seen[key] || n.IsTemp() || n.Schema == "" && ctes[foldName(n.Name)] {
			return
		}
		seen[key] = true
		names = append(names, n)
	}
	walkDeep(m.ast, func(n tsql.Node) bool {
		switch n := n.(type) {
		case *tsql.TableRef:
			add(n.Name)
		case *tsql.TableFunc:
			if n.Name.Schema != "" {
				add(n.Name)
			}
		case *tsql.FuncCall:
			if n.Name.Schema != "" {
				add(n.Name)
			}
		case *tsql.Exec:
			if !n.IsSQL {
				add(n.Proc)
			}
		case *tsql.NextValue:
			add(n.Sequence)
		}
		return true
	})
	return names
}
