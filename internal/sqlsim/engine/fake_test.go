package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chokaq/chokaq/internal/clock"
	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// fakeBackend stands in for the planning half: it knows SELECT without FROM, modules,
// and a list of rows that INSERT INTO dbo.log appends to, under transactions.
type fakeBackend struct {
	sess    *Session
	modules map[string]*module
	log     []string
	txns    uint64
	version uint64
	db      string
}

type fakeTxn struct {
	b     *fakeBackend
	n     uint64
	start int
}

func (t *fakeTxn) id() uint64     { return t.n }
func (t *fakeTxn) savepoint() int { return len(t.b.log) }
func (t *fakeTxn) rollbackTo(n int) error {
	t.b.log = t.b.log[:n]
	return nil
}
func (t *fakeTxn) commit() error   { return nil }
func (t *fakeTxn) rollback() error { return t.rollbackTo(t.start) }
func (t *fakeTxn) wrote() bool     { return len(t.b.log) > t.start }

func (b *fakeBackend) compileSubquery(sc *scope, q *tsql.Query) (*subquery, error) {
	var list []*tsql.Select
	var walk func(body tsql.QueryBody) error
	walk = func(body tsql.QueryBody) error {
		switch body := body.(type) {
		case *tsql.SetOp:
			if err := walk(body.L); err != nil {
				return err
			}
			return walk(body.R)
		case *tsql.Select:
			if len(body.From) > 0 {
				if t, ok := body.From[0].(*tsql.TableRef); ok {
					return sqlError(208, 16, 1, "Invalid object name '%s'.", t.Name)
				}
				return sqlError(208, 16, 1, "Invalid object name.")
			}
			list = append(list, body)
			return nil
		}
		return fmt.Errorf("unexpected %T", body)
	}
	if err := walk(q.Body); err != nil {
		return nil, err
	}
	inner := &scope{sess: sc.sess, vars: sc.vars, parent: sc}
	rows := make([][]*scalar, len(list))
	wheres := make([]*predicate, len(list))
	sub := &subquery{}
	for i, s := range list {
		for _, it := range s.Items {
			if it.Expr == nil { // an asterisk, and nothing to take it from
				return nil, sqlError(263, 16, 1, "Must specify table to select from.")
			}
			c, err := compileScalar(inner, it.Expr)
			if err != nil {
				return nil, err
			}
			rows[i] = append(rows[i], c)
			if i == 0 {
				sub.cols = append(sub.cols, Column{Name: it.Alias, Type: c.typ, Nullable: c.nullable})
			}
		}
		if s.Where != nil {
			p, err := compilePredicate(inner, s.Where)
			if err != nil {
				return nil, err
			}
			wheres[i] = p
		}
	}
	sub.run = func(rc *rowCtx, each func([]value.Value) (bool, error)) error {
		in := &rowCtx{ctx: rc.ctx, sess: rc.sess, frame: rc.frame, outer: rc}
		for i, r := range rows {
			if wheres[i] != nil {
				if t, err := wheres[i].eval(in); err != nil || t != isTrue {
					if err != nil {
						return err
					}
					continue
				}
			}
			vals := make([]value.Value, len(r))
			for j, c := range r {
				v, err := c.eval(in)
				if err != nil {
					return err
				}
				vals[j] = v
			}
			if more, err := each(vals); err != nil || !more {
				return err
			}
		}
		return nil
	}
	return sub, nil
}

