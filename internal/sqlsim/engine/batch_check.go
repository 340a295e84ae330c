package engine

import (
	"errors"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// earlyErrors are the errors of compilation that keep a whole batch or procedure from
// starting. Objects that do not exist are not among them (deferred name resolution), nor
// is anything that an earlier statement of the batch may put right.
var earlyErrors = map[int32]bool{
	107: true, 109: true, 110: true, 116: true, 120: true, 121: true, 137: true, 145: true, 147: true, 155: true, 174: true, 189: true, 195: true,
	205: true, 206: true, 207: true, 209: true, 213: true, 264: true, 402: true, 1023: true, 1033: true, 1087: true, 4104: true, 4108: true, 8117: true,
	8120: true, 8121: true, 8127: true, 8133: true, 8155: true, 8156: true, 8158: true, 8159: true, 10753: true, 11717: true, 11719: true, 11720: true, 11721: true, 11722: true, 11723: true, 11724: true, 11725: true, 11736: true, 11741: true, 11742: true, tsql.UnsupportedNumber: true,
}

// checkStatement compiles a statement without running it. What it compiles is kept for
// the run.
func (p *planner) checkStatement(fr *frame, st tsql.Statement) error {
	if r, ok := st.(*tsql.Return); ok && r.X != nil && fr.module == nil {
		return sqlError(178, 15, 1, "A RETURN statement with a return value cannot be used in this context.")
	}
	var err error
	switch st := st.(type) {
	case *tsql.SelectStatement, *tsql.Insert, *tsql.Update, *tsql.Delete, *tsql.Merge:
		saved := p.frame
		p.frame = fr
		_, err = p.planOf(fr, st)
		p.frame = saved
	case *tsql.If:
		err = fr.compileCondition(st.Cond)
	case *tsql.While:
		err = fr.compileCondition(st.Cond)
	case *tsql.Print:
		err = fr.compileOnly(st.X, value.Type{Kind: value.NVarChar, Length: 4000})
	case *tsql.SetVar:
		if slot, ok := fr.layout.lookup(st.Name); ok && st.Cursor == nil && st.Op == "=" && !fr.layout.decls[slot].cursor && fr.layout.decls[slot].table == nil {
			err = fr.compileOnly(st.Value, fr.layout.decls[slot].typ)
		}
	case *tsql.Declare:
		for _, d := range st.Vars {
			if slot, ok := fr.layout.lookup(d.Name); ok && d.Init != nil && err == nil {
				err = fr.compileOnly(d.Init, fr.layout.decls[slot].typ)
			}
		}
	}
	var e *value.Error
	if errors.As(err, &e) && earlyErrors[e.Number] {
		return err
	}
	return nil
}

func (fr *frame) compileOnly(e tsql.Expr, typ value.Type) error {
	_, err := fr.compiled(e, typ)
	return err
}

func (fr *frame) compileCondition(e tsql.Expr) error {
	_, err := fr.compiledPredicate(e)
	return err
}
