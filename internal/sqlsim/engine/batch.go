package engine

import (
	"context"
	"errors"

	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// Batch runs one batch of T-SQL. What the batch itself gets wrong goes to the sink as
// messages; the error is for the end of the connection or of the request: ctx's cause
// after an attention, errKilled, or an error of the sink.
func (s *Session) Batch(ctx context.Context, sql string, sink Sink) error {
	return s.request(ctx, sink, func(ctx context.Context) error {
		return s.runText(ctx, sql, sink)
	})
}

// runText runs a batch at the top level of a request.
func (s *Session) runText(ctx context.Context, sql string, sink Sink) error {
	p, err := s.prepareBatch(sql, nil, "")
	if err == nil {
		fr := s.newFrame(p, nil, sink)
		err = s.runFrame(ctx, fr)
	}
	return s.report(ctx, sink, err)
}

// report turns what ended a batch into messages, unless the request itself is at an end.
func (s *Session) report(ctx context.Context, sink Sink, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		s.attention()
		return context.Cause(ctx)
	}
	var r *raised
	if errors.As(err, &r) {
		if r.sent {
			return nil
		}
		return sink.Message(r.err)
	}
	var e *value.Error
	if errors.As(err, &e) {
		s.lastError = e.Number
		if e.Line == 0 {
			out := *e
			out.Line = 1
			e = &out
		}
		return sink.Message(e)
	}
	return err
}

// attention ends what the client has canceled: with XACT_ABORT ON the transaction is
// rolled back, otherwise it stays open.
func (s *Session) attention() {
	if s.settings.xactAbort || s.txn.doomed || s.txn.autocommit {
		s.rollbackAll()
	}
}

// Begin, Commit, Rollback and Save are the requests of the transaction manager. level
// is 0 for "as it is".
func (s *Session) Begin(ctx context.Context, level uint8, name string, sink Sink) error {
	return s.request(ctx, sink, func(ctx context.Context) error {
		if level >= uint8(readUncommitted) && level <= uint8(snapshot) {
			s.settings.isolation = isolation(level)
		}
		return s.report(ctx, sink, s.begin(ctx, sink, name))
	})
}

func (s *Session) Commit(ctx context.Context, name string, sink Sink) error {
	return s.request(ctx, sink, func(ctx context.Context) error {
		return s.report(ctx, sink, s.commit(sink))
	})
}

func (s *Session) Rollback(ctx context.Context, name string, sink Sink) error {
	return s.request(ctx, sink, func(ctx context.Context) error {
		return s.report(ctx, sink, s.rollback(sink, name))
	})
}

func (s *Session) Save(ctx context.Context, name string, sink Sink) error {
	return s.request(ctx, sink, func(ctx context.Context) error {
		return s.report(ctx, sink, s.save(name))
	})
}