func (b *fakeBackend) execStatement(ctx context.Context, fr *frame, st tsql.Statement, sink Sink) (stmtResult, error) {
	switch st := st.(type) {
	case *tsql.SelectStatement:
		sel := st.Query.Body
		if s, ok := sel.(*tsql.Select); ok && s.Items[0].Variable != "" {
			for _, it := range s.Items {
				v, err := compileScalar(fr.scope(), it.Expr)
				if err != nil {
					return stmtResult{}, err
				}
				x, err := v.eval(fr.rowCtx(ctx))
				if err != nil {
					return stmtResult{}, err
				}
				if err := fr.assignVariable(it.Variable, x, v.typ); err != nil {
					return stmtResult{}, err
				}
			}
			return stmtResult{command: CommandSelect, rows: 1, setsRowCount: true, silent: true}, nil
		}
		sub, err := b.compileSubquery(fr.scope(), st.Query)
		if err != nil {
			return stmtResult{}, err
		}
		if err := sink.Columns(sub.cols); err != nil {
			return stmtResult{}, err
		}
		n := int64(0)
		err = sub.run(fr.rowCtx(ctx), func(row []value.Value) (bool, error) {
			n++
			return true, sink.Row(row)
		})
		return stmtResult{command: CommandSelect, rows: n, setsRowCount: true}, err
	case *tsql.Insert:
		t := st.Target.(*tsql.TableRef)
		if t.Name.Name != "log" {
			return stmtResult{}, sqlError(208, 16, 1, "Invalid object name '%s'.", t.Name)
		}
		if _, err := fr.sess.storeTxn(ctx); err != nil {
			return stmtResult{}, err
		}
		for _, r := range st.Rows {
			c, err := compileScalar(fr.scope(), r[0])
			if err != nil {
				return stmtResult{}, err
			}
			v, err := c.eval(fr.rowCtx(ctx))
			if err != nil {
				return stmtResult{}, err
			}
			if v.Str() == "dup" {
				return stmtResult{}, sqlError(2627, 14, 1, "Violation of PRIMARY KEY constraint.")
			}
			if v.Str() == "victim" {
				return stmtResult{}, sqlError(1205, 13, 51, "Transaction was deadlocked on lock resources with another process and has been chosen as the deadlock victim. Rerun the transaction.")
			}
			b.log = append(b.log, v.Str())
		}
		return stmtResult{command: CommandInsert, rows: int64(len(st.Rows)), setsRowCount: true}, nil
	case *tsql.CreateModule:
		m := &module{id: int32(len(b.modules) + 1), database: "master", schema: "dbo", name: st.Name.Name, kind: st.Kind, ast: st, source: fr.text, quotedIdentifier: true, ansiNulls: true}
		for _, p := range st.Params {
			typ, err := fr.sess.resolveType(p.Type)
			if err != nil {
				return stmtResult{}, err
			}
			m.params = append(m.params, moduleParam{name: p.Name, typ: typ, def: p.Default, output: p.Output})
		}
		if st.Returns != nil {
			var err error
			if m.returns, err = fr.sess.resolveType(st.Returns); err != nil {
				return stmtResult{}, err
			}
		}
		b.version++
		b.modules[foldName(st.Name.Name)] = m
		return stmtResult{}, nil
	}
	return stmtResult{}, fmt.Errorf("unexpected %T", st)
}

func (b *fakeBackend) beginStore(ctx context.Context, iso isolation) (storeTxn, error) {
	b.txns++
	return &fakeTxn{b, b.txns, len(b.log)}, nil
}
func (b *fakeBackend) statementDone(*frame) {}
func (b *fakeBackend) lookupModule(ctx context.Context, fr *frame, name tsql.ObjectName, kind tsql.ModuleKind) (*module, error) {
	m := b.modules[foldName(name.Name)]
	if m == nil || (m.kind == tsql.ModuleProcedure) != (kind == tsql.ModuleProcedure) {
		return nil, nil
	}
	return m, nil
}
func (b *fakeBackend) systemProc(*frame, tsql.ObjectName) systemProc { return nil }
func (b *fakeBackend) enterModule(*frame) (any, error)               { return nil, nil }
func (b *fakeBackend) leaveModule(*frame, any)                       {}
func (b *fakeBackend) tableArgument(*frame, int, any) (any, error)   { return nil, nil }
func (b *fakeBackend) clientTable(*frame, *TableParam, any) (any, error) {
	return nil, nil
}
func (b *fakeBackend) endFrame(context.Context, *frame) {}
func (b *fakeBackend) resolveAlias(d *tsql.DataType) (value.Type, any, error) {
	return value.Type{}, nil, sqlError(2715, 16, 3, "Column, parameter, or variable #1: Cannot find data type %s.", d.Name)
}
func (b *fakeBackend) sequenceType(tsql.ObjectName) (value.Type, error) { return bigintType, nil }
func (b *fakeBackend) nextSequence(*rowCtx, tsql.ObjectName) (value.Value, error) {
	return value.NewInt(value.BigInt, 1), nil
}
func (b *fakeBackend) useDatabase(ctx context.Context, name string) error {
	b.db = name
	return nil
}
func (b *fakeBackend) currentDatabase() (string, int32, value.Collation) {
	return b.db, 1, value.DefaultCollation
}
func (b *fakeBackend) setIdentityInsert(context.Context, *frame, *tsql.SetIdentityInsert) error {
	return nil
}
func (b *fakeBackend) executeAs(context.Context, string, string, bool) error { return nil }
func (b *fakeBackend) revert() error                                         { return nil }
func (b *fakeBackend) kill(int) error                                        { return nil }
func (b *fakeBackend) catalogVersion() uint64                                { return b.version }
func (b *fakeBackend) resetSession(context.Context, bool)                    {}

