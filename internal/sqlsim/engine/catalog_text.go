package engine

import (
	"strings"

	"github.com/chokaq/chokaq/internal/sqlsim/tsql"
	"github.com/chokaq/chokaq/internal/sqlsim/value"
)

// quoteName writes an identifier in brackets.
func quoteName(s string) string { return "[" + strings.ReplaceAll(s, "]", "]]") + "]" }

// parenthesized is how the catalog shows the text of a default or check.
func parenthesized(src string) string {
	src = strings.TrimSpace(src)
	if strings.HasPrefix(src, "(") && strings.HasSuffix(src, ")") {
		depth := 0
		for i, r := range src {
			switch r {
			case '(':
				depth++
			case ')':
				if depth--; depth == 0 && i < len(src)-1 {
					return "(" + src + ")"
				}
			}
		}
		return src
	}
	return "(" + src + ")"
}

// defaultText is how sys.default_constraints shows a default: a bare constant gets a
// second pair of parentheses when it is a number.
func defaultText(e tsql.Expr, src string) string {
	text := parenthesized(src)
	if l, ok := tsql.Unparen(e).(*tsql.Literal); ok {
		switch l.Kind {
		case tsql.LitInt, tsql.LitDecimal, tsql.LitFloat, tsql.LitMoney:
			if !strings.HasPrefix(text, "((") {
				text = "(" + text + ")"
			}
		}
	}
	return text
}

// maxBytes is the max_length of sys.columns.
func maxBytes(t value.Type) int {
	switch t.Kind {
	case value.Bit, value.TinyInt:
		return 1
	case value.SmallInt:
		return 2
	case value.Int, value.SmallMoney, value.Real, value.SmallDateTime:
		return 4
	case value.BigInt, value.Money, value.Float, value.DateTime, value.RowVersion:
		return 8
	case value.Date:
		return 3
	case value.UniqueIdentifier:
		return 16
	case value.Variant:
		return 8016
	case value.Decimal:
		switch {
		case t.Precision <= 9:
			return 5
		case t.Precision <= 19:
			return 9
		case t.Precision <= 28:
			return 13
		}
		return 17
	case value.Time, value.DateTime2, value.DateTimeOffset:
		n := 5
		if t.Scale <= 2 {
			n = 3
		} else if t.Scale <= 4 {
			n = 4
		}
		switch t.Kind {
		case value.DateTime2:
			n += 3
		case value.DateTimeOffset:
			n += 5
		}
		return n
	case value.NChar, value.NVarChar:
		if t.Length == value.Max {
			return -1
		}
		return t.Length * 2
	case value.Char, value.VarChar, value.Binary, value.VarBinary:
		return t.Length
	}
	return 0
}

// precisionScale is what sys.columns shows as precision and scale.
func precisionScale(t value.Type) (precision, scale int) {
	switch t.Kind {
	case value.Bit:
		return 1, 0
	case value.TinyInt:
		return 3, 0
	case value.SmallInt:
		return 5, 0
	case value.Int:
		return 10, 0
	case value.BigInt:
		return 19, 0
	case value.Decimal:
		return int(t.Precision), int(t.Scale)
	case value.SmallMoney:
		return 10, 4
	case value.Money:
		return 19, 4
	case value.Real:
		return 24, 0
	case value.Float:
		return 53, 0
	case value.Date:
		return 10, 0
	case value.DateTime:
		return 23, 3
	case value.SmallDateTime:
		return 16, 0
	case value.Time, value.DateTime2, value.DateTimeOffset:
		p := map[value.Kind]int{value.Time: 8, value.DateTime2: 19, value.DateTimeOffset: 26}[t.Kind]
		if t.Scale > 0 {
			p += 1 + int(t.Scale)
		}
		return p, int(t.Scale)
	}
	return 0, 0
}

// systemTypes are the built-in types as sys.types lists them.
var systemTypes = []struct {
	id   int32
	user int32
	name string
	kind value.Kind
	size int
	prec int
	scal int
}{
	{36, 36, "uniqueidentifier", value.UniqueIdentifier, 16, 0, 0},
	{40, 40, "date", value.Date, 3, 10, 0},
	{41, 41, "time", value.Time, 5, 16, 7},
	{42, 42, "datetime2", value.DateTime2, 8, 27, 7},
	{43, 43, "datetimeoffset", value.DateTimeOffset, 10, 34, 7},
	{48, 48, "tinyint", value.TinyInt, 1, 3, 0},
	{52, 52, "smallint", value.SmallInt, 2, 5, 0},
	{56, 56, "int", value.Int, 4, 10, 0},
	{58, 58, "smalldatetime", value.SmallDateTime, 4, 16, 0},
	{59, 59, "real", value.Real, 4, 24, 0},
	{60, 60, "money", value.Money, 8, 19, 4},
	{61, 61, "datetime", value.DateTime, 8, 23, 3},
	{62, 62, "float", value.Float, 8, 53, 0},
	{98, 98, "sql_variant", value.Variant, 8016, 0, 0},
	{104, 104, "bit", value.Bit, 1, 1, 0},
	{106, 106, "decimal", value.Decimal, 17, 38, 38},
	{108, 108, "numeric", value.Decimal, 17, 38, 38},
	{122, 122, "smallmoney", value.SmallMoney, 4, 10, 4},
	{127, 127, "bigint", value.BigInt, 8, 19, 0},
	{165, 165, "varbinary", value.VarBinary, 8000, 0, 0},
	{167, 167, "varchar", value.VarChar, 8000, 0, 0},
	{173, 173, "binary", value.Binary, 8000, 0, 0},
	{175, 175, "char", value.Char, 8000, 0, 0},
	{189, 189, "timestamp", value.RowVersion, 8, 0, 0},
	{231, 231, "nvarchar", value.NVarChar, 8000, 0, 0},
	{231, 256, "sysname", value.NVarChar, 256, 0, 0},
	{239, 239, "nchar", value.NChar, 8000, 0, 0},
}

// systemTypeID is system_type_id of a kind.
func systemTypeID(k value.Kind) int32 {
	for _, t := range systemTypes {
		if t.kind == k {
			return t.id
		}
	}
	return 0
}

// typeName is the name of a kind as INFORMATION_SCHEMA and sys.types show it.
func typeName(k value.Kind) string {
	for _, t := range systemTypes {
		if t.kind == k {
			return t.name
		}
	}
	return ""
}
