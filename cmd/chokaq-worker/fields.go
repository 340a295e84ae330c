package main

import (
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

const (
	nameWidth   = 18 // columns that the names of a record's fields have at least, so that most records look alike
	leastBeside = 40 // columns; with less room than that beside its name, what does not fit in a line stands below the name
)

// field is a value with its name.
type field struct{ name, value string }

// fields are the columns of a record that have a value.
func (r record) fields() (all []field) {
	for _, column := range r.columns {
		if r.get(column) != nil {
			all = append(all, field{column, r.text(column)})
		}
	}
	return all
}

// printFields prints fields one below the other, in lines no wider than the screen; a long value goes on below its beginning, and nothing of it is left out.
// Their names have at least so many columns.
func (a *app) printFields(to io.Writer, fields []field, least int) error {
	longest := least
	for _, f := range fields {
		longest = max(longest, text.StringWidthWithoutEscSequences(f.name))
	}
	width, indent := a.widthOf(to), longest+1
	var out strings.Builder
	for _, f := range fields {
		head := text.Pad(f.name, longest, ' ') + " "
		lines := wrapLines(f.value, width-indent)
		if len(lines) > 1 && width-indent < leastBeside {
			out.WriteString(f.name + "\n")
			head, lines = "  ", wrapLines(f.value, width-2)
		}
		for i, line := range lines {
			if i > 0 {
				head = strings.Repeat(" ", len(head))
			}
			out.WriteString(strings.TrimRight(head+line, " ") + "\n")
		}
	}
	_, err := io.WriteString(to, out.String())
	return err
}
