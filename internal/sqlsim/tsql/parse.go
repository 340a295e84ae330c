package tsql

// Options are the settings that change how text is read.
type Options struct {
	// QuotedIdentifier makes "x" an identifier; otherwise it is a string.
	QuotedIdentifier bool
}
