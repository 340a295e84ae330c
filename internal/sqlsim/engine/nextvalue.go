package engine

import (
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// NEXT VALUE FOR is allowed only where the number of values that it draws is plain; the
// rest of the language refuses it, each place with an error of its own.

func errNextNested(pos tsql.Pos) error {
	return lineAt(sqlError(11719, 15, 1, "NEXT VALUE FOR function is not allowed in check constraints, default objects, computed columns, views, user-defined functions, user-defined aggregates, user-defined table types, sub-queries, common table expressions, derived tables or return statements."), pos)
}

// nextValueIn is the first NEXT VALUE FOR in a part of a statement, subqueries and all.
func nextValueIn(part any) *tsql.NextValue {
	var found *tsql.NextValue
	walkDeep(part, func(n tsql.Node) bool {
		if v, ok := n.(*tsql.NextValue); ok && found == nil {
			found = v
		}
		return found == nil
	})
	return found
}

// refuseNext refuses NEXT VALUE FOR in the parts of a clause that does not take it.
func refuseNext(parts ...any) error {
	for _, p := range parts {
		if v := nextValueIn(p); v != nil {
			return lineAt(sqlError(11720, 15, 1, "NEXT VALUE FOR function is not allowed in the TOP, OVER, OUTPUT, ON, WHERE, GROUP BY, HAVING, or ORDER BY clauses."), v.Pos)
		}
	}
	return nil
}

func refuseNested(parts ...any) error {
	for _, p := range parts {
		if v := nextValueIn(p); v != nil {
			return errNextNested(v.Pos)
		}
	}
	return nil
}

// checkNextValues applies the rules to a query or a change of data.
func checkNextValues(st tsql.Statement) error {
	if nextValueIn(st) == nil {
		return nil
	}
	switch st := st.(type) {
	case *tsql.SelectStatement:
		return checkNextInQuery(st.Query)
	case *tsql.Insert:
		if err := firstError(refuseNested(st.With), refuseNext(st.Output)); err != nil {
			return err
		}
		for _, r := range st.Rows {
			for _, e := range r {
				if err := checkNextInExpr(e); err != nil {
					return err
				}
			}
		}
		if st.Query != nil {
			if err := checkNextInQuery(st.Query); err != nil {
				return err
			}
		}
		return checkNextLimit(st.Top, []any{st.Rows, st.Query})
	case *tsql.Update:
		if err := firstError(refuseNested(st.With), refuseNext(st.Output, st.Where), checkNextInSources(st.From)); err != nil {
			return err
		}
		for _, s := range st.Set {
			if v := nextValueIn(s.Value); v != nil && v.Over != nil {
				return errNextOver(v.Pos)
			}
			if err := checkNextInExpr(s.Value); err != nil {
				return err
			}
		}
		return checkNextLimit(st.Top, []any{st.Set})
	case *tsql.Delete:
		return firstError(refuseNested(st.With), refuseNext(st.Output, st.Where, st.Top), checkNextInSources(st.From))
	case *tsql.Merge:
		if err := firstError(refuseNested(st.With), refuseNext(st.Output, st.On, st.Top), checkNextInSources([]tsql.TableSource{st.Source})); err != nil {
			return err
		}
		for _, a := range st.Actions {
			if v := nextValueIn(a.Cond); v != nil {
				return lineAt(sqlError(11722, 15, 1, "NEXT VALUE FOR function is not allowed in the WHEN MATCHED clause, the WHEN NOT MATCHED clause, or the WHEN NOT MATCHED BY SOURCE clause of a merge statement."), v.Pos)
			}
			if v := nextValueIn(a); v != nil {
				if v.Over != nil {
					return errNextOver(v.Pos)
				}
				return lineAt(sqlError(11742, 16, 1, "NEXT VALUE FOR function can only be used with MERGE if it is defined within a default constraint on the target table for insert actions."), v.Pos)
			}
		}
	}
	return nil
}

func errNextOver(pos tsql.Pos) error {
	return lineAt(sqlError(11717, 15, 1, "NEXT VALUE FOR function does not support the OVER clause in default constraints, UPDATE statements, or MERGE statements."), pos)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkNextLimit refuses NEXT VALUE FOR in a statement with TOP, which would leave open how many values are drawn.
func checkNextLimit(top *tsql.Top, parts []any) error {
	if top == nil {
		return nil
	}
	if err := refuseNext(top); err != nil {
		return err
	}
	if v := nextValueIn(parts); v != nil {
		return errNextLimited(v.Pos)
	}
	return nil
}

func errNextLimited(pos tsql.Pos) error {
	return lineAt(sqlError(11739, 16, 1, "NEXT VALUE FOR function cannot be used if ROWCOUNT option has been set, or the query contains TOP or OFFSET."), pos)
}

// checkNextInQuery checks the query of a statement, which is not a subquery.
func checkNextInQuery(q *tsql.Query) error {
	if err := firstError(refuseNested(q.With), refuseNext(q.Offset, q.Fetch)); err != nil {
		return err
	}
	for _, o := range q.OrderBy {
		if err := refuseNext(o.X); err != nil {
			return err
		}
	}
	switch body := q.Body.(type) {
	case *tsql.Query:
		return checkNextInQuery(body)
	case *tsql.SetOp:
		if v := nextValueIn(body); v != nil {
			return errNextDistinct(v.Pos)
		}
	case *tsql.Select:
		if err := checkNextInSelect(body); err != nil {
			return err
		}
		v := nextValueIn(body.Items)
		if v == nil {
			return nil
		}
		if q.Offset != nil {
			return errNextLimited(v.Pos)
		}
		if len(q.OrderBy) > 0 && v.Over == nil {
			return lineAt(sqlError(11723, 15, 1, "NEXT VALUE FOR function cannot be used directly in a statement that contains an ORDER BY clause unless the OVER clause is specified."), v.Pos)
		}
	}
	return nil
}

func errNextDistinct(pos tsql.Pos) error {
	return lineAt(sqlError(11721, 15, 1, "NEXT VALUE FOR function cannot be used directly in a statement that uses a DISTINCT, UNION, UNION ALL, EXCEPT or INTERSECT operator."), pos)
}

func checkNextInSelect(s *tsql.Select) error {
	if err := firstError(refuseNext(s.Where, s.GroupBy, s.Having), checkNextInSources(s.From)); err != nil {
		return err
	}
	for _, w := range s.Windows {
		if err := refuseNext(w.Def); err != nil {
			return err
		}
	}
	assigned := map[string]bool{}
	for _, it := range s.Items {
		if it.Expr == nil {
			continue
		}
		if err := checkNextInExpr(it.Expr); err != nil {
			return err
		}
		if it.Variable == "" {
			continue
		}
		var err error
		walkExpr(it.Expr, func(n tsql.Node) bool {
			if v, ok := n.(*tsql.NextValue); ok {
				key := foldName(v.Sequence.String())
				if assigned[key] && err == nil {
					err = lineAt(sqlError(11736, 16, 1, "Only one instance of NEXT VALUE FOR function per sequence object is allowed in SET or SELECT with variable assignment."), v.Pos)
				}
				assigned[key] = true
			}
			return err == nil
		})
		if err != nil {
			return err
		}
	}
	if v := nextValueIn(s.Items); v != nil && s.Distinct {
		return errNextDistinct(v.Pos)
	}
	return checkNextLimit(s.Top, []any{s.Items})
}

// checkNextInSources checks FROM: nothing in it draws values.
func checkNextInSources(list []tsql.TableSource) error {
	for _, src := range list {
		var err error
		switch src := src.(type) {
		case *tsql.Join:
			err = firstError(checkNextInSources([]tsql.TableSource{src.Left, src.Right}), refuseNext(src.On))
		case *tsql.TableFunc:
			if v := nextValueIn(src.Args); v != nil {
				err = lineAt(sqlError(11724, 15, 1, "An expression that contains a NEXT VALUE FOR function cannot be passed as an argument to a table-valued function."), v.Pos)
			}
		default:
			err = refuseNested(src)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkNextInExpr checks a value that may draw from sequences: not in subqueries,
// aggregates, windows or what decides which of its parts to evaluate.
func checkNextInExpr(e tsql.Expr) error {
	if nextValueIn(e) == nil {
		return nil
	}
	var err error
	walkDeep(e, func(n tsql.Node) bool {
		if err != nil {
			return false
		}
		var conditional bool
		switch n := n.(type) {
		case *tsql.Query:
			err = refuseNested(n)
			return false
		case *tsql.NextValue:
			if n.Over != nil {
				err = refuseNext(n.Over.PartitionBy, n.Over.OrderBy)
			}
			return false
		case *tsql.Case:
			conditional = true
		case *tsql.FuncCall:
			if n.Over != nil {
				err = refuseNext(n.Over)
			}
			if _, ok := isAggregateCall(n); ok && err == nil {
				if v := nextValueIn(n.Args); v != nil {
					err = lineAt(sqlError(11725, 15, 1, "An expression that contains a NEXT VALUE FOR function cannot be passed as an argument to an aggregate."), v.Pos)
				}
			}
			switch strings.ToUpper(n.Name.Name) {
			case "CHOOSE", "COALESCE", "IIF", "ISNULL", "NULLIF":
				conditional = n.Name.Schema == ""
			}
		}
		if v := nextValueIn(n); conditional && v != nil && err == nil {
			err = lineAt(sqlError(11741, 16, 1, "NEXT VALUE FOR function cannot be used within CASE, CHOOSE, COALESCE, IIF, ISNULL and NULLIF."), v.Pos)
		}
		return err == nil
	})
	return err
}

// drawn is the value of a sequence that the row at hand has drawn: all that refer to
// the sequence within one row get the same. A reference that has had it begins a new row.
type drawn struct {
	val value.Value
	by  map[*tsql.NextValue]bool
}

// drawNext is NEXT VALUE FOR in a statement that goes by rows.
func (x *exec) drawNext(rc *rowCtx, e *tsql.NextValue) (value.Value, error) {
	if x.p.sess.settings.rowCount > 0 {
		return value.Value{}, errNextLimited(e.Pos)
	}
	o, err := x.p.resolveObject(e.Sequence)
	if err != nil {
		return value.Value{}, err
	}
	if d := x.drawn[o]; o != nil && d != nil && !d.by[e] {
		d.by[e] = true
		return d.val, nil
	}
	v, err := x.p.nextSequence(rc, e.Sequence)
	if err != nil {
		return v, err
	}
	if x.drawn == nil {
		x.drawn = map[*object]*drawn{}
	}
	x.drawn[o] = &drawn{val: v, by: map[*tsql.NextValue]bool{e: true}}
	return v, nil
}

// sequencesOf are the sequences that the defaults of a table's columns draw from, with the columns.
func (p *planner) sequencesOf(t *table) map[*object][]int {
	var out map[*object][]int
	for i, c := range t.columns {
		if c.def == nil {
			continue
		}
		v := nextValueIn(c.def.expr)
		if v == nil {
			continue
		}
		if o, err := p.resolveObject(v.Sequence); err == nil && o != nil {
			if out == nil {
				out = map[*object][]int{}
			}
			out[o] = append(out[o], i)
		}
	}
	return out
}

// checkSequenceDefaults refuses what the server refuses, or what this package could not
// number as it does: an INSERT whose values draw from the sequence of a default.
func (p *planner) checkSequenceDefaults(st *tsql.Insert, t *table, at []int) error {
	v := nextValueIn(st)
	if v == nil || len(st.Rows) == 1 {
		return nil
	}
	given := map[int]bool{}
	for _, o := range at {
		given[o] = true
	}
	sequences := p.sequencesOf(t)
	var err error
	walkDeep([]any{st.Rows, st.Query}, func(n tsql.Node) bool {
		if v, ok := n.(*tsql.NextValue); ok && err == nil {
			o, _ := p.resolveObject(v.Sequence)
			for _, column := range sequences[o] {
				switch {
				case given[column]:
				case st.Rows != nil:
					err = lineAt(sqlError(11731, 16, 1, "A column that uses a sequence object in the default constraint must be present in the target columns list, if the same sequence object appears in a row constructor."), v.Pos)
				default:
					err = tsql.Unsupported(v.Line, "INSERT ... SELECT of a sequence that a default of the table draws from, too")
				}
			}
		}
		return err == nil
	})
	return err
}

// drawsFrom names a default constraint that draws from a sequence.
func (p *planner) drawsFrom(seq *object) string {
	p.srv.mu.RLock()
	var tables []*table
	for _, o := range seq.db.objects {
		if o != nil && o.table != nil {
			tables = append(tables, o.table)
		}
	}
	p.srv.mu.RUnlock()
	for _, t := range tables {
		for _, column := range p.sequencesOf(t)[seq] {
			return t.columns[column].def.obj.name
		}
	}
	return ""
}
