package engine

import (
	"context"
	"strings"
	"time"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

func (s *Session) runDeclare(ctx context.Context, fr *frame, st *tsql.Declare) error {
	for _, d := range st.Vars {
		if d.Init == nil {
			continue // the value of an earlier turn of a loop stays
		}
		slot, ok := fr.layout.lookup(d.Name)
		if !ok {
			return undeclared(d.Name)
		}
		decl := fr.layout.decls[slot]
		if decl.table != nil {
			return sqlError(206, 16, 2, "Operand type clash: a scalar value is incompatible with table type %s", decl.tname.Name)
		}
		v, err := s.evalStatement(ctx, fr, st, d.Init, decl.typ)
		if err != nil {
			return err
		}
		fr.vals[slot] = v
		s.succeed(1)
	}
	return nil
}

func (s *Session) setVar(ctx context.Context, fr *frame, st *tsql.SetVar) error {
	slot, ok := fr.layout.lookup(st.Name)
	if !ok {
		return undeclared(st.Name)
	}
	decl := fr.layout.decls[slot]
	switch {
	case decl.table != nil:
		return undeclared(st.Name)
	case st.Cursor != nil || decl.cursor:
		return s.setCursor(ctx, fr, st, slot)
	}
	e := st.Value
	if st.Op != "=" {
		e = fr.compound(st)
	}
	v, err := s.evalStatement(ctx, fr, st, e, decl.typ)
	if err != nil {
		return err
	}
	fr.vals[slot] = v
	s.succeed(1)
	return nil
}

// compound is @v op value for SET @v op= value. It is made once for each statement,
// since compiled expressions are found by their node.
func (fr *frame) compound(st *tsql.SetVar) tsql.Expr {
	if e := fr.prog.compounds[st]; e != nil {
		return e
	}
	e := &tsql.Binary{Pos: st.Pos, Op: st.Op[:1], L: &tsql.Variable{Pos: st.Pos, Name: st.Name}, R: &tsql.Paren{Pos: st.Pos, X: st.Value}}
	if fr.prog.compounds == nil {
		fr.prog.compounds = map[*tsql.SetVar]tsql.Expr{}
	}
	fr.prog.compounds[st] = e
	return e
}

func (s *Session) print(ctx context.Context, fr *frame, st *tsql.Print) error {
	v, err := s.evalStatement(ctx, fr, st, st.X, value.Type{Kind: value.NVarChar, Length: 4000})
	if err != nil {
		return err
	}
	text := v.Str()
	if v.IsNull() {
		text = " " // PRINT of NULL sends a space
	}
	s.succeed(0)
	e := sqlError(0, 0, 1, "%s", text)
	return fr.sink.Message(s.locate(fr, st, e))
}

func (s *Session) use(ctx context.Context, fr *frame, st *tsql.Use) error {
	if fr.module != nil {
		return sqlError(154, 15, 1, "a USE database statement is not allowed in a procedure, function or trigger.")
	}
	from, _, _ := s.be.currentDatabase()
	if err := s.be.useDatabase(ctx, st.Database); err != nil {
		return err
	}
	to, _, _ := s.be.currentDatabase()
	s.succeed(0)
	if err := fr.sink.DatabaseChanged(from, to); err != nil {
		return err
	}
	e := sqlError(5701, 0, 2, "Changed database context to '%s'.", to)
	return fr.sink.Message(s.locate(fr, st, e))
}

func (s *Session) executeAs(ctx context.Context, fr *frame, st *tsql.ExecuteAs) error {
	name := ""
	if st.Name != nil {
		v, err := fr.eval(ctx, st.Name, sysnameType)
		if err != nil {
			return err
		}
		name = v.Str()
	}
	s.succeed(0)
	return s.be.executeAs(ctx, st.Kind, name, st.NoRevert)
}

func (s *Session) kill(ctx context.Context, fr *frame, st *tsql.Kill) error {
	v, err := fr.eval(ctx, st.SPID, intType)
	if err != nil {
		return err
	}
	if s.txn.count > 0 {
		return sqlError(6115, 16, 1, "KILL command cannot be used inside user transactions.")
	}
	s.succeed(0)
	return s.be.kill(int(v.Int()))
}

// --- transactions ---

// tranName is a transaction's name, which may come from a variable; only its first 32
// characters count.
func (s *Session) tranName(ctx context.Context, fr *frame, name string) (string, error) {
	if strings.HasPrefix(name, "@") {
		slot, ok := fr.layout.lookup(name)
		if !ok {
			return "", undeclared(name)
		}
		if !fr.layout.decls[slot].typ.Kind.IsCharacter() {
			return "", sqlError(3914, 16, 1, "The data type \"%s\" is invalid for transaction names or savepoint names. Allowed data types are char, varchar, nchar, varchar(max), nvarchar, and nvarchar(max).", fr.layout.decls[slot].typ.Kind)
		}
		name = fr.vals[slot].Str()
		return value.UTF16Slice(name, 0, 32), nil
	}
	if value.UTF16Len(name) > 32 {
		return "", sqlError(103, 15, 4, "The identifier that starts with '%s' is too long. Maximum length is 32.", value.UTF16Slice(name, 0, 32))
	}
	return name, nil
}

func (s *Session) beginTran(ctx context.Context, fr *frame, st *tsql.BeginTran) error {
	name, err := s.tranName(ctx, fr, st.Name)
	if err != nil {
		return err
	}
	if s.settings.implicitTxn && s.txn.count == 0 {
		// There is an unseen BEGIN TRANSACTION before it.
		if err := s.begin(ctx, fr.sink, ""); err != nil {
			return err
		}
	}
	if err := s.begin(ctx, fr.sink, name); err != nil {
		return err
	}
	s.succeed(0)
	return nil
}

func (s *Session) commitTran(ctx context.Context, fr *frame, st *tsql.CommitTran) error {
	if _, err := s.tranName(ctx, fr, st.Name); err != nil { // the name itself is ignored
		return err
	}
	if s.insertExec > 0 && s.txn.count <= 1 {
		return sqlError(3916, 16, 0, "Cannot use the COMMIT statement within an INSERT-EXEC statement unless BEGIN TRANSACTION is used first.")
	}
	if err := s.commit(fr.sink); err != nil {
		return err
	}
	s.succeed(0)
	return nil
}

func (s *Session) rollbackTran(ctx context.Context, fr *frame, st *tsql.RollbackTran) error {
	name, err := s.tranName(ctx, fr, st.Name)
	if err != nil {
		return err
	}
	if s.insertExec > 0 {
		return sqlError(3915, 16, 0, "Cannot use the ROLLBACK statement within an INSERT-EXEC statement.")
	}
	if err := s.rollback(fr.sink, name); err != nil {
		return err
	}
	s.succeed(0)
	return nil
}

func (s *Session) saveTran(ctx context.Context, fr *frame, st *tsql.SaveTran) error {
	name, err := s.tranName(ctx, fr, st.Name)
	if err != nil {
		return err
	}
	if err := s.save(name); err != nil {
		return err
	}
	s.succeed(0)
	return nil
}

// --- WAITFOR ---

func (s *Session) waitFor(ctx context.Context, fr *frame, st *tsql.WaitFor) error {
	v, err := fr.eval(ctx, st.X, value.Type{})
	if err != nil {
		return err
	}
	d, err := s.delay(v, st.Time)
	if err != nil {
		return err
	}
	if err := s.clk.Sleep(ctx, d); err != nil {
		return err
	}
	s.succeed(0)
	return nil
}

// dated reports whether a text with a time has a date too.
func dated(v value.Value) bool {
	return v.Kind().IsCharacter() && strings.ContainsAny(v.Str(), "-/")
}

// delay is how long WAITFOR waits.
func (s *Session) delay(v value.Value, until bool) (time.Duration, error) {
	if v.IsNull() {
		return 0, nil
	}
	var ticks int64
	switch {
	case v.Kind().IsTemporal():
		ticks = v.LocalTicks() % value.TicksPerDay
	default:
		t, err := value.Convert(v, value.Type{Kind: v.Kind(), Length: value.Max}, value.Type{Kind: value.Time, Scale: 7}, value.NoStyle, s.convertEnv())
		if err != nil || dated(v) {
			return 0, sqlError(148, 15, 1, "Incorrect time syntax in time string '%s' used with WAITFOR.", v.Str())
		}
		ticks = t.Ticks()
	}
	d := time.Duration(ticks) * 100
	if !until {
		return d, nil
	}
	now := s.clk.Now().UTC()
	midnight := now.Truncate(24 * time.Hour)
	wait := midnight.Add(d).Sub(now)
	if wait < 0 {
		wait += 24 * time.Hour
	}
	return wait, nil
}
