package value

import "fmt"

// Error is an error or informational message as SQL Server numbers and words it.
type Error struct {
	Number    int32
	State     uint8
	Class     uint8 // severity: 10 and below informs, 11 to 16 is the user's fault, 20 and above ends the connection
	Message   string
	Procedure string
	Line      int32
}

// NewError makes an Error; the message is formatted with args.
func NewError(number int32, class, state uint8, format string, args ...any) *Error {
	msg := format
	if len(args) > 0 {
		msg = fmt.Sprintf(format, args...)
	}
	return &Error{Number: number, Class: class, State: state, Message: msg}
}

// Error implements the error interface the way SQL Server Management Studio shows it.
func (e *Error) Error() string {
	return fmt.Sprintf("Msg %d, Level %d, State %d: %s", e.Number, e.Class, e.State, e.Message)
}

// UnsupportedNumber is the error of something that SQL Server has and sqlsim has not.
const UnsupportedNumber = 40510

// Unsupported is that error; what names the thing.
func Unsupported(what string, args ...any) *Error {
	return NewError(UnsupportedNumber, 16, 1, "sqlsim does not support %s.", fmt.Sprintf(what, args...))
}
