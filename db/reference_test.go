package db

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/t-sql.md from the headers of the T-SQL files")

const referencePath = "../docs/t-sql.md"

var headerPattern = regexp.MustCompile(`(?s)^/\*\n(chokaq\.(\w+): .*?)\n\*/\nCREATE OR ALTER (PROCEDURE|FUNCTION|VIEW) chokaq\.(\w+)`)

// docs/t-sql.md is made of the headers of the T-SQL files, so that the two cannot differ.
func TestReferenceIsUpToDate(t *testing.T) {
	want := reference(t)
	if *update {
		if err := os.WriteFile(referencePath, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(referencePath)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/t-sql.md differs from the headers in db/: run go test ./db -update")
	}
}

func reference(t *testing.T) []byte {
	var out bytes.Buffer
	out.WriteString(`# T-SQL reference

Every object of schema ` + "`chokaq`" + ` that people and programs use, as its own header says. This page is made from the files in ` + "`db/`" + `.

Errors have numbers of their own:

| number | meaning |
| --- | --- |
`)
	for _, e := range errorNumbers {
		fmt.Fprintf(&out, "| %d | %s |\n", e.number, e.meaning)
	}
	out.WriteString("\nAll times are UTC, `datetime2(3)`, by the database's clock.\n")
	for _, section := range []struct{ title, folder string }{{"Procedures", "procedures"}, {"Views", "views"}, {"Functions (internal)", "functions"}} {
		fmt.Fprintf(&out, "\n## %s\n", section.title)
		for _, o := range objects() {
			if path.Dir(o.name) != section.folder {
				continue
			}
			m := headerPattern.FindStringSubmatch(o.text)
			name := strings.TrimSuffix(path.Base(o.name), ".sql")
			if m == nil || m[2] != name || m[4] != name {
				t.Errorf("%s does not open with a header \"chokaq.%s: ...\" followed by CREATE OR ALTER", o.name, name)
				continue
			}
			fmt.Fprintf(&out, "\n### %s\n\n```text\n%s\n```\n", name, m[1])
		}
	}
	return out.Bytes()
}

// errorNumbers is the one list of what ChokaQ's T-SQL throws.
var errorNumbers = []struct {
	number  int
	meaning string
}{
	{51001, "a name, key or note is not of the accepted form"},
	{51002, "a payload or headers are not JSON of the accepted form"},
	{51003, "a number or time is out of range, or two parameters exclude each other"},
	{51004, "a parameter is not a JSON array of the accepted form"},
	{51005, "an element of a JSON array is not of the accepted form; the text says which"},
	{51006, "more than 1000 elements in one call"},
	{51007, "a job is named twice in one call"},
	{51008, "there is no such job"},
	{51010, "there is no such setting"},
	{51011, "the dead job has been discarded"},
	{51013, "the worker is not registered, or its id or claim token is missing"},
	{51014, "an application lock was not granted; the call can be repeated"},
	{51015, "this server holds a secondary replica (first step of the Agent jobs)"},
	{51016, "the database's compatibility level is below 130"},
	{51017, "this edition has no SQL Server Agent"},
	{51018, "the script must run in the queue's database"},
	{51019, "there is no such recurring job"},
	{51020, "a procedure of msdb has refused to change an Agent job (the scripts in agent-jobs/); the error before it says why"},
}

var thrown = regexp.MustCompile(`THROW (5\d{4}),`)

func TestErrorNumbersAreListedAndUsed(t *testing.T) {
	var all []string
	collect := func(text string) {
		for _, m := range thrown.FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
	}
	for _, o := range objects() {
		collect(o.text)
	}
	for _, folder := range []struct {
		fs interface{ ReadFile(string) ([]byte, error) }
		in []string
	}{{Migrations, []string{"migrations/000001_init.up.sql", "migrations/000002_operations.up.sql"}}, {AgentJobs, []string{"agent-jobs/install.sql", "agent-jobs/uninstall.sql", "agent-jobs/status.sql"}}} {
		for _, name := range folder.in {
			text, err := folder.fs.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			collect(string(text))
		}
	}
	var listed []string
	for _, e := range errorNumbers {
		listed = append(listed, fmt.Sprint(e.number))
	}
	slices.Sort(all)
	if used := slices.Compact(all); !slices.Equal(used, listed) {
		t.Errorf("thrown: %v\nlisted: %v", used, listed)
	}
	source, err := os.ReadFile("../driver/errors.go")
	if err != nil {
		t.Fatal(err)
	}
	inDriver := regexp.MustCompile(`Number\w+\s+= (5\d{4})`).FindAllStringSubmatch(string(source), -1)
	var driver []string
	for _, m := range inDriver {
		driver = append(driver, m[1])
	}
	if !slices.Equal(driver, listed) {
		t.Errorf("driver/errors.go has %v\nlisted: %v", driver, listed)
	}
}

// READPAST without READCOMMITTEDLOCK reads row versions where READ_COMMITTED_SNAPSHOT is on.
func TestHintsOfTheHotTable(t *testing.T) {
	reference := regexp.MustCompile(`(?i)(?:FROM|JOIN|INTO|UPDATE)\s+chokaq\.Jobs\b( AS \w+)?( WITH \(([^()]|\([^()]*\))*\))?`)
	for _, o := range objects() {
		code := regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(o.text, "")
		for _, m := range reference.FindAllStringSubmatch(code, -1) {
			hints := strings.ToUpper(m[2])
			if strings.HasPrefix(strings.ToUpper(m[0]), "INTO") {
				continue // the target of OUTPUT INTO takes no hints; an INSERT's own are checked by eye
			}
			if strings.Contains(hints, "READPAST") && !strings.Contains(hints, "READCOMMITTEDLOCK") {
				t.Errorf("%s: READPAST without READCOMMITTEDLOCK: %s", o.name, m[0])
			}
			if !strings.Contains(hints, "NOLOCK") && !(strings.Contains(hints, "ROWLOCK") && strings.Contains(hints, "INDEX (")) {
				t.Errorf("%s: a statement on chokaq.Jobs needs ROWLOCK and a named index: %s", o.name, m[0])
			}
		}
	}
}
