package engine

import (
	"context"
	"errors"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// flow is where control goes after a statement.
type flow uint8

const (
	flowNext flow = iota
	flowBreak
	flowContinue
	flowReturn
)

// runFrame runs a frame's body and cleans up behind it.
func (s *Session) runFrame(ctx context.Context, fr *frame) error {
	outer := s.frame
	s.frame = fr
	defer func() {
		s.frame = outer
		fr.closeCursors()
		s.be.endFrame(ctx, fr)
	}()
	fr.prog.refresh(s)
	if c, ok := s.be.(statementChecker); ok && !fr.prog.checked {
		if err := s.checkList(c, fr, fr.prog.stmts); err != nil {
			return err
		}
		fr.prog.checked = true
	}
	_, err := s.runList(ctx, fr, fr.prog.stmts)
	return err
}

// checkList compiles ahead what can be compiled ahead, so that a batch with a wrong
// column or function runs nothing.
func (s *Session) checkList(c statementChecker, fr *frame, list []tsql.Statement) error {
	for _, st := range list {
		if _, ok := st.(*tsql.Use); ok {
			return nil // the names behind it are another database's
		}
		if err := s.checkStatement(c, fr, st); err != nil {
			var e *value.Error
			if errors.As(err, &e) {
				return s.locate(fr, st, e)
			}
			return err
		}
	}
	return nil
}

func (s *Session) checkStatement(c statementChecker, fr *frame, st tsql.Statement) error {
	switch st := st.(type) {
	case *tsql.Block:
		return s.checkList(c, fr, st.Body)
	case *tsql.If:
		if err := c.checkStatement(fr, st); err != nil {
			return err
		}
		if err := s.checkStatement(c, fr, st.Then); err != nil || st.Else == nil {
			return err
		}
		return s.checkStatement(c, fr, st.Else)
	case *tsql.While:
		if err := c.checkStatement(fr, st); err != nil {
			return err
		}
		return s.checkStatement(c, fr, st.Body)
	case *tsql.TryCatch:
		if err := s.checkList(c, fr, st.Try); err != nil {
			return err
		}
		return s.checkList(c, fr, st.Catch)
	}
	return c.checkStatement(fr, st)
}

func (s *Session) runList(ctx context.Context, fr *frame, list []tsql.Statement) (flow, error) {
	for _, st := range list {
		fl, err := s.run(ctx, fr, st)
		if err != nil || fl != flowNext {
			return fl, err
		}
	}
	return flowNext, nil
}

// run runs one statement. Its error, if any, is one that must travel up.
func (s *Session) run(ctx context.Context, fr *frame, st tsql.Statement) (flow, error) {
	if ctx.Err() != nil {
		return flowNext, context.Cause(ctx)
	}
	fr.line = st.Position().Line
	s.statement++
	s.show()
	if s.settings.noExec {
		// Everything is compiled, and nothing runs but the SET that ends this.
		if _, ok := st.(*tsql.SetOption); !ok {
			return flowNext, nil
		}
	}
	switch st := st.(type) {
	case *tsql.Block:
		return s.runList(ctx, fr, st.Body)
	case *tsql.If:
		s.stmtTime = s.clk.Now().UTC()
		ok, err := s.condition(ctx, fr, st, st.Cond)
		if err != nil {
			return flowNext, err
		}
		if ok {
			return s.run(ctx, fr, st.Then)
		}
		if st.Else != nil {
			return s.run(ctx, fr, st.Else)
		}
		return flowNext, nil
	case *tsql.While:
		return s.while(ctx, fr, st)
	case *tsql.TryCatch:
		return s.tryCatch(ctx, fr, st)
	case *tsql.Break:
		return flowBreak, nil
	case *tsql.Continue:
		return flowContinue, nil
	case *tsql.Return:
		return s.returns(ctx, fr, st)
	case *tsql.Empty:
		return flowNext, nil
	}
	s.stmtTime = s.clk.Now().UTC()
	err := s.runSimple(ctx, fr, st)
	if err == nil {
		return flowNext, nil
	}
	err = s.fail(fr, st, err)
	if endsRequest(err) {
		return flowNext, err
	}
	// The statement's place in the stream of results ends, behind its message.
	if e := fr.sink.Done(CommandOther, 0, false); e != nil {
		return flowNext, e
	}
	return flowNext, err
}

// endsRequest reports an error that is no error of the batch: the client has gone or
// has canceled.
func endsRequest(err error) bool {
	var r *raised
	return err != nil && !errors.As(err, &r)
}

// condition evaluates IF or WHILE; a failed one counts as false when the batch goes on.
func (s *Session) condition(ctx context.Context, fr *frame, st tsql.Statement, cond tsql.Expr) (bool, error) {
	t, err := s.beginStatement(ctx, fr, st)
	if err != nil {
		return false, s.fail(fr, st, err)
	}
	ok, err := fr.test(ctx, cond)
	if e := t.end(err != nil); err == nil {
		err = e
	}
	s.be.statementDone(fr)
	if err != nil {
		return false, s.fail(fr, st, err)
	}
	s.rowCount = 0
	s.lastError = 0
	return ok, nil
}

func (s *Session) while(ctx context.Context, fr *frame, st *tsql.While) (flow, error) {
	for {
		if ctx.Err() != nil {
			return flowNext, context.Cause(ctx)
		}
		fr.line = st.Line
		s.stmtTime = s.clk.Now().UTC()
		ok, err := s.condition(ctx, fr, st, st.Cond)
		if err != nil || !ok {
			return flowNext, err
		}
		fl, err := s.run(ctx, fr, st.Body)
		if err != nil {
			return flowNext, err
		}
		switch fl {
		case flowBreak:
			return flowNext, nil
		case flowReturn:
			return fl, nil
		}
	}
}

func (s *Session) returns(ctx context.Context, fr *frame, st *tsql.Return) (flow, error) {
	if st.X == nil {
		return flowReturn, nil
	}
	typ := intType
	if fr.module != nil && fr.module.kind == tsql.ModuleScalarFunction {
		typ = fr.module.returns
	} else if fr.module == nil || fr.module.kind != tsql.ModuleProcedure {
		return flowNext, s.fail(fr, st, sqlError(178, 15, 1, "A RETURN statement with a return value cannot be used in this context."))
	}
	v, err := s.evalStatement(ctx, fr, st, st.X, typ)
	if err != nil {
		return flowNext, s.fail(fr, st, err)
	}
	if fr.module.kind == tsql.ModuleScalarFunction {
		fr.result = v
		return flowReturn, nil
	}
	if v.IsNull() {
		// A procedure cannot return NULL: it returns 0, with a message.
		e := sqlError(282, 10, 1, "The '%s' procedure attempted to return a status of NULL, which is not allowed. A status of 0 will be returned instead.", fr.module.name)
		if err := fr.sink.Message(s.locate(fr, st, e)); err != nil {
			return flowNext, err
		}
	}
	fr.status = int32(v.Int())
	s.rowCount = 1
	return flowReturn, nil
}

// evalStatement evaluates an expression as a statement of its own: it may read tables.
func (s *Session) evalStatement(ctx context.Context, fr *frame, st tsql.Statement, e tsql.Expr, typ value.Type) (value.Value, error) {
	t, err := s.beginStatement(ctx, fr, st)
	if err != nil {
		return value.Value{}, err
	}
	v, err := fr.eval(ctx, e, typ)
	if e := t.end(err != nil); err == nil {
		err = e
	}
	s.be.statementDone(fr)
	return v, err
}

// runSimple runs a statement that holds no other statements.
func (s *Session) runSimple(ctx context.Context, fr *frame, st tsql.Statement) error {
	switch st := st.(type) {
	case *tsql.Declare:
		return s.runDeclare(ctx, fr, st)
	case *tsql.SetVar:
		return s.setVar(ctx, fr, st)
	case *tsql.Print:
		return s.print(ctx, fr, st)
	case *tsql.Throw:
		return s.throw(ctx, fr, st)
	case *tsql.RaiseError:
		return s.raiseError(ctx, fr, st)
	case *tsql.WaitFor:
		return s.waitFor(ctx, fr, st)
	case *tsql.Exec:
		return s.runExec(ctx, fr, st, fr.sink)
	case *tsql.BeginTran:
		return s.beginTran(ctx, fr, st)
	case *tsql.CommitTran:
		return s.commitTran(ctx, fr, st)
	case *tsql.RollbackTran:
		return s.rollbackTran(ctx, fr, st)
	case *tsql.SaveTran:
		return s.saveTran(ctx, fr, st)
	case *tsql.SetOption:
		return s.setOption(ctx, fr, st)
	case *tsql.SetIdentityInsert:
		s.succeed(0)
		return s.be.setIdentityInsert(ctx, fr, st)
	case *tsql.Use:
		return s.use(ctx, fr, st)
	case *tsql.ExecuteAs:
		return s.executeAs(ctx, fr, st)
	case *tsql.Revert:
		s.succeed(0)
		return s.be.revert()
	case *tsql.Kill:
		return s.kill(ctx, fr, st)
	case *tsql.DBCC:
		return s.dbcc(ctx, fr, st)
	case *tsql.Checkpoint:
		s.succeed(0)
		return nil
	case *tsql.DeclareCursor:
		return s.declareCursor(ctx, fr, st)
	case *tsql.CursorOp:
		return s.cursorOp(ctx, fr, st)
	case *tsql.Fetch:
		return s.fetch(ctx, fr, st)
	}
	return s.runPlanned(ctx, fr, st)
}

// succeed notes that a statement ended well: @@ERROR and @@ROWCOUNT.
func (s *Session) succeed(rows int64) {
	s.lastError = 0
	s.rowCount = rows
}

// runPlanned runs a statement of the planning half, with its part of the transaction.
func (s *Session) runPlanned(ctx context.Context, fr *frame, st tsql.Statement) error {
	if s.txn.doomed && writes(st) {
		return s.checkWritable()
	}
	if m, ok := st.(*tsql.CreateModule); ok {
		if err := checkFunctionBody(m); err != nil {
			return err
		}
	}
	t, err := s.beginStatement(ctx, fr, st)
	if err != nil {
		return err
	}
	res, err := s.be.execStatement(ctx, fr, st, fr.sink)
	if e := t.end(err != nil); err == nil {
		err = e
	}
	s.be.statementDone(fr)
	if err != nil {
		var e *value.Error
		var r *raised
		if errors.As(err, &e) && !errors.As(err, &r) {
			s.rowCount = 0
		}
		return err
	}
	s.succeed(res.rows)
	if !res.setsRowCount {
		s.rowCount = 0
	}
	return fr.sink.Done(res.command, res.rows, res.setsRowCount && !res.silent && !s.settings.noCount)
}

// writes reports a statement that needs a transaction that can be committed.
func writes(st tsql.Statement) bool {
	tableVar := func(t tsql.TableSource) bool {
		_, ok := t.(*tsql.TableVar)
		return ok
	}
	switch st := st.(type) {
	case *tsql.SelectStatement:
		sel, ok := st.Query.Body.(*tsql.Select)
		return ok && sel.Into != nil
	case *tsql.Insert:
		return !tableVar(st.Target)
	case *tsql.Update:
		return !tableVar(st.Target)
	case *tsql.Delete:
		return !tableVar(st.Target)
	case *tsql.Merge:
		return !tableVar(st.Target)
	}
	return true
}
