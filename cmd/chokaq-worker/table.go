package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// wordWidth is how wide the longest word of a column may be so that the column is not made narrower than it; longer words are broken where need be.
const wordWidth = 10

// printTable prints rows under their headings, no wider than what it is printed to. Where that is too narrow, the columns with the headings in
// flexible give way: the widest first, and their text is wrapped. Where words would have to be broken, the rows stand one below the other.
func (a *app) printTable(to io.Writer, headings []string, rows [][]string, flexible ...string) error {
	widths, least := make([]int, len(headings)), make([]int, len(headings))
	for i, heading := range headings {
		gives := slices.Contains(flexible, heading)
		for _, cell := range append([]string{heading}, cellsBelow(rows, i)...) {
			width := text.StringWidthWithoutEscSequences(printable(cell))
			widths[i] = max(widths[i], width)
			if gives {
				width = min(widestWord(printable(cell)), wordWidth)
			}
			least[i] = max(least[i], width)
		}
	}
	if !fitColumns(widths, least, a.widthOf(to)-(3*len(headings)-1)) { // a space on both sides of each, and lines between them
		return a.printBlocks(to, headings, rows)
	}
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Options.SeparateHeader = true
	if a.colorful(to) {
		style.Color.Header = text.Colors{text.Bold}
	}
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	t.AppendHeader(cells(headings))
	for _, row := range rows {
		t.AppendRow(cells(row))
	}
	columns := make([]table.ColumnConfig, len(headings))
	for i, width := range widths {
		columns[i] = table.ColumnConfig{Number: i + 1, WidthMax: width, WidthMaxEnforcer: func(s string, most int) string { return strings.Join(wrap(s, most), "\n") }}
	}
	t.SetColumnConfigs(columns)
	_, err := fmt.Fprintln(to, t.Render())
	return err
}

// printBlocks prints each row as fields one below the other: what is empty in it is left out.
func (a *app) printBlocks(to io.Writer, headings []string, rows [][]string) error {
	for n, row := range rows {
		if n > 0 {
			fmt.Fprintln(to)
		}
		var fields []field
		for i, cell := range row {
			if cell != "" {
				fields = append(fields, field{headings[i], printable(cell)})
			}
		}
		if err := a.printFields(to, fields, 0); err != nil {
			return err
		}
	}
	return nil
}

// cells are a row as the library takes it.
func cells(row []string) table.Row {
	all := make(table.Row, len(row))
	for i, cell := range row {
		all[i] = printable(cell)
	}
	return all
}

// cellsBelow are the cells of a column.
func cellsBelow(rows [][]string, i int) []string {
	all := make([]string, len(rows))
	for n, row := range rows {
		all[n] = row[i]
	}
	return all
}

func widestWord(s string) (widest int) {
	for word := range strings.FieldsSeq(s) {
		widest = max(widest, text.StringWidthWithoutEscSequences(word))
	}
	return widest
}

// fitColumns narrows the widest of the columns that are wider than they must be until all fit, and reports whether they do.
func fitColumns(widths, least []int, room int) bool {
	for total := sum(widths); total > room; total-- {
		widest := -1
		for i, width := range widths {
			if width > least[i] && (widest < 0 || width > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return false
		}
		widths[widest]--
	}
	return true
}

func sum(numbers []int) (n int) {
	for _, number := range numbers {
		n += number
	}
	return n
}
