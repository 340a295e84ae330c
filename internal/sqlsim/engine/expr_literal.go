package engine

import (
	"encoding/hex"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// compileLiteral gives a constant the type that SQL Server gives it.
func compileLiteral(sc *scope, e *tsql.Literal) (*scalar, error) {
	switch e.Kind {
	case tsql.LitNull:
		return constScalar(value.Type{Kind: value.Unknown}, value.NewNull(value.Unknown)), nil
	case tsql.LitInt:
		return intLiteral(e.Text)
	case tsql.LitDecimal:
		return decimalLiteral(e.Text)
	case tsql.LitFloat:
		return floatLiteral(e.Text)
	case tsql.LitMoney:
		return moneyLiteral(e.Text)
	case tsql.LitString:
		return constScalar(stringType(sc, value.VarChar, e.Text), value.NewString(value.VarChar, recode(sc, e.Text))), nil
	case tsql.LitNString:
		return constScalar(stringType(sc, value.NVarChar, e.Text), value.NewString(value.NVarChar, e.Text)), nil
	case tsql.LitBinary:
		return binaryLiteral(e.Text)
	}
	return odbcLiteral(sc, e)
}

// collation is the one that literals and variables of this scope have.
func (sc *scope) collation() value.Collation {
	_, _, c := sc.sess.be.currentDatabase()
	return c
}

// recode puts a non-Unicode constant through the code page of the database: what is not
// in it becomes '?'.
func recode(sc *scope, s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			c := sc.collation()
			return value.DecodeChars(value.EncodeChars(nil, s, c), c)
		}
	}
	return s
}

func stringType(sc *scope, k value.Kind, s string) value.Type {
	t := value.Type{Kind: k, Collation: sc.collation()}
	limit := 8000
	if k.IsUnicode() {
		limit = 4000
		t.Length = value.UTF16Len(s)
	} else {
		t.Length = value.DataLength(value.NewString(k, s), t.Collation)
	}
	t.Length = max(t.Length, 1)
	if t.Length > limit {
		t.Length = value.Max
	}
	return t
}

func intLiteral(text string) (*scalar, error) {
	digits := strings.TrimLeft(text, "0")
	if len(digits) <= 10 {
		n, err := strconv.ParseInt("0"+digits, 10, 64)
		if err == nil && n <= math.MaxInt32 {
			s := constScalar(value.Type{Kind: value.Int}, value.NewInt(value.Int, n))
			s.digits = uint8(max(len(digits), 1))
			return s, nil
		}
	}
	return decimalLiteral(text)
}

func decimalLiteral(text string) (*scalar, error) {
	whole, frac, _ := strings.Cut(text, ".")
	whole = strings.TrimLeft(whole, "0")
	precision := len(whole) + len(frac)
	if precision > 38 {
		return nil, sqlError(1007, 15, 1, "The number '%s' is out of the range for numeric representation (maximum precision 38).", text)
	}
	n, ok := new(big.Int).SetString("0"+whole+frac, 10)
	if !ok {
		return nil, sqlError(102, 15, 1, "Incorrect syntax near '%s'.", text)
	}
	t := value.Type{Kind: value.Decimal, Precision: uint8(max(precision, 1)), Scale: uint8(len(frac))}
	return constScalar(t, value.NewDecimal(n, t.Scale)), nil
}

func floatLiteral(text string) (*scalar, error) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if exponent == "" || exponent == "+" || exponent == "-" {
		exponent = "0"
	}
	f, err := strconv.ParseFloat(mantissa+"e"+exponent, 64)
	if err != nil && math.IsInf(f, 0) {
		return nil, sqlError(168, 15, 1, "The floating point value '%s' is out of the range of computer representation (8 bytes).", text)
	}
	return constScalar(value.Type{Kind: value.Float}, value.NewFloat(f)), nil
}

func moneyLiteral(text string) (*scalar, error) {
	typ := value.Type{Kind: value.Money}
	if text == "" || text == "." {
		return constScalar(typ, value.NewInt(value.Money, 0)), nil
	}
	v, err := value.Convert(value.NewString(value.VarChar, text), value.Type{Kind: value.VarChar, Length: len(text)}, typ, value.NoStyle, value.ConvertEnv{})
	if err != nil {
		return nil, err
	}
	return constScalar(typ, v), nil
}

func binaryLiteral(text string) (*scalar, error) {
	if len(text)%2 == 1 {
		text = "0" + text
	}
	b, err := hex.DecodeString(text)
	if err != nil {
		return nil, sqlError(102, 15, 1, "Incorrect syntax near '0x%s'.", text)
	}
	t := value.Type{Kind: value.VarBinary, Length: max(len(b), 1)}
	if t.Length > 8000 {
		t.Length = value.Max
	}
	return constScalar(t, value.NewBinary(value.VarBinary, b)), nil
}

// odbcLiteral is {d '...'}, {t '...'}, {ts '...'} (all datetime) and {guid '...'}.
func odbcLiteral(sc *scope, e *tsql.Literal) (*scalar, error) {
	typ := value.Type{Kind: value.DateTime}
	text := e.Text
	switch e.Kind {
	case tsql.LitODBCGUID:
		typ.Kind = value.UniqueIdentifier
	case tsql.LitODBCTime:
		text = sc.sess.now().Format("2006-01-02 ") + text
	}
	from := value.Type{Kind: value.VarChar, Length: len(text)}
	v, err := value.Convert(value.NewString(value.VarChar, text), from, typ, 121, sc.sess.convertEnv())
	if err != nil {
		return nil, err
	}
	s := constScalar(typ, v)
	s.literal = e.Kind != tsql.LitODBCTime
	return s, nil
}
