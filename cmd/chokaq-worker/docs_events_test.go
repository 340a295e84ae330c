package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every log event of the driver and of chokaq-worker is in docs/configuration.md, by its name or by its group (shutdown.*).
func TestEveryLogEventIsDocumented(t *testing.T) {
	text := readDoc(t, "configuration.md")
	named := regexp.MustCompile(`(?:\bevent\(|"event", )"([a-z_]+\.[a-z_]+)"`)
	seen := make(map[string]bool)
	for _, root := range []string{".", "../../driver"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, match := range named.FindAllStringSubmatch(string(source), -1) {
				seen[match[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) < 30 {
		t.Fatalf("only %d events were found", len(seen))
	}
	for event := range seen {
		group, _, _ := strings.Cut(event, ".")
		if !strings.Contains(text, "`"+event+"`") && !strings.Contains(text, "`"+group+".*`") {
			t.Errorf("docs/configuration.md does not list the log event %s", event)
		}
	}
}
