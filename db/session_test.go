package db

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// Every procedure that somebody may call makes the session's settings its own, whatever the caller's client or an earlier user of the connection has left.
func TestProceduresSetTheirSession(t *testing.T) {
	grants, err := fs.ReadFile(Objects, "grants/grants.sql")
	if err != nil {
		t.Fatal(err)
	}
	granted := regexp.MustCompile(`GRANT EXECUTE ON OBJECT::chokaq\.(\w+)`).FindAllSubmatch(grants, -1)
	if len(granted) == 0 {
		t.Fatal("no grants found")
	}
	for _, g := range granted {
		name := "procedures/" + string(g[1]) + ".sql"
		text, err := fs.ReadFile(Objects, name)
		if err != nil {
			t.Error(err)
			continue
		}
		_, body, _ := strings.Cut(string(text), "\nBEGIN\n")
		for _, want := range []string{"SET NOCOUNT ON;", "SET XACT_ABORT ON;", "SET ROWCOUNT 0;", "SET ANSI_WARNINGS, ANSI_PADDING, CONCAT_NULL_YIELDS_NULL ON;",
			"SET NUMERIC_ROUNDABORT OFF;", "SET TRANSACTION ISOLATION LEVEL READ COMMITTED;"} {
			line, rest, _ := strings.Cut(body, "\n")
			if strings.TrimSpace(line) != want {
				t.Errorf("%s begins with %q where %q belongs", name, strings.TrimSpace(line), want)
				break
			}
			body = rest
		}
	}
}
