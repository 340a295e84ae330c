package main

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// screenWidth is the width of a stream that is no terminal: what logs, mails and tickets show.
const screenWidth = 80

// widthOf is how many columns a stream shows: what COLUMNS says, as for other programs (watch sets it, and has a pipe in the place of its terminal), else
// those of the terminal.
func (a *app) widthOf(stream io.Writer) int {
	if width, err := strconv.Atoi(a.variable("COLUMNS")); err == nil && width > 0 {
		return width
	}
	if f, ok := stream.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return screenWidth
}
