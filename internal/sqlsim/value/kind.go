package value

import "strconv"

var kindNames = [...]string{
	Unknown: "NULL", Bit: "bit", TinyInt: "tinyint", SmallInt: "smallint", Int: "int", BigInt: "bigint",
	Decimal: "decimal", SmallMoney: "smallmoney", Money: "money", Real: "real", Float: "float",
	Date: "date", Time: "time", SmallDateTime: "smalldatetime", DateTime: "datetime",
	DateTime2: "datetime2", DateTimeOffset: "datetimeoffset",
	Char: "char", VarChar: "varchar", NChar: "nchar", NVarChar: "nvarchar",
	Binary: "binary", VarBinary: "varbinary", RowVersion: "timestamp",
	UniqueIdentifier: "uniqueidentifier", Variant: "sql_variant",
}

// String is the name of the type without length, precision or scale.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// IsInteger reports bit and the four integer types.
func (k Kind) IsInteger() bool { return k >= Bit && k <= BigInt }

// IsMoney reports money and smallmoney.
func (k Kind) IsMoney() bool { return k == Money || k == SmallMoney }

// IsApproximate reports real and float.
func (k Kind) IsApproximate() bool { return k == Real || k == Float }

// IsNumeric reports every type that arithmetic is done in.
func (k Kind) IsNumeric() bool { return k >= Bit && k <= Float }

// IsTemporal reports the date and time types.
func (k Kind) IsTemporal() bool { return k >= Date && k <= DateTimeOffset }

// IsCharacter reports char, varchar, nchar and nvarchar.
func (k Kind) IsCharacter() bool { return k >= Char && k <= NVarChar }

// IsUnicode reports nchar and nvarchar.
func (k Kind) IsUnicode() bool { return k == NChar || k == NVarChar }

// IsBinary reports binary, varbinary and rowversion.
func (k Kind) IsBinary() bool { return k >= Binary && k <= RowVersion }

// HasScale reports the types that are declared with fractional digits.
func (k Kind) HasScale() bool {
	return k == Decimal || k == Time || k == DateTime2 || k == DateTimeOffset
}

// IsMax reports varchar(max), nvarchar(max) and varbinary(max).
func (t Type) IsMax() bool {
	return t.Length == Max && (t.Kind.IsCharacter() || t.Kind.IsBinary())
}

// String prints the type as SQL Server declares it: nvarchar(max), decimal(18,2), datetime2(3).
func (t Type) String() string {
	switch k := t.Kind; {
	case k == RowVersion:
		return k.String()
	case k.IsCharacter() || k.IsBinary():
		if t.Length == Max {
			return k.String() + "(max)"
		}
		return k.String() + "(" + strconv.Itoa(t.Length) + ")"
	case k == Decimal:
		return "decimal(" + strconv.Itoa(int(t.Precision)) + "," + strconv.Itoa(int(t.Scale)) + ")"
	case k.HasScale():
		return k.String() + "(" + strconv.Itoa(int(t.Scale)) + ")"
	default:
		return k.String()
	}
}
