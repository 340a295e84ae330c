package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// How far an error reaches when no TRY block catches it.
type reach uint8

const (
	endsStatement reach = iota // the next statement runs
	endsScope                  // the batch or procedure ends; its caller goes on
	endsBatch                  // everything ends; the transaction stays
	rollsBack                  // everything ends and the transaction is rolled back
)

// raised is an error on its way up: to a CATCH block, to the end of its scope, or to the
// end of the batch.
type raised struct {
	err   *value.Error
	reach reach
	// in is the frame whose compilation failed; TRY blocks of that frame do not catch it.
	in *frame
	// sent: the client has had the message.
	sent bool
}

func (r *raised) Error() string { return r.err.Error() }

func (r *raised) Unwrap() error { return r.err }

// compileErrors are raised while a statement is compiled, at the time it is reached when
// its objects did not exist earlier. They end the scope, and a TRY block of the same
// scope does not catch them.
var compileErrors = map[int32]bool{
	102: true, 105: true, 113: true, 116: true, 119: true, 137: true, 145: true, 147: true, 156: true, 157: true, 164: true, 195: true, 205: true,
	206: true, 207: true, 208: true, 209: true, 213: true, 257: true, 264: true, 319: true, 402: true, 447: true, 448: true, 468: true, 529: true, 1001: true,
	1013: true, 1023: true, 1033: true, 1038: true, 1087: true, 4104: true, 4108: true, 4121: true, 4145: true, 8117: true, 8116: true, 8120: true, 8121: true, 8127: true,
	8133: true, 8155: true, 8156: true, 8158: true, 8159: true, 10709: true, 10753: true, 174: true, 189: true, 191: true, 2715: true, 107: true, 109: true, 110: true, 120: true, 121: true, 134: true,
	tsql.UnsupportedNumber: true,
}

// batchErrors end the batch and roll the transaction back even with XACT_ABORT OFF:
// failed conversions, deadlocks, update conflicts.
var batchErrors = map[int32]bool{
	241: true, 242: true, 244: true, 245: true, 248: true, 295: true, 296: true, 8114: true, 8169: true, 9807: true,
	1204: true, 1205: true, 1211: true, 3951: true, 3952: true, 3960: true, 3961: true, 3966: true,
	217: true, 530: true, 3609: true, 3616: true, 8146: true, 6522: true, 701: true,
}

// scopeErrors end the batch but leave the transaction alone.
var scopeErrors = map[int32]bool{2714: true, 911: true, 916: true}

// reachOf tells how far an error reaches under the session's settings.
func (s *Session) reachOf(e *value.Error, st tsql.Statement) reach {
	if _, ok := st.(*tsql.RaiseError); ok && e.Class < 20 {
		return endsStatement // RAISERROR honors nothing, not even XACT_ABORT
	}
	switch {
	case e.Class >= 20:
		return rollsBack
	case batchErrors[e.Number]:
		return rollsBack
	case s.settings.xactAbort:
		return rollsBack
	case compileErrors[e.Number]:
		return endsScope
	case scopeErrors[e.Number]:
		return endsBatch
	}
	if _, ok := st.(*tsql.Throw); ok {
		return endsBatch
	}
	return endsStatement
}

// fail handles an error of a statement in a frame. It returns nil when the next statement
// may run, else what must travel up.
func (s *Session) fail(fr *frame, st tsql.Statement, err error) error {
	var r *raised
	if errors.As(err, &r) {
		return s.failRaised(fr, st, r)
	}
	var e *value.Error
	if !errors.As(err, &e) {
		return err // the client has gone, or has sent an attention
	}
	e = s.locate(fr, st, e)
	s.lastError = e.Number
	r = &raised{err: e, reach: s.reachOf(e, st)}
	if compileErrors[e.Number] {
		r.in = fr
	}
	if e.Number == 1205 {
		// The victim's work is undone, and its locks are let go, at once.
		s.txn.abandon()
	}
	err = s.settle(fr, r)
	if err == nil && changesData(st) {
		// What it had done is undone; what comes after it runs.
		err = fr.sink.Message(s.locate(fr, st, sqlError(3621, 0, 0, "The statement has been terminated.")))
	}
	return err
}

// changesData reports a statement whose failure undoes changes of data.
func changesData(st tsql.Statement) bool {
	switch st := st.(type) {
	case *tsql.Insert, *tsql.Update, *tsql.Delete, *tsql.Merge:
		return true
	case *tsql.SelectStatement:
		sel, ok := st.Query.Body.(*tsql.Select)
		return ok && sel.Into != nil
	}
	return false
}

