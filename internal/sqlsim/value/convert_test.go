package value

import (
	"errors"
	"strings"
	"testing"
	"time"
)

var (
	tInt      = Type{Kind: Int}
	tBigInt   = Type{Kind: BigInt}
	tSmallInt = Type{Kind: SmallInt}
	tTinyInt  = Type{Kind: TinyInt}
	tBit      = Type{Kind: Bit}
	tFloat    = Type{Kind: Float}
	tReal     = Type{Kind: Real}
	tMoney    = Type{Kind: Money}
	tDate     = Type{Kind: Date}
	tDateTime = Type{Kind: DateTime}
	tSmallDT  = Type{Kind: SmallDateTime}
	tUUID     = Type{Kind: UniqueIdentifier}
)

func tDec(p, s uint8) Type           { return Type{Kind: Decimal, Precision: p, Scale: s} }
func tVarChar(n int) Type            { return Type{Kind: VarChar, Length: n} }
func tNVarChar(n int) Type           { return Type{Kind: NVarChar, Length: n} }
func tVarBinary(n int) Type          { return Type{Kind: VarBinary, Length: n} }
func tTime(s uint8) Type             { return Type{Kind: Time, Scale: s} }
func tDateTime2(s uint8) Type        { return Type{Kind: DateTime2, Scale: s} }
func tDTOffset(s uint8) Type         { return Type{Kind: DateTimeOffset, Scale: s} }
func utf8Type(n int) Type            { return Type{Kind: VarChar, Length: n, Collation: utf8Collation} }
func str(s string) Value             { return NewString(VarChar, s) }
func nstr(s string) Value            { return NewString(NVarChar, s) }
func bin(b ...byte) Value            { return NewBinary(VarBinary, b) }
func money(n int64) Value            { return NewInt(Money, n) }
func i32(n int64) Value              { return NewInt(Int, n) }
func decimal(n int64, s uint8) Value { return NewDecimalInt(n, s) }

var utf8Collation, _ = CollationByName("Latin1_General_100_CI_AS_SC_UTF8")

// typeOf gives a value without a declared type the one it would have as a literal.
func typeOf(v Value) Type {
	t := Type{Kind: v.Kind(), Scale: v.Scale()}
	if v.Kind() == Decimal {
		t.Precision = decimalPrecision(v)
	}
	return t
}

