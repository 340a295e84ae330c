package engine

import (
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// builtin is a built-in scalar function.
type builtin struct {
	min, max int // number of arguments; max < 0 for any number
	compile  func(c *callSite) (*scalar, error)
}

// builtins are the built-in functions by lower-case name. The func_*.go files fill it.
var builtins = map[string]builtin{}

// define registers a built-in function.
func define(name string, minArgs, maxArgs int, compile func(c *callSite) (*scalar, error)) {
	builtins[name] = builtin{minArgs, maxArgs, compile}
}

// callSite is one call of a built-in function being compiled.
type callSite struct {
	sc   *scope
	sess *Session
	e    *tsql.FuncCall
	name string // lower case
	args []*scalar
}

var aggregateNames = map[string]bool{
	"avg": true, "checksum_agg": true, "count": true, "count_big": true, "grouping": true, "grouping_id": true,
	"max": true, "min": true, "stdev": true, "stdevp": true, "string_agg": true, "sum": true, "var": true, "varp": true,
	"approx_count_distinct": true, "json_arrayagg": true, "json_objectagg": true,
}

var windowNames = map[string]bool{
	"row_number": true, "rank": true, "dense_rank": true, "ntile": true, "lag": true, "lead": true, "first_value": true,
	"last_value": true, "percent_rank": true, "cume_dist": true, "percentile_cont": true, "percentile_disc": true,
}

// isAggregateName reports an aggregate function.
func isAggregateName(name string) bool { return aggregateNames[strings.ToLower(name)] }

// unsupportedFunctions are functions of SQL Server that sqlsim refuses by name.
var unsupportedFunctions = map[string]bool{}

func init() {
	for _, n := range strings.Fields(`asymkey_id asymkeyproperty cert_id certencoded certprivatekey certproperty
columns_updated connectionproperty cursor_status decryptbyasymkey decryptbycert decryptbykey
decryptbykeyautoasymkey decryptbykeyautocert decryptbypassphrase encryptbyasymkey encryptbycert encryptbykey
encryptbypassphrase eventdata filegroup_id filegroup_name filegroupproperty file_id file_idex file_name fileproperty
fulltextcatalogproperty fulltextserviceproperty get_filestream_transaction_context hashbytes_md2 indexkey_property
is_objectsigned key_guid key_id key_name loginproperty min_active_rowversion openxml
permissions pwdcompare pwdencrypt regexp_count regexp_instr regexp_like regexp_replace
regexp_substr sign_by signbyasymkey signbycert symkeyproperty textptr textvalid
verifysignedbyasymkey verifysignedbycert vector_distance vector_norm vector_normalize edit_distance
edit_distance_similarity jaro_winkler_distance jaro_winkler_similarity json_contains unistr product base64_encode base64_decode
change_tracking_current_version change_tracking_min_valid_version`) {
		unsupportedFunctions[n] = true
	}
}

// compileCall compiles a function call.
func compileCall(sc *scope, e *tsql.FuncCall) (*scalar, error) {
	name := strings.ToLower(e.Name.Name)
	if e.Name.Schema != "" {
		if strings.EqualFold(e.Name.Schema, "sys") && e.Name.Database == "" {
			name = "sys." + name
			if _, ok := builtins[name]; !ok {
				return nil, notAFunction(e)
			}
		} else {
			return compileUserFunction(sc, e)
		}
	}
	if aggregateNames[name] {
		if e.Over != nil {
			return nil, sqlError(4108, 15, 1, "Windowed functions can only appear in the SELECT or ORDER BY clauses.")
		}
		return nil, sqlError(147, 15, 1, "An aggregate may not appear in the WHERE clause unless it is in a subquery contained in a HAVING clause or a select list, and the column being aggregated is an outer reference.")
	}
	if windowNames[name] {
		if e.Over == nil && !strings.HasPrefix(name, "percentile") {
			return nil, sqlError(10753, 15, 1, "The function '%s' must have an OVER clause.", name)
		}
		return nil, sqlError(4108, 15, 1, "Windowed functions can only appear in the SELECT or ORDER BY clauses.")
	}
	if e.Over != nil {
		return nil, sqlError(10757, 15, 1, "The function '%s' may not have a WITHIN GROUP clause or an OVER clause.", name)
	}
	b, ok := builtins[name]
	if !ok {
		if unsupportedFunctions[name] {
			return nil, tsql.Unsupported(e.Line, "the function %s", strings.ToUpper(name))
		}
		return nil, sqlError(195, 15, 10, "'%s' is not a recognized built-in function name.", e.Name.Name)
	}
	if e.Star || e.Distinct {
		return nil, sqlError(102, 15, 1, "Incorrect syntax near '%s'.", e.Name.Name)
	}
	count := len(e.Args)
	if e.Datepart != "" {
		count++
	}
	if count < b.min || b.max >= 0 && count > b.max {
		return nil, argCountError(name, b)
	}
	c := &callSite{sc: sc, sess: sc.sess, e: e, name: name}
	if name != "iif" {
		for i, a := range e.Args {
			if name == "isjson" && i == 1 {
				break // a keyword, not an expression
			}
			s, err := compileScalar(sc, a)
			if err != nil {
				return nil, err
			}
			c.args = append(c.args, s)
		}
	}
	return b.compile(c)
}

func argCountError(name string, b builtin) error {
	if b.min == b.max {
		return sqlError(174, 15, 1, "The %s function requires %d argument(s).", name, b.min)
	}
	hi := b.max
	if hi < 0 {
		hi = 254
	}
	return sqlError(189, 15, 1, "The %s function requires %d to %d arguments.", name, b.min, hi)
}

func notAFunction(e *tsql.FuncCall) error {
	n := e.Name
	first := n.Schema
	if n.Database != "" {
		first = n.Database
	}
	return sqlError(4121, 16, 1, "Cannot find either column \"%s\" or the user-defined function or aggregate \"%s\", or the name is ambiguous.", first, n.String())
}

// compileUserFunction compiles a call of a scalar user-defined function.
func compileUserFunction(sc *scope, e *tsql.FuncCall) (*scalar, error) {
	fr := sc.sess.frame
	m, err := sc.sess.be.lookupModule(sc.sess.context(), fr, e.Name, tsql.ModuleScalarFunction)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, notAFunction(e)
	}
	if len(e.Args) > len(m.params) {
		return nil, sqlError(8144, 16, 2, "Procedure or function %s has too many arguments specified.", e.Name)
	}
	if len(e.Args) < len(m.params) {
		return nil, sqlError(313, 16, 2, "An insufficient number of arguments were supplied for the procedure or function %s.", e.Name)
	}
	args := make([]*scalar, len(e.Args))
	for i, a := range e.Args {
		p := &m.params[i]
		var s *scalar
		if _, ok := a.(*tsql.DefaultValue); ok {
			if p.def == nil {
				return nil, sqlError(313, 16, 2, "An insufficient number of arguments were supplied for the procedure or function %s.", e.Name)
			}
			s, err = compileScalar(&scope{sess: sc.sess, vars: &varTable{}}, p.def)
		} else {
			s, err = compileScalar(sc, a)
		}
		if err != nil {
			return nil, err
		}
		if args[i], err = assignTo(s, p.typ); err != nil {
			return nil, err
		}
	}
	out := newScalar(m.returns, true, nil, args...)
	out.subqueries, out.literal, out.constant = true, false, false
	if m.returns.Kind.IsCharacter() {
		out.coercible = implicitCollation
	}
	out.eval = func(rc *rowCtx) (value.Value, error) {
		vals := make([]value.Value, len(args))
		for i, a := range args {
			v, err := a.eval(rc)
			if err != nil {
				return v, err
			}
			vals[i] = v
		}
		return rc.sess.callFunction(rc, m, vals)
	}
	return out, nil
}