func (b *fakeBackend) objectByName(n tsql.ObjectName, typ string) (objectInfo, bool) {
	m := b.modules[foldName(n.Name)]
	if m == nil {
		return objectInfo{}, false
	}
	return objectInfo{id: m.id, schema: "dbo", name: m.name, typ: "P"}, true
}
func (b *fakeBackend) objectByID(id int32, db string) (objectInfo, bool) {
	for _, m := range b.modules {
		if m.id == id {
			return objectInfo{id: id, schema: "dbo", name: m.name, typ: "P"}, true
		}
	}
	return objectInfo{}, false
}
func (b *fakeBackend) schemaByName(name string) (int32, bool)   { return 1, foldName(name) == "dbo" }
func (b *fakeBackend) schemaByID(id int32) (string, bool)       { return "dbo", id == 1 }
func (b *fakeBackend) databaseByName(name string) (int32, bool) { return 1, foldName(name) == "master" }
func (b *fakeBackend) databaseByID(id int32) (string, bool)     { return "master", id == 1 }
func (b *fakeBackend) typeByName(schema, name string) (int32, bool) {
	return 56, foldName(name) == "int"
}
func (b *fakeBackend) typeByID(id int32) (string, bool) { return "int", id == 56 }
func (b *fakeBackend) databaseProperty(db, property string) (value.Value, bool) {
	return value.Value{}, false
}
func (b *fakeBackend) serverProperty(property string) (value.Value, bool) {
	return value.NewString(value.NVarChar, property), true
}
func (b *fakeBackend) principalID(name string) (int32, bool) { return 0, foldName(name) == "public" }
func (b *fakeBackend) principalName(id int32) (string, bool) { return "dbo", id == 1 }
func (b *fakeBackend) hasPermission(securable, class, permission string) (value.Value, error) {
	return intValue(1), nil
}
func (b *fakeBackend) isMember(string) (bool, bool)                   { return true, true }
func (b *fakeBackend) isRoleMember(string, string) (bool, bool)       { return true, true }
func (b *fakeBackend) isServerRoleMember(string, string) (bool, bool) { return true, true }
func (b *fakeBackend) identCurrent(tsql.ObjectName) (value.Value, bool) {
	return value.Value{}, false
}
func (b *fakeBackend) identSeed(tsql.ObjectName) (value.Value, value.Value, bool) {
	return value.Value{}, value.Value{}, false
}
func (b *fakeBackend) moduleText(int32) (string, bool) { return "", false }
func (b *fakeBackend) currentUser() string             { return "dbo" }
func (b *fakeBackend) loginName() string               { return "sa" }
func (b *fakeBackend) originalLogin() string           { return "sa" }
func (b *fakeBackend) getAppLock(ctx context.Context, resource, mode string, sessionOwned bool, timeout int, principal string) (int32, error) {
	return 0, nil
}
func (b *fakeBackend) releaseAppLock(string, bool, string) bool      { return true }
func (b *fakeBackend) appLockMode(string, bool, string) string       { return "NoLock" }
func (b *fakeBackend) appLockTest(string, string, bool, string) bool { return true }

// recorder writes down what a request produces, one line a piece.
type recorder struct{ lines []string }

func (r *recorder) add(format string, args ...any) error {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
	return nil
}
func (r *recorder) Columns(cols []Column) error { return nil }
func (r *recorder) Row(row []value.Value) error {
	parts := make([]string, len(row))
	for i, v := range row {
		parts[i] = v.String()
	}
	return r.add("%s", strings.Join(parts, ", "))
}
func (r *recorder) Done(Command, int64, bool) error { return nil }
func (r *recorder) Message(e *value.Error) error {
	if e.Class <= 10 {
		return r.add("print: %s", e.Message)
	}
	return r.add("error %d,%d,%d line %d: %s", e.Number, e.Class, e.State, e.Line, e.Message)
}
func (r *recorder) Return(n int32) error { return nil }
func (r *recorder) Output(ordinal int, name string, typ value.Type, v value.Value) error {
	return r.add("output %s = %s", name, v)
}
func (r *recorder) DatabaseChanged(from, to string) error { return nil }
func (r *recorder) LanguageChanged(from, to string) error { return nil }
func (r *recorder) TransactionChanged(id uint64, rolledBack bool) error {
	switch {
	case id != 0:
		return r.add("begin")
	case rolledBack:
		return r.add("rollback")
	}
	return r.add("commit")
}

var testTime = time.Date(2024, 2, 29, 13, 14, 15, 123456700, time.UTC)

func newFakeSession() (*Session, *fakeBackend) {
	b := &fakeBackend{modules: map[string]*module{}, db: "master"}
	s := newSession(sessionOptions{backend: b, clock: clock.NewManual(testTime), spid: 51})
	b.sess = s
	return s, b
}

// run runs batches, separated by a line with GO, and returns what they produced.
func (s *Session) runScript(t *testing.T, script string) []string {
	t.Helper()
	r := &recorder{}
	for _, sql := range strings.Split(script, "\nGO\n") {
		if err := s.Batch(t.Context(), sql, r); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	return r.lines
}
