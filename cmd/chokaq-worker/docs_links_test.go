package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every link of a document to another file of the project leads there, and to a heading that it has.
func TestLinksOfTheDocumentsLeadSomewhere(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../db/*.md", "../../deploy/*.md", "../../examples/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		files = append(files, found...)
	}
	links := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		prose := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(string(text), "")
		prose = regexp.MustCompile("`[^`\n]*`").ReplaceAllString(prose, "")
		for _, match := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(prose, -1) {
			target, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			links++
			at := file
			if target != "" {
				at = filepath.Join(filepath.Dir(file), target)
			}
			if _, err := os.Stat(at); err != nil {
				t.Errorf("%s links to %s, which is not there", file, match[1])
				continue
			}
			if anchor != "" && !hasHeading(t, at, anchor) {
				t.Errorf("%s links to %s, and there is no such heading", file, match[1])
			}
		}
	}
	if links < 40 {
		t.Errorf("only %d links were found", links)
	}
}

// hasHeading reports whether a document has a heading that GitHub makes this anchor of.
func hasHeading(t *testing.T, file, anchor string) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(string(text), -1) {
		made := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		if strings.ReplaceAll(made, " ", "-") == anchor {
			return true
		}
	}
	return false
}
