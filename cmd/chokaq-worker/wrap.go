package main

import (
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/rivo/uniseg"
)

// wrap breaks a text of one line into lines no wider than width: between words where it can, else where Unicode lets a line end (after the parts of a path
// or an address, between ideographs) or a name has a joint, else where the line is full. Only spaces at the ends of lines are lost, which text.WrapSoft makes one of everywhere.
func wrap(s string, width int) []string {
	width = max(width, 1)
	var lines []string
	line, used := "", 0
	end := func() { lines = append(lines, strings.TrimRight(line, " ")) }
	var put func(piece string, smaller ...func(string) []string)
	put = func(piece string, smaller ...func(string) []string) {
		bare := text.StringWidthWithoutEscSequences(strings.TrimRight(piece, " "))
		if bare > width && len(smaller) > 0 {
			for _, part := range smaller[0](piece) {
				put(part, smaller[1:]...)
			}
			return
		}
		if bare > 0 && used > 0 && used+bare > width {
			end()
			line, used = "", 0
		}
		line += piece
		used += text.StringWidthWithoutEscSequences(piece)
	}
	for _, word := range words(s) {
		put(word, segments, clusters)
	}
	end()
	return lines
}

// wrapLines is wrap for a text of several lines, such as a stack, which keeps its own.
func wrapLines(s string, width int) (all []string) {
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\r"), "\t", "    ")
		all = append(all, wrap(printable(line), width)...)
	}
	return all
}

// words are the words of a text, each with the spaces after it.
func words(s string) (all []string) {
	for s != "" {
		end := len(s)
		if space := strings.IndexByte(s, ' '); space >= 0 {
			end = len(s) - len(strings.TrimLeft(s[space:], " "))
		}
		all = append(all, s[:end])
		s = s[end:]
	}
	return all
}

// segments are the parts of a word between which a line may end: by UAX #14, and after what joins the parts of names and of JSON.
func segments(s string) (all []string) {
	for state := -1; s != ""; {
		var segment string
		segment, s, _, state = uniseg.FirstLineSegmentInString(s, state)
		for {
			joint := strings.IndexAny(segment, "_.,:") + 1
			if joint == 0 || joint == len(segment) {
				break
			}
			all = append(all, segment[:joint])
			segment = segment[joint:]
		}
		all = append(all, segment)
	}
	if len(all) > 1 && !strings.ContainsFunc(all[0], func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
		all[1] = all[0] + all[1] // the first slash of a path does not stand alone
		all = all[1:]
	}
	return all
}

// clusters are what a reader takes for characters.
func clusters(s string) (all []string) {
	for state := -1; s != ""; {
		var cluster string
		cluster, s, _, state = uniseg.FirstGraphemeClusterInString(s, state)
		all = append(all, cluster)
	}
	return all
}
