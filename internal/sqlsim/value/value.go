// Package value holds the T-SQL data types that sqlsim knows and their values:
// comparison under a collation, conversion, arithmetic, and the server errors that
// these raise. It is the lowest layer; every other package of sqlsim builds on it.
package value

// Kind names a T-SQL data type without its length, precision or scale.
type Kind uint8

const (
	// Unknown is the type of an untyped NULL literal.
	Unknown Kind = iota
	Bit
	TinyInt
	SmallInt
	Int
	BigInt
	Decimal // also numeric
	SmallMoney
	Money
	Real
	Float
	Date
	Time
	SmallDateTime
	DateTime
	DateTime2
	DateTimeOffset
	Char
	VarChar
	NChar
	NVarChar // also sysname, which is nvarchar(128)
	Binary
	VarBinary
	RowVersion
	UniqueIdentifier
	Variant // sql_variant: kept as a type; its values carry their base kind
)

// Max is the Length of varchar(max), nvarchar(max) and varbinary(max).
const Max = -1

// Type is a T-SQL data type as declared: varchar(20) COLLATE Latin1_General_100_BIN2.
type Type struct {
	Kind      Kind
	Length    int       // characters (nchar, nvarchar) or bytes (char, varchar, binary, varbinary); Max for (max)
	Precision uint8     // decimal; 1 to 38
	Scale     uint8     // decimal scale; fractional digits of time, datetime2, datetimeoffset
	Collation Collation // character kinds only
}

// Value is one T-SQL value. It is immutable, comparable only through Compare, and
// small (32 bytes), since a table of a million rows holds tens of millions of them.
//
// Character data is kept as WTF-8: UTF-8 that may also encode a lone UTF-16
// surrogate in three bytes, because nvarchar can hold one. Length-like functions
// count UTF-16 code units, as SQL Server does outside the _SC collations.
type Value struct {
	kind  Kind
	null  bool
	scale uint8  // decimal, time, datetime2, datetimeoffset
	off   int16  // datetimeoffset: minutes east of UTC
	n     int64  // integers, bit, money (ten-thousandths), float bits, days since 0001-01-01, 100 ns ticks since midnight or since 0001-01-01
	s     string // character (WTF-8) and binary bytes; uniqueidentifier as 16 bytes in RFC 4122 order; decimal as a big-endian two's complement integer when it does not fit n
}
