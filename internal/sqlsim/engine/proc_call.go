package engine

import (
	"context"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// Call runs one RPC. See Batch for what goes to the sink and what is returned.
func (s *Session) Call(ctx context.Context, call Call, sink Sink) error {
	return s.request(ctx, sink, func(ctx context.Context) error {
		return s.report(ctx, sink, s.call(ctx, call, sink))
	})
}

func (s *Session) call(ctx context.Context, call Call, sink Sink) error {
	name, err := tsql.ParseName(strings.TrimSpace(call.Procedure))
	if err != nil {
		return sqlError(2812, 16, 62, "Could not find stored procedure '%s'.", call.Procedure)
	}
	// The RPC runs as a batch with nothing in it but the call.
	fr := s.newFrame(&preparedBody{
		layout: &varTable{byName: map[string]int{}}, version: s.be.catalogVersion(),
		scalars: map[scalarKey]*scalar{}, predicates: map[tsql.Expr]*predicate{},
		quotedIdentifier: s.settings.quotedIdentifier,
	}, nil, sink)
	s.frame = fr
	defer s.be.endFrame(ctx, fr)
	type output struct {
		ordinal int
		val     value.Value
		typ     value.Type
	}
	var outputs []output
	args := make([]argument, len(call.Params))
	for i, p := range call.Params {
		args[i] = argument{name: p.Name, typ: p.Type, val: p.Value, isDefault: p.Default, output: p.Output, tableSlot: -1, table: p.Table}
		if p.Output {
			args[i].set = func(v value.Value) error {
				out, err := value.Assign(v, wideType(v, p.Type), p.Type, s.convertEnv())
				if err != nil {
					return err
				}
				outputs = append(outputs, output{i, out, p.Type})
				return nil
			}
		}
	}
	s.stmtTime = s.clk.Now().UTC()
	status, err := s.callNamed(ctx, fr, name, args, sink)
	st := &tsql.Exec{Span: tsql.Span{Pos: tsql.Pos{Line: 1}}}
	if err != nil {
		if err = s.fail(fr, st, err); err != nil {
			return err
		}
		status = -6 // what a procedure that an error ended returns
	}
	if err := sink.Return(status); err != nil {
		return err
	}
	for _, o := range outputs {
		if err := sink.Output(o.ordinal, call.Params[o.ordinal].Name, o.typ, o.val); err != nil {
			return err
		}
	}
	return nil
}

// wideType is the type of a value whose declaration is not at hand, as wide as its kind can be.
func wideType(v value.Value, like value.Type) value.Type {
	t := value.Type{Kind: v.Kind(), Scale: v.Scale(), Precision: 38, Collation: like.Collation}
	if t.Kind.IsCharacter() || t.Kind.IsBinary() {
		t.Length = value.Max
	}
	return t
}
