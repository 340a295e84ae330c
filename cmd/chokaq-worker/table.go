package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

const (
	screenWidth = 80 // of a stream that is no terminal: what logs, mails and tickets show
	leastColumn = 6  // no column that gives way becomes narrower, as long as the others fit
)

// widthOf is how many columns a stream shows.
func widthOf(stream io.Writer) int {
	if f, ok := stream.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return screenWidth
}

// printTable prints rows under their headings, no wider than what it is printed to. Where that is too narrow, the columns with the headings in
// flexible give way: the widest first, and their text is wrapped.
func (a *app) printTable(to io.Writer, headings []string, rows [][]string, flexible ...string) error {
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Options.SeparateHeader = true
	if a.colorful(to) {
		style.Color.Header = text.Colors{text.Bold}
	}
	t.SetStyle(style)
	widths := make([]int, len(headings))
	heading := make(table.Row, len(headings))
	for i, h := range headings {
		heading[i], widths[i] = h, text.StringWidthWithoutEscSequences(h)
	}
	t.AppendHeader(heading)
	for _, row := range rows {
		cells := make(table.Row, len(row))
		for i, cell := range row {
			cell = printable(cell)
			cells[i], widths[i] = cell, max(widths[i], text.StringWidthWithoutEscSequences(cell))
		}
		t.AppendRow(cells)
	}
	gives := make([]bool, len(headings))
	for i, h := range headings {
		gives[i] = slices.Contains(flexible, h)
	}
	fitColumns(widths, gives, widthOf(to)-(3*len(headings)-1)) // a space on both sides of each, and lines between them
	columns := make([]table.ColumnConfig, len(headings))
	for i, width := range widths {
		columns[i] = table.ColumnConfig{Number: i + 1, WidthMax: width, WidthMaxEnforcer: text.WrapSoft}
	}
	t.SetColumnConfigs(columns)
	_, err := fmt.Fprintln(to, t.Render())
	return err
}

// fitColumns narrows the widest of the columns that give way until all fit; if that is not enough, the widest of all.
func fitColumns(widths []int, gives []bool, room int) {
	for total := sum(widths); total > room; total-- {
		widest := -1
		for i, width := range widths {
			if gives[i] && width > leastColumn && (widest < 0 || width > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			widest = slices.Index(widths, slices.Max(widths))
			if widths[widest] <= 1 {
				return
			}
		}
		widths[widest]--
	}
}

func sum(numbers []int) (n int) {
	for _, number := range numbers {
		n += number
	}
	return n
}
