package demo

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"
)

const (
	mostFiles   = 3000
	largestFile = 8 << 20
)

// file is the payload of a job: which file to hash. A name need not be text, and JSON is.
type file struct {
	Name string `json:"name"`
	Raw  []byte `json:"raw,omitempty"` // the name's bytes, where they are not UTF-8
}

func newFile(name string) file {
	if utf8.ValidString(name) {
		return file{Name: name}
	}
	return file{Name: name, Raw: []byte(name)}
}

func (f file) path() string {
	if f.Raw != nil {
		return string(f.Raw)
	}
	return f.Name
}

// listing is what a folder holds.
type listing struct {
	files   []file
	more    bool // there are more than mostFiles
	skipped int  // too large, or not to be read
}

// list lists the regular files under a folder that can be read, but for .git.
func list(dir string) (listing, error) {
	var l listing
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && path == dir:
			return err
		case err != nil:
			l.skipped++
			return nil
		case entry.IsDir() && (entry.Name() == ".git" || path == "/proc" || path == "/sys"):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		case len(l.files) == mostFiles:
			l.more = true
			return fs.SkipAll
		}
		if !readable(path, entry) {
			l.skipped++
			return nil
		}
		l.files = append(l.files, newFile(path))
		return nil
	})
	if err != nil {
		return l, err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return l, fmt.Errorf("%s is not a folder", dir)
	}
	return l, nil
}

func readable(path string, entry fs.DirEntry) bool {
	info, err := entry.Info()
	if err != nil || info.Size() > largestFile {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	return f.Close() == nil
}
