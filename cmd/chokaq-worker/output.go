package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// variable is the value of an environment variable.
func (a *app) variable(name string) string {
	for _, entry := range a.environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// printJSON prints v as people and jq read it.
func (a *app) printJSON(v any) error {
	encoder := json.NewEncoder(a.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// printTable prints rows under their headings. widths bounds columns by heading, so that a table fits a screen of 80 columns; longer
// text is wrapped.
func (a *app) printTable(to io.Writer, headings []string, rows [][]string, widths map[string]int) error {
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Options.SeparateHeader = true
	if a.colorful(to) {
		style.Color.Header = text.Colors{text.Bold}
	}
	t.SetStyle(style)
	heading := make(table.Row, len(headings))
	var columns []table.ColumnConfig
	for i, h := range headings {
		heading[i] = h
		if width := widths[h]; width > 0 {
			columns = append(columns, table.ColumnConfig{Number: i + 1, WidthMax: width, WidthMaxEnforcer: text.WrapSoft})
		}
	}
	t.SetColumnConfigs(columns)
	t.AppendHeader(heading)
	for _, row := range rows {
		cells := make(table.Row, len(row))
		for i, cell := range row {
			cells[i] = printable(cell)
		}
		t.AppendRow(cells)
	}
	_, err := fmt.Fprintln(to, t.Render())
	return err
}

// printable keeps a terminal safe from what a job has put into a text: control characters, and marks that turn the direction of writing.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return '\uFFFD'
		}
		return r
	}, s)
}

// shorten cuts a text for a table.
func shorten(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

// printableLines is printable for a text of several lines, such as a stack.
func printableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = printable(line)
	}
	return strings.Join(lines, "\n                   ")
}