// settle decides what becomes of an error: caught, sent and passed over, or sent and
// passed up.
func (s *Session) settle(fr *frame, r *raised) error {
	if fr.insideFunction {
		return r // it is an error of the statement that calls the function
	}
	catchers := s.tryDepth
	if r.in == fr {
		catchers -= fr.tries
	}
	if catchers > 0 {
		if r.reach == rollsBack {
			s.doom()
		}
		return r
	}
	if !r.sent {
		r.sent = true
		if err := fr.sink.Message(r.err); err != nil {
			return err
		}
	}
	switch r.reach {
	case endsStatement:
		return nil
	case rollsBack:
		if err := s.rollbackTransaction(fr.sink); err != nil {
			return err
		}
	}
	return r
}

// failRaised handles an error that an EXEC statement passes up from an inner scope.
func (s *Session) failRaised(fr *frame, st tsql.Statement, r *raised) error {
	if r.in != nil && r.in != fr {
		r.in = nil // it is an ordinary error to the caller
		if r.reach == endsScope {
			r.reach = endsStatement
		}
	}
	s.lastError = r.err.Number
	return s.settle(fr, r)
}

// locate gives an error the procedure and the line it is raised in.
func (s *Session) locate(fr *frame, st tsql.Statement, e *value.Error) *value.Error {
	if e.Procedure != "" && e.Line != 0 {
		return e
	}
	out := *e
	if out.Procedure == "" {
		out.Procedure = fr.procedureName()
	}
	if out.Line == 0 || !compileErrors[out.Number] {
		// Run-time errors are reported for the line on which their statement starts.
		out.Line = int32(st.Position().Line)
	}
	return &out
}

// procedureName is what ERROR_PROCEDURE() says in this frame; empty in a batch.
func (fr *frame) procedureName() string {
	for f := fr; f != nil; f = f.parent {
		if f.module != nil {
			return f.module.schema + "." + f.module.name
		}
		if f.dynamic {
			return ""
		}
	}
	return ""
}

// tryCatch runs BEGIN TRY ... END TRY BEGIN CATCH ... END CATCH.
func (s *Session) tryCatch(ctx context.Context, fr *frame, st *tsql.TryCatch) (flow, error) {
	fr.tries++
	s.tryDepth++
	fl, err := s.runList(ctx, fr, st.Try)
	fr.tries--
	s.tryDepth--
	var r *raised
	if err == nil || !errors.As(err, &r) || r.in == fr || r.sent || r.err.Class >= 20 {
		return fl, err
	}
	if ctx.Err() != nil {
		return fl, context.Cause(ctx)
	}
	s.caught = append(s.caught, r.err)
	s.lastError = r.err.Number
	fl, err = s.runList(ctx, fr, st.Catch)
	s.caught = s.caught[:len(s.caught)-1]
	if err == nil {
		s.lastError = 0
	}
	return fl, err
}

// throw runs THROW.
func (s *Session) throw(ctx context.Context, fr *frame, st *tsql.Throw) error {
	if st.Number == nil {
		if len(s.caught) == 0 {
			return sqlError(10704, 16, 1, "To rethrow an error, a THROW statement must be used inside a CATCH block. Insert the THROW statement inside a CATCH block, or add error parameters to the THROW statement.")
		}
		// The error keeps its own number, procedure and line.
		r := &raised{err: s.caught[len(s.caught)-1], reach: endsBatch}
		if s.settings.xactAbort {
			r.reach = rollsBack
		}
		return r
	}
	number, err := fr.eval(ctx, st.Number, intType)
	if err != nil {
		return err
	}
	message, err := fr.eval(ctx, st.Message, value.Type{Kind: value.NVarChar, Length: 2048})
	if err != nil {
		return err
	}
	state, err := fr.eval(ctx, st.State, intType)
	if err != nil {
		return err
	}
	n := number.Int()
	if number.IsNull() {
		n = 0
	}
	if n < 50000 {
		return sqlError(35100, 16, 10, "Error number %d in the THROW statement is outside the valid range. Specify an error number in the valid range of 50000 to 2147483647.", n)
	}
	text := message.Str()
	if message.IsNull() {
		text = "(null)"
	}
	text = strings.ReplaceAll(text, "%%", "%") // which THROW wants doubled, though it formats nothing
	return sqlError(int32(n), 16, uint8(min(max(state.Int(), 0), 255)), "%s", text)
}