func dt2(t *testing.T, s string) Value {
	t.Helper()
	v, err := Convert(str(s), tVarChar(40), tDateTime2(7), NoStyle, ConvertEnv{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestConvert(t *testing.T) {
	moment := dt2(t, "2024-05-06 07:08:09.1234567")
	tests := []struct {
		v     Value
		to    Type
		style int
		want  string // as Value.String prints, or "number message"
	}{
		// text to numbers
		{str(" 42 "), tInt, NoStyle, "42"},
		{str(""), tInt, NoStyle, "0"},
		{str("-"), tInt, NoStyle, "0"},
		{nstr("x"), tInt, NoStyle, "245 Conversion failed when converting the nvarchar value 'x' to data type int."},
		{str("1.5"), tInt, NoStyle, "245 Conversion failed when converting the varchar value '1.5' to data type int."},
		{nstr("x"), tBigInt, NoStyle, "8114 Error converting data type nvarchar to bigint."},
		{str("2147483648"), tInt, NoStyle, "248 The conversion of the varchar value '2147483648' overflowed an int column."},
		{str("40000"), tSmallInt, NoStyle, "244 The conversion of the varchar value '40000' overflowed an INT2 column. Use a larger integer column."},
		{str("9223372036854775808"), tBigInt, NoStyle, "8115 Arithmetic overflow error converting expression to data type bigint."},
		{str("-9223372036854775808"), tBigInt, NoStyle, "-9223372036854775808"},
		{str("TRUE"), tBit, NoStyle, "1"},
		{str("00"), tBit, NoStyle, "0"},
		{str("yes"), tBit, NoStyle, "245 Conversion failed when converting the varchar value 'yes' to data type bit."},
		{str("12.345"), tDec(5, 2), NoStyle, "12.35"},
		{str("-.5"), tDec(5, 0), NoStyle, "-1"},
		{str(""), tDec(5, 0), NoStyle, "8114 Error converting data type varchar to numeric."},
		{str("1e3"), tDec(5, 0), NoStyle, "8114 Error converting data type varchar to numeric."},
		{str("123456"), tDec(5, 2), NoStyle, "8115 Arithmetic overflow error converting varchar to data type numeric."},
		{str("1e3"), tFloat, NoStyle, "1000"},
		{nstr("abc"), tFloat, NoStyle, "8114 Error converting data type nvarchar to float."},
		{str("0x10"), tFloat, NoStyle, "8114 Error converting data type varchar to float."},
		{str("$1,234.56789"), tMoney, NoStyle, "1234.5679"},
		{str("abc"), tMoney, NoStyle, "235 Cannot convert a char value to money. The value has incorrect syntax."},
		// numbers to numbers
		{i32(70000), tSmallInt, NoStyle, "220 Arithmetic overflow error for data type smallint, value = 70000."},
		{i32(256), tTinyInt, NoStyle, "220 Arithmetic overflow error for data type tinyint, value = 256."},
		{NewInt(BigInt, 1<<40), tInt, NoStyle, "8115 Arithmetic overflow error converting expression to data type int."},
		{decimal(-199, 2), tInt, NoStyle, "-1"},
		{decimal(99999999999, 0), tInt, NoStyle, "8115 Arithmetic overflow error converting expression to data type int."},
		{money(15000), tInt, NoStyle, "2"},
		{NewFloat(2.9), tInt, NoStyle, "2"},
		{NewFloat(3e9), tInt, NoStyle, "232 Arithmetic overflow error for type int, value = 3000000000.000000."},
		{decimal(1005, 3), tDec(5, 2), NoStyle, "1.01"},
		{decimal(100000, 2), tDec(4, 2), NoStyle, "8115 Arithmetic overflow error converting numeric to data type numeric."},
		{i32(1000), tDec(3, 0), NoStyle, "8115 Arithmetic overflow error converting int to data type numeric."},
		{NewFloat(0.1), tDec(20, 18), NoStyle, "0.100000000000000010"},
		{i32(5), tBit, NoStyle, "1"},
		{i32(5), tUUID, NoStyle, "529 Explicit conversion from data type int to uniqueidentifier is not allowed."},
		{i32(5), tDate, NoStyle, "529 Explicit conversion from data type int to date is not allowed."},
		// numbers to text
		{i32(12345), tVarChar(4), NoStyle, "'*'"},
		{i32(12345), tNVarChar(4), NoStyle, "8115 Arithmetic overflow error converting expression to data type nvarchar."},
		{decimal(12345, 2), tVarChar(5), NoStyle, "8115 Arithmetic overflow error converting numeric to data type varchar."},
		{decimal(-5, 3), tVarChar(10), NoStyle, "'-0.005'"},
		{money(12345678), tVarChar(20), NoStyle, "'1234.57'"},
		{money(12345678), tVarChar(20), 1, "'1,234.57'"},
		{money(-12345678), tVarChar(20), 2, "'-1234.5678'"},
		{NewFloat(1234567), tVarChar(30), NoStyle, "'1.23457e+006'"},
		{NewFloat(0.1), tVarChar(30), NoStyle, "'0.1'"},
		{NewFloat(0.00001), tVarChar(30), NoStyle, "'1e-005'"},
		{NewFloat(123456), tVarChar(30), NoStyle, "'123456'"},
		{NewFloat(1), tVarChar(30), 2, "'1.000000000000000e+000'"},
		{NewBit(true), tVarChar(5), NoStyle, "'1'"},
		// text to text
		{nstr("héllo→"), tVarChar(30), NoStyle, "'héllo?'"},
		{nstr("Łódź"), tVarChar(30), NoStyle, "'Lódz'"},
		{nstr("日本"), utf8Type(5), NoStyle, "'日'"},
		{str("abcdef"), tVarChar(3), NoStyle, "'abc'"},
		{str("ab"), Type{Kind: Char, Length: 4}, NoStyle, "'ab  '"},
		{nstr("é"), Type{Kind: NChar, Length: 3}, NoStyle, "'é  '"},
		// uniqueidentifier
		{str("6F9619FF-8B86-D011-B42D-00C04FC964FF"), tUUID, NoStyle, "6F9619FF-8B86-D011-B42D-00C04FC964FF"},
		{str("{6f9619ff-8b86-d011-b42d-00c04fc964ff}"), tUUID, NoStyle, "6F9619FF-8B86-D011-B42D-00C04FC964FF"},
		{str("6F9619FF"), tUUID, NoStyle, "8169 Conversion failed when converting from a character string to uniqueidentifier."},
		{bin(0xFF, 0x19, 0x96, 0x6F, 0x86, 0x8B, 0x11, 0xD0, 0xB4, 0x2D, 0, 0xC0, 0x4F, 0xC9, 0x64, 0xFF), tUUID, NoStyle, "6F9619FF-8B86-D011-B42D-00C04FC964FF"},
		// binary
		{i32(258), tVarBinary(10), NoStyle, "0x00000102"},
		{i32(258), tVarBinary(1), NoStyle, "0x02"},
		{i32(1), Type{Kind: Binary, Length: 6}, NoStyle, "0x000000000001"},
		{str("ab"), Type{Kind: Binary, Length: 4}, NoStyle, "0x61620000"},
		{nstr("ab"), tVarBinary(10), NoStyle, "0x61006200"},
		{str("0x0aFF"), tVarBinary(10), 1, "0x0AFF"},
		{str("0aFF"), tVarBinary(10), 2, "0x0AFF"},
		{str("0aF"), tVarBinary(10), 2, "8114 Error converting data type varchar to varbinary."},
		{bin(0x0A, 0xFF), tVarChar(10), 1, "'0x0AFF'"},
		{bin(0x0A, 0xFF), tVarChar(10), 2, "'0AFF'"},
		{bin(0x41, 0x42), tVarChar(10), NoStyle, "'AB'"},
		{bin(1, 2, 3, 4, 5), tInt, NoStyle, "33752069"},
		{decimal(10, 1), tVarBinary(20), NoStyle, "0x020100010A000000"},
		{bin(1), tFloat, NoStyle, "529 Explicit conversion from data type varbinary to float is not allowed."},
		// text to dates
		{str("20240506"), tDate, NoStyle, "2024-05-06"},
		{str("2024-05-06"), tDate, NoStyle, "2024-05-06"},
		{str("240506"), tDate, NoStyle, "2024-05-06"},
		{str("May 6, 2024"), tDate, NoStyle, "2024-05-06"},
		{str("6 may 24"), tDate, NoStyle, "2024-05-06"},
		{str("05/06/2024"), tDate, NoStyle, "2024-05-06"},
		{str("05/06/2024"), tDate, 103, "2024-06-05"},
		{str("06.05.24"), tDate, 4, "2024-05-06"},
		{str(""), tDateTime, NoStyle, "1900-01-01 00:00:00"},
		{str("2024-02-30"), tDate, NoStyle, "241 Conversion failed when converting date and/or time from character string."},
		{str("2024-02-30"), tDateTime, NoStyle, "242 The conversion of a varchar data type to a datetime data type resulted in an out-of-range value."},
		{str("soon"), tDateTime, NoStyle, "241 Conversion failed when converting date and/or time from character string."},
		{str("soon"), tSmallDT, NoStyle, "295 Conversion failed when converting character string to smalldatetime data type."},
		{str("1752-12-31"), tDateTime, NoStyle, "242 The conversion of a varchar data type to a datetime data type resulted in an out-of-range value."},
		{str("2024-05-06T07:08:09.126"), tDateTime, NoStyle, "2024-05-06 07:08:09.1266667"},
		{str("2024-05-06T07:08:09.1234"), tDateTime, NoStyle, "241 Conversion failed when converting date and/or time from character string."},
		{str("2024-05-06T07:08"), tDateTime, NoStyle, "241 Conversion failed when converting date and/or time from character string."},
		{str("2024-05-06T07:08:09Z"), tDateTime, 127, "2024-05-06 07:08:09"},
		{str("2024-05-06 7:08PM"), tDateTime, NoStyle, "2024-05-06 19:08:00"},
		{str("7pm"), tTime(0), NoStyle, "19:00:00"},
		{str("12:34:56.99999999"), tTime(7), NoStyle, "241 Conversion failed when converting date and/or time from character string."},
		{str("12:34:56.9999999"), tTime(3), NoStyle, "12:34:57"},
		{str("2024-05-06 07:08:09.123 +02:00"), tDTOffset(3), NoStyle, "2024-05-06 07:08:09.123 +02:00"},
		{str("2024-05-06 07:08:09.123 +02:00"), tDateTime2(3), NoStyle, "2024-05-06 07:08:09.123"},
		{str("2024-05-06T07:08:09+15:00"), tDTOffset(0), NoStyle, "241 Conversion failed when converting date and/or time from character string."},
		// dates to dates
		{moment, tDateTime2(3), NoStyle, "2024-05-06 07:08:09.123"},
		{moment, tDateTime2(4), NoStyle, "2024-05-06 07:08:09.1235"},
		{moment, tDateTime, NoStyle, "2024-05-06 07:08:09.1233333"},
		{moment, tSmallDT, NoStyle, "2024-05-06 07:08:00"},
		{moment, tDate, NoStyle, "2024-05-06"},
		{moment, tTime(1), NoStyle, "07:08:09.1"},
		{moment, tDTOffset(0), NoStyle, "2024-05-06 07:08:09 +00:00"},
		{dt2(t, "1752-01-01"), tDateTime, NoStyle, "242 The conversion of a datetime2 data type to a datetime data type resulted in an out-of-range value."},
		{dt2(t, "9999-12-31 23:59:59.9999999"), tDateTime2(0), NoStyle, "9999-12-31 23:59:59"},
		{NewTime(TicksPerHour, 0), tDateTime, NoStyle, "1900-01-01 01:00:00"},
		{NewDate(0), tTime(0), NoStyle, "529 Explicit conversion from data type date to time is not allowed."},
		// dates and numbers
		{i32(1), tDateTime, NoStyle, "1900-01-02 00:00:00"},
		{NewFloat(0.5), tDateTime, NoStyle, "1900-01-01 12:00:00"},
		{NewDateTime(minSmall + 36*TicksPerHour), tFloat, NoStyle, "1.5"},
		{NewDateTime(minSmall + 36*TicksPerHour), tInt, NoStyle, "2"},
		{i32(-99999), tDateTime, NoStyle, "8115 Arithmetic overflow error converting expression to data type datetime."},
		// dates to text
		{moment, tVarChar(40), NoStyle, "'2024-05-06 07:08:09.1234567'"},
		{moment, tVarChar(40), 0, "'May  6 2024  7:08AM'"},
		{moment, tVarChar(40), 101, "'05/06/2024'"},
		{moment, tVarChar(40), 3, "'06/05/24'"},
		{moment, tVarChar(40), 107, "'May 06, 2024'"},
		{moment, tVarChar(40), 108, "'07:08:09'"},
		{moment, tVarChar(40), 112, "'20240506'"},
		{moment, tVarChar(40), 126, "'2024-05-06T07:08:09.1234567'"},
		{moment, tVarChar(10), NoStyle, "'2024-05-06'"},
		{dt2(t, "2024-05-06"), tVarChar(40), 126, "'2024-05-06T00:00:00'"},
		{NewTime(17*TicksPerHour, 7), tVarChar(15), 100, "'5:00PM'"},
		{NewDateTime(moment.Ticks()), tVarChar(40), NoStyle, "'May  6 2024  7:08AM'"},
		{NewDateTime(moment.Ticks()), tVarChar(40), 121, "'2024-05-06 07:08:09.123'"},
		{NewDateTime(moment.Ticks()), tVarChar(40), 109, "'May  6 2024  7:08:09:123AM'"},
		{NewDateTime(moment.Ticks()), tVarChar(40), 114, "'07:08:09:123'"},
		{NewDateTime(moment.Ticks() / TicksPerSecond * TicksPerSecond), tVarChar(40), 126, "'2024-05-06T07:08:09'"},
		{NewDateTime(moment.Ticks()), tVarChar(40), 17, "281 17 is not a valid style number when converting from datetime to a character string."},
		{NewDateTimeOffset(moment.Ticks(), 120, 3), tVarChar(40), NoStyle, "'2024-05-06 09:08:09.123 +02:00'"},
		{NewDateTimeOffset(moment.Ticks(), 120, 3), tVarChar(40), 126, "'2024-05-06T09:08:09.123+02:00'"},
		{NewDateTimeOffset(moment.Ticks(), 120, 3), tVarChar(40), 127, "'2024-05-06T07:08:09.123Z'"},
		{NewDate(738_000), tVarChar(40), 108, "8114 Error converting data type date to varchar."},
		{NewNull(Int), tVarChar(3), NoStyle, "NULL"},
		{moment, tReal, NoStyle, "529 Explicit conversion from data type datetime2 to real is not allowed."},
	}
	for _, tt := range tests {
		got := ""
		v, err := Convert(tt.v, typeOf(tt.v), tt.to, tt.style, ConvertEnv{})
		var e *Error
		switch {
		case errors.As(err, &e):
			got = NewInt(Int, int64(e.Number)).String() + " " + e.Message
		case err != nil:
			t.Errorf("%v is not an *Error", err)
		default:
			got = v.String()
			if v.Kind() != tt.to.Kind {
				t.Errorf("CONVERT(%v, %v) is of kind %v", tt.to, tt.v, v.Kind())
			}
		}
		if got != tt.want {
			t.Errorf("CONVERT(%v, %v %v, %d)\n got %s\nwant %s", tt.to, tt.v.Kind(), tt.v, tt.style, got, tt.want)
		}
	}
}

func TestDateFormat(t *testing.T) {
	env := ConvertEnv{DateFormat: "dmy"}
	for _, tt := range []struct {
		to   Type
		text string
		want string
	}{
		{tDateTime, "2024-05-06", "2024-06-05 00:00:00"}, // the trap: datetime reads this as year-day-month
		{tDateTime, "2024-05-06T00:00:00", "2024-05-06 00:00:00"},
		{tDateTime, "20240506", "2024-05-06 00:00:00"},
		{tDateTime2(0), "2024-05-06", "2024-05-06 00:00:00"},
		{tDate, "05/06/2024", "2024-06-05"},
	} {
		v, err := Convert(str(tt.text), tVarChar(30), tt.to, NoStyle, env)
		if err != nil || v.String() != tt.want {
			t.Errorf("%s to %v: %v, %v; want %s", tt.text, tt.to, v, err, tt.want)
		}
	}
}

func TestAssign(t *testing.T) {
	v, err := Assign(nstr("abcdef"), tNVarChar(6), tNVarChar(3), ConvertEnv{})
	if err != nil || v.Str() != "abc" {
		t.Errorf("a variable got %v, %v", v, err)
	}
	_, err = AssignColumn(nstr("abcdef"), tNVarChar(6), tNVarChar(3), ConvertEnv{}, "db.dbo.T", "C")
	var e *Error
	if !errors.As(err, &e) || e.Number != 2628 || e.Message != "String or binary data would be truncated in table 'db.dbo.T', column 'C'. Truncated value: 'abc'." {
		t.Errorf("a column got %v", err)
	}
	v, err = AssignColumn(nstr("abc   "), tNVarChar(6), tNVarChar(4), ConvertEnv{}, "T", "C")
	if err != nil || v.Str() != "abc " {
		t.Errorf("trailing spaces: %v, %v", v, err)
	}
	for _, tt := range []struct {
		from, to Type
		number   int32
	}{
		{tDateTime, tInt, 257}, {tNVarChar(5), tVarBinary(5), 257}, {tInt, tDate, 206}, {tMoney, tVarChar(10), 257}, {tUUID, tInt, 206},
	} {
		if _, err := Assign(NewNull(tt.from.Kind), tt.from, tt.to, ConvertEnv{}); !errors.As(err, &e) || e.Number != tt.number {
			t.Errorf("%v to %v: %v, want error %d", tt.from, tt.to, err, tt.number)
		}
	}
}

func TestArithmetic(t *testing.T) {
	for _, tt := range []struct {
		a      Value
		op     string
		b      Value
		typ    string
		result string
	}{
		{i32(7), "/", i32(2), "int", "3"},
		{i32(-7), "%", i32(3), "int", "-1"},
		{i32(2147483647), "+", i32(1), "int", "8115 Arithmetic overflow error converting expression to data type int."},
		{i32(1), "/", i32(0), "int", "8134 Divide by zero error encountered."},
		{NewInt(TinyInt, 200), "+", NewInt(TinyInt, 100), "tinyint", "8115 Arithmetic overflow error converting expression to data type tinyint."},
		{NewInt(BigInt, 1<<62), "*", i32(2), "bigint", "8115 Arithmetic overflow error converting expression to data type bigint."},
		{i32(6), "^", i32(3), "int", "5"},
		{decimal(20, 1), "/", decimal(3, 0), "decimal(7,6)", "0.666666"},
		{decimal(15, 1), "+", decimal(225, 2), "decimal(4,2)", "3.75"},
		{decimal(15, 1), "*", decimal(225, 2), "decimal(6,3)", "3.375"},
		{decimal(15, 1), "%", decimal(4, 1), "decimal(1,1)", "0.3"},
		{decimal(15, 1), "*", NewFloat(2), "float", "3"},
		{money(10000), "/", money(30000), "money", "0.3333"},
		{str("5"), "+", i32(3), "int", "8"},
		{str("x"), "+", i32(3), "int", "245 Conversion failed when converting the varchar value 'x' to data type int."},
		{NewDateTime(minSmall), "+", i32(1), "datetime", "1900-01-02 00:00:00"},
		{NewDate(1), "+", i32(1), "206 Operand type clash: date is incompatible with int", ""},
		{str("x"), "-", str("y"), "8117 Operand data type varchar is invalid for subtract operator.", ""},
		{NewDateTime(minSmall), "+", NewDateTime2(minSmall, 0), "402 The data types datetime and datetime2 are incompatible in the add operator.", ""},
		{NewDate(1), "-", NewDate(1), "8117 Operand data type date is invalid for subtract operator.", ""},
		{NewBit(true), "+", NewBit(true), "8117 Operand data type bit is invalid for add operator.", ""},
		{NewFloat(1), "%", i32(1), "402 The data types float and int are incompatible in the modulo operator.", ""},
		{NewNull(Int), "+", i32(1), "int", "NULL"},
	} {
		typ, err := ResultType(tt.op, typeOf(tt.a), typeOf(tt.b))
		got := typ.String()
		var e *Error
		if errors.As(err, &e) {
			got = NewInt(Int, int64(e.Number)).String() + " " + e.Message
		}
		if got != tt.typ {
			t.Errorf("type of %v %s %v: %s, want %s", tt.a, tt.op, tt.b, got, tt.typ)
		}
		if err != nil {
			continue
		}
		v, err := Arith(tt.op, tt.a, tt.b, typ)
		got = v.String()
		if errors.As(err, &e) {
			got = NewInt(Int, int64(e.Number)).String() + " " + e.Message
		}
		if got != tt.result {
			t.Errorf("%v %s %v = %s, want %s", tt.a, tt.op, tt.b, got, tt.result)
		}
	}
}

func TestResultTypes(t *testing.T) {
	for _, tt := range []struct {
		op   string
		a, b Type
		want string
	}{
		{"/", tDec(2, 1), tDec(1, 0), "decimal(7,6)"},
		{"*", tDec(38, 10), tDec(38, 10), "decimal(38,6)"},
		{"+", tDec(38, 10), tDec(38, 2), "decimal(38,2)"},
		{"/", tDec(38, 20), tDec(38, 20), "decimal(38,6)"},
		{"+", tDec(10, 2), tInt, "decimal(13,2)"},
		{"+", tVarChar(10), tNVarChar(20), "nvarchar(30)"},
		{"+", tNVarChar(3000), tNVarChar(3000), "nvarchar(4000)"},
		{"+", tNVarChar(Max), tVarChar(1), "nvarchar(max)"},
		{"", tInt, tVarChar(5), "int"},
		{"", tDec(5, 2), tDec(10, 5), "decimal(10,5)"},
		{"", tVarChar(5), tNVarChar(3), "nvarchar(5)"},
		{"", tDateTime, tDateTime2(0), "datetime2(3)"},
		{"", Type{}, tDate, "date"},
		{"", tUUID, tNVarChar(36), "uniqueidentifier"},
	} {
		got, err := ResultType(tt.op, tt.a, tt.b)
		if err != nil || got.String() != tt.want {
			t.Errorf("%v %s %v is %v (%v), want %s", tt.a, tt.op, tt.b, got, err, tt.want)
		}
	}
}

func TestLike(t *testing.T) {
	bin2 := coll(t, "Latin1_General_100_BIN2")
	for _, tt := range []struct {
		kind                  Kind
		text, pattern, escape string
		coll                  Collation
		want                  bool
	}{
		{NVarChar, "Hello", "h%O", "", 0, true},
		{NVarChar, "Hello", "h%O", "", bin2, false},
		{NVarChar, "abc", "a_c", "", 0, true},
		{NVarChar, "abc", "a[b-d]c", "", 0, true},
		{NVarChar, "abc", "a[^b-d]c", "", 0, false},
		{NVarChar, "50%", "50!%", "!", 0, true},
		{NVarChar, "50x", "50!%", "!", 0, false},
		{NVarChar, "a[b", "a[[]b", "", 0, true},
		{NVarChar, "a-b", "a[a-]b", "", 0, true},
		{NVarChar, "abc ", "abc", "", 0, false},
		{VarChar, "abc ", "abc", "", 0, true},
		{VarChar, "abc", "abc ", "", 0, false},
		{NVarChar, "É", "é", "", 0, true},
		{NVarChar, "é", "e", "", 0, false},
		{NVarChar, "é", "[a-f]", "", 0, true},
		{NVarChar, strings.Repeat("a", 3000), strings.Repeat("%a", 30) + "%b", "", 0, false},
		{NVarChar, "a-b", "a%", "", 0, true},
		{NVarChar, "ab", "a-b", "", 0, false},
		{NVarChar, "", "%", "", 0, true},
		{NVarChar, "x", "[", "", 0, false},
	} {
		got, err := Like(NewString(tt.kind, tt.text), NewString(tt.kind, tt.pattern), tt.escape, tt.coll)
		if err != nil || got != tt.want {
			t.Errorf("%q LIKE %q: %v, %v", tt.text, tt.pattern, got, err)
		}
	}
	if _, err := Like(nstr("a"), nstr("a"), "xx", 0); err == nil {
		t.Error("an escape of two characters was taken")
	}
	for _, tt := range []struct {
		pattern, text string
		want          int64
	}{{"%ter%", "interesting data", 3}, {"%x%", "abc", 0}, {"a%", "abc", 1}, {"%c", "abc", 3}, {"%[0-9]%", "ab1", 3}} {
		if got := PatIndex(nstr(tt.pattern), nstr(tt.text), 0); got != tt.want {
			t.Errorf("PATINDEX(%q, %q) = %d, want %d", tt.pattern, tt.text, got, tt.want)
		}
	}
}

func TestAtTimeZone(t *testing.T) {
	loc, err := TimeZone("central european standard time")
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"2022-03-27 01:01:00": "2022-03-27 01:01:00 +01:00",
		"2022-03-27 02:01:00": "2022-03-27 03:01:00 +02:00", // skipped
		"2022-03-27 03:01:00": "2022-03-27 03:01:00 +02:00",
		"2022-10-30 02:01:00": "2022-10-30 02:01:00 +02:00", // twice
		"2022-10-30 03:01:00": "2022-10-30 03:01:00 +01:00",
	} {
		v, err := AtTimeZone(dt2(t, in), loc)
		if err != nil || v.String() != want {
			t.Errorf("%s: %v, %v; want %s", in, v, err, want)
		}
	}
	_, err = TimeZone("Middle Earth Standard Time")
	var e *Error
	if !errors.As(err, &e) || e.Number != 9820 {
		t.Errorf("unknown zone: %v", err)
	}
	for _, name := range TimeZoneNames() {
		if _, err := TimeZone(name); err != nil {
			t.Error(err)
		}
	}
	if got := TicksOf(time.Date(2024, 5, 6, 0, 0, 0, 0, time.UTC)); got != dt2(t, "2024-05-06").Ticks() {
		t.Errorf("TicksOf = %d", got)
	}
}
