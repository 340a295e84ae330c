package engine

import (
	"errors"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// coerceTo converts s implicitly to a type, as comparison, CASE and arguments do.
func coerceTo(s *scalar, to value.Type) (*scalar, error) {
	if s.typ == to {
		return s, nil
	}
	if err := value.CheckImplicit(s.typ, to); err != nil {
		return nil, err
	}
	if s.typ.Kind == to.Kind && !s.typ.Kind.IsCharacter() && !s.typ.Kind.IsBinary() && !s.typ.Kind.HasScale() {
		return s, nil
	}
	return converted(s, to, value.NoStyle), nil
}

// assignTo converts s for assignment to a variable: text that is too long is cut.
func assignTo(s *scalar, to value.Type) (*scalar, error) { return coerceTo(s, to) }

// converted is s after a conversion that is known to be allowed.
func converted(s *scalar, to value.Type, style int) *scalar {
	from, inner := s.typ, s.eval
	out := newScalar(to, s.nullable, nil, s)
	out.coercible = s.coercible
	switch {
	case widensText(from, to):
		out.eval = func(rc *rowCtx) (value.Value, error) {
			v, err := inner(rc)
			return v.WithKind(to.Kind), err
		}
	case from.Kind.IsInteger() && to.Kind.IsInteger() && to.Kind > from.Kind && from.Kind != value.Unknown:
		out.eval = func(rc *rowCtx) (value.Value, error) {
			v, err := inner(rc)
			return v.WithKind(to.Kind), err
		}
	case from.Kind == value.Unknown:
		out.eval = func(rc *rowCtx) (value.Value, error) {
			v, err := inner(rc)
			if err != nil {
				return v, err
			}
			if v.IsNull() {
				return value.NewNull(to.Kind), nil
			}
			return value.Convert(v, from, to, style, rc.sess.convertEnv())
		}
	default:
		out.eval = func(rc *rowCtx) (value.Value, error) {
			v, err := inner(rc)
			if err != nil || v.IsNull() {
				return value.NewNull(to.Kind), err
			}
			return value.Convert(v, from, to, style, rc.sess.convertEnv())
		}
	}
	if s.folded {
		if v, err := out.eval(&rowCtx{sess: foldSession}); err == nil && !dependsOnSession(from, to) {
			out.setConst(v)
		} else {
			out.literal = false
		}
	}
	return out
}

// foldSession stands in where a constant is converted by rules that no session changes.
var foldSession = &Session{settings: defaultSettings()}

// dependsOnSession reports a conversion that DATEFORMAT or the current time changes.
func dependsOnSession(from, to value.Type) bool {
	return from.Kind.IsCharacter() && to.Kind.IsTemporal()
}

// widensText reports a conversion between character types that changes nothing but the
// type's name.
func widensText(from, to value.Type) bool {
	if !from.Kind.IsCharacter() || !to.Kind.IsCharacter() || to.Kind == value.Char || to.Kind == value.NChar {
		return false
	}
	if from.Kind.IsUnicode() && !to.Kind.IsUnicode() || !from.Kind.IsUnicode() && !to.Kind.IsUnicode() && from.Collation.CodePage() != to.Collation.CodePage() {
		return false
	}
	return to.Length == value.Max || from.Length != value.Max && to.Length >= from.Length
}

// castType resolves the type of a CAST, where a length left out is 30.
func (s *Session) castType(d *tsql.DataType) (value.Type, error) {
	return s.resolveTypeDefault(d, 30)
}

// compileCast compiles CAST, CONVERT and their TRY_ forms.
func compileCast(sc *scope, x tsql.Expr, d *tsql.DataType, style tsql.Expr, try bool) (*scalar, error) {
	to, err := sc.sess.castType(d)
	if err != nil {
		return nil, err
	}
	s, err := compileScalar(sc, x)
	if err != nil {
		return nil, err
	}
	if err := value.CheckExplicit(s.typ, to); err != nil {
		return nil, err
	}
	strength := s.coercible
	if to.Kind.IsCharacter() {
		if s.typ.Kind.IsCharacter() {
			to.Collation = s.typ.Collation
		} else {
			to.Collation = sc.collation()
			strength = coercibleDefault
		}
	}
	if style == nil {
		return castResult(converted(s, to, value.NoStyle), strength, try), nil
	}
	st, err := compileScalar(sc, style)
	if err != nil {
		return nil, err
	}
	if st, err = coerceTo(st, value.Type{Kind: value.Int}); err != nil {
		return nil, err
	}
	if st.folded && !st.val.IsNull() {
		return castResult(converted(s, to, int(st.val.Int())), strength, try), nil
	}
	out := newScalar(to, true, nil, s, st)
	from, inner := s.typ, s.eval
	out.eval = func(rc *rowCtx) (value.Value, error) {
		n, err := st.eval(rc)
		if err != nil || n.IsNull() {
			return value.NewNull(to.Kind), err
		}
		v, err := inner(rc)
		if err != nil || v.IsNull() {
			return value.NewNull(to.Kind), err
		}
		return value.Convert(v, from, to, int(n.Int()), rc.sess.convertEnv())
	}
	return castResult(out, strength, try), nil
}

func castResult(s *scalar, strength coercibility, try bool) *scalar {
	s.coercible = strength
	if !try || s.folded {
		return s
	}
	out := *s
	out.nullable = true
	inner := s.eval
	kind := s.typ.Kind
	out.eval = func(rc *rowCtx) (value.Value, error) {
		v, err := inner(rc)
		if conversionFailed(err) {
			return value.NewNull(kind), nil
		}
		return v, err
	}
	if s.constant && len(s.cols) == 0 {
		out.literal = false
	}
	return &out
}

// conversionFailed reports an error that TRY_CAST and TRY_CONVERT turn into NULL.
func conversionFailed(err error) bool {
	var e *value.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Number {
	case 220, 232, 234, 235, 236, 237, 238, 241, 242, 244, 245, 248, 281, 291, 293, 295, 296, 298, 8114, 8115, 8152, 8169, 9807, 9809, 2628, 1033:
		return true
	}
	return false
}

// compileCollate compiles X COLLATE name.
func compileCollate(sc *scope, e *tsql.Collate) (*scalar, error) {
	s, err := compileScalar(sc, e.X)
	if err != nil {
		return nil, err
	}
	if _, again := tsql.Unparen(e.X).(*tsql.Collate); again {
		return nil, tsql.Unsupported(e.Line, "a second COLLATE on an expression, which SQL Server does not take either")
	}
	c := sc.collation()
	if foldName(e.Collation) != "database_default" {
		if c, err = value.LookupCollation(e.Collation); err != nil {
			return nil, err
		}
	}
	if s.typ.Kind == value.Unknown {
		s = converted(s, value.Type{Kind: value.VarChar, Length: 8000}, value.NoStyle)
	}
	if !s.typ.Kind.IsCharacter() {
		return nil, sqlError(447, 16, 0, "Expression type %s is invalid for COLLATE clause.", s.typ.Kind)
	}
	out := *s
	out.column = -1
	to := s.typ
	to.Collation = c
	if !to.Kind.IsUnicode() && to.Collation.CodePage() != s.typ.Collation.CodePage() {
		out = *converted(s, to, value.NoStyle)
	}
	out.typ = to
	out.coercible = explicitCollation
	return &out, nil
}

// compileAtTimeZone compiles X AT TIME ZONE zone.
func compileAtTimeZone(sc *scope, e *tsql.AtTimeZone) (*scalar, error) {
	x, err := compileScalar(sc, e.X)
	if err != nil {
		return nil, err
	}
	zone, err := compileScalar(sc, e.Zone)
	if err != nil {
		return nil, err
	}
	if !zone.typ.Kind.IsCharacter() {
		return nil, sqlError(8116, 16, 1, "Argument data type %s is invalid for argument 2 of AT TIME ZONE function.", zone.typ.Kind)
	}
	to := value.Type{Kind: value.DateTimeOffset, Scale: 7}
	switch x.typ.Kind {
	case value.DateTime2, value.DateTimeOffset:
		to.Scale = x.typ.Scale
	case value.DateTime:
		to.Scale = 3
	case value.SmallDateTime:
		to.Scale = 0
	default:
		return nil, sqlError(8116, 16, 1, "Argument data type %s is invalid for argument 1 of AT TIME ZONE function.", x.typ.Kind)
	}
	return newScalar(to, true, func(rc *rowCtx) (value.Value, error) {
		v, err := x.eval(rc)
		if err != nil || v.IsNull() {
			return value.NewNull(to.Kind), err
		}
		z, err := zone.eval(rc)
		if err != nil || z.IsNull() {
			return value.NewNull(to.Kind), err
		}
		loc, err := value.TimeZone(z.Str())
		if err != nil {
			return value.Value{}, err
		}
		return value.AtTimeZone(v, loc)
	}, x, zone), nil
}
