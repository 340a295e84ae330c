package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Events of log lines are stable names: each is documented.
func TestEveryEventIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(?:event\(|"event", |"shutdown\.)"?([a-z]+\.[a-z_]+)"`)
	found := 0
	for _, folder := range []string{".", "../../driver"} {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range named.FindAllStringSubmatch(string(text), -1) {
				found++
				if !strings.HasPrefix(m[1], "shutdown.") && !strings.Contains(string(page), "`"+m[1]+"`") {
					t.Errorf("%s: event %q is not in docs/configuration.md", path, m[1])
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 30 {
		t.Errorf("only %d events were found", found)
	}
}
