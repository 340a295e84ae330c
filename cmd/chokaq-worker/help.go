package main

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// helpWidth is the width that help is laid out for, where there is room for it.
const helpWidth = 80

// layOutHelp breaks the lines of every command's help.
func layOutHelp(c *cobra.Command, width int) {
	c.Long = layOut(c.Long, width)
	for _, sub := range c.Commands() {
		layOutHelp(sub, width)
	}
}

// column is the beginning of a line that is set in columns: what it names, before what it says.
var column = regexp.MustCompile(`^ +\S+(?: \S+)?  +`)

// layOut joins the lines of each paragraph and breaks them anew. Indented lines stay lines of their own; where they are too long, they
// go on below their second column.
func layOut(text string, width int) string {
	var out, paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			out = append(out, fold(strings.Join(paragraph, " "), "", 0, width))
		}
		paragraph = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case line == "":
			flush()
			out = append(out, "")
		case strings.HasPrefix(line, "  "):
			flush()
			first := column.FindString(line)
			if first == "" { // an example: it is to be copied
				out = append(out, line)
				continue
			}
			out = append(out, fold(line[len(first):], first, len(first), width))
		default:
			paragraph = append(paragraph, line)
		}
	}
	flush()
	return strings.Join(out, "\n")
}

// fold breaks a text between words; every line but the first begins with an indent.
func fold(text, first string, indent, most int) string {
	var b strings.Builder
	b.WriteString(first)
	width := len(first)
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case width+1+len(word) > most:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			width = indent
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += len(word)
	}
	return b.String()
}
