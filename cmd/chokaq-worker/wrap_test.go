package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"pgregory.net/rapid"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"", 10, ""},
		{"all of it", 9, "all of it"},
		{"some words of a text", 10, "some words|of a text"},
		{"two  spaces   stay", 80, "two  spaces   stay"},
		{"two  spaces   stay, but at the end", 14, "two  spaces|stay, but at|the end"},
		{"    an indent stays", 12, "    an|indent stays"},
		{"chokaq-worker stops --outcome gone", 15, "chokaq-worker|stops --outcome|gone"}, // what is typed is not broken
		{"see https://example.com/a/long/path/of/it", 24, "see https://example.com/|a/long/path/of/it"},
		{"x" + strings.Repeat("0", 12), 5, "x0000|00000|000"},
		{"program /usr/bin/sh ends", 10, "program|/usr/bin/|sh ends"},
		{"send_order_confirmation", 14, "send_order_|confirmation"},
		{"ip-10-0-12-34.eu-west-1.compute.internal", 16, "ip-10-0-12-34.|eu-west-1.|compute.internal"},
		{`{"to":17,"text":"a-long-one"}`, 12, `{"to":17,|"text":"a-|long-one"}`},
		{"日本語の文章", 7, "日本語|の文章"},
		{"日本", 1, "日|本"}, // wider than there is room for
		{"a👩‍👩‍👧b", 2, "a|👩‍👩‍👧|b"},
		{"narrow", 0, "n|a|r|r|o|w"},
	} {
		if got := strings.Join(wrap(c.text, c.width), "|"); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.width, got, c.want)
		}
	}
	if got := strings.Join(wrapLines("one\r\n\tat two\n\nthree \x1b[31m", 20), "|"); got != "one|    at two||three \uFFFD[31m" {
		t.Errorf("%q", got)
	}
}

// Whatever the text and the width: no line is too wide, and nothing is lost but spaces where a line ends.
func TestWrapLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := printable(rapid.OneOf(rapid.String(), rapid.StringMatching(`( {0,3}[a-z0-9{}":,./\-]{0,12}){0,20}`), rapid.StringMatching(`[日本語 の, 。a-z👩é]{0,60}`)).Draw(t, "text"))
		width := rapid.IntRange(2, 40).Draw(t, "width")
		rest := s
		for _, line := range wrap(s, width) {
			if used := text.StringWidthWithoutEscSequences(line); used > width && len(clusters(line)) > 1 {
				t.Fatalf("%d columns: %q", used, line)
			}
			after, ok := strings.CutPrefix(rest, line)
			if !ok {
				t.Fatalf("%q is not the beginning of what is left, %q", line, rest)
			}
			rest = strings.TrimLeft(after, " ")
		}
		if rest != "" {
			t.Fatalf("lost: %q", rest)
		}
	})
}

func TestFields(t *testing.T) {
	fields := []field{{"JobId", "17"}, {"Error", "connection refused by\r\n\tat the server of the mail system"}, {"LastWorkerId", oneWorker}, {"Payload", `{"to":17,"text":"` + strings.Repeat("a", 40) + `"}`}}
	for columns, want := range map[string]string{
		"59": `JobId              17
Error              connection refused by
                       at the server of the mail system
LastWorkerId       6f9619ff-8b86-d011-b42d-00cf4fc964ff
Payload            {"to":17,"text":"aaaaaaaaaaaaaaaaaaaaaaa
                   aaaaaaaaaaaaaaaaa"}
`,
		"40": `JobId              17
Error
  connection refused by
      at the server of the mail system
LastWorkerId
  6f9619ff-8b86-d011-b42d-00cf4fc964ff
Payload
  {"to":17,"text":"aaaaaaaaaaaaaaaaaaaaa
  aaaaaaaaaaaaaaaaaaa"}
`} {
		var out bytes.Buffer
		a := &app{process: process{stdout: &out, environ: []string{"COLUMNS=" + columns}}}
		if err := a.printFields(&out, fields, nameWidth); err != nil || out.String() != want {
			t.Errorf("%s columns: %v\n%s", columns, err, out.String())
		}
	}
}
