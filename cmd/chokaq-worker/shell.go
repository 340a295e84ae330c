package main

import (
	"regexp"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

var plainWord = regexp.MustCompile(`^[\w@%+:,./-]+$`)

// quote writes a word as a POSIX shell reads it.
func quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// flag is a flag with its value, not yet quoted.
type flag struct{ name, value string }

func (f flag) String() string { return "--" + f.name + "=" + quote(f.value) }

// shellLines is a command to paste. Where it is wider than width it goes on in the next line after a backslash, if need be in the middle of a value.
func shellLines(command string, flags []flag, width int) string {
	const indent = "  "
	var lines []string
	line := command
	for _, f := range flags {
		if text.StringWidthWithoutEscSequences(line+" "+f.String())+len(` \`) <= width {
			line += " " + f.String()
			continue
		}
		lines = append(lines, line+` \`)
		line = indent + "--" + f.name + "="
		piece := ""
		for _, r := range f.value {
			// A piece ends where it would not fit with its quotes; a line that follows must begin without a space, or it would be another word.
			if text.StringWidthWithoutEscSequences(line+quote(piece+string(r)))+len(` \`) > width && piece != "" {
				lines = append(lines, line+quote(piece)+`\`)
				line, piece = "", ""
			}
			piece += string(r)
		}
		line += quote(piece)
	}
	return strings.Join(append(lines, line), "\n")
}