// --- helpers of the functions ---

// result makes a scalar that is NULL when any argument is, and otherwise what fn makes of them.
func (c *callSite) result(typ value.Type, fn func(rc *rowCtx, v []value.Value) (value.Value, error)) *scalar {
	return strict(typ, c.args, fn)
}

func strict(typ value.Type, args []*scalar, fn func(rc *rowCtx, v []value.Value) (value.Value, error)) *scalar {
	nullable := false
	for _, a := range args {
		nullable = nullable || a.nullable
	}
	s := newScalar(typ, nullable, func(rc *rowCtx) (value.Value, error) {
		vals := make([]value.Value, len(args))
		for i, a := range args {
			v, err := a.eval(rc)
			if err != nil {
				return v, err
			}
			if v.IsNull() {
				return value.NewNull(typ.Kind), nil
			}
			vals[i] = v
		}
		return fn(rc, vals)
	}, args...)
	for _, a := range args {
		if a.typ.Kind.IsCharacter() && a.coercible > s.coercible && a.coercible != noCollation {
			s.coercible = a.coercible
		}
	}
	return s
}

// lax is result where fn sees the NULLs too.
func (c *callSite) lax(typ value.Type, fn func(rc *rowCtx, v []value.Value) (value.Value, error)) *scalar {
	args := c.args
	return newScalar(typ, true, func(rc *rowCtx) (value.Value, error) {
		vals := make([]value.Value, len(args))
		for i, a := range args {
			v, err := a.eval(rc)
			if err != nil {
				return v, err
			}
			vals[i] = v
		}
		return fn(rc, vals)
	}, args...)
}

