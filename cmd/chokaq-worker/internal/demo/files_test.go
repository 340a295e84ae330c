package demo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestList(t *testing.T) {
	dir := t.TempDir()
	names := []string{"plain", "it's", `"quoted"`, "new\nline", "ünï ☃", "bad\xff\xfe", "deep/er/file", ".hidden", ".git/config"}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Skipf("this file system refuses %q: %v", name, err)
		}
	}
	large, err := os.Create(filepath.Join(dir, "large"))
	if err != nil {
		t.Fatal(err)
	}
	if err := large.Truncate(largestFile + 1); err != nil {
		t.Fatal(err)
	}
	large.Close()
	for _, target := range []string{"plain", "nowhere", "."} {
		if err := os.Symlink(target, filepath.Join(dir, "link to "+target)); err != nil {
			t.Fatal(err)
		}
	}

	l, err := list(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range l.files {
		// What a job carries is JSON.
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		var back file
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if _, err := hash(back.path()); err != nil {
			t.Errorf("%q: %v", f.Name, err)
		}
		name, err := filepath.Rel(dir, back.path())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, name)
	}
	want := slices.Sorted(slices.Values(names[:len(names)-1]))
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if l.skipped != 1 || l.more {
		t.Errorf("skipped %d, more %v", l.skipped, l.more)
	}
}

func TestListRefuses(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if _, err := list(name); err == nil {
		t.Error("a folder that is not there was listed")
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := list(name); err == nil {
		t.Error("a file was listed as a folder")
	}
}

func TestLedger(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ledger")
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, e := range []entry{{JobID: 1, File: "new\nline"}, {JobID: 2, File: "bad\xff"}, {JobID: 1, Attempt: 2}} {
		if err := e.write(f); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.WriteString(`{"job": 3`); err != nil { // a line that is being written
		t.Fatal(err)
	}
	entries, err := readEntries(name)
	if err != nil || len(entries) != 3 || entries[0].File != "new\nline" {
		t.Errorf("%+v, %v", entries, err)
	}
	if runs := runsByJob(entries); runs[1] != 2 || runs[2] != 1 || len(runs) != 2 {
		t.Errorf("%v", runs)
	}
	if _, err := f.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := readEntries(name); err == nil {
		t.Error("a torn line was read")
	}
}

func TestPace(t *testing.T) {
	for _, files := range []int{1, 2, 7, 50, 445, mostFiles} {
		d := &demo{}
		d.pace(files)
		if d.handlers < 1 || d.prefetch < 1 || d.pause <= 0 {
			t.Errorf("%d files: %d handlers, prefetch %d, pause %v", files, d.handlers, d.prefetch, d.pause)
		}
	}
}