// perStatement marks a value that is constant within a statement but not foldable.
func perStatement(s *scalar) *scalar {
	s.literal = false
	return s
}

// volatile marks a value that differs at each evaluation.
func volatile(s *scalar) *scalar {
	s.literal, s.constant = false, false
	return s
}

func (c *callSite) invalidArg(n int) error {
	return sqlError(8116, 16, 1, "Argument data type %s is invalid for argument %d of %s function.", typeWord(c.args[n].typ), n+1, c.name)
}

// to converts argument n to a type.
func (c *callSite) to(n int, typ value.Type) error {
	if n >= len(c.args) {
		return nil
	}
	if typ.Kind.IsCharacter() {
		typ.Collation = c.sc.collation()
	}
	s, err := coerceTo(c.args[n], typ)
	if err != nil {
		return c.invalidArg(n)
	}
	c.args[n] = s
	return nil
}

func (c *callSite) int(n int) error    { return c.to(n, value.Type{Kind: value.Int}) }
func (c *callSite) bigint(n int) error { return c.to(n, value.Type{Kind: value.BigInt}) }

// text converts argument n to text, unless it is; dates and numbers convert implicitly.
func (c *callSite) text(n int) error {
	if n >= len(c.args) || c.args[n].typ.Kind.IsCharacter() {
		return nil
	}
	switch k := c.args[n].typ.Kind; {
	case k == value.Variant:
		return c.invalidArg(n)
	case k == value.Unknown:
		return c.to(n, value.Type{Kind: value.VarChar, Length: 1})
	case k.IsBinary():
		return c.to(n, value.Type{Kind: value.VarChar, Length: 8000})
	}
	return c.to(n, value.Type{Kind: value.VarChar, Length: textWidth(c.args[n].typ)})
}

// textWidth is the length of a value of a type as text.
func textWidth(t value.Type) int {
	switch t.Kind {
	case value.Bit:
		return 1
	case value.TinyInt:
		return 3
	case value.SmallInt:
		return 6
	case value.Int:
		return 12
	case value.BigInt:
		return 24
	case value.Decimal:
		return 41
	case value.UniqueIdentifier:
		return 36
	case value.Money, value.SmallMoney:
		return 30
	case value.Char, value.VarChar, value.NChar, value.NVarChar, value.Binary, value.VarBinary:
		return t.Length
	}
	return 40
}

// textType is the type of a text result of up to n characters with the collation of args.
func (c *callSite) textType(unicode bool, n int, of ...*scalar) (value.Type, error) {
	t := value.Type{Kind: value.VarChar, Length: n}
	limit := 8000
	if unicode {
		t.Kind, limit = value.NVarChar, 4000
	}
	if n == value.Max || n > limit {
		t.Length = limit
		if n == value.Max {
			t.Length = value.Max
		}
	}
	t.Length = max(t.Length, 1)
	if n == value.Max {
		t.Length = value.Max
	}
	t.Collation = c.sc.collation()
	var first *scalar
	for _, s := range of {
		if !s.typ.Kind.IsCharacter() {
			continue
		}
		if first == nil {
			first = &scalar{typ: s.typ, coercible: s.coercible}
			continue
		}
		coll, strength, err := mergeCollations(first, s, c.name)
		if err != nil {
			return t, err
		}
		first.typ.Collation, first.coercible = coll, strength
	}
	if first != nil {
		t.Collation = first.typ.Collation
	}
	return t, nil
}

// str makes a text value of a type's kind.
func str(t value.Type, s string) value.Value { return value.NewString(t.Kind, s) }

func intValue(n int64) value.Value { return value.NewInt(value.Int, n) }

var (
	intType     = value.Type{Kind: value.Int}
	bigintType  = value.Type{Kind: value.BigInt}
	floatType   = value.Type{Kind: value.Float}
	bitType     = value.Type{Kind: value.Bit}
	sysnameType = value.Type{Kind: value.NVarChar, Length: 128}
	nmaxType    = value.Type{Kind: value.NVarChar, Length: value.Max}
)
